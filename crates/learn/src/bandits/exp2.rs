//! EXP2 on arms (AS17 Theorem 4.1, card C12; errata A4, A5): multiplicative weights on importance-weighted noisy losses.
//!
//! p = (1−γ)q + γ/N; play i ~ p; l̂ = (ŷ/p_i)·e_i with ŷ the answer clipped to ±Ȳ; q ∝ q·e^{−ηl̂}. Answers are in units of the range's bound M.
//!
//! **Unbiased**: E[l̂_j] = p_j·E[ŷ]/p_j = E[ŷ], up to what clipping takes: with Ȳ = 1 + 2λ ln T (Laplace of scale λ) or 1 + 2σ√(ln T) (Gaussian), an answer is clipped with
//! probability at most 2T⁻² a round.
//!
//! **Regret**, in expectation, against losses that do not depend on the plays, with noise of variance v and η·N·Ȳ = γ ≤ ½ (AS17 states √(NT log T log N)/ε with a γ that violates its own condition, A5):
//!
//! regret ≤ ln N/η + ηNT(1 + v)/(1−γ) + 2γT + 4(1 + λ).
//!
//! *Proof.* |ηl̂| ≤ ηNȲ/γ = 1, and e^{−x} ≤ 1 − x + x² for x ≥ −1, so Σ⟨q, l̂⟩ − Σ l̂_k ≤ ln N/η +
//! ηΣ⟨q, l̂²⟩, and E⟨q, l̂²⟩ = Σ q_i E[ŷ²]/p_i ≤ N(1+v)/(1−γ). Playing p instead of q costs at most
//! 2γ a round. If answers are known to be small, E[y²] ≤ q and E[y] ≤ m in units of M, as those of
//! a log are, which are mostly 0, the same proof has q in place of 1 and 2γmT in place of 2γT:
//! [`AnswerSize`]. The bias of a clipped answer is at most E[(|Z| − 2λ ln T)⁺] ≤ λT⁻² (σT⁻² for
//! Gaussian noise), and it counts twice, T times. ∎

use super::{BanditLearner, Coins, Play};
use crate::{LearnError, check};

/// How large the noise on an answer is, in units of the range's bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FeedbackNoiseSize {
    /// Laplace of this scale.
    Laplace(f64),
    /// Gaussian of this deviation.
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

    /// Ȳ: beyond it an answer lies with probability at most 2T⁻².
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

/// How large answers are before noise, in units of the range's bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AnswerSize {
    /// m: no arm's expected answer is larger.
    pub mean: f64,
    /// q: no arm's expected squared answer is larger.
    pub square: f64,
}

impl AnswerSize {
    /// Answers of which nothing is known but their range.
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

/// η, γ and Ȳ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exp2Rates {
    /// η.
    pub learning: f64,
    /// γ.
    pub exploration: f64,
    /// Ȳ.
    pub reach: f64,
}

impl Exp2Rates {
    /// The rates for so many arms and T rounds.
    #[must_use]
    pub fn stated(arms: usize, rounds: u64, noise: FeedbackNoiseSize) -> Self {
        Self::for_answers(arms, rounds, noise, AnswerSize::ANY)
    }

    /// The same for answers that are known to be small.
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
        // γ ≤ ½ keeps the estimates bounded; in short runs η has to give way.
        let learning = (log / (n * t * cost)).sqrt().min(0.5 / (n * explored));
        Self {
            learning,
            exploration: learning * n * explored,
            reach,
        }
    }

    /// The bound of the file's documentation, in units of the range's bound.
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
#[derive(Debug, Clone)]
pub struct Exp2 {
    rates: Exp2Rates,
    /// −η·Σ l̂, the largest 0.
    log_weights: Vec<f64>,
    played: Option<(usize, f64)>,
    rounds: u64,
}

impl Exp2 {
    /// A learner for `arms` arms.
    ///
    /// # Errors
    /// Fewer than two arms; rates out of range.
    pub fn new(arms: usize, rates: Exp2Rates) -> Result<Self, LearnError> {
        if arms < 2 {
            return Err(LearnError::parameter("arms", arms, "at least 2"));
        }
        check::positive("learning rate", rates.learning)?;
        check::positive("reach of answers", rates.reach)?;
        if !(rates.exploration > 0.0 && rates.exploration <= 1.0) {
            let given = rates.exploration;
            return Err(LearnError::parameter(
                "exploration",
                given,
                "above 0 and at most 1",
            ));
        }
        Ok(Self {
            rates,
            log_weights: vec![0.0; arms],
            played: None,
            rounds: 0,
        })
    }

    /// p.
    #[must_use]
    pub fn probabilities(&self) -> Vec<f64> {
        mixed(
            &self.log_weights,
            |_| self.rates.exploration / self.log_weights.len() as f64,
            self.rates.exploration,
        )
    }
}

/// (1−γ)·softmax + exploration.
pub(crate) fn mixed(
    log_weights: &[f64],
    explore: impl Fn(usize) -> f64,
    exploration: f64,
) -> Vec<f64> {
    let most = log_weights
        .iter()
        .copied()
        .fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = log_weights.iter().map(|w| libm::exp(w - most)).collect();
    let total: f64 = weights.iter().sum();
    let share =
        |(index, weight): (usize, &f64)| (1.0 - exploration) * weight / total + explore(index);
    weights.iter().enumerate().map(share).collect()
}

/// Keeps the largest log-weight at 0.
pub(crate) fn recentre(log_weights: &mut [f64]) {
    let most = log_weights
        .iter()
        .copied()
        .fold(f64::NEG_INFINITY, f64::max);
    log_weights.iter_mut().for_each(|weight| *weight -= most);
}

pub(crate) fn answered<T: Copy>(played: Option<T>, answer: f64) -> Result<T, LearnError> {
    if !answer.is_finite() {
        return Err(LearnError::parameter("answer", answer, "a finite number"));
    }
    played.ok_or_else(|| LearnError::parameter("answer", answer, "after a play"))
}

impl BanditLearner for Exp2 {
    fn name(&self) -> &'static str {
        "exp2"
    }

    fn play(&mut self, coins: &mut Coins<'_>) -> Result<Play, LearnError> {
        let probabilities = self.probabilities();
        let arm = coins.choose(&probabilities);
        self.played = Some((arm, probabilities[arm]));
        let mut point = vec![0.0; probabilities.len()];
        point[arm] = 1.0;
        Ok(Play {
            action: Some(arm),
            point,
            propensity: probabilities[arm],
        })
    }

    fn observe(&mut self, answer: f64) -> Result<(), LearnError> {
        let (arm, propensity) = answered(self.played, answer)?;
        let clipped = answer.clamp(-self.rates.reach, self.rates.reach);
        self.log_weights[arm] -= self.rates.learning * clipped / propensity;
        recentre(&mut self.log_weights);
        self.played = None;
        self.rounds += 1;
        Ok(())
    }

    fn policy(&self) -> Option<Vec<f64>> {
        Some(self.probabilities())
    }

    fn rounds(&self) -> u64 {
        self.rounds
    }

    fn state(&self) -> Vec<f64> {
        self.log_weights.clone()
    }

    fn restore(&mut self, rounds: u64, state: &[f64]) -> Result<(), LearnError> {
        check::vector("saved state", state, self.log_weights.len())?;
        self.log_weights.copy_from_slice(state);
        (self.rounds, self.played) = (rounds, None);
        Ok(())
    }
}
