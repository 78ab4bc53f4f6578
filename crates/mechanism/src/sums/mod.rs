//! Continual sums: a private version of every prefix sum, behind one interface.
//!
//! A [`SumRequest`] holds the parameters. Its [`SumPlan`] states price and accuracy in advance; a
//! [`PrivateSum`] is the plan in progress. Each strategy has one file, which opens with its claim
//! and its proof.

mod adding;
mod ahead;
pub mod blt;
mod build;
mod calibrate;
mod cover;
mod error;
mod filter;
mod forecast;
mod fresh;
mod honaker;
mod kary;
mod kind;
mod octave;
mod partial;
mod plan;
mod promise;
mod running;
mod smooth;
mod stored;
mod strategy;
mod sum;
mod tree;
mod vectors;
mod window;

pub use cover::{Cover, Noise, Term};
pub use error::SumError;
pub use kary::BalancedDigits;
pub use kind::{SumKind, Unfit};
pub use partial::{PartialSum, PartialSumError};
pub(crate) use plan::PlanFields;
pub use plan::{Geometry, PlanError, SumPlan, SumRequest};
pub use smooth::ConstantWeight;
pub use sum::{PrivateSum, Sum};
pub use tree::BinaryTree;
pub(crate) use tree::dyadic_node;
pub use window::Window;
