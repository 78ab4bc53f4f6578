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
use crate::linear::{Holds, RegretBound};
use hushstream_mechanism::perturb::{StepSize, Timing};
use hushstream_mechanism::sums::Noise;

impl IterateRecipe {
    /// The certified regret, or why there is none: in expectation, or with probability 1 − γ if a γ
    /// is given (JKT12's Corollary 3).
    ///
    /// # Errors
    /// The reason, for people.
    pub fn certified(&self, failing: Option<f64>) -> Result<RegretBound, String> {
        let request = self.plan.request();
        if let Timing::Last(_) = request.timing {
            return Err(
                "it plays no rounds: it releases one model, whose excess risk JKT12's Theorem 6 \
                 bounds (--excess-risk)"
                    .to_owned(),
            );
        }
        if failing.is_some() && request.noise != Noise::Gaussian {
            return Err("the tail is known for Gaussian noise only".to_owned());
        }
        let value = self.regret_bound(failing).ok_or(
            "none is known: the learner states its sensitivity, and not its regret without noise",
        )?;
        Ok(RegretBound {
            value,
            holds: failing.map_or(Holds::Expected, Holds::Unless),
            theorem: match self.steps {
                Steps::Implicit => {
                    "JKT12 Theorems 2 and 8 with errata J8, J9, J11: L' sum min(sqrt(d) sigma_t, \
                     |C|) + A(1) r^2/2 + sum L_t^2/(2 A(t)) + L' |C|"
                }
                Steps::Gradient(_) => {
                    "JKT12 Theorems 2 and 10 with errata J6, J8, J9: L' sum min(sqrt(d) sigma_t, \
                     |C|) + sum L_t^2/(2 A(t)) + (t_q + 1) L' |C|"
                }
            },
        })
    }

    /// What the regret can never exceed: the steepest loss over the whole set, each round.
    #[must_use]
    pub fn trivial_regret(&self) -> Option<f64> {
        let explicit = self.loss()?.explicit()?;
        let set = &self.request.set;
        let length = (set.dimension() as f64).sqrt();
        let slope = explicit.lipschitz(set.largest_norm())
            + explicit.offset().abs() * length
            + explicit.ridge() * set.largest_norm();
        Some(slope * set.diameter() * self.request.rounds as f64)
    }

    /// A bound on the regret over all rounds: in expectation, or with probability 1 − γ if a γ is
    /// given (Gaussian noise only). For an unknown horizon, over the rounds that are expected.
    /// Nothing for a learner of its own, or for one release at the end.
    #[must_use]
    pub fn regret_bound(&self, failing: Option<f64>) -> Option<f64> {
        let Insider::Loss(loss) = &self.request.insider else {
            return None;
        };
        let releases = match self.plan.request().timing {
            Timing::Every(releases) => releases,
            Timing::Unknown => self.request.rounds.max(2) - 1,
            Timing::Last(_) => return None,
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
