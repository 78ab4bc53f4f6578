//! The text output of `learn`: figures on standard error, the guarantee on standard output.

use hushstream::Guarantee;
use hushstream::budget;
use hushstream::learner::Listener;
use hushstream::outcome::{Outcome, Together};
use hushstream::progress::Line;
use hushstream_pictures::numbers::{delta, grouped, percent, short};
use std::fmt::Write;

/// Prints the messages of a run on standard error. Standard output holds only what may be
/// published.
pub(crate) struct Teller {
    json: bool,
    quiet: bool,
    headed: bool,
}

impl Teller {
    pub(crate) fn new(json: bool, quiet: bool) -> Self {
        Self {
            json,
            quiet,
            headed: false,
        }
    }
}

impl Listener for Teller {
    /// Prints a line, except with --json.
    fn say(&mut self, text: &str) {
        if !self.json {
            eprintln!("{text}");
        }
    }

    fn note(&mut self, text: &str) {
        eprintln!("{text}");
    }

    /// Prints a line computed from private data, except with --quiet.
    fn warn(&mut self, text: &str) {
        if !self.quiet {
            self.say(&format!("warning, operator only: {text}"));
        }
    }

    fn shows_progress(&self) -> bool {
        !self.json
    }

    /// Prints a line of progress in Vowpal Wabbit's format.
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
            "\noperator only: computed from private data, over {} records{}",
            grouped(scored),
            outcome.scored_on.words()
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
            "{} records in {} s, {} per second\n",
            // Records of this process only: a resumed run has learned more.
            grouped((rate * seconds).round() as u64),
            short(seconds),
            grouped(rate as u64)
        );
    }
}

/// Prints the metrics of classes and numbers, with and without privacy, then the baselines.
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

/// Prints the losses and rewards of experts and bandits.
fn show_losses(outcome: &Outcome) {
    let without = outcome.without_privacy.as_ref();
    let (rewards, log) = (outcome.rewards.as_ref(), outcome.off_policy.as_ref());
    let figures = [
        ("average loss", outcome.loss.average),
        (
            "average loss without privacy",
            without.and_then(|other| other.loss),
        ),
        ("average loss of the uniform policy", outcome.loss.baseline),
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
            "average reward of the uniform policy",
            rewards.and_then(|all| all.uniform),
        ),
        (
            "average reward of the best arm",
            rewards.and_then(|all| all.best),
        ),
        ("off-policy loss (IPS)", log.map(|all| all.ips)),
        ("off-policy loss (SNIPS)", log.map(|all| all.snips)),
        (
            "off-policy loss (doubly robust)",
            log.map(|all| all.doubly_robust),
        ),
    ];
    for (name, value) in figures {
        if let Some(value) = value {
            eprintln!("  {name:<38} {value:.6}");
        }
    }
}

/// What policies earn, from releases alone.
pub(crate) fn evaluated(outcome: &Outcome) -> String {
    let mut text = String::new();
    for one in outcome.evaluation.iter().flatten() {
        let what = match one.estimate.as_str() {
            "mean" => "average reward".to_owned(),
            estimate => format!("{} ({})", one.policy, estimate.to_uppercase()),
        };
        let _ = writeln!(
            text,
            "{what:<36} {:.4}  (95 %: {:.4} to {:.4})",
            one.reward, one.low, one.high
        );
    }
    text
}

/// The guarantee of this run, and of all runs on its ledger together.
pub(crate) fn promise(guarantee: &Guarantee, ledger: &Together) -> String {
    let mut text = format!("{guarantee}\n");
    if ledger.runs > 1 && ledger.simulated > 0 {
        let _ = writeln!(
            text,
            "Of the {} runs on this ledger, {} drew simulated noise: their releases protect \
             nobody, \
             and there is no guarantee for all runs together.",
            ledger.runs, ledger.simulated,
        );
    } else if ledger.runs > 1 {
        let always = match ledger.supposes {
            "" => "in any case",
            supposed => supposed,
        };
        let _ = writeln!(
            text,
            "Together with {} other run{} on this ledger: (ε, δ) = ({}, {}) if each was planned \
             without looking at the others, and ({}, {}), the total, {always}. Used so far: {} %.",
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
