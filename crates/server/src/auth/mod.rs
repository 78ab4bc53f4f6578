//! Tokens and roles.

mod limits;
mod tokens;

pub use limits::Rates;
pub(crate) use tokens::hex;
pub use tokens::{Caller, NewToken, Tokens};
