//! What becomes of a column's fields: an encoding, prepared for speed.

use crate::encoding::{Encoding, TargetKind};
use crate::error::Fault;
use crate::target::TargetEncoder;
use crate::value::{Missing, Values};

/// What to do with the field of one column.
pub(crate) enum Step {
    Skip,
    Number(Scale),
    /// The same where a number can be a missing value, so that every field is looked at by itself.
    Guarded(Scale),
    Category {
        first: u32,
        values: Values,
    },
    Hashed {
        first: u32,
        mask: u32,
    },
    /// Losses of all arms: 0 for the one that is named.
    Label(Arms),
    /// 1 for the arm that is named.
    Arm(Arms),
    /// A number that must be there.
    Outcome(Scale),
    Propensity {
        slot: u32,
    },
    Target,
    Person,
}

/// Names of arms, and the coordinate of the first.
pub(crate) struct Arms {
    pub(crate) first: u32,
    pub(crate) count: u32,
    names: TargetEncoder,
}

impl Arms {
    fn new(first: u32, values: &[String], missing: &Missing) -> Self {
        let classes = values.to_vec();
        Self {
            first,
            count: classes.len() as u32,
            names: TargetEncoder::new(&TargetKind::Class { classes }, missing),
        }
    }

    /// The place of the arm that a field names.
    pub(crate) fn find(&self, field: &[u8]) -> Result<u32, Fault> {
        match self.names.encode(field) {
            Ok((arm, _)) => Ok(arm as u32),
            Err(Fault::UnknownClass) => Err(Fault::UnknownArm),
            Err(fault) => Err(fault),
        }
    }
}

/// A number's way to its coordinate: (value − shift)·factor, clipped.
pub(crate) struct Scale {
    pub(crate) slot: u32,
    /// Of a group in which nearly all fields are `0`.
    is_indicator: bool,
    pub(crate) shift: f64,
    pub(crate) factor: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) missing: f64,
}

impl Scale {
    /// Shift, factor, and the bounds after both.
    pub(crate) fn parts(&self) -> [f64; 4] {
        [self.shift, self.factor, self.low, self.high]
    }
}

impl Step {
    pub(crate) fn new(encoding: &Encoding, first: u32, missing: &Missing) -> Self {
        let is_indicator = matches!(encoding, Encoding::Indicator { .. });
        let scale = |shift, factor, low, high, middle| {
            let scale = Scale {
                slot: first,
                is_indicator,
                shift,
                factor,
                low,
                high,
                missing: middle,
            };
            if missing.has_numbers() {
                Self::Guarded(scale)
            } else {
                Self::Number(scale)
            }
        };
        match encoding {
            Encoding::Number { low, high } => scale(
                f64::midpoint(*low, *high),
                2.0 / (high - low),
                -1.0,
                1.0,
                0.0,
            ),
            Encoding::Loss { low, high } => {
                scale(0.0, 1.0, *low, *high, f64::midpoint(*low, *high))
            }
            Encoding::Reward { low, high } => {
                scale(low + high, -1.0, *low, *high, f64::midpoint(*low, *high))
            }
            Encoding::Outcome { low, high, rewards } => Self::Outcome(Scale {
                slot: first,
                is_indicator,
                shift: if *rewards { low + high } else { 0.0 },
                factor: if *rewards { -1.0 } else { 1.0 },
                low: *low,
                high: *high,
                missing: f64::NAN,
            }),
            Encoding::Label { values } => Self::Label(Arms::new(first, values, missing)),
            Encoding::Arm { values } => Self::Arm(Arms::new(first, values, missing)),
            Encoding::Propensity => Self::Propensity { slot: first },
            Encoding::Indicator { .. } => scale(0.0, 1.0, 0.0, 1.0, 0.0),
            Encoding::Category { values } => Self::Category {
                first,
                values: Values::new(values),
            },
            Encoding::Hashed { bits } => Self::Hashed {
                first,
                mask: (1 << bits) - 1,
            },
        }
    }

    /// The place of the stated category or arm that a field names; nothing where it names none.
    pub(crate) fn category(&self, field: &[u8]) -> Option<u32> {
        match self {
            Self::Category { values, .. } => values.find(field),
            Self::Label(arms) | Self::Arm(arms) => arms.find(field).ok(),
            _ => None,
        }
    }

    /// The scale of a number.
    pub(crate) fn number(&self) -> Option<&Scale> {
        match self {
            Self::Number(scale) => Some(scale),
            _ => None,
        }
    }

    /// Whether a field `0`, as most are, leaves its coordinate at 0.
    pub(crate) fn is_indicator(&self) -> bool {
        matches!(self, Self::Number(scale) if scale.is_indicator)
    }
}
