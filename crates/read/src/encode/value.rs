//! Numbers, stated texts, and which fields mean them.
//!
//! A field means a stated text if both are the same, or if both read as numbers and are equal: `1`
//! and `1.0`. White space around either is no part of it. Codes with a leading zero
//! such as `007`, and numbers beyond 2⁵³, which floats do not tell apart, are texts.

use std::collections::HashMap;

/// Whole numbers below this are exact as floats.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The decimal number that a field is, perhaps infinite by overflow; texts like `inf` and `nan` are
/// no numbers.
pub(crate) fn parse_number(field: &[u8]) -> Option<f64> {
    let is_plain = |b: &u8| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
    if !field.iter().all(is_plain) {
        return None;
    }
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// At most 15 digits and their power of ten are exact as floats, so one division rounds once: the
/// result is the nearest float, as [`parse_number`] gives it.
fn shifted(digits: i64, decimals: usize) -> f64 {
    const POWERS: [f64; 16] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
    ];
    digits as f64 / POWERS[decimals & 15]
}

/// A decimal of at most 15 digits.
pub(crate) fn decimal(field: &[u8]) -> Option<f64> {
    let number = field.strip_prefix(b"-").unwrap_or(field);
    let mut mantissa = 0;
    let whole = digits(number, &mut mantissa);
    let (mut length, mut decimals) = (whole, 0);
    if number.get(whole) == Some(&b'.') {
        decimals = digits(&number[whole + 1..], &mut mantissa);
        length += 1 + decimals;
    }
    if length < number.len() || !(1..=15).contains(&(whole + decimals)) {
        return None;
    }
    let size = shifted(mantissa as i64, decimals);
    Some(if number.len() < field.len() {
        -size
    } else {
        size
    })
}

/// Counts the leading digits and adds them to the mantissa, which may wrap.
fn digits(bytes: &[u8], mantissa: &mut u64) -> usize {
    let mut count = 0;
    for byte in bytes {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        *mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit));
        count += 1;
    }
    count
}

/// Whether a name is a number, as the fields of a record may be.
pub(crate) fn is_number(name: &str) -> bool {
    parse_number(name.as_bytes()).is_some()
}

/// The number that a stated text means.
fn as_number(text: &[u8]) -> Option<f64> {
    let digits = match text {
        [b'-' | b'+', digits @ ..] => digits,
        _ => text,
    };
    if matches!(digits, [b'0', b'0'..=b'9', ..]) {
        return None;
    }
    let number = parse_number(text)?;
    // Minus zero becomes zero.
    (number.abs() < EXACT).then_some(number + 0.0)
}

/// One stated text.
#[derive(Clone)]
pub(crate) struct Value {
    text: Box<[u8]>,
    number: Option<f64>,
}

impl Value {
    pub(crate) fn new(text: &str) -> Self {
        let text = text.as_bytes().trim_ascii();
        Self {
            text: text.into(),
            number: as_number(text),
        }
    }

    /// Whether a field, without the white space around it, means this text.
    pub(crate) fn is(&self, field: &[u8]) -> bool {
        *self.text == *field || self.number.is_some() && self.number == as_number(field)
    }
}

/// A list of stated texts.
pub(crate) struct Values {
    texts: HashMap<Box<[u8]>, u32>,
    /// By the bits of the number.
    numbers: HashMap<u64, u32>,
}

impl Values {
    pub(crate) fn new(values: &[String]) -> Self {
        let (mut texts, mut numbers) = (HashMap::new(), HashMap::new());
        for (value, place) in values.iter().map(|value| Value::new(value)).zip(0..) {
            texts.entry(value.text).or_insert(place);
            if let Some(number) = value.number {
                numbers.entry(number.to_bits()).or_insert(place);
            }
        }
        Self { texts, numbers }
    }

    /// The place of the text that a field means.
    pub(crate) fn find(&self, field: &[u8]) -> Option<u32> {
        if let Some(&place) = self.texts.get(field) {
            return Some(place);
        }
        if self.numbers.is_empty() {
            return None;
        }
        let number = as_number(field)?;
        self.numbers.get(&number.to_bits()).copied()
    }
}

/// Why a list of texts cannot be told apart in fields, if that is so.
pub(crate) fn confusion(values: &[String]) -> Option<&'static str> {
    let found = Values::new(values);
    if values.iter().any(|value| value.trim_ascii().is_empty()) {
        Some("every value needs a name, and at least one is needed")
    } else if found.texts.len() < values.len() {
        Some("two values are the same but for the spaces around them; state one")
    } else if found.numbers.len() < numbers(values) {
        Some("two values are the same number, as 1 and 1.0 are; state one")
    } else {
        None
    }
}

fn numbers(values: &[String]) -> usize {
    let is_number = |value: &&String| Value::new(value).number.is_some();
    values.iter().filter(is_number).count()
}

/// Which fields are missing values: nothing, NA, N/A, NaN or null in any case, and the texts that
/// are stated.
#[derive(Clone, Default)]
pub(crate) struct Missing(Vec<Value>);

impl Missing {
    pub(crate) fn new(texts: &[String]) -> Self {
        Self(texts.iter().map(|text| Value::new(text)).collect())
    }

    /// Whether a number can be a missing value, as -999 is in some files.
    pub(crate) fn has_numbers(&self) -> bool {
        self.0.iter().any(|value| value.number.is_some())
    }

    /// Whether a field is one of the stated texts.
    pub(crate) fn is_stated(&self, field: &[u8]) -> bool {
        self.0.iter().any(|value| value.is(field))
    }

    pub(crate) fn is(&self, field: &[u8]) -> bool {
        let spellings: [&[u8]; 5] = [b"", b"na", b"n/a", b"nan", b"null"];
        field.len() <= 4
            && spellings
                .iter()
                .any(|text| field.eq_ignore_ascii_case(text))
            || self.is_stated(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in [
            "", "-", "+", ".", "e5", "1e", "1e+", "1.2.3", "--1", "1-", "inf", "nan", "NaN",
            "infinity", "0x10", "1_000", "1 ", "١",
        ] {
            assert_eq!(parse_number(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse_number(b"1e999"), Some(f64::INFINITY));
        assert_eq!(parse_number(b"-.5e1"), Some(-5.0));
    }

    #[test]
    fn decimals_are_the_nearest_floats() {
        let mut state = 1_u64;
        for _ in 0..20_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(9);
            let mut digits = (state >> 3).to_string();
            digits.truncate(1 + (state >> 40) as usize % 17);
            digits.insert((state >> 50) as usize % (digits.len() + 1), '.');
            let text = format!("{}{digits}", ["", "-"][(state >> 60) as usize % 2]);
            let expected = parse_number(text.as_bytes()).unwrap();
            let wanted = (digits.len() <= 16).then_some(expected.to_bits());
            assert_eq!(decimal(text.as_bytes()).map(f64::to_bits), wanted, "{text}");
        }
        for text in [
            "",
            "-",
            ".",
            "-.",
            "1e5",
            "+1",
            "1 ",
            "1.2.3",
            "--1",
            "1-",
            "-1-2",
            "\"1\"",
            "NA",
            "1,2",
            "/",
            ":",
            "1/2",
            "\u{b1}",
            "1234567.8.9",
            "-.-",
            "..",
            "1.-",
        ] {
            assert_eq!(decimal(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn equal_numbers_are_the_same_value_and_codes_are_not() {
        let found = Values::new(&values(&["1", "2.50", "007", " x ", "-0"]));
        for (field, place) in [
            ("1", Some(0)),
            ("1.0", Some(0)),
            ("1e0", Some(0)),
            ("+1", Some(0)),
            ("01", None),
            ("2.5", Some(1)),
            ("7", None),
            ("007", Some(2)),
            ("x", Some(3)),
            ("0", Some(4)),
            ("inf", None),
            ("", None),
        ] {
            assert_eq!(found.find(field.as_bytes()), place, "{field}");
        }
        let large = Values::new(&values(&["9007199254740992", "9007199254740993"]));
        assert_eq!(large.find(b"9007199254740993"), Some(1));
        assert_eq!(large.find(b"9007199254740992.0"), None);
    }

    #[test]
    fn lists_that_cannot_be_told_apart_say_why() {
        assert_eq!(confusion(&values(&["1", "2", "01", "x"])), None);
        for (texts, why) in [
            (["1", "1.0"], "the same number"),
            (["x", " x"], "but for the spaces"),
            (["x", " "], "needs a name"),
        ] {
            assert!(confusion(&values(&texts)).unwrap().contains(why), "{why}");
        }
    }

    #[test]
    fn stated_texts_are_missing_besides_the_usual_ones() {
        let missing = Missing::new(&values(&["?", "-999"]));
        for field in ["", "NA", "n/a", "NaN", "null", "?", "-999", "-999.0"] {
            assert!(missing.is(field.as_bytes()), "{field}");
        }
        for field in ["??", "999", "none", "0"] {
            assert!(!missing.is(field.as_bytes()), "{field}");
        }
        assert!(missing.has_numbers() && !Missing::default().is(b"?"));
    }
}
