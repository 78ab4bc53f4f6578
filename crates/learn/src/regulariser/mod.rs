//! Regularisers of [`RegularisedLeader`](crate::RegularisedLeader) (AS17 Algorithm 1 takes any).
//!
//! | regulariser | set | strongly convex in | D_R | Σ‖l‖*²/σ |
//! |---|---|---|---|---|
//! | [`Entropy`], Σ xᵢ ln xᵢ | simplex | L1 | ln N | Σ‖l‖∞² |
//! | [`Squares`], ½‖x − c‖² | any that projects | L2 | half the squared outer radius | Σ‖l‖² |
//! | [`PNorm`], ½‖x‖_p², 1 < p ≤ 2 | L1 ball of radius r | p − 1 in the p-norm | r²/2 | Σ‖l‖_q²/(p − 1) |
//!
//! One of one's own implements [`Regulariser`] (`tests/own_regulariser.rs` has one in twenty
//! lines), and has the same certified regret.

mod entropy;
mod p_norm;
mod squares;

pub use entropy::Entropy;
pub use p_norm::PNorm;
pub use squares::Squares;

use crate::LearnError;
use hushstream_sets::ConvexSet;
use std::fmt::Debug;

/// A function R on a convex set that is σ-strongly convex in some norm there.
///
/// It is public, as everything in this crate: what it gets wrong costs regret, never privacy.
///
/// ```
/// use hushstream_learn::{LearnError, Learner, PNorm, RegularisedLeader};
/// use std::sync::Arc;
///
/// // On the L1 ball in a thousand dimensions: rate and regret grow with ln d, not with d.
/// let norm = PNorm::for_l1_ball(1000, 1.0)?;
/// let squares = 10_000.0 * norm.per_square_of_box(); // 10,000 losses in [−1, 1] each
/// let rate = RegularisedLeader::best_rate(0.5, squares)?;
/// let leader = RegularisedLeader::new(Arc::new(norm), rate)?;
/// assert!(leader.regret_bound(squares, 0.0) < 750.0);
/// # Ok::<(), LearnError>(())
/// ```
pub trait Regulariser: Debug + Send + Sync {
    /// Where points live.
    fn set(&self) -> &dyn ConvexSet;

    /// argmin of η⟨l, x⟩ + R(x) over the set, η = `rate`. Losses are finite, as many as the set has
    /// dimensions, and may be large.
    ///
    /// # Errors
    /// An error of the set.
    fn leader(&self, rate: f64, losses: &[f64]) -> Result<Vec<f64>, LearnError>;

    /// D_R: the largest value of R on the set less the least.
    fn range(&self) -> f64;

    /// ‖l‖*²/σ, for the norm in which R is σ-strongly convex.
    fn squared_length(&self, losses: &[f64]) -> f64;
}
