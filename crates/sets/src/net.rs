//! Nets: finitely many points of a set such that each of its points has one within a given radius
//! (AFKT22's cover).
//!
//! **Method.** A grid of cubes with half-diagonal at most the radius on the set's extent in its
//! affine hull of dimension k; the centre of each cube is projected, and kept if it moved by at
//! most the radius.
//!
//! **Proof.** A point y of the set lies in a cube with centre c, ‖c − y‖ ≤ radius. Projection does
//! not expand distances and leaves y where it is, so ‖Π(c) − y‖ ≤ radius; and Π(c) is nearer to c
//! than y is, so it was kept. ∎ The cubes are made smaller by one part in 10⁶, to cover
//! rounding and the error of the projection.
//!
//! **Cost.** At most (1 + √k·diameter/(2·radius))ᵏ projections.

use crate::hull::AffineHull;
use crate::{ConvexSet, SetError, vector};
use std::cmp::Ordering;

/// The largest number of grid cells of [`ConvexSet::net`].
pub const NET_CAP: usize = 1_000_000;

pub(crate) fn by_grid<S: ConvexSet + ?Sized>(
    set: &S,
    radius: f64,
) -> Result<Vec<Vec<f64>>, SetError> {
    vector::check_positive("radius", radius)?;
    let hull = AffineHull::of(set)?;
    let free = hull.basis.len();
    if free == 0 {
        return Ok(vec![hull.origin]);
    }
    let side = 2.0 * radius * (1.0 - 1e-6) / (free as f64).sqrt();
    let mut axes = Vec::with_capacity(free);
    let mut corner = vec![0.0; set.dimension()];
    for direction in &hull.basis {
        set.minimise(direction, &mut corner)?;
        let low = vector::dot(direction, &vector::difference(&corner, &hull.origin));
        let opposite: Vec<f64> = direction.iter().map(|value| -value).collect();
        set.minimise(&opposite, &mut corner)?;
        let high = vector::dot(direction, &vector::difference(&corner, &hull.origin));
        let cells = ((high - low) / side).ceil().max(1.0);
        axes.push((low, (high - low) / cells, cells));
    }
    let cells: f64 = axes.iter().map(|axis| axis.2).product();
    if cells > NET_CAP as f64 {
        return Err(SetError::TooMany {
            what: "cells of the net (take a larger radius or fewer dimensions)",
            count: cells,
            cap: NET_CAP,
        });
    }

    let mut net = Vec::new();
    let mut cell = vec![0.0; free];
    loop {
        let middle: Vec<f64> = axes
            .iter()
            .zip(&cell)
            .map(|((low, step, _), index)| low + (index + 0.5) * step)
            .collect();
        let middle = hull.lift(&middle);
        let mut point = middle.clone();
        set.project(&mut point)?;
        if vector::distance(&middle, &point) <= radius {
            net.push(point);
        }
        if !next_cell(&mut cell, &axes) {
            break;
        }
    }
    // Cells beyond a corner often project to the same point.
    // No coordinate is NaN.
    net.sort_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
    net.dedup();
    Ok(net)
}

/// Advances to the next cell; false after the last.
fn next_cell(cell: &mut [f64], axes: &[(f64, f64, f64)]) -> bool {
    for (index, (_, _, cells)) in cell.iter_mut().zip(axes) {
        *index += 1.0;
        if *index < *cells {
            return true;
        }
        *index = 0.0;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ball, Simplex};

    #[test]
    fn sizes_are_near_the_quotient_of_volumes() {
        let net = Ball::new(2, 1.0).unwrap().net(0.1).unwrap();
        // The disc has area π, a square of half-diagonal 0.1 area 0.02: 157 squares, and those on
        // the rim.
        assert!((157..300).contains(&net.len()), "{}", net.len());
        assert_eq!(Simplex::new(2).unwrap().net(2.0).unwrap().len(), 1);
    }

    #[test]
    fn too_fine_is_refused() {
        let error = Ball::new(10, 1.0).unwrap().net(0.01).unwrap_err();
        assert!(matches!(error, SetError::TooMany { .. }), "{error}");
        assert!(Ball::new(2, 1.0).unwrap().net(0.0).is_err());
    }
}
