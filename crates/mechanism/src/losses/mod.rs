//! Losses: the map from a record and the public iterate to a contribution.
//!
//! A loss runs on the private side. Its constants follow from *public bounds* on features, targets
//! and weights, and data is clipped to those bounds before anything is computed from it. Gradients
//! go into sums. The sum's lattice clips them to the Lipschitz constant once more, so in a sum a
//! loss with a wrong constant costs accuracy, never privacy. Solvers and perturbed iterates rely on
//! the constants and check what they can.
//!
//! To add your own loss, implement [`Loss`]; its documentation has a complete example.

mod bounds;
mod explicit;
mod linear_model;
mod link;
mod named;
mod others;
mod records;
mod regularised;
mod softmax;

pub use bounds::Bounds;
pub use explicit::Explicit;
pub(crate) use explicit::{Datum, Part, UNIT};
pub use linear_model::LinearModel;
pub use link::Link;
pub use named::NamedLoss;
pub use others::{Distance, LinearLoss, LossSet};
pub(crate) use records::LINE;
pub use records::Records;
pub use regularised::Regularised;
pub use softmax::Softmax;

use crate::boundary::{OperatorOnly, Raw};
use crate::lattice::Contribution;
use crate::wide::wide;
use hushstream_sets::{dot, square_and_dot};

/// A person's record: features and a target.
pub struct Record {
    /// The features.
    pub features: Features,
    /// The target; ignored by losses that have none.
    pub target: f64,
}

impl Record {
    /// Whether the features are valid numbers of this dimension.
    #[inline(always)]
    pub(crate) fn features_in(&self, dimension: usize) -> bool {
        self.features.is_sound(dimension)
    }

    /// Whether features and target are valid numbers.
    pub(crate) fn is_sound(&self, dimension: usize) -> bool {
        self.features_in(dimension) && self.target.is_finite()
    }

    /// Copies a record, for the operator's own measurements and where its memory is used again.
    /// Records are not `Clone`, so that none is copied by accident.
    pub(crate) fn duplicate(&self) -> Self {
        let features = match &self.features {
            Features::Dense(values) => Features::Dense(values.clone()),
            Features::Sparse(entries) => Features::Sparse(entries.clone()),
        };
        Self {
            features,
            target: self.target,
        }
    }
}

/// A feature vector.
pub enum Features {
    /// All coordinates.
    Dense(Vec<f64>),
    /// (index, value) pairs in increasing order of indices; all other coordinates are zero.
    Sparse(Vec<(u32, f64)>),
}

impl Features {
    /// Whether every value is finite, and the indices are increasing and within the dimension.
    #[inline(always)]
    fn is_sound(&self, dimension: usize) -> bool {
        match self {
            Self::Dense(values) => values.len() == dimension && are_finite(values),
            Self::Sparse(entries) => {
                entries.iter().all(|(_, v)| v.is_finite())
                    && entries.windows(2).all(|pair| pair[0].0 < pair[1].0)
                    && entries
                        .last()
                        .is_none_or(|last| (last.0 as usize) < dimension)
            }
        }
    }

    /// ⟨w, x⟩; only for valid features.
    #[must_use]
    #[inline(always)]
    pub fn dot(&self, weights: &[f64]) -> f64 {
        match self {
            Self::Dense(values) => dot(values, weights),
            Self::Sparse(entries) => entries.iter().map(|&(i, v)| v * weights[i as usize]).sum(),
        }
    }

    /// ‖x‖ and ⟨w, x⟩ in one pass; `None` unless the features are valid and as many as the weights.
    pub(crate) fn measured(&self, weights: &[f64]) -> Option<Measured> {
        match self {
            Self::Dense(values) if values.len() == weights.len() => measure(values, weights),
            _ => self.is_sound(weights.len()).then(|| Measured {
                norm: self.norm(),
                dot: self.dot(weights),
            }),
        }
    }

    /// Adds the features to a vector of their dimension; only for valid features.
    pub(crate) fn add_to(&self, total: &mut [f64]) {
        match self {
            Self::Dense(values) => total.iter_mut().zip(values).for_each(|(t, v)| *t += v),
            Self::Sparse(entries) => entries.iter().for_each(|&(i, v)| total[i as usize] += v),
        }
    }

    /// ‖x‖; only for valid features.
    #[must_use]
    #[inline(always)]
    pub fn norm(&self) -> f64 {
        let squares: f64 = match self {
            Self::Dense(values) => dot(values, values),
            Self::Sparse(entries) => entries.iter().map(|(_, v)| v * v).sum(),
        };
        squares.sqrt()
    }

    /// The features times a number, as a contribution.
    #[inline(always)]
    fn scaled(self, factor: f64) -> Contribution {
        match self {
            Self::Dense(mut values) => {
                values.iter_mut().for_each(|v| *v *= factor);
                Contribution::Dense(values)
            }
            Self::Sparse(mut entries) => {
                entries.iter_mut().for_each(|(_, v)| *v *= factor);
                Contribution::Sparse(entries)
            }
        }
    }
}

/// Whether every value is finite.
#[inline(always)]
fn are_finite(values: &[f64]) -> bool {
    // No early exit, so that the compiler can vectorise the loop.
    values.iter().fold(true, |finite, v| finite & v.is_finite())
}

/// ‖x‖ and ⟨w, x⟩ of as many values as weights; `None` unless the values are finite.
#[inline(always)]
fn measured(values: &[f64], weights: &[f64]) -> Option<Measured> {
    let [squares, dot] = square_and_dot(values, weights);
    // A finite sum of squares has only finite terms; if it overflows, check each value.
    let is_sound = squares.is_finite() || are_finite(values);
    is_sound.then(|| Measured {
        norm: squares.sqrt(),
        dot,
    })
}

wide! {
    /// [`measured`].
    fn measure<'a>(values: &'a [f64], weights: &'a [f64]) -> Option<Measured> {
        measured(values, weights)
    }
}

/// ‖x‖ and ⟨w, x⟩ of a record at some weights. As private as the record.
#[derive(Clone, Copy)]
pub struct Measured {
    pub(crate) norm: f64,
    pub(crate) dot: f64,
}

/// A gradient that is a multiple of a record's features, not multiplied out: the factor, and the
/// gradient's Euclidean length. All features are finite.
#[derive(Clone, Copy)]
pub struct Multiple {
    pub(crate) factor: f64,
    pub(crate) length: f64,
}

/// The class of a target, if it is one of 0, 1, …, `classes` − 1.
pub(crate) fn class(target: f64, classes: usize) -> Option<usize> {
    let named = target.fract().abs() == 0.0 && target >= 0.0 && target < classes as f64;
    named.then_some(target as usize)
}

/// A convex loss f(w; record), evaluated inside the boundary.
///
/// Your code runs on raw data here. Its result leaves only through the mechanism, as long as it has
/// no side effects: no logging, no counters, no state.
///
/// ```
/// use hushstream_mechanism::losses::{Features, Loss, Record};
/// use hushstream_mechanism::{Contribution, Raw};
///
/// /// Poisson regression with rates e^⟨w,x⟩, for features of length at most 1,
/// /// weights of length at most `radius`, counts up to `most`.
/// struct Poisson { dimension: usize, radius: f64, most: f64 }
///
/// impl Loss for Poisson {
///     fn name(&self) -> &str { "poisson" }
///     fn dimension(&self) -> usize { self.dimension }
///     // |e^z − y| for |z| ≤ radius, 0 ≤ y ≤ most
///     fn lipschitz(&self) -> f64 { self.radius.exp().max(self.most) }
///     fn value(&self, record: &Record, weights: &[f64]) -> f64 {
///         let Features::Dense(x) = &record.features else { return 0.0 };
///         let z: f64 = x.iter().zip(weights).map(|(x, w)| x * w).sum();
///         z.exp() - record.target * z
///     }
///     fn gradient(&self, record: Record, weights: &[f64]) -> Contribution {
///         let Features::Dense(x) = record.features else { return Contribution::Null };
///         let z: f64 = x.iter().zip(weights).map(|(x, w)| x * w).sum();
///         let slope = z.min(self.radius).exp() - record.target.clamp(0.0, self.most);
///         Contribution::Dense(x.iter().map(|x| slope * x).collect())
///     }
/// }
///
/// let loss = Poisson { dimension: 2, radius: 1.0, most: 10.0 };
/// assert_eq!(loss.lipschitz(), 10.0);
/// # let _ = Raw::seal(Record { features: Features::Dense(vec![0.0; 2]), target: 1.0 });
/// ```
pub trait Loss: Send + Sync {
    /// The name of the loss.
    fn name(&self) -> &str;

    /// A description that identifies the loss, so that a resumed run can recognise it. The default
    /// contains name and constants; a loss with further parameters should add them.
    fn describe(&self) -> String {
        let (name, dimension) = (self.name(), self.dimension());
        let (lipschitz, convexity) = (self.lipschitz(), self.strong_convexity());
        format!(
            "{name} in {dimension} dimensions, {lipschitz:e}, {convexity:e}, {:?}",
            self.smoothness()
        )
    }

    /// Length of the weights.
    fn dimension(&self) -> usize;

    /// L: a bound on the Euclidean length of a gradient, from public bounds alone.
    fn lipschitz(&self) -> f64;

    /// α: every f(·; record) − (α/2)‖w‖² is convex.
    fn strong_convexity(&self) -> f64 {
        0.0
    }

    /// β: gradients change by at most β‖w − w'‖; `None` if there is no bound.
    fn smoothness(&self) -> Option<f64> {
        None
    }

    /// The largest length of weights for which [`Loss::lipschitz`] holds; 0 if unknown. In a sum,
    /// the lattice clips longer gradients. A solver that takes steps on private data cannot clip
    /// them and relies on this number.
    fn weights_bound(&self) -> f64 {
        0.0
    }

    /// A public constant that is subtracted from every coordinate of every gradient before it is
    /// summed, to halve its size. Learners add it back to the sums.
    fn offset(&self) -> f64 {
        0.0
    }

    /// The loss in closed form, if it has one. Recipes on perturbed iterates need it, because their
    /// proofs are about steps on this loss.
    fn explicit(&self) -> Option<Explicit> {
        None
    }

    /// Link and bounds, if the loss is a linear model's and nothing else: its gradients are then
    /// multiples of the features.
    fn model(&self) -> Option<(Link, Bounds)> {
        None
    }

    /// The loss as a name and parameters, from which another machine builds the same loss. Your own
    /// losses keep the default.
    fn named(&self) -> Option<NamedLoss> {
        None
    }

    /// f(w; record). For the operator only.
    fn value(&self, record: &Record, weights: &[f64]) -> f64;

    /// ∇f(w; record), or null for a malformed record.
    fn gradient(&self, record: Record, weights: &[f64]) -> Contribution;

    /// Whether a record is malformed, so that [`Loss::value`] is meaningless for it.
    fn is_null(&self, record: &Record, weights: &[f64]) -> bool {
        matches!(
            self.gradient(record.duplicate(), weights),
            Contribution::Null
        )
    }
}

/// The gradient of a linear model's loss as a multiple of the features, from what was measured of
/// the record, if it was.
pub(crate) fn multiple(
    loss: &dyn Loss,
    record: &Record,
    weights: &[f64],
    measured: Option<Measured>,
) -> Option<Multiple> {
    let (link, bounds) = loss.model()?;
    let measured = measured.or_else(|| record.features.measured(weights))?;
    link.multiple(&bounds, record.target, measured)
}

/// The loss of a record at `weights`: computed from private data, for the operator only.
#[must_use]
pub fn evaluate(loss: &dyn Loss, record: &Raw<Record>, weights: &[f64]) -> OperatorOnly<f64> {
    OperatorOnly::new(loss.value(record.peek(), weights))
}
