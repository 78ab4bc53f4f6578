//! From counted runs to what is proved about a guarantee.
//!
//! An attack says "right" or "left" after each run. Let β̂ ≥ b be a proved bound on how often it
//! says "right" in the right world and α̂ ≤ a on how often in the left one, each except with
//! probability half the stated error. Then, with that confidence:
//!
//! - the mechanism is not μ-Gaussian private for any μ < Φ⁻¹(b) − Φ⁻¹(a) (Dong, Roth and Su 2022:
//!   the trade-off function of μ passes through those points);
//! - it is not (ε, δ)-private for any ε < ln((b − δ)/a), nor for any δ < b − e^ε·a (the
//!   definition).
//!
//! All of them follow from the same two numbers, so stating all costs nothing.

use crate::binomial;
use crate::normal::{phi, quantile_high, quantile_low};

/// The claimed guarantee.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Claim {
    /// Gaussian privacy, and the (ε, δ) that is printed for it.
    Gaussian {
        /// μ.
        mu: f64,
        /// ε.
        epsilon: f64,
        /// δ.
        delta: f64,
    },
    /// Pure privacy.
    Pure {
        /// ε.
        epsilon: f64,
    },
    /// (ε, δ) and nothing more.
    Approximate {
        /// ε.
        epsilon: f64,
        /// δ.
        delta: f64,
    },
}

impl Claim {
    /// ε and δ.
    pub fn budget(self) -> (f64, f64) {
        match self {
            Self::Gaussian { epsilon, delta, .. } | Self::Approximate { epsilon, delta } => {
                (epsilon, delta)
            }
            Self::Pure { epsilon } => (epsilon, 0.0),
        }
    }

    /// μ, if that is what is promised.
    pub fn mu(self) -> Option<f64> {
        match self {
            Self::Gaussian { mu, .. } => Some(mu),
            _ => None,
        }
    }

    /// What an attack tries to make large: μ, ε, or δ at the claimed ε. Negative for attacks that
    /// prove nothing, so that they can be compared all the same.
    pub(crate) fn aim(self, rates: Rates) -> f64 {
        match self {
            Self::Gaussian { .. } => rates.quantile_gap(),
            Self::Pure { .. } => rates.log_ratio(0.0),
            Self::Approximate { epsilon, .. } => rates.excess(epsilon),
        }
    }

    /// The same quantity, as claimed.
    pub(crate) fn promised(self) -> f64 {
        match self {
            Self::Gaussian { mu, .. } => mu,
            Self::Pure { epsilon } => epsilon,
            Self::Approximate { delta, .. } => delta,
        }
    }

    /// The largest rate of hits that it allows at a rate of alarms: the edge of its region, for
    /// pictures.
    pub fn allows(self, alarms: f64) -> f64 {
        let (epsilon, delta) = self.budget();
        let most = match self {
            Self::Gaussian { mu, .. } => phi(quantile_high(alarms) + mu),
            _ => {
                let low = libm::exp(epsilon) * alarms + delta;
                low.min(1.0 - libm::exp(-epsilon) * (1.0 - delta - alarms))
            }
        };
        most.clamp(0.0, 1.0)
    }

    /// Whether proved rates contradict it.
    pub fn is_refuted_by(self, rates: Rates) -> bool {
        let (epsilon, delta) = self.budget();
        self.aim(rates) > self.promised() || rates.delta(epsilon) > delta
    }
}

/// How often an attack says "right" in the right world, at least, and in the left world, at most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// b.
    pub hits: f64,
    /// a.
    pub alarms: f64,
}

impl Rates {
    /// From counts in so many runs of each world; wrong with probability at most `error`.
    pub fn proved(hits: u64, alarms: u64, runs: u64, error: f64) -> Self {
        Self {
            hits: binomial::lower(hits, runs, error / 2.0),
            alarms: binomial::upper(alarms, runs, error / 2.0),
        }
    }

    /// No smaller μ is possible.
    pub fn mu(self) -> f64 {
        self.quantile_gap().max(0.0)
    }

    /// No smaller ε is possible at this δ.
    pub fn epsilon(self, delta: f64) -> f64 {
        self.log_ratio(delta).max(0.0)
    }

    /// No smaller δ is possible at this ε.
    pub fn delta(self, epsilon: f64) -> f64 {
        self.excess(epsilon).max(0.0)
    }

    /// Φ⁻¹(b) − Φ⁻¹(a), rounded down.
    fn quantile_gap(self) -> f64 {
        let gap = quantile_low(self.hits) - quantile_high(self.alarms);
        if gap.is_nan() {
            f64::NEG_INFINITY
        } else {
            gap.next_down()
        }
    }

    /// ln((b − δ)/a), rounded down: a few units in the last place for the difference, the quotient
    /// and the logarithm.
    fn log_ratio(self, delta: f64) -> f64 {
        if self.hits <= delta {
            return f64::NEG_INFINITY;
        }
        let bound = libm::log((self.hits - delta) / self.alarms);
        bound - 1e-14 * (1.0 + bound.abs())
    }

    /// b − e^ε·a, rounded down.
    fn excess(self, epsilon: f64) -> f64 {
        let allowed = libm::exp(epsilon) * self.alarms;
        self.hits - allowed - 1e-14 * (1.0 + allowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_on_the_curve_give_the_parameter_back() {
        // Φ(±1): the best threshold between two normals two apart.
        let rates = Rates {
            hits: 0.841_344_746_068_542_9,
            alarms: 0.158_655_253_931_457_05,
        };
        assert!((rates.mu() - 2.0).abs() < 1e-8 && rates.mu() <= 2.0);
        let ratio = (0.841_344_746_068_542_9_f64 / 0.158_655_253_931_457_05).ln();
        assert!((rates.epsilon(0.0) - ratio).abs() < 1e-9);
        assert!((rates.delta(1.0) - (0.841_344_746 - 0.158_655_253_9 * 1_f64.exp())).abs() < 1e-8);
        assert!(rates.epsilon(0.9).abs() < 1e-300 && rates.delta(9.0).abs() < 1e-300);
    }

    #[test]
    fn a_region_ends_where_its_parameter_says() {
        let claim = Claim::Gaussian {
            mu: 2.0,
            epsilon: 1.0,
            delta: 0.5,
        };
        assert!((claim.allows(0.158_655_253_931) - 0.841_344_746_068).abs() < 1e-8);
        let claim = Claim::Pure { epsilon: 1.0 };
        assert!((claim.allows(0.1) - 0.1 * 1_f64.exp()).abs() < 1e-12);
        assert!((claim.allows(0.9) - (1.0 - 0.1 / 1_f64.exp())).abs() < 1e-12);
    }

    #[test]
    fn worthless_attacks_prove_nothing() {
        let rates = Rates::proved(0, 0, 0, 1e-3);
        assert!(rates.mu().abs() < 1e-300 && rates.epsilon(0.0).abs() < 1e-300);
        let rates = Rates::proved(500, 500, 1000, 1e-3);
        assert!(rates.mu().abs() < 1e-300);
        assert!(!Claim::Pure { epsilon: 0.01 }.is_refuted_by(rates));
    }

    #[test]
    fn certain_knowledge_refutes_everything() {
        let rates = Rates::proved(10_000, 0, 10_000, 1e-7);
        assert!(rates.mu() > 5.0 && rates.epsilon(1e-6) > 6.0 && rates.delta(5.0) > 0.5);
        let claim = Claim::Gaussian {
            mu: 1.0,
            epsilon: 1.0,
            delta: 0.1,
        };
        assert!(claim.is_refuted_by(rates));
    }
}
