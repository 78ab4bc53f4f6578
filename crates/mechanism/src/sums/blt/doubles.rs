//! Integers held in doubles: the encoder for streams of up to about a million releases, and by far
//! the fastest.
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
use super::round::Encoding;
use hushstream_four::{self as four, FOUR, Four};

/// K.
const MIDDLE: f64 = (3_u64 << 51) as f64;

/// α_j and ω_j, each four times.
#[derive(Clone, Copy)]
pub(super) struct Factors {
    decay: [f64; FOUR],
    weight: [f64; FOUR],
}

/// 2ᶠ and 2⁻ᶠ, each four times.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    up: [f64; FOUR],
    down: [f64; FOUR],
}

/// Buffers of an encoder.
#[derive(Clone)]
pub(super) struct Doubles {
    factors: Vec<Factors>,
    scale: Scale,
    dimension: usize,
    /// For every four coordinates, one after the other: their buffers. What fills up the last four
    /// stays 0.
    buffers: Vec<[f64; FOUR]>,
}

impl Doubles {
    /// Buffers at 0.
    pub(super) fn new(blt: &DyadicBlt, guard_bits: u32, dimension: usize) -> Self {
        let factors: Vec<_> = blt
            .parameters()
            .pairs()
            .map(|(decay, weight)| Factors {
                decay: [decay; FOUR],
                weight: [weight; FOUR],
            })
            .collect();
        Self {
            buffers: vec![[0.0; FOUR]; dimension.div_ceil(FOUR) * factors.len()],
            factors,
            scale: Scale {
                up: [libm::exp2(f64::from(guard_bits)); FOUR],
                down: [libm::exp2(-f64::from(guard_bits)); FOUR],
            },
            dimension,
        }
    }

    /// Where the buffers of coordinate 0 are, then those of coordinate 1, …
    fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        four::places(self.dimension, self.factors.len())
    }

    /// The buffers of coordinate 0, then those of coordinate 1, …: integers, whatever holds them.
    pub(super) fn state(&self) -> impl Iterator<Item = i64> {
        let places = self.places();
        places.map(move |(group, lane)| self.buffers[group][lane] as i64)
    }

    /// The reverse, for numbers that the layout admits.
    pub(super) fn restore(&mut self, state: impl Iterator<Item = i64>) {
        let mut restored = vec![[0.0; FOUR]; self.buffers.len()];
        for ((group, lane), value) in self.places().zip(state) {
            restored[group][lane] = value as f64;
        }
        self.buffers = restored;
    }
}

/// The bits of K + Y, for the items of four coordinates.
#[inline(always)]
fn take<V: Four>(
    v: V,
    factors: &[Factors],
    scale: &Scale,
    item: V::Words,
    buffers: &mut [[f64; FOUR]],
) -> V::Words {
    let middle = v.floats(&[MIDDLE; FOUR]);
    let x = v.minus(v.as_floats(v.add(item, v.bits(middle))), middle);
    let scaled = v.fused(x, v.floats(&scale.up), middle);
    let mut row = middle;
    for (buffer, factors) in buffers.iter_mut().zip(factors) {
        let value = v.floats(buffer);
        row = v.fused(value, v.floats(&factors.weight), row);
        let lost = v.fused(value, v.floats(&factors.decay), middle);
        *buffer = v.numbers(v.plus(value, v.minus(scaled, lost)));
    }
    let past = v.fused(v.minus(row, middle), v.floats(&scale.down), middle);
    v.add(v.bits(past), item)
}

impl Encoding for Doubles {
    type Factors = Factors;
    type Shape = Scale;
    type Buffer = [f64; FOUR];

    fn parts(&mut self) -> (&[Factors], &Scale, &mut [[f64; FOUR]]) {
        (&self.factors, &self.scale, &mut self.buffers)
    }

    #[inline(always)]
    fn row<V: Four>(
        v: V,
        (factors, scale): (&[Factors], &Scale),
        item: &[i64; FOUR],
        buffers: &mut [[f64; FOUR]],
    ) -> V::Words {
        let row = take(v, factors, scale, v.words(item), buffers);
        v.subtract(row, v.bits(v.floats(&[MIDDLE; FOUR])))
    }

    #[inline(always)]
    fn noisy<V: Four>(
        v: V,
        (factors, scale): (&[Factors], &Scale),
        item: &[i64; FOUR],
        noise: &[i64; FOUR],
        buffers: &mut [[f64; FOUR]],
    ) -> V::Floats {
        let row = take(v, factors, scale, v.words(item), buffers);
        let noisy = v.as_floats(v.add(row, v.words(noise)));
        v.minus(noisy, v.floats(&[MIDDLE; FOUR]))
    }
}

#[cfg(test)]
mod tests;
