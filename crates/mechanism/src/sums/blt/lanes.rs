//! The narrow encoder for short factors: the same integers as in `fixed.rs`, from products of 32 bits that a compiler turns into vectors.
//!
//! [`DyadicBlt::new`] gives nearly every strategy short factors: a_j = a′·2ᵏ and w_j = w′·2⁹ with a′, w′ < 2³¹, and k ≤ 30 for decays below ½. Narrow buffers are below
//! 2⁶³ in size ([`Layout`](super::Layout)); write one as b = 2³²·h + l, −2³¹ ≤ h < 2³¹, 0 ≤ l < 2³².
//!
//! **Decay.** a·b/2⁶² = (a′·b/2³²)/2³⁰⁻ᵏ, and ⌊a′·b/2³²⌋ = a′·h + ⌊a′·l/2³²⌋. A floor of a floor is the floor of the whole, so shifting this by 30 − k
//! gives ⌊a·b/2⁶²⌋. |a′·h| < 2⁶² and a′·l < 2⁶³, so nothing wraps.
//!
//! **Row.** Σw_jb_j/2⁴⁰ = Σw′_jb_j/2³¹ = 2·Σw′_jh_j + Σw′_jl_j/2³¹, and the first part is an integer: its floor is 2·Σw′_jh_j + ⌊Σw′_jl_j/2³¹⌋, one floor for all buffers.
//! Σw′_j ≤ 2³¹ makes −2⁶² ≤ Σw′_jh_j < 2⁶² and Σw′_jl_j < 2⁶³; sums of the parts are right modulo 2⁶⁴, and the row fits. ∎

use super::dyadic::{DyadicBlt, WEIGHT_BITS};
use pulp::{Arch, Simd, WithSimd};

/// w_j = w′·2⁹: what is left of 40 bits are 31.
pub(super) const DROPPED_WEIGHT_BITS: u32 = WEIGHT_BITS - 31;

/// Every number of coordinates is filled up to whole vectors; what is added stays 0.
const LANES: usize = 8;

/// Coordinates whose sums are kept on the stack.
const BLOCK: usize = 64;

/// a′, w′, and 30 − k.
#[derive(Clone, Copy)]
struct Factors {
    decay: i32,
    weight: i32,
    shift: u32,
}

impl Factors {
    /// Nothing if they are not short.
    fn of(decay: i64, weight: i64) -> Option<Self> {
        let k = (i64::BITS - decay.leading_zeros()).saturating_sub(31);
        let (short_decay, short_weight) = (decay >> k, weight >> DROPPED_WEIGHT_BITS);
        let exact = short_decay << k == decay && short_weight << DROPPED_WEIGHT_BITS == weight;
        Some(Self {
            decay: i32::try_from(short_decay).ok()?,
            weight: i32::try_from(short_weight).ok()?,
            shift: 30_u32.checked_sub(k)?,
        })
        .filter(|_| exact)
    }

    /// One buffer of up to [`BLOCK`] coordinates: adds to Σw′h and Σw′l, then lets it decay and take in X.
    #[inline(always)]
    fn step(
        self,
        buffers: &mut [i64],
        scaled: &[i64; BLOCK],
        high: &mut [i64; BLOCK],
        low: &mut [u64; BLOCK],
    ) {
        // Signed for the upper halves, unsigned for the lower: 32-bit products of either kind are one instruction.
        let (decay, weight) = (i64::from(self.decay), i64::from(self.weight));
        let unsigned = |factor: i32| u64::from(factor.cast_unsigned());
        let (low_decay, low_weight) = (unsigned(self.decay), unsigned(self.weight));
        let sums = high.iter_mut().zip(low);
        for ((buffer, scaled), (high, low)) in buffers.iter_mut().zip(scaled).zip(sums) {
            let (h, l) = (*buffer >> 32, *buffer as u64 & 0xffff_ffff);
            *high = high.wrapping_add(weight.wrapping_mul(h));
            *low = low.wrapping_add(low_weight.wrapping_mul(l));
            let product = decay
                .wrapping_mul(h)
                .wrapping_add((low_decay.wrapping_mul(l) >> 32) as i64);
            let lost = product.wrapping_shr(self.shift);
            *buffer = buffer.wrapping_sub(lost).wrapping_add(*scaled);
        }
    }
}

/// Buffers of an encoder, each a vector of its own.
#[derive(Clone)]
pub(super) struct Lanes {
    factors: Vec<Factors>,
    guard_bits: u32,
    dimension: usize,
    /// The dimension in whole vectors.
    padded: usize,
    /// Buffer 0 of all coordinates, then buffer 1, …
    buffers: Vec<i64>,
}

impl Lanes {
    /// Buffers at 0; nothing for factors that are not short.
    pub(super) fn new(blt: &DyadicBlt, guard_bits: u32, dimension: usize) -> Option<Self> {
        let decays = blt.decay_numerators().iter();
        let factors = decays
            .zip(blt.weight_numerators())
            .map(|(decay, weight)| Factors::of(*decay, *weight))
            .collect::<Option<Vec<_>>>()?;
        let padded = dimension.next_multiple_of(LANES);
        Some(Self {
            buffers: vec![0; padded * factors.len()],
            factors,
            guard_bits,
            dimension,
            padded,
        })
    }

    /// Takes one item, which the caller has checked, and writes its row.
    pub(super) fn step(&mut self, item: &[i64], row: &mut [i64]) {
        Arch::new().dispatch(Step {
            lanes: self,
            item,
            row,
        });
    }

    #[inline(always)]
    fn step_in_lanes(&mut self, item: &[i64], row: &mut [i64]) {
        for (block, (item, row)) in item.chunks(BLOCK).zip(row.chunks_mut(BLOCK)).enumerate() {
            // On the stack, where nothing else can point: else every loop would first look whether its vectors overlap.
            let (mut scaled, mut high, mut low) = ([0; BLOCK], [0; BLOCK], [0; BLOCK]);
            for (scaled, x) in scaled.iter_mut().zip(item) {
                *scaled = x.wrapping_shl(self.guard_bits);
            }
            let start = block * BLOCK;
            let end = start + item.len().next_multiple_of(LANES);
            let vectors = self.buffers.chunks_exact_mut(self.padded);
            for (vector, factors) in vectors.zip(&self.factors) {
                factors.step(&mut vector[start..end], &scaled, &mut high, &mut low);
            }
            for (row, ((scaled, high), low)) in
                row.iter_mut().zip(scaled.iter().zip(&high).zip(&low))
            {
                let whole = high.wrapping_shl(1).wrapping_add((low >> 31) as i64);
                *row = scaled.wrapping_add(whole);
            }
        }
    }

    /// The buffers of coordinate 0, then those of coordinate 1, …
    pub(super) fn state(&self) -> impl Iterator<Item = i64> {
        (0..self.dimension * self.factors.len()).map(move |place| {
            let (coordinate, buffer) = (place / self.factors.len(), place % self.factors.len());
            self.buffers[buffer * self.padded + coordinate]
        })
    }

    /// The reverse.
    pub(super) fn restore(&mut self, state: impl Iterator<Item = i64>) {
        for (place, value) in state.enumerate() {
            let (coordinate, buffer) = (place / self.factors.len(), place % self.factors.len());
            self.buffers[buffer * self.padded + coordinate] = value;
        }
    }
}

/// One step, to be compiled for every width of vectors.
struct Step<'a> {
    lanes: &'a mut Lanes,
    item: &'a [i64],
    row: &'a mut [i64],
}

impl WithSimd for Step<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.lanes.step_in_lanes(self.item, self.row);
    }
}

#[cfg(test)]
mod tests {
    use super::super::optimise;
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

    /// Any short factors of up to four buffers: decays below ½ of any size, weights whose sum is at most one.
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
        lanes.buffers = vec![0; lanes.padded * factors.len()];
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

        /// From any state, the bounds included: the same row and the same buffers, wherever those fit.
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
            lanes.step(&items, &mut row);
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
