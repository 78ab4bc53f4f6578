//! Half the squared p-norm on the L1 ball, 1 < p ≤ 2.
//!
//! **Strong convexity.** ½‖x‖_p² is (p − 1)-strongly convex in ‖·‖_p (Ball, Carlen and Lieb 1994);
//! the dual norm is ‖·‖_q, 1/p + 1/q = 1. Its range on the L1 ball of radius r is r²/2, at a
//! vertex. With q = 2 ln d, ‖l‖_q ≤ d^(1/q)·‖l‖∞ = √e·‖l‖∞, and 1/(p − 1) = q − 1: regret grows
//! with the root of ln d, where squares on the same ball have the root of d.
//!
//! **Leader.** Signs are against l. With g = η|l| the magnitudes a ≥ 0 minimise ½‖a‖_p² − ⟨g, a⟩
//! over Σa ≤ r. For a multiplier λ ≥ 0 the minimiser without the constraint is that of h = (g −
//! λ)⁺: aᵢ = ‖h‖_q^(2−q)·hᵢ^(q−1), since ∇½‖a‖_p² = ‖a‖_p^(2−p)·a^(p−1) inverts to that. Σa falls
//! as λ rises, so λ is 0 or found by bisection. What is left of rounding is scaled back into the
//! ball. ∎

use super::Regulariser;
use crate::{LearnError, check};
use hushstream_account::ParameterError;
use hushstream_sets::{ConvexSet, L1Ball};

/// ½‖x‖_p².
#[derive(Debug, Clone)]
pub struct PNorm {
    set: L1Ball,
    radius: f64,
    /// The exponent of the dual norm.
    q: f64,
}

impl PNorm {
    /// On the L1 ball of this dimension and radius, with this p.
    ///
    /// # Errors
    /// A p outside 1.01 to 2; no dimension; a radius that is not positive and finite.
    pub fn new(dimension: usize, radius: f64, p: f64) -> Result<Self, LearnError> {
        if !(1.01..=2.0).contains(&p) {
            return Err(ParameterError::new("exponent p", p, "1.01 to 2").into());
        }
        Ok(Self {
            set: L1Ball::new(dimension, radius)?,
            radius,
            q: p / (p - 1.0),
        })
    }

    /// With q = 2 ln d, or 2 for fewer than three dimensions.
    ///
    /// # Errors
    /// As [`PNorm::new`].
    pub fn for_l1_ball(dimension: usize, radius: f64) -> Result<Self, LearnError> {
        let q = (2.0 * libm::log(dimension.max(1) as f64)).clamp(2.0, 101.0);
        Self::new(dimension, radius, q / (q - 1.0))
    }

    /// The largest ‖l‖*²/σ of losses in [−1, 1]: d^(2/q)·(q − 1).
    #[must_use]
    pub fn per_square_of_box(&self) -> f64 {
        libm::pow(self.set.dimension() as f64, 2.0 / self.q) * (self.q - 1.0)
    }

    /// The minimiser without the constraint, for losses of these sizes less λ.
    fn free(&self, sizes: &[f64], multiplier: f64) -> Vec<f64> {
        let left = |size: &f64| (size - multiplier).max(0.0);
        let most = sizes.iter().map(left).fold(0.0, f64::max);
        if most <= 0.0 {
            return vec![0.0; sizes.len()];
        }
        // Relative to the largest: no power overflows.
        let powers = sizes
            .iter()
            .map(|size| libm::pow(left(size) / most, self.q - 1.0));
        let powers: Vec<f64> = powers.collect();
        let sum: f64 = sizes
            .iter()
            .map(|size| libm::pow(left(size) / most, self.q))
            .sum();
        let scale = most * libm::pow(sum, (2.0 - self.q) / self.q);
        powers.into_iter().map(|power| scale * power).collect()
    }
}

fn total(values: &[f64]) -> f64 {
    values.iter().sum()
}

impl Regulariser for PNorm {
    fn set(&self) -> &dyn ConvexSet {
        &self.set
    }

    fn leader(&self, rate: f64, losses: &[f64]) -> Result<Vec<f64>, LearnError> {
        let sizes = losses.iter().map(|loss| check::hold(rate * loss).abs());
        let sizes: Vec<f64> = sizes.collect();
        let mut at = self.free(&sizes, 0.0);
        if total(&at) > self.radius {
            let (mut low, mut high) = (0.0, sizes.iter().copied().fold(0.0, f64::max));
            loop {
                let middle = f64::midpoint(low, high);
                if middle <= low || middle >= high {
                    break;
                }
                if total(&self.free(&sizes, middle)) > self.radius {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            // Beyond the last float below it nothing is in the ball but its centre: scale instead.
            at = self.free(&sizes, low);
            let shrink = self.radius / total(&at);
            at.iter_mut().for_each(|value| *value *= shrink);
        }
        for (value, loss) in at.iter_mut().zip(losses) {
            *value = -value.copysign(*loss);
        }
        check::project(&self.set, at)
    }

    fn range(&self) -> f64 {
        self.radius * self.radius / 2.0
    }

    fn squared_length(&self, losses: &[f64]) -> f64 {
        let most = losses
            .iter()
            .fold(0.0_f64, |most, loss| most.max(loss.abs()));
        if most <= 0.0 {
            return 0.0;
        }
        let powers = losses
            .iter()
            .map(|loss| libm::pow(loss.abs() / most, self.q));
        let norm = most * libm::pow(powers.sum(), 1.0 / self.q);
        norm * norm * (self.q - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(p: f64, rate: f64, losses: &[f64], x: &[f64]) -> f64 {
        let norm: f64 = x.iter().map(|x| x.abs().powf(p)).sum::<f64>().powf(1.0 / p);
        let linear: f64 = losses.iter().zip(x).map(|(l, x)| l * x).sum();
        rate * linear + norm * norm / 2.0
    }

    /// No point of a fine grid of the ball is better, inside and at the border.
    #[test]
    fn the_leader_is_the_least() {
        for p in [1.2, 1.5, 2.0] {
            let norm = PNorm::new(3, 1.5, p).unwrap();
            for losses in [
                [0.3, -0.1, 0.2],
                [5.0, -4.9, 1.0],
                [0.0, 2.0, 0.0],
                [1e9, 1.0, 0.0],
            ] {
                let at = norm.leader(0.7, &losses).unwrap();
                assert!(norm.set().contains(&at, 1e-9), "{at:?}");
                let least = value(p, 0.7, &losses, &at);
                let grid = || (-30..=30).map(|step| f64::from(step) / 20.0);
                for x in grid() {
                    for y in grid() {
                        for z in grid() {
                            if x.abs() + y.abs() + z.abs() <= 1.5 {
                                let other = value(p, 0.7, &losses, &[x, y, z]);
                                let allowed = 1e-9 * (1.0 + other.abs());
                                assert!(least <= other + allowed, "{p} {losses:?} {at:?}");
                            }
                        }
                    }
                }
            }
        }
    }

    /// R(y) ≥ R(x) + ⟨∇R(x), y − x⟩ + (p − 1)/2·‖y − x‖_p², and the dual norm is dual.
    #[test]
    fn it_is_as_convex_as_is_said() {
        let mut state = 1_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 40) as f64 / f64::from(1 << 23) - 1.0
        };
        for p in [1.1, 1.5, 2.0] {
            let norm = PNorm::new(3, 1.0, p).unwrap();
            let length = |x: &[f64]| x.iter().map(|x| x.abs().powf(p)).sum::<f64>().powf(1.0 / p);
            for _ in 0..2000 {
                let (x, y): (Vec<f64>, Vec<f64>) = (0..3).map(|_| (next(), next())).unzip();
                let size = length(&x);
                let slope = x
                    .iter()
                    .map(|x| size.powf(2.0 - p) * x.abs().powf(p - 1.0).copysign(*x));
                let apart: Vec<f64> = y.iter().zip(&x).map(|(y, x)| y - x).collect();
                let linear: f64 = slope.zip(&apart).map(|(slope, apart)| slope * apart).sum();
                let least = size.powi(2) / 2.0 + linear + (p - 1.0) / 2.0 * length(&apart).powi(2);
                assert!(length(&y).powi(2) / 2.0 >= least - 1e-9, "{p} {x:?} {y:?}");
                let product: f64 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
                let dual = (norm.squared_length(&x) * (p - 1.0)).sqrt();
                assert!(product <= dual * length(&y) + 1e-9);
            }
        }
    }

    #[test]
    fn exponents_are_checked() {
        assert!(PNorm::new(3, 1.0, 1.0).is_err() && PNorm::new(3, 1.0, 2.1).is_err());
        assert!(PNorm::new(0, 1.0, 1.5).is_err());
        assert!((PNorm::for_l1_ball(2, 1.0).unwrap().q - 2.0).abs() < 1e-12);
    }
}
