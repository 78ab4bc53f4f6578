//! From released rows to prefix sums, in floating point.
//!
//! Post-processing of what is already public, so precision is a matter of use, not of privacy. B =
//! A·C⁻¹ has the coefficients b_k = β + Σ_j γ_jθ̂_j^k ([`BltInverse`](super::BltInverse)): the
//! prefix sum of a stream whose rows are y is Ŝ = β·Σy + Σ_j γ_j·buf_j, with
//!
//! Σy ← Σy + y, buf_j ← (buf_j − α̂_j·buf_j) + y.
//!
//! As b_0 = β + Σ_jγ_j, Ŝ is also b_0·y and what the past gives: β·Σy + Σ_j γ_j·(buf_j −
//! α̂_j·buf_j) before this row. It is computed so, because nothing but that one product waits for
//! the row.
//!
//! The released row is y = Cx + z, so Ŝ_t = S_t + Σ_{s≤t} b_{t−s}·z_s: noise of standard deviation
//! [`prefix_sd`](super::BltInverse::prefix_sd)(t) per unit in the rows.
//!
//! **Error.** Let X bound every entry of x̂ = C⁻¹y so far, u = 2⁻⁵³; then |y_s| ≤ X·(C·1)_s. β and
//! all γ_j are positive, and so are the θ̂_j of an optimised strategy: nothing cancels but what
//! cancels in y. A buffer's update errs by at most 2u·|buf_j|, which later sums see as they would
//! see a row; over t steps that is at most 2u·t times what a stream of the largest rows gives, and
//! B·C·1 = A·1 makes that t·X. With the roundings of Ŝ itself and of β, γ_j, α̂_j, |error of Ŝ_t| ≤
//! (2t + 2m + 6)·u·t·X to first order: 2·10⁻¹⁰ of t·X for 2²⁰ releases if all roundings conspire,
//! and with √t in place of 2t if they do not; far beyond 2³⁰ releases it is no longer small against
//! the noise. (α̂_j·buf_j is subtracted from buf_j, rounded once, because θ̂_j = 1 − α̂_j as a
//! float would be wrong by up to u/α̂_j, relative to α̂_j, and always in the same direction.)

use super::doubles::{LANES, fused};
use super::parameters::BltParameters;
use crate::wide::wide;
use pulp::Simd;

/// A vector of the wrong length, or a state of another form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// A length that is not the decoder's.
    #[error("a vector has {given} entries; the decoder needs {wanted}")]
    Length {
        /// Its length.
        given: usize,
        /// What is needed.
        wanted: usize,
    },
    /// A state that another build has written.
    #[error("this state of a decoder has another form; it was written by another build")]
    Form,
}

impl DecodeError {
    fn check(given: usize, wanted: usize) -> Result<(), Self> {
        if given == wanted {
            Ok(())
        } else {
            Err(Self::Length { given, wanted })
        }
    }
}

/// Turns rows into prefix sums.
#[derive(Debug, Clone)]
pub struct BltDecoder {
    /// β and b_0. They and the γ_j are in units of the data.
    ends: (f64, f64),
    /// α̂_j and γ_j.
    terms: Vec<(f64, f64)>,
    dimension: usize,
    /// For every sixteen coordinates, one after the other: their m buffers. What fills up the last
    /// sixteen stays 0, here and below.
    buffers: Vec<[f64; LANES]>,
    /// For every sixteen coordinates: Σy and Ŝ.
    sums: Vec<Sums>,
}

/// Σy and Ŝ of sixteen coordinates.
pub(super) type Sums = [[f64; LANES]; 2];

/// β and b_0, the terms, and for every sixteen coordinates their buffers and sums.
pub(super) type Parts<'a> = (
    (f64, f64),
    &'a [(f64, f64)],
    &'a mut [[f64; LANES]],
    &'a mut [Sums],
);

impl BltDecoder {
    /// A decoder for rows in multiples of `unit`: `Layout::unit` gives prefix sums in lattice
    /// units, times the size of a lattice unit gives them in units of the data.
    #[must_use]
    pub fn new(blt: &BltParameters, dimension: usize, unit: f64) -> Self {
        let inverse = blt.inverse();
        let terms: Vec<_> = inverse.terms().map(|(a, w)| (a, w * unit)).collect();
        let limit = inverse.limit() * unit;
        let first = limit + terms.iter().map(|(_, weight)| weight).sum::<f64>();
        Self {
            ends: (limit, first),
            buffers: vec![[0.0; LANES]; terms.len() * dimension.div_ceil(LANES)],
            sums: vec![[[0.0; LANES]; 2]; dimension.div_ceil(LANES)],
            terms,
            dimension,
        }
    }

    #[inline(always)]
    pub(super) fn parts(&mut self) -> Parts<'_> {
        (self.ends, &self.terms, &mut self.buffers, &mut self.sums)
    }

    pub(crate) fn dimension(&self) -> usize {
        self.dimension
    }

    /// Takes the next row and writes the prefix sum that includes it.
    ///
    /// # Errors
    /// [`DecodeError`] if a length is not the dimension.
    pub fn step(&mut self, row: &[f64], prefix: &mut [f64]) -> Result<(), DecodeError> {
        DecodeError::check(row.len(), self.dimension)?;
        DecodeError::check(prefix.len(), self.dimension)?;
        step(self, row, prefix);
        Ok(())
    }

    /// Writes the last prefix sum once more.
    pub(crate) fn last(&self, prefix: &mut [f64]) {
        for (out, [_, last]) in prefix.chunks_mut(LANES).zip(&self.sums) {
            out.copy_from_slice(&last[..out.len()]);
        }
    }

    /// The numbers of all coordinates, one vector after the other: the m buffers, then Σy and Ŝ.
    fn numbers(&mut self) -> Vec<&mut f64> {
        let (m, dimension) = (self.terms.len(), self.dimension);
        let mut vectors: Vec<Vec<&mut f64>> = (0..m + 2).map(|_| Vec::new()).collect();
        for (buffers, sums) in self.buffers.chunks_mut(m).zip(&mut self.sums) {
            for (vector, lanes) in vectors.iter_mut().zip(buffers.iter_mut().chain(sums)) {
                vector.extend(lanes);
            }
        }
        let vectors = vectors.into_iter();
        vectors
            .flat_map(|vector| vector.into_iter().take(dimension))
            .collect()
    }

    /// The buffers, Σy and Ŝ, one vector after the other, and then which form of state this is.
    /// Public, as the rows are.
    #[must_use]
    pub fn state(&self) -> Vec<f64> {
        let mut copy = self.clone();
        let numbers = copy.numbers().into_iter().map(|number| *number);
        numbers.chain([FORM]).collect()
    }

    /// Continues from a state.
    ///
    /// # Errors
    /// [`DecodeError`] if it has the wrong length or form.
    pub fn restore(&mut self, state: &[f64]) -> Result<(), DecodeError> {
        let wanted = (self.terms.len() + 2) * self.dimension;
        DecodeError::check(state.len(), wanted + 1)?;
        if state[wanted].to_bits() != FORM.to_bits() {
            return Err(DecodeError::Form);
        }
        let numbers = self.numbers().into_iter().zip(state);
        numbers.for_each(|(number, stored)| *number = *stored);
        Ok(())
    }
}

/// Ends a state of this form: earlier ones were shorter by it.
const FORM: f64 = 2.0;

/// Takes sixteen coordinates of a row, and gives their prefix sums. To be inlined: only then is it
/// compiled for this processor.
#[inline(always)]
pub(super) fn take<S: Simd>(
    ((limit, first), terms): ((f64, f64), &[(f64, f64)]),
    buffers: &mut [[f64; LANES]],
    [sums, last]: &mut Sums,
    row: &[f64; LANES],
) -> [f64; LANES] {
    let mut prefix = sums.map(|sum| limit * sum);
    for (buffer, (decay, weight)) in buffers.iter_mut().zip(terms) {
        for i in 0..LANES {
            let kept = fused::<S>(-decay, buffer[i], buffer[i]);
            prefix[i] = fused::<S>(*weight, kept, prefix[i]);
            buffer[i] = kept + row[i];
        }
    }
    for i in 0..LANES {
        prefix[i] = fused::<S>(first, row[i], prefix[i]);
        sums[i] += row[i];
    }
    *last = prefix;
    prefix
}

wide! {
    /// One step of all coordinates.
    fn step<'a>(decoder: &'a mut BltDecoder, row: &'a [f64], prefix: &'a mut [f64]) -> () {
        let (ends, terms, buffers, sums) = decoder.parts();
        let groups = buffers.chunks_exact_mut(terms.len()).zip(sums);
        let parts = row.chunks(LANES).zip(prefix.chunks_mut(LANES));
        for ((row, prefix), (buffers, sums)) in parts.zip(groups) {
            let mut all = [0.0; LANES];
            all[..row.len()].copy_from_slice(row);
            let decoded = take::<S>((ends, terms), buffers, sums, &all);
            prefix.copy_from_slice(&decoded[..row.len()]);
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
        let layout = Layout::new(Width::Wide, 16);
        let mut encoder = FixedBlt::open(&blt, layout, n, 3, radius).unwrap();
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
            decoder.step(&row.map(|y| y as f64), &mut prefix).unwrap();
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
            first.step(&[t as f64, -3.0 * t as f64], &mut a).unwrap();
        }
        second.restore(&first.state()).unwrap();
        first.step(&[7.0, 9.0], &mut a).unwrap();
        second.step(&[7.0, 9.0], &mut b).unwrap();
        assert_eq!(a.map(f64::to_bits), b.map(f64::to_bits));
        assert!(second.restore(&[0.0]).is_err() && second.restore(&[]).is_err());
        assert!(second.step(&[1.0], &mut b).is_err());
        // A state of another form, even if it is as long.
        let mut other = first.state();
        *other.last_mut().unwrap() = 0.0;
        assert_eq!(second.restore(&other), Err(DecodeError::Form));
        assert!(second.restore(&other[..other.len() - 1]).is_err());
        assert!(second.restore(&first.state()).is_ok());
    }

    #[test]
    fn coordinates_never_mix() {
        // More than a block and a remainder; restored in the middle.
        let (blt, dimension) = (vector(), 150);
        let mut all = BltDecoder::new(&blt, dimension, 0.3);
        let mut each = vec![BltDecoder::new(&blt, 1, 0.3); dimension];
        let (mut prefix, mut single) = (vec![0.0; dimension], [0.0]);
        for t in 1..=20 {
            let row: Vec<f64> = (1..=dimension as i64)
                .map(|i| ((t * i).wrapping_mul(0x1357_9bdf_0246_8ace) >> (i % 20)) as f64)
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
