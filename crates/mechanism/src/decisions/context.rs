//! The public map from a context, one number per column, to the features of a decision.

use crate::losses::Features;
use crate::tables::TableMap;
use hushstream_account::ParameterError;
use serde::{Deserialize, Serialize};

/// A column of a context that a linear map reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Plain {
    /// A number, scaled to [−1, 1]; missing is the middle, 0.
    Number,
    /// A category, by its place; one indicator for each of so many, none for an unknown one.
    Category(u32),
}

impl Plain {
    fn width(self) -> usize {
        match self {
            Self::Number => 1,
            Self::Category(values) => values as usize,
        }
    }
}

/// The features of a context.
///
/// ```
/// use hushstream_mechanism::decisions::{ContextMap, Plain};
///
/// let map = ContextMap::linear(vec![Plain::Number, Plain::Category(3)], 1.0)?;
/// assert_eq!(map.features(), 5); // a number, three indicators, and 1
/// let mut found = Vec::new();
/// assert!(map.map(&[0.6, 1.0], &mut found));
/// assert_eq!(found.last(), Some(&(4, 1.0)));
/// # Ok::<(), hushstream_account::ParameterError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "Written")]
pub enum ContextMap {
    /// Numbers as they are and indicators of categories, scaled down to a length if they are
    /// longer; then 1.
    Linear {
        /// The columns.
        columns: Vec<Plain>,
        /// The greatest length, without the 1.
        length: f64,
    },
    /// The hats of curves, of length 1 together.
    Curves(Box<TableMap>),
}

/// A map that nothing was checked of.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Written {
    Linear { columns: Vec<Plain>, length: f64 },
    Curves(Box<TableMap>),
}

impl TryFrom<Written> for ContextMap {
    type Error = ParameterError;

    fn try_from(written: Written) -> Result<Self, ParameterError> {
        match written {
            Written::Linear { columns, length } => Self::linear(columns, length),
            Written::Curves(map) => Self::curves(*map),
        }
    }
}

impl ContextMap {
    /// A linear map whose features, without the 1, have length at most `length`.
    ///
    /// # Errors
    /// No column; a category without values, or more than 2²⁰; a length that is not positive and
    /// finite.
    pub fn linear(columns: Vec<Plain>, length: f64) -> Result<Self, ParameterError> {
        let categories = |column: &Plain| !matches!(column, Plain::Category(0 | 0x10_0001..));
        if columns.is_empty() || !columns.iter().all(categories) {
            let allowed = "at least one, and categories of 1 to 2^20 values";
            let count = columns.len() as f64;
            return Err(ParameterError::new("columns of a context", count, allowed));
        }
        if !(length > 0.0 && length.is_finite()) {
            let allowed = "a positive finite number";
            return Err(ParameterError::new("length of a context", length, allowed));
        }
        Ok(Self::Linear { columns, length })
    }

    /// Curves of columns, without tables of cells.
    ///
    /// # Errors
    /// A map with tables, or one for Laplace noise.
    pub fn curves(map: TableMap) -> Result<Self, ParameterError> {
        if map.tables() > 0 || map.shape().l1 {
            let allowed = "0, and lengths in L2";
            let count = map.tables() as f64;
            return Err(ParameterError::new("tables of a context", count, allowed));
        }
        Ok(Self::Curves(Box::new(map)))
    }

    /// p, the number of features.
    #[must_use]
    pub fn features(&self) -> usize {
        match self {
            Self::Linear { columns, .. } => {
                columns.iter().map(|column| column.width()).sum::<usize>() + 1
            }
            Self::Curves(map) => map.hats(),
        }
    }

    /// The number of columns.
    #[must_use]
    pub fn columns(&self) -> usize {
        match self {
            Self::Linear { columns, .. } => columns.len(),
            Self::Curves(map) => map.shape().axes.len(),
        }
    }

    /// The column that a feature belongs to, and its place in that column's part; no column for
    /// the 1.
    #[must_use]
    pub fn column_of(&self, feature: usize) -> (Option<usize>, usize) {
        let widths: Vec<usize> = match self {
            Self::Linear { columns, .. } => columns.iter().map(|column| column.width()).collect(),
            Self::Curves(map) => (0..self.columns())
                .map(|axis| map.curve(axis).len())
                .collect(),
        };
        let mut place = feature;
        for (column, width) in widths.into_iter().enumerate() {
            if place < width {
                return (Some(column), place);
            }
            place -= width;
        }
        (None, place)
    }

    /// R: no features are longer, but for the rounding of floats, which the mechanism does not
    /// trust.
    #[must_use]
    pub fn length(&self) -> f64 {
        match self {
            Self::Linear { length, .. } => length.hypot(1.0),
            Self::Curves(_) => 1.0,
        }
    }

    /// Writes the features of a context that are not 0, in increasing order; false for a row that
    /// is none.
    #[must_use]
    pub fn map(&self, context: &[f64], out: &mut Vec<(u32, f64)>) -> bool {
        out.clear();
        if context.len() != self.columns() {
            return false;
        }
        match self {
            Self::Linear { columns, length } => {
                let (mut slot, mut squares) = (0_u32, 0.0);
                for (&value, column) in context.iter().zip(columns) {
                    match *column {
                        Plain::Number if value.is_finite() => {
                            let value = value.clamp(-1.0, 1.0);
                            squares += value * value;
                            out.push((slot, value));
                        }
                        Plain::Category(values) if value >= 0.0 && value < f64::from(values) => {
                            squares += 1.0;
                            out.push((slot + value as u32, 1.0));
                        }
                        _ => {}
                    }
                    slot += column.width() as u32;
                }
                if squares > length * length {
                    let shrink = length / squares.sqrt();
                    out.iter_mut().for_each(|entry| entry.1 *= shrink);
                }
                out.push((slot, 1.0));
            }
            Self::Curves(map) => {
                let features = Features::Dense(context.to_vec());
                out.extend(
                    map.coordinates(&features)
                        .into_iter()
                        .map(|(place, value)| (place as u32, value)),
                );
                out.sort_unstable_by_key(|entry| entry.0);
            }
        }
        true
    }
}
