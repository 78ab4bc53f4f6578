//! The noise of what is computed from several releases: of the last few items, or of items that
//! fade.
//!
//! Releases share most of their noise, so the difference of two has far less than both together. A
//! view of release t is linear in releases 1…t. Sums whose release t is Σ_j b_{t−j}·(noise of item
//! j) turn it into Σ_j h_{t−j}·(noise of item j) with the response h of the view to b, and its
//! variance is a running sum of h². Covers have their nodes: each counts with the weights of the
//! releases that it is in. Eras have a response each, and their noises are independent; an era that
//! has ended is in later releases with its last one. For every other sum the deviations are added,
//! which is a bound.
//!
//! **After a new instance** a release is R = B + Q: the base B, which is the last known release of
//! earlier instances, and the instance's own release Q, whose noise is independent of all before.
//! - Total: the variances of B and Q add up.
//! - The last k items: from own release k on, B cancels out. Before, the view is Q + B − R' with an
//!   earlier release R', and the deviation of B − R' is at most the sum of both.
//! - Items that fade by f: the view is that of Q, and at most f^t times the view F of earlier
//!   instances. F is B − (1 − f)·Σ f^i·(the i-th release before B), so its deviation is at most
//!   that of B and the largest of a release together.

use super::cover::Noise;
use super::plan::SumPlan;
use super::tree::BinaryTree;
use super::{Cover, PrivateSum, Term};
use crate::boundary::GuaranteeKind;
use std::collections::{BTreeMap, VecDeque};

/// What is computed from the releases up to release t.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum View {
    /// Release t: everything since the beginning.
    Total,
    /// The last so many items: release t less an earlier one.
    Last(u64),
    /// Every item counts for so much (0 to 1) of the one after it.
    Fading(f64),
}

/// The noise of one coordinate of a view.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ViewNoise {
    /// Its standard deviation, in the units of the data.
    pub sd: f64,
    /// Its excess kurtosis, at most: 0 for Gaussian noise.
    pub kurtosis: f64,
}

/// The noise of a view at release 1, 2, …
pub struct ViewNoises {
    plan: SumPlan,
    inherited: Inherited,
    view: View,
    t: u64,
    law: Law,
}

/// The noise that the releases of an instance have from earlier ones.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Inherited {
    /// The variance of a coordinate of the base.
    variance: f64,
    /// How many instances came before.
    pub(super) instances: u32,
}

impl Inherited {
    /// What the successor of an instance inherits that ended after so many items.
    pub(super) fn with(self, plan: &SumPlan, items: u64) -> Self {
        let own = if items == 0 {
            0.0
        } else {
            plan.prefix_sd(items)
        };
        Self {
            variance: self.variance + own * own,
            instances: self.instances + 1,
        }
    }

    /// A base as it is stored, with its noise.
    pub(super) fn after(self, base: &[f64]) -> Vec<f64> {
        let noise = [self.variance, f64::from(self.instances)];
        let noise = noise.iter().take(2 * usize::from(!base.is_empty()));
        base.iter().chain(noise).copied().collect()
    }

    /// The base and its noise, if they are of a sum of this dimension. Earlier versions stored the
    /// base alone: its noise is then at most the largest of one instance.
    pub(super) fn split(
        mut base: Vec<f64>,
        dimension: usize,
        plan: &SumPlan,
    ) -> Option<(Vec<f64>, Self)> {
        if base.is_empty() {
            return Some((base, Self::default()));
        }
        let inherited = match base.get(dimension..)? {
            [] => Self {
                variance: plan.prefix_sd_max().powi(2),
                instances: 1,
            },
            &[variance, instances] if variance >= 0.0 && instances >= 1.0 => Self {
                variance,
                instances: instances as u32,
            },
            _ => return None,
        };
        base.truncate(dimension);
        Some((base, inherited))
    }

    /// The variance that a view has from earlier instances, at most, after own release t.
    fn in_view(self, view: View, t: u64, plan: &SumPlan) -> f64 {
        // Of any earlier release, and of the base.
        let largest = f64::from(self.instances).sqrt() * plan.prefix_sd_max();
        let both = (self.variance.sqrt() + largest).powi(2);
        match view {
            _ if self.instances == 0 => 0.0,
            View::Total => self.variance,
            View::Last(items) if t >= items => 0.0,
            View::Last(_) => both,
            View::Fading(factor) => both * factor.powf(2.0 * t as f64),
        }
    }
}

enum Law {
    /// b, and what the response needs of its past: the last values of b, the last of h, Σ h².
    Response {
        b: Box<dyn Fn(u64) -> f64 + Send>,
        past: VecDeque<f64>,
        last: f64,
        squares: f64,
    },
    /// Eras; for fading items: the response of the present one.
    Eras(Fading),
    /// For fading items: the weight of every node so far.
    Nodes(Nodes),
    /// For fading items: the bound at the last release.
    Bound(f64),
}

/// Fading items of eras: what the response of the present one needs of its past, and the variance
/// of those before.
#[derive(Default)]
struct Fading {
    b: Option<Box<dyn Fn(u64) -> f64 + Send>>,
    before: f64,
    last: f64,
    squares: f64,
    here: f64,
    ended: f64,
}

impl Fading {
    /// The variance at release t, if the last call was for the one before.
    fn at(&mut self, plan: &SumPlan, t: u64, factor: f64) -> f64 {
        let (part, place) = plan.place_in_part(t);
        if place == 1 {
            let b = plan.fields.strategy.response(part);
            let ended = self.ended + self.here;
            *self = Self {
                b,
                ended,
                ..Self::default()
            };
        }
        let now = self.b.as_ref().map_or(f64::NAN, |b| b(place - 1));
        self.last = factor * self.last + now - self.before;
        self.before = now;
        self.squares += self.last * self.last;
        self.ended *= factor * factor;
        self.here = self.squares * plan.sigma_in(part).powi(2);
        self.here + self.ended
    }
}

impl SumPlan {
    /// The octave or era of release t, and its place there, from 1.
    fn place_in_part(&self, t: u64) -> (u32, u64) {
        let strategy = &self.fields.strategy;
        let part = strategy.part(t);
        (part, t - strategy.first(part) + 1)
    }

    /// The variance of release t less the one so many before, for eras.
    fn variance_of_last(&self, t: u64, items: u64) -> f64 {
        let all = || self.prefix_sd(t).powi(2);
        let Some(from @ 1..) = t.checked_sub(items) else {
            return all();
        };
        let strategy = &self.fields.strategy;
        let ((part, place), (first, start)) = (self.place_in_part(t), self.place_in_part(from));
        let last = if first == part {
            place
        } else {
            strategy.first(first + 1) - strategy.first(first)
        };
        let difference = strategy.difference_in(first, last, last - start);
        let rest = difference.unwrap_or(f64::NAN) * self.sigma_in(first).powi(2);
        if first == part {
            return rest;
        }
        // What is left of the era where the items begin, and all that came after it.
        rest + all() - self.prefix_sd(strategy.first(first + 1) - 1).powi(2)
    }

    /// The noise of a view at every release, exact for most sums and never understated.
    #[must_use]
    pub fn noise_of(&self, view: View) -> ViewNoises {
        let strategy = &self.fields.strategy;
        let law = if let Some(b) = strategy.response(0) {
            if strategy.restarts() {
                Law::Eras(Fading::default())
            } else {
                Law::Response {
                    b,
                    past: VecDeque::new(),
                    last: 0.0,
                    squares: 0.0,
                }
            }
        } else if self.weights(1).is_some() {
            Law::Nodes(BTreeMap::new())
        } else {
            Law::Bound(0.0)
        };
        ViewNoises {
            plan: self.clone(),
            inherited: Inherited::default(),
            view,
            t: 0,
            law,
        }
    }

    /// The nodes of release t with their weights in the units of the data, for covers.
    fn weights(&self, t: u64) -> Option<Vec<((u32, u64), f64)>> {
        let strategy = &self.fields.strategy;
        let of = |octave: u32, terms: Vec<Term>| {
            let sigma = self.sigma_in(octave);
            let weight = move |term: Term| ((octave, term.node), f64::from(term.sign) * sigma);
            terms.into_iter().map(weight)
        };
        if t == 0 {
            return Some(Vec::new());
        }
        if strategy.restarts() {
            // One root for every past octave, then the tree of this one.
            let octave = t.ilog2();
            let past = (0..octave).flat_map(|m| of(m, BinaryTree.terms(1 << m)));
            let here = BinaryTree.terms(t - (1 << octave) + 1);
            return Some(past.chain(of(octave, here)).collect());
        }
        Some(of(0, strategy.nodes(t)?).collect())
    }
}

impl<G: GuaranteeKind> PrivateSum<G> {
    /// The noise of a view at every release of this instance, from its first on: that of the plan,
    /// and what the releases have from earlier instances. Never understated.
    #[must_use]
    pub fn noise_of(&self, view: View) -> ViewNoises {
        ViewNoises {
            inherited: self.mechanism.inherited,
            ..self.plan().noise_of(view)
        }
    }

    /// How many instances came before this one, and after which step the last of them ended: that
    /// of the last release that may have left, lost ones included.
    #[must_use]
    pub fn instances_before(&self) -> (u32, u64) {
        let ended = self.steps() - self.diary.items();
        (self.mechanism.inherited.instances, ended)
    }

    /// The last known release of earlier instances, if there are any: public, because later ones
    /// have left.
    #[must_use]
    pub fn base(&self) -> Option<&[f64]> {
        let base = &self.mechanism.base[..];
        (!base.is_empty()).then_some(base)
    }
}

impl Iterator for ViewNoises {
    type Item = ViewNoise;

    fn next(&mut self) -> Option<ViewNoise> {
        self.t += 1;
        let (t, plan) = (self.t, &self.plan);
        let request = plan.request();
        let variance = match &mut self.law {
            Law::Response {
                b,
                past,
                last,
                squares,
            } => {
                let now = b(t - 1);
                let response = match self.view {
                    View::Total => now,
                    View::Last(items) => {
                        past.push_back(now);
                        let is_full = past.len() as u64 > items;
                        now - is_full.then(|| past.pop_front()).flatten().unwrap_or(0.0)
                    }
                    View::Fading(factor) => {
                        let before = past.pop_back().unwrap_or(0.0);
                        past.push_back(now);
                        *last = factor * *last + now - before;
                        *last
                    }
                };
                *squares += response * response;
                *squares * plan.sigma_in(0).powi(2)
            }
            Law::Eras(fading) => match self.view {
                View::Total => plan.prefix_sd(t).powi(2),
                View::Last(items) => plan.variance_of_last(t, items),
                View::Fading(factor) => fading.at(plan, t, factor),
            },
            Law::Nodes(fading) => match self.view {
                View::Total => plan.prefix_sd(t).powi(2),
                View::Last(items) => {
                    let mut nodes = BTreeMap::new();
                    merge(&mut nodes, plan.weights(t), 1.0);
                    merge(&mut nodes, plan.weights(t.saturating_sub(items)), -1.0);
                    squares(&nodes)
                }
                View::Fading(factor) => {
                    fading.values_mut().for_each(|weight| *weight *= factor);
                    merge(fading, plan.weights(t), 1.0);
                    merge(fading, plan.weights(t - 1), -1.0);
                    fading.retain(|_, weight| weight.abs() > 0.0);
                    squares(fading)
                }
            },
            Law::Bound(fading) => {
                let sd = |t: u64| if t == 0 { 0.0 } else { plan.prefix_sd(t) };
                let bound = match self.view {
                    View::Total => sd(t),
                    View::Last(items) => sd(t) + sd(t.saturating_sub(items)),
                    View::Fading(factor) => {
                        *fading = factor * *fading + sd(t) + sd(t - 1);
                        *fading
                    }
                };
                bound.powi(2)
            }
        };
        let variance = variance + self.inherited.in_view(self.view, t, plan);
        // Of independent noises the largest share of the variance bounds the kurtosis of the sum.
        let one = match request.noise {
            Noise::Gaussian => 0.0,
            Noise::Laplace => 3.0,
            Noise::L2Laplace => 6.0 / (f64::from(request.dimension) + 1.0),
        };
        // Earlier instances may have been longer.
        let longest = match self.inherited.instances {
            0 => t,
            _ => request.releases,
        };
        let share = plan.largest_sigma(longest).powi(2) / variance;
        Some(ViewNoise {
            sd: variance.sqrt(),
            kurtosis: one * share.min(1.0),
        })
    }
}

impl SumPlan {
    /// The largest deviation of a node up to release t.
    fn largest_sigma(&self, t: u64) -> f64 {
        self.sigma_in(self.part_that_begins(t))
    }
}

/// In order: a sum of floats must be the same in every process.
type Nodes = BTreeMap<(u32, u64), f64>;

fn merge(nodes: &mut Nodes, weights: Option<Vec<((u32, u64), f64)>>, times: f64) {
    for (node, weight) in weights.unwrap_or_default() {
        *nodes.entry(node).or_insert(0.0) += times * weight;
    }
}

fn squares(nodes: &Nodes) -> f64 {
    nodes.values().map(|weight| weight * weight).sum()
}

#[cfg(test)]
mod tests {
    use super::super::plan::{Geometry, SumRequest};
    use super::super::{PrivateSum, SumKind};
    use super::*;
    use crate::boundary::{Raw, Transcript};
    use crate::durable::{FileStorage, Ledger, MemoryStorage};
    use crate::lattice::Contribution;
    use crate::persons::Participation;
    use hushstream_account::{Adjacency, Budget, FilterKind};
    use hushstream_noise::Key;

    type Sum = PrivateSum<Transcript>;

    const RELEASES: u64 = 37;
    const DIMENSION: u32 = 500;

    fn plan(kind: SumKind, noise: Noise) -> SumPlan {
        let budget = if noise.is_pure() {
            Budget::pure(1.0)
        } else {
            Budget::approx(1.0, 1e-6)
        };
        let request = SumRequest {
            kind,
            noise,
            releases: RELEASES,
            dimension: DIMENSION,
            bound: 1.0,
            geometry: Geometry::Ball,
            least_sigma: 0.0,
            batch: 1,
            adjacency: Adjacency::ReplaceOne,
            participation: Participation::OncePerRecord,
            budget: budget.unwrap(),
        };
        request.plan().unwrap()
    }

    /// The noise alone, release by release.
    fn noise(plan: &SumPlan, seed: u64) -> Vec<Vec<f64>> {
        let (budget, kind) = (plan.request().budget, plan.request().noise.is_pure());
        let kind = if kind {
            FilterKind::Pure
        } else {
            FilterKind::Gaussian
        };
        let mut ledger = Ledger::simulated(budget, kind, plan.scope()).unwrap();
        let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
        let key = Key::insecure_from_seed(seed);
        let storage = MemoryStorage::default();
        let mut sum = Sum::open(plan.clone(), grant, &key, &mut ledger, storage).unwrap();
        let one = |_| {
            let pending = sum.add(Raw::seal(Contribution::Null)).unwrap().unwrap();
            sum.sync(&mut ledger).unwrap();
            sum.publish(pending).unwrap().into_value()
        };
        (1..=RELEASES).map(one).collect()
    }

    /// A view of numbers by their release.
    fn seen(view: View, t: u64, at: impl Fn(u64) -> f64) -> f64 {
        match view {
            View::Total => at(t),
            View::Last(items) => at(t) - at(t.saturating_sub(items)),
            View::Fading(factor) => (1..=t).fold(0.0, |sum, s| factor * sum + at(s) - at(s - 1)),
        }
    }

    /// The deviation of a view over many coordinates and keys is the stated one; where only a bound
    /// is known, it is not above it.
    #[test]
    fn deviations_are_those_of_the_noise() {
        let cells = [
            (SumKind::BLT, Noise::Gaussian),
            (SumKind::Tree, Noise::Gaussian),
            (SumKind::Smooth, Noise::Laplace),
            (SumKind::Kary, Noise::Laplace),
            (SumKind::Octave, Noise::Gaussian),
            (SumKind::Eras, Noise::Gaussian),
            (SumKind::Fresh, Noise::Gaussian),
            (SumKind::Honaker, Noise::Gaussian),
            (SumKind::PaddedTree, Noise::Gaussian),
        ];
        for (kind, law) in cells {
            let plan = plan(kind, law);
            let runs: Vec<_> = (0..4).map(|seed| noise(&plan, seed)).collect();
            for view in [
                View::Total,
                View::Last(1),
                View::Last(7),
                View::Last(40),
                View::Fading(0.8),
            ] {
                let stated: Vec<ViewNoise> = plan.noise_of(view).take(RELEASES as usize).collect();
                for t in [1_u64, 2, 7, 8, 16, 17, 31, 32, 36, 37] {
                    let mut squares = 0.0;
                    for run in &runs {
                        squares += (0..DIMENSION as usize)
                            .map(|i| {
                                let at = |t: u64| if t == 0 { 0.0 } else { run[t as usize - 1][i] };
                                seen(view, t, at).powi(2)
                            })
                            .sum::<f64>();
                    }
                    let found = (squares / f64::from(4 * DIMENSION)).sqrt();
                    let ratio = found / stated[t as usize - 1].sd;
                    // Seeds are fixed. 2000 squares of kurtosis at most 6: a relative deviation of
                    // 2.5 % of the root; five of them.
                    let is_bound = matches!(kind, SumKind::Honaker | SumKind::PaddedTree)
                        && view != View::Total;
                    let low = if is_bound { 0.0 } else { 0.875 };
                    assert!(
                        (low..1.125).contains(&ratio),
                        "{kind} {law} {view:?} {t}: {ratio}"
                    );
                }
            }
        }
    }

    /// After two old copies, the first of them before a checkpoint, deviations are those of all
    /// instances: exact for totals, and never understated.
    #[test]
    fn a_new_instance_has_the_noise_of_those_before() {
        const SEEDS: u64 = 3;
        let cells = [
            (SumKind::BLT, Noise::Gaussian),
            (SumKind::Tree, Noise::Gaussian),
            (SumKind::Smooth, Noise::Laplace),
            (SumKind::Octave, Noise::Gaussian),
            (SumKind::Eras, Noise::Gaussian),
            (SumKind::Honaker, Noise::Gaussian),
        ];
        let views = [View::Total, View::Last(1), View::Last(9), View::Fading(0.8)];
        for (kind, law) in cells {
            let plan = plan(kind, law);
            // For every view and tick of the last instance: the squares found, and the deviation.
            let mut found = vec![[(0.0, 0.0); 10]; views.len()];
            for seed in 0..SEEDS {
                let directory = tempfile::tempdir().unwrap();
                let file = |name: &str| FileStorage::open(directory.path().join(name)).unwrap();
                let kind = if law.is_pure() {
                    FilterKind::Pure
                } else {
                    FilterKind::Gaussian
                };
                let (budget, key) = (plan.request().budget, Key::insecure_from_seed(seed));
                let ledger = Ledger::create(file("ledger"), budget, kind, plan.scope());
                let mut ledger = ledger.unwrap();
                let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
                let mut sum =
                    Sum::open(plan.clone(), grant, &key, &mut ledger, file("journal")).unwrap();
                // Releases by tick; a lost tick repeats the last known one.
                let mut releases = vec![vec![0.0; DIMENSION as usize]];
                for (items, lost) in [(7, 2), (11, 3), (10, 0)] {
                    let (_, began) = sum.instances_before();
                    assert_eq!(began + 1, releases.len() as u64);
                    let mut stated = views.map(|view| sum.noise_of(view));
                    for _ in 0..items {
                        let pending = sum.add(Raw::seal(Contribution::Null)).unwrap().unwrap();
                        sum.sync(&mut ledger).unwrap();
                        releases.push(sum.publish(pending).unwrap().into_value());
                        if lost > 0 {
                            continue;
                        }
                        let now = releases.len() as u64 - 1;
                        let t = (now - began - 1) as usize;
                        for (i, view) in views.into_iter().enumerate() {
                            let squares = (0..DIMENSION as usize)
                                .map(|i| seen(view, now, |t| releases[t as usize][i]).powi(2));
                            found[i][t].0 += squares.sum::<f64>();
                            found[i][t].1 = stated[i].next().unwrap().sd;
                        }
                    }
                    if lost > 0 {
                        if lost == 3 {
                            sum.checkpoint(Vec::new()).unwrap();
                        }
                        drop(sum);
                        let known = releases.len() as u64 - 1;
                        let seen = Some(known + lost);
                        let journal = file("journal");
                        let back = Sum::resume(journal, &key, &mut ledger, seen, |_| true);
                        drop(back.unwrap().run);
                        // What is inherited is kept in the journal.
                        let journal = file("journal");
                        let back = Sum::resume(journal, &key, &mut ledger, None, |_| true);
                        sum = back.unwrap().run;
                        let last = releases[known as usize].clone();
                        assert_eq!(sum.base(), Some(&last[..]));
                        releases.extend(std::iter::repeat_n(last, lost as usize));
                    }
                }
            }
            for (view, ticks) in views.into_iter().zip(found) {
                for (t, (squares, sd)) in ticks.into_iter().enumerate() {
                    let ratio = (squares / (SEEDS as f64 * f64::from(DIMENSION))).sqrt() / sd;
                    let is_exact = view == View::Total;
                    let low = if is_exact { 0.86 } else { 0.0 };
                    assert!(
                        (low..1.14).contains(&ratio),
                        "{kind} {law} {view:?} {t}: {ratio}"
                    );
                }
            }
        }
    }
}
