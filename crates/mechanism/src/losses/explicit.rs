//! A loss in closed form, f(w) = φ(⟨w, v⟩, y) + offset·Σw + (ridge/2)‖w‖², with data v, y clipped
//! to public bounds. Proofs about *steps* need this form.
//!
//! A sum clips every gradient, so it accepts any [`Loss`](super::Loss). A proof that steps contract
//! needs the loss itself: convex in w, with slopes and curvature that hold because the *data* is
//! clipped. (Clipping gradients is no substitute: a clipped gradient is the gradient of no convex
//! function.) So the losses of this crate state their form; ½‖w − v‖² is φ(z) = −z with ridge 1.
//!
//! **Corners are rounded** over a width of 2⁻¹⁶ for hinge, absolute and quantile losses. At a
//! corner the slope is not determined by the score, and a score that is off by one bit could move a
//! step by the square root of that; with curvature 2¹⁶ it moves it by 2¹⁶ times that at most. A
//! loss changes by less than 2⁻¹⁶.
//!
//! **Bounds in floating point.** The clipped vector's length is at most R(1 + (d+8)·2⁻⁵³): the
//! computed length errs by less than (d/2+2)·2⁻⁵³ of itself, and the shrinking by three roundings.
//! [`Explicit::features`] is that number. A vector so long that its squares would overflow is first
//! scaled by 2⁻⁶⁰⁰, exactly except for coordinates negligible beside its longest.

use super::{Bounds, Features, Link, Record};

/// Coordinates beyond this could overflow when squared; every bound that a proof allows is far
/// below.
const HUGE: f64 = 1e100;
/// 2⁻⁵³.
pub(crate) const UNIT: f64 = f64::EPSILON / 2.0;

/// The kind of data, which determines φ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Part {
    /// A linear model's features and target.
    Model(Link, Bounds),
    /// A point of bounded length: φ(z) = −z.
    Point(f64),
    /// A loss vector with coordinates in an interval, whose midpoint is subtracted: φ(z) = z.
    Vector(f64, f64),
    /// A loss vector of bounded length: φ(z) = z.
    Direction(f64),
}

/// A loss in closed form. See the [module of losses](super).
#[derive(Debug, Clone, PartialEq)]
pub struct Explicit {
    dimension: usize,
    part: Part,
    ridge: f64,
}

/// A record's data, clipped.
pub(crate) struct Datum {
    pub(crate) v: Vec<f64>,
    pub(crate) y: f64,
    pub(crate) clipped: bool,
}

impl Explicit {
    pub(crate) fn new(dimension: usize, part: Part, ridge: f64) -> Self {
        Self {
            dimension,
            part,
            ridge,
        }
    }

    /// The same loss with more ridge.
    #[must_use]
    pub(crate) fn regularised(mut self, strength: f64) -> Self {
        self.ridge += strength;
        self
    }

    /// Length of the weights.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The coefficient of ½‖w‖² in the loss: public, and not part of the sensitivity.
    #[must_use]
    pub fn ridge(&self) -> f64 {
        self.ridge
    }

    /// The public constant added to every coordinate of every gradient.
    #[must_use]
    pub fn offset(&self) -> f64 {
        match self.part {
            Part::Vector(low, high) => f64::midpoint(low, high),
            Part::Model(..) | Part::Point(_) | Part::Direction(_) => 0.0,
        }
    }

    /// A bound on ‖v‖, rounding included.
    #[must_use]
    pub fn features(&self) -> f64 {
        let d = self.dimension as f64;
        let bound = match self.part {
            Part::Model(_, bounds) => bounds.features(),
            Part::Point(length) | Part::Direction(length) => length,
            // The midpoint of the interval is rounded.
            Part::Vector(low, high) => {
                d.sqrt() * (0.5 * (high - low) + 4.0 * UNIT * low.abs().max(high.abs()))
            }
        };
        bound * (1.0 + (d + 16.0) * UNIT)
    }

    /// The least and the largest slope ∂φ/∂z for weights of length at most `reach`.
    #[must_use]
    pub fn slopes(&self, reach: f64) -> (f64, f64) {
        match self.part {
            Part::Point(_) => (-1.0, -1.0),
            Part::Vector(..) | Part::Direction(_) => (1.0, 1.0),
            Part::Model(link, bounds) => {
                let score = self.features() * reach * (1.0 + 4.0 * UNIT);
                link.slopes(score, bounds.target())
            }
        }
    }

    /// A bound on the length of a gradient's private part, slope times v, for weights of length at
    /// most `reach`.
    #[must_use]
    pub fn lipschitz(&self, reach: f64) -> f64 {
        let (low, high) = self.slopes(reach);
        self.features() * low.abs().max(high.abs())
    }

    /// A bound on the second derivative of φ, corners rounded.
    #[must_use]
    pub fn curvature(&self) -> f64 {
        match self.part {
            Part::Point(_) | Part::Vector(..) | Part::Direction(_) => 0.0,
            Part::Model(link, _) => link.rounded_curvature(),
        }
    }

    /// Whether φ has no corner of its own, so that explicit gradient steps contract at a useful
    /// step size.
    #[must_use]
    pub fn is_smooth(&self) -> bool {
        match self.part {
            Part::Point(_) | Part::Vector(..) | Part::Direction(_) => true,
            Part::Model(link, _) => link.curvature().is_some(),
        }
    }

    /// The largest |y|.
    pub(crate) fn target(&self) -> f64 {
        match self.part {
            Part::Point(_) | Part::Vector(..) | Part::Direction(_) => 0.0,
            Part::Model(_, bounds) => bounds.target_magnitude(),
        }
    }

    /// ∂φ/∂z, corners rounded.
    pub(crate) fn slope(&self, z: f64, y: f64) -> f64 {
        match self.part {
            Part::Point(_) => -1.0,
            Part::Vector(..) | Part::Direction(_) => 1.0,
            Part::Model(link, _) => link.rounded_slope(z, y),
        }
    }

    /// The record's data, clipped; `None` if it is malformed.
    pub(crate) fn read(&self, record: &Record) -> Option<Datum> {
        if !record.features.is_sound(self.dimension) {
            return None;
        }
        let mut v = vec![0.0; self.dimension];
        match &record.features {
            Features::Dense(values) => v.copy_from_slice(values),
            Features::Sparse(entries) => entries.iter().for_each(|&(i, x)| v[i as usize] = x),
        }
        let (bound, y) = match self.part {
            Part::Vector(low, high) => {
                let inside = v.iter().all(|value| (low..=high).contains(value));
                let middle = self.offset();
                v.iter_mut()
                    .for_each(|value| *value = value.clamp(low, high) - middle);
                return Some(Datum {
                    v,
                    y: 0.0,
                    clipped: !inside,
                });
            }
            Part::Point(bound) | Part::Direction(bound) => (bound, 0.0),
            Part::Model(_, bounds) => {
                if !record.target.is_finite() {
                    return None;
                }
                (bounds.features(), bounds.clip_target(record.target))
            }
        };
        let huge = v.iter().any(|value| value.abs() > HUGE);
        let length = if huge {
            let shorter = libm::ldexp(1.0, -600);
            v.iter_mut().for_each(|value| *value *= shorter);
            v.iter().map(|value| value * value).sum::<f64>().sqrt()
        } else {
            record.features.norm()
        };
        let long = huge || length > bound;
        if long {
            let shrink = bound / length;
            v.iter_mut().for_each(|value| *value *= shrink);
        }
        let clipped = long || (y - record.target).abs() > 0.0 && self.target() > 0.0;
        Some(Datum { v, y, clipped })
    }

    /// A description for a guarantee.
    pub(crate) fn assumption(&self) -> String {
        match self.part {
            Part::Model(_, bounds) => {
                let (low, high) = bounds.target();
                format!(
                    "features are clipped to length {} and targets to [{low}, {high}]",
                    bounds.features()
                )
            }
            Part::Point(length) => format!("points are clipped to length {length}"),
            Part::Vector(low, high) => format!("loss vectors are clipped to [{low}, {high}]"),
            Part::Direction(length) => format!("loss vectors are clipped to length {length}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::link::CORNER;
    use super::super::{Distance, LinearLoss, LinearModel, Loss, LossSet, Regularised};
    use super::*;
    use crate::lattice::Contribution;
    use std::sync::Arc;

    const LINKS: [Link; 7] = [
        Link::Logistic,
        Link::Squared,
        Link::Hinge,
        Link::SmoothedHinge(0.5),
        Link::Quantile(0.9),
        Link::Absolute,
        Link::Huber(0.7),
    ];

    fn losses() -> Vec<Arc<dyn Loss>> {
        let bounds = Bounds::new(1.5, (-1.0, 1.0), 2.0).unwrap();
        let mut all: Vec<Arc<dyn Loss>> = vec![
            Arc::new(Distance::new(3, 1.0, 2.0).unwrap()),
            Arc::new(LinearLoss::new(3, 0.0, 1.0).unwrap()),
            Arc::new(LinearLoss::within(3, LossSet::Ball(0.8)).unwrap()),
        ];
        for link in LINKS {
            let model = Arc::new(LinearModel::new(3, link, bounds).unwrap());
            all.push(model.clone());
            all.push(Arc::new(Regularised::new(model, 0.25, 2.0).unwrap()));
        }
        all
    }

    /// The closed form is the loss itself: same gradients, for short and for long records.
    #[test]
    fn gradients_are_the_losses_own() {
        let weights = [0.3, -0.8, 1.1];
        for loss in losses() {
            let explicit = loss.explicit().unwrap();
            for features in [vec![0.2, 0.3, -0.1], vec![9.0, -7.0, 3.0]] {
                let record = || Record {
                    features: Features::Dense(features.clone()),
                    target: 0.7,
                };
                let datum = explicit.read(&record()).unwrap();
                let z: f64 = datum.v.iter().zip(weights).map(|(v, w)| v * w).sum();
                let slope = explicit.slope(z, datum.y);
                let Contribution::Dense(gradient) = loss.gradient(record(), &weights) else {
                    panic!()
                };
                for i in 0..3 {
                    let ours = slope * datum.v[i] + explicit.ridge() * weights[i];
                    assert!((ours - gradient[i]).abs() < 1e-12, "{}", loss.describe());
                }
                let length = datum.v.iter().map(|v| v * v).sum::<f64>().sqrt();
                assert!(length <= explicit.features());
                let (low, high) = explicit.slopes(2.0);
                assert!((low..=high).contains(&slope));
            }
        }
    }

    /// A record keeps its direction at any length, and is never longer than its bound.
    #[test]
    fn huge_records_are_clipped_like_others() {
        let bounds = Bounds::new(1.5, (-1.0, 1.0), 2.0).unwrap();
        let model = LinearModel::new(3, Link::Logistic, bounds).unwrap();
        let distance = Distance::new(3, 1.5, 2.0).unwrap();
        for explicit in [model.explicit().unwrap(), distance.explicit().unwrap()] {
            for size in [1e3, 1e99, 1e101, 1e200, f64::MAX] {
                let record = Record {
                    features: Features::Dense(vec![size, -size, 0.0]),
                    target: 1.0,
                };
                let datum = explicit.read(&record).unwrap();
                assert!(datum.clipped);
                let length = datum.v.iter().map(|v| v * v).sum::<f64>().sqrt();
                assert!(length <= explicit.features() && length > 1.5 * (1.0 - 1e-12));
                assert!((datum.v[0] + datum.v[1]).abs() < 1e-12 && datum.v[0] > 0.0);
            }
        }
    }

    #[test]
    fn slopes_rise_no_faster_than_the_curvature() {
        for loss in losses() {
            let explicit = loss.explicit().unwrap();
            for y in [-1.0, -0.4, 1.0] {
                for step in 0..4000 {
                    // Around the corner on its own scale, and everywhere on a coarse one.
                    let fine = f64::from(step - 2000) * CORNER / 500.0;
                    for (z, h) in [
                        (y + fine, CORNER / 9.0),
                        (1.0 / y + fine, CORNER / 9.0),
                        (fine * 1e6, 1e-3),
                    ] {
                        let bend = (explicit.slope(z + h, y) - explicit.slope(z, y)) / h;
                        let most = explicit.curvature() * (1.0 + 1e-6) + 1e-6;
                        assert!((-1e-6..=most).contains(&bend), "{explicit:?} {z} {bend}");
                    }
                }
            }
        }
    }
}
