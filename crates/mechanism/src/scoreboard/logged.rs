//! Off-policy estimates, for the operator only: the loss of a policy on a log that another policy
//! made.
//!
//! Row t has arm a, loss ℓ and weight w = 1/π(a); the policy p is the learner's at that row, a
//! function of releases before it. With c = p(a)·w:
//!
//! | estimate | is | because |
//! |---|---|---|
//! | inverse propensity (IPS) | Σ cℓ/n | E[cℓ] = Σ_a p(a)ℓ_a |
//! | self-normalised (SNIPS) | Σ cℓ/Σ c | E[c] = 1; less variance for a bias of order 1/n, and always between the bounds |
//! | doubly robust (DR) | Σ (⟨p, m⟩ + c(ℓ − m_a))/n | unbiased for every m that was fixed before the row; the closer m is to the losses, the less variance |
//!
//! m is the mean loss of each arm in the rows before, ½ before the first. A row without its loss
//! counts with m_a for ℓ: leaving it out would make its arm seem rarer and so, by IPS, better than
//! it is; as a 0 it would be a perfect outcome. All estimates are over records without noise, so
//! none may be published.

use crate::feedback::Logged;

/// Estimates of one policy's loss, each from 0 to 1 but for the noise of IPS and DR.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OffPolicy {
    /// Inverse propensity scored.
    pub ips: f64,
    /// Self-normalised.
    pub snips: f64,
    /// Doubly robust.
    pub doubly_robust: f64,
}

/// Sums over the rows of a log.
#[derive(Default)]
pub(crate) struct LogTally {
    rows: f64,
    /// Σ cℓ, Σ c and Σ of the doubly robust terms.
    own: [f64; 3],
    /// Σ wℓ, Σ w, Σ ℓ and the number of rows of each arm.
    arms: Vec<[f64; 4]>,
}

impl LogTally {
    pub(crate) fn new(arms: usize) -> Self {
        Self {
            arms: vec![[0.0; 4]; arms],
            ..Self::default()
        }
    }

    pub(crate) fn add(&mut self, row: &Logged, policy: &[f64]) {
        self.rows += 1.0;
        let likely = policy[row.arm] * row.weight;
        let model = |[.., sum, count]: &[f64; 4]| if *count > 0.0 { sum / count } else { 0.5 };
        let before = model(&self.arms[row.arm]);
        let loss = row.loss.unwrap_or(before);
        let expected: f64 = policy
            .iter()
            .zip(&self.arms)
            .map(|(p, arm)| p * model(arm))
            .sum();
        self.own[0] += likely * loss;
        self.own[1] += likely;
        self.own[2] += expected + likely * (loss - before);
        if row.loss.is_none() {
            return;
        }
        let [weighed, weights, sum, count] = &mut self.arms[row.arm];
        *weighed += row.weight * loss;
        *weights += row.weight;
        *sum += loss;
        *count += 1.0;
    }

    pub(crate) fn policy(&self) -> OffPolicy {
        let rows = self.rows.max(1.0);
        OffPolicy {
            ips: self.own[0] / rows,
            snips: self.own[0] / self.own[1].max(f64::MIN_POSITIVE),
            doubly_robust: self.own[2] / rows,
        }
    }

    /// Self-normalised losses over the arms in the log: the uniform policy's, and the best arm's.
    pub(crate) fn arms(&self) -> (f64, f64) {
        let seen = || self.arms.iter().filter(|[_, weights, ..]| *weights > 0.0);
        let each = || seen().map(|[weighed, weights, ..]| weighed / weights);
        let alike = each().sum::<f64>() / each().count().max(1) as f64;
        (alike, each().fold(f64::INFINITY, f64::min))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows in the proportions in which the logging policy would make them: the mean of each
    /// estimate is then the policy's loss itself.
    #[test]
    fn estimates_are_exact_where_the_log_is_in_proportion() {
        let (losses, logging, policy) = ([0.2, 1.0], [0.25, 0.75], [0.9, 0.1]);
        let mut tally = LogTally::new(2);
        for _ in 0..1000 {
            for arm in [0, 1, 1, 1] {
                let row = Logged {
                    arm,
                    loss: Some(losses[arm]),
                    weight: 1.0 / logging[arm],
                };
                tally.add(&row, &policy);
            }
        }
        let truth = 0.9 * 0.2 + 0.1;
        let told = tally.policy();
        assert!((told.ips - truth).abs() < 1e-12, "{told:?}");
        assert!((told.snips - truth).abs() < 1e-12, "{told:?}");
        // The model is wrong in the first rows only.
        assert!((told.doubly_robust - truth).abs() < 1e-3, "{told:?}");
        let (alike, best) = tally.arms();
        assert!((alike - 0.6).abs() < 1e-12 && (best - 0.2).abs() < 1e-12);
    }

    /// Four of five losses of the second arm are missing, the first among them: its estimates stay
    /// where they are.
    #[test]
    fn missing_losses_favour_no_arm() {
        let mut tally = LogTally::new(2);
        for round in 0..2000 {
            let (arm, there) = (round % 2, round % 10 > 7);
            let row = Logged {
                arm,
                loss: (arm == 0 || there).then_some([0.3, 0.6][arm]),
                weight: 2.0,
            };
            tally.add(&row, &[0.0, 1.0]);
        }
        let told = tally.policy();
        for estimate in [told.ips, told.snips, told.doubly_robust] {
            assert!((estimate - 0.6).abs() < 1e-3, "{told:?}");
        }
        let (alike, best) = tally.arms();
        assert!((alike - 0.45).abs() < 1e-12 && (best - 0.3).abs() < 1e-12);
    }

    #[test]
    fn a_wrong_model_or_a_wrong_total_does_not_matter() {
        // Every row is of an arm that the policy likes twice as much as the log did: IPS is off by
        // the proportion, SNIPS is not.
        let mut tally = LogTally::new(2);
        for _ in 0..10 {
            let row = Logged {
                arm: 0,
                loss: Some(0.3),
                weight: 2.0,
            };
            tally.add(&row, &[1.0, 0.0]);
        }
        let told = tally.policy();
        assert!((told.ips - 0.6).abs() < 1e-12 && (told.snips - 0.3).abs() < 1e-12);
        // ½ + 2(0.3 − ½) in the first row, 0.3 in all others.
        assert!((told.doubly_robust - (0.1 + 9.0 * 0.3) / 10.0).abs() < 1e-12);
    }
}
