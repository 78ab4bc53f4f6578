//! Filters with normalised columns, materialised: row t holds c_{t−i}·R_i of item i.

use crate::filters::{filter, patterns};
use crate::plans::plan;
use hushstream_account::{Adjacency, Budget, Charge};
use hushstream_mechanism::Participation;
use hushstream_mechanism::sums::{Noise, SumKind, SumPlan, SumRequest};

fn normalised(releases: u64, adjacency: Adjacency, participation: Participation) -> SumPlan {
    plan(
        SumKind::NORMALISED,
        Noise::Gaussian,
        releases,
        adjacency,
        participation,
    )
}

fn price(plan: &SumPlan) -> f64 {
    let Charge::Gaussian(price) = plan.charge().unwrap().charge else {
        panic!("Gaussian noise has a Gaussian price");
    };
    price.get()
}

/// No item moves all rows by more than was paid, whatever part it is in; and the first item of
/// every part moves them by just that.
#[test]
fn every_item_moves_the_rows_by_what_was_paid() {
    for releases in [1, 2, 3, 17, 40, 255, 256] {
        let matrix = filter(releases, 5);
        for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
            let plan = normalised(releases, adjacency, Participation::OncePerRecord);
            let (paid, mut before) = (price(&plan), 0);
            for item in 1..=releases {
                let radius = plan.radius_of(item);
                let column = matrix.columns(&[item as usize - 1], Noise::Gaussian);
                let moved = adjacency.kappa() * radius as f64 * column;
                let loss = (moved + (releases as f64).sqrt()) / 2_f64.powi(30);
                let what = format!("n={releases}, item {item}: {loss} of {paid}");
                assert!(loss <= paid * (1.0 + 1e-15), "{what}");
                assert!(radius >= before, "{what}");
                let is_first = radius > before;
                let least = if is_first { 1.0 - 1e-5 } else { 0.998 };
                assert!(loss >= paid * least, "{what}");
                before = radius;
            }
            assert_eq!(before, plan.radius_of(releases + 1));
        }
    }
}

/// Persons and passes have one lattice, at the plain filter's price for all patterns.
#[test]
fn several_contributions_have_one_lattice() {
    for releases in [5, 9, 12] {
        let matrix = filter(releases, 5);
        for (most, separation) in [(2, 1), (2, 4), (3, 2), (12, 1)] {
            let persons = Participation::PerPerson { most, separation };
            let plan = normalised(releases, Adjacency::ZeroOut, persons);
            let brute = patterns(releases as usize, most, separation)
                .map(|items| matrix.columns(&items, Noise::Gaussian))
                .fold(0.0, f64::max);
            let claimed = plan.sensitivity();
            assert!(
                claimed >= brute && claimed <= brute * (1.0 + 1e-7),
                "{claimed} {brute}"
            );
            assert!((1..=releases).all(|item| plan.radius_of(item) == plan.radius()));
            let blt = SumRequest {
                kind: SumKind::Blt(5),
                ..plan.request().clone()
            };
            let blt = blt.plan().unwrap();
            assert_eq!(
                (blt.radius(), price(&blt).to_bits()),
                (plan.radius(), price(&plan).to_bits())
            );
        }
    }
}

/// The rows of A·D·C⁻¹, D from the radii, are what releases carry.
#[test]
fn the_promised_error_is_the_row_norm() {
    for releases in [1, 2, 5, 40, 120] {
        let plan = normalised(releases, Adjacency::ZeroOut, Participation::OncePerRecord);
        let n = releases as usize;
        let c = filter(releases, 5).strategy;
        let mut inverse: Vec<Vec<f64>> = Vec::new();
        for (t, coefficients) in c.iter().enumerate().take(n) {
            let known = |s: usize| -> f64 {
                let earlier = inverse.iter().enumerate();
                earlier
                    .map(|(u, row): (usize, &Vec<f64>)| coefficients[u] * row[s])
                    .sum()
            };
            let row = (0..n)
                .map(|s| f64::from(u8::from(s == t)) - known(s))
                .collect();
            inverse.push(row);
        }
        let scale = |item: usize| plan.radius() as f64 / plan.radius_of(item as u64 + 1) as f64;
        let decoder: Vec<Vec<f64>> = (0..n)
            .map(|t| {
                let sum = |s| (0..=t).map(|i| scale(i) * inverse[i][s]).sum();
                (0..n).map(sum).collect()
            })
            .collect();
        let norm = |row: &[f64]| row.iter().map(|b| b * b).sum::<f64>().sqrt();
        let sigma = plan.node_sigma();
        for (t, row) in (1..).zip(&decoder) {
            let promised = plan.prefix_sd(t) / sigma;
            assert!(
                (promised / norm(row) - 1.0).abs() < 1e-9,
                "n={releases} t={t}"
            );
        }
        let worst = decoder.iter().map(|row| norm(row)).fold(0.0, f64::max);
        assert!((plan.prefix_sd_max() / sigma / worst - 1.0).abs() < 1e-9);
        let weights: Vec<f64> = (0..n).map(|t| 0.3 - (t * 7 % 11) as f64).collect();
        let combined: Vec<f64> = (0..n)
            .map(|s| {
                weights
                    .iter()
                    .zip(&decoder)
                    .map(|(w, row)| w * row[s])
                    .sum()
            })
            .collect();
        assert!((plan.combined_sd(&weights) / sigma / norm(&combined) - 1.0).abs() < 1e-9);
    }
}

/// In units of Δ/μ: the known errors, and the one that was aimed at.
#[test]
fn columns_of_one_length_have_less_noise() {
    let units = |releases, kind| {
        let once = Participation::OncePerRecord;
        let plan = plan(kind, Noise::Gaussian, releases, Adjacency::ZeroOut, once);
        let last = plan.prefix_sd(releases) * price(&plan);
        (
            plan.prefix_sd_max() * price(&plan),
            last,
            plan.prefix_sd_max(),
        )
    };
    for (releases, worst, last) in [(255, 2.646, 2.311), (4096, 3.522, 2.938)] {
        let (found, found_last, _) = units(releases, SumKind::NORMALISED);
        assert!((found - worst).abs() < 0.004, "{releases}: {found}");
        assert!((found_last - last).abs() < 0.01, "{releases}: {found_last}");
    }
    let (_, _, sd) = units(1 << 20, SumKind::NORMALISED);
    assert!(sd <= 22.4, "{sd}");
}

/// Streams too long to be cut have one lattice.
#[test]
fn very_long_streams_are_plain() {
    let plan = normalised(1 << 23, Adjacency::ZeroOut, Participation::OncePerRecord);
    assert_eq!(plan.radius_of(1 << 23), plan.radius());
    let wide = SumRequest {
        budget: Budget::approx(1.0, 1e-6).unwrap(),
        dimension: 3000,
        batch: 1 << 20,
        ..normalised(1 << 12, Adjacency::ZeroOut, Participation::OncePerRecord)
            .request()
            .clone()
    };
    let wide = wide.plan().unwrap();
    assert!(wide.radius_of(1 << 12) > wide.radius());
}
