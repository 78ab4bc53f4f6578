//! A long stream of bits at one address.

use super::{COUNTERS, Source};

/// The bits at one address, in order.
///
/// ```
/// use hushstream_noise::{Instance, Key, Source};
///
/// let source = Source::open(&Key::insecure_from_seed(1), Instance::from_bytes([0; 16]), 1);
/// let mut bits = source.cursor(0, 0);
/// let first = bits.next_word();
/// assert_ne!(first, bits.next_word());
/// assert_eq!(first, source.cursor(0, 0).next_word());
/// ```
pub struct Cursor<'a> {
    source: &'a Source,
    address: u128,
    next_block: u32,
    spare: Option<u64>,
}

impl std::fmt::Debug for Cursor<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cursor(..)") // unread bits are as secret as the key
    }
}

impl<'a> Cursor<'a> {
    /// A cursor that starts at this address.
    pub(super) fn new(source: &'a Source, address: u128) -> Self {
        Self {
            source,
            address,
            next_block: 0,
            spare: None,
        }
    }

    /// The next 64 bits.
    ///
    /// # Panics
    /// After 2²⁹ words. Every sampler of this crate reads another word with a probability bounded
    /// away from one, so a draw that reads so many has probability below 2^(−10⁷).
    pub fn next_word(&mut self) -> u64 {
        if let Some(word) = self.spare.take() {
            return word;
        }
        assert!(
            self.next_block < COUNTERS,
            "a cursor holds 2^29 words; open one at another node"
        );
        let [word, spare] = self
            .source
            .block(self.address | u128::from(self.next_block));
        self.next_block += 1;
        self.spare = Some(spare);
        word
    }

    /// An integer that is exactly uniform on 0…bound−1: the fewest low bits that suffice of one
    /// word (above 2⁶⁴ of two, the first one low), drawn again when too large.
    ///
    /// `bound` must not be 0.
    pub(crate) fn below(&mut self, bound: u128) -> u128 {
        debug_assert!(bound > 0);
        let bits = 128 - (bound - 1).leading_zeros();
        loop {
            let mut value = u128::from(self.next_word());
            if bits > 64 {
                value |= u128::from(self.next_word()) << 64;
            }
            value &= u128::MAX.checked_shr(128 - bits).unwrap_or(0);
            if value < bound {
                return value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::source;
    use std::collections::HashSet;

    #[test]
    fn below_is_uniform_and_in_range() {
        let source = source();
        let mut cursor = source.cursor(0, 0);
        let mut counts = [0_u32; 5];
        for _ in 0..50_000 {
            counts[cursor.below(5) as usize] += 1;
        }
        // 10,000 each, standard deviation 89: six of them.
        assert!(
            counts.iter().all(|&c| c.abs_diff(10_000) < 540),
            "{counts:?}"
        );
        assert_eq!(cursor.below(1), 0);
        let wide = (0..64).map(|_| cursor.below(u128::MAX)).max().unwrap();
        assert!(wide > u128::from(u64::MAX));
    }

    #[test]
    fn a_cursor_gives_every_word_once() {
        let source = source();
        let mut cursor = source.cursor(0, 0);
        let words: HashSet<u64> = (0..1000).map(|_| cursor.next_word()).collect();
        assert_eq!(words.len(), 1000);
    }
}
