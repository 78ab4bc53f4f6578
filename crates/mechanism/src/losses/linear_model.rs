//! Linear models: φ(⟨w, x⟩, y) for any [`Link`], with features and target clipped to public bounds.

use super::{Bounds, Explicit, Link, Loss, Measured, Multiple, NamedLoss, Part, Record};
use crate::lattice::Contribution;
use hushstream_account::ParameterError;

/// A linear model's loss.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearModel {
    dimension: usize,
    link: Link,
    bounds: Bounds,
}

impl LinearModel {
    /// The loss `link` of a linear model with `dimension` weights.
    ///
    /// # Errors
    /// A parameter of the link out of range; targets other than ±1 for a classifier.
    pub fn new(dimension: usize, link: Link, bounds: Bounds) -> Result<Self, ParameterError> {
        link.check()?;
        if link.is_classification() && bounds.target_magnitude() > 1.0 {
            return Err(ParameterError::new(
                "bound on targets of a classifier",
                bounds.target_magnitude(),
                "targets between -1 and 1",
            ));
        }
        Ok(Self {
            dimension,
            link,
            bounds,
        })
    }

    /// The public bounds.
    #[must_use]
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }
}

impl Loss for LinearModel {
    fn name(&self) -> &str {
        self.link.name()
    }

    fn describe(&self) -> String {
        format!("{self:?}")
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn lipschitz(&self) -> f64 {
        self.bounds.features() * self.link.steepest(&self.bounds)
    }

    fn weights_bound(&self) -> f64 {
        if self.link.is_steeper_far_out() {
            self.bounds.weights()
        } else {
            f64::INFINITY
        }
    }

    fn smoothness(&self) -> Option<f64> {
        self.link
            .curvature()
            .map(|curvature| curvature * self.bounds.features().powi(2))
    }

    fn explicit(&self) -> Option<Explicit> {
        let part = Part::Model(self.link, self.bounds);
        Some(Explicit::new(self.dimension, part, 0.0))
    }

    fn model(&self) -> Option<(Link, Bounds)> {
        Some((self.link, self.bounds))
    }

    fn named(&self) -> Option<NamedLoss> {
        let (bounds, (low, high)) = (&self.bounds, self.bounds.target());
        let parameters = [bounds.features(), low, high, bounds.weights()];
        let link = self.link.to_string();
        Some(NamedLoss::new(link, self.dimension, &parameters))
    }

    fn value(&self, record: &Record, weights: &[f64]) -> f64 {
        let measured = record.features.measured(weights);
        measured
            .and_then(|measured| read(&self.bounds, record.target, measured))
            .map_or(0.0, |(score, target, _)| self.link.value(score, target))
    }

    fn gradient(&self, record: Record, weights: &[f64]) -> Contribution {
        let measured = record.features.measured(weights);
        match measured
            .and_then(|measured| self.link.multiple(&self.bounds, record.target, measured))
        {
            Some(multiple) => record.features.scaled(multiple.factor),
            None => Contribution::Null,
        }
    }
}

/// Score, target and the factor that clips the features; `None` if the target is malformed.
fn read(bounds: &Bounds, target: f64, measured: Measured) -> Option<(f64, f64, f64)> {
    if !target.is_finite() {
        return None;
    }
    let shrink = bounds.shrink(measured.norm);
    Some((shrink * measured.dot, bounds.clip_target(target), shrink))
}

impl Link {
    /// The gradient of a linear model's loss as a multiple of the features; `None` if the target is
    /// malformed.
    pub(crate) fn multiple(
        self,
        bounds: &Bounds,
        target: f64,
        measured: Measured,
    ) -> Option<Multiple> {
        let (score, target, shrink) = read(bounds, target, measured)?;
        let factor = shrink * self.slope(score, target);
        Some(Multiple {
            factor,
            length: factor.abs() * measured.norm,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Features;
    use super::*;

    fn model(link: Link) -> LinearModel {
        LinearModel::new(3, link, Bounds::new(1.0, (-1.0, 1.0), 2.0).unwrap()).unwrap()
    }

    fn record(values: [f64; 3], target: f64) -> Record {
        Record {
            features: Features::Dense(values.to_vec()),
            target,
        }
    }

    #[test]
    fn gradients_are_derivatives_and_no_longer_than_the_lipschitz_constant() {
        let weights = [0.3, -0.8, 1.1];
        for link in [
            Link::Logistic,
            Link::Squared,
            Link::Huber(0.5),
            Link::SmoothedHinge(0.3),
        ] {
            let model = model(link);
            for values in [[0.2, 0.3, -0.1], [9.0, -7.0, 3.0]] {
                let Contribution::Dense(gradient) = model.gradient(record(values, 0.7), &weights)
                else {
                    panic!()
                };
                for i in 0..3 {
                    let moved = |h: f64| {
                        let mut weights = weights;
                        weights[i] += h;
                        model.value(&record(values, 0.7), &weights)
                    };
                    let numeric = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                    assert!((numeric - gradient[i]).abs() < 1e-6, "{link:?}");
                }
                let length = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
                assert!(length <= model.lipschitz() * (1.0 + 1e-12), "{link:?}");
            }
        }
    }

    #[test]
    fn malformed_records_are_null() {
        let model = model(Link::Logistic);
        let weights = [0.0; 3];
        for bad in [
            record([f64::NAN, 0.0, 0.0], 1.0),
            record([0.0; 3], f64::INFINITY),
            Record {
                features: Features::Dense(vec![1.0]),
                target: 1.0,
            },
            Record {
                features: Features::Sparse(vec![(3, 1.0)]),
                target: 1.0,
            },
            Record {
                features: Features::Sparse(vec![(1, 1.0), (1, 1.0)]),
                target: 1.0,
            },
        ] {
            assert!(matches!(model.gradient(bad, &weights), Contribution::Null));
        }
    }

    #[test]
    fn sparse_equals_dense() {
        let model = model(Link::Squared);
        let weights = [0.5, -0.5, 2.0];
        let sparse = Record {
            features: Features::Sparse(vec![(0, 0.3), (2, -0.4)]),
            target: 0.2,
        };
        let Contribution::Sparse(entries) = model.gradient(sparse, &weights) else {
            panic!()
        };
        let Contribution::Dense(values) = model.gradient(record([0.3, 0.0, -0.4], 0.2), &weights)
        else {
            panic!()
        };
        assert_eq!(entries, [(0, values[0]), (2, values[2])]);
    }
}
