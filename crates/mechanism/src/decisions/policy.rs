//! A policy: probabilities of arms for a context. It is a function of releases, hence public; what
//! it answers for a context is as private as the context.
//!
//! **Inverse gap weighting** (Foster and Rakhlin 2020, after Abe and Long). With estimates ŷ_a of
//! rewards in [0, 1], b the best of K arms and γ ≥ 0,
//!
//! p_a = 1/(K + γ(ŷ_b − ŷ_a)) for a ≠ b, and the rest to b.
//!
//! *Lemma.* For every f ∈ ℝᴷ and every arm a\*,
//! Σ_a p_a·(f_{a*} − f_a − (γ/4)(ŷ_a − f_a)²) ≤ 2(K−1)/γ.
//!
//! *Proof.* Write p\* for p_{a*} and d_a for ŷ_b − ŷ_a ≥ 0. The left is concave in f; its maximum
//! has f_a = ŷ_a − 2/γ for a ≠ a\* (where −1 + (γ/2)(ŷ_a − f_a) = 0) and f_{a*} = ŷ_{a*} +
//! 2(1−p\*)/(γp\*) (where 1 − p\* + p\*(γ/2)(ŷ_{a*} − f_{a*}) = 0). Put in, it is
//! ŷ_{a*} − Σp_aŷ_a + (1−p\*)²/(γp\*) + (1−p\*)/γ = −d_{a*} + Σp_a·d_a + (1−p\*)/(γp\*),
//! since f_{a*}(1−p\*) − (γ/4)p\*(…)² = (1−p\*)ŷ_{a*} + (1−p\*)²/(γp\*) and each a ≠ a\* gives
//! p_a(2/γ − 1/γ). Now p_a·d_a ≤ 1/γ for a ≠ b and d_b = 0: the sum is at most (K−1)/γ. And
//! 1/p\* ≤ K + γd_{a*} (with equality for a\* ≠ b; p_b ≥ 1/K because the others have at most 1/K
//! each), so (1/p\* − 1)/γ ≤ (K − 1)/γ + d_{a*}. The d_{a*} cancel. ∎
//!
//! So the regret of a round, against any arm, is at most 2(K−1)/γ + (γ/4)·E_p(ŷ_a − f_a)².
//!
//! **Drawing.** One uniform number u of 53 bits, at the address of the decision's slot: the first
//! arm whose cumulative probability exceeds u. An address is one decision's, and no noise's.

use super::ContextMap;
use crate::boundary::{AskerOnly, Raw};
use crate::losses::{Features, Record};
use hushstream_account::ParameterError;
use hushstream_noise::Source;
use serde::{Deserialize, Serialize};

/// How estimates become probabilities.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Inverse gap weighting with this γ.
    InverseGap(f64),
    /// The arm with the largest estimate plus width·√(φᵀWφ); every arm's W lies row by row, lower
    /// triangle.
    Optimistic {
        /// The factor before the square root.
        width: f64,
        /// K matrices of p(p+1)/2 numbers.
        shapes: Vec<f64>,
    },
    /// Always this arm.
    Always(usize),
    /// Every arm alike.
    Uniform,
}

/// A public policy.
///
/// ```
/// use hushstream_mechanism::decisions::{ContextMap, Plain, Policy, Rule};
///
/// let map = ContextMap::linear(vec![Plain::Number], 1.0)?;
/// // Two arms: the first earns more for large numbers.
/// let policy = Policy::new(map, vec![0.4, 0.0, -0.4, 0.0], 2, Rule::InverseGap(100.0))?;
/// let answer = policy.answer(&[0.9]).expect("a context");
/// assert!(answer[0] > 0.9);
/// # Ok::<(), hushstream_account::ParameterError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    map: ContextMap,
    /// K blocks of p weights; an estimate is ½ + ⟨weights, features⟩.
    weights: Vec<f64>,
    arms: usize,
    rule: Rule,
}

/// A decision, for the person who asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawn {
    /// The arm.
    pub arm: usize,
    /// Its probability.
    pub probability: f64,
    /// The probabilities of all arms.
    pub probabilities: Vec<f64>,
}

impl Policy {
    /// A policy of `arms` arms.
    ///
    /// # Errors
    /// Fewer than two arms; weights or shapes of another number, or not finite; a γ that is not a
    /// number of at least 0; an arm that there is not.
    pub fn new(
        map: ContextMap,
        weights: Vec<f64>,
        arms: usize,
        rule: Rule,
    ) -> Result<Self, ParameterError> {
        let p = map.features();
        let wrong = |parameter, given: f64, allowed| ParameterError::new(parameter, given, allowed);
        if arms < 2 {
            return Err(wrong("arms", arms as f64, "at least 2"));
        }
        if weights.len() != arms * p || weights.iter().any(|weight| !weight.is_finite()) {
            let allowed = "a finite number for every arm and feature";
            return Err(wrong("weights of a policy", weights.len() as f64, allowed));
        }
        match &rule {
            Rule::InverseGap(gamma) if !(*gamma >= 0.0 && gamma.is_finite()) => {
                Err(wrong("gamma", *gamma, "a finite number of at least 0"))
            }
            Rule::Optimistic { shapes, .. } if shapes.len() != arms * p * (p + 1) / 2 => {
                let allowed = "p(p+1)/2 numbers for every arm";
                Err(wrong("shapes of a policy", shapes.len() as f64, allowed))
            }
            Rule::Always(arm) if *arm >= arms => {
                Err(wrong("arm", *arm as f64, "0 to the number of arms - 1"))
            }
            _ => Ok(Self {
                map,
                weights,
                arms,
                rule,
            }),
        }
    }

    /// The number of arms.
    #[must_use]
    pub fn arms(&self) -> usize {
        self.arms
    }

    /// The map from contexts to features.
    #[must_use]
    pub fn map(&self) -> &ContextMap {
        &self.map
    }

    /// How estimates become probabilities.
    #[must_use]
    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    /// The weights, arm after arm.
    #[must_use]
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The probabilities of the arms for a context in the open; nothing if it is none.
    #[must_use]
    pub fn answer(&self, context: &[f64]) -> Option<Vec<f64>> {
        let mut features = Vec::new();
        self.map.map(context, &mut features).then(|| {
            let mut probabilities = Vec::new();
            self.probabilities(&features, &mut probabilities);
            probabilities
        })
    }

    /// Estimated rewards of the arms, in [0, 1], for a context in the open; nothing if it is none.
    #[must_use]
    pub fn estimates(&self, context: &[f64]) -> Option<Vec<f64>> {
        let mut features = Vec::new();
        let is_context = self.map.map(context, &mut features);
        is_context.then(|| {
            (0..self.arms)
                .map(|arm| self.estimate(arm, &features))
                .collect()
        })
    }

    /// Draws the arm for a sealed context with the coin of its slot. Only the person who asked may
    /// see it. A context that is none gets every arm alike.
    #[must_use]
    pub fn decide(&self, context: &Raw<Record>, coins: &Source, slot: u64) -> AskerOnly<Drawn> {
        self.drawn(self.chances(context), coins, slot)
    }

    /// The same among the arms that are `allowed`, as if there were no others.
    #[must_use]
    pub fn decide_among(
        &self,
        context: &Raw<Record>,
        allowed: &[bool],
        coins: &Source,
        slot: u64,
    ) -> AskerOnly<Drawn> {
        self.drawn(self.chances_among(context, allowed), coins, slot)
    }

    fn drawn(&self, chances: AskerOnly<Vec<f64>>, coins: &Source, slot: u64) -> AskerOnly<Drawn> {
        chances.map(|probabilities| {
            let arm = draw(&probabilities, coins, slot);
            Drawn {
                arm,
                probability: probabilities[arm],
                probabilities,
            }
        })
    }

    /// The probabilities of the arms for a sealed context, for the person who asked.
    #[must_use]
    pub fn chances(&self, context: &Raw<Record>) -> AskerOnly<Vec<f64>> {
        self.chances_among(context, &vec![true; self.arms])
    }

    /// The same among the arms that are `allowed`, as if there were no others: all of them, if none
    /// is.
    #[must_use]
    pub fn chances_among(&self, context: &Raw<Record>, allowed: &[bool]) -> AskerOnly<Vec<f64>> {
        let is_allowed = |arm: &usize| allowed.get(*arm).copied().unwrap_or(false);
        let mut arms: Vec<usize> = (0..self.arms).filter(is_allowed).collect();
        if arms.is_empty() {
            arms = (0..self.arms).collect();
        }
        let mut features = Vec::new();
        let is_context = match &context.peek().features {
            Features::Dense(values) => self.map.map(values, &mut features),
            Features::Sparse(_) => false,
        };
        let own = if is_context {
            self.weighed(&arms, &features)
        } else {
            vec![1.0 / arms.len() as f64; arms.len()]
        };
        let mut probabilities = vec![0.0; self.arms];
        for (&arm, probability) in arms.iter().zip(own) {
            probabilities[arm] = probability;
        }
        AskerOnly::new(probabilities)
    }

    /// The probabilities of these arms, as if there were no others.
    fn weighed(&self, arms: &[usize], features: &[(u32, f64)]) -> Vec<f64> {
        let only = |place: usize| {
            let mut all = vec![0.0; arms.len()];
            all[place] = 1.0;
            all
        };
        match &self.rule {
            Rule::Uniform => vec![1.0 / arms.len() as f64; arms.len()],
            // Where that arm is not allowed, the first that is.
            Rule::Always(always) => only(arms.iter().position(|arm| arm == always).unwrap_or(0)),
            Rule::InverseGap(gamma) => {
                let estimate = |&arm: &usize| self.estimate(arm, features);
                let mut values: Vec<f64> = arms.iter().map(estimate).collect();
                inverse_gaps(*gamma, &mut values);
                values
            }
            Rule::Optimistic { width, shapes } => {
                let bound = |&arm: &usize| {
                    let spread = self.spread(shapes, arm, features);
                    self.estimate(arm, features) + width * spread
                };
                only(best(&arms.iter().map(bound).collect::<Vec<_>>()))
            }
        }
    }

    fn estimate(&self, arm: usize, features: &[(u32, f64)]) -> f64 {
        let p = self.map.features();
        let weights = &self.weights[arm * p..(arm + 1) * p];
        let dot: f64 = features.iter().map(|&(i, v)| weights[i as usize] * v).sum();
        (0.5 + dot).clamp(0.0, 1.0)
    }

    /// √(φᵀWφ) of an arm.
    fn spread(&self, shapes: &[f64], arm: usize, features: &[(u32, f64)]) -> f64 {
        let p = self.map.features();
        let shape = &shapes[arm * p * (p + 1) / 2..][..p * (p + 1) / 2];
        let mut sum = 0.0;
        for &(i, a) in features {
            for &(j, b) in features {
                let (high, low) = (i.max(j) as usize, i.min(j) as usize);
                sum += a * b * shape[high * (high + 1) / 2 + low];
            }
        }
        sum.max(0.0).sqrt()
    }

    pub(crate) fn probabilities(&self, features: &[(u32, f64)], out: &mut Vec<f64>) {
        out.clear();
        match &self.rule {
            // Without a list of arms: a run asks for every record.
            Rule::InverseGap(gamma) => {
                out.extend((0..self.arms).map(|arm| self.estimate(arm, features)));
                inverse_gaps(*gamma, out);
            }
            _ => out.extend(self.weighed(&(0..self.arms).collect::<Vec<_>>(), features)),
        }
    }
}

fn best(values: &[f64]) -> usize {
    let better = |best, arm| {
        if values[arm] > values[best] {
            arm
        } else {
            best
        }
    };
    (1..values.len()).fold(0, better)
}

/// Turns estimates into the probabilities of inverse gap weighting.
fn inverse_gaps(gamma: f64, values: &mut [f64]) {
    let (count, top) = (values.len() as f64, best(values));
    let most = values[top];
    let mut rest = 1.0;
    for (arm, value) in values.iter_mut().enumerate() {
        *value = 1.0 / (count + gamma * (most - *value));
        rest -= if arm == top { 0.0 } else { *value };
    }
    values[top] = rest;
}

/// The first arm whose cumulative probability exceeds a uniform number.
pub(crate) fn draw(probabilities: &[f64], coins: &Source, slot: u64) -> usize {
    let word = coins.cursor(slot, 0).next_word();
    let uniform = (word >> 11) as f64 / (1_u64 << 53) as f64;
    let mut sum = 0.0;
    let last = probabilities.iter().rposition(|p| *p > 0.0).unwrap_or(0);
    let exceeds = |p: &f64| {
        sum += p;
        sum > uniform
    };
    // Rounding may leave the sum below 1: what is beyond it is the last arm's.
    probabilities
        .iter()
        .position(exceeds)
        .unwrap_or(last)
        .min(last)
}
