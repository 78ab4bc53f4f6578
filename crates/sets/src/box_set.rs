//! The box {lower ≤ x ≤ upper}, coordinate by coordinate.
//!
//! **Projection** clamps, exactly. **Minimiser** a corner: lower where g ≥ 0, upper elsewhere.
//! **Barrier** −Σ ln(xᵢ − lᵢ) − Σ ln(uᵢ − xᵢ), ν = 2d, as that of 2d halfspaces.
//!
//! **Local oracle**, ρ = √d: every coordinate moves by r against its gradient and stays in the box.
//! This minimises ⟨·, g⟩ on the box intersected with the cube of half-side r around x, which holds
//! the ball of radius r and lies in the ball of radius √d·r. A vertex decomposition is not
//! needed, and would have ρ = d on a cube.

use crate::hull::AffineHull;
use crate::local::{DirectOracle, LocalRule};
use crate::log_barrier::LogBarrier;
use crate::set::check_vertex_count;
use crate::{Barrier, Capability, ConvexSet, LocalOracle, SetError, Shape, vector};
use hushstream_account::ParameterError;

/// A box with sides parallel to the axes.
///
/// ```
/// use hushstream_sets::{BoxSet, ConvexSet, SetError};
///
/// let set = BoxSet::new(&[0.0, -1.0], &[1.0, 1.0])?;
/// let mut point = [2.0, 0.5];
/// set.project(&mut point)?;
/// assert_eq!(point, [1.0, 0.5]);
/// assert_eq!(set.vertices()?.len(), 4);
/// # Ok::<(), SetError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct BoxSet {
    shape: Shape,
    lower: Vec<f64>,
    upper: Vec<f64>,
}

impl BoxSet {
    /// The box between two corners.
    ///
    /// # Errors
    /// Corners of different length or none, bounds that are not finite, or a lower bound that is
    /// not below the upper.
    pub fn new(lower: &[f64], upper: &[f64]) -> Result<Self, SetError> {
        vector::check_dimension(lower.len(), 1)?;
        vector::check("lower", lower, lower.len())?;
        vector::check("upper", upper, lower.len())?;
        for (&low, &high) in lower.iter().zip(upper) {
            if low >= high || !(high - low).is_finite() {
                return Err(ParameterError::new(
                    "box side",
                    format!("{low} to {high}"),
                    "lower below upper",
                )
                .into());
            }
        }
        let sides = vector::difference(upper, lower);
        let bounds = || lower.iter().zip(upper);
        let farthest: Vec<f64> = bounds()
            .map(|(low, high)| low.abs().max(high.abs()))
            .collect();
        let diameter = vector::norm(&sides);
        Ok(Self {
            shape: Shape {
                name: "box",
                centre: bounds()
                    .map(|(low, high)| low + (high - low) / 2.0)
                    .collect(),
                diameter,
                outer_radius: diameter / 2.0,
                inner_radius: sides.iter().copied().fold(f64::INFINITY, f64::min) / 2.0,
                largest_norm: vector::norm(&farthest),
            },
            lower: lower.to_vec(),
            upper: upper.to_vec(),
        })
    }

    /// The cube [−half_side, half_side]ᵈ.
    ///
    /// # Errors
    /// No dimension, or a half side that is not positive and finite.
    pub fn cube(dimension: usize, half_side: f64) -> Result<Self, SetError> {
        vector::check_positive("half side", half_side)?;
        Self::new(&vec![-half_side; dimension], &vec![half_side; dimension])
    }
}

impl ConvexSet for BoxSet {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn can(&self, _: Capability) -> bool {
        true
    }

    fn project(&self, point: &mut [f64]) -> Result<f64, SetError> {
        vector::check("point", point, self.lower.len())?;
        for ((value, low), high) in point.iter_mut().zip(&self.lower).zip(&self.upper) {
            *value = value.clamp(*low, *high);
        }
        Ok(0.0)
    }

    /// Clamping is exact.
    fn projection_error(&self, _reach: f64) -> Option<f64> {
        Some(0.0)
    }

    fn minimise(&self, direction: &[f64], out: &mut [f64]) -> Result<(), SetError> {
        vector::check_minimise(direction, out, self.lower.len())?;
        for (index, (out, slope)) in out.iter_mut().zip(direction).enumerate() {
            *out = if *slope >= 0.0 {
                self.lower[index]
            } else {
                self.upper[index]
            };
        }
        Ok(())
    }

    fn local_oracle(&self) -> Result<Box<dyn LocalOracle>, SetError> {
        Ok(Box::new(DirectOracle::new(self.clone())))
    }

    fn barrier(&self) -> Result<Box<dyn Barrier>, SetError> {
        let dimension = self.dimension();
        let row = |sign: f64| move |index| vector::along(dimension, index, sign);
        let indices = || 0..dimension;
        let rows: Vec<Vec<f64>> = indices()
            .map(row(-1.0))
            .chain(indices().map(row(1.0)))
            .collect();
        let lower = self.lower.iter().map(|bound| -bound);
        let offsets: Vec<f64> = lower.chain(self.upper.iter().copied()).collect();
        let hull = AffineHull::whole_space(self.shape.centre.clone());
        Ok(LogBarrier::in_hull(self.name(), &rows, &offsets, hull))
    }

    fn vertices(&self) -> Result<Vec<Vec<f64>>, SetError> {
        let dimension = self.lower.len();
        check_vertex_count((dimension as f64).exp2())?;
        let corner = |bits: usize| {
            (0..dimension)
                .map(|index| match bits >> index & 1 {
                    0 => self.lower[index],
                    _ => self.upper[index],
                })
                .collect()
        };
        Ok((0..1_usize << dimension).map(corner).collect())
    }
}

impl LocalRule for BoxSet {
    fn local_rho(&self) -> f64 {
        (self.lower.len() as f64).sqrt()
    }

    fn move_within(&self, point: &[f64], radius: f64, gradient: &[f64], answer: &mut [f64]) {
        for (index, (answer, slope)) in answer.iter_mut().zip(gradient).enumerate() {
            if *slope != 0.0 {
                let moved = point[index] - radius * slope.signum();
                *answer = moved.clamp(self.lower[index], self.upper[index]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_refusals() {
        let set = BoxSet::new(&[-1.0, 0.0], &[2.0, 4.0]).unwrap();
        assert!((set.diameter() - 5.0).abs() < 1e-15);
        assert!((set.inner_radius() - 1.5).abs() < 1e-15);
        assert!((set.largest_norm() - 20.0_f64.sqrt()).abs() < 1e-15);
        assert_eq!(set.vertices().unwrap().len(), 4);
        assert!(BoxSet::new(&[0.0], &[0.0]).is_err());
        assert!(BoxSet::new(&[], &[]).is_err());
        assert!(BoxSet::cube(3, f64::INFINITY).is_err());
        let error = BoxSet::cube(40, 1.0).unwrap().vertices().unwrap_err();
        assert!(matches!(error, SetError::TooMany { .. }), "{error}");
    }
}
