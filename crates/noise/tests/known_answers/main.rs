//! The samplers against known answers of a second implementation, `oracle/noise.py`, which shares no code and no
//! shortcut with them: it reads all bits of every draw and decides on real numbers of 640 bits.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod cursors;
mod gaussian;
mod noticed;
mod pure;
mod vectors;
