//! Learners: public functions of released noisy prefix sums.
//!
//! A private online algorithm consists of a mechanism and a learner. The mechanism sees people's
//! data and releases, after every item, a noisy sum of the contributions so far; the learner turns
//! the releases into the next point to play. **Nothing in this crate sees data**, so nothing in it
//! can spend privacy: every learner is post-processing, and may run on any sum.
//!
//! ```
//! use std::sync::Arc;
//! use hushstream_learn::{FollowTheApproximateLeader, Learner};
//! use hushstream_sets::Ball;
//!
//! // The mean of a stream of points in the unit ball: f(w) = ½‖w − point‖² is 1-strongly convex.
//! let mut learner = FollowTheApproximateLeader::new(Arc::new(Ball::new(2, 1.0)?), 1.0)?;
//! let mut sum = [0.0; 2]; // the sum of gradients; a private run releases it with noise
//! for point in [[0.5, 0.1], [0.7, -0.3], [0.3, 0.2]] {
//!     for (sum, (w, point)) in sum.iter_mut().zip(learner.iterate().iter().zip(point)) {
//!         *sum += w - point;
//!     }
//!     learner.observe(&sum)?;
//! }
//! assert!((learner.iterate()[0] - 0.5).abs() < 1e-12 && learner.iterate()[1].abs() < 1e-12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | learner | paper | losses | the set must | sums of |
//! |---|---|---|---|---|
//! | [`FollowTheApproximateLeader`] | ST13, WDP20 Alg. 1 | strongly convex | project | gradients |
//! | [`DualAveraging`] | ST13 App. C | convex | project | gradients |
//! | [`LeastSquares`] | JKT12 Alg. 4 | squared | (its own ball) | [moments](MomentsLayout) |
//! | [`ArmsLeastSquares`] | beyond them | squared, one per arm | (none) | moments of each arm |
//! | [`RegularisedLeader`] | AS17 Alg. 1 | linear | be its [`Regulariser`]'s: simplex, L1 ball, any that projects | losses |
//! | [`PerturbedLeader`] | AS17 Alg. 3 | linear | minimise | losses |
//! | [`LocalLinear`] | WDP20 Alg. 2 | strongly convex | have a local oracle | gradients |
//! | [`FrankWolfe`] | Hazan, Kale 2012 | strongly convex | minimise | gradients |
//! | [`CurvesAndTables`] | beyond them | logistic, squared | (none) | residuals and counts |
//!
//! JKT12 is Jain, Kothari and Thakurta 2012; ST13 Smith and Thakurta 2013; AS17 Agarwal and Singh
//! 2017; WDP20 the window-private learner of 2020. Each file gives the implemented formula, the
//! corrections (by the numbers of the errata), the regret bound as printed, the proved bound with
//! its proof, and the cost. Bounds that hold for every noise of a given size are methods,
//! `regret_bound`, and tests check them.
//!
//! All numbers are public floats. A sum that is not finite, or does not fit, is a typed error and
//! changes nothing; every finite sum, however large, gives a point inside the set.

mod arms_least_squares;
pub mod bandits;
mod check;
mod curves_and_tables;
mod dual_averaging;
mod error;
mod follow_the_approximate_leader;
mod frank_wolfe;
mod learner;
mod least_squares;
mod local_linear;
mod local_steps;
mod moments_layout;
mod perturbed_leader;
mod regularised_leader;
mod regulariser;

pub use arms_least_squares::ArmsLeastSquares;
pub use curves_and_tables::{CurvesAndTables, TableRule};
pub use dual_averaging::DualAveraging;
pub use error::LearnError;
pub use follow_the_approximate_leader::FollowTheApproximateLeader;
pub use frank_wolfe::FrankWolfe;
pub use learner::Learner;
pub use least_squares::LeastSquares;
pub use local_linear::LocalLinear;
pub use moments_layout::MomentsLayout;
pub use perturbed_leader::PerturbedLeader;
pub use regularised_leader::RegularisedLeader;
pub use regulariser::{Entropy, PNorm, Regulariser, Squares};
