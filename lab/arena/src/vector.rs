//! Small vectors and linear systems.

/// total += values.
pub fn add(total: &mut [f64], values: impl IntoIterator<Item = f64>) {
    for (sum, value) in total.iter_mut().zip(values) {
        *sum += value;
    }
}

/// ⟨a, b⟩.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Solves a linear system, its right side the last column, by elimination with pivots.
pub fn solve(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let d = rows.len();
    for k in 0..d {
        let pivot = (k..d).max_by(|&a, &b| rows[a][k].abs().total_cmp(&rows[b][k].abs()))?;
        rows.swap(k, pivot);
        let head = rows[k].clone();
        if head[k].is_nan() || head[k].abs() <= 1e-300 {
            return None;
        }
        for row in rows.iter_mut().skip(k + 1) {
            let factor = row[k] / head[k];
            row.iter_mut()
                .zip(&head)
                .for_each(|(cell, above)| *cell -= factor * above);
        }
    }
    let mut solution = vec![0.0; d];
    for k in (0..d).rev() {
        let known: f64 = (k + 1..d).map(|j| rows[k][j] * solution[j]).sum();
        solution[k] = (rows[k][d] - known) / rows[k][k];
    }
    Some(solution)
}

#[cfg(test)]
mod tests {
    use super::solve;

    #[test]
    fn systems_are_solved() {
        let solved = solve(vec![vec![0.0, 2.0, 4.0], vec![3.0, 1.0, 5.0]]).unwrap();
        assert!((solved[0] - 1.0).abs() < 1e-15 && (solved[1] - 2.0).abs() < 1e-15);
        assert!(solve(vec![vec![1.0, 1.0, 1.0], vec![1.0, 1.0, 2.0]]).is_none());
    }
}
