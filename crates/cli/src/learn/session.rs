//! One interface for every kind of run.

use anyhow::Result;
use hushstream_account::Guarantee;
use hushstream_engine::Run;
use hushstream_mechanism::losses::{Memory, Record};
use hushstream_mechanism::{GuaranteeKind, Ledger, OperatorOnly, Raw, Scoreboard};

/// A released model.
pub(crate) struct Release {
    pub(crate) step: u64,
    pub(crate) weights: Vec<f64>,
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
    /// The memory of the last record, if it can be used again.
    fn memory(&mut self) -> Memory {
        Memory::default()
    }
    fn sync(&mut self, ledger: &mut Ledger) -> Result<Vec<Release>>;
    /// Makes everything durable and gives the last model, with its number.
    fn settled(&mut self, ledger: &mut Ledger) -> Result<(u64, Vec<f64>)>;
    /// Whether the next record makes the journal forget releases.
    fn checkpoint_is_due(&self) -> bool;
    fn rounds(&self) -> u64;
    fn guarantee(&self) -> Result<Guarantee>;
    fn counts(&self) -> (OperatorOnly<u64>, OperatorOnly<u64>);
}

impl<G: GuaranteeKind> Session for Run<G> {
    fn question(&self) -> &[f64] {
        Run::question(self)
    }

    fn learn(&mut self, person: Option<u64>, record: Raw<Record>) -> Result<()> {
        Ok(Run::learn(self, person, record)?)
    }

    fn memory(&mut self) -> Memory {
        Run::memory(self)
    }

    fn sync(&mut self, ledger: &mut Ledger) -> Result<Vec<Release>> {
        let released = Run::sync(self, ledger)?;
        let release = |iterate: hushstream_mechanism::Released<Vec<f64>, G>| Release {
            step: iterate.receipt().step,
            weights: iterate.into_value(),
        };
        Ok(released.into_iter().map(release).collect())
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
