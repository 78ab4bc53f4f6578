//! Where the fields of a row end: separators are found sixteen bytes at a time, before any field is
//! read. A search from one field to the next would have to wait for each to end.

/// Bytes that are looked at together: one bit each.
const BLOCK: usize = 64;

/// The ends of the fields of a row without quotes, the last one too.
pub(super) struct Marks<'a> {
    line: &'a [u8],
    separator: u8,
    /// Where the block begins, and its separators that are still to come.
    base: usize,
    marks: u64,
    is_over: bool,
}

impl<'a> Marks<'a> {
    pub(super) fn new(line: &'a [u8], separator: u8) -> Self {
        let mut marks = Self {
            line,
            separator,
            base: 0,
            marks: 0,
            is_over: false,
        };
        marks.look();
        marks
    }

    /// Finds the separators of the block at `base`.
    #[inline(always)]
    fn look(&mut self) {
        let rest = &self.line[self.base..];
        self.marks = match rest.first_chunk() {
            Some(block) => found(block, self.separator),
            None => {
                // Whatever follows the row is no separator.
                let mut block = [!self.separator; BLOCK];
                block[..rest.len()].copy_from_slice(rest);
                found(&block, self.separator)
            }
        };
    }
}

impl Iterator for Marks<'_> {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        while self.marks == 0 {
            if self.line.len() - self.base <= BLOCK {
                let is_last = !std::mem::replace(&mut self.is_over, true);
                return is_last.then_some(self.line.len());
            }
            self.base += BLOCK;
            self.look();
        }
        let at = self.base + self.marks.trailing_zeros() as usize;
        self.marks &= self.marks - 1;
        Some(at)
    }
}

/// A bit for every byte of a block that is this one.
#[inline(always)]
fn found(block: &[u8; BLOCK], byte: u8) -> u64 {
    let (sixteens, _) = block.as_chunks::<16>();
    let bits = sixteens.iter().zip([0, 16, 32, 48]);
    bits.fold(0, |all, (bytes, shift)| {
        all | u64::from(found_in_sixteen(bytes, byte)) << shift
    })
}

/// [`found`], by an instruction that every processor of this kind has.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn found_in_sixteen(bytes: &[u8; 16], byte: u8) -> u16 {
    let Some(simd) = pulp::core_arch::x86::Sse2::try_new() else {
        return one_by_one(bytes, byte);
    };
    let same = simd._mm_set1_epi8(byte.cast_signed());
    let same = simd._mm_cmpeq_epi8(pulp::cast(*bytes), same);
    simd._mm_movemask_epi8(same) as u16
}

#[cfg(not(target_arch = "x86_64"))]
fn found_in_sixteen(bytes: &[u8; 16], byte: u8) -> u16 {
    one_by_one(bytes, byte)
}

fn one_by_one(bytes: &[u8; 16], byte: u8) -> u16 {
    let bits = bytes.iter().zip(0..);
    bits.fold(0, |all, (own, bit)| all | u16::from(*own == byte) << bit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn fields_end_where_a_walk_ends_them(
            line in prop::collection::vec(prop_oneof![Just(b','), any::<u8>()], 0..300),
        ) {
            let walk = line.iter().enumerate().filter(|(_, byte)| **byte == b',');
            let expected: Vec<usize> = walk.map(|(at, _)| at).chain([line.len()]).collect();
            prop_assert_eq!(Marks::new(&line, b',').collect::<Vec<_>>(), expected);
            if let Some(sixteen) = line.first_chunk() {
                let (short, long) = (found_in_sixteen(sixteen, b','), one_by_one(sixteen, b','));
                prop_assert_eq!(short, long);
            }
        }
    }
}
