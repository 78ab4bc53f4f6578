//! The k-ary tree with subtraction: fewer levels, so less noise for pure differential privacy.
//!
//! **Claim.** For odd k and the least h with (kʰ − 1)/2 ≥ n, the depth is h and a release has at
//! most h(k−1)/2 noises.
//!
//! **Cover.** Write t in balanced digits, t = Σ d_i kⁱ with |d_i| ≤ (k−1)/2. From the offset o_i =
//! Σ_{j>i} d_j kʲ walk d_i nodes of kⁱ items to the right, added, or |d_i| to the left, subtracted;
//! the walk ends at t, so the signed nodes contain each item of 1…t once and cancel elsewhere. An
//! item lies in one node of a level: depth h. Item 1 reaches it, as the node at offset 0 of every
//! level is used.
//!
//! **Privacy against adaptive streams.** Some nodes reach into the future, so "complete when first
//! used" does not hold, and contents must not be (and are not) stored. Instead: let v(τ) be the 0/1
//! vector of the nodes that contain the changed item τ, and Δ the change, a function of what was
//! released before τ. Compare the noise vectors ξ and ξ − Δ⊗v(τ). By the cover property the noise
//! of release t moves by −Δ·[τ ≤ t], which cancels the change of the data: the same releases come
//! out in both worlds. Releases before τ do not move at all, so Δ takes the same value before and
//! after the map: it is a *shear* (a translation along v(τ) by an amount that is constant along
//! v(τ)), a bijection of the integer lattice onto itself. Probabilities of ξ and its image differ
//! by at most a factor e^(‖Δ‖/b) for each of the h nodes. ∎
//!
//! Gaussian noise is refused here: what subtraction saves in levels it loses in variance, and the
//! other sums are better. **State.** One vector; totals of at most h(k−1)/2 noises are kept to save
//! draws.

use super::SumKind;
use super::cover::{self, Cover, Noise, Term};
use super::error::SumError;
use super::plan::SumPlan;
use super::running::{CoveredPrefix, Running};
use super::strategy::{About, Streams, SumStrategy};
use serde::{Deserialize, Serialize};

/// Balanced base-k digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BalancedDigits {
    /// The odd base k.
    pub base: u64,
    /// The number of digits h.
    pub digits: u32,
}

impl BalancedDigits {
    /// The base with the least worst variance h²·(most noises in a release) for n releases.
    #[must_use]
    pub fn cheapest(releases: u64) -> Self {
        let variance = |code: &Self| u64::from(code.digits).pow(2) * code.most_terms(releases);
        (1..=100)
            .map(|half| Self::with_base(2 * half + 1, releases))
            .min_by_key(variance)
            .unwrap_or(Self { base: 3, digits: 1 })
    }

    /// Whether the digits reach n.
    fn reaches(self, releases: u64) -> bool {
        let sound = self.base >= 3 && self.base % 2 == 1 && (1..=44).contains(&self.digits);
        sound && Self::with_base(self.base, releases).digits <= self.digits
    }

    /// The least number of digits that reaches n.
    fn with_base(base: u64, releases: u64) -> Self {
        let mut digits = 1;
        let mut reach = u128::from(base - 1) / 2;
        while reach < u128::from(releases) {
            reach = reach * u128::from(base) + u128::from(base - 1) / 2;
            digits += 1;
        }
        Self { base, digits }
    }

    /// The largest number of nodes an item lies in.
    #[must_use]
    pub fn depth(self) -> u32 {
        self.digits
    }

    /// Digits of t, the highest first.
    fn of(self, t: u64) -> Vec<i64> {
        let base = i128::from(self.base);
        let mut rest = i128::from(t);
        let mut digits: Vec<i64> = (0..self.digits)
            .map(|_| {
                let low = rest.rem_euclid(base);
                let digit = if low > base / 2 { low - base } else { low };
                rest = (rest - digit) / base;
                digit as i64
            })
            .collect();
        debug_assert_eq!(rest, 0, "the horizon bounds t by what the digits reach");
        digits.reverse();
        digits
    }

    /// The largest number of noises in one of the releases 1…n.
    ///
    /// The best t ≤ n agrees with n's digits down to some place, is smaller there, and has digits
    /// of the largest absolute value below; smaller at a place means any digit from −(k−1)/2 to one
    /// less than n's.
    #[must_use]
    pub fn most_terms(self, releases: u64) -> u64 {
        let half = self.base / 2;
        let digits = self.of(releases);
        let mut best: u64 = digits.iter().map(|d| d.unsigned_abs()).sum();
        let mut above = 0;
        let mut positive = false; // whether a prefix cut here still leaves t ≥ 1
        for (place, &digit) in digits.iter().enumerate() {
            let below = (digits.len() - 1 - place) as u64 * half;
            let smallest = if positive { -(half as i64) } else { 0 };
            if digit > smallest {
                let here = smallest.unsigned_abs().max((digit - 1).unsigned_abs());
                best = best.max(above + here + below);
            }
            above += digit.unsigned_abs();
            positive |= digit > 0;
        }
        best
    }
}

impl Cover for BalancedDigits {
    fn write_terms(&self, t: u64, out: &mut Vec<Term>) {
        let mut offset = 0_i64; // in nodes of the current level
        for (level, digit) in (0..self.digits).rev().zip(self.of(t)) {
            offset *= self.base as i64;
            for step in 0..digit.abs() {
                let (index, sign) = if digit > 0 {
                    (offset + step, 1)
                } else {
                    (offset - 1 - step, -1)
                };
                let node = (index as u64) << 6 | u64::from(level);
                out.push(Term { node, sign });
            }
            offset += digit;
        }
    }

    fn items(&self, node: u64) -> (u64, u64) {
        let size = self.base.pow((node & 63) as u32);
        let first = (node >> 6) * size;
        (first + 1, first + size)
    }
}

pub(crate) const ABOUT: About = About {
    refuses: |noise| {
        (noise == Noise::Gaussian).then_some(
            "it saves levels, which pays for pure privacy only; use honaker, smooth or blt",
        )
    },
    ..About::any_noise("kary")
};

impl SumStrategy for BalancedDigits {
    fn name(&self) -> String {
        format!("{}-ary tree with subtraction", self.base)
    }

    fn citation(&self, _: Noise) -> (&'static str, &'static [&'static str]) {
        ("Andersson, Pagh and Torkamani 2024", &[])
    }

    fn fits(&self, kind: SumKind, releases: u64) -> bool {
        kind == SumKind::Kary && self.reaches(releases)
    }

    fn levels(&self, _: u64, _: u32) -> Option<u32> {
        Some(Self::depth(*self))
    }

    fn variance(&self, t: u64, _: u64) -> f64 {
        self.terms(t).len() as f64
    }

    fn nodes(&self, t: u64) -> Option<Vec<Term>> {
        Some(self.terms(t))
    }

    fn combined_variance(&self, weights: &[f64]) -> Option<f64> {
        Some(cover::combined_variance(self, weights))
    }

    fn worst_variance(&self, releases: u64) -> f64 {
        self.most_terms(releases) as f64
    }

    fn build(&self, plan: &SumPlan, streams: Streams<'_>) -> Result<Box<dyn Running>, SumError> {
        CoveredPrefix::boxed(*self, plan, streams, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_for_a_million_releases() {
        let code = BalancedDigits::cheapest(1 << 20);
        assert_eq!((code.base, code.digits), (19, 5));
        assert_eq!(code.most_terms(1 << 20), 44);
    }

    #[test]
    fn most_terms_is_the_largest_digit_sum() {
        for base in [3, 5, 7, 9] {
            let code = BalancedDigits::with_base(base, 3000);
            let mut most = 0;
            for n in 1..3000 {
                most = most.max(code.of(n).iter().map(|d| d.unsigned_abs()).sum::<u64>());
                assert_eq!(code.most_terms(n), most, "base {base}, n = {n}");
            }
        }
    }

    #[test]
    fn digits_add_up() {
        let code = BalancedDigits::with_base(7, 100_000);
        for t in [1, 3, 4, 24, 25, 100_000] {
            let value = code.of(t).iter().fold(0, |value, digit| value * 7 + digit);
            assert_eq!(value, t as i64);
        }
    }
}
