//! The binary tree with AS17's padding: every release carries as many noises as the one with the
//! most, so that all have the same law.
//!
//! **Claim.** The guarantee of the tree (`tree.rs`), at its price. **Proof.** The extra noises are
//! fresh for every release and touch no data: they are added to what the tree releases. ∎

use super::SumKind;
use super::cover::Noise;
use super::error::SumError;
use super::plan::SumPlan;
use super::running::{CoveredPrefix, Padding, Running};
use super::strategy::{About, Streams, SumStrategy};
use super::tree::BinaryTree;
use serde::{Deserialize, Serialize};

/// The binary tree, padded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PaddedTree;

pub(crate) const ABOUT: About = About {
    one_law: true,
    ..About::any_noise("tree-padded")
};

impl SumStrategy for PaddedTree {
    fn name(&self) -> String {
        "binary tree, padded".to_owned()
    }

    fn citation(&self, noise: Noise) -> (&'static str, &'static [&'static str]) {
        BinaryTree.citation(noise)
    }

    fn fits(&self, kind: SumKind, _: u64) -> bool {
        kind == SumKind::PaddedTree
    }

    fn levels(&self, releases: u64, _: u32) -> Option<u32> {
        Some(BinaryTree::depth(releases))
    }

    fn has_leaves(&self) -> bool {
        true
    }

    fn variance(&self, _: u64, releases: u64) -> f64 {
        BinaryTree::most_terms(releases).into()
    }

    fn worst_variance(&self, releases: u64) -> f64 {
        BinaryTree::most_terms(releases).into()
    }

    fn build(&self, plan: &SumPlan, streams: Streams<'_>) -> Result<Box<dyn Running>, SumError> {
        let padding = Padding {
            total: BinaryTree::most_terms(plan.request().releases),
            draws: streams.draws(Streams::PADDING)?,
        };
        CoveredPrefix::boxed(BinaryTree, plan, streams, Some(padding))
    }
}
