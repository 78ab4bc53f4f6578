//! Perturbed iterates from outside: no adversarial pair of streams gets further apart than the plan
//! says, bugs that lose the proof do, stopping changes nothing, and what cannot be proved is
//! refused.

#![allow(clippy::unwrap_used)] // a test may stop where it fails

mod machine;
mod own;
mod planted;
mod refusals;
mod resuming;
mod sensitivity;
mod streams;
