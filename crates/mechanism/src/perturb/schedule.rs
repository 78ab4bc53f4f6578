//! The noise of each release: the best split of a budget over releases of known sensitivities.
//!
//! Release t is an iterate on a lattice of unit σ_t/2^b, rounded, plus integer noise of scale 2^b
//! (b = 30, or 40 for pure noise). Two neighbouring iterates, s_t apart, are at most s_t/unit + √d
//! apart as integers (each coordinate is rounded by half a unit in each world; the float quotient
//! errs by 2⁻⁵³ of itself, and coordinates cut off at the reach leave a length of up to √d times
//! it: [`Schedule::padded`] adds that to s_t). So release t costs r_t = s_t/σ_t + √d/2^b.
//!
//! **Lemma B.** Gaussian noise: all releases together are μ-GDP with μ² = Σr_t²; L2-Laplace noise
//! of scale c_t = σ_t: ε-DP with ε = Σr_t. *Proof.* An iterate is a function of the records alone,
//! so given the earlier releases, which may have decided the later records, two worlds differ in
//! one record and the next release's mean by at most its bound: adaptive composition of mechanisms
//! whose parameters were fixed in advance. Rounded noise on an integer is the rounding of
//! continuous noise. ∎
//!
//! **Optimal splits** (Lagrange; Σσ_t is what Lipschitz losses pay for noise, Σσ_t² what smooth
//! ones pay):
//!
//! | noise | least Σσ_t | least Σσ_t² |
//! |---|---|---|
//! | Gaussian | σ_t = s_t^⅔·(Σs_j^⅔)^½/μ | σ_t = s_t^½·(Σs_j)^½/μ |
//! | L2-Laplace | c_t = s_t^½·Σs_j^½/ε | c_t = s_t^⅓·Σs_j^⅔/ε |
//!
//! All are σ_t = K·s_t^p; K solves Σ(s_t^{1−p}/K + √d/2^b)² = μ², a quadratic in 1/K, or the linear
//! equation for pure noise.
//!
//! **Unknown horizon** (JKT12's Algorithm 7 with erratum J14). Release t gets the share a_t =
//! 1/(2^m(m+1)(m+2)), m = ⌊log₂t⌋, of μ² or of ε: Σ_{t≥1} a_t = Σ_m 1/((m+1)(m+2)) = 1, so
//! everything ever released stays within the budget. The lattice ends it: when a share is no more
//! than four times what rounding costs, the run is over (after 2³⁶ − 1 releases in 54 dimensions at
//! (1, 10⁻⁶)).

use super::PerturbError;
use crate::sums::Noise;
use serde::{Deserialize, Serialize};

/// log₂ of the noise's scale in lattice units.
const GAUSSIAN_BITS: u32 = 30;
const PURE_BITS: u32 = 40;

/// How noise affects the learner, which determines the best split of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Weighting {
    /// By its length: Lipschitz losses.
    Lipschitz,
    /// By its squared length: smooth losses.
    Smooth,
}

/// When releases are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Timing {
    /// After each of this many steps.
    Every(u64),
    /// After each step, with an unknown horizon.
    Unknown,
    /// Once, after this many steps.
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

/// The noise that Lemma B finds best for these sensitivities, before any lattice: σ_t (or c_t) for
/// each of them, at μ (or ε) = `limit`.
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
        // A float sum may be off by one rounding per term; after that the price decides.
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

    /// The largest number of steps.
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

    /// The number of releases.
    pub(crate) fn releases(&self) -> u64 {
        match self.timing {
            Timing::Last(_) => 1,
            _ => self.most_steps(),
        }
    }

    /// A sensitivity plus the error of the quotient by the unit; `None` for an iterate that depends
    /// on no data, which only a sensitivity of 0 states.
    pub(crate) fn padded(&self, sensitivity: f64) -> Result<Option<f64>, PerturbError> {
        if sensitivity == 0.0 {
            Ok(None)
        } else if sensitivity > 0.0 && sensitivity.is_finite() {
            Ok(Some((sensitivity + self.quotient) * (1.0 + 1e-15)))
        } else {
            Err(PerturbError::Sensitivity(sensitivity))
        }
    }

    /// σ_t or c_t, positive, finite and a whole lattice above underflow; `None` if no noise is
    /// needed, because the iterate depends on no data.
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

    /// The steps at which planning always evaluates a sensitivity, and a journal stores it: powers
    /// of two (up to 2²⁰, since a bound may take O(t)), and the last step if it is known.
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
                // All shares add up to the limit; a few probes check that sensitivities are
                // numbers, and the rest is checked step by step.
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
mod tests;
