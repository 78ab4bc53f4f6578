//! JKT12's private offline learning as printed: one model, the average of implicit gradient steps,
//! noise β = 2√2·L′·ln T·√(ln(1/δ) + ε)/(Tε), projected onto a ball of radius ‖x*‖.
//!
//! **Unsound on purpose.** The losses here are linear with slope ±1 and curvature α, so steps are x
//! ← Π((t·x − g/α)/(t + 1)) and everything but the noise is computed exactly.

use crate::duel::World;

/// L.
const LIPSCHITZ: f64 = 1.0;

/// β, with L′ = L + α‖x*‖.
pub(crate) fn noise(rounds: u64, (alpha, radius): (f64, f64), (epsilon, delta): (f64, f64)) -> f64 {
    let steep = LIPSCHITZ + alpha * radius;
    let rounds = rounds as f64;
    let root = (libm::log(1.0 / delta) + epsilon).sqrt();
    2.0 * std::f64::consts::SQRT_2 * steep * libm::log(rounds) / (rounds * epsilon) * root
}

/// The average of the iterates x_1 = 0, …, x_T for gradients `gradient(t)`, t < T.
pub(crate) fn average(
    rounds: u64,
    (alpha, radius): (f64, f64),
    gradient: impl Fn(u64) -> f64,
) -> f64 {
    let (mut x, mut total) = (0.0, 0.0);
    for t in 1..rounds {
        let step = (t as f64 * x - gradient(t) / alpha) / (t as f64 + 1.0);
        x = step.clamp(-radius, radius);
        total += x;
    }
    total / rounds as f64
}

/// How far the average is moved by the record that moves it most: the first one whose step stays
/// inside the ball.
pub(crate) fn reach(rounds: u64, (alpha, radius): (f64, f64)) -> f64 {
    let first = (LIPSCHITZ / (alpha * radius)).ceil().max(2.0) as u64 - 1;
    let side = |sign: f64| {
        average(rounds, (alpha, radius), |t| {
            if t == first { sign * LIPSCHITZ } else { 0.0 }
        })
    };
    side(-1.0) - side(1.0)
}

/// A model whose radius was chosen by cross-validation: where the average is, its noise, and the
/// radius.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Chosen {
    pub(crate) mean: f64,
    pub(crate) noise: f64,
    pub(crate) radius: f64,
}

impl Chosen {
    /// Four records at 1 to learn from, and 1, −1 and the canary at ±1 to validate with; the loss
    /// is |x − z|, and the radius with the smaller validation loss is taken.
    pub(crate) fn by_validation(
        world: World,
        radii: [f64; 2],
        (epsilon, delta): (f64, f64),
    ) -> Self {
        const ALPHA: f64 = 1.0;
        let held_out = [1.0, -1.0, world.sign()];
        let records = [1.0, 1.0, 1.0, 1.0, 1.0, -1.0, world.sign()];
        // All that is learned from lies beyond the ball: the best model of a radius is its end.
        let loss = |x: f64| held_out.iter().map(|z| (x - z).abs()).sum::<f64>();
        let radius = if loss(radii[1]) < loss(radii[0]) {
            radii[1]
        } else {
            radii[0]
        };
        let rounds = records.len() as u64 + 1;
        let gradient = |t: u64| -records[usize::try_from(t - 1).unwrap_or(0)];
        Self {
            mean: average(rounds, (ALPHA, radius), gradient),
            noise: noise(rounds, (ALPHA, radius), (epsilon, delta)),
            radius,
        }
    }

    /// The released model.
    pub(crate) fn model(self, standard: f64) -> f64 {
        (self.mean + self.noise * standard).clamp(-self.radius, self.radius)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sensitivity that the printed (37) lacks 1/α of: 2L(H_T − H_t)/(αT) for record t.
    #[test]
    fn the_average_moves_as_far_as_the_harmonic_numbers_say() {
        let (rounds, alpha) = (10_000, 0.1);
        let harmonic = |from: u64| (from + 1..=rounds).map(|t| 1.0 / t as f64).sum::<f64>();
        // 1/(α(t+1)) ≤ 2 from t = 4 on.
        let expected = 2.0 * harmonic(4) / (alpha * rounds as f64);
        let found = reach(rounds, (alpha, 2.0));
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
    }

    #[test]
    fn one_record_chooses_the_radius() {
        let choose = |world| Chosen::by_validation(world, [0.1, 0.2], (1.0, 1e-6)).radius;
        assert!(choose(World::Left) < 0.15 && choose(World::Right) > 0.15);
    }
}
