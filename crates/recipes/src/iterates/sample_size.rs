//! The number of records that `pol` needs for a stated error (JKT12's Theorem 6, recomputed).
//!
//! **Claim.** For records drawn independently, with α = ε_g/ρ² and T records, with probability 1 −
//! γ the released model's expected loss is at most ε_g above the best of a ball of radius ρ, if
//!
//! ε_g/2 + L·σ·(√d + √(2 ln(2/γ))) + R/T + (4/T)·√(L'²R·ln(8 ln T/γ)/α) + max(16L'²/α, 12ρL')·ln(8
//! ln T/γ)/T ≤ ε_g,
//!
//! with σ = κL(H_T − 1)/(αTμ), L' = L + αρ and R = αρ²/2 + L'²(1 + ln T)/(2α). *Proof.* The
//! regulariser costs αρ²/2 = ε_g/2. The noise moves the model by at most σ(√d + √(2 ln(2/γ))) with
//! probability 1 − γ/2 (Gaussian concentration). The rest is Kakade and Tewari's Theorem 2 for the
//! average of iterates of α-strongly convex losses of range at most 2ρL', at γ/2, with the regret
//! of implicit steps (`regret.rs`). ∎
//!
//! The paper's statement lacks the 1/α of erratum J12 in σ, which here is ρ²/ε_g: its first term
//! grows like 1/ε_g, in truth like 1/ε_g². And ρ is a public number, not learned from the data
//! (J13).

use crate::error::RecipeError;
use hushstream_account::{Adjacency, Budget, Mu, ParameterError};

/// The question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PolQuestion {
    /// ε_g: how far above the best loss is acceptable.
    pub error: f64,
    /// γ: with which probability more is acceptable.
    pub failing: f64,
    /// L: the loss is so steep.
    pub lipschitz: f64,
    /// ρ: the best model is at most so long. Public.
    pub radius: f64,
    /// d.
    pub dimension: u64,
    /// What may be spent.
    pub budget: Budget,
    /// The neighbouring relation.
    pub adjacency: Adjacency,
}

impl PolQuestion {
    /// The smallest T that suffices.
    ///
    /// # Errors
    /// Numbers out of range; δ = 0; more than 2^60 records.
    pub fn records(&self) -> Result<u64, RecipeError> {
        for (parameter, given) in [
            ("error", self.error),
            ("lipschitz", self.lipschitz),
            ("radius", self.radius),
        ] {
            if !(given > 0.0 && given.is_finite()) {
                return Err(
                    ParameterError::new(parameter, given, "a positive finite number").into(),
                );
            }
        }
        if !(self.failing > 0.0 && self.failing < 1.0) {
            return Err(ParameterError::new(
                "probability of failing",
                self.failing,
                "above 0 and below 1",
            )
            .into());
        }
        let mu = Mu::within(self.budget)
            .map_err(|error| RecipeError::Unfit(error.to_string()))?
            .get();
        // From T = 16 on the bound falls with T.
        let (mut too_few, mut enough) = (15_u64, 16_u64);
        while self.bound(enough, mu) > self.error {
            if enough >= 1 << 60 {
                return Err(ParameterError::new(
                    "error",
                    self.error,
                    "larger: more than 2^60 records would be needed",
                )
                .into());
            }
            (too_few, enough) = (enough, 2 * enough);
        }
        while enough - too_few > 1 {
            let middle = u64::midpoint(too_few, enough);
            if self.bound(middle, mu) > self.error {
                too_few = middle;
            } else {
                enough = middle;
            }
        }
        Ok(enough)
    }

    /// The smallest ε_g that T records suffice for; `error` is not read.
    ///
    /// # Errors
    /// Numbers out of range; δ = 0; more than ten thousand times the trivial 2ρL.
    pub fn least_error(mut self, records: u64) -> Result<f64, RecipeError> {
        let most = 2e4 * self.radius * self.lipschitz;
        self.error = most;
        self.records()?;
        let mu = Mu::within(self.budget).map_err(|error| RecipeError::Unfit(error.to_string()))?;
        // ε_g grows and its bound, but for half of ε_g, falls.
        let mut enough = |error: f64| {
            self.error = error;
            self.bound(records.max(16), mu.get()) <= error
        };
        let (mut low, mut high) = (0.0_f64, most);
        if !enough(high) {
            return Err(ParameterError::new("records", records, "more").into());
        }
        for _ in 0..100 {
            let middle = f64::midpoint(low, high);
            if enough(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        Ok(high)
    }

    /// α = ε_g/ρ².
    #[must_use]
    pub fn curvature(&self) -> f64 {
        self.error / (self.radius * self.radius)
    }

    fn bound(&self, records: u64, mu: f64) -> f64 {
        let (t, alpha, rho) = (records as f64, self.curvature(), self.radius);
        let harmonic = t.ln() + 0.577_215_664_9 + 0.5 / t;
        let sigma = self.adjacency.kappa() * self.lipschitz * (harmonic - 1.0) / (alpha * t * mu);
        let noise = (self.dimension as f64).sqrt() + (2.0 * (2.0 / self.failing).ln()).sqrt();
        let steep = self.lipschitz + alpha * rho;
        let regret = 0.5 * alpha * rho * rho + steep * steep * (1.0 + t.ln()) / (2.0 * alpha);
        let rare = (8.0 * t.ln() / self.failing).ln();
        0.5 * self.error
            + self.lipschitz * sigma * noise
            + regret / t
            + 4.0 / t * (steep * steep * regret * rare / alpha).sqrt()
            + (16.0 * steep * steep / alpha).max(12.0 * rho * steep) * rare / t
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(error: f64) -> PolQuestion {
        PolQuestion {
            error,
            failing: 0.01,
            lipschitz: 1.0,
            radius: 1.0,
            dimension: 54,
            budget: Budget::approx(1.0, 1e-6).unwrap(),
            adjacency: Adjacency::ReplaceOne,
        }
    }

    #[test]
    fn the_answer_is_the_smallest_that_suffices() {
        for error in [0.5, 0.1, 0.02] {
            let question = question(error);
            let mu = Mu::within(question.budget).unwrap().get();
            let records = question.records().unwrap();
            assert!(question.bound(records, mu) <= error);
            assert!(question.bound(records - 1, mu) > error);
        }
        // The other way round.
        let records = question(0.1).records().unwrap();
        let error = question(7.0).least_error(records).unwrap();
        assert!((error / 0.1 - 1.0).abs() < 1e-3, "{error}");
        // Four times the records, and a little more, for half the error: not twice, as the paper's
        // first term has it.
        let few = question(0.1).records().unwrap() as f64;
        let many = question(0.05).records().unwrap() as f64;
        assert!((3.9..5.0).contains(&(many / few)), "{many} {few}");
    }

    #[test]
    fn bad_questions_are_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(question(bad).records().is_err());
        }
        let mut pure = question(0.1);
        pure.budget = Budget::pure(1.0).unwrap();
        assert!(pure.records().is_err());
        let mut sure = question(0.1);
        sure.failing = 0.0;
        assert!(sure.records().is_err());
        assert!(question(1e-12).records().is_err());
    }
}
