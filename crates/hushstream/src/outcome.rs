//! What a run has to tell: one object with stable keys.

use crate::scores::Scores;
use hushstream_account::Guarantee;
use hushstream_mechanism::{Summary, Yardstick};
use hushstream_recipes::{MechanismKind, RecipeName};
use serde::{Deserialize, Serialize};

/// What a run has to tell.
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
/// As JSON it is what the program prints with `--json`. What does not apply is null; with `--quiet` so is everything that is computed from private data.
#[derive(Serialize, Clone)]
pub struct Outcome {
    /// The recipe.
    pub recipe: String,
    /// Records so far.
    pub rounds: u64,
    /// Features, experts or arms.
    pub dim: usize,
    /// What is promised.
    pub guarantee: Guarantee,
    /// This run and all earlier ones on the same ledger.
    pub ledger: Together,
    /// What was chosen.
    pub parameters: Parameters,
    /// Records that the figures below are over: those with a usable target, since the last resume.
    pub scored: Option<u64>,
    /// Of classes and numbers.
    pub metrics: Option<Scores>,
    /// Of experts and bandits.
    pub loss: Loss,
    /// The same learner without privacy.
    pub without_privacy: Option<WithoutPrivacy>,
    /// Of experts and bandits.
    pub regret: Regret,
    /// Where losses were stated as rewards: the same figures as rewards.
    pub rewards: Option<Rewards>,
    /// On a log: estimates of what the learner's plays would have lost.
    pub off_policy: Option<OffPolicyLoss>,
    /// Of a bandit, what its releases tell about each arm: publishable.
    pub arms: Option<Vec<Arm>>,
    /// Rounds without a record.
    pub nulls: Option<u64>,
    /// Records that were longer than their bound.
    pub clipped: Option<u64>,
    /// Rows that were malformed, since the last resume; each is one of the nulls.
    pub malformed: Option<u64>,
    /// Of numbers: targets outside their bounds, which are clipped to them, since the last resume.
    pub targets_clipped: Option<u64>,
    /// What the operator should know about the data.
    pub warnings: Option<Vec<String>>,
    /// How long it took.
    pub seconds: Option<f64>,
    /// Records per second.
    pub rows_per_second: Option<f64>,
    /// The most memory that the process has used.
    pub peak_memory_bytes: Option<u64>,
    /// Warnings from public numbers and names of files.
    pub public_warnings: Vec<String>,
    /// Keys that are computed from private data and must not be published.
    pub operator_only: Vec<&'static str>,
}

/// The ledger's view.
#[derive(Serialize, Clone)]
pub struct Together {
    /// Runs on the ledger.
    pub runs: usize,
    /// Those of them that drew simulated noise.
    pub simulated: usize,
    /// Whether the budget has been raised.
    pub raised: bool,
    /// What the total supposes, if the budget was changed.
    #[serde(skip)]
    pub supposes: &'static str,
    /// ε of all runs together, if each was planned without looking at the others.
    pub epsilon: f64,
    /// The δ of that ε.
    pub delta: f64,
    /// ε that they may spend.
    pub total_epsilon: f64,
    /// δ that they may spend.
    pub total_delta: f64,
    /// The share of the total that is spent, from 0 to 1.
    pub used: f64,
}

/// What was chosen.
#[derive(Serialize, Clone, Default)]
pub struct Parameters {
    /// The sum.
    pub sum: Option<String>,
    /// The noise.
    pub noise: Option<String>,
    /// Records of one release.
    pub batch: u64,
    /// Releases.
    pub releases: u64,
    /// Of the set that the weights live in.
    pub radius: Option<f64>,
    /// Curvature H, or α of least squares.
    pub curvature: Option<f64>,
    /// Learning rate η.
    pub learning_rate: Option<f64>,
    /// Ridge λ of least squares.
    pub ridge: Option<f64>,
    /// Bound on the length of features.
    pub length: f64,
    /// Standard deviation of the noise of a sum, at most.
    pub noise_sd: Option<f64>,
    /// Of a selection: the chance of a draw whatever the loss.
    pub p: Option<f64>,
    /// Of a selection: the rate of the board.
    pub eta: Option<f64>,
    /// Of a selection: the most draws.
    pub k: Option<u64>,
    /// In the units of the losses.
    pub regret_bound: Option<f64>,
    /// What no learner can exceed, in the same units: a bound above it says nothing.
    pub trivial_regret: Option<f64>,
    /// `sparse-ftrl`: records after which a feature stands out of the noise of all, if they have it
    /// alone, at full length, and agree.
    pub rows_until_signal: Option<f64>,
    /// Why it was chosen.
    pub reasons: Vec<String>,
    /// What the model is, where it is not the last release.
    pub model: Option<String>,
}

/// What the releases of a bandit tell about an arm, in the units of the data: publishable.
#[derive(Debug, Serialize, Deserialize, Clone)]
pub struct Arm {
    /// Its name.
    pub arm: String,
    /// With which it would be played next.
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
    /// Of what was played or followed.
    pub average: Option<f64>,
    /// Of following or playing all alike.
    pub baseline: Option<f64>,
    /// Of the best one.
    pub hindsight: Option<f64>,
}

/// The same learner without privacy.
#[derive(Serialize, Clone)]
pub struct WithoutPrivacy {
    /// Of classes and numbers.
    pub metrics: Option<Scores>,
    /// Of experts and bandits.
    pub loss: Option<f64>,
}

/// Average rewards a round.
#[derive(Serialize, Clone)]
pub struct Rewards {
    /// Of what was played or followed.
    pub average: Option<f64>,
    /// Of playing all alike.
    pub uniform: Option<f64>,
    /// Of the best one.
    pub best: Option<f64>,
    /// Of the same learner without privacy.
    pub without_privacy: Option<f64>,
}

/// Average losses, estimated from a log of another policy: by inverse propensities, self-normalised, and doubly robust.
#[derive(Serialize, Clone, Copy)]
pub struct OffPolicyLoss {
    /// By inverse propensities.
    pub ips: f64,
    /// Self-normalised.
    pub snips: f64,
    /// Doubly robust.
    pub doubly_robust: f64,
}

/// What was lost against the best expert or arm.
#[derive(Serialize, Clone, Default)]
pub struct Regret {
    /// In all.
    pub value: Option<f64>,
    /// Per record.
    pub per_round: Option<f64>,
    /// What it is against.
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

/// What kind of figures a summary holds.
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
    /// Of a yardstick and a recipe.
    pub fn of(yardstick: Yardstick, recipe: RecipeName) -> Self {
        match yardstick {
            Yardstick::Sign(_) | Yardstick::Classes(..) => Self::Classes,
            Yardstick::Number(..) => Self::Number,
            Yardstick::Experts(_) | Yardstick::Log(_) => match recipe.entry().mechanism {
                MechanismKind::Feedback => Self::Bandit,
                _ => Self::Experts,
            },
        }
    }
}

impl Outcome {
    /// Fills in what is computed from private data.
    pub fn tell(
        &mut self,
        kind: Kind,
        summary: &Summary,
        shadow: Option<&Summary>,
        nulls: u64,
        clipped: u64,
    ) {
        // Features are clipped to a stated norm when they are read, to the bounds' own length otherwise; contributions once more by the lattice, which finds nothing left to clip unless a loss misjudges itself.
        (self.nulls, self.clipped) = (Some(nulls), Some(summary.clipped.max(clipped)));
        self.scored = Some(summary.scored);
        self.operator_only = OPERATOR_ONLY.to_vec();
        if summary.scored == 0 {
            return; // an average over nothing says nothing
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
