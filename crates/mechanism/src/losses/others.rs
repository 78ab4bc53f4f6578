//! Losses that are not linear models: linear losses, whose record is the gradient itself, and the
//! squared distance, which is strongly convex.

use super::{Explicit, Loss, NamedLoss, Part, Record};
use crate::lattice::Contribution;
use hushstream_account::ParameterError;

/// Where loss vectors lie. What lies outside is clipped: coordinates to the interval of a box, the
/// whole vector to the radius of a ball. Each set has its own exact sensitivity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LossSet {
    /// Every coordinate between two numbers, as the losses of experts are.
    Box(f64, f64),
    /// Of Euclidean length at most this.
    Ball(f64),
    /// Absolute values that sum to at most this.
    L1Ball(f64),
}

/// ⟨l, w⟩: the record's features are the loss vector, as in expert advice. Of a box the public
/// midpoint is subtracted before summing, which halves the sensitivity, and added back to the sums
/// ([`Loss::offset`]). A null record counts as the midpoint.
///
/// Two summed vectors of a set with half-width h, or radius r, are apart by at most
///
/// | set | L2 | L1 |
/// |---|---|---|
/// | box | 2h√d | 2hd |
/// | ball | 2r | 2r√d |
/// | L1 ball | 2r | 2r |
///
/// *Proof.* Corners of a box differ by 2h in each of d coordinates. ‖x‖₂ ≤ ‖x‖₁ ≤ √d·‖x‖₂, and x,
/// −x attain each entry: on an axis, or on the diagonal for the L1 length of a ball. ∎ Laplace
/// noise is paid for by L1, Gaussian and L2-Laplace noise by L2.
///
/// ```
/// use hushstream_mechanism::losses::{LinearLoss, LossSet};
///
/// let bounds = |set| LinearLoss::within(4, set).map(|losses| losses.l1_bound());
/// assert_eq!(bounds(LossSet::Box(-1.0, 1.0))?, 4.0);
/// assert_eq!(bounds(LossSet::Ball(1.0))?, 2.0);
/// assert_eq!(bounds(LossSet::L1Ball(1.0))?, 1.0);
/// # Ok::<(), hushstream_account::ParameterError>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct LinearLoss {
    dimension: usize,
    set: LossSet,
}

impl LinearLoss {
    /// Loss vectors with coordinates between `low` and `high`.
    ///
    /// # Errors
    /// Bounds that are not finite and in order.
    pub fn new(dimension: usize, low: f64, high: f64) -> Result<Self, ParameterError> {
        Self::within(dimension, LossSet::Box(low, high))
    }

    /// Loss vectors of a set.
    ///
    /// # Errors
    /// Bounds that are not finite and in order; a radius that is not positive and finite.
    pub fn within(dimension: usize, set: LossSet) -> Result<Self, ParameterError> {
        match set {
            LossSet::Box(low, high) if !(low < high && (high - low).is_finite()) => {
                Err(ParameterError::new(
                    "bounds on losses",
                    low,
                    "two finite numbers, the smaller first",
                ))
            }
            LossSet::Ball(radius) | LossSet::L1Ball(radius)
                if !(radius > 0.0 && radius.is_finite()) =>
            {
                Err(ParameterError::new(
                    "radius of losses",
                    radius,
                    "a positive finite number",
                ))
            }
            _ => Ok(Self { dimension, set }),
        }
    }

    /// Where loss vectors lie.
    #[must_use]
    pub fn set(&self) -> LossSet {
        self.set
    }

    /// Bound on the L1 length of a summed vector.
    #[must_use]
    pub fn l1_bound(&self) -> f64 {
        let d = self.dimension as f64;
        match self.set {
            LossSet::Box(low, high) => d * 0.5 * (high - low),
            LossSet::Ball(radius) => d.sqrt() * radius,
            LossSet::L1Ball(radius) => radius,
        }
    }

    /// Bound on the absolute value of a coordinate of a summed vector.
    #[must_use]
    pub fn largest_coordinate(&self) -> f64 {
        match self.set {
            LossSet::Box(low, high) => 0.5 * (high - low),
            LossSet::Ball(radius) | LossSet::L1Ball(radius) => radius,
        }
    }

    /// A bound on |⟨l, w⟩| for weights of these largest lengths: L2, L1 and the largest coordinate.
    #[must_use]
    pub fn largest_value(&self, [l2, l1, coordinate]: [f64; 3]) -> f64 {
        match self.set {
            LossSet::Box(low, high) => low.abs().max(high.abs()) * l1,
            LossSet::Ball(radius) => radius * l2,
            LossSet::L1Ball(radius) => radius * coordinate,
        }
    }

    /// The loss vector, clipped and centred.
    fn vector(&self, features: super::Features) -> Vec<f64> {
        let mut values = match features {
            super::Features::Dense(values) => values,
            super::Features::Sparse(entries) => {
                let mut values = vec![0.0; self.dimension];
                for (index, value) in entries {
                    values[index as usize] = value;
                }
                values
            }
        };
        let (length, radius) = match self.set {
            LossSet::Box(low, high) => {
                for value in &mut values {
                    *value = value.clamp(low, high) - f64::midpoint(low, high);
                }
                return values;
            }
            LossSet::Ball(radius) => (
                values.iter().fold(0.0_f64, |length, v| length.hypot(*v)),
                radius,
            ),
            LossSet::L1Ball(radius) => (values.iter().map(|v| v.abs()).sum(), radius),
        };
        if length > radius {
            // An infinite length (of finite numbers) shrinks to nothing: the lattice would do no
            // better.
            values
                .iter_mut()
                .for_each(|value| *value *= radius / length);
        }
        values
    }
}

/// The words of a box are those that journals hold.
impl std::fmt::Debug for LinearLoss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut words = f.debug_struct("LinearLoss");
        words.field("dimension", &self.dimension);
        match self.set {
            LossSet::Box(low, high) => words.field("low", &low).field("high", &high),
            other => words.field("set", &other),
        };
        words.finish()
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
        match self.set {
            LossSet::Box(low, high) => (self.dimension as f64).sqrt() * 0.5 * (high - low),
            LossSet::Ball(radius) | LossSet::L1Ball(radius) => radius,
        }
    }

    fn smoothness(&self) -> Option<f64> {
        Some(0.0)
    }

    fn offset(&self) -> f64 {
        match self.set {
            LossSet::Box(low, high) => f64::midpoint(low, high),
            LossSet::Ball(_) | LossSet::L1Ball(_) => 0.0,
        }
    }

    fn explicit(&self) -> Option<Explicit> {
        let part = match self.set {
            LossSet::Box(low, high) => Part::Vector(low, high),
            LossSet::Ball(radius) => Part::Direction(radius),
            LossSet::L1Ball(_) => return None,
        };
        Some(Explicit::new(self.dimension, part, 0.0))
    }

    fn named(&self) -> Option<NamedLoss> {
        Some(match self.set {
            LossSet::Box(low, high) => NamedLoss::new("linear", self.dimension, &[low, high]),
            LossSet::Ball(radius) => NamedLoss::new("linear in ball", self.dimension, &[radius]),
            LossSet::L1Ball(radius) => {
                NamedLoss::new("linear in l1-ball", self.dimension, &[radius])
            }
        })
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
        Contribution::Dense(self.vector(record.features))
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
        // The words of a box are in journals that wait to be resumed.
        assert_eq!(
            loss.describe(),
            "LinearLoss { dimension: 3, low: 0.0, high: 1.0 }"
        );
    }

    /// All pairs of extreme and of random records: the clipped vectors are no further apart than
    /// the bounds say, and some pair attains each.
    #[test]
    fn the_sensitivity_of_each_set_is_exact() {
        let d = 4;
        let mut records: Vec<Vec<f64>> = (0..81_usize)
            .map(|code| {
                let digit = |i: u32| (code / 3_usize.pow(i) % 3) as f64 - 1.0;
                (0..4).map(digit).collect()
            })
            .collect();
        let far: Vec<Vec<f64>> = records
            .iter()
            .flat_map(|r| [0.3, 9.0, 1e150].map(|far| r.iter().map(|v| v * far).collect()))
            .collect();
        records.extend(far);
        for (set, l2, l1) in [
            (LossSet::Box(-1.0, 1.0), 4.0, 8.0),
            (LossSet::Box(0.0, 1.0), 2.0, 4.0),
            (LossSet::Ball(1.0), 2.0, 4.0),
            (LossSet::L1Ball(1.0), 2.0, 2.0),
            (LossSet::L1Ball(3.0), 6.0, 6.0),
        ] {
            let loss = LinearLoss::within(d, set).unwrap();
            assert!((2.0 * loss.lipschitz() - l2).abs() < 1e-12);
            assert!((2.0 * loss.l1_bound() - l1).abs() < 1e-12);
            let summed: Vec<Vec<f64>> = records
                .iter()
                .map(|values| loss.vector(Features::Dense(values.clone())))
                .collect();
            let (mut widest, mut longest) = (0.0_f64, 0.0_f64);
            for a in &summed {
                assert!(
                    a.iter()
                        .all(|v| v.abs() <= loss.largest_coordinate() * (1.0 + 1e-12))
                );
                for b in &summed {
                    let apart = a.iter().zip(b).map(|(a, b)| (a - b).abs());
                    longest = longest.max(apart.clone().sum());
                    widest = widest.max(apart.map(|x| x * x).sum::<f64>().sqrt());
                }
            }
            assert!((widest - l2).abs() < 1e-9, "{set:?}: {widest}");
            assert!((longest - l1).abs() < 1e-9, "{set:?}: {longest}");
        }
        assert!(LinearLoss::within(2, LossSet::Ball(0.0)).is_err());
        assert!(LinearLoss::within(2, LossSet::L1Ball(f64::INFINITY)).is_err());
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
