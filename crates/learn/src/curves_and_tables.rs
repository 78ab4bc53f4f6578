//! Curves and tables: an additive model of hats and cells, learned from noisy sums of residuals and
//! counts. Beyond the papers.
//!
//! **The sums** hold G = Σ r·φ for every coordinate and score (r the residual of a record at the
//! question, φ ≥ 0 its feature) and κ·C, C = ρ·Σ φ. Every coordinate of release t carries noise of
//! standard deviation s_t, which is public; C carries s_t/κ.
//!
//! **Curves** take gradient steps of one size, w = −η·G. η is chosen so that the noise in a score,
//! η·s·‖φ‖, is a number that predictions bear. In one direction such steps can be too large: the
//! features are not negative, so the curvature of a batch of B records, c·B·E[φφᵀ], has one large
//! eigenvalue, along the mean p = E[φ], which the counts tell. There the step is damped:
//! w = −(I/η + c·B·(ppᵀ + D))⁻¹G, where D, the diagonal of what remains, is about p times the usual
//! size of a hat. The inverse is in closed form (Sherman and Morrison), and p is from C, each
//! coordinate shrunk by C²/(C² + s²). Beside tables, the weights are shrunk so
//! too: it leaves out coordinates that no record has.
//!
//! **Cells** take a Newton step each, shrunk as a Wiener filter shrinks a signal in noise: with
//! g = G/a and H = c·C/(ρa), a the length of a cell and c the curvature of the loss,
//!
//! v = −g·H/((1 + b·M/t)·H² + (s_H/τ)²), s_H = c·s/(κρa).
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
const EXPECTED: f64 = 0.3;
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
    /// κ: the weight of the counts that follow the residuals.
    pub count_weight: f64,
    /// B: records per release.
    pub batch: f64,
    /// η.
    pub step: f64,
    /// The usual size of a hat that is not 0.
    pub spread: f64,
    /// The units of a score: weights are multiplied by it.
    pub unit: f64,
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
///     hats: 2, cells: 0, tables: 0, scores: 1, count_weight: 1.0, batch: 8.0, step: 0.5,
///     spread: 0.7, unit: 1.0, residual_bound: 0.5, cell_length: 0.0, curvature: 0.25, averaged: true,
///     noise: vec![0.1],
/// };
/// let mut learner = CurvesAndTables::new(rule)?;
/// learner.observe(&[1.0, -2.0, 0.0, 0.0])?; // two sums of residuals, two counts
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
    /// The mean of every hat, as the counts tell it.
    means: Vec<f64>,
}

impl CurvesAndTables {
    /// A learner with weights 0.
    ///
    /// # Errors
    /// No coordinates or scores; numbers out of range.
    pub fn new(rule: TableRule) -> Result<Self, LearnError> {
        check::positive("step", rule.step)?;
        check::positive("bound on residuals", rule.residual_bound)?;
        check::positive("curvature", rule.curvature)?;
        if rule.hats == 0 || rule.scores == 0 {
            return Err(ParameterError::new("coordinates", 0.0, "at least one").into());
        }
        if rule.cells > 0 {
            check::positive("length of a cell", rule.cell_length)?;
        }
        check::positive("weight of counts", rule.count_weight)?;
        check::positive("records per release", rule.batch)?;
        check::positive("unit of a score", rule.unit)?;
        check::not_negative("size of a hat", rule.spread)?;
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
            means: Vec::new(),
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

impl CurvesAndTables {
    /// Sets the weights of the curves.
    fn move_curves(&mut self, t: u64, sums: &[f64], counts: &[f64], noise: f64) {
        let rule = &self.rule;
        let weight = rule.count_weight;
        let floor = (noise / weight).powi(2) + f64::MIN_POSITIVE;
        let records = t as f64 * rule.batch * rule.residual_bound * weight;
        let kept = |count: f64| {
            let square = (count / weight).max(0.0).powi(2).min(check::HUGE);
            square / (square + floor)
        };
        self.means.clear();
        let means = counts[..rule.hats].iter();
        self.means
            .extend(means.map(|&count| count.max(0.0) / records * kept(count)));
        // Relative to 1/η: the diagonal and, along the mean, the pull of one batch.
        let pull = rule.curvature * rule.batch * rule.step;
        let diagonal = |mean: f64| 1.0 + pull * rule.spread * mean;
        let square: f64 = self.means.iter().map(|p| p * p / diagonal(*p)).sum();
        let step = rule.step * rule.unit;
        for score in 0..rule.scores {
            let here = (score..).step_by(rule.scores);
            let along = here.clone().zip(&self.means);
            let along: f64 = along.map(|(i, p)| p * sums[i] / diagonal(*p)).sum();
            let damped = pull * along / (1.0 + pull * square);
            for (i, (&mean, &count)) in here.zip(self.means.iter().zip(counts)) {
                let shrink = if rule.cells > 0 { kept(count) } else { 1.0 };
                let along = (sums[i] - damped * mean) / diagonal(mean);
                self.iterate[i] = -step * shrink * along;
            }
        }
    }

    /// Sets the weights of the cells.
    fn move_cells(&mut self, t: u64, sums: &[f64], counts: &[f64], noise: f64) {
        let rule = &self.rule;
        let unit = rule.curvature / (rule.residual_bound * rule.cell_length * rule.count_weight);
        let steady = 1.0 + STEADY * rule.tables as f64 / t as f64;
        let shrink = (unit * noise / EXPECTED).powi(2) + f64::MIN_POSITIVE;
        for (i, &count) in counts.iter().enumerate().skip(rule.hats) {
            let curvature = (count.max(0.0) * unit).min(1e150);
            let factor = curvature / (steady * curvature * curvature + shrink);
            let factor = -factor * rule.unit / rule.cell_length;
            for i in i * rule.scores..(i + 1) * rule.scores {
                self.iterate[i] = factor * sums[i];
            }
        }
    }
}

impl Learner for CurvesAndTables {
    fn name(&self) -> &'static str {
        "curves-and-tables"
    }

    fn sum_dimension(&self) -> usize {
        let coordinates = self.rule.hats + self.rule.cells;
        coordinates * (self.rule.scores + 1)
    }

    fn iterate(&self) -> &[f64] {
        &self.iterate
    }

    fn observe(&mut self, prefix: &[f64]) -> Result<(), LearnError> {
        check::vector("prefix sum", prefix, self.sum_dimension())?;
        let t = self.rounds + 1;
        let noise = self.noise(t);
        let (sums, counts) = prefix.split_at(self.iterate.len());
        self.move_curves(t, sums, counts, noise);
        if self.rule.cells > 0 {
            self.move_cells(t, sums, counts, noise);
        }
        let later = (1.0 + LATER) / (t as f64 + 1.0 + LATER);
        for (average, weight) in self.average.iter_mut().zip(&mut self.iterate) {
            // Sums of any size give finite weights.
            *weight = weight.clamp(-check::HUGE, check::HUGE);
            *average += later * (*weight - *average);
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
