//! How a record answers a play: from a table of losses, or from a log of another policy's rounds.
//!
//! **A table** has one loss per arm. The answer is the played arm's loss, mapped from `low` …
//! `high` to 0 … 1. Nothing else of the record is read.
//!
//! **A log** has, in each row, the arm a that was played, its loss ℓ and the propensity π with
//! which it was chosen. The row answers the learner's play i with y = 1{a = i}·min(1/π, M)·ℓ, with
//! ℓ first scaled to 0 … 1: 0 if the arms differ. M is public.
//!
//! *Unbiased.* If a was drawn with probabilities π, all at least 1/M, and independently of its
//! losses, E[y] = π(i)·ℓ_i/π(i) = ℓ_i: the answer of a table.
//!
//! **A missing answer** favours no arm. A table's record without a loss for the played arm counts
//! as the midpoint of the range, ½. A row of a log without its loss counts as a row with ℓ = ½. A
//! row without its arm or its propensity answers ½ to any play, which is the average answer of a
//! row with ℓ = ½. So if losses are missing at random, the order of the arms does not change, and
//! an arm that hides its losses counts as average; if they counted as 0 it would be perfect. A row
//! of another arm is not missing: its answer is 0, which makes y unbiased.
//!
//! *Private.* Row t is asked in round t, whatever it holds: rounds are counted in rows, and a batch
//! ends after B rows and not after B matches. So two logs that differ in row t give, after the same
//! releases and the same coins, the same plays and the same sums in every batch but the one of row
//! t, where the sum moves by at most M, since y lies in 0 … M, with a loss of ½ or an answer of ½
//! (M ≥ 1) as well. The density of a transcript is the product of those of its noisy answers given
//! what came before; in the ratio of two such products all factors but one are 1, and that one is
//! at most e^ε for Laplace noise of scale M/ε. The unit is a row, under replace-one as under
//! zero-out, and the plays, which see noisy answers alone, are post-processing. ∎
//!
//! *Why rows that do not match are not skipped*, as replay from a log usually does. Whether a row
//! is skipped is a function of the row. A row that matches uses up a play; were it replaced by one
//! that does not, the same play would wait for the next match, and from there on every play would
//! meet another row: one row would move all later answers, each by the whole range, and the
//! guarantee of one answer would hold for none. An answer of 0 keeps the rounds in step. Its price
//! is noise M times as large as a table's.

use super::plan::{FeedbackError, Range};
use crate::boundary::{OperatorOnly, Raw};
use crate::losses::{Features, Record};
use hushstream_account::ParameterError;
use serde::{Deserialize, Serialize};

/// The content of records, with its public bounds.
///
/// ```
/// use hushstream_mechanism::feedback::Reading;
///
/// let table = Reading::table(3, 0.0, 10.0)?; // three arms, losses from 0 to 10
/// assert_eq!(table.unscaled(0.5), 5.0);
/// let log = Reading::log(3, 0.0, 10.0, 20.0)?; // weights 1/π up to 20
/// assert!(log.is_log() && log.range().bound() == 20.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    low: f64,
    high: f64,
    arms: usize,
    /// M, for a log.
    most: Option<f64>,
}

impl Reading {
    /// A table: features are the losses of all arms, between two bounds.
    ///
    /// # Errors
    /// No arms; bounds that are not finite, the smaller first.
    pub fn table(arms: usize, low: f64, high: f64) -> Result<Self, FeedbackError> {
        Self::checked(arms, low, high, None)
    }

    /// A log: features are one coordinate per arm (1 for the played arm), then its loss, then its
    /// propensity if that is logged; otherwise all arms were equally likely. Weights 1/π are
    /// clipped to `most`.
    ///
    /// # Errors
    /// As [`Reading::table`]; a weight below 1, or not finite.
    pub fn log(arms: usize, low: f64, high: f64, most: f64) -> Result<Self, FeedbackError> {
        if !(1.0..=1e9).contains(&most) {
            return Err(ParameterError::new(
                "greatest weight of a logged round",
                most,
                "1 to 1e9, the inverse of the least propensity",
            )
            .into());
        }
        Self::checked(arms, low, high, Some(most))
    }

    fn checked(arms: usize, low: f64, high: f64, most: Option<f64>) -> Result<Self, FeedbackError> {
        let wrong =
            |parameter, given, allowed| Err(ParameterError::new(parameter, given, allowed).into());
        if !(1..=1 << 24).contains(&arms) {
            return wrong("arms", arms as f64, "1 to 2^24");
        }
        if !(low < high && (high - low).is_finite()) {
            return wrong("width of losses", high - low, "a positive finite number");
        }
        Ok(Self {
            low,
            high,
            arms,
            most,
        })
    }

    /// The range of answers.
    #[must_use]
    pub fn range(&self) -> Range {
        self.most.map_or(Range::ZeroTo(1.0), Range::Weighted)
    }

    /// The number of arms.
    #[must_use]
    pub fn arms(&self) -> usize {
        self.arms
    }

    /// The bounds of losses.
    #[must_use]
    pub fn bounds(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// Whether records are rounds of a log.
    #[must_use]
    pub fn is_log(&self) -> bool {
        self.most.is_some()
    }

    /// Converts a loss from 0 … 1 to the units of the bounds.
    #[must_use]
    pub fn unscaled(&self, loss: f64) -> f64 {
        self.low + (self.high - self.low) * loss
    }

    /// The assumptions of the guarantee.
    #[must_use]
    pub fn words(&self) -> String {
        let (low, high) = (self.low, self.high);
        match self.most {
            None => format!(
                "losses are clipped to [{low}, {high}], and a missing one counts as {}",
                self.unscaled(0.5)
            ),
            Some(most) => format!(
                "every row of the log answers one round: with its loss times its weight if its arm \
                 is the one that is played, and with nothing otherwise; losses are clipped to \
                 [{low}, {high}] and weights to {most}, and a missing loss counts as {}",
                self.unscaled(0.5)
            ),
        }
    }

    /// The answer of a record to a play, before it is clipped to the range.
    pub(crate) fn answer(&self, record: &Record, play: Ask<'_>) -> Answer {
        match play {
            Ask::Arm(arm) => self.of_arm(record, arm),
            Ask::Mixture(shares) => {
                let (mut sum, mut missing) = (0.0, false);
                for (arm, share) in shares.iter().enumerate() {
                    match self.of_arm(record, arm) {
                        Answer::Told(value) => sum += share * value,
                        Answer::Missing(value) => {
                            missing = true;
                            sum += share * value;
                        }
                        Answer::Null => return Answer::Null,
                    }
                }
                if missing {
                    Answer::Missing(sum)
                } else {
                    Answer::Told(sum)
                }
            }
        }
    }

    fn of_arm(&self, record: &Record, arm: usize) -> Answer {
        if self.is_log() {
            let Some(row) = self.logged(record) else {
                return Answer::Null;
            };
            let weight = if row.arm == arm { row.weight } else { 0.0 };
            return match row.loss {
                Some(loss) => Answer::Told(weight * loss),
                None => Answer::Missing(weight * 0.5),
            };
        }
        match &record.features {
            Features::Dense(losses) if losses.len() == self.arms && arm < self.arms => {
                let loss = losses[arm];
                if loss.is_finite() {
                    Answer::Told(self.scaled(loss))
                } else {
                    Answer::Null
                }
            }
            _ => Answer::Null,
        }
    }

    /// A round of a log; `None` if it is malformed.
    pub(crate) fn logged(&self, record: &Record) -> Option<Logged> {
        let most = self.most?;
        let Features::Dense(values) = &record.features else {
            return None;
        };
        let (played, rest) = values.split_at_checked(self.arms)?;
        let (loss, propensity) = match *rest {
            [loss] => (loss, 1.0 / self.arms as f64),
            [loss, propensity] => (loss, propensity),
            _ => return None,
        };
        let sound =
            played.iter().all(|one| one.is_finite()) && propensity.is_finite() && propensity > 0.0;
        let arm = played.iter().position(|one| *one > 0.5)?;
        sound.then(|| Logged {
            arm,
            loss: loss.is_finite().then(|| self.scaled(loss)),
            weight: (1.0 / propensity).min(most),
        })
    }

    fn scaled(&self, loss: f64) -> f64 {
        (loss.clamp(self.low, self.high) - self.low) / (self.high - self.low)
    }

    /// The exact answer, for a learner without privacy: computed from private data.
    #[must_use]
    pub fn exact(&self, record: &Raw<Record>, play: Ask<'_>) -> OperatorOnly<f64> {
        OperatorOnly::new(match self.answer(record.peek(), play) {
            Answer::Told(value) | Answer::Missing(value) => value,
            Answer::Null => self.range().null(),
        })
    }
}

/// The answer of a record to a play.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Answer {
    /// A number.
    Told(f64),
    /// A number that stands in for a missing one.
    Missing(f64),
    /// No answer: the null of the range.
    Null,
}

/// The play in question.
#[derive(Debug, Clone, Copy)]
pub enum Ask<'a> {
    /// One arm.
    Arm(usize),
    /// All arms, weighted by their shares.
    Mixture(&'a [f64]),
}

/// A round of a log.
pub(crate) struct Logged {
    pub(crate) arm: usize,
    /// 0 to 1; `None` if it is missing.
    pub(crate) loss: Option<f64>,
    /// 1/π, clipped.
    pub(crate) weight: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(values: &[f64]) -> Record {
        Record {
            features: Features::Dense(values.to_vec()),
            target: 0.0,
        }
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12, "{a} {b}");
    }

    fn told(reading: &Reading, row: &Record, play: Ask<'_>) -> f64 {
        match reading.answer(row, play) {
            Answer::Told(value) => value,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_table_is_scaled_and_clipped() {
        let reading = Reading::table(3, -1.0, 3.0).unwrap();
        let row = record(&[-1.0, 1.0, 7.0]);
        close(told(&reading, &row, Ask::Arm(0)), 0.0);
        close(told(&reading, &row, Ask::Arm(1)), 0.5);
        close(told(&reading, &row, Ask::Arm(2)), 1.0);
        close(told(&reading, &row, Ask::Mixture(&[0.5, 0.5, 0.0])), 0.25);
        assert_eq!(reading.answer(&record(&[1.0]), Ask::Arm(0)), Answer::Null);
        assert_eq!(reading.answer(&row, Ask::Arm(3)), Answer::Null);
        let gap = record(&[f64::NAN, 1.0, 7.0]);
        assert_eq!(reading.answer(&gap, Ask::Arm(0)), Answer::Null);
        close(told(&reading, &gap, Ask::Arm(1)), 0.5);
        let mixed = Ask::Mixture(&[0.5, 0.5, 0.0]);
        assert_eq!(reading.answer(&gap, mixed), Answer::Null);
        close(
            *reading.exact(&Raw::seal(gap), mixed).for_the_operator(),
            0.5,
        );
    }

    /// All logs of one row: with the logging policy's own weights the answer is the arm's loss on
    /// average, and it never leaves the range.
    #[test]
    fn a_log_is_unbiased_and_stays_in_its_range() {
        let (losses, policy) = ([0.2, 0.9, 0.5], [0.5, 0.2, 0.3]);
        let reading = Reading::log(3, 0.0, 1.0, 5.0).unwrap();
        for play in 0..3 {
            let mut mean = 0.0;
            for arm in 0..3 {
                let mut row = [0.0; 5];
                (row[arm], row[3], row[4]) = (1.0, losses[arm], policy[arm]);
                let answer = told(&reading, &record(&row), Ask::Arm(play));
                assert!((0.0..=5.0).contains(&answer));
                mean += policy[arm] * answer;
            }
            close(mean, losses[play]);
        }
        // Without propensities all arms were equally likely; a rare arm's weight is clipped.
        let row = record(&[0.0, 1.0, 0.0, 0.5]);
        close(told(&reading, &row, Ask::Arm(1)), 1.5);
        let row = record(&[0.0, 1.0, 0.0, 0.5, 0.01]);
        close(told(&reading, &row, Ask::Arm(1)), 2.5);
        for bad in [
            vec![0.0, 0.0, 0.0, 0.5, 0.5],
            vec![f64::NAN, 0.0, 0.0, 0.5, 0.5],
            vec![1.0, f64::NAN, 0.0, 0.5, 0.5],
            vec![1.0, 0.0, 0.0, 0.5, 0.0],
            vec![1.0, 0.0, 0.0, 0.5, f64::NAN],
            vec![1.0, 0.0, 0.0],
        ] {
            let row = record(&bad);
            assert_eq!(reading.answer(&row, Ask::Arm(0)), Answer::Null, "{bad:?}");
            assert!(reading.logged(&row).is_none());
        }
        close(reading.range().null(), 0.5);
    }

    /// A row without its loss says ½ on average about every arm, as if all losses were ½.
    #[test]
    fn a_missing_loss_in_a_log_is_half_a_loss() {
        let policy = [0.5, 0.2, 0.3];
        let reading = Reading::log(3, -2.0, 2.0, 5.0).unwrap();
        for play in 0..3 {
            let mut mean = 0.0;
            for arm in 0..3 {
                let mut row = [0.0, 0.0, 0.0, f64::NAN, policy[arm]];
                row[arm] = 1.0;
                let row = record(&row);
                assert!(reading.logged(&row).unwrap().loss.is_none());
                mean += match reading.answer(&row, Ask::Arm(play)) {
                    Answer::Missing(value) => policy[arm] * value,
                    other => panic!("{other:?}"),
                };
            }
            close(mean, 0.5);
        }
    }

    #[test]
    fn bounds_that_make_no_sense_are_refused() {
        assert!(Reading::table(0, 0.0, 1.0).is_err());
        assert!(Reading::table(2, 1.0, 1.0).is_err());
        assert!(Reading::log(2, 0.0, 1.0, 0.5).is_err());
        assert!(Reading::log(2, 0.0, f64::INFINITY, 2.0).is_err());
    }
}
