//! What becomes of a column's fields: an encoding, prepared for speed.

use crate::encoding::{Encoding, TargetKind};
use crate::error::Fault;
use crate::target::TargetEncoder;
use crate::value::{Missing, Values};
use std::cell::Cell;

/// What to do with the field of one column.
pub(crate) enum Step {
    Skip,
    Number(Scale),
    /// The same where a number can be a missing value, so that every field is looked at by itself.
    Guarded(Scale),
    Category {
        first: u32,
        values: Values,
        tally: Tally,
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
    tally: Tally,
}

/// Which stated values rows have named so far, and how often they named another: for the operator.
/// In cells, because steps are shared while a row is read.
pub(crate) struct Tally {
    seen: Vec<Cell<bool>>,
    unknown: Cell<u64>,
}

impl Tally {
    fn new(values: usize) -> Self {
        Self {
            seen: vec![Cell::new(false); values],
            unknown: Cell::new(0),
        }
    }

    /// A field that names a stated value, by its place.
    pub(crate) fn see(&self, value: u32) {
        self.seen[value as usize].set(true);
    }

    /// A field that names none of them, and is not missing.
    pub(crate) fn miss(&self) {
        self.unknown.set(self.unknown.get() + 1);
    }

    /// Places of stated values that no field has named.
    pub(crate) fn unmatched(&self) -> impl Iterator<Item = usize> + '_ {
        let places = self.seen.iter().enumerate();
        places
            .filter(|(_, seen)| !seen.get())
            .map(|(place, _)| place)
    }

    /// Fields that named none.
    pub(crate) fn unknown(&self) -> u64 {
        self.unknown.get()
    }
}

impl Arms {
    fn new(first: u32, values: &[String], missing: &Missing) -> Self {
        let classes = values.to_vec();
        Self {
            first,
            count: classes.len() as u32,
            tally: Tally::new(classes.len()),
            names: TargetEncoder::new(&TargetKind::Class { classes }, missing),
        }
    }

    /// The place of the arm that a field names.
    pub(crate) fn find(&self, field: &[u8]) -> Result<u32, Fault> {
        match self.names.encode(field) {
            Ok((arm, _)) => {
                self.tally.see(arm as u32);
                Ok(arm as u32)
            }
            Err(Fault::UnknownClass) => {
                self.tally.miss();
                Err(Fault::UnknownArm)
            }
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
                tally: Tally::new(values.len()),
            },
            Encoding::Hashed { bits } => Self::Hashed {
                first,
                mask: (1 << bits) - 1,
            },
        }
    }

    /// What rows have named, of a column of stated values.
    pub(crate) fn tally(&self) -> Option<&Tally> {
        match self {
            Self::Category { tally, .. } => Some(tally),
            Self::Label(arms) | Self::Arm(arms) => Some(&arms.tally),
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
