//! Estimates for the arms from the releases of a bandit: functions of plays, propensities and noisy
//! answers alone, so they may be published.
//!
//! Over n released answers ŷ, each to an arm a that was drawn with probability p(a) given the past:
//! the loss of arm k by inverse propensities (IPS) is Σ 1{a = k}·ŷ/p / n, which is unbiased,
//! because p depends on the past only and noise has mean 0; self-normalised (SNIPS) it is Σ 1{a =
//! k}·ŷ/p / Σ 1{a = k}/p. The standard error is that of the mean of the n terms of IPS, noise
//! included. A missing outcome is in its answer as the null of the range.

use super::recipe::Actions;
use crate::error::RunError;
use crate::note::NoteError;
use hushstream_learn::bandits::Play;

/// One arm, in the units of answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ArmEstimate {
    /// Answers to it.
    pub plays: u64,
    /// Its loss by inverse propensities.
    pub ips: f64,
    /// The standard error of `ips`.
    pub standard_error: f64,
    /// Its loss, self-normalised; nothing if it was never played.
    pub snips: Option<f64>,
}

/// Running sums of four numbers an arm: how many answers, Σ 1/p, Σ ŷ/p and Σ (ŷ/p)².
pub(super) struct Estimates(Vec<f64>);

const SUMS: usize = 4;

impl Estimates {
    /// Nothing yet; where plays are not arms there will be nothing.
    pub(super) fn of(actions: &Actions) -> Self {
        Self(match actions {
            Actions::Arms(arms) => vec![0.0; SUMS * arms],
            Actions::Points(_) | Actions::Set(_) => Vec::new(),
        })
    }

    pub(super) fn add(&mut self, play: &Play, answer: f64) {
        let Some(sums) = play
            .action
            .and_then(|arm| self.0.get_mut(SUMS * arm..SUMS * (arm + 1)))
        else {
            return;
        };
        let weight = 1.0 / play.propensity;
        let term = answer * weight;
        for (sum, part) in sums.iter_mut().zip([1.0, weight, term, term * term]) {
            *sum += part;
        }
    }

    pub(super) fn each(&self) -> Vec<ArmEstimate> {
        let arms = self.0.chunks_exact(SUMS);
        let answers: f64 = arms.clone().map(|sums| sums[0]).sum();
        let all = answers.max(1.0);
        arms.map(|sums| {
            let mean = sums[2] / all;
            ArmEstimate {
                plays: sums[0] as u64,
                ips: mean,
                standard_error: ((sums[3] / all - mean * mean).max(0.0) / all).sqrt(),
                snips: (sums[1] > 0.0).then(|| sums[2] / sums[1]),
            }
        })
        .collect()
    }

    /// A learner's state with these sums in front.
    pub(super) fn with(&self, state: &[f64]) -> Vec<f64> {
        [self.0.as_slice(), state].concat()
    }

    /// Takes the sums back, and gives the learner's part.
    pub(super) fn restore<'a>(&mut self, state: &'a [f64]) -> Result<&'a [f64], RunError> {
        let size = self.0.len();
        let sound = |sums: &[f64]| sums.iter().all(|sum| sum.is_finite());
        match state.split_at_checked(size) {
            Some((sums, rest)) if sound(sums) => {
                self.0.copy_from_slice(sums);
                Ok(rest)
            }
            _ => Err(NoteError::Unreadable.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_by_hand() {
        let mut estimates = Estimates::of(&Actions::Arms(2));
        let play = |arm, propensity| Play {
            action: Some(arm),
            point: Vec::new(),
            propensity,
        };
        estimates.add(&play(0, 0.5), 0.25);
        estimates.add(&play(0, 0.25), 0.5);
        estimates.add(&play(1, 0.75), -0.3);
        estimates.add(&play(0, 0.5), 1.0);
        let [first, second] = estimates.each()[..] else {
            panic!("two arms");
        };
        // Terms 0.5, 2, 0, 2 for the first arm, over weights 2, 4 and 2.
        assert_eq!((first.plays, second.plays), (3, 1));
        assert!((first.ips - 4.5 / 4.0).abs() < 1e-12);
        assert!((first.snips.unwrap() - 4.5 / 8.0).abs() < 1e-12);
        let variance = (0.25 + 4.0 + 4.0) / 4.0 - (4.5_f64 / 4.0).powi(2);
        assert!((first.standard_error - (variance / 4.0).sqrt()).abs() < 1e-12);
        assert!((second.ips + 0.1).abs() < 1e-12);
        // A checkpoint restores the estimates, followed by the learner's own part.
        let kept = estimates.with(&[7.0]);
        let mut back = Estimates::of(&Actions::Arms(2));
        assert_eq!(back.restore(&kept).unwrap(), [7.0]);
        assert_eq!(back.each(), estimates.each());
        assert!(back.restore(&kept[..3]).is_err());
        assert!(Estimates::of(&Actions::Arms(1)).each()[0].snips.is_none());
    }
}
