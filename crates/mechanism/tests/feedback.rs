//! Private feedback: its noise and price, nulls, resuming after a stop, and the paper's vector
//! noise.
#![allow(clippy::unwrap_used)]

use hushstream_account::{Adjacency, Budget, Charge};
use hushstream_mechanism::feedback::{
    Answers, Ask, FeedbackError, FeedbackNoise, FeedbackPlan, FeedbackRequest, Range, Reading,
};
use hushstream_mechanism::losses::{
    Bounds, Features, LinearModel, Link, Loss, Record, Regularised,
};
use hushstream_mechanism::{
    CameBack, FileStorage, Ledger, MemoryStorage, Participation, Pending, Raw, Transcript,
};
use hushstream_noise::Key;
use std::sync::Arc;

fn plan(range: Range, budget: Budget, batch: u64) -> FeedbackPlan {
    FeedbackRequest {
        range,
        batch,
        rounds: Some(100_000),
        noise: None,
        adjacency: Adjacency::ReplaceOne,
        budget,
        participation: Participation::OncePerRecord,
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

/// Mean and variance of 20,000 answers; the limits are six standard deviations (false alarm below
/// 10⁻⁸), and the seed is fixed besides.
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
            pending.extend(answers.answer(None, Raw::seal(0.75)).unwrap());
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
            let Some(pending) = answers.answer(None, Raw::seal(value)).unwrap() else {
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
                answers = back.run;
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
    let _ = answers.answer(None, Raw::seal(f64::NAN)).unwrap();
    let _ = answers
        .answer_arm(None, 7, Raw::seal(vec![0.5; 3]))
        .unwrap();
    let _ = answers
        .answer_linear(None, &[1.0], Raw::seal(vec![0.5; 3]))
        .unwrap();
    let _ = answers.answer(None, Raw::seal(7.0)).unwrap();
    let (nulls, clipped) = answers.counts();
    assert_eq!(
        (*nulls.for_the_operator(), *clipped.for_the_operator()),
        (3, 1)
    );
}

/// The release of one batch; the noise is the same for all.
fn released(plan: &FeedbackPlan, mut give: impl FnMut(&mut Answers, u64) -> Given) -> f64 {
    let mut ledger = ledger(plan);
    let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
    let (key, storage) = (Key::insecure_from_seed(9), MemoryStorage::default());
    let mut answers = Answers::open(plan.clone(), grant, &key, &mut ledger, storage).unwrap();
    let mut pending = None;
    for k in 0..plan.request().batch {
        pending = give(&mut answers, k).unwrap();
    }
    answers.sync(&mut ledger).unwrap();
    answers
        .publish(pending.unwrap())
        .unwrap_or_else(|_| panic!("a sync has covered it"))
        .into_value()
}

type Given = Result<Option<Pending<f64, Transcript>>, FeedbackError>;

/// Every pair of contents of a table, a product and a log, nulls among them, by what leaves:
/// neighbours are never farther apart than the charged ε says, and some are as far as that (in a
/// log under zero-out the whole range is charged, and a null is half a loss away from its end).
#[test]
fn neighbours_are_as_far_apart_as_is_charged() {
    let nan = f64::NAN;
    let dense = |values: &[f64]| {
        Raw::seal(Record {
            features: Features::Dense(values.to_vec()),
            target: 0.0,
        })
    };
    let table = Reading::table(2, 0.0, 1.0).unwrap();
    let log = Reading::log(2, 0.0, 1.0, 4.0).unwrap();
    // The last of each is the null record.
    let tables = [0.0, 0.3, 1.0, 7.0, nan].map(|end| vec![end, 1.0]).to_vec();
    let products = [-7.0, -1.0, 0.2, 2.0, nan].map(|end| vec![end, 0.0]);
    let mut rows = vec![vec![0.0, 1.0, 1.0, 0.25]];
    for loss in [0.0, 0.5, 1.0, nan] {
        rows.extend([0.25, 0.5, nan].map(|propensity| vec![1.0, 0.0, loss, propensity]));
    }
    rows.push(vec![nan, 0.0, nan, nan]);
    for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
        for batch in [1, 3] {
            for (range, contents) in [
                (table.range(), &tables[..]),
                (Range::Symmetric(2.0), &products[..]),
                (log.range(), &rows[..]),
            ] {
                let plan = FeedbackRequest {
                    range,
                    batch,
                    rounds: Some(3),
                    noise: None,
                    adjacency,
                    budget: Budget::pure(0.5).unwrap(),
                    participation: Participation::OncePerRecord,
                }
                .plan()
                .unwrap();
                let of = |content: &Vec<f64>| {
                    released(&plan, |answers, k| {
                        // The others of a batch are null.
                        let others = &contents[contents.len() - 1];
                        let content = if k == 0 { content } else { others };
                        match range {
                            Range::ZeroTo(_) => {
                                answers.answer_record(None, &table, Ask::Arm(0), dense(content))
                            }
                            Range::Symmetric(_) => {
                                answers.answer_linear(None, &[1.0, 0.0], Raw::seal(content.clone()))
                            }
                            Range::Weighted(_) => {
                                answers.answer_record(None, &log, Ask::Arm(0), dense(content))
                            }
                        }
                    })
                };
                let values: Vec<f64> = contents.iter().map(of).collect();
                let null = values[values.len() - 1];
                let others = match adjacency {
                    Adjacency::ReplaceOne => &values[..],
                    Adjacency::ZeroOut => &[null][..],
                };
                let pairs = values
                    .iter()
                    .flat_map(|a| others.iter().map(move |b| a - b));
                let loss = pairs.map(f64::abs).fold(0.0, f64::max) / plan.scale();
                let expected = match (range, adjacency) {
                    (Range::Weighted(_), Adjacency::ZeroOut) => 0.5 * 3.5 / 4.0,
                    _ => 0.5,
                };
                assert!(
                    loss <= expected + 1e-6 && loss > expected - 1e-6,
                    "{range:?}, {adjacency:?}, batch of {batch}: {loss}"
                );
            }
        }
    }
}

/// A loss may give a malformed record the value 0, also under a regulariser: that is no perfect
/// answer.
#[test]
fn a_malformed_record_of_a_loss_is_null() {
    let bounds = Bounds::new(1.0, (-1.0, 1.0), 2.0).unwrap();
    let model = Arc::new(LinearModel::new(2, Link::Logistic, bounds).unwrap());
    let regularised: Arc<dyn Loss> = Arc::new(Regularised::new(model.clone(), 0.5, 2.0).unwrap());
    let plan = plan(Range::ZeroTo(3.0), Budget::pure(1000.0).unwrap(), 1);
    for loss in [model as Arc<dyn Loss>, regularised] {
        let answer = released(&plan, |answers, _| {
            let record = Record {
                features: Features::Dense(vec![1.0, f64::NAN]),
                target: 1.0,
            };
            answers.answer_loss(None, loss.as_ref(), &[0.1, 0.1], Raw::seal(record))
        });
        assert!((answer - 1.5).abs() < 0.1, "{answer}");
    }
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

/// The paper's ⟨Z, play⟩ (erratum A4), losses in the unit ball and plays (a, …, a) of length 1.
/// With its own B = max|⟨l, play⟩|/‖play‖∞ the printed λ = B/ε loses 2ε, for every N, and 2B/ε
/// loses ε. What the unit vectors have for B, max|l_i|, is too small for other plays: 4ε at N = 16,
/// with the 2 in place.
#[test]
fn vector_noise_is_short_by_two_for_every_play() {
    let epsilon = 1.0_f64;
    let loss = |n: u32, lambda: f64| {
        // Each Z_i·a is Laplace of scale λa; the answers are −1 and 1.
        let shift = 2.0 / (lambda / f64::from(n).sqrt());
        let at = |x: f64| ln_density(n, x) - ln_density(n, x + shift);
        (0..4000)
            .map(|k| at(5.0 * f64::from(k)))
            .fold(0.0, f64::max)
    };
    for n in [1, 4, 16] {
        let entry = 1.0 / f64::from(n).sqrt();
        let b = 1.0 / entry;
        let (printed, doubled) = (loss(n, b / epsilon), loss(n, 2.0 * b / epsilon));
        assert!((printed - 2.0 * epsilon).abs() < 0.01, "N = {n}: {printed}");
        assert!(printed < 2.0 * epsilon + 1e-9, "N = {n}: {printed}");
        assert!((doubled - epsilon).abs() < 0.01 && doubled < epsilon + 1e-9);
        let misread = loss(n, 2.0 / epsilon);
        assert!(
            (misread - epsilon / entry).abs() < 0.02,
            "N = {n}: {misread}"
        );
    }
    // Scalar noise of the same range is as private, with a variance that is 1/N of vector noise's.
    let plan = plan(Range::Symmetric(1.0), Budget::pure(epsilon).unwrap(), 1);
    assert!((2.0 / plan.scale() - epsilon).abs() < 1e-8);
}
