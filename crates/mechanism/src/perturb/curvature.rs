//! The accumulated curvature of the losses: A(t) = a·t^p, the public clock of the step sizes
//! 1/A(t).
//!
//! With p = 1 every loss is a-strongly convex. With p < 1 losses need no curvature of their own:
//! round t adds (α_t/2)‖x‖² with α_t = A(t) − A(t−1), which decreases because A is concave.
//! Everything that the proofs use of A is: A(0) = 0, increasing and concave, so α_{t+1} ≤ α_t and
//! A(t+1) ≤ 2·A(t).

use super::PerturbError;
use hushstream_account::ParameterError;

/// A(t) = a·t^p.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Curvature {
    scale: f64,
    power: f64,
}

impl Curvature {
    /// Every round contributes α.
    ///
    /// # Errors
    /// α that is not positive and finite.
    pub fn constant(alpha: f64) -> Result<Self, PerturbError> {
        Self::growing(alpha, 1.0)
    }

    /// A(t) = `scale`·t^`power`.
    ///
    /// # Errors
    /// A scale that is not positive, finite and of ordinary size, a power outside (0, 1].
    pub fn growing(scale: f64, power: f64) -> Result<Self, PerturbError> {
        super::check_size("curvature", scale)?;
        if !(power > 0.0 && power <= 1.0) {
            return Err(
                ParameterError::new("power of the curvature", power, "above 0, at most 1").into(),
            );
        }
        Ok(Self { scale, power })
    }

    /// A(t).
    #[must_use]
    pub fn total(&self, t: u64) -> f64 {
        if self.is_constant() {
            self.scale * t as f64
        } else {
            self.scale * libm::pow(t as f64, self.power)
        }
    }

    /// α_t.
    #[must_use]
    pub fn at(&self, t: u64) -> f64 {
        if self.is_constant() {
            self.scale
        } else {
            self.total(t) - self.total(t - 1)
        }
    }

    /// Whether all rounds contribute equally.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.power >= 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concave_and_positive() {
        for power in [0.5, 0.75, 1.0] {
            let curvature = Curvature::growing(0.3, power).unwrap();
            let mut last = f64::INFINITY;
            for t in 1..2000 {
                let here = curvature.at(t);
                assert!(here > 0.0 && here <= last * (1.0 + 1e-10));
                assert!(curvature.total(t + 1) <= 2.0 * curvature.total(t));
                last = here;
            }
        }
    }

    #[test]
    fn bad_parameters_are_named() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let message = Curvature::constant(bad).unwrap_err().to_string();
            assert!(message.contains("curvature = "), "{message}");
        }
        for bad in [0.0, 1.5, f64::NAN] {
            assert!(Curvature::growing(1.0, bad).is_err());
        }
    }
}
