//! BLT parameters that integers can follow exactly, and the sensitivity of exactly those.
//!
//! 1 − θ_j = a_j/2⁶² and ω_j = w_j/2⁴⁰ with integers a_j ≥ 1, w_j ≥ 1: the decay to the nearest
//! (for 2⁴⁰ releases a_j is still above 10⁶), the weight down; to 31 bits each where that is
//! harmless (more would change the strategies of earlier versions, and gain nothing). Weights get
//! fewer bits because Σ_j w_j·buf_j, the largest number in the encoder, must fit 127 bits. An a_j
//! or w_j that comes from a float has at most 53 significant bits, so a_j/2⁶² and w_j/2⁴⁰ are
//! floats *exactly*: [`DyadicBlt::parameters`] are not an approximation of what the encoder does
//! but the same numbers, and the closed forms apply to them.
//!
//! **Sensitivity.** The closed form has a relative error below 2⁻⁴⁶ (2⁻³³ with several
//! participations), and the value reported is that, widened by 2⁻⁴⁴ (2⁻³²): never below the real
//! norm. Σw_j ≤ 2⁴⁰ is checked in integers.
//!
//! **Inflation: what the floors add.** The [encoder](super::FixedBlt) computes, in units of
//! 2⁻ᶠ,
//!
//! buf_j ← buf_j − ⌊α_j·buf_j⌋ + X = θ_j·buf_j + ε + X and Y = X + ⌊Σω_j·buf_j⌋ = X + Σω_j·buf_j −
//! η, with ε, η ∈ \[0, 1).
//!
//! Run it on two streams. Coordinates never mix, so where no item differs nothing differs. In the
//! others, let s be the first step whose items differ. Up to step s the buffers agree, hence so do
//! ε and η there, η of row s included. For row s + 1 + r, by linearity,
//!
//! ΔY = (C·ΔX) − Δη + Σ_j ω_j·Σ_{i<r} θ_j^{r−1−i}·Δε_j, where |Δε| < 1, |Δη| < 1,
//!
//! so |ΔY − C·ΔX| < S_r = 1 + Σ_j ω_j·(1−θ_j^r)/(1−θ_j) ≤ S_n. That holds for at most n rows and d′
//! coordinates, *however many* items differ and whatever the stream answers to earlier releases.
//! Hence, in units of the lattice,
//!
//! ‖ΔY‖·2⁻ᶠ ≤ ‖C·Δx‖ + 2⁻ᶠ·S_n·√(n·d′) ≤ sens·Δ + inflation. ∎
//!
//! (S_n < S_∞ = 1 + Σω_j/(1−θ_j), and for an optimised strategy S_r grows like √r, so the sum of
//! squares is in fact near half of n·S_n². It does not matter: at f = 16, n = 2²⁰, d′ = 54 this is
//! 128 units where the noise has 2³⁰.)
//!
//! In [doubles](super::Width::Double) everything is rounded to the nearest, ε ∈ \[−½, ½\], so |Δε|
//! ≤ 1 as before. A weighted sum is rounded m times, each time by at most ½ a unit, and the row
//! once more, by at most half a unit *of the lattice*. All these are roundings of buffers, so those
//! of row s agree here too. So |Δη| ≤ m + 2ᶠ, and in units of the lattice the inflation is (1 +
//! 2⁻ᶠ(m + S_n − 1))·√(n·d′). The ones cost √(n·d′) units, which is little: at n = 2¹⁸ and d′ = 54,
//! 3762 of 2³⁰. ∎

use serde::{Deserialize, Serialize};

use super::error::BltError;
use super::geometric::geometric;
use super::layout::{Layout, Width};
use super::parameters::BltParameters;

/// Decays are multiples of 2⁻⁶².
pub const DECAY_BITS: u32 = 62;
/// Weights are multiples of 2⁻⁴⁰.
pub const WEIGHT_BITS: u32 = 40;

/// What is left of 40 bits are 31.
const DROPPED_WEIGHT_BITS: u32 = WEIGHT_BITS - 31;
/// Weights from here on may lose the last 9 bits: less than 2⁻¹⁹ of themselves, and where they are
/// optimal the error does not change to first order.
const LEAST_SHORT_WEIGHT: f64 = 1.0 / (1 << 12) as f64;

/// Outward margin of a single-participation sensitivity, and of everything computed from geometric
/// sums.
const MARGIN: f64 = 1.0 / (1_u64 << 44) as f64;
/// Outward margin of a sensitivity with several participations.
const WIDE_MARGIN: f64 = 1.0 / (1_u64 << 32) as f64;

/// A BLT strategy with dyadic parameters. It is written as its integers: a decimal fraction may
/// come back one ulp off, and would then be another strategy.
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
    /// Those of [`BltParameters::new`], and [`BltError::Decay`] for an a_j of more than 53
    /// significant bits, which no float holds.
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

    /// Rounds parameters: decays to the nearest multiple of 2⁻⁶² (at least one) with 31 significant
    /// bits, weights down to a multiple of 2⁻³¹. Where a weight is below 2⁻¹², or two decays would
    /// coincide, decays keep all their bits and weights are multiples of 2⁻⁴⁰.
    ///
    /// # Errors
    /// [`BltError::Weight`] for a weight below 2⁻⁴⁰, [`BltError::Decay`] if two decays coincide
    /// once rounded, [`BltError::TotalWeight`] if the weights exceed one (which a float sum may
    /// have missed).
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
        // Products with powers of two are exact, and the values are at most 2⁶², so the casts are
        // exact too.
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

    /// What the roundings of the encoder can add to the L2 distance of two runs, in lattice units
    /// and rounded up, with d′ = `coordinates` in which two streams can differ.
    #[must_use]
    pub fn inflation(&self, layout: Layout, releases: u64, coordinates: usize) -> f64 {
        let unit = libm::exp2(-f64::from(layout.guard_bits()));
        let buffers = self.gain(releases) - 1.0;
        let apart = match layout.width() {
            Width::Double => 1.0 + unit * (self.buffers() as f64 + buffers),
            Width::Wide => unit * (1.0 + buffers),
        };
        let cells = releases as f64 * coordinates as f64;
        up(apart * cells.sqrt(), MARGIN)
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
mod tests;
