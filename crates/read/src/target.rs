//! Targets: from the text of a field to −1 and 1, a class, or a number.

use crate::encoding::TargetKind;
use crate::error::Fault;
use crate::number;
use std::collections::HashMap;

/// A prepared [`TargetKind`].
pub(crate) enum TargetEncoder {
    Sign {
        positive: Option<Value>,
    },
    Class {
        index: HashMap<Box<[u8]>, u32>,
        values: Vec<Value>,
    },
    Number {
        low: f64,
        high: f64,
        midpoint: f64,
    },
    None,
}

/// A stated value: the same text, or the same number in another form (`2` and `2.0`).
pub(crate) struct Value {
    text: Box<[u8]>,
    number: Option<f64>,
}

impl Value {
    fn new(text: &str) -> Self {
        Self {
            text: text.as_bytes().into(),
            number: number::parse(text.as_bytes()),
        }
    }

    fn is(&self, field: &[u8]) -> bool {
        *self.text == *field || self.number.is_some() && self.number == number::parse(field)
    }
}

impl TargetEncoder {
    pub(crate) fn new(kind: &TargetKind) -> Self {
        match kind {
            TargetKind::Sign { positive } => Self::Sign {
                positive: positive.as_deref().map(Value::new),
            },
            TargetKind::Class { classes } => Self::Class {
                index: classes
                    .iter()
                    .map(|class| class.as_bytes().into())
                    .zip(0..)
                    .collect(),
                values: classes.iter().map(|class| Value::new(class)).collect(),
            },
            TargetKind::Number { low, high } => Self::Number {
                low: *low,
                high: *high,
                midpoint: kind.midpoint(),
            },
            TargetKind::None => Self::None,
        }
    }

    /// The target and whether it had to be clipped.
    pub(crate) fn encode(&self, field: &[u8]) -> Result<(f64, bool), Fault> {
        match self {
            Self::Sign { positive: None } => sign(field).map(|sign| (sign, false)),
            Self::Sign {
                positive: Some(value),
            } => {
                if value.is(field) {
                    Ok((1.0, false))
                } else if is_missing(field) {
                    Err(Fault::MissingTarget)
                } else {
                    Ok((-1.0, false))
                }
            }
            Self::Class { index, values } => {
                let exact = index.get(field).map(|&class| class as usize);
                match exact.or_else(|| values.iter().position(|value| value.is(field))) {
                    Some(class) => Ok((class as f64, false)),
                    None if is_missing(field) => Err(Fault::MissingTarget),
                    None => Err(Fault::UnknownClass),
                }
            }
            Self::Number {
                low,
                high,
                midpoint,
            } => {
                let value = number(field)?.ok_or(Fault::MissingTarget)?;
                let clipped = !(*low..=*high).contains(&value);
                Ok((value.clamp(*low, *high) - midpoint, clipped))
            }
            Self::None => Ok((0.0, false)),
        }
    }
}

/// −1 or 1 by the usual spellings.
fn sign(field: &[u8]) -> Result<f64, Fault> {
    match field {
        b"1" => return Ok(1.0),
        b"0" | b"-1" => return Ok(-1.0),
        _ if field.eq_ignore_ascii_case(b"true") => return Ok(1.0),
        _ if field.eq_ignore_ascii_case(b"false") => return Ok(-1.0),
        _ if is_missing(field) => return Err(Fault::MissingTarget),
        _ => {}
    }
    let value = number::parse(field.trim_ascii()).ok_or(Fault::NotALabel)?;
    if [1.0, 0.0, -1.0].contains(&value) {
        Ok(if value > 0.0 { 1.0 } else { -1.0 })
    } else {
        Err(Fault::NotALabel)
    }
}

/// Whether a field says that there is no value: nothing, NA, N/A, NaN or null in any case.
pub(crate) fn is_missing(field: &[u8]) -> bool {
    let field = field.trim_ascii();
    let spellings: [&[u8]; 5] = [b"", b"na", b"n/a", b"nan", b"null"];
    field.len() <= 4
        && spellings
            .iter()
            .any(|text| field.eq_ignore_ascii_case(text))
}

/// A finite number, or nothing if it is missing; true and false are 1 and 0.
pub(crate) fn number(field: &[u8]) -> Result<Option<f64>, Fault> {
    let trimmed = field.trim_ascii();
    match number::parse(trimmed) {
        Some(value) if value.is_finite() => Ok(Some(value)),
        Some(_) => Err(Fault::NotFinite),
        None if is_missing(trimmed) => Ok(None),
        None if trimmed.eq_ignore_ascii_case(b"true") => Ok(Some(1.0)),
        None if trimmed.eq_ignore_ascii_case(b"false") => Ok(Some(0.0)),
        None if is_infinite(trimmed) => Err(Fault::NotFinite),
        None => Err(Fault::NotANumber),
    }
}

fn is_infinite(field: &[u8]) -> bool {
    let size = field
        .strip_prefix(b"-")
        .or(field.strip_prefix(b"+"))
        .unwrap_or(field);
    size.eq_ignore_ascii_case(b"inf") || size.eq_ignore_ascii_case(b"infinity")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(kind: &TargetKind, field: &str) -> Result<(f64, bool), Fault> {
        TargetEncoder::new(kind).encode(field.as_bytes())
    }

    #[test]
    fn labels_of_two_values() {
        let plain = TargetKind::Sign { positive: None };
        for (field, sign) in [
            ("1", 1.0),
            ("0", -1.0),
            ("-1", -1.0),
            ("+1", 1.0),
            ("1.0", 1.0),
            ("True", 1.0),
            ("FALSE", -1.0),
            (" 0.0", -1.0),
        ] {
            assert_eq!(encode(&plain, field), Ok((sign, false)), "{field}");
        }
        for field in ["2", "yes", "-2", "0.5", "inf"] {
            assert_eq!(encode(&plain, field), Err(Fault::NotALabel), "{field}");
        }
        assert_eq!(encode(&plain, "NA"), Err(Fault::MissingTarget));
        let stated = TargetKind::Sign {
            positive: Some("2".into()),
        };
        assert_eq!(encode(&stated, "2.0"), Ok((1.0, false)));
        assert_eq!(encode(&stated, "yes"), Ok((-1.0, false)));
        assert_eq!(encode(&stated, ""), Err(Fault::MissingTarget));
    }

    #[test]
    fn classes_and_numbers() {
        let classes = TargetKind::Class {
            classes: vec!["a".into(), "7".into(), "NA".into()],
        };
        assert_eq!(encode(&classes, "7.00"), Ok((1.0, false)));
        assert_eq!(
            encode(&classes, "NA"),
            Ok((2.0, false)),
            "a stated class is no missing value"
        );
        assert_eq!(encode(&classes, "b"), Err(Fault::UnknownClass));
        let bounded = TargetKind::Number {
            low: -1.0,
            high: 2.0,
        };
        // Without the midpoint, 0.5.
        assert_eq!(encode(&bounded, "1.5"), Ok((1.0, false)));
        assert_eq!(encode(&bounded, "-7"), Ok((-1.5, true)));
        assert_eq!(encode(&bounded, "nan"), Err(Fault::MissingTarget));
        assert_eq!(encode(&bounded, "-Inf"), Err(Fault::NotFinite));
        assert_eq!(encode(&bounded, "1e999"), Err(Fault::NotFinite));
        assert_eq!(encode(&bounded, "x"), Err(Fault::NotANumber));
    }
}
