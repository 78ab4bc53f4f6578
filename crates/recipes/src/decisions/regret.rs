//! The certified regret of `igw`, and the width of `linucb-jdp`.
//!
//! **Setting.** Contexts and rewards of any kind with E[reward | context, a] = ½ + ⟨θ_a, φ⟩,
//! ‖θ_a‖ ≤ S; rewards in [0, 1], so their deviations from the mean are ½-subgaussian. Contexts may
//! depend on everything before.
//!
//! **Noise.** s bounds the deviation of a coordinate of any release. The isometric layout makes E,
//! the noise of a block's matrix, symmetric with variance s² on the diagonal and s²/2 off it:
//! E = (s/√2)·GOE. By Sudakov and Fernique E λ_max(GOE) ≤ 2√p, and λ_max is s-Lipschitz in the
//! coordinates' standard normal noises. So for all N releases and K blocks, but with probability β,
//! ‖E‖ ≤ √2·s(√p + √ln(2NK/β)); the noise of û has p coordinates of deviation sY/(κR), and but
//! with probability β ‖e‖ ≤ (sY/(κR))(√p + √(2 ln(NK/β))). The truncation of items is added in its
//! worst case: Γ and η. Both hold at once but with probability 2β.
//!
//! **Chance.** ‖ξ‖_{(V+Γ)⁻¹} ≤ X = ½√(2 ln(K/β) + p·ln(1 + TR²/(pΓ))) for all arms and rounds, but
//! with probability β (Abbasi-Yadkori, Pál and Szepesvári 2011, Theorem 1, with
//! det(V + Γ)/Γᵖ ≤ (1 + TR²/(pΓ))ᵖ). Features are rounded before they are summed: V is that of
//! rounded ones, and a mean reward is linear in those up to b = S·√p·R/2¹², to which Σφ·b adds at
//! most b√T in that norm. X includes it.
//!
//! **igw.** By the lemma the expected regret is at most Σ_t 2(K−1)/γ_t + Σ_t (γ_t/4)·E(ŷ − f)² of
//! the played arms. With the error bound of `arms_least_squares.rs`, f = max(1, 2Γ/λ), W = √f·X +
//! (η + (2Γ+λ)S)/√λ: |ŷ − f|² ≤ min(1, W²f·‖φ‖²_{(V_τ+Γ)⁻¹}), V_τ the matrix that the policy knows,
//! at most k records old. V_t + Γ ⪯ V_τ + Γ + kR² ⪯ (1 + kR²/Γ)(V_τ + Γ), so
//! (V_τ + Γ)⁻¹ ⪯ (1 + kR²/Γ)(V_t + Γ)⁻¹, and Σmin(1, ‖φ_t‖²_{(V_t+Γ)⁻¹}) ≤
//! 2Kp·ln(1 + TR²/(KpΓ)) (the elliptical potential, arm by arm, and concavity). Where one of the
//! three bounds fails, with probability at most 3β, an error is at most 1. With β = 1/T:
//!
//! regret ≤ Σ_t 2(K−1)/γ_t + (γ_T/4)·(max(1, W²f(1 + kR²/Γ))·2Kp·ln(1 + TR²/(KpΓ)) + 3).
//!
//! **linucb-jdp** has M = V̂⁺ + 2Γ ⪰ V + Γ and A = V̂⁺ − V + 2Γ with 0 ⪯ A ⪯ M, ‖A‖ ≤ 4Γ; so
//! ‖Aθ‖²_{M⁻¹} = θᵀAM⁻¹Aθ ≤ θᵀAθ ≤ 4ΓS², and |⟨φ, θ̂ − θ⟩| ≤ ‖φ‖_{M⁻¹}·(X + η/√Γ + 2S√Γ).

use super::recipe::DecisionsRecipe;
use crate::catalogue::RecipeName;
use hushstream_mechanism::Participation;
use hushstream_mechanism::sums::Noise;

/// What bounds noise and chance.
pub(super) struct Bounds {
    /// Γ.
    pub(super) matrix: f64,
    /// η.
    pub(super) target: f64,
    /// X.
    pub(super) chance: f64,
    /// S.
    pub(super) size: f64,
}

impl DecisionsRecipe {
    /// Γ, η and X with β = 1/T, and S = 1/R.
    pub(super) fn bounds(&self) -> Bounds {
        let (moments, plan) = (self.map().moments(), self.plan());
        let (p, arms) = (moments.features() as f64, self.map().arms() as f64);
        let rounds = self.request().rounds as f64;
        let length = moments.bounds().features();
        let s = plan.prefix_sd_max();
        let all = plan.request().releases as f64 * arms * rounds;
        let lost = plan.truncation();
        let size = 1.0 / length;
        let rounded = size * p.sqrt() * length / 4096.0 * rounds.sqrt();
        let spectral = p.sqrt() + (2.0 * all).ln().sqrt();
        let matrix = std::f64::consts::SQRT_2 * s * spectral + lost;
        let target = s * (p.sqrt() + (2.0 * all.ln()).sqrt()) + lost;
        let potential = (rounds * length * length / (p * matrix)).ln_1p();
        Bounds {
            matrix,
            target: target / moments.target_scale(),
            chance: 0.5 * (2.0 * (arms * rounds).ln() + p * potential).sqrt() + rounded,
            size,
        }
    }

    /// A bound on the expected regret of `igw`, in rewards of 0 to 1, with a known horizon; rewards
    /// are linear in the features with ‖θ‖ ≤ 1/R, and feedback comes within the batch. None where
    /// persons are limited: records beyond a limit are not learned.
    #[must_use]
    pub fn regret_bound(&self) -> Option<f64> {
        let request = self.request();
        let is_igw = request.recipe == RecipeName::Igw;
        let is_normal = self.plan().request().noise == Noise::Gaussian;
        let learns_all = self.plan().request().participation == Participation::OncePerRecord;
        if !is_igw
            || !is_normal
            || !learns_all
            || request.horizon_unknown
            || self.plan().request().kind.needs_no_horizon()
        {
            return None;
        }
        let (moments, arms) = (self.map().moments(), self.map().arms() as f64);
        let (p, area) = (
            moments.features() as f64,
            moments.bounds().features().powi(2),
        );
        let Bounds {
            matrix,
            target,
            chance,
            size,
        } = self.bounds();
        let ridge = self.ridge();
        let factor = (2.0 * matrix / ridge).max(1.0);
        let width =
            factor.sqrt() * chance + (target + (2.0 * matrix + ridge) * size) / ridge.sqrt();
        let late = 1.0 + (self.batch() * self.every()) as f64 * area / matrix;
        let rounds = request.rounds as f64;
        let potential = 2.0 * arms * p * (rounds * area / (arms * p * matrix)).ln_1p();
        let errors = (width * width * factor * late).max(1.0) * potential + 3.0;
        let releases = self.plan().request().releases;
        let explored: f64 = (0..=releases).map(|t| 1.0 / self.gamma(t)).sum();
        let explored = 2.0 * (arms - 1.0) * self.batch() as f64 * explored;
        let most = (0..=releases).map(|t| self.gamma(t)).fold(0.0, f64::max);
        Some(explored + most / 4.0 * errors)
    }

    /// The regret of a round that the lemma gives on average, in rewards of 0 to 1, if features
    /// were spread evenly: what γ is chosen by, and no bound.
    #[must_use]
    pub fn forecast(&self) -> f64 {
        let arms = self.map().arms() as f64;
        let releases = self.plan().request().releases;
        let round = |t: u64| {
            let gamma = self.gamma(t);
            let error = self.error(t, self.deviation(t), self.ridge());
            2.0 * (arms - 1.0) / gamma + gamma / 4.0 * error * error
        };
        (0..releases).map(round).sum::<f64>() / releases as f64
    }

    /// The ridge 2Γ and the width of `linucb-jdp`.
    #[must_use]
    pub fn optimism(&self) -> (f64, f64) {
        let Bounds {
            matrix,
            target,
            chance,
            size,
        } = self.bounds();
        let width = chance + target / matrix.sqrt() + 2.0 * size * matrix.sqrt();
        (2.0 * matrix, width)
    }
}
