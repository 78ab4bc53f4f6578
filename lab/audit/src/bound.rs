//! What is claimed, as regions of rates.
//!
//! An attack says "right" or "left" after each run: b is how often it says "right" in the right
//! world, a how often in the left one. A guarantee allows a convex region of (a, b); its tangents
//! are what an audit bets against (`evidence.rs`).

use crate::normal::{MARGIN, phi, quantile_high};
use hushstream_account::ParameterError;

/// No test of so few alarms is ever played often enough.
const STEEPEST: f64 = 1e12;

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

    /// μ for Gaussian claims, ε for others.
    pub(crate) fn promised(self) -> f64 {
        self.mu().unwrap_or(self.budget().0)
    }

    /// A claim of which a share can be proved.
    pub(crate) fn check(self) -> Result<(), ParameterError> {
        let promised = self.promised();
        if promised > 0.0 && promised.is_finite() {
            return Ok(());
        }
        let name = if self.mu().is_some() { "mu" } else { "epsilon" };
        Err(ParameterError::new(name, promised, "above 0, and finite"))
    }

    /// The errors with which μ is tested, and the (ε, δ): they share the stated one, so that what
    /// refutes either is wrong with probability `error` at most. The (ε, δ) of a Gaussian claim
    /// follows from its μ, and takes a tenth; one with δ = 1 promises nothing, and takes none.
    pub(crate) fn errors(self, error: f64) -> (f64, f64) {
        match self {
            Self::Gaussian { delta, .. } if delta < 1.0 => (0.9 * error, 0.1 * error),
            _ => (error, error),
        }
    }

    /// Whether one of these lower bounds is above what is promised. Those of ε and δ are one test:
    /// either refutes the (ε, δ) itself.
    pub(crate) fn is_refuted(self, mu: f64, (epsilon, delta): (f64, f64)) -> bool {
        let (most_epsilon, most_delta) = self.budget();
        self.mu().is_some_and(|promised| mu >= promised)
            || most_epsilon > 0.0 && epsilon >= most_epsilon
            || most_delta > 0.0 && most_delta < 1.0 && delta >= most_delta
    }

    /// A share of it: of μ, or of ε at its δ.
    pub(crate) fn share(self, share: f64) -> Promise {
        match self {
            Self::Gaussian { mu, .. } => Promise::Gaussian(share * mu),
            _ => {
                let (epsilon, delta) = self.budget();
                Promise::Approximate {
                    epsilon: share * epsilon,
                    delta,
                }
            }
        }
    }

    /// The largest rate of hits that a share of it allows at a rate of alarms: the edge of its
    /// region, for pictures.
    pub fn allows(self, share: f64, alarms: f64) -> f64 {
        self.share(share).edge(alarms)
    }
}

/// A region of rates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Promise {
    /// μ.
    Gaussian(f64),
    /// Of every event.
    Approximate {
        /// ε.
        epsilon: f64,
        /// δ.
        delta: f64,
    },
}

impl Promise {
    /// Lines above the region: pairs of a slope s and a c with b ≤ s·a + c in all of it.
    ///
    /// For μ the largest b − s·a is at the threshold where the likelihood ratio of two normals is
    /// s; any other threshold gives less, so that only the rounding of Φ has to be made up for. For
    /// (ε, δ) there are two lines, which are the definition for an event and for its opposite.
    pub(crate) fn tangents(self) -> Vec<(f64, f64)> {
        let mut lines: Vec<(f64, f64)> = match self {
            Self::Gaussian(mu) => (-16..=16)
                .map(|step| {
                    let z = f64::from(step) / 4.0;
                    let slope = libm::exp(mu * z);
                    let hits = phi(0.5 * mu - z) * (1.0 + MARGIN);
                    let alarms = phi(-0.5 * mu - z) * (1.0 - MARGIN);
                    let rounding = 4.0 * f64::EPSILON * (1.0 + slope);
                    (slope, hits - slope * alarms + rounding)
                })
                .collect(),
            Self::Approximate { epsilon, delta } => {
                let (most, least) = (libm::exp(epsilon), libm::exp(-epsilon));
                let (most, least) = (most * (1.0 + 1e-14), least * (1.0 - 1e-14));
                let opposite = 1.0 - least * (1.0 - delta) + 1e-15;
                vec![(most, delta), (least, opposite)]
            }
        };
        lines.retain(|&(slope, _)| slope < STEEPEST);
        lines
    }

    /// The largest b at an a.
    fn edge(self, alarms: f64) -> f64 {
        let most = match self {
            Self::Gaussian(mu) => phi(quantile_high(alarms) + mu),
            Self::Approximate { epsilon, delta } => {
                let low = libm::exp(epsilon) * alarms + delta;
                low.min(1.0 - libm::exp(-epsilon) * (1.0 - delta - alarms))
            }
        };
        most.clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMISES: [Promise; 4] = [
        Promise::Gaussian(0.1),
        Promise::Gaussian(1.67),
        Promise::Approximate {
            epsilon: 1.0,
            delta: 0.0,
        },
        Promise::Approximate {
            epsilon: 0.5,
            delta: 0.2,
        },
    ];

    /// No point of the region is above a tangent, and each tangent touches it.
    #[test]
    fn tangents_enclose_the_region() {
        for promise in PROMISES {
            for (slope, excess) in promise.tangents() {
                let room = |alarms: f64| slope * alarms + excess - promise.edge(alarms);
                let least = (0..=20_000).map(|i| room(f64::from(i) / 20_000.0));
                let least = least.fold(f64::INFINITY, f64::min);
                assert!(
                    (-1e-9..1e-4 * (1.0 + slope)).contains(&least),
                    "{promise:?}: {least}"
                );
            }
        }
    }

    #[test]
    fn a_region_ends_where_its_parameter_says() {
        let claim = Claim::Gaussian {
            mu: 2.0,
            epsilon: 1.0,
            delta: 0.5,
        };
        assert!((claim.allows(1.0, 0.158_655_253_931) - 0.841_344_746_068).abs() < 1e-8);
        assert!((claim.allows(0.5, 0.5) - phi(1.0)).abs() < 1e-8);
        let claim = Claim::Pure { epsilon: 1.0 };
        assert!((claim.allows(1.0, 0.1) - 0.1 * 1_f64.exp()).abs() < 1e-12);
        assert!((claim.allows(1.0, 0.9) - (1.0 - 0.1 / 1_f64.exp())).abs() < 1e-12);
    }
}
