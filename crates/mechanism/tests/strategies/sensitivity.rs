//! Column norms, which calibrate the noise: for one item, for two of a person's, and for both
//! adjacencies.

use crate::matrices::Matrices;
use crate::plans::{LARGEST, covering, plan, single};
use hushstream_account::Adjacency;
use hushstream_mechanism::Participation;
use hushstream_mechanism::sums::blt::{DyadicBlt, optimise};
use hushstream_mechanism::sums::{Noise, SumKind, SumPlan};

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
            let is_tight = (kind, noise) == (SumKind::Honaker, Noise::Gaussian);
            if is_tight || kind == SumKind::Fresh {
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
                // Two neighbouring integer items as far apart as the lattice allows: R and −R, or R
                // and 0.
                let apart = match adjacency {
                    Adjacency::ReplaceOne => 2 * plan.radius(),
                    Adjacency::ZeroOut => plan.radius(),
                } as f64;
                let shift = (0..releases as usize)
                    .map(|item| apart * matrices.columns(&[item], noise))
                    .fold(0.0, f64::max);
                let loss = shift / 2_f64.powi(30); // μ or ε
                let price = match plan.charge().unwrap().charge {
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

/// Forgetting that two points of a ball are two radii apart misses the claimed δ by three orders of
/// magnitude.
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

/// Octaves: over all sets of a person's items, in one octave or in several, each moved by as much
/// as its octave's lattice allows. The shares of octaves are squares that add up, or lengths.
#[test]
fn a_person_in_several_octaves_never_exceeds_the_price() {
    const ITEMS: usize = 31; // octaves 0 to 4
    for (noise, most) in [
        (Noise::Gaussian, 2),
        (Noise::Gaussian, 3),
        (Noise::Laplace, 3),
    ] {
        let participation = Participation::PerPerson {
            most,
            separation: 1,
        };
        let plan_for = |releases| {
            let zero_out = Adjacency::ZeroOut;
            plan(SumKind::Octave, noise, releases, zero_out, participation)
        };
        let trees: Vec<(f64, Matrices)> = (0..5)
            .map(|octave| {
                let deviation = 2_f64.powi(30) * noise.variance(1).sqrt();
                let radius = (deviation / plan_for(1 << octave).node_sigma()).round();
                (radius, Matrices::of(SumKind::Tree, noise, 1 << octave))
            })
            .collect();
        let moved = |items: &[usize]| {
            let shares = trees.iter().enumerate().map(|(octave, (radius, tree))| {
                let first = (1 << octave) - 1;
                let inside = items
                    .iter()
                    .filter(|&&item| (item + 1).ilog2() as usize == octave);
                let places: Vec<usize> = inside.map(|item| item - first).collect();
                radius * tree.columns(&places, noise)
            });
            if noise.is_pure() {
                shares.sum::<f64>()
            } else {
                shares.map(|share| share * share).sum::<f64>().sqrt()
            }
        };
        let mut worst = 0.0_f64;
        for a in 0..ITEMS {
            for b in 0..a {
                worst = worst.max(moved(&[a, b]));
                for c in (0..b).filter(|_| most > 2) {
                    worst = worst.max(moved(&[a, b, c]));
                }
            }
        }
        let price = match plan_for(ITEMS as u64).charge().unwrap().charge {
            hushstream_account::Charge::Gaussian(mu) => mu.get(),
            hushstream_account::Charge::Pure(epsilon) => epsilon.get(),
            other => panic!("{other:?}"),
        };
        let loss = worst / 2_f64.powi(30);
        assert!(loss <= price, "{noise} {most}: {loss} {price}");
        assert!(loss > 0.9 * price, "{noise} {most}: {loss} {price}");
    }
}

/// Records that are read in several passes, on every sum: √k and k times one item for fresh noise,
/// and never less than what the items of a record move. Also if the journal is lost anywhere and
/// the rest of them is in a new instance: instances add up in squares, or as they are.
#[test]
fn passes_never_exceed_what_is_calibrated_in_one_instance_or_two() {
    for (separation, passes) in [(1, 2), (1, 5), (3, 2), (3, 4), (7, 3)] {
        let n = separation * passes;
        let participation = Participation::Passes { passes, separation };
        let of = |kind, noise| plan(kind, noise, n, Adjacency::ZeroOut, participation);
        for (kind, noise) in covering() {
            let claimed = of(kind, noise).sensitivity();
            let matrices = Matrices::of(kind, noise, n);
            if kind == SumKind::Fresh {
                let k = passes as f64;
                let exact = if noise.is_pure() { k } else { k.sqrt() };
                assert!(claimed >= exact && claimed < exact * (1.0 + 1e-12));
            }
            for (place, lost) in (0..separation).flat_map(|p| (0..=n).map(move |l| (p, l))) {
                let items = |range: std::ops::Range<u64>| -> Vec<usize> {
                    let all = (0..passes).map(|pass| place + pass * separation);
                    let inside = all.filter(|item| range.contains(item));
                    inside.map(|item| (item - range.start) as usize).collect()
                };
                let lives = [items(0..lost), items(lost..n)];
                let moved = lives.map(|items| matrices.columns(&items, noise));
                let moved = if noise.is_pure() {
                    moved[0] + moved[1]
                } else {
                    moved[0].hypot(moved[1])
                };
                assert!(
                    moved <= claimed,
                    "{kind} {noise}, {passes} passes of {separation}, lost at {lost}: {moved} {claimed}"
                );
            }
        }
        let claimed = of(SumKind::BLT, Noise::Gaussian).sensitivity();
        let blt = DyadicBlt::new(&optimise(n, 4).unwrap()).unwrap();
        let (mut worst, mut worst_of_one) = (0.0_f64, 0.0_f64);
        for (place, lost) in (0..separation).flat_map(|p| (0..=n).map(move |l| (p, l))) {
            // An instance releases as many rows as it has items.
            let energy = |range: std::ops::Range<u64>| -> f64 {
                let all = (0..passes).map(|pass| place + pass * separation);
                let items: Vec<u64> = all.filter(|item| range.contains(item)).collect();
                let row = |t: u64| -> f64 {
                    let before = items.iter().filter(|&&item| item <= t);
                    before
                        .map(|item| blt.parameters().coefficient(t - item))
                        .sum()
                };
                range.map(|t| row(t).powi(2)).sum()
            };
            let moved = (energy(0..lost) + energy(lost..n)).sqrt();
            worst = worst.max(moved);
            if lost == n {
                worst_of_one = worst_of_one.max(moved);
            }
        }
        assert!(worst <= claimed * (1.0 + 1e-12), "{worst} {claimed}");
        assert!(worst_of_one >= 0.999 * claimed, "{worst_of_one} {claimed}");
    }
}

/// A window protects a record once.
#[test]
fn no_window_takes_passes() {
    let request = single(SumKind::Window(3), Noise::Gaussian, 9)
        .request()
        .clone();
    let participation = Participation::Passes {
        passes: 2,
        separation: 4,
    };
    let refused = hushstream_mechanism::sums::SumRequest {
        participation,
        ..request
    }
    .plan();
    assert!(refused.is_err());
}
