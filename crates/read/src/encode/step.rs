//! What becomes of a column's fields: an encoding, prepared for rows.

use super::target::TargetEncoder;
use super::value::{Missing, Values};
use crate::error::Fault;
use crate::schema::{Encoding, TargetKind};
use std::cell::Cell;

/// What to do with the field of one column.
#[repr(u8)]
pub(crate) enum Step {
    Skip,
    Number(Scale),
    Category {
        first: u32,
        values: Values,
        tally: Tally,
    },
    Hashed {
        first: u32,
        mask: u32,
    },
    /// A date: indicators of its parts, or in a coded record their places.
    Date {
        first: u32,
        is_coded: bool,
    },
    /// The place of a category, as a number.
    Code {
        slot: u32,
        values: Values,
        tally: Tally,
    },
    /// A hash, as a number.
    HashedCode {
        slot: u32,
        mask: u32,
    },
    /// The place of an indicator in its group, if it is set.
    Mark {
        slot: u32,
        place: f64,
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
    Time,
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

/// A number's way to its coordinate: (value − shift)·factor, clipped to [low, high].
pub(crate) struct Scale {
    pub(super) slot: u32,
    pub(super) shift: f64,
    pub(super) factor: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    /// The coordinate of a missing value.
    pub(super) missing: f64,
}

impl Step {
    pub(crate) fn new(encoding: &Encoding, slot: u32, missing: &Missing) -> Self {
        let scale = |[shift, factor]: [f64; 2], [low, high]: [f64; 2], missing| Scale {
            slot,
            shift,
            factor,
            low,
            high,
            missing,
        };
        match encoding {
            Encoding::Number { low, high } => {
                let (middle, factor) = (f64::midpoint(*low, *high), 2.0 / (high - low));
                Self::Number(scale([middle, factor], [-1.0, 1.0], 0.0))
            }
            Encoding::Loss { low, high } => {
                Self::Number(scale([0.0, 1.0], [*low, *high], f64::midpoint(*low, *high)))
            }
            Encoding::Reward { low, high } => {
                let middle = f64::midpoint(*low, *high);
                Self::Number(scale([low + high, -1.0], [*low, *high], middle))
            }
            Encoding::Outcome { low, high, rewards } => {
                let turned = if *rewards {
                    [low + high, -1.0]
                } else {
                    [0.0, 1.0]
                };
                Self::Outcome(scale(turned, [*low, *high], f64::NAN))
            }
            Encoding::Label { values } => Self::Label(Arms::new(slot, values, missing)),
            Encoding::Arm { values } => Self::Arm(Arms::new(slot, values, missing)),
            Encoding::Propensity => Self::Propensity { slot },
            Encoding::Indicator { .. } => Self::Number(scale([0.0, 1.0], [0.0, 1.0], 0.0)),
            Encoding::Category { values } => Self::Category {
                first: slot,
                values: Values::new(values),
                tally: Tally::new(values.len()),
            },
            Encoding::Date => Self::Date {
                first: slot,
                is_coded: false,
            },
            Encoding::Hashed { bits } => Self::Hashed {
                first: slot,
                mask: (1 << bits) - 1,
            },
        }
    }

    /// The same for a record of one number per axis; `place` is that of an indicator in its group.
    pub(crate) fn coded(encoding: &Encoding, slot: u32, place: u32, missing: &Missing) -> Self {
        match encoding {
            Encoding::Category { values } => Self::Code {
                slot,
                values: Values::new(values),
                tally: Tally::new(values.len()),
            },
            Encoding::Date => Self::Date {
                first: slot,
                is_coded: true,
            },
            Encoding::Hashed { bits } => Self::HashedCode {
                slot,
                mask: (1 << bits) - 1,
            },
            Encoding::Indicator { .. } => Self::Mark {
                slot,
                place: place.into(),
            },
            other => match Self::new(other, slot, missing) {
                Self::Number(scale) => Self::Number(Scale {
                    missing: f64::NAN,
                    ..scale
                }),
                step => step,
            },
        }
    }

    /// What rows have named, of a column of stated values.
    pub(crate) fn tally(&self) -> Option<&Tally> {
        match self {
            Self::Category { tally, .. } | Self::Code { tally, .. } => Some(tally),
            Self::Label(arms) | Self::Arm(arms) => Some(&arms.tally),
            _ => None,
        }
    }
}
