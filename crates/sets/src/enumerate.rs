//! From inequalities to vertices, and by polarity from vertices to inequalities, in low dimension.
//!
//! **Method.** A vertex of {⟨aⱼ, y⟩ ≤ bⱼ} in ℝᵏ is the only solution of k of the rows with equality
//! that satisfies the others: try all subsets of k rows. **Polarity.** If 0 is inside conv{v₁, …},
//! its facets are ⟨y, ·⟩ ≤ 1 for the vertices y of {⟨vᵢ, y⟩ ≤ 1}: the same search. **Cost** one k×k
//! solution and a check of all rows per subset; at most [`SUBSET_CAP`] subsets.

use crate::vector;
use nalgebra::{DMatrix, DVector};

/// The largest number of subsets that a search may visit.
pub(crate) const SUBSET_CAP: usize = 200_000;

/// Relative tolerance for "satisfies the other rows" and for "the same vertex".
const SAME: f64 = 1e-9;

/// The number of subsets of `size` out of `count`.
pub(crate) fn subsets(count: usize, size: usize) -> f64 {
    (0..size).fold(1.0, |product, index| {
        product * (count as f64 - index as f64) / (index + 1) as f64
    })
}

/// All vertices of {⟨row, y⟩ ≤ offset}, or `None` if there are too many subsets to search.
pub(crate) fn corners(rows: &[Vec<f64>], offsets: &[f64]) -> Option<Vec<Vec<f64>>> {
    let size = rows.first().map_or(0, Vec::len);
    if rows.len() < size || subsets(rows.len(), size) > SUBSET_CAP as f64 {
        return (rows.len() < size).then(Vec::new);
    }
    let norms: Vec<f64> = rows.iter().map(|row| vector::norm(row)).collect();
    let mut found: Vec<Vec<f64>> = Vec::new();
    let mut chosen: Vec<usize> = (0..size).collect();
    loop {
        if let Some(corner) = meet(rows, offsets, &norms, &chosen) {
            let reach = 1.0 + vector::norm(&corner);
            let inside = rows
                .iter()
                .zip(offsets)
                .zip(&norms)
                .all(|((row, offset), norm)| {
                    vector::dot(row, &corner) <= offset + SAME * (offset.abs() + norm * reach)
                });
            let new = || {
                found
                    .iter()
                    .all(|known| vector::distance(known, &corner) > 1e-7 * reach)
            };
            if inside && new() {
                found.push(corner);
            }
        }
        if !next_subset(&mut chosen, rows.len()) {
            return Some(found);
        }
    }
}

/// The next subset in lexicographic order; false after the last.
pub(crate) fn next_subset(chosen: &mut [usize], count: usize) -> bool {
    let size = chosen.len();
    for index in (0..size).rev() {
        if chosen[index] + size - index < count {
            chosen[index] += 1;
            for later in index + 1..size {
                chosen[later] = chosen[later - 1] + 1;
            }
            return true;
        }
    }
    false
}

/// The point where all chosen rows hold with equality, if it is unique. Elimination with pivoting
/// on rows scaled to length 1.
fn meet(rows: &[Vec<f64>], offsets: &[f64], norms: &[f64], chosen: &[usize]) -> Option<Vec<f64>> {
    let size = chosen.len();
    let scaled = |index: usize, value: f64| value / norms[index];
    let system = DMatrix::from_fn(size, size, |i, j| scaled(chosen[i], rows[chosen[i]][j]));
    let right = DVector::from_fn(size, |i, _| scaled(chosen[i], offsets[chosen[i]]));
    let factors = system.lu();
    if factors
        .u()
        .diagonal()
        .iter()
        .any(|pivot| pivot.abs() < SAME)
    {
        return None;
    }
    Some(factors.solve(&right)?.as_slice().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cube_and_its_polar() {
        let mut rows = Vec::new();
        for axis in 0..3 {
            for sign in [-1.0, 1.0] {
                let mut row = vec![0.0; 3];
                row[axis] = sign;
                rows.push(row);
            }
        }
        let cube = corners(&rows, &[1.0; 6]).unwrap();
        assert_eq!(cube.len(), 8);
        let facets = corners(&cube, &[1.0; 8]).unwrap();
        assert_eq!(facets.len(), 6);
        assert!(corners(&vec![vec![1.0; 30]; 60], &[1.0; 60]).is_none());
    }
}
