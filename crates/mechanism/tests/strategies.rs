//! Every covering sum, materialised: its strategy matrix C (nodes × items) and its decoder B (releases × nodes) for every small
//! horizon. B·C must be the matrix of prefix sums, the column norms of C the sensitivity that calibrates the noise, and the row
//! norms of B the error that is promised.

#![allow(clippy::unwrap_used)] // a test may stop where it fails

use hushstream_account::{Adjacency, Budget};
use hushstream_mechanism::Participation;
use hushstream_mechanism::sums::{
    BalancedDigits, BinaryTree, ConstantWeight, Cover, Geometry, Noise, SumKind, SumPlan,
    SumRequest,
};
use std::collections::BTreeMap;

const LARGEST: u64 = 40;

fn plan(
    kind: SumKind,
    noise: Noise,
    releases: u64,
    adjacency: Adjacency,
    participation: Participation,
) -> SumPlan {
    let budget = if noise.is_pure() {
        Budget::pure(1.0)
    } else {
        Budget::approx(1.0, 1e-6)
    };
    SumRequest {
        kind,
        noise,
        releases,
        dimension: 1,
        bound: 1.0,
        geometry: Geometry::Ball,
        least_sigma: 0.0,
        batch: 1,
        adjacency,
        participation,
        budget: budget.unwrap(),
    }
    .plan()
    .unwrap()
}

fn single(kind: SumKind, noise: Noise, releases: u64) -> SumPlan {
    plan(
        kind,
        noise,
        releases,
        Adjacency::ZeroOut,
        Participation::OncePerRecord,
    )
}

/// One strategy, materialised.
struct Matrices {
    /// strategy[node][item]
    strategy: Vec<Vec<f64>>,
    /// decoder[release][node]
    decoder: Vec<Vec<f64>>,
}

impl Matrices {
    fn of_cover(cover: &dyn Cover, releases: u64) -> Self {
        let mut nodes: BTreeMap<u64, usize> = BTreeMap::new();
        for t in 1..=releases {
            for term in cover.terms(t) {
                let next = nodes.len();
                nodes.entry(term.node).or_insert(next);
            }
        }
        let mut strategy = vec![vec![0.0; releases as usize]; nodes.len()];
        for (&node, &row) in &nodes {
            let (first, last) = cover.items(node);
            for item in first..=last.min(releases) {
                strategy[row][item as usize - 1] = 1.0;
            }
        }
        let decoder = (1..=releases)
            .map(|t| {
                let mut row = vec![0.0; nodes.len()];
                for term in cover.terms(t) {
                    row[nodes[&term.node]] += f64::from(term.sign);
                }
                row
            })
            .collect();
        Self { strategy, decoder }
    }

    /// All complete dyadic nodes, with the estimate from below written as weights.
    fn of_honaker(releases: u64) -> Self {
        let mut nodes = Vec::new();
        for level in 0..=releases.ilog2() {
            let size = 1 << level;
            nodes.extend((1..=releases / size).map(|index| (level, index * size)));
        }
        let place =
            |level: u32, end: u64| nodes.iter().position(|&node| node == (level, end)).unwrap();
        let strategy = nodes
            .iter()
            .map(|&(level, end)| {
                let inside = end - (1 << level)..end;
                (0..releases)
                    .map(|item| f64::from(u8::from(inside.contains(&item))))
                    .collect()
            })
            .collect();
        // weights[place] of the best estimate of each node, from its children up.
        let mut weights: Vec<Vec<f64>> = Vec::new();
        let mut variances: Vec<f64> = Vec::new();
        for &(level, end) in &nodes {
            let mut row = vec![0.0; nodes.len()];
            let mut variance = 1.0;
            let mut own = 1.0;
            if level > 0 {
                let children = [
                    place(level - 1, end - (1 << (level - 1))),
                    place(level - 1, end),
                ];
                let below: f64 = children.iter().map(|&child| variances[child]).sum();
                own = below / (1.0 + below);
                variance = own;
                for child in children {
                    for (row, weight) in row.iter_mut().zip(&weights[child]) {
                        *row += (1.0 - own) * weight;
                    }
                }
            }
            row[place(level, end)] = own;
            weights.push(row);
            variances.push(variance);
        }
        let decoder = (1..=releases)
            .map(|t| {
                let mut row = vec![0.0; nodes.len()];
                let mut end = 0;
                for level in (0..64).rev().filter(|level| t >> level & 1 == 1) {
                    end += 1 << level;
                    for (row, weight) in row.iter_mut().zip(&weights[place(level, end)]) {
                        *row += weight;
                    }
                }
                row
            })
            .collect();
        Self { strategy, decoder }
    }

    fn of(kind: SumKind, noise: Noise, releases: u64) -> Self {
        let power = if noise.is_pure() { 2 } else { 1 };
        match kind {
            SumKind::Tree | SumKind::PaddedTree => Self::of_cover(&BinaryTree, releases),
            SumKind::Honaker => Self::of_honaker(releases),
            SumKind::Smooth => {
                let code = ConstantWeight::cheapest(releases, |w, depth| w * depth.powi(power));
                Self::of_cover(&code, releases)
            }
            SumKind::Kary => Self::of_cover(&BalancedDigits::cheapest(releases), releases),
            other => panic!("{other} has tests of its own"),
        }
    }

    fn check_product(&self, name: &str) {
        for (t, row) in (1..).zip(&self.decoder) {
            for item in 1..=self.decoder.len() {
                let entry: f64 = row
                    .iter()
                    .zip(&self.strategy)
                    .map(|(b, c)| b * c[item - 1])
                    .sum();
                let expected = f64::from(u8::from(item <= t));
                assert!(
                    (entry - expected).abs() < 1e-12,
                    "{name}: release {t}, item {item}: {entry}"
                );
            }
        }
    }

    /// The norm of the sum of these columns: L1 or L2.
    fn columns(&self, items: &[usize], noise: Noise) -> f64 {
        let nodes = self
            .strategy
            .iter()
            .map(|row| items.iter().map(|&item| row[item]).sum::<f64>());
        if noise.is_pure() {
            nodes.map(f64::abs).sum()
        } else {
            nodes.map(|v| v * v).sum::<f64>().sqrt()
        }
    }
}

fn covering() -> impl Iterator<Item = (SumKind, Noise)> {
    let kinds = [
        SumKind::Tree,
        SumKind::PaddedTree,
        SumKind::Honaker,
        SumKind::Smooth,
        SumKind::Kary,
    ];
    let noises = [Noise::Gaussian, Noise::Laplace, Noise::L2Laplace];
    kinds
        .into_iter()
        .flat_map(move |kind| noises.map(|noise| (kind, noise)))
        .filter(|(kind, noise)| kind.accepts(*noise).is_ok())
}

#[test]
fn decoder_times_strategy_is_the_prefix_sum() {
    for (kind, noise) in covering() {
        for releases in 1..=LARGEST {
            Matrices::of(kind, noise, releases)
                .check_product(&format!("{kind} {noise} n={releases}"));
        }
    }
}

#[test]
fn the_calibrating_sensitivity_is_the_largest_column_norm() {
    for (kind, noise) in covering() {
        for releases in 1..=LARGEST {
            let matrices = Matrices::of(kind, noise, releases);
            let brute = (0..releases as usize)
                .map(|item| matrices.columns(&[item], noise))
                .fold(0.0, f64::max);
            let claimed = single(kind, noise, releases).sensitivity();
            assert!(
                claimed >= brute,
                "{kind} {noise} n={releases}: {claimed} < {brute}"
            );
            assert!(
                (claimed - brute).abs() < 1e-12,
                "{kind} {noise} n={releases}: {claimed} vs {brute}"
            );
        }
    }
}

#[test]
fn two_participations_never_exceed_what_is_calibrated() {
    let twice = Participation::PerPerson {
        most: 2,
        separation: 1,
    };
    for (kind, noise) in covering() {
        for releases in 2..=LARGEST {
            let matrices = Matrices::of(kind, noise, releases);
            let pairs = (0..releases as usize).flat_map(|i| (0..i).map(move |j| [i, j]));
            let brute = pairs
                .map(|pair| matrices.columns(&pair, noise))
                .fold(0.0, f64::max);
            let claimed = plan(kind, noise, releases, Adjacency::ZeroOut, twice).sensitivity();
            assert!(
                claimed >= brute,
                "{kind} {noise} n={releases}: {claimed} < {brute}"
            );
            if (kind, noise) == (SumKind::Honaker, Noise::Gaussian) {
                assert!(
                    (claimed - brute).abs() < 1e-12,
                    "n={releases}: {claimed} vs {brute}"
                );
            }
            // Never looser than the worst that the triangle inequality gives.
            assert!(claimed <= 2.0 * single(kind, noise, releases).sensitivity() * (1.0 + 1e-12));
        }
    }
}

#[test]
fn the_price_is_what_the_adjacency_makes_of_the_sensitivity() {
    for (kind, noise) in covering() {
        for releases in 1..=LARGEST {
            for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
                let plan = plan(
                    kind,
                    noise,
                    releases,
                    adjacency,
                    Participation::OncePerRecord,
                );
                let matrices = Matrices::of(kind, noise, releases);
                // Two neighbouring integer items as far apart as the lattice allows: R and −R, or R and 0.
                let apart = match adjacency {
                    Adjacency::ReplaceOne => 2 * plan.radius(),
                    Adjacency::ZeroOut => plan.radius(),
                } as f64;
                let shift = (0..releases as usize)
                    .map(|item| apart * matrices.columns(&[item], noise))
                    .fold(0.0, f64::max);
                let loss = shift / 2_f64.powi(30); // μ or ε
                let price = match plan.charge().unwrap() {
                    hushstream_account::Charge::Gaussian(mu) => {
                        assert!(mu.delta_at(1.0).unwrap() <= 1e-6);
                        mu.get()
                    }
                    hushstream_account::Charge::Pure(epsilon) => {
                        assert!(epsilon.get() <= 1.0);
                        epsilon.get()
                    }
                    other => panic!("{other:?}"),
                };
                assert!(loss <= price, "{kind} {noise} n={releases}");
                assert!(
                    loss >= price * (1.0 - 1e-12),
                    "{kind} {noise} n={releases}: nothing is wasted"
                );
            }
        }
    }
}

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
    let price = match plan.charge().unwrap() {
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

/// Octaves: every item in one tree of its own depth, at the scale of its octave; the price is the same in each.
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
            let price = match plan.charge().unwrap() {
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

/// Forgetting that two points of a ball are two radii apart misses the claimed δ by three orders of magnitude.
#[test]
fn without_kappa_the_claim_is_wrong_by_three_orders_of_magnitude() {
    let forgotten = plan(
        SumKind::Tree,
        Noise::Gaussian,
        1000,
        Adjacency::ZeroOut,
        Participation::OncePerRecord,
    );
    let honest = plan(
        SumKind::Tree,
        Noise::Gaussian,
        1000,
        Adjacency::ReplaceOne,
        Participation::OncePerRecord,
    );
    let matrices = Matrices::of(SumKind::Tree, Noise::Gaussian, 1000);
    let true_delta = |plan: &SumPlan| {
        // Item 1 is R in one world and −R in the other.
        let shift = 2.0 * plan.radius() as f64 * matrices.columns(&[0], Noise::Gaussian);
        let mu = hushstream_account::Mu::of_noise(shift, 2_f64.powi(30)).unwrap();
        mu.delta_at(1.0).unwrap()
    };
    assert!(true_delta(&honest) <= 1e-6);
    assert!(true_delta(&forgotten) >= 1e-3, "{}", true_delta(&forgotten));
}
