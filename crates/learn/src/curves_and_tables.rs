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
//! **Steps that are too long.** Columns that say the same, as length, width and weight of one thing
//! do, have large eigenvalues that D does not know. Along them a step overshoots, and the next
//! gradient points back. Where the same records are read again and again, the releases tell: with g
//! and g′ the gradients of two readings and P = (I/η + …)⁻¹, q = 1 − (⟨g′, Pg⟩ + s²·tr P)/⟨g, Pg⟩
//! is the curvature along the last step, in units in which a step of 1 ends in the minimum and one
//! of 2 turns round for ever. (Of ⟨g, Pg⟩ the noise in g makes s²·tr P on average, and g′ has other
//! noise. Without that term a step of noise alone would seem to have q = 1, give or take, and steps
//! became shorter by chance.) Where q is above 1.25, D is multiplied by q, at most by 2 at once. It
//! never needs more than the number m of columns, which share ‖φ‖² ≤ 1 and have at most four hats
//! each: by Cauchy and Schwarz E[φφᵀ] ≤ 2mD, so beside mD no step is more than twice as long as
//! fits.
//!
//! **An offset.** Where targets fill a small part of their bounds, learning begins far from all of
//! them, and curves cannot move all records alike: a record's features are scaled to one length,
//! so the same weight everywhere gives every record another score. So a number that is read again
//! and again has an offset o beside its curves. The first reading is asked at 0: its sums are
//! G = −Σ y·φ, and m = −⟨p, G⟩/(‖p‖²·B) is a mean of the targets. With a = ⟨p, G⟩/‖p‖ and
//! d² = ‖G‖² − a², what the sums say beside the mean,
//!
//! o = m·h, h = a²/(a² + c·d²), c = 1000.
//!
//! Where targets spread over their bounds (or noise is large) o is about 0, which is better there:
//! a mean that curves carry draws unusual records to the middle of the bounds, and they often are
//! nearer to it. (docs/trials.md has the tables on which c was chosen.) From then on every record
//! is asked at o + ⟨w, φ⟩. The gradients of the first reading become those of a reading at o:
//! G + o·Σ φ, with Σ φ = B·p from all counts so far.
//!
//! *Its noise*, to first order: that of a moves o by (3h − 2h²)·s/(‖p‖B), and that of d, which is
//! independent of it, by √(4c(1−h)h³)·s/(‖p‖B). An offset whose deviation would be more than a
//! stated one is 0.
//!
//! **Cells** take a Newton step each, shrunk as a Wiener filter shrinks a signal in noise: with
//! g = G/a and H = c·C/(ρa), a the length of a cell and c the curvature of the loss,
//!
//! v = −g·H/((1 + b·M/t)·H² + (s_H/τ)²), s_H = c·s/(κρa).
//!
//! b·M/t steadies the first rounds, in which all M tables explain the same residuals. **What is
//! published** is an average of the iterates in which later ones weigh more, w̄ += 4/(t+4)·(w −
//! w̄): it carries far less noise than the last iterate. Records are asked at the iterate itself.
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

/// The curvature along a step beyond which the next ones are shorter; 1 is exactly right.
const TURNED: f64 = 1.25;

/// c of the offset in the file's documentation.
const APART: f64 = 1000.0;

/// Beyond any sum: larger numbers are held here, so that products of them stay finite.
const LARGE: f64 = 1e100;

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
    /// B: records per release; the most, where batches vary, so that no step is too large.
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
    /// Whether every release adds the gradients of all records once more, with noise of its own.
    pub repeats: bool,
    /// The largest deviation that noise may give the offset, in the units of residuals; none if
    /// there is no offset.
    pub offset: Option<f64>,
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
///     spread: 0.7, unit: 1.0, residual_bound: 0.5, cell_length: 0.0, curvature: 0.25,
///     averaged: true, repeats: false, offset: None, noise: vec![0.1],
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
    /// By how many records the releases so far fall short of full batches.
    shortfall: f64,
    iterate: Vec<f64>,
    average: Vec<f64>,
    /// The mean of every hat, as the counts tell it.
    means: Vec<f64>,
    /// What D is multiplied by, 1 or more.
    caution: f64,
    /// Where records are read again: the sums of curves at the last release, and what it added.
    before: Vec<f64>,
    gradient: Vec<f64>,
    /// o·B, by which the mean of the hats moves the first reading's sums; and the deviation of o.
    carried: f64,
    offset_noise: f64,
    /// What noise adds to a coordinate of the curves' iterate, and to one of the average: see
    /// [`CurvesAndTables::deviations`].
    moved: Vec<f64>,
    deviations: Vec<f64>,
}

impl CurvesAndTables {
    /// A learner with weights 0.
    ///
    /// # Errors
    /// No coordinates or scores; numbers out of range; an offset of several scores, beside cells,
    /// or of records that are read once.
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
        if let Some(most) = rule.offset {
            check::not_negative("noise of the offset", most)?;
            if rule.scores > 1 || rule.cells > 0 || !rule.repeats {
                let allowed = "for one score, without cells, of records that are read again";
                return Err(ParameterError::new("offset", most, allowed).into());
            }
        }
        if rule.noise.is_empty() {
            return Err(ParameterError::new("noise", 0.0, "one deviation per release").into());
        }
        for &noise in &rule.noise {
            check::not_negative("noise", noise)?;
        }
        let coordinates = vec![0.0; rule.hats + rule.cells];
        let mut weights = vec![0.0; coordinates.len() * rule.scores];
        weights.extend(rule.offset.map(|_| 0.0));
        let repeated = usize::from(rule.repeats) * rule.hats * rule.scores;
        Ok(Self {
            moved: vec![0.0; rule.hats],
            rule,
            deviations: coordinates,
            rounds: 0,
            shortfall: 0.0,
            means: Vec::new(),
            caution: 1.0,
            before: vec![0.0; repeated],
            gradient: vec![0.0; repeated],
            carried: 0.0,
            offset_noise: 0.0,
            average: weights.clone(),
            iterate: weights,
        })
    }

    /// By how many records the batches up to the next release fall short of full ones: counts are
    /// means of the records that came.
    pub fn falls_short(&mut self, records: f64) {
        self.shortfall = records;
    }

    /// The weights that are published and predicted with, and behind them the offset, if there is
    /// one.
    #[must_use]
    pub fn published(&self) -> &[f64] {
        if self.rule.averaged {
            &self.average
        } else {
            &self.iterate
        }
    }

    /// An upper bound on the standard deviation that noise gives the published weights of every
    /// coordinate (each of its scores has it), given the counts, how much steps were shortened, and
    /// what records answered.
    ///
    /// **Proof.** Given these, an iterate is linear in the sums: coordinate i of release t has
    /// noise of deviation s_t·‖a_i‖, where a_i is its row of −η(I + …)⁻¹ or the factor of its cell.
    /// A deviation of an average is at most the average of the deviations. ∎ It would be reached if
    /// releases had the same noise; [`CurvesAndTables::shares`] tells by how much it is missed.
    #[must_use]
    pub fn deviations(&self) -> &[f64] {
        &self.deviations
    }

    /// The deviation that noise gives the offset, in its units.
    #[must_use]
    pub fn offset_noise(&self) -> f64 {
        self.offset_noise * self.rule.unit
    }

    /// The weight of every release so far in the published average.
    #[must_use]
    pub fn shares(&self) -> Vec<f64> {
        if !self.rule.averaged {
            let last = |t| f64::from(u8::from(t == self.rounds));
            return (1..=self.rounds).map(last).collect();
        }
        let mut left = 1.0;
        let shares = (1..=self.rounds).rev().map(|t| {
            let share = left * later(t);
            left -= share;
            share
        });
        let mut shares: Vec<f64> = shares.collect();
        shares.reverse();
        shares
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
        let records = (t as f64 * rule.batch - self.shortfall).max(1.0);
        let records = records * rule.residual_bound * weight;
        let kept = |count: f64| {
            let square = (count / weight).max(0.0).powi(2).min(check::HUGE);
            square / (square + floor)
        };
        self.means.clear();
        let means = counts[..rule.hats].iter();
        self.means
            .extend(means.map(|&count| (count.max(0.0) / records * kept(count)).min(LARGE)));
        // Relative to 1/η: the diagonal and, along the mean, the pull of one batch.
        let pull = rule.curvature * rule.batch * rule.step;
        if let (Some(most), 1) = (rule.offset, t) {
            self.set_offset(sums, noise, most);
        }
        if self.rule.repeats {
            self.caution = self.shortened(pull, sums);
        }
        let carried = self.carried;
        if t == 1 {
            // The gradient with which the next one is compared.
            let gradient = self.gradient.iter_mut().zip(&self.means);
            gradient.for_each(|(sum, p)| *sum += carried * p);
        }
        let (rule, spread) = (&self.rule, self.caution * self.rule.spread);
        let diagonal = |mean: f64| 1.0 + pull * spread * mean;
        let square: f64 = self.means.iter().map(|p| p * p / diagonal(*p)).sum();
        let damping = pull / (1.0 + pull * square);
        let squares: f64 = self.means.iter().map(|p| (p / diagonal(*p)).powi(2)).sum();
        let step = rule.step * rule.unit;
        let shrink = |count: f64| if rule.cells > 0 { kept(count) } else { 1.0 };
        for (i, (&mean, &count)) in self.means.iter().zip(counts).enumerate() {
            // The length of row i of the inverse: 1/λ_i at i, and everywhere −k·(p_i/λ_i)(p_j/λ_j).
            let (diagonal, along) = (diagonal(mean), mean / diagonal(mean));
            let row = 1.0 / diagonal.powi(2)
                + along.powi(2) * damping * (damping * squares - 2.0 / diagonal);
            self.moved[i] = noise * step * shrink(count) * row.max(0.0).sqrt();
        }
        for score in 0..rule.scores {
            let here = (score..).step_by(rule.scores);
            let along = here.clone().zip(&self.means);
            let sum = |i: usize, p: f64| sums[i].clamp(-LARGE, LARGE) + carried * p;
            let along: f64 = along.map(|(i, &p)| p * sum(i, p) / diagonal(p)).sum();
            let damped = pull * along / (1.0 + pull * square);
            for (i, (&mean, &count)) in here.zip(self.means.iter().zip(counts)) {
                let along = (sum(i, mean) - damped * mean) / diagonal(mean);
                self.iterate[i] = -step * shrink(count) * along;
            }
        }
    }

    /// Sets the offset after the first reading.
    fn set_offset(&mut self, sums: &[f64], noise: f64, most: f64) {
        let (mut square, mut product, mut length) = (0.0, 0.0, 0.0);
        for (p, sum) in self.means.iter().zip(sums) {
            let sum = sum.clamp(-LARGE, LARGE);
            square += p * p;
            product += p * sum;
            length += sum * sum;
        }
        let records = (self.rule.batch - self.shortfall).max(1.0);
        let (a, unit) = (product / square.sqrt(), 1.0 / (square.sqrt() * records));
        let share = a * a / (a * a + APART * (length - a * a).max(0.0));
        let of_mean = share * (3.0 - 2.0 * share);
        let of_rest = 4.0 * APART * (1.0 - share) * share.powi(3);
        let deviation = noise * unit * (of_mean * of_mean + of_rest).sqrt();
        // False too where there is no mean to divide by.
        if deviation <= most {
            let offset = share * (-a * unit).clamp(-1.0, 1.0);
            (self.carried, self.offset_noise) = (offset * records, deviation);
            for weights in [&mut self.iterate, &mut self.average] {
                if let Some(last) = weights.last_mut() {
                    *last = offset * self.rule.unit;
                }
            }
        }
    }

    /// Compares the gradient of this reading with that of the last one, and keeps it: by what D is
    /// to be multiplied from now on.
    fn shortened(&mut self, pull: f64, sums: &[f64]) -> f64 {
        let (rule, spread) = (&self.rule, self.caution * self.rule.spread);
        let diagonal = |mean: f64| 1.0 + pull * spread * mean;
        let square: f64 = self.means.iter().map(|p| p * p / diagonal(*p)).sum();
        let damping = pull / (1.0 + pull * square);
        let inverse = |&p: &f64| 1.0 / diagonal(p) - damping * (p / diagonal(p)).powi(2);
        let trace: f64 = self.means.iter().map(inverse).sum();
        // What noise adds to ⟨old, P·old⟩; then ⟨new, P·old⟩ and it, summed over scores.
        let by_noise = rule.scores as f64 * self.noise(1).powi(2) * trace;
        let (mut turned, mut length) = (0.0, 0.0);
        for score in 0..rule.scores {
            let (mut new_along, mut old_along) = (0.0, 0.0);
            for (&mean, i) in self.means.iter().zip((score..).step_by(rule.scores)) {
                let sum = sums[i].clamp(-LARGE, LARGE);
                let new = sum - self.before[i];
                let old = std::mem::replace(&mut self.gradient[i], new);
                self.before[i] = sum;
                let diagonal = diagonal(mean);
                turned += new * old / diagonal;
                length += old * old / diagonal;
                new_along += new * mean / diagonal;
                old_along += old * mean / diagonal;
            }
            turned -= damping * new_along * old_along;
            length -= damping * old_along * old_along;
        }
        // In the first reading there is nothing to compare with, and the quotient is none.
        let curvature = 1.0 - (turned + by_noise) / length;
        if curvature > TURNED {
            (self.caution * curvature.min(2.0)).min(rule.hats as f64)
        } else {
            self.caution
        }
    }

    /// Sets the weights of the cells, and goes on with their averages.
    fn move_cells(
        &mut self,
        t: u64,
        sums: &[f64],
        counts: &[f64],
        noise: f64,
        averaging: Averaging,
    ) {
        let rule = &self.rule;
        let unit = rule.curvature / (rule.residual_bound * rule.cell_length * rule.count_weight);
        let step = CellStep {
            unit,
            steady: 1.0 + STEADY * rule.tables as f64 / t as f64,
            shrink: (unit * noise / EXPECTED).powi(2) + f64::MIN_POSITIVE,
            scale: rule.unit,
            length: rule.cell_length,
            noise,
            averaging,
        };
        let (first, scores) = (rule.hats * rule.scores, rule.scores);
        let deviations = &mut self.deviations[rule.hats..];
        let (weights, averages) = (&mut self.iterate[first..], &mut self.average[first..]);
        let (sums, counts) = (&sums[first..], &counts[rule.hats..]);
        if scores == 1 {
            pulp::Arch::new().dispatch(Cells(step, sums, counts, weights, averages, deviations));
            return;
        }
        let cells = weights
            .chunks_exact_mut(scores)
            .zip(averages.chunks_exact_mut(scores));
        let cells = cells.zip(sums.chunks_exact(scores)).zip(counts);
        for ((((weights, averages), sums), &count), deviation) in cells.zip(deviations) {
            let factor = step.factor(count);
            for ((weight, average), sum) in weights.iter_mut().zip(averages).zip(sums) {
                step.averaging.weight(weight, average, factor * sum);
            }
            step.averaging.deviation(deviation, noise * factor.abs());
        }
    }
}

/// What a release adds to averages.
#[derive(Clone, Copy)]
struct Averaging {
    weights: f64,
    deviations: f64,
}

impl Averaging {
    #[inline(always)]
    fn weight(self, weight: &mut f64, average: &mut f64, moved: f64) {
        // Sums of any size give finite weights.
        *weight = check::hold(moved);
        *average += self.weights * (*weight - *average);
    }

    #[inline(always)]
    fn deviation(self, deviation: &mut f64, moved: f64) {
        *deviation += self.deviations * (moved.min(check::HUGE) - *deviation);
    }
}

/// What all cells have in common in a release.
#[derive(Clone, Copy)]
struct CellStep {
    unit: f64,
    steady: f64,
    shrink: f64,
    scale: f64,
    length: f64,
    noise: f64,
    averaging: Averaging,
}

impl CellStep {
    /// What a cell's sum is multiplied by.
    #[inline(always)]
    fn factor(&self, count: f64) -> f64 {
        let curvature = (count.max(0.0) * self.unit).min(1e150);
        let newton = curvature / (self.steady * curvature * curvature + self.shrink);
        -newton * self.scale / self.length
    }
}

/// A release of many cells with one score each: sums and counts, weights, averages and deviations.
/// There may be more than fit a cache, so each is read once; and the loop is compiled once more for
/// wider vectors.
struct Cells<'a>(
    CellStep,
    &'a [f64],
    &'a [f64],
    &'a mut [f64],
    &'a mut [f64],
    &'a mut [f64],
);

impl pulp::WithSimd for Cells<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        // Arguments, unlike fields, are known not to overlap.
        #[inline(always)]
        fn work(
            step: CellStep,
            sums: &[f64],
            counts: &[f64],
            weights: &mut [f64],
            averages: &mut [f64],
            deviations: &mut [f64],
        ) {
            let cells = weights.iter_mut().zip(averages).zip(deviations);
            for (((weight, average), deviation), (sum, count)) in cells.zip(sums.iter().zip(counts))
            {
                let factor = step.factor(*count);
                step.averaging.weight(weight, average, factor * sum);
                step.averaging
                    .deviation(deviation, step.noise * factor.abs());
            }
        }
        work(self.0, self.1, self.2, self.3, self.4, self.5);
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
        let coordinates = self.rule.hats + self.rule.cells;
        let (sums, counts) = prefix.split_at(coordinates * self.rule.scores);
        let later = later(t);
        let averaging = Averaging {
            weights: later,
            deviations: if self.rule.averaged { later } else { 1.0 },
        };
        self.move_curves(t, sums, counts, noise);
        let curves = self.rule.hats * self.rule.scores;
        let weights = self.iterate[..curves].iter_mut();
        for (weight, average) in weights.zip(&mut self.average) {
            let moved = *weight;
            averaging.weight(weight, average, moved);
        }
        for (deviation, moved) in self.deviations.iter_mut().zip(&self.moved) {
            averaging.deviation(deviation, *moved);
        }
        if self.rule.cells > 0 {
            self.move_cells(t, sums, counts, noise, averaging);
        }
        self.rounds = t;
        Ok(())
    }

    fn rounds(&self) -> u64 {
        self.rounds
    }

    fn state(&self) -> Vec<f64> {
        let weights = [&self.iterate[..], &self.average, &self.deviations].concat();
        if !self.rule.repeats {
            return weights;
        }
        let offset = [self.carried, self.offset_noise];
        let offset = &offset[..2 * usize::from(self.rule.offset.is_some())];
        let caution = [self.caution];
        [&weights[..], &caution, &self.before, &self.gradient, offset].concat()
    }

    fn restore(&mut self, rounds: u64, state: &[f64]) -> Result<(), LearnError> {
        let (weights, repeated) = (self.iterate.len(), self.before.len());
        let more = if self.rule.repeats {
            1 + 2 * repeated + 2 * usize::from(self.rule.offset.is_some())
        } else {
            0
        };
        let length = 2 * weights + self.deviations.len();
        check::vector("state", state, length + more)?;
        let (state, more) = state.split_at(length);
        if let Some((caution, more)) = more.split_first() {
            self.caution = *caution;
            self.before.copy_from_slice(&more[..repeated]);
            let (gradient, offset) = more[repeated..].split_at(repeated);
            self.gradient.copy_from_slice(gradient);
            if let [carried, noise] = *offset {
                (self.carried, self.offset_noise) = (carried, noise);
            }
        }
        let (iterate, rest) = state.split_at(weights);
        let (average, deviations) = rest.split_at(weights);
        self.deviations.copy_from_slice(deviations);
        self.iterate.copy_from_slice(iterate);
        self.average.copy_from_slice(average);
        self.rounds = rounds;
        Ok(())
    }
}

/// The weight of iterate t in the average up to it.
fn later(t: u64) -> f64 {
    (1.0 + LATER) / (t as f64 + 1.0 + LATER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(cells: usize, scores: usize) -> TableRule {
        TableRule {
            hats: 4,
            cells,
            tables: cells / 3,
            scores,
            count_weight: 0.5,
            batch: 20.0,
            step: 0.3,
            spread: 0.6,
            unit: 2.5,
            residual_bound: 0.5,
            cell_length: 0.4,
            curvature: 0.25,
            averaged: true,
            repeats: false,
            offset: None,
            noise: vec![2.0, 1.5],
        }
    }

    /// Some sum: never the same twice, with counts of every size and sign.
    fn sums(rule: &TableRule, t: u64) -> Vec<f64> {
        let weights = (rule.hats + rule.cells) * rule.scores;
        (0..weights + rule.hats + rule.cells)
            .map(|i| {
                let wave = libm::sin((t * 31 + i as u64 * 7) as f64);
                wave * t as f64 * if i < weights { 3.0 } else { 9.0 }
            })
            .collect()
    }

    /// x of Ax = b, by elimination.
    fn solved(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
        let n = b.len();
        for i in 0..n {
            for j in i + 1..n {
                let factor = a[j][i] / a[i][i];
                let (above, below) = a.split_at_mut(j);
                let pairs = below[0].iter_mut().zip(&above[i]);
                pairs.for_each(|(below, above)| *below -= factor * above);
                b[j] -= factor * b[i];
            }
        }
        for i in (0..n).rev() {
            for j in i + 1..n {
                b[i] -= a[i][j] * b[j];
            }
            b[i] /= a[i][i];
        }
        b
    }

    fn with_offset(most: f64) -> TableRule {
        TableRule {
            offset: Some(most),
            repeats: true,
            ..rule(0, 1)
        }
    }

    /// The offset of the file's documentation, and weights that are solved for sums which are moved
    /// to it.
    #[test]
    fn an_offset_is_that_of_the_documentation() {
        let rule = with_offset(1e9);
        let mut learner = CurvesAndTables::new(rule.clone()).unwrap();
        learner.falls_short(4.0); // 16 of 20 records
        let sums = [-1.9, -9.3, -5.7, -0.3];
        let counts = [2.0, 6.0, 4.0, 0.75];
        let prefix = [sums, counts].concat();
        learner.observe(&prefix).unwrap();
        // κ = ½ and ρ = ½, and noise 2.
        let p: Vec<f64> = counts
            .iter()
            .map(|c| c / (16.0 * 0.25) * (c * 2.0).powi(2) / ((c * 2.0).powi(2) + 16.0))
            .collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let square = dot(&p, &p);
        let m = -dot(&p, &sums) / (square * 16.0);
        let a = dot(&p, &sums) / square.sqrt();
        let rest = dot(&sums, &sums) - a * a;
        let h = a * a / (a * a + 1000.0 * rest);
        assert!((0.05..0.95).contains(&h), "{h}");
        assert!((learner.iterate()[4] - 2.5 * m * h).abs() < 1e-12);
        assert_eq!(learner.iterate()[4..], learner.published()[4..]);
        let matrix: Vec<Vec<f64>> = (0..4)
            .map(|i| {
                let diagonal = 1.0 / 0.3 + 0.25 * 20.0 * p[i] * 0.6;
                let entry = |j| 0.25 * 20.0 * p[i] * p[j] + if i == j { diagonal } else { 0.0 };
                (0..4).map(entry).collect()
            })
            .collect();
        let right = (0..4).map(|i| -(sums[i] + m * h * 16.0 * p[i])).collect();
        let pairs = solved(matrix, right).into_iter().zip(learner.iterate());
        pairs.for_each(|(own, weight)| assert!((2.5 * own - weight).abs() < 1e-9));
        // Too much noise for this rule, and none for the same weights.
        let noise = learner.offset_noise() / 2.5;
        for (most, is_learned) in [(0.99 * noise, false), (1.01 * noise, true)] {
            let mut learner = CurvesAndTables::new(with_offset(most)).unwrap();
            learner.falls_short(4.0);
            learner.observe(&prefix).unwrap();
            assert_eq!(learner.iterate()[4].abs() > 0.0, is_learned);
            assert_eq!(learner.offset_noise() > 0.0, is_learned);
        }
        for refused in [
            TableRule {
                repeats: false,
                ..rule.clone()
            },
            TableRule {
                scores: 3,
                ..rule.clone()
            },
            TableRule {
                cells: 6,
                ..rule.clone()
            },
            with_offset(f64::NAN),
        ] {
            assert!(CurvesAndTables::new(refused).is_err());
        }
    }

    /// Targets in a twentieth of their bounds, far from the middle, of records that are unusual to
    /// different degrees: with an offset, all are predicted at once.
    #[test]
    fn targets_far_from_the_middle_are_reached_by_an_offset() {
        // Records of two columns, and how many there are of each; features of length 1.
        let groups = [([0, 2], 70.0), ([0, 3], 20.0), ([1, 2], 9.0), ([1, 3], 1.0)];
        let hat = 0.5_f64.sqrt();
        let target = |group: usize| -0.9 + 0.01 * group as f64;
        let mut worst = Vec::new();
        for offset in [None, Some(1.0)] {
            let rule = TableRule {
                batch: 100.0,
                step: 0.05,
                unit: 1.0,
                residual_bound: 1.0,
                count_weight: 1.0,
                curvature: 1.0,
                noise: vec![0.0],
                offset,
                ..with_offset(1.0)
            };
            let mut learner = CurvesAndTables::new(rule).unwrap();
            let score = |learner: &CurvesAndTables, places: [usize; 2]| {
                let all = learner.published();
                let offset = all.get(4).copied().unwrap_or(0.0);
                hat * (all[places[0]] + all[places[1]]) + offset
            };
            let mut prefix = vec![0.0; 8];
            for _ in 0..6 {
                for (group, (places, records)) in groups.into_iter().enumerate() {
                    let all = learner.iterate();
                    let own = hat * (all[places[0]] + all[places[1]]);
                    let own = own + all.get(4).copied().unwrap_or(0.0);
                    for place in places {
                        prefix[place] += records * hat * (own - target(group)).clamp(-1.0, 1.0);
                        prefix[4 + place] += records * hat;
                    }
                }
                learner.observe(&prefix).unwrap();
            }
            let errors = groups.iter().enumerate();
            let errors =
                errors.map(|(i, (places, _))| (score(&learner, *places) - target(i)).abs());
            worst.push(errors.fold(0.0, f64::max));
        }
        assert!(worst[0] > 0.1 && worst[1] < 0.03, "{worst:?}");
    }

    /// The formulas of the file's documentation, with a dense matrix and cell by cell.
    #[test]
    fn weights_are_those_of_a_dense_solution() {
        for (cells, scores) in [(0, 1), (6, 1), (6, 3)] {
            let rule = rule(cells, scores);
            let mut learner = CurvesAndTables::new(rule.clone()).unwrap();
            let mut average = vec![0.0; (4 + cells) * scores];
            for t in 1..=4 {
                let prefix = sums(&rule, t);
                learner.observe(&prefix).unwrap();
                let (sums, counts) = prefix.split_at((4 + cells) * scores);
                let (time, noise) = (t as f64, if t == 1 { 2.0_f64 } else { 1.5 });
                // κ·C carries noise s, so C carries s/κ.
                let count = |i: usize| counts[i].max(0.0) / 0.5;
                let kept = |i: usize| count(i).powi(2) / (count(i).powi(2) + (noise / 0.5).powi(2));
                let p = |i: usize| count(i) / (time * 20.0 * 0.5) * kept(i);
                let matrix: Vec<Vec<f64>> = (0..4)
                    .map(|i| {
                        let entry = |j| {
                            let rank = 0.25 * 20.0 * p(i) * p(j);
                            let diagonal = 1.0 / 0.3 + 0.25 * 20.0 * p(i) * 0.6;
                            rank + if i == j { diagonal } else { 0.0 }
                        };
                        (0..4).map(entry).collect()
                    })
                    .collect();
                for score in 0..scores {
                    let right = (0..4).map(|i| -sums[i * scores + score]).collect();
                    let curve = solved(matrix.clone(), right);
                    for (i, weight) in curve.iter().enumerate() {
                        let shrunk = if cells > 0 { kept(i) } else { 1.0 };
                        let own = learner.iterate()[i * scores + score];
                        assert!((own - 2.5 * shrunk * weight).abs() < 1e-9, "{t} {i}: {own}");
                    }
                    for cell in 4..4 + cells {
                        let g = sums[cell * scores + score] / 0.4;
                        let h = 0.25 * count(cell) / (0.5 * 0.4);
                        let s = 0.25 * noise / (0.5 * 0.5 * 0.4);
                        let steady = 1.0 + STEADY * rule.tables as f64 / time;
                        let v = -g * h / (steady * h * h + (s / EXPECTED).powi(2));
                        let own = learner.iterate()[cell * scores + score];
                        assert!((own - 2.5 * v).abs() < 1e-9, "{t} {cell}: {own} {v}");
                    }
                }
                for (average, weight) in average.iter_mut().zip(learner.iterate()) {
                    *average += 4.0 / (time + 4.0) * (weight - *average);
                }
                let pairs = average.iter().zip(learner.published());
                pairs.for_each(|(a, b)| assert!((a - b).abs() < 1e-12));
            }
        }
        // In the order of time the last iterate is published.
        let last = TableRule {
            averaged: false,
            ..rule(0, 1)
        };
        let mut learner = CurvesAndTables::new(last.clone()).unwrap();
        learner.observe(&sums(&last, 1)).unwrap();
        assert_eq!(learner.published(), learner.iterate());
    }

    /// Means are per record that came: 15 records in three batches of up to 20 are those of a
    /// learner whose batches hold 5, but for the pull of a batch, which is that of a full one.
    #[test]
    fn means_are_of_the_records_that_came() {
        for (cells, scores) in [(0, 1), (6, 3)] {
            let rule = rule(cells, scores);
            let small = TableRule {
                batch: 5.0,
                // The same pull: c·B·η.
                curvature: 4.0 * rule.curvature,
                ..rule.clone()
            };
            let mut varied = CurvesAndTables::new(rule.clone()).unwrap();
            let mut even = CurvesAndTables::new(small).unwrap();
            // Batches of 1, 9 and 5.
            for (t, came) in [(1, 1.0), (2, 10.0), (3, 15.0)] {
                let prefix = sums(&rule, t);
                varied.falls_short(20.0 * t as f64 - came);
                varied.observe(&prefix).unwrap();
                even.observe(&prefix).unwrap();
            }
            let curves = 4 * scores;
            assert_eq!(varied.iterate()[..curves], even.iterate()[..curves]);
            assert_eq!(varied.means, even.means);
            // Without a shortfall they would be a quarter of that.
            let mut full = CurvesAndTables::new(rule.clone()).unwrap();
            (1..=3).for_each(|t| full.observe(&sums(&rule, t)).unwrap());
            assert_ne!(full.iterate()[..curves], even.iterate()[..curves]);
        }
    }

    /// Six columns that say the same, read 20 times, squared loss: the steps that fit one of them
    /// turn round for ever, and shorter ones end in the minimum.
    #[test]
    fn steps_that_turn_round_become_shorter() {
        const COLUMNS: usize = 6;
        let hat = 1.0 / (COLUMNS as f64).sqrt();
        let rule = |repeats| TableRule {
            hats: 2 * COLUMNS,
            cells: 0,
            tables: 0,
            batch: 100.0,
            step: 1e6,
            spread: hat,
            unit: 1.0,
            residual_bound: 1.0,
            count_weight: 1.0,
            curvature: 1.0,
            repeats,
            noise: vec![0.0],
            ..rule(0, 1)
        };
        // Half of the records have the first hat of every column and the target −½, half the other.
        let error = |learner: &CurvesAndTables, side: usize| {
            let hats = learner.iterate().iter().skip(side).step_by(2);
            hats.sum::<f64>() * hat - (side as f64 - 0.5)
        };
        let mut ends = Vec::new();
        for repeats in [false, true] {
            let mut learner = CurvesAndTables::new(rule(repeats)).unwrap();
            let mut prefix = vec![0.0; 4 * COLUMNS];
            for _ in 0..20 {
                let residuals = [0, 1].map(|side| error(&learner, side).clamp(-1.0, 1.0));
                for (i, sum) in prefix.iter_mut().enumerate() {
                    let residual = residuals[i % 2];
                    *sum += 50.0 * hat * if i < 2 * COLUMNS { residual } else { 1.0 };
                }
                learner.observe(&prefix).unwrap();
            }
            ends.push(error(&learner, 0).abs().max(error(&learner, 1).abs()));
        }
        assert!(ends[0] > 0.5, "{ends:?}");
        assert!(ends[1] < 0.05, "{ends:?}");
    }

    /// Readings of which nothing is left but noise: that they point back and forth is chance.
    #[test]
    fn noise_alone_shortens_no_step() {
        const HATS: usize = 12;
        let rule = TableRule {
            hats: HATS,
            batch: 100.0,
            spread: 0.3,
            step: 10.0,
            unit: 1.0,
            residual_bound: 1.0,
            count_weight: 1.0,
            curvature: 1.0,
            repeats: true,
            noise: (1..=20_u8).map(|t| f64::from(t).sqrt()).collect(),
            ..rule(0, 1)
        };
        let mut state = 1_u64;
        // Sums of twelve uniform numbers: deviation 1.
        let mut noise = || {
            let uniform = (0..12).map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (state >> 11) as f64 / (1_u64 << 53) as f64
            });
            uniform.sum::<f64>() - 6.0
        };
        for _ in 0..50 {
            let mut learner = CurvesAndTables::new(rule.clone()).unwrap();
            let mut prefix = vec![0.0; 2 * HATS];
            for _ in 0..20 {
                for (i, sum) in prefix.iter_mut().enumerate() {
                    *sum += noise() + if i < HATS { 0.0 } else { 20.0 };
                }
                learner.observe(&prefix).unwrap();
            }
            assert!((learner.caution - 1.0).abs() < 1e-15, "{}", learner.caution);
        }
    }

    #[test]
    fn a_restored_learner_goes_on_bit_for_bit() {
        let repeated = |cells, scores| TableRule {
            repeats: true,
            ..rule(cells, scores)
        };
        let once = [rule(0, 1), rule(6, 3)];
        let again = [repeated(0, 1), repeated(6, 3), with_offset(1e9)];
        for rule in once.into_iter().chain(again) {
            let mut learner = CurvesAndTables::new(rule.clone()).unwrap();
            for t in 1..=6 {
                let mut again = CurvesAndTables::new(rule.clone()).unwrap();
                again.restore(learner.rounds(), &learner.state()).unwrap();
                for learner in [&mut learner, &mut again] {
                    learner.observe(&sums(&rule, t)).unwrap();
                }
                assert_eq!(learner.state(), again.state());
                assert_eq!((learner.rounds(), again.rounds()), (t, t));
                assert_eq!(learner.published(), again.published());
            }
            assert!(learner.restore(1, &[0.0]).is_err());
            let broken = vec![f64::NAN; learner.state().len()];
            assert!(learner.restore(1, &broken).is_err());
        }
    }

    #[test]
    fn sums_of_any_size_give_finite_weights() {
        let sizes = [0.0, 1e-300, 1e-150, 1.0, 1e150, 1e300, f64::MAX];
        for (cells, scores) in [(0, 1), (6, 3)] {
            for noise in [0.0, 1.0, 1e200] {
                for sum in sizes {
                    for count in sizes {
                        for sign in [1.0, -1.0] {
                            let rule = TableRule {
                                noise: vec![noise],
                                repeats: sign > 0.0,
                                offset: (sign > 0.0 && scores == 1).then_some(1e9),
                                ..rule(cells, scores)
                            };
                            let mut learner = CurvesAndTables::new(rule).unwrap();
                            let mut prefix = vec![sum; (4 + cells) * scores];
                            prefix.extend(vec![sign * count; 4 + cells]);
                            for _ in 0..2 {
                                learner.observe(&prefix).unwrap();
                                let state = learner.state();
                                let is_finite = state.iter().all(|weight| weight.is_finite());
                                assert!(is_finite, "{sum} {count} {noise}: {state:?}");
                            }
                        }
                    }
                }
            }
        }
        let mut learner = CurvesAndTables::new(rule(0, 1)).unwrap();
        assert!(learner.observe(&[f64::NAN; 8]).is_err());
        assert!(learner.observe(&[0.0; 7]).is_err());
    }
}
