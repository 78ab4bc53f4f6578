//! EXP2 on arms (AS17 Theorem 4.1, card C12; errata A4, A5): multiplicative weights on
//! importance-weighted noisy losses.
//!
//! p = (1−γ)q + γ/N; play i ~ p; l̂ = (ŷ/p_i)·e_i with ŷ the answer clipped to ±Ȳ; q ∝ q·e^{−ηl̂}.
//! Answers are in units of the range's bound M.
//!
//! **Unbiased**: E[l̂_j] = p_j·E[ŷ]/p_j = E[ŷ], up to the bias of clipping: with Ȳ = 1 + 2λ ln T
//! (Laplace of scale λ) or 1 + 2σ√(ln T) (Gaussian), an answer is clipped with probability at most
//! 2T⁻² per round.
//!
//! **Regret**, in expectation, against losses that do not depend on the plays, with noise of
//! variance v and η·N·Ȳ = γ ≤ ½ (AS17 states √(NT log T log N)/ε with a γ that violates its own
//! condition, A5):
//!
//! regret ≤ ln N/η + ηNT(1 + v)/(1−γ) + 2γT + 4(1 + λ).
//!
//! *Proof.* |ηl̂| ≤ ηNȲ/γ = 1, and e^{−x} ≤ 1 − x + x² for x ≥ −1, so
//! Σ⟨q, l̂⟩ − Σ l̂_k ≤ ln N/η + ηΣ⟨q, l̂²⟩, and
//! E⟨q, l̂²⟩ = Σ q_i E[ŷ²]/p_i ≤ N(1+v)/(1−γ). Playing p instead of q costs
//! at most 2γ per round. If answers are known to be small, E[y²] ≤ q and E[y] ≤ m in units of M
//! (answers from a log are mostly 0), the same proof has q in place of 1 and 2γmT in place of 2γT:
//! [`AnswerSize`]. The bias of a clipped answer is at most E[(|Z| − 2λ ln T)⁺] ≤ λT⁻² (σT⁻² for
//! Gaussian noise), and it counts twice, T times. ∎

use super::{BanditLearner, Coins, Play};
use crate::{LearnError, check};
use hushstream_account::ParameterError;

/// The size of the noise on an answer, in units of the range's bound.
///
/// ```
/// use hushstream_learn::bandits::FeedbackNoiseSize;
///
/// assert_eq!(FeedbackNoiseSize::Laplace(3.0).variance(), 18.0);
/// assert!(FeedbackNoiseSize::Gaussian(1.0).reach(1000) > 5.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FeedbackNoiseSize {
    /// Laplace noise of this scale.
    Laplace(f64),
    /// Gaussian noise of this standard deviation.
    Gaussian(f64),
}

impl FeedbackNoiseSize {
    /// The variance.
    #[must_use]
    pub fn variance(self) -> f64 {
        match self {
            Self::Laplace(scale) => 2.0 * scale * scale,
            Self::Gaussian(deviation) => deviation * deviation,
        }
    }

    /// Ȳ, which an answer exceeds with probability at most 2T⁻².
    #[must_use]
    pub fn reach(self, rounds: u64) -> f64 {
        let log = libm::log(rounds.max(3) as f64);
        match self {
            Self::Laplace(scale) => 1.0 + 2.0 * scale * log,
            Self::Gaussian(deviation) => 1.0 + 2.0 * deviation * log.sqrt(),
        }
    }

    pub(crate) fn size(self) -> f64 {
        match self {
            Self::Laplace(size) | Self::Gaussian(size) => size,
        }
    }
}

/// The size of answers before noise, in units of the range's bound.
///
/// ```
/// use hushstream_learn::bandits::AnswerSize;
///
/// // Importance weights of at most 10: answers are mostly 0.
/// let size = AnswerSize::of_weights(10.0, 1);
/// assert!(size.mean < 0.11 && size.square < AnswerSize::ANY.square);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AnswerSize {
    /// m, the largest expected answer of an arm.
    pub mean: f64,
    /// q, the largest expected squared answer of an arm.
    pub square: f64,
}

impl AnswerSize {
    /// Answers of which only the range is known.
    pub const ANY: Self = Self {
        mean: 1.0,
        square: 1.0,
    };

    /// Answers ℓ/π with probability π ≥ 1/M, otherwise 0 (or ½, for a row without its arm): in
    /// units of M their mean is ℓ/M and their mean square ℓ²/(πM²) ≤ 1/M; the mean of B independent
    /// ones has a B-th of the variance.
    #[must_use]
    pub fn of_weights(most: f64, batch: u64) -> Self {
        let mean = 1.0 / most;
        Self {
            mean,
            square: (mean * mean + mean / batch.max(1) as f64).min(1.0),
        }
    }
}

/// The parameters of EXP2: η, γ and Ȳ.
///
/// ```
/// use hushstream_learn::bandits::{Exp2Rates, FeedbackNoiseSize};
///
/// let rates = Exp2Rates::stated(10, 100_000, FeedbackNoiseSize::Gaussian(2.0));
/// assert!(rates.learning > 0.0 && rates.exploration <= 0.5);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exp2Rates {
    /// η, the learning rate.
    pub learning: f64,
    /// γ, the probability of exploration.
    pub exploration: f64,
    /// Ȳ, the bound to which answers are clipped.
    pub reach: f64,
}

impl Exp2Rates {
    /// The rates for `arms` arms and `rounds` rounds.
    #[must_use]
    pub fn stated(arms: usize, rounds: u64, noise: FeedbackNoiseSize) -> Self {
        Self::for_answers(arms, rounds, noise, AnswerSize::ANY)
    }

    /// The rates for answers that are known to be small.
    #[must_use]
    pub fn for_answers(
        arms: usize,
        rounds: u64,
        noise: FeedbackNoiseSize,
        size: AnswerSize,
    ) -> Self {
        Self::with_factor(1.0, (arms, arms), rounds, noise, size)
    }

    /// The η that minimises ln K/η + ηnT(q + v) + 2γmT for γ = c·ηnȲ: `factor` is c, and the shape
    /// is n and K, the dimension and the number of actions.
    pub(crate) fn with_factor(
        factor: f64,
        (dimension, actions): (usize, usize),
        rounds: u64,
        noise: FeedbackNoiseSize,
        size: AnswerSize,
    ) -> Self {
        let (n, t) = (dimension as f64, rounds.max(1) as f64);
        let log = libm::log(actions.max(2) as f64);
        let reach = noise.reach(rounds);
        let explored = factor * reach;
        let cost = size.square + noise.variance() + 2.0 * size.mean * explored;
        // γ ≤ ½ keeps the estimates bounded; short runs need a smaller η.
        let learning = (log / (n * t * cost)).sqrt().min(0.5 / (n * explored));
        Self {
            learning,
            exploration: learning * n * explored,
            reach,
        }
    }

    /// The regret bound in units of the range's bound (proof in the source file).
    #[must_use]
    pub fn regret_bound(
        &self,
        arms: usize,
        rounds: u64,
        noise: FeedbackNoiseSize,
        size: AnswerSize,
    ) -> f64 {
        self.bound((arms, arms), rounds, noise, size)
    }

    pub(crate) fn bound(
        &self,
        (dimension, actions): (usize, usize),
        rounds: u64,
        noise: FeedbackNoiseSize,
        size: AnswerSize,
    ) -> f64 {
        let (n, t) = (dimension as f64, rounds as f64);
        let log = libm::log(actions.max(2) as f64);
        log / self.learning
            + self.learning * n * t * (size.square + noise.variance()) / (1.0 - self.exploration)
            + 2.0 * self.exploration * size.mean * t
            + 4.0 * (1.0 + noise.size())
    }
}

/// EXP2 on arms.
///
/// ```
/// use hushstream_learn::bandits::{Exp2, Exp2Rates, FeedbackNoiseSize};
///
/// let rates = Exp2Rates::stated(4, 1000, FeedbackNoiseSize::Laplace(0.5));
/// let learner = Exp2::new(4, rates)?;
/// assert_eq!(learner.probabilities(), [0.25; 4]);
/// # Ok::<(), hushstream_learn::LearnError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Exp2 {
    weights: Weights,
}

impl Exp2 {
    /// A learner for `arms` arms.
    ///
    /// # Errors
    /// Fewer than two arms; rates out of range.
    pub fn new(arms: usize, rates: Exp2Rates) -> Result<Self, LearnError> {
        if arms < 2 {
            return Err(ParameterError::new("arms", arms, "at least 2").into());
        }
        let weights = Weights::new(arms, rates)?;
        Ok(Self { weights })
    }

    /// p, the probabilities of the arms.
    #[must_use]
    pub fn probabilities(&self) -> Vec<f64> {
        let share = self.weights.rates.exploration / self.weights.log.len() as f64;
        self.weights.mixed(|_| share)
    }
}

/// Exponential weights of arms or actions, and the play that waits for its answer.
#[derive(Debug, Clone)]
pub(crate) struct Weights {
    pub(crate) rates: Exp2Rates,
    /// −η·Σ l̂, shifted so that the largest is 0.
    pub(crate) log: Vec<f64>,
    /// What was played, and with which probability.
    played: Option<(usize, f64)>,
    pub(crate) rounds: u64,
}

impl Weights {
    pub(crate) fn new(count: usize, rates: Exp2Rates) -> Result<Self, LearnError> {
        check::positive("learning rate", rates.learning)?;
        check::positive("reach of answers", rates.reach)?;
        if !(rates.exploration > 0.0 && rates.exploration <= 1.0) {
            let given = rates.exploration;
            return Err(ParameterError::new("exploration", given, "above 0 and at most 1").into());
        }
        Ok(Self {
            rates,
            log: vec![0.0; count],
            played: None,
            rounds: 0,
        })
    }

    /// (1−γ)·softmax + exploration.
    pub(crate) fn mixed(&self, explore: impl Fn(usize) -> f64) -> Vec<f64> {
        let most = self.log.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = self.log.iter().map(|w| libm::exp(w - most)).collect();
        let total: f64 = weights.iter().sum();
        let kept = 1.0 - self.rates.exploration;
        let share = |(index, weight): (usize, &f64)| kept * weight / total + explore(index);
        weights.iter().enumerate().map(share).collect()
    }

    /// Plays one of the actions with these probabilities; `point` tells its place.
    pub(crate) fn play(
        &mut self,
        probabilities: &[f64],
        coins: &mut Coins<'_>,
        point: impl Fn(usize) -> Vec<f64>,
    ) -> Play {
        let action = coins.choose(probabilities);
        let propensity = probabilities[action];
        self.played = Some((action, propensity));
        Play {
            action: Some(action),
            point: point(action),
            propensity,
        }
    }

    /// Plays one of the arms with these probabilities.
    pub(crate) fn play_arm(&mut self, probabilities: &[f64], coins: &mut Coins<'_>) -> Play {
        self.play(probabilities, coins, |arm| {
            let mut point = vec![0.0; probabilities.len()];
            point[arm] = 1.0;
            point
        })
    }

    /// What was played, with which probability, and the clipped answer to it.
    pub(crate) fn answered(&self, answer: f64) -> Result<(usize, f64, f64), LearnError> {
        let (action, propensity) = answered(self.played, answer)?;
        let clipped = answer.clamp(-self.rates.reach, self.rates.reach);
        Ok((action, propensity, clipped))
    }

    /// Ends a round, with the largest log-weight at 0.
    pub(crate) fn end_round(&mut self) {
        let most = self.log.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.log.iter_mut().for_each(|weight| *weight -= most);
        self.played = None;
        self.rounds += 1;
    }

    pub(crate) fn restore(&mut self, rounds: u64, state: &[f64]) -> Result<(), LearnError> {
        check::vector("saved state", state, self.log.len())?;
        self.log.copy_from_slice(state);
        (self.rounds, self.played) = (rounds, None);
        Ok(())
    }
}

pub(crate) fn answered<T: Copy>(played: Option<T>, answer: f64) -> Result<T, LearnError> {
    if !answer.is_finite() {
        return Err(ParameterError::new("answer", answer, "a finite number").into());
    }
    played.ok_or_else(|| ParameterError::new("answer", answer, "after a play").into())
}

impl BanditLearner for Exp2 {
    fn name(&self) -> &'static str {
        "exp2"
    }

    fn play(&mut self, coins: &mut Coins<'_>) -> Result<Play, LearnError> {
        let probabilities = self.probabilities();
        Ok(self.weights.play_arm(&probabilities, coins))
    }

    fn observe(&mut self, answer: f64) -> Result<(), LearnError> {
        let (arm, propensity, clipped) = self.weights.answered(answer)?;
        self.weights.log[arm] -= self.weights.rates.learning * clipped / propensity;
        self.weights.end_round();
        Ok(())
    }

    fn policy(&self) -> Option<Vec<f64>> {
        Some(self.probabilities())
    }

    fn rounds(&self) -> u64 {
        self.weights.rounds
    }

    fn state(&self) -> Vec<f64> {
        self.weights.log.clone()
    }

    fn restore(&mut self, rounds: u64, state: &[f64]) -> Result<(), LearnError> {
        self.weights.restore(rounds, state)
    }
}
