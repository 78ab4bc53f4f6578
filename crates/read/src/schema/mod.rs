//! What the user states about the data without looking at it: the schema, and the layout that it
//! makes of a file's columns.
//!
//! Everything here is public and becomes part of what is published. It has to be stated because it
//! cannot be taken from the data: the greatest wage in a file is somebody's wage.

mod arms;
mod decide;
mod encoding;
mod file;
mod layout;
mod pattern;
mod resolve;
mod skeleton;

pub use decide::{Decides, Told};
pub use encoding::{Encoding, FeatureColumn, Space, TargetKind};
pub use layout::{AxisKind, Layout, LayoutAxis};
pub(crate) use pattern::nearest;
pub(crate) use skeleton::listed;
pub use skeleton::skeleton_of;

use crate::error::Fault;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The learning task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// A target of two values, encoded −1 and 1.
    #[default]
    Classify,
    /// A target of several classes, encoded as their index in the stated list.
    Multiclass,
    /// A number between stated bounds.
    Regress,
    /// No target: every column is the loss of one expert, as it is, clipped to bounds that all
    /// share.
    Experts,
    /// Arms of which one is played: a table of losses as for experts, a target whose value is the
    /// right arm, or a log of arms that were played.
    Bandit,
    /// Arms of which one is played, where the best one depends on the other columns, the context: a
    /// table of rewards, a target whose value is the right arm, or a log of arms that were played.
    Decide,
    /// No target: counts, sums and histograms of columns, each a number between bounds or a
    /// category. Records are coded ([`Layout::coded`]).
    Track,
}

/// What becomes of a row without a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissingTarget {
    /// Reading stops with the place.
    #[default]
    Error,
    /// The row is a round without a record: it counts, because the number of rows is public, and
    /// contributes nothing. So does a row whose target cannot be understood.
    Null,
}

/// A schema. Empty lists and `None` are "not stated"; names in lists and maps may contain `*`.
///
/// | stated | a column becomes | missing | adds to the squared length |
/// |---|---|---|---|
/// | `bounds` | one number, scaled from its bounds to [−1, 1] and clipped | 0, the middle | 1 |
/// | `one_hot` | one number, kept as 0 to 1 and clipped | 0 | 1 per *group* |
/// | `vocabulary` | one indicator per category; none is set for other values | none set | 1 |
/// | `hashed` | 2^bits indicators, one is set by a hash of the text | none set | 1 |
/// | `dates` | indicators of the month, the day of the week and the hour | none set | 3 |
///
/// `bounds` of 0:1 scale like all others (a share between 0 and 1 is centred, which halves the
/// distance to be hidden); indicator columns are stated by `one_hot`, each entry one group of which
/// at most one is 1 in a row, so that the whole group has length 1. A row that breaks this promise
/// is longer than the bound and is scaled down to it, like any row.
///
/// The feature columns are those that `features` names, or else all, without the target, the person
/// and those that `ignore` names. A column's own name goes before a pattern, a longer pattern
/// before a shorter one. A feature column that nothing describes is an error that shows how to
/// describe it.
///
/// ```
/// use hushstream_read::SchemaSpec;
///
/// let mut schema = SchemaSpec::default();
/// schema.target = Some("late".into());
/// schema.add_bounds("distance=0:5000,hour=0:24")?;
/// schema.add_vocabulary("carrier=AA|DL|UA")?;
/// assert_eq!(schema.bounds["hour"], (0.0, 24.0));
/// assert_eq!(schema.vocabulary["carrier"].len(), 3);
/// # Ok::<(), hushstream_read::ReadError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SchemaSpec {
    /// The learning task; by default what `classes` or `target_bounds` mean, else classification.
    pub task: Option<Task>,
    /// What separates the fields of a table: one sign, or `tab`; by default what the format says.
    pub separator: Option<String>,
    /// Whether a table has no header; its columns are then named c1, c2, …
    pub no_header: Option<bool>,
    /// Names of the columns of a table that has no header.
    pub names: Vec<String>,
    /// Texts that are missing values, besides nothing, NA, N/A, NaN and null.
    pub missing: Vec<String>,
    /// The target's column.
    pub target: Option<String>,
    /// Which value of the target is the positive one; all others are negative.
    pub positive: Option<String>,
    /// All classes of a multi-class target.
    pub classes: Option<Vec<String>>,
    /// Bounds of a regression's target, which is clipped to them.
    #[serde(deserialize_with = "file::pair")]
    pub target_bounds: Option<(f64, f64)>,
    /// What becomes of a row without a target; an error if not stated.
    pub missing_target: Option<MissingTarget>,
    /// Which columns are features.
    pub features: Vec<String>,
    /// Which columns are not.
    pub ignore: Vec<String>,
    /// Smallest and largest value of numeric columns.
    #[serde(deserialize_with = "file::pairs")]
    pub bounds: BTreeMap<String, (f64, f64)>,
    /// Groups of indicator columns of which at most one is set; `|` separates alternatives within a
    /// group.
    pub one_hot: Vec<String>,
    /// Categories of text columns.
    pub vocabulary: BTreeMap<String, Vec<String>>,
    /// Columns of dates, with or without the time of day: 2013-01-31, 2013-01-31T14:05.
    pub dates: Vec<String>,
    /// Text columns to be hashed into so many bits.
    pub hashed: BTreeMap<String, u8>,
    /// Bits for all feature columns that nothing else describes, each with its own 2^bits
    /// indicators; for VW text the bits of the one shared space (18 if not stated, as in Vowpal
    /// Wabbit).
    pub hash_bits: Option<u8>,
    /// Number of features in a libsvm file.
    pub dimension: Option<u32>,
    /// Whether libsvm indices begin at 0 or at 1 (if not stated: 1).
    pub index_base: Option<u8>,
    /// Knots of a number's curve, for recipes that learn curves; chosen if not stated.
    pub knots: Option<u32>,
    /// Whether rows come in the order of time, so that what holds early may not hold late.
    pub in_time_order: Option<bool>,
    /// Bound on the length of the feature vector without the intercept; longer ones are scaled down
    /// to it. If not stated, what the columns imply; formats without columns imply nothing and need
    /// it.
    pub norm: Option<f64>,
    /// Whether a feature that is always 1 comes last; yes if not stated, and never for experts.
    pub intercept: Option<bool>,
    /// The column that tells persons apart; for VW text `tag`.
    pub person: Option<String>,
    /// The column of the times of rows, which are public: a date, with or without the time of day,
    /// or seconds since 1970.
    pub time: Option<String>,
    /// All arms of a bandit whose columns are not the arms themselves.
    pub arms: Option<Vec<String>>,
    /// The column of a log that tells which arm was played; its loss is the target.
    pub arm: Option<String>,
    /// The column of a log that tells how likely that arm was; if not stated, all arms were equally
    /// likely.
    pub propensity: Option<String>,
    /// Whether what is stated as losses are rewards, of which more is better.
    pub rewards: Option<bool>,
}

impl SchemaSpec {
    /// The learning task: if none is stated, the one that the classes or bounds of the target mean.
    #[must_use]
    pub fn task(&self) -> Task {
        self.task
            .unwrap_or(match (&self.classes, self.target_bounds) {
                (Some(_), _) => Task::Multiclass,
                (None, Some(_)) => Task::Regress,
                (None, None) => Task::default(),
            })
    }

    /// Columns that are named by their own name and not by a pattern.
    pub(crate) fn named(&self) -> impl Iterator<Item = &str> {
        let lists = self.features.iter().chain(&self.ignore).chain(&self.dates);
        let maps = (self.bounds.keys())
            .chain(self.vocabulary.keys())
            .chain(self.hashed.keys());
        let groups = self.one_hot.iter().flat_map(|group| group.split('|'));
        (self.target.iter().chain(&self.person).chain(&self.time))
            .chain(self.arm.iter().chain(&self.propensity))
            .chain(lists)
            .chain(maps)
            .map(String::as_str)
            .chain(groups)
            .filter(|name| !name.contains('*'))
    }

    /// These columns in the order of the schema, each once: those of records whose keys are
    /// private, and of rows that were never in a file.
    pub(crate) fn columns(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for name in self.named() {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// Adds `name=low:high,…`, as on the command line.
    ///
    /// # Errors
    /// Another form.
    pub fn add_bounds(&mut self, flag: &str) -> Result<(), Fault> {
        let fault = || Fault::Flag {
            flag: "--bounds",
            allowed: "name=low:high, several separated by commas",
        };
        for part in flag.split(',') {
            let (name, range) = part.rsplit_once('=').ok_or_else(fault)?;
            let range = parse_range(range).ok_or_else(fault)?;
            self.bounds.insert(name.trim().to_owned(), range);
        }
        Ok(())
    }

    /// Adds `name=A|B|C,…`, as on the command line. A category with a comma can be stated in a
    /// schema file.
    ///
    /// # Errors
    /// Another form.
    pub fn add_vocabulary(&mut self, flag: &str) -> Result<(), Fault> {
        for part in flag.split(',') {
            let (name, categories) = part.split_once('=').ok_or(Fault::Flag {
                flag: "--vocabulary",
                allowed: "name=A|B|C, several separated by commas",
            })?;
            let categories = categories.split('|').map(str::to_owned).collect();
            self.vocabulary.insert(name.trim().to_owned(), categories);
        }
        Ok(())
    }

    /// Adds `name=bits,…`, as on the command line.
    ///
    /// # Errors
    /// Another form.
    pub fn add_hashed(&mut self, flag: &str) -> Result<(), Fault> {
        for part in flag.split(',') {
            let parsed = part
                .rsplit_once('=')
                .and_then(|(name, bits)| Some((name.trim().to_owned(), bits.trim().parse().ok()?)));
            let (name, bits) = parsed.ok_or(Fault::Flag {
                flag: "--hashed",
                allowed: "name=bits, several separated by commas",
            })?;
            self.hashed.insert(name, bits);
        }
        Ok(())
    }
}

/// `low:high`.
fn parse_range(text: &str) -> Option<(f64, f64)> {
    let (low, high) = text.split_once(':')?;
    Some((low.trim().parse().ok()?, high.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_understood_or_shown_how() {
        let mut schema = SchemaSpec::default();
        schema.add_bounds("age=0:90,a=b= -1 : 1e3").unwrap();
        assert_eq!(schema.bounds["a=b"], (-1.0, 1000.0));
        schema.add_hashed("tail=12,plane=3").unwrap();
        assert_eq!(schema.hashed["tail"], 12);
        for bad in ["age", "age=", "age=1", "age=1:x", "age=1:2,"] {
            let message = schema.add_bounds(bad).unwrap_err().to_string();
            assert_eq!(
                message,
                "--bounds: allowed: name=low:high, several separated by commas"
            );
        }
        assert!(schema.add_vocabulary("carrier").is_err() && schema.add_hashed("tail=x").is_err());
    }
}
