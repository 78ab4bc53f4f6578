//! Private feedback: one noisy number per play (AS17 Algorithm 4; errata A4, A6).
//!
//! A bandit learner plays, and a person answers the play with one number: a loss, clipped to a
//! public range. The number is released with scalar noise of that range. A person answers once, so
//! the transcript of all noisy answers costs as much as one of them, and **any** learner that
//! depends only on its own plays, its own coins and the noisy answers is private: it is
//! post-processing. With batches, B persons answer the same play and their mean is released: the
//! same cost, a B-th of the noise.
//!
//! The paper adds ⟨Z, play⟩ with a vector Z of Laplace noises instead. With B = max|⟨loss,
//! play⟩|/‖play‖∞, as its Lemma 4.2 has it, a scale of 2B/ε is as private for every play (it prints
//! B/ε, erratum A4): the answer is that of a loss with one coordinate, in [−B, B], and the product
//! is post-processing. Scalar noise of the range of ⟨loss, play⟩ has the same ε, the same variance
//! on unit vectors, and less off them, by ‖play‖²∞/‖play‖₂².
//!
//! **A missing answer counts as the midpoint of its range**, not as 0, which would be the best
//! answer: see `plan.rs`.

mod answers;
mod plan;
mod reading;

pub use answers::{Answers, Means};
pub use plan::{FeedbackError, FeedbackNoise, FeedbackPlan, FeedbackRequest, Range};
pub(crate) use reading::Logged;
pub use reading::{Ask, Reading};
