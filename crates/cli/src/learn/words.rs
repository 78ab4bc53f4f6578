//! What `learn` says to people, on standard error; the guarantee goes to standard output.

use super::arguments::Arguments;
use super::budget;
use super::methods::Method;
use super::outcome::Outcome;
use crate::numbers::{delta, grouped, short};
use hushstream_engine::MechanismKind;
use hushstream_read::Layout;
use std::fmt::Write;

/// A line for people, who are not there with --json.
pub(crate) fn say(arguments: &Arguments, text: &str) {
    if !arguments.output.json {
        eprintln!("{text}");
    }
}

/// What was chosen and why, and what privacy will cost, before a record is read.
pub(crate) fn announce(arguments: &Arguments, layout: &Layout, method: &dyn Method) {
    let parameters = method.parameters();
    let privacy = &arguments.privacy;
    let records = method.records().0;
    let horizon = if arguments.privacy.horizon == "unknown" {
        "any number of records".to_owned()
    } else {
        format!("{} records", grouped(records))
    };
    let mechanism = method.recipe().entry().mechanism;
    let (count, things) = match (layout.arms(), mechanism) {
        (Some(arms), MechanismKind::Feedback) => (arms, "arms"),
        (Some(experts), _) => (experts, "experts"),
        (None, _) => (layout.dimension(), "features"),
    };
    say(
        arguments,
        &format!(
            "{}: {} {things}, {horizon}, (ε, δ) = ({}, {}), {}",
            method.headline(),
            grouped(count as u64),
            privacy.epsilon,
            delta(privacy.delta),
            hushstream_account::Adjacency::from(privacy.adjacency),
        ),
    );
    for reason in &parameters.reasons {
        say(arguments, &format!("  chosen: {reason}"));
    }
    let Some(until) = parameters.rows_until_signal else {
        return;
    };
    let share = 100.0 * until / records as f64;
    let cost = if mechanism == MechanismKind::SparseTree {
        format!(
            "a feature stands out after about {} records of full length that have it alone and agree, of {}",
            grouped(until.ceil() as u64),
            grouped(records)
        )
    } else if share >= 100.0 {
        format!(
            "noise exceeds what is learned from all {} records: expect next to nothing, or state more ε, fewer features or a smaller --norm",
            grouped(records)
        )
    } else {
        format!(
            "noise exceeds what is learned for about the first {} records ({}%)",
            grouped(until.ceil() as u64),
            short(share)
        )
    };
    say(arguments, &format!("  cost of privacy, predicted: {cost}"));
}

/// The operator's figures at the end of a run.
pub(crate) fn show_figures(outcome: &Outcome) {
    let without = outcome.without_privacy.as_ref();
    let (rewards, log) = (outcome.rewards.as_ref(), outcome.off_policy.as_ref());
    let figures = [
        ("average loss", outcome.loss.average),
        ("loss of the best constant", outcome.loss.baseline),
        ("loss of the best expert or arm", outcome.loss.hindsight),
        ("accuracy", outcome.accuracy),
        (
            "accuracy of the commonest class",
            outcome.baselines.constant,
        ),
        ("accuracy of no change", outcome.baselines.no_change),
        ("positive scored above negative", outcome.ranking),
        ("reward a round", rewards.and_then(|all| all.average)),
        ("reward of all alike", rewards.and_then(|all| all.uniform)),
        ("reward of the best", rewards.and_then(|all| all.best)),
        (
            "reward without privacy",
            rewards.and_then(|all| all.without_privacy),
        ),
        ("loss from the log, by propensities", log.map(|all| all.ips)),
        ("the same, self-normalised", log.map(|all| all.snips)),
        ("the same, doubly robust", log.map(|all| all.doubly_robust)),
        ("loss without privacy", without.map(|other| other.loss)),
        (
            "accuracy without privacy",
            without.and_then(|other| other.accuracy),
        ),
    ];
    if let Some(scored) = outcome.scored {
        eprintln!(
            "\noperator only: computed from private data, over {} records",
            grouped(scored)
        );
        for (name, value) in figures {
            if let Some(value) = value {
                eprintln!("  {name:<34} {value:.6}");
            }
        }
        let count = |value: Option<u64>| grouped(value.unwrap_or(0));
        eprintln!(
            "  records clipped {}, empty {}",
            count(outcome.clipped),
            count(outcome.nulls)
        );
    }
    if let (Some(seconds), Some(rate)) = (outcome.seconds, outcome.rows_per_second) {
        eprintln!(
            "{} records in {} s, {} a second\n",
            grouped(outcome.rounds),
            short(seconds),
            grouped(rate as u64)
        );
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
        // The filter's theorem is about a budget that was fixed beforehand.
        let always = if ledger.raised {
            "if it was not raised because of what had been published"
        } else {
            "in any case"
        };
        let _ = writeln!(
            text,
            "Together with {} other run{} on this ledger: (ε, δ) = ({}, {}) if each was planned without looking at the others, and ({}, {}), the total, {always}.",
            ledger.runs - 1,
            if ledger.runs == 2 { "" } else { "s" },
            budget::rounded_up(ledger.epsilon),
            delta(ledger.delta),
            ledger.total_epsilon,
            delta(ledger.total_delta),
        );
    }
    text
}
