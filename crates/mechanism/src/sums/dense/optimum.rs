//! The strategy with the least error of all.
//!
//! Let A be the matrix of prefix sums (ones on and below the diagonal), C a strategy with columns
//! of length at most 1, X = CᵀC. Release t carries variance (A·X⁻¹·Aᵀ)_tt per unit of noise. Over
//! all X with diagonal at most 1, weights w and v that are positive and add up to 1, and B =
//! W^½·A·V^½,
//!
//! Σ_t w_t·(A·X⁻¹·Aᵀ)_tt ≥ ‖B‖_*², the squared sum of B's singular values,
//!
//! because tr(W·A·X⁻¹·Aᵀ)·tr(V·X) ≥ ‖W^½·A·X^{−½}·X^½·V^½‖_*² (Cauchy and Schwarz), and
//! tr(V·X) ≤ 1. So any v is a *certificate*: no factorisation whatsoever has less error than
//! ‖B‖_*. It is attained where X = V^{−½}·(BᵀB)^½·V^{−½} (up to a factor) has a constant diagonal,
//! that is v ∝ diag((BᵀB)^½); and for the worst release also w ∝ diag((BBᵀ)^½) (Denisov, McMahan,
//! Rush, Smith & Thakurta 2022). Both are found by repeating just that, from equal weights. A is
//! its own transpose when rows and columns are read backwards, so for the worst release w is v
//! backwards.
//!
//! **In O(n) per node.** A⁻¹ takes differences, so T = (BᵀB)⁻¹ is tridiagonal, and
//!
//! (BᵀB)^½ = T^{−½} = (1/π)·∫ (T + eˣ)⁻¹·e^{x/2} dx,
//!
//! by the trapezoidal rule on some fifty nodes: its error falls like e^{−2π²/step}, and beyond the
//! ends of the grid like the square root of what is left out. The diagonal of (T + s)⁻¹ comes from
//! two recursions, forwards and backwards, without any matrix. Weights of the rule are positive, so
//! what it gives for X is positive definite, whatever the precision: nothing here can harm privacy,
//! which counts the integers of `dense.rs`, and errors are computed from those integers too.
//!
//! Floats here are sums, products, quotients and square roots in a stated order: one result on
//! every machine. (A run stores its coefficients all the same.)

use super::workload::Workload;

/// The trapezoidal rule's step, and how far beyond the spectrum it goes, in units of x.
const STEP: f64 = 1.25;
const BEYOND: f64 = 24.0;
/// The relative gap between error and certificate at which repetition ends, and the most of it.
const GAP: f64 = 1e-5;
const MOST_STEPS: usize = 400;

/// The weights v of the optimum, and what they certify.
pub(super) struct Optimum {
    diagonal: Vec<f64>,
    /// t_{i,i+1}, all negative.
    beside: Vec<f64>,
    /// v.
    pub(super) columns: Vec<f64>,
    /// No strategy has less error.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests compare it"))]
    pub(super) certificate: f64,
}

impl Optimum {
    pub(super) fn of(workload: Workload, releases: usize) -> Self {
        let stated = workload.weights(releases as u64);
        let mut columns = vec![1.0 / releases as f64; releases];
        let mut step = 0;
        loop {
            let rows: Vec<f64> = match &stated {
                Some(weights) => weights.clone(),
                None => columns.iter().rev().copied().collect(),
            };
            let (diagonal, beside) = tridiagonal(&rows, &columns);
            let root = root_diagonal(&diagonal, &beside);
            let certificate: f64 = root.iter().sum();
            let most = root
                .iter()
                .zip(&columns)
                .map(|(root, column)| root / column)
                .fold(0.0, f64::max);
            // The longest column's square counts for the columns and, for the worst release, once
            // more for the rows.
            let above = most / certificate;
            let gap = if stated.is_some() {
                above.sqrt()
            } else {
                above
            } - 1.0;
            step += 1;
            if gap < GAP || step == MOST_STEPS {
                return Self {
                    diagonal,
                    beside,
                    columns,
                    certificate,
                };
            }
            columns = root.iter().map(|root| root / certificate).collect();
        }
    }

    /// X with ones on its diagonal, row by row.
    fn gram(&self) -> Vec<Vec<f64>> {
        let n = self.columns.len();
        let mut gram: Vec<Vec<f64>> = (0..n).map(|i| vec![0.0; i + 1]).collect();
        let mut forwards = vec![0.0; n];
        let mut inverse = vec![0.0; n];
        for (shift, weight) in nodes(&self.diagonal, &self.beside) {
            inverse_diagonal(
                &self.diagonal,
                &self.beside,
                shift,
                &mut forwards,
                &mut inverse,
            );
            // (T + s)⁻¹_ij = (T + s)⁻¹_jj·Π_{i ≤ k < j} (−t_{k,k+1}/forwards_k).
            let ratios: Vec<f64> = self
                .beside
                .iter()
                .zip(&forwards)
                .map(|(b, f)| -b / f)
                .collect();
            for (j, row) in gram.iter_mut().enumerate() {
                let mut entry = inverse[j] * weight;
                row[j] += entry;
                for (sum, ratio) in row[..j].iter_mut().zip(&ratios[..j]).rev() {
                    entry *= ratio;
                    *sum += entry;
                }
            }
        }
        let scale: Vec<f64> = gram
            .iter()
            .zip(0..)
            .map(|(row, i): (&Vec<f64>, usize)| row[i].sqrt())
            .collect();
        for (j, row) in gram.iter_mut().enumerate() {
            for (entry, other) in row.iter_mut().zip(&scale) {
                *entry /= scale[j] * other;
            }
        }
        gram
    }

    /// C, row by row: lower triangular, CᵀC = X, columns of length 1.
    pub(super) fn strategy(&self) -> Vec<Vec<f64>> {
        let mut rows = self.gram();
        // From the last row up: row t of C is row t of what is left of X over its root, and its
        // square leaves X.
        for t in (0..rows.len()).rev() {
            let (above, rest) = rows.split_at_mut(t);
            let row = &mut rest[0];
            let root = row[t].max(f64::MIN_POSITIVE).sqrt();
            for entry in row.iter_mut() {
                *entry /= root;
            }
            for (i, left) in above.iter_mut().enumerate() {
                let factor = row[i];
                for (left, entry) in left.iter_mut().zip(&*row) {
                    *left -= factor * entry;
                }
            }
        }
        rows
    }
}

/// T = V^{−½}·A⁻¹·W⁻¹·A⁻ᵀ·V^{−½}.
fn tridiagonal(rows: &[f64], columns: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let n = rows.len();
    let diagonal = (0..n).map(|i| {
        let before = if i > 0 { 1.0 / rows[i - 1] } else { 0.0 };
        (1.0 / rows[i] + before) / columns[i]
    });
    let beside = (1..n).map(|i| -1.0 / (rows[i - 1] * (columns[i - 1] * columns[i]).sqrt()));
    (diagonal.collect(), beside.collect())
}

/// (eˣ, weight) of every node of the rule.
fn nodes(diagonal: &[f64], beside: &[f64]) -> Vec<(f64, f64)> {
    let n = diagonal.len();
    let most = (0..n).map(|i| {
        let before = if i > 0 { beside[i - 1].abs() } else { 0.0 };
        diagonal[i] + before + beside.get(i).map_or(0.0, |b| b.abs())
    });
    let most = most.fold(0.0, f64::max);
    // The trace of T⁻¹ is at least its largest eigenvalue.
    let (mut forwards, mut inverse) = (vec![0.0; n], vec![0.0; n]);
    inverse_diagonal(diagonal, beside, 0.0, &mut forwards, &mut inverse);
    let least = 1.0 / inverse.iter().sum::<f64>();
    let (first, last) = (libm::log(least) - BEYOND, libm::log(most) + BEYOND);
    let count = ((last - first) / STEP).ceil() as usize;
    (0..=count)
        .map(|k| {
            let x = first + STEP * k as f64;
            let weight = STEP / std::f64::consts::PI * libm::exp(x / 2.0);
            (libm::exp(x), weight)
        })
        .collect()
}

/// diag(T^{−½}).
fn root_diagonal(diagonal: &[f64], beside: &[f64]) -> Vec<f64> {
    let n = diagonal.len();
    let (mut root, mut forwards, mut inverse) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
    for (shift, weight) in nodes(diagonal, beside) {
        inverse_diagonal(diagonal, beside, shift, &mut forwards, &mut inverse);
        for (root, inverse) in root.iter_mut().zip(&inverse) {
            *root += weight * inverse;
        }
    }
    root
}

/// The diagonal of (T + s)⁻¹, and the pivots of T + s from the first row on.
fn inverse_diagonal(
    diagonal: &[f64],
    beside: &[f64],
    shift: f64,
    forwards: &mut [f64],
    inverse: &mut [f64],
) {
    let n = diagonal.len();
    forwards[0] = diagonal[0] + shift;
    for i in 1..n {
        forwards[i] = diagonal[i] + shift - beside[i - 1] * beside[i - 1] / forwards[i - 1];
    }
    // With the pivot from the last row on, both lack one neighbour's share.
    let mut backwards = diagonal[n - 1] + shift;
    inverse[n - 1] = 1.0 / forwards[n - 1];
    for i in (0..n - 1).rev() {
        let share = beside[i] * beside[i] / backwards;
        inverse[i] = 1.0 / (forwards[i] - share);
        backwards = diagonal[i] + shift - share;
    }
}
