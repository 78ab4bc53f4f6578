//! Tokens and roles.

mod limits;
mod tokens;

pub use limits::{Place, Rates, Room};
pub(crate) use tokens::hex;
pub use tokens::{Caller, NewToken, Tokens};
