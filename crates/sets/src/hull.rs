//! The affine hull of a set, in orthonormal coordinates.
//!
//! **Method.** For every coordinate direction take the part c that is orthogonal to the directions
//! found so far. If ⟨c, ·⟩ is not constant on the set, the difference of a maximiser and a
//! minimiser is a new direction; then look again. If it is constant, c is orthogonal to the hull.
//! In the end every coordinate direction is a sum of both kinds. **Cost** at most 4d linear
//! minimisations.

use crate::{ConvexSet, SetError, vector};

#[derive(Debug, Clone)]
pub(crate) struct AffineHull {
    /// A point of the hull: the set's centre.
    pub(crate) origin: Vec<f64>,
    /// Orthonormal directions that span the hull.
    pub(crate) basis: Vec<Vec<f64>>,
}

/// Extents below this, relative to the diameter, count as zero.
const FLAT: f64 = 1e-9;

impl AffineHull {
    /// All of ℝᵈ, with the unit vectors around a point.
    pub(crate) fn whole_space(origin: Vec<f64>) -> Self {
        let unit = |index| vector::along(origin.len(), index, 1.0);
        Self {
            basis: (0..origin.len()).map(unit).collect(),
            origin,
        }
    }

    pub(crate) fn of<S: ConvexSet + ?Sized>(set: &S) -> Result<Self, SetError> {
        let dimension = set.dimension();
        let mut origin = vec![0.0; dimension];
        set.centre(&mut origin)?;
        let mut basis: Vec<Vec<f64>> = Vec::new();
        let (mut low, mut high) = (vec![0.0; dimension], vec![0.0; dimension]);
        for coordinate in 0..dimension {
            loop {
                let mut direction = vector::along(dimension, coordinate, 1.0);
                vector::orthogonalise(&mut direction, &basis);
                let length = vector::norm(&direction);
                if length < 1e-7 {
                    break;
                }
                set.minimise(&direction, &mut low)?;
                direction.iter_mut().for_each(|value| *value = -*value);
                set.minimise(&direction, &mut high)?;
                let mut across = vector::difference(&low, &high);
                let extent = vector::dot(&direction, &across) / length;
                if extent <= FLAT * set.diameter() {
                    break;
                }
                vector::orthogonalise(&mut across, &basis);
                let length = vector::norm(&across);
                across.iter_mut().for_each(|value| *value /= length);
                basis.push(across);
            }
        }
        Ok(Self { origin, basis })
    }

    /// The hull of finitely many points, around their mean: the longest remaining difference first,
    /// for accuracy.
    pub(crate) fn of_points(points: &[Vec<f64>], origin: Vec<f64>) -> Self {
        let mut rests: Vec<Vec<f64>> = points
            .iter()
            .map(|point| vector::difference(point, &origin))
            .collect();
        let largest = vector::largest_norm(&rests);
        let mut basis: Vec<Vec<f64>> = Vec::new();
        while basis.len() < origin.len() {
            let lengths: Vec<f64> = rests.iter().map(|rest| -vector::norm(rest)).collect();
            let longest = vector::first_smallest(&lengths);
            if lengths.is_empty() || -lengths[longest] <= FLAT * largest {
                break;
            }
            let mut direction = rests[longest].clone();
            vector::orthogonalise(&mut direction, &basis);
            let length = vector::norm(&direction);
            direction.iter_mut().for_each(|value| *value /= length);
            for rest in &mut rests {
                vector::orthogonalise(rest, std::slice::from_ref(&direction));
            }
            basis.push(direction);
        }
        Self { origin, basis }
    }

    pub(crate) fn lift(&self, free: &[f64]) -> Vec<f64> {
        let mut point = self.origin.clone();
        for (direction, &value) in self.basis.iter().zip(free) {
            vector::add(&mut point, value, direction);
        }
        point
    }

    pub(crate) fn lower(&self, point: &[f64]) -> Vec<f64> {
        self.pull_back(&vector::difference(point, &self.origin))
    }

    pub(crate) fn pull_back(&self, gradient: &[f64]) -> Vec<f64> {
        self.basis
            .iter()
            .map(|direction| vector::dot(direction, gradient))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ball, GraphicMatroid, Simplex, Spectrahedron, UniformMatroid};

    #[test]
    fn dimensions_are_right() {
        let cycle = [(0, 1), (1, 2), (2, 0), (2, 3)];
        let cases: [(&dyn ConvexSet, usize); 5] = [
            (&Ball::new(3, 1.0).unwrap(), 3),
            (&Simplex::new(6).unwrap(), 5),
            (&UniformMatroid::new(6, 3).unwrap(), 5),
            // A triangle with a bridge: only the triangle has two dimensions.
            (&GraphicMatroid::new(4, &cycle).unwrap(), 2),
            (&Spectrahedron::new(3).unwrap(), 5),
        ];
        for (set, expected) in cases {
            let hull = AffineHull::of(set).unwrap();
            assert_eq!(hull.basis.len(), expected, "{}", set.name());
            for (i, a) in hull.basis.iter().enumerate() {
                for (j, b) in hull.basis.iter().enumerate() {
                    let expected = f64::from(u8::from(i == j));
                    assert!((vector::dot(a, b) - expected).abs() < 1e-12);
                }
            }
        }
    }
}
