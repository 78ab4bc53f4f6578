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

use hushstream_four::{self as four, FOUR, Four, Work, padded};
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
    #[inline(always)]
    fn aim<V: Four>(&mut self, v: V, prefix: &[f64]) -> Result<(), LearnError> {
        check::length("prefix sum", prefix, self.centre.len())?;
        let t = (self.rounds + 1) as f64;
        // t·H may underflow when the sums are small too, so divide by it once.
        let step = (t * self.h).recip();
        check::not_negative("step 1/(t·H)", step)?;
        let (nexts, next) = self.next.as_chunks_mut();
        let (centres, centre) = self.centre.as_chunks();
        let (sums, sum) = prefix.as_chunks();
        let mut nothing = v.floats(&[0.0; FOUR]);
        for (next, (centre, sum)) in nexts.iter_mut().zip(centres.iter().zip(sums)) {
            *next = from_centre(v, centre, sum, step, &mut nothing);
        }
        let last = from_centre(v, &padded(centre), &padded(sum), step, &mut nothing);
        four::put(last, next);
        let nothing: f64 = v.numbers(nothing).iter().sum();
        if nothing.abs() <= 0.0 {
            return Ok(());
        }
        Ok(check::vector("prefix sum", prefix, self.centre.len())?)
    }
}

/// Four coordinates of c − step·v̂, clamped so that their squares are finite. Adds 0·v̂ to
/// `nothing`, which is NaN exactly if a sum is not finite.
#[inline(always)]
fn from_centre<V: Four>(
    v: V,
    centre: &[f64; FOUR],
    sum: &[f64; FOUR],
    step: f64,
    nothing: &mut V::Floats,
) -> [f64; FOUR] {
    let all = |value: f64| v.floats(&[value; FOUR]);
    let (centre, sum) = (v.floats(centre), v.floats(sum));
    *nothing = v.plus(*nothing, v.times(sum, all(0.0)));
    let aim = v.minus(centre, v.times(sum, all(step)));
    v.numbers(v.smaller(v.larger(aim, all(-check::HUGE)), all(check::HUGE)))
}

/// [`DualAveraging::aim`], with the widest vectors that the CPU supports.
struct Aim<'a> {
    learner: &'a mut DualAveraging,
    prefix: &'a [f64],
}

impl Work for Aim<'_> {
    type Output = Result<(), LearnError>;

    #[inline(always)]
    fn with<V: Four>(self, v: V) -> Result<(), LearnError> {
        self.learner.aim(v, self.prefix)
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
        four::run(Aim {
            learner: self,
            prefix,
        })?;
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
