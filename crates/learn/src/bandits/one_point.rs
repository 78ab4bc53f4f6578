//! One-point gradients: an estimate of the gradient from one function value at a random neighbour
//! (Flaxman, Kalai and McMahan 2005; ST13 Algorithm 3, card C4).
//!
//! For u uniform on the unit sphere of ℝᵖ, E[(p/β)·f(w + βu)·u] = ∇f_β(w), f_β(w) the mean of f
//! over the ball of radius β around w: Stokes' theorem. Subtracting a constant from f changes
//! nothing, since E[u] = 0.
//!
//! **A set without interior** that knows its affine hull (the simplex) is played in the hull: u is
//! uniform on the unit sphere of the hull's k directions, p becomes k, the ball lies in the hull,
//! and the estimate is of the gradient's part along the hull, which is all that points of the set
//! feel.

use super::Coins;
use crate::{LearnError, check};
use hushstream_account::ParameterError;
use hushstream_sets::{ConvexSet, Moved};
use std::sync::Arc;

/// A uniform point of the unit sphere.
///
/// ```
/// use hushstream_learn::bandits::{Coins, sphere};
///
/// let mut state = 7_u64;
/// let mut bits = || {
///     state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
///     state
/// };
/// let point = sphere(3, &mut Coins::new(&mut bits));
/// assert!((point.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-12);
/// ```
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
///
/// ```
/// use std::sync::Arc;
///
/// use hushstream_learn::bandits::OnePoint;
/// use hushstream_sets::{Ball, ConvexSet};
///
/// let set: Arc<dyn ConvexSet> = Arc::new(Ball::new(2, 1.0)?);
/// let plays = OnePoint::new(&set, 0.25)?;
/// assert_eq!(plays.factor(), 8.0); // p/β
/// assert_eq!(plays.play(&[0.5, 0.0], &[1.0, 0.0]), [0.75, 0.0]);
/// assert!((plays.shrunk().outer_radius() - 0.75).abs() < 1e-12);
/// # Ok::<(), hushstream_learn::LearnError>(())
/// ```
#[derive(Debug, Clone)]
pub struct OnePoint {
    radius: f64,
    inner: f64,
    /// Orthonormal directions of the hull, where that is not the whole space.
    hull: Option<Vec<Vec<f64>>>,
    dimension: usize,
    shrunk: Arc<dyn ConvexSet>,
}

impl OnePoint {
    /// Plays within β of the iterate. Iterates are in (1 − β/r)·C around the centre, with r the
    /// inner radius, so that plays are in C.
    ///
    /// # Errors
    /// A set without interior; a β that is not below r.
    pub fn new(set: &Arc<dyn ConvexSet>, radius: f64) -> Result<Self, LearnError> {
        check::positive("radius of plays", radius)?;
        let (inner, hull) = Self::room(set.as_ref());
        if radius >= inner {
            return Err(ParameterError::new(
                "radius of plays",
                radius,
                "below the radius of the largest ball in the set",
            )
            .into());
        }
        let centre = check::centre(set.as_ref())?;
        let back: Vec<f64> = centre.iter().map(|value| -value).collect();
        let centred: Arc<dyn ConvexSet> = Arc::new(Moved::shifted(set.clone(), &back)?);
        let smaller: Arc<dyn ConvexSet> = Arc::new(Moved::scaled(centred, 1.0 - radius / inner)?);
        Ok(Self {
            radius,
            inner,
            dimension: hull.as_ref().map_or(set.dimension(), Vec::len),
            hull,
            shrunk: Arc::new(Moved::shifted(smaller, &centre)?),
        })
    }

    /// The radius of the largest ball around the centre, in the set or in its hull, and the hull's
    /// directions where it is not the whole space.
    fn room(set: &dyn ConvexSet) -> (f64, Option<Vec<Vec<f64>>>) {
        match set.flat() {
            Some(flat) => (flat.inner_radius, Some(flat.basis)),
            None => (set.inner_radius(), None),
        }
    }

    /// β as the papers have it: r·p·T^(−1/root), and at most r/2.
    #[must_use]
    pub fn stated_radius(set: &dyn ConvexSet, rounds: u64, root: f64) -> f64 {
        let (inner, hull) = Self::room(set);
        let p = hull.map_or(set.dimension(), |basis| basis.len()) as f64;
        (inner * p * (rounds as f64).powf(-1.0 / root)).min(inner / 2.0)
    }

    /// r.
    #[must_use]
    pub fn inner_radius(&self) -> f64 {
        self.inner
    }

    /// A uniform direction of the set, of length 1.
    pub fn direction(&self, coins: &mut Coins<'_>) -> Vec<f64> {
        let free = sphere(self.dimension, coins);
        let Some(hull) = &self.hull else {
            return free;
        };
        let mut direction = vec![0.0; self.shrunk.dimension()];
        for (share, axis) in free.iter().zip(hull) {
            for (value, part) in direction.iter_mut().zip(axis) {
                *value += share * part;
            }
        }
        direction
    }

    /// The set of the iterates.
    #[must_use]
    pub fn shrunk(&self) -> &Arc<dyn ConvexSet> {
        &self.shrunk
    }

    /// p/β, the factor of a value.
    #[must_use]
    pub fn factor(&self) -> f64 {
        self.dimension as f64 / self.radius
    }

    /// β, the distance of plays from the iterate.
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
