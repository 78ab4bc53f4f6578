//! How well a stream is being predicted: for the operator only, because every figure is computed from private data without noise.
//!
//! Each record is first predicted with the weights it is about to be asked with, then learned from (progressive validation). Two predictors that know
//! nothing about features stand beside the model: the best constant so far, and the last label seen. A stream where the second is good (labels in long runs) is a
//! stream where accuracy alone says little.

mod logged;

pub use logged::OffPolicy;

use crate::boundary::{OperatorOnly, Raw};
use crate::feedback::Reading;
use crate::losses::{Measured, Record, class};
use crate::ranks::Ranks;
use hushstream_four::{self as four, Four, Work};
use logged::LogTally;

/// What a prediction is measured by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Yardstick {
    /// Targets ±1, predicted by the sign of the score: one or zero.
    Sign,
    /// Targets 0 … K − 1, predicted by the largest of K scores: one or zero.
    Classes(usize),
    /// Targets that are numbers between two bounds, which predictions are kept in too: the squared error.
    Number(f64, f64),
    /// Features are losses of so many experts, weights say how much each is followed: the loss.
    Experts(usize),
    /// Features are a round of a log, weights a policy: what it would have lost, self-normalised.
    Log(Reading),
}

/// One line of progress.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Records seen.
    pub records: u64,
    /// Those of them that have a usable label: what all averages are over.
    pub scored: u64,
    /// Average error of the model.
    pub average: f64,
    /// The same since the last mark.
    pub since_last: f64,
    /// Average error of the best constant so far (for experts: of following all alike).
    pub constant: f64,
    /// Average error of repeating the last label (for experts: of the best single one in hindsight).
    pub repeat: f64,
    /// The last record's label (for experts: its average loss).
    pub label: f64,
    /// What was predicted for it.
    pub prediction: f64,
    /// Average squared error of the score, kept between −1 and 1 for signs; of the best constant so far beside it. Not for classes and experts.
    pub squares: Option<(f64, f64)>,
    /// Records whose features were longer than the bound.
    pub clipped: u64,
    /// How often a positive record has a higher score than a negative one, to 1/512 of the range of scores. For signs only.
    pub ranking: Option<f64>,
    /// For a log: estimates of the policy's loss, in the units of losses.
    pub off_policy: Option<OffPolicy>,
}

/// Keeps the score.
pub struct Scoreboard {
    yardstick: Yardstick,
    length: f64,
    records: u64,
    scored: u64,
    marked: u64,
    error: f64,
    marked_error: f64,
    constant: f64,
    repeat: f64,
    last: Option<f64>,
    prediction: f64,
    clipped: u64,
    /// Squared errors of the score and of the best constant.
    squares: (f64, f64),
    /// For signs.
    ranks: Ranks,
    /// Counts of classes, sums of the experts' losses, or the running mean.
    tallies: Vec<f64>,
    /// For a log.
    log: LogTally,
}

impl Scoreboard {
    /// An empty one, for a model that clips features to this length (∞: one that does not).
    #[must_use]
    pub fn new(yardstick: Yardstick, length: f64) -> Self {
        let tallies = match yardstick {
            Yardstick::Sign => 2,
            Yardstick::Classes(count) | Yardstick::Experts(count) => count,
            Yardstick::Number(..) => 1,
            Yardstick::Log(_) => 0,
        };
        Self {
            yardstick,
            length,
            records: 0,
            scored: 0,
            marked: 0,
            error: 0.0,
            marked_error: 0.0,
            constant: 0.0,
            repeat: 0.0,
            last: None,
            prediction: 0.0,
            clipped: 0,
            squares: (0.0, 0.0),
            ranks: Ranks::default(),
            tallies: vec![0.0; tallies],
            log: match yardstick {
                Yardstick::Log(reading) => LogTally::new(reading.arms()),
                _ => LogTally::default(),
            },
        }
    }

    /// Predicts a record with these weights and compares. A record without a usable label counts as seen and for nothing else.
    pub fn score(&mut self, record: &Raw<Record>, weights: &[f64]) {
        self.look_at(record.peek(), weights);
    }

    /// The same; gives what it has found out about the record at all the weights, if it has, for whoever needs it next.
    pub(crate) fn look_at(&mut self, record: &Record, weights: &[f64]) -> Option<Measured> {
        self.records += 1;
        match self.yardstick {
            Yardstick::Experts(count) => self.score_experts(record, weights, count),
            Yardstick::Log(reading) => self.score_log(reading, record, weights),
            _ => {
                return four::run(ScoreLabel {
                    board: self,
                    record,
                    weights,
                });
            }
        }
        None
    }

    #[inline(always)]
    fn score_label<V: Four>(&mut self, v: V, record: &Record, weights: &[f64]) -> Option<Measured> {
        if !self.is_usable(record.target) {
            return None;
        }
        let width = weights.len() / self.blocks();
        let first = weights.get(..width).unwrap_or_default();
        let measured = record.features.measured(v, first)?;
        let shrink = if measured.norm > self.length {
            self.clipped += 1;
            self.length / measured.norm
        } else {
            1.0
        };
        if let Yardstick::Classes(_) = self.yardstick {
            let blocks = weights.chunks_exact(width);
            let prediction = largest(blocks.map(|block| shrink * record.features.dot(block)));
            self.note_prediction(prediction, record.target);
            return None;
        }
        self.note_prediction(shrink * measured.dot, record.target);
        Some(measured)
    }

    /// Compares a prediction that was made elsewhere.
    pub fn note(&mut self, record: &Raw<Record>, prediction: &OperatorOnly<f64>) {
        self.compare(record.peek(), *prediction.for_the_operator());
    }

    pub(crate) fn compare(&mut self, record: &Record, prediction: f64) {
        self.records += 1;
        if self.is_usable(record.target) {
            self.clipped += u64::from(record.features.norm() > self.length);
            self.note_prediction(prediction, record.target);
        }
    }

    fn is_usable(&self, label: f64) -> bool {
        match self.yardstick {
            Yardstick::Classes(count) => class(label, count).is_some(),
            _ => label.is_finite(),
        }
    }

    fn note_prediction(&mut self, prediction: f64, label: f64) {
        self.scored += 1;
        self.prediction = match self.yardstick {
            Yardstick::Number(low, high) => prediction.clamp(low, high),
            _ => prediction,
        };
        self.error += self.mistake(self.prediction, label);
        self.constant += self.mistake(self.best_constant(), label);
        let repeated = self.last.unwrap_or(0.0);
        self.repeat += self.mistake(repeated, label);
        self.last = Some(label);
        self.measure(label);
        match self.yardstick {
            Yardstick::Classes(count) => {
                if let Some(class) = class(label, count) {
                    self.tallies[class] += 1.0;
                }
            }
            Yardstick::Sign => self.tallies[usize::from(label > 0.0)] += 1.0,
            _ => self.tallies[0] += label,
        }
    }

    fn measure(&mut self, label: f64) {
        let seen = (self.scored - 1).max(1) as f64;
        let (score, constant) = match self.yardstick {
            Yardstick::Sign => {
                let score = self.prediction.clamp(-1.0, 1.0);
                self.ranks.add(score, label > 0.0);
                (score, (self.tallies[1] - self.tallies[0]) / seen)
            }
            _ => (self.prediction, self.tallies[0] / seen),
        };
        self.squares.0 += (score - label).powi(2);
        self.squares.1 += (constant - label).powi(2);
    }

    fn score_experts(&mut self, record: &Record, weights: &[f64], count: usize) {
        if !record.features_in(count) || weights.len() != count {
            return;
        }
        self.scored += 1;
        self.prediction = record.features.dot(weights);
        self.error += self.prediction;
        let ones = vec![1.0; count];
        let mean = record.features.dot(&ones) / count as f64;
        self.constant += mean;
        self.last = Some(mean);
        record.features.add_to(&mut self.tallies);
        self.repeat = self.tallies.iter().copied().fold(f64::INFINITY, f64::min);
    }

    fn score_log(&mut self, reading: Reading, record: &Record, policy: &[f64]) {
        let row = reading.logged(record);
        let Some(row) = row.filter(|_| policy.len() == reading.arms()) else {
            return;
        };
        self.scored += 1;
        self.log.add(&row, policy);
        self.prediction = reading.unscaled(row.loss);
        self.last = Some(self.prediction);
        // Sums, as for all others: averages divide them by the rows.
        let whole = |average: f64| reading.unscaled(average) * self.scored as f64;
        let (alike, best) = self.log.arms();
        (self.constant, self.repeat) = (whole(alike), whole(best));
        self.error = whole(self.log.policy().snips);
    }

    fn off_policy(&self) -> Option<OffPolicy> {
        let Yardstick::Log(reading) = self.yardstick else {
            return None;
        };
        let scaled = self.log.policy();
        Some(OffPolicy {
            ips: reading.unscaled(scaled.ips),
            snips: reading.unscaled(scaled.snips),
            doubly_robust: reading.unscaled(scaled.doubly_robust),
        })
    }

    fn blocks(&self) -> usize {
        match self.yardstick {
            Yardstick::Classes(count) => count,
            _ => 1,
        }
    }

    fn best_constant(&self) -> f64 {
        match self.yardstick {
            Yardstick::Sign if self.tallies[1] > self.tallies[0] => 1.0,
            Yardstick::Sign => -1.0,
            Yardstick::Classes(_) => largest(self.tallies.iter().copied()),
            _ => self.tallies[0] / (self.scored.max(2) - 1) as f64,
        }
    }

    fn mistake(&self, prediction: f64, label: f64) -> f64 {
        let right = match self.yardstick {
            Yardstick::Sign => (prediction > 0.0) == (label > 0.0),
            Yardstick::Classes(_) => (prediction - label).abs() < 0.5,
            _ => return (prediction - label).powi(2),
        };
        f64::from(u8::from(!right))
    }

    /// From here on `since_last` counts.
    pub fn mark(&mut self) {
        (self.marked, self.marked_error) = (self.scored, self.error);
    }

    /// The score so far.
    #[must_use]
    pub fn summary(&self) -> OperatorOnly<Summary> {
        let all = self.scored.max(1) as f64;
        let since = (self.scored - self.marked).max(1) as f64;
        let summary = Summary {
            records: self.records,
            scored: self.scored,
            average: self.error / all,
            since_last: (self.error - self.marked_error) / since,
            constant: self.constant / all,
            repeat: self.repeat / all,
            label: self.last.unwrap_or(0.0),
            prediction: self.prediction,
            squares: matches!(self.yardstick, Yardstick::Sign | Yardstick::Number(..))
                .then(|| (self.squares.0 / all, self.squares.1 / all)),
            clipped: self.clipped,
            ranking: self.ranks.area(),
            off_policy: self.off_policy(),
        };
        OperatorOnly::new(summary)
    }
}

/// [`Scoreboard::score_label`], by the best means there are.
struct ScoreLabel<'a> {
    board: &'a mut Scoreboard,
    record: &'a Record,
    weights: &'a [f64],
}

impl Work for ScoreLabel<'_> {
    type Output = Option<Measured>;

    #[inline(always)]
    fn with<V: Four>(self, v: V) -> Option<Measured> {
        self.board.score_label(v, self.record, self.weights)
    }
}

/// Index of the first largest value.
fn largest(values: impl Iterator<Item = f64>) -> f64 {
    let mut best = (0, f64::NEG_INFINITY);
    for (index, value) in values.enumerate() {
        if value > best.1 {
            best = (index, value);
        }
    }
    best.0 as f64
}

#[cfg(test)]
mod tests;
