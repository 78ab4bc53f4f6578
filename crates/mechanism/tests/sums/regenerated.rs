//! Padded trees, Honaker's estimate and octaves: every release, regenerated from exact sums and
//! from noise at its documented addresses, each of its own. Levels and octaves go up to 8, so that
//! none of them can share its noise with another.

use crate::exactness::{integers, node_noise};
use crate::game::*;
use hushstream_mechanism::Raw;
use hushstream_mechanism::sums::{BinaryTree, Cover, Noise, SumKind, SumRequest};
use hushstream_noise::{Instance, Source};
use std::collections::BTreeSet;

const RELEASES: u64 = 300;
const BOUND: f64 = 2.0;
/// The generators of a mechanism: its own, the padding's, the first octave's.
const MAIN: u64 = 0;
const PADDING: u64 = 1;
const OCTAVES: u64 = 2;

/// Noise of the sum under test, and the addresses that were read.
struct Noises {
    noise: Noise,
    instance: Instance,
    mechanism: u64,
    read: BTreeSet<(u64, u64)>,
}

impl Noises {
    fn at(&mut self, stream: u64, node: u64) -> Vec<i64> {
        self.read.insert((stream, node));
        let source = Source::open(&key(), self.instance, self.mechanism * 128 + stream);
        node_noise(self.noise, &source, node)
    }
}

/// The releases of a sum, and where its noise comes from.
fn released(request: SumRequest) -> (Vec<Vec<f64>>, Noises) {
    let noise = request.noise;
    let (mut sum, mut ledger) = open(request);
    let pending = sum.add(Raw::seal(item(1))).unwrap().unwrap();
    sum.sync(&mut ledger).unwrap();
    let first = sum.publish(pending).unwrap();
    let receipt = first.receipt();
    let noises = Noises {
        noise,
        instance: Instance::from_bytes(receipt.instance),
        mechanism: receipt.mechanism,
        read: BTreeSet::new(),
    };
    let mut releases = vec![first.into_value()];
    releases.extend(feed(&mut sum, &mut ledger, 2..=RELEASES));
    (releases, noises)
}

/// Exact sums of items 1…t for t = 0…n.
fn prefixes(noise: Noise, radius: i64) -> Vec<Vec<i64>> {
    let mut sums = vec![vec![0; DIMENSION as usize]];
    for t in 1..=RELEASES {
        let mut sum = sums[t as usize - 1].clone();
        let values = integers(&item(t), BOUND, radius, noise == Noise::Laplace);
        sum.iter_mut().zip(values).for_each(|(sum, v)| *sum += v);
        sums.push(sum);
    }
    sums
}

fn assert_close(got: &[f64], expected: &[f64], unit: f64, what: &str) {
    for (got, expected) in got.iter().zip(expected) {
        // Floats add up to far less than one unit; another noise is 2³⁰ of them away.
        assert!((got - expected).abs() < unit, "{what}: {got} {expected}");
    }
}

/// Σ_{digits of t} of the best estimates, from the noisy nodes of all levels.
#[test]
fn honaker_estimates_come_from_nodes_with_a_noise_each() {
    for noise in [Noise::Gaussian, Noise::Laplace, Noise::L2Laplace] {
        let request = request(SumKind::Honaker, noise, RELEASES);
        let radius = request.clone().plan().unwrap().radius();
        let (releases, mut noises) = released(request);
        let (sums, unit) = (prefixes(noise, radius), BOUND / radius as f64);
        let mut estimates: Vec<Vec<Vec<f64>>> = Vec::new(); // estimates[level][index]
        for level in 0..=RELEASES.ilog2() {
            let nodes = (1..=RELEASES >> level).map(|index| {
                let (end, start) = ((index << level) as usize, (index - 1) << level);
                let weight = 1.0 / (2.0 - 2_f64.powi(-(level as i32)));
                let noise = noises.at(MAIN, (end as u64) << 6 | u64::from(level));
                (0..DIMENSION as usize)
                    .map(|i| {
                        let own = (sums[end][i] - sums[start as usize][i] + noise[i]) as f64;
                        if level == 0 {
                            return own;
                        }
                        let below = &estimates[level as usize - 1];
                        let children =
                            below[2 * index as usize - 2][i] + below[2 * index as usize - 1][i];
                        weight * own + (1.0 - weight) * children
                    })
                    .collect()
            });
            let nodes = nodes.collect();
            estimates.push(nodes);
        }
        for (t, release) in (1_u64..).zip(&releases) {
            let mut expected = vec![0.0; DIMENSION as usize];
            for level in (0..64).filter(|level| t >> level & 1 == 1) {
                let node = &estimates[level][(t >> level) as usize - 1];
                expected
                    .iter_mut()
                    .zip(node)
                    .for_each(|(sum, v)| *sum += v * unit);
            }
            assert_close(release, &expected, unit, &format!("{noise} t={t}"));
        }
        // One address for each of the ⌊n/2ʲ⌋ nodes of level j.
        let nodes: u64 = (0..=8).map(|level| RELEASES >> level).sum();
        assert_eq!(noises.read.len() as u64, nodes);
    }
}

/// Octave m is a tree of its own: its own radius, its own generator.
#[test]
fn octaves_have_a_generator_each() {
    for noise in [Noise::Gaussian, Noise::Laplace, Noise::L2Laplace] {
        let request = request(SumKind::Octave, noise, RELEASES);
        // The radius of an octave, from the error that a plan for it promises.
        let radius = |octave: u32| {
            let mut request = request.clone();
            request.releases = 1 << octave;
            let deviation = 2_f64.powi(30) * noise.variance(DIMENSION).sqrt();
            (BOUND * deviation / request.plan().unwrap().node_sigma()).round() as i64
        };
        let (releases, mut noises) = released(request.clone());
        let mut past = vec![0.0; DIMENSION as usize];
        for octave in 0..=8 {
            let (first, radius) = (1_u64 << octave, radius(octave));
            let (sums, unit) = (prefixes(noise, radius), BOUND / radius as f64);
            let mut expected = past.clone();
            for t in first..(2 * first).min(RELEASES + 1) {
                expected.clone_from(&past);
                let mut total = sums[t as usize].clone();
                let before = &sums[first as usize - 1];
                total.iter_mut().zip(before).for_each(|(a, b)| *a -= b);
                for term in BinaryTree.terms(t - first + 1) {
                    let drawn = noises.at(OCTAVES + u64::from(octave), term.node);
                    total.iter_mut().zip(drawn).for_each(|(a, z)| *a += z);
                }
                expected
                    .iter_mut()
                    .zip(total)
                    .for_each(|(a, v)| *a += v as f64 * unit);
                let what = format!("{noise} t={t}");
                assert_close(&releases[t as usize - 1], &expected, unit, &what);
            }
            past = expected;
        }
        // One noise per release, each at its own address.
        assert_eq!(noises.read.len() as u64, RELEASES);
    }
}

/// Padding comes from a generator of its own, at addresses that no other release reads.
#[test]
fn padding_is_noise_of_its_own() {
    for noise in [Noise::Gaussian, Noise::Laplace, Noise::L2Laplace] {
        let request = request(SumKind::PaddedTree, noise, RELEASES);
        let radius = request.clone().plan().unwrap().radius();
        let (releases, mut noises) = released(request);
        let (sums, unit) = (prefixes(noise, radius), BOUND / radius as f64);
        for (t, release) in (1_u64..).zip(&releases) {
            let mut total = sums[t as usize].clone();
            let terms = BinaryTree.terms(t);
            let own = terms.iter().map(|term| (MAIN, term.node));
            // 300 has nine digits, 255 the most ones: eight.
            let padding = (terms.len() as u64..8).map(|extra| (PADDING, t << 6 | extra));
            for (stream, node) in own.chain(padding) {
                let drawn = noises.at(stream, node);
                total.iter_mut().zip(drawn).for_each(|(a, z)| *a += z);
            }
            let expected: Vec<f64> = total.iter().map(|&v| v as f64 * unit).collect();
            assert_eq!(*release, expected, "{noise} t={t}");
        }
    }
}
