//! AFKT22 Figure 1: how regret grows as the budget shrinks, for d ≥ T experts: as the paper draws
//! it, and certified at finite T.
//!
//! The paper's figure is analytic: with ε = T^(−α) and regret T^β, logarithms dropped, prior work
//! has β = ½ + α, the dartboard max(½, ⅓ + α), and its batched form ⅖ + ⅘α from α = ⅓ on, all at
//! most 1. Beside these lines stand the bounds that our calibration certifies at T and d = T, δ =
//! 10⁻⁶, replace-one: for the dartboard, its batched form, and Hedge in batches. None exceeds T,
//! which following any expert has.

use super::in_parallel;
use crate::play::ArenaError;
use hushstream_account::{Adjacency, Budget};
use hushstream_mechanism::Participation;
use hushstream_recipes::{Advice, ExpertsRequest, RecipeName};

/// T and d, if none are given.
pub const ROUNDS: u64 = 1 << 20;
/// δ.
pub const DELTA: f64 = 1e-6;
/// The paper's α runs from 0 to 1.
pub const STEPS: u32 = 12;

/// One α.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// α.
    pub alpha: f64,
    /// ε = T^(−α).
    pub epsilon: f64,
    /// The paper's β: prior work, dartboard, batched dartboard.
    pub printed: [f64; 3],
    /// The certified bounds on regret, divided by nothing: dartboard, batched dartboard, Hedge in
    /// batches.
    pub certified: [f64; 3],
}

/// The paper's β at α: prior work, dartboard, batched.
pub fn printed(alpha: f64) -> [f64; 3] {
    let dartboard = (1.0_f64 / 3.0 + alpha).max(0.5);
    let batched = if alpha >= 1.0 / 3.0 {
        0.4 + 0.8 * alpha
    } else {
        dartboard
    };
    [0.5 + alpha, dartboard, batched].map(|beta| beta.min(1.0))
}

/// The figure at T = d = `rounds`.
///
/// # Errors
/// Rounds that the recipe refuses.
pub fn figure(rounds: u64) -> Result<Vec<Row>, ArenaError> {
    let alphas: Vec<f64> = (0..=STEPS)
        .map(|step| f64::from(step) / f64::from(STEPS))
        .collect();
    in_parallel(&alphas, |&alpha| {
        let epsilon = (rounds as f64).powf(-alpha);
        let mut certified = [rounds as f64; 3];
        let recipes = [
            RecipeName::Dartboard,
            RecipeName::DartboardBatched,
            RecipeName::HedgeBatched,
        ];
        for (bound, recipe) in certified.iter_mut().zip(recipes) {
            let request = ExpertsRequest {
                recipe,
                advice: Advice::Experts(u32::try_from(rounds).unwrap_or(u32::MAX)),
                rounds: Some(rounds),
                restart: None,
                batch: None,
                board: None,
                budget: Budget::approx(epsilon, DELTA)
                    .map_err(hushstream_mechanism::LedgerError::from)?,
                adjacency: Adjacency::ReplaceOne,
                participation: Participation::OncePerRecord,
            };
            // A budget too small for any parameters: T, which following anybody has.
            if let Ok(recipe) = request.plan() {
                *bound = recipe.regret_bound().unwrap_or(rounds as f64);
            }
        }
        Ok(Row {
            alpha,
            epsilon,
            printed: printed(alpha),
            certified,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_lines() {
        assert!(printed(0.0).iter().all(|beta| (beta - 0.5).abs() < 1e-12));
        let [prior, dartboard, batched] = printed(1.0 / 3.0);
        assert!((prior - 5.0 / 6.0).abs() < 1e-12);
        assert!((dartboard - 2.0 / 3.0).abs() < 1e-12 && (batched - 2.0 / 3.0).abs() < 1e-12);
        let [_, dartboard, batched] = printed(0.5);
        assert!(batched < dartboard, "batches pay from one third on");
        assert!(printed(1.0).iter().all(|beta| (beta - 1.0).abs() < 1e-12));
    }

    /// Certified bounds grow as the budget shrinks; batches never hurt.
    #[test]
    fn certified_bounds_have_the_figures_shape() {
        let rows = figure(1 << 14).unwrap();
        for pair in rows.windows(2) {
            for (here, there) in pair[0].certified.iter().zip(&pair[1].certified) {
                assert!(there >= &(0.99 * here));
            }
        }
        for row in &rows {
            assert!(row.certified[1] <= 1.01 * row.certified[0], "{row:?}");
        }
    }
}
