//! Attacks on every recipe from outside: proved lower bounds on the privacy that is lost.
//!
//! In this field a wrong constant is silent: the program runs, the regret is better than it should
//! be, and nobody notices. This crate is the one who would. It plays a recipe through its public
//! interface on two neighbouring streams, sees only what is published, and returns a number that no
//! honest guarantee can be below, with a stated confidence.
//!
//! A bound *above* the claim is a proof (at that confidence) that the claim is false. A bound below
//! it proves nothing good: it says that these attacks, with so many runs, did not find more. Where
//! the bound is close to the claim, the calibration is also shown not to waste noise.
//!
//! - [`audit`] is the procedure: fit, choose, prove, each on runs of its own; [`Duel`] is what it
//!   attacks.
//! - [`Target`] makes duels out of every recipe: first, middle, last and deepest record, null
//!   records and records far outside their bound, aimed ones, adaptive streams, persons,
//!   interrupted runs.
//! - [`planted`] holds bugs that must be found, each beside its correct twin, and [`Printed`] the
//!   papers' own constants where they break privacy.
//!
//! Beside the attacks, `tests/long_stream.rs` puts many canaries into one run of a long stream, and
//! `tests/cancelled` plays two neighbouring streams under one key, so that noise cancels, and
//! compares what one record moved with what was paid: without statistics, in every cell
//! (docs/auditing.md).
//!
//! What a user may publish besides iterates (model files, predictions) is a function of them: an
//! audit of it is a [`Duel`] whose `play` returns what the file holds. The command line's tests do
//! that with the program itself.
//!
//! ```
//! use hushstream_account::Budget;
//! use hushstream_audit::{Effort, Target, audit};
//! use hushstream_recipes::RecipeName;
//!
//! let target = Target::new(RecipeName::Pftal, None, Budget::approx(8.0, 1e-5)?)?;
//! let verdict = audit(target.claim()?, &target.duels()?, Effort::runs(1000, 1e-3, 1))?;
//! assert!(!verdict.violated());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod attack;
mod bound;
mod duel;
mod error;
mod evidence;
mod learners;
mod normal;
pub mod planted;
mod printed;
mod procedure;

pub use attack::Attack;
pub use bound::Claim;
pub use duel::{Duel, World};
pub use error::AuditError;
pub use evidence::{Evidence, Tails};
pub use learners::Target;
pub use printed::Printed;
pub use procedure::{Effort, Verdict, audit};
