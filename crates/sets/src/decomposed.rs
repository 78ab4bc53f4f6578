//! The local linear oracle of a polytope, on a maintained vertex decomposition (Garber and Hazan
//! 2016, section 4).
//!
//! **State.** x = Σ λᵢvᵢ with vertices vᵢ. **Answer.** Let κ be the polytope's *move rate* (below)
//! and m = min(1, κ·r). Take the mass m from the vertices with the largest ⟨vᵢ, g⟩ and put it on
//! one vertex v that minimises ⟨v, g⟩.
//!
//! **Move rate.** κ is such that for every decomposition x = Σ λᵢvᵢ and every y of the polytope
//! there are 0 ≤ Δᵢ ≤ λᵢ with y = Σ (λᵢ − Δᵢ)vᵢ + (Σ Δᵢ)z, z in the polytope, and Σ Δᵢ ≤ κ‖x − y‖.
//!
//! **Proof of the three properties.** p is a convex combination of vertices. For y within r of x,
//! Σ Δᵢ ≤ m, so ⟨y, g⟩ ≥ Σ (λᵢ − Δᵢ)⟨vᵢ, g⟩ + Σ Δᵢ⟨v, g⟩, and moving m from the largest products to
//! the smallest is at least as low. ‖x − p‖ ≤ m·D ≤ κD·r: **ρ = κD**. ∎
//!
//! **A bound on κ.** Let the polytope be {⟨aⱼ, x⟩ ≤ bⱼ} in its affine hull, each row scaled so that
//! the smallest positive slack of a vertex is 1. Take the decomposition of y with the smallest Σ
//! Δᵢ. Every vᵢ with Δᵢ > 0 has positive slack in some row that is tight at z: otherwise z could be
//! moved away from vᵢ and Δᵢ lowered. If C is a set of tight rows that spans all rows tight at z,
//! then such a vᵢ has slack at least 1 in a row of C, for if it were tight in all of C it would be
//! tight in all. So Σ Δᵢ ≤ Σᵢ Δᵢ Σ_{j∈C} slackⱼ(vᵢ) = ⟨Σ_C aⱼ, y − x⟩ ≤ **‖Σ_C aⱼ‖·‖x − y‖**, with
//! the rows taken in the affine hull. ∎ With C independent this is at most Garber and Hazan's
//! √dim·ψ/ξ, and often much less; the sets give the largest value over all z in their files.
//!
//! **Cost.** One linear minimisation and O(n·d) for n vertices in the decomposition. When they
//! exceed 2(d + 1), the point is decomposed anew, as at the start, into at most d + 1 vertices:
//! about d linear minimisations and O(d³), once in d rounds.

use hushstream_account::ParameterError;
use std::sync::Arc;

use crate::local::{check_fraction, check_on_track, check_question, no_answer};
use crate::wolfe::{combine, nearest};
use crate::{ConvexSet, LocalOracle, SetError, vector};

/// A local oracle that holds its point as a convex combination of vertices.
///
/// ```
/// use std::sync::Arc;
///
/// use hushstream_sets::{DecomposedOracle, L1Ball, LocalOracle, SetError};
///
/// let mut oracle = DecomposedOracle::new(Arc::new(L1Ball::new(2, 1.0)?), 1.0)?;
/// oracle.step(&[0.0, 0.0], 0.5, &[1.0, 0.0])?;
/// oracle.advance(1.0)?;
/// // The point is a mixture of vertices.
/// let total: f64 = oracle.decomposition().iter().map(|(weight, _)| weight).sum();
/// assert!((total - 1.0).abs() < 1e-12);
/// # Ok::<(), SetError>(())
/// ```
#[derive(Debug)]
pub struct DecomposedOracle {
    set: Arc<dyn ConvexSet>,
    move_rate: f64,
    vertices: Vec<Vec<f64>>,
    weights: Vec<f64>,
    point: Vec<f64>,
    last: Option<Answer>,
}

/// The change of weights that the last answer would make.
#[derive(Debug)]
struct Answer {
    removed: Vec<f64>,
    vertex: Vec<f64>,
    mass: f64,
}

impl DecomposedOracle {
    /// An oracle for a polytope with a linear minimiser and this move rate.
    ///
    /// # Errors
    /// A move rate that is not positive and finite.
    pub fn new(set: Arc<dyn ConvexSet>, move_rate: f64) -> Result<Self, SetError> {
        vector::check_positive("move rate", move_rate)?;
        Ok(Self {
            set,
            move_rate,
            vertices: Vec::new(),
            weights: Vec::new(),
            point: Vec::new(),
            last: None,
        })
    }

    fn settle(&mut self) {
        // Only rounding makes the sum of weights differ from 1.
        let total: f64 = self.weights.iter().sum();
        self.weights.iter_mut().for_each(|weight| *weight /= total);
        self.point = combine(&self.vertices, &self.weights);
    }

    fn drop_empty(&mut self) {
        let mut weights = self.weights.iter();
        self.vertices
            .retain(|_| weights.next().is_some_and(|&weight| weight > 0.0));
        self.weights.retain(|&weight| weight > 0.0);
    }
}

impl LocalOracle for DecomposedOracle {
    fn rho(&self) -> f64 {
        (self.move_rate * self.set.diameter()).max(1.0)
    }

    fn start(&mut self, point: &[f64]) -> Result<(), SetError> {
        let found = nearest(self.set.as_ref(), point)?;
        check_on_track(self.set.as_ref(), point, &found.point)?;
        self.vertices = found.vertices;
        self.weights = found.weights;
        self.last = None;
        self.settle();
        Ok(())
    }

    fn step(&mut self, point: &[f64], radius: f64, slope: &[f64]) -> Result<Vec<f64>, SetError> {
        let dimension = self.set.dimension();
        check_question(dimension, radius, slope)?;
        vector::check("point", point, dimension)?;
        if self.vertices.is_empty() {
            self.start(point)?;
        }
        check_on_track(self.set.as_ref(), point, &self.point)?;

        let mut vertex = vec![0.0; dimension];
        self.set.minimise(slope, &mut vertex)?;
        let products: Vec<f64> = self
            .vertices
            .iter()
            .map(|vertex| vector::dot(vertex, slope))
            .collect();
        let mut order: Vec<usize> = (0..products.len()).collect();
        order.sort_by(|&a, &b| products[b].total_cmp(&products[a]));
        let mass = (self.move_rate * radius).min(1.0);
        let mut left = mass;
        let mut removed = vec![0.0; products.len()];
        let mut answer = self.point.clone();
        for index in order {
            removed[index] = left.min(self.weights[index]);
            left -= removed[index];
            vector::add(&mut answer, -removed[index], &self.vertices[index]);
        }
        // Exactly the mass that was removed, so that rounding creates none.
        let mass = mass - left;
        vector::add(&mut answer, mass, &vertex);
        self.last = Some(Answer {
            removed,
            vertex,
            mass,
        });
        Ok(answer)
    }

    fn advance(&mut self, fraction: f64) -> Result<Vec<f64>, SetError> {
        check_fraction(fraction)?;
        let last = self.last.take().ok_or_else(no_answer)?;
        for (weight, removed) in self.weights.iter_mut().zip(&last.removed) {
            *weight = (*weight - fraction * removed).max(0.0);
        }
        let gained = fraction * last.mass;
        match self.vertices.iter().position(|known| *known == last.vertex) {
            Some(index) => self.weights[index] += gained,
            None => {
                self.vertices.push(last.vertex);
                self.weights.push(gained);
            }
        }
        self.drop_empty();
        self.settle();
        if self.vertices.len() > 2 * (self.set.dimension() + 1)
            && let Ok(found) = nearest(self.set.as_ref(), &self.point)
        {
            (self.vertices, self.weights) = (found.vertices, found.weights);
            self.drop_empty();
            self.settle();
        }
        Ok(self.point.clone())
    }

    fn decomposition(&self) -> Vec<(f64, Vec<f64>)> {
        self.weights
            .iter()
            .copied()
            .zip(self.vertices.iter().cloned())
            .collect()
    }

    fn restore(&mut self, saved: &[(f64, Vec<f64>)]) -> Result<(), SetError> {
        let total: f64 = saved.iter().map(|(weight, _)| weight).sum();
        let positive = saved.iter().all(|(weight, _)| *weight > 0.0);
        if !positive || (total - 1.0).abs() > 1e-9 {
            return Err(ParameterError::new(
                "saved decomposition",
                format!("weights of sum {total}"),
                "positive weights of sum 1",
            )
            .into());
        }
        for (_, vertex) in saved {
            vector::check("saved vertex", vertex, self.set.dimension())?;
        }
        (self.weights, self.vertices) = saved.iter().cloned().unzip();
        // Not normalised again: dividing by a sum of 1 ± 1e-16 would change bits.
        self.point = combine(&self.vertices, &self.weights);
        self.last = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Draws;
    use crate::{FlowPolytope, UniformMatroid};

    fn diamond() -> FlowPolytope {
        let edges = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (0, 3)];
        FlowPolytope::new(4, &edges, 0, 3).unwrap()
    }

    /// The decomposition stays short, and a restored one continues the same to the last bit.
    #[test]
    fn long_runs_stay_short_and_resume_exactly() {
        let set = diamond();
        let mut oracle = set.local_oracle().unwrap();
        let mut x = vec![0.0; 6];
        set.centre(&mut x).unwrap();
        let mut draws = Draws::new(1);
        let mut saved = None;
        let gradients: Vec<Vec<f64>> = (0..2000).map(|_| draws.normals(6)).collect();
        for (round, gradient) in gradients.iter().enumerate() {
            oracle.step(&x, 0.05, gradient).unwrap();
            x = oracle.advance(0.3).unwrap();
            assert!(oracle.decomposition().len() <= 14);
            if round == 999 {
                saved = Some((oracle.decomposition(), x.clone()));
            }
        }
        assert!(set.contains(&x, 1e-12));
        let (decomposition, mut y) = saved.unwrap();
        let mut second = set.local_oracle().unwrap();
        second.restore(&decomposition).unwrap();
        for gradient in &gradients[1000..] {
            second.step(&y, 0.05, gradient).unwrap();
            y = second.advance(0.3).unwrap();
        }
        assert_eq!(x, y);
    }

    /// A decomposition that has grown long is made anew without moving its point.
    #[test]
    fn a_new_decomposition_moves_nothing() {
        let set = UniformMatroid::new(8, 4).unwrap();
        let mut oracle = set.local_oracle().unwrap();
        let (mut x, mut draws, mut longest, mut renewed) = (vec![0.5; 8], Draws::new(2), 0, 0);
        for _ in 0..400 {
            let p = oracle.step(&x, 0.05, &draws.normals(8)).unwrap();
            let next = oracle.advance(0.3).unwrap();
            let expected = x.iter().zip(&p).map(|(x, p)| 0.7 * x + 0.3 * p);
            assert!(vector::distance(&next, &expected.collect::<Vec<_>>()) < 1e-12);
            let length = oracle.decomposition().len();
            renewed += usize::from(length + 1 < longest);
            longest = length;
            assert!(length <= 18);
            x = next;
        }
        assert!(renewed > 2, "{renewed}");
    }

    #[test]
    fn another_point_is_refused() {
        let set = diamond();
        let mut oracle = set.local_oracle().unwrap();
        let mut vertices = set.vertices().unwrap();
        let p = vec![0.0; 6];
        oracle.step(&vertices[0], 0.1, &[1.0; 6]).unwrap();
        let error = oracle.step(&vertices[1], 0.1, &[1.0; 6]).unwrap_err();
        assert!(matches!(error, SetError::Outside { .. }), "{error}");
        oracle.start(&vertices[1]).unwrap();
        vertices[1][0] += 0.1;
        assert!(oracle.start(&vertices[1]).is_err());
        assert!(oracle.restore(&[(0.5, p)]).is_err());
    }
}
