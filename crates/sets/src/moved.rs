//! Scaled and shifted sets, with every capability of the inner set.
//!
//! For K′ = s·K + o: Π′(x) = s·Π((x − o)/s) + o; the minimiser is s·(minimiser of K) + o; the local
//! oracle answers s·p + o for p at ((x − o)/s, r/s, g), with the same ρ; a barrier keeps its free
//! coordinates, its values and its ν, and only the map from free coordinates to points changes; a
//! net of radius r is a net of radius r/s; lengths are multiplied by s.

use std::sync::Arc;

use crate::{Barrier, Capability, ConvexSet, LocalOracle, SetError, Shape, vector};

/// A set multiplied by a positive factor, or moved by a vector.
///
/// ```
/// use std::sync::Arc;
///
/// use hushstream_sets::{Ball, ConvexSet, Moved, SetError, Simplex};
///
/// let set = Moved::scaled(Arc::new(Simplex::new(2)?), 10.0)?;
/// let mut point = [9.0, 3.0];
/// set.project(&mut point)?;
/// assert!((point[0] - 8.0).abs() < 1e-12 && (point[1] - 2.0).abs() < 1e-12);
///
/// let ball = Moved::shifted(Arc::new(Ball::new(2, 1.0)?), &[10.0, 0.0])?;
/// assert!(ball.contains(&[10.5, 0.5], 0.0) && !ball.contains(&[0.0, 0.0], 0.0));
/// assert_eq!(ball.diameter(), 2.0);
/// # Ok::<(), SetError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Moved {
    set: Arc<dyn ConvexSet>,
    map: Map,
    shape: Shape,
}

impl Moved {
    /// {factor·x : x in the set}.
    ///
    /// # Errors
    /// A factor that is not positive and finite.
    pub fn scaled(set: Arc<dyn ConvexSet>, factor: f64) -> Result<Self, SetError> {
        vector::check_positive("factor", factor)?;
        let offset = vec![0.0; set.dimension()];
        Ok(Self::new("scaled set", set, Map { factor, offset }))
    }

    /// {x + offset : x in the set}.
    ///
    /// # Errors
    /// An offset of the wrong length, or one that is not finite.
    pub fn shifted(set: Arc<dyn ConvexSet>, offset: &[f64]) -> Result<Self, SetError> {
        vector::check("offset", offset, set.dimension())?;
        let map = Map {
            factor: 1.0,
            offset: offset.to_vec(),
        };
        Ok(Self::new("shifted set", set, map))
    }

    fn new(name: &'static str, set: Arc<dyn ConvexSet>, map: Map) -> Self {
        let shift = vector::norm(&map.offset);
        let mut centre = set.shape().centre.clone();
        map.out(&mut centre);
        let outer_radius = map.factor * set.outer_radius();
        let exact = map.factor * set.largest_norm();
        let around = vector::norm(&centre) + outer_radius;
        let largest_norm = if shift == 0.0 {
            exact
        } else if let Ok(vertices) = set.vertices() {
            let norms = vertices.into_iter().map(|mut vertex| {
                map.out(&mut vertex);
                vector::norm(&vertex)
            });
            norms.fold(0.0, f64::max)
        } else {
            // Exact for a ball; an upper bound elsewhere.
            around.min(exact + shift)
        };
        let shape = Shape {
            name,
            centre,
            diameter: map.factor * set.diameter(),
            outer_radius,
            inner_radius: map.factor * set.inner_radius(),
            largest_norm,
        };
        Self { set, map, shape }
    }
}

impl ConvexSet for Moved {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn can(&self, capability: Capability) -> bool {
        self.set.can(capability)
    }

    fn project(&self, point: &mut [f64]) -> Result<f64, SetError> {
        vector::check("point", point, self.set.dimension())?;
        let mut inner = self.map.back(point);
        let error = self.set.project(&mut inner)?;
        let reach = self.shape.largest_norm + vector::norm(&self.map.offset) + vector::norm(point);
        self.map.out(&mut inner);
        point.copy_from_slice(&inner);
        Ok(self.map.factor * error + vector::rounding(1, reach))
    }

    fn projection_error(&self, reach: f64) -> Option<f64> {
        let shift = vector::norm(&self.map.offset);
        let inner = self
            .set
            .projection_error((reach + shift) / self.map.factor)?;
        Some(self.map.factor * inner + vector::rounding(1, self.shape.largest_norm + shift + reach))
    }

    fn minimise(&self, direction: &[f64], out: &mut [f64]) -> Result<(), SetError> {
        self.set.minimise(direction, out)?;
        self.map.out(out);
        Ok(())
    }

    fn vertices(&self) -> Result<Vec<Vec<f64>>, SetError> {
        let mut vertices = self.set.vertices()?;
        vertices.iter_mut().for_each(|vertex| self.map.out(vertex));
        Ok(vertices)
    }

    fn net(&self, radius: f64) -> Result<Vec<Vec<f64>>, SetError> {
        vector::check_positive("radius", radius)?;
        let mut net = self.set.net(radius / self.map.factor)?;
        net.iter_mut().for_each(|point| self.map.out(point));
        Ok(net)
    }

    fn local_oracle(&self) -> Result<Box<dyn LocalOracle>, SetError> {
        Ok(Box::new(MovedOracle {
            inner: self.set.local_oracle()?,
            map: self.map.clone(),
        }))
    }

    fn barrier(&self) -> Result<Box<dyn Barrier>, SetError> {
        Ok(Box::new(MovedBarrier {
            inner: self.set.barrier()?,
            map: self.map.clone(),
        }))
    }
}

#[derive(Debug, Clone)]
struct Map {
    factor: f64,
    offset: Vec<f64>,
}

impl Map {
    fn out(&self, point: &mut [f64]) {
        for (value, offset) in point.iter_mut().zip(&self.offset) {
            *value = self.factor * *value + offset;
        }
    }

    fn back(&self, point: &[f64]) -> Vec<f64> {
        let pairs = point.iter().zip(&self.offset);
        pairs
            .map(|(value, offset)| (value - offset) / self.factor)
            .collect()
    }
}

/// The oracle of the inner set, in the coordinates of the outer set.
#[derive(Debug)]
struct MovedOracle {
    inner: Box<dyn LocalOracle>,
    map: Map,
}

impl LocalOracle for MovedOracle {
    fn rho(&self) -> f64 {
        self.inner.rho()
    }

    fn start(&mut self, point: &[f64]) -> Result<(), SetError> {
        vector::check("point", point, self.map.offset.len())?;
        self.inner.start(&self.map.back(point))
    }

    fn step(&mut self, point: &[f64], radius: f64, slope: &[f64]) -> Result<Vec<f64>, SetError> {
        vector::check("point", point, self.map.offset.len())?;
        let (inner, radius) = (self.map.back(point), radius / self.map.factor);
        let mut answer = self.inner.step(&inner, radius, slope)?;
        self.map.out(&mut answer);
        Ok(answer)
    }

    fn advance(&mut self, fraction: f64) -> Result<Vec<f64>, SetError> {
        let mut point = self.inner.advance(fraction)?;
        self.map.out(&mut point);
        Ok(point)
    }

    /// The decomposition of the inner set, which restores it bit for bit.
    fn decomposition(&self) -> Vec<(f64, Vec<f64>)> {
        self.inner.decomposition()
    }

    fn restore(&mut self, saved: &[(f64, Vec<f64>)]) -> Result<(), SetError> {
        self.inner.restore(saved)
    }
}

/// The barrier of the inner set, lifted to points of the outer set.
#[derive(Debug)]
struct MovedBarrier {
    inner: Box<dyn Barrier>,
    map: Map,
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

    fn gradient(&self, free: &[f64]) -> Result<Vec<f64>, SetError> {
        self.inner.gradient(free)
    }

    fn hessian(&self, free: &[f64]) -> Result<Vec<f64>, SetError> {
        self.inner.hessian(free)
    }

    fn start(&self) -> Vec<f64> {
        self.inner.start()
    }

    fn lift(&self, free: &[f64]) -> Result<Vec<f64>, SetError> {
        let mut point = self.inner.lift(free)?;
        self.map.out(&mut point);
        Ok(point)
    }

    fn pull_back(&self, gradient: &[f64]) -> Result<Vec<f64>, SetError> {
        let mut free = self.inner.pull_back(gradient)?;
        free.iter_mut().for_each(|value| *value *= self.map.factor);
        Ok(free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ball, Simplex};

    #[test]
    fn numbers_move_along() {
        let ball = Arc::new(Ball::new(2, 1.0).unwrap());
        let set = Moved::shifted(Arc::new(Moved::scaled(ball, 2.0).unwrap()), &[3.0, 4.0]).unwrap();
        assert!((set.largest_norm() - 7.0).abs() < 1e-12);
        assert!((set.inner_radius() - 2.0).abs() < 1e-12);
        let mut point = [3.0, 14.0];
        assert!(set.project(&mut point).unwrap() < 1e-12);
        assert!(vector::distance(&point, &[3.0, 6.0]) < 1e-14);
        let simplex = Arc::new(Simplex::new(2).unwrap());
        let set = Moved::shifted(simplex.clone(), &[1.0, 0.0]).unwrap();
        assert!((set.largest_norm() - 2.0).abs() < 1e-12);
        assert!(Moved::scaled(simplex.clone(), 0.0).is_err());
        assert!(Moved::shifted(simplex, &[1.0]).is_err());
    }

    #[test]
    fn capabilities_are_those_of_the_inner_set() {
        let ball = Arc::new(Ball::new(2, 1.0).unwrap());
        let set = Moved::scaled(ball, 2.0).unwrap();
        assert!(!set.can(Capability::Vertices) && set.vertices().is_err());
    }
}
