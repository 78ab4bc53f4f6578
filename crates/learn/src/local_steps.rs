//! Radius and step of [`crate::LocalLinear`], with WDP20's constants or tuned. Plain numbers;
//! notation as there.
//!
//! **Tuned.** γ_t ≥ Ĵ_t(x̂_{t+1}) − min Ĵ_t is maintained, from γ_0 = 0:
//!
//! - e = √(2γ_{t−1}/A_{t−1}), r_t = min(D, e + (‖ĝ_t − ĝ_{t−1}‖ + μe)/A_t); p̂ the oracle's answer,
//!   q = ⟨g, x̂_t − p̂⟩, m = ‖x̂_t − p̂‖²,
//! - the best step towards p̂: a = min(1, q/(A_t·m)),
//! - γ_t = min(q, γ_{t−1} + ‖ĝ_t − ĝ_{t−1}‖·r_t) − a·q + a²·A_t·m/2.
//!
//! *Proof.* Let x*_t minimise Ĵ_t, which is A_t-strongly convex. Then ‖x̂_t − x*_{t−1}‖ ≤ e, and
//! the gradients of Ĵ_t and Ĵ_{t−1} differ at x*_{t−1} by ĝ_t − ĝ_{t−1} + μ(x*_{t−1} − x̂_t), so
//! x*_t is within r_t of x̂_t. Hence q ≥ ⟨g, x̂_t − x*_t⟩ ≥ Ĵ_t(x̂_t) − Ĵ_t(x*_t), which is also at
//! most γ_{t−1} + ⟨ĝ_t − ĝ_{t−1}, x̂_t − x*_t⟩. Ĵ_t is a quadratic: the rest is its exact change. ∎
//!
//! **Regret.** The minimisers of Ĵ_t follow the leader with the regulariser (C₀μ/2)‖x − x_1‖² and
//! noise, which costs at most (1 + ln T)((L + μD)²/2 + L·N)/μ + C₀μD²/2 (see the approximate
//! leader); the iterate played after round t is within e_t of it, which costs L·e_t.

use crate::{LearnError, check};
use hushstream_sets::ConvexSet;
use std::sync::Arc;

/// The numbers that the steps depend on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Steps {
    pub(crate) strong_convexity: f64,
    /// C₀.
    pub(crate) anchor: f64,
    diameter: f64,
    /// a and C₁, unless tuned.
    stated: Option<(f64, f64)>,
    /// γ_t, if tuned.
    pub(crate) gap: f64,
    /// Σ e_t, if tuned.
    pub(crate) lag: f64,
}

impl Steps {
    pub(crate) fn tuned(
        strong_convexity: f64,
        anchor: f64,
        diameter: f64,
    ) -> Result<Self, LearnError> {
        check::positive("strong convexity μ", strong_convexity)?;
        check::not_negative("anchor C₀", anchor)?;
        Ok(Self {
            strong_convexity,
            anchor,
            diameter,
            stated: None,
            gap: 0.0,
            lag: 0.0,
        })
    }

    /// The steps with WDP20's constants.
    pub(crate) fn stated(self, rho: f64, lipschitz: f64, noise: f64) -> Result<Self, LearnError> {
        check::positive("Lipschitz constant L", lipschitz)?;
        check::not_negative("noise norm", noise)?;
        let square = rho * rho;
        let fraction = 1.0 / (5.0 * square);
        let slope = lipschitz + self.strong_convexity * self.diameter;
        let window = 2.0 * fraction / (1.0 - fraction) * noise / slope;
        let c1 = 26.0 * square * slope * (1.0 + window);
        check::positive("C₁", c1)?;
        Ok(Self {
            anchor: (25.0 * square).powi(2),
            stated: Some((fraction, c1)),
            ..self
        })
    }

    pub(crate) fn is_tuned(&self) -> bool {
        self.stated.is_none()
    }

    /// 4(L + μD)(1 + C_W) = 20a·C₁/26, unless tuned: the largest increment of the sums that the
    /// proof allows in a round.
    pub(crate) fn largest_increment(&self) -> Option<f64> {
        self.stated
            .map(|(fraction, c1)| fraction * c1 * 20.0 / 26.0)
    }

    pub(crate) fn forget(&mut self) {
        self.gap = 0.0;
        self.lag = 0.0;
    }

    /// A_t.
    fn curvature(&self, t: u64) -> f64 {
        self.strong_convexity * (t as f64 + self.anchor)
    }

    /// e_t.
    pub(crate) fn distance(&self, t: u64) -> f64 {
        if self.gap <= 0.0 {
            return 0.0;
        }
        let distance = (2.0 * self.gap / self.curvature(t)).sqrt();
        distance.min(self.diameter)
    }

    /// r_t, for sums that moved by `moved` in round t.
    pub(crate) fn radius(&self, t: u64, moved: f64) -> f64 {
        let curvature = self.curvature(t);
        let radius = if let Some((_, c1)) = self.stated {
            (2.0 * c1 + moved + self.strong_convexity * self.diameter) / curvature
        } else {
            let distance = self.distance(t - 1);
            let drift = (moved + self.strong_convexity * distance) / curvature;
            // A small margin for rounding.
            (distance + drift) * (1.0 + 1e-9) + 1e-12 * self.diameter
        };
        radius.min(self.diameter)
    }

    /// a, and the numbers after the step, for the gradient g and `way` = x̂_t − p̂.
    pub(crate) fn step(&self, t: u64, moved: f64, gradient: &[f64], way: &[f64]) -> (f64, Self) {
        if let Some((fraction, _)) = self.stated {
            return (fraction, *self);
        }
        let descent = check::dot(gradient, way).max(0.0);
        let stretch = self.curvature(t) * check::dot(way, way);
        let fraction = if descent < stretch {
            descent / stretch
        } else {
            1.0
        };
        let before = descent.min(self.gap + moved * self.radius(t, moved));
        let gap = before + fraction * (fraction * stretch / 2.0 - descent);
        let mut next = *self;
        // After an overflow the only known bound is the diameter.
        next.gap = if gap.is_finite() {
            gap.max(0.0)
        } else {
            f64::MAX
        };
        next.lag += next.distance(t);
        (fraction, next)
    }

    pub(crate) fn regret_bound(&self, rounds: u64, lipschitz: f64, noise: f64) -> f64 {
        let slope = lipschitz + self.strong_convexity * self.diameter;
        let constant = self.stated.map_or(0.0, |(_, c1)| 2.0 * c1);
        let harmonic = check::harmonic(rounds) / self.strong_convexity;
        let start = self.anchor * self.strong_convexity * self.diameter.powi(2) / 2.0;
        let leader = harmonic * (slope * slope / 2.0 + lipschitz * (noise + constant));
        leader + start + lipschitz * self.lag
    }
}

/// What both learners that step towards a low point keep: where they are and were, and the sum they
/// saw last.
#[derive(Debug, Clone)]
pub(crate) struct Walk {
    pub(crate) set: Arc<dyn ConvexSet>,
    pub(crate) steps: Steps,
    pub(crate) rounds: u64,
    /// x_1.
    first: Vec<f64>,
    pub(crate) iterate: Vec<f64>,
    /// Σ x̂_τ over τ ≤ rounds + 1.
    total: Vec<f64>,
    previous: Vec<f64>,
}

impl Walk {
    pub(crate) fn new(set: Arc<dyn ConvexSet>, steps: Steps, first: Vec<f64>) -> Self {
        Self {
            set,
            steps,
            rounds: 0,
            iterate: first.clone(),
            total: first.clone(),
            previous: vec![0.0; first.len()],
            first,
        }
    }

    /// How far the sum moved in round t, and the gradient of Ĵ_t at the iterate.
    pub(crate) fn gradient(&self, prefix: &[f64]) -> Result<(f64, Vec<f64>), LearnError> {
        let dimension = self.set.dimension();
        check::vector("prefix sum", prefix, dimension)?;
        let t = (self.rounds + 1) as f64;
        let moved = check::norm(&check::difference(prefix, &self.previous)).min(f64::MAX);
        let (mu, anchor) = (self.steps.strong_convexity, self.steps.anchor);
        let gradient = (0..dimension).map(|i| {
            let away = t * self.iterate[i] - self.total[i];
            let anchored = anchor * (self.iterate[i] - self.first[i]);
            (mu * (away + anchored) + prefix[i]).clamp(f64::MIN, f64::MAX)
        });
        Ok((moved, gradient.collect()))
    }

    /// Ends the round at the next iterate.
    pub(crate) fn arrive(&mut self, next: Vec<f64>, prefix: &[f64], steps: Steps) {
        for (total, value) in self.total.iter_mut().zip(&next) {
            *total += value;
        }
        self.iterate = next;
        self.previous = prefix.to_vec();
        self.steps = steps;
        self.rounds += 1;
    }

    /// The numbers of [`Walk::state`].
    pub(crate) fn size(&self) -> usize {
        3 * self.first.len() + 2
    }

    pub(crate) fn state(&self) -> Vec<f64> {
        let mut state = [self.iterate.as_slice(), &self.total, &self.previous].concat();
        state.extend([self.steps.gap, self.steps.lag]);
        state
    }

    /// The walk that had this state after so many rounds.
    pub(crate) fn restored(&self, rounds: u64, state: &[f64]) -> Result<Self, LearnError> {
        check::vector("saved state", state, self.size())?;
        let (vectors, numbers) = state.split_at(self.size() - 2);
        check::not_negative("saved gap", numbers[0])?;
        check::not_negative("saved lag", numbers[1])?;
        let [iterate, total, previous] = check::saved(self.set.as_ref(), vectors)?;
        let mut steps = self.steps;
        (steps.gap, steps.lag) = (numbers[0], numbers[1]);
        Ok(Self {
            set: self.set.clone(),
            steps,
            rounds,
            first: self.first.clone(),
            iterate,
            total,
            previous,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_the_stated_ones() {
        // ρ = 1, D = 2, μ = 1: a = 1/5, C₀ = 625, L + μD = 3, C_W = 0.5·6/3 = 1, C₁ = 26·3·2.
        let tuned = Steps::tuned(1.0, 0.0, 2.0).unwrap();
        let steps = tuned.stated(1.0, 1.0, 6.0).unwrap();
        let (fraction, c1) = steps.stated.unwrap();
        assert!((steps.anchor - 625.0).abs() < 1e-12);
        assert!((fraction - 0.2).abs() < 1e-15 && (c1 - 156.0).abs() < 1e-12);
        // 4·3·(1 + 1)
        assert!((steps.largest_increment().unwrap() - 24.0).abs() < 1e-12);
        assert!(tuned.largest_increment().is_none());
        // (2·156 + 5 + 2)/(1·(3 + 625)), below D = 2.
        assert!((steps.radius(3, 5.0) - 319.0 / 628.0).abs() < 1e-14);
        assert!((steps.radius(3, 1e9) - 2.0).abs() < 1e-15);
        assert!(steps.stated(1.0, 0.0, 6.0).is_err());
        assert!(steps.stated(1.0, 1.0, -6.0).is_err());
    }

    /// A step by hand: A_1 = 2, g = (4, 0), x̂ − p̂ = (1, 0): q = 4 > A·m = 2, so a = 1;
    /// γ = min(4, 0 + 4·2) − 4 + 1.
    #[test]
    fn a_tuned_step_by_hand() {
        let steps = Steps::tuned(2.0, 0.0, 3.0).unwrap();
        assert!((steps.radius(1, 4.0) - 2.0).abs() < 1e-8);
        let (fraction, next) = steps.step(1, 4.0, &[4.0, 0.0], &[1.0, 0.0]);
        assert!((fraction - 1.0).abs() < 1e-15 && (next.gap - 1.0).abs() < 1e-12);
        assert!((next.distance(1) - 1.0).abs() < 1e-12 && (next.lag - 1.0).abs() < 1e-12);
        let (fraction, _) = steps.step(1, 4.0, &[1.0, 0.0], &[1.0, 0.0]);
        assert!((fraction - 0.5).abs() < 1e-15);
        let (_, lost) = steps.step(1, f64::MAX, &[f64::MAX, f64::MAX], &[3.0, 3.0]);
        assert!((lost.distance(1) - 3.0).abs() < 1e-15);
    }
}
