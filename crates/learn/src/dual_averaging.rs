//! Dual averaging, for convex losses that need not be strongly convex (ST13 Appendix C).
//!
//! **As implemented.** The sums are of gradients z_t = ∇f_t(ŵ_t); c is the centre of C. With C
//! centred at 0,
//!
//! ŵ_{t+1} = Π_C( c − v̂_t/(t·H) ), ŵ_1 = c.
//!
//! This is [`crate::FollowTheApproximateLeader`] on f_t + (H/2)‖w − c‖²: there the sums of ŵ_τ
//! cancel.
//!
//! **Erratum.** S3: ST13 analyses gradients of the regularised losses, of norm up to L + H‖C‖. The
//! regulariser's part is public, so the sums hold only ∇f_t, and the noise is for L.
//!
//! **Regret**, stated: O(√(p·log^2.5 T·T/ε)·(L + …)). Proved here, for every stream of convex
//! L-Lipschitz losses and every noise of norm at most N in every prefix, r the outer radius:
//!
//! regret ≤ (1 + ln T)·((L + H·r)²/2 + L·N)/H + H·T·r²/2.
//!
//! *Proof.* As for the approximate leader, with ⟨z_t, w⟩ + (H/2)‖w − c‖² in place of f̃_t, whose
//! gradient is at most L + H·r; the comparator pays the last term. ∎ [`DualAveraging::suggested_h`]
//! balances it; ‖C‖ there is the diameter, 2r.
//!
//! **Cost** O(d) and one projection per round; the state is the iterate.

use hushstream_account::ParameterError;
use std::sync::Arc;

use hushstream_sets::{Capability, ConvexSet};

use crate::{LearnError, Learner, check};

/// The learner of ST13 Appendix C.
///
/// ```
/// use std::sync::Arc;
///
/// use hushstream_learn::{DualAveraging, LearnError, Learner};
/// use hushstream_sets::Ball;
///
/// let h = DualAveraging::suggested_h(2.0, 1.0, 10.0, 1000)?;
/// let mut learner = DualAveraging::new(Arc::new(Ball::new(2, 1.0)?), h)?;
/// learner.observe(&[1.0, 0.0])?; // the released sum of gradients
/// assert_eq!(learner.iterate(), [-1.0, 0.0]);
/// # Ok::<(), LearnError>(())
/// ```
#[derive(Debug, Clone)]
pub struct DualAveraging {
    set: Arc<dyn ConvexSet>,
    centre: Vec<f64>,
    h: f64,
    rounds: u64,
    iterate: Vec<f64>,
    /// Buffer for the next iterate.
    next: Vec<f64>,
}

impl DualAveraging {
    /// A learner with regularisation `h`, for example [`suggested_h`](Self::suggested_h).
    ///
    /// # Errors
    /// A set that cannot project; an `h` that is not positive and finite.
    pub fn new(set: Arc<dyn ConvexSet>, h: f64) -> Result<Self, LearnError> {
        check::can(set.as_ref(), Capability::Project)?;
        check::positive("regularisation H", h)?;
        let centre = check::centre(set.as_ref())?;
        Ok(Self {
            set,
            h,
            rounds: 0,
            iterate: centre.clone(),
            next: centre.clone(),
            centre,
        })
    }

    /// H = (2/‖C‖)·√(L(L + N)(1 + ln T)/T), for a diameter ‖C‖ and a typical norm N of the noise in
    /// a prefix sum.
    ///
    /// # Errors
    /// A diameter or L that is not positive, a negative N, no rounds.
    pub fn suggested_h(
        diameter: f64,
        lipschitz: f64,
        noise: f64,
        horizon: u64,
    ) -> Result<f64, LearnError> {
        check::positive("diameter", diameter)?;
        check::positive("Lipschitz constant L", lipschitz)?;
        check::not_negative("noise norm", noise)?;
        if horizon == 0 {
            return Err(ParameterError::new("horizon T", horizon, "1 or more").into());
        }
        let slope = lipschitz * (lipschitz + noise);
        let h = 2.0 / diameter * (slope * check::harmonic(horizon) / horizon as f64).sqrt();
        check::positive("regularisation H", h)?;
        Ok(h)
    }

    /// The regret bound for noise of norm at most `noise` in every prefix sum (proof in the source
    /// file).
    #[must_use]
    pub fn regret_bound(&self, lipschitz: f64, noise: f64, horizon: u64) -> f64 {
        let radius = self.set.outer_radius();
        let slope = lipschitz + self.h * radius;
        let leader = check::harmonic(horizon) * (slope * slope / 2.0 + lipschitz * noise) / self.h;
        leader + self.h * horizon as f64 * radius * radius / 2.0
    }
}

impl DualAveraging {
    /// The next iterate before the projection, in a buffer: if the projection fails, the last
    /// iterate is unchanged.
    fn aim(&mut self, prefix: &[f64]) -> Result<(), LearnError> {
        check::vector("prefix sum", prefix, self.centre.len())?;
        let t = (self.rounds + 1) as f64;
        // t·H may underflow when the sums are small too, so divide by it once.
        let step = (t * self.h).recip();
        check::not_negative("step 1/(t·H)", step)?;
        for (next, (centre, sum)) in self.next.iter_mut().zip(self.centre.iter().zip(prefix)) {
            *next = (centre - sum * step).clamp(-check::HUGE, check::HUGE);
        }
        Ok(())
    }
}

impl Learner for DualAveraging {
    fn name(&self) -> &'static str {
        "dual-averaging"
    }

    fn iterate(&self) -> &[f64] {
        &self.iterate
    }

    fn observe(&mut self, prefix: &[f64]) -> Result<(), LearnError> {
        self.aim(prefix)?;
        self.set.project(&mut self.next)?;
        std::mem::swap(&mut self.iterate, &mut self.next);
        self.rounds += 1;
        Ok(())
    }

    fn rounds(&self) -> u64 {
        self.rounds
    }

    fn restore(&mut self, rounds: u64, state: &[f64]) -> Result<(), LearnError> {
        let [iterate] = check::saved(self.set.as_ref(), state)?;
        self.iterate = iterate;
        self.rounds = rounds;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushstream_sets::Ball;

    #[test]
    fn suggested_h_is_the_formula() {
        // (2/2)·√(1·(1 + 3)·(1 + ln 100)/100)
        let h = DualAveraging::suggested_h(2.0, 1.0, 3.0, 100).unwrap();
        assert!((h - (4.0 * (1.0 + 100.0_f64.ln()) / 100.0).sqrt()).abs() < 1e-15);
        assert!(DualAveraging::suggested_h(0.0, 1.0, 3.0, 100).is_err());
        assert!(DualAveraging::suggested_h(1.0, 1.0, -3.0, 100).is_err());
        assert!(DualAveraging::suggested_h(1.0, 1.0, 3.0, 0).is_err());
    }

    #[test]
    fn first_step_by_hand() {
        let mut learner = DualAveraging::new(Arc::new(Ball::new(2, 1.0).unwrap()), 2.0).unwrap();
        assert_eq!(learner.iterate(), [0.0, 0.0]);
        learner.observe(&[1.0, -0.5]).unwrap();
        assert_eq!(learner.iterate(), [-0.5, 0.25]);
        learner.observe(&[4.0, 0.0]).unwrap();
        assert_eq!(learner.iterate(), [-1.0, 0.0]);
        assert!(learner.restore(1, &[1.0, 1.0]).is_err());
        assert_eq!(learner.rounds(), 2);
    }
}
