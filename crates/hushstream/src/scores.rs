//! Metrics of classifiers and regressions, as JSON and in words. For the operator only.

use hushstream_mechanism::{Metrics, Summary};
use hushstream_pictures::numbers::short;
use serde::Serialize;

/// The largest error of an AUC that is shown with three digits.
const THREE_DIGITS: f64 = 5e-4;

/// `metrics` of the JSON object. Metrics that do not apply are null.
#[derive(Serialize, Clone, Copy)]
#[serde(untagged)]
pub enum Scores {
    /// Metrics of classes.
    Classes {
        /// The accuracy.
        accuracy: f64,
        /// The AUC, for two classes.
        auc: Option<f64>,
        /// The largest error of the AUC, which comes from binned scores.
        auc_error: Option<f64>,
        /// The log loss.
        log_loss: Option<f64>,
        /// The Brier score.
        brier: Option<f64>,
        /// The expected calibration error.
        calibration_error: Option<f64>,
        /// Baseline: accuracy of the majority class.
        majority: f64,
        /// Baseline: accuracy of repeating the last label.
        last_label: Option<f64>,
        /// Baseline: log loss of the class shares.
        prior_log_loss: f64,
    },
    /// Metrics of numbers.
    Number {
        /// The mean squared error.
        mse: f64,
        /// The mean absolute error.
        mae: f64,
        /// R², the explained share of the variance.
        r2: Option<f64>,
        /// Baseline: mean squared error of the mean target.
        constant: f64,
    },
}

impl Scores {
    /// Of a task that has metrics, where at least one record was scored.
    pub fn of(summary: &Summary) -> Option<Self> {
        if summary.scored == 0 {
            return None; // there is nothing to average
        }
        Some(match summary.metrics? {
            Metrics::Classes(metrics) => Self::Classes {
                accuracy: metrics.accuracy,
                auc: metrics.auc.map(|(auc, _)| auc),
                auc_error: metrics.auc.map(|(_, error)| error),
                log_loss: metrics.log_loss,
                brier: metrics.brier,
                calibration_error: metrics.calibration_error,
                majority: metrics.majority,
                last_label: metrics.last_label,
                prior_log_loss: metrics.prior_log_loss,
            },
            Metrics::Number(metrics) => Self::Number {
                mse: metrics.mse,
                mae: metrics.mae,
                r2: metrics.r2,
                constant: metrics.constant,
            },
        })
    }

    /// Names and values of the model's own metrics, rounded to meaningful digits.
    pub fn own(&self) -> Vec<(&'static str, String)> {
        match *self {
            Self::Classes {
                accuracy,
                auc,
                auc_error,
                log_loss,
                brier,
                calibration_error,
                ..
            } => {
                let rough = auc_error.filter(|error| *error > THREE_DIGITS);
                let auc = auc.map(|auc| match rough {
                    Some(error) => format!("{auc:.3} ± {error:.3}"),
                    None => digits(auc),
                });
                let rest = [
                    ("log loss", log_loss),
                    ("Brier score", brier),
                    ("calibration error", calibration_error),
                ];
                let rest = rest.map(|(name, value)| (name, value.map(digits)));
                [("accuracy", Some(digits(accuracy))), ("AUC", auc)]
                    .into_iter()
                    .chain(rest)
                    .filter_map(|(name, value)| Some((name, value?)))
                    .collect()
            }
            Self::Number { mse, mae, r2, .. } => {
                let mut all = vec![
                    ("mean squared error", short(mse)),
                    ("mean absolute error", short(mae)),
                ];
                all.extend(r2.map(|r2| ("R²", digits(r2))));
                all
            }
        }
    }

    /// Names and values of the baselines, which use no features.
    pub fn baselines(&self) -> Vec<(&'static str, String)> {
        match *self {
            Self::Classes {
                log_loss,
                majority,
                last_label,
                prior_log_loss,
                ..
            } => {
                let mut all = vec![("accuracy of the majority class", digits(majority))];
                all.extend(
                    last_label.map(|value| ("accuracy of repeating the last label", digits(value))),
                );
                all.extend(
                    log_loss.map(|_| ("log loss of the class shares", digits(prior_log_loss))),
                );
                all
            }
            Self::Number { constant, .. } => {
                vec![("mean squared error of the mean", short(constant))]
            }
        }
    }
}

/// Rounds shares and losses to three digits.
fn digits(value: f64) -> String {
    format!("{value:.3}")
}
