//! Games for private online learners: streams and adversaries, the best point in hindsight, regret.
//!
//! Everything here is synthetic and public; noise is simulated from seeds, so that experiments
//! repeat. Nothing that runs here protects anybody, and everything it touches says so.
//!
//! ```
//! use hushstream_account::{Adjacency, Budget};
//! use hushstream_arena::{Contest, Game, Task};
//! use hushstream_recipes::RecipeName;
//! use hushstream_mechanism::sums::SumKind;
//!
//! let contest = Contest {
//!     recipe: RecipeName::PftalConvex,
//!     sum: Some(SumKind::BLT),
//!     noise: None,
//!     task: Task::Linear,
//!     game: Game::Stochastic,
//!     dimension: 3,
//!     rounds: 2000,
//!     batch: 1,
//!     restart: None,
//!     budget: Budget::approx(1.0, 1e-6)?,
//!     adjacency: Adjacency::ReplaceOne,
//!     window: None,
//!     curvature: None,
//!     learning_rate: None,
//!     set: None,
//!     losses: None,
//!     tuned: false,
//! };
//! let outcome = contest.play(1)?;
//! assert!(outcome.regret() < outcome.nothing - outcome.hindsight); // better than doing nothing
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod contextual;
mod dice;
pub mod figures;
mod fingerprint;
mod game;
mod hindsight;
mod parallel;
mod play;
mod sign_matrix;
mod task;
mod vector;

pub use contextual::{ContextualGame, Earned};
pub use dice::Dice;
pub use fingerprint::{Fingerprint, Theorem};
pub use game::{Environment, Game};
pub use hindsight::{Best, best_in_hindsight};
pub use parallel::in_parallel;
pub use play::{ArenaError, Contest, Outcome, open};
pub use task::{Task, dense, record};
pub use vector::{add, dot, solve};
