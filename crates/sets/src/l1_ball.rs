//! The L1 ball {Σ |xᵢ| ≤ R} (cross-polytope), with the 2d vertices ±R·eᵢ.
//!
//! **Projection** (Duchi et al. 2008): outside, the magnitudes divided by R are projected onto the
//! simplex and signs put back. O(d log d). **Minimiser** the first coordinate of largest |gᵢ|,
//! against its sign. No barrier: it has 2ᵈ faces.
//!
//! **Local oracle**, ρ = √d: the exact minimiser of ⟨·, g⟩ on the L1 ball intersected with the L1
//! ball of radius b = √d·r around x. The latter holds the Euclidean ball of radius r and lies in
//! the one of radius √d·r.
//!
//! *Method and proof.* Let i be a coordinate of largest |g|, V = |gᵢ|, and s = R − ‖x‖₁ the slack.
//! A unit of movement either *grows* coordinate i downhill: gain V, costs a unit of slack; or
//! *shrinks* some |xⱼ|: gain |gⱼ| if that is downhill, −|gⱼ| if uphill, and frees a unit of slack.
//! Shrink the best gains first; F(f) is the concave total gain of shrinking f. With f shrunk, at
//! most min(s + f, b − f) can be grown, so the total is V·min(s + f, b − f) + F(f). As −V ≤ F′ ≤ V
//! it rises up to f = (b − s)/2 and does not rise after, so that f, clamped to its range, is best.
//! If coordinate i itself has to be shrunk first, this costs nothing: its F′ is V. ∎

use crate::local::{DirectOracle, LocalRule};
use crate::simplex::project_to_simplex;
use crate::{Capability, ConvexSet, LocalOracle, SetError, Shape, vector};

/// An L1 ball around the origin.
///
/// ```
/// use hushstream_sets::{ConvexSet, L1Ball, SetError};
///
/// let ball = L1Ball::new(3, 1.0)?;
/// let mut point = [2.0, -0.5, 0.1];
/// ball.project(&mut point)?;
/// assert_eq!(point, [1.0, 0.0, 0.0]); // the nearest point is sparse
/// # Ok::<(), SetError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct L1Ball {
    shape: Shape,
    radius: f64,
}

impl L1Ball {
    /// The L1 ball of this radius around 0.
    ///
    /// # Errors
    /// No dimension, or a radius that is not positive and finite.
    pub fn new(dimension: usize, radius: f64) -> Result<Self, SetError> {
        vector::check_dimension(dimension, 1)?;
        vector::check_positive("radius", radius)?;
        Ok(Self {
            shape: Shape {
                name: "L1 ball",
                centre: vec![0.0; dimension],
                diameter: 2.0 * radius,
                outer_radius: radius,
                inner_radius: radius / (dimension as f64).sqrt(),
                largest_norm: radius,
            },
            radius,
        })
    }
}

impl ConvexSet for L1Ball {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn can(&self, capability: Capability) -> bool {
        capability != Capability::Barrier
    }

    fn project(&self, point: &mut [f64]) -> Result<f64, SetError> {
        vector::check("point", point, self.dimension())?;
        let mut sizes: Vec<f64> = point
            .iter()
            .map(|value| (value / self.radius).abs().min(f64::MAX))
            .collect();
        if sizes.iter().sum::<f64>() <= 1.0 {
            return Ok(0.0);
        }
        project_to_simplex(&mut sizes);
        for (value, size) in point.iter_mut().zip(&sizes) {
            *value = (self.radius * size).copysign(*value);
        }
        Ok(2.0 * vector::rounding(self.dimension(), self.radius))
    }

    /// As on the simplex, with magnitudes divided by the radius.
    fn projection_error(&self, reach: f64) -> Option<f64> {
        Some(2.0 * vector::rounding(self.dimension(), self.radius + reach))
    }

    fn minimise(&self, direction: &[f64], out: &mut [f64]) -> Result<(), SetError> {
        vector::check_minimise(direction, out, self.dimension())?;
        let best = steepest(direction);
        out.fill(0.0);
        out[best] = -self.radius.copysign(direction[best]);
        Ok(())
    }

    fn local_oracle(&self) -> Result<Box<dyn LocalOracle>, SetError> {
        Ok(Box::new(DirectOracle::new(self.clone())))
    }

    fn vertices(&self) -> Result<Vec<Vec<f64>>, SetError> {
        crate::set::check_vertex_count(2.0 * self.dimension() as f64)?;
        let vertex = |index: usize| {
            let sign = if index.is_multiple_of(2) { 1.0 } else { -1.0 };
            vector::along(self.dimension(), index / 2, sign * self.radius)
        };
        Ok((0..2 * self.dimension()).map(vertex).collect())
    }
}

/// The first coordinate of largest magnitude.
fn steepest(gradient: &[f64]) -> usize {
    let sizes: Vec<f64> = gradient.iter().map(|value| -value.abs()).collect();
    vector::first_smallest(&sizes)
}

impl LocalRule for L1Ball {
    fn local_rho(&self) -> f64 {
        (self.dimension() as f64).sqrt()
    }

    fn move_within(&self, point: &[f64], radius: f64, gradient: &[f64], answer: &mut [f64]) {
        let best = steepest(gradient);
        if gradient[best] == 0.0 {
            return;
        }
        let budget = self.local_rho() * radius;
        let slack = (self.radius - point.iter().map(|value| value.abs()).sum::<f64>()).max(0.0);
        let downhill = |index: usize| point[index] * gradient[index] > 0.0;
        let gain = |index: usize| {
            if downhill(index) {
                gradient[index].abs()
            } else {
                -gradient[index].abs()
            }
        };
        // Among equals the steepest coordinate comes first: it may have to shrink before it grows.
        let mut order: Vec<usize> = (0..self.dimension())
            .filter(|&index| index != best || downhill(best))
            .collect();
        order.sort_by(|&a, &b| {
            gain(b)
                .total_cmp(&gain(a))
                .then((b == best).cmp(&(a == best)))
        });
        let available: f64 = order.iter().map(|&index| point[index].abs()).sum();
        let mut shrunk = ((budget - slack) / 2.0).clamp(0.0, available);
        if downhill(best) {
            shrunk = shrunk.max(budget.min(point[best].abs()));
        }
        let grown = (budget - shrunk).min(slack + shrunk).max(0.0);
        let mut left = shrunk;
        for index in order {
            let moved = left.min(point[index].abs());
            answer[index] -= moved.copysign(point[index]);
            left -= moved;
        }
        answer[best] -= grown.copysign(gradient[best]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_projection_and_ties() {
        let set = L1Ball::new(3, 1.0).unwrap();
        let mut point = [2.0, -1.5, 0.1];
        set.project(&mut point).unwrap();
        assert!(vector::distance(&point, &[0.75, -0.25, 0.0]) < 1e-15);
        let mut inside = [0.2, -0.3, 0.5];
        assert!(set.project(&mut inside).unwrap() == 0.0);
        assert!(vector::distance(&inside, &[0.2, -0.3, 0.5]) == 0.0);
        let mut lowest = [0.0; 3];
        set.minimise(&[1.0, -1.0, 1.0], &mut lowest).unwrap();
        assert!(vector::distance(&lowest, &[-1.0, 0.0, 0.0]) == 0.0);
        let error = set.barrier().unwrap_err().to_string();
        assert!(error.contains("L1 ball cannot give a barrier"), "{error}");
        assert!(error.contains("coco-l"), "{error}");
    }
}
