//! Figures of the papers, played again.

pub mod afkt1;
pub mod jkt2a;
pub mod jkt2b;
pub mod jkt2c;
pub mod pol;
mod regression;
pub mod separation;

use crate::parallel::in_parallel;
use crate::play::ArenaError;

/// A point of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row<M> {
    /// ε. Methods without one have the same row at each.
    pub epsilon: f64,
    /// Who played.
    pub method: M,
    /// Regret divided by T, or accuracy: the mean of the repeats.
    pub mean: f64,
    /// The smallest of the repeats.
    pub low: f64,
    /// The largest.
    pub high: f64,
}

/// For each ε in order, the methods in order, each played by `play(method, ε, seed)` with as many
/// seeds as there are repeats, at least one. Methods that are not private play once for all ε.
fn rows<M: Copy + PartialEq + Sync>(
    epsilons: &[f64],
    methods: &[M],
    repeats: u64,
    is_private: impl Fn(M) -> bool,
    play: impl Fn(M, f64, u64) -> Result<f64, ArenaError> + Sync,
) -> Result<Vec<Row<M>>, ArenaError> {
    let none = f64::INFINITY;
    let mut jobs: Vec<(M, f64, u64)> = Vec::new();
    for seed in 0..repeats.max(1) {
        for &method in methods {
            let of = if is_private(method) {
                epsilons
            } else {
                &[none]
            };
            jobs.extend(of.iter().map(|&epsilon| (method, epsilon, seed)));
        }
    }
    let played = in_parallel(&jobs, |&(method, epsilon, seed)| {
        play(method, epsilon, seed)
    })?;
    let row = |epsilon: f64, method: M| {
        let of = if is_private(method) { epsilon } else { none };
        let values = jobs.iter().zip(&played).filter(|((m, e, _), _)| {
            *m == method && e.total_cmp(&of).is_eq() // the same bits, not a computed number
        });
        let values: Vec<f64> = values.map(|(_, &value)| value).collect();
        Row {
            epsilon,
            method,
            mean: values.iter().sum::<f64>() / values.len() as f64,
            low: values.iter().copied().fold(f64::INFINITY, f64::min),
            high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    };
    let row = &row;
    let at = |&epsilon: &f64| methods.iter().map(move |&method| row(epsilon, method));
    Ok(epsilons.iter().flat_map(at).collect())
}
