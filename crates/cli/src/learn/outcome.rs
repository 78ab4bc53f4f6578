//! What a run has to tell: one object with stable keys.

use super::scores::Scores;
use super::session::Arm;
use hushstream_account::Guarantee;
use hushstream_engine::{MechanismKind, RecipeName};
use hushstream_mechanism::{Summary, Yardstick};
use serde::Serialize;

/// `--json`. What does not apply is null; with `--quiet` so is everything that is computed from private data.
#[derive(Serialize, Clone)]
pub(crate) struct Outcome {
    pub(crate) recipe: String,
    pub(crate) rounds: u64,
    pub(crate) dim: usize,
    pub(crate) guarantee: Guarantee,
    /// This run and all earlier ones on the same ledger.
    pub(crate) ledger: Together,
    pub(crate) parameters: Parameters,
    /// Records that the figures below are over: those with a usable target, since the last resume.
    pub(crate) scored: Option<u64>,
    /// Of classes and numbers.
    pub(crate) metrics: Option<Scores>,
    /// Of experts and bandits.
    pub(crate) loss: Loss,
    pub(crate) without_privacy: Option<WithoutPrivacy>,
    pub(crate) regret: Regret,
    /// Where losses were stated as rewards: the same figures as rewards.
    pub(crate) rewards: Option<Rewards>,
    /// On a log: estimates of what the learner's plays would have lost.
    pub(crate) off_policy: Option<OffPolicyLoss>,
    /// Of a bandit, what its releases tell about each arm: publishable.
    pub(crate) arms: Option<Vec<Arm>>,
    pub(crate) nulls: Option<u64>,
    pub(crate) clipped: Option<u64>,
    /// Rows that were malformed, since the last resume; each is one of the nulls.
    pub(crate) malformed: Option<u64>,
    /// Of numbers: targets outside their bounds, which are clipped to them, since the last resume.
    pub(crate) targets_clipped: Option<u64>,
    /// What the operator should know about the data.
    pub(crate) warnings: Option<Vec<String>>,
    pub(crate) seconds: Option<f64>,
    pub(crate) rows_per_second: Option<f64>,
    pub(crate) peak_memory_bytes: Option<u64>,
    /// Warnings from public numbers and names of files.
    pub(crate) public_warnings: Vec<String>,
    /// Keys that are computed from private data and must not be published.
    pub(crate) operator_only: Vec<&'static str>,
}

/// The ledger's view.
#[derive(Serialize, Clone)]
pub(crate) struct Together {
    pub(crate) runs: usize,
    /// Those of them that drew simulated noise.
    pub(crate) simulated: usize,
    /// Whether the budget has been raised.
    pub(crate) raised: bool,
    /// What the total supposes, if the budget was changed.
    #[serde(skip)]
    pub(crate) supposes: &'static str,
    pub(crate) epsilon: f64,
    pub(crate) delta: f64,
    pub(crate) total_epsilon: f64,
    pub(crate) total_delta: f64,
    /// The share of the total that is spent, from 0 to 1.
    pub(crate) used: f64,
}

/// What was chosen.
#[derive(Serialize, Clone, Default)]
pub(crate) struct Parameters {
    pub(crate) sum: Option<String>,
    pub(crate) noise: Option<String>,
    pub(crate) batch: u64,
    pub(crate) releases: u64,
    /// Of the set that the weights live in.
    pub(crate) radius: Option<f64>,
    pub(crate) curvature: Option<f64>,
    pub(crate) learning_rate: Option<f64>,
    pub(crate) ridge: Option<f64>,
    pub(crate) length: f64,
    pub(crate) noise_sd: Option<f64>,
    /// Of a selection: the chance of a draw whatever the loss, the rate, and the most draws.
    pub(crate) p: Option<f64>,
    pub(crate) eta: Option<f64>,
    pub(crate) k: Option<u64>,
    /// In the units of the losses.
    pub(crate) regret_bound: Option<f64>,
    /// What no learner can exceed, in the same units: a bound above it says nothing.
    pub(crate) trivial_regret: Option<f64>,
    /// `sparse-ftrl`: records after which a feature stands out of the noise of all, if they have it
    /// alone, at full length, and agree.
    pub(crate) rows_until_signal: Option<f64>,
    pub(crate) reasons: Vec<String>,
    /// What the model is, where it is not the last release.
    pub(crate) model: Option<String>,
}

/// Average losses of experts and arms.
#[derive(Serialize, Clone, Default)]
pub(crate) struct Loss {
    pub(crate) average: Option<f64>,
    /// Of following or playing all alike.
    pub(crate) baseline: Option<f64>,
    /// Of the best one.
    pub(crate) hindsight: Option<f64>,
}

/// The same learner without privacy.
#[derive(Serialize, Clone)]
pub(crate) struct WithoutPrivacy {
    /// Of classes and numbers.
    pub(crate) metrics: Option<Scores>,
    /// Of experts and bandits.
    pub(crate) loss: Option<f64>,
}

/// Average rewards a round.
#[derive(Serialize, Clone)]
pub(crate) struct Rewards {
    pub(crate) average: Option<f64>,
    pub(crate) uniform: Option<f64>,
    pub(crate) best: Option<f64>,
    pub(crate) without_privacy: Option<f64>,
}

/// Average losses, estimated from a log of another policy: by inverse propensities, self-normalised, and doubly robust.
#[derive(Serialize, Clone, Copy)]
pub(crate) struct OffPolicyLoss {
    pub(crate) ips: f64,
    pub(crate) snips: f64,
    pub(crate) doubly_robust: f64,
}

/// What was lost against the best expert or arm.
#[derive(Serialize, Clone, Default)]
pub(crate) struct Regret {
    pub(crate) value: Option<f64>,
    pub(crate) per_round: Option<f64>,
    pub(crate) comparator: Option<&'static str>,
}

/// The keys that [`Outcome::tell`] fills.
pub(crate) const OPERATOR_ONLY: [&str; 15] = [
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
pub(crate) enum Kind {
    Classes,
    Number,
    Experts,
    Bandit,
}

impl Kind {
    pub(crate) fn of(yardstick: Yardstick, recipe: RecipeName) -> Self {
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
    pub(crate) fn tell(
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
    pub(crate) fn tell_rewards(&mut self, (low, high): (f64, f64)) {
        let reward = |loss: Option<f64>| loss.map(|loss| low + high - loss);
        self.rewards = Some(Rewards {
            average: reward(self.loss.average),
            uniform: reward(self.loss.baseline),
            best: reward(self.loss.hindsight),
            without_privacy: reward(self.without_privacy.as_ref().and_then(|other| other.loss)),
        });
    }
}
