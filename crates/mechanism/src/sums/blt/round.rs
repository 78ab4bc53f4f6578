//! One round in one pass: encode, add noise, decode, four coordinates at a time. What would be
//! written between the three is never written.

use super::decode::{self, BltDecoder, Sums, Term};
use super::parameters::MAX_BUFFERS;
use hushstream_four::{self as four, FOUR, Four, Work, padded};

/// An encoder that makes rows four coordinates at a time.
pub(super) trait Encoding {
    /// What every buffer has of its own.
    type Factors;
    /// What is the same for all buffers.
    type Shape;
    /// One buffer of four coordinates.
    type Buffer;

    /// Factors, shape, and for every four coordinates, one after the other, their buffers.
    fn parts(&mut self) -> (&[Self::Factors], &Self::Shape, &mut [Self::Buffer]);

    /// Takes four coordinates of an item and gives those of the row, without noise. To be inlined:
    /// only then is it compiled for the processor at hand.
    fn row<V: Four>(
        v: V,
        constants: (&[Self::Factors], &Self::Shape),
        item: &[i64; FOUR],
        buffers: &mut [Self::Buffer],
    ) -> V::Words;

    /// The same with its noise, as floats.
    fn noisy<V: Four>(
        v: V,
        constants: (&[Self::Factors], &Self::Shape),
        item: &[i64; FOUR],
        noise: &[i64; FOUR],
        buffers: &mut [Self::Buffer],
    ) -> V::Floats;
}

/// Takes one item, which the caller has checked, and writes its row.
pub(super) fn encode<E: Encoding>(encoder: &mut E, item: &[i64], row: &mut [i64]) {
    four::run(Encode { encoder, item, row });
}

struct Encode<'a, E> {
    encoder: &'a mut E,
    item: &'a [i64],
    row: &'a mut [i64],
}

impl<E: Encoding> Work for Encode<'_, E> {
    type Output = ();

    #[inline(always)]
    fn with<V: Four>(self, v: V) {
        let (factors, shape, buffers) = self.encoder.parts();
        let groups = buffers.chunks_exact_mut(factors.len());
        let parts = self.item.chunks(FOUR).zip(self.row.chunks_mut(FOUR));
        for ((item, row), buffers) in parts.zip(groups) {
            let encoded = E::row(v, (factors, shape), &padded(item), buffers);
            four::put(v.integers(encoded), row);
        }
    }
}

/// Takes one item, which the caller has checked, adds noise to its row, and writes the prefix sums
/// that the noisy row gives. All four vectors have the dimension of encoder and decoder.
pub(super) fn round<E: Encoding>(
    encoder: &mut E,
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

struct Round<'a, E> {
    encoder: &'a mut E,
    decoder: &'a mut BltDecoder,
    item: &'a [i64],
    noise: &'a [i64],
    prefix: &'a mut [f64],
}

impl<E: Encoding> Round<'_, E> {
    /// One instance for each number of buffers, so that the loops over them are unrolled.
    #[inline(always)]
    fn pass<V: Four, const M: usize>(self, v: V) {
        let (factors, shape, buffers) = self.encoder.parts();
        let (ends, terms, floats, sums) = self.decoder.parts();
        let (Some(factors), Some(terms)) = (factors.first_chunk(), terms.first_chunk()) else {
            unreachable!("encoder and decoder have M buffers");
        };
        let constants = Constants::<E, M> {
            factors,
            shape,
            ends,
            terms,
        };
        let floats = floats.as_chunks_mut().0.iter_mut();
        let buffers = buffers.as_chunks_mut().0.iter_mut();
        let mut groups = buffers.zip(floats.zip(sums));
        let ((items, item), (noises, noise)) = (self.item.as_chunks(), self.noise.as_chunks());
        let (prefixes, prefix) = self.prefix.as_chunks_mut();
        // The vectors come first: a group that is asked for and not used would be lost.
        let inputs = prefixes.iter_mut().zip(items.iter().zip(noises));
        for ((out, (item, noise)), state) in inputs.zip(&mut groups) {
            *out = constants.take(v, item, noise, state);
        }
        if let Some(state) = groups.next() {
            let last = constants.take(v, &padded(item), &padded(noise), state);
            four::put(last, prefix);
        }
    }
}

/// What is the same for all coordinates.
struct Constants<'a, E: Encoding, const M: usize> {
    factors: &'a [E::Factors; M],
    shape: &'a E::Shape,
    ends: &'a [[f64; FOUR]; 2],
    terms: &'a [Term; M],
}

impl<E: Encoding, const M: usize> Constants<'_, E, M> {
    /// Four coordinates. Not a closure: only what is inlined is compiled for the processor at hand.
    #[inline(always)]
    fn take<V: Four>(
        &self,
        v: V,
        item: &[i64; FOUR],
        noise: &[i64; FOUR],
        (buffers, (floats, sums)): State<'_, E::Buffer, M>,
    ) -> [f64; FOUR] {
        // Only the noisy row goes on.
        let noisy = E::noisy(v, (self.factors, self.shape), item, noise, buffers);
        v.numbers(decode::take(
            v,
            (self.ends, self.terms),
            floats,
            sums,
            noisy,
        ))
    }
}

/// What is kept of four coordinates.
type State<'a, B, const M: usize> = (&'a mut [B; M], (&'a mut [[f64; FOUR]; M], &'a mut Sums));

impl<E: Encoding> Work for Round<'_, E> {
    type Output = ();

    #[inline(always)]
    fn with<V: Four>(self, v: V) {
        match self.encoder.parts().0.len() {
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

    /// What three passes give, one pass gives: for whole fours and for what is left over, in both
    /// widths, with noise of any size and parity.
    #[test]
    fn a_round_is_encoding_noise_and_decoding() {
        for (layout, radius) in [
            (Layout::new(Width::Narrow, 16), 1 << 24),
            (Layout::new(Width::Double, 0), 1 << 30),
            (Layout::new(Width::Double, 9), 1 << 24),
            (Layout::new(Width::Double, 16), 1 << 20),
        ] {
            // Narrow ones need short factors, which eight buffers for a thousand releases have not.
            let most = if layout.width() == Width::Narrow {
                4
            } else {
                8
            };
            for buffers in [1, 4, most] {
                for dimension in [1, 4, 7, 54] {
                    compare(layout, buffers, dimension, radius);
                }
            }
        }
    }

    fn compare(layout: Layout, buffers: usize, dimension: usize, radius: i64) {
        let n = 300;
        let blt = DyadicBlt::new(&optimise(1 << 10, buffers).unwrap()).unwrap();
        let FixedBlt::Narrow(mut encoder) =
            FixedBlt::open(&blt, layout, n, dimension, radius).unwrap()
        else {
            panic!()
        };
        let mut decoder = BltDecoder::new(blt.parameters(), dimension, layout.unit());
        let (mut other_encoder, mut other_decoder) = (encoder.clone(), decoder.clone());
        let (mut row, mut wanted) = (vec![0; dimension], vec![0.0; dimension]);
        let mut prefix = wanted.clone();
        let largest = 1_i64 << (34 + layout.row_bits());
        for t in 1..=n as i64 {
            let mixed = |i: i64, by: i64| (t * 31 + i).wrapping_mul(by.wrapping_pow(7)) >> 5;
            let item: Vec<i64> = (0..dimension as i64)
                .map(|i| mixed(i, 0x5851_f42d_4c95_7f2d) % (radius + 1))
                .collect();
            let noise: Vec<i64> = (0..dimension as i64)
                .map(|i| match (t + i) % 5 {
                    0 => largest,
                    1 => -largest,
                    _ => mixed(i, 0x1405_7b7e_f767_814f) % largest,
                })
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
