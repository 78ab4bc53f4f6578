//! Sums made elsewhere: a question goes out, partial sums of integers come back, and each batch of
//! a source is taken exactly once.
//!
//! ```text
//! workers      Question + sealed records → clip → lattice → add → PartialSum   no key, no noise
//! authority    merge → positions → journal → noise once → sync → release       key and ledger
//! ```
//!
//! A [`Question`] is public: the weights, the lattice and what a record is asked for. A [`Worker`]
//! forms gradients, moments and tables from sealed records, by the code that a single process
//! runs, and adds integers: so any split of a batch, in any order, gives the same item, bit for
//! bit. A [`PartialSum`] is as private as the records in it, and can be sealed to the authority
//! (`sealed.rs`).
//!
//! **Exactly once** (`delivery.rs`). An item is one batch of a source. The journal keeps the
//! source's name, the number of its last batch and the end of every partition that was read. What
//! is taken, what is answered from the journal and what is refused depends on these alone, never on
//! what records hold.
//!
//! **Why the guarantee is that of one process.** An item is the sum of the lattice integers of its
//! records, on whatever machine they were added; every record is in at most one item, because
//! positions of a source are taken once. The release is drawn, journalled and synced by the
//! authority alone. Workers are inside the trust boundary: the checks on receipt (`partial.rs`)
//! refuse integers that no such number of records adds up to, and do not prove that a worker
//! counted every record once.

mod commit;
mod delivery;
mod partial;
mod question;
mod sealed;
mod worker;

pub use commit::Committed;
pub(super) use delivery::Delivered;
pub use delivery::{Delivery, DeliveryError, Positions, Span};
pub use partial::{PartialSum, PartialSumError};
pub use question::{Ask, Question, QuestionError};
pub use sealed::{Opener, SealingKey};
pub use worker::Worker;
