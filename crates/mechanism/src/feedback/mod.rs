//! Private feedback: one noisy number a play (AS17 Algorithm 4; errata A4, A6).
//!
//! A bandit learner plays, and the person who meets the play answers with one number: a loss, clipped to a public range. The number leaves with scalar noise of that range.
//! A person answers once, so the transcript of all noisy answers costs what one of them costs, and **any** learner that sees only its own plays, its own coins and the
//! noisy answers is private: everything it does is post-processing. With batches, B persons answer the same play and their mean leaves: the same cost, a B-th of the noise.
//!
//! The paper adds ⟨Z, play⟩ with a noise vector Z instead. That is as private only for plays among the unit vectors; for others its scale has to grow with the range of ⟨loss, play⟩, and scalar
//! noise is better.

mod answers;
mod plan;
mod reading;

pub use answers::{Answers, AnswersBack};
pub use plan::{FeedbackError, FeedbackNoise, FeedbackPlan, FeedbackRequest, Range};
pub(crate) use reading::Logged;
pub use reading::{Ask, Reading};
