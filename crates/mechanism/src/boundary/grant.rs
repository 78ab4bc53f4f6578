//! Permission to build one mechanism.

use hushstream_account::{Adjacency, Charge, Price};
use serde::{Deserialize, Serialize};

/// What a budget is about. Charges of different scopes cannot be added up: a ledger has one, and
/// refuses others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// The neighbouring relation.
    pub adjacency: Adjacency,
    /// Whether persons with several records are protected, not single records.
    pub per_person: bool,
    /// Whether a record is protected only for a window: not privacy of the transcript.
    pub windowed: bool,
}

impl Scope {
    /// Single records, for the whole transcript.
    #[must_use]
    pub fn records(adjacency: Adjacency) -> Self {
        Self {
            adjacency,
            per_person: false,
            windowed: false,
        }
    }
}

/// Proof that a charge is durably recorded in a ledger. Only a ledger makes one, it cannot be
/// copied, and building a mechanism uses it up.
#[derive(Debug)]
pub struct Grant {
    pub(crate) ledger: [u8; 16],
    pub(crate) number: u64,
    pub(crate) price: Price,
    pub(crate) scope: Scope,
    pub(crate) simulated: bool,
}

impl Grant {
    /// What was paid.
    #[must_use]
    pub fn charge(&self) -> Charge {
        self.price.charge
    }

    /// What it was paid for.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Its number in the ledger, also the mechanism's number in noise addresses.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether the ledger was simulated, so that nothing built on it protects anybody.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        self.simulated
    }
}
