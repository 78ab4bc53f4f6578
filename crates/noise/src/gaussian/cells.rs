//! An alias table in exact integers for the cell, of width 2⁻⁷, of a proposed magnitude.
//!
//! Cell j covers [j/128, (j+1)/128), j = 0…2047, that is 16 standard deviations (the rest
//! has probability below 2⁻¹⁸⁷). It is proposed with probability proportional to the density at its
//! left edge, e^(−j²/2¹⁵), as integer weights W_j that add up to 2¹²⁸ *exactly*:
//! W_j = ⌊2¹²⁸·q_j/Σq⌋, the few units left over go to cell 0. So each probability is wrong by less
//! than 2⁻¹²⁸ (cell 0: 2⁻¹¹⁷), in all 2⁻¹¹⁷ in total variation.
//!
//! **Alias table** (Walker 1977). Column i of 2048 holds 2¹¹⁷ units: the first `threshold[i]`
//! belong to cell i, the rest to cell `alias[i]`. Built with two stacks, filled with the cells in
//! increasing order: take the last small and the last large cell, let the large one fill up the
//! small one's column, and put it back on the stack where it now belongs. In integers nothing is
//! lost: the columns give each cell exactly its weight, which a test adds up.

use crate::exponential::exp_minus_bounds;
use dashu_int::UBig;
use std::sync::LazyLock;

/// Number of cells.
pub(super) const CELLS: usize = 2048;

/// Units in a column: 2¹²⁸/2048.
pub(super) const COLUMN: u128 = 1 << 117;

/// Bits of a threshold that the fast path compares.
pub(super) const FAST_BITS: u32 = 15;

/// Precision of the densities while the table is made.
const PRECISION: usize = 256;

pub(super) struct Cells {
    /// Fast form: the upper 16 bits hold the threshold's first 15 bits (2¹⁵ for a full column), the
    /// lower the alias.
    pub(super) fast: [u32; CELLS],
    thresholds: [u128; CELLS],
}

static TABLE: LazyLock<Box<Cells>> = LazyLock::new(|| Box::new(Cells::build(&weights())));

impl Cells {
    pub(super) fn get() -> &'static Self {
        &TABLE
    }

    /// The fast form of the column that a first word's upper 11 bits choose.
    #[inline(always)]
    pub(super) fn entry(&self, first: u64) -> u32 {
        self.fast[(first >> 53) as usize]
    }

    /// The cell that 128 uniform bits choose: 11 for the column, 117 for the place in it.
    pub(super) fn choose(&self, column: usize, place: u128) -> usize {
        if place < self.thresholds[column] {
            column
        } else {
            (self.fast[column] & 0xffff) as usize
        }
    }

    fn build(weights: &[u128; CELLS]) -> Self {
        let mut left = *weights;
        let mut alias: Vec<usize> = (0..CELLS).collect();
        let mut thresholds = [COLUMN; CELLS];
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..CELLS).partition(|&cell| left[cell] < COLUMN);
        while let (Some(&poor), Some(&rich)) = (small.last(), large.last()) {
            small.pop();
            large.pop();
            thresholds[poor] = left[poor];
            alias[poor] = rich;
            left[rich] -= COLUMN - left[poor];
            if left[rich] < COLUMN {
                small.push(rich);
            } else {
                large.push(rich);
            }
        }
        debug_assert!(small.is_empty(), "exact weights leave full columns only");
        let mut fast = [0; CELLS];
        for column in 0..CELLS {
            let head = (thresholds[column] >> (117 - FAST_BITS)) as u32;
            fast[column] = head << 16 | alias[column] as u32;
        }
        Self { fast, thresholds }
    }
}

/// 256 bits after the point, lowest word first. A fixed number of words, for speed: every program
/// waits for this table when it starts.
type Fraction = [u64; 4];

/// The product of two fractions, all 512 bits.
fn product(a: &Fraction, b: &Fraction) -> [u64; 8] {
    let mut out = [0; 8];
    for (i, &a) in a.iter().enumerate() {
        let mut carry = 0;
        for (j, &b) in b.iter().enumerate() {
            let sum = u128::from(a) * u128::from(b) + u128::from(out[i + j]) + carry;
            (out[i + j], carry) = (sum as u64, sum >> 64);
        }
        out[i + 4] = carry as u64;
    }
    out
}

/// The product of two fractions, rounded down.
fn rounded_down(a: &Fraction, b: &Fraction) -> Fraction {
    let [_, _, _, _, e, f, g, h] = product(a, b);
    [e, f, g, h]
}

fn fraction(value: &UBig) -> Fraction {
    let mut words = [0; 4];
    for (slot, word) in words.iter_mut().enumerate() {
        *word = ((value >> (64 * slot)) & UBig::from(u64::MAX))
            .try_into()
            .expect("masked to 64 bits");
    }
    words
}

fn integer(words: &[u64]) -> UBig {
    let parts = words.iter().rev();
    parts.fold(UBig::ZERO, |sum, word| (sum << 64) + *word)
}

/// q_j = e^(−j²/2¹⁵) for j = 1, 2, …, by the recurrence q_{j+1} = q_j·g^{2j+1}, g = e^(−2⁻¹⁵): 2048
/// steps of two products, each rounded down by one unit of 2⁻²⁵⁶, keep every q_j within 2⁻²⁴⁰ of
/// the truth. (q_0 = 1 is no fraction.)
fn densities() -> [Fraction; CELLS - 1] {
    let step = fraction(&exp_minus_bounds(&UBig::ONE, 15, PRECISION).0);
    let square = rounded_down(&step, &step);
    let (mut density, mut ratio) = (step, step);
    let mut densities = [[0; 4]; CELLS - 1];
    for slot in &mut densities {
        *slot = density;
        ratio = rounded_down(&ratio, &square);
        density = rounded_down(&density, &ratio);
    }
    densities
}

/// 2¹²⁸·q/Σ, rounded down, for Σ of 264 bits and `inverse` = ⌊2⁴⁴⁸/Σ⌋: q·2⁴⁴⁸/Σ lies between
/// q·`inverse` and q·`inverse` + q; where the two agree from bit 320 on, they give the answer.
fn share(density: &Fraction, inverse: &Fraction, total: &UBig) -> u128 {
    let low = product(density, inverse);
    let (mut high, mut carry) = (low, false);
    for (place, word) in high.iter_mut().enumerate() {
        let (sum, first) = word.overflowing_add(density.get(place).copied().unwrap_or(0));
        let (sum, second) = sum.overflowing_add(carry.into());
        (*word, carry) = (sum, first || second);
    }
    if low[5..] == high[5..] {
        return u128::from(low[6]) << 64 | u128::from(low[5]);
    }
    exact_share(integer(density), total)
}

/// As [`share`], by a division.
fn exact_share(density: UBig, total: &UBig) -> u128 {
    let share = (density << 128) / total;
    u128::try_from(share).expect("a share of 2^128 among many fits 128 bits")
}

fn weights() -> [u128; CELLS] {
    let densities = densities();
    let one = UBig::ONE << PRECISION;
    let rest: UBig = densities.chunks(64).map(sum).sum();
    let total = &one + rest;
    let inverse = fraction(&((UBig::ONE << 448) / &total));
    let mut weights = [0; CELLS];
    weights[0] = exact_share(one, &total);
    for (weight, density) in weights[1..].iter_mut().zip(&densities) {
        *weight = share(density, &inverse, &total);
    }
    // The few units that are missing to 2¹²⁸.
    let missing = weights
        .iter()
        .fold(0_u128, |sum, weight| sum.wrapping_sub(*weight));
    weights[0] += missing;
    weights
}

/// The sum of a few densities.
fn sum(densities: &[Fraction]) -> UBig {
    let mut columns = [0_u128; 4];
    for density in densities {
        for (column, word) in columns.iter_mut().zip(density) {
            *column += u128::from(*word);
        }
    }
    let parts = columns.iter().rev();
    parts.fold(UBig::ZERO, |sum, column| (sum << 64) + *column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_give_each_cell_exactly_its_weight() {
        let weights = weights();
        let cells = Cells::build(&weights);
        let mut given = vec![UBig::ZERO; CELLS];
        for column in 0..CELLS {
            let threshold = cells.thresholds[column];
            assert!(threshold <= COLUMN);
            given[column] += UBig::from(threshold);
            given[(cells.fast[column] & 0xffff) as usize] += UBig::from(COLUMN - threshold);
        }
        assert!(given.iter().zip(weights).all(|(g, w)| *g == UBig::from(w)));
        assert_eq!(given.iter().sum::<UBig>(), UBig::ONE << 128);
    }

    #[test]
    fn densities_are_within_their_stated_error() {
        for (cell, density) in (1_usize..).zip(&densities()) {
            let density = &integer(density);
            let (low, high) = exp_minus_bounds(&UBig::from(cell * cell), 15, PRECISION);
            let error = UBig::ONE << 16;
            assert!(
                density <= &(high + &error) && density + error >= low,
                "cell {cell}"
            );
        }
    }

    #[test]
    fn shares_are_those_of_a_division() {
        let densities = densities();
        let one = UBig::ONE << PRECISION;
        let total = &one + densities.iter().map(|q| integer(q)).sum::<UBig>();
        assert!(total < UBig::ONE << 264 && total > UBig::ONE << 263);
        let mut wanted: Vec<u128> = std::iter::once(one)
            .chain(densities.iter().map(|q| integer(q)))
            .map(|density| exact_share(density, &total))
            .collect();
        let left = (UBig::ONE << 128) - wanted.iter().map(|w| UBig::from(*w)).sum::<UBig>();
        assert!(left < UBig::from(CELLS));
        wanted[0] += u128::try_from(left).unwrap();
        assert_eq!(weights().to_vec(), wanted);
        // Around whole shares, where the bounds disagree, a division decides.
        let inverse = fraction(&((UBig::ONE << 448) / &total));
        for whole in [1_u128, 1 << 100, (1 << 120) + 12_345] {
            for near in [0_u8, 1, 2] {
                let density = ((&total * whole) >> 128) + near;
                let found = share(&fraction(&density), &inverse, &total);
                assert_eq!(found, exact_share(density, &total));
                assert_eq!(found, whole - u128::from(near == 0));
            }
        }
    }

    #[test]
    fn the_fast_form_is_the_head_of_the_threshold() {
        let cells = Cells::get();
        for column in 0..CELLS {
            let head = u128::from(cells.fast[column] >> 16);
            assert!(head << 102 <= cells.thresholds[column]);
            assert!(cells.thresholds[column] < (head + 1) << 102);
            assert!((cells.fast[column] & 0xffff) < CELLS as u32);
        }
    }
}
