//! Every covering sum, materialised: its strategy matrix C (nodes × items) and its decoder B
//! (releases × nodes) for every small horizon. B·C must be the matrix of prefix sums, the column
//! norms of C the sensitivity that calibrates the noise, and the row norms of B the promised error.

#![allow(clippy::unwrap_used)] // a test may stop where it fails

mod dense;
mod eras;
mod errors;
mod filters;
mod matrices;
mod normalised;
mod octaves;
mod plans;
mod sensitivity;
mod slack;
