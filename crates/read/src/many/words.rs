//! The same in words of eight bytes, on any processor.

use super::{BLOCK, Vectors, WIDTH};
use crate::digits::{HIGH, POINT, ZEROS, not_digits};

/// In words of eight bytes, on any processor.
#[derive(Clone, Copy)]
pub(crate) struct Words;

impl Vectors for Words {
    #[inline(always)]
    fn marks(self, bytes: &[u8; BLOCK], byte: u8) -> u64 {
        let wanted = u64::from_le_bytes([byte; 8]);
        let (words, _) = bytes.as_chunks::<8>();
        words.iter().rev().fold(0, |marks, word| {
            let found = zeros(u64::from_le_bytes(*word) ^ wanted) >> 7;
            // The product gathers the lowest bits of all bytes in the highest byte, first byte lowest.
            marks << 8 | found.wrapping_mul(0x0102_0408_1020_4080) >> 56
        })
    }

    #[inline(always)]
    fn numbers(
        self,
        words: &[u64; WIDTH],
        bits: &[u64; WIDTH],
        out: &mut [f64; WIDTH],
    ) -> [u64; WIDTH] {
        let mut odd = [0; WIDTH];
        let places = out.iter_mut().zip(&mut odd);
        for ((word, bits), (out, odd)) in words.iter().zip(bits).zip(places) {
            let (mantissa, power, is_odd) = read(*word, *bits);
            (*out, *odd) = (mantissa / power, is_odd);
        }
        odd
    }
}

/// A field of `bits`/8 bytes, the first one lowest: its digits with their sign, the power of ten to divide by, and anything but 0 if it has another shape.
#[inline(always)]
fn read(word: u64, bits: u64) -> (f64, f64, u64) {
    let is_negative = word as u8 == b'-';
    let (sign, sign_bits) = if is_negative { (0xff, 8) } else { (0, 0) };
    // The last byte goes to the top; below the first, and in the sign's place, are zeros, which are digits.
    let text = ((word ^ ZEROS) & !sign) << (64_u64.wrapping_sub(bits) & 63);
    let points = zeros(text ^ u64::from_le_bytes([POINT; 8]));
    // Every byte but digits is a point, and there is at most one.
    let odd = (not_digits(text) ^ points) | (points & points.wrapping_sub(1));
    // What stands before the point moves up to close the gap. A one in the point's byte spells the power of ten, read as the other digits are.
    let has_point = points != 0;
    let below = (points >> 7).wrapping_sub(1);
    let above = !(points | points.wrapping_sub(1));
    let (digits, place, point_bits) = if has_point {
        ((text & below) << 8 | text & above, points >> 7, 8)
    } else {
        (text, 1 << 56, 0)
    };
    // Nothing, or a sign or a point alone, is no number, and what is longer than eight bytes is not here.
    let is_outside = bits == sign_bits + point_bits || bits > 64;
    let odd = if is_outside { 1 } else { odd };
    let negative = 0_u64.wrapping_sub(sign & 1);
    let mantissa = (value(digits) ^ negative).wrapping_sub(negative);
    (small(mantissa), small(value(place)), odd)
}

/// The number that eight digits spell, the first one lowest: by pairs, fours and eights, without a product of 64 bits.
#[inline(always)]
fn value(digits: u64) -> u64 {
    let tens = (digits << 3).wrapping_add(digits << 1);
    let pairs = tens.wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let hundreds = (pairs << 6)
        .wrapping_add(pairs << 5)
        .wrapping_add(pairs << 2);
    let fours = hundreds.wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    ((fours & 0xffff_ffff) * 10_000).wrapping_add(fours >> 32) & 0xffff_ffff
}

/// An integer below 2⁵¹ in size as a float: at 1.5·2⁵² the last digits of a float count ones. A cast has no vector for it.
#[inline(always)]
fn small(value: u64) -> f64 {
    const ONES: f64 = 1.5 * (1_u64 << 52) as f64;
    f64::from_bits(ONES.to_bits().wrapping_add(value)) - ONES
}

/// The high bit of every byte that is zero, exactly.
#[inline(always)]
fn zeros(word: u64) -> u64 {
    !((word & !HIGH).wrapping_add(!HIGH) | word) & HIGH
}
