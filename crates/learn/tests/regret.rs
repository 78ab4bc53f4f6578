//! The documented regret bounds, against adversarial games and noise.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::sync::Arc;

use common::{Draws, add, distance, dot, eliminate, sets};
use hushstream_learn::{
    DualAveraging, FollowTheApproximateLeader, Learner, LeastSquares, LocalLinear, PerturbedLeader,
    RegularisedLeader,
};
use hushstream_sets::Simplex;

/// Noise of exactly this norm, in a direction that changes every round.
fn kick(draws: &mut Draws, norm: f64, d: usize) -> Vec<f64> {
    let mut kick = draws.vector(d);
    let factor = norm / dot(&kick, &kick).sqrt();
    kick.iter_mut().for_each(|value| *value *= factor);
    kick
}

/// Quadratics (h/2)‖w − θ_t‖² with targets that switch sides: the bounds hold for every noise.
#[test]
fn strongly_convex_bounds_hold() {
    let (h, rounds) = (0.5, 1000_u32);
    for (set, shape) in sets() {
        for noise in [0.0, 1.0, 30.0] {
            let d = set.dimension();
            let mut stated = LocalLinear::as_stated(set.clone(), h, 3.0, noise).unwrap();
            let mut tuned = LocalLinear::tuned(set.clone(), h, 0.0).unwrap();
            let mut leader = FollowTheApproximateLeader::new(set.clone(), h).unwrap();
            for which in 0..3 {
                let learner: &mut dyn Learner =
                    [&mut leader as &mut dyn Learner, &mut tuned, &mut stated][which];
                let mut draws = Draws::new(9);
                let (mut sum, mut mean) = (vec![0.0; d], vec![0.0; d]);
                let (mut loss, mut lipschitz) = (0.0, 0.0_f64);
                let mut targets = Vec::new();
                for t in 0..rounds {
                    let side = if t / 100 % 2 == 0 { 2.0 } else { -2.0 };
                    let mut target = draws.vector(d);
                    target[0] += side;
                    let far = distance(learner.iterate(), &target);
                    loss += h / 2.0 * far * far;
                    lipschitz = lipschitz.max(h * far);
                    add(&mut sum, h, learner.iterate());
                    add(&mut sum, -h, &target);
                    add(&mut mean, 1.0 / f64::from(rounds), &target);
                    let mut noisy = sum.clone();
                    add(&mut noisy, 1.0, &kick(&mut draws, noise, d));
                    learner.observe(&noisy).unwrap();
                    targets.push(target);
                }
                let best = shape.project(&mean);
                let hindsight: f64 = targets
                    .iter()
                    .map(|target| h / 2.0 * distance(&best, target).powi(2))
                    .sum();
                let regret = loss - hindsight;
                let bound = match which {
                    0 => leader.regret_bound(lipschitz, noise, u64::from(rounds)),
                    1 => tuned.regret_bound(lipschitz, noise),
                    _ => stated.regret_bound(lipschitz, noise),
                };
                assert!(
                    regret <= bound,
                    "{} {which}: {regret} > {bound}",
                    set.name()
                );
            }
        }
    }
}

#[test]
fn dual_averaging_bound_holds() {
    let rounds = 2000_u32;
    for (set, shape) in sets() {
        for noise in [0.0, 10.0] {
            let d = set.dimension();
            let lipschitz = 1.0;
            let h = DualAveraging::suggested_h(set.diameter(), lipschitz, noise, u64::from(rounds));
            let mut learner = DualAveraging::new(set.clone(), h.unwrap()).unwrap();
            let mut draws = Draws::new(10);
            let (mut sum, mut loss) = (vec![0.0; d], 0.0);
            for t in 0..rounds {
                let mut slope = kick(&mut draws, 0.5, d);
                slope[0] += if t / 200 % 3 == 0 { 0.5 } else { -0.5 };
                loss += dot(&slope, learner.iterate());
                add(&mut sum, 1.0, &slope);
                let mut noisy = sum.clone();
                add(&mut noisy, 1.0, &kick(&mut draws, noise, d));
                learner.observe(&noisy).unwrap();
            }
            let regret = loss - dot(&sum, &shape.lowest(&sum));
            let bound = learner.regret_bound(lipschitz, noise, u64::from(rounds));
            assert!(regret <= bound, "{}: {regret} > {bound}", set.name());
            assert!(bound < lipschitz * set.diameter() * f64::from(rounds));
        }
    }
}

/// Records within the bounds, symmetric noise strong enough to make the moments indefinite at
/// first.
#[test]
fn least_squares_bound_holds() {
    for (p, noise) in [(2, 0.0), (5, 0.0), (5, 20.0), (14, 20.0)] {
        let (alpha, rounds) = (0.5, 1000_u32);
        let mut learner = LeastSquares::new(p, 1.0, 1.0, alpha).unwrap();
        let layout = learner.layout();
        let mut draws = Draws::new(11);
        let mut sum = vec![0.0; layout.len()];
        let mut contribution = sum.clone();
        let (mut loss, mut records) = (0.0, Vec::new());
        let value =
            |x: &[f64], v: &[f64], y: f64| (y - dot(v, x)).powi(2) / 2.0 + alpha / 2.0 * dot(x, x);
        for t in 0..rounds {
            let v = kick(&mut draws, 1.0, p);
            let y = if t / 100 % 2 == 0 { 1.0 } else { v[0] };
            loss += value(learner.iterate(), &v, y);
            layout.write(&v, y, &mut contribution).unwrap();
            add(&mut sum, 1.0, &contribution);
            let mut noisy = sum.clone();
            add(&mut noisy, 1.0, &kick(&mut draws, noise, layout.len()));
            learner.observe(&noisy).unwrap();
            records.push((v, y));
        }
        let mut rows = vec![vec![0.0; p + 1]; p];
        for (i, row) in rows.iter_mut().enumerate() {
            row[i] = f64::from(rounds) * alpha;
            for (v, y) in &records {
                add(row, v[i], v);
                row[p] += v[i] * y;
            }
        }
        let best = eliminate(rows).unwrap();
        let hindsight: f64 = records.iter().map(|(v, y)| value(&best, v, *y)).sum();
        let regret = loss - hindsight;
        let bound = learner.regret_bound(noise, noise, u64::from(rounds));
        assert!(regret <= bound, "{p} {noise}: {regret} > {bound}");
    }
}

/// Experts with noise drawn once per prefix, N(0, s²) in every coordinate, averaged over runs, on a
/// stream that switches.
#[test]
fn linear_bounds_hold_on_average() {
    let (actions, rounds, deviation, runs) = (6, 1000_u32, 20.0, 20);
    let losses = |t: u32, i: usize| f64::from(u8::from((t / 50) as usize % actions != i));
    let mut totals = vec![0.0; actions];
    for t in 0..rounds {
        for (i, total) in totals.iter_mut().enumerate() {
            *total += losses(t, i);
        }
    }
    let best = totals.iter().copied().fold(f64::INFINITY, f64::min);
    let squares = f64::from(rounds);
    let rate = RegularisedLeader::best_rate((actions as f64).ln(), squares).unwrap();
    let hedge = RegularisedLeader::entropic(actions, rate).unwrap();
    let perturbed = PerturbedLeader::new(Arc::new(Simplex::new(actions).unwrap())).unwrap();
    // E[max − min] of N independent normal numbers is at most 2s√(2 ln N).
    let range = 2.0 * deviation * (2.0 * (actions as f64).ln()).sqrt();
    let norm = (actions as f64 - 1.0).sqrt();
    let bounds = [
        hedge.regret_bound(squares, range),
        perturbed.regret_bound(norm, deviation, u64::from(rounds)),
    ];
    for (which, bound) in bounds.into_iter().enumerate() {
        let mut regret = 0.0;
        for run in 0..runs {
            let mut learner: Box<dyn Learner> = if which == 0 {
                Box::new(hedge.clone())
            } else {
                Box::new(perturbed.clone())
            };
            let mut draws = Draws::new(1000 + run);
            let mut noise = || (0..actions).map(|_| deviation * draws.normal()).collect();
            let first: Vec<f64> = noise();
            learner.observe_initial(&first).unwrap();
            let mut sum = vec![0.0; actions];
            for t in 0..rounds {
                let now: Vec<f64> = (0..actions).map(|i| losses(t, i)).collect();
                regret += dot(&now, learner.iterate()) / runs as f64;
                add(&mut sum, 1.0, &now);
                let mut noisy: Vec<f64> = noise();
                add(&mut noisy, 1.0, &sum);
                learner.observe(&noisy).unwrap();
            }
        }
        regret -= best;
        assert!(regret <= bound, "{which}: {regret} > {bound}");
    }
}
