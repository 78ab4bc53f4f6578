//! How much noise each release gets: the best split of a budget over releases of known sensitivities.
//!
//! Release t is an iterate on a lattice of unit σ_t/2^b, rounded, plus integer noise of scale 2^b (b = 30, or 40 for pure noise). Two neighbouring iterates, s_t apart, are at most s_t/unit + √d apart as
//! integers (each coordinate is rounded by half a unit in each world; the float quotient errs by 2⁻⁵³ of itself, and coordinates cut off at the reach leave a length of up to √d times it: [`Schedule::padded`] adds that to s_t). So release t costs r_t = s_t/σ_t + √d/2^b.
//!
//! **Lemma B.** Gaussian noise: all releases together are μ-GDP with μ² = Σr_t²; L2-Laplace noise of scale c_t = σ_t: ε-DP with ε = Σr_t. *Proof.* An iterate is a function of the records alone, so given the earlier releases, which may have decided the later records, two worlds differ in one
//! record and the next release's mean by at most its bound: adaptive composition of mechanisms whose parameters were fixed in advance. Rounded noise on an integer is the rounding of continuous noise. ∎
//!
//! **Optimal splits** (Lagrange; Σσ_t is what Lipschitz losses pay for noise, Σσ_t² what smooth ones pay):
//!
//! | noise | least Σσ_t | least Σσ_t² |
//! |---|---|---|
//! | Gaussian | σ_t = s_t^⅔·(Σs_j^⅔)^½/μ | σ_t = s_t^½·(Σs_j)^½/μ |
//! | L2-Laplace | c_t = s_t^½·Σs_j^½/ε | c_t = s_t^⅓·Σs_j^⅔/ε |
//!
//! All are σ_t = K·s_t^p; K solves Σ(s_t^{1−p}/K + √d/2^b)² = μ², a quadratic in 1/K, or the linear equation for pure noise.
//!
//! **Unknown horizon** (JKT12's Algorithm 7 with erratum J14). Release t gets the share a_t = 1/(2^m(m+1)(m+2)), m = ⌊log₂t⌋, of μ² or of ε: Σ_{t≥1} a_t = Σ_m 1/((m+1)(m+2)) = 1, so everything ever released stays within the budget. The lattice ends it: when a share is no more than four times what rounding costs, the run
//! is over (after 2³⁶ − 1 releases in 54 dimensions at (1, 10⁻⁶)).

use super::PerturbError;
use crate::sums::Noise;
use serde::{Deserialize, Serialize};

/// log₂ of the noise's scale in lattice units.
const GAUSSIAN_BITS: u32 = 30;
const PURE_BITS: u32 = 40;

/// What noise costs the learner, which decides how a budget is best split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Weighting {
    /// Its length: Lipschitz losses.
    Lipschitz,
    /// Its squared length: smooth losses.
    Smooth,
}

/// When releases are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Timing {
    /// After each of so many steps.
    Every(u64),
    /// After each step, nobody knows how many.
    Unknown,
    /// Once, after so many steps.
    Last(u64),
}

/// 2^b.
pub(crate) fn noise_scale(noise: Noise) -> u64 {
    match noise {
        Noise::Gaussian => 1 << GAUSSIAN_BITS,
        Noise::Laplace | Noise::L2Laplace => 1 << PURE_BITS,
    }
}

/// p in σ_t = K·s_t^p.
fn power(s: f64, noise: Noise, weighting: Weighting) -> f64 {
    match (noise, weighting) {
        (Noise::Gaussian, Weighting::Lipschitz) => {
            let root = libm::cbrt(s);
            root * root
        }
        (Noise::Gaussian, Weighting::Smooth) | (_, Weighting::Lipschitz) => s.sqrt(),
        (_, Weighting::Smooth) => libm::cbrt(s),
    }
}

/// The noise that Lemma B finds best for these sensitivities, before any lattice: σ_t (or c_t) for each of them, at μ (or ε) = `limit`.
#[must_use]
pub fn optimal_noise(
    sensitivities: &[f64],
    noise: Noise,
    weighting: Weighting,
    limit: f64,
) -> Vec<f64> {
    let shapes: Vec<f64> = sensitivities
        .iter()
        .map(|&s| power(s, noise, weighting))
        .collect();
    let ratios = sensitivities
        .iter()
        .zip(&shapes)
        .map(|(s, shape)| s / shape);
    let constant = if noise == Noise::Gaussian {
        ratios.map(|ratio| ratio * ratio).sum::<f64>().sqrt() / limit
    } else {
        ratios.sum::<f64>() / limit
    };
    shapes.iter().map(|shape| constant * shape).collect()
}

/// The split, fixed by public numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Schedule {
    pub(crate) noise: Noise,
    pub(crate) weighting: Weighting,
    pub(crate) timing: Timing,
    /// μ or ε.
    pub(crate) limit: f64,
    /// √d/2^b, rounded up.
    pub(crate) rounding: f64,
    /// What a float quotient adds to every sensitivity.
    pub(crate) quotient: f64,
    /// K of `Every`.
    pub(crate) constant: f64,
}

impl Schedule {
    /// Chooses K.
    pub(crate) fn new(
        noise: Noise,
        weighting: Weighting,
        timing: Timing,
        limit: f64,
        dimension: u32,
        reach: f64,
        sensitivity: impl Fn(u64) -> f64,
    ) -> Result<Self, PerturbError> {
        let scale = noise_scale(noise) as f64;
        let mut schedule = Self {
            noise,
            weighting,
            timing,
            limit,
            rounding: f64::from(dimension).sqrt() * (1.0 + 1e-12) / scale,
            quotient: 2.0 * f64::EPSILON * f64::from(dimension).sqrt() * reach * (1.0 + 1e-12),
            constant: 0.0,
        };
        if let Timing::Every(releases) = timing {
            schedule.constant = schedule.constant_for(releases, &sensitivity)?;
        }
        let first = match timing {
            Timing::Unknown => schedule.share(1),
            Timing::Every(_) | Timing::Last(_) => limit,
        };
        if first > 4.0 * schedule.rounding {
            Ok(schedule)
        } else {
            Err(PerturbError::BudgetTooSmall)
        }
    }

    fn constant_for(
        &self,
        releases: u64,
        sensitivity: &impl Fn(u64) -> f64,
    ) -> Result<f64, PerturbError> {
        let (mut count, mut squares, mut sum) = (0.0, 0.0, 0.0);
        for t in 1..=releases {
            let Some(s) = self.padded(sensitivity(t))? else {
                continue;
            };
            let ratio = s / power(s, self.noise, self.weighting);
            if !ratio.is_finite() {
                return Err(PerturbError::Sensitivity(s));
            }
            count += 1.0;
            squares += ratio * ratio;
            sum += ratio;
        }
        if count < 1.0 {
            return Err(PerturbError::NothingLearned);
        }
        let inverse = if self.noise == Noise::Gaussian {
            let room = self.limit.powi(2) - count * self.rounding.powi(2);
            let lost = sum * self.rounding;
            ((lost * lost + squares * room).sqrt() - lost) / squares
        } else {
            (self.limit - count * self.rounding) / sum
        };
        // A float sum of so many terms may be off by as many roundings; then the price decides.
        let constant = (1.0 + 1e-12 + 4.0 * f64::EPSILON * count) / inverse;
        if inverse > 0.0 && constant.is_finite() {
            Ok(constant)
        } else {
            Err(PerturbError::BudgetTooSmall)
        }
    }

    /// The part of the limit that release t may cost, for an unknown horizon.
    fn share(&self, t: u64) -> f64 {
        let octave = t.max(1).ilog2();
        let part = 1.0 / (f64::from(octave + 1) * f64::from(octave + 2)) / (1_u64 << octave) as f64;
        let part = if self.noise == Noise::Gaussian {
            part.sqrt()
        } else {
            part
        };
        self.limit * part * (1.0 - 1e-14)
    }

    /// How many steps there may be.
    pub(crate) fn most_steps(&self) -> u64 {
        match self.timing {
            Timing::Every(steps) | Timing::Last(steps) => steps,
            Timing::Unknown => {
                let fits = |octave: &u32| self.share(1 << octave) >= 4.0 * self.rounding;
                let octave = (0..44).take_while(fits).last().unwrap_or(0);
                (2 << octave) - 1
            }
        }
    }

    /// How many of them are released.
    pub(crate) fn releases(&self) -> u64 {
        match self.timing {
            Timing::Last(_) => 1,
            _ => self.most_steps(),
        }
    }

    /// A sensitivity with what the quotient by the unit may add; nothing for an iterate that depends on no data, which 0 says and nothing else does.
    pub(crate) fn padded(&self, sensitivity: f64) -> Result<Option<f64>, PerturbError> {
        if sensitivity == 0.0 {
            Ok(None)
        } else if sensitivity > 0.0 && sensitivity.is_finite() {
            Ok(Some((sensitivity + self.quotient) * (1.0 + 1e-15)))
        } else {
            Err(PerturbError::Sensitivity(sensitivity))
        }
    }

    /// σ_t or c_t, positive, finite and a whole lattice above underflow; nothing where no noise is needed, because the iterate depends on no data.
    pub(crate) fn scale(&self, t: u64, sensitivity: f64) -> Result<Option<f64>, PerturbError> {
        let Some(s) = self.padded(sensitivity)? else {
            return Ok(None);
        };
        let scale = match self.timing {
            Timing::Every(_) => self.constant * power(s, self.noise, self.weighting),
            Timing::Unknown => s / (self.share(t) - self.rounding) * (1.0 + 1e-14),
            Timing::Last(_) => s / (self.limit - self.rounding) * (1.0 + 1e-14),
        };
        if scale > 0.0 && (scale / noise_scale(self.noise) as f64).is_normal() {
            Ok(Some(scale))
        } else {
            Err(PerturbError::Sensitivity(sensitivity))
        }
    }

    /// The steps at which planning looks at a sensitivity whatever the timing, and a journal remembers it: powers of two (2²⁰ at the most, for a bound may take O(t)), and the last if it is known.
    pub(crate) fn probes(&self) -> Vec<u64> {
        let most = self.most_steps();
        let mut probes: Vec<u64> = (0..=20).map(|k| 1 << k).filter(|&t| t <= most).collect();
        if self.timing != Timing::Unknown {
            probes.push(most);
        }
        probes
    }

    /// Whether step t ends in a release.
    pub(crate) fn is_released(&self, t: u64) -> bool {
        match self.timing {
            Timing::Last(steps) => t == steps,
            _ => true,
        }
    }

    /// μ or ε of everything, rounded up.
    pub(crate) fn price(&self, sensitivity: impl Fn(u64) -> f64) -> Result<f64, PerturbError> {
        let cost = |t: u64| -> Result<f64, PerturbError> {
            let given = sensitivity(t);
            let (Some(s), Some(scale)) = (self.padded(given)?, self.scale(t, given)?) else {
                return Ok(0.0);
            };
            Ok(s / scale + self.rounding)
        };
        let releases = match self.timing {
            Timing::Unknown => {
                // All shares add up to the limit; a few tell whether sensitivities are numbers at all, the rest is checked step by step.
                for t in self.probes() {
                    cost(t)?;
                }
                return Ok(self.limit);
            }
            Timing::Last(steps) => return Ok(cost(steps)?.next_up()),
            Timing::Every(releases) => releases,
        };
        let mut total = 0.0;
        for t in 1..=releases {
            let here = cost(t)?;
            total += if self.noise == Noise::Gaussian {
                here * here
            } else {
                here
            };
        }
        let up = total * (1.0 + f64::EPSILON * (releases as f64 + 16.0));
        Ok(if self.noise == Noise::Gaussian {
            up.sqrt().next_up()
        } else {
            up
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushstream_account::{Budget, Mu};

    fn mu() -> f64 {
        Mu::within(Budget::approx(1.0, 1e-6).unwrap())
            .unwrap()
            .get()
    }

    fn every(noise: Noise, weighting: Weighting, limit: f64, s: &[f64]) -> Schedule {
        let timing = Timing::Every(s.len() as u64);
        let at = |t: u64| s[t as usize - 1];
        Schedule::new(noise, weighting, timing, limit, 3, 1.0, at).unwrap()
    }

    /// The published values for PIGD, T = 1024, 2L/α = 1, (1, 10⁻⁶).
    #[test]
    fn published_noise() {
        let s: Vec<f64> = (1..=1023).map(|t| 1.0 / f64::from(t + 1)).collect();
        let sigma = optimal_noise(&s, Noise::Gaussian, Weighting::Lipschitz, mu());
        assert!((sigma[0] - 13.7765).abs() < 5e-5, "{}", sigma[0]);
        assert!((sigma[1022] - 0.215_257).abs() < 5e-7, "{}", sigma[1022]);
        // The lattice and the floats cost next to nothing beyond that.
        let schedule = every(Noise::Gaussian, Weighting::Lipschitz, mu(), &s);
        for t in [1, 1023] {
            let real = schedule.scale(t, s[t as usize - 1]).unwrap().unwrap();
            let ratio = real / sigma[t as usize - 1];
            assert!((1.0..1.000_01).contains(&ratio), "{ratio}");
        }
    }

    /// JKT12's Algorithm 2 with (ε/3, δ/2), as its Theorem 7 needs it (erratum J9), against the split of Lemma B.
    #[test]
    fn the_papers_noise_is_thirty_times_larger() {
        let t = 2_f64.powi(20);
        let (epsilon, delta) = (1.0_f64 / 3.0, 0.5e-6_f64);
        let c = (1.0 / (2.0 * epsilon) * (2.0 / delta).ln()).ln() / (2.0 * t.ln());
        let reach = t.powf(0.5 + c);
        let beta = reach * (2.0 / epsilon * ((t / delta).ln() + epsilon.sqrt() / reach)).sqrt();
        let printed: f64 = (1..1 << 20).map(|t| beta / f64::from(t)).sum();
        let s: Vec<f64> = (1..1 << 20).map(|t| 1.0 / f64::from(t + 1)).collect();
        let ours: f64 = optimal_noise(&s, Noise::Gaussian, Weighting::Lipschitz, mu())
            .iter()
            .sum();
        assert!(printed / ours > 30.0, "{}", printed / ours);
    }

    /// No other split of the same price has a smaller objective: multiplicative perturbations, rescaled to the same price.
    #[test]
    fn splits_are_optimal() {
        let s: Vec<f64> = (1..=50).map(|t| 1.0 / f64::from(t).powf(0.8)).collect();
        for noise in [Noise::Gaussian, Noise::L2Laplace] {
            for weighting in [Weighting::Lipschitz, Weighting::Smooth] {
                let objective = |sigma: &[f64]| -> f64 {
                    sigma
                        .iter()
                        .map(|x| {
                            if weighting == Weighting::Smooth {
                                x * x
                            } else {
                                *x
                            }
                        })
                        .sum()
                };
                let price = |sigma: &[f64]| -> f64 {
                    let ratios = s.iter().zip(sigma).map(|(s, sigma)| s / sigma);
                    if noise == Noise::Gaussian {
                        ratios.map(|r| r * r).sum::<f64>().sqrt()
                    } else {
                        ratios.sum()
                    }
                };
                let best = optimal_noise(&s, noise, weighting, 0.7);
                assert!((price(&best) - 0.7).abs() < 1e-12);
                for seed in 0..200_u32 {
                    let mut other: Vec<f64> = (0..50_u32)
                        .zip(&best)
                        .map(|(i, x)| {
                            let wobble = f64::from((seed * 7919 + i * 104_729) % 1000) / 1000.0;
                            x * (0.9 + 0.2 * wobble)
                        })
                        .collect();
                    let factor = price(&other) / 0.7;
                    other.iter_mut().for_each(|x| *x *= factor);
                    assert!(objective(&other) >= objective(&best) * (1.0 - 1e-12));
                }
            }
        }
    }

    #[test]
    fn prices_stay_within_the_limit_and_close_to_it() {
        let s: Vec<f64> = (1..=3000).map(|t| 5.0 / f64::from(t)).collect();
        for noise in [Noise::Gaussian, Noise::L2Laplace] {
            for weighting in [Weighting::Lipschitz, Weighting::Smooth] {
                let schedule = every(noise, weighting, 0.3, &s);
                let price = schedule.price(|t| s[t as usize - 1]).unwrap();
                assert!(price <= 0.3 && price > 0.3 * (1.0 - 1e-9), "{price}");
            }
        }
    }

    #[test]
    fn shares_of_an_unknown_horizon_never_exceed_the_limit() {
        for noise in [Noise::Gaussian, Noise::L2Laplace] {
            let at = |t: u64| 1.0 / t as f64;
            let weighting = Weighting::Lipschitz;
            let schedule =
                Schedule::new(noise, weighting, Timing::Unknown, 0.3, 3, 1.0, at).unwrap();
            let mut total = 0.0;
            for t in 1..200_000 {
                let s = schedule.padded(at(t)).unwrap().unwrap();
                let here = s / schedule.scale(t, at(t)).unwrap().unwrap() + schedule.rounding;
                total += if noise == Noise::Gaussian {
                    here * here
                } else {
                    here
                };
            }
            let limit: f64 = if noise == Noise::Gaussian { 0.09 } else { 0.3 };
            // What is left for ever: 1/(m + 1) from octave m on.
            assert!(total <= limit * (1.0 - 1.0 / 19.0) && total > limit * (1.0 - 1.0 / 17.0));
            assert!(schedule.most_steps() > 1 << 24, "{}", schedule.most_steps());
        }
    }

    /// The end that the text above names.
    #[test]
    fn an_unknown_horizon_ends_at_the_lattice() {
        let (noise, weighting) = (Noise::Gaussian, Weighting::Lipschitz);
        let schedule =
            Schedule::new(noise, weighting, Timing::Unknown, mu(), 54, 1.0, |_| 1.0).unwrap();
        assert_eq!(schedule.most_steps(), (1 << 36) - 1);
    }

    /// Two iterates cut off at the reach in every coordinate are √d times as long: the float quotient errs by no more than was paid for.
    #[test]
    fn the_quotient_of_the_longest_iterate_is_paid_for() {
        let (noise, weighting) = (Noise::Gaussian, Weighting::Lipschitz);
        for dimension in [1, 54, 10_000] {
            let timing = Timing::Last(1);
            let schedule =
                Schedule::new(noise, weighting, timing, mu(), dimension, 3.0, |_| 1.0).unwrap();
            let longest = 3.0 * f64::from(dimension).sqrt();
            let paid = schedule.padded(1e-9).unwrap().unwrap() - 1e-9;
            assert!(paid >= f64::EPSILON * longest, "{dimension}: {paid:e}");
        }
    }

    #[test]
    fn what_cannot_be_split_is_refused() {
        let new = |limit, timing, s: f64| {
            Schedule::new(
                Noise::Gaussian,
                Weighting::Lipschitz,
                timing,
                limit,
                3,
                1.0,
                move |_| s,
            )
        };
        assert!(new(0.3, Timing::Every(9), 0.0).is_err());
        assert!(new(0.3, Timing::Every(9), f64::NAN).is_err());
        assert!(new(0.3, Timing::Every(9), f64::INFINITY).is_err());
        assert!(new(0.3, Timing::Every(9), -1.0).is_err());
        assert!(new(1e-12, Timing::Every(9), 1.0).is_err());
        assert!(new(1e-12, Timing::Last(9), 1.0).is_err());
        assert!(new(1e-12, Timing::Unknown, 1.0).is_err());
    }
}
