//! The facets of a polytope given by points, and the constant of its local oracle.
//!
//! **Facets** by polarity around the mean of the points (`enumerate.rs`), in orthonormal
//! coordinates of the affine hull.
//!
//! **Move rate** (defined in `decomposed.rs`): κ is the largest ‖Σ_C aⱼ‖ over the vertices v and
//! the sets C of at most k facets tight at v, k the dimension of the hull, each facet scaled so
//! that the smallest positive slack of a point is 1. For any z a spanning set of the facets tight
//! at z is such a set: it has k members or fewer, and a facet that is tight at z is tight at a
//! vertex of z's face. Where more than 14 facets meet, the sum of the k largest ‖aⱼ‖ is taken
//! instead. **Cost** up to 2¹⁴ sums per vertex.

use crate::enumerate::corners;
use crate::hull::AffineHull;
use crate::vector;

/// ⟨normal, y⟩ ≤ offset in the hull's coordinates, normals of length 1.
#[derive(Debug, Clone)]
pub(crate) struct Facets {
    pub(crate) normals: Vec<Vec<f64>>,
    pub(crate) offsets: Vec<f64>,
}

/// Slacks below this, relative to the diameter, are 0.
const TIGHT: f64 = 1e-8;

impl Facets {
    /// All facets, or `None` if there are too many subsets to search. The hull's origin must be in
    /// the relative interior.
    pub(crate) fn of(points: &[Vec<f64>], hull: &AffineHull) -> Option<Self> {
        if hull.basis.is_empty() {
            return Some(Self {
                normals: Vec::new(),
                offsets: Vec::new(),
            });
        }
        let lowered: Vec<Vec<f64>> = points.iter().map(|point| hull.lower(point)).collect();
        let scale = lowered.iter().map(|y| vector::norm(y)).fold(0.0, f64::max);
        // The polar is computed in units of the polytope's size, so that tolerances do not depend
        // on the size. A point at the mean itself gives no bound.
        let rows: Vec<Vec<f64>> = lowered
            .into_iter()
            .filter(|y| vector::norm(y) > TIGHT * scale)
            .map(|y| y.into_iter().map(|value| value / scale).collect())
            .collect();
        let polar = corners(&rows, &vec![1.0; rows.len()])?;
        let (normals, offsets) = polar
            .into_iter()
            .map(|corner| {
                let length = vector::norm(&corner);
                let normal = corner.iter().map(|value| value / length).collect();
                (normal, scale / length)
            })
            .unzip();
        Some(Self { normals, offsets })
    }

    /// κ for decompositions into the points.
    pub(crate) fn move_rate(&self, points: &[Vec<f64>], hull: &AffineHull, diameter: f64) -> f64 {
        let lowered: Vec<Vec<f64>> = points.iter().map(|point| hull.lower(point)).collect();
        let slack =
            |facet: usize, y: &[f64]| self.offsets[facet] - vector::dot(&self.normals[facet], y);
        let scaled: Vec<Vec<f64>> = (0..self.normals.len())
            .map(|facet| {
                let smallest = lowered
                    .iter()
                    .map(|y| slack(facet, y))
                    .filter(|&slack| slack > TIGHT * diameter)
                    .fold(f64::INFINITY, f64::min);
                self.normals[facet]
                    .iter()
                    .map(|value| value / smallest)
                    .collect()
            })
            .collect();
        let most = hull.basis.len();
        let mut rate = 0.0_f64;
        for y in &lowered {
            let tight: Vec<&Vec<f64>> = (0..scaled.len())
                .filter(|&facet| slack(facet, y) <= TIGHT * diameter)
                .map(|facet| &scaled[facet])
                .collect();
            rate = rate.max(largest_sum(&tight, most));
        }
        // A single point has no facets and nothing to move.
        if rate > 0.0 { rate } else { 1.0 }
    }
}

/// The largest norm of a sum of at most `most` of the vectors, or an upper bound on it if there are
/// too many.
fn largest_sum(vectors: &[&Vec<f64>], most: usize) -> f64 {
    if vectors.len() > 14 {
        let mut norms: Vec<f64> = vectors.iter().map(|vector| vector::norm(vector)).collect();
        norms.sort_by(|a, b| b.total_cmp(a));
        return norms.iter().take(most).sum();
    }
    let mut largest = 0.0_f64;
    for chosen in 0_u32..1 << vectors.len() {
        if chosen.count_ones() as usize > most {
            continue;
        }
        let mut sum = vec![0.0; vectors.first().map_or(0, |vector| vector.len())];
        for (index, vector) in vectors.iter().enumerate() {
            if chosen >> index & 1 == 1 {
                vector::add(&mut sum, 1.0, vector);
            }
        }
        largest = largest.max(vector::norm(&sum));
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_searched_or_bounded() {
        let units: Vec<Vec<f64>> = (0..15)
            .map(|index| (0..15).map(|i| f64::from(u8::from(i == index))).collect())
            .collect();
        let some: Vec<&Vec<f64>> = units[..9].iter().collect();
        assert!((largest_sum(&some, 4) - 2.0).abs() < 1e-15);
        let all: Vec<&Vec<f64>> = units.iter().collect();
        assert!((largest_sum(&all, 4) - 4.0).abs() < 1e-15);
    }

    /// A triangle: each height h gives a row of length 1/h, and two rows meet in a vertex.
    #[test]
    fn a_triangle() {
        let points = [vec![0.0, 0.0], vec![4.0, 0.0], vec![0.0, 3.0]];
        let hull = AffineHull::of_points(&points, vec![4.0 / 3.0, 1.0]);
        let facets = Facets::of(&points, &hull).unwrap();
        assert_eq!(facets.normals.len(), 3);
        let rate = facets.move_rate(&points, &hull, 5.0);
        // −x ≤ 0 scaled by 4 and −y ≤ 0 by 3 add up to the same as the long side alone: 1/2.4.
        assert!((rate - 1.0 / 2.4).abs() < 1e-12, "{rate}");
    }
}
