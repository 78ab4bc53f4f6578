//! Why a ledger refuses.

use crate::boundary::Scope;
use crate::durable::LogError;
use hushstream_account::{AccountError, Refused};
use hushstream_noise::NoiseError;

/// Why a ledger refuses.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The charge does not fit the budget. Nothing was spent.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The charge has another scope than the budget.
    #[error(
        "the ledger's budget is about {budget}, the charge about {charge}: they cannot be \
         added up"
    )]
    OtherScope {
        /// The scope of the ledger.
        budget: Scope,
        /// The scope of the charge.
        charge: Scope,
    },
    /// The filter cannot guard this budget.
    #[error(transparent)]
    Budget(#[from] AccountError),
    /// The ledger's file.
    #[error("ledger: {0}")]
    Log(#[from] LogError),
    /// No entropy for a name.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// A new ledger was requested where one exists.
    #[error("there is a ledger here already: open it instead")]
    Exists,
    /// A ledger was requested where none exists.
    #[error("there is no ledger here: create one with a budget")]
    Missing,
    /// The ledger has no such charge: it is another ledger, or it has lost a charge.
    #[error("the ledger has no charge number {0}")]
    Unknown(u64),
    /// A budget can be raised, not lowered: earlier guarantees depend on it.
    #[error("the budget is ({epsilon}, {delta:e}) already: it can be raised, not lowered")]
    Narrower {
        /// The current ε.
        epsilon: f64,
        /// The current δ.
        delta: f64,
    },
    /// A run has begun with this charge.
    #[error("charge number {0} has been used: its run has begun")]
    Begun(u64),
    /// The ledger takes no more charges.
    #[error("the ledger is closed{}", match .into {
        Some(name) => format!(": its charges were merged into the ledger {name}; use that one"),
        None => ": no run can be charged to it".to_owned(),
    })]
    Closed {
        /// The name of the ledger that its charges were merged into.
        into: Option<String>,
    },
    /// The charge was made on another ledger.
    #[error("charge number {0} was merged from another ledger: its run goes on with that ledger")]
    Elsewhere(u64),
    /// The two ledgers are the same, or copies.
    #[error("both are the same ledger, or copies of it: there is nothing to merge")]
    SameLedger,
    /// The witness has seen more records than there are.
    #[error(
        "the ledger has lost records: it holds {records}, and its witness has seen {witnessed} or \
         more. Its end is damaged, or it is an old copy: put the newest copy of the ledger back. \
         If that is lost, what was spent is unknown, and only the person responsible for the data \
         can accept the ledger as it is, by removing the witness file"
    )]
    Behind {
        /// Records in the ledger.
        records: u64,
        /// Records that the witness has seen since the ledger was last rewritten.
        witnessed: u64,
    },
    /// The witness has seen another record at its place.
    #[error(
        "the ledger and its witness disagree: the ledger went on from an old copy, and other \
         charges are lost. Put the newest copy of the ledger back, with its witness"
    )]
    Branched,
    /// The witness belongs to another ledger.
    #[error(
        "the witness beside the ledger is of another ledger: put each ledger back beside its own"
    )]
    OtherWitness,
    /// The witness fails its check.
    #[error(
        "the witness of the ledger is damaged: if the ledger is the newest copy, remove the \
         witness file, and a new one is made"
    )]
    WitnessDamaged,
    /// The witness is of a later version.
    #[error(
        "the witness of the ledger was written by a later version of Hushstream: use that version"
    )]
    WitnessVersion,
    /// The ledger is missing and its witness is not.
    #[error(
        "there is no ledger here, and its witness is: the ledger was lost or moved. Put it back; a \
         new one would forget what was spent"
    )]
    Gone,
    /// The run continues in another object or process.
    #[error("charge number {0} has been taken over: its run was resumed elsewhere")]
    TakenOver(u64),
}
