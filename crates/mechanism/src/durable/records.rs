//! What a ledger writes down.

use super::LogError;
use crate::boundary::Scope;
use hushstream_account::{Charge, Filter, FilterKind};
use serde::{Deserialize, Serialize};

/// One record. The order of the variants is part of the stored format.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) enum Record {
    Opened {
        name: [u8; 16],
        epsilon: f64,
        delta: f64,
        kind: u8,
        scope: Scope,
        simulated: bool,
    },
    Debited {
        number: u64,
        charge: Charge,
    },
    Begun {
        number: u64,
        instance: [u8; 16],
        life: [u8; 16],
    },
    Marked {
        number: u64,
        step: u64,
    },
    Widened {
        epsilon: f64,
        delta: f64,
    },
    /// The mechanism draws simulated noise: what it publishes protects nobody.
    Simulated {
        number: u64,
    },
}

impl Record {
    pub(crate) fn encode(&self) -> Result<Vec<u8>, LogError> {
        postcard::to_allocvec(self).map_err(|_| LogError::Record(0))
    }

    pub(crate) fn decode(place: u64, payload: &[u8]) -> Result<Self, LogError> {
        postcard::from_bytes(payload).map_err(|_| LogError::Record(place))
    }
}

/// The first record.
pub(crate) fn opened(name: [u8; 16], filter: &Filter, scope: Scope, simulated: bool) -> Record {
    Record::Opened {
        name,
        epsilon: filter.budget().epsilon(),
        delta: filter.budget().delta(),
        kind: match filter.kind() {
            FilterKind::Gaussian => 0,
            FilterKind::Zcdp => 1,
            FilterKind::Pure => 2,
            FilterKind::Approximate => 3,
        },
        scope,
        simulated,
    }
}

pub(crate) fn kind_from(kind: u8) -> Option<FilterKind> {
    [
        FilterKind::Gaussian,
        FilterKind::Zcdp,
        FilterKind::Pure,
        FilterKind::Approximate,
    ]
    .get(usize::from(kind))
    .copied()
}
