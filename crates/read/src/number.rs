//! Decimal numbers, fast and exact.
//!
//! Up to 19 digits are gathered in an integer. If it is below 2⁵³ and the power of ten is at most 22, both are exact as floats and one
//! multiplication or division rounds once, so the result is the nearest float (Clinger 1990). Everything else goes to the standard library, which is
//! exact too. Texts like `inf` and `nan` are not numbers here.
//!
//! Short numbers, which most are, are read eight bytes at a time: `digits.rs`.

const EXACT_POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

use crate::digits;

/// The number at the beginning of `bytes` and how many bytes it takes, if the fast way finds it; what follows is the caller's to judge.
#[inline(always)] // the whole way of most numbers of most files
pub(crate) fn scan(bytes: &[u8]) -> Option<(f64, usize)> {
    let negative = bytes.first() == Some(&b'-');
    match digits::short(bytes, usize::from(negative)) {
        Some(short) => {
            // At most 15 digits: exact as a float, and so is the power of ten.
            let size = short.mantissa as i64 as f64;
            let size = match short.decimals {
                0 => size,
                decimals => size / EXACT_POWERS[decimals & 15],
            };
            Some((if negative { -size } else { size }, short.end))
        }
        None => scan_any(bytes, negative),
    }
}

/// A short field and the delimiter that ends it: its number, and where the next field begins.
#[inline(always)]
pub(crate) fn field(bytes: &[u8], at: usize, delimiter: u8) -> Option<(f64, usize)> {
    let (mantissa, decimals, next) = digits::field(bytes, at, delimiter)?;
    // At most eight digits: both are exact as floats. Minus zero is zero, here and in every encoding.
    let size = mantissa as f64;
    // Whole numbers need not wait for a division.
    let value = match decimals {
        0 => size,
        decimals => size / EXACT_POWERS[decimals & 15],
    };
    Some((value, next))
}

/// A number of any shape, byte by byte.
#[inline(never)]
fn scan_any(bytes: &[u8], negative: bool) -> Option<(f64, usize)> {
    let first = usize::from(negative);
    let (mut mantissa, mut at) = (0_u64, first);
    while let Some(digit) = digit(bytes, at) {
        mantissa = mantissa.wrapping_mul(10).wrapping_add(digit);
        at += 1;
    }
    let digits = at - first;
    if matches!(bytes.get(at), Some(b'.' | b'e' | b'E')) || !(1..=15).contains(&digits) {
        return scan_rest(bytes, mantissa, negative, digits, at);
    }
    let size = mantissa as i64 as f64;
    Some((if negative { -size } else { size }, at))
}

/// A number that is not short and whole, from behind its first digits.
fn scan_rest(
    bytes: &[u8],
    mut mantissa: u64,
    negative: bool,
    mut digits: usize,
    mut at: usize,
) -> Option<(f64, usize)> {
    let mut exponent = 0_i64;
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        let first = at;
        while let Some(digit) = digit(bytes, at) {
            mantissa = mantissa.wrapping_mul(10).wrapping_add(digit);
            at += 1;
        }
        digits += at - first;
        exponent = -((at - first) as i64);
    }
    // More than 19 digits may have wrapped.
    if digits == 0 || digits > 19 {
        return None;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let (power, end) = scan_exponent(bytes, at + 1)?;
        (exponent, at) = (exponent + power, end);
    }
    if mantissa >> 53 != 0 || exponent.unsigned_abs() > 22 {
        return None;
    }
    let power = EXACT_POWERS[exponent.unsigned_abs() as usize];
    let size = mantissa as f64;
    let size = if exponent < 0 {
        size / power
    } else {
        size * power
    };
    Some((if negative { -size } else { size }, at))
}

#[inline]
fn digit(bytes: &[u8], at: usize) -> Option<u64> {
    let digit = bytes.get(at)?.wrapping_sub(b'0');
    (digit < 10).then_some(u64::from(digit))
}

/// A power of ten of at most three digits.
fn scan_exponent(bytes: &[u8], mut at: usize) -> Option<(i64, usize)> {
    let negative = bytes.get(at) == Some(&b'-');
    at += usize::from(matches!(bytes.get(at), Some(b'-' | b'+')));
    let (mut power, first) = (0_i64, at);
    while let Some(digit) = digit(bytes, at) {
        power = power * 10 + digit as i64;
        at += 1;
        if at - first > 3 {
            return None;
        }
    }
    (at > first).then_some((if negative { -power } else { power }, at))
}

/// The number that `bytes` are, perhaps infinite by overflow; nothing if they are no number.
pub(crate) fn parse(bytes: &[u8]) -> Option<f64> {
    if let Some((value, length)) = scan(bytes)
        && length == bytes.len()
    {
        return Some(value);
    }
    let plain = |b: &u8| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
    if !bytes.iter().all(plain) {
        return None;
    }
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

/// A whole number of at most 18 digits.
pub(crate) fn whole(bytes: &[u8]) -> Option<u64> {
    if !(1..=18).contains(&bytes.len()) {
        return None;
    }
    (0..bytes.len()).try_fold(0, |value, at| Some(value * 10 + digit(bytes, at)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The standard library is the reference, bit for bit.
    fn agrees(text: &str) {
        let expected: f64 = text.parse().unwrap();
        let found = parse(text.as_bytes()).unwrap();
        assert_eq!(found.to_bits(), expected.to_bits(), "{text}");
    }

    #[test]
    fn equals_the_standard_library_on_numbers_of_every_shape() {
        for text in [
            "0",
            "-0",
            "-0.0",
            "7",
            "1.",
            ".5",
            "-.5e1",
            "1e22",
            "1e23",
            "1e-22",
            "1e-23",
            "9007199254740991",
            "9007199254740992",
            "9007199254740993",
            "0.1",
            "0.30000000000000004",
            "123456789012345678901234567890",
            "0.00000000000000000000000000000001",
            "1E5",
            "1e+5",
            "2.2250738585072011e-308",
            "4.9e-324",
            "1.7976931348623157e308",
            "1e0005",
            "+3.5",
            "18446744073709551616",
            "99999999999999999999",
            "1e999",
            "0e999",
        ] {
            agrees(text);
        }
        let mut state = 1_u64;
        for _ in 0..200_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let float = f64::from_bits(state);
            if float.is_finite() {
                agrees(&format!("{float}"));
                agrees(&format!("{float:e}"));
            }
            agrees(&format!(
                "{}.{:03}",
                (state >> 40) as i32 - 1000,
                state % 1000
            ));
            agrees(&format!("{}e{}", state >> 5, (state % 60) as i32 - 30));
        }
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in [
            "", "-", "+", ".", "e5", "1e", "1e+", "1.2.3", "--1", "1-", "inf", "nan", "NaN",
            "infinity", "0x10", "1_000", "1 ", "١",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse(b"1e999"), Some(f64::INFINITY));
        assert_eq!(
            (
                whole(b"012"),
                whole(b""),
                whole(b"-1"),
                whole(b"1234567890123456789")
            ),
            (Some(12), None, None, None)
        );
    }

    #[test]
    fn a_scan_stops_where_the_number_ends() {
        assert_eq!(scan(b"12.5,7"), Some((12.5, 4)));
        assert_eq!(scan(b",7"), None);
    }
}
