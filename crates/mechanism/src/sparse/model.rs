//! What a sparse learner publishes.

/// A published model: all weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// One weight a feature.
    pub weights: Vec<f64>,
    /// The standard deviation of the noise in a weight, where the box does not bind.
    pub noise: f64,
}

impl Model {
    /// Weights that noise alone explains become 0: those below noise·√(2 ln d). After the release, so free.
    #[must_use]
    pub fn thresholded(mut self) -> Self {
        let least = self.noise * (2.0 * (self.weights.len().max(2) as f64).ln()).sqrt();
        for weight in &mut self.weights {
            if weight.abs() <= least {
                *weight = 0.0;
            }
        }
        self
    }
}
