//! Standard metrics, defined as in scikit-learn, from running sums.

use super::probability::Probability;
use crate::ranks::Ranks;

/// Smaller probabilities count as this in the log loss, as in scikit-learn.
const LEAST: f64 = f64::EPSILON;

/// Metrics of a classifier.
#[derive(Clone, Copy, PartialEq)]
pub struct ClassMetrics {
    /// Share of correct predictions.
    pub accuracy: f64,
    /// Two classes: the AUC, and a bound on its error from counting scores in bins.
    pub auc: Option<(f64, f64)>,
    /// Mean of −ln of the probability of the true class, where scores stand for probabilities.
    pub log_loss: Option<f64>,
    /// Two classes: mean squared error of the probability.
    pub brier: Option<f64>,
    /// Two classes: expected calibration error over 15 groups of equal size.
    pub calibration_error: Option<f64>,
    /// Whether 99.9 % of the predictions were the same class although labels were not. Ignores
    /// scores of 0 or equal scores of all classes, as before the first step.
    pub is_one_sided: bool,
    /// Baseline: share of the majority class.
    pub majority: f64,
    /// Baseline: share of labels that repeat the previous label. `None` for a single label.
    pub last_label: Option<f64>,
    /// Baseline: log loss of the classes' shares, ignoring features.
    pub prior_log_loss: f64,
}

/// The curves of a classifier of two classes.
pub struct Ranking {
    /// The ROC curve, (false alarms, hits), from (0, 0) to (1, 1); empty without records of both
    /// classes.
    pub roc: Vec<(f64, f64)>,
    /// Groups of records by score: mean probability of the positive class, its share, records.
    /// Empty where scores stand for no probabilities.
    pub calibration: Vec<(f64, f64, u64)>,
}

/// Metrics of a regression.
#[derive(Clone, Copy, PartialEq)]
pub struct NumberMetrics {
    /// Mean squared error.
    pub mse: f64,
    /// Mean absolute error.
    pub mae: f64,
    /// 1 − mse/constant; `None` if all targets are equal.
    pub r2: Option<f64>,
    /// Baseline: mean squared error of the mean target.
    pub constant: f64,
    /// Baseline: mean squared error of the previous target. `None` for a single target.
    pub last_label: Option<f64>,
}

/// Metrics of a run.
#[derive(Clone, Copy, PartialEq)]
pub enum Metrics {
    /// Of a classifier.
    Classes(ClassMetrics),
    /// Of a regression, in the targets' units.
    Number(NumberMetrics),
}

/// Running sums of a classifier.
pub(super) struct ClassTally {
    probability: Option<Probability>,
    /// For two classes.
    ranks: Option<Ranks>,
    counts: Vec<u64>,
    /// How often each class was predicted.
    predicted: Vec<u64>,
    right: u64,
    repeats: u64,
    last: Option<usize>,
    pub(super) log_loss: f64,
    brier: f64,
}

impl ClassTally {
    /// `signs`: two classes that share one score.
    pub(super) fn new(classes: usize, signs: bool, probability: Option<Probability>) -> Self {
        Self {
            probability,
            ranks: signs.then(Ranks::default),
            counts: vec![0; classes],
            predicted: vec![0; classes],
            right: 0,
            repeats: 0,
            last: None,
            log_loss: 0.0,
            brier: 0.0,
        }
    }

    pub(super) fn right(&self) -> u64 {
        self.right
    }

    pub(super) fn has_probabilities(&self) -> bool {
        self.probability.is_some()
    }

    /// Counts a label of one of two classes and its score.
    pub(super) fn add_sign(&mut self, score: f64, is_positive: bool) {
        self.right += u64::from((score > 0.0) == is_positive);
        if score.abs() > 0.0 {
            self.predicted[usize::from(score > 0.0)] += 1;
        }
        let mut chance = 0.0;
        if let Some(map) = self.probability {
            chance = map.of_positive(score);
            let of_truth = if is_positive { chance } else { 1.0 - chance };
            self.log_loss -= of_truth.max(LEAST).ln();
            self.brier += (1.0 - of_truth).powi(2);
        }
        if let Some(ranks) = &mut self.ranks {
            ranks.add(score, chance, is_positive);
        }
        self.label(usize::from(is_positive));
    }

    /// Counts a label of one of several classes. The scores become probabilities.
    pub(super) fn add_class(&mut self, scores: &mut [f64], label: usize) {
        let predicted = largest(scores);
        self.right += u64::from(predicted == label);
        // Before the first step all scores are equal.
        if scores.iter().any(|&score| score < scores[predicted]) {
            self.predicted[predicted] += 1;
        }
        if let Some(map) = self.probability {
            map.of_classes(scores);
            self.log_loss -= scores[label].max(LEAST).ln();
        }
        self.label(label);
    }

    fn label(&mut self, label: usize) {
        self.repeats += u64::from(self.last == Some(label));
        self.last = Some(label);
        self.counts[label] += 1;
    }

    fn is_one_sided(&self) -> bool {
        let predictions: u64 = self.predicted.iter().sum();
        let commonest = self.predicted.iter().copied().max().unwrap_or(0);
        let labels = self.counts.iter().filter(|&&count| count > 0).count();
        labels > 1 && commonest as f64 >= 0.999 * predictions as f64
    }

    pub(super) fn ranking(&self) -> Option<Ranking> {
        let ranks = self.ranks.as_ref()?;
        Some(Ranking {
            roc: ranks.roc(),
            calibration: if self.has_probabilities() {
                ranks.calibration()
            } else {
                Vec::new()
            },
        })
    }

    pub(super) fn metrics(&self) -> ClassMetrics {
        let scored: u64 = self.counts.iter().sum();
        let all = scored.max(1) as f64;
        let shares = || self.counts.iter().map(|&count| count as f64 / all);
        let known = self.has_probabilities() && scored > 0;
        let ranks = self.ranks.as_ref();
        ClassMetrics {
            accuracy: self.right as f64 / all,
            auc: ranks.and_then(Ranks::auc),
            log_loss: known.then(|| self.log_loss / all),
            brier: (known && ranks.is_some()).then(|| self.brier / all),
            calibration_error: ranks.filter(|_| known).map(Ranks::calibration_error),
            is_one_sided: self.is_one_sided(),
            majority: shares().fold(0.0, f64::max),
            last_label: (scored > 1).then(|| self.repeats as f64 / (all - 1.0)),
            prior_log_loss: shares()
                .filter(|&share| share > 0.0)
                .map(|share| -share * share.ln())
                .sum(),
        }
    }
}

/// Running sums of a regression.
#[derive(Default)]
pub(super) struct NumberTally {
    scored: u64,
    pub(super) squares: f64,
    sizes: f64,
    repeats: f64,
    last: Option<f64>,
    /// Mean of the targets, and the sum of their squared distances from it.
    mean: f64,
    spread: f64,
}

impl NumberTally {
    pub(super) fn add(&mut self, prediction: f64, target: f64) {
        self.scored += 1;
        self.squares += (prediction - target).powi(2);
        self.sizes += (prediction - target).abs();
        if let Some(last) = self.last.replace(target) {
            self.repeats += (last - target).powi(2);
        }
        let before = target - self.mean;
        self.mean += before / self.scored as f64;
        self.spread += before * (target - self.mean);
    }

    pub(super) fn metrics(&self) -> NumberMetrics {
        let all = self.scored.max(1) as f64;
        NumberMetrics {
            mse: self.squares / all,
            mae: self.sizes / all,
            r2: (self.spread > 0.0).then(|| 1.0 - self.squares / self.spread),
            constant: self.spread / all,
            last_label: (self.scored > 1).then(|| self.repeats / (all - 1.0)),
        }
    }
}

/// The index of the first largest value.
pub(super) fn largest(values: &[f64]) -> usize {
    let mut best = (0, f64::NEG_INFINITY);
    for (index, &value) in values.iter().enumerate() {
        if value > best.1 {
            best = (index, value);
        }
    }
    best.0
}
