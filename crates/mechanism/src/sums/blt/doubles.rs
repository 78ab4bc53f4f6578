//! Integers held in doubles: the encoder for streams of up to about a million releases, and by far
//! the fastest. Coordinates are independent, so the loops over them become vectors.
//!
//! Processors round products of doubles in one instruction and multiply no long integers in
//! vectors. With ⟦·⟧ the nearest integer, ties to even, and X = x·2ᶠ,
//!
//! r = 0, r ← ⟦r + ω_j·buf_j⟧ for j = 1, …, m, Y = x + ⟦r/2ᶠ⟧, *then* buf_j ← buf_j + (X −
//! ⟦α_j·buf_j⟧).
//!
//! The row Y is in units of the lattice: its noise is that of every other sum. α_j and ω_j are
//! doubles exactly ([`DyadicBlt`]). Nothing that takes long waits for the item: all roundings are
//! of buffers.
//!
//! **All of these are integers, and exact.** A double between 2⁵² and 2⁵³ is an integer, so a sum
//! that lies there is rounded to one: with K = 3·2⁵¹, an integer c and any doubles a, b, the fused
//! a·b + (K + c) is K + ⟦a·b + c⟧ if |a·b + c| ≤ 2⁵¹: one rounding, ties to even (K is even). And
//! K + y for an integer |y| < 2⁵¹ is the double whose bits, as a number, are those of K plus y.
//! [`Layout`](super::Layout) admits only streams with |buf_j| ≤ L_j < 2⁵³ and |X|, |r|, |Y + noise|
//! < 2⁵¹, r at every j, and M + 1 < 2⁵¹ for the bound M of |X|. Then
//! * K + X, K + r, K + ⟦r/2ᶠ⟧ and K + Y + noise lie between 2⁵² and 2⁵³, and so does K +
//!   ⟦α_jbuf_j⟧, because α_jL_j ≤ M + 1 (up to the rounding of L_j, for which
//!   [`Layout`](super::Layout) leaves room);
//! * (K + X) − (K + ⟦α_jbuf_j⟧) is an integer of at most 2⁵², and buf_j plus it one of at most L_j:
//!   both exact;
//! * (K + r) − K = r, and r/2ᶠ is a product with a power of two, rounded only when K is added;
//! * the item becomes a double by way of K + x, which is exact as |x| ≤ |X|; it and the noise are
//!   added to the row as integers, to the bits. ∎
//!
//! What the roundings add to the distance of two runs is proved in `dyadic.rs`.

use super::dyadic::DyadicBlt;
use pulp::Simd;

/// K.
const MIDDLE: f64 = (3_u64 << 51) as f64;

/// Coordinates that pass through encoder and decoder together: few enough for the first-level
/// cache.
pub(super) const BLOCK: usize = 64;

/// a·b + c, rounded once: by the processor, or where it cannot, not by whatever the system has for
/// it.
#[inline(always)]
pub(super) fn fused<S: Simd>(a: f64, b: f64, c: f64) -> f64 {
    if S::IS_SCALAR {
        libm::fma(a, b, c)
    } else {
        a.mul_add(b, c)
    }
}

/// Buffers of an encoder.
#[derive(Clone)]
pub(super) struct Doubles {
    /// α_j and ω_j.
    factors: Vec<(f64, f64)>,
    /// 2ᶠ and 2⁻ᶠ.
    scale: (f64, f64),
    dimension: usize,
    /// The first buffers of all coordinates, then the second, …
    buffers: Vec<f64>,
}

impl Doubles {
    /// Buffers at 0.
    pub(super) fn new(blt: &DyadicBlt, guard_bits: u32, dimension: usize) -> Self {
        let bits = f64::from(guard_bits);
        Self {
            factors: blt.parameters().pairs().collect(),
            scale: (libm::exp2(bits), libm::exp2(-bits)),
            dimension,
            buffers: vec![0.0; dimension * blt.buffers()],
        }
    }

    /// The places of the buffers of coordinate 0, then of coordinate 1, …
    fn places(&self) -> impl Iterator<Item = usize> + use<> {
        let (dimension, buffers) = (self.dimension, self.factors.len());
        (0..dimension).flat_map(move |i| (0..buffers).map(move |j| j * dimension + i))
    }

    /// The buffers of coordinate 0, then those of coordinate 1, …: integers, whatever holds them.
    pub(super) fn state(&self) -> Vec<i128> {
        self.places().map(|at| self.buffers[at] as i128).collect()
    }

    /// The reverse, for numbers that the layout admits.
    pub(super) fn restore(&mut self, state: &[i128]) {
        for (at, value) in self.places().zip(state) {
            self.buffers[at] = *value as f64;
        }
    }

    /// Takes a block of coordinates of an item, from `first` on, and writes those of the row with
    /// its noise. To be inlined: only then is it compiled for the processor at hand.
    #[inline(always)]
    pub(super) fn take<S: Simd>(
        &mut self,
        first: usize,
        item: &[i64],
        noise: &[i64],
        row: &mut [f64],
    ) {
        let (up, down) = self.scale;
        let mut scaled = [0.0; BLOCK];
        for (scaled, item) in scaled.iter_mut().zip(item) {
            let x = f64::from_bits(MIDDLE.to_bits().wrapping_add_signed(*item)) - MIDDLE;
            *scaled = fused::<S>(x, up, MIDDLE);
        }
        row.fill(MIDDLE);
        for (buffers, (decay, weight)) in
            (self.buffers.chunks_exact_mut(self.dimension)).zip(&self.factors)
        {
            let buffers = buffers[first..].iter_mut().zip(&scaled);
            for ((buffer, scaled), row) in buffers.zip(row.iter_mut()) {
                *row = fused::<S>(*buffer, *weight, *row);
                *buffer += scaled - fused::<S>(*buffer, *decay, MIDDLE);
            }
        }
        for (row, (item, noise)) in row.iter_mut().zip(item.iter().zip(noise)) {
            let past = fused::<S>(*row - MIDDLE, down, MIDDLE).to_bits();
            let noisy = past.wrapping_add_signed(*item).wrapping_add_signed(*noise);
            *row = f64::from_bits(noisy) - MIDDLE;
        }
    }
}

#[cfg(test)]
mod tests;
