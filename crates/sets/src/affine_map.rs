//! How oracles and barriers look through a map y ↦ factor·y + offset (`moved.rs` has the formulas).

use crate::{Barrier, LocalOracle, SetError, vector};

/// x = factor·y + offset, for y in the inner set.
#[derive(Debug, Clone)]
pub(crate) struct Map {
    pub(crate) factor: f64,
    pub(crate) offset: Vec<f64>,
}

impl Map {
    pub(crate) fn out(&self, point: &mut [f64]) {
        for (value, offset) in point.iter_mut().zip(&self.offset) {
            *value = self.factor * *value + offset;
        }
    }

    pub(crate) fn back(&self, point: &[f64]) -> Vec<f64> {
        let pairs = point.iter().zip(&self.offset);
        pairs
            .map(|(value, offset)| (value - offset) / self.factor)
            .collect()
    }
}

/// The oracle of the inner set, seen from outside.
#[derive(Debug)]
pub(crate) struct MovedOracle {
    pub(crate) inner: Box<dyn LocalOracle>,
    pub(crate) map: Map,
}

impl LocalOracle for MovedOracle {
    fn rho(&self) -> f64 {
        self.inner.rho()
    }

    fn start(&mut self, point: &[f64]) -> Result<(), SetError> {
        vector::check("point", point, self.map.offset.len())?;
        self.inner.start(&self.map.back(point))
    }

    fn step(
        &mut self,
        point: &[f64],
        radius: f64,
        gradient: &[f64],
        answer: &mut [f64],
    ) -> Result<(), SetError> {
        vector::check("point", point, self.map.offset.len())?;
        let inner = self.map.back(point);
        self.inner
            .step(&inner, radius / self.map.factor, gradient, answer)?;
        self.map.out(answer);
        Ok(())
    }

    fn advance(&mut self, fraction: f64, point: &mut [f64]) -> Result<(), SetError> {
        self.inner.advance(fraction, point)?;
        self.map.out(point);
        Ok(())
    }

    /// Of the inner set: that is what restores bit for bit.
    fn decomposition(&self) -> Vec<(f64, Vec<f64>)> {
        self.inner.decomposition()
    }

    fn restore(&mut self, saved: &[(f64, Vec<f64>)]) -> Result<(), SetError> {
        self.inner.restore(saved)
    }
}

/// The barrier of the inner set, lifted further.
#[derive(Debug)]
pub(crate) struct MovedBarrier {
    pub(crate) inner: Box<dyn Barrier>,
    pub(crate) map: Map,
}

impl Barrier for MovedBarrier {
    fn free_dimension(&self) -> usize {
        self.inner.free_dimension()
    }

    fn point_dimension(&self) -> usize {
        self.inner.point_dimension()
    }

    fn parameter(&self) -> f64 {
        self.inner.parameter()
    }

    fn value(&self, free: &[f64]) -> f64 {
        self.inner.value(free)
    }

    fn gradient(&self, free: &[f64], out: &mut [f64]) -> Result<(), SetError> {
        self.inner.gradient(free, out)
    }

    fn hessian(&self, free: &[f64], out: &mut [f64]) -> Result<(), SetError> {
        self.inner.hessian(free, out)
    }

    fn start(&self, out: &mut [f64]) -> Result<(), SetError> {
        self.inner.start(out)
    }

    fn lift(&self, free: &[f64], point: &mut [f64]) -> Result<(), SetError> {
        self.inner.lift(free, point)?;
        self.map.out(point);
        Ok(())
    }

    fn lower(&self, point: &[f64], free: &mut [f64]) -> Result<(), SetError> {
        vector::check("point", point, self.point_dimension())?;
        self.inner.lower(&self.map.back(point), free)
    }

    fn pull_back(&self, gradient: &[f64], free: &mut [f64]) -> Result<(), SetError> {
        self.inner.pull_back(gradient, free)?;
        free.iter_mut().for_each(|value| *value *= self.map.factor);
        Ok(())
    }
}
