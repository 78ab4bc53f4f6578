//! The best BLT strategy for a number of releases: minimise sens(n)·prefix_sd(n) over poles and
//! zeros.
//!
//! The family is 0 < α_1 < α̂_1 < α_2 < … < α_m < α̂_m < 1 (poles and zeros of C, as distances of
//! θ, θ̂ from one). Interlacing makes every ω_j > 0 and every ω̂_j < 0, and Σω_j = Σ(α̂_j−α_j) < 1,
//! so whatever comes out is valid [`BltParameters`].
//!
//! Unconstrained coordinates: the 2m points are logistic(y_k) with y_0 free and y_k = y_{k−1} +
//! 0.01 + e^{u_k}. Points a fixed ratio apart are a fixed distance apart in y, which makes the
//! problem well scaled for n from 2 to 2⁴⁰. The search is BFGS with the [exact
//! gradient](super::objective), from points spread evenly between 1/n and 1: good rational
//! approximations of a square root, which is the limit that C strives for, look like that. No
//! randomness, and all transcendental functions come from one library: the same answer on every
//! machine.
//!
//! C has n − 1 free coefficients and m buffers have 2m parameters, so more than n/2 buffers add
//! nothing: for tiny n fewer are returned.

use super::error::BltError;
use super::objective::{Objective, residues};
use super::parameters::{BltParameters, MAX_BUFFERS};

/// Least distance of neighbouring points in y: closer ones would cancel, and their difference would
/// lose its digits.
const LEAST_GAP: f64 = 0.01;
/// A search that needs more iterations than this has long reached the fifth digit.
const MOST_ITERATIONS: usize = 400;
/// Gradient of ln(sens·err) at which the search ends; the remaining excess is of the order of its
/// square.
const FLAT: f64 = 1e-7;

/// Parameters with at most `buffers` buffers that (nearly) minimise the worst prefix standard
/// deviation over `releases` releases.
///
/// # Errors
/// [`BltError::Buffers`] outside 1..=8, [`BltError::Releases`] outside 1..=2⁴⁰.
pub fn optimise(releases: u64, buffers: usize) -> Result<BltParameters, BltError> {
    BltError::check_releases(releases)?;
    if !(1..=MAX_BUFFERS).contains(&buffers) {
        return Err(BltError::Buffers { given: buffers });
    }
    // With one release nothing but c_0 = 1 is used; treat it as two.
    let releases = releases.max(2);
    let useful = usize::try_from(releases / 2).unwrap_or(MAX_BUFFERS);
    let m = buffers.min(useful);
    Search::new(releases, even_start(releases, m))
        .run()
        .parameters()
}

/// 2m points evenly spread in y between 1/n and about ½.
fn even_start(releases: u64, m: usize) -> Vec<f64> {
    let (low, high) = (-libm::log(releases as f64), 0.0);
    let gap = (high - low) / (2 * m - 1) as f64;
    let mut start = vec![libm::log((gap - LEAST_GAP).max(LEAST_GAP)); 2 * m];
    start[0] = low;
    start
}

/// A BFGS search: the point u, its value and gradient, and an estimate of the inverse Hessian.
struct Search {
    releases: u64,
    point: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
    inverse_hessian: Vec<Vec<f64>>,
}

impl Search {
    fn new(releases: u64, point: Vec<f64>) -> Self {
        let (value, gradient) = evaluate(&point, releases);
        let inverse_hessian = identity(point.len(), 1.0);
        Self {
            releases,
            point,
            value,
            gradient,
            inverse_hessian,
        }
    }

    fn run(mut self) -> Self {
        for _ in 0..MOST_ITERATIONS {
            if largest(&self.gradient) < FLAT || !self.step() {
                break;
            }
        }
        self
    }

    /// One quasi-Newton step with backtracking; false if even steepest descent no longer improves.
    fn step(&mut self) -> bool {
        let mut direction: Vec<f64> = self
            .inverse_hessian
            .iter()
            .map(|row| -dot(row, &self.gradient))
            .collect();
        let mut slope = dot(&direction, &self.gradient);
        if slope.is_nan() || slope >= 0.0 {
            self.inverse_hessian = identity(self.point.len(), 1.0);
            direction = self.gradient.iter().map(|g| -g).collect();
            slope = -dot(&self.gradient, &self.gradient);
        }
        // Not further than a factor e² in any coordinate at once: the model is only local.
        let mut length = (2.0 / largest(&direction)).min(1.0);
        loop {
            let point: Vec<f64> = self
                .point
                .iter()
                .zip(&direction)
                .map(|(u, d)| u + length * d)
                .collect();
            let (value, gradient) = evaluate(&point, self.releases);
            if value <= self.value + 1e-4 * length * slope {
                let moved: Vec<f64> = direction.iter().map(|d| length * d).collect();
                let bent: Vec<f64> = gradient
                    .iter()
                    .zip(&self.gradient)
                    .map(|(new, old)| new - old)
                    .collect();
                self.learn(&moved, &bent);
                (self.point, self.value, self.gradient) = (point, value, gradient);
                return true;
            }
            length /= 2.0;
            if length < 1e-12 {
                return false;
            }
        }
    }

    /// The BFGS update of the inverse Hessian by H ← (I − sdᵀ/κ)·H·(I − dsᵀ/κ) + ssᵀ/κ, with step
    /// s, gradient change d, κ = sᵀd.
    fn learn(&mut self, moved: &[f64], bent: &[f64]) {
        let curvature = dot(moved, bent);
        // Without positive curvature the update would lose positive definiteness.
        if curvature <= 1e-14 * dot(moved, moved).sqrt() * dot(bent, bent).sqrt() {
            return;
        }
        let image: Vec<f64> = self
            .inverse_hessian
            .iter()
            .map(|row| dot(row, bent))
            .collect();
        let factor = (1.0 + dot(bent, &image) / curvature) / curvature;
        for (i, row) in self.inverse_hessian.iter_mut().enumerate() {
            for (j, entry) in row.iter_mut().enumerate() {
                *entry += factor * moved[i] * moved[j]
                    - (image[i] * moved[j] + moved[i] * image[j]) / curvature;
            }
        }
    }

    fn parameters(&self) -> Result<BltParameters, BltError> {
        let (pole, zero, _) = points(&self.point);
        let weight = residues(&pole, &zero);
        BltParameters::new(pole, weight)
    }
}

/// Poles, zeros, and dα/dy of all points in order.
fn points(u: &[f64]) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let (mut pole, mut zero, mut slope) = (Vec::new(), Vec::new(), Vec::new());
    let mut y = 0.0;
    for (k, &u) in u.iter().enumerate() {
        y = if k == 0 {
            u
        } else {
            y + LEAST_GAP + libm::exp(u)
        };
        let alpha = 1.0 / (1.0 + libm::exp(-y));
        if k % 2 == 0 {
            pole.push(alpha);
        } else {
            zero.push(alpha);
        }
        slope.push(alpha * (1.0 - alpha));
    }
    (pole, zero, slope)
}

/// ln(sens·err) and its gradient by u; infinite where points coincide or leave (0, 1) in floating
/// point.
fn evaluate(u: &[f64], releases: u64) -> (f64, Vec<f64>) {
    let (pole, zero, slope) = points(u);
    let ordered = pole
        .iter()
        .zip(&zero)
        .all(|(p, z)| *p > 0.0 && p < z && *z < 1.0)
        && zero.iter().zip(&pole[1..]).all(|(z, p)| z < p);
    if !ordered {
        return (f64::INFINITY, vec![0.0; u.len()]);
    }
    let objective = Objective::at(&pole, &zero, releases);
    let mut gradient = vec![0.0; u.len()];
    // u_k moves every later point by e^{u_k}: sum from the end.
    let mut later = 0.0;
    for k in (0..u.len()).rev() {
        let by_alpha = if k % 2 == 0 {
            objective.by_pole[k / 2]
        } else {
            objective.by_zero[k / 2]
        };
        later += by_alpha * slope[k];
        gradient[k] = if k == 0 {
            later
        } else {
            later * libm::exp(u[k])
        };
    }
    (objective.value, gradient)
}

fn identity(size: usize, scale: f64) -> Vec<Vec<f64>> {
    (0..size)
        .map(|i| {
            (0..size)
                .map(|j| if i == j { scale } else { 0.0 })
                .collect()
        })
        .collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn largest(a: &[f64]) -> f64 {
    a.iter().fold(0.0, |largest, x| x.abs().max(largest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_known_optimum() {
        let got = optimise(1 << 20, 4).unwrap();
        for (known, got) in [1.723e-6, 7.823e-5, 2.903e-3, 0.1023]
            .iter()
            .zip(got.decay())
        {
            assert!((got / known - 1.0).abs() < 1e-3, "{got} {known}");
        }
        for (known, got) in [1.9907e-3, 9.9988e-3, 6.0750e-2, 0.32465]
            .iter()
            .zip(got.weight())
        {
            assert!((got / known - 1.0).abs() < 1e-4, "{got} {known}");
        }
    }

    #[test]
    fn no_other_start_leads_lower() {
        for log_n in (8..=24).step_by(2) {
            for m in 2..=8 {
                let n = 1 << log_n;
                let found = optimise(n, m).unwrap().worst_prefix_sd(n);
                let mut best = found;
                let mut bits = 1_u32;
                for attempt in 0..12 {
                    // Ends and gaps moved by up to a factor e in both directions, by a fixed
                    // sequence.
                    let mut start = even_start(n, m);
                    for u in &mut start {
                        bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        *u += f64::from(bits) / f64::from(u32::MAX) * 2.0 - 1.0;
                    }
                    start[0] += f64::from(attempt % 3) - 1.0;
                    let other = Search::new(n, start).run().parameters().unwrap();
                    best = best.min(other.worst_prefix_sd(n));
                }
                assert!(
                    found <= best * 1.0005,
                    "n = 2^{log_n}, {m} buffers: {found} against {best}"
                );
            }
        }
    }

    #[test]
    fn tiny_and_huge_streams_are_valid() {
        for n in (1..=70).chain([127, 1000, 12_345, (1 << 31) - 1, (1 << 40) - 1, 1 << 40]) {
            let mut last = f64::INFINITY;
            for m in 1..=8 {
                let blt = optimise(n, m).unwrap();
                assert!(blt.buffers() <= m);
                let product = blt.worst_prefix_sd(n);
                // More buffers are never worse, and never below one.
                assert!(
                    product >= 1.0 - 1e-12 && product <= last * 1.0001,
                    "{n} {m}: {product} after {last}"
                );
                last = product;
            }
        }
        // c_1 = ½ is the best 2 × 2 strategy: 1 + ¼ both ways.
        assert!((optimise(2, 8).unwrap().worst_prefix_sd(2) - 1.25).abs() < 1e-9);
        assert!(optimise(0, 1).is_err() && optimise((1 << 40) + 1, 1).is_err());
        assert!(optimise(10, 0).is_err() && optimise(10, 9).is_err());
    }
}
