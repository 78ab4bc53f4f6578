//! The sparse learner at work: see the folder's documentation for the claim and its proof.

use super::cache::NoiseCache;
use super::fit::{SparseError, check, terms};
use super::model::Model;
use super::rule::Rule;
use crate::boundary::{Grant, OperatorOnly, Raw, Released, Transcript};
use crate::durable::{
    CameBack, Diary, DiaryError, FoundDiary, Ledger, Storage, decode, encode, packed,
};
use crate::lattice::Lattice;
use crate::losses::{Bounds, Features, Link, Multiple, Record};
use crate::scoreboard::Scoreboard;
use crate::sums::{PlanFields, SumPlan};
use hushstream_account::{Guarantee, GuaranteeError};
use hushstream_noise::Key;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

const KIND: &str = "sparse v2";

/// A linear model over many features, learned one sparse record at a time.
pub struct SparseLearner {
    plan: SumPlan,
    diary: Diary,
    lattice: Lattice,
    noise: NoiseCache,
    link: Link,
    bounds: Bounds,
    rule: Rule,
    /// S_t: secret.
    exact: Vec<i64>,
    nulls: u64,
    coordinates: Vec<u32>,
    sums: Vec<i64>,
    gradient: Vec<(u32, i64)>,
}

/// What a checkpoint keeps.
#[derive(Default, Serialize, Deserialize)]
struct Stored {
    /// Nothing in a new instance.
    #[serde(with = "packed")]
    exact: Vec<i64>,
    #[serde(with = "postcard::fixint::le")]
    nulls: u64,
}

/// A learner that came back.
pub struct SparseBack {
    /// Ready for its next record.
    pub learner: SparseLearner,
    /// How it came back.
    pub outcome: CameBack,
}

impl SparseLearner {
    /// Opens a learner that has been paid for: `plan` is the tree's, for gradients within `bounds`. `storage` must be new; it will hold
    /// private data.
    ///
    /// # Errors
    /// A plan of another sum, noise, batch or unit; gradients longer than planned; a grant below the price; storage.
    pub fn open(
        plan: SumPlan,
        (link, bounds, rule): (Link, Bounds, Rule),
        grant: Grant,
        key: &Key,
        ledger: &mut Ledger,
        storage: impl Storage + 'static,
    ) -> Result<Self, SparseError> {
        check(&plan, link, &bounds)?;
        let described = format!("{link:?} {bounds:?} {rule:?}");
        let (terms, bytes) = (terms(&plan)?, encode(&(&plan.fields, described))?);
        let diary = Diary::open(KIND, bytes, &terms, grant, key, ledger, Box::new(storage))?;
        Self::assemble(plan, (link, bounds, rule), diary, key)
    }

    /// Continues from a journal, bit for bit, or under new addresses if more was published than it knows.
    ///
    /// # Errors
    /// A journal of another plan, key or ledger, or one that has been superseded; storage.
    pub fn resume(
        plan: &SumPlan,
        (link, bounds, rule): (Link, Bounds, Rule),
        storage: impl Storage + 'static,
        key: &Key,
        ledger: &mut Ledger,
    ) -> Result<SparseBack, SparseError> {
        check(plan, link, &bounds)?;
        let found = FoundDiary::read(KIND, Box::new(storage))?;
        let (fields, described) = found.plan::<(PlanFields, String)>()?;
        let stored = SumPlan { fields };
        if stored != *plan || described != format!("{link:?} {bounds:?} {rule:?}") {
            return Err(DiaryError::NotAccepted.into());
        }
        let back = found.resume(&terms(plan)?, key, ledger, None, &Stored::default(), true)?;
        let mut learner = Self::assemble(plan.clone(), (link, bounds, rule), back.diary, key)?;
        if back.outcome == CameBack::Continued {
            if let Some(kept) = back.checkpoint {
                let Stored { exact, nulls } = decode(&kept.state)?;
                if !exact.is_empty() && exact.len() != learner.exact.len() {
                    return Err(SparseError::Stored);
                }
                if !exact.is_empty() {
                    learner.exact = exact;
                }
                learner.nulls = nulls;
            }
            for item in back.items {
                let entries: Vec<(u32, i64)> = decode(&item)?;
                learner.replay(&entries)?;
                learner.diary.replayed();
            }
        }
        Ok(SparseBack {
            learner,
            outcome: back.outcome,
        })
    }

    fn assemble(
        plan: SumPlan,
        (link, bounds, rule): (Link, Bounds, Rule),
        diary: Diary,
        key: &Key,
    ) -> Result<Self, SparseError> {
        let dimension = plan.request().dimension as usize;
        Ok(Self {
            lattice: plan.lattice(0)?,
            noise: NoiseCache::new(diary.source(key, 0)),
            exact: vec![0; dimension],
            plan,
            diary,
            link,
            bounds,
            rule,
            nulls: 0,
            coordinates: Vec::new(),
            sums: Vec::new(),
            gradient: Vec::new(),
        })
    }

    /// A replayed item must be one that the lattice allows.
    fn replay(&mut self, entries: &[(u32, i64)]) -> Result<(), SparseError> {
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
        for &(index, value) in entries {
            self.exact[index as usize] += value;
        }
        Ok(())
    }

    /// Asks one record for its gradient at the present weights and takes it in; the prediction is the operator's alone. A malformed record is null: the
    /// round ticks, and nothing is added.
    ///
    /// # Errors
    /// The horizon is over; storage.
    pub fn learn(
        &mut self,
        record: Raw<Record>,
        board: Option<&mut Scoreboard>,
    ) -> Result<OperatorOnly<f64>, SparseError> {
        self.diary.check_open()?;
        if self.diary.must_checkpoint() {
            let state = Stored {
                exact: self.exact.clone(),
                nulls: self.nulls,
            };
            self.diary.checkpoint(&state, Vec::new())?;
        }
        let record = record.open();
        self.gradient.clear();
        let mut score = 0.0;
        match entries(&record, self.exact.len()) {
            Some(entries) => {
                let norm = record.features.norm();
                let shrink = self.bounds.shrink(norm);
                score = shrink * self.read(&entries);
                let target = self.bounds.clip_target(record.target);
                let factor = shrink * self.link.slope(score, target);
                let multiple = Multiple {
                    factor,
                    length: factor.abs() * norm,
                };
                self.lattice.sparse(&entries, multiple, &mut self.gradient);
            }
            None => self.nulls += 1,
        }
        if let Some(board) = board {
            board.compare(&record, score);
        }
        let gradient = &self.gradient;
        self.diary.item_with(|| encode(gradient))?;
        for &(index, value) in &self.gradient {
            self.exact[index as usize] += value;
        }
        Ok(OperatorOnly::new(score))
    }

    /// ⟨w_t, x⟩, from the released coordinates where x is not zero. Before the first record all weights are 0.
    fn read(&mut self, entries: &[(u32, f64)]) -> f64 {
        let t = self.diary.items();
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
            .map(|(&(_, x), &sum)| x * self.rule.weight(sum as f64 * unit))
            .sum()
    }

    /// The prediction for a record that is not learned from: for its operator only.
    #[must_use]
    pub fn predict(&mut self, record: &Raw<Record>) -> OperatorOnly<f64> {
        let record = record.peek();
        OperatorOnly::new(match entries(record, self.exact.len()) {
            Some(entries) => self.bounds.shrink(record.features.norm()) * self.read(&entries),
            None => 0.0,
        })
    }

    /// The model after all records so far, all d weights of it, durable before it leaves.
    ///
    /// # Errors
    /// Another ledger; storage.
    pub fn model(
        &mut self,
        ledger: &mut Ledger,
    ) -> Result<Released<Model, Transcript>, SparseError> {
        self.sync(ledger)?;
        let (t, unit) = (self.diary.items(), self.lattice.unit());
        let mut sums = self.exact.clone();
        if t > 0 {
            self.noise.add_all(t, &mut sums);
        }
        // In the same memory.
        let sums = sums.into_iter().map(|sum| sum as f64 * unit);
        let model = Model::new(sums, self.rule, self.plan.prefix_sd(t.max(1)));
        let pending = self.diary.pending(model);
        self.diary.publish(pending).map_err(|_| SparseError::Stored)
    }

    /// Makes everything taken in so far durable.
    ///
    /// # Errors
    /// Another ledger; storage.
    pub fn sync(&mut self, ledger: &mut Ledger) -> Result<(), SparseError> {
        Ok(self.diary.sync(ledger)?)
    }

    /// Records taken in.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.diary.steps()
    }

    /// How many records were malformed.
    #[must_use]
    pub fn nulls(&self) -> OperatorOnly<u64> {
        OperatorOnly::new(self.nulls)
    }

    /// What is promised about every model of this learner, together.
    ///
    /// # Errors
    /// Never for a learner that exists; the numbers were checked.
    pub fn guarantee(&self) -> Result<Guarantee, GuaranteeError> {
        self.plan.guarantee(self.diary.is_simulated())
    }
}

/// The features that are not zero, of a record that is sound; a table's rows come with all of them.
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
