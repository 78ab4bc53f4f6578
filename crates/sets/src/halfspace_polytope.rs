//! A polytope given by inequalities {⟨aⱼ, x⟩ ≤ bⱼ}, bounded and with an interior, in low dimension.
//!
//! The constructor finds the vertices (at most 200,000 subsets of d rows) and compares the facets
//! of their hull with the rows: if every facet is a row, the polytope is bounded and is the hull of
//! its vertices. It has all capabilities of a [`crate::VertexPolytope`].
//! **Barrier** −Σ ln(bⱼ − ⟨aⱼ, x⟩) over the rows as given (scaled to length 1), ν = number of rows.

use crate::enumerate::{SUBSET_CAP, corners, subsets};
use crate::hull::AffineHull;
use crate::log_barrier::LogBarrier;
use crate::{Barrier, Capability, ConvexSet, LocalOracle, SetError, Shape, VertexPolytope, vector};
use hushstream_account::ParameterError;

/// A polytope given by inequalities.
///
/// ```
/// use hushstream_sets::{ConvexSet, HalfspacePolytope, SetError};
///
/// // The triangle x ≥ 0, y ≥ 0, x + y ≤ 1.
/// let rows = [vec![-1.0, 0.0], vec![0.0, -1.0], vec![1.0, 1.0]];
/// let triangle = HalfspacePolytope::new(&rows, &[0.0, 0.0, 1.0])?;
/// assert_eq!(triangle.vertices()?.len(), 3);
/// assert!((triangle.diameter() - 2.0_f64.sqrt()).abs() < 1e-9);
/// # Ok::<(), SetError>(())
/// ```
#[derive(Debug, Clone)]
pub struct HalfspacePolytope {
    shape: Shape,
    rows: Vec<Vec<f64>>,
    offsets: Vec<f64>,
    hull: VertexPolytope,
}

impl HalfspacePolytope {
    /// The polytope of all points x with ⟨row, x⟩ ≤ offset for every row and its offset.
    ///
    /// # Errors
    /// Rows that do not fit, are zero or not finite; more than 200,000 subsets of d rows; a
    /// polytope that is empty, unbounded, or has no interior.
    pub fn new(rows: &[Vec<f64>], offsets: &[f64]) -> Result<Self, SetError> {
        let dimension = rows.first().map_or(0, Vec::len);
        vector::check_dimension(dimension, 1)?;
        vector::check("offsets", offsets, rows.len())?;
        let (mut rows, mut offsets) = (rows.to_vec(), offsets.to_vec());
        for (row, offset) in rows.iter_mut().zip(&mut offsets) {
            vector::check("row", row, dimension)?;
            let norm = vector::norm(row);
            vector::check_positive("norm of a row", norm)?;
            row.iter_mut().for_each(|value| *value /= norm);
            *offset /= norm;
        }
        let too_many = |count: usize, what| SetError::TooMany {
            what,
            count: subsets(count, dimension),
            cap: SUBSET_CAP,
        };
        let vertices = corners(&rows, &offsets)
            .ok_or_else(|| too_many(rows.len(), "subsets of rows to find the vertices"))?;
        let shape = "a bounded polytope with an interior";
        if vertices.len() <= dimension {
            return Err(ParameterError::new("number of vertices", vertices.len(), shape).into());
        }
        let hull = VertexPolytope::new(&vertices)?;
        let (facets, coordinates) = hull
            .facets()
            .ok_or_else(|| too_many(vertices.len(), "subsets of vertices to check the facets"))?;
        if coordinates.basis.len() < dimension {
            let given = coordinates.basis.len();
            return Err(ParameterError::new("dimension of the polytope", given, shape).into());
        }
        let size = hull.diameter();
        for (normal, offset) in facets.normals.iter().zip(&facets.offsets) {
            let normal = vector::difference(&coordinates.lift(normal), &coordinates.origin);
            let offset = offset + vector::dot(&normal, &coordinates.origin);
            let is_row = rows.iter().zip(&offsets).any(|(row, row_offset)| {
                vector::distance(row, &normal) < 1e-6 && (row_offset - offset).abs() < 1e-6 * size
            });
            if !is_row {
                let given = "a polytope that is not bounded";
                return Err(ParameterError::new("rows", given, shape).into());
            }
        }
        let name = "halfspace polytope";
        Ok(Self {
            shape: Shape {
                name,
                ..hull.shape().clone()
            },
            rows,
            offsets,
            hull,
        })
    }
}

impl ConvexSet for HalfspacePolytope {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn can(&self, _: Capability) -> bool {
        true
    }

    fn project(&self, point: &mut [f64]) -> Result<f64, SetError> {
        self.hull.project(point)
    }

    fn minimise(&self, direction: &[f64], out: &mut [f64]) -> Result<(), SetError> {
        self.hull.minimise(direction, out)
    }

    fn local_oracle(&self) -> Result<Box<dyn LocalOracle>, SetError> {
        self.hull.local_oracle()
    }

    fn barrier(&self) -> Result<Box<dyn Barrier>, SetError> {
        // The hull is the whole space. Its origin is the centre, where the barrier starts.
        let hull = AffineHull::whole_space(self.shape.centre.clone());
        Ok(LogBarrier::in_hull(
            self.name(),
            &self.rows,
            &self.offsets,
            hull,
        ))
    }

    fn vertices(&self) -> Result<Vec<Vec<f64>>, SetError> {
        self.hull.vertices()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_triangle() {
        let rows = [vec![-2.0, 0.0], vec![0.0, -1.0], vec![3.0, 4.0]];
        let set = HalfspacePolytope::new(&rows, &[0.0, 0.0, 12.0]).unwrap();
        assert_eq!(set.vertices().unwrap().len(), 3);
        assert!((set.diameter() - 5.0).abs() < 1e-12);
        // The mean of a triangle is a third of a height from each side.
        assert!((set.inner_radius() - 2.4 / 3.0).abs() < 1e-12);
        assert!(set.contains(&[1.0, 1.0], 0.0) || set.contains(&[1.0, 1.0], 1e-15));
        assert!(!set.contains(&[4.0, 3.0], 0.1));
    }

    #[test]
    fn unbounded_empty_and_flat_are_refused() {
        let wedge = [vec![-1.0, 0.0], vec![0.0, -1.0], vec![-1.0, -1.0]];
        assert!(HalfspacePolytope::new(&wedge, &[0.0, 0.0, -1.0]).is_err());
        let strip = [vec![-1.0, 0.0], vec![1.0, 0.0], vec![0.0, -1.0]];
        assert!(HalfspacePolytope::new(&strip, &[0.0, 1.0, 0.0]).is_err());
        let side = [vec![-1.0], vec![1.0]];
        assert!(HalfspacePolytope::new(&side, &[0.0, -1.0]).is_err());
        assert!(HalfspacePolytope::new(&side, &[0.0, 0.0]).is_err());
        assert!(HalfspacePolytope::new(&side, &[0.0]).is_err());
        // Unbounded with enough vertices: a prism that is open at the top.
        let prism: Vec<Vec<f64>> = [[-1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0], [0, 0, -1]]
            .iter()
            .map(|row| row.iter().map(|&value| f64::from(value)).collect())
            .collect();
        let error = HalfspacePolytope::new(&prism, &[1.0; 5]).unwrap_err();
        assert!(error.to_string().contains("bounded"), "{error}");
    }
}
