//! Bandit learners: functions of their own plays, their own coins and noisy answers (AS17 Algorithm
//! 4 wraps any of them).
//!
//! After each play a learner receives one number, the private mechanism's noisy loss; with it and
//! its coins it chooses the next play. Contexts would be private data and are outside this
//! guarantee. Plays carry their propensity, so that other policies can be evaluated later.

mod epochs;
mod exp2;
mod exp2_actions;
mod exp4;
mod learner;
mod one_point;
mod scrible;
mod spanner;

pub use epochs::Epochs;
pub use exp2::{AnswerSize, Exp2, Exp2Rates, FeedbackNoiseSize};
pub use exp2_actions::Exp2Actions;
pub use exp4::{Exp4, PublicAdvice};
pub use learner::{BanditLearner, Coins, Play};
pub use one_point::{OnePoint, sphere};
pub use scrible::Scrible;
