//! Draft.
mod attack;
mod binomial;
mod bound;
mod duel;
mod error;
mod learners;
mod normal;
pub mod planted;
mod procedure;

pub use attack::Attack;
pub use bound::{Claim, Rates};
pub use duel::{Duel, World};
pub use error::AuditError;
pub use learners::Target;
pub use procedure::{Effort, Verdict, audit};
