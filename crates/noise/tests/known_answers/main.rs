//! The samplers against known answers of a second implementation, `oracle/noise.py`, which shares
//! no code and no shortcut with them: it reads all bits of every draw and decides with 640-bit
//! numbers.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cursors;
mod gaussian;
mod noticed;
mod pure;
mod vectors;
