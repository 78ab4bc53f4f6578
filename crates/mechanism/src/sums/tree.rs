//! The binary tree (JKT12 Algorithm 5, ST13 Algorithm 2, AS17 PrivateSum), with the level count of
//! errata J1 and A1.
//!
//! **Claim.** For n releases the depth is h = bit_length(n) = ⌊log₂ n⌋ + 1.
//!
//! **Proof for this code path.** Release t covers 1…t by the nodes of its binary digits: for every
//! set bit j the node of 2ʲ items that ends at t with the bits below j cleared. Such a node has
//! level j = trailing_zeros(end), so there is one node per end and one fresh noise per round; an
//! item lies in at most one node of a level, and 2ʲ ≤ t ≤ n leaves the levels 0…h−1. Item 1 lies in
//! all of them. Nodes are complete when first used, so in completion order, given the values
//! released before, only nodes that contain the changed item shift, each by the same amount (Lemma
//! A): the guarantee holds against streams that react to releases. ∎ (In-order traversal, as in
//! ST13's appendix, would change more factors: erratum S2.)
//!
//! **Error.** popcount(t) noises. **State.** One vector; totals of at most h noises are kept to
//! save draws.

use super::SumKind;
use super::cover::{self, Cover, Noise, Term};
use super::error::SumError;
use super::plan::SumPlan;
use super::running::{CoveredPrefix, Running};
use super::strategy::{About, Streams, SumStrategy};
use serde::{Deserialize, Serialize};

/// Binary digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BinaryTree;

pub(crate) const ABOUT: About = About::any_noise("tree");

impl BinaryTree {
    /// The largest number of nodes an item lies in.
    #[must_use]
    pub fn depth(releases: u64) -> u32 {
        releases.max(1).ilog2() + 1
    }

    /// The largest number of noises in one of the first `releases` releases.
    #[must_use]
    pub fn most_terms(releases: u64) -> u32 {
        // 2^h − 1 has h digits; below it the best is n itself or n with a leading part cut to all
        // ones.
        let depth = Self::depth(releases);
        if (releases + 1).is_power_of_two() {
            depth
        } else {
            (depth - 1).max(1)
        }
    }
}

/// The address of the node of 2^level items that ends at `end`.
pub(crate) fn dyadic_node(level: u32, end: u64) -> u64 {
    end << 6 | u64::from(level)
}

/// First and last item of a dyadic node.
pub(crate) fn dyadic_items(node: u64) -> (u64, u64) {
    let (end, level) = (node >> 6, node & 63);
    (end - (1 << level) + 1, end)
}

impl Cover for BinaryTree {
    fn is_each_new(&self) -> bool {
        true
    }

    fn write_terms(&self, t: u64, out: &mut Vec<Term>) {
        let (mut end, mut rest) = (0, t);
        while rest > 0 {
            let level = rest.ilog2();
            end |= 1 << level;
            rest ^= 1 << level;
            out.push(Term::plus(dyadic_node(level, end)));
        }
    }

    fn items(&self, node: u64) -> (u64, u64) {
        dyadic_items(node)
    }
}

impl SumStrategy for BinaryTree {
    fn name(&self) -> String {
        "binary tree".to_owned()
    }

    fn citation(&self, noise: Noise) -> (&'static str, &'static [&'static str]) {
        match noise {
            Noise::Gaussian => ("JKT12 Theorem 11", &["J1", "S2"]),
            Noise::Laplace => ("AS17 Lemma 3.3", &["A1", "A2", "S2"]),
            Noise::L2Laplace => ("ST13 Theorem 3", &["S1", "S2", "S4"]),
        }
    }

    fn fits(&self, kind: SumKind, _: u64) -> bool {
        kind == SumKind::Tree
    }

    fn levels(&self, releases: u64, _: u32) -> Option<u32> {
        Some(Self::depth(releases))
    }

    fn has_leaves(&self) -> bool {
        true
    }

    fn variance(&self, t: u64, _: u64) -> f64 {
        t.count_ones().into()
    }

    fn nodes(&self, t: u64) -> Option<Vec<Term>> {
        Some(self.terms(t))
    }

    fn combined_variance(&self, weights: &[f64]) -> Option<f64> {
        Some(cover::combined_variance(self, weights))
    }

    fn worst_variance(&self, releases: u64) -> f64 {
        Self::most_terms(releases).into()
    }

    fn build(&self, plan: &SumPlan, streams: Streams<'_>) -> Result<Box<dyn Running>, SumError> {
        CoveredPrefix::boxed(*self, plan, streams, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_the_bit_length() {
        for (releases, depth) in [(1, 1), (2, 2), (7, 3), (8, 4), (1023, 10), (1024, 11)] {
            assert_eq!(BinaryTree::depth(releases), depth);
        }
    }

    #[test]
    fn the_newest_term_replaces_the_last_ones() {
        let mut last = Vec::new();
        for t in 1..5000_u64 {
            let terms = BinaryTree.terms(t);
            let (newest, kept) = terms.split_last().unwrap();
            assert!(last.starts_with(kept), "t = {t}");
            assert_eq!(*newest, Term::plus(dyadic_node(t.trailing_zeros(), t)));
            last = terms;
        }
    }

    #[test]
    fn most_terms_is_the_largest_digit_sum() {
        let mut most = 0;
        for n in 1..5000_u64 {
            most = most.max(n.count_ones());
            assert_eq!(BinaryTree::most_terms(n), most, "n = {n}");
        }
    }
}
