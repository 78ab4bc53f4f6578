//! Losses that are not linear models: linear losses, whose record is the gradient itself, and the
//! squared distance, which is strongly convex.

use super::{Explicit, Loss, NamedLoss, Part, Record};
use crate::lattice::Contribution;
use hushstream_account::ParameterError;

/// ⟨l, w⟩: the record's features are the loss vector, as in expert advice. Coordinates are clipped
/// to an interval. Its public midpoint is subtracted before summing, which halves the sensitivity,
/// and added back to the sums ([`Loss::offset`]). A null record counts as the midpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearLoss {
    dimension: usize,
    low: f64,
    high: f64,
}

impl LinearLoss {
    /// Loss vectors with coordinates between `low` and `high`.
    ///
    /// # Errors
    /// Bounds that are not finite and in order.
    pub fn new(dimension: usize, low: f64, high: f64) -> Result<Self, ParameterError> {
        if !(low < high && low.is_finite() && high.is_finite()) {
            return Err(ParameterError::new(
                "bounds on losses",
                low,
                "two finite numbers, the smaller first",
            ));
        }
        Ok(Self {
            dimension,
            low,
            high,
        })
    }

    /// The midpoint of the interval, subtracted from every coordinate before it is summed.
    fn middle(&self) -> f64 {
        f64::midpoint(self.low, self.high)
    }

    /// Bound on the L1 length of a summed vector.
    #[must_use]
    pub fn l1_bound(&self) -> f64 {
        self.dimension as f64 * 0.5 * (self.high - self.low)
    }
}

impl Loss for LinearLoss {
    fn name(&self) -> &str {
        "linear"
    }

    fn describe(&self) -> String {
        format!("{self:?}")
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn weights_bound(&self) -> f64 {
        f64::INFINITY
    }

    fn lipschitz(&self) -> f64 {
        (self.dimension as f64).sqrt() * 0.5 * (self.high - self.low)
    }

    fn smoothness(&self) -> Option<f64> {
        Some(0.0)
    }

    fn offset(&self) -> f64 {
        self.middle()
    }

    fn explicit(&self) -> Option<Explicit> {
        let part = Part::Vector(self.low, self.high);
        Some(Explicit::new(self.dimension, part, 0.0))
    }

    fn named(&self) -> Option<NamedLoss> {
        let parameters = [self.low, self.high];
        Some(NamedLoss::new(self.name(), self.dimension, &parameters))
    }

    fn value(&self, record: &Record, weights: &[f64]) -> f64 {
        if record.features.is_sound(self.dimension) {
            record.features.dot(weights)
        } else {
            0.0
        }
    }

    fn gradient(&self, record: Record, _weights: &[f64]) -> Contribution {
        if !record.features.is_sound(self.dimension) {
            return Contribution::Null;
        }
        let mut values = match record.features {
            super::Features::Dense(values) => values,
            super::Features::Sparse(entries) => {
                let mut values = vec![0.0; self.dimension];
                for (index, value) in entries {
                    values[index as usize] = value;
                }
                values
            }
        };
        for value in &mut values {
            *value = value.clamp(self.low, self.high) - self.middle();
        }
        Contribution::Dense(values)
    }
}

/// ½‖w − x‖²: its minimiser is the mean. Strongly convex for every record, so the strongly convex
/// recipes accept it as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Distance {
    dimension: usize,
    points: f64,
    weights: f64,
}

impl Distance {
    /// Points of length at most `points`, weights of length at most `weights`.
    ///
    /// # Errors
    /// Bounds that are not positive and finite.
    pub fn new(dimension: usize, points: f64, weights: f64) -> Result<Self, ParameterError> {
        super::Bounds::new(points, (0.0, 1.0), weights)?;
        Ok(Self {
            dimension,
            points,
            weights,
        })
    }
}

impl Loss for Distance {
    fn name(&self) -> &str {
        "squared distance"
    }

    fn describe(&self) -> String {
        format!("{self:?}")
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn weights_bound(&self) -> f64 {
        self.weights
    }

    fn lipschitz(&self) -> f64 {
        self.points + self.weights
    }

    fn strong_convexity(&self) -> f64 {
        1.0
    }

    fn smoothness(&self) -> Option<f64> {
        Some(1.0)
    }

    /// ½‖w − x‖² equals ½‖w‖² − ⟨w, x⟩ up to a constant.
    fn explicit(&self) -> Option<Explicit> {
        Some(Explicit::new(self.dimension, Part::Point(self.points), 1.0))
    }

    fn named(&self) -> Option<NamedLoss> {
        let parameters = [self.points, self.weights];
        Some(NamedLoss::new(self.name(), self.dimension, &parameters))
    }

    fn value(&self, record: &Record, weights: &[f64]) -> f64 {
        match self.point(record) {
            Some(point) => {
                0.5 * point
                    .iter()
                    .zip(weights)
                    .map(|(x, w)| (w - x).powi(2))
                    .sum::<f64>()
            }
            None => 0.0,
        }
    }

    fn gradient(&self, record: Record, weights: &[f64]) -> Contribution {
        match self.point(&record) {
            Some(point) => {
                Contribution::Dense(weights.iter().zip(point).map(|(w, x)| w - x).collect())
            }
            None => Contribution::Null,
        }
    }
}

impl Distance {
    /// The record's point, clipped.
    fn point(&self, record: &Record) -> Option<Vec<f64>> {
        if !record.features.is_sound(self.dimension) {
            return None;
        }
        let norm = record.features.norm();
        let shrink = if norm > self.points {
            self.points / norm
        } else {
            1.0
        };
        let mut point = vec![0.0; self.dimension];
        match &record.features {
            super::Features::Dense(values) => point.copy_from_slice(values),
            super::Features::Sparse(entries) => {
                entries.iter().for_each(|&(i, v)| point[i as usize] = v);
            }
        }
        point.iter_mut().for_each(|v| *v *= shrink);
        Some(point)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Features;
    use super::*;

    #[test]
    fn linear_losses_are_centred_and_clipped() {
        let loss = LinearLoss::new(3, 0.0, 1.0).unwrap();
        let record = Record {
            features: Features::Dense(vec![0.0, 1.0, 7.0]),
            target: 0.0,
        };
        let Contribution::Dense(values) = loss.gradient(record, &[]) else {
            panic!()
        };
        assert_eq!(values, [-0.5, 0.5, 0.5]);
        assert!(
            (loss.l1_bound() - 1.5).abs() < 1e-15
                && (loss.lipschitz() - 0.75_f64.sqrt()).abs() < 1e-15
        );
        assert!(
            LinearLoss::new(3, 1.0, 0.0).is_err() && LinearLoss::new(3, 0.0, f64::NAN).is_err()
        );
    }

    #[test]
    fn distances_pull_towards_the_clipped_point() {
        let loss = Distance::new(2, 1.0, 1.0).unwrap();
        let record = || Record {
            features: Features::Dense(vec![3.0, 4.0]),
            target: 0.0,
        };
        let Contribution::Dense(values) = loss.gradient(record(), &[0.0, 0.0]) else {
            panic!()
        };
        assert!((values[0] + 0.6).abs() < 1e-15 && (values[1] + 0.8).abs() < 1e-15);
        assert!((loss.value(&record(), &[0.0, 0.0]) - 0.5).abs() < 1e-15);
        assert!(Distance::new(2, 0.0, 1.0).is_err());
    }
}
