//! Sensitivity when one person contributes several times.
//!
//! A person takes part in at most k items, any two at least b steps apart. **Claim**: for a
//! non-negative, non-increasing Toeplitz C the largest change of Cx, in units of the largest change
//! of one item, is ‖Σ_{l<k'} C[:, l·b]‖ with k' = min(k, ⌈n/b⌉).
//!
//! *Proof.* Let items i_0 < i_1 < … change by vectors of norm at most 1. The squared change is
//! Σ_{l,m} ⟨C_{i_l}, C_{i_m}⟩·⟨v_l, v_m⟩. Entries of C are non-negative, so equal v are worst, and
//! one more participation never lowers the sum. For p ≤ q, ⟨C_p, C_q⟩ = Σ_{r=0}^{n−1−q}
//! c_r·c_{r+q−p} falls in q (fewer terms, each ≥ 0) and in q − p (c is non-increasing). Any allowed
//! pattern has i_l ≥ l·b and i_m − i_l ≥ (m−l)·b, so each of its inner products is at most that of
//! the pattern 0, b, 2b, …; and at most ⌈n/b⌉ items fit in n steps. ∎
//!
//! [`BltParameters`] guarantees the premise, so there is no other case.
//!
//! **Evaluation.** One participation and the ℓ−1 quiet steps after it turn the buffers B into DB +
//! g and cost the energy BᵀQB + 2pᵀB + e, by summing (Σ_j ω_jθ_j^r·…)² over r. Two such pieces
//! compose into one of the same form, so k' pieces take O(log k') compositions. Everything is
//! positive: nothing cancels. D = θ^ℓ is computed afresh for each length: its exponent is at most
//! 745 where it has not underflowed, so its relative error is below 2¹²u. At most 81 compositions
//! are nested, each uses D twice: below 2⁻³³ altogether (u = 2⁻⁵³).

use super::error::BltError;
use super::geometric::{geometric, joint};
use super::parameters::BltParameters;

/// What a stretch of time does to the buffers, and the energy that it adds.
#[derive(Clone)]
struct Stretch {
    steps: u64,
    /// Q, row by row.
    quadratic: Vec<Vec<f64>>,
    /// p.
    linear: Vec<f64>,
    /// e.
    constant: f64,
    /// g.
    gain: Vec<f64>,
}

impl BltParameters {
    /// The sensitivity to `participations` items at least `separation` apart among `releases`, to
    /// nearest (relative error below 2⁻³³).
    ///
    /// # Errors
    /// [`BltError::Releases`] for a number of releases, participations or steps of separation
    /// outside 1..=2⁴⁰.
    pub fn sensitivity_with(
        &self,
        releases: u64,
        participations: u64,
        separation: u64,
    ) -> Result<f64, BltError> {
        BltError::check_releases(releases)?;
        BltError::check_releases(participations)?;
        BltError::check_releases(separation)?;
        let count = participations.min(releases.div_ceil(separation));
        if count == 1 {
            return Ok(self.sensitivity(releases));
        }
        // count − 1 full stretches, built from their binary digits, then one to the end.
        let mut power = self.stretch(separation);
        let mut whole: Option<Stretch> = None;
        let mut left = count - 1;
        while left > 0 {
            if left & 1 == 1 {
                whole = Some(match whole {
                    Some(earlier) => self.join(&earlier, &power),
                    None => power.clone(),
                });
            }
            left >>= 1;
            if left > 0 {
                power = self.join(&power, &power);
            }
        }
        let last = self.stretch(releases - (count - 1) * separation);
        let whole = whole.map_or_else(|| last.clone(), |earlier| self.join(&earlier, &last));
        Ok(whole.constant.sqrt())
    }

    /// One participation, then `steps` − 1 quiet steps.
    fn stretch(&self, steps: u64) -> Stretch {
        // Σ_{r<t} θ_i^r·θ_j^r, weighted.
        let energy = |t: u64| -> Vec<Vec<f64>> {
            self.pairs()
                .map(|(a, w)| {
                    self.pairs()
                        .map(|(b, v)| w * v * geometric(joint(a, b), t))
                        .collect()
                })
                .collect()
        };
        let after = energy(steps - 1);
        // First row: 1 + ωB. Later rows: Σ_j ω_jθ_j^{r−1}(θ_jB_j + 1).
        let linear = self
            .pairs()
            .zip(&after)
            .map(|((a, w), row)| w + (1.0 - a) * row.iter().sum::<f64>());
        Stretch {
            steps,
            linear: linear.collect(),
            constant: 1.0 + after.iter().flatten().sum::<f64>(),
            quadratic: energy(steps),
            gain: self.powers(steps - 1),
        }
    }

    /// θ_j^t.
    fn powers(&self, t: u64) -> Vec<f64> {
        let power = |a: f64| {
            if t == 0 {
                1.0
            } else {
                libm::exp(t as f64 * libm::log1p(-a))
            }
        };
        self.decay().iter().map(|&a| power(a)).collect()
    }

    /// `first`, then `second`.
    fn join(&self, first: &Stretch, second: &Stretch) -> Stretch {
        let (m, decay) = (self.buffers(), self.powers(first.steps));
        let mut joined = first.clone();
        joined.steps += second.steps;
        joined.constant += second.constant;
        for i in 0..m {
            let through: f64 = (0..m).map(|j| second.quadratic[i][j] * first.gain[j]).sum();
            joined.constant += first.gain[i] * (through + 2.0 * second.linear[i]);
            joined.linear[i] += decay[i] * (through + second.linear[i]);
            for j in 0..m {
                joined.quadratic[i][j] += decay[i] * second.quadratic[i][j] * decay[j];
            }
        }
        joined.gain = self
            .powers(second.steps)
            .iter()
            .zip(&first.gain)
            .zip(&second.gain)
            .map(|((d, g), h)| d * g + h)
            .collect();
        joined
    }
}

#[cfg(test)]
mod tests {
    use super::super::parameters::tests::vector;
    use super::*;

    /// ‖Σ_l C[:, l·b]‖ by running the recursion step by step.
    fn by_steps(blt: &BltParameters, n: u64, k: u64, b: u64) -> f64 {
        let mut buffers = vec![0.0; blt.buffers()];
        let mut square = 0.0;
        for t in 0..n {
            let x = if t % b == 0 && t / b < k { 1.0 } else { 0.0 };
            let y: f64 = x + blt
                .weight()
                .iter()
                .zip(&buffers)
                .map(|(w, s)| w * s)
                .sum::<f64>();
            square += y * y;
            for (s, a) in buffers.iter_mut().zip(blt.decay()) {
                *s = *s - a * *s + x;
            }
        }
        square.sqrt()
    }

    #[test]
    fn composition_equals_the_recursion() {
        let edge = BltParameters::new(vec![0.2, 1.0], vec![0.3, 0.7]).unwrap();
        for blt in [vector(), edge] {
            for n in [1, 2, 7, 64, 1000] {
                for k in [1, 2, 3, 5, 37, 1000] {
                    for b in [1, 2, 3, 10, 63, 64, 65] {
                        let (got, slow) = (
                            blt.sensitivity_with(n, k, b).unwrap(),
                            by_steps(&blt, n, k, b),
                        );
                        assert!(
                            (got / slow - 1.0).abs() < 1e-12,
                            "{n} {k} {b}: {got} {slow}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn never_more_than_k_times_one() {
        let (blt, n) = (vector(), 1 << 20);
        for (k, b) in [(2, 1), (10, 1000), (1 << 10, 1 << 10), (1 << 20, 1)] {
            let several = blt.sensitivity_with(n, k, b).unwrap();
            assert!(several <= k as f64 * blt.sensitivity(n) && several >= (k as f64).sqrt());
        }
        assert!((blt.sensitivity_with(n, 1, 1).unwrap() - blt.sensitivity(n)).abs() < 1e-15);
        assert!(blt.sensitivity_with(n, 0, 1).is_err() && blt.sensitivity_with(n, 1, 0).is_err());
    }
}
