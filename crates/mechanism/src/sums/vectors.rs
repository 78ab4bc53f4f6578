//! Inner loops over integer vectors, compiled for every vector width.

use hushstream_four::{self as four, FOUR, Four, Work, nearest};
use pulp::{Arch, Simd, WithSimd};

/// `total` += `terms`, modulo 2⁶⁴: the caller ensures that nothing wraps; a check would prevent
/// vectorisation.
pub(super) fn add(total: &mut [i64], terms: &[i64]) {
    dispatch(total, |total| {
        for (total, term) in total.iter_mut().zip(terms) {
            *total = total.wrapping_add(*term);
        }
    });
}

/// `total` = `above` ± `noise`, likewise.
pub(super) struct AddNoise<'a> {
    total: &'a mut [i64],
    above: &'a [i64],
    noise: &'a [i64],
    /// All ones for −: −v is v with all bits inverted, plus one.
    mask: i64,
}

impl<'a> AddNoise<'a> {
    pub(super) fn new(total: &'a mut [i64], above: &'a [i64], noise: &'a [i64], sign: i8) -> Self {
        let mask = i64::from(sign >> 7);
        Self {
            total,
            above,
            noise,
            mask,
        }
    }

    pub(super) fn run(self) {
        let terms = self.above.iter().zip(self.noise);
        dispatch(self.total, |total| {
            for (total, (above, term)) in total.iter_mut().zip(terms) {
                *total = signed_sum(*above, *term, self.mask);
            }
        });
    }

    /// The same fused with a release: `exact` += `item`, and `out` = (`exact` + `total`)·`unit`.
    pub(super) fn release(self, exact: &mut [i64], item: &[i64], out: &mut [f64], unit: f64) {
        four::run(ReleaseInOnePass {
            add: self,
            exact,
            item,
            out,
            unit,
        });
    }
}

struct ReleaseInOnePass<'a> {
    add: AddNoise<'a>,
    exact: &'a mut [i64],
    item: &'a [i64],
    out: &'a mut [f64],
    unit: f64,
}

impl Work for ReleaseInOnePass<'_> {
    type Output = ();

    #[inline(always)]
    fn with<V: Four>(self, v: V) {
        let AddNoise {
            total,
            above,
            noise,
            ..
        } = self.add;
        let (mask, unit) = (
            v.words(&[self.add.mask; FOUR]),
            v.floats(&[self.unit; FOUR]),
        );
        // Equal lengths, stated for the compiler.
        let (out, count) = (self.out, self.item.len());
        debug_assert_eq!(count, total.len(), "nothing of an older sum may stay");
        let (outs, out) = out[..count].as_chunks_mut();
        let (totals, total) = total[..count].as_chunks_mut();
        let (exacts, exact) = self.exact[..count].as_chunks_mut();
        let (aboves, above) = above[..count].as_chunks();
        let (noises, noise) = noise[..count].as_chunks();
        let (items, item) = self.item.as_chunks();
        let read = aboves.iter().zip(noises).zip(items);
        let written = totals.iter_mut().zip(exacts).zip(outs);
        for (((above, noise), item), ((total, exact), out)) in read.zip(written) {
            *out = release_four(v, [above, noise, item], total, exact, mask, unit);
        }
        // At most three remain.
        let read = above.iter().zip(noise).zip(item);
        let written = total.iter_mut().zip(exact).zip(out);
        for (((above, noise), item), ((total, exact), out)) in read.zip(written) {
            *total = signed_sum(*above, *noise, self.add.mask);
            *exact = exact.wrapping_add(*item);
            *out = nearest(exact.wrapping_add(*total)) * self.unit;
        }
    }
}

#[inline(always)]
fn signed_sum(above: i64, term: i64, mask: i64) -> i64 {
    above.wrapping_add(term ^ mask).wrapping_sub(mask)
}

#[inline(always)]
fn release_four<V: Four>(
    v: V,
    [above, noise, item]: [&[i64; FOUR]; 3],
    total: &mut [i64; FOUR],
    exact: &mut [i64; FOUR],
    mask: V::Words,
    unit: V::Floats,
) -> [f64; FOUR] {
    let signed = v.subtract(v.xor(v.words(noise), mask), mask);
    let (noise, sum) = (
        v.add(v.words(above), signed),
        v.add(v.words(exact), v.words(item)),
    );
    (*total, *exact) = (v.integers(noise), v.integers(sum));
    v.numbers(v.times(v.nearest(v.add(sum, noise)), unit))
}

/// `out` = (`exact` + `noise`)·`unit`: the integer is what is released; the float is made from it.
pub(super) fn release(out: &mut [f64], exact: &[i64], noise: &[i64], unit: f64) {
    dispatch(out, |out| {
        for (out, (exact, noise)) in out.iter_mut().zip(exact.iter().zip(noise)) {
            *out = nearest(exact.wrapping_add(*noise)) * unit;
        }
    });
}

fn dispatch<T>(out: &mut [T], work: impl FnOnce(&mut [T])) {
    Arch::new().dispatch(Loop { out, work });
}

struct Loop<'a, T, F> {
    out: &'a mut [T],
    work: F,
}

impl<T, F: FnOnce(&mut [T])> WithSimd for Loop<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        (self.work)(self.out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn signed_sums_and_what_they_release(
            above: [i64; 11],
            terms: [i64; 11],
            exact: [i64; 11],
            item: [i64; 11],
            negative: bool,
        ) {
            let sign = if negative { -1 } else { 1 };
            for length in [0, 1, 4, 8, 11] {
                let (above, terms, item) = (&above[..length], &terms[..length], &item[..length]);
                let (mut total, mut alone) = ([7; 11], [7; 11]);
                let (mut exact, mut out) = (exact, [0.0; 11]);
                AddNoise::new(&mut alone[..length], above, terms, sign).run();
                let add = AddNoise::new(&mut total[..length], above, terms, sign);
                add.release(&mut exact[..length], item, &mut out[..length], 0.3);
                prop_assert_eq!(total, alone);
                for i in 0..length {
                    let wanted = if negative {
                        above[i].wrapping_sub(terms[i])
                    } else {
                        above[i].wrapping_add(terms[i])
                    };
                    prop_assert_eq!(total[i], wanted);
                    let released = nearest(exact[i].wrapping_add(wanted)) * 0.3;
                    prop_assert_eq!(out[i].to_bits(), released.to_bits());
                }
            }
        }

        #[test]
        fn exact_sums_take_in_items(before: [i64; 6], item: [i64; 6]) {
            let (mut exact, mut total, mut out) = (before, [0; 6], [0.0; 6]);
            let add = AddNoise::new(&mut total, &[0; 6], &[0; 6], 1);
            add.release(&mut exact, &item, &mut out, 1.0);
            for i in 0..6 {
                prop_assert_eq!(exact[i], before[i].wrapping_add(item[i]));
            }
        }
    }
}
