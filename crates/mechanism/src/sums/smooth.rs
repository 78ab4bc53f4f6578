//! Smooth binary sums: items labelled by words of constant weight, so that every release has the
//! same noise law.
//!
//! **Claim.** With h-bit words of weight w, C(h,w) − 1 ≥ n: depth h − w, and every release has
//! exactly w noises.
//!
//! **Proof for this code path.** Let ℓ(i) be the i-th smallest h-bit word of weight w. Release t
//! uses L = ℓ(t+1): for every set bit p of L the node of the items whose labels agree with L above
//! p and have 0 at p. A label below L first differs from it (from the top) at exactly one such p:
//! items 1…t are covered once, by w nodes, some of them empty and noised all the same. An item with
//! label M lies in a node only for a p where M has 0: at most h − w nodes. A node is complete when
//! first used, because every label in it is below L; so Lemma A applies as for the tree. ∎ Item 1
//! reaches the bound: h is the least for its w, so some label within reach has the top bit set.
//!
//! Its marginal laws are identical for every t, which AS17's FTRL and FTPL ask for without extra
//! noise. **State.** One vector; totals of w noises are kept to save draws.

use super::SumKind;
use super::cover::{self, Cover, Noise, Term};
use super::error::SumError;
use super::plan::SumPlan;
use super::running::{CoveredPrefix, Running};
use super::strategy::{About, Streams, SumStrategy};
use serde::{Deserialize, Serialize};

/// Words of `width` bits with `weight` ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConstantWeight {
    /// h.
    pub width: u32,
    /// w.
    pub weight: u32,
}

impl ConstantWeight {
    /// The code for n releases that minimises the given cost of (w, h − w).
    #[must_use]
    pub fn cheapest(releases: u64, cost: impl Fn(f64, f64) -> f64) -> Self {
        let codes = (1..=32).filter_map(|weight| {
            let width = (weight + 1..=63).find(|&width| binomial(width, weight) > releases)?;
            Some(Self { width, weight })
        });
        let price = |code: &Self| cost(f64::from(code.weight), f64::from(code.depth()));
        codes
            .min_by(|a, b| price(a).total_cmp(&price(b)))
            .unwrap_or(Self {
                width: 63,
                weight: 31,
            })
    }

    /// The largest number of nodes an item lies in.
    #[must_use]
    pub fn depth(self) -> u32 {
        self.width - self.weight
    }

    /// The code with the least variance for n releases: w noises, each with scale √depth (Gaussian)
    /// or depth (pure).
    pub(super) fn best(noise: Noise, releases: u64) -> Self {
        let power = if noise.is_pure() { 2 } else { 1 };
        Self::cheapest(releases, |weight, depth| weight * depth.powi(power))
    }

    /// Whether it has a word for every one of n releases.
    fn reaches(self, releases: u64) -> bool {
        (1..=63).contains(&self.width)
            && self.weight >= 1
            && binomial(self.width, self.weight) > releases
    }

    /// The word at `rank` (0 is the smallest): the combinatorial number system.
    fn word(self, rank: u64) -> u64 {
        let (mut rank, mut word) = (rank, 0);
        let mut position = self.width;
        for ones in (1..=self.weight).rev() {
            // The highest one stands where C(position, ones) is the largest that does not exceed
            // the rank.
            position = (0..position)
                .rev()
                .find(|&p| binomial(p, ones) <= rank)
                .unwrap_or(0);
            rank -= binomial(position, ones);
            word |= 1 << position;
        }
        word
    }
}

/// C(n, k), saturating at 2⁶⁴ − 1.
fn binomial(n: u32, k: u32) -> u64 {
    if k > n {
        return 0;
    }
    let product = (0..k).try_fold(1_u128, |product, i| {
        // The product of i+1 consecutive numbers is divisible by (i+1)!: each division is exact.
        Some(product.checked_mul(u128::from(n - i))? / u128::from(i + 1))
    });
    product
        .and_then(|p| u64::try_from(p).ok())
        .unwrap_or(u64::MAX)
}

impl Cover for ConstantWeight {
    fn write_terms(&self, t: u64, out: &mut Vec<Term>) {
        let label = self.word(t);
        let ones = (0..64).rev().filter(|p| label >> p & 1 == 1);
        // The label with everything below p cleared names the node: p is its lowest one.
        out.extend(ones.map(|p| Term::plus(label >> p << p)));
    }

    fn items(&self, node: u64) -> (u64, u64) {
        // Labels from (prefix, 0 at p, …) on, up to but not including (prefix, 1 at p, …): count
        // those below each end.
        let p = node.trailing_zeros();
        let below = |bound: u64| -> u64 {
            let mut ones = self.weight;
            let mut count = 0;
            for position in (0..self.width).rev() {
                if bound >> position & 1 == 1 {
                    count += binomial(position, ones);
                    match ones.checked_sub(1) {
                        Some(left) => ones = left,
                        None => return count,
                    }
                }
            }
            count
        };
        let first = below(node ^ 1 << p);
        let last = below(node);
        (first + 1, last)
    }
}

pub(crate) const ABOUT: About = About {
    one_law: true,
    ..About::any_noise("smooth")
};

impl SumStrategy for ConstantWeight {
    fn name(&self) -> String {
        let Self { width, weight } = self;
        format!("smooth binary, {width}-bit words of weight {weight}")
    }

    fn citation(&self, _: Noise) -> (&'static str, &'static [&'static str]) {
        ("Andersson and Pagh 2023", &[])
    }

    fn fits(&self, kind: SumKind, releases: u64) -> bool {
        kind == SumKind::Smooth && self.reaches(releases)
    }

    fn levels(&self, _: u64, _: u32) -> Option<u32> {
        Some(Self::depth(*self))
    }

    fn variance(&self, _: u64, _: u64) -> f64 {
        self.weight.into()
    }

    fn nodes(&self, t: u64) -> Option<Vec<Term>> {
        Some(self.terms(t))
    }

    fn combined_variance(&self, weights: &[f64]) -> Option<f64> {
        Some(cover::combined_variance(self, weights))
    }

    fn worst_variance(&self, _: u64) -> f64 {
        self.weight.into()
    }

    fn build(&self, plan: &SumPlan, streams: Streams<'_>) -> Result<Box<dyn Running>, SumError> {
        CoveredPrefix::boxed(*self, plan, streams, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_in_increasing_order_and_of_one_weight() {
        let code = ConstantWeight {
            width: 9,
            weight: 4,
        };
        let words: Vec<u64> = (0..binomial(9, 4)).map(|rank| code.word(rank)).collect();
        let expected: Vec<u64> = (0..512_u64).filter(|word| word.count_ones() == 4).collect();
        assert_eq!(words, expected);
    }

    #[test]
    fn binomials() {
        assert_eq!(binomial(23, 10), 1_144_066);
        assert_eq!((binomial(5, 0), binomial(0, 0), binomial(3, 4)), (1, 1, 0));
        assert_eq!(binomial(200, 100), u64::MAX);
    }

    #[test]
    fn the_code_for_a_million_releases() {
        let code = ConstantWeight::cheapest(1 << 20, |w, depth| w * depth);
        assert_eq!((code.width, code.weight), (23, 10));
    }
}
