//! The narrow encoder for short factors: the same integers as in `fixed.rs`, from products of 32
//! bits, which vectors have.
//!
//! [`DyadicBlt::new`] gives nearly every strategy short factors: a_j = a′·2ᵏ and w_j = w′·2⁹ with
//! a′, w′ < 2³¹, and k ≤ 30 for decays below ½. Narrow buffers are below 2⁶³ in size
//! ([`Layout`](super::Layout)); write one as b = 2³²·h + l, −2³¹ ≤ h < 2³¹, 0 ≤ l < 2³².
//!
//! **Decay.** a·b/2⁶² = (a′·b/2³²)/2³⁰⁻ᵏ, and ⌊a′·b/2³²⌋ = a′·h + ⌊a′·l/2³²⌋. A floor of a floor is
//! the floor of the whole, so shifting this by 30 − k gives ⌊a·b/2⁶²⌋. |a′·h| < 2⁶² and a′·l < 2⁶³,
//! so nothing wraps.
//!
//! **Row.** Σw_jb_j/2⁴⁰ = Σw′_jb_j/2³¹ = 2·Σw′_jh_j + Σw′_jl_j/2³¹, and the first part is an
//! integer: its floor is 2·Σw′_jh_j + ⌊Σw′_jl_j/2³¹⌋, one floor for all buffers. Σw′_j ≤ 2³¹ makes
//! −2⁶² ≤ Σw′_jh_j < 2⁶² and Σw′_jl_j < 2⁶³; sums of the parts are right modulo 2⁶⁴, and the row
//! fits. ∎

use super::dyadic::{DyadicBlt, WEIGHT_BITS};
use super::round::Encoding;
use hushstream_four::{self as four, FOUR, Four};

/// w_j = w′·2⁹: what is left of 40 bits are 31.
pub(super) const DROPPED_WEIGHT_BITS: u32 = WEIGHT_BITS - 31;

/// a′, w′, 30 − k and ⌊2⁶³/2³⁰⁻ᵏ⌋, each four times.
#[derive(Clone, Copy)]
pub(super) struct Factors {
    decay: [i64; FOUR],
    weight: [i64; FOUR],
    shift: [i64; FOUR],
    middle: [i64; FOUR],
}

/// Half of all words.
const MIDDLE: [i64; FOUR] = [i64::MIN; FOUR];

impl Factors {
    /// Nothing if they are not short.
    fn of(decay: i64, weight: i64) -> Option<Self> {
        let k = (i64::BITS - decay.leading_zeros()).saturating_sub(31);
        let (short_decay, short_weight) = (decay >> k, weight >> DROPPED_WEIGHT_BITS);
        let exact = short_decay << k == decay && short_weight << DROPPED_WEIGHT_BITS == weight;
        let shift = 30_u32.checked_sub(k)?;
        Some(Self {
            decay: [i32::try_from(short_decay).ok()?.into(); FOUR],
            weight: [i32::try_from(short_weight).ok()?.into(); FOUR],
            shift: [shift.into(); FOUR],
            middle: [(1_u64 << 63 >> shift).cast_signed(); FOUR],
        })
        .filter(|_| exact)
    }

    /// One buffer: what it adds to Σw′h and to Σw′l; then it decays and takes in X.
    #[inline(always)]
    fn step<V: Four>(
        &self,
        v: V,
        buffer: &mut [i64; FOUR],
        scaled: V::Words,
    ) -> (V::Words, V::Words) {
        // Products are of lower halves: signed for the upper half of a buffer, without a sign for
        // its lower.
        let (low, high) = (v.words(buffer), v.right_by::<32>(v.words(buffer)));
        let (weight, decay) = (v.words(&self.weight), v.words(&self.decay));
        let product = v.add(
            v.signed_product(high, decay),
            v.right_by::<32>(v.unsigned_product(low, decay)),
        );
        // There is no shift of signed words: moved up by half of all words they have no sign.
        let shifted = v.right(v.add(product, v.words(&MIDDLE)), v.words(&self.shift));
        let lost = v.subtract(shifted, v.words(&self.middle));
        *buffer = v.integers(v.add(v.subtract(low, lost), scaled));
        (
            v.signed_product(high, weight),
            v.unsigned_product(low, weight),
        )
    }
}

/// Buffers of an encoder.
#[derive(Clone)]
pub(super) struct Lanes {
    factors: Vec<Factors>,
    guard_bits: [i64; FOUR],
    dimension: usize,
    /// For every four coordinates, one after the other: their buffers. What fills up the last four
    /// stays 0.
    buffers: Vec<[i64; FOUR]>,
}

impl Lanes {
    /// Buffers at 0; nothing for factors that are not short.
    pub(super) fn new(blt: &DyadicBlt, guard_bits: u32, dimension: usize) -> Option<Self> {
        let decays = blt.decay_numerators().iter();
        let factors = decays
            .zip(blt.weight_numerators())
            .map(|(decay, weight)| Factors::of(*decay, *weight))
            .collect::<Option<Vec<_>>>()?;
        Some(Self {
            buffers: vec![[0; FOUR]; dimension.div_ceil(FOUR) * factors.len()],
            factors,
            guard_bits: [guard_bits.into(); FOUR],
            dimension,
        })
    }

    /// Where the buffers of coordinate 0 are, then those of coordinate 1, …
    fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        four::places(self.dimension, self.factors.len())
    }

    /// The buffers of coordinate 0, then those of coordinate 1, …
    pub(super) fn state(&self) -> impl Iterator<Item = i64> {
        let places = self.places();
        places.map(move |(group, lane)| self.buffers[group][lane])
    }

    /// The reverse.
    pub(super) fn restore(&mut self, state: impl Iterator<Item = i64>) {
        let mut restored = vec![[0; FOUR]; self.buffers.len()];
        for ((group, lane), value) in self.places().zip(state) {
            restored[group][lane] = value;
        }
        self.buffers = restored;
    }
}

impl Encoding for Lanes {
    type Factors = Factors;
    type Shape = [i64; FOUR];
    type Buffer = [i64; FOUR];

    fn parts(&mut self) -> (&[Factors], &[i64; FOUR], &mut [[i64; FOUR]]) {
        (&self.factors, &self.guard_bits, &mut self.buffers)
    }

    #[inline(always)]
    fn row<V: Four>(
        v: V,
        (factors, guard_bits): (&[Factors], &[i64; FOUR]),
        item: &[i64; FOUR],
        buffers: &mut [[i64; FOUR]],
    ) -> V::Words {
        let scaled = v.left(v.words(item), v.words(guard_bits));
        take(v, factors, buffers, scaled)
    }

    #[inline(always)]
    fn noisy<V: Four>(
        v: V,
        constants: (&[Factors], &[i64; FOUR]),
        item: &[i64; FOUR],
        noise: &[i64; FOUR],
        buffers: &mut [[i64; FOUR]],
    ) -> V::Floats {
        let row = Self::row(v, constants, item, buffers);
        // `Layout::check` has left room for the noise.
        v.nearest(v.add(row, v.words(noise)))
    }
}

/// Takes X of four coordinates and gives their part of the row.
#[inline(always)]
fn take<V: Four>(
    v: V,
    factors: &[Factors],
    buffers: &mut [[i64; FOUR]],
    scaled: V::Words,
) -> V::Words {
    let (mut high, mut low) = (v.words(&[0; FOUR]), v.words(&[0; FOUR]));
    for (buffer, factors) in buffers.iter_mut().zip(factors) {
        let (upper, lower) = factors.step(v, buffer, scaled);
        (high, low) = (v.add(high, upper), v.add(low, lower));
    }
    let whole = v.add(v.add(high, high), v.right_by::<31>(low));
    v.add(scaled, whole)
}

#[cfg(test)]
mod tests {
    use super::super::optimise;
    use super::super::round::encode;
    use super::*;
    use proptest::prelude::*;

    /// What `fixed.rs` states, in 128 bits.
    fn reference(
        factors: &[(i64, i64)],
        guard_bits: u32,
        buffers: &mut [i64],
        item: i64,
    ) -> Option<i64> {
        let scaled = i128::from(item) << guard_bits;
        let mut sum = 0;
        for (buffer, &(a, w)) in buffers.iter_mut().zip(factors) {
            let value = i128::from(*buffer);
            sum += i128::from(w) * value;
            let next = value - ((i128::from(a) * value) >> 62) + scaled;
            *buffer = i64::try_from(next).ok()?;
        }
        i64::try_from(scaled + (sum >> 40)).ok()
    }

    /// Any short factors of up to four buffers: decays below ½ of any size, weights whose sum is at
    /// most one.
    fn short_factors() -> impl Strategy<Value = Vec<(i64, i64)>> {
        let decay = (1_i64..1 << 31, 0_u32..31).prop_map(|(short, k)| short << k);
        let weight = prop_oneof![1_i64..=1 << 29, Just(1 << 29)];
        proptest::collection::vec((decay, weight.prop_map(|w| w << 9)), 1..=4)
    }

    fn lanes(factors: &[(i64, i64)], dimension: usize) -> Lanes {
        // A strategy of one buffer for the shape, then these factors, which need not ascend.
        let blt = DyadicBlt::from_numerators(&[1 << 60], &[1 << 39]).unwrap();
        let mut lanes = Lanes::new(&blt, 16, dimension).unwrap();
        lanes.factors = factors
            .iter()
            .map(|&(decay, weight)| Factors::of(decay, weight).unwrap())
            .collect();
        lanes.buffers = vec![[0; FOUR]; dimension.div_ceil(FOUR) * factors.len()];
        lanes
    }

    fn extreme() -> impl Strategy<Value = i64> {
        prop_oneof![
            any::<i64>(),
            (0_u32..64, any::<i64>()).prop_map(|(by, value)| value >> by),
            prop_oneof![
                Just(i64::MIN),
                Just(i64::MIN + 1),
                Just(i64::MAX),
                Just(-1),
                Just(0),
                Just(1)
            ],
            (-2_i64..=2, 30_u32..63).prop_map(|(near, bit)| (1 << bit) + near),
            (-2_i64..=2, 30_u32..63).prop_map(|(near, bit)| near - (1 << bit)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        /// From any state, the bounds included: the same row and the same buffers, wherever those
        /// fit.
        #[test]
        fn lanes_are_the_reference_bit_for_bit(
            factors in short_factors(),
            state in proptest::collection::vec(extreme(), 4 * 9),
            items in proptest::collection::vec(-(1_i64 << 46)..=1 << 46, 9),
        ) {
            let (dimension, count) = (items.len(), factors.len());
            let state = &state[..dimension * count];
            let mut lanes = lanes(&factors, dimension);
            lanes.restore(state.iter().copied());
            prop_assert!(lanes.state().eq(state.iter().copied()));
            let mut row = vec![0; dimension];
            encode(&mut lanes, &items, &mut row);
            let after: Vec<i64> = lanes.state().collect();
            for coordinate in 0..dimension {
                let place = coordinate * count..(coordinate + 1) * count;
                let mut wanted = state[place.clone()].to_vec();
                if let Some(y) = reference(&factors, 16, &mut wanted, items[coordinate]) {
                    prop_assert_eq!(row[coordinate], y);
                    prop_assert_eq!(&after[place], &wanted[..]);
                }
            }
        }
    }

    #[test]
    fn which_factors_are_short() {
        let short = |decay, weight| Factors::of(decay, weight).is_some();
        assert!(short(1, 1 << 9) && short((1 << 61) - (1 << 30), (1 << 40) - (1 << 9)));
        assert!(!short(1 << 61, 1 << 9) && !short(1, 1 << 40));
        assert!(!short((1 << 60) + 1, 1 << 9) && !short(1, (1 << 9) + 1));
        // What a stream of a thousand to sixteen million releases gets by default.
        for log_releases in 10..=24 {
            let blt = DyadicBlt::new(&optimise(1 << log_releases, 4).unwrap()).unwrap();
            assert!(Lanes::new(&blt, 16, 1).is_some(), "2^{log_releases}");
        }
    }
}
