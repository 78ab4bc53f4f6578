//! One round in one pass: encode, add noise, decode, four coordinates at a time. What would be written between the three is never written.

use super::decode::{self, BltDecoder, Pair, Sums};
use super::lanes::{self, Factors, Lanes};
use super::parameters::MAX_BUFFERS;
use crate::four::{self, FOUR, Four, Work, padded};

/// Takes one item, which the caller has checked, adds noise to its row, and writes the prefix sums that the noisy row gives. All four vectors have the dimension of
/// encoder and decoder.
pub(super) fn round(
    encoder: &mut Lanes,
    decoder: &mut BltDecoder,
    item: &[i64],
    noise: &[i64],
    prefix: &mut [f64],
) {
    four::run(Round {
        encoder,
        decoder,
        item,
        noise,
        prefix,
    });
}

struct Round<'a> {
    encoder: &'a mut Lanes,
    decoder: &'a mut BltDecoder,
    item: &'a [i64],
    noise: &'a [i64],
    prefix: &'a mut [f64],
}

impl Round<'_> {
    /// One instance for each number of buffers, so that the loops over them are unrolled.
    #[inline(always)]
    fn pass<V: Four, const M: usize>(self, v: V) {
        let (encoder, decoder) = (self.encoder, self.decoder);
        let factors = encoder.factors.first_chunk::<M>();
        let pairs = decoder.pairs.first_chunk::<M>();
        let (Some(factors), Some(pairs)) = (factors, pairs) else {
            unreachable!("encoder and decoder have M buffers");
        };
        let constants = Constants {
            factors,
            guard_bits: v.words(&encoder.guard_bits),
            pairs,
            unit: v.floats(&decoder.unit),
        };
        let floats = decoder.buffers.as_chunks_mut().0.iter_mut();
        let buffers = encoder.buffers.as_chunks_mut().0.iter_mut();
        let mut groups = buffers.zip(floats.zip(&mut decoder.sums));
        let ((items, item), (noises, noise)) = (self.item.as_chunks(), self.noise.as_chunks());
        let (prefixes, prefix) = self.prefix.as_chunks_mut();
        // The vectors come first: a group that is asked for and not used would be lost.
        let inputs = prefixes.iter_mut().zip(items.iter().zip(noises));
        for ((out, (item, noise)), state) in inputs.zip(&mut groups) {
            *out = constants.take(v, item, noise, state);
        }
        if let Some(state) = groups.next() {
            let last = constants.take(v, &padded(item), &padded(noise), state);
            prefix.copy_from_slice(&last[..prefix.len()]);
        }
    }
}

/// What is the same for all coordinates.
struct Constants<'a, V: Four, const M: usize> {
    factors: &'a [Factors; M],
    guard_bits: V::Words,
    pairs: &'a [Pair; M],
    unit: V::Floats,
}

impl<V: Four, const M: usize> Constants<'_, V, M> {
    /// Four coordinates. Not a closure: only what is inlined is compiled for the processor at hand.
    #[inline(always)]
    fn take(
        &self,
        v: V,
        item: &[i64; FOUR],
        noise: &[i64; FOUR],
        (buffers, (floats, sums)): State<'_, M>,
    ) -> [f64; FOUR] {
        let scaled = v.left(v.words(item), self.guard_bits);
        let row = lanes::take(v, self.factors, buffers, scaled);
        // `Layout::check` has left room for the noise. Only the noisy row goes on.
        let noisy = v.nearest(v.add(row, v.words(noise)));
        let item = v.times(noisy, self.unit);
        v.numbers(decode::take(v, self.pairs, floats, sums, item))
    }
}

/// What is kept of four coordinates.
type State<'a, const M: usize> = (
    &'a mut [[i64; FOUR]; M],
    (&'a mut [[f64; FOUR]; M], &'a mut Sums),
);

impl Work for Round<'_> {
    type Output = ();

    #[inline(always)]
    fn with<V: Four>(self, v: V) {
        match self.encoder.factors.len() {
            1 => self.pass::<V, 1>(v),
            2 => self.pass::<V, 2>(v),
            3 => self.pass::<V, 3>(v),
            4 => self.pass::<V, 4>(v),
            5 => self.pass::<V, 5>(v),
            6 => self.pass::<V, 6>(v),
            7 => self.pass::<V, 7>(v),
            _ => self.pass::<V, MAX_BUFFERS>(v),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BltDecoder, DyadicBlt, FixedBlt, Layout, Width, optimise};

    /// What three passes give, one pass gives: for whole fours and for what is left over.
    #[test]
    fn a_round_is_encoding_noise_and_decoding() {
        let (n, radius) = (1 << 10, 1_i64 << 24);
        let blt = DyadicBlt::new(&optimise(n, 4).unwrap()).unwrap();
        let layout = Layout::new(Width::Narrow, 16);
        for dimension in [1, 4, 7, 54] {
            let FixedBlt::Narrow(mut encoder) =
                FixedBlt::open(&blt, layout, n, dimension, radius).unwrap()
            else {
                panic!()
            };
            let mut decoder = BltDecoder::new(blt.parameters(), dimension, layout.unit());
            let (mut other_encoder, mut other_decoder) = (encoder.clone(), decoder.clone());
            let (mut row, mut wanted) = (vec![0; dimension], vec![0.0; dimension]);
            let mut prefix = wanted.clone();
            for t in 1..=n as i64 {
                let mixed = |i: i64, by: i64| (t * 31 + i).wrapping_mul(by.wrapping_pow(7)) >> 5;
                let item: Vec<i64> = (0..dimension as i64)
                    .map(|i| mixed(i, 0x5851_f42d_4c95_7f2d) % radius)
                    .collect();
                let noise: Vec<i64> = (0..dimension as i64)
                    .map(|i| mixed(i, 0x1405_7b7e_f767_814f) >> 12)
                    .collect();
                assert!(
                    encoder
                        .release(&item, &noise, &mut decoder, &mut prefix)
                        .unwrap()
                );
                other_encoder.encode(&item, &mut row).unwrap();
                row.iter_mut().zip(&noise).for_each(|(row, z)| *row += z);
                other_decoder.step(&row, &mut wanted).unwrap();
                assert!(
                    prefix
                        .iter()
                        .zip(&wanted)
                        .all(|(p, w)| p.to_bits() == w.to_bits())
                );
            }
            assert_eq!(encoder.state(), other_encoder.state());
            assert_eq!(encoder.used(), n);
            assert!(
                encoder
                    .release(&vec![0; dimension], &row, &mut decoder, &mut prefix)
                    .is_err()
            );
        }
    }
}
