//! Sums of products. Their order is stated, so that they are the same wherever they are computed:
//! in eight lanes, of which the last four numbers may use half, then what is left.

use crate::{FOUR, Four};

/// ⟨a, b⟩, as far as both reach.
#[inline(always)]
pub fn dot<V: Four>(v: V, a: &[f64], b: &[f64]) -> f64 {
    sums::<V, false>(v, a, b)[1]
}

/// ⟨a, a⟩ and ⟨a, b⟩ in one pass, for vectors of one length.
#[inline(always)]
pub fn square_and_dot<V: Four>(v: V, a: &[f64], b: &[f64]) -> [f64; 2] {
    sums::<V, true>(v, a, b)
}

/// Both, or only the second.
#[inline(always)]
fn sums<V: Four, const SQUARE: bool>(v: V, a: &[f64], b: &[f64]) -> [f64; 2] {
    let length = a.len().min(b.len());
    let ((a, a_rest), (b, b_rest)) = (a[..length].as_chunks(), b[..length].as_chunks());
    let ((a_pairs, a), (b_pairs, b)) = (a.as_chunks(), b.as_chunks());
    let mut lanes = [[v.floats(&[0.0; FOUR]); 2]; 2];
    for ([a, c], [b, d]) in a_pairs.iter().zip(b_pairs) {
        lanes[0] = more::<V, SQUARE>(v, lanes[0], a, b);
        lanes[1] = more::<V, SQUARE>(v, lanes[1], c, d);
    }
    if let ([a], [b]) = (a, b) {
        lanes[0] = more::<V, SQUARE>(v, lanes[0], a, b);
    }
    let mut rest = [0.0; 2];
    for (a, b) in a_rest.iter().zip(b_rest) {
        rest = [rest[0] + a * a, rest[1] + a * b];
    }
    let [first, second] = lanes;
    let total = |lane: usize| {
        let [a, b, c, d] = v.numbers(v.plus(first[lane], second[lane]));
        ((a + c) + (b + d)) + rest[lane]
    };
    [if SQUARE { total(0) } else { 0.0 }, total(1)]
}

/// Four more products in each sum.
#[inline(always)]
fn more<V: Four, const SQUARE: bool>(
    v: V,
    [squares, products]: [V::Floats; 2],
    a: &[f64; FOUR],
    b: &[f64; FOUR],
) -> [V::Floats; 2] {
    let (a, b) = (v.floats(a), v.floats(b));
    let squares = if SQUARE {
        v.plus(squares, v.times(a, a))
    } else {
        squares
    };
    [squares, v.plus(products, v.times(a, b))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Plain, Work};

    struct Both<'a>(&'a [f64], &'a [f64]);

    impl Work for Both<'_> {
        type Output = [f64; 3];

        fn with<V: Four>(self, v: V) -> [f64; 3] {
            let [square, product] = square_and_dot(v, self.0, self.1);
            [square, product, dot(v, self.0, self.1)]
        }
    }

    /// The stated order, number by number.
    fn by_hand(a: &[f64], b: &[f64]) -> f64 {
        let (mut lanes, mut rest) = ([0.0; 8], 0.0);
        let whole = a.len() / 4 * 4;
        for (i, (a, b)) in a.iter().zip(b).enumerate() {
            if i < whole {
                let in_eights = i < whole / 8 * 8;
                lanes[if in_eights { i % 8 } else { i % 4 }] += a * b;
            } else {
                rest += a * b;
            }
        }
        let [a, b, c, d, e, f, g, h] = lanes;
        (((a + e) + (c + g)) + ((b + f) + (d + h))) + rest
    }

    #[test]
    fn the_order_is_the_stated_one() {
        for length in 0..70 {
            let number = |i: usize, by: f64| (i as f64 * by).sin() * 10_f64.powi(i as i32 % 7);
            let a: Vec<f64> = (0..length).map(|i| number(i, 1.7)).collect();
            let b: Vec<f64> = (0..length).map(|i| number(i, 0.9)).collect();
            let wanted = [by_hand(&a, &a), by_hand(&a, &b), by_hand(&a, &b)];
            for found in [crate::run(Both(&a, &b)), Both(&a, &b).with(Plain)] {
                assert_eq!(
                    found.map(f64::to_bits),
                    wanted.map(f64::to_bits),
                    "{length}"
                );
            }
        }
    }
}
