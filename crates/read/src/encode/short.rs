//! Short decimals, many at a time.
//!
//! Most fields of most tables have at most eight bytes: digits with perhaps a minus before them
//! and a point among them. Such a field is one integer of eight bytes, and what makes a number of
//! it has no branches, so wide vectors read several fields at once. What this buys, together with
//! the search for fields, stands in `formats/plain.rs`.

use std::array;

/// Fields that are read together.
pub(crate) const TOGETHER: usize = 8;

/// The fields of a row as numbers, where they are short decimals.
pub(crate) struct Shorts {
    fields: usize,
    words: Vec<[u64; TOGETHER]>,
    lengths: Vec<[u64; TOGETHER]>,
    values: Vec<[f64; TOGETHER]>,
    /// Not 0 for fields that are no short decimals.
    others: Vec<[u64; TOGETHER]>,
}

impl Shorts {
    /// For rows of so many fields.
    pub(crate) fn new(fields: usize) -> Self {
        let groups = fields.div_ceil(TOGETHER);
        Self {
            fields,
            words: vec![[0; TOGETHER]; groups],
            lengths: vec![[0; TOGETHER]; groups],
            values: vec![[0.0; TOGETHER]; groups],
            others: vec![[0; TOGETHER]; groups],
        }
    }

    /// Reads the fields of a row that end here.
    pub(crate) fn read(&mut self, line: &[u8], ends: &[usize]) {
        let words = self.words.as_flattened_mut().iter_mut();
        let slots = words.zip(self.lengths.as_flattened_mut());
        let mut begin = 0;
        for (&end, (word, length)) in ends[..ends.len().min(self.fields)].iter().zip(slots) {
            *word = eight_before(line, end);
            *length = (end - begin) as u64;
            begin = end + 1;
        }
        pulp::Arch::new().dispatch(Reading {
            words: &self.words,
            lengths: &self.lengths,
            values: &mut self.values,
            others: &mut self.others,
        });
    }

    /// The number that a field is, if it is a short decimal.
    pub(crate) fn get(&self, field: usize) -> Option<f64> {
        (self.others.as_flattened()[field] == 0).then(|| self.values.as_flattened()[field])
    }

    /// All numbers; anything where a field is none.
    pub(crate) fn values(&self) -> &[[f64; TOGETHER]] {
        &self.values
    }

    /// Not 0 for fields that are no short decimals.
    pub(crate) fn others(&self) -> &[[u64; TOGETHER]] {
        &self.others
    }
}

/// The eight bytes before a place, the last one highest.
#[inline(always)]
fn eight_before(line: &[u8], end: usize) -> u64 {
    match line.get(end.wrapping_sub(8)..end) {
        Some(eight) => eight
            .first_chunk()
            .map_or(0, |eight| u64::from_le_bytes(*eight)),
        None => line[..end]
            .iter()
            .fold(0, |word, &byte| word >> 8 | u64::from(byte) << 56),
    }
}

struct Reading<'a> {
    words: &'a [[u64; TOGETHER]],
    lengths: &'a [[u64; TOGETHER]],
    values: &'a mut [[f64; TOGETHER]],
    others: &'a mut [[u64; TOGETHER]],
}

impl pulp::WithSimd for Reading<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let fields = self.words.iter().zip(self.lengths);
        let numbers = self.values.iter_mut().zip(self.others);
        for ((words, lengths), (values, others)) in fields.zip(numbers) {
            let read: [_; TOGETHER] = array::from_fn(|i| number(words[i], lengths[i]));
            *values = read.map(|(value, _)| value);
            *others = read.map(|(_, other)| other);
        }
    }
}

const HIGH: u64 = u64::from_le_bytes([0x80; 8]);

/// The number that the last bytes of a word are, and 0; something else if they are none.
#[inline(always)]
fn number(word: u64, length: u64) -> (f64, u64) {
    const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);
    const POINTS: u64 = u64::from_le_bytes([b'.' ^ b'0'; 8]);
    const MINUS: u64 = (b'-' ^ b'0') as u64;
    let is = |truth: bool| u64::from(truth).wrapping_neg();
    // Digits by their value; the last byte of the field is the highest, zeros stand below the
    // first.
    let first = 64_u64.wrapping_sub(8 * length) & 63;
    let bytes = (word ^ ZEROS) & (u64::MAX << first);
    let minus = is((bytes >> first) & 0xff == MINUS);
    let bytes = bytes & !(minus & (0xff << first));
    // The high bit of every byte that is no digit; then a 1 in the byte of the lowest of them, all
    // bits of that byte, and all bits below it.
    let marks = ((bytes & !HIGH).wrapping_add(0x7676_7676_7676_7676) | bytes) & HIGH;
    let unit = (marks & marks.wrapping_neg()) >> 7;
    let point = (unit << 8).wrapping_sub(unit);
    let below = unit.wrapping_sub(1);
    // What stands before the point moves up; without one everything is below.
    let above = !(below | point);
    let moved = bytes & above | (bytes & below) << 8;
    let has_point = is(unit != 0);
    let digits = has_point & moved | !has_point & bytes;
    let decimals = (above & HIGH >> 7).wrapping_mul(HIGH >> 7) >> 56;
    let power = if decimals & 1 == 0 { 1.0 } else { 10.0 };
    let power = power * if decimals & 2 == 0 { 1.0 } else { 100.0 };
    let power = power * if decimals & 4 == 0 { 1.0 } else { 10_000.0 };
    // Both are exact as floats, so one division rounds once: the nearest float.
    let size = eight_digits(digits) / power;
    let value = f64::from_bits(size.to_bits() ^ minus & 1 << 63);
    // A length out of range, more than a point, or another byte; and nothing but a minus or a
    // point.
    let no_digit = is(length == (minus & 1) + (has_point & 1));
    let others = is(length.wrapping_sub(1) > 7) | marks ^ unit << 7 | (bytes ^ POINTS) & point;
    (value, others | no_digit)
}

/// The number that eight digits are: by pairs, fours and eights. 99, 9999 and 99999999 fit their
/// bytes, so no sum carries over.
#[inline(always)]
fn eight_digits(eight: u64) -> f64 {
    let pairs = (eight.wrapping_mul(10).wrapping_add(eight >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100).wrapping_add(pairs >> 16)) & 0x0000_ffff_0000_ffff;
    let whole = (fours.wrapping_mul(10_000).wrapping_add(fours >> 32)) & 0xffff_ffff;
    // The last digits of a float near 2⁵² count ones: a cast would have no vector.
    const ONES: f64 = (1_u64 << 52) as f64;
    f64::from_bits(ONES.to_bits() | whole) - ONES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::parse_number;

    fn check_line(line: &[u8]) {
        let ends: Vec<usize> = (0..line.len()).filter(|&at| line[at] == b',').collect();
        let ends = [&ends[..], &[line.len()]].concat();
        let mut shorts = Shorts::new(ends.len());
        shorts.read(line, &ends);
        for (number, field) in line.split(|byte| *byte == b',').enumerate() {
            let is_plain = |byte: &u8| matches!(byte, b'0'..=b'9' | b'.' | b'-');
            let is_short = field.len() <= 8 && field.iter().all(is_plain);
            let wanted = parse_number(field).filter(|_| is_short);
            let (found, line) = (shorts.get(number), line.escape_ascii());
            assert_eq!(found.map(f64::to_bits), wanted.map(f64::to_bits), "{line}");
        }
    }

    #[test]
    fn short_numbers_are_the_nearest_floats() {
        let mut state = 1_u64;
        for _ in 0..20_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(9);
            let mut digits = (state >> 3).to_string();
            digits.truncate(1 + (state >> 40) as usize % 10);
            digits.insert((state >> 50) as usize % (digits.len() + 1), '.');
            let text = format!("{}{digits}", ["", "-"][(state >> 60) as usize % 2]);
            // Wherever it stands in its row.
            for before in ["", "7,", "abc,-1,"] {
                check_line(format!("{before}{text},1").as_bytes());
            }
        }
        check_line(b"1,22,333,4444,55555,666666,7777777,88888888,999999999,-1,-22,-0,0,-0.0");
    }

    /// All rows of up to five of these bytes, at the edges of a word and of a group of fields.
    #[test]
    fn what_is_no_short_decimal_is_none() {
        let bytes = b"09.-e/:\x80";
        for count in 0..=5_u32 {
            for number in 0..8_usize.pow(count) {
                let byte = |place: u32| bytes[number / 8_usize.pow(place) % 8];
                let text: Vec<u8> = (0..count).map(byte).collect();
                check_line(&text);
                check_line(&[b"1,2,3,4,5,6,7,", &text[..], b",-9"].concat());
                check_line(&[b"123", &text[..]].concat());
            }
        }
        for text in [
            "12345678",
            "-1234567",
            "-12345678",
            "1234567.",
            ".1234567",
            "12.34567890",
        ] {
            check_line(text.as_bytes());
        }
    }
}
