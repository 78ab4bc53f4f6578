//! Privacy accounting with directed rounding: charges, running totals, budgets and guarantees.
//!
//! Every mechanism of Hushstream costs privacy. This crate computes an upper bound on that cost,
//! despite rounding; it never reports less than the truth: a parameter derived from a budget rounds
//! down, a charge and every reported ε and δ round up, by a bound on the arithmetic error. Start
//! with a [`Budget`] (ε, δ) and an [`Adjacency`], which has no default. For Gaussian noise
//! [`Mu::within`] turns the budget into the one number that sets the noise; [`Rho`], [`Epsilon`]
//! and [`RenyiCurve`] do the same for zero-concentrated, pure and Rényi privacy. A [`Charge`] is
//! the cost of one mechanism; [`Spent`] adds up charges whose sizes were fixed in advance, in O(1)
//! a step; a [`Filter`] guards a budget when sizes are chosen along the way. A [`Guarantee`] states
//! the result in numbers and in words. Each file begins with its formulas, where they come from,
//! and why they hold; nothing here draws noise or sees data.
//!
//! ```
//! use hushstream_account::{Adjacency, Budget, Charge, Guarantee, Mu, Spent};
//!
//! let budget = Budget::approx(1.0, 1e-6)?;
//! let mu = Mu::within(budget)?; // 0.236704 for the whole run, rounded down
//!
//! // A sum tree with 19 levels over contributions of length at most L = 1:
//! // one record moves 19 nodes.
//! let adjacency = Adjacency::ReplaceOne;
//! let sensitivity = adjacency.kappa() * 19.0_f64.sqrt();
//! let sigma = mu.sigma_for(sensitivity)?;
//! assert!((sigma - 36.83).abs() < 0.01);
//!
//! let mut spent = Spent::new();
//! spent.add(&Charge::Gaussian(mu))?;
//! assert!(spent.epsilon_at(1e-6)? <= 1.0);
//!
//! let guarantee = Guarantee::builder(budget.epsilon(), budget.delta(), adjacency, 327_346)
//!     .mu(mu)
//!     .sum("binary tree")
//!     .levels(19)
//!     .noise("Gaussian")
//!     .sigma(sigma)
//!     .releases(327_345)
//!     .build()?;
//! assert!(guarantee.to_string().contains("a factor of e^1.00 plus 1e-6."));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod adjacency;
mod budget;
mod charge;
mod digits;
mod divergence;
mod error;
mod filter;
mod gdp;
mod guarantee;
mod normal;
mod parameter;
mod pure;
mod rdp;
mod renyi;
mod round;
mod slack;
mod spent;
mod tradeoff;
mod wording;
mod zcdp;

pub use adjacency::Adjacency;
pub use budget::Budget;
pub use charge::{Charge, Price};
pub use error::AccountError;
pub use filter::{Filter, FilterKind, Refused};
pub use gdp::Mu;
pub use guarantee::{Guarantee, GuaranteeBuilder, GuaranteeError, Published, Unit};
pub use parameter::ParameterError;
pub use pure::Epsilon;
pub use rdp::RenyiCurve;
pub use slack::precision_slack;
pub use spent::Spent;
pub use zcdp::Rho;
