//! The logarithmic barrier of linear inequalities, −Σ ln(bⱼ − ⟨aⱼ, x⟩), in orthonormal coordinates
//! y of an affine hull.
//!
//! With sⱼ the slacks, ∇ = Σ aⱼ/sⱼ and ∇² = Σ aⱼaⱼᵀ/sⱼ², the rows taken in the hull. ν is the
//! number of rows (`barrier.rs`). **Cost** O(rows·k) for value and gradient, O(rows·k²) for the
//! Hessian.

use crate::barrier::outside;
use crate::hull::AffineHull;
use crate::{Barrier, SetError, vector};

/// −Σ ln(bⱼ − ⟨aⱼ, y⟩) for rows in orthonormal coordinates y of an affine hull. ν = the number of
/// rows.
#[derive(Debug, Clone)]
pub(crate) struct LogBarrier {
    name: &'static str,
    rows: Vec<Vec<f64>>,
    offsets: Vec<f64>,
    hull: AffineHull,
}

impl LogBarrier {
    /// The barrier of {⟨row, x⟩ ≤ offset} in the hull, whose origin must be inside. Rows that are
    /// constant on the hull are omitted.
    pub(crate) fn in_hull(
        name: &'static str,
        rows: &[Vec<f64>],
        offsets: &[f64],
        hull: AffineHull,
    ) -> Box<dyn Barrier> {
        let mut kept = Self {
            name,
            rows: Vec::new(),
            offsets: Vec::new(),
            hull,
        };
        for (row, offset) in rows.iter().zip(offsets) {
            let reduced = kept.hull.pull_back(row);
            if vector::norm(&reduced) > 1e-9 * vector::norm(row) {
                kept.offsets
                    .push(offset - vector::dot(row, &kept.hull.origin));
                kept.rows.push(reduced);
            }
        }
        Box::new(kept)
    }

    fn slacks(&self, free: &[f64]) -> Result<Vec<f64>, SetError> {
        vector::check("free coordinates", free, self.free_dimension())?;
        let rows = self.rows.iter().zip(&self.offsets);
        let slacks: Vec<f64> = rows
            .map(|(row, offset)| offset - vector::dot(row, free))
            .collect();
        match slacks.iter().find(|&&slack| slack <= 0.0) {
            Some(slack) => Err(outside(self.name, -slack)),
            None => Ok(slacks),
        }
    }
}

impl Barrier for LogBarrier {
    fn free_dimension(&self) -> usize {
        self.hull.basis.len()
    }

    fn point_dimension(&self) -> usize {
        self.hull.origin.len()
    }

    fn parameter(&self) -> f64 {
        self.rows.len() as f64
    }

    fn value(&self, free: &[f64]) -> f64 {
        self.slacks(free).map_or(f64::INFINITY, |slacks| {
            -slacks.iter().map(|slack| slack.ln()).sum::<f64>()
        })
    }

    fn gradient(&self, free: &[f64]) -> Result<Vec<f64>, SetError> {
        let mut gradient = vec![0.0; free.len()];
        for (slack, row) in self.slacks(free)?.iter().zip(&self.rows) {
            vector::add(&mut gradient, 1.0 / slack, row);
        }
        Ok(gradient)
    }

    fn hessian(&self, free: &[f64]) -> Result<Vec<f64>, SetError> {
        let size = self.free_dimension();
        let mut hessian = vec![0.0; size * size];
        for (slack, row) in self.slacks(free)?.iter().zip(&self.rows) {
            for (line, entry) in hessian.chunks_exact_mut(size).zip(row) {
                vector::add(line, entry / (slack * slack), row);
            }
        }
        Ok(hessian)
    }

    fn start(&self) -> Vec<f64> {
        vec![0.0; self.free_dimension()]
    }

    fn lift(&self, free: &[f64]) -> Result<Vec<f64>, SetError> {
        vector::check("free coordinates", free, self.free_dimension())?;
        Ok(self.hull.lift(free))
    }

    fn pull_back(&self, gradient: &[f64]) -> Result<Vec<f64>, SetError> {
        vector::check("gradient", gradient, self.point_dimension())?;
        Ok(self.hull.pull_back(gradient))
    }
}
