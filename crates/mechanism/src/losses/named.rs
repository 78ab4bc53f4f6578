//! Losses by name and parameters, so that a question about them can be sent to another machine.

use super::{Bounds, Distance, LinearLoss, LinearModel, Link, Loss, LossSet, Regularised, Softmax};
use hushstream_account::ParameterError;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A loss as its public name, the number of features and its parameters. All losses of this crate
/// have one ([`Loss::named`]); a loss of your own has none, and is computed only where it was made.
///
/// ```
/// use hushstream_mechanism::losses::{Bounds, LinearModel, Link, Loss};
///
/// let loss = LinearModel::new(3, Link::Huber(0.5), Bounds::new(1.0, (-1.0, 1.0), 2.0)?)?;
/// let named = loss.named().expect("all losses of this crate have a name");
/// assert_eq!(named.name(), "huber:0.5");
/// assert_eq!(named.build()?.describe(), loss.describe());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedLoss {
    name: String,
    features: u32,
    parameters: Vec<f64>,
    /// λ and the bound on weights, if it is regularised.
    regularised: Option<[f64; 2]>,
}

impl NamedLoss {
    pub(super) fn new(name: impl Into<String>, features: usize, parameters: &[f64]) -> Self {
        Self {
            name: name.into(),
            // A loss of more features has no lattice: no plan is made for it.
            features: u32::try_from(features).unwrap_or(u32::MAX),
            parameters: parameters.to_vec(),
            regularised: None,
        }
    }

    /// The same with a penalty; nothing if it has one already.
    pub(super) fn regularised(mut self, strength: f64, weights: f64) -> Option<Self> {
        let before = self.regularised.replace([strength, weights]);
        before.is_none().then_some(self)
    }

    /// The name, with the parameter of a link after a colon.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Builds the loss.
    ///
    /// # Errors
    /// A name that this version does not know; parameters that the loss does not have.
    pub fn build(&self) -> Result<Arc<dyn Loss>, ParameterError> {
        let features = self.features as usize;
        let unknown = || ParameterError::new("loss", &self.name, "a name that this version knows");
        let loss: Arc<dyn Loss> = match (&*self.name, &self.parameters[..]) {
            ("softmax", &[length, classes]) if classes.fract().abs() == 0.0 => {
                Arc::new(Softmax::new(features, length, classes as usize)?)
            }
            ("linear", &[low, high]) => Arc::new(LinearLoss::new(features, low, high)?),
            ("linear in ball", &[radius]) => {
                Arc::new(LinearLoss::within(features, LossSet::Ball(radius))?)
            }
            ("linear in l1-ball", &[radius]) => {
                Arc::new(LinearLoss::within(features, LossSet::L1Ball(radius))?)
            }
            ("squared distance", &[points, weights]) => {
                Arc::new(Distance::new(features, points, weights)?)
            }
            (link, &[length, low, high, weights]) => {
                let link: Link = link.parse().map_err(|_| unknown())?;
                let bounds = Bounds::new(length, (low, high), weights)?;
                Arc::new(LinearModel::new(features, link, bounds)?)
            }
            _ => return Err(unknown()),
        };
        Ok(match self.regularised {
            Some([strength, weights]) => Arc::new(Regularised::new(loss, strength, weights)?),
            None => loss,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every loss of this crate comes back from its name: the same description, and the same bits
    /// of a gradient.
    #[test]
    fn every_loss_comes_back() {
        let bounds = Bounds::new(1.5, (-1.0, 1.0), 2.0).unwrap();
        let mut losses: Vec<Arc<dyn Loss>> = vec![
            Arc::new(Softmax::new(2, 1.5, 3).unwrap()),
            Arc::new(LinearLoss::new(2, -1.0, 3.0).unwrap()),
            Arc::new(LinearLoss::within(2, LossSet::Ball(0.7)).unwrap()),
            Arc::new(LinearLoss::within(2, LossSet::L1Ball(2.0)).unwrap()),
            Arc::new(Distance::new(2, 1.0, 2.0).unwrap()),
        ];
        for link in Link::ALL.into_iter().chain([Link::Quantile(0.9)]) {
            losses.push(Arc::new(LinearModel::new(2, link, bounds).unwrap()));
        }
        let plain = losses.clone();
        for loss in plain {
            losses.push(Arc::new(Regularised::new(loss, 0.25, 2.0).unwrap()));
        }
        for loss in &losses {
            let named = loss.named().unwrap();
            let bytes = postcard::to_allocvec(&named).unwrap();
            let back: NamedLoss = postcard::from_bytes(&bytes).unwrap();
            let built = back.build().unwrap();
            assert_eq!(built.describe(), loss.describe());
            assert_eq!(built.dimension(), loss.dimension());
            assert!((built.lipschitz() - loss.lipschitz()).abs() == 0.0);
        }
        // Twice regularised has no name.
        let twice = Regularised::new(losses.pop().unwrap(), 0.5, 1.0).unwrap();
        assert!(twice.named().is_none());
    }

    #[test]
    fn unknown_names_and_parameters_are_refused() {
        for (name, parameters) in [
            ("poisson", &[1.0, -1.0, 1.0, 1.0][..]),
            ("softmax", &[1.0]),
            ("softmax", &[1.0, 2.5]),
            ("softmax", &[1.0, f64::NAN]),
            ("linear", &[1.0, 0.0]),
            ("logistic", &[0.0, -1.0, 1.0, 1.0]),
            ("huber:0", &[1.0, -1.0, 1.0, 1.0]),
        ] {
            let refused = NamedLoss::new(name, 2, parameters).build();
            assert!(refused.is_err(), "{name} {parameters:?}");
        }
    }
}
