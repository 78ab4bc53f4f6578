//! The pictures of the book's concepts are computed here.

use crate::{is_up_to_date, told};
use hushstream_pictures::chart::{Series, log_log, semi_log};
use serde_json::Value;

/// A hundred places between two powers of ten.
fn places(low: f64, high: f64) -> impl Iterator<Item = f64> {
    (0..=100).map(move |step| 10_f64.powf(low + (high - low) * f64::from(step) / 100.0))
}

/// By Bayes' rule with δ = 0: odds grow by at most e^ε.
#[test]
fn what_may_be_believed() {
    let series = [0.5_f64, 0.1, 0.01].map(|before| Series {
        name: format!("{} % before", before * 100.0),
        points: places(-2.0, 1.0)
            .map(|epsilon| {
                let odds = epsilon.exp() * before / (1.0 - before);
                (epsilon, odds / (1.0 + odds))
            })
            .collect(),
    });
    let title = "What may be believed after everything was published";
    is_up_to_date(
        "concepts/belief.svg",
        &semi_log(title, "ε", "greatest belief", &series),
    );
    // The figures that the page names.
    let page = crate::text("docs/concepts/guarantee.md");
    for (epsilon, one_in) in [(0.1_f64, 91.0), (1.0, 37.0), (3.0, 6.0)] {
        let odds = epsilon.exp() / 99.0;
        assert!(((1.0 + odds) / odds - one_in).abs() < 0.5);
        assert!(page.contains(&format!("1 in {one_in}")));
    }
}

/// The region of (ε, δ): hits ≤ e^ε·alarms + δ, and 1 − alarms ≤ e^ε·(1 − hits) + δ.
#[test]
fn what_an_attack_can_do() {
    let delta = 1e-6;
    let series = [3.0_f64, 1.0, 0.1, 0.0].map(|epsilon| Series {
        name: format!("ε = {epsilon}"),
        points: places(-3.0, 0.0)
            .map(|alarms| {
                let few = epsilon.exp() * alarms + delta;
                let many = 1.0 - (1.0 - delta - alarms) * (-epsilon).exp();
                (alarms, few.min(many).min(1.0))
            })
            .collect(),
    });
    let title = "The most that any attack finds (δ = 1e-6)";
    is_up_to_date(
        "concepts/attack.svg",
        &semi_log(title, "rate of false alarms", "rate of hits", &series),
    );
}

/// What the planner says about sums of contributions of length at most 1.
#[test]
fn what_noise_it_takes() {
    let kinds = [(365, "365 releases"), (1, "one release")];
    let series = kinds.map(|(releases, name)| Series {
        name: name.to_owned(),
        points: [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0]
            .map(|epsilon| {
                let releases = releases.to_string();
                let plan = told(&[
                    "plan",
                    "--releases",
                    &releases,
                    "--dim",
                    "1",
                    "--delta",
                    "1e-6",
                    "--sum",
                    "blt",
                    "--epsilon",
                    &epsilon.to_string(),
                    "--json",
                ]);
                let plan: Value = serde_json::from_str(&plan).unwrap();
                (epsilon, plan["prefix_sd_max"].as_f64().unwrap())
            })
            .to_vec(),
    });
    let title = "Noise in a released sum of numbers between −1 and 1 (δ = 1e-6)";
    is_up_to_date(
        "concepts/noise.svg",
        &log_log(title, "ε", "standard deviation", &series),
    );
}
