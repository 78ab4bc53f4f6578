//! Lines of progress at doubling counts, in Vowpal Wabbit's format. For the operator only.

use crate::target::Target;
use hushstream_mechanism::{OperatorOnly, Summary, Yardstick};

/// A line of progress, in the words of the data.
pub struct Line {
    /// The name of the leading figure.
    pub leading: &'static str,
    /// The names of `label` and `prediction`.
    pub of_last: (&'static str, &'static str),
    /// The figure over all records so far.
    pub average: f64,
    /// The same since the last line.
    pub since_last: f64,
    /// Records so far.
    pub records: u64,
    /// The last record's label.
    pub label: String,
    /// Its prediction.
    pub prediction: String,
}

/// The schedule of the lines.
pub struct Progress {
    next: u64,
    quiet: bool,
    yardstick: Yardstick,
    target: Target,
}

impl Progress {
    /// Starts with the first record, or shows nothing at all.
    pub fn new(quiet: bool, yardstick: Yardstick, target: Target) -> Self {
        Self {
            next: 1,
            quiet,
            yardstick,
            target,
        }
    }

    /// Whether a line is due after this many records.
    pub fn is_due(&self, records: u64) -> bool {
        !self.quiet && records >= self.next
    }

    /// The line that is due.
    pub fn line(&mut self, summary: &OperatorOnly<Summary>) -> Line {
        let line = summary.for_the_operator();
        self.next = line.records.max(1) * 2;
        let (label, prediction) = (self.target).words(self.yardstick, line.label, line.prediction);
        Line {
            leading: leading(self.yardstick),
            of_last: of_last(self.yardstick),
            average: line.average,
            since_last: line.since_last,
            records: line.records,
            label,
            prediction,
        }
    }
}

/// The name of the leading figure of a summary.
pub fn leading(yardstick: Yardstick) -> &'static str {
    match yardstick {
        Yardstick::Sign(None) | Yardstick::Classes(_, None) => "accuracy",
        Yardstick::Sign(_) | Yardstick::Classes(..) => "log loss",
        Yardstick::Number(..) => "MSE",
        Yardstick::Experts(_) | Yardstick::Log(_) => "loss",
    }
}

/// The names of the figures of the last record. Experts and arms have losses: the mean over all, if
/// all are known, and the learner's own.
fn of_last(yardstick: Yardstick) -> (&'static str, &'static str) {
    match yardstick {
        Yardstick::Experts(_) => ("mean loss", "own loss"),
        Yardstick::Log(_) => ("own loss", ""),
        _ => ("label", "prediction"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_at_doubling_counts_and_never_when_quiet() {
        let yardstick = Yardstick::Sign(None);
        let progress = |quiet| {
            let target = Target {
                names: Vec::new(),
                probability: None,
                midpoint: 0.0,
            };
            Progress::new(quiet, yardstick, target)
        };
        let mut loud = progress(false);
        assert!(loud.is_due(1));
        let board = hushstream_mechanism::Scoreboard::new(yardstick, 1.0);
        loud.line(&board.summary());
        assert!(!loud.is_due(1) && loud.is_due(2));
        assert!(!progress(true).is_due(1000));
    }
}
