//! The types that enforce the boundary.
//!
//! | type | what it stands for | what it cannot do |
//! |---|---|---|
//! | [`Raw`] | one person's contribution | be opened, copied or printed outside this crate |
//! | [`Grant`] | proof that a charge is durably recorded | be made by hand, or used twice |
//! | [`Pending`] | a noisy value that is not durable yet | be read |
//! | [`Released`] | a value that is paid for and durable | be made from anything but a pending value |
//! | [`AskerOnly`] | an answer to one person, from that person's own data | be used as a release |
//! | [`OperatorOnly`] | a value computed from private data without noise | be used as a release |

mod asker;
mod grant;
mod operator;
mod raw;
mod released;

pub use asker::AskerOnly;
pub use grant::{Grant, Scope};
pub use operator::OperatorOnly;
pub use raw::Raw;
pub use released::{GuaranteeKind, Pending, Receipt, Released, Transcript, Windowed};
