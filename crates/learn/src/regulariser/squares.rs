//! Half the squared distance from the centre, 1-strongly convex in L2: lazily projected gradient
//! steps, x = Π(c − η·l).

use super::Regulariser;
use crate::{LearnError, check};
use hushstream_sets::{Capability, ConvexSet};
use std::sync::Arc;

/// ½‖x − c‖², c the centre of the set.
///
/// ```
/// use hushstream_learn::{Regulariser, Squares};
/// use hushstream_sets::Ball;
/// use std::sync::Arc;
///
/// let squares = Squares::new(Arc::new(Ball::new(2, 1.0)?))?;
/// assert_eq!(squares.leader(0.5, &[1.0, 0.0])?, [-0.5, 0.0]);
/// assert_eq!(squares.range(), 0.5);
/// # Ok::<(), hushstream_learn::LearnError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Squares {
    set: Arc<dyn ConvexSet>,
    centre: Vec<f64>,
}

impl Squares {
    /// On any set that projects.
    ///
    /// # Errors
    /// A set that cannot project.
    pub fn new(set: Arc<dyn ConvexSet>) -> Result<Self, LearnError> {
        check::can(set.as_ref(), Capability::Project)?;
        let centre = check::centre(set.as_ref())?;
        Ok(Self { set, centre })
    }
}

impl Regulariser for Squares {
    fn set(&self) -> &dyn ConvexSet {
        self.set.as_ref()
    }

    fn leader(&self, rate: f64, losses: &[f64]) -> Result<Vec<f64>, LearnError> {
        let pairs = self.centre.iter().zip(losses);
        let target = pairs.map(|(centre, loss)| centre - rate * loss);
        check::project(self.set.as_ref(), target.collect())
    }

    fn range(&self) -> f64 {
        self.set.outer_radius().powi(2) / 2.0
    }

    fn squared_length(&self, losses: &[f64]) -> f64 {
        losses.iter().map(|loss| loss * loss).sum()
    }
}
