//! Curves and tables: an additive model of hats and cells, learned from noisy sums of residuals and
//! counts. Beyond the papers.
//!
//! **The sums** hold G = Σ r·φ for every coordinate and score (r the residual of a record at the
//! question, φ ≥ 0 its feature) and, if cells are counted, C = ρ·Σ φ. Every coordinate of release t
//! carries noise of standard deviation s_t, which is public.
//!
//! **Curves** take gradient steps of one size: w = −η·h·G. With counts, h = C²/(C² + s²) leaves out
//! coordinates that no record has. η is chosen so that the noise in a score, η·s·‖φ‖, is a number
//! that predictions bear. **Cells** take a Newton step each, shrunk as a Wiener filter shrinks a
//! signal in noise: with g = G/a and H = c·C/(ρa), a the length of a cell and c the curvature of
//! the loss,
//!
//! v = −g·H/((1 + b·M/t)·H² + (s_H/τ)²), s_H = c·s/(ρa).
//!
//! b·M/t steadies the first rounds, in which all M tables explain the same residuals. **What is
//! published** is an average of the iterates in which later ones weigh more, w̄ += 4/(t+4)·(w − w̄):
//! it carries far less noise than the last iterate. Records are asked at the iterate itself.
//!
//! **What is proved**: nothing about regret. The step size is fixed, so the classical bounds of
//! dual averaging hold for the curves alone, and are far above what is measured. Privacy does not
//! depend on any of this: it is post-processing of the sums.

use crate::{LearnError, Learner, check};
use hushstream_account::ParameterError;

/// b of the file's documentation.
const STEADY: f64 = 0.3;
/// τ: how large the weight of a cell is expected to be.
const EXPECTED: f64 = 0.15;
/// How much more the average weighs later iterates.
const LATER: f64 = 3.0;

/// Parameters of [`CurvesAndTables`].
#[derive(Debug, Clone, PartialEq)]
pub struct TableRule {
    /// Coordinates of curves, which come first.
    pub hats: usize,
    /// Coordinates of cells.
    pub cells: usize,
    /// Number of tables, M.
    pub tables: usize,
    /// Scores of a prediction: classes, or 1.
    pub scores: usize,
    /// Whether counts follow the residuals.
    pub counted: bool,
    /// η.
    pub step: f64,
    /// ρ.
    pub residual_bound: f64,
    /// a: the length of a cell in φ.
    pub cell_length: f64,
    /// c: an upper bound on the curvature of the loss.
    pub curvature: f64,
    /// Whether the average of the iterates is published, or the last one.
    pub averaged: bool,
    /// s_t of release 1, 2, …; the last stands for all that follow.
    pub noise: Vec<f64>,
}

/// The learner of curves and tables.
///
/// ```
/// use hushstream_learn::{CurvesAndTables, LearnError, Learner, TableRule};
///
/// let rule = TableRule {
///     hats: 2, cells: 0, tables: 0, scores: 1, counted: false, step: 0.5, residual_bound: 0.5,
///     cell_length: 0.0, curvature: 0.25, averaged: true, noise: vec![0.1],
/// };
/// let mut learner = CurvesAndTables::new(rule)?;
/// learner.observe(&[1.0, -2.0])?;
/// assert_eq!(learner.iterate(), [-0.5, 1.0]);
/// assert_eq!(learner.published(), [-0.4, 0.8]); // 4/5 of the way
/// # Ok::<(), LearnError>(())
/// ```
#[derive(Debug, Clone)]
pub struct CurvesAndTables {
    rule: TableRule,
    rounds: u64,
    iterate: Vec<f64>,
    average: Vec<f64>,
}

impl CurvesAndTables {
    /// A learner with weights 0.
    ///
    /// # Errors
    /// No coordinates or scores; cells that are not counted; numbers out of range.
    pub fn new(rule: TableRule) -> Result<Self, LearnError> {
        check::positive("step", rule.step)?;
        check::positive("bound on residuals", rule.residual_bound)?;
        check::positive("curvature", rule.curvature)?;
        if rule.hats == 0 || rule.scores == 0 {
            return Err(ParameterError::new("coordinates", 0.0, "at least one").into());
        }
        if rule.cells > 0 {
            check::positive("length of a cell", rule.cell_length)?;
            if !rule.counted {
                return Err(ParameterError::new("counts", 0.0, "counts, with cells").into());
            }
        }
        if rule.noise.is_empty() {
            return Err(ParameterError::new("noise", 0.0, "one deviation per release").into());
        }
        for &noise in &rule.noise {
            check::not_negative("noise", noise)?;
        }
        let weights = vec![0.0; (rule.hats + rule.cells) * rule.scores];
        Ok(Self {
            rule,
            rounds: 0,
            average: weights.clone(),
            iterate: weights,
        })
    }

    /// The weights that are published and predicted with.
    #[must_use]
    pub fn published(&self) -> &[f64] {
        if self.rule.averaged {
            &self.average
        } else {
            &self.iterate
        }
    }

    fn noise(&self, t: u64) -> f64 {
        let last = self.rule.noise.len() - 1;
        self.rule.noise[usize::try_from(t - 1).unwrap_or(last).min(last)]
    }
}

impl Learner for CurvesAndTables {
    fn name(&self) -> &'static str {
        "curves-and-tables"
    }

    fn sum_dimension(&self) -> usize {
        let coordinates = self.rule.hats + self.rule.cells;
        coordinates * (self.rule.scores + usize::from(self.rule.counted))
    }

    fn iterate(&self) -> &[f64] {
        &self.iterate
    }

    fn observe(&mut self, prefix: &[f64]) -> Result<(), LearnError> {
        check::vector("prefix sum", prefix, self.sum_dimension())?;
        let t = self.rounds + 1;
        let noise = self.noise(t);
        let rule = &self.rule;
        let (sums, counts) = prefix.split_at(self.iterate.len());
        let later = (1.0 + LATER) / (t as f64 + 1.0 + LATER);
        let mut update = |i: usize, factor: f64| {
            let block = i * rule.scores..(i + 1) * rule.scores;
            let weights = self.iterate[block.clone()].iter_mut();
            let weights = weights.zip(&mut self.average[block.clone()]);
            for ((weight, average), sum) in weights.zip(&sums[block]) {
                // Sums of any size give finite weights.
                *weight = (-factor * sum).clamp(-check::HUGE, check::HUGE);
                *average += later * (*weight - *average);
            }
        };
        let floor = noise * noise + f64::MIN_POSITIVE;
        for i in 0..rule.hats {
            let kept = if rule.counted {
                let square = counts[i].max(0.0).powi(2).min(check::HUGE);
                square / (square + floor)
            } else {
                1.0
            };
            update(i, rule.step * kept);
        }
        if rule.cells > 0 {
            let unit = rule.curvature / (rule.residual_bound * rule.cell_length);
            let steady = 1.0 + STEADY * rule.tables as f64 / t as f64;
            let shrink = (unit * noise / EXPECTED).powi(2) + f64::MIN_POSITIVE;
            for i in rule.hats..rule.hats + rule.cells {
                let curvature = (counts[i].max(0.0) * unit).min(1e150);
                let factor = curvature / (steady * curvature * curvature + shrink);
                update(i, factor / rule.cell_length);
            }
        }
        self.rounds = t;
        Ok(())
    }

    fn rounds(&self) -> u64 {
        self.rounds
    }

    fn state(&self) -> Vec<f64> {
        [&self.iterate[..], &self.average].concat()
    }

    fn restore(&mut self, rounds: u64, state: &[f64]) -> Result<(), LearnError> {
        let weights = self.iterate.len();
        check::vector("state", state, 2 * weights)?;
        let (iterate, average) = state.split_at(weights);
        self.iterate.copy_from_slice(iterate);
        self.average.copy_from_slice(average);
        self.rounds = rounds;
        Ok(())
    }
}
