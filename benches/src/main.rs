//! Side-by-side measurements. Every figure is a ratio of medians taken alternately in one run: absolute times belong
//! to the machine of the day, ratios travel better.
//!
//! `hushstream-benches [PYTHON]`: with the path of a Python that has OpenDP installed, its exact discrete Gaussian is
//! measured too.

mod gaussian;
mod peer;
mod timing;

fn main() {
    let python = std::env::args().nth(1);
    gaussian::run(python.as_deref());
}
