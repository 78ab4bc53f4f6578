//! Digits eight at a time, in the bytes of one integer.
//!
//! A number such as `-12.3456` is one load after its sign: a byte that is no digit shows in a mask, the point is cut out by two shifts, and three
//! multiplications add up eight digits (the well-known pairs, fours, eights). A second load takes what follows the first eight bytes, so that up to fifteen
//! bytes are read this way; whatever is longer, or has an exponent, or stands too near the end of the line for a load, is left to the caller.

/// A decimal number without sign or exponent.
#[derive(Debug, PartialEq)]
pub(crate) struct Short {
    /// Its digits as a whole number: at most fifteen.
    pub(crate) mantissa: u64,
    /// How many of them stand behind the point.
    pub(crate) decimals: usize,
    /// Where it ends.
    pub(crate) end: usize,
}

pub(crate) const ZEROS: u64 = 0x3030_3030_3030_3030;
pub(crate) const HIGH: u64 = 0x8080_8080_8080_8080;
pub(crate) const POINT: u8 = b'.' ^ b'0';

/// A field of at most eight bytes behind its sign, all digits with perhaps a point, and the delimiter that ends it: the way of most fields of most tables. Gives the number's
/// digits with their sign, how many stand behind the point, and where the next field begins.
#[inline(always)]
pub(crate) fn field(bytes: &[u8], at: usize, delimiter: u8) -> Option<(i64, usize, usize)> {
    let nine = bytes.get(at..)?.first_chunk::<9>()?;
    let [plain, signed] = [0, 1].map(|from| {
        let mut eight = [0; 8];
        eight.copy_from_slice(&nine[from..from + 8]);
        u64::from_le_bytes(eight) ^ ZEROS
    });
    let negative = nine[0] == b'-';
    let word = if negative { signed } else { plain };
    let others = not_digits(word);
    let whole = place(others);
    let ones = u64::MAX << whole;
    // With a point the field ends at the next byte that is no digit, and the digits behind it move up; without, here.
    let has_point = (word >> whole) as u8 == POINT;
    let rest = if has_point {
        others & others.wrapping_sub(1)
    } else {
        others
    };
    let digits = if has_point {
        (word & !ones) | ((word >> 8) & ones)
    } else {
        word
    };
    let end = place(rest);
    let point = if has_point { 8 } else { 0 };
    // No end in these bytes, another end than the delimiter, or no digit at all: left to others.
    let is_ended = rest != 0 && (word >> end) as u8 == delimiter ^ b'0';
    if !is_ended || end <= point {
        return None;
    }
    let mantissa = value(digits, end - point) as i64;
    let sign = -i64::from(negative);
    let decimals = if has_point { (end - whole) / 8 - 1 } else { 0 };
    let next = at + usize::from(negative) + (end / 8) as usize + 1;
    Some(((mantissa ^ sign) - sign, decimals as usize, next))
}

/// The number that begins at `first`, which is after its sign.
///
/// Places are counted in bits, eight to a byte, so that they are shifts as they stand.
#[inline(always)]
pub(crate) fn short(bytes: &[u8], first: usize) -> Option<Short> {
    let word = load(bytes, first)?;
    let others = not_digits(word);
    if others == 0 {
        return None; // eight digits before any point
    }
    let whole = place(others);
    let at_whole = (word >> whole) as u8;
    if at_whole != POINT {
        // Nothing there, or a number that goes on with an exponent.
        if whole == 0 || is_exponent(at_whole) {
            return None;
        }
        return Some(Short {
            mantissa: value(word, whole),
            decimals: 0,
            end: first + (whole >> 3) as usize,
        });
    }
    // Without the point: the digits before it stay, those behind it move up.
    let ones = u64::MAX << whole;
    let digits = (word & !ones) | ((word >> 8) & ones);
    let others = others & (others - 1);
    if others != 0 {
        let end = place(others);
        // A point alone is no number.
        if end <= 8 || is_exponent((word >> end) as u8) {
            return None;
        }
        return Some(Short {
            mantissa: value(digits, end - 8),
            decimals: ((end - whole - 8) >> 3) as usize,
            end: first + (end >> 3) as usize,
        });
    }
    let next = load(bytes, first + 8)?;
    let others = not_digits(next);
    if others == 0 {
        return None;
    }
    let more = place(others);
    if is_exponent((next >> more) as u8) {
        return None;
    }
    let mut mantissa = value(digits, 56);
    if more > 0 {
        // At most 7 + 7 digits.
        mantissa = mantissa * POWERS[(more >> 3) as usize & 7] + value(next, more);
    }
    Some(Short {
        mantissa,
        decimals: ((56 - whole + more) >> 3) as usize,
        end: first + 8 + (more >> 3) as usize,
    })
}

/// At most seven digits: their number, the byte that ends them, and where that stands.
#[inline(always)]
pub(crate) fn whole(bytes: &[u8], first: usize) -> Option<(u32, u8, usize)> {
    let word = load(bytes, first)?;
    let bits = place(not_digits(word));
    // None at all, or eight: then no bit is set, and the place is none.
    if bits == 0 {
        return None;
    }
    let number = value(word, bits) as u32;
    let end = (word >> bits) as u8 ^ b'0';
    Some((number, end, first + (bits >> 3) as usize))
}

const POWERS: [u64; 8] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000];

/// Eight bytes less `0`, the first one lowest.
#[inline(always)]
fn load(bytes: &[u8], at: usize) -> Option<u64> {
    let eight = bytes.get(at..)?.first_chunk::<8>()?;
    Some(u64::from_le_bytes(*eight) ^ ZEROS)
}

/// The high bit of every byte that is not 0 to 9. No carry leaves a byte.
#[inline(always)]
pub(crate) fn not_digits(word: u64) -> u64 {
    ((word & !HIGH).wrapping_add(0x7676_7676_7676_7676) | word) & HIGH
}

/// Where the byte of the lowest bit begins.
#[inline(always)]
fn place(mask: u64) -> u32 {
    mask.trailing_zeros() & 0x38
}

#[inline(always)]
fn is_exponent(byte: u8) -> bool {
    (byte ^ b'0') | 0x20 == b'e'
}

/// The number that the lowest `bits` spell, the first digit lowest: 8 to 64 of them.
#[inline(always)]
fn value(digits: u64, bits: u32) -> u64 {
    // Zeros in front, and what lies behind drops out.
    let eight = digits << (64 - bits);
    // 99, 9999 and 99999999 fit a byte, two and four: no sum carries over, and nothing wraps.
    // Each product adds ten times a digit, in the lane above it, to its neighbour's there.
    let pairs = (eight.wrapping_mul(10 << 8 | 1) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100 << 16 | 1) >> 16) & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000 << 32 | 1) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(u64, usize, usize)> {
        short(text.as_bytes(), 0).map(|short| (short.mantissa, short.decimals, short.end))
    }

    #[test]
    fn every_place_of_the_point_and_of_the_end() {
        for length in 1..=14_usize {
            for point in 0..=length {
                let digits: String = (0..length)
                    .map(|i| char::from(b'1' + (i * 7 % 9) as u8))
                    .collect();
                let (before, behind) = digits.split_at(point);
                let is_whole = point == length;
                let text = if is_whole {
                    before.to_owned()
                } else {
                    format!("{before}.{behind}")
                };
                let expected = (digits.parse().unwrap(), length - point, text.len());
                let found = read(&format!("{text},9999999999999999"));
                // Up to seven bytes before the point, and fourteen digits with it.
                let fits = point <= 7;
                assert_eq!(found, fits.then_some(expected), "{text}");
            }
        }
    }

    #[test]
    fn a_field_with_its_delimiter_is_what_the_long_way_reads() {
        for text in [
            "0,",
            "-0,",
            "7,",
            "1.5,",
            "-1.5,",
            ".5,",
            "5.,",
            "-12.25,",
            "1234567,",
            "-1234567,",
            "123.456,",
            "0.00001,",
            "000.500,",
            "-0.1234,",
        ] {
            let (mantissa, decimals, next) =
                field(format!("{text}99999999").as_bytes(), 0, b',').unwrap();
            assert_eq!(next, text.len(), "{text}");
            let expected: f64 = text.trim_end_matches(',').parse().unwrap();
            assert!(
                (mantissa as f64 / 10_f64.powi(decimals as i32) - expected).abs() == 0.0,
                "{text}"
            );
        }
        for text in [
            ",",
            "-,",
            ".,",
            "-.,",
            "1;",
            "1.2.3,",
            "1e5,",
            "1.5e3,",
            "12345678,",
            "1234567.,",
            "+1,",
            "--1,",
            "1-,",
            "a,",
            "1",
            "1.5",
            "1\n,",
            "0.123456,",
        ] {
            assert_eq!(
                field(format!("{text}99999999").as_bytes(), 0, b','),
                None,
                "{text}"
            );
        }
        assert_eq!(field(b"1,345678", 0, b','), None); // too near the end of the line
        assert_eq!(field(b"1\t3456789", 0, b'\t'), Some((1, 0, 2)));
    }

    #[test]
    fn whole_numbers_of_every_length_and_what_ends_them() {
        for length in 1..=7 {
            let digits = &"9081726"[..length];
            for end in [b' ', b'\t', b'|', b':', b'.', b'e', b'/', 0, 0xff] {
                let mut text = format!("?{digits}_9999999").into_bytes();
                text[length + 1] = end;
                let expected = (digits.parse().unwrap(), end, length + 1);
                assert_eq!(whole(&text, 1), Some(expected), "{digits} {end}");
            }
        }
        for text in [
            "",
            "1",
            "1234567",
            "12345678 ",
            "123456789",
            " 1234567",
            "-1234567",
        ] {
            assert_eq!(whole(text.as_bytes(), 0), None, "{text}");
        }
    }

    #[test]
    fn what_is_left_to_others() {
        for text in [
            "",
            "1",
            "1234567",
            ".,,,,,,,,",
            "-1234567890",
            "1e5,,,,,,,,,",
            "1.5E3,,,,,,,",
            "1.234567e8,,,,,,,,",
            "12345678,,,,,,,,",
            ",,,,,,,,,,,,,",
            "0.12345678901234,,,,,,,",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        // Neighbours of the digits in the table of characters, and bytes above 127, end a number.
        for end in [b'/', b':', 0x80, 0xff, 0] {
            let mut bytes = *b"12.5?,,,,,,,";
            bytes[4] = end;
            let found = short(&bytes, 0).unwrap();
            assert_eq!((found.mantissa, found.decimals, found.end), (125, 1, 4));
        }
    }
}
