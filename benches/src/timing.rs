//! Alternating rounds and medians.

use std::time::Instant;

/// How many rounds each contestant runs.
const ROUNDS: usize = 7;

/// Does the work once and says how many units that was.
pub(crate) type Contestant<'a> = Box<dyn FnMut() -> u64 + 'a>;

/// Median nanoseconds a unit for each contestant; they take turns, so that a slow moment of the machine hits all.
pub(crate) fn medians(contestants: &mut [Contestant<'_>]) -> Vec<f64> {
    let mut times = vec![Vec::with_capacity(ROUNDS); contestants.len()];
    for round in 0..=ROUNDS {
        for (contestant, times) in contestants.iter_mut().zip(&mut times) {
            let start = Instant::now();
            let units = contestant();
            let nanoseconds = start.elapsed().as_nanos() as f64 / units as f64;
            // The first round warms caches and tables.
            if round > 0 {
                times.push(nanoseconds);
            }
        }
    }
    times.into_iter().map(|times| median(&times)).collect()
}

/// The middle value.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
