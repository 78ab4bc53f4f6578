//! How columns become coordinates and what targets mean, with what is allowed.

use crate::encode::calendar;
use crate::error::Fault;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// Bits that a hash may have: 2²⁸ weights are 2 GiB.
const MOST_BITS: u8 = 28;

/// How one column becomes coordinates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encoding {
    /// Scaled from public bounds to [−1, 1].
    Number {
        /// Becomes −1.
        low: f64,
        /// Becomes 1.
        high: f64,
    },
    /// An expert's loss: clipped to public bounds, not scaled.
    Loss {
        /// The least loss.
        low: f64,
        /// The greatest loss.
        high: f64,
    },
    /// An expert's reward: clipped to public bounds, and turned into the loss low + high − reward.
    Reward {
        /// The least reward.
        low: f64,
        /// The greatest reward.
        high: f64,
    },
    /// One loss per arm: 0 for the arm that the value names, 1 for all others. Another value is an
    /// error.
    Label {
        /// All arms.
        values: Vec<String>,
    },
    /// One coordinate per arm: 1 for the one that was played. Another value is an error.
    Arm {
        /// All arms.
        values: Vec<String>,
    },
    /// The loss, or reward, of the arm that was played. Clipped to public bounds; a reward is
    /// turned into a loss as in a table. Missing is an error.
    Outcome {
        /// The least.
        low: f64,
        /// The greatest.
        high: f64,
        /// Whether more is better.
        rewards: bool,
    },
    /// How likely the played arm was: above 0, at most 1. Anything else is an error.
    Propensity,
    /// 0 to 1, one of a group that has length 1.
    Indicator {
        /// Which group.
        group: u32,
    },
    /// One coordinate per category.
    Category {
        /// The public vocabulary.
        values: Vec<String>,
    },
    /// A date, perhaps with the time of day: one coordinate per month, day of the week and hour.
    Date,
    /// 2^bits coordinates; MurmurHash3 (32 bits, seed 0) of the text says which.
    Hashed {
        /// Bits of the hash.
        bits: u8,
    },
}

impl Encoding {
    /// Whether its value can be one number of a coded record.
    pub(crate) fn has_code(&self) -> bool {
        matches!(
            self,
            Self::Number { .. }
                | Self::Indicator { .. }
                | Self::Category { .. }
                | Self::Date
                | Self::Hashed { .. }
                | Self::Propensity
        )
    }
}

/// A feature column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FeatureColumn {
    /// Its name in the header.
    pub name: String,
    /// How it becomes coordinates.
    pub encoding: Encoding,
}

/// What coordinates stand for, without the intercept.
///
/// ```
/// use hushstream_read::{Format, Layout, SchemaSpec, Space};
///
/// let schema: SchemaSpec = "norm = 1\nhash_bits = 12".parse()?;
/// let layout = Layout::new(&schema, Format::Vw, &[""; 0])?;
/// assert_eq!(*layout.space(), Space::Hashed { bits: 12 });
/// # Ok::<(), hushstream_read::ReadError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Space {
    /// Columns, one after the other.
    Columns(Vec<FeatureColumn>),
    /// VW text: names hashed to bits.
    Hashed {
        /// Bits of the hash.
        bits: u8,
    },
    /// libsvm: indices as they stand.
    Indexed {
        /// How many.
        dimension: u32,
        /// The first index, 0 or 1.
        base: u8,
    },
}

/// The meaning of the target.
///
/// ```
/// use hushstream_read::TargetKind;
///
/// let wage = TargetKind::Number { low: 0.0, high: 60.0 };
/// assert_eq!(wage.midpoint(), 30.0);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetKind {
    /// −1 or 1.
    Sign {
        /// The value that means 1; by default 1 or true.
        positive: Option<String>,
    },
    /// The index of a class.
    Class {
        /// All classes.
        classes: Vec<String>,
    },
    /// A number, clipped to bounds; records carry its distance from [`TargetKind::midpoint`].
    Number {
        /// The least.
        low: f64,
        /// The greatest.
        high: f64,
    },
    /// There is none; records carry 0.
    None,
}

impl FeatureColumn {
    /// Number of coordinates and bound on the squared length.
    pub(crate) fn check(&self) -> Result<(u64, f64), Fault> {
        Ok(match &self.encoding {
            Encoding::Number { low, high } => {
                check_bounds((*low, *high), &self.name)?;
                (1, 1.0)
            }
            Encoding::Loss { low, high }
            | Encoding::Reward { low, high }
            | Encoding::Outcome { low, high, .. } => {
                check_bounds((*low, *high), &self.name)?;
                (1, low.abs().max(high.abs()).powi(2))
            }
            Encoding::Label { values } | Encoding::Arm { values } => {
                if values.len() < 2 {
                    return Err(Fault::Arms("at least two are needed"));
                }
                check_names(values).map_err(Fault::Arms)?;
                (values.len() as u64, values.len() as f64)
            }
            Encoding::Indicator { .. } | Encoding::Propensity => (1, 1.0),
            Encoding::Category { values } => {
                let fault = |why| Fault::Vocabulary {
                    column: self.name.clone(),
                    why,
                };
                check_names(values).map_err(fault)?;
                (values.len() as u64, 1.0)
            }
            Encoding::Date => {
                let width: u64 = calendar::PARTS.iter().map(|part| part.count).sum();
                (width, calendar::PARTS.len() as f64)
            }
            Encoding::Hashed { bits } => {
                check_bits(*bits, &self.name)?;
                (1 << bits, 1.0)
            }
        })
    }
}

impl TargetKind {
    /// The middle of a number's bounds, which is public: records carry targets without it, and
    /// predictions add it back. Learning then starts there, and targets are half as large as their
    /// range at most, which is what noise has to hide. 0 for targets that are no numbers.
    #[must_use]
    pub fn midpoint(&self) -> f64 {
        match self {
            Self::Number { low, high } => f64::midpoint(*low, *high),
            _ => 0.0,
        }
    }

    pub(crate) fn check(&self, column: Option<&str>) -> Result<(), Fault> {
        match self {
            Self::Number { low, high } => {
                check_bounds((*low, *high), column.unwrap_or("the target"))
            }
            Self::Class { classes } if classes.len() < 2 => {
                Err(Fault::Classes("at least two are needed"))
            }
            Self::Class { classes } => check_names(classes).map_err(Fault::Classes),
            Self::Sign { .. } | Self::None => Ok(()),
        }
    }
}

fn check_bounds((low, high): (f64, f64), column: &str) -> Result<(), Fault> {
    // The width must be finite too, and so must its inverse: values are divided by it.
    let width = high - low;
    if low < high && width.is_finite() && (2.0 / width).is_finite() {
        Ok(())
    } else {
        Err(Fault::Bounds(column.to_owned()))
    }
}

pub(crate) fn check_bits(bits: u8, column: &str) -> Result<(), Fault> {
    if (1..=MOST_BITS).contains(&bits) {
        Ok(())
    } else {
        Err(Fault::Bits(column.to_owned()))
    }
}

fn check_names(names: &[String]) -> Result<(), &'static str> {
    if names.is_empty() || names.iter().any(String::is_empty) {
        return Err("every value needs a name, and at least one is needed");
    }
    let distinct: HashSet<&String> = names.iter().collect();
    if distinct.len() < names.len() {
        return Err("a value is listed twice");
    }
    Ok(())
}
