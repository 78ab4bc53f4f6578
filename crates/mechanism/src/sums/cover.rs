//! Sums of the form "exact prefix + integer noise": which noises are in release t.
//!
//! Trees, constant-weight codes, balanced k-ary digits and windows differ only in this. Each is a
//! *walk*: for every release t a set of nodes with signs ±1, such that
//!
//! 1. **cover**: the signed nodes of release t contain each item 1…t exactly once and no other
//!    item, and
//! 2. **depth**: no item lies in more than `depth` of the nodes that are ever used.
//!
//! By (1) the release S_t + Σ ±ξ(node) is what a release of noisy nodes would give, so the strategy
//! matrix is C[node, item] = 1 if the item lies in the node, with largest column norms √depth (L2)
//! and depth (L1). Node contents are never stored: the exact prefix S_t is the whole secret state,
//! and noise is a function of its address.
//!
//! **Lemma A (adaptive covers).** Let every node be complete when it is first used, and let a
//! stream choose its items from what was released before. Fix the releases; then in two worlds that
//! differ in item τ alone all other items coincide, and only noisy nodes that contain τ shift, each
//! by the same Δ: at most `depth` of them. In order of first use the conditional laws compose:
//! Gaussian μ = √depth·‖Δ‖/σ, pure ε = depth·‖Δ‖/b. If a person's items shift nodes by amounts
//! chosen along the way, what counts is the largest Σ‖shift‖² on any path (fully adaptive
//! composition of Gaussian mechanisms, Smith and Thakurta 2022), which the sensitivity of k columns
//! bounds. ∎

use hushstream_noise::{DiscreteLaplace, L2Laplace, NoiseError, RoundedGaussian, Source};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::ahead::NoiseAhead;
use super::vectors;

/// Standard deviation (Gaussian) or scale (Laplace) of all noise, in lattice units: privacy sets
/// the scale of the data instead.
pub(crate) const NOISE_SCALE: u64 = 1 << 30;

/// The distribution of a node's noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Noise {
    /// Rounded normal; Gaussian differential privacy.
    Gaussian,
    /// Discrete Laplace on every coordinate; pure differential privacy for L1-bounded items.
    Laplace,
    /// Density ∝ e^(−‖v‖₂/c), rounded; pure differential privacy for L2-bounded items.
    L2Laplace,
}

impl Noise {
    /// Whether the guarantee has δ = 0 (up to the sampler's slack).
    #[must_use]
    pub fn is_pure(self) -> bool {
        self != Self::Gaussian
    }

    /// Variance of one coordinate of one node in units of its squared scale.
    #[must_use]
    pub fn variance(self, dimension: u32) -> f64 {
        match self {
            Self::Gaussian => 1.0,
            Self::Laplace => 2.0,
            // E‖v‖² = d(d+1)c², shared by d coordinates.
            Self::L2Laplace => f64::from(dimension) + 1.0,
        }
    }

    /// Total-variation slack of one coordinate's draw.
    #[must_use]
    pub fn slack(self) -> f64 {
        match self {
            Self::Gaussian => RoundedGaussian::SLACK,
            Self::Laplace => DiscreteLaplace::SLACK,
            Self::L2Laplace => L2Laplace::SLACK,
        }
    }
}

impl std::fmt::Display for Noise {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Gaussian => "Gaussian",
            Self::Laplace => "Laplace",
            Self::L2Laplace => "L2-Laplace",
        })
    }
}

/// Draws node noise of one shape and dimension.
pub(crate) struct Draws {
    law: Law,
    source: Arc<Source>,
    buffer: Vec<i64>,
}

#[derive(Clone, Copy)]
enum Law {
    Gaussian(RoundedGaussian),
    Laplace(DiscreteLaplace),
    L2Laplace(L2Laplace),
}

impl Draws {
    pub(crate) fn new(noise: Noise, dimension: u32, source: Source) -> Result<Self, NoiseError> {
        let law = match noise {
            Noise::Gaussian => Law::Gaussian(RoundedGaussian::STANDARD),
            Noise::Laplace => Law::Laplace(DiscreteLaplace::new(NOISE_SCALE)?),
            Noise::L2Laplace => Law::L2Laplace(L2Laplace::new(dimension, NOISE_SCALE)?),
        };
        Ok(Self {
            law,
            source: Arc::new(source),
            buffer: vec![0; dimension as usize],
        })
    }

    pub(crate) fn dimension(&self) -> usize {
        self.buffer.len()
    }

    /// The noise of a node: a function of the node.
    pub(crate) fn node(&mut self, node: u64) -> &[i64] {
        self.law.fill(&self.source, node, &mut self.buffer);
        &self.buffer
    }

    /// Draws ahead the noises of the steps that `node_of` names.
    fn ahead(
        &self,
        from: u64,
        last: u64,
        is_each_new: bool,
        mut node_of: impl FnMut(u64) -> Option<u64> + Clone + Send + 'static,
    ) -> Option<NoiseAhead> {
        let (law, source) = (self.law, Arc::clone(&self.source));
        let (dimension, mut nodes) = (self.dimension(), Vec::new());
        // Coordinates of Gaussian noise are independent and come in pairs: one extra may be drawn.
        let stride = match law {
            Law::Gaussian(_) => dimension.next_multiple_of(2),
            Law::Laplace(_) | Law::L2Laplace(_) => dimension,
        };
        // If a step may need no new noise, or the distribution gains nothing from many nodes at a
        // time, only a free core makes it worth the effort.
        let worth_it = is_each_new && matches!(law, Law::Gaussian(_));
        NoiseAhead::start(
            (dimension, stride),
            from,
            last,
            worth_it,
            move |first, out| {
                let steps = (first..).take(out.len() / stride.max(1));
                nodes.clear();
                nodes.extend(steps.map(|t| node_of(t).expect("every release has a term")));
                law.fill_nodes(&source, &nodes, out);
            },
        )
    }
}

impl Law {
    /// The noises of several nodes, one after the other.
    fn fill_nodes(self, source: &Source, nodes: &[u64], out: &mut [i64]) {
        if let Self::Gaussian(law) = self {
            return law.fill_nodes(source, nodes, out);
        }
        let dimension = out.len() / nodes.len().max(1);
        for (node, out) in nodes.iter().zip(out.chunks_exact_mut(dimension.max(1))) {
            self.fill(source, *node, out);
        }
    }

    fn fill(self, source: &Source, node: u64, out: &mut [i64]) {
        match self {
            Self::Gaussian(law) => law.fill(source, node, 0, out),
            Self::Laplace(law) => law.fill(source, node, 0, out),
            Self::L2Laplace(law) => law.fill(source, node, 0, out),
        }
    }
}

/// A signed node of a cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Term {
    /// The node's address.
    pub node: u64,
    /// +1 or −1.
    pub sign: i8,
}

impl Term {
    pub(crate) fn plus(node: u64) -> Self {
        Self { node, sign: 1 }
    }
}

/// The variance of Σ_t weights[t−1] · (release t), in units of one node's noise: every node has a
/// noise of its own, which counts with the weights of all releases that it is in.
pub(crate) fn combined_variance(cover: &impl Cover, weights: &[f64]) -> f64 {
    // In the order of nodes: a sum of floats must be the same in every process.
    let mut of_nodes = std::collections::BTreeMap::new();
    for (t, weight) in (1..).zip(weights) {
        for term in cover.terms(t) {
            *of_nodes.entry(term.node).or_insert(0.0) += weight * f64::from(term.sign);
        }
    }
    of_nodes.values().map(|weight: &f64| weight * weight).sum()
}

/// The nodes that cover 1…t.
///
/// ```
/// use hushstream_mechanism::sums::{BinaryTree, Cover};
///
/// let nodes = BinaryTree.terms(6).into_iter();
/// let items: Vec<_> = nodes.map(|term| BinaryTree.items(term.node)).collect();
/// assert_eq!(items, [(1, 4), (5, 6)]); // six items are covered by two nodes
/// ```
pub trait Cover {
    /// Appends the signed nodes of release `t` ≥ 1 to `out`, those that change most often last.
    fn write_terms(&self, t: u64, out: &mut Vec<Term>);

    /// The signed nodes of release `t` ≥ 1, those that change most often last.
    fn terms(&self, t: u64) -> Vec<Term> {
        let mut terms = Vec::new();
        self.write_terms(t, &mut terms);
        terms
    }

    /// Whether the last term of every release is a new node.
    fn is_each_new(&self) -> bool {
        false
    }

    /// First and last item of a node, for checks of cover and depth.
    fn items(&self, node: u64) -> (u64, u64);
}

/// The integer noise of release t, updated as t advances.
///
/// Consecutive covers share all but their last few terms. The walk keeps the running totals of the
/// current terms in order; a step drops the terms that changed and adds the new ones: one draw per
/// step for the binary tree.
pub(crate) struct Walk<C> {
    cover: C,
    draws: Draws,
    /// The noise of each step's last term, if drawn ahead.
    ahead: Option<NoiseAhead>,
    terms: Vec<Term>,
    /// Buffer for the terms of the next release.
    next: Vec<Term>,
    /// totals[i] is the noise of terms[..=i].
    totals: Vec<Vec<i64>>,
    spare: Vec<Vec<i64>>,
    zero: Vec<i64>,
}

impl<C: Cover> Walk<C> {
    pub(crate) fn new(cover: C, draws: Draws) -> Self {
        let zero = vec![0; draws.buffer.len()];
        Self {
            cover,
            draws,
            ahead: None,
            terms: Vec::new(),
            next: Vec::new(),
            totals: Vec::new(),
            spare: Vec::new(),
            zero,
        }
    }

    /// The noise of release `t` and the number of its terms; any t may follow any other. Nothing
    /// wraps: a cover has fewer than 2⁸ terms, each below 2⁵⁵.
    pub(crate) fn at(&mut self, t: u64) -> (&[i64], usize) {
        self.next.clear();
        self.cover.write_terms(t, &mut self.next);
        let same = self.next.iter().zip(&self.terms);
        let kept = same.take_while(|(a, b)| a == b).count();
        std::mem::swap(&mut self.terms, &mut self.next);
        self.spare.extend(self.totals.drain(kept..));
        let count = self.terms.len();
        for (place, term) in self.terms.iter().enumerate().skip(kept) {
            let mut total = self.spare.pop().unwrap_or_else(|| self.zero.clone());
            let above = self.totals.last().unwrap_or(&self.zero);
            let ahead = self.ahead.as_mut().filter(|_| place + 1 == count);
            let noise = match ahead.and_then(|ahead| ahead.at(t)) {
                Some(noise) => noise,
                None => self.draws.node(term.node),
            };
            vectors::add_noise(&mut total, above, noise, term.sign);
            self.totals.push(total);
        }
        (self.totals.last().unwrap_or(&self.zero), count)
    }

    /// Draws ahead the last term of steps `from` to `last`: the only noise that a step of the
    /// binary tree draws.
    pub(crate) fn draw_ahead(&mut self, from: u64, last: u64)
    where
        C: Copy + Send + 'static,
    {
        let cover = self.cover;
        let mut terms = Vec::new();
        let node_of = move |t| {
            terms.clear();
            cover.write_terms(t, &mut terms);
            terms.last().map(|term: &Term| term.node)
        };
        self.ahead = self.draws.ahead(from, last, cover.is_each_new(), node_of);
    }
}
