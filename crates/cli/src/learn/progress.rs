//! Lines of progress at doubling counts, as Vowpal Wabbit's users know them. For the operator only.

use hushstream_mechanism::{OperatorOnly, Summary};

/// Prints to standard error, so that what is piped on is what may be published.
pub(crate) struct Progress {
    next: u64,
    quiet: bool,
    headed: bool,
}

impl Progress {
    /// From the first record on, or nothing at all.
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            next: 1,
            quiet,
            headed: false,
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
        if !self.headed {
            eprintln!("operator only: computed from private data");
            eprintln!(
                "{:>10} {:>10} {:>12} {:>10} {:>10}",
                "average", "since last", "counter", "label", "prediction"
            );
            self.headed = true;
        }
        let line = summary.for_the_operator();
        eprintln!(
            "{:>10.6} {:>10.6} {:>12} {:>10.4} {:>10.4}",
            line.average, line.since_last, line.records, line.label, line.prediction
        );
        self.next = line.records.max(1) * 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_at_doubling_counts_and_never_when_quiet() {
        let mut progress = Progress::new(false);
        assert!(progress.is_due(1));
        let board =
            hushstream_mechanism::Scoreboard::new(hushstream_mechanism::Yardstick::Sign, 1.0);
        progress.show(&board.summary());
        assert!(!progress.is_due(1) && progress.is_due(2));
        assert!(!Progress::new(true).is_due(1000));
    }
}
