//! From released rows to prefix sums: C⁻¹, then a running sum, in floating point.
//!
//! Post-processing of what is already public, so precision is a matter of use, not of privacy. With y the row in units of the data,
//!
//! x̂ = y − Σ_j ω_j·buf_j, buf_j ← buf_j + (x̂ − α_j·buf_j), Ŝ ← Ŝ + x̂.
//!
//! The released row is y = Cx + z, so Ŝ_t = S_t + Σ_{s≤t} b_{t−s}·z_s: noise of standard deviation [`prefix_sd`](super::BltInverse::prefix_sd)(t) per unit in the rows.
//!
//! **Error.** Let X bound every |x̂| so far, g = min(t, 1/α_1), u = 2⁻⁵³. Every rounding acts like a change of rows:
//! * converting y and subtracting m terms changes row s by at most 2(m+2)·u·X·(C·1)_s;
//! * a buffer's update errs by at most δ = 3u·|buf_j| ≤ 3u·X·g, and an error δ in buf_j changes the rows that follow by ω_jδ, ω_jθ_jδ, …: all of
//!   them together change row s by at most 3u·X·g·(C·1)_s. (α_j·buf_j is subtracted from buf_j because θ_j = 1 − α_j as a float would be
//!   wrong by up to u/α_j, relative to α_j, and always in the same direction.)
//!
//! Since B·C·1 = A·1 and an optimised strategy has b_k ≥ 0, |error of Ŝ_t| ≤ (3g + 2m + 6)·u·t·X: with the compensated running sum, whose own
//! error is 2u·|Ŝ_t|, this is 2·10⁻¹⁰ of t·X for 2²⁰ releases if all roundings conspire, and with √g in place of g if they do not.

use super::super::vectors::nearest;
use super::parameters::BltParameters;
use pulp::{Arch, Simd, WithSimd};

/// Coordinates decoded together: whole vectors of any processor…
const LANES: usize = 8;
/// …and as many as are kept on the stack.
const BLOCK: usize = 64;

/// A number of a row: `f64`, or an integer of the encoder.
pub trait RowValue: Copy {
    /// The nearest float.
    fn to_float(self) -> f64;
}

impl RowValue for f64 {
    fn to_float(self) -> f64 {
        self
    }
}

impl RowValue for i64 {
    #[inline(always)]
    fn to_float(self) -> f64 {
        nearest(self)
    }
}

impl RowValue for i128 {
    fn to_float(self) -> f64 {
        self as f64
    }
}

/// A vector of the wrong length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a vector has {given} entries; the decoder needs {wanted}")]
pub struct DecodeError {
    given: usize,
    wanted: usize,
}

impl DecodeError {
    fn check(given: usize, wanted: usize) -> Result<(), Self> {
        if given == wanted {
            Ok(())
        } else {
            Err(Self { given, wanted })
        }
    }
}

/// Turns rows into prefix sums.
#[derive(Debug, Clone)]
pub struct BltDecoder {
    /// (α_j, ω_j).
    pairs: Vec<(f64, f64)>,
    unit: f64,
    dimension: usize,
    /// The dimension in whole vectors of any processor; what is added stays 0.
    padded: usize,
    /// Vectors one after the other: the m buffers, Ŝ, and what its additions lost.
    state: Vec<f64>,
}

impl BltDecoder {
    /// A decoder for rows in multiples of `unit`: `Layout::unit` gives prefix sums in lattice units, times the size of a lattice unit
    /// gives them in units of the data.
    #[must_use]
    pub fn new(blt: &BltParameters, dimension: usize, unit: f64) -> Self {
        let pairs: Vec<_> = blt.pairs().collect();
        let padded = dimension.next_multiple_of(LANES);
        let state = vec![0.0; (pairs.len() + 2) * padded];
        Self {
            pairs,
            unit,
            dimension,
            padded,
            state,
        }
    }

    /// Takes the next row and writes the prefix sum that includes it.
    ///
    /// # Errors
    /// [`DecodeError`] if a length is not the dimension.
    pub fn step<T: RowValue>(&mut self, row: &[T], prefix: &mut [f64]) -> Result<(), DecodeError> {
        DecodeError::check(row.len(), self.dimension)?;
        DecodeError::check(prefix.len(), self.dimension)?;
        Arch::new().dispatch(Step {
            decoder: self,
            row,
            prefix,
        });
        Ok(())
    }

    #[inline(always)]
    fn step_in_lanes<T: RowValue>(&mut self, row: &[T], prefix: &mut [f64]) {
        let (buffers, sums) = self.state.split_at_mut(self.pairs.len() * self.padded);
        let (sums, losses) = sums.split_at_mut(self.padded);
        for (block, (row, prefix)) in row.chunks(BLOCK).zip(prefix.chunks_mut(BLOCK)).enumerate() {
            let start = block * BLOCK;
            let place = start..start + row.len().next_multiple_of(LANES);
            // x̂ on the stack, where nothing else can point: else every loop would first look whether its vectors overlap.
            let mut item = [0.0; BLOCK];
            for (x, y) in item.iter_mut().zip(row) {
                *x = y.to_float() * self.unit;
            }
            for (buffer, (_, weight)) in buffers.chunks_exact(self.padded).zip(&self.pairs) {
                for (x, b) in item.iter_mut().zip(&buffer[place.clone()]) {
                    *x -= weight * b;
                }
            }
            for (buffer, &(decay, _)) in buffers.chunks_exact_mut(self.padded).zip(&self.pairs) {
                for (x, b) in item.iter().zip(&mut buffer[place.clone()]) {
                    *b += x - decay * *b;
                }
            }
            let running = sums[place.clone()].iter_mut().zip(&mut losses[place]);
            let mut out = [0.0; BLOCK];
            for ((x, (sum, lost)), out) in item.iter().zip(running).zip(&mut out) {
                // Two-sum: what sum + x loses, exactly.
                let next = *sum + x;
                let part = next - *sum;
                *lost += (*sum - (next - part)) + (x - part);
                *sum = next;
                *out = next + *lost;
            }
            prefix.copy_from_slice(&out[..prefix.len()]);
        }
    }

    /// Writes the last prefix sum once more.
    pub(crate) fn last(&self, prefix: &mut [f64]) {
        let sums = &self.state[self.pairs.len() * self.padded..];
        let (sums, losses) = sums.split_at(self.padded);
        for ((sum, lost), out) in sums.iter().zip(losses).zip(prefix) {
            *out = sum + lost;
        }
    }

    /// The buffers, the prefix sum and its compensation, one vector after the other. Public, as the rows are.
    #[must_use]
    pub fn state(&self) -> Vec<f64> {
        // max(1) only because an empty vector has no chunks of length 0.
        let vectors = self.state.chunks_exact(self.padded.max(1));
        vectors
            .flat_map(|vector| &vector[..self.dimension])
            .copied()
            .collect()
    }

    /// Continues from a state.
    ///
    /// # Errors
    /// [`DecodeError`] if it has the wrong length.
    pub fn restore(&mut self, state: &[f64]) -> Result<(), DecodeError> {
        DecodeError::check(state.len(), (self.pairs.len() + 2) * self.dimension)?;
        let vectors = self.state.chunks_exact_mut(self.padded.max(1));
        for (vector, stored) in vectors.zip(state.chunks_exact(self.dimension.max(1))) {
            vector[..self.dimension].copy_from_slice(stored);
        }
        Ok(())
    }
}

/// One step, to be compiled for every width of vectors.
struct Step<'a, T> {
    decoder: &'a mut BltDecoder,
    row: &'a [T],
    prefix: &'a mut [f64],
}

impl<T: RowValue> WithSimd for Step<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.decoder.step_in_lanes(self.row, self.prefix);
    }
}

#[cfg(test)]
mod tests {
    use super::super::parameters::tests::vector;
    use super::super::{DyadicBlt, FixedBlt, Layout, Width, optimise};
    use super::*;

    #[test]
    fn decoding_undoes_encoding() {
        let (n, radius) = (1_u64 << 16, 1_i64 << 26);
        let blt = DyadicBlt::new(&optimise(n, 4).unwrap()).unwrap();
        let layout = Layout::new(Width::Narrow, 16);
        let FixedBlt::Narrow(mut encoder) = FixedBlt::open(&blt, layout, n, 3, radius).unwrap()
        else {
            panic!()
        };
        let mut decoder = BltDecoder::new(blt.parameters(), 3, layout.unit());
        let (mut row, mut prefix, mut exact, mut worst) = ([0; 3], [0.0; 3], [0_i64; 3], 0_f64);
        let mut bits = 1_u64;
        for t in 1..=n {
            bits = bits
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let random = (bits >> 38) as i64 - (1 << 25);
            let item = [
                radius,
                random,
                if t % 1024 < 512 { radius } else { -radius },
            ];
            encoder.encode(&item, &mut row).unwrap();
            decoder.step(&row, &mut prefix).unwrap();
            for i in 0..3 {
                exact[i] += item[i];
                worst = worst.max((prefix[i] - exact[i] as f64).abs() / (radius as f64 * t as f64));
            }
        }
        // Floors of half a unit of 2⁻¹⁶ on average are 1e-13 of R·t; the floats add less.
        assert!(worst < 1e-12, "{worst:e}");
    }

    #[test]
    fn noise_in_the_rows_becomes_the_stated_deviation() {
        // The response to an impulse is b_0, b_1, …; white noise has the root of their squares.
        for blt in [
            vector(),
            optimise(1 << 12, 7).unwrap(),
            optimise(5, 2).unwrap(),
        ] {
            let (inverse, mut decoder) = (blt.inverse(), BltDecoder::new(&blt, 1, 1.0));
            let (mut square, mut out) = (0.0, [0.0]);
            for t in 1..=(1_u64 << 16) {
                decoder
                    .step(&[if t == 1 { 1.0 } else { 0.0 }], &mut out)
                    .unwrap();
                square += out[0] * out[0];
                if t.is_power_of_two() {
                    assert!((out[0] - inverse.prefix_coefficient(t - 1)).abs() < 1e-12);
                    assert!(
                        (square.sqrt() / inverse.prefix_sd(t) - 1.0).abs() < 1e-10,
                        "t = {t}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_restored_decoder_continues() {
        let blt = vector();
        let (mut first, mut second) =
            (BltDecoder::new(&blt, 2, 0.5), BltDecoder::new(&blt, 2, 0.5));
        let (mut a, mut b) = ([0.0; 2], [0.0; 2]);
        for t in 0..50_i64 {
            first.step(&[t, -3 * t], &mut a).unwrap();
        }
        second.restore(&first.state()).unwrap();
        first.step(&[7_i128, 9], &mut a).unwrap();
        second.step(&[7_i64, 9], &mut b).unwrap();
        assert_eq!(a.map(f64::to_bits), b.map(f64::to_bits));
        assert!(second.restore(&[0.0]).is_err() && second.step(&[1.0], &mut b).is_err());
    }

    #[test]
    fn coordinates_never_mix() {
        // More than a block and a remainder; restored in the middle.
        let (blt, dimension) = (vector(), 150);
        let mut all = BltDecoder::new(&blt, dimension, 0.3);
        let mut each = vec![BltDecoder::new(&blt, 1, 0.3); dimension];
        let (mut prefix, mut single) = (vec![0.0; dimension], [0.0]);
        for t in 1..=20 {
            let row: Vec<i64> = (1..=dimension as i64)
                .map(|i| (t * i).wrapping_mul(0x1357_9bdf_0246_8ace) >> (i % 20))
                .collect();
            all.step(&row, &mut prefix).unwrap();
            for (i, one) in each.iter_mut().enumerate() {
                one.step(&row[i..=i], &mut single).unwrap();
                assert_eq!(prefix[i].to_bits(), single[0].to_bits());
            }
            if t == 10 {
                let state = all.state();
                all = BltDecoder::new(&blt, dimension, 0.3);
                all.restore(&state).unwrap();
                let mut again = vec![0.0; dimension];
                all.last(&mut again);
                assert_eq!(again, prefix);
            }
        }
    }
}
