//! The sparse learner in progress: the documentation of the module has the claim and its proof.

use super::cache::NoiseCache;
use super::fit::{SparseError, check};
use super::model::Model;
use super::rule::Rule;
use crate::boundary::{OperatorOnly, Raw, Released, Transcript};
use crate::durable::{DiaryError, Ledger, append, decode, encode, packed};
use crate::lattice::Lattice;
use crate::losses::{Bounds, Features, Link, Multiple, Record};
use crate::mechanism::{Generators, Machine, Terms};
use crate::private::Private;
use crate::scoreboard::Scoreboard;
use crate::sums::{PlanError, PlanFields, SumPlan};
use hushstream_account::Guarantee;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A linear model over many features, learned one sparse record at a time.
pub type SparseLearner = Private<Weights>;

/// The tree's plan, for gradients of one loss, and the rule that turns sums into weights.
#[derive(Clone)]
pub struct SparsePlan {
    sum: SumPlan,
    link: Link,
    bounds: Bounds,
    rule: Rule,
}

impl SparsePlan {
    /// Combines the parts: `sum` is the tree's plan, for gradients of `link` within `bounds`.
    ///
    /// # Errors
    /// A plan of another sum, noise, batch or unit; gradients longer than planned.
    pub fn new(sum: SumPlan, link: Link, bounds: Bounds, rule: Rule) -> Result<Self, SparseError> {
        check(&sum, link, &bounds)?;
        Ok(Self {
            sum,
            link,
            bounds,
            rule,
        })
    }

    /// Descriptions of loss and rule: a resume must bring the same ones.
    fn about(&self) -> String {
        format!("{:?} {:?} {:?}", self.link, self.bounds, self.rule)
    }
}

/// The mechanism of a [`SparseLearner`].
pub struct Weights {
    plan: SparsePlan,
    lattice: Lattice,
    noise: NoiseCache,
    /// S_t: secret.
    exact: Vec<i64>,
    nulls: u64,
    coordinates: Vec<u32>,
    sums: Vec<i64>,
    /// The next item.
    gradient: Vec<(u32, i64)>,
}

/// The content of a checkpoint.
#[derive(Serialize, Deserialize)]
struct Stored {
    #[serde(with = "packed")]
    exact: Vec<i64>,
    #[serde(with = "postcard::fixint::le")]
    nulls: u64,
}

impl Machine for Weights {
    const KIND: &'static str = "sparse v3";

    type Plan = SparsePlan;
    /// A loss is code: the caller must provide the plan, and it must be the stored one.
    type Given = SparsePlan;
    type Release = Model;
    type Promise = Transcript;
    type Error = SparseError;

    fn store(plan: &SparsePlan) -> Result<Vec<u8>, DiaryError> {
        encode(&(&plan.sum.fields, plan.about()))
    }

    fn load(stored: &[u8], given: SparsePlan) -> Result<SparsePlan, SparseError> {
        let (fields, about): (PlanFields, String) = decode(stored)?;
        if fields != given.sum.fields || about != given.about() {
            return Err(DiaryError::NotAccepted.into());
        }
        Ok(given)
    }

    fn terms(plan: &SparsePlan) -> Result<Terms, SparseError> {
        Ok(Terms {
            price: plan.sum.charge()?,
            scope: plan.sum.scope(),
            planned: plan.sum.most_releases(),
            needs_all: None,
        })
    }

    fn begin(plan: SparsePlan, generators: Generators<'_>) -> Result<Self, SparseError> {
        Ok(Self {
            lattice: plan.sum.lattice(0)?,
            noise: NoiseCache::new(generators.source(0)),
            exact: vec![0; plan.sum.request().dimension as usize],
            plan,
            nulls: 0,
            coordinates: Vec::new(),
            sums: Vec::new(),
            gradient: Vec::new(),
        })
    }

    fn plan(&self) -> &SparsePlan {
        &self.plan
    }

    fn item(&self, out: Vec<u8>) -> Result<Vec<u8>, DiaryError> {
        append(&self.gradient, out)
    }

    fn read_item(&mut self, _t: u64, bytes: &[u8]) -> Result<(), SparseError> {
        let entries: Vec<(u32, i64)> = decode(bytes)?;
        let radius = i128::from(self.lattice.radius());
        let squares = entries.iter().try_fold(0_i128, |sum, &(_, value)| {
            sum.checked_add(i128::from(value).checked_pow(2)?)
        });
        let inside = entries
            .iter()
            .all(|&(index, _)| (index as usize) < self.exact.len());
        let increasing = entries.windows(2).all(|pair| pair[0].0 < pair[1].0);
        if !inside || !increasing || squares.is_none_or(|sum| sum > radius * radius) {
            return Err(SparseError::Stored);
        }
        self.gradient = entries;
        Ok(())
    }

    /// Steps release nothing: [`SparseLearner::model`] reads all sums on demand.
    fn step(&mut self, _t: u64) -> Result<Option<Model>, SparseError> {
        for &(index, value) in &self.gradient {
            self.exact[index as usize] += value;
        }
        Ok(None)
    }

    fn state(&self) -> Result<Vec<u8>, DiaryError> {
        encode(&Stored {
            exact: self.exact.clone(),
            nulls: self.nulls,
        })
    }

    fn restore(&mut self, _t: u64, state: &[u8]) -> Result<(), SparseError> {
        let Stored { exact, nulls } = decode(state)?;
        if exact.len() != self.exact.len() {
            return Err(SparseError::Stored);
        }
        (self.exact, self.nulls) = (exact, nulls);
        Ok(())
    }

    fn counts(&self) -> (u64, u64) {
        (self.nulls, 0)
    }

    fn guarantee(&self, _steps: u64, simulated: bool) -> Result<Guarantee, SparseError> {
        Ok(self
            .plan
            .sum
            .guarantee(simulated)
            .map_err(PlanError::from)?)
    }
}

impl Weights {
    /// The score of a record at the current weights, after t items; its gradient, or null, becomes
    /// the next item.
    fn ask(&mut self, t: u64, record: &Record) -> f64 {
        self.gradient.clear();
        let Some(entries) = entries(record, self.exact.len()) else {
            self.nulls += 1;
            return 0.0;
        };
        let (link, bounds) = (self.plan.link, self.plan.bounds);
        let norm = record.features.norm();
        let shrink = bounds.shrink(norm);
        let score = shrink * self.read(t, &entries);
        let factor = shrink * link.slope(score, bounds.clip_target(record.target));
        let multiple = Multiple {
            factor,
            length: factor.abs() * norm,
        };
        self.lattice.sparse(&entries, multiple, &mut self.gradient);
        score
    }

    /// ⟨w_t, x⟩, from the released coordinates where x is not zero. Before the first record all
    /// weights are 0.
    fn read(&mut self, t: u64, entries: &[(u32, f64)]) -> f64 {
        if t == 0 {
            return 0.0;
        }
        self.coordinates.clear();
        self.coordinates.extend(entries.iter().map(|entry| entry.0));
        let (sums, coordinates) = (self.exact.as_slice(), &self.coordinates);
        let exact = |i: u32| sums[i as usize];
        self.noise.read(t, coordinates, exact, &mut self.sums);
        let unit = self.lattice.unit();
        let products = entries.iter().zip(&self.sums);
        products
            .map(|(&(_, x), &sum)| x * self.plan.rule.weight(sum as f64 * unit))
            .sum()
    }
}

impl SparseLearner {
    /// Learns from one record: adds its gradient at the current weights. The prediction is for the
    /// operator only. A malformed record is null: the round counts, and nothing is added.
    ///
    /// # Errors
    /// The horizon is over; storage.
    pub fn learn(
        &mut self,
        record: Raw<Record>,
        board: Option<&mut Scoreboard>,
    ) -> Result<OperatorOnly<f64>, SparseError> {
        self.begin_record()?;
        let record = record.open();
        let score = self.mechanism.ask(self.diary.items(), &record);
        if let Some(board) = board {
            board.compare(&record, score);
        }
        self.end_record()?;
        Ok(OperatorOnly::new(score))
    }

    /// The prediction for a record without learning from it: for the operator only.
    #[must_use]
    pub fn predict(&mut self, record: &Raw<Record>) -> OperatorOnly<f64> {
        let record = record.peek();
        let (t, weights) = (self.diary.items(), &mut self.mechanism);
        OperatorOnly::new(match entries(record, weights.exact.len()) {
            Some(entries) => {
                let shrink = weights.plan.bounds.shrink(record.features.norm());
                shrink * weights.read(t, &entries)
            }
            None => 0.0,
        })
    }

    /// The model after all records so far, with all d weights, durable before it is released.
    ///
    /// # Errors
    /// Another ledger; storage.
    pub fn model(
        &mut self,
        ledger: &mut Ledger,
    ) -> Result<Released<Model, Transcript>, SparseError> {
        self.sync(ledger)?;
        let t = self.diary.items();
        let weights = &mut self.mechanism;
        let (unit, plan) = (weights.lattice.unit(), &weights.plan);
        let mut sums = weights.exact.clone();
        if t > 0 {
            weights.noise.add_all(t, &mut sums);
        }
        // Reuses the same memory.
        let sums = sums.into_iter().map(|sum| sum as f64 * unit);
        let model = Model::new(sums, plan.rule, plan.sum.prefix_sd(t.max(1)));
        let pending = self.diary.pending(model);
        self.publish(pending).map_err(|_| SparseError::Stored)
    }
}

/// The nonzero features of a valid record; rows of a table are dense.
fn entries(record: &Record, dimension: usize) -> Option<Cow<'_, [(u32, f64)]>> {
    if !record.is_sound(dimension) {
        return None;
    }
    Some(match &record.features {
        Features::Sparse(entries) => Cow::Borrowed(entries),
        Features::Dense(values) => {
            let all = (0_u32..).zip(values.iter().copied());
            Cow::Owned(all.filter(|entry| entry.1 != 0.0).collect())
        }
    })
}

#[cfg(test)]
mod tests;
