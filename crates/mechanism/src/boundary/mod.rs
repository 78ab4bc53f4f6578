//! The types that enforce the boundary.
//!
//! | type | what it stands for | what it cannot do |
//! |---|---|---|
//! | [`Raw`] | one person's contribution | be opened, copied or printed outside this crate |
//! | [`Grant`] | proof that a charge is durably recorded | be made by hand, or used twice |
//! | [`Pending`] | a noisy value that may not leave yet | be looked at |
//! | [`Released`] | a value that has been paid for and is durable | be made from anything but a pending value |
//! | [`OperatorOnly`] | what was computed from private data for its operator | pass for a release |

mod grant;
mod operator;
mod raw;
mod released;

pub use grant::{Grant, Scope};
pub use operator::OperatorOnly;
pub use raw::Raw;
pub use released::{GuaranteeKind, Pending, Receipt, Released, Transcript, Windowed};
