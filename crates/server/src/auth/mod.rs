//! Tokens and roles.

mod tokens;

pub(crate) use tokens::hex;
pub use tokens::{Caller, NewToken, Tokens};
