//! Bandit learners: functions of their own plays, their own coins and noisy answers (AS17 Algorithm 4 wraps any of them).
//!
//! A learner here is handed one number after each play, the private mechanism's noisy loss; with it and its coins it chooses the next play. Contexts would be private data
//! and are outside this guarantee. Plays carry their propensity, so that what was played can be evaluated for other policies later.

mod coins;
mod exp2;
mod exp2_actions;
mod learner;
mod octaves;
mod one_point;
mod scrible;
mod spanner;

pub use coins::Coins;
pub use exp2::{AnswerSize, Exp2, Exp2Rates, FeedbackNoiseSize};
pub use exp2_actions::Exp2Actions;
pub use learner::{BanditLearner, Play};
pub use octaves::Octaves;
pub use one_point::{OnePoint, sphere};
pub use scrible::{Possibility, Scrible};
