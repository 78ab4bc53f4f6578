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
    /// The charge is about something else than the budget.
    #[error(
        "the ledger's budget is about {budget:?}, the charge about {charge:?}: they cannot be added up"
    )]
    OtherScope {
        /// The ledger's.
        budget: Scope,
        /// The charge's.
        charge: Scope,
    },
    /// The budget cannot be guarded in this way.
    #[error(transparent)]
    Budget(#[from] AccountError),
    /// The ledger's file.
    #[error("ledger: {0}")]
    Log(#[from] LogError),
    /// No entropy for a name.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// A new ledger was asked for where one exists.
    #[error("there is a ledger here already: open it instead")]
    Exists,
    /// A ledger was asked for where none exists.
    #[error("there is no ledger here: create one with a budget")]
    Missing,
    /// The ledger does not know this mechanism: it is another ledger, or it has lost a charge.
    #[error("the ledger has no charge number {0}")]
    Unknown(u64),
    /// A budget can be raised, not lowered: what was promised for it stands.
    #[error("the budget is ({epsilon}, {delta}) already: it can be raised, not lowered")]
    Narrower {
        /// The present ε.
        epsilon: f64,
        /// The present δ.
        delta: f64,
    },
    /// The charge has been used.
    #[error("charge number {0} has been used: its run has begun")]
    Begun(u64),
    /// The run goes on in another object or process.
    #[error("charge number {0} has been taken over: its run was resumed elsewhere")]
    TakenOver(u64),
}
