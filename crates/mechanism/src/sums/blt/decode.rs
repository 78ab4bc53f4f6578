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
use crate::four::{self, FOUR, Four, Work};

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

/// (α_j, ω_j), each four times.
pub(super) type Pair = ([f64; FOUR], [f64; FOUR]);

/// Turns rows into prefix sums.
#[derive(Debug, Clone)]
pub struct BltDecoder {
    pub(super) pairs: Vec<Pair>,
    pub(super) unit: [f64; FOUR],
    dimension: usize,
    /// For every four coordinates, one after the other: their m buffers. What fills up the last four stays 0, here and below.
    pub(super) buffers: Vec<[f64; FOUR]>,
    /// For every four coordinates: Ŝ, and what its additions lost.
    pub(super) sums: Vec<Sums>,
}

impl BltDecoder {
    /// A decoder for rows in multiples of `unit`: `Layout::unit` gives prefix sums in lattice units, times the size of a lattice unit
    /// gives them in units of the data.
    #[must_use]
    pub fn new(blt: &BltParameters, dimension: usize, unit: f64) -> Self {
        let pairs: Vec<_> = blt.pairs().map(|(a, w)| ([a; FOUR], [w; FOUR])).collect();
        let groups = dimension.div_ceil(FOUR);
        Self {
            buffers: vec![[0.0; FOUR]; pairs.len() * groups],
            sums: vec![[[0.0; FOUR]; 2]; groups],
            pairs,
            unit: [unit; FOUR],
            dimension,
        }
    }

    pub(super) fn dimension(&self) -> usize {
        self.dimension
    }

    /// Takes the next row and writes the prefix sum that includes it.
    ///
    /// # Errors
    /// [`DecodeError`] if a length is not the dimension.
    pub fn step<T: RowValue>(&mut self, row: &[T], prefix: &mut [f64]) -> Result<(), DecodeError> {
        DecodeError::check(row.len(), self.dimension)?;
        DecodeError::check(prefix.len(), self.dimension)?;
        four::run(Step {
            decoder: self,
            row,
            prefix,
        });
        Ok(())
    }

    /// Writes the last prefix sum once more.
    pub(crate) fn last(&self, prefix: &mut [f64]) {
        for (out, [sums, losses]) in prefix.chunks_mut(FOUR).zip(&self.sums) {
            for (out, (sum, lost)) in out.iter_mut().zip(sums.iter().zip(losses)) {
                *out = sum + lost;
            }
        }
    }

    /// The places of all numbers, one vector after the other: the m buffers, Ŝ, and what it lost.
    fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        let vectors = 0..self.pairs.len() + 2;
        vectors.flat_map(|j| (0..self.dimension).map(move |i| (j, i)))
    }

    /// The number of vector j at coordinate i.
    fn at(&mut self, (j, i): (usize, usize)) -> &mut f64 {
        let (group, lane, m) = (i / FOUR, i % FOUR, self.pairs.len());
        if j < m {
            &mut self.buffers[group * m + j][lane]
        } else {
            &mut self.sums[group][j - m][lane]
        }
    }

    /// The buffers, the prefix sum and its compensation, one vector after the other. Public, as the rows are.
    #[must_use]
    pub fn state(&self) -> Vec<f64> {
        let mut copy = self.clone();
        self.places().map(|place| *copy.at(place)).collect()
    }

    /// Continues from a state.
    ///
    /// # Errors
    /// [`DecodeError`] if it has the wrong length.
    pub fn restore(&mut self, state: &[f64]) -> Result<(), DecodeError> {
        DecodeError::check(state.len(), (self.pairs.len() + 2) * self.dimension)?;
        let places: Vec<_> = self.places().collect();
        for (place, value) in places.into_iter().zip(state) {
            *self.at(place) = *value;
        }
        Ok(())
    }
}

/// Ŝ of four coordinates, and what its additions lost.
pub(super) type Sums = [[f64; FOUR]; 2];

/// Takes a row's four coordinates in units of the data, and gives their prefix sums.
#[inline(always)]
pub(super) fn take<V: Four>(
    v: V,
    pairs: &[Pair],
    buffers: &mut [[f64; FOUR]],
    sums: &mut Sums,
    mut item: V::Floats,
) -> V::Floats {
    for (buffer, (_, weight)) in buffers.iter().zip(pairs) {
        item = v.minus(item, v.times(v.floats(weight), v.floats(buffer)));
    }
    for (buffer, (decay, _)) in buffers.iter_mut().zip(pairs) {
        let old = v.floats(buffer);
        let change = v.minus(item, v.times(v.floats(decay), old));
        *buffer = v.numbers(v.plus(old, change));
    }
    // Two-sum: what sum + x loses, exactly.
    let (sum, lost) = (v.floats(&sums[0]), v.floats(&sums[1]));
    let next = v.plus(sum, item);
    let part = v.minus(next, sum);
    let loss = v.plus(v.minus(sum, v.minus(next, part)), v.minus(item, part));
    let lost = v.plus(lost, loss);
    *sums = [v.numbers(next), v.numbers(lost)];
    v.plus(next, lost)
}

/// One step of all coordinates.
struct Step<'a, T> {
    decoder: &'a mut BltDecoder,
    row: &'a [T],
    prefix: &'a mut [f64],
}

impl<T: RowValue> Work for Step<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with<V: Four>(self, v: V) {
        let BltDecoder {
            pairs,
            unit,
            buffers,
            sums,
            ..
        } = self.decoder;
        let groups = buffers.chunks_exact_mut(pairs.len()).zip(sums);
        let parts = self.row.chunks(FOUR).zip(self.prefix.chunks_mut(FOUR));
        for ((row, prefix), (buffers, sums)) in parts.zip(groups) {
            let mut floats = [0.0; FOUR];
            for (float, value) in floats.iter_mut().zip(row) {
                *float = value.to_float();
            }
            let item = v.times(v.floats(&floats), v.floats(unit));
            let decoded = v.numbers(take(v, pairs, buffers, sums, item));
            prefix.copy_from_slice(&decoded[..prefix.len()]);
        }
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
