//! With exact sums, each learner equals the non-private algorithm of the textbook, implemented here
//! a second time from its definition: by generic minimisation, normal equations, multiplicative
//! updates, enumeration. To 1e-9, over hundreds of rounds, on several sets.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{Draws, Shape, add, centre, distance, dot, eliminate, minimise, sets};
use hushstream_learn::{
    DualAveraging, FollowTheApproximateLeader, Learner, LeastSquares, LocalLinear, PerturbedLeader,
    RegularisedLeader,
};

const TOLERANCE: f64 = 1e-9;

/// The leader on Σ ⟨g_τ, w⟩ + (H/2)‖w − w_τ‖², recomputed from the whole history every round.
#[test]
fn approximate_leader_is_follow_the_leader_on_quadratics() {
    let h = 0.6;
    let mut worst = 0.0_f64;
    for (index, (set, shape)) in sets().into_iter().enumerate() {
        let d = set.dimension();
        let mut draws = Draws::new(index as u64);
        let start = shape.project(&draws.vector(d));
        let mut learner = FollowTheApproximateLeader::new(set, h)
            .unwrap()
            .starting_at(&start)
            .unwrap();
        let mut sum = vec![0.0; d];
        let mut history: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
        let mut own = start;
        for t in 1..=200 {
            let target = draws.vector(d);
            let slope = |w: &[f64]| -> Vec<f64> {
                let pull = w
                    .iter()
                    .zip(&target)
                    .map(|(w, target)| h * (w - 2.0 * target));
                pull.collect()
            };
            add(&mut sum, 1.0, &slope(learner.iterate()));
            learner.observe(&sum).unwrap();

            history.push((own.clone(), slope(&own)));
            own = minimise(&shape, &own, h * f64::from(t), |w| {
                let mut gradient = vec![0.0; d];
                for (center, slope) in &history {
                    add(&mut gradient, 1.0, slope);
                    add(&mut gradient, h, w);
                    add(&mut gradient, -h, center);
                }
                gradient
            });
            worst = worst.max(distance(&own, learner.iterate()));
        }
    }
    println!("approximate leader: {worst:.1e}");
    assert!(worst < TOLERANCE, "{worst}");
}

/// Gradient steps taken lazily: the regularised leader on Σ ⟨g_τ, w⟩ + (H/2)‖w − c‖².
#[test]
fn dual_averaging_is_lazily_projected_gradient_descent() {
    let h = 0.4;
    let mut worst = 0.0_f64;
    for (index, (set, shape)) in sets().into_iter().enumerate() {
        let d = set.dimension();
        let mut draws = Draws::new(100 + index as u64);
        let middle = centre(set.as_ref());
        let mut learner = DualAveraging::new(set, h).unwrap();
        let mut sum = vec![0.0; d];
        let (mut own, mut slopes) = (middle.clone(), Vec::new());
        for t in 1..=300 {
            let bias = draws.vector(d);
            // The absolute loss |⟨bias, w⟩ − 0.1|, and a drift.
            let slope = |w: &[f64]| -> Vec<f64> {
                let sign = (dot(&bias, w) - 0.1).signum() + 0.3;
                bias.iter().map(|value| sign * value).collect()
            };
            add(&mut sum, 1.0, &slope(learner.iterate()));
            learner.observe(&sum).unwrap();
            slopes.push(slope(&own));
            own = minimise(&shape, &own, h * f64::from(t), |w| {
                let mut gradient = vec![0.0; d];
                for slope in &slopes {
                    add(&mut gradient, 1.0, slope);
                }
                add(&mut gradient, h * f64::from(t), w);
                add(&mut gradient, -h * f64::from(t), &middle);
                gradient
            });
            worst = worst.max(distance(&own, learner.iterate()));
        }
    }
    println!("dual averaging: {worst:.1e}");
    assert!(worst < TOLERANCE, "{worst}");
}

/// Ridge regression from the records themselves, by Gaussian elimination.
#[test]
fn least_squares_is_ridge_regression() {
    let mut worst = 0.0_f64;
    for (p, alpha, every) in [
        (1, 1.0, 1),
        (3, 0.05, 1),
        (8, 0.3, 1),
        (15, 0.1, 2),
        (6, 0.1, 8),
    ] {
        let (feature_bound, target_bound) = (2.0, 0.5);
        let mut learner = LeastSquares::new(p, feature_bound, target_bound, alpha)
            .unwrap()
            .every(every)
            .unwrap();
        let layout = learner.layout();
        let mut draws = Draws::new(p as u64);
        let hidden = draws.vector(p);
        let mut sum = vec![0.0; layout.len()];
        let mut contribution = vec![0.0; layout.len()];
        let mut records: Vec<(Vec<f64>, f64)> = Vec::new();
        for t in 1..=250_u64 {
            let mut v = draws.vector(p);
            let norm = dot(&v, &v).sqrt();
            v.iter_mut()
                .for_each(|v| *v *= (feature_bound / norm).min(1.0));
            let y = (dot(&v, &hidden) + 0.1 * draws.sign()).clamp(-target_bound, target_bound);
            layout.write(&v, y, &mut contribution).unwrap();
            add(&mut sum, 1.0, &contribution);
            learner.observe(&sum).unwrap();
            records.push((v, y));
            let is_due = t < every && t.is_power_of_two() || t.is_multiple_of(every);
            if !is_due {
                continue;
            }
            let mut rows = vec![vec![0.0; p + 1]; p];
            for (i, row) in rows.iter_mut().enumerate() {
                row[i] = t as f64 * alpha;
                for (v, y) in &records {
                    add(row, v[i], v);
                    row[p] += v[i] * y;
                }
            }
            let ridge = eliminate(rows).unwrap();
            worst = worst.max(distance(&ridge, learner.iterate()));
            assert!(dot(&ridge, &ridge).sqrt() <= learner.radius());
        }
    }
    println!("least squares: {worst:.1e}");
    assert!(worst < TOLERANCE, "{worst}");
}

/// Hedge, by multiplying and normalising weights every round.
#[test]
fn entropic_leader_is_multiplicative_weights() {
    let mut worst = 0.0_f64;
    for (actions, rate) in [(2, 0.5), (10, 0.1), (100, 0.05)] {
        let mut learner = RegularisedLeader::entropic(actions, rate).unwrap();
        let mut draws = Draws::new(actions as u64);
        let mut sum = vec![0.0; actions];
        let mut own = vec![1.0 / actions as f64; actions];
        for _ in 0..500 {
            let losses: Vec<f64> = (0..actions).map(|_| draws.sign().abs()).collect();
            add(&mut sum, 1.0, &losses);
            learner.observe(&sum).unwrap();
            for (weight, loss) in own.iter_mut().zip(&losses) {
                *weight *= (-rate * loss).exp();
            }
            let total: f64 = own.iter().sum();
            own.iter_mut().for_each(|weight| *weight /= total);
            worst = worst.max(distance(&own, learner.iterate()));
        }
    }
    println!("entropic leader: {worst:.1e}");
    assert!(worst < TOLERANCE, "{worst}");
}

#[test]
fn euclidean_leader_is_the_minimiser_of_its_objective() {
    let rate = 0.07;
    let mut worst = 0.0_f64;
    for (index, (set, shape)) in sets().into_iter().enumerate() {
        let d = set.dimension();
        let mut draws = Draws::new(200 + index as u64);
        let middle = centre(set.as_ref());
        let mut learner = RegularisedLeader::euclidean(set, rate).unwrap();
        let mut sum = draws.vector(d);
        let objective = |sum: &[f64]| {
            minimise(&shape, &middle, 1.0, |x| {
                let mut gradient = x.to_vec();
                add(&mut gradient, -1.0, &middle);
                add(&mut gradient, rate, sum);
                gradient
            })
        };
        learner.observe_initial(&sum).unwrap();
        worst = worst.max(distance(&objective(&sum), learner.iterate()));
        for _ in 0..300 {
            add(&mut sum, 1.0, &draws.vector(d));
            learner.observe(&sum).unwrap();
            worst = worst.max(distance(&objective(&sum), learner.iterate()));
        }
    }
    println!("euclidean leader: {worst:.1e}");
    assert!(worst < TOLERANCE, "{worst}");
}

#[test]
fn perturbed_leader_is_the_lowest_vertex() {
    let mut worst = 0.0_f64;
    for (index, (set, shape)) in sets().into_iter().enumerate() {
        let d = set.dimension();
        let mut draws = Draws::new(300 + index as u64);
        let mut learner = PerturbedLeader::new(set).unwrap();
        let mut sum: Vec<f64> = (0..d).map(|_| 5.0 * draws.normal()).collect();
        learner.observe_initial(&sum).unwrap();
        worst = worst.max(distance(&shape.lowest(&sum), learner.iterate()));
        for _ in 0..500 {
            add(&mut sum, 1.0, &draws.vector(d));
            learner.observe(&sum).unwrap();
            worst = worst.max(distance(&shape.lowest(&sum), learner.iterate()));
        }
    }
    println!("perturbed leader: {worst:.1e}");
    assert!(worst < TOLERANCE, "{worst}");
}

/// An oracle's answer from its definition, for the sets whose answer is simple enough to write
/// twice.
enum Rule {
    /// Mass min(1, √d·r/2) from the largest gradients to the smallest.
    Simplex,
    /// Every coordinate by r.
    Box(Vec<f64>, Vec<f64>),
    /// On weights over *all* vertices, mass κ·r from the largest products to the smallest.
    Hull(Vec<Vec<f64>>, f64),
}

impl Rule {
    /// Moves x (and for a hull its weights) a fraction of the way to the answer.
    fn step(&self, x: &mut Vec<f64>, weights: &mut [f64], radius: f64, g: &[f64], fraction: f64) {
        match self {
            Self::Simplex => {
                let mass = ((x.len() as f64).sqrt() * radius / 2.0).min(1.0);
                shift(x, mass, g, fraction);
            }
            Self::Box(low, high) => {
                for i in 0..x.len() {
                    let to = (x[i] - radius * g[i].signum()).max(low[i]).min(high[i]);
                    x[i] += fraction * (to - x[i]);
                }
            }
            Self::Hull(vertices, rate) => {
                let products: Vec<f64> = vertices.iter().map(|vertex| dot(vertex, g)).collect();
                shift(weights, (rate * radius).min(1.0), &products, fraction);
                *x = vec![0.0; x.len()];
                for (weight, vertex) in weights.iter().zip(vertices) {
                    add(x, *weight, vertex);
                }
            }
        }
    }
}

/// Moves `mass` from the largest coordinates of `g` to the smallest, then takes only a fraction of
/// that step.
fn shift(weights: &mut [f64], mass: f64, g: &[f64], fraction: f64) {
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|&a, &b| g[a].total_cmp(&g[b]));
    let mut left = mass;
    for &i in order.iter().rev() {
        let taken = left.min(weights[i]);
        left -= taken;
        weights[i] -= fraction * taken;
        weights[order[0]] += fraction * taken;
    }
}

#[test]
fn local_linear_is_the_corrected_algorithm() {
    let mut worst = 0.0_f64;
    for (index, (set, shape)) in sets().into_iter().enumerate() {
        let d = set.dimension();
        let rho = set.local_oracle().unwrap().rho();
        let rule = match &shape {
            Shape::Simplex => Rule::Simplex,
            Shape::Box(low, high) => Rule::Box(low.clone(), high.clone()),
            Shape::Hull(vertices) if set.name() != "L1 ball" => {
                Rule::Hull(vertices.clone(), rho / set.diameter())
            }
            _ => continue,
        };
        let mut draws = Draws::new(400 + index as u64);
        let (mu, lipschitz, noise, diameter) = (0.5, 2.0, 3.0, set.diameter());
        let mut weights = Vec::new();
        let start = match &shape {
            Shape::Hull(vertices) => {
                weights = vec![0.0; vertices.len()];
                weights[0] = 1.0;
                vertices[0].clone()
            }
            _ => shape.project(&draws.vector(d)),
        };
        let mut learner = LocalLinear::as_stated(set, mu, lipschitz, noise)
            .unwrap()
            .starting_at(&start)
            .unwrap();

        let a = 1.0 / (5.0 * rho * rho);
        let c0 = (25.0 * rho * rho) * (25.0 * rho * rho);
        let cw = 2.0 * a / (1.0 - a) * noise / (lipschitz + mu * diameter);
        let c1 = 26.0 * rho * rho * (lipschitz + mu * diameter) * (1.0 + cw);
        let mut own = start.clone();
        // The start is uphill, so that the learner leaves it.
        let drift: Vec<f64> = start.iter().map(|x| x + 0.3 * draws.sign()).collect();
        let (mut history, mut travelled) = (Vec::new(), 0.0_f64);
        let (mut sum, mut before) = (vec![0.0; d], vec![0.0; d]);
        for t in 1..=400 {
            // Steep, so that the anchored average moves at all, and turning back half way.
            let side = if t <= 200 { 1e4 } else { -1e4 };
            add(&mut sum, side, &drift);
            add(&mut sum, 1e3, &draws.vector(d));
            learner.observe(&sum).unwrap();

            history.push(own.clone());
            let n = f64::from(t) + c0;
            let mut g = sum.clone();
            for old in &history {
                add(&mut g, mu, &own);
                add(&mut g, -mu, old);
            }
            add(&mut g, mu * c0, &own);
            add(&mut g, -mu * c0, &start);
            let eta = c1 * c1 / (mu * n);
            let moved = distance(&sum, &before);
            let radius = (4.0 * eta / (mu * n)).sqrt() + (moved + mu * diameter) / (mu * n);
            rule.step(&mut own, &mut weights, radius.min(diameter), &g, a);
            before.clone_from(&sum);
            travelled = travelled.max(distance(&own, &start));
            worst = worst.max(distance(&own, learner.iterate()));
        }
        assert!(travelled > 1e-4, "nothing was tested: {travelled}");
    }
    println!("local linear: {worst:.1e}");
    assert!(worst < TOLERANCE, "{worst}");
}
