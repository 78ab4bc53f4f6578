//! Lines of progress at doubling counts, as Vowpal Wabbit's users know them. For the operator only.

use super::target::Target;
use hushstream_mechanism::{OperatorOnly, Summary, Yardstick};

/// Prints to standard error, so that what is piped on is what may be published.
pub(crate) struct Progress {
    next: u64,
    quiet: bool,
    headed: bool,
    yardstick: Yardstick,
    target: Target,
}

impl Progress {
    /// From the first record on, or nothing at all.
    pub(crate) fn new(quiet: bool, yardstick: Yardstick, target: Target) -> Self {
        Self {
            next: 1,
            quiet,
            headed: false,
            yardstick,
            target,
        }
    }

    /// Whether a line is due after so many records.
    pub(crate) fn is_due(&self, records: u64) -> bool {
        !self.quiet && records >= self.next
    }

    /// Prints a line.
    pub(crate) fn show(&mut self, summary: &OperatorOnly<Summary>) {
        if self.quiet {
            return;
        }
        let line = summary.for_the_operator();
        if !self.headed {
            eprintln!("operator only: computed from private data");
            let (label, prediction) = of_last(self.yardstick);
            let head = format!(
                "{:>10} {:>10} {:>12} {label:>10} {prediction:>10}",
                leading(self.yardstick),
                "since last",
                "records",
            );
            eprintln!("{}", head.trim_end());
            self.headed = true;
        }
        let (label, prediction) = (self.target).words(self.yardstick, line.label, line.prediction);
        let text = format!(
            "{:>10.4} {:>10.4} {:>12} {label:>10} {prediction:>10}",
            line.average, line.since_last, line.records
        );
        eprintln!("{}", text.trim_end());
        self.next = line.records.max(1) * 2;
    }
}

/// The name of the leading figure of a summary.
pub(crate) fn leading(yardstick: Yardstick) -> &'static str {
    match yardstick {
        Yardstick::Sign(None) | Yardstick::Classes(_, None) => "accuracy",
        Yardstick::Sign(_) | Yardstick::Classes(..) => "log loss",
        Yardstick::Number(..) => "MSE",
        Yardstick::Experts(_) | Yardstick::Log(_) => "loss",
    }
}

/// What is told about the last record. Experts and arms have losses: of all on average, where all
/// are known, and of what was played.
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
        loud.show(&board.summary());
        assert!(!loud.is_due(1) && loud.is_due(2));
        assert!(!progress(true).is_due(1000));
    }
}
