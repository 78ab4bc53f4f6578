//! BLT against other people's arithmetic: the vectors that `oracle/blt.py` writes with jax-privacy
//! and with mpmath.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use hushstream_mechanism::sums::blt::{DyadicBlt, optimise};
use serde::Deserialize;

#[derive(Deserialize)]
struct Vectors {
    cases: Vec<Case>,
    optima: Vec<Optimum>,
}

/// One dyadic strategy and what it costs for several numbers of releases.
#[derive(Deserialize)]
struct Case {
    designed_for: u64,
    strategy: DyadicBlt,
    costs: Vec<Cost>,
    participations: Vec<Participation>,
}

#[derive(Deserialize)]
struct Cost {
    releases: u64,
    /// Sensitivity and prefix standard deviation in 60-digit arithmetic.
    exact: [f64; 2],
    /// The same from jax-privacy, up to the horizon for which its authors vouch.
    jax: Option<[f64; 2]>,
}

#[derive(Deserialize)]
struct Participation {
    releases: u64,
    participations: u64,
    separation: u64,
    sensitivity: f64,
}

/// The best that jax-privacy's own optimiser finds.
#[derive(Deserialize)]
struct Optimum {
    releases: u64,
    buffers: usize,
    worst_prefix_sd: f64,
}

fn vectors() -> Vectors {
    serde_json::from_str(include_str!("vectors/blt.json")).unwrap()
}

fn close(got: f64, known: f64, tolerance: f64) -> bool {
    (got - known).abs() <= tolerance * known
}

#[test]
fn closed_forms_agree_with_exact_arithmetic() {
    for case in vectors().cases {
        let blt = case.strategy.parameters();
        for cost in &case.costs {
            let [sensitivity, deviation] = cost.exact;
            let (near, up) = (
                blt.sensitivity(cost.releases),
                case.strategy.sensitivity(cost.releases),
            );
            // The documented bound 2⁻⁴⁶, and an ulp for writing the vector down and reading it.
            assert!(
                close(near, sensitivity, 2_f64.powi(-46) + 2_f64.powi(-52)),
                "{}: {near} {sensitivity}",
                cost.releases
            );
            assert!(up >= sensitivity && close(up, sensitivity, 2_f64.powi(-43)));
            let got = blt.prefix_sd(cost.releases);
            assert!(
                close(got, deviation, 1e-12),
                "{} for {}: {got} {deviation}",
                case.designed_for,
                cost.releases
            );
        }
    }
}

#[test]
fn jax_privacy_agrees() {
    let (mut compared, mut worst) = (0, 0_f64);
    for case in vectors().cases {
        let blt = case.strategy.parameters();
        for cost in &case.costs {
            let Some([sensitivity, deviation]) = cost.jax else {
                continue;
            };
            let pairs = [
                (blt.sensitivity(cost.releases), sensitivity),
                (blt.prefix_sd(cost.releases), deviation),
            ];
            for (got, known) in pairs {
                assert!(
                    close(got, known, 1e-6),
                    "{} for {}: {got} {known}",
                    case.designed_for,
                    cost.releases
                );
                (compared, worst) = (compared + 1, worst.max((got / known - 1.0).abs()));
            }
        }
        for one in &case.participations {
            let got = blt
                .sensitivity_with(one.releases, one.participations, one.separation)
                .unwrap();
            assert!(
                close(got, one.sensitivity, 1e-6),
                "{} {}: {got} {}",
                one.participations,
                one.separation,
                one.sensitivity
            );
            (compared, worst) = (compared + 1, worst.max((got / one.sensitivity - 1.0).abs()));
        }
    }
    println!("{compared} numbers, largest relative difference {worst:.1e}");
    assert!(compared > 50);
}

#[test]
fn our_optimum_is_at_least_as_good() {
    for theirs in vectors().optima {
        let ours = optimise(theirs.releases, theirs.buffers)
            .unwrap()
            .worst_prefix_sd(theirs.releases);
        println!(
            "n = {}, {} buffers: ours {ours:.6}, jax-privacy {:.6}",
            theirs.releases, theirs.buffers, theirs.worst_prefix_sd
        );
        assert!(ours <= theirs.worst_prefix_sd * (1.0 + 1e-6));
    }
}

#[test]
fn the_optimiser_still_returns_what_the_vectors_hold() {
    for case in vectors().cases {
        let then = case.strategy.parameters();
        let now = optimise(case.designed_for, then.buffers()).unwrap();
        for (now, then) in now.decay().iter().zip(then.decay()) {
            assert!(close(*now, *then, 1e-3), "{now} {then}");
        }
    }
}
