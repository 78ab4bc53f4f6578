//! Draws whose law is off: every one that a person affects is counted, and paid for out of δ.

use crate::matrices::Matrices;
use hushstream_account::{Adjacency, Budget, Charge};
use hushstream_mechanism::Participation;
use hushstream_mechanism::sums::{Geometry, Noise, SumKind, SumRequest};

const RELEASES: u64 = 40;

fn request(kind: SumKind, noise: Noise, dimension: u32, most: u64) -> SumRequest {
    let budget = if noise.is_pure() {
        Budget::pure(1.0)
    } else {
        Budget::approx(1.0, 1e-6)
    };
    SumRequest {
        kind,
        noise,
        releases: RELEASES,
        dimension,
        bound: 1.0,
        geometry: Geometry::Ball,
        least_sigma: 0.0,
        batch: 1,
        adjacency: Adjacency::ReplaceOne,
        participation: match kind {
            SumKind::Eras => Participation::OncePerRecord,
            _ => Participation::PerPerson {
                most,
                separation: 1,
            },
        },
        budget: budget.unwrap(),
    }
}

/// By how much the law of one coordinate's draw may be off, as the samplers state it.
fn slack(noise: Noise) -> f64 {
    match noise {
        Noise::Gaussian => 2_f64.powi(-112),
        Noise::Laplace => 0.0,
        Noise::L2Laplace => 2_f64.powi(-110),
    }
}

/// The draws, in one coordinate, that `most` items of a person affect: nodes that hold one, or
/// rows.
fn draws(kind: SumKind, noise: Noise, most: u64) -> f64 {
    let nodes = match kind {
        SumKind::Blt(_) | SumKind::Dense(_) | SumKind::NormalisedBlt(_) => return RELEASES as f64,
        // An octave of 2²⁹ items, which is planned for whatever horizon is expected.
        SumKind::Octave => 30.0,
        // The longest era: a record is in all of its rows.
        SumKind::Eras => 2_f64.powi(32),
        _ => {
            let matrices = Matrices::of(kind, noise, RELEASES);
            let held = |item| {
                matrices
                    .strategy
                    .iter()
                    .map(|row: &Vec<f64>| row[item])
                    .sum()
            };
            (0..RELEASES as usize).map(held).fold(0.0, f64::max)
        }
    };
    nodes * most as f64
}

#[test]
fn every_draw_that_a_person_affects_is_counted() {
    let noises = [Noise::Gaussian, Noise::Laplace, Noise::L2Laplace];
    for kind in SumKind::ALL {
        for noise in noises
            .into_iter()
            .filter(|&noise| kind.accepts(noise).is_ok())
        {
            for (dimension, most) in [(1, 1), (7, 1), (1, 3), (7, 3)] {
                if kind == SumKind::Eras && most > 1 {
                    continue; // refused
                }
                let plan = request(kind, noise, dimension, most).plan().unwrap();
                let counted = draws(kind, noise, most) * f64::from(dimension);
                let (stated, tau) = (plan.total_variation(), counted * slack(noise));
                let what = format!("{kind} {noise} d={dimension} k={most}: {stated} {tau}");
                assert!(stated >= tau * (1.0 - 1e-15), "{what}");
                assert_eq!(stated > 0.0, slack(noise) > 0.0, "{what}");
                assert!(kind != SumKind::Octave || plan.most_releases() >= 1 << 30);
                // And stated once more as a δ.
                let guarantee = plan.guarantee(true).unwrap();
                let least = (1.0 + guarantee.epsilon().exp()) * tau;
                assert!(
                    guarantee.precision_slack() >= least * (1.0 - 1e-14),
                    "{what}"
                );
            }
        }
    }
}

/// With an ε so large that slack is a good part of δ: what the noise spends and the slack are
/// within δ together.
#[test]
fn slack_is_paid_for_out_of_delta() {
    for kind in [
        SumKind::Tree,
        SumKind::Honaker,
        SumKind::Smooth,
        SumKind::BLT,
        SumKind::DENSE,
        SumKind::NORMALISED,
        SumKind::Octave,
        SumKind::Eras,
    ] {
        for dimension in [1, 7] {
            let mut request = request(kind, Noise::Gaussian, dimension, 1);
            let tau =
                draws(kind, Noise::Gaussian, 1) * f64::from(dimension) * slack(Noise::Gaussian);
            let delta = 1e-6;
            // A thirtieth of δ: octaves count twice the draws that there are here.
            let epsilon = (0.03 * delta / tau).ln();
            request.budget = Budget::approx(epsilon, delta).unwrap();
            let plan = request.plan().unwrap();
            let Charge::Gaussian(mu) = plan.charge().unwrap().charge else {
                panic!("Gaussian noise has a Gaussian price");
            };
            let spent = mu.delta_at(epsilon).unwrap();
            let total = spent + (1.0 + epsilon.exp()) * tau;
            assert!(total <= delta, "{kind} {dimension}: {total}");
            assert!(
                plan.guarantee(true).unwrap().delta() <= delta,
                "{kind} {dimension}"
            );
        }
    }
}
