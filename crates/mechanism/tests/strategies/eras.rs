//! Eras, materialised: a filter of its own for each, and nothing between two of them.

use crate::filters::filter;
use crate::plans::plan;
use hushstream_account::{Adjacency, Charge};
use hushstream_mechanism::Participation;
use hushstream_mechanism::sums::blt::{DyadicBlt, optimise};
use hushstream_mechanism::sums::{Noise, SumKind, SumPlan};

/// Items and buffers of the eras.
const ERAS: [(u64, usize); 3] = [(1 << 8, 4), (1 << 20, 5), (1 << 32, 7)];

fn eras(releases: u64, adjacency: Adjacency) -> SumPlan {
    let once = Participation::OncePerRecord;
    plan(SumKind::Eras, Noise::Gaussian, releases, adjacency, once)
}

/// μ.
fn price(plan: &SumPlan) -> f64 {
    let Charge::Gaussian(mu) = plan.charge().unwrap().charge else {
        panic!("Gaussian noise has a Gaussian price");
    };
    mu.get()
}

fn of_era(era: usize) -> DyadicBlt {
    let (items, buffers) = ERAS[era];
    DyadicBlt::new(&optimise(items, buffers).unwrap()).unwrap()
}

/// The first item of an era, from 1.
fn first(era: usize) -> u64 {
    1 + ERAS[..era].iter().map(|(items, _)| items).sum::<u64>()
}

/// Σ c_k² over an era's rows, term by term; of 2³² rows over the first 2²² terms, and an integral
/// over the others: c_k falls.
fn column(era: usize) -> f64 {
    let (blt, (rows, _)) = (of_era(era), ERAS[era]);
    let pairs: Vec<(f64, f64)> = {
        let parameters = blt.parameters();
        let decays = parameters.decay().iter().copied();
        decays.zip(parameters.weight().iter().copied()).collect()
    };
    let mut powers: Vec<f64> = pairs.iter().map(|(_, weight)| *weight).collect();
    let (mut sum, alone) = (1.0, rows.min(1 << 22));
    for _ in 1..alone {
        let c: f64 = powers.iter().sum();
        sum += c * c;
        for (power, (decay, _)) in powers.iter_mut().zip(&pairs) {
            *power -= *decay * *power;
        }
    }
    // Midpoints of steps that grow with k: far finer than the coefficients change.
    let mut k = alone as f64;
    while k < rows as f64 {
        let step = (k * 1e-4).min(rows as f64 - k);
        let at = |(decay, weight): &(f64, f64)| weight * (-decay * (k + step / 2.0)).exp();
        let c: f64 = pairs.iter().map(at).sum();
        sum += step * c * c;
        k += step;
    }
    sum.sqrt()
}

/// No record of an era moves its rows by more than was paid, and the first one of each by just
/// that. Where rows are few, over all of them and every item.
#[test]
fn every_item_moves_the_rows_by_what_was_paid() {
    let matrix = filter(ERAS[0].0, ERAS[0].1);
    for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
        let plan = eras(300, adjacency);
        let paid = price(&plan) * 2_f64.powi(30);
        let radius = plan.radius_of(1) as f64;
        let moved = |item: usize| {
            adjacency.kappa() * radius * matrix.columns(&[item], Noise::Gaussian) + 16.0
        };
        let all = (0..256).map(moved);
        let worst = all
            .inspect(|moved| assert!(*moved <= paid))
            .fold(0.0, f64::max);
        assert!(worst > 0.999 * paid, "{worst} {paid}");
        for (era, (rows, _)) in ERAS.into_iter().enumerate() {
            let at = |item| plan.radius_of(item);
            let radius = at(first(era));
            let last = first(era + 1) - 1;
            assert_eq!(
                (radius, at(last)),
                (at(last), radius),
                "one lattice for an era"
            );
            let rows = rows as f64;
            // Floors of at most a unit of the lattice for each row: far less in the long era.
            let floors = if era < 2 { rows.sqrt() } else { 0.0 };
            let moved = adjacency.kappa() * radius as f64 * column(era) + floors;
            let what = format!("era {era}: {moved} of {paid}");
            assert!(moved <= paid * (1.0 + 1e-6), "{what}");
            assert!(moved > 0.999 * paid, "{what}");
        }
        assert!(plan.radius_of(256) > plan.radius_of(257));
        assert_eq!(plan.most_releases(), first(ERAS.len()) - 1);
    }
}

/// What releases carry, from the rows of A·C⁻¹ of every era: alone, and in combinations of several.
#[test]
fn the_promised_error_is_the_row_norm() {
    const RELEASES: u64 = 300;
    let plan = eras(RELEASES, Adjacency::ZeroOut);
    let response = |era: usize, rows: u64| -> Vec<f64> {
        let inverse = of_era(era).parameters().inverse();
        (0..rows).map(|k| inverse.prefix_coefficient(k)).collect()
    };
    let b = [response(0, 256), response(1, RELEASES - 256)];
    // In units of the last era's noise.
    let unit = |era: usize| plan.radius_of(RELEASES) as f64 / plan.radius_of(first(era)) as f64;
    // decoder[release][row]
    let decoder: Vec<Vec<f64>> = (1..=RELEASES)
        .map(|t| {
            let weight = |row: u64| match (row <= 256, row <= t) {
                (_, false) => 0.0,
                (true, _) => unit(0) * b[0][(t.min(256) - row) as usize],
                (false, _) => unit(1) * b[1][(t - row) as usize],
            };
            (1..=RELEASES).map(weight).collect()
        })
        .collect();
    let norm = |row: &[f64]| row.iter().map(|b| b * b).sum::<f64>().sqrt();
    let mut worst = 0.0_f64;
    for (t, row) in (1..).zip(&decoder) {
        let promised = plan.prefix_sd(t) / plan.node_sigma();
        assert!((promised / norm(row) - 1.0).abs() < 1e-9, "t={t}");
        worst = worst.max(norm(row));
    }
    assert!((plan.prefix_sd_max() / plan.node_sigma() / worst - 1.0).abs() < 1e-9);
    for seen in [1, 100, 256, 257, 300] {
        let weights: Vec<f64> = (0..seen).map(|t| 0.3 - f64::from(t * 7 % 11)).collect();
        let combined: Vec<f64> = (0..RELEASES as usize)
            .map(|row| {
                let rows = weights.iter().zip(&decoder);
                rows.map(|(weight, release)| weight * release[row]).sum()
            })
            .collect();
        let promised = plan.combined_sd(&weights) / plan.node_sigma();
        assert!((promised / norm(&combined) - 1.0).abs() < 1e-9, "{seen}");
    }
}

/// The table of the documentation: in units of Δ/μ, at the worst up to a release.
#[test]
fn eras_have_less_noise_than_octaves() {
    let once = Participation::OncePerRecord;
    let octaves = plan(
        SumKind::Octave,
        Noise::Gaussian,
        1 << 20,
        Adjacency::ZeroOut,
        once,
    );
    let eras = eras(1 << 20, Adjacency::ZeroOut);
    let units = |plan: &SumPlan, t: u64| plan.prefix_sd(t) * price(plan);
    // Every release up to 2¹⁷, and around every power of two after it.
    let long = (17..32).flat_map(|log| (0..1 << 10).map(move |k| (1_u64 << log) + k - 512));
    for t in (4..1 << 17).chain(long) {
        assert!(units(&eras, t) < units(&octaves, t), "{t}");
    }
    let worst = |kind: SumKind, log: u32| {
        let t = 1 << log;
        let plan = plan(kind, Noise::Gaussian, t, Adjacency::ZeroOut, once);
        plan.prefix_sd_max() * price(&plan)
    };
    // Against a horizon that is known.
    let mut t = 16_u64;
    while t < 1 << 32 {
        let known = plan(
            SumKind::Blt(7),
            Noise::Gaussian,
            t,
            Adjacency::ZeroOut,
            once,
        );
        let ratio = units(&eras, t) / units(&known, t);
        assert!(ratio < 1.65, "{t}: {ratio}");
        t += t / 3;
    }
    for (log, octave, era, known) in TABLE {
        for (kind, stated) in [
            (SumKind::Octave, octave),
            (SumKind::Eras, era),
            (SumKind::Blt(7), known),
        ] {
            let found = worst(kind, log);
            assert!((found - stated).abs() < 0.051, "{kind} at 2^{log}: {found}");
        }
    }
}

/// log₂ t, octaves, eras, a filter for t releases.
const TABLE: [(u32, f64, f64, f64); 9] = [
    (2, 2.4, 2.1, 1.5),
    (4, 4.2, 2.3, 1.9),
    (8, 9.2, 2.8, 2.8),
    (10, 11.6, 5.1, 3.3),
    (12, 14.1, 5.3, 3.7),
    (16, 19.0, 5.8, 4.6),
    (20, 23.9, 6.2, 5.5),
    (24, 28.8, 9.5, 6.4),
    (32, 38.6, 10.3, 8.2),
];
