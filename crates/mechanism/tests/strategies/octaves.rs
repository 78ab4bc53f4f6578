//! Octaves, by brute force.

use crate::matrices::Matrices;
use crate::plans::plan;
use hushstream_account::Adjacency;
use hushstream_mechanism::Participation;
use hushstream_mechanism::sums::{Noise, SumKind};

/// Octaves: every item in one tree of its own depth, at the scale of its octave; the price is the
/// same in each.
#[test]
fn octaves_by_brute_force() {
    for noise in [Noise::Gaussian, Noise::Laplace] {
        for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
            let plan = plan(
                SumKind::Octave,
                noise,
                300,
                adjacency,
                Participation::OncePerRecord,
            );
            let kappa = adjacency.kappa();
            let price = match plan.charge().unwrap().charge {
                hushstream_account::Charge::Gaussian(mu) => mu.get(),
                hushstream_account::Charge::Pure(epsilon) => epsilon.get(),
                other => panic!("{other:?}"),
            };
            let sigma_of = |octave: u32| {
                // The scale of an octave's noise, from the depth of its materialised tree.
                let tree = Matrices::of(SumKind::Tree, noise, 1 << octave);
                let depth = (0..1 << octave)
                    .map(|item| tree.columns(&[item], noise))
                    .fold(0.0, f64::max);
                kappa * depth / price * noise.variance(1).sqrt()
            };
            let sigmas: Vec<f64> = (0..9).map(sigma_of).collect();
            let mut worst = 0.0_f64;
            for t in 1..=300_u64 {
                let octave = t.ilog2();
                let place = t - (1 << octave) + 1;
                let past: f64 = sigmas[..octave as usize].iter().map(|s| s * s).sum();
                let here = f64::from(place.count_ones()) * sigmas[octave as usize].powi(2);
                let expected = (past + here).sqrt();
                assert!(
                    (plan.prefix_sd(t) / expected - 1.0).abs() < 1e-6,
                    "{noise} t={t}"
                );
                worst = worst.max(plan.prefix_sd(t));
                let mut request = plan.request().clone();
                request.releases = t;
                let shorter = request.plan().unwrap();
                assert!(
                    (shorter.prefix_sd_max() / worst - 1.0).abs() < 1e-9,
                    "{noise} n={t}"
                );
            }
        }
    }
}
