//! The multinomial logistic loss of several classes: f(W; x, y) = ln Σ_k e^⟨w_k, x⟩ − ⟨w_y, x⟩.
//!
//! The weights are K blocks of d, class by class. The gradient is (p − e_y) ⊗ x with p the
//! predicted probabilities, and ‖p − e_y‖ ≤ √2: so L = √2·R for any number of classes. K logistic
//! losses, one class against the rest, would have √K·R.

use super::{Bounds, Features, Loss, NamedLoss, Record, class};
use crate::lattice::Contribution;
use hushstream_account::ParameterError;

/// The multinomial logistic loss.
#[derive(Debug, Clone, PartialEq)]
pub struct Softmax {
    features: usize,
    classes: usize,
    bounds: Bounds,
}

impl Softmax {
    /// For `features` features of length at most `length`, and classes 0, 1, …, `classes` − 1.
    ///
    /// # Errors
    /// A length that is not positive and finite; fewer than two classes, or more than 65,536.
    pub fn new(features: usize, length: f64, classes: usize) -> Result<Self, ParameterError> {
        if !(2..=1 << 16).contains(&classes) {
            return Err(ParameterError::new(
                "number of classes",
                classes as f64,
                "2 to 65536",
            ));
        }
        Ok(Self {
            features,
            classes,
            // The last bound is not used: the gradient is bounded for all weights.
            bounds: Bounds::new(length, (0.0, 1.0), 1.0)?,
        })
    }

    /// Scores, class and the factor that clips the features; `None` if the record is malformed.
    fn read(&self, record: &Record, weights: &[f64]) -> Option<(Vec<f64>, usize, f64)> {
        let sound = record.features.is_sound(self.features) && weights.len() == self.dimension();
        let class = class(record.target, self.classes).filter(|_| sound)?;
        let shrink = self.bounds.shrink(record.features.norm());
        let blocks = weights.chunks_exact(self.features);
        let scores = blocks.map(|block| shrink * record.features.dot(block));
        Some((scores.collect(), class, shrink))
    }
}

/// Turns scores into probabilities; returns the logarithm of the normalising constant.
fn normalise(scores: &mut [f64]) -> f64 {
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut total = 0.0;
    for score in scores.iter_mut() {
        *score = libm::exp(*score - top);
        total += *score;
    }
    scores.iter_mut().for_each(|score| *score /= total);
    top + libm::log(total)
}

impl Loss for Softmax {
    fn name(&self) -> &str {
        "softmax"
    }

    fn describe(&self) -> String {
        format!("{self:?}")
    }

    fn dimension(&self) -> usize {
        self.features * self.classes
    }

    fn lipschitz(&self) -> f64 {
        std::f64::consts::SQRT_2 * self.bounds.features()
    }

    fn weights_bound(&self) -> f64 {
        f64::INFINITY
    }

    fn smoothness(&self) -> Option<f64> {
        Some(0.5 * self.bounds.features().powi(2))
    }

    fn named(&self) -> Option<NamedLoss> {
        let parameters = [self.bounds.features(), self.classes as f64];
        Some(NamedLoss::new(self.name(), self.features, &parameters))
    }

    fn value(&self, record: &Record, weights: &[f64]) -> f64 {
        self.read(record, weights)
            .map_or(0.0, |(mut scores, class, _)| {
                let own = scores[class];
                normalise(&mut scores) - own
            })
    }

    fn gradient(&self, record: Record, weights: &[f64]) -> Contribution {
        let Some((mut slopes, class, shrink)) = self.read(&record, weights) else {
            return Contribution::Null;
        };
        normalise(&mut slopes);
        slopes[class] -= 1.0;
        let slopes = slopes.iter().map(|slope| slope * shrink);
        match record.features {
            Features::Dense(x) => Contribution::Dense(
                slopes
                    .flat_map(|slope| x.iter().map(move |x| slope * x))
                    .collect(),
            ),
            Features::Sparse(entries) => Contribution::Sparse(
                slopes
                    .enumerate()
                    .flat_map(|(class, slope)| {
                        let start = (class * self.features) as u32;
                        let entries = entries.iter();
                        entries.map(move |&(i, x)| (start + i, slope * x))
                    })
                    .collect(),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(values: [f64; 2], target: f64) -> Record {
        let features = Features::Dense(values.to_vec());
        Record { features, target }
    }

    #[test]
    fn gradients_are_derivatives_and_no_longer_than_the_lipschitz_constant() {
        let loss = Softmax::new(2, 1.5, 3).unwrap();
        let weights = [0.3, -0.8, 1.1, 30.0, 0.2, -4.0];
        for (values, target) in [([0.2, 0.3], 0.0), ([9.0, -7.0], 1.0), ([0.0, 1.0], 2.0)] {
            let Contribution::Dense(gradient) = loss.gradient(record(values, target), &weights)
            else {
                panic!()
            };
            for i in 0..6 {
                let moved = |h: f64| {
                    let mut weights = weights;
                    weights[i] += h;
                    loss.value(&record(values, target), &weights)
                };
                let numeric = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                assert!((numeric - gradient[i]).abs() < 1e-6);
            }
            let length = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
            assert!(length <= loss.lipschitz() * (1.0 + 1e-12));
        }
    }

    #[test]
    fn sparse_equals_dense_and_malformed_is_null() {
        let loss = Softmax::new(2, 1.0, 2).unwrap();
        let weights = [0.5, -0.5, 2.0, 0.1];
        let features = Features::Sparse(vec![(1, 0.4)]);
        let sparse = Record {
            features,
            target: 1.0,
        };
        let Contribution::Sparse(entries) = loss.gradient(sparse, &weights) else {
            panic!()
        };
        let Contribution::Dense(values) = loss.gradient(record([0.0, 0.4], 1.0), &weights) else {
            panic!()
        };
        assert_eq!(entries, [(1, values[1]), (3, values[3])]);
        for bad in [2.0, -1.0, 0.5, f64::NAN] {
            let gradient = loss.gradient(record([0.1, 0.1], bad), &weights);
            assert!(matches!(gradient, Contribution::Null));
        }
        assert!(Softmax::new(2, 1.0, 1).is_err());
    }
}
