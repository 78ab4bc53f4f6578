//! Self-concordant barriers, for `scrible`.
//!
//! **Claim.** A barrier R of parameter ν is convex, tends to +∞ at the boundary, and satisfies
//! |R'''[h,h,h]| ≤ 2·R''[h,h]^{3/2} and |R'[h]|² ≤ ν·R''[h,h]. For a concave quadratic or affine
//! q, −ln q has ν = 1; sums add their ν; affine substitution keeps it (Nesterov and Nemirovskii
//! 1994). All barriers here are sums of such terms.
//!
//! **Free coordinates.** A set with empty interior has its barrier in coordinates of its affine
//! hull: x = origin + M·free. [`Barrier::lift`] computes x, [`Barrier::lower`] is the inverse, and
//! [`Barrier::pull_back`] turns a linear loss on x into one on the free coordinates. If the set has
//! an interior, the free coordinates are the coordinates.

use std::fmt::Debug;

use crate::{SetError, vector};

/// A self-concordant barrier.
///
/// ```
/// use hushstream_sets::{ConvexSet, SetError, Simplex};
///
/// let barrier = Simplex::new(3)?.barrier()?;
/// // The simplex has no interior; its barrier has two free coordinates.
/// assert_eq!((barrier.free_dimension(), barrier.parameter()), (2, 3.0));
/// assert_eq!(barrier.lift(&[0.5, 0.25])?, [0.5, 0.25, 0.25]);
/// assert_eq!(barrier.value(&[0.5, 0.75]), f64::INFINITY);
/// # Ok::<(), SetError>(())
/// ```
pub trait Barrier: Send + Sync + Debug {
    /// The number of free coordinates.
    fn free_dimension(&self) -> usize;

    /// The number of coordinates of a point of the set.
    fn point_dimension(&self) -> usize {
        self.free_dimension()
    }

    /// The parameter ν.
    fn parameter(&self) -> f64;

    /// R at free coordinates; +∞ outside the interior.
    fn value(&self, free: &[f64]) -> f64;

    /// ∇R.
    ///
    /// # Errors
    /// Coordinates outside the interior, or too many or few of them.
    fn gradient(&self, free: &[f64]) -> Result<Vec<f64>, SetError>;

    /// ∇²R, row by row.
    ///
    /// # Errors
    /// As [`gradient`](Self::gradient).
    fn hessian(&self, free: &[f64]) -> Result<Vec<f64>, SetError>;

    /// Free coordinates of an interior point: the set's centre.
    fn start(&self) -> Vec<f64>;

    /// The point with these free coordinates.
    ///
    /// # Errors
    /// Too many or few coordinates, or one that is not finite.
    fn lift(&self, free: &[f64]) -> Result<Vec<f64>, SetError> {
        vector::check("free coordinates", free, self.free_dimension())?;
        Ok(free.to_vec())
    }

    /// The gradient in free coordinates of a function with gradient `gradient` in x: Mᵀ·gradient.
    ///
    /// # Errors
    /// As [`lift`](Self::lift).
    fn pull_back(&self, gradient: &[f64]) -> Result<Vec<f64>, SetError> {
        vector::check("gradient", gradient, self.point_dimension())?;
        Ok(gradient.to_vec())
    }
}

pub(crate) fn outside(set: &'static str, distance: f64) -> SetError {
    SetError::Outside {
        parameter: "barrier coordinates",
        set,
        distance,
        allowed: 0.0,
    }
}

#[cfg(test)]
mod tests {
    use crate::ConvexSet;
    use crate::samples::Draws;
    use crate::{
        Ball, BoxSet, FlowPolytope, HalfspacePolytope, Moved, Simplex, UniformMatroid,
        VertexPolytope, vector,
    };
    use std::sync::Arc;

    fn sets() -> Vec<Arc<dyn ConvexSet>> {
        let triangle = [vec![0.0, 0.0], vec![2.0, 0.0], vec![0.0, 1.0]];
        let edges = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)];
        let rows = [vec![-1.0, 0.0], vec![0.0, -1.0], vec![1.0, 2.0]];
        let simplex = Arc::new(Simplex::new(4).unwrap());
        vec![
            Arc::new(Ball::new(3, 2.0).unwrap()),
            Arc::new(BoxSet::new(&[-1.0, 0.0], &[1.0, 5.0]).unwrap()),
            simplex.clone(),
            Arc::new(UniformMatroid::new(5, 2).unwrap()),
            Arc::new(VertexPolytope::new(&triangle).unwrap()),
            Arc::new(HalfspacePolytope::new(&rows, &[0.0, 0.0, 2.0]).unwrap()),
            Arc::new(FlowPolytope::new(4, &edges, 0, 3).unwrap()),
            Arc::new(Moved::scaled(simplex.clone(), 3.0).unwrap()),
            Arc::new(Moved::shifted(simplex, &[1.0, 2.0, 3.0, 4.0]).unwrap()),
        ]
    }

    /// Gradient and Hessian against central differences; |R'[h]|² ≤ ν·R''[h,h]; lifting and
    /// pulling back agree.
    #[test]
    fn derivatives_and_parameter() {
        let mut draws = Draws::new(17);
        for set in sets() {
            let barrier = set.barrier().unwrap();
            let size = barrier.free_dimension();
            let start = barrier.start();
            for _ in 0..20 {
                let mut at = start.clone();
                let way = draws.normals(size);
                let mut reach = 1.0;
                vector::add(&mut at, reach, &way);
                while !barrier.value(&at).is_finite() {
                    vector::add(&mut at, -0.3 * reach, &way);
                    reach *= 0.7;
                }
                let gradient = barrier.gradient(&at).unwrap();
                let hessian = barrier.hessian(&at).unwrap();
                // Steps in units of the local metric keep the differences inside and well scaled.
                let stiff = (0..size).fold(1.0_f64, |m, i| m.max(hessian[i * size + i]));
                let step = 1e-4 / stiff.sqrt();
                for i in 0..size {
                    let (mut up, mut down) = (at.clone(), at.clone());
                    up[i] += step;
                    down[i] -= step;
                    let slope = (barrier.value(&up) - barrier.value(&down)) / (2.0 * step);
                    assert!((slope - gradient[i]).abs() < 1e-6 * stiff.sqrt(), "{set:?}");
                    let above = barrier.gradient(&up).unwrap();
                    let below = barrier.gradient(&down).unwrap();
                    for j in 0..size {
                        let curve = (above[j] - below[j]) / (2.0 * step);
                        assert!((curve - hessian[i * size + j]).abs() < 1e-6 * stiff);
                    }
                }
                let along = draws.normals(size);
                let first = vector::dot(&gradient, &along);
                let second: f64 = hessian
                    .chunks_exact(size)
                    .zip(&along)
                    .map(|(row, value)| value * vector::dot(row, &along))
                    .sum();
                assert!(first * first <= barrier.parameter() * second * (1.0 + 1e-9));

                let point = barrier.lift(&at).unwrap();
                assert!(set.contains(&point, 1e-9), "{set:?}");
                let loss = draws.normals(set.dimension());
                let pulled = barrier.pull_back(&loss).unwrap();
                let other = barrier.lift(&start).unwrap();
                let directly = vector::dot(&loss, &vector::difference(&point, &other));
                let reduced = vector::dot(&pulled, &vector::difference(&at, &start));
                assert!((directly - reduced).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn outside_is_infinite_and_an_error() {
        for set in sets() {
            let barrier = set.barrier().unwrap();
            let far = vec![1e3; barrier.free_dimension()];
            assert!(barrier.value(&far) == f64::INFINITY, "{set:?}");
            assert!(barrier.gradient(&far).is_err());
            assert!(barrier.value(&far[1..]) == f64::INFINITY);
        }
    }
}
