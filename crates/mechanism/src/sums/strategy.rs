//! What a sum is, before any data and any budget: how often it counts an item, how much noise a
//! release carries, and which noises it draws. Each sum implements [`SumStrategy`] in its own file.

use super::Strategy;
use super::SumKind;
use super::blt::BltError;
use super::cover::{Draws, Noise, Term};
use super::error::SumError;
use super::plan::{PlanError, SumPlan, SumRequest};
use super::running::Running;
use crate::mechanism::Generators;
use crate::persons::Participation;

/// What is known of a kind of sum without its parameters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About {
    /// As written on a command line.
    pub(crate) name: &'static str,
    /// Why it cannot carry this noise, if it cannot.
    pub(crate) refuses: fn(Noise) -> Option<&'static str>,
    /// Whether the noise of every release has the same law.
    pub(crate) one_law: bool,
    /// The most releases that can be planned.
    pub(crate) most_releases: u64,
}

impl About {
    /// A sum that carries every noise.
    pub(crate) const fn any_noise(name: &'static str) -> Self {
        Self {
            name,
            refuses: |_| None,
            one_law: false,
            most_releases: 1 << 44,
        }
    }
}

/// A sum with its parameters.
pub(crate) trait SumStrategy {
    /// Its name, for people.
    fn name(&self) -> String;

    /// The paper, and the errata that are corrected.
    fn citation(&self, noise: Noise) -> (&'static str, &'static [&'static str]);

    /// Whether the parameters are of this kind and reach n releases. Files are not trusted.
    fn fits(&self, kind: SumKind, releases: u64) -> bool;

    /// The largest number of nodes that contain an item; for octaves, in octave `octave`. `None`
    /// for filters.
    fn levels(&self, releases: u64, octave: u32) -> Option<u32>;

    /// Whether two different items share at most depth − 1 nodes, never a leaf.
    fn has_leaves(&self) -> bool {
        false
    }

    /// How far one unit of change in a person's items moves the nodes or rows, rounded up: L2 over
    /// all of them for Gaussian noise, L1 for pure noise.
    ///
    /// For one participation √depth and depth. For k of them: pure noise adds up to k·depth. For
    /// Gaussian noise over a tree with leaves, two different items share at most depth − 1 nodes,
    /// so the squared norm of k columns is at most k·depth + k(k−1)(depth−1) = k²(depth−1) + k; in
    /// octaves for each of them, and `octave.rs` proves that this covers items in several;
    /// elsewhere k·√depth by the triangle inequality. Filters have their own closed forms.
    fn sensitivity(
        &self,
        noise: Noise,
        releases: u64,
        octave: u32,
        participation: Participation,
    ) -> Result<f64, BltError> {
        let depth = f64::from(self.levels(releases, octave).unwrap_or(0));
        let most = participation.limits().0 as f64;
        let exact = if noise.is_pure() {
            most * depth
        } else if self.has_leaves() {
            (most * depth + most * (most - 1.0) * (depth - 1.0)).sqrt()
        } else {
            most * depth.sqrt()
        };
        // The errors of a square root and a few products of small integers are below two units in
        // the last place.
        Ok(exact.next_up().next_up())
    }

    /// Variance of release t, in units of one node's noise. For sums that begin anew see the plan,
    /// where scales differ.
    fn variance(&self, t: u64, releases: u64) -> f64;

    /// For sums that begin anew: the variance that a part's own noise has in its release `place`,
    /// in units of that noise.
    fn variance_in(&self, part: u32, place: u64) -> f64 {
        let _ = part;
        self.variance(place, place)
    }

    /// The same in release `place` less the one `items` ≤ `place` before it, where it is known.
    fn difference_in(&self, part: u32, place: u64, items: u64) -> Option<f64> {
        let _ = (part, place, items);
        None
    }

    /// Variance of Σ_t weights[t−1] · (release t), in units of one node's noise; `None` where only
    /// the triangle inequality bounds it.
    fn combined_variance(&self, weights: &[f64]) -> Option<f64> {
        let _ = weights;
        None
    }

    /// b, for sums whose release t is Σ_j b_{t−j} · (the noise of item j), in units of one node's
    /// noise; in each part that begins anew.
    fn response(&self, part: u32) -> Option<Box<dyn Fn(u64) -> f64 + Send>> {
        let _ = part;
        None
    }

    /// The signed nodes whose noises are the noise of release t, for covers.
    fn nodes(&self, t: u64) -> Option<Vec<Term>> {
        let _ = t;
        None
    }

    /// The largest variance of a release.
    fn worst_variance(&self, releases: u64) -> f64;

    /// Vectors of the model's dimension, in words of 64 bits, held while it runs: exact state,
    /// noise, decoder and release.
    fn vectors(&self, releases: u64) -> u64 {
        // One exact sum, totals of noise, the noise being drawn, the item, the release.
        self.worst_variance(releases).ceil() as u64 + 4
    }

    /// The draws in a coordinate that a person with k items affects.
    fn draws_of_a_person(&self, releases: u64, items: f64) -> f64 {
        let depth = self.levels(releases, releases.ilog2());
        depth.map_or(0.0, f64::from) * items
    }

    /// Items that an exact sum holds.
    fn exact_items(&self, releases: u64) -> u64 {
        releases
    }

    /// How many parts its items are cut into, each with a lattice of its own; of octaves, the first
    /// alone.
    fn parts(&self) -> u32 {
        1
    }

    /// The part of an item, octave or era: the lattice that it is on.
    fn part(&self, item: u64) -> u32 {
        let _ = item;
        0
    }

    /// The variance of every release, in units of the first part's noise, if items have several
    /// parts. `scales` are the units of their lattices, in that of the first.
    fn scaled_variances(&self, scales: &[f64], releases: u64) -> Option<Vec<f64>> {
        let _ = (scales, releases);
        None
    }

    /// The same for Σ_t weights[t−1] · (release t).
    fn scaled_combination(&self, scales: &[f64], weights: &[f64]) -> Option<f64> {
        let _ = scales;
        self.combined_variance(weights)
    }

    /// Whether its state is all of its items: a checkpoint would be longer than they are.
    fn keeps_items(&self) -> bool {
        false
    }

    /// Whether every part begins anew, as a mechanism of its own, so that the horizon need not be
    /// known.
    fn restarts(&self) -> bool {
        false
    }

    /// For sums that begin anew: the first item of a part.
    fn first(&self, part: u32) -> u64 {
        let _ = part;
        1
    }

    /// The largest number of releases of a plan for so many.
    fn most_releases(&self, releases: u64, largest_item: u128) -> u64 {
        let _ = largest_item;
        releases
    }

    /// For sums that begin anew: releases among which the worst is, of so many.
    fn worst_releases(&self, releases: u64) -> Vec<u64> {
        (1..=releases).collect()
    }

    /// Filters only: the same with integers for items of the plan's radius, whose floors cost a
    /// small share of `room`.
    fn laid_out(&self, plan: &SumPlan, room: f64) -> Result<Option<Strategy>, PlanError> {
        let _ = (plan, room);
        Ok(None)
    }

    /// The distance that the floors of fixed-point rows add to two runs that differ in this part,
    /// in lattice units.
    fn inflation(&self, request: &SumRequest, part: u32) -> f64 {
        let _ = (request, part);
        0.0
    }

    /// The running sum. It draws from the streams of [`Streams`].
    fn build(&self, plan: &SumPlan, streams: Streams<'_>) -> Result<Box<dyn Running>, SumError>;
}

/// The generators of a sum: its own, one for padding, and one for each octave or era.
#[derive(Clone, Copy)]
pub(crate) struct Streams<'a> {
    request: &'a SumRequest,
    pub(crate) generators: Generators<'a>,
}

impl Streams<'_> {
    pub(crate) const MAIN: u64 = 0;
    pub(crate) const PADDING: u64 = 1;
    pub(crate) const OCTAVES: u64 = 2;

    /// The draws of a stream.
    pub(crate) fn draws(self, stream: u64) -> Result<Draws, SumError> {
        let source = self.generators.source(stream);
        let request = self.request;
        Ok(Draws::new(request.noise, request.dimension, source)?)
    }
}

impl SumPlan {
    /// The running sum.
    pub(super) fn build(&self, generators: Generators<'_>) -> Result<Box<dyn Running>, SumError> {
        let streams = Streams {
            request: self.request(),
            generators,
        };
        self.fields.strategy.build(self, streams)
    }
}
