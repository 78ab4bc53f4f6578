//! The parameters of a BLT strategy, and what they cost: sensitivity and error in closed form.
//!
//! C is lower-triangular Toeplitz with c_0 = 1, c_k = Σ_j ω_j·θ_j^{k−1}. Stored are α_j = 1 − θ_j
//! (`decay`), because θ itself would lose the digits that matter (α is 10⁻⁶ for a million
//! releases), and ω_j (`weight`).
//!
//! **Demanded**: 0 < α_1 < α_2 < … ≤ 1, ω_j > 0, Σω_j ≤ 1. Then c_0 = 1 ≥ Σω_j = c_1, and c_{k+1} ≤
//! c_k as every θ_j lies in [0, 1): C is non-negative and non-increasing, which the proof for
//! several participations needs, and the whole family that the optimiser searches satisfies it.
//! Nothing else is accepted, so nothing else needs a weaker bound.
//!
//! **Sensitivity**, one participation. Column i of C holds c_0 … c_{n−1−i}, so the first column is
//! the longest:
//!
//! sens² = 1 + Σ_{k=1}^{n−1} (Σ_j ω_jθ_j^{k−1})² = 1 + Σ_{ij} ω_iω_j·G(1 − θ_iθ_j, n−1), G the
//! [geometric sum](super::geometric).
//!
//! All terms are positive: 3u for 1 − θ_iθ_j, 7u in G, 3u for the products, at most 64u for the sum
//! and 1u for the root make a relative error below 2⁻⁴⁶ (u = 2⁻⁵³).
//!
//! **Error.** A = (ones below and on the diagonal), B = A·C⁻¹ is Toeplitz with coefficients b_k,
//! see [`BltInverse`]; the t-th prefix sum carries noise of standard deviation sqrt(Σ_{k<t} b_k²)
//! for noise of standard deviation 1 in the rows. It grows with t.

use serde::{Deserialize, Serialize};

use super::error::BltError;
use super::geometric::{geometric, joint};
use super::inverse::BltInverse;

/// The largest number of buffers.
pub const MAX_BUFFERS: usize = 8;

/// The largest number of releases, 2⁴⁰, for which the closed forms keep their stated precision.
pub const MAX_RELEASES: u64 = 1 << 40;

/// The decays 1 − θ_j, ascending, and weights ω_j of a BLT strategy. (What must come back to the
/// bit, such as the strategy of a running stream, is stored as [`DyadicBlt`](super::DyadicBlt),
/// whose numbers are integers.)
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked", into = "Unchecked")]
pub struct BltParameters {
    decay: Vec<f64>,
    weight: Vec<f64>,
}

/// What a file holds, before it is checked.
#[derive(Serialize, Deserialize)]
struct Unchecked {
    decay: Vec<f64>,
    weight: Vec<f64>,
}

impl TryFrom<Unchecked> for BltParameters {
    type Error = BltError;

    fn try_from(raw: Unchecked) -> Result<Self, BltError> {
        Self::new(raw.decay, raw.weight)
    }
}

impl From<BltParameters> for Unchecked {
    fn from(checked: BltParameters) -> Self {
        Self {
            decay: checked.decay,
            weight: checked.weight,
        }
    }
}

impl BltParameters {
    /// Decays 1 − θ_j, strictly ascending in (0, 1], and weights ω_j > 0 with Σω_j ≤ 1.
    ///
    /// # Errors
    /// A [`BltError`] that names the first condition missed.
    pub fn new(decay: Vec<f64>, weight: Vec<f64>) -> Result<Self, BltError> {
        if !(1..=MAX_BUFFERS).contains(&decay.len()) {
            return Err(BltError::Buffers { given: decay.len() });
        }
        if decay.len() != weight.len() {
            return Err(BltError::Lengths {
                decays: decay.len(),
                weights: weight.len(),
            });
        }
        let mut below = 0.0;
        for (index, &given) in decay.iter().enumerate() {
            // Written so that a NaN fails.
            if !(given > below && given <= 1.0) {
                return Err(BltError::Decay { index, given });
            }
            below = given;
        }
        for (index, &given) in weight.iter().enumerate() {
            if !(given > 0.0 && given.is_finite()) {
                return Err(BltError::Weight { index, given });
            }
        }
        let given = weight.iter().sum::<f64>();
        if given > 1.0 {
            return Err(BltError::TotalWeight { given });
        }
        Ok(Self { decay, weight })
    }

    /// The decays 1 − θ_j, ascending: the slowest buffer first.
    #[must_use]
    pub fn decay(&self) -> &[f64] {
        &self.decay
    }

    /// The weights ω_j.
    #[must_use]
    pub fn weight(&self) -> &[f64] {
        &self.weight
    }

    /// The number of buffers: vectors of state.
    #[must_use]
    pub fn buffers(&self) -> usize {
        self.decay.len()
    }

    /// Pairs (1 − θ_j, ω_j).
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (f64, f64)> + Clone + '_ {
        self.decay.iter().copied().zip(self.weight.iter().copied())
    }

    /// c_k, the k-th coefficient of the strategy.
    #[must_use]
    pub fn coefficient(&self, k: u64) -> f64 {
        match k {
            0 => 1.0,
            // θ⁰ = 1 also where θ = 0.
            1 => self.weight.iter().sum(),
            _ => self
                .pairs()
                .map(|(a, w)| w * libm::exp((k - 1) as f64 * libm::log1p(-a)))
                .sum(),
        }
    }

    /// The L2 norm of the longest column of C for `releases` rows: the sensitivity to one item, to
    /// nearest (relative error below 2⁻⁴⁶).
    #[must_use]
    pub fn sensitivity(&self, releases: u64) -> f64 {
        let rows = releases.saturating_sub(1);
        let mut square = 1.0;
        for (a, w) in self.pairs() {
            for (b, v) in self.pairs() {
                square += w * v * geometric(joint(a, b), rows);
            }
        }
        square.sqrt()
    }

    /// The parameters of C⁻¹ and of B = A·C⁻¹.
    #[must_use]
    pub fn inverse(&self) -> BltInverse {
        BltInverse::of(self)
    }

    /// The standard deviation of the `t`-th prefix sum per unit of noise in the rows. (For many
    /// values of t call [`BltInverse::prefix_sd`], which does not solve for the inverse again.)
    #[must_use]
    pub fn prefix_sd(&self, t: u64) -> f64 {
        self.inverse().prefix_sd(t)
    }

    /// sens(n)·prefix_sd(n): the largest standard deviation of a prefix sum among `releases`, in
    /// units of Δ/μ.
    #[must_use]
    pub fn worst_prefix_sd(&self, releases: u64) -> f64 {
        self.sensitivity(releases) * self.prefix_sd(releases)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The published test vector: four buffers for 2²⁰ releases.
    pub(in super::super) fn vector() -> BltParameters {
        BltParameters::new(
            vec![1.723e-6, 7.823e-5, 2.903e-3, 0.1023],
            vec![1.9907e-3, 9.9988e-3, 6.0750e-2, 0.32465],
        )
        .unwrap()
    }

    #[test]
    fn test_vector() {
        let (blt, n) = (vector(), 1 << 20);
        assert!(
            (blt.sensitivity(n) - 2.31911).abs() < 1e-5,
            "{}",
            blt.sensitivity(n)
        );
        assert!(
            (blt.prefix_sd(n) - 2.39936).abs() < 1e-5,
            "{}",
            blt.prefix_sd(n)
        );
        assert!((blt.worst_prefix_sd(n) - 5.56437).abs() < 1e-5);
    }

    #[test]
    fn refusals() {
        let new =
            |decay: &[f64], weight: &[f64]| BltParameters::new(decay.to_vec(), weight.to_vec());
        assert!(matches!(new(&[], &[]), Err(BltError::Buffers { given: 0 })));
        assert!(matches!(
            new(&[0.1; 9], &[0.1; 9]),
            Err(BltError::Buffers { given: 9 })
        ));
        assert!(matches!(
            new(&[0.1], &[]),
            Err(BltError::Lengths {
                decays: 1,
                weights: 0
            })
        ));
        for bad in [0.0, -0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert!(matches!(
                new(&[bad], &[0.1]),
                Err(BltError::Decay { index: 0, .. })
            ));
        }
        assert!(matches!(
            new(&[0.1, 0.1], &[0.1, 0.1]),
            Err(BltError::Decay { index: 1, .. })
        ));
        for bad in [0.0, -0.1, f64::NAN, f64::INFINITY] {
            assert!(matches!(
                new(&[0.1], &[bad]),
                Err(BltError::Weight { index: 0, .. })
            ));
        }
        assert!(matches!(
            new(&[0.1, 0.2], &[0.6, 0.5]),
            Err(BltError::TotalWeight { .. })
        ));
        assert!(new(&[0.5, 1.0], &[0.5, 0.5]).is_ok());
    }

    #[test]
    fn a_file_is_checked_like_a_call() {
        let text = serde_json::to_string(&vector()).unwrap();
        assert_eq!(
            serde_json::from_str::<BltParameters>(&text).unwrap(),
            vector()
        );
        assert!(
            serde_json::from_str::<BltParameters>(r#"{"decay":[0.1],"weight":[2.0]}"#).is_err()
        );
    }
}
