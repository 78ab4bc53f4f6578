//! Side-by-side measurements. Every figure is a ratio of medians taken alternately in one run: absolute times belong
//! to the machine of the day, ratios travel better.
//!
//! `hushstream-benches [PYTHON [PYTHON_WITH_JAX]]`: with Pythons that have OpenDP, tensorflow-privacy or jax-privacy
//! installed, those are measured too.

mod gaussian;
mod peer;
mod sums;
mod timing;

fn main() {
    let pythons: Vec<String> = std::env::args().skip(1).collect();
    let python = pythons.first().map(String::as_str);
    let jax = pythons.get(1).map(String::as_str);
    gaussian::run(python);
    sums::run(python, jax);
}
