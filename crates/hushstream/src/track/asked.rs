//! What is asked about the records, and the vector of statistics that answers it.

use crate::error::{Result, refuse};
use hushstream_account::Adjacency;
use hushstream_mechanism::{GroupColumn, Participation, Statistic, Statistics};
use hushstream_read::{AxisKind, Layout, SchemaSpec, Task};
use serde::{Deserialize, Serialize};

/// The name of the group of values that are not listed.
pub const OTHER: &str = "(other)";

/// The statistics that are asked for. Bounds and categories are public.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Columns whose sums are asked for.
    pub sums: Vec<String>,
    /// Columns whose means are asked for.
    pub means: Vec<String>,
    /// Columns and numbers of equal bins.
    pub histograms: Vec<(String, u32)>,
    /// Quantiles of every histogram, each between 0 and 1.
    pub quantiles: Vec<f64>,
    /// Columns whose categories make the groups.
    pub groups: Vec<String>,
    /// Bounds of columns.
    pub bounds: Vec<(String, (f64, f64))>,
    /// Categories of columns.
    pub categories: Vec<(String, Vec<String>)>,
}

impl Asked {
    /// States bounds of a column.
    pub(crate) fn bound(&mut self, name: &str, bounds: (f64, f64)) -> Result<()> {
        match self.bounds.iter().find(|(known, _)| known == name) {
            Some((_, known)) if *known != bounds => refuse!(
                "the bounds of {name} are stated twice, as {}:{} and {}:{}: state one",
                known.0,
                known.1,
                bounds.0,
                bounds.1
            ),
            Some(_) => {}
            None => self.bounds.push((name.to_owned(), bounds)),
        }
        Ok(())
    }

    /// Columns of numbers, each once.
    fn numbers(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        let histograms = self.histograms.iter().map(|(name, _)| name);
        for name in self.sums.iter().chain(&self.means).chain(histograms) {
            if !names.contains(&&**name) {
                names.push(name);
            }
        }
        names
    }

    /// Adds what is asked to a schema: which columns are read, and how.
    pub(crate) fn add_to(&self, schema: &mut SchemaSpec) -> Result<()> {
        if let Some(target) = &schema.target {
            refuse!("statistics have no target: leave out ‹target {target}›");
        }
        schema.task = Some(Task::Track);
        let columns = self.numbers().into_iter().map(str::to_owned);
        schema.features = columns.chain(self.groups.iter().cloned()).collect();
        schema.features.sort();
        schema.features.dedup();
        if schema.features.is_empty() {
            schema.ignore = vec!["*".to_owned()];
        } else {
            schema.ignore.clear();
        }
        for (name, bounds) in &self.bounds {
            schema.bounds.insert(name.clone(), *bounds);
        }
        for (name, categories) in &self.categories {
            schema.vocabulary.insert(name.clone(), categories.clone());
        }
        for name in self.numbers() {
            if !schema.bounds.contains_key(name) {
                refuse!("state the bounds of {name}, which are public, as in {name}=0:100");
            }
        }
        for name in &self.groups {
            if !schema.vocabulary.contains_key(name) {
                refuse!("{name} makes groups, so state its categories: ‹group {name}='A|B'›");
            }
        }
        Ok(())
    }
}

/// A column of numbers in the vector.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Number {
    pub(crate) name: String,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Whether its sum and its mean are shown.
    pub(crate) is_summed: bool,
    pub(crate) has_mean: bool,
    /// The blocks of its sum: by group, and of all.
    pub(crate) blocks: Blocks,
}

/// A histogram in the vector.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bins {
    pub(crate) name: String,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) bins: u32,
    pub(crate) blocks: Blocks,
}

/// The blocks of one statistic: of all records, and by group where there are groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Blocks {
    pub(crate) all: usize,
    pub(crate) by_group: Option<usize>,
}

/// What is asked, resolved against the columns of the data.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shape {
    /// The columns of the groups, with their categories and the rest.
    pub(crate) groups: Vec<(String, Vec<String>)>,
    pub(crate) counts: Blocks,
    pub(crate) numbers: Vec<Number>,
    pub(crate) histograms: Vec<Bins>,
    pub(crate) quantiles: Vec<f64>,
    columns: Vec<GroupColumn>,
    /// Every block, whether it is by group, and its importance.
    wanted: Vec<(Statistic, bool, f64)>,
}

impl Shape {
    pub(crate) fn new(asked: &Asked, layout: &Layout) -> Result<Self> {
        let axes = layout.axes();
        let find = |name: &str| axes.iter().position(|axis| axis.name == name);
        let (mut groups, mut columns) = (Vec::new(), Vec::new());
        for name in &asked.groups {
            let Some((slot, AxisKind::Category(values))) =
                find(name).map(|slot| (slot, &axes[slot].kind))
            else {
                refuse!("{name} is a column of numbers, and makes groups");
            };
            columns.push(GroupColumn {
                column: slot as u32,
                values: values.len() as u32,
            });
            let others = std::iter::once(OTHER.to_owned());
            groups.push((name.clone(), values.iter().cloned().chain(others).collect()));
        }
        let number = |name: &str| match find(name).map(|slot| (slot, &axes[slot].kind)) {
            Some((slot, AxisKind::Number { low, high })) => Ok((slot as u32, *low, *high)),
            _ => refuse!("{name} is a column of categories, and its numbers are asked for"),
        };
        for quantile in &asked.quantiles {
            if !(*quantile > 0.0 && *quantile < 1.0) {
                refuse!("‹quantile {quantile}› is not allowed; allowed: a number between 0 and 1");
            }
        }
        if !asked.quantiles.is_empty() && asked.histograms.is_empty() {
            refuse!("quantiles come from histograms: add ‹histogram NAME=low:high/bins›");
        }
        let count = groups
            .iter()
            .map(|(_, values): &(_, Vec<_>)| values.len() as f64);
        let mut wanted = Wanted {
            blocks: Vec::new(),
            groups: count.product(),
        };
        let counts = wanted.add(Statistic::Count, 1.0);
        let mut numbers = Vec::new();
        for name in asked.numbers() {
            let (is_summed, has_mean) = (
                asked.sums.iter().any(|known| known == name),
                asked.means.iter().any(|known| known == name),
            );
            if !is_summed && !has_mean {
                continue;
            }
            let (column, low, high) = number(name)?;
            let blocks = wanted.add(Statistic::Sum { column }, 1.0);
            if is_summed {
                // A sum is (h−l)/2·Σv + (h+l)/2·n: the count's error counts by the square of this.
                wanted.weigh(counts, ((high + low) / (high - low)).powi(2));
            }
            numbers.push(Number {
                name: name.to_owned(),
                low,
                high,
                is_summed,
                has_mean,
                blocks,
            });
        }
        let mut histograms = Vec::new();
        for (name, bins) in &asked.histograms {
            let (column, low, high) = number(name)?;
            if *bins < 2 {
                refuse!("a histogram has at least 2 bins: ‹histogram {name}={low}:{high}/10›");
            }
            let statistic = Statistic::Histogram {
                column,
                bins: *bins,
            };
            let blocks = wanted.add(statistic, f64::from(*bins));
            histograms.push(Bins {
                name: name.clone(),
                low,
                high,
                bins: *bins,
                blocks,
            });
        }
        Ok(Self {
            groups,
            counts,
            numbers,
            histograms,
            quantiles: asked.quantiles.clone(),
            columns,
            wanted: wanted.blocks,
        })
    }

    /// The statistics, with the weights of least total error.
    pub(crate) fn statistics(
        &self,
        adjacency: Adjacency,
        participation: Participation,
        l1: bool,
    ) -> Result<Statistics> {
        let (columns, wanted) = (self.columns.clone(), &self.wanted);
        let balanced = Statistics::balanced(columns, wanted, adjacency, participation, l1);
        Ok(balanced?)
    }

    /// The total error that noise of deviation `sd` in every coordinate gives: each statistic in
    /// records or in half ranges, by its importance.
    pub(crate) fn error(&self, statistics: &Statistics, sd: f64) -> f64 {
        let blocks = self.wanted.iter().enumerate();
        let variances = blocks.map(|(block, (.., k))| k * (sd / statistics.scale(block)).powi(2));
        variances.sum()
    }

    /// Number of groups; 1 without any.
    pub(crate) fn group_count(&self) -> usize {
        self.groups.iter().map(|(_, values)| values.len()).product()
    }

    /// The values of a group, one for every column of the groups.
    pub(crate) fn group_values(&self, group: usize) -> Vec<&str> {
        let mut values = Vec::with_capacity(self.groups.len());
        let mut left = group;
        for (_, of) in self.groups.iter().rev() {
            values.push(&*of[left % of.len()]);
            left /= of.len();
        }
        values.reverse();
        values
    }

    /// The group of these values.
    pub(crate) fn group_of(&self, values: &[&str]) -> Option<usize> {
        if values.len() != self.groups.len() {
            return None;
        }
        let mut group = 0;
        for ((_, of), value) in self.groups.iter().zip(values) {
            group = group * of.len() + of.iter().position(|known| known == value)?;
        }
        Some(group)
    }

    /// What a block is, in words.
    pub(crate) fn block_name(&self, block: usize) -> String {
        let has = |blocks: Blocks| blocks.all == block || blocks.by_group == Some(block);
        let number = self.numbers.iter().find(|number| has(number.blocks));
        let bins = self.histograms.iter().find(|bins| has(bins.blocks));
        let what = match (number, bins) {
            (Some(number), _) => format!("sum of {}", number.name),
            (_, Some(bins)) => format!("bins of {}", bins.name),
            _ => "count".to_owned(),
        };
        match (self.groups.is_empty(), self.wanted[block].1) {
            (true, _) => what,
            (false, true) => format!("{what} by group"),
            (false, false) => format!("{what} of all"),
        }
    }
}

struct Wanted {
    blocks: Vec<(Statistic, bool, f64)>,
    groups: f64,
}

impl Wanted {
    /// Adds a statistic of all records, and by group where there are groups.
    fn add(&mut self, statistic: Statistic, importance: f64) -> Blocks {
        let has_groups = self.groups > 1.0;
        let by_group = has_groups.then_some(self.blocks.len());
        if has_groups {
            self.blocks
                .push((statistic, true, importance * self.groups));
        }
        self.blocks.push((statistic, false, importance));
        Blocks {
            all: self.blocks.len() - 1,
            by_group,
        }
    }

    /// Makes a statistic more important.
    fn weigh(&mut self, blocks: Blocks, by: f64) {
        self.blocks[blocks.all].2 += by;
        if let Some(block) = blocks.by_group {
            self.blocks[block].2 += by * self.groups;
        }
    }
}
