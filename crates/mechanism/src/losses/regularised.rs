//! f + (λ/2)‖w‖²: strongly convex for every convex f.
//!
//! The regulariser's gradient λw is public: learners should keep it out of the sum if they can
//! (erratum S3; `pftal-convex` and `pqftl` do), because in the sum it costs sensitivity, L +
//! λ·(largest weight) instead of L. As a separate loss it serves recipes that accept only strongly
//! convex losses, and it measures regret. A malformed record still contributes the public λw; the
//! null of zero-out is the zero contribution, not λw.

use super::{Explicit, Loss, NamedLoss, Record};
use crate::lattice::Contribution;
use hushstream_account::ParameterError;
use std::sync::Arc;

/// A loss with a squared-length penalty.
#[derive(Clone)]
pub struct Regularised {
    inner: Arc<dyn Loss>,
    strength: f64,
    weights: f64,
}

impl Regularised {
    /// `inner` + (`strength`/2)‖w‖² for weights of length at most `weights`.
    ///
    /// # Errors
    /// Numbers that are not positive and finite.
    pub fn new(inner: Arc<dyn Loss>, strength: f64, weights: f64) -> Result<Self, ParameterError> {
        for (parameter, given) in [("regularisation", strength), ("bound on weights", weights)] {
            if !(given > 0.0 && given.is_finite()) {
                return Err(ParameterError::new(
                    parameter,
                    given,
                    "a positive finite number",
                ));
            }
        }
        Ok(Self {
            inner,
            strength,
            weights,
        })
    }
}

impl Loss for Regularised {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn describe(&self) -> String {
        let (strength, weights) = (self.strength, self.weights);
        format!(
            "{} regularised by {strength:e} up to {weights:e}",
            self.inner.describe()
        )
    }

    fn dimension(&self) -> usize {
        self.inner.dimension()
    }

    fn weights_bound(&self) -> f64 {
        self.weights.min(self.inner.weights_bound())
    }

    fn lipschitz(&self) -> f64 {
        self.inner.lipschitz() + self.strength * self.weights
    }

    fn strong_convexity(&self) -> f64 {
        self.inner.strong_convexity() + self.strength
    }

    fn smoothness(&self) -> Option<f64> {
        self.inner
            .smoothness()
            .map(|smoothness| smoothness + self.strength)
    }

    fn offset(&self) -> f64 {
        self.inner.offset()
    }

    fn explicit(&self) -> Option<Explicit> {
        let inner = self.inner.explicit()?;
        Some(inner.regularised(self.strength))
    }

    fn named(&self) -> Option<NamedLoss> {
        let inner = self.inner.named()?;
        inner.regularised(self.strength, self.weights)
    }

    fn value(&self, record: &Record, weights: &[f64]) -> f64 {
        let square: f64 = weights.iter().map(|w| w * w).sum();
        self.inner.value(record, weights) + 0.5 * self.strength * square
    }

    /// A malformed record still contributes the regulariser, which is public.
    fn gradient(&self, record: Record, weights: &[f64]) -> Contribution {
        let mut total: Vec<f64> = weights.iter().map(|w| self.strength * w).collect();
        match self.inner.gradient(record, weights) {
            Contribution::Dense(gradient) => {
                total.iter_mut().zip(gradient).for_each(|(t, g)| *t += g);
            }
            Contribution::Sparse(entries) => {
                for (index, value) in entries {
                    if let Some(total) = total.get_mut(index as usize) {
                        *total += value;
                    }
                }
            }
            Contribution::Null => {}
        }
        Contribution::Dense(total)
    }

    fn is_null(&self, record: &Record, weights: &[f64]) -> bool {
        self.inner.is_null(record, weights)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Bounds, Features, LinearModel, Link};
    use super::*;

    #[test]
    fn constants_and_gradient() {
        let bounds = Bounds::new(1.0, (-1.0, 1.0), 2.0).unwrap();
        let inner = Arc::new(LinearModel::new(2, Link::Logistic, bounds).unwrap());
        let loss = Regularised::new(inner, 0.5, 2.0).unwrap();
        assert!((loss.lipschitz() - 2.0).abs() < 1e-15);
        assert!((loss.strong_convexity() - 0.5).abs() < 1e-15);
        assert!((loss.smoothness().unwrap() - 0.75).abs() < 1e-15);
        let record = || Record {
            features: Features::Sparse(vec![(1, 0.7)]),
            target: 1.0,
        };
        let weights = [0.4, -0.2];
        let Contribution::Dense(gradient) = loss.gradient(record(), &weights) else {
            panic!()
        };
        for i in 0..2 {
            let moved = |h: f64| {
                let mut weights = weights;
                weights[i] += h;
                loss.value(&record(), &weights)
            };
            assert!(((moved(1e-6) - moved(-1e-6)) / 2e-6 - gradient[i]).abs() < 1e-7);
        }
        let broken = Record {
            features: Features::Dense(vec![f64::NAN; 2]),
            target: 1.0,
        };
        assert!(matches!(
            loss.gradient(broken, &weights),
            Contribution::Dense(_)
        ));
        assert!(Regularised::new(Arc::new(loss), 0.0, 1.0).is_err());
    }
}
