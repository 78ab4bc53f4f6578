//! One interface for every kind of run.

use crate::outcome::Arm;
use anyhow::Result;
use hushstream_account::Guarantee;
use hushstream_engine::{Run, Shadow};
use hushstream_mechanism::losses::Record;
use hushstream_mechanism::{GuaranteeKind, Ledger, OperatorOnly, Raw, Released, Scoreboard};
use serde::Serialize;

/// What a run releases: one of many, with its number.
pub(crate) struct Release {
    pub(crate) step: u64,
    pub(crate) content: Content,
}

impl Release {
    /// A model that may leave.
    pub(crate) fn model<G: GuaranteeKind>(released: Released<Vec<f64>, G>) -> Self {
        Self {
            step: released.receipt().step,
            content: Content::Weights {
                weights: released.into_value(),
            },
        }
    }
}

/// As it stands in the file of releases.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Content {
    /// A model.
    Weights { weights: Vec<f64> },
    /// An arm that was played, how likely it was, and the noisy answer: a mean over its batch, in the units of the data.
    Play {
        arm: String,
        propensity: f64,
        answer: f64,
    },
    /// The same of a mixture of arms.
    Mixture {
        weights: Vec<f64>,
        propensity: f64,
        answer: f64,
    },
}

/// The same learner without privacy.
pub(crate) trait Baseline {
    fn weights(&self) -> &[f64];
    fn learn(&mut self, record: &Raw<Record>) -> Result<()>;
}

impl Baseline for Shadow {
    fn weights(&self) -> &[f64] {
        Shadow::weights(self)
    }

    fn learn(&mut self, record: &Raw<Record>) -> Result<()> {
        Ok(Shadow::learn(self, record)?)
    }
}

/// A run of any guarantee.
pub(crate) trait Session {
    fn question(&self) -> &[f64];
    fn learn(&mut self, person: Option<u64>, record: Raw<Record>) -> Result<()>;
    /// Predicts a record for the board, if there is one, then learns from it.
    fn take(
        &mut self,
        person: Option<u64>,
        record: Raw<Record>,
        board: Option<&mut Scoreboard>,
    ) -> Result<()> {
        if let Some(board) = board {
            board.score(&record, self.question());
        }
        self.learn(person, record)
    }
    fn sync(&mut self, ledger: &mut Ledger) -> Result<Vec<Release>>;
    /// Makes everything durable and gives the last model, with its number.
    fn settled(&mut self, ledger: &mut Ledger) -> Result<(u64, Vec<f64>)>;
    /// Whether the next record makes the journal forget releases.
    fn checkpoint_is_due(&self) -> bool;
    fn rounds(&self) -> u64;
    fn guarantee(&self) -> Result<Guarantee>;
    fn counts(&self) -> (OperatorOnly<u64>, OperatorOnly<u64>);
    /// What the releases tell about each arm, where there are arms; after a sync it may leave.
    fn arms(&self) -> Vec<Arm> {
        Vec::new()
    }
}

impl<G: GuaranteeKind> Session for Run<G> {
    fn question(&self) -> &[f64] {
        Run::question(self)
    }

    fn learn(&mut self, person: Option<u64>, record: Raw<Record>) -> Result<()> {
        Ok(Run::learn(self, person, record)?)
    }

    fn take(
        &mut self,
        person: Option<u64>,
        record: Raw<Record>,
        board: Option<&mut Scoreboard>,
    ) -> Result<()> {
        Ok(Run::take(self, person, record, board)?)
    }

    fn sync(&mut self, ledger: &mut Ledger) -> Result<Vec<Release>> {
        let released = Run::sync(self, ledger)?;
        Ok(released.into_iter().map(Release::model).collect())
    }

    fn settled(&mut self, ledger: &mut Ledger) -> Result<(u64, Vec<f64>)> {
        Ok(Run::settled(self, ledger)?)
    }

    fn checkpoint_is_due(&self) -> bool {
        Run::checkpoint_is_due(self)
    }

    fn rounds(&self) -> u64 {
        Run::rounds(self)
    }

    fn guarantee(&self) -> Result<Guarantee> {
        Ok(Run::guarantee(self)?)
    }

    fn counts(&self) -> (OperatorOnly<u64>, OperatorOnly<u64>) {
        Run::counts(self)
    }
}
