//! Recipes on perturbed iterates from outside: what they publish, what they refuse, that stopping
//! changes nothing, and what their guarantee says.

#![allow(clippy::unwrap_used)] // a test may stop where it fails

mod common;
mod planning;
mod playing;
mod refusals;
