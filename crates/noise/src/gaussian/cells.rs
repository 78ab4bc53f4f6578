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

/// q_j = e^(−j²/2¹⁵) for j = 0, 1, …, in units of 2⁻²⁵⁶, by the recurrence q_{j+1} = q_j·g^{2j+1},
/// g = e^(−2⁻¹⁵): 2048 steps of two products, each rounded down by one unit, keep every q_j within
/// 2⁻²⁴⁰ of the truth.
fn densities() -> Vec<UBig> {
    let step = exp_minus_bounds(&UBig::ONE, 15, PRECISION).0;
    let times = |a: &UBig, b: &UBig| (a * b) >> PRECISION;
    let square = times(&step, &step);
    let (mut density, mut ratio) = (UBig::ONE << PRECISION, step);
    (0..CELLS)
        .map(|_| {
            let next = times(&density, &ratio);
            ratio = times(&ratio, &square);
            std::mem::replace(&mut density, next)
        })
        .collect()
}

fn weights() -> [u128; CELLS] {
    let densities = densities();
    let total: UBig = densities.iter().sum();
    let mut weights = [0; CELLS];
    for (weight, density) in weights.iter_mut().zip(densities) {
        let share = (density << 128) / &total;
        *weight = u128::try_from(share).expect("a share of 2^128 among many fits 128 bits");
    }
    // The few units that are missing to 2¹²⁸.
    let missing = weights
        .iter()
        .fold(0_u128, |sum, weight| sum.wrapping_sub(*weight));
    weights[0] += missing;
    weights
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
        for (cell, density) in densities().iter().enumerate() {
            let (low, high) = exp_minus_bounds(&UBig::from(cell * cell), 15, PRECISION);
            let error = UBig::ONE << 16;
            assert!(
                density <= &(high + &error) && density + error >= low,
                "cell {cell}"
            );
        }
    }

    /// Cell 0 also gets what is left over, which is less than one unit for each cell.
    #[test]
    fn weights_are_the_densities_shares_rounded_down() {
        let densities = densities();
        let total: UBig = densities.iter().sum();
        for (cell, (weight, density)) in weights().into_iter().zip(densities).enumerate() {
            let extra = if cell == 0 { CELLS } else { 1 };
            let share = density << 128;
            let most = &total * (UBig::from(weight) + 1_u8);
            assert!(share < most, "cell {cell}");
            assert!(share + &total * extra >= most, "cell {cell}");
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
