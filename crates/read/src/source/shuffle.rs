//! A public shuffle: the order is a function of the number of rows and a seed that anyone may know.
//!
//! It has nothing to do with the noise and hides nothing: it undoes the order in which a file was
//! written, for sets that are sorted by their label. Fisher–Yates from the end, with indices drawn
//! from SplitMix64 (Steele, Lea, Flood 2014) by rejection, so the order is the same on every
//! platform and every order is equally likely up to the generator.

/// SplitMix64.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform below `bound` ≥ 1: numbers above the last whole multiple of it are drawn again.
    fn below(&mut self, bound: u64) -> u64 {
        let surplus = (u64::MAX % bound + 1) % bound;
        loop {
            let drawn = self.next();
            if drawn <= u64::MAX - surplus {
                return drawn % bound;
            }
        }
    }
}

/// Puts the items into the order of this seed.
pub(crate) fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut generator = SplitMix(seed);
    for last in (1..items.len()).rev() {
        items.swap(last, generator.below(last as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_splitmix() {
        let mut generator = SplitMix(1_234_567);
        let first = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!(first, [(); 3].map(|()| generator.next()));
    }

    #[test]
    fn every_order_of_four_is_about_equally_likely() {
        let mut counts = std::collections::BTreeMap::new();
        for seed in 0..24_000 {
            let mut items = [0_u8, 1, 2, 3];
            shuffle(&mut items, seed);
            *counts.entry(items).or_insert(0_i32) += 1;
        }
        // Six standard deviations around 1000; the seeds are fixed, so this cannot flicker.
        assert_eq!(counts.len(), 24);
        assert!(counts.values().all(|count| (count - 1000).abs() < 190));
    }
}
