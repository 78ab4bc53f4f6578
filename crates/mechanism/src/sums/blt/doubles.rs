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

/// Coordinates that pass through encoder and decoder together, in registers.
pub(super) const LANES: usize = 16;

/// The first numbers of a vector, and zeros behind its end.
#[inline(always)]
pub(super) fn padded(values: &[i64]) -> [i64; LANES] {
    match values.first_chunk() {
        Some(all) => *all,
        None => {
            let mut some = [0; LANES];
            some[..values.len()].copy_from_slice(values);
            some
        }
    }
}

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
    pub(super) factors: Vec<(f64, f64)>,
    /// 2ᶠ and 2⁻ᶠ.
    pub(super) scale: (f64, f64),
    dimension: usize,
    /// For every sixteen coordinates, one after the other: their buffers. What fills up the last
    /// sixteen stays 0.
    pub(super) buffers: Vec<[f64; LANES]>,
}

impl Doubles {
    /// Buffers at 0.
    pub(super) fn new(blt: &DyadicBlt, guard_bits: u32, dimension: usize) -> Self {
        let bits = f64::from(guard_bits);
        Self {
            factors: blt.parameters().pairs().collect(),
            scale: (libm::exp2(bits), libm::exp2(-bits)),
            dimension,
            buffers: vec![[0.0; LANES]; dimension.div_ceil(LANES) * blt.buffers()],
        }
    }

    /// The places of the buffers of coordinate 0, then of coordinate 1, …
    fn places(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (dimension, m) = (self.dimension, self.factors.len());
        let group = move |i: usize| i / LANES * m;
        (0..dimension).flat_map(move |i| (0..m).map(move |j| (group(i) + j, i % LANES)))
    }

    /// The buffers of coordinate 0, then those of coordinate 1, …: integers, whatever holds them.
    pub(super) fn state(&self) -> Vec<i128> {
        let places = self.places();
        places
            .map(|(at, lane)| self.buffers[at][lane] as i128)
            .collect()
    }

    /// The reverse, for numbers that the layout admits.
    pub(super) fn restore(&mut self, state: &[i128]) {
        for ((at, lane), value) in self.places().zip(state) {
            self.buffers[at][lane] = *value as f64;
        }
    }
}

/// Takes sixteen coordinates of an item and gives those of the row, with its noise. To be inlined:
/// only then is it compiled for this processor.
#[inline(always)]
pub(super) fn take<S: Simd>(
    (factors, (up, down)): (&[(f64, f64)], (f64, f64)),
    buffers: &mut [[f64; LANES]],
    item: &[i64; LANES],
    noise: &[i64; LANES],
) -> [f64; LANES] {
    let (mut scaled, mut row) = ([0.0; LANES], [MIDDLE; LANES]);
    for i in 0..LANES {
        let x = f64::from_bits(MIDDLE.to_bits().wrapping_add_signed(item[i])) - MIDDLE;
        scaled[i] = fused::<S>(x, up, MIDDLE);
    }
    for (buffer, (decay, weight)) in buffers.iter_mut().zip(factors) {
        for i in 0..LANES {
            row[i] = fused::<S>(buffer[i], *weight, row[i]);
            buffer[i] += scaled[i] - fused::<S>(buffer[i], *decay, MIDDLE);
        }
    }
    for i in 0..LANES {
        let past = fused::<S>(row[i] - MIDDLE, down, MIDDLE).to_bits();
        let noisy = past
            .wrapping_add_signed(item[i])
            .wrapping_add_signed(noise[i]);
        row[i] = f64::from_bits(noisy) - MIDDLE;
    }
    row
}

#[cfg(test)]
mod tests;
