//! Where the fields of a row end, and which are plain decimals: bytes are looked at sixteen at a
//! time, before any field is read. A search from one field to the next would have to wait for each
//! to end.

use crate::encode::{Short, decimal};
use std::ops::Range;

/// Bytes that are looked at together: one bit each.
const BLOCK: usize = 64;

/// A field of a row without quotes.
pub(crate) struct Field {
    pub(crate) place: Range<usize>,
    pub(crate) shape: Shape,
}

impl Field {
    /// Whether it is known to be a number. It has fewer digits than a block has bytes, so it is
    /// finite.
    pub(crate) fn is_decimal(&self) -> bool {
        self.shape != Shape::Other
    }

    /// The number that it is, if it is a decimal of at most 15 digits.
    #[inline(always)]
    pub(crate) fn number(&self, line: &[u8]) -> Option<f64> {
        let short = match self.shape {
            Shape::Digits => Short::of(line, &self.place, None),
            Shape::Decimal(decimals) => Short::of(line, &self.place, Some(decimals)),
            Shape::Other => Short::find(line, &self.place),
        };
        match short {
            Some(short) => Some(short.value()),
            None => decimal(&line[self.place.clone()]),
        }
    }
}

/// What is known about a field before it is read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Shape {
    /// Digits, at least one.
    Digits,
    /// Digits, at least one, and a point with so many of them behind it.
    Decimal(u32),
    /// Perhaps one of these, perhaps not.
    Other,
}

/// The fields of a row without quotes.
pub(super) struct Fields<'a> {
    line: &'a [u8],
    separator: u8,
    /// Where the block begins, and what its bytes are.
    base: usize,
    /// Separators that are still to come.
    ends: u64,
    digits: u64,
    points: u64,
    /// Where the next field begins.
    begin: usize,
    /// The same as a bit of the block; none if it begins before.
    first: u64,
    is_over: bool,
}

impl<'a> Fields<'a> {
    pub(super) fn new(line: &'a [u8], separator: u8) -> Self {
        let mut fields = Self {
            line,
            separator,
            base: 0,
            ends: 0,
            digits: 0,
            points: 0,
            begin: 0,
            first: 1,
            is_over: false,
        };
        fields.look();
        fields
    }

    /// Looks at the block at `base`.
    #[inline(always)]
    fn look(&mut self) {
        let rest = &self.line[self.base..];
        match rest.first_chunk() {
            Some(block) => self.mark(block),
            None => {
                // Whatever follows the row is no separator.
                let mut block = [!self.separator; BLOCK];
                block[..rest.len()].copy_from_slice(rest);
                self.mark(&block);
            }
        }
    }

    #[inline(always)]
    fn mark(&mut self, block: &[u8; BLOCK]) {
        (self.ends, self.digits, self.points) = (0, 0, 0);
        let (sixteens, _) = block.as_chunks::<16>();
        for (bytes, shift) in sixteens.iter().zip([0, 16, 32, 48]) {
            let [ends, digits, points] = kinds(bytes, self.separator);
            self.ends |= u64::from(ends) << shift;
            self.digits |= u64::from(digits) << shift;
            self.points |= u64::from(points) << shift;
        }
    }

    /// The shape of the field whose end is this bit.
    #[inline(always)]
    fn shape(&self, end: u64) -> Shape {
        if self.first == 0 {
            return Shape::Other;
        }
        let field = end.wrapping_sub(self.first);
        let others = field & !self.digits;
        if others == 0 {
            return if field > 0 {
                Shape::Digits
            } else {
                Shape::Other
            };
        }
        let is_point = others & others.wrapping_sub(1) == 0 && others & self.points > 0;
        if is_point && field != others {
            return Shape::Decimal(end.trailing_zeros() - others.trailing_zeros() - 1);
        }
        Shape::Other
    }
}

impl Iterator for Fields<'_> {
    type Item = Field;

    #[inline(always)]
    fn next(&mut self) -> Option<Field> {
        while self.ends == 0 {
            if self.line.len() - self.base <= BLOCK {
                let is_over = std::mem::replace(&mut self.is_over, true);
                return (!is_over).then_some(Field {
                    place: self.begin..self.line.len(),
                    shape: Shape::Other,
                });
            }
            self.base += BLOCK;
            self.first = u64::from(self.begin == self.base);
            self.look();
        }
        let end = self.ends & self.ends.wrapping_neg();
        let at = self.base + end.trailing_zeros() as usize;
        let field = Field {
            place: self.begin..at,
            shape: self.shape(end),
        };
        self.ends ^= end;
        (self.begin, self.first) = (at + 1, end << 1);
        Some(field)
    }
}

/// A bit for every byte that is the separator, a digit, or a point.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn kinds(bytes: &[u8; 16], separator: u8) -> [u16; 3] {
    // Every processor of this kind has it.
    let Some(simd) = pulp::core_arch::x86::Sse2::try_new() else {
        return kinds_one_by_one(bytes, separator);
    };
    let bytes = pulp::cast(*bytes);
    let all = |byte: u8| simd._mm_set1_epi8(byte.cast_signed());
    let is = |byte: u8| simd._mm_movemask_epi8(simd._mm_cmpeq_epi8(bytes, all(byte))) as u16;
    let value = simd._mm_sub_epi8(bytes, all(b'0'));
    let digits = simd._mm_cmpeq_epi8(simd._mm_min_epu8(value, all(9)), value);
    [
        is(separator),
        simd._mm_movemask_epi8(digits) as u16,
        is(b'.'),
    ]
}

#[cfg(not(target_arch = "x86_64"))]
fn kinds(bytes: &[u8; 16], separator: u8) -> [u16; 3] {
    kinds_one_by_one(bytes, separator)
}

fn kinds_one_by_one(bytes: &[u8; 16], separator: u8) -> [u16; 3] {
    let is = |kind: &dyn Fn(u8) -> bool| {
        let bits = bytes.iter().zip(0..);
        bits.fold(0, |all, (byte, bit)| all | u16::from(kind(*byte)) << bit)
    };
    [
        is(&|byte| byte == separator),
        is(&|byte| byte.is_ascii_digit()),
        is(&|byte| byte == b'.'),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shape(field: &[u8]) -> Shape {
        let digits = field.iter().filter(|byte| byte.is_ascii_digit()).count();
        let points: Vec<usize> = (0..field.len()).filter(|&at| field[at] == b'.').collect();
        match (field.len() - digits, &points[..]) {
            (0, []) if digits > 0 => Shape::Digits,
            (1, [at]) if digits > 0 => Shape::Decimal((field.len() - at - 1) as u32),
            _ => Shape::Other,
        }
    }

    proptest! {
        /// Against a walk; a field that is in two blocks, or the last, may be called other.
        #[test]
        fn fields_are_those_of_a_walk(
            line in prop::collection::vec(
                prop_oneof![Just(b','), Just(b'.'), Just(b'-'), b'0'..=b'9', any::<u8>()],
                0..300,
            ),
        ) {
            let mut begin = 0;
            let walk = line.split(|byte| *byte == b',').map(|field| {
                let place = begin..begin + field.len();
                begin += field.len() + 1;
                (place, shape(field))
            });
            let walk: Vec<_> = walk.collect();
            let found: Vec<_> = Fields::new(&line, b',').collect();
            prop_assert_eq!(found.len(), walk.len());
            for (own, (place, shape)) in found.iter().zip(&walk) {
                prop_assert_eq!(&own.place, place);
                let is_split = place.start / BLOCK != place.end / BLOCK || place.end == line.len();
                prop_assert!(own.shape == *shape || is_split && own.shape == Shape::Other);
            }
            if let Some(sixteen) = line.first_chunk() {
                prop_assert_eq!(kinds(sixteen, b','), kinds_one_by_one(sixteen, b','));
            }
        }
    }
}
