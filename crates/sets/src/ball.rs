//! The Euclidean ball {‖x‖ ≤ R}, centred at 0.
//!
//! **Projection** x·min(1, R/‖x‖). **Minimiser** −R·g/‖g‖ (for g = 0: −R·e₁). **Barrier**
//! −ln(R² − ‖x‖²), ν = 1; ∇ = 2x/s, ∇² = 2I/s + 4xxᵀ/s² with s = R² − ‖x‖². All O(d), the Hessian
//! O(d²).
//!
//! **Local oracle**, ρ = 1: the exact minimiser of ⟨·, g⟩ on the intersection with the ball of
//! radius r around x. It is −Rg/‖g‖ or x − rg/‖g‖ if one of them lies in the other ball; otherwise
//! both spheres bind, which puts p on the plane ⟨p, x⟩ = (R² + ‖x‖² − r²)/2 and, within it, on the
//! circle's lowest point along the part of g orthogonal to x.

use crate::local::{DirectOracle, LocalRule};
use crate::{Barrier, Capability, ConvexSet, LocalOracle, SetError, Shape, barrier, vector};

/// A factor below this may have lost digits to underflow.
const SMALL_FACTOR: f64 = 1e-290;

/// A ball around the origin.
///
/// ```
/// use hushstream_sets::{Ball, ConvexSet, SetError};
///
/// let ball = Ball::new(2, 1.0)?;
/// let mut point = [3.0, 4.0];
/// let error = ball.project(&mut point)?;
/// assert!((point[0] - 0.6).abs() <= error && (point[1] - 0.8).abs() <= error);
/// # Ok::<(), SetError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Ball {
    shape: Shape,
    radius: f64,
}

impl Ball {
    /// The ball of this radius around 0; [`crate::Moved`] moves it.
    ///
    /// # Errors
    /// No dimension, or a radius that is not positive and finite.
    pub fn new(dimension: usize, radius: f64) -> Result<Self, SetError> {
        vector::check_dimension(dimension, 1)?;
        vector::check_positive("radius", radius)?;
        Ok(Self {
            shape: Shape {
                name: "ball",
                centre: vec![0.0; dimension],
                diameter: 2.0 * radius,
                outer_radius: radius,
                inner_radius: radius,
                largest_norm: radius,
            },
            radius,
        })
    }

    fn shrink(&self, point: &mut [f64], norm: f64) -> f64 {
        if norm <= self.radius {
            return 0.0;
        }
        let factor = self.radius / norm;
        if factor >= SMALL_FACTOR {
            point.iter_mut().for_each(|value| *value *= factor);
        } else {
            // Dividing first keeps the direction of huge points.
            for value in point {
                *value = *value / norm * self.radius;
            }
        }
        vector::rounding(self.dimension(), self.radius)
    }

    fn slack(&self, free: &[f64]) -> Result<f64, SetError> {
        vector::check("free coordinates", free, self.dimension())?;
        let norm = vector::norm(free);
        let slack = (self.radius - norm) * (self.radius + norm);
        if slack > 0.0 {
            Ok(slack)
        } else {
            Err(barrier::outside(self.name(), norm - self.radius))
        }
    }
}

impl ConvexSet for Ball {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn can(&self, capability: Capability) -> bool {
        capability != Capability::Vertices
    }

    fn project(&self, point: &mut [f64]) -> Result<f64, SetError> {
        vector::check_length("point", point, self.dimension())?;
        // If the sum of squares is finite, so are all coordinates; otherwise check each one.
        let square = vector::dot(point, point);
        if !square.is_finite() {
            vector::check("point", point, self.dimension())?;
        }
        let norm = vector::norm_from(square, point);
        Ok(self.shrink(point, norm))
    }

    /// The computed norm errs by less than (d/2 + 2)·2⁻⁵³ of itself; a point that far outside may
    /// pass as inside. Scaling adds two more roundings.
    fn projection_error(&self, _reach: f64) -> Option<f64> {
        Some((self.dimension() as f64 + 8.0) * 0.5 * f64::EPSILON * self.radius)
    }

    fn minimise(&self, direction: &[f64], out: &mut [f64]) -> Result<(), SetError> {
        vector::check_minimise(direction, out, self.dimension())?;
        let norm = vector::norm(direction);
        if norm > 0.0 {
            for (out, value) in out.iter_mut().zip(direction) {
                *out = -value / norm * self.radius;
            }
        } else {
            out.fill(0.0);
            out[0] = -self.radius;
        }
        Ok(())
    }

    fn local_oracle(&self) -> Result<Box<dyn LocalOracle>, SetError> {
        Ok(Box::new(DirectOracle::new(self.clone())))
    }

    fn barrier(&self) -> Result<Box<dyn Barrier>, SetError> {
        Ok(Box::new(self.clone()))
    }
}

impl LocalRule for Ball {
    fn local_rho(&self) -> f64 {
        1.0
    }

    fn move_within(&self, point: &[f64], radius: f64, gradient: &[f64], answer: &mut [f64]) {
        let slope = vector::norm(gradient);
        if slope == 0.0 {
            return;
        }
        let down: Vec<f64> = gradient.iter().map(|value| -value / slope).collect();
        vector::add(answer, radius, &down);
        let free = vector::norm(answer);
        if free <= self.radius {
            return;
        }
        let lowest: Vec<f64> = down.iter().map(|value| value * self.radius).collect();
        if vector::distance(&lowest, point) <= radius {
            answer.copy_from_slice(&lowest);
            return;
        }
        let norm = vector::norm(point);
        let unit: Vec<f64> = point.iter().map(|value| value / norm).collect();
        let mut across = down;
        let along = vector::dot(&across, &unit);
        vector::add(&mut across, -along, &unit);
        let width = vector::norm(&across);
        if norm > 0.0 && width > 0.0 {
            let height = (self.radius * self.radius + norm * norm - radius * radius) / (2.0 * norm);
            let reach = ((self.radius - height) * (self.radius + height))
                .max(0.0)
                .sqrt();
            answer.fill(0.0);
            vector::add(answer, height, &unit);
            vector::add(answer, reach / width, &across);
        }
        // Correct rounding, also if g is parallel to x and no case above applied.
        let norm = vector::norm(answer);
        self.shrink(answer, norm);
    }
}

impl Barrier for Ball {
    fn free_dimension(&self) -> usize {
        self.dimension()
    }

    fn parameter(&self) -> f64 {
        1.0
    }

    fn value(&self, free: &[f64]) -> f64 {
        self.slack(free).map_or(f64::INFINITY, |slack| -slack.ln())
    }

    fn gradient(&self, free: &[f64]) -> Result<Vec<f64>, SetError> {
        let slack = self.slack(free)?;
        Ok(free.iter().map(|value| 2.0 * value / slack).collect())
    }

    fn hessian(&self, free: &[f64]) -> Result<Vec<f64>, SetError> {
        let slack = self.slack(free)?;
        let rows = free.iter().enumerate().flat_map(|(row, across)| {
            free.iter().enumerate().map(move |(column, value)| {
                let entry = 4.0 * (across / slack) * (value / slack);
                if row == column {
                    entry + 2.0 / slack
                } else {
                    entry
                }
            })
        });
        Ok(rows.collect())
    }

    fn start(&self) -> Vec<f64> {
        self.shape.centre.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_points_keep_their_direction() {
        let ball = Ball::new(2, 1.0).unwrap();
        let mut point = [3e300, 4e300];
        assert!(ball.project(&mut point).unwrap() < 1e-13);
        assert!(vector::distance(&point, &[0.6, 0.8]) < 1e-15);
        let mut lowest = [0.0; 2];
        ball.minimise(&[0.0, 0.0], &mut lowest).unwrap();
        assert!(vector::distance(&lowest, &[-1.0, 0.0]) == 0.0);
    }

    #[test]
    fn bad_parameters_are_named() {
        let message = Ball::new(3, -1.0).unwrap_err().to_string();
        assert!(message.contains("radius = -1"), "{message}");
        assert!(Ball::new(0, 1.0).is_err());
        assert!(Ball::new(2, 1.0).unwrap().project(&mut [1.0]).is_err());
        let message = Ball::new(2, 1.0).unwrap().vertices().unwrap_err();
        assert!(message.to_string().contains("pftal, "), "{message}");
    }
}
