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

    fn gradient(&self, free: &[f64], out: &mut [f64]) -> Result<(), SetError> {
        vector::check_length("gradient", out, self.free_dimension())?;
        out.fill(0.0);
        for (slack, row) in self.slacks(free)?.iter().zip(&self.rows) {
            vector::add(out, 1.0 / slack, row);
        }
        Ok(())
    }

    fn hessian(&self, free: &[f64], out: &mut [f64]) -> Result<(), SetError> {
        let size = self.free_dimension();
        vector::check_length("hessian", out, size * size)?;
        out.fill(0.0);
        for (slack, row) in self.slacks(free)?.iter().zip(&self.rows) {
            for (line, entry) in out.chunks_exact_mut(size).zip(row) {
                vector::add(line, entry / (slack * slack), row);
            }
        }
        Ok(())
    }

    fn start(&self, out: &mut [f64]) -> Result<(), SetError> {
        vector::check_length("free coordinates", out, self.free_dimension())?;
        out.fill(0.0);
        Ok(())
    }

    fn lift(&self, free: &[f64], point: &mut [f64]) -> Result<(), SetError> {
        vector::check("free coordinates", free, self.free_dimension())?;
        vector::write("point", point, &self.hull.lift(free))
    }

    fn lower(&self, point: &[f64], free: &mut [f64]) -> Result<(), SetError> {
        vector::check("point", point, self.point_dimension())?;
        vector::write("free coordinates", free, &self.hull.lower(point))
    }

    fn pull_back(&self, gradient: &[f64], free: &mut [f64]) -> Result<(), SetError> {
        vector::check("gradient", gradient, self.point_dimension())?;
        vector::write("free coordinates", free, &self.hull.pull_back(gradient))
    }
}
