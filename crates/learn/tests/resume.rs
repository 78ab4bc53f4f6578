//! A learner restored from its saved state continues bit for bit.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::sync::Arc;

use common::{Draws, add, sets};
use hushstream_learn::{
    DualAveraging, FollowTheApproximateLeader, FrankWolfe, Learner, LeastSquares, LocalLinear,
    PerturbedLeader, RegularisedLeader,
};
use hushstream_sets::{ConvexSet, Simplex};

type Make = Box<dyn Fn() -> Box<dyn Learner>>;

fn makers() -> Vec<Make> {
    let mut makers: Vec<Make> = vec![
        Box::new(|| Box::new(LeastSquares::new(3, 2.0, 1.0, 0.1).unwrap())),
        Box::new(|| {
            let learner = LeastSquares::new(14, 2.0, 1.0, 0.1).unwrap();
            Box::new(learner.every(3).unwrap())
        }),
        Box::new(|| Box::new(LeastSquares::new(14, 2.0, 1.0, 0.1).unwrap())),
        Box::new(|| Box::new(RegularisedLeader::entropic(6, 0.1).unwrap())),
    ];
    let mut with = |make: fn(Arc<dyn ConvexSet>) -> Box<dyn Learner>| {
        for (set, _) in sets() {
            makers.push(Box::new(move || make(set.clone())));
        }
    };
    with(|set| Box::new(FollowTheApproximateLeader::new(set, 0.5).unwrap()));
    with(|set| Box::new(DualAveraging::new(set, 0.5).unwrap()));
    with(|set| Box::new(RegularisedLeader::euclidean(set, 0.5).unwrap()));
    with(|set| Box::new(PerturbedLeader::new(set).unwrap()));
    with(|set| Box::new(FrankWolfe::new(set, 0.5).unwrap()));
    with(|set| Box::new(LocalLinear::as_stated(set, 0.5, 1.0, 2.0).unwrap()));
    with(|set| Box::new(LocalLinear::tuned(set, 0.5, 0.0).unwrap()));
    with(|set| Box::new(LocalLinear::tuned(set, 0.5, 7.0).unwrap()));
    makers
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Stops at every round of 64; each restored copy runs to the end.
#[test]
fn every_interruption_is_invisible() {
    for make in makers() {
        let mut draws = Draws::new(1);
        let mut learner = make();
        let d = learner.sum_dimension();
        let mut sum = vec![0.0; d];
        let mut copies: Vec<Box<dyn Learner>> = Vec::new();
        for round in 0..64 {
            let mut copy = make();
            copy.restore(round, &learner.state()).unwrap();
            assert_eq!(bits(copy.iterate()), bits(learner.iterate()));
            copies.push(copy);

            add(&mut sum, 1.0, &draws.vector(d));
            let mut noisy = sum.clone();
            add(&mut noisy, 3.0, &draws.vector(d));
            learner.observe(&noisy).unwrap();
            for copy in &mut copies {
                copy.observe(&noisy).unwrap();
                assert_eq!(copy.rounds(), learner.rounds());
                let same = bits(copy.iterate()) == bits(learner.iterate());
                assert!(same, "{} at round {round}", learner.name());
                assert_eq!(bits(&copy.state()), bits(&learner.state()));
            }
        }
    }
}

/// Also in long runs, which remove rounding errors at intervals.
#[test]
fn long_runs_resume() {
    let make = || LocalLinear::tuned(Arc::new(Simplex::new(4).unwrap()), 0.5, 0.0).unwrap();
    let mut draws = Draws::new(2);
    let mut learner = make();
    let mut copy = make();
    let mut sum = vec![0.0; 4];
    for round in 0..5000 {
        if round % 700 == 0 {
            copy = make();
            copy.restore(round, &learner.state()).unwrap();
        }
        add(&mut sum, 1.0, &draws.vector(4));
        learner.observe(&sum).unwrap();
        copy.observe(&sum).unwrap();
        assert_eq!(bits(&copy.state()), bits(&learner.state()));
    }
}

#[test]
fn states_that_do_not_fit_are_refused() {
    for make in makers() {
        let mut learner = make();
        let good = learner.state();
        let mut longer = good.clone();
        longer.push(0.0);
        assert!(learner.restore(0, &longer).is_err(), "{}", learner.name());
        assert!(learner.restore(0, &good[1..]).is_err());
        assert!(learner.restore(0, &[]).is_err());
        let mut broken = good.clone();
        broken[0] = f64::NAN;
        assert!(learner.restore(0, &broken).is_err());
        broken[0] = 1e6;
        assert!(learner.restore(0, &broken).is_err());
        assert_eq!(bits(&learner.state()), bits(&good));
    }
}
