//! Unknown horizon: a fresh binary tree for every power of two (JKT12 Algorithm 7, with erratum
//! J14).
//!
//! **Claim.** With noise for depth m + 1 in octave m, the whole infinite sequence of releases has
//! the budget's guarantee.
//!
//! **Proof for this code path.** Octave m holds the items 2ᵐ…2ᵐ⁺¹−1, as 2ᵐ releases of a binary
//! tree of depth bit_length(2ᵐ) = m + 1, on a lattice whose radius is calibrated for that depth.
//! Release t is the sum of the past octaves' last releases, each a single node (the root), plus the
//! current tree's release: post-processing of the trees. An item lies in one octave, so for single
//! items the octaves' guarantees hold side by side and do not add up; streams may react to
//! releases, as in each tree. ∎
//!
//! **Persons with up to k items** may have k_m of them in octave m, Σ k_m ≤ k, and octaves then do
//! add up. Every octave is calibrated for k items at the full budget: with h = m + 1 levels and
//! s(k, h)² = k²(h−1) + k (`strategy.rs`), its radius R_m satisfies κ·R_m·s(k, h) ≤ μ·2³⁰ (pure
//! noise: κ·R_m·kh ≤ ε·2³⁰). *Claim*: all octaves together stay within the budget. *Proof.* k_m
//! items move the nodes of octave m by at most κ·R_m·s(k_m, h), that is, the octave spends at most
//! μ²·s(k_m, h)²/s(k, h)² of μ², and
//!
//! s(k_m, h)²/s(k, h)² = (k_m/k)·(k_m(h−1) + 1)/(k(h−1) + 1) ≤ k_m/k, since k_m ≤ k.
//!
//! Shifts of independent Gaussian noises add up in squares, so the octaves spend at most μ²·Σ k_m/k
//! ≤ μ². Pure noise: octave m spends at most ε·k_m·h/(kh) = ε·k_m/k, and these add up to at most ε.
//! That k_m may depend on earlier releases changes nothing: the sum of all k_m is at most k on
//! every path. ∎ (`tests/strategies/sensitivity.rs` tries all
//! sets of items in the first octaves.)
//!
//! **Error.** √(Σ_{m'<m} σ²_{m'} + popcount·σ²_m). **State.** The exact sum of the current octave,
//! the public sum of past roots.

use super::SumKind;
use super::cover::{Draws, Noise};
use super::error::SumError;
use super::plan::{PlanError, SumPlan};
use super::running::{CoveredPrefix, Running, State, StateError};
use super::strategy::{About, Streams, SumStrategy};
use super::tree::BinaryTree;
use hushstream_noise::Source;
use serde::{Deserialize, Serialize};

/// A tree for every power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OctaveTrees;

pub(crate) const ABOUT: About = About::any_noise("octave");

impl SumStrategy for OctaveTrees {
    fn name(&self) -> String {
        "binary tree for each octave".to_owned()
    }

    fn citation(&self, _: Noise) -> (&'static str, &'static [&'static str]) {
        ("JKT12 Algorithm 7", &["J1", "J14"])
    }

    fn fits(&self, kind: SumKind, _: u64) -> bool {
        kind == SumKind::Octave
    }

    fn levels(&self, _: u64, octave: u32) -> Option<u32> {
        Some(octave + 1)
    }

    fn has_leaves(&self) -> bool {
        true
    }

    fn variance(&self, t: u64, _: u64) -> f64 {
        t.count_ones().into()
    }

    fn worst_variance(&self, releases: u64) -> f64 {
        BinaryTree::most_terms(releases).into()
    }

    fn draws_of_a_person(&self, _: u64, items: f64) -> f64 {
        64.0 * items
    }

    fn restarts(&self) -> bool {
        true
    }

    fn part(&self, item: u64) -> u32 {
        item.max(1).ilog2()
    }

    fn first(&self, octave: u32) -> u64 {
        1 << octave
    }

    /// As many complete octaves as the exact sums have room for.
    fn most_releases(&self, _: u64, largest_item: u128) -> u64 {
        let items = (1_u128 << 61) / largest_item;
        (1_u64 << (items.max(1).ilog2() + 1).min(44)) - 1
    }

    /// Within an octave the worst place is the one with most digits; the last two octaves hold the
    /// worst of all.
    fn worst_releases(&self, releases: u64) -> Vec<u64> {
        let (octave, place) = Octaves::place(releases);
        let most = (0..=place.ilog2()).map(|level| (1_u64 << level << 1) - 1);
        let here = most.filter(|&most| most <= place).chain([place]);
        let before = (octave > 0).then(|| (1 << octave) - 2 + u64::from(octave == 1));
        here.map(|place| (1 << octave) + place - 1)
            .chain(before)
            .collect()
    }

    fn build(&self, plan: &SumPlan, streams: Streams<'_>) -> Result<Box<dyn Running>, SumError> {
        let octaves = u64::from(plan.most_releases().ilog2()) + 1;
        let sources = (0..octaves)
            .map(|octave| streams.generators.source(Streams::OCTAVES + octave))
            .collect();
        Ok(Box::new(Octaves::new(plan.clone(), sources)))
    }
}

/// The running mechanism.
pub(crate) struct Octaves {
    plan: SumPlan,
    /// One generator for each octave, taken when it begins.
    sources: Vec<Option<Source>>,
    past: Vec<f64>,
    current: Option<CoveredPrefix<BinaryTree>>,
}

impl Octaves {
    pub(crate) fn new(plan: SumPlan, sources: Vec<Source>) -> Self {
        Self {
            past: vec![0.0; plan.request().dimension as usize],
            plan,
            sources: sources.into_iter().map(Some).collect(),
            current: None,
        }
    }

    /// The octave of item t and its place in it, from 1.
    fn place(t: u64) -> (u32, u64) {
        let octave = t.ilog2();
        (octave, t - (1 << octave) + 1)
    }

    fn tree(&mut self, octave: u32) -> Result<CoveredPrefix<BinaryTree>, StateError> {
        let lattice = self
            .plan
            .lattice(octave)
            .map_err(|_: PlanError| StateError)?;
        let source = self
            .sources
            .get_mut(octave as usize)
            .and_then(Option::take)
            .ok_or(StateError)?;
        let request = self.plan.request();
        let noise: Noise = request.noise;
        let draws = Draws::new(noise, request.dimension, source).map_err(|_| StateError)?;
        Ok(CoveredPrefix::new(BinaryTree, draws, None, lattice.unit()))
    }
}

impl Running for Octaves {
    fn step(&mut self, t: u64, item: &[i64], out: &mut [f64]) {
        let (octave, place) = Self::place(t);
        if place == 1 {
            if let Some(finished) = &mut self.current {
                finished.last(1 << (octave - 1), out);
                for (past, root) in self.past.iter_mut().zip(out.iter()) {
                    *past += root;
                }
            }
            let fresh = self.tree(octave);
            self.current =
                Some(fresh.expect("the plan's last octave bounds t, and each begins once"));
        }
        if let Some(tree) = &mut self.current {
            tree.step(place, item, out);
        }
        for (out, past) in out.iter_mut().zip(&self.past) {
            *out += past;
        }
    }

    fn last(&mut self, t: u64, out: &mut [f64]) {
        out.fill(0.0);
        if let (Some(tree), true) = (&mut self.current, t > 0) {
            tree.last(Self::place(t).1, out);
        }
        for (out, past) in out.iter_mut().zip(&self.past) {
            *out += past;
        }
    }

    fn state(&self) -> State {
        State {
            integers: self
                .current
                .as_ref()
                .map(|tree| tree.state().integers)
                .unwrap_or_default(),
            floats: self.past.clone(),
        }
    }

    fn restore(&mut self, t: u64, state: &State) -> Result<(), StateError> {
        let dimension = self.past.len();
        if t == 0 {
            return state.check(0, dimension);
        }
        state.check(dimension, dimension)?;
        let (octave, place) = Self::place(t);
        let mut tree = self.tree(octave)?;
        let integers = state.integers.clone();
        tree.restore(
            place,
            &State {
                integers,
                floats: Vec::new(),
            },
        )?;
        self.current = Some(tree);
        self.past.copy_from_slice(&state.floats);
        Ok(())
    }
}
