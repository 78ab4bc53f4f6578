//! Noise alone, addresses and radii: what a difference of two runs cannot see.
//!
//! An all-null stream releases noise and nothing else. A release is a known mixture of noises:
//! what is new in it is solved for. Its law is checked, and that no two, of any level, octave, row,
//! coordinate, life or run, go together. The recorder tells which addresses were read: each
//! instance reads the addresses of its own items, and no others. And what each address was read for
//! is written down beside it: the content that its noise was added to.

use crate::adapter::{
    Entry, OnAnswers, OnIterates, OnSolver, OnSparse, OnSum, OnValues, Play, Pull, RECORDS,
    RELEASES, Seen, Stop, all_sums,
};
use crate::sums::{ERAS, Rows, era};
use crate::tables::OnTables;
use hushstream_account::Adjacency;
use hushstream_mechanism::feedback::FeedbackNoise;
use hushstream_mechanism::losses::Link;
use hushstream_mechanism::sums::{BalancedDigits, BinaryTree, Cover, Noise, SumKind, Term, Window};
use hushstream_noise::{Address, Key, Recorder};
use hushstream_recipes::{CATALOGUE, MechanismKind, RecipeName};
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{Hash, Hasher};

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

/// Plays so many records with questions of this width, the reads of each taken down if somebody
/// listens.
fn replayed(
    (cell, width): (&dyn Play, usize),
    records: u64,
    pull: impl Fn(u64) -> Pull,
    (key, listens): (&Key, Option<&Recorder>),
    stop: Stop,
) -> Seen {
    let entry = |number| Entry {
        person: None,
        pull: pull(number),
    };
    let stream: Vec<Entry> = (1..=records).map(entry).collect();
    let path = Seen {
        questions: vec![vec![0.0; width]; stream.len()],
        listens: listens.cloned(),
        ..Seen::default()
    };
    cell.play(&stream, Some(&path), key, stop)
}

/// The same with two numbers a question, and nobody listens.
fn released(
    cell: &dyn Play,
    records: u64,
    pull: impl Fn(u64) -> Pull,
    key: &Key,
    stop: Stop,
) -> Seen {
    replayed((cell, 2), records, pull, (key, None), stop)
}

/// Generator and node of a noise.
type Node = (u64, u64);

/// Release t of so many as a mixture of noises of scale 1, in the units of the data.
fn mixture(rows: &Rows, kind: SumKind, releases: u64, t: u64) -> BTreeMap<Node, f64> {
    let scale = rows.scales[0];
    let signed = |terms: Vec<Term>| -> BTreeMap<Node, f64> {
        let terms = terms.into_iter();
        let terms = terms.map(|term| ((0, term.node), f64::from(term.sign) * scale));
        terms.collect()
    };
    let in_octave = |octave: u32, items: u64| {
        let terms = BinaryTree.terms(items).into_iter();
        let scale = rows.scales[octave as usize];
        terms.map(move |term| ((2 + u64::from(octave), term.node), scale))
    };
    match kind {
        SumKind::Tree => signed(BinaryTree.terms(t)),
        SumKind::PaddedTree => {
            let mut all = signed(BinaryTree.terms(t));
            all.extend(padding(releases, t).map(|node| ((1, node), scale)));
            all
        }
        SumKind::Honaker => {
            let mut all = BTreeMap::new();
            let mut left = t;
            while left > 0 {
                helped(left.trailing_zeros(), left, scale, &mut all);
                left &= left - 1;
            }
            all
        }
        SumKind::Octave => {
            let octave = t.ilog2();
            let past = (0..octave).flat_map(|m| in_octave(m, 1 << m));
            past.chain(in_octave(octave, t + 1 - (1 << octave)))
                .collect()
        }
        SumKind::Fresh => (1..=t).map(|item| ((0, item), scale)).collect(),
        _ => signed(rows.terms(t)),
    }
}

/// The padding of release t.
fn padding(releases: u64, t: u64) -> impl Iterator<Item = u64> {
    let total = u64::from(BinaryTree::most_terms(releases));
    (u64::from(t.count_ones())..total).map(move |extra| t << 6 | extra)
}

/// Honaker's estimate of a node: its own noise, and the estimates of its halves.
fn helped(level: u32, end: u64, weight: f64, all: &mut BTreeMap<Node, f64>) {
    let own = 0.5 / (1.0 - 0.5_f64.powi(level as i32 + 1));
    all.insert((0, end << 6 | u64::from(level)), weight * own);
    if let Some(below) = level.checked_sub(1) {
        for end in [end - (1 << below), end] {
            helped(below, end, weight * (1.0 - own), all);
        }
    }
}

/// A lower triangle L that makes releases of new noises: LLᵀ is their covariance. For a tree, where
/// each release brings one noise, these are the noises themselves.
struct Solved(Vec<Vec<f64>>);

impl Solved {
    fn of(mixtures: &[BTreeMap<Node, f64>]) -> Self {
        let dot = |a: &BTreeMap<Node, f64>, b: &BTreeMap<Node, f64>| -> f64 {
            let common = a.iter().filter_map(|(node, x)| b.get(node).map(|y| x * y));
            common.sum()
        };
        let mut lower: Vec<Vec<f64>> = Vec::new();
        for (t, mixture) in mixtures.iter().enumerate() {
            let mut row = Vec::new();
            for s in 0..t {
                let known: f64 = row.iter().zip(&lower[s]).map(|(a, b)| a * b).sum();
                row.push((dot(mixture, &mixtures[s]) - known) / lower[s][s]);
            }
            let (all, known) = (
                dot(mixture, mixture),
                row.iter().map(|x| x * x).sum::<f64>(),
            );
            assert!(all - known > 1e-6 * all, "release {t} brings no noise");
            row.push((all - known).sqrt());
            lower.push(row);
        }
        Self(lower)
    }

    fn noises(&self, releases: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let mut found: Vec<Vec<f64>> = Vec::new();
        for (row, release) in self.0.iter().zip(releases) {
            let mut rest = release.clone();
            for (share, noise) in row.iter().zip(&found) {
                rest.iter_mut()
                    .zip(noise)
                    .for_each(|(r, z)| *r -= share * z);
            }
            rest.iter_mut().for_each(|r| *r /= row[found.len()]);
            found.push(rest);
        }
        found
    }
}

/// From releases to new noises.
type Solve<'a> = dyn Fn(&[Vec<f64>]) -> Vec<Vec<f64>> + 'a;

/// A stream whose journal is lost, once.
#[derive(Clone, Copy)]
struct Lost {
    records: u64,
    /// The last record of the first life, and its releases.
    at: usize,
    releases: usize,
    /// Whether the second life goes on from the last release that its journal knew.
    goes_on: bool,
}

impl Lost {
    /// The releases of both lives, each from zero.
    fn lives(self, releases: &[Vec<f64>]) -> [Vec<Vec<f64>>; 2] {
        let (first, second) = releases.split_at(self.releases);
        let mut second = second.to_vec();
        if self.goes_on {
            let base = &releases[self.releases - 2];
            for release in &mut second {
                release.iter_mut().zip(base).for_each(|(r, b)| *r -= b);
            }
        }
        [first.to_vec(), second]
    }
}

/// Of two lives of a run under one key, and of a second run: all their noises.
fn all_noises(runs: [&dyn Play; 2], lost: Lost, solve: &Solve<'_>, seed: u64) -> Vec<Vec<f64>> {
    let key = Key::insecure_from_seed(seed);
    let play = |cell, stop| released(cell, lost.records, |_| Pull::Null, &key, stop).values;
    let [first, second] = lost.lives(&play(runs[0], Stop::Restored(lost.at)));
    let other = play(runs[1], Stop::Never);
    let parts = [first, second, other];
    parts.iter().flat_map(|part| solve(part)).collect()
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

/// What is known of noises.
#[derive(PartialEq)]
enum Known {
    Law,
    /// Of several noises each is a mixture.
    Variance,
}

/// Noises of forty runs or more, of scale 1.
fn check(what: &str, noise: Noise, known: &Known, runs: &[Vec<Vec<f64>>]) {
    assert!(!runs[0].is_empty(), "{what}: no noise");
    for run in runs {
        // To the last of thirty bits no two are the same, and none is zero.
        let bits = run.iter().flatten();
        let bits: Vec<i64> = bits.map(|z| (z * f64::from(1 << 24)) as i64).collect();
        let distinct: HashSet<i64> = bits.iter().copied().collect();
        assert!(
            distinct.len() + 2 >= bits.len(),
            "{what}: noise comes again"
        );
    }
    let all = || runs.iter().flatten();
    if *known == Known::Variance {
        let squares: Vec<f64> = all().flatten().map(|z| z * z).collect();
        let mean = squares.iter().sum::<f64>() / squares.len() as f64;
        let share = mean / noise.variance(runs[0][0].len() as u32);
        assert!((0.9..1.1).contains(&share), "{what}: {share} of a variance");
    } else {
        // By Kolmogorov and Smirnov's distance: a false alarm in 10⁷.
        let mut sample: Vec<f64> = all()
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
        assert!(distance < bound, "{what}: {distance} {bound}");
    }
    // Products of noises so many rows apart have mean 0. The seeds are fixed; seven standard
    // deviations are allowed.
    for lag in 1..runs[0].len() {
        let pairs = runs.iter().flat_map(|run| run.iter().zip(&run[lag..]));
        let products = pairs.flat_map(|(a, b)| a.iter().zip(b).map(|(a, b)| a * b));
        let products: Vec<f64> = products.collect();
        let n = products.len() as f64;
        let variance = noise.variance(runs[0][0].len() as u32);
        let mean = products.iter().sum::<f64>() / (n * variance);
        assert!(
            mean.abs() * n.sqrt() < 7.0,
            "{what}: {lag} rows apart, {mean}"
        );
    }
    // Signs, whose products are fair coins if noises are independent: every pair of rows, in every
    // pair of coordinates. (The two coordinates of one L2-Laplace vector depend on each other, but
    // not in their signs.)
    let signs: Vec<Vec<f64>> = runs
        .iter()
        .map(|run| run.iter().flatten().map(|z| z.signum()).collect())
        .collect();
    for i in 0..signs[0].len() {
        for j in 0..i {
            let sum: f64 = signs.iter().map(|run| run[i] * run[j]).sum();
            // All forty agree by chance once in 10¹²; of 50,000 pairs none has 39. Of more runs 7.2
            // standard deviations are allowed: once in 10¹⁰ for one pair, by Hoeffding's bound.
            let n = runs.len() as f64;
            let bound = (7.2 * n.sqrt()).min(n - 2.0);
            assert!(sum.abs() < bound, "{what}: numbers {i} and {j} go together");
        }
    }
}

/// Noise alone of sums of one kind: a run, and a second one under the same key.
fn check_sum(
    runs: [&dyn Play; 2],
    rows: &Rows,
    (kind, noise): (SumKind, Noise),
    (lost, seeds): (Lost, u64),
) {
    let one = matches!(
        kind,
        SumKind::Tree
            | SumKind::Octave
            | SumKind::Blt(_)
            | SumKind::Fresh
            | SumKind::Dense(_)
            | SumKind::Eras
    );
    let solve: Box<Solve<'_>> = if rows.are_weighted() {
        let scaled = |row: Vec<f64>| row.iter().map(|v| v / rows.scales[0]).collect();
        Box::new(move |releases| rows.rows(releases).into_iter().map(scaled).collect())
    } else {
        let mixtures = (1..=lost.records).map(|t| mixture(rows, kind, lost.records, t));
        let solved = Solved::of(&mixtures.collect::<Vec<_>>());
        Box::new(move |releases| solved.noises(releases))
    };
    let noises = (0..seeds).map(|seed| all_noises(runs, lost, &solve, seed));
    let noises: Vec<_> = noises.collect();
    // New noises of Gaussian mixtures are Gaussian, too.
    let known = if one || noise == Noise::Gaussian {
        Known::Law
    } else {
        Known::Variance
    };
    check(&runs[0].name(), noise, &known, &noises);
}

#[test]
fn noise_alone_has_its_law_and_goes_with_no_other() {
    let lost = Lost {
        records: LONG,
        at: LOST,
        releases: LOST,
        goes_on: true,
    };
    for kind in all_sums() {
        for noise in NOISES {
            if kind.accepts(noise).is_err() {
                continue;
            }
            let (first, second) = (cell(LONG, kind, noise, 1), cell(LONG, kind, noise, 2));
            check_sum([&first, &second], &first.rows, (kind, noise), (lost, 40));
        }
    }
}

/// Streams that are not long have more seeds.
const SHORT: Lost = Lost {
    records: RELEASES,
    at: 9,
    releases: 9,
    goes_on: true,
};
const SEEDS: u64 = 240;

#[test]
fn values_have_noise_of_their_own() {
    for kind in all_sums() {
        for noise in NOISES {
            if RecipeName::PftalBandit.accepts(kind, noise).is_err() {
                continue;
            }
            let cell = |number| {
                let mut cell = OnValues::plan(kind, noise, Adjacency::ReplaceOne, 1).unwrap();
                cell.number = number;
                cell
            };
            let (first, second) = (cell(1), cell(2));
            check_sum(
                [&first, &second],
                &first.rows,
                (kind, noise),
                (SHORT, SEEDS),
            );
        }
    }
}

#[test]
fn curves_and_tables_have_noise_of_their_own() {
    for kind in all_sums() {
        for noise in [Noise::Gaussian, Noise::Laplace] {
            if RecipeName::Tables.accepts(kind, noise).is_err() {
                continue;
            }
            let (first, second) = (
                OnTables::small(kind, noise, 1),
                OnTables::small(kind, noise, 2),
            );
            check_sum(
                [&first, &second],
                &first.rows,
                (kind, noise),
                (SHORT, SEEDS),
            );
        }
    }
}

#[test]
fn sparse_models_have_noise_of_their_own() {
    let cell = |number| {
        let mut cell = OnSparse::plan(Adjacency::ReplaceOne, 4).unwrap();
        cell.number = number;
        cell
    };
    let (first, second) = (cell(1), cell(2));
    // A second life begins at zero.
    let lost = Lost {
        goes_on: false,
        ..SHORT
    };
    let tree = (SumKind::Tree, Noise::Gaussian);
    check_sum([&first, &second], &first.rows, tree, (lost, SEEDS));
}

/// An octave's point is the one before it and the noises of its phases, which are drawn once more
/// from their addresses: so no phase lacks its noise, and none has another scale. The noise of all
/// phases of an octave is one number, whose law is tested as that of sums.
#[test]
fn phases_have_noise_of_their_own() {
    let runs = noises_of_phases(Noise::Gaussian);
    check("limited-updates", Noise::Gaussian, &Known::Law, &runs);
    // Pure noise is only compared: the sum of several has no law that is at hand.
    noises_of_phases(Noise::L2Laplace);
}

fn noises_of_phases(noise: Noise) -> Vec<Vec<Vec<f64>>> {
    const AT: usize = 31;
    let cell = |number| {
        let replace = Adjacency::ReplaceOne;
        let mut cell = OnSolver::plan(Link::Huber(0.5), noise, replace, (1, 1)).unwrap();
        cell.number = number;
        cell
    };
    let (first, second) = (cell(1), cell(2));
    let deviation = |size: u64| {
        let squares = first.sigmas(size).into_iter().map(|sigma| sigma * sigma);
        squares.sum::<f64>().sqrt()
    };
    // Of an instance, whose first octave is one record that is not used.
    let noises = |points: &[Vec<f64>]| -> Vec<Vec<f64>> {
        assert_eq!(points[0], [0.0]);
        let pairs = (1..).zip(points.windows(2));
        let noises = pairs.map(|(octave, pair)| (pair[1][0] - pair[0][0]) / deviation(1 << octave));
        noises.map(|noise| vec![noise]).collect()
    };
    let run = |seed| {
        let key = Key::insecure_from_seed(seed);
        let play = |cell, stop| released(cell, LONG, |_| Pull::Null, &key, stop).values;
        let (lives, other) = (play(&first, Stop::Restored(AT)), play(&second, Stop::Never));
        let (before, after) = lives.split_at(5);
        let parts = [before, after, &other].map(noises);
        for (cell, part) in [(&first, &parts[0]), (&second, &parts[2])] {
            for (octave, noise) in (1..).zip(part) {
                let drawn = cell.noise(1 << octave, &key) / deviation(1 << octave);
                let difference = (noise[0] - drawn).abs();
                assert!(difference < 1e-6, "octave {octave}: {noise:?}, {drawn}");
            }
        }
        parts.concat()
    };
    let runs: Vec<_> = (0..SEEDS).map(run).collect();
    assert_eq!(runs[0].len(), 4 + 4 + 5);
    runs
}

/// Nodes that each instance read, of one generator; the instance that read least first.
fn read_alone(recorder: &Recorder) -> Vec<BTreeSet<u64>> {
    let mut read: BTreeMap<[u8; 16], BTreeSet<u64>> = BTreeMap::new();
    for address in recorder.take() {
        assert_eq!(
            address.mechanism, 128,
            "a generator that is not the noise's"
        );
        read.entry(address.instance)
            .or_default()
            .insert(address.node);
    }
    let mut read: Vec<_> = read.into_values().collect();
    read.sort_by_key(BTreeSet::len);
    read
}

/// The same with an action and a point a question.
fn alone(cell: &dyn Play, records: u64, pull: fn(u64) -> Pull, key: &Key, stop: Stop) -> Seen {
    replayed((cell, 3), records, pull, (key, None), stop)
}

/// As for sums: each answer has a noise of its own, at the address of its item.
#[test]
fn answers_have_noise_of_their_own() {
    const LOST_ITEM: u64 = 5;
    let recipes = [
        (RecipeName::Exp2, 1),
        (RecipeName::Exp2Batched, 4),
        (RecipeName::Scrible, 1),
    ];
    for (recipe, batch) in recipes {
        for (noise, law) in [
            (FeedbackNoise::Gaussian, Noise::Gaussian),
            (FeedbackNoise::Laplace, Noise::Laplace),
        ] {
            let cell =
                OnAnswers::plan(recipe, noise, Adjacency::ReplaceOne, (batch, 1), true).unwrap();
            let (null, scale) = cell.null_and_scale();
            let (records, at) = (RECORDS * batch, (LOST_ITEM * batch) as usize);
            let run = |seed| {
                let key = Key::insecure_from_seed(seed);
                let seen = alone(&cell, records, |_| Pull::Null, &key, Stop::Restored(at));
                let noises = seen.values.iter().map(|v| vec![(v[0] - null) / scale]);
                noises.collect::<Vec<_>>()
            };
            let runs: Vec<_> = (0..40).map(run).collect();
            assert_eq!(runs[0].len() as u64, RECORDS);
            check(&cell.name(), law, &Known::Law, &runs);
            for stop in [
                Stop::Never,
                Stop::Resumed(at),
                Stop::Checkpointed(at),
                Stop::Restored(at),
            ] {
                let (key, recorder) = Key::insecure_recorded(5);
                alone(&cell, records, Pull::Other, &key, stop);
                let wanted: Vec<BTreeSet<u64>> = match stop {
                    Stop::Restored(_) => vec![
                        (1..=LOST_ITEM).collect(),
                        (1..=RECORDS - LOST_ITEM).collect(),
                    ],
                    _ => vec![(1..=RECORDS).collect()],
                };
                assert_eq!(read_alone(&recorder), wanted, "{} {stop:?}", cell.name());
            }
        }
    }
}

/// As for sums: each iterate has a noise of its own, at the address of its step.
#[test]
fn iterates_have_noise_of_their_own() {
    const AT: usize = 5;
    for entry in CATALOGUE {
        if entry.mechanism != MechanismKind::Iterate {
            continue;
        }
        for noise in [Noise::Gaussian, Noise::L2Laplace] {
            let adjacency = Adjacency::ReplaceOne;
            let cell = OnIterates::plan(entry.recipe, noise, adjacency, 1, 2).unwrap();
            let (all, at) = (cell.needs_all(), AT as u64);
            let noisy = |steps: u64| (1..=steps).filter(|&t| cell.scale(t) > 0.0);
            let lost = if all { Stop::Never } else { Stop::Restored(AT) };
            let run = |seed| {
                let key = Key::insecure_from_seed(seed);
                let values = alone(&cell, RECORDS, |_| Pull::Null, &key, lost).values;
                let steps: Vec<u64> = if all {
                    noisy(RECORDS).collect()
                } else {
                    (1..=at).chain(1..=RECORDS - at).collect()
                };
                assert_eq!(steps.len(), values.len(), "{}", cell.name());
                let noises = steps.into_iter().zip(values);
                let noises = noises.filter(|&(t, _)| cell.scale(t) > 0.0);
                noises
                    .map(|(t, value)| value.iter().map(|v| v / cell.scale(t)).collect())
                    .collect::<Vec<Vec<f64>>>()
            };
            let runs: Vec<_> = (0..40).map(run).collect();
            check(&cell.name(), noise, &Known::Law, &runs);
            for stop in [Stop::Never, Stop::Resumed(AT), lost] {
                let (key, recorder) = Key::insecure_recorded(5);
                alone(&cell, RECORDS, Pull::Other, &key, stop);
                let wanted: Vec<BTreeSet<u64>> = match stop {
                    Stop::Restored(_) => vec![noisy(at).collect(), noisy(RECORDS - at).collect()],
                    _ => vec![noisy(RECORDS).collect()],
                };
                assert_eq!(read_alone(&recorder), wanted, "{} {stop:?}", cell.name());
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
                add(1, padding(releases, t).collect());
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
            SumKind::Eras => {
                let (era, row) = era(t);
                add(2 + era as u64, vec![row]);
            }
            SumKind::Blt(_) | SumKind::Fresh | SumKind::Dense(_) | SumKind::NormalisedBlt(_) => {
                add(0, vec![t]);
            }
            _ => add(0, rows.terms(t).iter().map(|term| term.node).collect()),
        }
    }
    streams.retain(|_, nodes| !nodes.is_empty());
    streams
}

/// What each address was read for: a digest of the content that its noise was added to.
#[derive(Default)]
struct Contents(BTreeMap<Address, u64>);

impl Contents {
    fn serve(&mut self, address: Address, content: &[f64], what: &str) {
        let mut digest = DefaultHasher::new();
        for value in content {
            value.to_bits().hash(&mut digest);
        }
        let digest = digest.finish();
        let known = *self.0.entry(address).or_insert(digest);
        assert_eq!(known, digest, "{what}: {address:?} serves two contents");
    }
}

/// The content of a node of one generator, from what an instance's releases hold without their
/// noise.
type Content<'a> = dyn Fn(u64, u64, &[Vec<f64>]) -> Vec<f64> + 'a;

/// Two neighbouring runs under one key and in one ledger, each plain, resumed, after a checkpoint
/// and after the loss of its journal. For every record it is written down which addresses were
/// read, and for what. What a release holds is its difference from that of an all-null stream under
/// the same key, which holds noise alone. No address serves two contents. Where each record has a
/// noise, it is that of its own place.
fn one_content_each(
    runs: [&dyn Play; 2],
    width: usize,
    (lost, may_lose): (Lost, bool),
    content: &Content<'_>,
    is_each: bool,
) {
    let (key, recorder) = Key::insecure_recorded(5);
    let mut contents = Contents::default();
    for (number, cell) in (1..).zip(runs) {
        let pull = |t: u64| match (t, number) {
            (2, 2) => Pull::High,
            _ if t % 4 == 2 => Pull::Low,
            _ => Pull::Other(t),
        };
        for stop in [
            Stop::Never,
            Stop::Resumed(lost.at),
            Stop::Checkpointed(lost.at),
            Stop::Restored(lost.at),
        ] {
            let restored = stop == Stop::Restored(lost.at);
            if restored && !may_lose {
                continue;
            }
            let what = format!("{}, run {number}, {stop:?}", cell.name());
            let listening = (&key, Some(&recorder));
            let seen = replayed((cell, width), lost.records, pull, listening, stop);
            let nothing = replayed((cell, width), lost.records, |_| Pull::Null, listening, stop);
            assert_eq!(seen.read_for.len() as u64, lost.records, "{what}");
            let held = seen.minus(&nothing);
            let lives = if restored {
                lost.lives(&held)
            } else {
                [held, Vec::new()]
            };
            for (record, reads) in (1..).zip(&seen.read_for) {
                let life = &lives[usize::from(restored && record > lost.at)];
                // Coins of a player are no noise: they decide a play, and the play is public.
                let noises = reads.iter().filter(|address| address.mechanism < COINS);
                for address in noises {
                    // At a resume, noise of earlier records is drawn again.
                    if is_each && (record != lost.at || stop == Stop::Never) {
                        let own = record
                            - if restored && record > lost.at {
                                lost.at
                            } else {
                                0
                            };
                        assert_eq!(address.node, own as u64, "{what}: record {record}");
                    }
                    let stream = address.mechanism % 128;
                    contents.serve(*address, &content(stream, address.node, life), &what);
                }
            }
        }
    }
    let all: HashSet<u64> = contents.0.values().copied().collect();
    assert!(all.len() > 1, "{}: contents are told apart", runs[0].name());
}

/// The first generator of coins: those of mechanisms are far below.
const COINS: u64 = 1 << 62;

/// The items of a node, added up; a filter's row.
fn content_of_sum<'a>(rows: &'a Rows, kind: SumKind, releases: u64) -> Box<Content<'a>> {
    Box::new(move |stream, node, prefixes| {
        // Draws of several nodes are filled up to whole vectors with nodes that end before the
        // first item: their noise is in no release.
        let is_dyadic = matches!(
            kind,
            SumKind::Tree | SumKind::PaddedTree | SumKind::Honaker | SumKind::Octave
        );
        if node == 0 || is_dyadic && node >> 6 == 0 {
            return vec![0.0; prefixes[0].len()];
        }
        let (before, (first, last)) = match (kind, stream) {
            (SumKind::Blt(_) | SumKind::Dense(_) | SumKind::NormalisedBlt(_), _) => {
                return rows.rows(prefixes)[node as usize - 1].clone();
            }
            (SumKind::Eras, stream) => {
                let before = ERAS[..stream as usize - 2].iter().map(|(items, _)| items);
                let row = before.sum::<u64>() + node - 1;
                return rows.rows(prefixes)[row as usize].clone();
            }
            (SumKind::PaddedTree, 1) => (0, (1, node >> 6)),
            (SumKind::Tree | SumKind::PaddedTree, _) => (0, BinaryTree.items(node)),
            (SumKind::Honaker, _) => {
                let (end, level) = (node >> 6, node & 63);
                (0, (end + 1 - (1 << level), end))
            }
            (SumKind::Octave, stream) => ((1 << (stream - 2)) - 1, BinaryTree.items(node)),
            (SumKind::Fresh, _) => (0, (node, node)),
            (SumKind::Smooth, _) => (0, rows.code().items(node)),
            (SumKind::Kary, _) => (0, BalancedDigits::cheapest(releases).items(node)),
            (SumKind::Window(width), _) => (0, Window { width }.items(node)),
        };
        // A node of a code or a window may reach beyond the last release: there is nothing.
        let last = (before + last).min(prefixes.len() as u64) as usize;
        let until = |item: usize| match item {
            0 => vec![0.0; prefixes[0].len()],
            item => prefixes[item - 1].clone(),
        };
        let (from, to) = (until((before + first) as usize - 1), until(last));
        to.iter().zip(from).map(|(to, from)| to - from).collect()
    })
}

/// Every address that two runs, a resumed one and one from an old copy read serves one content.
#[test]
fn no_address_serves_two_contents() {
    let adjacency = Adjacency::ReplaceOne;
    for kind in all_sums() {
        for noise in NOISES {
            if kind.accepts(noise).is_ok() {
                let run = |number| cell(RELEASES, kind, noise, number);
                let (first, second) = (run(1), run(2));
                let content = content_of_sum(&first.rows, kind, RELEASES);
                one_content_each([&first, &second], 2, (SHORT, true), &content, false);
            }
            if RecipeName::Tables.accepts(kind, noise).is_ok() {
                let run = |number| OnTables::small(kind, noise, number);
                let (first, second) = (run(1), run(2));
                let content = content_of_sum(&first.rows, kind, RELEASES);
                one_content_each([&first, &second], 2, (SHORT, true), &content, false);
            }
            if RecipeName::PftalBandit.accepts(kind, noise).is_ok() {
                let run = |number| {
                    let mut cell = OnValues::plan(kind, noise, adjacency, 1).unwrap();
                    cell.number = number;
                    cell
                };
                let (first, second) = (run(1), run(2));
                let content = content_of_sum(&first.rows, kind, RELEASES);
                one_content_each([&first, &second], 2, (SHORT, true), &content, false);
            }
        }
    }
    let anew = Lost {
        goes_on: false,
        ..SHORT
    };
    let sparse = |number| {
        let mut cell = OnSparse::plan(adjacency, 4).unwrap();
        cell.number = number;
        cell
    };
    let (first, second) = (sparse(1), sparse(2));
    let content = content_of_sum(&first.rows, SumKind::Tree, RELEASES);
    one_content_each([&first, &second], 2, (anew, true), &content, false);
    let items = Lost {
        records: RECORDS,
        at: 5,
        releases: 5,
        goes_on: false,
    };
    // Every bandit answers by this mechanism.
    for noise in [FeedbackNoise::Gaussian, FeedbackNoise::Laplace] {
        let answers = |number| {
            let mut cell =
                OnAnswers::plan(RecipeName::Exp2, noise, adjacency, (1, 1), true).unwrap();
            cell.number = number;
            cell
        };
        let content: &Content<'_> = &|_, item, life| life[item as usize - 1].clone();
        one_content_each([&answers(1), &answers(2)], 3, (items, true), content, true);
    }
}

/// The same of iterates and of the phases of a solver.
#[test]
fn no_address_of_iterates_or_phases_serves_two_contents() {
    let adjacency = Adjacency::ReplaceOne;
    let items = Lost {
        records: RECORDS,
        at: 5,
        releases: 5,
        goes_on: false,
    };
    for entry in CATALOGUE {
        if entry.mechanism != MechanismKind::Iterate {
            continue;
        }
        for noise in [Noise::Gaussian, Noise::L2Laplace] {
            let iterates = |number| {
                let mut cell = OnIterates::plan(entry.recipe, noise, adjacency, 1, 2).unwrap();
                cell.number = number;
                cell
            };
            let (first, second) = (iterates(1), iterates(2));
            let all = first.needs_all();
            let step = |step: u64| if all { 0 } else { step as usize - 1 };
            let content: &Content<'_> = &|_, node, life| life[step(node)].clone();
            one_content_each([&first, &second], 2, (items, !all), content, !all);
        }
    }
    // An octave's point, for each of its phases.
    let solver = |noise, number| {
        let mut cell = OnSolver::plan(Link::Huber(0.5), noise, adjacency, (1, 1)).unwrap();
        cell.number = number;
        cell
    };
    let octaves = Lost {
        records: RELEASES,
        at: 7,
        releases: 3,
        goes_on: false,
    };
    let content: &Content<'_> = &|_, node, life| life[(node >> 8) as usize].clone();
    for noise in [Noise::Gaussian, Noise::L2Laplace] {
        let cells = [solver(noise, 1), solver(noise, 2)];
        let cells = [&cells[0] as &dyn Play, &cells[1]];
        one_content_each(cells, 2, (octaves, true), content, false);
    }
}

/// After a stop, after a checkpoint, and with a journal that is too old, which begins a new
/// instance: each instance reads exactly the addresses of the items that it took in.
#[test]
fn every_instance_reads_the_addresses_of_its_items() {
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
            // What tables and decisions add is checked beside them, bit by bit.
            let is_table = entry.recipe == RecipeName::Tables || entry.recipe.decides();
            if !fits || is_table || !matches!(entry.mechanism, MechanismKind::Sum(_)) {
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
