//! Private online learning: publish a model at every step, with a proof that it reveals almost
//! nothing about any one record.
//!
//! ```
//! use hushstream::prelude::*;
//!
//! let mut run = Learner::classify()
//!     .features(20).norm(1.0)                 // or .schema(Schema::from_file("flights.toml")?)
//!     .records(1000)                          // or .unknown_horizon()
//!     .budget(Budget::approx(1.0, 1e-6)?)
//!     .adjacency(ReplaceOne)
//!     .simulated(7)                           // for real: .ledger("flights.ledger").state("run")
//!     .start()?;                              // plans, charges, opens
//! for i in 0..1000 {
//!     let mut row = [0.1; 21];                // 20 features, then the target
//!     row[20] = f64::from(i % 2);
//!     run.learn(&row)?;                       // sealed inside
//! }
//! for model in run.publish()? {
//!     println!("{}", model.value().predict(&[0.1; 20])?);
//! }
//! println!("{}", run.guarantee());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | task | a row | the published model |
//! |---|---|---|
//! | [`Learner::classify`] | features, and one of two classes | a linear model of the class |
//! | [`Learner::classes`] | features, and one of several classes | a linear model of each class |
//! | [`Learner::regress`] | features, and a number | a linear model of the number |
//! | [`Learner::experts`] | the loss of every expert | the weight of each expert |
//! | [`Learner::bandit`] | the loss of every arm; one is seen | the probability of each arm |
//! | [`Learner::decide`] | a context, which asks; its reward comes later | a policy of the context |
//!
//! Statistics need no learner: a [`Tracker`] publishes counts, sums, means and histograms by group
//! at every tick; [`RunningCount`], [`RunningSum`], [`RunningMean`] and [`RunningHistogram`] one of
//! them.
//!
//! # The guarantee
//!
//! [`Run::guarantee`] states the guarantee for all releases of the run together: (ε, δ), the
//! neighbouring relation, the number of releases and the noise. A charge is on disk before the
//! first noise is drawn, a release leaves only after a disk sync has covered it, and the ledger
//! refuses charges beyond the budget of the data. Figures computed from private data, such as
//! accuracy, are
//! [`OperatorOnly`]: they must not be published.
//!
//! # Where to go next
//!
//! - [`Learner`] describes a run, [`Run`] learns, [`Model`] predicts; [`ledgers`] manages budgets.
//! - With the feature `arrow`, `Run::learn_arrow` learns from Arrow record batches.
//! - `examples/` has a program for each: a file, your own structs, a live stream, a crash, experts,
//!   a bandit, a loss of your own, running sums and statistics without a learner.
//! - Below the door: [`engine`] has the recipes, [`mechanism`] the privacy boundary, [`account`]
//!   the accounting, [`read`] schemas and files, [`sets`] the sets of weights, [`noise`] the
//!   samplers.

mod ahead;
#[cfg(feature = "arrow")]
mod arrow;
#[doc(hidden)]
pub mod budget;
#[doc(hidden)]
pub mod checked;
mod curves;
#[doc(hidden)]
pub mod data;
mod deciding;
pub mod decisions;
pub mod elsewhere;
mod error;
pub mod explain;
pub mod export;
#[doc(hidden)]
pub mod files;
pub mod inspect;
pub mod learner;
mod learning;
pub mod ledgers;
mod memory;
mod methods;
pub mod model;
mod opening;
pub mod outcome;
mod passed;
mod plan;
pub mod progress;
mod released;
mod releases;
mod rows;
mod run;
pub mod scores;
mod shared;
mod state;
#[doc(hidden)]
pub mod target;
pub mod track;
#[doc(hidden)]
pub mod warnings;

pub use decisions::{Decider, Decision};
pub use error::{Error, Refusal, Result};
pub use hushstream_account as account;
pub use hushstream_account::{Adjacency, Budget, Guarantee};
pub use hushstream_mechanism as mechanism;
pub use hushstream_mechanism::{AskerOnly, Ledger, OperatorOnly};
pub use hushstream_noise as noise;
pub use hushstream_read as read;
pub use hushstream_read::{Fields as Row, SchemaSpec as Schema, Value};
pub use hushstream_recipes as engine;
pub use hushstream_sets as sets;
pub use learner::Learner;
pub use methods::session::Play;
pub use model::{Model, Prediction};
pub use outcome::Outcome;
pub use plan::Plan;
pub use released::Released;
pub use run::Run;
pub use shared::SharedLedger;
pub use state::{Keeper, KeySeal};
pub use track::{RunningCount, RunningHistogram, RunningMean, RunningSum, Tracker, Tracking};

/// Everything that a program imports: `use hushstream::prelude::*;`.
pub mod prelude {
    pub use crate::account::Adjacency::{self, ReplaceOne, ZeroOut};
    pub use crate::account::{Budget, Guarantee};
    pub use crate::engine::{RecipeName, Wishes};
    pub use crate::mechanism::{AskerOnly, Ledger, OperatorOnly};
    pub use crate::track::{By, Span, Table, Tracker, Tracking};
    pub use crate::track::{RunningCount, RunningHistogram, RunningMean, RunningSum};
    pub use crate::{
        Decision, Error, Learner, Model, Outcome, Plan, Play, Prediction, Released, Row, Run,
        Schema, Value,
    };
}

/// The README's examples are compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}
