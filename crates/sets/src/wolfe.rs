//! The nearest point of a polytope that can only minimise linear functions: Wolfe's
//! minimum-norm-point method (1976).
//!
//! **Method.** Keep a *corral*: affinely independent vertices whose convex hull holds, in its
//! relative interior, the point p nearest to the target on their affine hull. A vertex q that
//! minimises ⟨p − target, ·⟩ joins; while the new affine minimiser has a negative weight, walk
//! towards it until a weight vanishes and drop that vertex. The distance decreases strictly and no
//! corral comes back, so the method is finite.
//!
//! **Proof of the answer.** Let gap = ⟨p − x, p − q⟩, the largest value of ⟨p − x, p − y⟩ on the
//! polytope, and p* the exact projection. Then ⟨p − x, p − p*⟩ ≤ gap and ⟨p* − x, p* − p⟩ ≤ 0;
//! added up, ‖p − p*‖² ≤ gap. The square root of the gap, with the rounding of the gap itself
//! added, is the bound that is returned. It is pessimistic: gaps end at rounding level, about 10⁻¹⁶
//! of the scale, which gives a bound of 10⁻⁸, while the tests measure distances below 10⁻¹⁰.
//!
//! **Cost.** Usually about as many rounds as the answer has vertices; each one linear minimisation
//! and O(d·s) for a corral of s, O(d·s²) when a vertex is dropped.

use crate::{ConvexSet, SetError, vector};

/// Gaps below this, in units of distance × scale, are rounding.
const ROUNDING: f64 = 16.0 * f64::EPSILON;
/// Gaps above this, in the same units, are an error.
const ACCEPTED: f64 = 1e-10;
/// A vertex whose direction lies this close to the corral's affine hull counts as dependent.
const DEPENDENT: f64 = 1e-10;

/// The nearest point, as a convex combination of affinely independent vertices.
#[derive(Debug, Clone)]
pub(crate) struct Nearest {
    pub(crate) point: Vec<f64>,
    pub(crate) vertices: Vec<Vec<f64>>,
    pub(crate) weights: Vec<f64>,
    /// A bound on the distance from the exact projection.
    pub(crate) error: f64,
}

/// Projects through [`nearest`].
pub(crate) fn project<S: ConvexSet + ?Sized>(set: &S, point: &mut [f64]) -> Result<f64, SetError> {
    let nearest = nearest(set, point)?;
    point.copy_from_slice(&nearest.point);
    Ok(nearest.error)
}

pub(crate) fn nearest<S: ConvexSet + ?Sized>(set: &S, target: &[f64]) -> Result<Nearest, SetError> {
    let dimension = set.dimension();
    vector::check("point", target, dimension)?;
    let scale = set.largest_norm().max(f64::MIN_POSITIVE);
    let mut centre = vec![0.0; dimension];
    set.centre(&mut centre)?;
    let mut vertex = vec![0.0; dimension];
    set.minimise(&vector::difference(&centre, target), &mut vertex)?;

    let mut corral = Corral::new(vertex.clone());
    let mut weights = vec![1.0];
    // The candidate with the smallest gap, with that gap and its distance from the target.
    let mut best: Option<(f64, f64, Nearest)> = None;
    // Measure progress by the gap: near the end the distance falls by the square of the gap, below
    // its rounding.
    let mut patience = 50 + 2 * dimension;
    loop {
        let point = combine(&corral.points, &weights);
        let direction = vector::difference(&point, target);
        let distance = vector::norm(&direction);
        set.minimise(&direction, &mut vertex)?;
        let gap = vector::dot(&direction, &vector::difference(&point, &vertex));
        if best.as_ref().is_none_or(|best| gap < best.0) {
            patience = 50 + 2 * dimension;
            let candidate = Nearest {
                point,
                vertices: corral.points.clone(),
                weights: weights.clone(),
                error: f64::INFINITY,
            };
            best = Some((gap, distance, candidate));
        }
        patience -= 1;
        let rounded = distance <= ROUNDING * scale || gap <= ROUNDING * distance * scale;
        // A vertex that is in the corral, or depends on it, changes nothing.
        let stuck = corral.points.contains(&vertex) || !corral.push(vertex.clone());
        if rounded || stuck || patience == 0 {
            break;
        }
        weights.push(0.0);
        if !descend(&mut corral, &mut weights, target) {
            break;
        }
    }
    let refused = |gap: f64, allowed: f64| SetError::NotConverged {
        method: "Wolfe's projection",
        gap,
        allowed,
    };
    let Some((gap, distance, mut nearest)) = best else {
        return Err(refused(f64::INFINITY, 0.0));
    };
    let allowed = ACCEPTED * (distance + scale) * scale;
    if gap > allowed {
        return Err(refused(gap, allowed));
    }
    let rounding = 4.0 * (dimension + 4) as f64 * f64::EPSILON * distance * scale;
    // If the target is almost in the set, ‖p − p*‖ ≤ ‖p − x‖ + ‖x − p*‖ ≤ 2‖p − x‖ is tighter.
    nearest.error = (gap.max(0.0) + rounding).sqrt().min(2.0 * distance);
    Ok(nearest)
}

/// Wolfe's minor cycles: moves the weights to the affine minimiser, dropping vertices on the way.
/// False if rounding has made the corral dependent.
fn descend(corral: &mut Corral, weights: &mut Vec<f64>, target: &[f64]) -> bool {
    loop {
        let wanted = corral.affine_minimiser(target);
        let blocking = weights
            .iter()
            .zip(&wanted)
            .enumerate()
            .filter(|(_, (_, wanted))| **wanted <= 0.0)
            .map(|(index, (weight, wanted))| (index, weight / (weight - wanted).max(1e-300)))
            .min_by(|a, b| a.1.total_cmp(&b.1));
        let Some((blocked, reach)) = blocking else {
            *weights = wanted;
            return true;
        };
        for (weight, wanted) in weights.iter_mut().zip(&wanted) {
            *weight = ((1.0 - reach) * *weight + reach * wanted).max(0.0);
        }
        weights.remove(blocked);
        if !corral.remove(blocked) {
            return false;
        }
    }
}

/// Affinely independent points with a QR factorisation of their differences from the first.
#[derive(Debug, Clone)]
struct Corral {
    points: Vec<Vec<f64>>,
    /// Orthonormal directions, one for each point after the first.
    basis: Vec<Vec<f64>>,
    /// Column j: the coordinates of point j + 1 minus point 0 in the basis.
    columns: Vec<Vec<f64>>,
}

impl Corral {
    fn new(first: Vec<f64>) -> Self {
        Self {
            points: vec![first],
            basis: Vec::new(),
            columns: Vec::new(),
        }
    }

    /// Adds a point, unless it is affinely dependent on the others.
    fn push(&mut self, point: Vec<f64>) -> bool {
        let mut rest = vector::difference(&point, &self.points[0]);
        let length = vector::norm(&rest);
        let mut column: Vec<f64> = Vec::with_capacity(self.basis.len() + 1);
        for direction in &self.basis {
            let along = vector::dot(direction, &rest);
            vector::add(&mut rest, -along, direction);
            column.push(along);
        }
        for (direction, along) in self.basis.iter().zip(&mut column) {
            let again = vector::dot(direction, &rest);
            vector::add(&mut rest, -again, direction);
            *along += again;
        }
        let left = vector::norm(&rest);
        if left <= DEPENDENT * length {
            return false;
        }
        rest.iter_mut().for_each(|value| *value /= left);
        column.push(left);
        self.points.push(point);
        self.basis.push(rest);
        self.columns.push(column);
        true
    }

    /// Removes a point; false if rounding has made the others dependent.
    fn remove(&mut self, index: usize) -> bool {
        let mut points = std::mem::take(&mut self.points);
        points.remove(index);
        // The factorisation changes from the removed point on; if that is the first point, all of
        // it changes.
        let unchanged = index.max(1).min(points.len());
        let directions = index.saturating_sub(1);
        self.basis.truncate(directions);
        self.columns.truncate(directions);
        let rest = points.split_off(unchanged);
        self.points = points;
        rest.into_iter().all(|point| self.push(point))
    }

    /// The weights (sum 1, any sign) of the point of the affine hull that is nearest to the target.
    fn affine_minimiser(&self, target: &[f64]) -> Vec<f64> {
        let offset = vector::difference(target, &self.points[0]);
        let size = self.columns.len();
        let mut solution: Vec<f64> = self
            .basis
            .iter()
            .map(|direction| vector::dot(direction, &offset))
            .collect();
        for row in (0..size).rev() {
            let value = solution[row] / self.columns[row][row];
            solution[row] = value;
            for (above, entry) in solution.iter_mut().zip(&self.columns[row]).take(row) {
                *above -= value * entry;
            }
        }
        let first = 1.0 - solution.iter().sum::<f64>();
        solution.insert(0, first);
        solution
    }
}

/// Σ weight·vertex.
pub(crate) fn combine(vertices: &[Vec<f64>], weights: &[f64]) -> Vec<f64> {
    let mut point = vec![0.0; vertices.first().map_or(0, Vec::len)];
    for (vertex, &weight) in vertices.iter().zip(weights) {
        vector::add(&mut point, weight, vertex);
    }
    point
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Draws;
    use crate::{BoxSet, L1Ball, Simplex, UniformMatroid};

    /// If a closed form exists, Wolfe's method agrees with it to 1e-10, near and far.
    #[test]
    fn agrees_with_closed_forms() {
        let sets: [&dyn ConvexSet; 4] = [
            &Simplex::new(12).unwrap(),
            &BoxSet::new(&[-1.0, 0.0, 2.0, -3.0], &[1.0, 0.5, 2.5, 4.0]).unwrap(),
            &L1Ball::new(7, 2.0).unwrap(),
            &UniformMatroid::new(15, 6).unwrap(),
        ];
        let mut draws = Draws::new(3);
        for set in sets {
            for size in [0.01, 1.0, 100.0] {
                for _ in 0..40 {
                    let target: Vec<f64> = (0..set.dimension())
                        .map(|_| size * draws.normal())
                        .collect();
                    let mut exact = target.clone();
                    set.project(&mut exact).unwrap();
                    let found = nearest(set, &target).unwrap();
                    let off = vector::distance(&exact, &found.point);
                    assert!(off < 1e-10 * size.max(1.0), "{}: {off}", set.name());
                    assert!(off <= found.error + 1e-13);
                    assert!((found.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                    assert!(found.weights.iter().all(|&weight| weight > 0.0));
                }
            }
        }
    }
}
