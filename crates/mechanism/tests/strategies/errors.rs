//! Row norms: the promised error.

use crate::matrices::Matrices;
use crate::plans::{LARGEST, covering, single};
use hushstream_mechanism::sums::{Noise, SumKind};

#[test]
fn the_promised_error_is_the_row_norm() {
    for (kind, noise) in covering() {
        for releases in 1..=LARGEST {
            let matrices = Matrices::of(kind, noise, releases);
            let plan = single(kind, noise, releases);
            let norms: Vec<f64> = matrices
                .decoder
                .iter()
                .map(|row| row.iter().map(|b| b * b).sum::<f64>().sqrt())
                .collect();
            let worst = norms.iter().copied().fold(0.0, f64::max);
            assert!(
                (plan.prefix_sd_max() / plan.node_sigma() - worst).abs() < 1e-9,
                "{kind} {noise} n={releases}"
            );
            for (t, norm) in (1..).zip(norms) {
                // Padding fills up to the largest number of noises.
                let expected = if kind == SumKind::PaddedTree {
                    worst
                } else {
                    norm
                };
                let promised = plan.prefix_sd(t) / plan.node_sigma();
                assert!(
                    (promised - expected).abs() < 1e-9,
                    "{kind} {noise} n={releases} t={t}"
                );
            }
        }
    }
}

/// The worst standard deviation in units of Δ/μ (Gaussian) or Δ/ε (pure).
fn units(kind: SumKind, noise: Noise, releases: u64) -> f64 {
    let plan = single(kind, noise, releases);
    let price = match plan.charge().unwrap().charge {
        hushstream_account::Charge::Gaussian(mu) => mu.get(),
        hushstream_account::Charge::Pure(epsilon) => epsilon.get(),
        other => panic!("{other:?}"),
    };
    plan.prefix_sd_max() * price
}

#[test]
fn known_errors_at_a_million_releases() {
    let n = 1 << 20;
    let close = |value: f64, expected: f64| {
        assert!((value - expected).abs() < 0.006, "{value} vs {expected}");
    };
    close(units(SumKind::Tree, Noise::Gaussian, n), 20.49);
    close(units(SumKind::Honaker, Noise::Gaussian, n), 15.06);
    close(units(SumKind::Smooth, Noise::Gaussian, n), 11.40);
    let kary = units(SumKind::Kary, Noise::Laplace, n);
    assert!((46.8..=47.4).contains(&kary), "{kary}");
    assert!((units(SumKind::Tree, Noise::Laplace, n) - 132.8).abs() < 0.1);
    assert!((units(SumKind::Honaker, Noise::Laplace, n) - 97.6).abs() < 0.1);
}
