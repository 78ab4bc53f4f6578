//! Negative entropy on the simplex, 1-strongly convex in L1 (Pinsker): the leader is Hedge, x ∝
//! e^(−η·l).

use super::Regulariser;
use crate::LearnError;
use hushstream_sets::{ConvexSet, Simplex};

/// Σ xᵢ ln xᵢ.
///
/// ```
/// use hushstream_learn::{Entropy, Regulariser};
///
/// let entropy = Entropy::new(4)?;
/// assert_eq!(entropy.leader(1.0, &[0.0; 4])?, [0.25; 4]);
/// assert_eq!(entropy.squared_length(&[1.0, -2.0, 0.0, 0.0]), 4.0);
/// # Ok::<(), hushstream_learn::LearnError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Entropy(Simplex);

impl Entropy {
    /// On this many actions.
    ///
    /// # Errors
    /// Fewer than 2 actions.
    pub fn new(actions: usize) -> Result<Self, LearnError> {
        Ok(Self(Simplex::new(actions)?))
    }
}

impl Regulariser for Entropy {
    fn set(&self) -> &dyn ConvexSet {
        &self.0
    }

    fn leader(&self, rate: f64, losses: &[f64]) -> Result<Vec<f64>, LearnError> {
        // Subtract the smallest loss first: no exponential overflows, and the sum is at least 1.
        let least = losses.iter().copied().fold(f64::INFINITY, f64::min);
        let weights = losses.iter().map(|loss| libm::exp(-rate * (loss - least)));
        let mut weights: Vec<f64> = weights.collect();
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= total);
        Ok(weights)
    }

    fn range(&self) -> f64 {
        libm::log(self.0.dimension() as f64)
    }

    fn squared_length(&self, losses: &[f64]) -> f64 {
        let largest = losses
            .iter()
            .fold(0.0_f64, |most, loss| most.max(loss.abs()));
        largest * largest
    }
}
