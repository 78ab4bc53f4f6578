//! What every run begins with: a simulated ledger, and a price that it has paid.

use crate::AuditError;
use hushstream_account::{Budget, FilterKind, Price};
use hushstream_mechanism::sums::Noise;
use hushstream_mechanism::{Grant, Ledger, Scope};

/// What a run is paid with.
#[derive(Debug, Clone)]
pub(super) struct Paid {
    pub(super) budget: Budget,
    pub(super) filter: FilterKind,
    pub(super) scope: Scope,
    pub(super) charge: Price,
}

/// The filter for a noise.
pub(super) fn filter_for(noise: Noise) -> FilterKind {
    if noise.is_pure() {
        FilterKind::Pure
    } else {
        FilterKind::Gaussian
    }
}

impl Paid {
    /// A fresh ledger and the grant from it.
    pub(super) fn open(&self) -> Result<(Ledger, Grant), AuditError> {
        let mut ledger = Ledger::simulated(self.budget, self.filter, self.scope)?;
        let grant = ledger.debit(self.charge, self.scope)?;
        Ok((ledger, grant))
    }
}
