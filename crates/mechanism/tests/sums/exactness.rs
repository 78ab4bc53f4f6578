//! Releases are exactly "integer sum plus addressed noise", for any order and any split of the
//! additions.

use crate::game::*;
use hushstream_mechanism::sums::{
    BalancedDigits, BinaryTree, ConstantWeight, Cover, Noise, PrivateSum, SumKind, Window,
};
use hushstream_mechanism::{Contribution, Ledger, MemoryStorage, Participation, Raw, Windowed};
use hushstream_noise::{DiscreteLaplace, Instance, L2Laplace, RoundedGaussian, Source};

/// The documented map to the lattice, written again.
pub(crate) fn integers(contribution: &Contribution, bound: f64, radius: i64, l1: bool) -> Vec<i64> {
    let Contribution::Dense(values) = contribution else {
        panic!()
    };
    if values.iter().any(|v| !v.is_finite()) {
        return vec![0; values.len()];
    }
    let length: f64 = if l1 {
        values.iter().map(|v| v.abs()).sum()
    } else {
        values.iter().map(|v| v * v).sum::<f64>().sqrt()
    };
    let scale = radius as f64 / length.max(bound);
    values.iter().map(|v| (v * scale).trunc() as i64).collect()
}

pub(crate) fn node_noise(noise: Noise, source: &Source, node: u64) -> Vec<i64> {
    let mut out = vec![0; DIMENSION as usize];
    match noise {
        Noise::Gaussian => RoundedGaussian::STANDARD.fill(source, node, 0, &mut out),
        Noise::Laplace => DiscreteLaplace::new(1 << 30)
            .unwrap()
            .fill(source, node, 0, &mut out),
        Noise::L2Laplace => L2Laplace::new(DIMENSION, 1 << 30)
            .unwrap()
            .fill(source, node, 0, &mut out),
    }
    out
}

/// Regenerates every release from the exact sum and the noise of its cover, and compares.
#[test]
fn releases_are_exact_sums_plus_regenerated_noise() {
    const RELEASES: u64 = 70;
    for (kind, noise) in cells() {
        let power = if noise.is_pure() { 2 } else { 1 };
        let cover: Box<dyn Cover> = match kind {
            SumKind::Tree => Box::new(BinaryTree),
            SumKind::Smooth => {
                Box::new(ConstantWeight::cheapest(RELEASES, |w, d| w * d.powi(power)))
            }
            SumKind::Kary => Box::new(BalancedDigits::cheapest(RELEASES)),
            _ => continue, // in `regenerated.rs`; filters beside their code
        };
        let request = request(kind, noise, RELEASES);
        let (mut sum, mut ledger) = open(request);
        let radius = sum.plan().radius();
        let pending = sum.add(Raw::seal(item(1))).unwrap().unwrap();
        sum.sync(&mut ledger).unwrap();
        let receipt = sum.publish(pending).unwrap().receipt();
        assert!(receipt.simulated && receipt.step == 1);
        let source = Source::open(
            &key(),
            Instance::from_bytes(receipt.instance),
            receipt.mechanism * 128,
        );
        let mut exact = integers(&item(1), 2.0, radius, noise == Noise::Laplace);
        for (t, release) in (2..).zip(feed(&mut sum, &mut ledger, 2..=RELEASES)) {
            let mut expected = integers(&item(t), 2.0, radius, noise == Noise::Laplace);
            for (total, value) in exact.iter_mut().zip(&expected) {
                *total += value;
            }
            expected.clone_from(&exact);
            for term in cover.terms(t) {
                for (total, z) in expected
                    .iter_mut()
                    .zip(node_noise(noise, &source, term.node))
                {
                    *total += i64::from(term.sign) * z;
                }
            }
            let unit = 2.0 / radius as f64;
            let expected: Vec<f64> = expected.iter().map(|&v| v as f64 * unit).collect();
            assert_eq!(release, expected, "{kind} {noise} t={t}");
        }
    }
}

/// The time and thread of drawing change nothing: from the first step on, or from one in the
/// middle.
#[test]
fn noise_drawn_ahead_is_the_same_noise() {
    const RELEASES: u64 = 20_000; // several blocks of noise
    for (kind, noise) in cells() {
        let last = RELEASES.min(kind.most_releases());
        let (mut plain, mut ledger) = open(request(kind, noise, last));
        let expected = feed(&mut plain, &mut ledger, 1..=last);
        for from in [0, last * 5 / 8] {
            let (mut sum, mut ledger) = open(request(kind, noise, last));
            let mut releases = feed(&mut sum, &mut ledger, 1..=from);
            sum.draw_ahead();
            releases.extend(feed(&mut sum, &mut ledger, from + 1..=last));
            assert_eq!(releases, expected, "{kind} {noise} from {from}");
        }
    }
}

#[test]
fn a_wide_window_releases_what_the_tree_releases() {
    // Same key and address need the same instance: compare noise through the covers instead.
    let window = Window { width: 70 };
    for t in 1..=70 {
        assert_eq!(window.terms(t), BinaryTree.terms(t));
    }
    let plan = request(SumKind::Window(70), Noise::Gaussian, 70)
        .plan()
        .unwrap();
    let tree = request(SumKind::Tree, Noise::Gaussian, 70).plan().unwrap();
    assert_eq!(plan.radius(), tree.radius());
}

#[test]
fn windowed_sums_run_and_expire() {
    let plan = request(SumKind::Window(4), Noise::Gaussian, 30)
        .plan()
        .unwrap();
    let mut ledger = Ledger::simulated(
        budget(Noise::Gaussian),
        filter(Noise::Gaussian),
        plan.scope(),
    )
    .unwrap();
    let grant = ledger.debit(charge(&plan), plan.scope()).unwrap();
    let mut sum =
        PrivateSum::<Windowed>::open(plan, grant, &key(), &mut ledger, MemoryStorage::default())
            .unwrap();
    assert!(sum.guarantee().unwrap().to_string().contains("transcript"));
    for t in 1..=30 {
        let pending = sum.add(Raw::seal(item(t))).unwrap().unwrap();
        sum.sync(&mut ledger).unwrap();
        assert_eq!(sum.publish(pending).unwrap().receipt().step, t);
    }
}

/// Noise of every sum has mean zero and the promised size: 600 runs of 9 releases with different
/// keys.
#[test]
fn releases_have_the_promised_error() {
    const RUNS: u64 = 600;
    for (kind, noise) in cells() {
        let releases = 9;
        let plan = request(kind, noise, releases).plan().unwrap();
        let mut squares = vec![0.0; releases as usize];
        for seed in 0..RUNS {
            let mut ledger = ledger_for(noise);
            let grant = ledger.debit(charge(&plan), plan.scope()).unwrap();
            let key = hushstream_noise::Key::insecure_from_seed(seed);
            let mut sum = PrivateSum::open(
                plan.clone(),
                grant,
                &key,
                &mut ledger,
                MemoryStorage::default(),
            )
            .unwrap();
            let zero = || Raw::seal(Contribution::Null);
            for square in &mut squares {
                let pending = sum.add(zero()).unwrap().unwrap();
                sum.sync(&mut ledger).unwrap();
                let release: hushstream_mechanism::Released<_, hushstream_mechanism::Transcript> =
                    sum.publish(pending).unwrap();
                *square +=
                    release.value().iter().map(|v| v * v).sum::<f64>() / f64::from(DIMENSION);
            }
        }
        for (t, square) in (1..).zip(squares) {
            let ratio = (square / RUNS as f64).sqrt() / plan.prefix_sd(t);
            // Seeds are fixed. The mean of 1800 squares, whose kurtosis is at most 12, has a
            // relative deviation of 8 %, its root 4 %: six of them.
            assert!(
                (0.76..1.24).contains(&ratio),
                "{kind} {noise} t={t}: {ratio}"
            );
        }
    }
}

#[test]
fn batches_tick_when_they_are_full() {
    let mut request = request(SumKind::Tree, Noise::Gaussian, 5);
    request.batch = 3;
    let (mut sum, mut ledger) = open(request);
    for item_number in 1..=5_u64 {
        for record in 0..3 {
            let pending = sum.add(Raw::seal(item(item_number * 3 + record))).unwrap();
            assert_eq!(pending.is_some(), record == 2);
            if let Some(pending) = pending {
                assert_eq!(pending.step(), item_number);
                sum.sync(&mut ledger).unwrap();
                sum.publish(pending).unwrap();
            }
        }
    }
    assert!(sum.add(Raw::seal(item(1))).is_err());
}

/// A person's contributions beyond the limit are null: the release is what it would be without
/// them.
#[test]
fn contributions_beyond_a_persons_limit_are_null() {
    let mut request = request(SumKind::Tree, Noise::Gaussian, 6);
    request.participation = Participation::PerPerson {
        most: 2,
        separation: 2,
    };
    let (mut sum, mut ledger) = open(request);
    let radius = sum.plan().radius();
    let mut exact = [0_i64; DIMENSION as usize];
    // Person 7 at items 1, 2 (too close), 3, 5 (one too many); person 8 at 4 and 6.
    for (t, person, counts) in [
        (1, 7, true),
        (2, 7, false),
        (3, 7, true),
        (4, 8, true),
        (5, 7, false),
        (6, 8, true),
    ] {
        let pending = sum.add_for(person, Raw::seal(item(t))).unwrap().unwrap();
        sum.sync(&mut ledger).unwrap();
        let release = sum.publish(pending).unwrap();
        if counts {
            let values = integers(&item(t), 2.0, radius, false);
            exact
                .iter_mut()
                .zip(values)
                .for_each(|(total, v)| *total += v);
        }
        let receipt = release.receipt();
        let source = Source::open(
            &key(),
            Instance::from_bytes(receipt.instance),
            receipt.mechanism * 128,
        );
        let mut expected = exact;
        for term in BinaryTree.terms(t) {
            let noise = node_noise(Noise::Gaussian, &source, term.node);
            expected
                .iter_mut()
                .zip(noise)
                .for_each(|(total, z)| *total += z);
        }
        let unit = 2.0 / radius as f64;
        assert_eq!(release.into_value(), expected.map(|v| v as f64 * unit));
    }
    assert_eq!(*sum.counts().0.for_the_operator(), 2);
    assert!(sum.guarantee().unwrap().to_string().contains("person"));
    assert!(
        sum.add(Raw::seal(item(1))).is_err(),
        "the person must be named"
    );
}
