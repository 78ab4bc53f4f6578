//! Discrete Laplace noise: P(k) = tanh(1/2b)·e^(−|k|/b) on the integers.
//!
//! **Law.** Exact for every whole scale b ≥ 1, with one exception that finite integers force:
//! magnitudes above b·2²² are clamped to it. That has probability below
//! e^(−2²²) < 2^(−6,000,000), below the smallest positive float, and is stated as 0.
//!
//! **Why it is private.** An integer query that one person can move by Δ in the L1 norm, plus this
//! noise on every coordinate, changes no probability by more than a factor e^(Δ/b): ε = Δ/b.
//!
//! **Proof of the method** (Canonne, Kamath and Steinke 2020). U uniform on 0…b−1 and kept with
//! probability e^(−U/b), V the number of heads of a coin e^(−1) before its first tails: U + bV = m
//! has probability ∝ e^(−m/b). A fair sign, with "−0" drawn again, makes it two-sided.

use crate::coin::exp_minus_fraction;
use crate::source::Domain;
use crate::{Cursor, NoiseError, Source};
use hushstream_account::ParameterError;

/// Discrete Laplace noise of a whole scale.
///
/// ```
/// use hushstream_noise::{DiscreteLaplace, Instance, Key, NoiseError, Source};
///
/// let source = Source::open(&Key::insecure_from_seed(1), Instance::from_bytes([0; 16]), 1);
/// let mut noise = [0; 1000];
/// DiscreteLaplace::new(100)?.fill(&source, 0, 0, &mut noise);
/// let mean = noise.iter().map(|k| k.abs() as f64).sum::<f64>() / 1000.0;
/// assert!((mean - 100.0).abs() < 15.0);
/// # Ok::<(), NoiseError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiscreteLaplace {
    scale: u64,
}

impl DiscreteLaplace {
    /// The draw is exact up to less than the smallest positive float.
    pub const SLACK: f64 = 0.0;

    /// The largest scale. Its largest magnitude is about 2⁶².
    pub const MAX_SCALE: u64 = 1 << 40;

    /// Noise with scale `scale`, standard deviation about √2·`scale`.
    ///
    /// # Errors
    /// A scale of 0 or above 2⁴⁰.
    pub fn new(scale: u64) -> Result<Self, NoiseError> {
        if !(1..=Self::MAX_SCALE).contains(&scale) {
            return Err(ParameterError::new("scale", scale, "1 to 2^40").into());
        }
        Ok(Self { scale })
    }

    /// Writes the noise of coordinates `first`, `first`+1, … of `node`.
    ///
    /// # Panics
    /// If the coordinates run past 2³².
    pub fn fill(self, source: &Source, node: u64, first: u32, out: &mut [i64]) {
        for (offset, value) in out.iter_mut().enumerate() {
            let lane = u32::try_from(offset as u64 + u64::from(first))
                .expect("a node has at most 2^32 coordinates");
            *value = self.draw(&mut source.cursor_in(node, lane, Domain::Laplace));
        }
    }

    /// One draw from the bits at a cursor.
    pub fn draw(self, bits: &mut Cursor<'_>) -> i64 {
        loop {
            let rest = bits.below(u128::from(self.scale)) as u64;
            if !exp_minus_fraction(rest, self.scale, bits) {
                continue;
            }
            let mut whole = 0_u64;
            while exp_minus_fraction(1, 1, bits) {
                whole += 1;
            }
            // Clamped after 2²² heads in a row: the exception in the law above.
            let magnitude = (rest + self.scale * whole.min(1 << 22)) as i64;
            let negative = bits.below(2) == 1;
            if negative && magnitude == 0 {
                continue;
            }
            return if negative { -magnitude } else { magnitude };
        }
    }
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
        let law = DiscreteLaplace::new(1 << 30).unwrap();
        let mut whole = [0; 50];
        law.fill(&source, 9, 0, &mut whole);
        let mut part = [0; 7];
        law.fill(&source, 9, 20, &mut part);
        assert_eq!(part, whole[20..27]);
    }

    #[test]
    fn zero_and_huge_scales_are_refused() {
        assert!(DiscreteLaplace::new(0).is_err());
        let message = DiscreteLaplace::new(u64::MAX).unwrap_err().to_string();
        assert!(message.contains("allowed: 1 to 2^40"), "{message}");
    }
}
