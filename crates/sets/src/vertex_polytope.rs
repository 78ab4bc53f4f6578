//! A polytope given by its vertices: the convex hull of finitely many points.
//!
//! **Projection** by Wolfe's method with a checked gap (`wolfe.rs`). **Minimiser** the first best
//! point, O(n·d).
//!
//! **Facets.** In low dimension (at most 200,000 subsets of k out of n points, k the dimension of
//! the hull) the constructor finds all facets. They give the inner radius, the logarithmic barrier
//! (ν = number of facets) and the local oracle's constant; without them the inner radius is stated
//! as 0, there is no barrier, and the oracle's constant must be supplied with
//! [`VertexPolytope::with_move_rate`].
//!
//! **Local oracle** on a vertex decomposition (`decomposed.rs`), with the move rate κ that
//! `facets.rs` computes.

use hushstream_account::ParameterError;
use std::sync::Arc;

use crate::enumerate::{SUBSET_CAP, subsets};
use crate::facets::Facets;
use crate::hull::AffineHull;
use crate::log_barrier::LogBarrier;
use crate::{
    Barrier, Capability, ConvexSet, DecomposedOracle, LocalOracle, SetError, Shape, vector, wolfe,
};

/// The convex hull of finitely many points.
///
/// ```
/// use hushstream_sets::{ConvexSet, SetError, VertexPolytope};
///
/// let triangle = VertexPolytope::new(&[vec![0.0, 0.0], vec![4.0, 0.0], vec![0.0, 3.0]])?;
/// assert_eq!(triangle.diameter(), 5.0);
/// let mut lowest = [0.0; 2];
/// triangle.minimise(&[-1.0, -1.0], &mut lowest)?;
/// assert_eq!(lowest, [4.0, 0.0]);
/// # Ok::<(), SetError>(())
/// ```
#[derive(Debug, Clone)]
pub struct VertexPolytope {
    shape: Shape,
    points: Arc<Vec<Vec<f64>>>,
    hull: AffineHull,
    facets: Option<Facets>,
    move_rate: Option<f64>,
}

impl VertexPolytope {
    /// The largest number of points.
    pub const MAX_POINTS: usize = 4096;

    /// The convex hull of the points. Repeated points count once; points that are not vertices are
    /// allowed.
    ///
    /// # Errors
    /// No points or more than [`Self::MAX_POINTS`], no coordinates, different lengths, or
    /// coordinates that are not finite.
    pub fn new(points: &[Vec<f64>]) -> Result<Self, SetError> {
        let dimension = points.first().map_or(0, Vec::len);
        if points.is_empty() || points.len() > Self::MAX_POINTS {
            return Err(ParameterError::new("number of points", points.len(), "1 to 4096").into());
        }
        vector::check_dimension(dimension, 1)?;
        let mut kept: Vec<Vec<f64>> = Vec::with_capacity(points.len());
        for point in points {
            vector::check("point", point, dimension)?;
            if !kept.contains(point) {
                kept.push(point.clone());
            }
        }
        let mut mean = vec![0.0; dimension];
        for point in &kept {
            vector::add(&mut mean, 1.0 / kept.len() as f64, point);
        }
        vector::check("mean of the points", &mean, dimension)?;
        let mut diameter = 0.0_f64;
        for (index, point) in kept.iter().enumerate() {
            for other in &kept[..index] {
                diameter = diameter.max(vector::distance(point, other));
            }
        }
        let hull = AffineHull::of_points(&kept, mean);
        let facets = Facets::of(&kept, &hull);
        let move_rate = facets
            .as_ref()
            .map(|facets| facets.move_rate(&kept, &hull, diameter));
        let inner_radius = match &facets {
            Some(facets) if hull.basis.len() == dimension => {
                facets.offsets.iter().copied().fold(f64::INFINITY, f64::min)
            }
            _ => 0.0,
        };
        let from_centre = kept
            .iter()
            .map(|point| vector::distance(point, &hull.origin));
        Ok(Self {
            shape: Shape {
                name: "vertex polytope",
                centre: hull.origin.clone(),
                diameter,
                outer_radius: from_centre.fold(0.0, f64::max),
                inner_radius,
                largest_norm: vector::largest_norm(&kept),
            },
            points: Arc::new(kept),
            hull,
            facets,
            move_rate,
        })
    }

    /// Supplies a known move rate κ for the local oracle, whose ρ is then κ·diameter (see
    /// [`DecomposedOracle`]). It is not checked: a κ that is too small breaks the oracle's third
    /// property.
    ///
    /// # Errors
    /// A rate that is not positive and finite.
    pub fn with_move_rate(mut self, move_rate: f64) -> Result<Self, SetError> {
        vector::check_positive("move rate", move_rate)?;
        self.move_rate = Some(move_rate);
        Ok(self)
    }

    /// The facets and their coordinates, for the polytope given by inequalities.
    pub(crate) fn facets(&self) -> Option<(&Facets, &AffineHull)> {
        self.facets.as_ref().map(|facets| (facets, &self.hull))
    }

    fn too_many_facets(&self, what: &'static str) -> SetError {
        SetError::TooMany {
            what,
            count: subsets(self.points.len(), self.hull.basis.len()),
            cap: SUBSET_CAP,
        }
    }
}

impl ConvexSet for VertexPolytope {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn can(&self, capability: Capability) -> bool {
        match capability {
            Capability::LocalOracle => self.move_rate.is_some(),
            Capability::Barrier => self.facets.is_some(),
            _ => true,
        }
    }

    fn project(&self, point: &mut [f64]) -> Result<f64, SetError> {
        wolfe::project(self, point)
    }

    fn minimise(&self, direction: &[f64], out: &mut [f64]) -> Result<(), SetError> {
        vector::check_minimise(direction, out, self.dimension())?;
        let products = self
            .points
            .iter()
            .map(|point| vector::dot(point, direction));
        let best = vector::first_smallest(&products.collect::<Vec<_>>());
        out.copy_from_slice(&self.points[best]);
        Ok(())
    }

    fn local_oracle(&self) -> Result<Box<dyn LocalOracle>, SetError> {
        let move_rate = self.move_rate.ok_or_else(|| {
            self.too_many_facets(
                "subsets to find the local oracle's constant (or give it: with_move_rate)",
            )
        })?;
        let set = Arc::new(self.clone());
        Ok(Box::new(DecomposedOracle::new(set, move_rate)?))
    }

    fn barrier(&self) -> Result<Box<dyn Barrier>, SetError> {
        let facets = self
            .facets
            .as_ref()
            .ok_or_else(|| self.too_many_facets("subsets to find the facets of the barrier"))?;
        let rows: Vec<Vec<f64>> = facets
            .normals
            .iter()
            .map(|normal| vector::difference(&self.hull.lift(normal), &self.hull.origin))
            .collect();
        let offsets: Vec<f64> = rows
            .iter()
            .zip(&facets.offsets)
            .map(|(row, offset)| offset + vector::dot(row, &self.hull.origin))
            .collect();
        Ok(LogBarrier::in_hull(
            self.name(),
            &rows,
            &offsets,
            self.hull.clone(),
        ))
    }

    fn vertices(&self) -> Result<Vec<Vec<f64>>, SetError> {
        Ok(self.points.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The general construction gives the constants that are known in closed form.
    #[test]
    fn known_constants() {
        for dimension in 2..=6_usize {
            let simplex = crate::Simplex::new(dimension).unwrap().vertices().unwrap();
            let set = VertexPolytope::new(&simplex).unwrap();
            // √d/2 for even d; for odd d the best split is uneven.
            let (a, d) = ((dimension / 2) as f64, dimension as f64);
            let known = (a * (d - a) / d).sqrt();
            assert!((set.move_rate.unwrap() - known).abs() < 1e-12);
            assert!(set.inner_radius() == 0.0);
        }
        let cube = crate::BoxSet::cube(3, 1.0).unwrap();
        let set = VertexPolytope::new(&cube.vertices().unwrap()).unwrap();
        assert!((set.move_rate.unwrap() - 0.75_f64.sqrt()).abs() < 1e-12);
        assert!((set.inner_radius() - 1.0).abs() < 1e-12);
        assert!((set.diameter() - cube.diameter()).abs() < 1e-12);
    }

    #[test]
    fn large_polytopes_ask_for_a_move_rate() {
        let cube = crate::BoxSet::cube(8, 1.0).unwrap().vertices().unwrap();
        let set = VertexPolytope::new(&cube).unwrap();
        assert!(!set.can(Capability::LocalOracle));
        let error = set.local_oracle().unwrap_err().to_string();
        assert!(error.contains("with_move_rate"), "{error}");
        assert!(set.barrier().is_err());
        let set = set.with_move_rate(2.0_f64.sqrt()).unwrap();
        let rho = set.local_oracle().unwrap().rho();
        assert!((rho - 8.0).abs() < 1e-12);
        assert!(VertexPolytope::new(&[]).is_err());
        assert!(VertexPolytope::new(&[vec![0.0], vec![f64::NAN]]).is_err());
        let point = VertexPolytope::new(&[vec![1.0, 2.0]]).unwrap();
        assert!(point.diameter() == 0.0 && point.contains(&[1.0, 2.0], 0.0));
    }
}
