//! One-point gradients: what one function value at a random neighbour says about the slope (Flaxman, Kalai and McMahan 2005; ST13 Algorithm 3, card C4).
//!
//! For u uniform on the unit sphere of ℝᵖ, E[(p/β)·f(w + βu)·u] = ∇f_β(w), f_β(w) the mean of f over the ball of radius β around w: Stokes' theorem. Subtracting a constant from f changes
//! nothing, since E[u] = 0.

use super::Coins;
use crate::{LearnError, check};
use hushstream_sets::{ConvexSet, Scaled, Shifted};
use std::sync::Arc;

/// A uniform point of the unit sphere.
pub fn sphere(dimension: usize, coins: &mut Coins<'_>) -> Vec<f64> {
    loop {
        let normals: Vec<f64> = (0..dimension).map(|_| coins.normal()).collect();
        let length = check::norm(&normals);
        if length > 1e-150 {
            return normals.iter().map(|value| value / length).collect();
        }
    }
}

/// The geometry of plays w + βu.
#[derive(Debug, Clone)]
pub struct OnePoint {
    radius: f64,
    dimension: usize,
    shrunk: Arc<dyn ConvexSet>,
}

impl OnePoint {
    /// Plays within β of the iterate. Iterates keep to (1 − β/r)·C around the centre, r the inner radius, so that plays are in C.
    ///
    /// # Errors
    /// A set without interior; a β that is not below r.
    pub fn new(set: &Arc<dyn ConvexSet>, radius: f64) -> Result<Self, LearnError> {
        check::positive("radius of plays", radius)?;
        let inner = set.inner_radius();
        if radius >= inner {
            return Err(LearnError::parameter(
                "radius of plays",
                radius,
                "below the radius of the largest ball in the set",
            ));
        }
        let centre = check::centre(set.as_ref())?;
        let back: Vec<f64> = centre.iter().map(|value| -value).collect();
        let centred: Arc<dyn ConvexSet> = Arc::new(Shifted::new(set.clone(), &back)?);
        let smaller: Arc<dyn ConvexSet> = Arc::new(Scaled::new(centred, 1.0 - radius / inner)?);
        Ok(Self {
            radius,
            dimension: set.dimension(),
            shrunk: Arc::new(Shifted::new(smaller, &centre)?),
        })
    }

    /// Where iterates live.
    #[must_use]
    pub fn shrunk(&self) -> &Arc<dyn ConvexSet> {
        &self.shrunk
    }

    /// p/β: what a value is multiplied with.
    #[must_use]
    pub fn factor(&self) -> f64 {
        self.dimension as f64 / self.radius
    }

    /// β.
    #[must_use]
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// The play at an iterate in a direction.
    #[must_use]
    pub fn play(&self, iterate: &[f64], direction: &[f64]) -> Vec<f64> {
        let moved = iterate.iter().zip(direction);
        moved.map(|(w, u)| w + self.radius * u).collect()
    }
}
