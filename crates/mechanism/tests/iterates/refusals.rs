//! Configurations without a proof are refused by name.

use hushstream_account::{Adjacency, Budget, Charge, FilterKind};
use hushstream_mechanism::losses::{Bounds, Distance, Features, LinearModel, Link, Loss, Record};
use hushstream_mechanism::perturb::*;
use hushstream_mechanism::sums::Noise;
use hushstream_mechanism::{
    DiaryError, Ledger, MemoryStorage, Participation, Raw, Transcript, Windowed,
};
use hushstream_noise::Key;
use hushstream_sets::{Ball, ConvexSet, Spectrahedron, VertexPolytope};
use std::sync::Arc;

fn ball(dimension: usize) -> Arc<dyn ConvexSet> {
    Arc::new(Ball::new(dimension, 1.0).unwrap())
}

fn model(link: Link) -> LinearModel {
    let bounds = Bounds::new(1.0, (-1.0, 1.0), 1.0).unwrap();
    LinearModel::new(3, link, bounds).unwrap()
}

fn constant(alpha: f64) -> Curvature {
    Curvature::constant(alpha).unwrap()
}

fn request(timing: Timing) -> PerturbRequest {
    let explicit = model(Link::Logistic).explicit().unwrap();
    PerturbRequest {
        learner: Arc::new(ImplicitDescent::new(explicit, ball(3), constant(1.0)).unwrap()),
        timing,
        weighting: Weighting::Lipschitz,
        noise: Noise::Gaussian,
        adjacency: Adjacency::ReplaceOne,
        participation: Participation::OncePerRecord,
        budget: Budget::approx(1.0, 1e-6).unwrap(),
    }
}

fn message<T>(result: Result<T, PerturbError>) -> String {
    result.err().unwrap().to_string()
}

#[test]
fn losses_and_sets_without_a_proof() {
    let explicit = |link| model(link).explicit().unwrap();
    let wrong = ImplicitDescent::new(explicit(Link::Logistic), ball(2), constant(1.0));
    assert!(message(wrong).contains("3 weights, the set 2 dimensions"));
    let corners = GradientDescent::new(
        explicit(Link::Hinge),
        ball(3),
        constant(1.0),
        StepSize::Corrected,
    );
    assert!(message(corners).contains("pigd"));
    let points = [
        vec![1.0, 0.0, 0.0],
        vec![0.0, 1.0, 0.0],
        vec![0.0, 0.0, 1.0],
    ];
    let polytope: Arc<dyn ConvexSet> = Arc::new(VertexPolytope::new(&points).unwrap());
    let unknown = ImplicitDescent::new(explicit(Link::Logistic), polytope, constant(1.0));
    assert!(message(unknown).contains("not known beforehand"));
    let matrices: Arc<dyn ConvexSet> = Arc::new(Spectrahedron::new(3).unwrap());
    let size = matrices.dimension();
    let distance = Distance::new(size, 1.0, 1.0).unwrap();
    assert!(Leader::new(distance.clone(), matrices, 0.0).is_err());
    assert!(Leader::new(distance, ball(size), f64::NAN).is_err());
    // The squared distance is 1-strongly convex by itself: less cannot be assumed of it.
    let own = Distance::new(3, 1.0, 1.0).unwrap().explicit().unwrap();
    let less = ImplicitDescent::new(own.clone(), ball(3), constant(0.5));
    assert!(message(less).contains("curvature = 0.5"));
    let growing = Curvature::growing(1.0, 0.75).unwrap();
    assert!(ImplicitDescent::new(own, ball(3), growing).is_err());
    let bounds = Bounds::new(1.0, (-1.0, 1.0), 1.0).unwrap();
    for alpha in [0.0, -1.0, f64::NAN, 1e-9] {
        assert!(QuadraticLeader::new(3, bounds, alpha).is_err());
    }
    assert!(QuadraticLeader::new(0, bounds, 1.0).is_err());
    let never = Curvature::growing(1e-50, 0.1).unwrap();
    let steps = GradientDescent::new(
        explicit(Link::Logistic),
        ball(3),
        never,
        StepSize::Corrected,
    );
    assert!(message(steps).contains("2^40"));
}

/// The proofs exclude underflow and overflow: parameters near them are refused.
#[test]
fn numbers_near_the_ends_of_the_floats() {
    for size in [1e-70, 1e70] {
        let set: Arc<dyn ConvexSet> = Arc::new(Ball::new(3, size).unwrap());
        let near = Distance::new(3, 1.0, 1.0).unwrap();
        assert!(message(Leader::new(near, set, 0.0)).contains("radius of the set"));
        let far = Distance::new(3, size, 1.0).unwrap();
        assert!(message(Leader::new(far, ball(3), 0.0)).contains("length of points"));
        let long = Bounds::new(size, (-1.0, 1.0), 1.0).unwrap();
        let high = Bounds::new(1.0, (-size, size), 1.0).unwrap();
        let alpha = (size * size).clamp(1.0, 1e60);
        assert!(message(QuadraticLeader::new(3, long, alpha)).contains("bound on features"));
        assert!(message(QuadraticLeader::new(3, high, 1.0)).contains("bound on targets"));
        let bounds = Bounds::new(1e-59, (-1.0, 1.0), 1.0).unwrap();
        assert!(message(QuadraticLeader::new(3, bounds, size)).contains("curvature"));
    }
}

/// Targets that all lie beyond the knee: every slope is the same, and sound records are learned
/// from.
#[test]
fn targets_beyond_the_knee() {
    for targets in [(10.0, 20.0), (-20.0, -10.0)] {
        let bounds = Bounds::new(1.0, targets, 1.0).unwrap();
        let huber = LinearModel::new(3, Link::Huber(0.7), bounds).unwrap();
        let explicit = huber.explicit().unwrap();
        let (low, high) = explicit.slopes(1.0);
        assert!(low <= high && low.abs().max(high.abs()) <= 0.7);
        let implicit = ImplicitDescent::new(explicit.clone(), ball(3), constant(1.0)).unwrap();
        let gradient =
            GradientDescent::new(explicit, ball(3), constant(1.0), StepSize::Corrected).unwrap();
        let learners: [Arc<dyn StableLearner>; 2] = [Arc::new(implicit), Arc::new(gradient)];
        for learner in learners {
            let mut state = learner.start();
            let record = Record {
                features: Features::Dense(vec![0.5, 0.0, 0.0]),
                target: targets.0,
            };
            for t in 1..=5 {
                assert_eq!(learner.step(t, &mut state, Some(&record)), Fate::Kept);
            }
            let mut iterate = vec![0.0; 3];
            learner.iterate(5, &state, &mut iterate);
            assert!(iterate[0] * targets.0.signum() > 0.01, "{iterate:?}");
            for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
                let worst = crate::streams::search(&*learner, adjacency, 600, 5);
                assert!(worst <= 1.0, "{worst}");
            }
        }
    }
}

#[test]
fn plans_out_of_range() {
    let refused = |change: fn(&mut PerturbRequest)| {
        let mut request = request(Timing::Every(100));
        change(&mut request);
        message(request.plan())
    };
    assert!(refused(|r| r.timing = Timing::Every(0)).contains("rounds = 0"));
    assert!(refused(|r| r.timing = Timing::Last(1 << 31)).contains("2^30"));
    assert!(refused(|r| r.noise = Noise::Laplace).contains("L2-Laplace"));
    assert!(refused(|r| r.budget = Budget::pure(1.0).unwrap()).contains("delta"));
    let tiny = |r: &mut PerturbRequest| {
        r.budget = Budget::pure(1e-9).unwrap();
        r.noise = Noise::L2Laplace;
    };
    let mut request_ = request(Timing::Every(1 << 20));
    tiny(&mut request_);
    assert!(message(request_.plan()).contains("too small"));
    assert!(refused(|r| r.budget = Budget::approx(80.0, 1e-12).unwrap()).contains("slack"));
    let most = |most| Participation::PerPerson {
        most,
        separation: 1,
    };
    let mut request_ = request(Timing::Every(9));
    request_.participation = most(0);
    assert!(message(request_.plan()).contains("contributions per person = 0"));
}

#[test]
fn grants_persons_and_the_last_round() {
    let plan = request(Timing::Every(3)).plan().unwrap();
    let scope = plan.scope();
    let budget = Budget::approx(1.0, 1e-6).unwrap();
    let key = Key::insecure_from_seed(1);
    let mut ledger = Ledger::simulated(budget, FilterKind::Gaussian, scope).unwrap();
    let other = request(Timing::Last(3)).plan().unwrap();
    let _ = other;
    let grant = ledger.debit(plan.charge().unwrap(), scope).unwrap();
    let number = grant.number();
    let window = PerturbedIterates::<Windowed>::open(
        plan.clone(),
        grant,
        &key,
        &mut ledger,
        MemoryStorage::default(),
    );
    assert!(matches!(window.err().unwrap(), PerturbError::Windowed));
    let grant = ledger.grant_again(number).unwrap();
    let mut run = PerturbedIterates::<Transcript>::open(
        plan,
        grant,
        &key,
        &mut ledger,
        MemoryStorage::default(),
    )
    .unwrap();
    let record = || {
        Raw::seal(Record {
            features: Features::Dense(vec![0.1; 3]),
            target: 1.0,
        })
    };
    assert!(matches!(
        run.add(Some(7), record()),
        Err(PerturbError::Person(_))
    ));
    for _ in 0..3 {
        let pending = run.add(None, record()).unwrap().unwrap();
        assert!(run.publish(pending).is_err(), "no sync has covered it");
    }
    assert!(matches!(
        run.add(None, record()),
        Err(PerturbError::Diary(DiaryError::Exhausted {
            planned: 3,
            refused: 4
        }))
    ));
    // A cheaper grant does not open it.
    let costly = request(Timing::Every(3)).plan().unwrap();
    let mut poor = Ledger::simulated(budget, FilterKind::Gaussian, scope).unwrap();
    let mut cheap = request(Timing::Every(3));
    cheap.budget = Budget::approx(0.1, 1e-6).unwrap();
    let grant = poor
        .debit(cheap.plan().unwrap().charge().unwrap(), scope)
        .unwrap();
    let refused = PerturbedIterates::<Transcript>::open(
        costly,
        grant,
        &key,
        &mut poor,
        MemoryStorage::default(),
    );
    assert!(message(refused).contains("does not cover"));
}

/// k records of a person cost k times the sensitivity, and the k+1st is null.
#[test]
fn persons_are_limited() {
    let mut request = request(Timing::Every(6));
    request.participation = Participation::PerPerson {
        most: 2,
        separation: 1,
    };
    let plan = request.clone().plan().unwrap();
    let single = request.learner.sensitivity(3, Adjacency::ReplaceOne);
    assert!((plan.sensitivity(3) / single - 2.0).abs() < 1e-12);
    let mut ledger = Ledger::simulated(request.budget, FilterKind::Gaussian, plan.scope()).unwrap();
    let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
    let key = Key::insecure_from_seed(1);
    let storage = MemoryStorage::default();
    let mut run =
        PerturbedIterates::<Transcript>::open(plan, grant, &key, &mut ledger, storage).unwrap();
    for (person, nulls) in [(1, 0), (1, 0), (1, 1), (2, 1), (1, 2), (2, 2)] {
        let record = Record {
            features: Features::Dense(vec![0.1; 3]),
            target: 1.0,
        };
        let _ = run.add(Some(person), Raw::seal(record)).unwrap();
        assert_eq!(*run.counts().0.for_the_operator(), nulls);
    }
    assert!(run.guarantee().unwrap().to_string().contains("one person"));
}

/// Every draw whose law is off, in all releases that a record may affect, is stated; with Gaussian
/// noise it is paid for out of δ.
#[test]
fn draws_that_are_off_are_counted() {
    let gaussian = 2_f64.powi(-112);
    for (timing, releases) in [
        (Timing::Every(50), 50.0),
        (Timing::Last(50), 1.0),
        (Timing::Unknown, 2_f64.powi(44)),
    ] {
        let mut request = request(timing);
        let dimension = request.learner.dimension() as f64;
        let tau = |slack: f64| releases * dimension * slack;
        // So large an ε that slack is a thousandth of δ at least.
        let epsilon = (1e-9 / tau(gaussian)).ln();
        request.budget = Budget::approx(epsilon, 1e-6).unwrap();
        let plan = request.clone().plan().unwrap();
        let least = (1.0 + epsilon.exp()) * tau(gaussian);
        let guarantee = plan.guarantee(true).unwrap();
        assert!(
            guarantee.precision_slack() >= least * (1.0 - 1e-12),
            "{timing:?}"
        );
        assert!(guarantee.delta() <= 1e-6, "{timing:?}");
        let Charge::Gaussian(mu) = plan.charge().unwrap().charge else {
            panic!("Gaussian noise has a Gaussian price");
        };
        let total = mu.delta_at(epsilon).unwrap() + least;
        assert!(total <= 1e-6, "{timing:?}: {total}");
        // Pure noise has no δ to pay with: what is off is the whole δ.
        request.noise = Noise::L2Laplace;
        request.budget = Budget::pure(1.0).unwrap();
        let guarantee = request.plan().unwrap().guarantee(true).unwrap();
        let least = (1.0 + guarantee.epsilon().exp()) * tau(4.0 * gaussian);
        assert!(guarantee.delta() >= least * (1.0 - 1e-12), "{timing:?}");
    }
}
