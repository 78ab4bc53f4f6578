//! The base polytope of a graphic matroid: the hull of the indicators of a connected graph's
//! spanning trees. One coordinate for each edge.
//!
//! **Minimiser** Kruskal's greedy tree, O(m log m); ties go to the first edge. **Projection** by
//! Wolfe's method over the minimiser, with a checked gap. **Centre** the probability of each edge
//! in a uniformly random spanning tree, which is its effective resistance (Kirchhoff): in the
//! relative interior. **Diameter** an upper bound, √(2·min(r, m − r)): two trees differ in at most
//! r = n − 1 edges of each, and in at most the m − r edges that are not in the first; bridges,
//! which are in every tree, are not counted in m and r. No barrier: there are too many
//! inequalities.
//!
//! **Local oracle** (`decomposed.rs`) for any matroid of rank r on m elements: **κ = √m·r/2**.
//! *Proof.* The rows are x(F) ≤ rank(F) and −xₑ ≤ 0, with whole-numbered slacks at bases. Sets
//! tight at z are closed under union and intersection, so a maximal chain of them spans them all
//! together with the rows of the zeros of z; two neighbours of equal rank in the chain differ by
//! zeros of z, so it is enough to keep one set of each rank 1, …, r − 1 (rank r is the equation
//! Σ xₑ = r). The chosen rows add up to a vector with entries from −1 to r − 1. As x − y has sum 0,
//! r/2 − 1 may be subtracted from every entry, and the rest has a length of at most √m·r/2. ∎

use std::sync::Arc;

use hushstream_account::ParameterError;
use nalgebra::DMatrix;

use crate::set::check_vertex_count;
use crate::uniform_matroid::compare;
use crate::{Capability, ConvexSet, DecomposedOracle, LocalOracle, SetError, Shape, vector, wolfe};

/// The hull of the spanning trees of a connected graph, one coordinate per edge.
///
/// ```
/// use hushstream_sets::{ConvexSet, GraphicMatroid, SetError};
///
/// // A square with one diagonal: eight spanning trees of three edges.
/// let trees = GraphicMatroid::new(4, &[(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])?;
/// assert_eq!(trees.vertices()?.len(), 8);
/// let mut cheapest = [0.0; 5];
/// trees.minimise(&[1.0, 2.0, 3.0, 4.0, 9.0], &mut cheapest)?;
/// assert_eq!(cheapest, [1.0, 1.0, 1.0, 0.0, 0.0]);
/// # Ok::<(), SetError>(())
/// ```
#[derive(Debug, Clone)]
pub struct GraphicMatroid {
    nodes: usize,
    edges: Arc<Vec<(usize, usize)>>,
    move_rate: f64,
    shape: Shape,
}

impl GraphicMatroid {
    /// The largest number of nodes: the centre solves a dense linear system.
    pub const MAX_NODES: usize = 1024;

    /// The graph with nodes 0…nodes − 1 and these undirected edges; parallel edges are allowed.
    ///
    /// # Errors
    /// Fewer than 2 or more than [`Self::MAX_NODES`] nodes, ends out of range, loops, or a graph
    /// that is not connected.
    pub fn new(nodes: usize, edges: &[(usize, usize)]) -> Result<Self, SetError> {
        if !(2..=Self::MAX_NODES).contains(&nodes) {
            return Err(ParameterError::new("nodes", nodes, "2 to 1024").into());
        }
        for &(a, b) in edges {
            if a.max(b) >= nodes || a == b {
                return Err(ParameterError::new(
                    "edge",
                    format!("({a}, {b})"),
                    "two different nodes, 0 to nodes − 1",
                )
                .into());
            }
        }
        let mut parts = Parts::new(nodes);
        let joined = edges.iter().filter(|&&(a, b)| parts.join(a, b)).count();
        if joined + 1 < nodes {
            return Err(ParameterError::new(
                "edges",
                format!("a graph of {} parts", nodes - joined),
                "a connected graph",
            )
            .into());
        }
        let centre = resistances(nodes, edges).ok_or_else(|| {
            ParameterError::new("edges", "a singular Laplacian", "a connected graph")
        })?;
        // An edge that is not a bridge lies on a cycle of at most `nodes` edges: its probability is
        // at most 1 − 1/nodes.
        let bridges = centre
            .iter()
            .filter(|&&value| value > 1.0 - 0.5 / nodes as f64)
            .count();
        // Rank and number of edges once bridges are contracted.
        let (rank, free) = (nodes - 1 - bridges, edges.len() - bridges);
        let mut set = Self {
            nodes,
            edges: Arc::new(edges.to_vec()),
            move_rate: ((free as f64).sqrt() * rank as f64 / 2.0).max(f64::MIN_POSITIVE),
            shape: Shape {
                name: "graphic matroid",
                centre,
                // An upper bound.
                diameter: (2.0 * rank.min(free - rank) as f64).sqrt(),
                outer_radius: 0.0,
                // All trees have n − 1 edges, so the polytope has no interior.
                inner_radius: 0.0,
                largest_norm: ((nodes - 1) as f64).sqrt(),
            },
        };
        // For indicators, ‖v − c‖² = ‖c‖² + Σ vₑ(1 − 2cₑ) is linear.
        let centre = &set.shape.centre;
        let weights: Vec<f64> = centre.iter().map(|value| 2.0 * value - 1.0).collect();
        let mut tree = vec![0.0; edges.len()];
        set.minimise(&weights, &mut tree)?;
        set.shape.outer_radius = vector::distance(&tree, &set.shape.centre);
        Ok(set)
    }

    fn list_trees(
        &self,
        edge: usize,
        parts: &Parts,
        missing: usize,
        tree: &mut Vec<f64>,
        found: &mut Vec<Vec<f64>>,
    ) -> Result<(), SetError> {
        if missing == 0 {
            found.push(tree.clone());
            return check_vertex_count(found.len() as f64);
        }
        let mut rest = parts.clone();
        let joined = self.edges[edge..]
            .iter()
            .filter(|&&(a, b)| rest.join(a, b))
            .count();
        if joined < missing {
            return Ok(());
        }
        let (a, b) = self.edges[edge];
        let mut with = parts.clone();
        if with.join(a, b) {
            tree[edge] = 1.0;
            self.list_trees(edge + 1, &with, missing - 1, tree, found)?;
            tree[edge] = 0.0;
        }
        self.list_trees(edge + 1, parts, missing, tree, found)
    }
}

impl ConvexSet for GraphicMatroid {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn can(&self, capability: Capability) -> bool {
        capability != Capability::Barrier
    }

    fn project(&self, point: &mut [f64]) -> Result<f64, SetError> {
        wolfe::project(self, point)
    }

    fn minimise(&self, direction: &[f64], out: &mut [f64]) -> Result<(), SetError> {
        vector::check_minimise(direction, out, self.dimension())?;
        let mut order: Vec<usize> = (0..self.dimension()).collect();
        order.sort_by(|&a, &b| compare(direction[a], direction[b]));
        let mut parts = Parts::new(self.nodes);
        out.fill(0.0);
        for edge in order {
            let (a, b) = self.edges[edge];
            if parts.join(a, b) {
                out[edge] = 1.0;
            }
        }
        Ok(())
    }

    fn local_oracle(&self) -> Result<Box<dyn LocalOracle>, SetError> {
        let set = Arc::new(self.clone());
        Ok(Box::new(DecomposedOracle::new(set, self.move_rate)?))
    }

    /// All spanning trees.
    fn vertices(&self) -> Result<Vec<Vec<f64>>, SetError> {
        let mut found = Vec::new();
        let mut tree = vec![0.0; self.dimension()];
        let parts = Parts::new(self.nodes);
        self.list_trees(0, &parts, self.nodes - 1, &mut tree, &mut found)?;
        Ok(found)
    }
}

/// Effective resistances of the edges.
///
/// With L the Laplacian without the row and column of the last node, the resistance between the
/// ends of an edge is (eₐ − e_b)ᵀL⁻¹(eₐ − e_b): the probability that a uniformly random spanning
/// tree holds the edge (Kirchhoff 1847). O(n³).
fn resistances(nodes: usize, edges: &[(usize, usize)]) -> Option<Vec<f64>> {
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

/// The connected parts of a graph (union–find with path halving).
#[derive(Debug, Clone)]
struct Parts(Vec<usize>);

impl Parts {
    fn new(nodes: usize) -> Self {
        Self((0..nodes).collect())
    }

    fn root(&mut self, mut node: usize) -> usize {
        while self.0[node] != node {
            self.0[node] = self.0[self.0[node]];
            node = self.0[node];
        }
        node
    }

    /// Joins the parts of two nodes; false if they were connected already.
    fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a] = b;
        a != b
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(nodes: usize) -> GraphicMatroid {
        let edges: Vec<(usize, usize)> = (0..nodes)
            .flat_map(|b| (0..b).map(move |a| (a, b)))
            .collect();
        GraphicMatroid::new(nodes, &edges).unwrap()
    }

    /// Cayley's formula, and the centre as the mean of all trees.
    #[test]
    fn trees_are_counted_and_averaged() {
        let set = complete(5);
        let trees = set.vertices().unwrap();
        assert_eq!(trees.len(), 125);
        let bridged = [
            (0, 1),
            (1, 2),
            (2, 0),
            (2, 3),
            (3, 4),
            (2, 4),
            (4, 3),
            (4, 5),
        ];
        for set in [set, GraphicMatroid::new(6, &bridged).unwrap()] {
            let trees = set.vertices().unwrap();
            let mut mean = vec![0.0; set.dimension()];
            let mut diameter = 0.0_f64;
            for tree in &trees {
                vector::add(&mut mean, 1.0 / trees.len() as f64, tree);
                for other in &trees {
                    diameter = diameter.max(vector::distance(tree, other));
                }
            }
            let mut centre = mean.clone();
            set.centre(&mut centre).unwrap();
            assert!(vector::distance(&mean, &centre) < 1e-12);
            assert!(diameter <= set.diameter() + 1e-12);
            let outer = trees.iter().map(|tree| vector::distance(tree, &centre));
            assert!((outer.fold(0.0, f64::max) - set.outer_radius()).abs() < 1e-12);
        }
        // The bridge counts neither as an edge nor in the rank.
        let rate = GraphicMatroid::new(6, &bridged).unwrap().move_rate;
        assert!((rate - 7.0_f64.sqrt() * 4.0 / 2.0).abs() < 1e-12);
    }

    #[test]
    fn bad_graphs_are_refused() {
        assert!(GraphicMatroid::new(3, &[(0, 1)]).is_err());
        assert!(GraphicMatroid::new(3, &[(0, 1), (1, 1), (1, 2)]).is_err());
        assert!(GraphicMatroid::new(3, &[(0, 1), (1, 3)]).is_err());
        assert!(GraphicMatroid::new(1, &[]).is_err());
        let error = complete(4).barrier().unwrap_err().to_string();
        assert!(error.contains("graphic matroid cannot"), "{error}");
        let path = GraphicMatroid::new(3, &[(0, 1), (1, 2)]).unwrap();
        assert!(path.diameter() == 0.0 && path.local_oracle().is_ok());
    }

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
