//! Ledgers and journals in a real PostgreSQL: fences, crashes, old copies, and holders that are
//! processes of their own.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod cluster;
mod holder;
mod logs;
mod measured;
mod turns;
