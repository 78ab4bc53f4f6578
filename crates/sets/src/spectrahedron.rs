//! The spectrahedron {X symmetric n×n, positive semidefinite, trace 1} (density matrices).
//!
//! **Coordinates.** A symmetric matrix is stored as its upper triangle, row by row, with the
//! entries off the diagonal multiplied by √2: d = n(n + 1)/2. Then the inner product of two vectors
//! is tr(XY) and lengths are Frobenius norms. [`Spectrahedron::to_vector`] and
//! [`Spectrahedron::to_matrix`] convert.
//!
//! **Projection** X = V·diag(λ)·Vᵀ ↦ V·diag(Π(λ))·Vᵀ, Π the projection onto the simplex: the
//! distance depends on V only through λ (von Neumann's trace inequality). **Minimiser** e·eᵀ for a
//! unit eigenvector e of the smallest eigenvalue of the direction. Both O(n³), by nalgebra's
//! symmetric QR.
//!
//! **Error bound.** With Δ = ‖VᵀV − I‖ and the residual R = ‖X − V·diag(λ)·Vᵀ‖, both computed: V is
//! within Δ of an orthogonal matrix, with which both products change by at most 3Δ times their
//! norm, and projection does not expand: R + 3Δ(‖λ‖ + 1), and rounding.
//!
//! There is no local oracle: the set is not a polytope, and the constants of polytopes do not carry
//! over. There is no barrier.

use hushstream_account::ParameterError;
use nalgebra::{DMatrix, SymmetricEigen};

use crate::simplex::project_to_simplex;
use crate::{Capability, ConvexSet, SetError, Shape, vector};

/// Density matrices of a given size.
///
/// ```
/// use hushstream_sets::{ConvexSet, SetError, Spectrahedron};
///
/// let set = Spectrahedron::new(2)?;
/// let mut point = set.to_vector(&[2.0, 0.0, 0.0, -1.0])?;
/// set.project(&mut point)?;
/// let nearest = set.to_matrix(&point)?;
/// assert!((nearest[0] - 1.0).abs() < 1e-12 && nearest[3].abs() < 1e-12);
/// # Ok::<(), SetError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Spectrahedron {
    size: usize,
    shape: Shape,
}

/// The eigen decomposition of a matrix divided by its largest coordinate, so that it neither
/// overflows nor vanishes.
struct Decomposed {
    eigen: SymmetricEigen<f64, nalgebra::Dyn>,
    matrix: DMatrix<f64>,
    scale: f64,
}

impl Spectrahedron {
    /// Matrices of `size` rows and columns.
    ///
    /// # Errors
    /// A size outside 2 to 1024.
    pub fn new(size: usize) -> Result<Self, SetError> {
        if !(2..=1024).contains(&size) {
            return Err(ParameterError::new("matrix size", size, "2 to 1024").into());
        }
        let share = 1.0 / size as f64;
        let mut set = Self {
            size,
            shape: Shape {
                name: "spectrahedron",
                centre: Vec::new(),
                diameter: std::f64::consts::SQRT_2,
                outer_radius: (1.0 - share).sqrt(),
                // The trace is fixed.
                inner_radius: 0.0,
                largest_norm: 1.0,
            },
        };
        set.shape.centre = set.pack(|row, column| if row == column { share } else { 0.0 });
        Ok(set)
    }

    /// The coordinates of the symmetric part of a matrix that is given row by row.
    ///
    /// # Errors
    /// A slice that does not have n² finite entries.
    pub fn to_vector(&self, matrix: &[f64]) -> Result<Vec<f64>, SetError> {
        vector::check("matrix", matrix, self.size * self.size)?;
        Ok(self.pack(|row, column| {
            matrix[row * self.size + column] / 2.0 + matrix[column * self.size + row] / 2.0
        }))
    }

    /// The matrix with these coordinates, row by row.
    ///
    /// # Errors
    /// A slice that does not have n(n + 1)/2 finite coordinates.
    pub fn to_matrix(&self, point: &[f64]) -> Result<Vec<f64>, SetError> {
        vector::check("point", point, self.dimension())?;
        // The matrix is symmetric, so its columns are its rows.
        Ok(self.unpack(point).as_slice().to_vec())
    }

    fn pack(&self, entry: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let mut point = Vec::with_capacity(self.size * (self.size + 1) / 2);
        for row in 0..self.size {
            point.push(entry(row, row));
            for column in row + 1..self.size {
                point.push(entry(row, column) * std::f64::consts::SQRT_2);
            }
        }
        point
    }

    fn unpack(&self, point: &[f64]) -> DMatrix<f64> {
        let mut matrix = DMatrix::zeros(self.size, self.size);
        let mut next = point.iter();
        for row in 0..self.size {
            for column in row..self.size {
                let stored = next.next().copied().unwrap_or(0.0);
                let value = if row == column {
                    stored
                } else {
                    stored * std::f64::consts::FRAC_1_SQRT_2
                };
                matrix[(row, column)] = value;
                matrix[(column, row)] = value;
            }
        }
        matrix
    }

    fn eigen(&self, point: &[f64]) -> Result<Decomposed, SetError> {
        let scale = point
            .iter()
            .fold(0.0_f64, |largest, value| largest.max(value.abs()))
            .max(f64::MIN_POSITIVE);
        let scaled: Vec<f64> = point.iter().map(|value| value / scale).collect();
        let matrix = self.unpack(&scaled);
        let rounds = 100 * self.size;
        let eigen = SymmetricEigen::try_new(matrix.clone(), f64::EPSILON, rounds).ok_or(
            SetError::NotConverged {
                method: "the eigen decomposition",
                gap: f64::INFINITY,
                allowed: f64::EPSILON,
            },
        )?;
        Ok(Decomposed {
            eigen,
            matrix,
            scale,
        })
    }
}

impl ConvexSet for Spectrahedron {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn can(&self, capability: Capability) -> bool {
        matches!(
            capability,
            Capability::Project | Capability::Minimise | Capability::Net
        )
    }

    fn project(&self, point: &mut [f64]) -> Result<f64, SetError> {
        vector::check("point", point, self.dimension())?;
        let Decomposed {
            eigen,
            matrix,
            scale,
        } = self.eigen(point)?;
        let vectors = &eigen.eigenvectors;
        let rebuilt = vectors * DMatrix::from_diagonal(&eigen.eigenvalues) * vectors.transpose();
        let residual = (rebuilt - matrix).norm() * scale;
        let identity = DMatrix::identity(self.size, self.size);
        let defect = (vectors.transpose() * vectors - identity).norm();
        let mut values = eigen.eigenvalues.clone() * scale;
        let reach = values.norm();
        project_to_simplex(values.as_mut_slice());
        let nearest = vectors * DMatrix::from_diagonal(&values) * vectors.transpose();
        point.copy_from_slice(&self.pack(|row, column| nearest[(row, column)]));
        let rounding = vector::rounding(self.dimension(), 1.0) + f64::EPSILON * reach;
        Ok(residual + 3.0 * defect * (reach + 1.0) + rounding)
    }

    fn minimise(&self, direction: &[f64], out: &mut [f64]) -> Result<(), SetError> {
        vector::check_minimise(direction, out, self.dimension())?;
        let eigen = self.eigen(direction)?.eigen;
        let lowest = vector::first_smallest(eigen.eigenvalues.as_slice());
        let vector = eigen.eigenvectors.column(lowest).normalize();
        out.copy_from_slice(&self.pack(|row, column| vector[row] * vector[column]));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Draws;

    #[test]
    fn coordinates_are_an_isometry() {
        let set = Spectrahedron::new(3).unwrap();
        let a = [1.0, 2.0, 3.0, 2.0, 5.0, -1.0, 3.0, -1.0, 0.5];
        let b = [0.0, 1.0, -2.0, 1.0, 2.0, 4.0, -2.0, 4.0, 3.0];
        let direct = vector::dot(&a, &b);
        let (packed_a, packed_b) = (set.to_vector(&a).unwrap(), set.to_vector(&b).unwrap());
        assert!((direct - vector::dot(&packed_a, &packed_b)).abs() < 1e-12);
        let back = set.to_matrix(&packed_a).unwrap();
        assert!(vector::distance(&a, &back) < 1e-14);
    }

    /// ⟨y − p, x − p⟩ ≤ 0 for the extreme y, also for the worst one, which the minimiser finds; on
    /// diagonal matrices it is the simplex.
    #[test]
    fn projections_satisfy_the_variational_inequality() {
        let mut draws = Draws::new(4);
        for size in [2, 3, 6, 12] {
            let set = Spectrahedron::new(size).unwrap();
            for scale in [0.1, 1.0, 50.0] {
                let x: Vec<f64> = draws
                    .normals(set.dimension())
                    .iter()
                    .map(|value| value * scale)
                    .collect();
                let mut p = x.clone();
                let error = set.project(&mut p).unwrap();
                assert!(error < 1e-12 * (1.0 + scale) * size as f64, "{error}");
                let away = vector::difference(&p, &x);
                let mut y = x.clone();
                set.minimise(&away, &mut y).unwrap();
                let gap = vector::dot(&away, &vector::difference(&p, &y));
                assert!(gap < 1e-12 * (1.0 + scale) * scale * size as f64, "{gap}");
                let trace = set.to_matrix(&p).unwrap();
                let trace: f64 = (0..size).map(|i| trace[i * (size + 1)]).sum();
                assert!((trace - 1.0).abs() < 1e-12);
            }
        }
        let set = Spectrahedron::new(2).unwrap();
        let mut diagonal = [2.0, 0.0, 1.5];
        set.project(&mut diagonal).unwrap();
        assert!(vector::distance(&diagonal, &[0.75, 0.0, 0.25]) < 1e-14);
    }

    #[test]
    fn the_minimum_is_the_smallest_eigenvalue() {
        let set = Spectrahedron::new(2).unwrap();
        // Eigenvalues −1 and 3.
        let direction = set.to_vector(&[1.0, 2.0, 2.0, 1.0]).unwrap();
        let mut y = vec![0.0; 3];
        set.minimise(&direction, &mut y).unwrap();
        assert!((vector::dot(&direction, &y) + 1.0).abs() < 1e-12);
        assert!((vector::norm(&y) - 1.0).abs() < 1e-12);
        let error = set.local_oracle().unwrap_err().to_string();
        assert!(error.contains("recipes it serves: pftal"), "{error}");
        assert!(Spectrahedron::new(1).is_err());
    }
}
