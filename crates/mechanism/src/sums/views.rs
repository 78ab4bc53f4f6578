//! The noise of what is computed from several releases: of the last few items, or of items that
//! fade.
//!
//! Releases share most of their noise, so the difference of two has far less than both together. A
//! view of release t is linear in releases 1…t. Sums whose release t is Σ_j b_{t−j}·(noise of item
//! j) turn it into Σ_j h_{t−j}·(noise of item j) with the response h of the view to b, and its
//! variance is a running sum of h². Covers have their nodes: each counts with the weights of the
//! releases that it is in. For every other sum the deviations are added, which is a bound.

use super::cover::Noise;
use super::plan::SumPlan;
use super::tree::BinaryTree;
use super::{Cover, Term};
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
    view: View,
    t: u64,
    law: Law,
}

enum Law {
    /// b, and what the response needs of its past: the last values of b, the last of h, Σ h².
    Response {
        b: Box<dyn Fn(u64) -> f64 + Send>,
        past: VecDeque<f64>,
        last: f64,
        squares: f64,
    },
    /// For fading items: the weight of every node so far.
    Nodes(Nodes),
    /// For fading items: the bound at the last release.
    Bound(f64),
}

impl SumPlan {
    /// The noise of a view at every release, exact for most sums and never understated.
    #[must_use]
    pub fn noise_of(&self, view: View) -> ViewNoises {
        let law = if let Some(b) = self.fields.strategy.response() {
            Law::Response {
                b,
                past: VecDeque::new(),
                last: 0.0,
                squares: 0.0,
            }
        } else if self.weights(1).is_some() {
            Law::Nodes(BTreeMap::new())
        } else {
            Law::Bound(0.0)
        };
        ViewNoises {
            plan: self.clone(),
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
        // Of independent noises the largest share of the variance bounds the kurtosis of the sum.
        let one = match request.noise {
            Noise::Gaussian => 0.0,
            Noise::Laplace => 3.0,
            Noise::L2Laplace => 6.0 / (f64::from(request.dimension) + 1.0),
        };
        let share = plan.largest_sigma(t).powi(2) / variance;
        Some(ViewNoise {
            sd: variance.sqrt(),
            kurtosis: one * share.min(1.0),
        })
    }
}

impl SumPlan {
    /// The largest deviation of a node up to release t.
    fn largest_sigma(&self, t: u64) -> f64 {
        self.sigma_in(t.max(1).ilog2())
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
    use crate::durable::{Ledger, MemoryStorage};
    use crate::lattice::Contribution;
    use crate::persons::Participation;
    use hushstream_account::{Adjacency, Budget, FilterKind};
    use hushstream_noise::Key;

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
        let mut sum =
            PrivateSum::<Transcript>::open(plan.clone(), grant, &key, &mut ledger, storage)
                .unwrap();
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
}
