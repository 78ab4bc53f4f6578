//! The parameters of a shrinking dartboard, and their privacy cost (AFKT22 Algorithm 1; errata
//! F1–F4, F6).
//!
//! After each item (one loss vector, or the sum of a batch) the played expert x is kept with
//! probability (1−p)·e^{−κS(x)}, S(x) the item's loss at x, and otherwise drawn anew with
//! probability ∝ e^{−κ·(total loss)}; after K−1 draws it is kept for good (erratum F1). With a
//! batch of B the paper's λ = −ln(1−η) is Bκ. p = 1 draws after every item: Hedge in batches.
//!
//! **Privacy** (adaptive). Let one person's loss vector, one summand of item t, change. Given what
//! was released before, the two worlds differ in
//! 1. the coin after item t. It is kept with probability a·e^{−κs} and a·e^{−κs'}, a ≤ 1−p, |s−s'|
//!    ≤ 1. D_α of Ber(a)‖Ber(ra) has e^{(α−1)D_α} = a·r^{1−α} + (1−a)^α(1−ra)^{1−α}, convex in a, 1
//!    at a = 0 and never below, hence increasing; so is the other direction. The worst pair is
//!    (1−p, (1−p)e^{−κ}), and the coin is ε_Z-DP, ε_Z = max(κ, ln(1 + (1−p)(1−e^{−κ})/p)). For p =
//!    1 there is no coin;
//! 2. at most K−1 draws after it: log-weights move by κ(s−s'), so the loss of a draw lies in an
//!    interval of length R = 2κ (replace-one; κ for zero-out): R-DP and R²/8-zCDP (erratum F3 has
//!    4η instead).
//!
//! Later coins depend on the played expert's later losses, which are the same. Hence ε = ε_Z +
//! R(K−1) for δ = 0. For δ > 0 the Rényi curves of 1 and 2 add up, and the best order gives ε; the
//! smallest of that, of ε_Z plus the ε of the draws alone, and of the pure ε is charged.
//!
//! **A person with k loss vectors**, at most one in an item. Its vectors may be in k items of one
//! world and in k others of the other (an empty record uses up no turn), with nulls in their place:
//! 2k coins differ under replace-one, and k under zero-out, each as above. Before a draw the
//! log-weights have moved by κ(Σs − Σs'), k terms of 0 to 1 in each sum: an interval of length 2kκ,
//! and kκ under zero-out. With c coins and u units of κ, [`Exposure`], the price is cε_Z + uκ(K−1),
//! and the Rényi curves of c coins and of K−1 draws of range uκ. For single records c = 1.
//!
//! **Exactness.** κ is a multiple of 2⁻³⁹, p of 2⁻⁴⁰, losses of 2⁻²⁴: every probability is
//! e^{−integer/2⁶³} or a ratio of integers, and is realised exactly.

use crate::persons::Participation;
use hushstream_account::{AccountError, Adjacency, Epsilon, ParameterError, RenyiCurve};
use serde::{Deserialize, Serialize};

/// One unit of κ.
pub(crate) const RATE_BITS: u32 = 39;
/// One unit of p.
pub(crate) const FORCED_BITS: u32 = 40;
/// Covers the few roundings of each formula below.
const OUTWARD: f64 = 1.0 + 1e-13;

/// What two neighbours change in a selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exposure {
    /// Items whose coins differ.
    coins: u64,
    /// The interval in which log-weights differ, in units of κ. At most 2¹³.
    units: u64,
}

impl Exposure {
    /// Of single records, or of persons with several.
    #[must_use]
    pub fn of(adjacency: Adjacency, participation: Participation) -> Self {
        let (most, _) = participation.limits();
        Self {
            coins: participation.differing(adjacency),
            units: match adjacency {
                Adjacency::ReplaceOne => 2 * most,
                Adjacency::ZeroOut => most,
            },
        }
    }

    pub(crate) fn coins(self) -> f64 {
        self.coins as f64
    }

    pub(crate) fn units(self) -> f64 {
        self.units as f64
    }
}

/// κ, p and K − 1, on their grids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Board {
    pub(crate) rate: u64,
    pub(crate) forced: u64,
    pub(crate) resamples: u64,
}

impl Board {
    /// The nearest parameters on the grids: κ and p rounded down, at least one unit each.
    ///
    /// # Errors
    /// κ outside (0, 1], p outside (0, 1].
    pub fn new(rate: f64, forced: f64, resamples: u64) -> Result<Self, AccountError> {
        let unit = |name: &'static str, value: f64, bits: u32| {
            if value > 0.0 && value <= 1.0 {
                Ok(((value * (1_u64 << bits) as f64) as u64).max(1))
            } else {
                Err(ParameterError::new(name, value, "above 0 and at most 1"))
            }
        };
        Ok(Self {
            rate: unit("rate of a selection", rate, RATE_BITS)?,
            forced: unit("probability of a forced switch", forced, FORCED_BITS)?,
            resamples,
        })
    }

    /// κ: the exponent of one unit of loss. Exact.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.rate as f64 / (1_u64 << RATE_BITS) as f64
    }

    /// p: the least probability of a draw, for any losses. Exact.
    #[must_use]
    pub fn forced(&self) -> f64 {
        self.forced as f64 / (1_u64 << FORCED_BITS) as f64
    }

    /// K − 1: the largest number of draws.
    #[must_use]
    pub fn resamples(&self) -> u64 {
        self.resamples
    }

    /// Whether there is a coin: not for p = 1.
    pub(crate) fn has_coin(&self) -> bool {
        self.forced < 1 << FORCED_BITS
    }

    /// The probability of a switch after an item with loss 1 at the played expert, rounded up. It
    /// determines K.
    #[must_use]
    pub fn switch_probability(&self, batch: u64) -> f64 {
        let (p, lost) = (
            self.forced(),
            -libm::expm1(-self.rate() * batch.max(1) as f64),
        );
        (p + (1.0 - p) * lost).min(1.0)
    }

    /// R: the length of the interval that holds the privacy loss of one draw. Exact.
    #[must_use]
    pub fn range(&self, exposure: Exposure) -> f64 {
        exposure.units as f64 * self.rate()
    }

    /// ε_Z: the cost of the one coin, rounded up.
    #[must_use]
    pub fn coin_epsilon(&self) -> f64 {
        if !self.has_coin() {
            return 0.0;
        }
        let p = self.forced();
        let rise = libm::log1p((1.0 - p) * -libm::expm1(-self.rate()) / p);
        OUTWARD * rise.max(self.rate())
    }

    /// ε for δ = 0, rounded up.
    #[must_use]
    pub fn pure_epsilon(&self, exposure: Exposure) -> f64 {
        let draws = self.range(exposure) * self.resamples as f64;
        OUTWARD * (exposure.coins as f64 * self.coin_epsilon() + draws)
    }

    /// ε by advanced composition, for comparison only: never charged.
    #[must_use]
    pub fn advanced_epsilon(&self, exposure: Exposure, delta: f64) -> f64 {
        let (range, draws) = (self.range(exposure), self.resamples as f64);
        exposure.coins as f64 * self.coin_epsilon()
            + draws * range * libm::tanh(range / 2.0)
            + range * (2.0 * draws * -libm::log(delta)).sqrt()
    }

    /// ε at this δ, rounded up; the pure ε at δ = 0.
    ///
    /// # Errors
    /// δ outside [0, 1); numbers that overflow.
    pub fn epsilon(&self, exposure: Exposure, delta: f64) -> Result<f64, AccountError> {
        let pure = self.pure_epsilon(exposure);
        if delta == 0.0 || self.resamples == 0 {
            return Ok(pure);
        }
        let range = Epsilon::new(self.range(exposure))?;
        let draws = RenyiCurve::bounded_range(range)?.times(self.resamples)?;
        let coins = exposure.coins as f64 * self.coin_epsilon();
        let apart = OUTWARD * (coins + draws.epsilon_at(delta)?);
        let mut best = pure.min(apart);
        if self.has_coin() {
            let p = self.forced();
            let other = p + (1.0 - p) * -libm::expm1(-self.rate());
            // Round away from p, where both directions only grow.
            let coin = RenyiCurve::coin(p, (OUTWARD * other).min(1.0_f64.next_down()))?;
            best = best.min(
                draws
                    .compose(&coin.times(exposure.coins)?)?
                    .epsilon_at(delta)?,
            );
        }
        Ok(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, expected: f64, digits: f64) {
        assert!((value - expected).abs() < digits, "{value} {expected}");
    }

    fn record(adjacency: Adjacency) -> Exposure {
        Exposure::of(adjacency, Participation::OncePerRecord)
    }

    #[test]
    fn published_vectors() {
        let lambda = -libm::log1p(-0.005);
        let board = Board::new(lambda, 0.0135, 1300).unwrap();
        let rep = record(Adjacency::ReplaceOne);
        close(board.coin_epsilon(), 0.311_426, 1e-6);
        close(board.pure_epsilon(rep), 13.344_03, 1e-5);
        close(board.advanced_epsilon(rep, 1e-6), 2.276_77, 1e-5);
        let spent = board.epsilon(rep, 1e-6).unwrap();
        assert!((0.9479..=0.948).contains(&spent), "{spent}");
        let spent = board.epsilon(record(Adjacency::ZeroOut), 1e-6).unwrap();
        assert!((0.6066..=0.6068).contains(&spent), "{spent}");
        let batched = Board::new(-libm::log1p(-0.1) / 4.0, 0.05, 10).unwrap();
        close(batched.coin_epsilon(), 0.401_409, 1e-6);
    }

    #[test]
    fn without_a_coin_only_draws_cost() {
        let board = Board::new(0.01, 1.0, 50).unwrap();
        assert!(!board.has_coin() && board.coin_epsilon() == 0.0);
        close(board.pure_epsilon(record(Adjacency::ZeroOut)), 0.5, 1e-9);
        let mut still = board;
        still.resamples = 0;
        assert!(still.epsilon(record(Adjacency::ReplaceOne), 1e-6).unwrap() == 0.0);
    }

    #[test]
    fn grids_round_down_and_bad_numbers_are_named() {
        let board = Board::new(0.3, 0.7, 1).unwrap();
        assert!(board.rate() <= 0.3 && board.forced() <= 0.7);
        for bad in [0.0, -1.0, 1.5, f64::NAN] {
            let error = Board::new(bad, 0.5, 1).unwrap_err().to_string();
            assert!(error.contains("rate of a selection"), "{error}");
            assert!(Board::new(0.5, bad, 1).is_err());
        }
    }
}
