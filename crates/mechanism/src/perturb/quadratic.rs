//! Quadratic follow-the-leader (QFTL, JKT12 Section 4) as an iterate: an example of a learner that
//! solves for its leader.
//!
//! f_t = ½(y − ⟨v, x⟩)² + (α/2)‖x‖²; the leader is x = (tαI + Σvvᵀ)⁻¹·Σyv. A null round contributes
//! (α/2)‖x‖² and counts.
//!
//! **Sensitivity.** κ·R(Rρ + Y)/(αt), ρ = min(RY/α, Y/(2√α)). *Proof.* With the t features as rows
//! of M, A = tαI + MᵀM and targets y, the leader A⁻¹Mᵀy is at most ρ long: ‖A⁻¹‖ ≤ 1/(tα) and ‖Mᵀy‖
//! ≤ tRY give the first, s/(tα + s²) ≤ 1/(2√(tα)) for the singular values s of M and ‖y‖ ≤ √t·Y the
//! second. If one record changes from (v, y) to (v', y'), then A(x − x') = v(y − ⟨v, x'⟩) − v'(y' −
//! ⟨v', x'⟩), of length at most κR(Y + Rρ). ∎ That is 2L/(αt), the constant of follow-the-leader on
//! α-strongly convex losses, with L = R(Rρ + Y).
//!
//! **Error.** Sums of t products err by at most (t+2)·u of Σ|·| entrywise: ‖ΔV‖ ≤ (t+2)u·tR²
//! (Frobenius, since Σ|v_iv_j| has norm ≤ tR²), ‖Δb‖ ≤ (t+2)u·tRY. Cholesky of the float A gives x̂
//! with (Â + E)x̂ = b̂, ‖E‖ ≤ 4d(3d+1)u·‖Â‖ (Higham, Theorem 10.4), ‖Â‖ ≤ 1.01·t(α + R²). So ‖x̂ −
//! x‖ ≤ (‖Δb‖ + (‖ΔV‖ + ‖E‖)·‖x̂‖)/(tα), ‖x̂‖ ≤ 1.01ρ as long as the relative perturbation is below
//! a hundredth, which is asked for (beyond that the sensitivity is infinite, and no plan is made).
//! An inexact leader adds 2τ_t; the errors of solvers do not accumulate.

use super::ground::outward;
use super::learner::ProvedHere;
use super::{Fate, PerturbError, StableLearner, check_size};
use crate::losses::{Bounds, Explicit, Link, Part, Record, UNIT};
use hushstream_account::{Adjacency, ParameterError};

/// Most dimensions: a solve costs d³/6.
const MOST: usize = 512;

/// The least-squares leader.
#[derive(Clone, Debug)]
pub struct QuadraticLeader {
    dimension: usize,
    bounds: Bounds,
    alpha: f64,
    loss: Explicit,
}

impl QuadraticLeader {
    /// Least squares with features and targets within bounds (the bound on weights is not used),
    /// regularised by α each round.
    ///
    /// # Errors
    /// More than 512 dimensions; features, targets or α out of range.
    pub fn new(dimension: usize, bounds: Bounds, alpha: f64) -> Result<Self, PerturbError> {
        if !(1..=MOST).contains(&dimension) {
            return Err(ParameterError::new("dimension", dimension as f64, "1 to 512").into());
        }
        check_size("bound on features", bounds.features())?;
        check_size("bound on targets", bounds.target_magnitude())?;
        check_size("curvature", alpha)?;
        let condition = 1.0 + bounds.features().powi(2) / alpha;
        if condition > 1e6 {
            return Err(ParameterError::new(
                "curvature",
                alpha,
                "positive, and at least 1e-6 of the squared length of features",
            )
            .into());
        }
        let part = Part::Model(Link::Squared, bounds);
        Ok(Self {
            dimension,
            bounds,
            alpha,
            loss: Explicit::new(dimension, part, alpha),
        })
    }

    /// ρ.
    #[must_use]
    pub fn radius(&self) -> f64 {
        let (r, y) = (self.loss.features(), self.bounds.target_magnitude());
        (r * y / self.alpha).min(0.5 * y / self.alpha.sqrt()) * (1.0 + 1e-12)
    }

    /// The error of float sums and of the solver in one world.
    fn error(&self, t: u64) -> f64 {
        let (r, y, t) = (
            self.loss.features(),
            self.bounds.target_magnitude(),
            t as f64,
        );
        let d = self.dimension as f64;
        let sums = (t + 2.0) * UNIT * r * (y + r * 1.01 * self.radius());
        let solver =
            4.0 * d * (3.0 * d + 1.0) * UNIT * 1.01 * (self.alpha + r * r) * 1.01 * self.radius();
        let relative = UNIT * (t + 4.0 * d * (3.0 * d + 1.0)) * (1.0 + r * r / self.alpha);
        if relative > 5e-3 {
            return f64::INFINITY;
        }
        1.1 * (sums + solver) / self.alpha
    }
}

impl StableLearner for QuadraticLeader {
    fn describe(&self) -> String {
        format!("{self:?}")
    }

    fn assumption(&self) -> String {
        self.loss.assumption()
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn reach(&self) -> f64 {
        1.01 * self.radius()
    }

    /// The lower triangle of Σvvᵀ row by row, then Σyv.
    fn start(&self) -> Vec<f64> {
        vec![0.0; self.dimension * (self.dimension + 1) / 2 + self.dimension]
    }

    fn step(&self, _t: u64, state: &mut [f64], record: Option<&Record>) -> Fate {
        let Some(datum) = record.and_then(|record| self.loss.read(record)) else {
            return Fate::Null;
        };
        let mut place = state.iter_mut();
        for (i, a) in datum.v.iter().enumerate() {
            for b in &datum.v[..=i] {
                *place.next().expect("the state has room for the triangle") += a * b;
            }
        }
        for (sum, v) in place.zip(&datum.v) {
            *sum += datum.y * v;
        }
        if datum.clipped {
            Fate::Clipped
        } else {
            Fate::Kept
        }
    }

    /// Cholesky, then two triangular solves.
    fn iterate(&self, t: u64, state: &[f64], out: &mut [f64]) {
        let d = self.dimension;
        let (triangle, right) = state.split_at(d * (d + 1) / 2);
        let at = |i: usize, j: usize| i * (i + 1) / 2 + j;
        let mut l = triangle.to_vec();
        out.copy_from_slice(right);
        for i in 0..d {
            l[at(i, i)] += t.max(1) as f64 * self.alpha;
            for j in 0..=i {
                let known: f64 = (0..j).map(|k| l[at(i, k)] * l[at(j, k)]).sum();
                let rest = l[at(i, j)] - known;
                l[at(i, j)] = if i == j {
                    rest.max(f64::MIN_POSITIVE).sqrt()
                } else {
                    rest / l[at(j, j)]
                };
            }
            let known: f64 = (0..i).map(|k| l[at(i, k)] * out[k]).sum();
            out[i] = (out[i] - known) / l[at(i, i)];
        }
        for i in (0..d).rev() {
            let known: f64 = (i + 1..d).map(|k| l[at(k, i)] * out[k]).sum();
            out[i] = (out[i] - known) / l[at(i, i)];
        }
    }

    fn sensitivity(&self, t: u64, adjacency: Adjacency) -> f64 {
        let (r, y) = (self.loss.features(), self.bounds.target_magnitude());
        let fresh = adjacency.kappa() * r * (r * self.radius() + y);
        outward(fresh / (self.alpha * t as f64) + 2.0 * self.error(t), 1)
    }

    fn proof(&self) -> Option<ProvedHere> {
        Some(ProvedHere(()))
    }
}
