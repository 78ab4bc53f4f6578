//! Iterates stay in the set for all finite sums, and learners on the simplex do not depend on the
//! numbering of actions.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::sync::Arc;

use common::sets;
use hushstream_learn::{
    DualAveraging, FollowTheApproximateLeader, FrankWolfe, LearnError, Learner, LeastSquares,
    LocalLinear, PerturbedLeader, RegularisedLeader,
};
use hushstream_sets::{Ball, ConvexSet, SetError, Simplex};
use proptest::prelude::*;

/// Sums of any size, up to the largest floats, with both signs.
fn coordinate() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -10.0..10.0_f64,
        2 => -1e6..1e6_f64,
        1 => (-300..309_i32, any::<bool>()).prop_map(|(exponent, negative)| {
            let size = 10.0_f64.powi(exponent).min(f64::MAX);
            if negative { -size } else { size }
        }),
        1 => Just(0.0),
        1 => Just(f64::MAX),
        1 => Just(f64::MIN),
    ]
}

fn learners(set: &Arc<dyn ConvexSet>) -> Vec<Box<dyn Learner>> {
    vec![
        Box::new(FollowTheApproximateLeader::new(set.clone(), 1e-3).unwrap()),
        Box::new(DualAveraging::new(set.clone(), 1e-3).unwrap()),
        Box::new(RegularisedLeader::euclidean(set.clone(), 10.0).unwrap()),
        Box::new(PerturbedLeader::new(set.clone()).unwrap()),
        Box::new(FrankWolfe::new(set.clone(), 0.1).unwrap()),
        Box::new(LocalLinear::as_stated(set.clone(), 0.1, 1.0, 1.0).unwrap()),
        Box::new(LocalLinear::tuned(set.clone(), 0.1, 0.0).unwrap()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 500,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn iterates_stay_inside(
        which in 0..7_usize,
        sums in prop::collection::vec(prop::collection::vec(coordinate(), 6), 1..8),
    ) {
        let (set, _) = sets().swap_remove(which);
        for mut learner in learners(&set) {
            for sum in &sums {
                learner.observe(&sum[..set.dimension()]).map_err(|error| {
                    TestCaseError::fail(format!("{} on {}: {error}", learner.name(), set.name()))
                })?;
                prop_assert!(
                    set.contains(learner.iterate(), 1e-9),
                    "{} left {}: {:?}", learner.name(), set.name(), learner.iterate()
                );
            }
        }
    }

    #[test]
    fn least_squares_stays_inside(
        alpha in 1e-6..1e3_f64,
        sums in prop::collection::vec(prop::collection::vec(coordinate(), 9), 1..6),
    ) {
        let mut learner = LeastSquares::new(3, 1.5, 0.5, alpha).unwrap();
        let ball = Ball::new(3, learner.radius()).unwrap();
        for sum in &sums {
            learner.observe(sum).unwrap();
            let inside = ball.contains(learner.iterate(), 1e-12 * learner.radius());
            prop_assert!(inside, "{:?}", learner.iterate());
        }
    }

    #[test]
    fn hedge_stays_inside(
        rate in 1e-3..1e3_f64,
        sums in prop::collection::vec(prop::collection::vec(coordinate(), 5), 1..6),
    ) {
        let mut learner = RegularisedLeader::entropic(5, rate).unwrap();
        for sum in &sums {
            learner.observe(sum).unwrap();
            prop_assert!(Simplex::new(5).unwrap().contains(learner.iterate(), 1e-12));
        }
    }

    #[test]
    fn numbering_does_not_matter(
        sums in prop::collection::vec(prop::collection::vec(-20.0..20.0_f64, 5), 1..12),
        order in Just((0..5).collect::<Vec<usize>>()).prop_shuffle(),
    ) {
        let set: Arc<dyn ConvexSet> = Arc::new(Simplex::new(5).unwrap());
        let all = || {
            let mut all = learners(&set);
            all.push(Box::new(RegularisedLeader::entropic(5, 0.3).unwrap()));
            all
        };
        for (mut learner, mut renumbered) in all().into_iter().zip(all()) {
            for sum in &sums {
                learner.observe(sum).unwrap();
                renumbered.observe(&order.iter().map(|&i| sum[i]).collect::<Vec<_>>()).unwrap();
                for (position, &i) in order.iter().enumerate() {
                    let apart = (learner.iterate()[i] - renumbered.iterate()[position]).abs();
                    prop_assert!(apart < 1e-9, "{}: {apart}", learner.name());
                }
            }
        }
    }

    #[test]
    fn sums_that_are_not_finite_change_nothing(
        dimension in 4..=9_usize,
        place in 0..9_usize,
        which in 0..3_usize,
    ) {
        let index = place % dimension;
        let bad = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY][which];
        let set: Arc<dyn ConvexSet> = Arc::new(Simplex::new(dimension).unwrap());
        for mut learner in learners(&set) {
            learner.observe(&[0.1, 0.2, 0.3, 0.5, 0.1, 0.2, 0.1, 0.3, 0.2][..dimension]).unwrap();
            let state = learner.state();
            let mut sum = vec![0.0; dimension];
            sum[index] = bad;
            let error = learner.observe(&sum).unwrap_err();
            let LearnError::Set(SetError::NotFinite { index: named, .. }) = error else {
                return Err(TestCaseError::fail(error.to_string()));
            };
            prop_assert_eq!(named, index);
            let error = learner.observe(&[0.0; 3]).unwrap_err();
            let LearnError::Set(SetError::Dimension { given, expected, .. }) = error else {
                return Err(TestCaseError::fail(error.to_string()));
            };
            prop_assert_eq!((given, expected), (3, dimension));
            prop_assert_eq!(state, learner.state());
            prop_assert_eq!(learner.rounds(), 1);
        }
    }
}
