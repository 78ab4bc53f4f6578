//! What `learn` says to people, on standard error; the guarantee goes to standard output.

use super::arguments::Output;
use hushstream::budget;
use hushstream::learner::Listener;
use hushstream::outcome::Outcome;
use hushstream::progress::Line;
use hushstream_pictures::numbers::{delta, grouped, percent, short};
use std::fmt::Write;

/// Tells people what a run tells: on standard error, so that standard output is what may be
/// published.
pub(crate) struct Teller {
    json: bool,
    quiet: bool,
    headed: bool,
}

impl Teller {
    pub(crate) fn new(output: &Output) -> Self {
        Self {
            json: output.json,
            quiet: output.quiet,
            headed: false,
        }
    }
}

impl Listener for Teller {
    /// A line for people, who are not there with --json.
    fn say(&mut self, text: &str) {
        if !self.json {
            eprintln!("{text}");
        }
    }

    fn note(&mut self, text: &str) {
        eprintln!("{text}");
    }

    /// A line for the operator, computed from private data: not with --quiet.
    fn warn(&mut self, text: &str) {
        if !self.quiet {
            self.say(&format!("warning, operator only: {text}"));
        }
    }

    fn shows_progress(&self) -> bool {
        !self.json
    }

    /// As Vowpal Wabbit's users know them.
    fn progress(&mut self, line: &Line) {
        if !self.headed {
            eprintln!("operator only: computed from private data");
            let (label, prediction) = line.of_last;
            let head = format!(
                "{:>10} {:>10} {:>12} {label:>10} {prediction:>10}",
                line.leading, "since last", "records",
            );
            eprintln!("{}", head.trim_end());
            self.headed = true;
        }
        let text = format!(
            "{:>10.4} {:>10.4} {:>12} {:>10} {:>10}",
            line.average, line.since_last, line.records, line.label, line.prediction
        );
        eprintln!("{}", text.trim_end());
    }
}

/// The operator's figures at the end of a run.
pub(crate) fn show_figures(outcome: &Outcome) {
    if let Some(scored) = outcome.scored {
        eprintln!(
            "\noperator only: computed from private data, over {} records",
            grouped(scored)
        );
        show_metrics(outcome);
        show_losses(outcome);
        let count = |value: Option<u64>| grouped(value.unwrap_or(0));
        eprintln!(
            "  records clipped {}, empty {}, malformed {}",
            count(outcome.clipped),
            count(outcome.nulls),
            count(outcome.malformed)
        );
        if let Some(clipped) = outcome.targets_clipped {
            eprintln!(
                "  targets outside their bounds: {}, clipped to them",
                grouped(clipped)
            );
        }
    }
    if let (Some(seconds), Some(rate)) = (outcome.seconds, outcome.rows_per_second) {
        eprintln!(
            "{} records in {} s, {} a second\n",
            // Of this run of the program: a resumed one has learned more.
            grouped((rate * seconds).round() as u64),
            short(seconds),
            grouped(rate as u64)
        );
    }
}

/// Of classes and numbers: metrics with and without privacy, then the baselines.
fn show_metrics(outcome: &Outcome) {
    let Some(metrics) = &outcome.metrics else {
        return;
    };
    let without = outcome.without_privacy.as_ref();
    let without = without.and_then(|other| other.metrics);
    if without.is_some() {
        eprintln!("  {:<36} {:>8}  without privacy", "", "private");
    }
    let others = without.map_or_else(Vec::new, |other| other.own());
    for (name, value) in metrics.own() {
        let other = others.iter().find(|(same, _)| *same == name);
        let other = other.map_or("", |(_, value)| value);
        eprintln!(
            "{}",
            format!("  {name:<36} {value:>8}  {other:>8}").trim_end()
        );
    }
    for (name, value) in metrics.baselines() {
        eprintln!("  {name:<36} {value:>8}");
    }
}

/// Of experts and bandits.
fn show_losses(outcome: &Outcome) {
    let without = outcome.without_privacy.as_ref();
    let (rewards, log) = (outcome.rewards.as_ref(), outcome.off_policy.as_ref());
    let figures = [
        ("average loss", outcome.loss.average),
        (
            "average loss without privacy",
            without.and_then(|other| other.loss),
        ),
        ("average loss, uniform", outcome.loss.baseline),
        (
            "average loss of the best expert or arm",
            outcome.loss.hindsight,
        ),
        ("average reward", rewards.and_then(|all| all.average)),
        (
            "average reward without privacy",
            rewards.and_then(|all| all.without_privacy),
        ),
        (
            "average reward, uniform",
            rewards.and_then(|all| all.uniform),
        ),
        (
            "average reward of the best",
            rewards.and_then(|all| all.best),
        ),
        ("loss from the log, by propensities", log.map(|all| all.ips)),
        ("the same, self-normalised", log.map(|all| all.snips)),
        ("the same, doubly robust", log.map(|all| all.doubly_robust)),
    ];
    for (name, value) in figures {
        if let Some(value) = value {
            eprintln!("  {name:<38} {value:.6}");
        }
    }
}

/// What is promised, by this run and by all on its ledger.
pub(crate) fn promise(outcome: &Outcome) -> String {
    let mut text = format!("{}\n", outcome.guarantee);
    let ledger = &outcome.ledger;
    if ledger.runs > 1 && ledger.simulated > 0 {
        let _ = writeln!(
            text,
            "Of the {} runs on this ledger {} drew simulated noise: what they published protects nobody, and nothing is promised about all of them together.",
            ledger.runs, ledger.simulated,
        );
    } else if ledger.runs > 1 {
        let always = match ledger.supposes {
            "" => "in any case",
            supposed => supposed,
        };
        let _ = writeln!(
            text,
            "Together with {} other run{} on this ledger: (ε, δ) = ({}, {}) if each was planned without looking at the others, and ({}, {}), the total, {always}. Used so far: {} %.",
            ledger.runs - 1,
            if ledger.runs == 2 { "" } else { "s" },
            budget::rounded_up(ledger.epsilon),
            delta(ledger.delta),
            ledger.total_epsilon,
            delta(ledger.total_delta),
            percent(ledger.used),
        );
    }
    text
}
