//! Targets: from the text of a field to −1 and 1, a class, or a number.

use super::value::{Missing, Value, Values, parse_number};
use crate::error::Fault;
use crate::schema::TargetKind;

/// A prepared [`TargetKind`].
pub(crate) struct TargetEncoder {
    kind: Prepared,
    missing: Missing,
}

enum Prepared {
    Sign { positive: Option<Value> },
    Class(Values),
    Number { low: f64, high: f64, midpoint: f64 },
    None,
}

impl TargetEncoder {
    pub(crate) fn new(kind: &TargetKind, missing: &Missing) -> Self {
        let kind = match kind {
            TargetKind::Sign { positive } => Prepared::Sign {
                positive: positive.as_deref().map(Value::new),
            },
            TargetKind::Class { classes } => Prepared::Class(Values::new(classes)),
            TargetKind::Number { low, high } => Prepared::Number {
                low: *low,
                high: *high,
                midpoint: kind.midpoint(),
            },
            TargetKind::None => Prepared::None,
        };
        Self {
            kind,
            missing: missing.clone(),
        }
    }

    /// Whether records carry no target.
    pub(crate) fn is_none(&self) -> bool {
        matches!(self.kind, Prepared::None)
    }

    /// The target of a field without the white space around it, and whether it had to be clipped.
    pub(crate) fn encode(&self, field: &[u8]) -> Result<(f64, bool), Fault> {
        match &self.kind {
            Prepared::Sign { positive: None } => {
                sign(field, &self.missing).map(|sign| (sign, false))
            }
            Prepared::Sign {
                positive: Some(value),
            } => {
                if value.is(field) {
                    Ok((1.0, false))
                } else if self.missing.is(field) {
                    Err(Fault::MissingTarget)
                } else {
                    Ok((-1.0, false))
                }
            }
            Prepared::Class(values) => match values.find(field) {
                Some(class) => Ok((f64::from(class), false)),
                None if self.missing.is(field) => Err(Fault::MissingTarget),
                None => Err(Fault::UnknownClass),
            },
            Prepared::Number {
                low,
                high,
                midpoint,
            } => {
                let value = number(field, &self.missing)?.ok_or(Fault::MissingTarget)?;
                Ok(within(value, (*low, *high), *midpoint))
            }
            Prepared::None => Ok((0.0, false)),
        }
    }
}

impl TargetEncoder {
    /// The target that is a number already, as if it were written out; no number is stated to be
    /// missing.
    pub(crate) fn encode_number(&self, value: f64) -> Result<(f64, bool), Fault> {
        match &self.kind {
            Prepared::Sign { positive: None } if is_sign(value) => {
                Ok((if value > 0.0 { 1.0 } else { -1.0 }, false))
            }
            Prepared::Number {
                low,
                high,
                midpoint,
            } if value.is_finite() => Ok(within(value, (*low, *high), *midpoint)),
            _ => self.encode(value.to_string().as_bytes()),
        }
    }
}

/// Whether a number is −1, 0 or 1. Without a branch: nothing foretells a label.
fn is_sign(value: f64) -> bool {
    let size = value.abs().to_bits();
    (size == 0) | (size == 1.0_f64.to_bits())
}

/// A number clipped to its bounds, from their midpoint, and whether it had to be.
fn within(value: f64, (low, high): (f64, f64), midpoint: f64) -> (f64, bool) {
    let clipped = !(low..=high).contains(&value);
    (value.clamp(low, high) - midpoint, clipped)
}

/// −1 or 1 by the usual spellings.
fn sign(field: &[u8], missing: &Missing) -> Result<f64, Fault> {
    match field {
        _ if missing.is_stated(field) => return Err(Fault::MissingTarget),
        b"1" => return Ok(1.0),
        b"0" | b"-1" => return Ok(-1.0),
        _ if field.eq_ignore_ascii_case(b"true") => return Ok(1.0),
        _ if field.eq_ignore_ascii_case(b"false") => return Ok(-1.0),
        _ if missing.is(field) => return Err(Fault::MissingTarget),
        _ => {}
    }
    let value = parse_number(field).ok_or(Fault::NotALabel)?;
    if [1.0, 0.0, -1.0].contains(&value) {
        Ok(if value > 0.0 { 1.0 } else { -1.0 })
    } else {
        Err(Fault::NotALabel)
    }
}

/// A finite number, or nothing if it is missing; true and false are 1 and 0. The field comes
/// without the white space around it.
pub(crate) fn number(field: &[u8], missing: &Missing) -> Result<Option<f64>, Fault> {
    if missing.is_stated(field) {
        return Ok(None);
    }
    match parse_number(field) {
        Some(value) if value.is_finite() => Ok(Some(value)),
        Some(_) => Err(Fault::NotFinite),
        None if missing.is(field) => Ok(None),
        None if field.eq_ignore_ascii_case(b"true") => Ok(Some(1.0)),
        None if field.eq_ignore_ascii_case(b"false") => Ok(Some(0.0)),
        None if is_infinite(field) => Err(Fault::NotFinite),
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
        TargetEncoder::new(kind, &Missing::default()).encode(field.as_bytes().trim_ascii())
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
