//! The outcome of a run: one object with stable keys.

use crate::budget;
use crate::decisions::Evaluation;
use crate::scores::Scores;
use hushstream_account::Guarantee;
use hushstream_mechanism::{Ledger, Summary, Yardstick};
use hushstream_recipes::{MechanismKind, RecipeName};
use serde::{Deserialize, Serialize};

/// The outcome of a run.
///
/// ```
/// use hushstream::prelude::*;
///
/// let mut run = Learner::classify()
///     .features(1)
///     .records(50)
///     .budget(Budget::approx(1.0, 1e-6)?)
///     .adjacency(ReplaceOne)
///     .simulated(7)
///     .start()?;
/// for i in 0..50 {
///     run.learn(&[f64::from(i % 5) / 5.0, f64::from(i % 2)])?;
/// }
/// let outcome: Outcome = run.finish()?;
/// assert_eq!((outcome.rounds, outcome.ledger.runs), (50, 1));
/// assert!(outcome.operator_only.contains(&"metrics")); // not to be published
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Its JSON is the output of `--json`. Keys that do not apply are null, and with `--quiet` also
/// those computed from private data.
#[derive(Serialize, Clone)]
pub struct Outcome {
    /// The recipe.
    pub recipe: String,
    /// Records so far.
    pub rounds: u64,
    /// Features, experts or arms.
    pub dim: usize,
    /// The guarantee.
    pub guarantee: Guarantee,
    /// This run and all earlier ones on the same ledger.
    pub ledger: Together,
    /// The chosen parameters.
    pub parameters: Parameters,
    /// Records scored for the figures below: those with a usable target, since the last resume.
    pub scored: Option<u64>,
    /// The records that the figures are on.
    pub scored_on: ScoredOn,
    /// Metrics of classes and numbers.
    pub metrics: Option<Scores>,
    /// Of experts and bandits.
    pub loss: Loss,
    /// The same learner without privacy.
    pub without_privacy: Option<WithoutPrivacy>,
    /// Of experts and bandits.
    pub regret: Regret,
    /// For data with rewards: the same figures as rewards.
    pub rewards: Option<Rewards>,
    /// For a log: off-policy estimates of the learner's loss.
    pub off_policy: Option<OffPolicyLoss>,
    /// For a bandit: estimates for each arm, from releases alone; publishable.
    pub arms: Option<Vec<Arm>>,
    /// For decisions: what policies earn, from releases alone; publishable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<Vec<Evaluation>>,
    /// Rounds without a record.
    pub nulls: Option<u64>,
    /// Records that were longer than their bound.
    pub clipped: Option<u64>,
    /// Malformed rows since the last resume; each is also one of `nulls`.
    pub malformed: Option<u64>,
    /// Numeric targets that were clipped to their bounds, since the last resume.
    pub targets_clipped: Option<u64>,
    /// Warnings for the operator about the data.
    pub warnings: Option<Vec<String>>,
    /// Elapsed time in seconds.
    pub seconds: Option<f64>,
    /// Records per second.
    pub rows_per_second: Option<f64>,
    /// Peak memory of the process.
    pub peak_memory_bytes: Option<u64>,
    /// Warnings from public numbers and names of files.
    pub public_warnings: Vec<String>,
    /// Keys that are computed from private data and must not be published.
    pub operator_only: Vec<&'static str>,
}

/// The records that figures are on.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum ScoredOn {
    /// Each record, before the model learned from it.
    New,
    /// Records that the model has learned from: the last of several passes.
    Learned,
    /// Rows that it does not learn from.
    Test,
}

impl ScoredOn {
    /// In words, after "records".
    pub fn words(self) -> &'static str {
        match self {
            Self::New => ", each before the model learned from it",
            Self::Learned => {
                " that the model has learned from: they were read several times, and the last \
                 reading is scored; on others figures are a little worse"
            }
            Self::Test => " that the model has not learned from",
        }
    }
}

/// The ledger's view.
#[derive(Serialize, Clone)]
pub struct Together {
    /// Runs on the ledger.
    pub runs: usize,
    /// Runs with simulated noise.
    pub simulated: usize,
    /// Whether the budget has been raised.
    pub raised: bool,
    /// The assumption of the total, if the budget was changed.
    #[serde(skip)]
    pub supposes: &'static str,
    /// ε of all runs together, if each was planned without looking at the others.
    pub epsilon: f64,
    /// The δ of that ε.
    pub delta: f64,
    /// Total ε of the budget.
    pub total_epsilon: f64,
    /// Total δ of the budget.
    pub total_delta: f64,
    /// The share of the total that is spent, from 0 to 1.
    pub used: f64,
}

impl Together {
    /// The view of a ledger.
    pub(crate) fn of(ledger: &Ledger) -> Self {
        let promise = ledger.filter().promise();
        let (epsilon, delta) = budget::together(ledger).unwrap_or(promise);
        Self {
            runs: ledger.charges().count(),
            simulated: budget::simulated(ledger),
            raised: ledger.is_raised(),
            supposes: budget::supposes(ledger),
            epsilon,
            delta,
            total_epsilon: promise.0,
            total_delta: promise.1,
            used: ledger.filter().used(),
        }
    }
}

/// The chosen parameters.
#[derive(Serialize, Clone, Default)]
pub struct Parameters {
    /// The sum.
    pub sum: Option<String>,
    /// The noise.
    pub noise: Option<String>,
    /// Records per release.
    pub batch: u64,
    /// Releases.
    pub releases: u64,
    /// Radius of the set of weights.
    pub radius: Option<f64>,
    /// Curvature H, or α of least squares.
    pub curvature: Option<f64>,
    /// Learning rate η.
    pub learning_rate: Option<f64>,
    /// Ridge λ of least squares.
    pub ridge: Option<f64>,
    /// Bound on the length of features.
    pub length: f64,
    /// Largest standard deviation of the noise of a sum.
    pub noise_sd: Option<f64>,
    /// The largest standard deviation that noise gives the score of the last iterate; where
    /// steps along the mean are damped it is less.
    pub noise_in_score: Option<f64>,
    /// For a selection: the probability of a forced draw.
    pub p: Option<f64>,
    /// For a selection: the rate η of the board.
    pub eta: Option<f64>,
    /// For a selection: the largest number of draws.
    pub k: Option<u64>,
    /// The certified regret, in the units of the losses.
    pub regret_bound: Option<f64>,
    /// The largest possible regret, in the same units: a bound above it is vacuous.
    pub trivial_regret: Option<f64>,
    /// For `sparse-ftrl`: records of full length, with only one feature and in agreement, after
    /// which the feature stands out from the noise.
    pub rows_until_signal: Option<f64>,
    /// The reasons for the choice.
    pub reasons: Vec<String>,
    /// The kind of model, if it is not the last release.
    pub model: Option<String>,
}

/// Estimates for an arm from the releases of a bandit, in the units of the data; publishable.
#[derive(Debug, Serialize, Deserialize, Clone)]
pub struct Arm {
    /// Its name.
    pub arm: String,
    /// The probability of playing it next.
    pub probability: f64,
    /// Batches in which it was played.
    pub plays: u64,
    /// Its loss or reward by inverse propensities.
    pub ips: f64,
    /// The standard error of `ips`.
    pub standard_error: f64,
    /// The same, self-normalised.
    pub snips: Option<f64>,
}

/// Average losses of experts and arms.
#[derive(Serialize, Clone, Default)]
pub struct Loss {
    /// The learner's average.
    pub average: Option<f64>,
    /// The uniform policy's average.
    pub baseline: Option<f64>,
    /// The average of the best expert or arm.
    pub hindsight: Option<f64>,
}

/// The same learner without privacy.
#[derive(Serialize, Clone)]
pub struct WithoutPrivacy {
    /// Metrics of classes and numbers.
    pub metrics: Option<Scores>,
    /// Of experts and bandits.
    pub loss: Option<f64>,
}

/// Average rewards per round.
#[derive(Serialize, Clone)]
pub struct Rewards {
    /// The learner's average.
    pub average: Option<f64>,
    /// The uniform policy's average.
    pub uniform: Option<f64>,
    /// The average of the best expert or arm.
    pub best: Option<f64>,
    /// The average of the same learner without privacy.
    pub without_privacy: Option<f64>,
}

/// Average losses, estimated from the log of another policy.
#[derive(Serialize, Clone, Copy)]
pub struct OffPolicyLoss {
    /// By inverse propensities.
    pub ips: f64,
    /// Self-normalised.
    pub snips: f64,
    /// Doubly robust.
    pub doubly_robust: f64,
}

/// Regret against the best expert or arm.
#[derive(Serialize, Clone, Default)]
pub struct Regret {
    /// The total.
    pub value: Option<f64>,
    /// Per record.
    pub per_round: Option<f64>,
    /// The comparator.
    pub comparator: Option<&'static str>,
}

/// The keys that [`Outcome::tell`] fills.
pub const OPERATOR_ONLY: [&str; 15] = [
    "scored",
    "metrics",
    "loss",
    "without_privacy",
    "regret",
    "rewards",
    "off_policy",
    "nulls",
    "clipped",
    "malformed",
    "targets_clipped",
    "warnings",
    "seconds",
    "rows_per_second",
    "peak_memory_bytes",
];

/// The kind of figures in a summary.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Classes.
    Classes,
    /// A number.
    Number,
    /// Losses of experts.
    Experts,
    /// Losses of arms.
    Bandit,
}

impl Kind {
    /// The kind for a yardstick and a recipe.
    pub fn of(yardstick: Yardstick, recipe: RecipeName) -> Self {
        match yardstick {
            Yardstick::Sign(_) | Yardstick::Classes(..) => Self::Classes,
            Yardstick::Number(..) => Self::Number,
            Yardstick::Experts(_) | Yardstick::Log(_) => match recipe.entry().mechanism {
                MechanismKind::Feedback => Self::Bandit,
                _ if recipe.decides() => Self::Bandit,
                _ => Self::Experts,
            },
        }
    }
}

impl Outcome {
    /// Fills in the figures computed from private data.
    pub fn tell(
        &mut self,
        kind: Kind,
        summary: &Summary,
        shadow: Option<&Summary>,
        nulls: u64,
        clipped: u64,
    ) {
        // The reader clips features to the stated norm or to the length of the bounds. The lattice
        // clips contributions once more, and changes nothing unless a loss exceeds its bound.
        (self.nulls, self.clipped) = (Some(nulls), Some(summary.clipped.max(clipped)));
        self.scored = Some(summary.scored);
        self.operator_only = OPERATOR_ONLY.to_vec();
        if summary.scored == 0 {
            return; // there is nothing to average
        }
        self.metrics = Scores::of(summary);
        let has_losses = matches!(kind, Kind::Experts | Kind::Bandit);
        if has_losses {
            self.loss = Loss {
                average: Some(summary.average),
                baseline: Some(summary.uniform),
                hindsight: Some(summary.best),
            };
            let lost = summary.average - summary.best;
            self.regret = Regret {
                value: Some(lost * summary.scored as f64),
                per_round: Some(lost),
                comparator: Some(match kind {
                    Kind::Bandit => "best arm in hindsight",
                    _ => "best expert in hindsight",
                }),
            };
        }
        self.off_policy = summary.off_policy.map(|loss| OffPolicyLoss {
            ips: loss.ips,
            snips: loss.snips,
            doubly_robust: loss.doubly_robust,
        });
        self.without_privacy = shadow.map(|shadow| WithoutPrivacy {
            metrics: Scores::of(shadow),
            loss: has_losses.then_some(shadow.average),
        });
    }

    /// Turns losses from 0 to 1 into those of rewards between these bounds: low + high − reward.
    pub fn unscale(&mut self, (low, high): (f64, f64)) {
        let unscaled = |loss: &mut Option<f64>| {
            *loss = loss.map(|loss| low + (high - low) * loss);
        };
        let Loss {
            average,
            baseline,
            hindsight,
        } = &mut self.loss;
        [average, baseline, hindsight]
            .into_iter()
            .for_each(unscaled);
        if let Some(other) = &mut self.without_privacy {
            unscaled(&mut other.loss);
        }
        for lost in [&mut self.regret.value, &mut self.regret.per_round] {
            *lost = lost.map(|lost| lost * (high - low));
        }
        if let Some(log) = &mut self.off_policy {
            for loss in [&mut log.ips, &mut log.snips, &mut log.doubly_robust] {
                *loss = low + (high - low) * *loss;
            }
        }
    }

    /// The same figures as rewards, which were turned into losses between these bounds.
    pub fn tell_rewards(&mut self, (low, high): (f64, f64)) {
        let reward = |loss: Option<f64>| loss.map(|loss| low + high - loss);
        self.rewards = Some(Rewards {
            average: reward(self.loss.average),
            uniform: reward(self.loss.baseline),
            best: reward(self.loss.hindsight),
            without_privacy: reward(self.without_privacy.as_ref().and_then(|other| other.loss)),
        });
    }
}
