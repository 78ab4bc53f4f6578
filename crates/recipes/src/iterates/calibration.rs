//! How much curvature a recipe on a loss works with: the loss's own, the one asked for, or the one
//! that balances noise against bias.
//!
//! A round's regulariser (α_t/2)‖x‖² makes iterates stable: noise costs about N/a and learning
//! L²/a, both falling with the curvature a; the bias is about a·B. What is left is a = √((N +
//! L²…)/B).
//!
//! - `pigd-convex`, A(t) = a·t^¾: noise L√d·Σσ_t with s_t = κL/A(t+1); learning L²Σ1/(2A(t)); bias
//!   A(T)ρ²/2. With T^¾ on both sides it is the best power for Lipschitz losses (erratum J15).
//! - `pol`, A(t) = α·t: noise L√d·κL(H_T − 1)/(αTμ); learning L²(1 + ln T)/(2αT); bias αρ²/2.
//!   JKT12's α = ε_g/ρ² is the one for a stated error ([`super::PolQuestion`]).

use super::recipe::{Averaged, IterateRequest};
use super::rules::{Calibration, IterateRules};
use crate::error::RecipeError;
use hushstream_account::Mu;
use hushstream_mechanism::losses::Loss;
use hushstream_mechanism::perturb::{Curvature, PerturbError, Timing};
use hushstream_mechanism::sums::Noise;

/// Σ_{t ≤ n} t^−q, to a few parts in a hundred: a trade-off needs no more.
fn power_sum(n: u64, q: f64) -> f64 {
    let n = n as f64;
    if (q - 1.0).abs() < 1e-9 {
        n.ln() + 0.577
    } else {
        1.0 + (n.powf(1.0 - q) - 1.0) / (1.0 - q)
    }
}

impl IterateRequest {
    pub(super) fn calibrated_curvature(
        &self,
        loss: &dyn Loss,
        noise: Noise,
        rules: IterateRules,
    ) -> Result<Curvature, RecipeError> {
        let explicit = loss
            .explicit()
            .ok_or_else(|| PerturbError::Loss(loss.name().to_owned()))?;
        let power = match rules.curvature {
            Calibration::Balanced(power) => power,
            Calibration::Own | Calibration::OwnOrBalanced => 1.0,
        };
        if let Some(given) = self.curvature {
            return Ok(Curvature::growing(given, power)?);
        }
        let own = explicit.ridge();
        match rules.curvature {
            Calibration::Balanced(_) if own > 0.0 => Err(RecipeError::Unfit(format!(
                "{} is strongly convex by itself: use pigd",
                loss.name()
            ))),
            Calibration::Own | Calibration::OwnOrBalanced if own > 0.0 => {
                Ok(Curvature::constant(own)?)
            }
            Calibration::Own => Err(RecipeError::Unfit(format!(
                "{} needs strongly convex losses, and {} is not; use pigd-convex, or state the \
                 curvature",
                self.recipe,
                loss.name()
            ))),
            Calibration::Balanced(_) | Calibration::OwnOrBalanced => {
                let lipschitz = explicit.lipschitz(self.set.largest_norm());
                let is_one = matches!((rules.timing)(1), Timing::Last(_));
                let scale = self.balanced(lipschitz, noise, power, is_one);
                Ok(Curvature::growing(scale, power)?)
            }
        }
    }

    /// The a that balances noise and learning against bias; `is_one`: for one release, at the end.
    fn balanced(&self, lipschitz: f64, noise: Noise, power: f64, is_one: bool) -> f64 {
        let (most, _) = self.participation.limits();
        let spread = self.adjacency.kappa() * most as f64 * lipschitz;
        let dimension = self.set.dimension() as f64;
        let rounds = self.rounds as f64;
        let mu = Mu::within(self.budget).map_or(0.0, Mu::get);
        let (length, limit) = if noise == Noise::Gaussian {
            (dimension.sqrt(), mu)
        } else {
            (dimension, self.budget.epsilon())
        };
        let learning = lipschitz * lipschitz * power_sum(self.rounds, power) / 2.0;
        let total = if is_one {
            // One release: the average of all sensitivities that it is of, counted once a round.
            let mean = match self.average {
                Averaged::All => power_sum(self.rounds, 1.0) - 1.0,
                Averaged::LaterHalf => 2.0 * std::f64::consts::LN_2,
            };
            spread * mean / limit
        } else if noise == Noise::Gaussian {
            spread * power_sum(self.rounds, 2.0 * power / 3.0).powf(1.5) / limit
        } else {
            spread * power_sum(self.rounds, power / 2.0).powi(2) / limit
        };
        let bias = rounds.powf(power) * self.set.largest_norm().powi(2) / 2.0;
        ((lipschitz * length * total + learning) / bias).sqrt()
    }
}
