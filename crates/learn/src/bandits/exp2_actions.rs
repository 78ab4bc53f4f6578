//! EXP2 on a finite set of actions in ℝⁿ with linear losses (AS17 §4, card C12): l̃ = ŷ·P⁺a,
//! P = E[aaᵀ].
//!
//! As on arms, with weights q_a ∝ e^{−η⟨Σl̃, a⟩} and exploration, of probability γ, uniform over a
//! barycentric spanner of the actions, in which each has coefficients in [−2, 2]. n is the
//! dimension of their span, K their number. Answers are in units of the range's bound M.
//!
//! **Unbiased**: E[⟨l̃, x⟩] = xᵀP⁺E[a⟨a, l⟩] = ⟨l, x⟩ for x in the span, noise and sign of it
//! dropping out.
//!
//! **Exploration.** Let S have the spanner's actions as columns. P ⪰ (γ/n)·SSᵀ, so
//! xᵀP⁺x ≤ (n/γ)·‖S⁻¹x‖² ≤ (n/γ)·4n for every action x, and by Cauchy and Schwarz
//! |⟨l̃, x⟩| ≤ Ȳ·|xᵀP⁺a| ≤ 4n²Ȳ/γ. The proof below needs η|⟨l̃, x⟩| ≤ 1: **γ = 4n²ηȲ**, which is
//! 4n times what arms need (there p_i ≥ γ/n by itself).
//!
//! **Regret**, in expectation, against losses |⟨l, a⟩| ≤ 1 that do not depend on the plays, with
//! noise of variance v and γ ≤ ½:
//!
//! regret ≤ ln K/η + ηnT(1 + v)/(1−γ) + 2γT + 4(1 + λ) + 4nλ/(T√γ).
//!
//! *Proof.* As on arms: Σ⟨q, l̃⟩ − Σ⟨l̃, k⟩ ≤ ln K/η + ηΣ_t Σ_x q_x⟨l̃, x⟩², and the mean of the
//! last is at most (1 + v)·Σ_x q_x·xᵀP⁺x = (1 + v)·tr(P⁺Q) ≤ (1 + v)n/(1−γ), Q = Σ q_x·xxᵀ ⪯
//! P/(1−γ). Playing p instead of q costs at most 2γ per round. A clipped answer is off by b ≤ λT⁻²
//! on average, so an estimate is off by at most b·Σ_a p_a|xᵀP⁺a| ≤ b·√(xᵀP⁺x) ≤ 2nb/√γ, twice in
//! each of T rounds. ∎
//!
//! **Cost** O(actions·n²) per round: one pass for P, one solve, one pass for the weights.

use super::exp2::Weights;
use super::spanner::{reduced, spanner};
use super::{AnswerSize, BanditLearner, Coins, Exp2Rates, FeedbackNoiseSize, Play};
use crate::{LearnError, check};
use hushstream_account::ParameterError;
use nalgebra::{DMatrix, DVector};

/// EXP2 on actions.
///
/// ```
/// use hushstream_learn::bandits::{Exp2Actions, FeedbackNoiseSize};
///
/// let actions = vec![vec![1.0, 0.0], vec![0.0, 1.0], vec![0.5, 0.5]];
/// let learner = Exp2Actions::tuned(actions, 10_000, FeedbackNoiseSize::Laplace(0.1))?;
/// let total: f64 = learner.probabilities().iter().sum();
/// assert!((total - 1.0).abs() < 1e-12);
/// # Ok::<(), hushstream_learn::LearnError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Exp2Actions {
    weights: Weights,
    actions: Vec<Vec<f64>>,
    reduced: Vec<DVector<f64>>,
    spanner: Vec<usize>,
}

impl Exp2Actions {
    /// A learner on these actions.
    ///
    /// # Errors
    /// Fewer than two actions, of different lengths or not finite; actions that are all zero; rates
    /// out of range.
    pub fn new(actions: Vec<Vec<f64>>, rates: Exp2Rates) -> Result<Self, LearnError> {
        let reduced = coordinates(&actions)?;
        let weights = Weights::new(actions.len(), rates)?;
        let spanner = spanner(&reduced)?;
        Ok(Self {
            weights,
            reduced,
            spanner,
            actions,
        })
    }

    /// A learner on these actions, with the rates for T rounds and this noise.
    ///
    /// # Errors
    /// As [`Exp2Actions::new`].
    pub fn tuned(
        actions: Vec<Vec<f64>>,
        rounds: u64,
        noise: FeedbackNoiseSize,
    ) -> Result<Self, LearnError> {
        let dimension = coordinates(&actions)?[0].len();
        let shape = (dimension, actions.len());
        let factor = 4.0 * dimension.max(1) as f64;
        let rates = Exp2Rates::with_factor(factor, shape, rounds, noise, AnswerSize::ANY);
        Self::new(actions, rates)
    }

    /// The regret bound in units of the range's bound (proof in the source file).
    #[must_use]
    pub fn regret_bound(&self, rounds: u64, noise: FeedbackNoiseSize) -> f64 {
        let (n, t) = (self.spanner.len(), rounds.max(1) as f64);
        let shape = (n, self.actions.len());
        let bias = 4.0 * n as f64 * noise.size() / (t * self.weights.rates.exploration.sqrt());
        self.weights
            .rates
            .bound(shape, rounds, noise, AnswerSize::ANY)
            + bias
    }

    /// η, γ and Ȳ.
    #[must_use]
    pub fn rates(&self) -> Exp2Rates {
        self.weights.rates
    }

    /// p, the probabilities of the actions.
    #[must_use]
    pub fn probabilities(&self) -> Vec<f64> {
        let share = self.weights.rates.exploration / self.spanner.len() as f64;
        let explore = |index: usize| {
            let times = self.spanner.iter().filter(|&&chosen| chosen == index);
            share * times.count() as f64
        };
        self.weights.mixed(explore)
    }

    /// P⁺a for the played action, the factor of its answer.
    fn estimate(&self, action: usize) -> Result<DVector<f64>, LearnError> {
        let size = self.spanner.len();
        let mut second = DMatrix::zeros(size, size);
        for (action, p) in self.reduced.iter().zip(self.probabilities()) {
            second.ger(p, action, action, 1.0);
        }
        let solved = second
            .cholesky()
            .map(|root| root.solve(&self.reduced[action]));
        solved.ok_or_else(|| {
            ParameterError::new("exploration", self.weights.rates.exploration, "larger").into()
        })
    }

    /// The estimate ⟨l̃, x⟩ of the loss of every action from the answer to one play. For tests of
    /// its mean.
    ///
    /// # Errors
    /// Exploration too small to invert P.
    pub fn estimates(&self, action: usize, answer: f64) -> Result<Vec<f64>, LearnError> {
        let direction = self.estimate(action)?;
        Ok(self
            .reduced
            .iter()
            .map(|other| answer * direction.dot(other))
            .collect())
    }
}

/// Coordinates in the actions' span.
fn coordinates(actions: &[Vec<f64>]) -> Result<Vec<DVector<f64>>, LearnError> {
    let [first, _, ..] = actions else {
        let given = actions.len();
        return Err(ParameterError::new("actions", given, "at least 2").into());
    };
    for action in actions {
        check::vector("action", action, first.len())?;
    }
    Ok(reduced(actions))
}

impl BanditLearner for Exp2Actions {
    fn name(&self) -> &'static str {
        "exp2-actions"
    }

    fn play(&mut self, coins: &mut Coins<'_>) -> Result<Play, LearnError> {
        let probabilities = self.probabilities();
        let point = |action: usize| self.actions[action].clone();
        Ok(self.weights.play(&probabilities, coins, point))
    }

    fn observe(&mut self, answer: f64) -> Result<(), LearnError> {
        let (action, _, clipped) = self.weights.answered(answer)?;
        let estimates = self.estimates(action, clipped)?;
        let rate = self.weights.rates.learning;
        for (weight, estimate) in self.weights.log.iter_mut().zip(estimates) {
            *weight -= rate * estimate;
        }
        self.weights.end_round();
        Ok(())
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
