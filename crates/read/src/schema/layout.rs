//! Which coordinate means what: the public result of a schema and a header.
//!
//! A layout is part of a published model: new rows are encoded in the same way to predict with it.

use super::decide::Decides;
use super::encoding::{Encoding, FeatureColumn, Space, TargetKind, check_bits};
use crate::encode::calendar;
use crate::error::Fault;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The part of a layout that is stored; the rest follows from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stated {
    pub(crate) space: Space,
    pub(crate) intercept: bool,
    /// A stated bound on the length without the intercept.
    pub(crate) norm: Option<f64>,
    pub(crate) target_column: Option<String>,
    pub(crate) target: TargetKind,
    /// Texts that are missing values besides the usual ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) missing: Vec<String>,
    /// Whether records carry one number per axis ([`Layout::coded`]).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) coded: bool,
    /// What rows tell about decisions, if they are about those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) decides: Option<Decides>,
}

/// One axis of coded records: a column, or a group of indicator columns.
///
/// ```
/// use hushstream_read::{AxisKind, Format, Layout, SchemaSpec};
///
/// let schema: SchemaSpec = "target = 'late'\nbounds = { hour = [0, 24] }
///     vocabulary = { carrier = ['AA', 'DL'] }".parse()?;
/// let layout = Layout::new(&schema, Format::Csv, &["late", "carrier", "hour"])?;
/// let axes = layout.coded().expect("columns of numbers and categories").axes();
/// assert_eq!(axes[1].name, "hour");
/// assert_eq!(axes[1].kind, AxisKind::Number { low: 0.0, high: 24.0 });
/// # Ok::<(), hushstream_read::ReadError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LayoutAxis {
    /// The column's name, or what the names of a group begin with.
    pub name: String,
    /// Its values.
    pub kind: AxisKind,
}

/// The values of an axis.
#[derive(Debug, Clone, PartialEq)]
pub enum AxisKind {
    /// A number between bounds.
    Number {
        /// The least.
        low: f64,
        /// The greatest.
        high: f64,
    },
    /// One of these categories.
    Category(Vec<String>),
    /// One of 2^bits hashes.
    Hashed(u8),
}

/// A layout. Serialise it with the model.
///
/// ```
/// use hushstream_read::{Format, Layout, SchemaSpec};
///
/// let schema: SchemaSpec = "target = 'late'\nbounds = { hour = [0, 24] }
///     vocabulary = { carrier = ['AA', 'DL'] }".parse()?;
/// let layout = Layout::new(&schema, Format::Csv, &["late", "carrier", "hour"])?;
/// let names: Vec<String> = (0..layout.dimension()).map(|i| layout.feature_name(i)).collect();
/// assert_eq!(names, ["carrier=AA", "carrier=DL", "hour", "(intercept)"]);
/// assert_eq!(layout.norm(), 3.0_f64.sqrt()); // one category, one number, one intercept
/// # Ok::<(), hushstream_read::ReadError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stated", into = "Stated")]
pub struct Layout {
    stated: Stated,
    /// First coordinate of every column, and the end of the last.
    firsts: Vec<u32>,
    /// Bound on the squared length without the intercept.
    features_square: f64,
    /// The most coordinates of a record that are not zero.
    entries: u64,
}

impl TryFrom<Stated> for Layout {
    type Error = Fault;

    fn try_from(stated: Stated) -> Result<Self, Fault> {
        let (mut firsts, mut end, mut squares) = (vec![0], 0_u64, 0.0);
        let mut entries = 1;
        match &stated.space {
            Space::Columns(columns) => {
                let (mut names, mut groups) = (HashSet::new(), BTreeSet::new());
                let mut slots = BTreeMap::new();
                for column in columns {
                    if !names.insert(&column.name) {
                        return Err(Fault::DuplicateColumn(column.name.clone()));
                    }
                    let (width, square) = column.check()?;
                    if stated.coded {
                        let group = match column.encoding {
                            Encoding::Indicator { group } => Some(group),
                            ref encoding if encoding.has_code() => None,
                            _ => return Err(Fault::Dimension),
                        };
                        let known = group.and_then(|group| slots.get(&group).copied());
                        let slot = known.unwrap_or(end);
                        slots.extend(group.map(|group| (group, slot)));
                        end += match column.encoding {
                            Encoding::Date => calendar::PARTS.len() as u64,
                            _ => u64::from(known.is_none()),
                        };
                        firsts.push(slot as u32);
                        continue;
                    }
                    end += width;
                    entries += match column.encoding {
                        // Every arm is asked for by its place.
                        Encoding::Label { .. } | Encoding::Arm { .. } => width,
                        Encoding::Date => calendar::PARTS.len() as u64,
                        _ => 1,
                    };
                    firsts.push(u32::try_from(end).map_err(|_| Fault::Dimension)?);
                    squares += match column.encoding {
                        Encoding::Indicator { group } if !groups.insert(group) => 0.0,
                        _ => square,
                    };
                }
            }
            Space::Hashed { bits } => {
                check_bits(*bits, "the hash")?;
                end = 1 << bits;
            }
            Space::Indexed { dimension, base } => {
                end = u64::from(*dimension);
                if *base > 1 {
                    return Err(Fault::IndexBase);
                }
            }
        }
        if stated.coded {
            // Each column's own place comes first; the end is the number of axes.
            firsts.remove(0);
            firsts.push(u32::try_from(end).map_err(|_| Fault::Dimension)?);
            squares = 1.0;
        }
        // Records that are only counted need no column.
        let is_counted = stated.coded && stated.target == TargetKind::None;
        match (end, stated.intercept) {
            (0, _) if is_counted => {}
            (0, _) => return Err(Fault::NoFeatures),
            (1..=0x7fff_ffff, _) | (0x8000_0000, false) => {}
            _ => return Err(Fault::Dimension),
        }
        if stated
            .norm
            .is_some_and(|norm| !(norm > 0.0 && norm.is_finite()))
        {
            return Err(Fault::Norm);
        }
        let implied = matches!(stated.space, Space::Columns(_)).then_some(squares);
        let stated_square = stated.norm.map(|norm| norm * norm);
        let features_square = stated_square.or(implied).ok_or(Fault::Norm)?;
        if !(features_square > 0.0 && features_square.is_finite()) {
            return Err(Fault::Norm);
        }
        stated.target.check(stated.target_column.as_deref())?;
        if let Some(decides) = &stated.decides {
            decides.check()?;
        }
        Ok(Self {
            stated,
            firsts,
            features_square,
            entries,
        })
    }
}

impl From<Layout> for Stated {
    fn from(layout: Layout) -> Self {
        layout.stated
    }
}

impl Layout {
    pub(super) fn stated(&self) -> &Stated {
        &self.stated
    }

    /// Number of coordinates, the intercept included.
    #[must_use]
    pub fn dimension(&self) -> usize {
        let features = match self.stated.space {
            Space::Columns(_) => self.firsts.last().map_or(0, |&end| end as usize),
            Space::Hashed { bits } => 1 << bits,
            Space::Indexed { dimension, .. } => dimension as usize,
        };
        features + usize::from(self.stated.intercept)
    }

    /// R: a bound on the Euclidean length of every record's features, the intercept included.
    #[must_use]
    pub fn norm(&self) -> f64 {
        (self.features_square + f64::from(u8::from(self.stated.intercept))).sqrt()
    }

    /// The bound without the intercept: longer rows are scaled down to it.
    #[must_use]
    pub fn features_norm(&self) -> f64 {
        self.stated.norm.unwrap_or(self.features_square.sqrt())
    }

    /// The same columns, with one number per axis in a record: a number scaled to [−1, 1], the
    /// place of a category, a hash; NaN for a missing or unknown value. A group of indicators is
    /// one axis, whose value is the place of the indicator that is set. Nothing if records are
    /// about arms or experts, or have no columns.
    #[must_use]
    pub fn coded(&self) -> Option<Self> {
        let has_target = self.stated.target != TargetKind::None || self.decides().is_some();
        let mut columns = self.columns();
        if !has_target || !columns.all(|(column, _)| column.encoding.has_code()) {
            return None;
        }
        let stated = Stated {
            coded: true,
            intercept: false,
            norm: None,
            ..self.stated.clone()
        };
        Self::try_from(stated).ok()
    }

    /// Whether records carry one number per axis.
    #[must_use]
    pub fn is_coded(&self) -> bool {
        self.stated.coded
    }

    /// The axes of coded records, in order; none for other layouts.
    #[must_use]
    pub fn axes(&self) -> Vec<LayoutAxis> {
        let mut axes: Vec<LayoutAxis> = Vec::new();
        if !self.stated.coded {
            return axes;
        }
        for (column, slot) in self.columns() {
            let kind = match &column.encoding {
                Encoding::Number { low, high } => AxisKind::Number {
                    low: *low,
                    high: *high,
                },
                Encoding::Propensity => AxisKind::Number {
                    low: 0.0,
                    high: 1.0,
                },
                Encoding::Category { values } => AxisKind::Category(values.clone()),
                Encoding::Hashed { bits } => AxisKind::Hashed(*bits),
                Encoding::Date => {
                    for (part, about) in calendar::PARTS.iter().enumerate() {
                        let values = 0..about.count as usize;
                        let values = values.map(|value| calendar::value_name(part, value));
                        axes.push(LayoutAxis {
                            name: format!("{} {}", column.name, about.name),
                            kind: AxisKind::Category(values.collect()),
                        });
                    }
                    continue;
                }
                _ => {
                    let group = axes.get_mut(slot as usize);
                    if let Some(LayoutAxis {
                        name,
                        kind: AxisKind::Category(members),
                    }) = group
                    {
                        *name = common_start(name, &column.name);
                        members.push(column.name.clone());
                        continue;
                    }
                    AxisKind::Category(vec![column.name.clone()])
                }
            };
            axes.push(LayoutAxis {
                name: column.name.clone(),
                kind,
            });
        }
        axes
    }

    /// What coordinates stand for.
    #[must_use]
    pub fn space(&self) -> &Space {
        &self.stated.space
    }

    /// The meaning of the target.
    #[must_use]
    pub fn target(&self) -> &TargetKind {
        &self.stated.target
    }

    /// The target's column, in formats that have columns.
    #[must_use]
    pub fn target_column(&self) -> Option<&str> {
        self.stated.target_column.as_deref()
    }

    /// Texts that are missing values, besides nothing, NA, N/A, NaN and null.
    #[must_use]
    pub fn missing(&self) -> &[String] {
        &self.stated.missing
    }

    /// The coordinate that is always 1: the last.
    #[must_use]
    pub fn intercept(&self) -> Option<usize> {
        self.stated.intercept.then(|| self.dimension() - 1)
    }

    /// Whether records list their coordinates that are not zero: where those are few.
    #[must_use]
    pub fn is_sparse(&self) -> bool {
        let dimension = self.dimension() as u64;
        match self.stated.space {
            Space::Columns(_) => {
                !self.stated.coded && dimension >= 64 && dimension > 4 * self.entries
            }
            Space::Hashed { .. } | Space::Indexed { .. } => true,
        }
    }

    /// The name of a coordinate, e.g. `age`, `carrier=AA`, `tailnum#17`, `(intercept)`.
    #[must_use]
    pub fn feature_name(&self, coordinate: usize) -> String {
        if self.intercept() == Some(coordinate) {
            return "(intercept)".to_owned();
        }
        match &self.stated.space {
            Space::Columns(_) if self.stated.coded => {
                let axis = self.axes().into_iter().nth(coordinate);
                axis.map_or(String::new(), |axis| axis.name)
            }
            Space::Columns(columns) => {
                let at = self
                    .firsts
                    .partition_point(|&first| first as usize <= coordinate);
                let Some((column, &first)) = columns.get(at - 1).zip(self.firsts.get(at - 1))
                else {
                    return String::new();
                };
                let inside = coordinate - first as usize;
                match &column.encoding {
                    Encoding::Category { values }
                    | Encoding::Label { values }
                    | Encoding::Arm { values } => format!("{}={}", column.name, values[inside]),
                    Encoding::Hashed { .. } => format!("{}#{inside}", column.name),
                    Encoding::Date => {
                        let (mut part, mut value) = (0, inside);
                        while value >= calendar::PARTS[part].count as usize {
                            value -= calendar::PARTS[part].count as usize;
                            part += 1;
                        }
                        let name = calendar::PARTS[part].name;
                        format!(
                            "{} {name}={}",
                            column.name,
                            calendar::value_name(part, value)
                        )
                    }
                    _ => column.name.clone(),
                }
            }
            Space::Hashed { .. } => format!("#{coordinate}"),
            Space::Indexed { base, .. } => (coordinate + usize::from(*base)).to_string(),
        }
    }

    /// Arms or experts, where records are about those: the first coordinates.
    #[must_use]
    pub fn arms(&self) -> Option<usize> {
        if let Some(decides) = self.decides() {
            return Some(decides.arms.len());
        }
        let Space::Columns(columns) = &self.stated.space else {
            return None;
        };
        match &columns.first()?.encoding {
            Encoding::Label { values } | Encoding::Arm { values } => Some(values.len()),
            Encoding::Loss { .. } | Encoding::Reward { .. } => Some(columns.len()),
            _ => None,
        }
    }

    /// The name of an arm or expert: its column, or its value.
    #[must_use]
    pub fn arm_name(&self, arm: usize) -> String {
        if let Some(decides) = self.decides() {
            return decides.arms.get(arm).cloned().unwrap_or_default();
        }
        if let Space::Columns(columns) = &self.stated.space
            && let Some(Encoding::Label { values } | Encoding::Arm { values }) =
                columns.first().map(|column| &column.encoding)
        {
            return values.get(arm).cloned().unwrap_or_default();
        }
        self.feature_name(arm)
    }

    /// Columns with their first coordinates.
    pub(crate) fn columns(&self) -> impl Iterator<Item = (&FeatureColumn, u32)> {
        let columns: &[FeatureColumn] = match &self.stated.space {
            Space::Columns(columns) => columns,
            _ => &[],
        };
        columns.iter().zip(self.firsts.iter().copied())
    }

    /// The names of all columns that rows of new data have; the target comes last.
    #[must_use]
    pub fn column_names(&self) -> Vec<String> {
        let features = self.columns().map(|(column, _)| &*column.name);
        features
            .chain(self.target_column())
            .map(str::to_owned)
            .collect()
    }

    /// Whether a row can be longer than the bound.
    pub(crate) fn may_exceed_norm(&self) -> bool {
        let is_plain = !self.stated.coded;
        self.stated.norm.is_some()
            || is_plain
                && self
                    .columns()
                    .any(|(column, _)| matches!(column.encoding, Encoding::Indicator { .. }))
    }
}

/// What two names begin with, without a last separator; the first name if that is nothing.
fn common_start(a: &str, b: &str) -> String {
    let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b);
    let start: String = same.map(|(a, _)| a).collect();
    let start = start.trim_end_matches(['_', '-', '.', ' ']);
    if start.is_empty() { a } else { start }.to_owned()
}
