//! `hushstream serve` from outside: the built program on loopback, with a folder of its own.

#![allow(clippy::unwrap_used)] // a test may stop where it fails

mod kills;
mod markers;
mod neighbours;
mod roles;
mod rules;
mod server;
