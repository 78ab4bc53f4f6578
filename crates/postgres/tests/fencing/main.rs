//! Ledgers and journals in a real PostgreSQL: fences, crashes, old copies, and holders that are
//! processes of their own.

mod cluster;
mod holder;
mod logs;
mod measured;
mod turns;
