//! Permission to build one mechanism.

use hushstream_account::Charge;

/// Proof that a charge is durably recorded in a ledger. Only a ledger makes one, it cannot be copied, and building a
/// mechanism uses it up.
#[derive(Debug)]
pub struct Grant {
    pub(crate) ledger: [u8; 16],
    pub(crate) number: u64,
    pub(crate) charge: Charge,
    pub(crate) simulated: bool,
}

impl Grant {
    /// What was paid.
    #[must_use]
    pub fn charge(&self) -> Charge {
        self.charge
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
