//! Permission to build one mechanism.

use hushstream_account::{Adjacency, Charge, Price};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The unit that a budget protects. Charges of different scopes cannot be added up: a ledger has
/// one scope and refuses all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// The neighbouring relation.
    pub adjacency: Adjacency,
    /// Whether a person with several records is protected, and not only a single record.
    pub per_person: bool,
    /// Whether a record is protected only within a window: not privacy of the transcript.
    pub windowed: bool,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = if self.per_person {
            "persons"
        } else {
            "records"
        };
        let span = if self.windowed { ", over a window" } else { "" };
        write!(f, "{unit} ({}){span}", self.adjacency)
    }
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
/// copied, and building a mechanism consumes it.
#[derive(Debug)]
pub struct Grant {
    pub(crate) ledger: [u8; 16],
    pub(crate) number: u64,
    pub(crate) price: Price,
    pub(crate) scope: Scope,
    pub(crate) simulated: bool,
}

impl Grant {
    /// The charge.
    #[must_use]
    pub fn charge(&self) -> Charge {
        self.price.charge
    }

    /// The scope of the charge.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Its number in the ledger, which is also the mechanism's number in noise addresses.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether the ledger is simulated: nothing built with such a grant protects anybody.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        self.simulated
    }
}
