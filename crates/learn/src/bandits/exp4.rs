//! EXP4: a bandit with the advice of experts (Auer et al. 2002), on noisy answers.
//!
//! Expert j advises arm a_j(t) in round t. Advice is public: a function of the round that is fixed
//! in advance, as calendars, prices and published models are. What an expert advises about a
//! *person* is private: there the experts themselves are the arms, and `exp2-batched` on them looks
//! at the answer to the one that is followed.
//!
//! q ∝ e^{−η·Σ l̂}; p = (1−γ)·Σ_j q_j·e_{a_j(t)} + γ/K; play arm i ~ p; with ŷ the answer clipped
//! to ±Ȳ, l̂_j = ŷ/p_i for every expert that advised i, and 0 for the others.
//!
//! **Regret** of the plays against the best of N experts, in expectation, for losses fixed in
//! advance, with noise of variance v and η·K·Ȳ = γ ≤ ½:
//!
//! regret ≤ ln N/η + ηKT(1 + v)/(1−γ) + 2γT + 4(1 + λ).
//!
//! It has √(KT ln N), where the experts as arms have √(NT ln N). *Proof.* As in `exp2.rs`: l̂_j has
//! the mean of the arm that j advises, up to clipping, and |ηl̂_j| ≤ ηKȲ/γ = 1. The second moment
//! is E Σ_j q_j·l̂_j² = Σ_i (Σ_{j: a_j = i} q_j)·E[ŷ²]/p_i ≤ K(1+v)/(1−γ), since p_i is at least
//! (1−γ) times the weight of those who advised i. Playing p instead of q costs 2γ a round at most,
//! and clipping what it costs there. ∎
//!
//! **Cost** O(N + K) a round; the state is N log-weights.

use super::exp2::Weights;
use super::{AnswerSize, BanditLearner, Coins, Exp2Rates, FeedbackNoiseSize, Play};
use crate::LearnError;
use hushstream_account::ParameterError;
use std::fmt;
use std::sync::Arc;

/// The arm that expert `j` advises in round `t`, from 0.
pub type PublicAdvice = Arc<dyn Fn(u64, usize) -> usize + Send + Sync>;

/// EXP4 on arms, with public advice.
///
/// ```
/// use hushstream_learn::bandits::{BanditLearner, Coins, Exp4, FeedbackNoiseSize};
/// use std::sync::Arc;
///
/// // Three experts on two arms: always the first, always the second, in turns.
/// let advice = Arc::new(|t: u64, j: usize| if j == 2 { (t % 2) as usize } else { j });
/// let rates = Exp4::rates((3, 2), 1000, FeedbackNoiseSize::Laplace(0.5));
/// let mut learner = Exp4::new((3, 2), advice, rates)?;
/// let mut bits = || 0;
/// let play = learner.play(&mut Coins::new(&mut bits))?; // in round 0 two of three advise arm 0
/// assert!(play.action == Some(0) && play.propensity > 0.5);
/// # Ok::<(), hushstream_learn::LearnError>(())
/// ```
#[derive(Clone)]
pub struct Exp4 {
    weights: Weights,
    advice: PublicAdvice,
    arms: usize,
}

impl fmt::Debug for Exp4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arms = &self.arms;
        write!(f, "Exp4 {{ weights: {:?}, arms: {arms} }}", self.weights)
    }
}

impl Exp4 {
    /// The rates for N experts on K arms, the pair (N, K), and so many rounds.
    #[must_use]
    pub fn rates(
        (experts, arms): (usize, usize),
        rounds: u64,
        noise: FeedbackNoiseSize,
    ) -> Exp2Rates {
        Exp2Rates::with_factor(1.0, (arms, experts), rounds, noise, AnswerSize::ANY)
    }

    /// The regret bound at these rates, in units of the range's bound (proof in the source file).
    #[must_use]
    pub fn regret_bound(
        rates: &Exp2Rates,
        (experts, arms): (usize, usize),
        rounds: u64,
        noise: FeedbackNoiseSize,
    ) -> f64 {
        rates.bound((arms, experts), rounds, noise, AnswerSize::ANY)
    }

    /// A learner for N experts on K arms, the pair (N, K). Advice that names no arm is taken for
    /// the last one.
    ///
    /// # Errors
    /// Fewer than two experts or arms; rates out of range.
    pub fn new(
        (experts, arms): (usize, usize),
        advice: PublicAdvice,
        rates: Exp2Rates,
    ) -> Result<Self, LearnError> {
        for (parameter, given) in [("experts", experts), ("arms", arms)] {
            if given < 2 {
                return Err(ParameterError::new(parameter, given, "at least 2").into());
            }
        }
        Ok(Self {
            weights: Weights::new(experts, rates)?,
            advice,
            arms,
        })
    }

    /// q, the probabilities of the experts.
    #[must_use]
    pub fn experts(&self) -> Vec<f64> {
        let kept = 1.0 - self.weights.rates.exploration;
        let shares = self.weights.mixed(|_| 0.0).into_iter();
        shares.map(|share| share / kept).collect()
    }

    /// p, the probabilities of the arms in the present round.
    #[must_use]
    pub fn probabilities(&self) -> Vec<f64> {
        let explored = self.weights.rates.exploration / self.arms as f64;
        let mut arms = vec![explored; self.arms];
        for (expert, share) in self.weights.mixed(|_| 0.0).into_iter().enumerate() {
            arms[self.advised(expert)] += share;
        }
        arms
    }

    fn advised(&self, expert: usize) -> usize {
        (self.advice)(self.weights.rounds, expert).min(self.arms - 1)
    }
}

impl BanditLearner for Exp4 {
    fn name(&self) -> &'static str {
        "exp4"
    }

    fn play(&mut self, coins: &mut Coins<'_>) -> Result<Play, LearnError> {
        let probabilities = self.probabilities();
        Ok(self.weights.play_arm(&probabilities, coins))
    }

    fn observe(&mut self, answer: f64) -> Result<(), LearnError> {
        let (arm, propensity, clipped) = self.weights.answered(answer)?;
        let loss = self.weights.rates.learning * clipped / propensity;
        for expert in 0..self.weights.log.len() {
            if self.advised(expert) == arm {
                self.weights.log[expert] -= loss;
            }
        }
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
