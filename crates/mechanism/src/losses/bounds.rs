//! Public bounds on records and weights, known without any data.

use hushstream_account::ParameterError;

/// Bounds on features, targets and weights.
///
/// ```
/// use hushstream_mechanism::losses::Bounds;
///
/// let bounds = Bounds::new(2.0, (-1.0, 3.0), 5.0)?;
/// assert_eq!(bounds.target_magnitude(), 3.0);
/// assert_eq!(bounds.margin(), 10.0); // |⟨w, x⟩| ≤ 5·2
/// assert!(Bounds::new(2.0, (3.0, -1.0), 5.0).is_err()); // the smaller target first
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    features: f64,
    target: (f64, f64),
    weights: f64,
}

impl Bounds {
    /// Features of Euclidean length at most `features`, targets between two numbers, weights of
    /// length at most `weights`.
    ///
    /// # Errors
    /// Numbers that are not finite, lengths that are not positive, targets in the wrong order.
    pub fn new(features: f64, target: (f64, f64), weights: f64) -> Result<Self, ParameterError> {
        for (parameter, given) in [
            ("bound on features", features),
            ("bound on weights", weights),
        ] {
            if !(given > 0.0 && given.is_finite()) {
                return Err(ParameterError::new(
                    parameter,
                    given,
                    "a positive finite number",
                ));
            }
        }
        let ordered = target.0 < target.1;
        for given in [target.0, target.1] {
            if !given.is_finite() || !ordered {
                return Err(ParameterError::new(
                    "bound on targets",
                    given,
                    "two finite numbers, the smaller first",
                ));
            }
        }
        Ok(Self {
            features,
            target,
            weights,
        })
    }

    /// Bound on the length of the features.
    #[must_use]
    pub fn features(&self) -> f64 {
        self.features
    }

    /// Smallest and largest target.
    #[must_use]
    pub fn target(&self) -> (f64, f64) {
        self.target
    }

    /// Bound on the length of the weights.
    #[must_use]
    pub fn weights(&self) -> f64 {
        self.weights
    }

    /// The largest |target|.
    #[must_use]
    pub fn target_magnitude(&self) -> f64 {
        self.target.0.abs().max(self.target.1.abs())
    }

    /// The largest |⟨w, x⟩|.
    #[must_use]
    pub fn margin(&self) -> f64 {
        self.features * self.weights
    }

    pub(crate) fn clip_target(&self, target: f64) -> f64 {
        target.clamp(self.target.0, self.target.1)
    }

    /// The factor that scales features of this length to their bound.
    pub(crate) fn shrink(&self, length: f64) -> f64 {
        if length > self.features {
            self.features / length
        } else {
            1.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_bounds_are_refused() {
        assert!(Bounds::new(1.0, (-1.0, 1.0), 1.0).is_ok());
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Bounds::new(bad, (-1.0, 1.0), 1.0).is_err());
            assert!(Bounds::new(1.0, (-1.0, 1.0), bad).is_err());
        }
        for bad in [
            (1.0, -1.0),
            (0.0, 0.0),
            (f64::NAN, 1.0),
            (0.0, f64::INFINITY),
        ] {
            assert!(Bounds::new(1.0, bad, 1.0).is_err());
        }
    }
}
