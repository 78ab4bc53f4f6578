//! The records of a ledger.

use super::LogError;
use crate::boundary::Scope;
use hushstream_account::{Charge, Filter, FilterKind, Price};
use serde::{Deserialize, Serialize};

/// One record. The order of the variants is part of the stored format.
#[derive(Clone, Serialize, Deserialize)]
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
    // From version 2 on.
    /// As `Opened`, with the part of δ that is set aside.
    OpenedReserving {
        name: [u8; 16],
        epsilon: f64,
        delta: f64,
        kind: u8,
        scope: Scope,
        simulated: bool,
        reserve: f64,
    },
    /// As `Debited`, with the budget the run was planned for and the inexactness of its draws.
    Paid {
        number: u64,
        price: Price,
    },
    WidenedReserving {
        epsilon: f64,
        delta: f64,
        reserve: f64,
    },
    /// Charges of another ledger, numbered from `first`, and whether their noise was simulated.
    Merged {
        from: [u8; 16],
        first: u64,
        runs: Vec<(Price, bool)>,
    },
    /// The ledger is closed; its charges are in the ledger named `into`, if there is one.
    Closed {
        into: Option<[u8; 16]>,
    },
    /// The log was rewritten for the `epoch`-th time.
    Rewritten {
        epoch: u64,
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
    let (epsilon, delta) = (filter.budget().epsilon(), filter.budget().delta());
    let kind = match filter.kind() {
        FilterKind::Gaussian => 0,
        FilterKind::Zcdp => 1,
        FilterKind::Pure => 2,
        FilterKind::Approximate => 3,
    };
    match filter.stated_reserve() {
        None => Record::Opened {
            name,
            epsilon,
            delta,
            kind,
            scope,
            simulated,
        },
        Some(reserve) => Record::OpenedReserving {
            name,
            epsilon,
            delta,
            kind,
            scope,
            simulated,
            reserve,
        },
    }
}

/// The record of a raised budget.
pub(crate) fn widened(filter: &Filter) -> Record {
    let (epsilon, delta) = (filter.budget().epsilon(), filter.budget().delta());
    match filter.stated_reserve() {
        None => Record::Widened { epsilon, delta },
        Some(reserve) => Record::WidenedReserving {
            epsilon,
            delta,
            reserve,
        },
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
