//! The probability simplex {x ≥ 0, Σ xᵢ = 1}.
//!
//! **Projection** max(xᵢ − θ, 0) with the θ that makes the sum 1: sort, then the largest support on
//! which θ = (Σ x − 1)/size leaves all positive (Held, Wolfe and Crowder 1974). O(d log d).
//! Subtracting the largest coordinate first makes the error independent of the distance of the
//! point. **Minimiser** the first smallest coordinate.
//!
//! **Barrier** −Σ ln xᵢ with ν = d, in the free coordinates y = (x₁, …, x_{d−1}), the last being
//! 1 − Σ yᵢ: ∂ᵢ = −1/xᵢ + 1/x_d, ∂ᵢⱼ = [i = j]/xᵢ² + 1/x_d².
//!
//! **Local oracle** (WDP20 Algorithm 2, after Garber and Hazan 2016): the mass m = min(1, √d·r/2)
//! moves from the coordinates with the largest gradient to the one with the smallest. *Proof.* For
//! y within r of x, ‖x − y‖₁ ≤ √d·r, so y moves a mass of at most m, and no way of moving m lowers
//! ⟨·, g⟩ further. ‖x − p‖² ≤ m² + m², so **ρ = √(d/2)**; the literature's √d is a looser bound on
//! the same answer.

use crate::local::{DirectOracle, LocalRule};
use crate::{Barrier, Capability, ConvexSet, Flat, LocalOracle, SetError, Shape, barrier, vector};

/// The probability simplex; [`crate::Moved`] changes its sum.
///
/// ```
/// use hushstream_sets::{ConvexSet, SetError, Simplex};
///
/// let simplex = Simplex::new(3)?;
/// let mut point = [0.8, 0.6, -1.0];
/// simplex.project(&mut point)?;
/// assert!((point[0] - 0.6).abs() < 1e-12 && (point[1] - 0.4).abs() < 1e-12);
/// assert_eq!(point[2], 0.0);
/// # Ok::<(), SetError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Simplex {
    shape: Shape,
}

impl Simplex {
    /// Probabilities of `dimension` outcomes.
    ///
    /// # Errors
    /// Fewer than 2 outcomes.
    pub fn new(dimension: usize) -> Result<Self, SetError> {
        vector::check_dimension(dimension, 2)?;
        let share = 1.0 / dimension as f64;
        Ok(Self {
            shape: Shape {
                name: "simplex",
                centre: vec![share; dimension],
                diameter: std::f64::consts::SQRT_2,
                outer_radius: (1.0 - share).sqrt(),
                inner_radius: 0.0,
                largest_norm: 1.0,
            },
        })
    }

    /// All d coordinates, if they are positive.
    fn interior(&self, free: &[f64]) -> Result<Vec<f64>, SetError> {
        let point = self.lift(free)?;
        match point.iter().find(|&&value| value <= 0.0) {
            Some(value) => Err(barrier::outside(self.name(), -value)),
            None => Ok(point),
        }
    }
}

/// Projects finite numbers onto {x ≥ 0, Σ xᵢ = 1}.
pub(crate) fn project_to_simplex(point: &mut [f64]) {
    let largest = point.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    point.iter_mut().for_each(|value| *value -= largest);
    let mut sorted = point.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let mut sum = 0.0;
    let mut threshold = -1.0;
    for (index, value) in sorted.iter().enumerate() {
        sum += value;
        let candidate = (sum - 1.0) / (index + 1) as f64;
        if *value <= candidate {
            break;
        }
        threshold = candidate;
    }
    for value in point {
        *value = (*value - threshold).max(0.0);
    }
}

impl ConvexSet for Simplex {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn can(&self, _: Capability) -> bool {
        true
    }

    /// Direction k is (1, …, 1, −k, 0, …, 0)/√(k(k+1)), with k ones: all have sum 0, length 1, and
    /// scalar products Σ of k equal terms minus k times one of them, 0. The nearest face's centre
    /// is (1, …, 1, 0)/(d−1), at distance 1/√(d(d−1)).
    fn flat(&self) -> Option<Flat> {
        let d = self.dimension();
        let direction = |k: usize| {
            let scale = 1.0 / ((k * (k + 1)) as f64).sqrt();
            let value = |i: usize| match i {
                i if i < k => scale,
                i if i == k => -(k as f64) * scale,
                _ => 0.0,
            };
            (0..d).map(value).collect()
        };
        Some(Flat {
            basis: (1..d).map(direction).collect(),
            inner_radius: 1.0 / ((d * (d - 1)) as f64).sqrt(),
        })
    }

    fn project(&self, point: &mut [f64]) -> Result<f64, SetError> {
        vector::check("point", point, self.dimension())?;
        project_to_simplex(point);
        Ok(vector::rounding(self.dimension(), 1.0))
    }

    /// Subtracting the largest coordinate errs by ε·reach; the rest uses numbers up to 1, or
    /// numbers that become 0.
    fn projection_error(&self, reach: f64) -> Option<f64> {
        Some(vector::rounding(self.dimension(), 1.0 + reach))
    }

    fn minimise(&self, direction: &[f64], out: &mut [f64]) -> Result<(), SetError> {
        vector::check_minimise(direction, out, self.dimension())?;
        out.fill(0.0);
        out[vector::first_smallest(direction)] = 1.0;
        Ok(())
    }

    fn local_oracle(&self) -> Result<Box<dyn LocalOracle>, SetError> {
        Ok(Box::new(DirectOracle::new(self.clone())))
    }

    fn barrier(&self) -> Result<Box<dyn Barrier>, SetError> {
        Ok(Box::new(self.clone()))
    }

    fn vertices(&self) -> Result<Vec<Vec<f64>>, SetError> {
        crate::set::check_vertex_count(self.dimension() as f64)?;
        let unit = |index| vector::along(self.dimension(), index, 1.0);
        Ok((0..self.dimension()).map(unit).collect())
    }
}

impl LocalRule for Simplex {
    fn local_rho(&self) -> f64 {
        (self.dimension() as f64 / 2.0).sqrt()
    }

    fn move_within(&self, point: &[f64], radius: f64, gradient: &[f64], answer: &mut [f64]) {
        let mass = ((self.dimension() as f64).sqrt() * radius / 2.0).min(1.0);
        let mut order: Vec<usize> = (0..self.dimension()).collect();
        order.sort_by(|&a, &b| gradient[b].total_cmp(&gradient[a]));
        let mut left = mass;
        for index in order {
            let moved = left.min(point[index]).max(0.0);
            answer[index] -= moved;
            left -= moved;
        }
        answer[vector::first_smallest(gradient)] += mass - left;
    }
}

impl Barrier for Simplex {
    fn free_dimension(&self) -> usize {
        self.dimension() - 1
    }

    fn point_dimension(&self) -> usize {
        self.dimension()
    }

    fn parameter(&self) -> f64 {
        self.dimension() as f64
    }

    fn value(&self, free: &[f64]) -> f64 {
        self.interior(free).map_or(f64::INFINITY, |point| {
            -point.iter().map(|value| value.ln()).sum::<f64>()
        })
    }

    fn gradient(&self, free: &[f64]) -> Result<Vec<f64>, SetError> {
        let point = self.interior(free)?;
        let last = 1.0 / point[free.len()];
        Ok(point[..free.len()]
            .iter()
            .map(|value| last - 1.0 / value)
            .collect())
    }

    fn hessian(&self, free: &[f64]) -> Result<Vec<f64>, SetError> {
        let (size, point) = (free.len(), self.interior(free)?);
        let mut hessian = vec![point[size].powi(-2); size * size];
        for index in 0..size {
            hessian[index * (size + 1)] += point[index].powi(-2);
        }
        Ok(hessian)
    }

    fn start(&self) -> Vec<f64> {
        self.shape.centre[1..].to_vec()
    }

    fn lift(&self, free: &[f64]) -> Result<Vec<f64>, SetError> {
        vector::check("free coordinates", free, self.dimension() - 1)?;
        let mut point = free.to_vec();
        point.push(1.0 - free.iter().sum::<f64>());
        Ok(point)
    }

    fn pull_back(&self, gradient: &[f64]) -> Result<Vec<f64>, SetError> {
        vector::check("gradient", gradient, self.dimension())?;
        let (last, free) = gradient.split_last().unwrap_or((&0.0, &[]));
        Ok(free.iter().map(|value| value - last).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_points_project_as_well_as_near_ones() {
        let simplex = Simplex::new(4).unwrap();
        let mut point = [1e9 + 0.25, 1e9, 1e9 - 0.25, -1e300];
        simplex.project(&mut point).unwrap();
        let exact = [7.0 / 12.0, 4.0 / 12.0, 1.0 / 12.0, 0.0];
        assert!(vector::distance(&point, &exact) < 1e-15, "{point:?}");
        // A difference that overflows.
        let mut point = [f64::MAX, f64::MIN, 0.0, 0.0];
        simplex.project(&mut point).unwrap();
        assert!(vector::distance(&point, &[1.0, 0.0, 0.0, 0.0]) == 0.0);
    }

    #[test]
    fn one_outcome_is_refused() {
        let message = Simplex::new(1).unwrap_err().to_string();
        assert!(message.contains("2 or more"), "{message}");
    }

    /// Orthonormal directions of sum 0, and a ball that touches every face and leaves none.
    #[test]
    fn the_hull_has_a_basis_and_a_ball() {
        for d in 2..7 {
            let simplex = Simplex::new(d).unwrap();
            let flat = simplex.flat().unwrap();
            assert_eq!(flat.basis.len(), d - 1);
            for (i, a) in flat.basis.iter().enumerate() {
                assert!(a.iter().sum::<f64>().abs() < 1e-12);
                for (j, b) in flat.basis.iter().enumerate() {
                    let product: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
                    assert!((product - f64::from(u8::from(i == j))).abs() < 1e-12);
                }
            }
            let centre = 1.0 / d as f64;
            // Towards the centre of a face, which is r away, and no further.
            for face in 0..d {
                let towards = |i: usize| {
                    if i == face {
                        -1.0
                    } else {
                        1.0 / (d - 1) as f64
                    }
                };
                let length = (0..d).map(|i| towards(i).powi(2)).sum::<f64>().sqrt();
                let reach = |r: f64| (0..d).map(|i| centre + r * towards(i) / length).collect();
                let at: Vec<f64> = reach(flat.inner_radius);
                assert!(simplex.contains(&at, 1e-12) && at[face].abs() < 1e-12);
                assert!(!simplex.contains(&reach(1.01 * flat.inner_radius), 1e-12));
            }
        }
    }
}
