//! Stated texts, and which fields mean them.
//!
//! A field means a stated text if both are the same, or if both read as numbers and are equal: `1`
//! and `1.0`. White space around either is no part of it. Codes with a leading zero
//! such as `007`, and numbers beyond 2⁵³, which floats do not tell apart, are texts.

use crate::number;
use std::collections::HashMap;

/// Whole numbers below this are exact as floats.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The number that a text reads as.
fn as_number(text: &[u8]) -> Option<f64> {
    let digits = match text {
        [b'-' | b'+', digits @ ..] => digits,
        _ => text,
    };
    if matches!(digits, [b'0', b'0'..=b'9', ..]) {
        return None;
    }
    let number = number::parse(text)?;
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
