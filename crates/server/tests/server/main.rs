//! The server from outside: its API in one process, its rounds against a small model, two streams
//! that differ in one slot, and a process that is killed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod api;
#[path = "../../../postgres/tests/fencing/cluster.rs"]
mod cluster;
mod document;
mod elsewhere;
mod many;
mod neighbours;
mod operations;
mod persons;
mod recovery;
mod rounds;
mod shared;
mod support;
