//! AFKT22 §4 as a picture: the regret of one learner at one small ε against the adversary of
//! Theorem 5, who sees the plays, and against the same losses once more, fixed in advance. The
//! first grows like T; the second does not.

use crate::fingerprint::Theorem;
use crate::game::Game;
use crate::play::{ArenaError, Contest, Outcome};
use crate::task::Task;
use hushstream_account::{Adjacency, Budget};
use hushstream_mechanism::LedgerError;
use hushstream_recipes::RecipeName;

/// The theorem's budget: pure.
pub const EPSILON: f64 = 0.1;
/// The longest game, unless another number is asked for.
pub const ROUNDS: u64 = 8000;

/// Mean regrets of games of one length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// T.
    pub rounds: u64,
    /// Of the dartboard, against the adversary.
    pub adaptive: f64,
    /// Of the dartboard, against the recorded losses.
    pub oblivious: f64,
}

/// The figure, for T, T/2, … , T/16.
///
/// # Errors
/// Too few or too many rounds.
pub fn figure(rounds: u64, repeats: u64) -> Result<Vec<Row>, ArenaError> {
    let row = |halved: u32| {
        let rounds = rounds >> halved;
        let regret = |game: Game| {
            let experts = game.experts(rounds).map_err(ArenaError::Game)?;
            let contest = Contest {
                recipe: RecipeName::Dartboard,
                sum: None,
                noise: None,
                task: Task::Experts,
                game,
                dimension: experts.unwrap_or(2),
                rounds,
                batch: 1,
                restart: None,
                budget: Budget::pure(EPSILON).map_err(LedgerError::from)?,
                adjacency: Adjacency::ReplaceOne,
                window: None,
                curvature: None,
                learning_rate: None,
                set: None,
                losses: None,
                tuned: false,
            };
            let outcomes = contest.repeat(0..repeats.max(1))?;
            let total: f64 = outcomes.iter().map(Outcome::regret).sum();
            Ok::<f64, ArenaError>(total / outcomes.len() as f64)
        };
        Ok(Row {
            rounds,
            adaptive: regret(Game::Afkt(Theorem::Five))?,
            oblivious: regret(Game::AfktReplayed(Theorem::Five))?,
        })
    };
    (0..5).rev().map(row).collect()
}
