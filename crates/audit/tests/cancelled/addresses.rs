//! Noise alone, addresses and radii: what a difference of two runs cannot see.
//!
//! An all-null stream releases noise and nothing else. Where every release brings one noise of its
//! own it can be solved for them: their law is checked, and that no two of them, of any level,
//! octave, row, coordinate, life or run, go together. The recorder tells which addresses were read:
//! each instance reads the addresses of its own items, and no others.

use crate::adapter::{Entry, OnSum, Play, Pull, Seen, Stop, all_sums};
use crate::sums::Rows;
use hushstream_account::Adjacency;
use hushstream_engine::{CATALOGUE, MechanismKind, RecipeName};
use hushstream_mechanism::sums::{BinaryTree, Cover, Noise, SumKind};
use hushstream_noise::Key;
use std::collections::{BTreeMap, BTreeSet, HashSet};

const NOISES: [Noise; 3] = [Noise::Gaussian, Noise::Laplace, Noise::L2Laplace];
/// Six levels, and six octaves.
const LONG: u64 = 63;
/// The last release of the first life, whose journal is lost.
const LOST: usize = 33;

fn cell(releases: u64, kind: SumKind, noise: Noise, number: u64) -> OnSum {
    let recipe = match kind {
        SumKind::Window(_) => RecipeName::CocoP,
        _ => RecipeName::Pftal,
    };
    let cell = OnSum::plan_for(releases, recipe, (kind, noise), Adjacency::ReplaceOne, 1, 1);
    OnSum {
        number,
        ..cell.unwrap()
    }
}

/// Plays so many records, all of them this one.
fn released(cell: &OnSum, records: u64, pull: impl Fn(u64) -> Pull, key: &Key, stop: Stop) -> Seen {
    let stream: Vec<Entry> = (1..=records)
        .map(|number| Entry {
            person: None,
            pull: pull(number),
        })
        .collect();
    let path = Seen {
        questions: vec![vec![0.0; 2]; stream.len()],
        ..Seen::default()
    };
    cell.play(&stream, Some(&path), key, stop)
}

/// The noise of every node or row, solved for from the releases of an all-null stream, in units of
/// its scale.
fn noises(rows: &Rows, kind: SumKind, releases: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let minus =
        |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a - b).collect() };
    let scaled = |v: Vec<f64>, scale: f64| v.into_iter().map(|v| v / scale).collect::<Vec<f64>>();
    let zero = vec![0.0; releases[0].len()];
    if let SumKind::Blt(_) = kind {
        return rows
            .rows(releases)
            .into_iter()
            .map(|row| scaled(row, rows.scales[0]))
            .collect();
    }
    let mut known: BTreeMap<(u32, u64), Vec<f64>> = BTreeMap::new();
    let mut found = Vec::new();
    for (t, release) in (1_u64..).zip(releases) {
        let octave = if kind == SumKind::Octave {
            t.ilog2()
        } else {
            0
        };
        let before = if kind == SumKind::Octave {
            (1 << octave) - 1
        } else {
            0
        };
        let mut terms: Vec<(u32, u64)> = (0..octave)
            .flat_map(|m| {
                BinaryTree
                    .terms(1 << m)
                    .into_iter()
                    .map(move |term| (m, term.node))
            })
            .collect();
        terms.extend(
            BinaryTree
                .terms(t - before)
                .into_iter()
                .map(|term| (octave, term.node)),
        );
        let mut rest = release.clone();
        let mut new = None;
        for term in terms {
            match known.get(&term) {
                Some(noise) => rest = minus(&rest, noise),
                None => assert!(new.replace(term).is_none(), "one new noise a release"),
            }
        }
        found.push(scaled(minus(&rest, &zero), rows.scales[octave as usize]));
        known.insert(new.unwrap(), rest);
    }
    found
}

/// Of two lives of a run under one key, and of a second run: all their noises.
fn all_noises(kind: SumKind, noise: Noise, seed: u64) -> Vec<Vec<f64>> {
    let key = Key::insecure_from_seed(seed);
    let first = cell(LONG, kind, noise, 1);
    let lives = released(&first, LONG, |_| Pull::Null, &key, Stop::Restored(LOST)).values;
    let second = released(
        &cell(LONG, kind, noise, 2),
        LONG,
        |_| Pull::Null,
        &key,
        Stop::Never,
    );
    // The second life goes on from the last release that its journal knew.
    let base = &lives[LOST - 2];
    let after: Vec<Vec<f64>> = lives[LOST..]
        .iter()
        .map(|release| release.iter().zip(base).map(|(r, b)| r - b).collect())
        .collect();
    let mut all = noises(&first.rows, kind, &lives[..LOST]);
    all.extend(noises(&first.rows, kind, &after));
    all.extend(noises(&first.rows, kind, &second.values));
    all
}

/// P(noise ≤ x) of one coordinate; for L2-Laplace in two dimensions of the length.
fn below(noise: Noise, x: f64) -> f64 {
    match noise {
        Noise::Gaussian => 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2),
        Noise::Laplace if x < 0.0 => 0.5 * x.exp(),
        Noise::Laplace => 1.0 - 0.5 * (-x).exp(),
        Noise::L2Laplace => 1.0 - (-x).exp() * (1.0 + x),
    }
}

#[test]
fn noise_alone_has_its_law_and_goes_with_no_other() {
    for (kind, noise) in [
        (SumKind::Tree, Noise::Gaussian),
        (SumKind::Tree, Noise::Laplace),
        (SumKind::Tree, Noise::L2Laplace),
        (SumKind::Octave, Noise::Gaussian),
        (SumKind::BLT, Noise::Gaussian),
    ] {
        let runs: Vec<_> = (0..40).map(|seed| all_noises(kind, noise, seed)).collect();
        for run in &runs {
            // To the last of thirty bits no two are the same, and none is zero.
            let bits = run
                .iter()
                .flatten()
                .map(|z| (z * f64::from(1 << 24)) as i64);
            let distinct: HashSet<i64> = bits.collect();
            assert!(
                distinct.len() + 2 >= 2 * run.len(),
                "{kind} {noise}: noise comes again"
            );
        }
        // The law, by Kolmogorov and Smirnov's distance: a false alarm in 10⁷.
        let mut sample: Vec<f64> = runs
            .iter()
            .flatten()
            .flat_map(|z| match noise {
                Noise::L2Laplace => vec![z.iter().map(|z| z * z).sum::<f64>().sqrt()],
                _ => z.clone(),
            })
            .collect();
        sample.sort_by(f64::total_cmp);
        let n = sample.len() as f64;
        let distance = (0..).zip(&sample).map(|(place, &z)| {
            let (share, expected) = (f64::from(place) / n, below(noise, z));
            (share - expected)
                .abs()
                .max((share + 1.0 / n - expected).abs())
        });
        let distance = distance.fold(0.0, f64::max);
        let bound = ((2.0_f64 / 1e-7).ln() / (2.0 * n)).sqrt();
        assert!(distance < bound, "{kind} {noise}: {distance} {bound}");
        // Signs, whose products are fair coins if noises are independent: every pair of rows, in
        // every pair of coordinates. (The two coordinates of one L2-Laplace vector depend on each
        // other, but not in their signs.)
        let signs: Vec<Vec<f64>> = runs
            .iter()
            .map(|run| run.iter().flatten().map(|z| z.signum()).collect())
            .collect();
        for i in 0..signs[0].len() {
            for j in 0..i {
                let sum: f64 = signs.iter().map(|run| run[i] * run[j]).sum();
                // All forty agree by chance once in 10¹²; of 50,000 pairs none has 39.
                assert!(
                    sum.abs() < 38.0,
                    "{kind} {noise}: numbers {i} and {j} go together"
                );
            }
        }
    }
}

/// The nodes of each generator of a run that has taken in so many items.
fn expected(rows: &Rows, kind: SumKind, releases: u64, items: u64) -> BTreeMap<u64, BTreeSet<u64>> {
    let mut streams: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for t in 1..=items {
        let mut add =
            |stream: u64, nodes: Vec<u64>| streams.entry(stream).or_default().extend(nodes);
        let terms = |cover: &dyn Cover, t| cover.terms(t).iter().map(|term| term.node).collect();
        match kind {
            SumKind::Tree => add(0, terms(&BinaryTree, t)),
            SumKind::PaddedTree => {
                add(0, terms(&BinaryTree, t));
                let total = u64::from(BinaryTree::most_terms(releases));
                let padding = u64::from(t.count_ones())..total;
                add(1, padding.map(|extra| t << 6 | extra).collect());
            }
            SumKind::Honaker => add(
                0,
                (0..=t.trailing_zeros())
                    .map(|l| t << 6 | u64::from(l))
                    .collect(),
            ),
            SumKind::Octave => {
                let octave = t.ilog2();
                add(
                    2 + u64::from(octave),
                    terms(&BinaryTree, t + 1 - (1 << octave)),
                );
            }
            SumKind::Blt(_) => add(0, vec![t]),
            _ => add(0, rows.terms(t)),
        }
    }
    streams.retain(|_, nodes| !nodes.is_empty());
    streams
}

/// After a stop, after a checkpoint, and with a journal that is too old, which begins a new
/// instance: each instance reads exactly the addresses of the items that it took in. So no address
/// meets two contents: a node's items are known from its address, and an instance's items are one
/// sequence.
#[test]
fn no_address_serves_two_contents() {
    const N: u64 = 20;
    const STOP: usize = 9;
    for kind in all_sums() {
        for noise in NOISES {
            if kind.accepts(noise).is_err() {
                continue;
            }
            for stop in [
                Stop::Never,
                Stop::Resumed(STOP),
                Stop::Checkpointed(STOP),
                Stop::Restored(STOP),
            ] {
                let (key, recorder) = Key::insecure_recorded(5);
                let cell = cell(N, kind, noise, 1);
                released(&cell, N, Pull::Other, &key, stop);
                let mut read: BTreeMap<[u8; 16], BTreeMap<u64, BTreeSet<u64>>> = BTreeMap::new();
                for address in recorder.take() {
                    let streams = read.entry(address.instance).or_default();
                    let stream = address.mechanism.checked_sub(128).unwrap();
                    streams.entry(stream).or_default().insert(address.node);
                }
                let of = |items: u64| expected(&cell.rows, kind, N, items);
                let mut wanted = match stop {
                    Stop::Restored(_) => vec![of(STOP as u64), of(N - STOP as u64)],
                    _ => vec![of(N)],
                };
                let mut read: Vec<_> = read.into_values().collect();
                let size = |streams: &BTreeMap<u64, BTreeSet<u64>>| {
                    streams.values().map(BTreeSet::len).sum::<usize>()
                };
                read.sort_by_key(size);
                wanted.sort_by_key(size);
                assert_eq!(read, wanted, "{kind} {noise} {stop:?}");
            }
        }
    }
}

/// Under one key the first release of one record less that of none is the record's integers: none
/// are longer than the radius, a batch's than so many radii.
#[test]
fn every_contribution_is_within_its_radius() {
    for entry in CATALOGUE {
        for noise in NOISES {
            let fits = entry.recipe.accepts(SumKind::PaddedTree, noise).is_ok();
            if !fits || !matches!(entry.mechanism, MechanismKind::Sum(_)) {
                continue;
            }
            for batch in [1, 4] {
                let cell = (SumKind::PaddedTree, noise);
                let (one, adjacency) = (1, Adjacency::ReplaceOne);
                let cell = OnSum::plan_for(3, entry.recipe, cell, adjacency, one, batch).unwrap();
                let plan = cell.recipe.plan();
                let unit = plan.request().bound / plan.radius() as f64;
                let key = Key::insecure_from_seed(8);
                let first = |pull: Pull| {
                    released(&cell, batch, |_| pull, &key, Stop::Never)
                        .values
                        .remove(0)
                };
                let noise_alone = first(Pull::Null);
                let pulls = [Pull::Low, Pull::High, Pull::Huge].into_iter();
                for pull in pulls.chain((0..7).map(Pull::Other)) {
                    let integers: Vec<i128> = first(pull)
                        .iter()
                        .zip(&noise_alone)
                        .map(|(with, without)| {
                            let cells = (with - without) / unit;
                            assert!(
                                (cells - cells.round()).abs() < 1e-3,
                                "{cells} is no integer"
                            );
                            cells.round() as i128
                        })
                        .collect();
                    let most = i128::from(plan.radius()) * i128::from(batch);
                    let inside = match noise {
                        Noise::Laplace => integers.iter().map(|x| x.abs()).sum::<i128>() <= most,
                        _ => integers.iter().map(|x| x * x).sum::<i128>() <= most * most,
                    };
                    assert!(
                        inside,
                        "{} {noise} {pull:?}: {integers:?}, {most}",
                        entry.name
                    );
                }
            }
        }
    }
}
