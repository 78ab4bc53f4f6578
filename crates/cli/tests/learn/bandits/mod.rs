//! Bandits: tables, labels and logs. What a run tells is computed once more by the test, from the
//! data and what was released.

mod choices;
mod logs;
mod nulls;
mod tables;

use crate::common::{Dice, Folder};
use serde_json::Value;
use std::fmt::Write;

pub(super) const LITTLE_NOISE: &str = "--epsilon 1000 --seed-insecure 1";

/// Losses of three arms, the first the best.
pub(super) fn losses(count: usize) -> Vec<[f64; 3]> {
    let mut dice = Dice(5);
    let round = |value: f64| (value * 1e3).round() / 1e3;
    let mut row = || {
        [
            round(0.4 * dice.share()),
            round(dice.share()),
            round(0.5 + 0.5 * dice.share()),
        ]
    };
    (0..count).map(|_| row()).collect()
}

pub(super) fn table(rows: &[[f64; 3]]) -> String {
    let mut text = "good,bad,worse\n".to_owned();
    for [a, b, c] in rows {
        let _ = writeln!(text, "{a},{b},{c}");
    }
    text
}

pub(super) fn released(folder: &Folder) -> Vec<Value> {
    let lines = folder.text("releases");
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

pub(super) fn close(told: &Value, expected: f64, tolerance: f64) {
    let value = told.as_f64().unwrap_or_else(|| panic!("{told}"));
    assert!((value - expected).abs() <= tolerance, "{value} {expected}");
}

pub(super) const ARMS: [&str; 3] = ["good", "bad", "worse"];

pub(super) fn arm(line: &Value) -> usize {
    ARMS.iter().position(|arm| *arm == line["arm"]).unwrap()
}

/// A log by a policy that plays the arms with probabilities ½, ¼ and ¼: rewards of 0 to 2, and
/// their propensities.
pub(super) fn log(count: usize) -> (String, Vec<(usize, f64, f64)>) {
    let mut dice = Dice(17);
    let mut text = "when,item,clicks,chance\n".to_owned();
    let mut rows = Vec::new();
    for when in 0..count {
        let arm = [0, 0, 1, 2][dice.below(4) as usize];
        let reward = ((1.6 - 0.6 * arm as f64) * dice.share() * 100.0).round() / 100.0;
        let chance = if arm == 0 { 0.5 } else { 0.25 };
        let _ = writeln!(text, "{when},{},{reward},{chance}", ARMS[arm]);
        rows.push((arm, reward, chance));
    }
    (text, rows)
}

pub(super) const LOG: &str =
    "--task bandit --arm item --target clicks --target-bounds 0:2 --rewards --arms good,bad,worse";
