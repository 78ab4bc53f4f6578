//! The window tree (WDP20): an item is protected in the W releases after it arrives, and only
//! there.
//!
//! **Claim.** Among the nodes used in the releases τ…τ+W−1, item τ lies in at most bit_length(W).
//!
//! **Cover.** Release t is the exact sum plus the noises of the maximal aligned dyadic nodes of
//! (t−W, t]. Items up to t−W are in no node: they have entered the clean sum, τ at time τ+W
//! exactly. Nodes are aligned on the absolute grid and no longer than W, so they never cross the
//! blocks of 2^⌈log₂W⌉ items.
//!
//! **Why bit_length(W)** (erratum W6; brute-forced for every W ≤ 130). A node of level j contains τ
//! in at most one copy, and a node of 2ʲ ≤ W items is the largest that fits: ⌊log₂W⌋ + 1 levels. ∎
//!
//! **What it does not promise** (erratum W7). From τ+W on the item is in the clear part of every
//! release: two streams that differ in it differ in those releases by exactly the difference. The
//! transcript as a whole is *not* private; the guarantee has its own type.

use super::SumKind;
use super::cover::{Cover, Noise, Term};
use super::error::SumError;
use super::plan::SumPlan;
use super::running::{CoveredPrefix, Running};
use super::strategy::{About, Streams, SumStrategy};
use super::tree::{dyadic_items, dyadic_node};
use serde::{Deserialize, Serialize};

/// Dyadic nodes of the last `width` items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// W.
    pub width: u64,
}

impl Window {
    /// The largest number of nodes an item lies in while it is protected.
    #[must_use]
    pub fn depth(self, releases: u64) -> u32 {
        self.width.min(releases).max(1).ilog2() + 1
    }

    /// A bound on the number of noises in one of the releases 1…n: two runs of levels below the
    /// largest node's, which may stand twice; a full binary expansion while the window is not yet
    /// full.
    #[must_use]
    pub fn most_terms(self, releases: u64) -> u32 {
        // Covers repeat with the window's block once it is full: try every alignment for small
        // windows.
        let depth = self.depth(releases);
        if releases <= self.width {
            return super::tree::BinaryTree::most_terms(releases);
        }
        let block = self.width.next_power_of_two();
        if block <= 1 << 12 {
            let end = releases.min(3 * block);
            (1..=end)
                .map(|t| self.terms(t).len() as u32)
                .max()
                .unwrap_or(1)
        } else {
            2 * depth
        }
    }
}

impl Cover for Window {
    fn write_terms(&self, t: u64, out: &mut Vec<Term>) {
        let mut start = t.saturating_sub(self.width);
        let first = out.len();
        while start < t {
            // The largest node that starts at `start`, aligned, and ends by t.
            let fits = (t - start).ilog2();
            let aligned = if start == 0 {
                63
            } else {
                start.trailing_zeros()
            };
            let level = fits.min(aligned);
            start += 1 << level;
            out.push(Term::plus(dyadic_node(level, start)));
        }
        // Large nodes last longest: put them first, so that a walk keeps their totals.
        out[first..].sort_by_key(|term| std::cmp::Reverse(term.node & 63));
    }

    fn items(&self, node: u64) -> (u64, u64) {
        dyadic_items(node)
    }
}

pub(crate) const ABOUT: About = About::any_noise("window");

impl SumStrategy for Window {
    fn name(&self) -> String {
        format!("window tree of {} items", self.width)
    }

    fn citation(&self, _: Noise) -> (&'static str, &'static [&'static str]) {
        ("WDP20 Lemma 3", &["W1", "W6", "W7"])
    }

    fn fits(&self, kind: SumKind, _: u64) -> bool {
        kind == SumKind::Window(self.width)
    }

    fn levels(&self, releases: u64, _: u32) -> Option<u32> {
        Some(Self::depth(*self, releases))
    }

    fn variance(&self, t: u64, _: u64) -> f64 {
        self.terms(t).len() as f64
    }

    fn worst_variance(&self, releases: u64) -> f64 {
        self.most_terms(releases).into()
    }

    fn build(&self, plan: &SumPlan, streams: Streams<'_>) -> Result<Box<dyn Running>, SumError> {
        CoveredPrefix::boxed(*self, plan, streams, None)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::BinaryTree;
    use super::*;
    use std::collections::{HashMap, HashSet};

    #[test]
    fn a_wide_window_is_the_tree() {
        let window = Window { width: 1000 };
        for t in 1..=1000 {
            assert_eq!(window.terms(t), BinaryTree.terms(t));
        }
    }

    #[test]
    fn depth_by_brute_force() {
        for width in 1..=130 {
            let window = Window { width };
            let releases = 4 * width.next_power_of_two();
            let mut nodes: HashMap<u64, HashSet<u64>> = HashMap::new();
            for t in 1..=releases {
                let mut covered = Vec::new();
                for term in window.terms(t) {
                    let (first, last) = window.items(term.node);
                    covered.extend(first..=last);
                    for item in first..=last {
                        nodes.entry(item).or_default().insert(term.node);
                    }
                }
                covered.sort_unstable();
                let expected: Vec<u64> = (t.saturating_sub(width) + 1..=t).collect();
                assert_eq!(
                    covered, expected,
                    "every item of the window once, none outside"
                );
            }
            let deepest = nodes.values().map(HashSet::len).max().unwrap();
            assert_eq!(deepest as u32, window.depth(releases), "W = {width}");
        }
    }

    #[test]
    fn the_bound_on_terms_holds_for_wide_windows() {
        let window = Window { width: 5000 };
        let most = (1..40_000).map(|t| window.terms(t).len()).max().unwrap();
        assert!(most as u32 <= window.most_terms(40_000));
    }
}
