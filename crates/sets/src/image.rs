//! Rounder images of sets under public linear maps (ST13's isotropic position).
//!
//! What a ball of directions costs in a set grows with R/r, its outer over its inner radius. For
//! the polytope C with these corners let E be the ellipsoid of least volume that holds them:
//! (1/p)E, about E's centre, is inside C (John 1948). In coordinates y = M(x − c) in which E is the
//! unit ball, R/r about E's centre is at most p, whatever the shape of C was; about the image's own
//! centre the image states its radii itself. Weights that solve Khachiyan's problem up to a factor
//! 1 + 10⁻³ are enough: the map is public, and every number that a proof needs is taken from the
//! image.
//!
//! A projection onto the image is one onto a polytope with mapped corners, by Wolfe's method; boxes
//! become cubes. No other set here has a map: balls, simplices and spectrahedra are round already,
//! and the other polytopes have too many corners.

use crate::{BoxSet, Capability, ConvexSet, SetError, VertexPolytope};
use nalgebra::{DMatrix, DVector};
use std::sync::Arc;

/// The largest number of corners that a map is sought for.
const CORNERS: usize = 1024;
const ROUNDS: usize = 2000;

/// A linear map with its image.
///
/// ```
/// use hushstream_sets::{BoxSet, ConvexSet, Image, SetError};
/// use std::sync::Arc;
///
/// // A box that is a hundred times as long as wide becomes a square.
/// let set: Arc<dyn ConvexSet> = Arc::new(BoxSet::new(&[0.0, 0.0], &[100.0, 1.0])?);
/// let image = Image::rounder(&set)?.expect("it is not round");
/// assert!(image.set().outer_radius() / image.set().inner_radius() < 1.5);
/// assert_eq!(image.back(&[1.0, 1.0]), [100.0, 1.0]);
/// # Ok::<(), SetError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Image {
    set: Arc<dyn ConvexSet>,
    /// M⁻¹, by rows.
    back: Vec<Vec<f64>>,
    offset: Vec<f64>,
    stretch: (f64, f64),
}

impl Image {
    /// The map for a set, if it makes R/r smaller by a tenth or more.
    ///
    /// # Errors
    /// An error of the set.
    pub fn rounder(set: &Arc<dyn ConvexSet>) -> Result<Option<Self>, SetError> {
        let known = set.can(Capability::Vertices) && set.can(Capability::Project);
        if !known || !matches!(set.name(), "box" | "vertex polytope" | "halfspace polytope") {
            return Ok(None);
        }
        let (outer, inner) = (set.outer_radius(), set.inner_radius());
        let Ok(corners) = set.vertices() else {
            return Ok(None);
        };
        if inner <= 0.0 || corners.len() > CORNERS {
            return Ok(None);
        }
        let image = if set.name() == "box" {
            Self::of_box(&corners)?
        } else {
            match Self::of_corners(&corners)? {
                Some(image) => image,
                None => return Ok(None),
            }
        };
        let round = &image.set;
        let is_rounder = round.inner_radius() > 0.0
            && round.outer_radius() / round.inner_radius() < 0.9 * outer / inner;
        Ok(is_rounder.then_some(image))
    }

    /// Half the sides, and the middle.
    fn of_box(corners: &[Vec<f64>]) -> Result<Self, SetError> {
        let dimension = corners[0].len();
        let bounds = |i: usize| {
            let values = corners.iter().map(|corner| corner[i]);
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            })
        };
        let halves: Vec<f64> = (0..dimension)
            .map(|i| (bounds(i).1 - bounds(i).0) / 2.0)
            .collect();
        let row = |i: usize| {
            let mut row = vec![0.0; dimension];
            row[i] = halves[i];
            row
        };
        Ok(Self {
            set: Arc::new(BoxSet::cube(dimension, 1.0)?),
            back: (0..dimension).map(row).collect(),
            offset: (0..dimension)
                .map(|i| f64::midpoint(bounds(i).0, bounds(i).1))
                .collect(),
            stretch: (
                halves.iter().copied().fold(f64::INFINITY, f64::min),
                halves.iter().copied().fold(0.0, f64::max),
            ),
        })
    }

    /// Khachiyan's weights u of the corners q lifted to (x, 1): while some qᵀ(Σuqqᵀ)⁻¹q is above
    /// p + 1, that corner gains weight. The ellipsoid's matrix is p times the covariance under u.
    fn of_corners(corners: &[Vec<f64>]) -> Result<Option<Self>, SetError> {
        let (count, p) = (corners.len(), corners[0].len());
        let lifted: Vec<DVector<f64>> = corners
            .iter()
            .map(|corner| DVector::from_iterator(p + 1, corner.iter().copied().chain([1.0])))
            .collect();
        let mut weights = vec![1.0 / count as f64; count];
        for _ in 0..ROUNDS {
            let mut moments = DMatrix::<f64>::zeros(p + 1, p + 1);
            for (corner, weight) in lifted.iter().zip(&weights) {
                moments.ger(*weight, corner, corner, 1.0);
            }
            let Some(inverse) = moments.try_inverse() else {
                return Ok(None);
            };
            let reach = |corner: &DVector<f64>| (corner.transpose() * &inverse * corner)[(0, 0)];
            let farthest =
                (0..count)
                    .map(|i| (i, reach(&lifted[i])))
                    .fold(
                        (0, 0.0),
                        |best, next| if next.1 > best.1 { next } else { best },
                    );
            let size = (p + 1) as f64;
            if farthest.1 <= size * 1.001 {
                break;
            }
            let step = (farthest.1 - size) / (size * (farthest.1 - 1.0));
            weights.iter_mut().for_each(|weight| *weight *= 1.0 - step);
            weights[farthest.0] += step;
        }
        let mut centre = DVector::<f64>::zeros(p);
        for (corner, weight) in corners.iter().zip(&weights) {
            centre += DVector::from_column_slice(corner) * *weight;
        }
        let mut covariance = DMatrix::<f64>::zeros(p, p);
        for (corner, weight) in corners.iter().zip(&weights) {
            let from = DVector::from_column_slice(corner) - &centre;
            covariance.ger(*weight * p as f64, &from, &from, 1.0);
        }
        let eigen = covariance.symmetric_eigen();
        let least = eigen.eigenvalues.min();
        if !(least > 0.0 && least.is_finite()) {
            return Ok(None);
        }
        let root = |power: f64| {
            let values = eigen.eigenvalues.map(|value| value.powf(power));
            let vectors = &eigen.eigenvectors;
            vectors * DMatrix::from_diagonal(&values) * vectors.transpose()
        };
        let (forward, back) = (root(-0.5), root(0.5));
        let images: Vec<Vec<f64>> = corners
            .iter()
            .map(|corner| {
                (&forward * (DVector::from_column_slice(corner) - &centre))
                    .data
                    .into()
            })
            .collect();
        Ok(Some(Self {
            set: Arc::new(VertexPolytope::new(&images)?),
            back: (0..p)
                .map(|i| back.row(i).iter().copied().collect())
                .collect(),
            offset: centre.data.into(),
            // Rounded outward.
            stretch: (
                least.sqrt() * (1.0 - 1e-9),
                eigen.eigenvalues.max().sqrt() * (1.0 + 1e-9),
            ),
        }))
    }

    /// The image of the set.
    #[must_use]
    pub fn set(&self) -> &Arc<dyn ConvexSet> {
        &self.set
    }

    /// The point of the set whose image this is.
    #[must_use]
    pub fn back(&self, point: &[f64]) -> Vec<f64> {
        let rows = self.back.iter().zip(&self.offset);
        rows.map(|(row, offset)| offset + crate::vector::dot(row, point))
            .collect()
    }

    /// By how much lengths grow on the way back, at least and at most.
    #[must_use]
    pub fn stretch(&self) -> (f64, f64) {
        self.stretch
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ball, HalfspacePolytope, Simplex};

    fn image(corners: &[Vec<f64>]) -> Image {
        let set: Arc<dyn ConvexSet> = Arc::new(VertexPolytope::new(corners).unwrap());
        Image::rounder(&set).unwrap().unwrap()
    }

    /// Thin triangles, however thin, become the same one, with R/r = 2 = p; corners come back.
    #[test]
    fn thin_triangles_become_round() {
        for thin in [1.0, 1e-2, 1e-4] {
            let corners = [vec![0.0, 0.0], vec![7.0, 0.0], vec![1.0, thin]];
            let image = image(&corners);
            let ratio = image.set().outer_radius() / image.set().inner_radius();
            assert!((ratio - 2.0).abs() < 0.01, "{thin}: {ratio}");
            for corner in image.set().vertices().unwrap() {
                let back = image.back(&corner);
                let near = corners
                    .iter()
                    .any(|known| crate::vector::distance(known, &back) < 1e-6);
                assert!(near, "{back:?}");
            }
        }
    }

    /// No direction is stretched beyond what is stated, and both ends are attained.
    #[test]
    fn the_stretch_is_that_of_the_map() {
        let corners = [
            vec![0.0, 0.0],
            vec![5.0, 1.0],
            vec![6.0, 3.0],
            vec![0.5, 1.0],
        ];
        let image = image(&corners);
        let (least, most) = image.stretch();
        let origin = image.back(&[0.0, 0.0]);
        let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
        for step in 0..3600 {
            let angle = f64::from(step) * std::f64::consts::TAU / 3600.0;
            let moved = image.back(&[angle.cos(), angle.sin()]);
            let length = crate::vector::distance(&moved, &origin);
            (low, high) = (low.min(length), high.max(length));
        }
        assert!(low >= least && low < least * 1.001, "{low} {least}");
        assert!(high <= most && high > most * 0.999, "{high} {most}");
    }

    #[test]
    fn round_sets_stay_where_they_are() {
        let sets: [Arc<dyn ConvexSet>; 3] = [
            Arc::new(Ball::new(3, 2.0).unwrap()),
            Arc::new(Simplex::new(4).unwrap()),
            Arc::new(BoxSet::cube(3, 5.0).unwrap()),
        ];
        for set in sets {
            assert!(Image::rounder(&set).unwrap().is_none(), "{}", set.name());
        }
        let rows = [vec![-1.0, 0.0], vec![0.0, -1.0], vec![1.0, 100.0]];
        let sides: Arc<dyn ConvexSet> =
            Arc::new(HalfspacePolytope::new(&rows, &[0.0, 0.0, 100.0]).unwrap());
        assert!(Image::rounder(&sides).unwrap().is_some());
    }
}
