//! What is learned in a game: from a direction to a record, and the losses that measure regret.

use crate::game::{Environment, called};
use hushstream_mechanism::Moments;
use hushstream_mechanism::feedback::Range;
use hushstream_mechanism::losses::{
    Bounds, Distance, Features, LinearLoss, LinearModel, Link, Loss, LossSet, Record, Regularised,
};
use hushstream_sets::{Ball, ConvexSet, SetError, Simplex};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// α of the ridge task.
const RIDGE: f64 = 1.0;

/// A task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Experts: linear losses in [0, 1] over the simplex.
    Experts,
    /// Linear losses over the unit ball.
    Linear,
    /// The mean of points in the unit ball: strongly convex.
    Mean,
    /// Logistic classification over a ball of radius 2.
    Classify,
    /// Least squares with features of length 1 over the unit ball.
    Regress,
    /// The same with ½‖w‖² added to every loss: strongly convex.
    Ridge,
}

impl Task {
    /// All tasks.
    pub const ALL: [Self; 6] = [
        Self::Experts,
        Self::Linear,
        Self::Mean,
        Self::Classify,
        Self::Regress,
        Self::Ridge,
    ];

    /// The set of the weights.
    ///
    /// # Errors
    /// No dimensions.
    pub fn set(self, dimension: usize) -> Result<Arc<dyn ConvexSet>, SetError> {
        Ok(match self {
            Self::Experts => Arc::new(Simplex::new(dimension)?),
            Self::Classify => Arc::new(Ball::new(dimension, 2.0)?),
            Self::Linear | Self::Mean | Self::Regress | Self::Ridge => {
                Arc::new(Ball::new(dimension, 1.0)?)
            }
        })
    }

    /// Length of weights up to which its losses have the slope they state; linear losses have none,
    /// and means take that of the set.
    pub fn reach(self) -> Option<f64> {
        match self {
            Self::Experts | Self::Linear | Self::Mean => None,
            Self::Classify => Some(2.0),
            Self::Regress | Self::Ridge => Some(1.0),
        }
    }

    /// The loss that is measured, and whose gradients are asked for.
    pub fn loss(self, dimension: usize) -> Arc<dyn Loss> {
        const PUBLIC: &str = "the arena's public bounds are sound";
        match self {
            Self::Experts | Self::Linear => Arc::new(self.linear(dimension).expect(PUBLIC)),
            Self::Mean => Arc::new(Distance::new(dimension, 1.0, 1.0).expect(PUBLIC)),
            Self::Classify => {
                let bounds = Bounds::new(1.0, (-1.0, 1.0), 2.0).expect(PUBLIC);
                Arc::new(LinearModel::new(dimension, Link::Logistic, bounds).expect(PUBLIC))
            }
            Self::Regress => Arc::new(self.squared(dimension)),
            Self::Ridge => {
                let inner = Arc::new(self.squared(dimension));
                Arc::new(Regularised::new(inner, RIDGE, 1.0).expect(PUBLIC))
            }
        }
    }

    fn squared(self, dimension: usize) -> LinearModel {
        let model = LinearModel::new(dimension, Link::Squared, self.bounds());
        model.expect("the arena's public bounds are sound")
    }

    /// Linear losses as such, for the recipes that want them.
    pub fn linear(self, dimension: usize) -> Option<LinearLoss> {
        match self {
            Self::Experts => LinearLoss::new(dimension, 0.0, 1.0).ok(),
            Self::Linear => LinearLoss::new(dimension, -1.0, 1.0).ok(),
            _ => None,
        }
    }

    /// Where the values of its losses lie on its set; linear losses tell it themselves.
    pub fn values(self) -> Option<Range> {
        match self {
            Self::Experts | Self::Linear => None,
            Self::Mean | Self::Regress => Some(Range::ZeroTo(2.0)),
            // ln(1 + e²), and a ridge of ½ more.
            Self::Classify => Some(Range::ZeroTo(2.13)),
            Self::Ridge => Some(Range::ZeroTo(2.5)),
        }
    }

    /// Second moments, for least squares.
    pub fn moments(self, dimension: usize) -> Option<Moments> {
        (self == Self::Ridge).then(|| Moments::new(dimension, self.bounds()))
    }

    fn bounds(self) -> Bounds {
        Bounds::new(1.0, (-1.0, 1.0), 1.0).expect("the arena's public bounds are sound")
    }

    /// Features and target of round t.
    pub fn row(self, environment: &mut Environment, t: u64, iterate: &[f64]) -> (Vec<f64>, f64) {
        match self {
            Self::Experts => {
                if let Some(losses) = environment.advice(iterate) {
                    return (losses, 0.0);
                }
                let direction = environment.direction(t, iterate);
                let scale = (direction.len() as f64).sqrt();
                let loss = |v: &f64| (0.5 + 0.5 * scale * v).clamp(0.0, 1.0);
                (direction.iter().map(loss).collect(), 0.0)
            }
            Self::Linear | Self::Mean => {
                let direction = environment.direction(t, iterate);
                (clipped(direction, LossSet::Ball(1.0)), 0.0)
            }
            Self::Classify | Self::Regress | Self::Ridge => {
                // Random features; the game's direction is the hidden weights.
                let hidden = environment.direction(t, iterate);
                let features = (0..hidden.len()).map(|_| environment.noise()).collect();
                let features = clipped(features, LossSet::Ball(1.0));
                let score: f64 = features.iter().zip(&hidden).map(|(x, w)| x * w).sum();
                let target = match self {
                    Self::Classify if score + 0.1 * environment.noise() >= 0.0 => 1.0,
                    Self::Classify => -1.0,
                    _ => (1.5 * score + 0.05 * environment.noise()).clamp(-1.0, 1.0),
                };
                (features, target)
            }
        }
    }
}

/// The vector, made as short as the set asks for.
pub(crate) fn clipped(mut values: Vec<f64>, set: LossSet) -> Vec<f64> {
    let (length, radius) = match set {
        LossSet::Box(..) => return values,
        LossSet::Ball(radius) => (values.iter().map(|v| v * v).sum::<f64>().sqrt(), radius),
        LossSet::L1Ball(radius) => (values.iter().map(|v| v.abs()).sum(), radius),
    };
    if length > radius {
        values.iter_mut().for_each(|v| *v = *v * radius / length);
    }
    values
}

/// A row as a record.
pub fn record((features, target): &(Vec<f64>, f64)) -> Record {
    dense(features.clone(), *target)
}

/// A record with every feature.
pub fn dense(features: Vec<f64>, target: f64) -> Record {
    Record {
        features: Features::Dense(features),
        target,
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Experts => "experts",
            Self::Linear => "linear",
            Self::Mean => "mean",
            Self::Classify => "classify",
            Self::Regress => "regress",
            Self::Ridge => "ridge",
        })
    }
}

impl FromStr for Task {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        called("task", &Self::ALL, name)
    }
}
