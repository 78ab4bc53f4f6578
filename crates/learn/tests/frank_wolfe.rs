//! Online Frank–Wolfe: equal to a second implementation of the textbook algorithm, within its
//! bounds, and with a falling average regret.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::sync::Arc;

use common::{Draws, Shape, add, centre, distance, dot, minimise, sets};
use hushstream_learn::{FrankWolfe, Learner};
use hushstream_sets::{ConvexSet, Spectrahedron};

/// A linear minimiser that shares nothing with the library's.
enum Lowest {
    Shape(Shape),
    /// 2×2 density matrices as (x₀₀, √2·x₀₁, x₁₁): a disc, so the lowest point is opposite to the
    /// direction's part in its plane.
    Disc,
}

impl Lowest {
    fn point(&self, g: &[f64]) -> Vec<f64> {
        match self {
            Self::Shape(shape) => shape.lowest(g),
            Self::Disc => {
                // x = (½ + a, √2·b, ½ − a) with a² + b² ≤ ¼, and
                // ⟨g, x⟩ = const + a(g₀ − g₂) + √2·b·g₁.
                let (along, across) = (g[0] - g[2], 2.0_f64.sqrt() * g[1]);
                let length = along.hypot(across).max(1e-300);
                let (a, b) = (-0.5 * along / length, -0.5 * across / length);
                vec![0.5 + a, 2.0_f64.sqrt() * b, 0.5 - a]
            }
        }
    }
}

fn all() -> Vec<(Arc<dyn ConvexSet>, Lowest)> {
    let mut all: Vec<(Arc<dyn ConvexSet>, Lowest)> = sets()
        .into_iter()
        .map(|(set, shape)| (set, Lowest::Shape(shape)))
        .collect();
    all.push((Arc::new(Spectrahedron::new(2).unwrap()), Lowest::Disc));
    all
}

/// Conditional gradient on the whole history, its step found from three values of the objective
/// instead of a formula for the step.
#[test]
fn it_is_the_textbooks_algorithm() {
    let mu = 0.6;
    let mut worst = 0.0_f64;
    for (index, (set, lowest)) in all().into_iter().enumerate() {
        let d = set.dimension();
        let mut draws = Draws::new(700 + index as u64);
        let mut own = centre(set.as_ref());
        let mut learner = FrankWolfe::new(set, mu).unwrap();
        let (mut sum, mut history, mut travelled) = (vec![0.0; d], Vec::new(), 0.0_f64);
        for t in 1..=300 {
            let side = if t <= 150 { 1.0 } else { -1.0 };
            let mut slope = draws.vector(d);
            slope[0] += side;
            add(&mut sum, 1.0, &slope);
            learner.observe(&sum).unwrap();

            history.push(own.clone());
            let objective = |x: &[f64]| {
                let squares: f64 = history.iter().map(|old| distance(x, old).powi(2)).sum();
                dot(&sum, x) + mu / 2.0 * squares
            };
            let mut gradient = sum.clone();
            for old in &history {
                add(&mut gradient, mu, &own);
                add(&mut gradient, -mu, old);
            }
            let corner = lowest.point(&gradient);
            let at = |a: f64| {
                let mut point = own.clone();
                add(&mut point, -a, &own);
                add(&mut point, a, &corner);
                point
            };
            // A parabola through the values at 0, ½ and 1.
            let [zero, half, one] = [0.0, 0.5, 1.0].map(|a| objective(&at(a)));
            let (bend, rise) = (2.0 * (zero - 2.0 * half + one), one - zero);
            let tilt = rise - bend;
            let step = if bend > 0.0 {
                (-tilt / (2.0 * bend)).clamp(0.0, 1.0)
            } else {
                1.0
            };
            let next = at(step);
            travelled += distance(&next, &own);
            own = next;
            worst = worst.max(distance(&own, learner.iterate()));
        }
        assert!(travelled > 0.5, "nothing was tested: {travelled}");
    }
    println!("Frank-Wolfe: {worst:.1e}");
    assert!(worst < 1e-9, "{worst}");
}

fn kick(draws: &mut Draws, norm: f64, d: usize) -> Vec<f64> {
    let mut kick = draws.vector(d);
    let factor = norm / dot(&kick, &kick).sqrt();
    kick.iter_mut().for_each(|value| *value *= factor);
    kick
}

/// The outcome of a game of quadratics (h/2)‖w − θ_t‖² whose targets switch sides.
struct Played {
    regret: f64,
    lipschitz: f64,
}

fn play(learner: &mut FrankWolfe, set: &dyn ConvexSet, noise: f64, rounds: u32) -> Played {
    let (h, d) = (0.5, set.dimension());
    let mut draws = Draws::new(9);
    let (mut sum, mut best) = (vec![0.0; d], vec![0.0; d]);
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
        add(&mut best, 1.0 / f64::from(rounds), &target);
        let mut noisy = sum.clone();
        add(&mut noisy, 1.0, &kick(&mut draws, noise, d));
        learner.observe(&noisy).unwrap();
        targets.push(target);
    }
    // The mean's projection is the best point for quadratics.
    set.project(&mut best).unwrap();
    let hindsight: f64 = targets
        .iter()
        .map(|target| h / 2.0 * distance(&best, target).powi(2))
        .sum();
    Played {
        regret: loss - hindsight,
        lipschitz,
    }
}

#[test]
fn both_bounds_hold_for_every_noise() {
    let rounds = 1000_u32;
    for (set, _) in all() {
        for noise in [0.0, 1.0, 30.0] {
            let mut learner = FrankWolfe::new(set.clone(), 0.5).unwrap();
            let Played { regret, lipschitz } = play(&mut learner, set.as_ref(), noise, rounds);
            let ahead = learner.regret_bound(lipschitz, noise, u64::from(rounds));
            let computed = learner.computed_bound(lipschitz, noise);
            let case = format!("{}, noise {noise}", set.name());
            assert!(regret <= ahead, "{case}: {regret} > {ahead}");
            assert!(regret <= computed, "{case}: {regret} > {computed}");
        }
    }
}

/// The heart of the proof: the iterate is within E·t^(−1/3) of the minimiser of Ĵ_t, and within the
/// distance that is computed.
#[test]
fn the_leader_is_followed_as_closely_as_proved() {
    let mu = 0.5;
    for (set, shape) in sets() {
        let d = set.dimension();
        let mut learner = FrankWolfe::new(set.clone(), mu).unwrap();
        let mut draws = Draws::new(21);
        let (mut sum, mut total) = (vec![0.0; d], vec![0.0; d]);
        let most = 3.0;
        for t in 1..=400_u32 {
            add(&mut total, 1.0, learner.iterate());
            let mut slope = kick(&mut draws, 1.0, d);
            slope[0] += if t / 40 % 2 == 0 { 2.0 } else { -2.0 };
            assert!(dot(&slope, &slope).sqrt() <= most);
            add(&mut sum, 1.0, &slope);
            learner.observe(&sum).unwrap();
            let leader = minimise(&shape, learner.iterate(), mu * f64::from(t), |x| {
                let mut gradient = sum.clone();
                add(&mut gradient, mu * f64::from(t), x);
                add(&mut gradient, -mu, &total);
                gradient
            });
            let apart = distance(&leader, learner.iterate());
            let flat = mu * set.diameter();
            let kappa = (2.0 * (most / flat).powf(2.0 / 3.0)).max(1.0);
            let root = (2.0 * most * most + kappa.powi(3) * flat * flat).sqrt();
            let proved = (most + root) / (mu * kappa) / f64::from(t).cbrt();
            assert!(apart <= proved, "{} t={t}: {apart} > {proved}", set.name());
            let computed = learner.leader_distance();
            assert!(
                apart <= computed + 1e-9,
                "{} t={t}: {apart} > {computed}",
                set.name()
            );
        }
    }
}

/// The average regret falls: eight times the rounds cost less than 8^(0.8) times the regret.
#[test]
fn regret_grows_slower_than_the_rounds() {
    let set: Arc<dyn ConvexSet> = Arc::new(Spectrahedron::new(4).unwrap());
    let regret = |rounds| {
        let mut learner = FrankWolfe::new(set.clone(), 0.5).unwrap();
        play(&mut learner, set.as_ref(), 5.0, rounds).regret
    };
    let (short, long) = (regret(1000), regret(8000));
    assert!(
        short > 0.0 && long < 8.0_f64.powf(0.8) * short,
        "{short} {long}"
    );
}
