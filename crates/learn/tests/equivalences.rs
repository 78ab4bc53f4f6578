//! Equivalent learners agree, and learners converge to the best point in hindsight.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{Draws, add, centre, distance, dot, sets};
use hushstream_learn::{
    DualAveraging, FollowTheApproximateLeader, Learner, LocalLinear, RegularisedLeader,
};

/// Dual averaging is the approximate leader on the losses plus (H/2)‖w − c‖², for any noise in the
/// sums.
#[test]
fn dual_averaging_is_the_approximate_leader_on_regularised_losses() {
    let h = 0.3;
    let mut worst = 0.0_f64;
    for (set, _) in sets() {
        let d = set.dimension();
        let middle = centre(set.as_ref());
        let mut draws = Draws::new(5);
        let mut averaging = DualAveraging::new(set.clone(), h).unwrap();
        let mut leader = FollowTheApproximateLeader::new(set, h).unwrap();
        let (mut sum, mut regulariser) = (vec![0.0; d], vec![0.0; d]);
        for _ in 0..500 {
            add(&mut sum, 1.0, &draws.vector(d));
            add(&mut regulariser, h, leader.iterate());
            add(&mut regulariser, -h, &middle);
            let mut noisy = sum.clone();
            add(&mut noisy, 10.0, &draws.vector(d));
            averaging.observe(&noisy).unwrap();
            add(&mut noisy, 1.0, &regulariser);
            leader.observe(&noisy).unwrap();
            worst = worst.max(distance(averaging.iterate(), leader.iterate()));
        }
    }
    println!("averaging and leader: {worst:.1e}");
    assert!(worst < 1e-9, "{worst}");
}

/// With η = 1/(tH) the Euclidean regularised leader takes dual averaging's t-th step.
#[test]
fn one_round_of_dual_averaging_is_a_euclidean_leader() {
    for (set, _) in sets() {
        let mut draws = Draws::new(6);
        let mut averaging = DualAveraging::new(set.clone(), 0.25).unwrap();
        for t in 1..=64 {
            let sum: Vec<f64> = draws.vector(set.dimension());
            averaging.observe(&sum).unwrap();
            let rate = 1.0 / (0.25 * f64::from(t));
            let mut leader = RegularisedLeader::euclidean(set.clone(), rate).unwrap();
            leader.observe(&sum).unwrap();
            assert!(distance(averaging.iterate(), leader.iterate()) < 1e-12);
        }
    }
}

/// On quadratics (H/2)‖w − θ_t‖² with exact sums, the approximate leader and the tuned conditional
/// gradients end at the best point in hindsight, the projected mean.
#[test]
fn strongly_convex_quadratics_converge() {
    for (set, shape) in sets() {
        let (d, h, rounds) = (set.dimension(), 0.8, 4000);
        let mut learners: [Box<dyn Learner>; 2] = [
            Box::new(FollowTheApproximateLeader::new(set.clone(), h).unwrap()),
            Box::new(LocalLinear::tuned(set.clone(), h, 0.0).unwrap()),
        ];
        for (learner, allowed) in learners.iter_mut().zip([1e-12, 0.02]) {
            let mut draws = Draws::new(7);
            let (mut sum, mut mean) = (vec![0.0; d], vec![0.0; d]);
            for _ in 0..rounds {
                let target = draws.vector(d);
                add(&mut mean, 1.0 / f64::from(rounds), &target);
                add(&mut sum, h, learner.iterate());
                add(&mut sum, -h, &target);
                learner.observe(&sum).unwrap();
            }
            let far = distance(learner.iterate(), &shape.project(&mean));
            assert!(far < allowed, "{} on {}: {far}", learner.name(), set.name());
        }
    }
}

/// The tuned variant's bound is valid for every noise: the minimiser of Ĵ_t, found by projecting,
/// is never further away. And the bound is small.
#[test]
fn leader_distances_are_true() {
    for (set, shape) in sets() {
        for (anchor, noise) in [(0.0, 0.0), (0.0, 3.0), (20.0, 3.0), (0.0, 300.0)] {
            let (d, mu) = (set.dimension(), 0.7);
            let start = centre(set.as_ref());
            let mut learner = LocalLinear::tuned(set.clone(), mu, anchor).unwrap();
            let mut draws = Draws::new(8);
            let (mut sum, mut total) = (vec![0.0; d], vec![0.0; d]);
            for t in 1..=1500 {
                add(&mut total, 1.0, learner.iterate());
                add(&mut sum, mu, learner.iterate());
                add(&mut sum, -mu, &draws.vector(d));
                let mut noisy = sum.clone();
                add(&mut noisy, noise, &draws.vector(d));
                learner.observe(&noisy).unwrap();
                let weight = 1.0 / (f64::from(t) + anchor);
                let mut leader = vec![0.0; d];
                add(&mut leader, weight, &total);
                add(&mut leader, weight * anchor, &start);
                add(&mut leader, -weight / mu, &noisy);
                let far = distance(&shape.project(&leader), learner.iterate());
                let bound = learner.leader_distance().unwrap();
                assert!(far <= bound + 1e-9, "{}: {far} > {bound}", set.name());
            }
            let bound = learner.leader_distance().unwrap();
            let allowed = 0.1 * (1.0 + noise) * set.diameter();
            assert!(bound < allowed, "{} {noise}: {bound}", set.name());
        }
    }
}

/// The loss of the tuned variant against the leader, Σ e_t, grows by about the same amount in every
/// doubling: like ln T.
#[test]
fn leader_distances_add_up_slowly() {
    for (set, _) in sets() {
        if set.local_oracle().unwrap().rho() > 10.0 {
            continue; // would need longer runs than a test has
        }
        let (d, mu) = (set.dimension(), 0.5);
        let mut learner = LocalLinear::tuned(set.clone(), mu, 0.0).unwrap();
        let mut draws = Draws::new(3);
        let (mut sum, mut lag, mut marks) = (vec![0.0; d], 0.0, Vec::new());
        for t in 1..=1_u32 << 13 {
            add(&mut sum, mu, learner.iterate());
            add(&mut sum, -mu, &draws.vector(d));
            sum[0] += if t / 100 % 2 == 0 { 1.0 } else { -1.0 };
            learner.observe(&sum).unwrap();
            lag += learner.leader_distance().unwrap();
            if t.is_power_of_two() {
                marks.push(lag);
            }
        }
        let last = marks[13] - marks[12];
        let before = marks[12] - marks[11];
        assert!(last < 1.1 * before, "{}: {marks:?}", set.name());
    }
}

/// As stated, with noise of the declared size, the leader stays within the radius of the oracle.
#[test]
fn stated_radii_reach_the_leader() {
    for d in 2..=5 {
        let set = std::sync::Arc::new(hushstream_sets::Simplex::new(d).unwrap());
        let rho2 = d as f64 / 2.0;
        let (mu, lipschitz, diameter) = (1.0, 1.0, 2.0_f64.sqrt());
        for noise in [0.0, 5.0, 500.0] {
            let mut learner = LocalLinear::as_stated(set.clone(), mu, lipschitz, noise).unwrap();
            let a = 1.0 / (5.0 * rho2.max(1.0));
            let cw = 2.0 * a / (1.0 - a) * noise / (lipschitz + mu * diameter);
            let c1 = 26.0 * rho2.max(1.0) * (lipschitz + mu * diameter) * (1.0 + cw);
            let c0 = (25.0 * rho2.max(1.0)).powi(2);
            let mut draws = Draws::new(d as u64);
            let start = vec![1.0 / d as f64; d];
            let (mut sum, mut total) = (vec![0.0; d], vec![0.0; d]);
            for t in 1..=4000 {
                add(&mut total, 1.0, learner.iterate());
                sum[t / 700 % d] += 1.0;
                let mut noisy = sum.clone();
                let kick = draws.vector(d);
                add(&mut noisy, noise / dot(&kick, &kick).sqrt(), &kick);
                learner.observe(&noisy).unwrap();
                let n = t as f64 + c0;
                let mut leader = vec![0.0; d];
                add(&mut leader, 1.0 / n, &total);
                add(&mut leader, c0 / n, &start);
                add(&mut leader, -1.0 / (mu * n), &noisy);
                let far = distance(&common::Shape::Simplex.project(&leader), learner.iterate());
                assert!(far <= 2.0 * c1 / (mu * (n + 1.0)), "{d} {noise} {t}: {far}");
            }
        }
    }
}
