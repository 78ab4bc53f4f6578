//! A convex combination of fewer vertices (Carathéodory): at most one more than the dimension.
//!
//! **Method.** Bring the matrix of the columns (v, 1) into reduced form with a pivot in each
//! independent column. A column f without pivot is a combination of the pivot columns, so weight
//! can be moved from f to them without moving the point, until f or a pivot column has weight 0. In
//! the first case f is dropped; in the second f replaces the pivot column. **Cost** O(n·d·n) for n
//! vertices.

/// Changes the weights, keeping their sum and Σ weight·vertex, until at most d + 1 are positive.
pub(crate) fn reduce(vertices: &[Vec<f64>], weights: &mut [f64]) {
    let mut table = Table::new(vertices);
    for free in 0..vertices.len() {
        if table.pivot_row(free).is_some() || table.claim(free) {
            continue;
        }
        table.empty(free, weights);
    }
}

struct Table {
    /// rows[i][j]: coordinate i of column j, in the basis of the pivot columns.
    rows: Vec<Vec<f64>>,
    pivots: Vec<Option<usize>>,
}

/// Entries below this count as zero after elimination. Columns are scaled to a largest entry of 1.
const ZERO: f64 = 1e-10;

impl Table {
    fn new(vertices: &[Vec<f64>]) -> Self {
        let dimension = vertices.first().map_or(0, Vec::len);
        let largest = vertices
            .iter()
            .flatten()
            .fold(0.0_f64, |largest, value| largest.max(value.abs()));
        let scale = if largest > 0.0 { 1.0 / largest } else { 1.0 };
        let mut rows: Vec<Vec<f64>> = (0..dimension)
            .map(|row| vertices.iter().map(|vertex| vertex[row] * scale).collect())
            .collect();
        rows.push(vec![1.0; vertices.len()]);
        Self {
            pivots: vec![None; rows.len()],
            rows,
        }
    }

    fn pivot_row(&self, column: usize) -> Option<usize> {
        self.pivots.iter().position(|&pivot| pivot == Some(column))
    }

    /// Gives the column a pivot in an unclaimed row, if it is independent of the pivot columns.
    fn claim(&mut self, column: usize) -> bool {
        let best = (0..self.rows.len())
            .filter(|&row| self.pivots[row].is_none())
            .max_by(|&a, &b| {
                let (a, b) = (self.rows[a][column].abs(), self.rows[b][column].abs());
                a.total_cmp(&b)
            });
        match best {
            Some(row) if self.rows[row][column].abs() > ZERO => {
                self.pivot(row, column);
                true
            }
            _ => false,
        }
    }

    fn pivot(&mut self, row: usize, column: usize) {
        let mut pivot_row = std::mem::take(&mut self.rows[row]);
        let factor = pivot_row[column];
        pivot_row.iter_mut().for_each(|value| *value /= factor);
        for other in self.rows.iter_mut().filter(|other| !other.is_empty()) {
            let factor = other[column];
            crate::vector::add(other, -factor, &pivot_row);
        }
        self.rows[row] = pivot_row;
        self.pivots[row] = Some(column);
    }

    /// Moves the weight of a dependent column to the pivot columns.
    fn empty(&mut self, free: usize, weights: &mut [f64]) {
        // Column free = Σ entry·pivot column: taking t from it adds t·entry to each pivot's weight.
        let mut moved = weights[free];
        let mut blocking = None;
        for (row, pivot) in self.pivots.iter().enumerate() {
            let entry = self.rows[row][free];
            if let Some(pivot) = *pivot
                && entry < -ZERO
                && weights[pivot] < -entry * moved
            {
                moved = -weights[pivot] / entry;
                blocking = Some(row);
            }
        }
        for (row, pivot) in self.pivots.iter().enumerate() {
            if let Some(pivot) = *pivot {
                let entry = self.rows[row][free];
                weights[pivot] = (weights[pivot] + moved * entry).max(0.0);
            }
        }
        match blocking {
            None => weights[free] = 0.0,
            Some(row) => {
                weights[free] -= moved;
                if let Some(pivot) = self.pivots[row] {
                    weights[pivot] = 0.0;
                }
                self.pivot(row, free);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Draws;
    use crate::vector;
    use crate::wolfe::combine;

    #[test]
    fn the_point_stays_and_vertices_go() {
        let mut draws = Draws::new(9);
        for case in 0..50 {
            let dimension = 1 + case % 8;
            let vertices: Vec<Vec<f64>> = (0..3 * dimension + 5)
                .map(|_| {
                    let bits = |_| f64::from(u8::from(draws.uniform() < 0.5));
                    (0..dimension).map(bits).collect()
                })
                .collect();
            let mut weights: Vec<f64> = vertices.iter().map(|_| draws.uniform()).collect();
            let total: f64 = weights.iter().sum();
            weights.iter_mut().for_each(|weight| *weight /= total);
            let before = combine(&vertices, &weights);
            reduce(&vertices, &mut weights);
            let after = combine(&vertices, &weights);
            assert!(vector::distance(&before, &after) < 1e-13);
            assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-13);
            let left = weights.iter().filter(|&&weight| weight > 0.0).count();
            assert!(left <= dimension + 1, "{left} in dimension {dimension}");
        }
    }
}
