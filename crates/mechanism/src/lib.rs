//! The privacy boundary: the only crate that touches people's data. It charges for every release.
//!
//! Data flows one way. A contribution is sealed ([`Raw`]), mapped to integers ([`Lattice`]),
//! summed, noised and released. Building a mechanism takes a [`Grant`]. Only a [`Ledger`] issues
//! grants, and only after the charge is on disk. A noisy value is [`Pending`] until a sync covers
//! it; then it is [`Released`], and everything computed from it is free.
//!
//! ```
//! use hushstream_account::{Adjacency, Budget, FilterKind};
//! use hushstream_mechanism::sums::{Geometry, Noise, PrivateSum, SumKind, SumRequest};
//! use hushstream_mechanism::{Contribution, Ledger, MemoryStorage, Participation, Raw, Transcript};
//! use hushstream_noise::Key;
//!
//! let budget = Budget::approx(1.0, 1e-6)?;
//! let plan = SumRequest {
//!     kind: SumKind::BLT,
//!     noise: Noise::Gaussian,
//!     releases: 1000,
//!     dimension: 2,
//!     bound: 1.0,
//!     geometry: Geometry::Ball,
//!     least_sigma: 0.0,
//!     batch: 1,
//!     adjacency: Adjacency::ReplaceOne,
//!     participation: Participation::OncePerRecord,
//!     budget,
//! }
//! .plan()?;
//! // For real data: `Ledger::create` with a `FileStorage`.
//! let mut ledger = Ledger::simulated(budget, FilterKind::Gaussian, plan.scope())?;
//! let grant = ledger.debit(plan.charge()?, plan.scope())?;
//! let key = Key::from_os()?;
//! let journal = MemoryStorage::default();
//! let mut sum = PrivateSum::<Transcript>::open(plan, grant, &key, &mut ledger, journal)?;
//!
//! let contribution = Raw::seal(Contribution::Dense(vec![0.6, -0.8]));
//! let pending = sum.add(contribution)?.expect("a batch of one is full");
//! sum.sync(&mut ledger)?;
//! let release = sum.publish(pending).expect("a sync has covered it");
//! assert_eq!(release.value().len(), 2);
//! println!("{}", sum.guarantee()?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod batch;
#[doc = include_str!("boundary/what_does_not_compile.md")]
mod boundary;
pub mod decisions;
mod durable;
mod exact;
pub mod feedback;
mod lattice;
pub mod losses;
mod mechanism;
mod moments;
mod persons;
pub mod perturb;
mod private;
mod ranks;
mod scoreboard;
pub mod select;
pub mod sparse;
mod statistics;
pub mod sums;
mod tables;
mod wide;

pub use boundary::{
    AskerOnly, Grant, GuaranteeKind, OperatorOnly, Pending, Raw, Receipt, Released, Scope,
    Transcript, Windowed,
};
pub use durable::{
    CameBack, DiaryError, FileStorage, Ledger, LedgerError, LogError, MemoryStorage, NoStorage,
    RowChain, RowDigest, RowHasher, Storage, WithRows, rows_covered,
};
pub use exact::{ExactSum, ExactTables};
pub use lattice::{Contribution, Lattice, LatticeError, Norm};
pub use mechanism::Mechanism;
pub use moments::{Moments, TargetWeight};
pub use persons::{Participation, PersonError};
pub use private::{Back, GivenOf, PendingOf, PlanOf, Private, PromiseOf, ReleaseOf};
pub use scoreboard::{
    ClassMetrics, Metrics, NumberMetrics, OffPolicy, Probability, Ranking, Scoreboard, Summary,
    Yardstick,
};
pub use statistics::{Block, GroupColumn, Statistic, Statistics, StatisticsShape};
pub use tables::{Axis, LogScale, Response, TableMap, TableShape};
