//! The base polytope of the uniform matroid: {0 ≤ x ≤ 1, Σ xᵢ = k}, the hull of the indicators of
//! all k-subsets ("k-sets").
//!
//! **Projection** clamp(xᵢ − θ, 0, 1) with the θ that makes the sum k. The sum falls with θ,
//! linearly between the breakpoints xᵢ and xᵢ − 1: bisect over the sorted breakpoints, then solve
//! the linear piece. O(d log d), exact up to rounding. **Minimiser** (greedy) the k smallest
//! coordinates, ties to the lowest index.
//!
//! **Barrier** −Σ ln xᵢ − Σ ln(1 − xᵢ), ν = 2d, in orthonormal coordinates of {Σ xᵢ = k} around the
//! centre.
//!
//! **Local oracle** (`decomposed.rs`): the rows are −xᵢ ≤ 0 and xᵢ ≤ 1, slacks 0 or 1. If a
//! coordinates of z are 0 and b are 1, all tight rows add up to a vector with
//! ‖·‖² = a + b − (b − a)²/d after projection to Σ = 0. Either z is a vertex, and then every other
//! vertex has slack at least 2 in all rows together, which halves the bound to √(k(d − k)/d); or
//! a < d − k and b < k. **κ** is the largest of these. For k = 1 it is the simplex's √d/2 (d even).

use hushstream_account::ParameterError;
use std::sync::Arc;

use crate::enumerate::{next_subset, subsets};
use crate::hull::AffineHull;
use crate::log_barrier::LogBarrier;
use crate::set::check_vertex_count;
use crate::{
    Barrier, Capability, ConvexSet, DecomposedOracle, LocalOracle, SetError, Shape, vector,
};

/// The hull of the k-subsets of d elements.
///
/// ```
/// use hushstream_sets::{ConvexSet, SetError, UniformMatroid};
///
/// let pairs = UniformMatroid::new(4, 2)?;
/// assert_eq!(pairs.vertices()?.len(), 6);
/// let mut cheapest = [0.0; 4];
/// pairs.minimise(&[3.0, 1.0, 2.0, 4.0], &mut cheapest)?;
/// assert_eq!(cheapest, [0.0, 1.0, 1.0, 0.0]);
/// # Ok::<(), SetError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct UniformMatroid {
    shape: Shape,
    chosen: usize,
}

impl UniformMatroid {
    /// The choices of `chosen` out of `dimension` elements.
    ///
    /// # Errors
    /// `chosen` below 1 or not below `dimension`.
    pub fn new(dimension: usize, chosen: usize) -> Result<Self, SetError> {
        vector::check_dimension(dimension, 2)?;
        if chosen == 0 || chosen >= dimension {
            return Err(ParameterError::new("chosen", chosen, "1 to dimension − 1").into());
        }
        let (d, k) = (dimension as f64, chosen as f64);
        Ok(Self {
            shape: Shape {
                name: "uniform matroid",
                centre: vec![k / d; dimension],
                diameter: (2.0 * k.min(d - k)).sqrt(),
                outer_radius: (k * (d - k) / d).sqrt(),
                inner_radius: 0.0,
                largest_norm: k.sqrt(),
            },
            chosen,
        })
    }

    fn move_rate(&self) -> f64 {
        let (d, k) = (self.dimension() as f64, self.chosen as f64);
        let at_a_vertex = k * (d - k) / d;
        // For fixed b the best a is the one nearest to the peak of the parabola: a − b = d/2.
        let elsewhere = |ones: usize| {
            let most = self.dimension() - self.chosen - 1;
            let peak = ones + self.dimension() / 2;
            [peak, peak + 1]
                .into_iter()
                .map(|zeros| {
                    let (a, b) = (zeros.min(most) as f64, ones as f64);
                    a + b - (b - a) * (b - a) / d
                })
                .fold(0.0, f64::max)
        };
        let best = (0..self.chosen).map(elsewhere).fold(0.0, f64::max);
        at_a_vertex.max(best).sqrt()
    }
}

/// Projects finite numbers onto {0 ≤ x ≤ 1, Σ xᵢ = total}, 0 < total < d.
fn project_to_capped_simplex(point: &mut [f64], total: f64) {
    let sum_at = |threshold: f64| -> f64 {
        point
            .iter()
            .map(|value| (value - threshold).clamp(0.0, 1.0))
            .sum()
    };
    let mut breaks: Vec<f64> = point
        .iter()
        .flat_map(|&value| [value, value - 1.0])
        .collect();
    breaks.sort_by(f64::total_cmp);
    // The last breakpoint at which the sum is still at least the total; at the first one it is d.
    let at = breaks
        .partition_point(|&threshold| sum_at(threshold) >= total)
        .max(1)
        - 1;
    let base = breaks[at];
    let next = breaks.get(at + 1).copied().unwrap_or(base);
    let middle = base + (next - base) / 2.0;
    let sloped = point
        .iter()
        .filter(|&&value| value > middle && value - 1.0 < middle)
        .count();
    let step = if sloped > 0 {
        ((sum_at(base) - total) / sloped as f64).clamp(0.0, next - base)
    } else {
        0.0
    };
    for value in point {
        *value = (*value - base - step).clamp(0.0, 1.0);
    }
}

impl ConvexSet for UniformMatroid {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn can(&self, _: Capability) -> bool {
        true
    }

    fn project(&self, point: &mut [f64]) -> Result<f64, SetError> {
        vector::check("point", point, self.dimension())?;
        // Only differences matter. The threshold is near the k-th largest coordinate, so
        // differences from that coordinate do not cancel.
        let mut sorted = point.to_vec();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let pivot = sorted[self.chosen - 1];
        // The threshold lies between 1 below it and itself: there k coordinates are at 1, or fewer
        // than k above 0. So a coordinate further than 1 away ends at 0 or 1, wherever exactly it
        // is.
        for value in point.iter_mut() {
            *value = (*value - pivot).clamp(-2.0, 2.0);
        }
        project_to_capped_simplex(point, self.chosen as f64);
        Ok(vector::rounding(self.dimension(), 2.0))
    }

    fn minimise(&self, direction: &[f64], out: &mut [f64]) -> Result<(), SetError> {
        vector::check_minimise(direction, out, self.dimension())?;
        let mut order: Vec<usize> = (0..self.dimension()).collect();
        // Stable: ties stay in the order of their index.
        order.sort_by(|&a, &b| compare(direction[a], direction[b]));
        out.fill(0.0);
        for &index in &order[..self.chosen] {
            out[index] = 1.0;
        }
        Ok(())
    }

    fn local_oracle(&self) -> Result<Box<dyn LocalOracle>, SetError> {
        let oracle = DecomposedOracle::new(Arc::new(self.clone()), self.move_rate())?;
        Ok(Box::new(oracle))
    }

    fn barrier(&self) -> Result<Box<dyn Barrier>, SetError> {
        let mut rows = Vec::with_capacity(2 * self.dimension());
        let mut offsets = Vec::with_capacity(2 * self.dimension());
        for index in 0..self.dimension() {
            for sign in [-1.0_f64, 1.0] {
                rows.push(vector::along(self.dimension(), index, sign));
                offsets.push(sign.max(0.0));
            }
        }
        let hull = AffineHull::of(self)?;
        Ok(LogBarrier::in_hull(self.name(), &rows, &offsets, hull))
    }

    fn vertices(&self) -> Result<Vec<Vec<f64>>, SetError> {
        check_vertex_count(subsets(self.dimension(), self.chosen))?;
        let mut chosen: Vec<usize> = (0..self.chosen).collect();
        let mut found = Vec::new();
        loop {
            let mut vertex = vec![0.0; self.dimension()];
            chosen.iter().for_each(|&index| vertex[index] = 1.0);
            found.push(vertex);
            if !next_subset(&mut chosen, self.dimension()) {
                return Ok(found);
            }
        }
    }
}

/// The order of finite numbers. −0 equals 0, so that a sign never breaks a tie.
pub(crate) fn compare(a: f64, b: f64) -> std::cmp::Ordering {
    a.partial_cmp(&b).unwrap_or(std::cmp::Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VertexPolytope;

    #[test]
    fn known_projections() {
        let set = UniformMatroid::new(4, 2).unwrap();
        let mut point = [1e12, 0.0, 0.0, 0.0];
        set.project(&mut point).unwrap();
        let third = 1.0 / 3.0;
        assert!(vector::distance(&point, &[1.0, third, third, third]) < 1e-14);
        let mut point = [5.0, 4.0, -1e300, f64::MIN];
        set.project(&mut point).unwrap();
        assert!(vector::distance(&point, &[1.0, 1.0, 0.0, 0.0]) < 1e-14);
        let mut point = [0.9, 0.8, 0.2, 0.1];
        set.project(&mut point).unwrap();
        assert!(vector::distance(&point, &[0.9, 0.8, 0.2, 0.1]) < 1e-14);
    }

    /// The closed form is at least the constant of the general construction, and not much more.
    #[test]
    fn move_rates() {
        for dimension in [2, 4, 8] {
            let set = UniformMatroid::new(dimension, 1).unwrap();
            let simplex = (dimension as f64).sqrt() / 2.0;
            assert!((set.move_rate() - simplex).abs() < 1e-12);
        }
        let set = UniformMatroid::new(4, 2).unwrap();
        assert!(set.move_rate() <= 4.0_f64.sqrt());
        let general = VertexPolytope::new(&set.vertices().unwrap()).unwrap();
        let general = general.local_oracle().unwrap().rho();
        assert!(set.local_oracle().unwrap().rho() <= general + 1e-12);
    }

    #[test]
    fn empty_and_full_choices_are_refused() {
        assert!(UniformMatroid::new(3, 0).is_err());
        assert!(UniformMatroid::new(3, 3).is_err());
        assert!(UniformMatroid::new(40, 20).unwrap().vertices().is_err());
    }
}
