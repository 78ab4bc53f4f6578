//! BLT parameters that integers can follow exactly, and the sensitivity of exactly those.
//!
//! 1 − θ_j = a_j/2⁶² and ω_j = w_j/2⁴⁰ with integers a_j ≥ 1, w_j ≥ 1: the decay to the nearest (for 2⁴⁰ releases a_j is still above 10⁶), the weight
//! down; to 31 bits each where that is harmless, because their products are then fast (`lanes.rs`). Weights get fewer bits because Σ_j w_j·buf_j, the largest number in the encoder, must fit 127 bits. An a_j or w_j that comes from a float has at most
//! 53 significant bits, so a_j/2⁶² and w_j/2⁴⁰ are floats *exactly*: [`DyadicBlt::parameters`] are not an approximation of what the encoder
//! does but the same numbers, and the closed forms apply to them.
//!
//! **Sensitivity.** The closed form has a relative error below 2⁻⁴⁶ (2⁻³³ with several participations), and the value reported is that, widened by 2⁻⁴⁴
//! (2⁻³²): never below the real norm. Σw_j ≤ 2⁴⁰ is checked in integers.
//!
//! **Inflation: what the floors add.** The [encoder](super::FixedEncoder) computes, in units of 2⁻ᶠ,
//!
//! buf_j ← buf_j − ⌊α_j·buf_j⌋ + X = θ_j·buf_j + ε + X and Y = X + ⌊Σω_j·buf_j⌋ = X + Σω_j·buf_j − η, with ε, η ∈ \[0, 1).
//!
//! Run it on two streams. Coordinates never mix, so where no item differs nothing differs. In the others, let s be the first step whose items
//! differ. Up to step s the buffers agree, hence so do ε and η there, η of row s included. For row s + 1 + r, by linearity,
//!
//! ΔY = (C·ΔX) − Δη + Σ_j ω_j·Σ_{i<r} θ_j^{r−1−i}·Δε_j, where |Δε| < 1, |Δη| < 1,
//!
//! so |ΔY − C·ΔX| < S_r = 1 + Σ_j ω_j·(1−θ_j^r)/(1−θ_j) ≤ S_n. That holds for at most n rows and d′ coordinates, *however many* items differ and
//! whatever the stream answers to earlier releases. Hence, in units of the lattice,
//!
//! ‖ΔY‖·2⁻ᶠ ≤ ‖C·Δx‖ + 2⁻ᶠ·S_n·√(n·d′) ≤ sens·Δ + inflation. ∎
//!
//! (S_n < S_∞ = 1 + Σω_j/(1−θ_j), and for an optimised strategy S_r grows like √r, so the sum of squares is in fact near half of n·S_n². It does
//! not matter: at f = 16, n = 2²⁰, d′ = 54 this is 128 units where the noise has 2³⁰.)

use serde::{Deserialize, Serialize};

use super::error::BltError;
use super::geometric::geometric;
use super::lanes::DROPPED_WEIGHT_BITS;
use super::parameters::BltParameters;

/// Decays are multiples of 2⁻⁶².
pub const DECAY_BITS: u32 = 62;
/// Weights are multiples of 2⁻⁴⁰.
pub const WEIGHT_BITS: u32 = 40;

/// Weights from here on may lose the last 9 bits: less than 2⁻¹⁹ of themselves, and where they are optimal the error does not change to first order.
const LEAST_SHORT_WEIGHT: f64 = 1.0 / (1 << 12) as f64;

/// Outward margin of a single-participation sensitivity, and of everything computed from geometric sums.
const MARGIN: f64 = 1.0 / (1_u64 << 44) as f64;
/// Outward margin of a sensitivity with several participations.
const WIDE_MARGIN: f64 = 1.0 / (1_u64 << 32) as f64;

/// A BLT strategy with dyadic parameters. It is written as its integers: a decimal fraction may come back one ulp off,
/// and would then be another strategy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Numerators", into = "Numerators")]
pub struct DyadicBlt {
    parameters: BltParameters,
    decay: Vec<i64>,
    weight: Vec<i64>,
}

/// What a file holds.
#[derive(Serialize, Deserialize)]
struct Numerators {
    decay: Vec<i64>,
    weight: Vec<i64>,
}

impl From<DyadicBlt> for Numerators {
    fn from(blt: DyadicBlt) -> Self {
        Self {
            decay: blt.decay,
            weight: blt.weight,
        }
    }
}

impl TryFrom<Numerators> for DyadicBlt {
    type Error = BltError;

    fn try_from(raw: Numerators) -> Result<Self, BltError> {
        Self::from_numerators(&raw.decay, &raw.weight)
    }
}

impl DyadicBlt {
    /// The strategy 1 − θ_j = a_j/2⁶², ω_j = w_j/2⁴⁰.
    ///
    /// # Errors
    /// Those of [`BltParameters::new`], and [`BltError::Decay`] for an a_j of more than 53 significant bits, which no float holds.
    pub fn from_numerators(decay: &[i64], weight: &[i64]) -> Result<Self, BltError> {
        let fractions = |numerators: &[i64], bits| {
            numerators
                .iter()
                .map(|a| *a as f64 / (1_u64 << bits) as f64)
                .collect()
        };
        let blt = BltParameters::new(fractions(decay, DECAY_BITS), fractions(weight, WEIGHT_BITS))?;
        let blt = Self::rounded(&blt, false)?;
        // Weights are at most 2⁴⁰ by now and were exact.
        match blt
            .decay
            .iter()
            .zip(decay)
            .position(|(kept, given)| kept != given)
        {
            Some(index) => Err(BltError::Decay {
                index,
                given: blt.parameters.decay()[index],
            }),
            None => Ok(blt),
        }
    }

    /// Rounds parameters: decays to the nearest multiple of 2⁻⁶² (at least one) with 31 significant bits, weights down to a multiple of 2⁻³¹. The encoder is
    /// faster with such. Where a weight is below 2⁻¹², or two decays would coincide, decays keep all their bits and weights are multiples of 2⁻⁴⁰.
    ///
    /// # Errors
    /// [`BltError::Weight`] for a weight below 2⁻⁴⁰, [`BltError::Decay`] if two decays coincide once rounded,
    /// [`BltError::TotalWeight`] if the weights exceed one (which a float sum may have missed).
    pub fn new(blt: &BltParameters) -> Result<Self, BltError> {
        let short = blt
            .weight()
            .iter()
            .all(|weight| *weight >= LEAST_SHORT_WEIGHT);
        match short.then(|| Self::rounded(blt, true)) {
            Some(Ok(rounded)) => Ok(rounded),
            _ => Self::rounded(blt, false),
        }
    }

    /// With short factors or all bits.
    fn rounded(blt: &BltParameters, short: bool) -> Result<Self, BltError> {
        let decay_one = (1_u64 << DECAY_BITS) as f64;
        let weight_one = (1_u64 << WEIGHT_BITS) as f64;
        // Products with powers of two are exact, and the values are at most 2⁶², so the casts are exact too.
        let decay: Vec<i64> = blt
            .decay()
            .iter()
            .map(|a| (a * decay_one).round().max(1.0) as i64)
            .map(|a| if short { to_31_bits(a) } else { a })
            .collect();
        let dropped = if short { DROPPED_WEIGHT_BITS } else { 0 };
        let weight: Vec<i64> = blt
            .weight()
            .iter()
            .map(|w| (w * weight_one).floor() as i64 >> dropped << dropped)
            .collect();
        if let Some(index) = weight.iter().position(|w| *w == 0) {
            return Err(BltError::Weight {
                index,
                given: blt.weight()[index],
            });
        }
        if weight.iter().sum::<i64>() > 1 << WEIGHT_BITS {
            return Err(BltError::TotalWeight {
                given: blt.weight().iter().sum(),
            });
        }
        let parameters = BltParameters::new(
            decay.iter().map(|a| *a as f64 / decay_one).collect(),
            weight.iter().map(|w| *w as f64 / weight_one).collect(),
        )?;
        Ok(Self {
            parameters,
            decay,
            weight,
        })
    }

    /// The parameters after rounding: exactly those of the encoder.
    #[must_use]
    pub fn parameters(&self) -> &BltParameters {
        &self.parameters
    }

    /// The number of buffers.
    #[must_use]
    pub fn buffers(&self) -> usize {
        self.decay.len()
    }

    /// a_j = (1 − θ_j)·2⁶².
    #[must_use]
    pub fn decay_numerators(&self) -> &[i64] {
        &self.decay
    }

    /// w_j = ω_j·2⁴⁰.
    #[must_use]
    pub fn weight_numerators(&self) -> &[i64] {
        &self.weight
    }

    /// The largest column norm for `releases` rows, rounded up.
    #[must_use]
    pub fn sensitivity(&self, releases: u64) -> f64 {
        up(self.parameters.sensitivity(releases), MARGIN)
    }

    /// The sensitivity to `participations` items at least `separation` apart, rounded up.
    ///
    /// # Errors
    /// Those of [`BltParameters::sensitivity_with`].
    pub fn sensitivity_with(
        &self,
        releases: u64,
        participations: u64,
        separation: u64,
    ) -> Result<f64, BltError> {
        let norm = self
            .parameters
            .sensitivity_with(releases, participations, separation)?;
        Ok(up(norm, WIDE_MARGIN))
    }

    /// What the floors of the fixed-point encoder can add to the L2 distance of two runs, in lattice units and rounded up:
    /// 2⁻ᶠ·(1 + Σω_j(1−θ_j^n)/(1−θ_j))·√(n·d′) with f = `guard_bits`, d′ = `coordinates` in which two streams can differ.
    #[must_use]
    pub fn inflation(&self, guard_bits: u32, releases: u64, coordinates: usize) -> f64 {
        let cells = releases as f64 * coordinates as f64;
        up(
            self.gain(releases) * cells.sqrt() * libm::exp2(-f64::from(guard_bits)),
            MARGIN,
        )
    }

    /// S_n = Σ_{k≤n} c_k: how far a constant stream of ones drives a row, to nearest.
    pub(super) fn gain(&self, releases: u64) -> f64 {
        1.0 + self
            .parameters
            .pairs()
            .map(|(a, w)| w * geometric(a, releases))
            .sum::<f64>()
    }

    /// (1−θ_j^n)/(1−θ_j) for every j: how far it drives the buffers, rounded up (but 0 stays 0).
    pub(super) fn buffer_gains(&self, releases: u64) -> Vec<f64> {
        self.parameters
            .decay()
            .iter()
            .map(|&a| geometric(a, releases) * (1.0 + MARGIN))
            .collect()
    }
}

/// To the nearest integer with 31 significant bits, for one in 1…2⁶².
fn to_31_bits(value: i64) -> i64 {
    let dropped = (i64::BITS - value.leading_zeros()).saturating_sub(31);
    (value + (1 << dropped >> 1)) >> dropped << dropped
}

/// A positive value widened by a relative margin.
pub(super) fn up(value: f64, margin: f64) -> f64 {
    (value * (1.0 + margin)).next_up()
}

#[cfg(test)]
mod tests {
    use super::super::optimise;
    use super::super::parameters::tests::vector;
    use super::*;

    #[test]
    fn the_floats_are_the_integers() {
        for n in [2, 1 << 10, 1 << 20, 1 << 40] {
            for m in 1..=8 {
                let wanted = optimise(n, m).unwrap();
                let blt = DyadicBlt::new(&wanted).unwrap();
                let (decay, weight) = (blt.parameters().decay(), blt.parameters().weight());
                for j in 0..blt.buffers() {
                    // Back to integers without loss, in arithmetic that would show a remainder.
                    assert_eq!(
                        (decay[j] * 2_f64.powi(62)) as i64,
                        blt.decay_numerators()[j]
                    );
                    assert!((decay[j] * 2_f64.powi(62)).fract().abs() < f64::MIN_POSITIVE);
                    assert_eq!(
                        (weight[j] * 2_f64.powi(40)) as i64,
                        blt.weight_numerators()[j]
                    );
                    assert!(weight[j] <= wanted.weight()[j]);
                }
                let (rounded, ideal) = (
                    blt.parameters().worst_prefix_sd(n),
                    wanted.worst_prefix_sd(n),
                );
                assert!(
                    (rounded / ideal - 1.0).abs() < 1e-6,
                    "{n} {m}: {rounded} {ideal}"
                );
                // Rounding twice changes nothing.
                assert_eq!(DyadicBlt::new(blt.parameters()).unwrap(), blt);
                let text = serde_json::to_string(&blt).unwrap();
                assert_eq!(serde_json::from_str::<DyadicBlt>(&text).unwrap(), blt);
            }
        }
    }

    #[test]
    fn factors_are_short_where_that_is_harmless() {
        let new = |decay: &[f64], weight: &[f64]| {
            DyadicBlt::new(&BltParameters::new(decay.to_vec(), weight.to_vec()).unwrap()).unwrap()
        };
        let significant = |a: i64| i64::BITS - a.leading_zeros() - a.trailing_zeros();
        let blt = new(&[1e-6 / 3.0, 1.0 / 3.0], &[1.0 / 3000.0, 1.0 / 3.0]);
        assert!(blt.decay_numerators().iter().all(|a| significant(*a) <= 31));
        assert!(blt.weight_numerators().iter().all(|w| w % 512 == 0));
        // A faint weight, or decays closer than 31 bits can tell: nothing is lost.
        let third = 1.0_f64 / 3.0;
        for blt in [
            new(&[third], &[1.0 / 5000.0]),
            new(&[third, third.next_up()], &[third, third]),
        ] {
            assert!(significant(blt.decay_numerators()[0]) > 31);
            assert!(blt.weight_numerators()[0] % 512 != 0);
            let back = DyadicBlt::from_numerators(blt.decay_numerators(), blt.weight_numerators());
            assert_eq!(back.unwrap(), blt, "what is stored is never rounded again");
        }
        // Rounding to nearest, also up to the next power of two.
        assert_eq!(to_31_bits((1 << 62) - 1), 1 << 62);
        assert_eq!(to_31_bits((1 << 31) + 1), (1 << 31) + 2);
        assert_eq!(to_31_bits((1 << 31) - 1), (1 << 31) - 1);
    }

    #[test]
    fn rounded_up() {
        let blt = DyadicBlt::new(&vector()).unwrap();
        for n in [1, 2, 100, 1 << 20] {
            let (up, near) = (blt.sensitivity(n), blt.parameters().sensitivity(n));
            assert!(up > near && up < near * (1.0 + 1e-12));
        }
        let several = blt.sensitivity_with(1 << 20, 3, 10).unwrap();
        assert!(several > blt.parameters().sensitivity_with(1 << 20, 3, 10).unwrap());
    }

    #[test]
    fn inflation_of_a_million_releases() {
        let blt = DyadicBlt::new(&vector()).unwrap();
        let got = blt.inflation(16, 1 << 20, 54);
        let asymptotic = 1.0
            + vector()
                .decay()
                .iter()
                .zip(vector().weight())
                .map(|(a, w)| w / a)
                .sum::<f64>();
        let loose = asymptotic * (54.0 * 2_f64.powi(20)).sqrt() / 65536.0;
        assert!(got < loose && got > 0.8 * loose, "{got} {loose}");
        assert!((got - 128.0).abs() < 1.0, "{got}");
    }

    #[test]
    fn refusals() {
        let faint = BltParameters::new(vec![0.1], vec![1e-13]).unwrap();
        assert!(matches!(
            DyadicBlt::new(&faint),
            Err(BltError::Weight { index: 0, .. })
        ));
        let twins = BltParameters::new(vec![1e-30, 2e-30], vec![0.1, 0.1]).unwrap();
        assert!(matches!(
            DyadicBlt::new(&twins),
            Err(BltError::Decay { index: 1, .. })
        ));
        let one = 1 << WEIGHT_BITS;
        assert!(DyadicBlt::from_numerators(&[1 << 61], &[one]).is_ok());
        assert!(matches!(
            DyadicBlt::from_numerators(&[(1 << 61) + 1], &[one]),
            Err(BltError::Decay { index: 0, .. })
        ));
        assert!(matches!(
            DyadicBlt::from_numerators(&[1 << 61], &[one + 1]),
            Err(BltError::TotalWeight { .. })
        ));
        for bad in [0, -1, i64::MIN, i64::MAX] {
            assert!(DyadicBlt::from_numerators(&[bad], &[one]).is_err());
            assert!(DyadicBlt::from_numerators(&[1 << 61], &[bad]).is_err());
        }
    }
}
