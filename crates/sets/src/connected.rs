//! What is connected in a graph, and how well: union–find and effective resistances.
//!
//! **Resistances.** With L the Laplacian without the row and column of one node, the resistance between the ends of an edge
//! is (eₐ − e_b)ᵀL⁻¹(eₐ − e_b): the probability that a uniformly random spanning tree holds the edge (Kirchhoff 1847).
//! O(n³).

use nalgebra::DMatrix;

/// Effective resistances of the edges, from the Laplacian without the row and column of the last node.
pub(crate) fn resistances(nodes: usize, edges: &[(usize, usize)]) -> Option<Vec<f64>> {
    let size = nodes - 1;
    let mut laplacian = DMatrix::<f64>::zeros(size, size);
    for &(a, b) in edges {
        for (row, column, sign) in [(a, a, 1.0), (b, b, 1.0), (a, b, -1.0), (b, a, -1.0)] {
            if row < size && column < size {
                laplacian[(row, column)] += sign;
            }
        }
    }
    let inverse = laplacian.cholesky()?.inverse();
    let entry = |row: usize, column: usize| {
        if row < size && column < size {
            inverse[(row, column)]
        } else {
            0.0
        }
    };
    Some(
        edges
            .iter()
            .map(|&(a, b)| (entry(a, a) + entry(b, b) - 2.0 * entry(a, b)).clamp(0.0, 1.0))
            .collect(),
    )
}

/// Which nodes are connected so far (union–find with path halving).
#[derive(Debug, Clone)]
pub(crate) struct Parts(Vec<usize>);

impl Parts {
    pub(crate) fn new(nodes: usize) -> Self {
        Self((0..nodes).collect())
    }

    fn root(&mut self, mut node: usize) -> usize {
        while self.0[node] != node {
            self.0[node] = self.0[self.0[node]];
            node = self.0[node];
        }
        node
    }

    /// Whether the two were apart.
    pub(crate) fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a] = b;
        a != b
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resistances_of_a_cycle_and_a_bridge() {
        let found = resistances(4, &[(0, 1), (1, 2), (2, 0), (2, 3)]).unwrap();
        for (value, expected) in found.iter().zip([2.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0, 1.0]) {
            assert!((value - expected).abs() < 1e-14);
        }
        let mut parts = Parts::new(3);
        assert!(parts.join(0, 1) && parts.join(2, 1) && !parts.join(0, 2));
    }
}
