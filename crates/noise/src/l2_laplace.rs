//! L2-Laplace noise (the "Gamma noise" of the private-learning papers): density ∝ e^(−‖v‖₂/c) on
//! ℝᵈ, rounded to integers.
//!
//! **Law.** round(v) coordinate by coordinate. For an integer query q, q + round(v) = round(q + v):
//! it is post-processing of the continuous mechanism, which is ε-DP with ε = Δ₂/c because
//! ‖v‖ − ‖v+Δ‖ ≤ ‖Δ‖.
//!
//! **Method.** v = c·‖a‖·b with independent standard normal vectors a ∈ ℝᵈ⁺¹ and b ∈ ℝᵈ. No Gamma
//! sampler and no division. *Proof.* Given W = ‖a‖², which is chi-square with d+1 degrees of
//! freedom, v/c is N(0, W·I). With s = ‖v‖/c its density is proportional to ∫ W^(−d/2)
//! e^(−s²/2W) · W^((d+1)/2 − 1) e^(−W/2) dW = ∫ W^(−1/2) e^(−W/2 − s²/2W) dW = √(2π)·e^(−s). ∎ (The
//! textbook method, a Gamma(d) radius times a uniform direction, has the same law. Drawing the
//! radius as an *exponential* is the classical mistake; its privacy loss is unbounded near the
//! origin.)
//!
//! **Slack.** The normals are known to 2⁻¹⁹⁹, so v is known to ±2⁻¹³⁰ in lattice units (the
//! constructor keeps c·16·16·(⌊√(d+1)⌋+1) below 2⁶²). A value is rounded the wrong way only if v
//! lies that close to a half-integer: below 2⁻¹²⁸. The 2d+1 normals err by 2⁻¹¹² each: a node of d
//! coordinates is off by less than (2d+1)·2⁻¹¹² + d·2⁻¹²⁸ < d·2⁻¹¹⁰. The length is shared, so
//! charge d·2⁻¹¹⁰ for every node touched, however few of its coordinates are read. A claim with
//! δ = 0 has no room for it, so a guarantee with this noise states the slack.
//!
//! **Time.** Any coordinate can be drawn alone, but the length ‖a‖ costs d+1 normals: draw whole
//! nodes where possible.

use crate::gaussian::{self, full_normal};
use crate::source::Domain;
use crate::{NoiseError, Source};
use dashu_int::UBig;
use dashu_int::ops::SquareRoot;
use hushstream_account::ParameterError;

/// Binary digits of a normal.
const DIGITS: usize = 199;

/// Rounded L2-Laplace noise on ℝᵈ.
///
/// ```
/// use hushstream_noise::{Instance, Key, L2Laplace, NoiseError, Source};
///
/// let source = Source::open(&Key::insecure_from_seed(1), Instance::from_bytes([0; 16]), 1);
/// let law = L2Laplace::new(3, 1 << 20)?;
/// let mut node = [0; 3];
/// law.fill(&source, 0, 0, &mut node);
/// let mut last = [0];
/// law.fill(&source, 0, 2, &mut last); // one coordinate alone
/// assert_eq!(last[0], node[2]);
/// # Ok::<(), NoiseError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct L2Laplace {
    dimension: u32,
    scale: u64,
}

impl L2Laplace {
    /// Bound on a node's total-variation distance, divided by its dimension: charge dimension times
    /// this for every node touched.
    pub const SLACK: f64 = 4.0 * gaussian::SLACK;

    /// Noise on `dimension` coordinates with scale `scale`; the expected length is
    /// `dimension`·`scale`.
    ///
    /// # Errors
    /// A dimension or scale of 0, or both so large that a draw might not fit 63 bits.
    pub fn new(dimension: u32, scale: u64) -> Result<Self, NoiseError> {
        if dimension == 0 || dimension == u32::MAX {
            return Err(ParameterError::new("dimension", dimension, "1 to 2^32 - 2").into());
        }
        let longest = 256 * (u128::from(dimension) + 1).isqrt() + 256;
        if scale == 0 || u128::from(scale) * longest >= 1 << 62 {
            return Err(ParameterError::new(
                "scale",
                scale,
                "at least 1, and scale*256*(sqrt(dimension+1)+1) below 2^62",
            )
            .into());
        }
        Ok(Self { dimension, scale })
    }

    /// Writes the noise of coordinates `first`, `first`+1, … of `node`.
    ///
    /// # Panics
    /// If the coordinates run past the dimension.
    pub fn fill(self, source: &Source, node: u64, first: u32, out: &mut [i64]) {
        assert!(
            u64::from(first) + out.len() as u64 <= u64::from(self.dimension),
            "a node has as many coordinates as the noise has dimensions"
        );
        let length = UBig::from(self.scale) * length_199(source, node, self.dimension + 1);
        let half = UBig::ONE << (2 * DIGITS - 1);
        for (lane, value) in (first..).zip(out) {
            let direction = full_normal(source, node, lane, Domain::L2Direction);
            let magnitude = (&length * direction.magnitude_199() + &half) >> (2 * DIGITS);
            let magnitude = i64::try_from(magnitude).expect("the constructor bounds every draw");
            *value = if direction.is_negative() {
                -magnitude
            } else {
                magnitude
            };
        }
    }
}

/// ⌊2¹⁹⁹·‖a‖⌋ for the node's `count` normals.
fn length_199(source: &Source, node: u64, count: u32) -> UBig {
    (0..count)
        .map(|lane| {
            let magnitude = full_normal(source, node, lane, Domain::L2Radius).magnitude_199();
            magnitude.sqr()
        })
        .sum::<UBig>()
        .sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Instance, Key};

    #[test]
    fn any_range_equals_the_whole() {
        let source = Source::open(
            &Key::insecure_from_seed(5),
            Instance::from_bytes([0; 16]),
            0,
        );
        let law = L2Laplace::new(20, 1 << 30).unwrap();
        let mut whole = [0; 20];
        law.fill(&source, 9, 0, &mut whole);
        for first in 0..20 {
            let mut one = [0];
            law.fill(&source, 9, first, &mut one);
            assert_eq!(one[0], whole[first as usize]);
        }
    }

    #[test]
    fn the_smallest_and_largest_parameters() {
        assert!(L2Laplace::new(0, 1).is_err());
        assert!(L2Laplace::new(u32::MAX, 1).is_err());
        assert!(L2Laplace::new(1, 0).is_err());
        assert!(L2Laplace::new(1, u64::MAX).is_err());
        assert!(L2Laplace::new(1 << 24, 1 << 30).is_ok());
        assert!(L2Laplace::new(1 << 24, 1 << 42).is_err());
    }
}
