//! Continual sums: a private version of every prefix sum, behind one interface.
//!
//! A [`SumRequest`] holds the parameters. Its [`SumPlan`] states price and accuracy in advance; a
//! [`PrivateSum`] is the plan in progress. Each sum has one file, which opens with its claim and
//! its proof, and its lines in the registry below.
//!
//! | sum | Gaussian | Laplace | L2-Laplace | horizon |
//! |---|---|---|---|---|
//! | `tree` | ✓ | ✓ | ✓ | known |
//! | `tree-padded` | ✓ | ✓ | ✓ | known |
//! | `honaker` | ✓ | ✓ | ✓ | known |
//! | `smooth` | ✓ | ✓ | ✓ | known |
//! | `blt` | ✓ | no: its rows are real-weighted, pure noise would have to cover an L1 norm that grows | no | known, or over-provisioned |
//! | `kary` | no: other sums are better | ✓ | ✓ | known |
//! | `window` | ✓ | ✓ | ✓ | known; another guarantee |
//! | `octave` | ✓ | ✓ | ✓ | unknown |
//! | `eras` | ✓ | no: as `blt` | no | unknown; one contribution per person |
//! | `fresh` | ✓ | ✓ | ✓ | known; for people who are in every item |
//! | `blt-normalised` | ✓ | no: as `blt` | no | known; one contribution per person |
//! | `dense` | ✓ | no: as `blt` | no | known, at most 1,024 |

mod adding;
mod ahead;
pub mod blt;
mod calibrate;
mod cover;
mod deciding;
mod dense;
mod elsewhere;
mod eras;
mod error;
mod filter;
mod forecast;
mod fresh;
mod honaker;
mod kary;
mod kind;
mod normalised;
mod octave;
mod padded;
mod plan;
mod promise;
mod running;
mod smooth;
mod stored;
mod strategy;
mod sum;
mod toeplitz;
mod tree;
mod vectors;
mod views;
mod window;

pub use cover::{Cover, Noise, Term};
pub(crate) use cover::{Draws, NOISE_SCALE};
pub use dense::Workload;
pub use elsewhere::{
    Ask, Committed, Delivery, DeliveryError, Opener, PartialSum, PartialSumError, Positions,
    Question, QuestionError, SealingKey, Span, Worker,
};
pub use error::SumError;
pub use kary::BalancedDigits;
pub use kind::Unfit;
pub(crate) use plan::PlanFields;
pub use plan::{Geometry, PlanError, SumPlan, SumRequest};
pub use smooth::ConstantWeight;
pub use sum::{PrivateSum, Sum};
pub use tree::BinaryTree;
pub(crate) use tree::dyadic_node;
pub use views::{View, ViewNoise, ViewNoises};
pub use window::Window;

use serde::{Deserialize, Serialize};
use strategy::{About, SumStrategy};

/// A way to release every prefix sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SumKind {
    /// The papers' binary tree.
    Tree,
    /// The binary tree with AS17's padding: every release has the same noise law.
    PaddedTree,
    /// The binary tree with every node noised and combined.
    Honaker,
    /// Constant-weight codes: identical noise law without padding.
    Smooth,
    /// Buffered linear Toeplitz filter with this many buffers (2 to 8).
    Blt(u8),
    /// k-ary tree with subtraction.
    Kary,
    /// Binary tree over this many last items: protects an item only while it is in the window.
    Window(u64),
    /// A fresh binary tree for each power of two of items: unknown horizon.
    Octave,
    /// Fresh noise for every item, added up.
    Fresh,
    /// The least error of all strategies for a workload: at most 1,024 releases.
    Dense(Workload),
    /// A filter with this many buffers whose items all count alike, however few rows they are in.
    NormalisedBlt(u8),
    /// A fresh filter for each of three eras, of 2⁸, 2²⁰ and 2³² items: unknown horizon.
    Eras,
}

/// A sum with its parameters. Stored with a run, so that a resumed run keeps them even if a later
/// version would choose others: the order of the variants is part of the format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Strategy {
    Tree(BinaryTree),
    PaddedTree(padded::PaddedTree),
    Honaker(honaker::HonakerTree),
    Smooth(ConstantWeight),
    Kary(BalancedDigits),
    Window(Window),
    Octave(octave::OctaveTrees),
    Blt(toeplitz::Toeplitz),
    Fresh(fresh::FreshNoise),
    Dense(dense::Dense),
    NormalisedBlt(normalised::NormalisedBlt),
    Eras(eras::Eras),
}

impl SumKind {
    /// Every kind with a transcript guarantee, in the order of the table.
    pub const ALL: [Self; 11] = [
        Self::Tree,
        Self::PaddedTree,
        Self::Honaker,
        Self::Smooth,
        Self::BLT,
        Self::Kary,
        Self::Octave,
        Self::Fresh,
        Self::DENSE,
        Self::NORMALISED,
        Self::Eras,
    ];

    fn about(self) -> &'static About {
        match self {
            Self::Tree => &tree::ABOUT,
            Self::PaddedTree => &padded::ABOUT,
            Self::Honaker => &honaker::ABOUT,
            Self::Smooth => &smooth::ABOUT,
            Self::Blt(_) => &toeplitz::ABOUT,
            Self::Kary => &kary::ABOUT,
            Self::Window(_) => &window::ABOUT,
            Self::Octave => &octave::ABOUT,
            Self::Fresh => &fresh::ABOUT,
            Self::Dense(_) => &dense::ABOUT,
            Self::NormalisedBlt(_) => &normalised::ABOUT,
            Self::Eras => &eras::ABOUT,
        }
    }

    /// The strategy of this kind with the least worst error for the request.
    fn strategy(self, request: &SumRequest) -> Result<Strategy, PlanError> {
        let (noise, releases) = (request.noise, request.releases);
        Ok(match self {
            Self::Tree => Strategy::Tree(BinaryTree),
            Self::PaddedTree => Strategy::PaddedTree(padded::PaddedTree),
            Self::Honaker => Strategy::Honaker(honaker::HonakerTree),
            Self::Smooth => Strategy::Smooth(ConstantWeight::best(noise, releases)),
            Self::Blt(buffers) => Strategy::Blt(toeplitz::Toeplitz::best(releases, buffers)?),
            Self::Kary => Strategy::Kary(BalancedDigits::cheapest(releases)),
            Self::Window(width) => Strategy::Window(Window { width }),
            Self::Octave => Strategy::Octave(octave::OctaveTrees),
            Self::Fresh => Strategy::Fresh(fresh::FreshNoise),
            Self::Dense(workload) => Strategy::Dense(dense::Dense::best(workload, releases)?),
            Self::NormalisedBlt(buffers) => Strategy::NormalisedBlt(
                normalised::NormalisedBlt::best(releases, buffers, request.participation)?,
            ),
            Self::Eras => Strategy::Eras(eras::Eras::best()?),
        })
    }
}

impl std::ops::Deref for Strategy {
    type Target = dyn SumStrategy;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Tree(sum) => sum,
            Self::PaddedTree(sum) => sum,
            Self::Honaker(sum) => sum,
            Self::Smooth(sum) => sum,
            Self::Kary(sum) => sum,
            Self::Window(sum) => sum,
            Self::Octave(sum) => sum,
            Self::Blt(sum) => sum,
            Self::Fresh(sum) => sum,
            Self::Dense(sum) => sum,
            Self::NormalisedBlt(sum) => sum,
            Self::Eras(sum) => sum,
        }
    }
}
