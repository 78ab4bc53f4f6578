//! Private feedback: its noise and price, coming back after a stop, and the planted bug of vector noise.
#![allow(clippy::unwrap_used)]

use hushstream_account::{Adjacency, Budget, Charge};
use hushstream_mechanism::feedback::{
    Answers, FeedbackNoise, FeedbackPlan, FeedbackRequest, Range,
};
use hushstream_mechanism::{CameBack, FileStorage, Ledger, MemoryStorage, Raw};
use hushstream_noise::Key;

fn plan(range: Range, budget: Budget, batch: u64) -> FeedbackPlan {
    FeedbackRequest {
        range,
        batch,
        rounds: Some(100_000),
        noise: None,
        adjacency: Adjacency::ReplaceOne,
        budget,
    }
    .plan()
    .unwrap()
}

fn ledger(plan: &FeedbackPlan) -> Ledger {
    Ledger::simulated(plan.request().budget, plan.filter(), plan.scope()).unwrap()
}

#[test]
fn the_price_is_the_budget_and_the_scale_is_the_ranges() {
    let pure = Budget::pure(0.5).unwrap();
    for (range, width) in [(Range::ZeroTo(3.0), 3.0), (Range::Symmetric(3.0), 6.0)] {
        for batch in [1, 4] {
            let plan = plan(range, pure, batch);
            let Charge::Pure(price) = plan.charge().unwrap().charge else {
                panic!("Laplace noise has a pure price");
            };
            assert!(price.get() <= 0.5 && price.get() > 0.5 - 1e-8);
            let scale = width / 0.5 / batch as f64;
            assert!((plan.scale() / scale - 1.0).abs() < 1e-8);
            assert!((plan.variance() / (2.0 * scale * scale) - 1.0).abs() < 1e-7);
        }
    }
    let gaussian = plan(Range::ZeroTo(1.0), Budget::approx(1.0, 1e-6).unwrap(), 1);
    assert_eq!(gaussian.noise(), FeedbackNoise::Gaussian);
    assert!((gaussian.scale() - 4.2247).abs() < 1e-3);
    assert!(gaussian.guarantee(false).unwrap().delta() <= 1e-6 * (1.0 + 1e-9));
}

/// Mean and variance of 20,000 answers; the limits are six standard deviations (false alarm below 10⁻⁸), and the seed is fixed besides.
#[test]
fn noise_is_centred_and_of_the_stated_size() {
    for (budget, batch) in [
        (Budget::pure(1.0).unwrap(), 1),
        (Budget::pure(1.0).unwrap(), 3),
        (Budget::approx(1.0, 1e-6).unwrap(), 1),
    ] {
        let plan = plan(Range::Symmetric(2.0), budget, batch);
        let mut ledger = ledger(&plan);
        let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
        let (key, storage) = (Key::insecure_from_seed(1), MemoryStorage::default());
        let mut answers = Answers::open(plan.clone(), grant, &key, &mut ledger, storage).unwrap();
        let runs = 20_000;
        let mut pending = Vec::new();
        for _ in 0..runs * batch {
            pending.extend(answers.answer(Raw::seal(0.75)).unwrap());
        }
        answers.sync(&mut ledger).unwrap();
        let values: Vec<f64> = pending
            .into_iter()
            .map(|pending| answers.publish(pending).unwrap().into_value())
            .collect();
        assert_eq!(values.len(), 20_000);
        let mean = values.iter().sum::<f64>() / runs as f64;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / runs as f64;
        let error = (plan.variance() / runs as f64).sqrt();
        assert!((mean - 0.75).abs() < 6.0 * error, "{mean}");
        // Kurtosis 6 for Laplace: the variance of the variance is 5σ⁴/n.
        let spread = (5.0 / runs as f64).sqrt();
        assert!((variance / plan.variance() - 1.0).abs() < 6.0 * spread);
    }
}

#[test]
fn a_stop_anywhere_changes_nothing() {
    let plan = plan(Range::ZeroTo(1.0), Budget::pure(1.0).unwrap(), 2);
    let key = Key::insecure_from_seed(2);
    let values: Vec<f64> = (0..60).map(|i| f64::from(i % 7) / 5.0).collect();
    let run = |stops: bool| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        let mut ledger = ledger(&plan);
        let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
        let storage = FileStorage::open(&path).unwrap();
        let mut answers = Answers::open(plan.clone(), grant, &key, &mut ledger, storage).unwrap();
        let mut out = Vec::new();
        for (index, &value) in values.iter().enumerate() {
            let Some(pending) = answers.answer(Raw::seal(value)).unwrap() else {
                continue;
            };
            answers.sync(&mut ledger).unwrap();
            out.push(answers.publish(pending).unwrap().into_value());
            if stops {
                if index % 5 == 0 {
                    answers.checkpoint(Vec::new()).unwrap();
                }
                drop(answers);
                let storage = FileStorage::open(&path).unwrap();
                let back = Answers::resume(storage, &key, &mut ledger, None, |_| true).unwrap();
                assert_eq!(back.outcome, CameBack::Continued);
                answers = back.answers;
            }
        }
        (out, *answers.counts().1.for_the_operator())
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn malformed_answers_are_null() {
    let plan = plan(Range::ZeroTo(1.0), Budget::pure(1.0).unwrap(), 1);
    let mut ledger = ledger(&plan);
    let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
    let (key, storage) = (Key::insecure_from_seed(3), MemoryStorage::default());
    let mut answers = Answers::open(plan, grant, &key, &mut ledger, storage).unwrap();
    let _ = answers.answer(Raw::seal(f64::NAN)).unwrap();
    let _ = answers.answer_arm(7, Raw::seal(vec![0.5; 3])).unwrap();
    let _ = answers
        .answer_linear(&[1.0], Raw::seal(vec![0.5; 3]))
        .unwrap();
    let _ = answers.answer(Raw::seal(7.0)).unwrap();
    let (nulls, clipped) = answers.counts();
    assert_eq!(
        (*nulls.for_the_operator(), *clipped.for_the_operator()),
        (3, 1)
    );
}

/// ln of the density of a sum of n Laplace variables of scale 1 at x.
fn ln_density(n: u32, x: f64) -> f64 {
    let ln_factorial = |k: u32| (1..=k).map(|i| f64::from(i).ln()).sum::<f64>();
    let terms: Vec<f64> = (0..n)
        .map(|k| {
            ln_factorial(n - 1 + k) - ln_factorial(k) - ln_factorial(n - 1 - k)
                + f64::from(n - 1 - k) * x.abs().max(1e-300).ln()
                - f64::from(k) * 2_f64.ln()
        })
        .collect();
    let most = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = terms.iter().map(|term| (term - most).exp()).sum();
    most + sum.ln() - x.abs() - ln_factorial(n - 1) - f64::from(n) * 2_f64.ln()
}

/// The paper's ⟨Z, play⟩ with λ = 2B/ε, B = max|l_i| = 1, losses in the unit ball, N = 16 and the play (¼, …, ¼) (erratum A4): the answers −1 and 1 have a likelihood ratio that
/// tends to e^(4ε). Scalar noise of the range of ⟨l, play⟩ has e^ε.
#[test]
fn vector_noise_is_caught() {
    let epsilon = 1.0_f64;
    let (n, lambda, entry) = (16, 2.0 / epsilon, 0.25);
    let scale = lambda * entry; // each Z_i·¼ is Laplace of this scale
    let shift = 2.0 / scale;
    let loss = |x: f64| ln_density(n, x) - ln_density(n, x + shift);
    let worst = (0..4000).map(f64::from).map(loss).fold(0.0, f64::max);
    assert!(
        worst > 3.9 * epsilon && worst < 4.0 * epsilon + 1e-9,
        "{worst}"
    );
    // On the unit vectors it is what it claims, and so is scalar noise everywhere.
    let on_unit = (0..4000)
        .map(f64::from)
        .map(|x| ln_density(1, x) - ln_density(1, x + 2.0 / lambda))
        .fold(0.0, f64::max);
    assert!((on_unit - epsilon).abs() < 1e-9, "{on_unit}");
    let plan = plan(Range::Symmetric(1.0), Budget::pure(epsilon).unwrap(), 1);
    assert!((2.0 / plan.scale() - epsilon).abs() < 1e-8);
}
