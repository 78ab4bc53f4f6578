use super::*;
use crate::boundary::Grant;
use crate::durable::{CameBack, MemoryStorage, NoStorage};
use crate::losses::Loss;
use crate::persons::Participation;
use crate::sums::{Geometry, Noise, PrivateSum, SumKind, SumRequest};
use crate::{Transcript, losses::LinearModel};
use hushstream_account::{Adjacency, Budget, FilterKind};
use hushstream_noise::Key;

const DIMENSION: u32 = 64;

fn plan(releases: u64) -> SumPlan {
    let request = SumRequest {
        kind: SumKind::Tree,
        noise: Noise::Gaussian,
        releases,
        dimension: DIMENSION,
        bound: 1.0,
        geometry: Geometry::Ball,
        least_sigma: 0.0,
        batch: 1,
        adjacency: Adjacency::ReplaceOne,
        participation: Participation::OncePerRecord,
        budget: Budget::approx(8.0, 1e-6).unwrap(),
    };
    request.plan().unwrap()
}

fn task() -> (Link, Bounds, Rule) {
    let bounds = Bounds::new(1.0, (-1.0, 1.0), 8.0).unwrap();
    (Link::Logistic, bounds, Rule::new(0.05, 1.0).unwrap())
}

fn whole(plan: &SumPlan) -> SparsePlan {
    let (link, bounds, rule) = task();
    SparsePlan::new(plan.clone(), link, bounds, rule).unwrap()
}

fn record(t: u64) -> Record {
    let first = (t * 7 % 50) as u32;
    let features = Features::Sparse(vec![(first, 0.9), (first + 3, -0.7), (first + 11, 0.4)]);
    let target = if t.is_multiple_of(3) { 1.0 } else { -1.0 };
    Record { features, target }
}

fn paid(plan: &SumPlan) -> (Ledger, Grant) {
    let request = plan.request();
    let mut ledger = Ledger::simulated(request.budget, FilterKind::Gaussian, plan.scope()).unwrap();
    let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
    (ledger, grant)
}

/// Dense rows of a table are learned like the same records in sparse form.
#[test]
fn rows_of_a_table_are_records_too() {
    let plan = plan(20);
    let key = Key::insecure_from_seed(4);
    let model = |dense: bool| {
        let (mut ledger, grant) = paid(&plan);
        let mut learner =
            SparseLearner::open(whole(&plan), grant, &key, &mut ledger, NoStorage).unwrap();
        let mut said = Vec::new();
        for t in 1..=20 {
            let mut record = record(t);
            if dense {
                let mut values = vec![0.0; DIMENSION as usize];
                record.features.add_to(&mut values);
                record.features = Features::Dense(values);
            }
            let record = Raw::seal(record);
            said.push(learner.predict(&record).for_the_operator().to_bits());
            learner.learn(record, None).unwrap();
        }
        assert_eq!(*learner.counts().0.for_the_operator(), 0);
        said.extend(
            learner
                .model(&mut ledger)
                .unwrap()
                .into_value()
                .dense()
                .iter()
                .map(|weight| weight.to_bits()),
        );
        said
    };
    assert_eq!(model(true), model(false));
}

/// The lazy learner is the dense tree with the same key: every prediction, and the model, bit for
/// bit.
#[test]
fn reading_a_few_coordinates_equals_releasing_all() {
    let rounds = 300;
    let plan = plan(rounds);
    let key = Key::insecure_from_seed(4);
    let (mut ledger, grant) = paid(&plan);
    let (link, bounds, rule) = task();
    let mut lazy = SparseLearner::open(whole(&plan), grant, &key, &mut ledger, NoStorage).unwrap();
    let (mut other, grant) = paid(&plan);
    let mut dense = PrivateSum::<Transcript>::open(
        plan.clone(),
        grant,
        &key,
        &mut other,
        MemoryStorage::default(),
    )
    .unwrap();
    let loss = LinearModel::new(DIMENSION as usize, link, bounds).unwrap();
    let mut weights = vec![0.0; DIMENSION as usize];
    for t in 1..=rounds {
        let record = record(t);
        let Features::Sparse(entries) = &record.features else {
            panic!()
        };
        let norm = record.features.norm();
        let shrink = if norm > 1.0 { 1.0 / norm } else { 1.0 };
        let score = shrink
            * entries
                .iter()
                .map(|&(i, x)| x * weights[i as usize])
                .sum::<f64>();
        let predicted = lazy.learn(Raw::seal(record.duplicate()), None).unwrap();
        assert_eq!(
            predicted.for_the_operator().to_bits(),
            score.to_bits(),
            "{t}"
        );
        assert!(loss.lipschitz() <= 1.0);
        let pending = dense
            .add_gradient(None, &loss, &weights, Raw::seal(record))
            .unwrap();
        dense.sync(&mut other).unwrap();
        let released = dense.publish(pending.unwrap()).ok().unwrap();
        weights = released
            .value()
            .iter()
            .map(|&sum| rule.weight(sum))
            .collect();
    }
    let model = lazy.model(&mut ledger).unwrap();
    assert_eq!(model.into_value().dense(), weights);
    assert!(
        lazy.learn(Raw::seal(record(1)), None).is_err(),
        "release n + 1"
    );
    assert!(lazy.guarantee().unwrap().is_simulated());
}

#[test]
fn untouched_coordinates_carry_noise_and_thresholds_come_after_it() {
    let plan = plan(20);
    let key = Key::insecure_from_seed(5);
    let (mut ledger, grant) = paid(&plan);
    let mut learner =
        SparseLearner::open(whole(&plan), grant, &key, &mut ledger, NoStorage).unwrap();
    for t in 0..15 {
        learner.learn(Raw::seal(record(t)), None).unwrap();
    }
    let bad = Record {
        features: Features::Sparse(vec![(DIMENSION, 1.0)]),
        target: 1.0,
    };
    learner.learn(Raw::seal(bad), None).unwrap();
    assert_eq!(*learner.counts().0.for_the_operator(), 1);
    let model = learner.model(&mut ledger).unwrap().into_value();
    let all = model.clone().dense();
    assert!(all.iter().all(|weight| weight.abs() > 0.0));
    let kept = model.thresholded();
    assert!(kept.iter().filter(|weight| weight.abs() > 0.0).count() < 32);
}

/// Stopped and resumed, the model is the same; under another rule the journal is refused.
#[test]
fn resuming_equals_never_having_stopped() {
    use crate::durable::FileStorage;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let plan = plan(40);
    let key = Key::insecure_from_seed(6);
    let weights = |stop: Option<u64>| {
        let (mut ledger, grant) = paid(&plan);
        let _ = std::fs::remove_file(&path);
        let storage = FileStorage::open(&path).unwrap();
        let mut learner =
            SparseLearner::open(whole(&plan), grant, &key, &mut ledger, storage).unwrap();
        for t in 0..30 {
            if stop == Some(t) {
                learner.sync(&mut ledger).unwrap();
                drop(learner);
                let (link, bounds, _) = task();
                let rule = Rule::new(0.06, 1.0).unwrap();
                let other = SparsePlan::new(plan.clone(), link, bounds, rule).unwrap();
                let storage = FileStorage::open(&path).unwrap();
                let refused =
                    SparseLearner::resume_with(other, storage, &key, &mut ledger, None, |_| true);
                assert!(refused.is_err());
                let storage = FileStorage::open(&path).unwrap();
                let given = whole(&plan);
                let back =
                    SparseLearner::resume_with(given, storage, &key, &mut ledger, None, |_| true)
                        .unwrap();
                assert_eq!(back.outcome, CameBack::Continued);
                learner = back.run;
            }
            learner.learn(Raw::seal(record(t)), None).unwrap();
        }
        learner.model(&mut ledger).unwrap().into_value().dense()
    };
    let whole = weights(None);
    for stop in [1, 13, 29] {
        assert_eq!(weights(Some(stop)), whole);
    }
}

#[test]
fn plans_of_other_sums_are_refused() {
    let mut request = plan(9).request().clone();
    request.kind = SumKind::BLT;
    let (link, bounds, rule) = task();
    let refused = SparsePlan::new(request.plan().unwrap(), link, bounds, rule);
    assert!(matches!(refused, Err(SparseError::Unfit(_))));
}
