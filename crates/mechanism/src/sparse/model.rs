//! The model that a sparse learner publishes.

use super::rule::Rule;

/// A published model, computed from all coordinates of a release.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// −η·ŝ, before the box: one number per feature.
    steps: Vec<f64>,
    rule: Rule,
    /// The standard deviation of the noise in a step.
    noise: f64,
}

impl Model {
    /// A model from the released sums, whose noise has this standard deviation.
    pub(super) fn new(sums: impl Iterator<Item = f64>, rule: Rule, noise: f64) -> Self {
        Self {
            steps: sums.map(|sum| rule.step(sum)).collect(),
            rule,
            noise: rule.rate() * noise,
        }
    }

    /// The standard deviation of the noise in a weight, where the box does not bind.
    #[must_use]
    pub fn noise(&self) -> f64 {
        self.noise
    }

    /// All weights, noise included.
    #[must_use]
    pub fn dense(self) -> Vec<f64> {
        self.weights_above(0.0)
    }

    /// Sets weights that noise alone explains to 0: those of steps up to noise·√(2 ln d). This
    /// happens after the release, so it is free. Steps are compared before the box clips them:
    /// otherwise a box narrower than the noise would leave nothing.
    #[must_use]
    pub fn thresholded(self) -> Vec<f64> {
        let least = self.noise * Self::threshold(self.steps.len());
        self.weights_above(least)
    }

    /// The approximate size, in standard deviations, of the largest of this many noises.
    #[must_use]
    pub fn threshold(features: usize) -> f64 {
        (2.0 * (features.max(2) as f64).ln()).sqrt()
    }

    fn weights_above(mut self, least: f64) -> Vec<f64> {
        for step in &mut self.steps {
            *step = if step.abs() <= least {
                0.0
            } else {
                self.rule.within(*step)
            };
        }
        self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A box far narrower than the noise: steps that stand out are kept, at the border.
    #[test]
    fn a_narrow_box_does_not_hide_what_stands_out() {
        let rule = Rule::new(0.5, 1.0).unwrap();
        let sums = [-100.0, 3.0, 40.0, 0.0];
        let model = Model::new(sums.into_iter(), rule, 10.0);
        assert!((model.noise() - 5.0).abs() < 1e-15);
        // √(2 ln 4) = 1.67 standard deviations: sums above 16.7.
        assert_eq!(model.clone().thresholded(), [1.0, 0.0, -1.0, 0.0]);
        assert_eq!(model.dense(), [1.0, -1.0, -1.0, 0.0]);
    }
}
