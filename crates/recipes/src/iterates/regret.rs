//! What can be said about regret before any data.
//!
//! **Theorem** (JKT12's Theorem 2 and Corollary 3, recomputed for the noise that is drawn). On a
//! loss with steps as here, for every stream and every x* of the set, with losses f_t = ℓ_t +
//! (α_t/2)‖x‖², Σf_t(x̂_t) − Σf_t(x*) ≤ L'·Σ_t min(‖b_t‖, |C|) + R(T), where b_t is the noise of
//! release t, L' the steepness of what is measured. With E‖b_t‖ ≤ √d·σ_t that holds in expectation;
//! and since Σ‖b_t‖ is a Lipschitz function of Gaussian noise, with √(2 ln(1/γ)·Σσ_t²) more with
//! probability 1 − γ (the paper's Chebyshev bound has 1/√γ on everything).
//!
//! *Implicit steps*: f_t(x_{t+1}) + (A(t)/2)‖x_{t+1} − x_t‖² + ((A(t)+α_t)/2)‖x* − x_{t+1}‖² ≤
//! f_t(x*) + (A(t)/2)‖x* − x_t‖², because x_{t+1} minimises an (A(t)+α_t)-strongly convex function.
//! A(t+1) ≤ A(t) + α_t, so the sum telescopes; and f_t(x_t) − f_t(x_{t+1}) ≤ L_t‖x_t − x_{t+1}‖
//! with L_t = L + α_tρ. So R(T) ≤ (A(1)/2)·‖x* − x_1‖² + ½ΣL_t²/A(t). *Gradient steps* of size
//! 1/A(t), from t_q on: ½ΣL_t²/A(t), and L'·|C| for each round before; with the printed size
//! 2/A(t), twice the sum. ∎ If the regulariser is not part of the loss that is measured, it adds
//! A(T)ρ²/2.

use super::recipe::{Insider, IterateRecipe, Steps};
use hushstream_mechanism::perturb::{StepSize, Timing};
use hushstream_mechanism::sums::Noise;

impl IterateRecipe {
    /// A bound on the regret over all rounds: in expectation, or with probability 1 − γ if a γ is
    /// given (Gaussian noise only). Nothing for a learner of its own, for one release at the end,
    /// or for an unknown horizon.
    #[must_use]
    pub fn regret_bound(&self, failing: Option<f64>) -> Option<f64> {
        let Insider::Loss(loss) = &self.request.insider else {
            return None;
        };
        let Timing::Every(releases) = self.plan.request().timing else {
            return None;
        };
        let explicit = loss.explicit()?;
        let curvature = self.curvature?;
        let set = &self.request.set;
        let (radius, diameter) = (set.largest_norm(), set.diameter());
        let length = (set.dimension() as f64).sqrt();
        let data = explicit.lipschitz(radius) + explicit.offset().abs() * length;
        // How steep what is measured is, and how steep what is stepped on.
        let measured = data + explicit.ridge() * radius;
        let (mut lengths, mut squares, mut learning, mut idle) = (0.0, 0.0, 0.0, 0.0);
        for t in 1..=releases {
            let sigma = self.plan.sigma(t);
            lengths += (length * sigma).min(diameter);
            squares += sigma * sigma;
            if sigma > 0.0 {
                let stepped = data + curvature.at(t) * radius;
                learning += 0.5 * stepped * stepped / curvature.total(t);
            } else {
                idle += measured * diameter;
            }
        }
        let noise = self.plan.request().noise;
        let tail = match failing {
            None => 0.0,
            Some(gamma) if noise == Noise::Gaussian && gamma > 0.0 && gamma < 1.0 => {
                (2.0 * (1.0 / gamma).ln() * squares).sqrt()
            }
            Some(_) => return None,
        };
        let own = match self.steps {
            Steps::Implicit => 0.5 * curvature.total(1) * set.outer_radius().powi(2) + learning,
            Steps::Gradient(StepSize::Corrected) => learning + idle,
            Steps::Gradient(StepSize::Legacy) => 2.0 * learning + idle,
        };
        // The last round has no release after it, but a loss.
        let last = measured * diameter;
        let bias = if explicit.ridge() > 0.0 {
            0.0
        } else {
            0.5 * curvature.total(releases + 1) * radius * radius
        };
        Some(measured * (lengths + tail) + own + last + bias)
    }
}
