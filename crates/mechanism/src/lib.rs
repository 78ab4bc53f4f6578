//! The privacy boundary: the one crate that touches people's data, and pays for every release.

mod boundary;
mod durable;
mod lattice;
mod persons;
pub mod sums;

pub use boundary::{
    Grant, GuaranteeKind, OperatorOnly, Pending, Raw, Receipt, Released, Transcript, Windowed,
};
pub use durable::{FileStorage, Ledger, LedgerError, LogError, MemoryStorage, Storage};
pub use lattice::{Contribution, Lattice, LatticeError, Norm};
pub use persons::Participation;
