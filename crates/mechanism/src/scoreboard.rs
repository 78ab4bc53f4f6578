//! How well the model predicts a stream: for the operator only, because every figure is computed
//! from private data without noise.
//!
//! Each record is first predicted with the weights that are its question, then learned from
//! (progressive validation). Two baselines ignore the features: the majority class or mean target,
//! and the last label. If the second does well (labels in long runs), accuracy alone says little.
//! Records without a usable label are counted and not scored.

mod logged;
mod metrics;
mod probability;

pub use logged::OffPolicy;
pub use metrics::{ClassMetrics, Metrics, NumberMetrics, Ranking};
pub use probability::Probability;

use crate::boundary::{OperatorOnly, Raw};
use crate::feedback::{Logged, Reading};
use crate::losses::{Measured, Record, class};
use crate::tables::{Expanded, TableMap};
use logged::LogTally;
use metrics::{ClassTally, NumberTally, largest};

/// The measure of predictions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Yardstick {
    /// Targets ±1, predicted by the sign of the score, which may stand for a probability.
    Sign(Option<Probability>),
    /// Targets 0 … K − 1, predicted by the largest of K scores, which may stand for probabilities.
    Classes(usize, Option<Probability>),
    /// Numeric targets between two bounds; predictions are clamped to them too.
    Number(f64, f64),
    /// Features are the losses of this many experts, and weights say how much each is followed: the
    /// measure is the loss.
    Experts(usize),
    /// Features are a round of a log, weights a policy: the measure is the policy's loss,
    /// self-normalised.
    Log(Reading),
}

/// The figures so far. No `Debug`, because they include a label.
#[derive(Clone, Copy, PartialEq)]
pub struct Summary {
    /// Records seen.
    pub records: u64,
    /// Records with a usable label: all averages are over these.
    pub scored: u64,
    /// The main figure: log loss, or accuracy if scores stand for no probabilities; mean squared
    /// error; average loss of experts and arms.
    pub average: f64,
    /// The main figure since the last mark.
    pub since_last: f64,
    /// Experts and arms: the average loss of the uniform policy.
    pub uniform: f64,
    /// Experts and arms: the average loss of the best single one in hindsight.
    pub best: f64,
    /// The last record's label (for experts: its average loss).
    pub label: f64,
    /// Its prediction: a score, a class or a number (for experts: the loss of the followed
    /// mixture).
    pub prediction: f64,
    /// Metrics of classes and numbers.
    pub metrics: Option<Metrics>,
    /// Records whose features were longer than the bound.
    pub clipped: u64,
    /// For a log: estimates of the policy's loss, in the units of losses.
    pub off_policy: Option<OffPolicy>,
}

/// Running sums of each kind of task.
enum Tally {
    Classes(ClassTally),
    Number(NumberTally),
    /// Sums of the experts' losses.
    Experts(Vec<f64>),
    Log(LogTally),
}

/// Scores predictions against labels.
///
/// ```
/// use hushstream_mechanism::losses::{Features, Record};
/// use hushstream_mechanism::{Raw, Scoreboard, Yardstick};
///
/// let mut board = Scoreboard::new(Yardstick::Sign(None), f64::INFINITY);
/// for (x, target) in [(1.0, 1.0), (-2.0, -1.0), (3.0, -1.0), (0.5, 1.0)] {
///     let record = Record { features: Features::Dense(vec![x]), target };
///     board.score(&Raw::seal(record), &[1.0]);
/// }
/// let summary = *board.summary().for_the_operator();
/// assert_eq!((summary.scored, summary.average), (4, 0.75)); // accuracy
/// ```
pub struct Scoreboard {
    yardstick: Yardstick,
    length: f64,
    records: u64,
    scored: u64,
    marked: u64,
    marked_sum: f64,
    /// Summed losses of experts and arms: the model's, the uniform policy's, the best one's.
    losses: [f64; 3],
    last: f64,
    prediction: f64,
    clipped: u64,
    tally: Tally,
    /// Scores of a record's classes.
    scores: Vec<f64>,
    /// Hats and cells of a record.
    expanded: Expanded,
}

impl Scoreboard {
    /// An empty scoreboard, for a model that clips features to this length (∞ for no clipping).
    #[must_use]
    pub fn new(yardstick: Yardstick, length: f64) -> Self {
        let tally = match yardstick {
            Yardstick::Sign(map) => Tally::Classes(ClassTally::new(2, true, map)),
            Yardstick::Classes(count, map) => Tally::Classes(ClassTally::new(count, false, map)),
            Yardstick::Number(..) => Tally::Number(NumberTally::default()),
            Yardstick::Experts(count) => Tally::Experts(vec![0.0; count]),
            Yardstick::Log(reading) => Tally::Log(LogTally::new(reading.arms())),
        };
        Self {
            yardstick,
            length,
            records: 0,
            scored: 0,
            marked: 0,
            marked_sum: 0.0,
            losses: [0.0; 3],
            last: 0.0,
            prediction: 0.0,
            clipped: 0,
            tally,
            scores: Vec::new(),
            expanded: Expanded::default(),
        }
    }

    /// Predicts a record with these weights and scores the prediction. A record without a usable
    /// label is counted and not scored.
    pub fn score(&mut self, record: &Raw<Record>, weights: &[f64]) {
        self.look_at(record.peek(), weights);
    }

    /// As [`Scoreboard::score`]; returns the record's measurements at these weights, if it made
    /// them, so that the caller need not repeat them.
    pub(crate) fn look_at(&mut self, record: &Record, weights: &[f64]) -> Option<Measured> {
        self.records += 1;
        match self.yardstick {
            Yardstick::Experts(count) => self.score_experts(record, weights, count),
            Yardstick::Log(reading) => self.score_log(reading, record, weights),
            _ => {
                return self.score_label(record, weights);
            }
        }
        None
    }

    fn score_label(&mut self, record: &Record, weights: &[f64]) -> Option<Measured> {
        if !self.is_usable(record.target) {
            return None;
        }
        let width = weights.len() / self.blocks();
        let first = weights.get(..width).unwrap_or_default();
        let measured = record.features.measured(first)?;
        let shrink = self.shrink(measured);
        if let Yardstick::Classes(..) = self.yardstick {
            let blocks = weights.chunks_exact(width);
            let scores = blocks.map(|block| shrink * record.features.dot(block));
            self.scores.clear();
            self.scores.extend(scores);
            self.note_classes(record.target);
            return None;
        }
        self.note_prediction(shrink * measured.dot, record.target);
        Some(measured)
    }

    /// The factor that shortens features that are too long, which are counted.
    fn shrink(&mut self, measured: Measured) -> f64 {
        if measured.norm > self.length {
            self.clipped += 1;
            self.length / measured.norm
        } else {
            1.0
        }
    }

    /// Whether a record is predicted by one score, the product of features and weights.
    #[must_use]
    pub fn is_of_scores(&self) -> bool {
        matches!(self.yardstick, Yardstick::Sign(_) | Yardstick::Number(..))
    }

    /// As [`Scoreboard::look_at`], of a record that is predicted by one score, from its
    /// measurements, if it has any.
    pub(crate) fn note_measured(&mut self, target: f64, measured: Option<Measured>) {
        self.records += 1;
        if let Some(measured) = measured.filter(|_| self.is_usable(target)) {
            let shrink = self.shrink(measured);
            self.note_prediction(shrink * measured.dot, target);
        }
    }

    /// Predicts a record with curves and tables of these weights, and scores the prediction.
    pub fn score_tables(&mut self, record: &Raw<Record>, map: &TableMap, weights: &[f64]) {
        let record = record.peek();
        let mut expanded = std::mem::take(&mut self.expanded);
        let is_row = map.expand(&record.features, &mut expanded);
        self.score_expanded(record, is_row.then_some(&expanded), weights);
        self.expanded = expanded;
    }

    /// The same for hats and cells that are known, if the record has any.
    pub(crate) fn score_expanded(
        &mut self,
        record: &Record,
        expanded: Option<&Expanded>,
        weights: &[f64],
    ) {
        self.records += 1;
        let Some(expanded) = expanded.filter(|_| self.is_usable(record.target)) else {
            return;
        };
        self.scores.clear();
        self.scores.resize(self.blocks(), 0.0);
        expanded.add_scores(weights, &mut self.scores);
        match self.yardstick {
            Yardstick::Classes(..) => self.note_classes(record.target),
            _ => self.note_prediction(self.scores[0], record.target),
        }
    }

    /// The same for a score that is known, of two classes or a number.
    pub(crate) fn note_score(&mut self, record: &Record, score: f64) {
        self.records += 1;
        if self.is_usable(record.target) {
            self.note_prediction(score, record.target);
        }
    }

    /// Scores a prediction that was made elsewhere.
    pub fn note(&mut self, record: &Raw<Record>, prediction: &OperatorOnly<f64>) {
        self.compare(record.peek(), *prediction.for_the_operator());
    }

    /// As [`Scoreboard::note`], for two classes or a number.
    pub(crate) fn compare(&mut self, record: &Record, prediction: f64) {
        self.records += 1;
        if self.is_usable(record.target) {
            self.clipped += u64::from(record.features.norm() > self.length);
            self.note_prediction(prediction, record.target);
        }
    }

    fn is_usable(&self, label: f64) -> bool {
        match self.yardstick {
            Yardstick::Classes(count, _) => class(label, count).is_some(),
            _ => label.is_finite(),
        }
    }

    fn note_prediction(&mut self, prediction: f64, label: f64) {
        self.scored += 1;
        self.last = label;
        self.prediction = match self.yardstick {
            Yardstick::Number(low, high) => prediction.clamp(low, high),
            _ => prediction,
        };
        match &mut self.tally {
            Tally::Classes(tally) => tally.add_sign(prediction, label > 0.0),
            Tally::Number(tally) => tally.add(self.prediction, label),
            Tally::Experts(_) | Tally::Log(_) => {}
        }
    }

    fn note_classes(&mut self, label: f64) {
        let class = class(label, self.scores.len());
        if let (Tally::Classes(tally), Some(class)) = (&mut self.tally, class) {
            self.scored += 1;
            self.last = label;
            self.prediction = largest(&self.scores) as f64;
            tally.add_class(&mut self.scores, class);
        }
    }

    fn score_experts(&mut self, record: &Record, weights: &[f64], count: usize) {
        let Tally::Experts(sums) = &mut self.tally else {
            return;
        };
        if !record.features_in(count) || weights.len() != count {
            return;
        }
        self.scored += 1;
        self.prediction = record.features.dot(weights);
        self.losses[0] += self.prediction;
        let ones = vec![1.0; count];
        let mean = record.features.dot(&ones) / count as f64;
        self.losses[1] += mean;
        self.last = mean;
        record.features.add_to(sums);
        self.losses[2] = sums.iter().copied().fold(f64::INFINITY, f64::min);
    }

    fn score_log(&mut self, reading: Reading, record: &Record, policy: &[f64]) {
        let row = reading.logged(record);
        let Some(row) = row.filter(|_| policy.len() == reading.arms()) else {
            return;
        };
        self.score_row(reading, &row, policy);
    }

    fn score_row(&mut self, reading: Reading, row: &Logged, policy: &[f64]) {
        let Tally::Log(log) = &mut self.tally else {
            return;
        };
        log.add(row, policy);
        if let Some(loss) = row.loss {
            self.scored += 1;
            self.prediction = reading.unscaled(loss);
            self.last = self.prediction;
        }
        // Sums, as for the others: averages divide them by the number of rows.
        let whole = |average: f64| reading.unscaled(average) * self.scored as f64;
        let (alike, best) = log.arms();
        self.losses = [log.policy().snips, alike, best].map(whole);
    }

    /// Scores a decision: the losses of all arms, and the share of each in the play.
    pub(crate) fn note_losses(&mut self, losses: &[f64], shares: &[f64]) {
        self.records += 1;
        let Tally::Experts(sums) = &mut self.tally else {
            return;
        };
        if losses.len() != sums.len() || shares.len() != sums.len() {
            return;
        }
        self.scored += 1;
        self.prediction = losses.iter().zip(shares).map(|(l, share)| l * share).sum();
        self.losses[0] += self.prediction;
        let mean = losses.iter().sum::<f64>() / losses.len() as f64;
        self.losses[1] += mean;
        self.last = mean;
        sums.iter_mut()
            .zip(losses)
            .for_each(|(sum, loss)| *sum += loss);
        self.losses[2] = sums.iter().copied().fold(f64::INFINITY, f64::min);
    }

    /// Scores a policy's probabilities on a row of a log.
    pub(crate) fn note_logged(&mut self, row: &Logged, policy: &[f64]) {
        self.records += 1;
        if let Yardstick::Log(reading) = self.yardstick
            && policy.len() == reading.arms()
        {
            self.score_row(reading, row, policy);
        }
    }

    fn off_policy(&self) -> Option<OffPolicy> {
        let (Yardstick::Log(reading), Tally::Log(log)) = (self.yardstick, &self.tally) else {
            return None;
        };
        let scaled = log.policy();
        Some(OffPolicy {
            ips: reading.unscaled(scaled.ips),
            snips: reading.unscaled(scaled.snips),
            doubly_robust: reading.unscaled(scaled.doubly_robust),
        })
    }

    fn blocks(&self) -> usize {
        match self.yardstick {
            Yardstick::Classes(count, _) => count,
            _ => 1,
        }
    }

    /// The sum whose average is the main figure.
    fn sum(&self) -> f64 {
        match &self.tally {
            Tally::Classes(tally) if tally.has_probabilities() => tally.log_loss,
            Tally::Classes(tally) => tally.right() as f64,
            Tally::Number(tally) => tally.squares,
            Tally::Experts(_) | Tally::Log(_) => self.losses[0],
        }
    }

    /// Starts a new `since_last`.
    pub fn mark(&mut self) {
        (self.marked, self.marked_sum) = (self.scored, self.sum());
    }

    /// For two classes: how scores rank the records so far, and how far probabilities can be
    /// trusted.
    #[must_use]
    pub fn ranking(&self) -> Option<OperatorOnly<Ranking>> {
        match &self.tally {
            Tally::Classes(tally) => tally.ranking().map(OperatorOnly::new),
            _ => None,
        }
    }

    /// The figures so far.
    #[must_use]
    pub fn summary(&self) -> OperatorOnly<Summary> {
        let all = self.scored.max(1) as f64;
        let since = (self.scored - self.marked).max(1) as f64;
        let summary = Summary {
            records: self.records,
            scored: self.scored,
            average: self.sum() / all,
            since_last: (self.sum() - self.marked_sum) / since,
            uniform: self.losses[1] / all,
            best: self.losses[2] / all,
            label: self.last,
            prediction: self.prediction,
            metrics: match &self.tally {
                Tally::Classes(tally) => Some(Metrics::Classes(tally.metrics())),
                Tally::Number(tally) => Some(Metrics::Number(tally.metrics())),
                Tally::Experts(_) | Tally::Log(_) => None,
            },
            clipped: self.clipped,
            off_policy: self.off_policy(),
        };
        OperatorOnly::new(summary)
    }
}

#[cfg(test)]
mod tests;
