//! The public shape of a sum: how often it counts an item, and how much noise a release carries. It
//! involves neither data nor budget.

use super::blt::{BltError, DyadicBlt, Layout, Width, optimise};
use super::cover::{Cover, Noise};
use super::honaker;
use super::kary::BalancedDigits;
use super::kind::SumKind;
use super::smooth::ConstantWeight;
use super::tree::BinaryTree;
use super::window::Window;
use crate::persons::Participation;
use serde::{Deserialize, Serialize};

/// A sum with its parameters. Stored with a run, so that a resumed run keeps them even if a later
/// version would choose others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Strategy {
    Tree,
    PaddedTree,
    Honaker,
    Smooth {
        width: u32,
        weight: u32,
    },
    Kary {
        base: u64,
        digits: u32,
    },
    Window {
        width: u64,
    },
    Octave,
    /// The layout is chosen once the radius is known.
    Blt {
        blt: DyadicBlt,
        layout: Option<Layout>,
    },
    Fresh,
}

impl Strategy {
    /// The strategy of its kind with the least worst error for n releases.
    pub(crate) fn choose(kind: SumKind, noise: Noise, releases: u64) -> Result<Self, BltError> {
        Ok(match kind {
            SumKind::Tree => Self::Tree,
            SumKind::PaddedTree => Self::PaddedTree,
            SumKind::Honaker => Self::Honaker,
            SumKind::Smooth => {
                // Variance: w noises, each with scale √depth (Gaussian) or depth (pure).
                let power = if noise.is_pure() { 2 } else { 1 };
                let ConstantWeight { width, weight } =
                    ConstantWeight::cheapest(releases, |weight, depth| weight * depth.powi(power));
                Self::Smooth { width, weight }
            }
            SumKind::Kary => {
                let BalancedDigits { base, digits } = BalancedDigits::cheapest(releases);
                Self::Kary { base, digits }
            }
            SumKind::Window(width) => Self::Window { width },
            SumKind::Octave => Self::Octave,
            SumKind::Fresh => Self::Fresh,
            SumKind::Blt(buffers) => Self::Blt {
                blt: DyadicBlt::new(&optimise(releases, usize::from(buffers))?)?,
                layout: None,
            },
        })
    }

    /// Whether this is a strategy of this kind that reaches n releases. Files are not trusted.
    pub(crate) fn fits(&self, kind: SumKind, releases: u64) -> bool {
        match (self, kind) {
            (Self::Tree, SumKind::Tree)
            | (Self::PaddedTree, SumKind::PaddedTree)
            | (Self::Honaker, SumKind::Honaker)
            | (Self::Octave, SumKind::Octave)
            | (Self::Fresh, SumKind::Fresh) => true,
            (&Self::Smooth { width, weight }, SumKind::Smooth) => {
                ConstantWeight { width, weight }.reaches(releases)
            }
            (&Self::Kary { base, digits }, SumKind::Kary) => {
                BalancedDigits { base, digits }.reaches(releases)
            }
            (Self::Window { width }, SumKind::Window(asked)) => *width == asked,
            (Self::Blt { blt, layout }, SumKind::Blt(buffers)) => {
                blt.buffers() <= usize::from(buffers) && layout.is_some()
            }
            _ => false,
        }
    }

    /// The largest number of nodes that contain an item; for octaves, in octave `octave`. `None`
    /// for filters.
    pub(crate) fn depth(&self, releases: u64, octave: u32) -> Option<u32> {
        Some(match *self {
            Self::Tree | Self::PaddedTree | Self::Honaker => BinaryTree::depth(releases),
            Self::Smooth { width, weight } => ConstantWeight { width, weight }.depth(),
            Self::Kary { base, digits } => BalancedDigits { base, digits }.depth(),
            Self::Window { width } => Window { width }.depth(releases),
            Self::Octave => octave + 1,
            Self::Fresh => 1,
            Self::Blt { .. } => return None,
        })
    }

    /// How far one unit of change in a person's items moves the nodes or rows, rounded up: L2 over
    /// all of them for Gaussian noise, L1 for pure noise.
    ///
    /// For one participation √depth and depth. For k of them: pure noise adds up to k·depth. For
    /// Gaussian noise over a binary tree, two different items share at most depth − 1 nodes (never
    /// a leaf), so the squared norm of k columns is at most k·depth + k(k−1)(depth−1) =
    /// k²(depth−1) + k; in octaves for each of them, and `octave.rs` proves that this covers items
    /// in several; elsewhere k·√depth by the triangle inequality. Filters have their own closed
    /// forms.
    pub(crate) fn sensitivity(
        &self,
        noise: Noise,
        releases: u64,
        octave: u32,
        participation: Participation,
    ) -> Result<f64, BltError> {
        let (most, separation) = participation.limits();
        if let Self::Blt { blt, .. } = self {
            return match most {
                1 => Ok(blt.sensitivity(releases)),
                _ => blt.sensitivity_with(releases, most, separation),
            };
        }
        let depth = f64::from(self.depth(releases, octave).unwrap_or(0));
        let most = most as f64;
        let exact = match self {
            _ if noise.is_pure() => most * depth,
            // Fresh noise: depth 1, and no two items share a node.
            Self::Tree | Self::PaddedTree | Self::Honaker | Self::Octave | Self::Fresh => {
                (most * depth + most * (most - 1.0) * (depth - 1.0)).sqrt()
            }
            _ => most * depth.sqrt(),
        };
        // The errors of a square root and a few products of small integers are below two units in
        // the last place.
        Ok(exact.next_up().next_up())
    }

    /// Variance of release t, in units of one node's noise. For octaves see the plan, where scales
    /// differ.
    pub(crate) fn variance(&self, t: u64, releases: u64) -> f64 {
        let terms = match *self {
            Self::Tree | Self::Octave => t.count_ones() as usize,
            Self::PaddedTree => BinaryTree::most_terms(releases) as usize,
            Self::Fresh => return t as f64,
            Self::Honaker => return honaker::prefix_variance(t),
            Self::Smooth { weight, .. } => weight as usize,
            Self::Kary { base, digits } => BalancedDigits { base, digits }.terms(t).len(),
            Self::Window { width } => Window { width }.terms(t).len(),
            Self::Blt { ref blt, .. } => return blt.parameters().prefix_sd(t).powi(2),
        };
        terms as f64
    }

    /// The largest variance of a release.
    pub(crate) fn worst_variance(&self, releases: u64) -> f64 {
        match *self {
            Self::Tree | Self::Octave | Self::PaddedTree => BinaryTree::most_terms(releases).into(),
            Self::Honaker => honaker::worst_variance(releases),
            Self::Fresh => releases as f64,
            Self::Smooth { weight, .. } => weight.into(),
            Self::Kary { base, digits } => {
                BalancedDigits { base, digits }.most_terms(releases) as f64
            }
            Self::Window { width } => Window { width }.most_terms(releases).into(),
            Self::Blt { ref blt, .. } => blt.parameters().prefix_sd(releases).powi(2),
        }
    }

    /// Vectors of the model's dimension, in words of 64 bits, held while it runs: exact state,
    /// noise, decoder and release.
    pub(crate) fn vectors(&self, releases: u64) -> u64 {
        match self {
            Self::Honaker => 3 * u64::from(BinaryTree::depth(releases)) + 2,
            Self::Blt { blt, layout } => {
                let wide = layout.is_some_and(|layout| layout.width() == Width::Wide);
                let words = if wide { 2 } else { 1 };
                let buffers = blt.buffers() as u64;
                words * (buffers + 2) + buffers + 4
            }
            Self::Fresh => 5,
            // One exact sum, totals of noise, the noise being drawn, the item, the release.
            _ => self.worst_variance(releases).ceil() as u64 + 4,
        }
    }
}
