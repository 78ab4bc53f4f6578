//! The layout of a record (v, y) in the sums of [`crate::LeastSquares`] (card C7's joint sum).
//!
//! A record v ∈ ℝᵖ, y ∈ ℝ contributes, in this order, p(p+1)/2 + p numbers:
//!
//! 1. v_i² for i = 0..p,
//! 2. √2·v_i·v_j for i < j, row by row: (0,1), (0,2), …, (0,p−1), (1,2), …,
//! 3. κ·y·v_i for i = 0..p; for K classes there are K such blocks, and the block of the record's
//!    class is filled, with y = 1.
//!
//! **Why.** With √2 the first two blocks are an isometry of the symmetric matrix vvᵀ with the
//! Frobenius norm, so spherical noise on the numbers is symmetric noise on the matrix, and
//! ‖contribution‖² = ‖v‖⁴ + κ²y²‖v‖². For ‖v‖ ≤ R and |y| ≤ Y, κ = R/Y gives both parts the same
//! weight; a smaller one means less noise in the matrix and more in the target's part. Clip v and y
//! *before* forming the products: clipping the products' norm is not enough.

use crate::{LearnError, check};
use hushstream_account::ParameterError;

/// The place of each moment in a sum, and the conversion of sums to a matrix and a vector.
///
/// ```
/// use hushstream_learn::{LearnError, MomentsLayout};
///
/// let layout = MomentsLayout::new(2, 1.0, 1.0)?;
/// let mut record = vec![0.0; layout.len()];
/// layout.write(&[0.6, 0.8], 0.5, &mut record)?;
/// let (matrix, vector) = layout.read(&record)?;
/// assert!((matrix[1] - 0.48).abs() < 1e-12 && (matrix[1] - matrix[2]).abs() < 1e-12);
/// assert!((vector[0] - 0.3).abs() < 1e-12);
/// # Ok::<(), LearnError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MomentsLayout {
    dimension: usize,
    kappa: f64,
    targets: usize,
}

impl MomentsLayout {
    /// The layout for p = `dimension` features of norm at most R = `feature_bound`, and targets at
    /// most Y = `target_bound` in size.
    ///
    /// # Errors
    /// No features, or more than 65,536; bounds that are not positive and finite, or whose ratio is
    /// not.
    pub fn new(
        dimension: usize,
        feature_bound: f64,
        target_bound: f64,
    ) -> Result<Self, LearnError> {
        if !(1..=1 << 16).contains(&dimension) {
            return Err(ParameterError::new("dimension", dimension, "1 to 65536").into());
        }
        check::positive("feature bound R", feature_bound)?;
        check::positive("target bound Y", target_bound)?;
        let kappa = feature_bound / target_bound;
        check::positive("κ = R/Y", kappa)?;
        Ok(Self {
            dimension,
            kappa,
            targets: 1,
        })
    }

    /// The same layout with κ = `weight`·R/Y.
    ///
    /// # Errors
    /// A weight that is not positive and finite.
    pub fn weighted(self, weight: f64) -> Result<Self, LearnError> {
        check::positive("weight of the target", weight)?;
        let kappa = weight * self.kappa;
        check::positive("κ", kappa)?;
        Ok(Self { kappa, ..self })
    }

    /// The same layout with `targets` blocks of targets.
    ///
    /// # Errors
    /// No blocks, or more than 65,536.
    pub fn with_targets(self, targets: usize) -> Result<Self, LearnError> {
        if (1..=1 << 16).contains(&targets) {
            Ok(Self { targets, ..self })
        } else {
            Err(ParameterError::new("targets", targets, "1 to 65536").into())
        }
    }

    /// K, the number of blocks of targets.
    #[must_use]
    pub fn targets(self) -> usize {
        self.targets
    }

    /// The length of a sum, p(p+1)/2 + K·p.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    #[must_use]
    pub fn len(self) -> usize {
        self.targets_start() + self.targets * self.dimension
    }

    /// p, the number of features.
    #[must_use]
    pub fn dimension(self) -> usize {
        self.dimension
    }

    /// κ, which is R/Y unless weighted.
    #[must_use]
    pub fn kappa(self) -> f64 {
        self.kappa
    }

    /// The index of V_ij, in either order; off the diagonal the sum holds √2·V_ij.
    ///
    /// # Panics
    /// If i or j is not below p.
    #[must_use]
    pub fn matrix(self, i: usize, j: usize) -> usize {
        assert!(i.max(j) < self.dimension, "no such coordinate");
        let (row, column) = (i.min(j), i.max(j));
        if row == column {
            return row;
        }
        // Rows 0..row hold p−1, p−2, … entries.
        let before = row * (2 * self.dimension - row - 1) / 2;
        self.dimension + before + (column - row - 1)
    }

    /// The index of κ·y·v_i.
    ///
    /// # Panics
    /// If i is not below p.
    #[must_use]
    pub fn target(self, i: usize) -> usize {
        assert!(i < self.dimension, "no such coordinate");
        self.targets_start() + i
    }

    /// Writes the contribution of a record with a numeric target.
    ///
    /// # Errors
    /// Features or an output of the wrong length.
    pub fn write(self, features: &[f64], target: f64, out: &mut [f64]) -> Result<(), LearnError> {
        check::length("features", features, self.dimension)?;
        check::length("contribution", out, self.len())?;
        let (squares, rest) = out.split_at_mut(self.dimension);
        let (products, targets) = rest.split_at_mut(self.targets_start() - self.dimension);
        let mut products = products.iter_mut();
        for (i, &value) in features.iter().enumerate() {
            squares[i] = value * value;
            targets[i] = self.kappa * target * value;
            for (other, product) in features[i + 1..].iter().zip(products.by_ref()) {
                *product = std::f64::consts::SQRT_2 * value * other;
            }
        }
        Ok(())
    }

    /// The symmetric matrix V (row by row) and the vector u of a sum; K vectors u one after
    /// another.
    ///
    /// # Errors
    /// A sum of the wrong length.
    pub fn read(self, sum: &[f64]) -> Result<(Vec<f64>, Vec<f64>), LearnError> {
        check::length("sum of moments", sum, self.len())?;
        let p = self.dimension;
        let mut matrix = vec![0.0; p * p];
        for i in 0..p {
            matrix[i * p + i] = sum[i];
            for j in i + 1..p {
                let value = sum[self.matrix(i, j)] * std::f64::consts::FRAC_1_SQRT_2;
                matrix[i * p + j] = value;
                matrix[j * p + i] = value;
            }
        }
        let targets = &sum[self.targets_start()..];
        Ok((matrix, targets.iter().map(|u| u / self.kappa).collect()))
    }

    fn targets_start(self) -> usize {
        self.dimension * (self.dimension + 1) / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every index occurs once; writing is an isometry, and reading is its inverse.
    #[test]
    fn written_moments_read_back() {
        for p in 1..9 {
            let layout = MomentsLayout::new(p, 3.0, 2.0).unwrap();
            let mut seen = vec![false; layout.len()];
            for i in 0..p {
                seen[layout.target(i)] = true;
                for j in 0..p {
                    assert_eq!(layout.matrix(i, j), layout.matrix(j, i));
                    seen[layout.matrix(i, j)] = true;
                }
            }
            assert!(seen.iter().all(|&seen| seen));

            let v: Vec<f64> = (0..p).map(|i| (i as f64).sin() + 0.2).collect();
            let mut out = vec![0.0; layout.len()];
            layout.write(&v, -1.5, &mut out).unwrap();
            let (matrix, u) = layout.read(&out).unwrap();
            for i in 0..p {
                assert!((u[i] + 1.5 * v[i]).abs() < 1e-15);
                for j in 0..p {
                    assert!((matrix[i * p + j] - v[i] * v[j]).abs() < 1e-15);
                }
            }
            let size = check::dot(&v, &v);
            let expected = size * size + (1.5_f64 * 1.5).powi(2) * size;
            assert!((check::dot(&out, &out) / expected - 1.0).abs() < 1e-14);
        }
    }

    #[test]
    fn bad_parameters_are_named() {
        assert!(MomentsLayout::new(0, 1.0, 1.0).is_err());
        assert!(MomentsLayout::new(2, f64::NAN, 1.0).is_err());
        let message = MomentsLayout::new(2, 1.0, 0.0).unwrap_err().to_string();
        assert!(message.contains("target bound Y = 0"), "{message}");
        let layout = MomentsLayout::new(2, 1.0, 1.0).unwrap();
        assert!(layout.write(&[1.0], 0.0, &mut [0.0; 5]).is_err());
        assert!(layout.read(&[0.0; 4]).is_err());
    }
}
