//! The code draws from the enumerated law; its marginals are those of multiplicative weights;
//! memory is one number per expert.

use crate::law::{Bug, law};
use crate::{Disk, open, request};
use hushstream_account::Budget;
use hushstream_mechanism::Raw;
use hushstream_mechanism::select::{Board, Horizon, Method, SelectPlan, SelectRequest};
use hushstream_noise::Key;

/// A pure price, which is quicker to compute: these tests open a run for every sample.
fn pure(method: Method, experts: u32, rounds: u64, batch: u64) -> SelectRequest {
    SelectRequest {
        budget: Budget::pure(1.0).unwrap(),
        ..request(method, experts, rounds, batch)
    }
}

/// How often each sequence of plays occurs in `runs` runs.
fn counts(plan: &SelectPlan, losses: &[Vec<f64>], runs: u64) -> Vec<u64> {
    let experts = plan.request().experts as usize;
    let items = losses.len() as u64 / plan.batch();
    let mut counts = vec![0; experts.pow(items as u32 + 1)];
    for seed in 0..runs {
        let key = Key::insecure_from_seed(seed);
        let (_, mut selection) = open(plan, &key, Disk::default());
        let mut index = selection.question() as usize;
        for losses in losses {
            if selection
                .add(None, Raw::seal(losses.clone()))
                .unwrap()
                .is_some()
            {
                index = index * experts + selection.question() as usize;
            }
        }
        counts[index] += 1;
    }
    counts
}

/// χ² of counts against a law, and its limit: mean plus six standard deviations and a half, for the
/// skewness (false alarm below 10⁻⁶ from 8 cells on).
fn chi_square(counts: &[u64], law: &[f64]) -> (f64, f64) {
    let runs: u64 = counts.iter().sum();
    let mut freedom = -1.0;
    let mut total = 0.0;
    for (&count, &p) in counts.iter().zip(law) {
        let expected = p * runs as f64;
        if p == 0.0 {
            assert_eq!(count, 0, "an impossible sequence of plays");
            continue;
        }
        assert!(
            expected > 5.0,
            "choose losses that leave every cell likely: {expected}"
        );
        total += (count as f64 - expected).powi(2) / expected;
        freedom += 1.0;
    }
    (total, freedom + 6.5 * (2.0_f64 * freedom).sqrt())
}

#[test]
fn plays_have_the_enumerated_law() {
    let losses = [vec![1.0, 0.0], vec![0.25, 0.75], vec![0.0, 1.0]];
    for (forced, resamples) in [(0.3, 1), (0.4, 3), (1.0, 3)] {
        let board = Board::new(0.6, forced, resamples).unwrap();
        let plan = pure(Method::Dartboard, 2, 4, 1).plan_with(board).unwrap();
        let law = law(&board, &losses, 2, Bug::None);
        let counts = counts(&plan, &losses, 20_000);
        let (total, limit) = chi_square(&counts, &law);
        assert!(total < limit, "{total} {limit}");
        // A law with another K, or another rate, does not pass.
        let other = Board::new(0.4, forced, resamples).unwrap();
        let wrong = crate::law::law(&other, &losses, 2, Bug::None);
        let (total, limit) = chi_square(&counts, &wrong);
        assert!(total > limit, "{total} {limit}");
    }
}

#[test]
fn batches_are_summed() {
    let losses = [
        vec![1.0, 0.0],
        vec![0.5, 0.0],
        vec![0.0, 1.0],
        vec![0.0, 0.25],
    ];
    let board = Board::new(0.4, 0.3, 2).unwrap();
    let plan = pure(Method::BatchedDartboard, 2, 6, 2)
        .plan_with(board)
        .unwrap();
    let sums = [vec![1.5, 0.0], vec![0.0, 1.25]];
    let (total, limit) = chi_square(
        &counts(&plan, &losses, 20_000),
        &law(&board, &sums, 2, Bug::None),
    );
    assert!(total < limit, "{total} {limit}");
}

/// As long as draws are left, the play after item t has the law of multiplicative weights, exactly
/// in the enumeration and within χ² in the code.
#[test]
fn marginals_are_multiplicative_weights() {
    let losses = [
        vec![1.0, 0.0, 0.5],
        vec![0.2, 1.0, 0.0],
        vec![0.0, 0.3, 1.0],
    ];
    let board = Board::new(0.8, 0.15, 3).unwrap();
    let plan = pure(Method::Dartboard, 3, 4, 1).plan_with(board).unwrap();
    let law = law(&board, &losses, 3, Bug::None);
    let counts = counts(&plan, &losses, 30_000);
    let mut totals = [0.0; 3];
    for (t, losses) in losses.iter().enumerate() {
        for (total, loss) in totals.iter_mut().zip(losses) {
            *total += loss;
        }
        let weights = totals.map(|total| (-board.rate() * total).exp());
        let hedge = weights.map(|weight| weight / weights.iter().sum::<f64>());
        let digit = 3_usize.pow(2 - t as u32);
        let (mut exact, mut seen) = ([0.0; 3], [0; 3]);
        for (index, (p, count)) in law.iter().zip(&counts).enumerate() {
            exact[index / digit % 3] += p;
            seen[index / digit % 3] += count;
        }
        for (exact, hedge) in exact.iter().zip(&hedge) {
            assert!((exact - hedge).abs() < 1e-12, "{exact} {hedge}");
        }
        let (total, _) = chi_square(&seen, &hedge);
        assert!(total < 27.6, "{total}"); // 10⁻⁶ at two degrees of freedom
    }
}

/// Octaves forget, limited updates choose from the last octave alone.
#[test]
fn epochs_are_disjoint() {
    let mut unknown = request(Method::Dartboard, 3, 1, 1);
    unknown.horizon = Horizon::Unknown;
    unknown.budget = Budget::pure(60.0).unwrap();
    let mut doubling = unknown.clone();
    doubling.method = Method::LimitedUpdates;
    let (unknown, doubling) = (unknown.plan().unwrap(), doubling.plan().unwrap());
    let mut uniform = [0_u64; 3];
    for seed in 0..300 {
        let key = Key::insecure_from_seed(seed);
        let (_, mut octaves) = open(&unknown, &key, Disk::default());
        let (_, mut limited) = open(&doubling, &key, Disk::default());
        for item in 1..=15_u32 {
            // Expert 0 is perfect in items 1–3, expert 1 in 4–7, expert 2 from 8 on.
            let best = [0, 0, 1, 2][item.ilog2() as usize];
            let mut losses = vec![1.0; 3];
            losses[best] = 0.0;
            octaves.add(None, Raw::seal(losses.clone())).unwrap();
            limited.add(None, Raw::seal(losses)).unwrap();
            if item == 3 || item == 7 || item == 15 {
                // With ε = 60 the choice is nearly certain: e^(−30·2) at most a time.
                assert_eq!(limited.question() as usize, best);
            }
        }
        uniform[octaves.question() as usize] += 1; // the first play of a new octave
    }
    let (total, _) = chi_square(&uniform, &[1.0 / 3.0; 3]);
    assert!(total < 27.6, "{uniform:?}");
}

/// A hundred thousand experts: the journal stays within a few loss vectors, checkpoints included,
/// and the plays go on.
#[test]
fn many_experts() {
    let plan = request(Method::Dartboard, 100_000, 100_000, 1)
        .plan()
        .unwrap();
    let storage = Disk::default();
    let (mut ledger, mut selection) = open(&plan, &Key::insecure_from_seed(1), storage.clone());
    let mut losses = vec![1.0; 100_000];
    losses[77] = 0.0;
    let mut most = 0;
    for _ in 0..60 {
        selection.add(None, Raw::seal(losses.clone())).unwrap();
        selection.sync(&mut ledger).unwrap();
        most = most.max(storage.len());
    }
    // Eight checkpoints' worth of items, each 4 bytes per expert, and the checkpoint.
    assert!(most < 10 * 8 * 100_000, "{most}");
}
