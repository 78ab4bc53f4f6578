//! From scores to probabilities: one public map for each loss that has one.

use serde::{Deserialize, Serialize};

/// How scores become probabilities of classes: a public function of released numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Probability {
    /// Logistic and softmax losses: 1/(1 + e^(−score)), or the softmax of the scores.
    Logistic,
    /// Least squares. Two classes, ±1: (1 + score)/2, clamped to [`Probability::LEAST`] and one
    /// minus that. Several classes: scores clamped to [`Probability::LEAST`] and 1, divided by
    /// their sum.
    Linear,
}

impl Probability {
    /// The least probability of a linear score: least squares can predict beyond 0 and 1, and never
    /// certainty.
    pub const LEAST: f64 = 0.001;

    /// The probability of the positive class.
    #[must_use]
    pub fn of_positive(self, score: f64) -> f64 {
        match self {
            Self::Logistic => 1.0 / (1.0 + (-score).exp()),
            Self::Linear => ((1.0 + score) / 2.0).clamp(Self::LEAST, 1.0 - Self::LEAST),
        }
    }

    /// Turns the scores of all classes into probabilities.
    pub fn of_classes(self, scores: &mut [f64]) {
        match self {
            Self::Logistic => {
                let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                scores.iter_mut().for_each(|s| *s = (*s - top).exp());
            }
            Self::Linear => scores
                .iter_mut()
                .for_each(|s| *s = s.clamp(Self::LEAST, 1.0)),
        }
        let total: f64 = scores.iter().sum();
        scores.iter_mut().for_each(|s| *s /= total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::losses::Link;

    #[test]
    fn probabilities_are_between_zero_and_one_and_add_up() {
        let logistic = Probability::Logistic;
        assert!((logistic.of_positive(0.0) - 0.5).abs() < 1e-15);
        assert!((logistic.of_positive(2.0) + logistic.of_positive(-2.0) - 1.0).abs() < 1e-15);
        assert!(logistic.of_positive(-1e9).abs() < 1e-300);
        let linear = Probability::Linear;
        assert!((linear.of_positive(-0.5) - 0.25).abs() < 1e-15);
        assert!((linear.of_positive(7.0) - 0.999).abs() < 1e-15);
        for map in [logistic, linear] {
            let mut scores = [-3.0, 0.25, 0.5, 900.0];
            map.of_classes(&mut scores);
            assert!((scores.iter().sum::<f64>() - 1.0).abs() < 1e-15);
            assert!(scores.iter().all(|p| (0.0..=1.0).contains(p)));
            assert!(scores[3] > scores[2]);
        }
        // Two classes by either way.
        let mut scores = [0.0, 2.0];
        logistic.of_classes(&mut scores);
        assert!((scores[1] - logistic.of_positive(2.0)).abs() < 1e-15);
        assert_eq!(Link::Hinge.probability(), None);
    }
}
