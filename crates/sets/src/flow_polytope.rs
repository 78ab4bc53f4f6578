//! Unit flows from a source to a sink in a directed graph without cycles: xₑ ≥ 0 on the edges, and
//! flow is conserved at every node. Its vertices are the paths.
//!
//! **Minimiser** the shortest path; weights may be negative because there are no cycles. One pass
//! in topological order, O(nodes + edges). **Projection** by Wolfe's method over the minimiser,
//! with a checked gap. **Centre** at every node the flow divides equally over the edges that lead
//! to the sink. **Diameter** exact, by dynamic programming over pairs of paths: always advance the
//! one that is earlier in topological order, so that paths meet wherever they share a node.
//! O(nodes·edges) once.
//!
//! **Local oracle** (`decomposed.rs`): the rows −xₑ ≤ 0 have slack 0 or 1 at a path, at most k of
//! them span, with k the dimension of the polytope, and ‖Σ_C eₑ‖ ≤ √k. So **κ = √k**,
//! k = edges − nodes + 1, counting only edges and nodes on paths. **Barrier** −Σ ln xₑ over the
//! edges whose flow is not fixed, in orthonormal coordinates of the affine hull.

use hushstream_account::ParameterError;
use std::sync::Arc;

use crate::hull::AffineHull;
use crate::log_barrier::LogBarrier;
use crate::paths::Graph;
use crate::{
    Barrier, Capability, ConvexSet, DecomposedOracle, LocalOracle, SetError, Shape, vector, wolfe,
};

/// The unit flows of a graph. A point has one coordinate per edge, in the order of the edges.
///
/// ```
/// use hushstream_sets::{ConvexSet, FlowPolytope, SetError};
///
/// // Two routes from node 0 to node 2: directly, or over node 1.
/// let routes = FlowPolytope::new(3, &[(0, 1), (1, 2), (0, 2)], 0, 2)?;
/// assert_eq!(routes.vertices()?.len(), 2);
/// let mut shortest = [0.0; 3];
/// routes.minimise(&[1.0, 1.0, 3.0], &mut shortest)?;
/// assert_eq!(shortest, [1.0, 1.0, 0.0]);
/// # Ok::<(), SetError>(())
/// ```
#[derive(Debug, Clone)]
pub struct FlowPolytope {
    shape: Shape,
    graph: Arc<Graph>,
    free_dimension: usize,
}

impl FlowPolytope {
    /// The largest number of nodes: the table of pairs of nodes is quadratic.
    pub const MAX_NODES: usize = 2048;

    /// The flows from `source` to `sink` over `edges` (tail, head) between the nodes 0…nodes − 1.
    /// Parallel edges are allowed; edges on no path carry 0.
    ///
    /// # Errors
    /// Nodes out of range, source and sink equal, a cycle, or no path.
    pub fn new(
        nodes: usize,
        edges: &[(usize, usize)],
        source: usize,
        sink: usize,
    ) -> Result<Self, SetError> {
        if !(2..=Self::MAX_NODES).contains(&nodes) {
            return Err(ParameterError::new("nodes", nodes, "2 to 2048").into());
        }
        let largest = edges.iter().flat_map(|&(a, b)| [a, b]).max().unwrap_or(0);
        for (name, node) in [("edge end", largest), ("source", source), ("sink", sink)] {
            if node >= nodes {
                return Err(ParameterError::new(name, node, "0 to nodes − 1").into());
            }
        }
        if source == sink {
            return Err(ParameterError::new("sink", sink, "another node than source").into());
        }
        let graph = Graph::new(nodes, edges, source, sink)?;
        let used_edges: usize = graph.outgoing.iter().map(Vec::len).sum();
        let used_nodes = 1 + graph.outgoing.iter().filter(|out| !out.is_empty()).count();
        let mut set = Self {
            shape: Shape {
                name: "flow polytope",
                centre: graph.equal_split(edges.len()),
                diameter: graph.farthest_paths().sqrt(),
                outer_radius: 0.0,
                // Flows are conserved, so no flow polytope has an interior.
                inner_radius: 0.0,
                largest_norm: 0.0,
            },
            graph: Arc::new(graph),
            free_dimension: used_edges + 1 - used_nodes,
        };
        // For paths, ‖v − c‖² = ‖c‖² + Σ vₑ(1 − 2cₑ) is linear, and so is ‖v‖² = Σ vₑ.
        let centre = &set.shape.centre;
        let weights: Vec<f64> = centre.iter().map(|value| 2.0 * value - 1.0).collect();
        let mut path = vec![0.0; edges.len()];
        set.minimise(&weights, &mut path)?;
        set.shape.outer_radius = vector::distance(&path, &set.shape.centre);
        set.minimise(&vec![-1.0; edges.len()], &mut path)?;
        set.shape.largest_norm = vector::norm(&path);
        Ok(set)
    }
}

impl ConvexSet for FlowPolytope {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn can(&self, _: Capability) -> bool {
        true
    }

    fn project(&self, point: &mut [f64]) -> Result<f64, SetError> {
        wolfe::project(self, point)
    }

    fn minimise(&self, direction: &[f64], out: &mut [f64]) -> Result<(), SetError> {
        vector::check_minimise(direction, out, self.dimension())?;
        self.graph.shortest_path(direction, out);
        Ok(())
    }

    fn local_oracle(&self) -> Result<Box<dyn LocalOracle>, SetError> {
        let move_rate = (self.free_dimension.max(1) as f64).sqrt();
        let set = Arc::new(self.clone());
        Ok(Box::new(DecomposedOracle::new(set, move_rate)?))
    }

    fn barrier(&self) -> Result<Box<dyn Barrier>, SetError> {
        let row = |edge| vector::along(self.dimension(), edge, -1.0);
        let rows: Vec<Vec<f64>> = (0..self.dimension()).map(row).collect();
        let offsets = vec![0.0; self.dimension()];
        let hull = AffineHull::of(self)?;
        Ok(LogBarrier::in_hull(self.name(), &rows, &offsets, hull))
    }

    /// All paths.
    fn vertices(&self) -> Result<Vec<Vec<f64>>, SetError> {
        let mut found = Vec::new();
        let mut path = vec![0.0; self.dimension()];
        self.graph
            .list_paths(self.graph.source, &mut path, &mut found)?;
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Draws;

    /// A random graph with edges from lower to higher nodes, in shuffled names, with a chain so
    /// that a path exists.
    fn random_graph(draws: &mut Draws) -> FlowPolytope {
        let nodes = 3 + (draws.uniform() * 4.0) as usize;
        let name = |node: usize| (node * 5 + 3) % 7 % nodes.max(7);
        let mut edges: Vec<(usize, usize)> = (1..nodes)
            .map(|node| (name(node - 1), name(node)))
            .collect();
        for _ in 0..6 {
            let a = (draws.uniform() * nodes as f64) as usize;
            let b = (draws.uniform() * nodes as f64) as usize;
            if a != b {
                edges.push((name(a.min(b)), name(a.max(b))));
            }
        }
        FlowPolytope::new(7, &edges, name(0), name(nodes - 1)).unwrap()
    }

    #[test]
    fn constants_equal_enumeration() {
        let mut draws = Draws::new(8);
        for _ in 0..40 {
            let set = random_graph(&mut draws);
            let paths = set.vertices().unwrap();
            let mut centre = vec![0.0; set.dimension()];
            set.centre(&mut centre).unwrap();
            let (mut diameter, mut outer, mut norm) = (0.0_f64, 0.0_f64, 0.0_f64);
            for path in &paths {
                outer = outer.max(vector::distance(path, &centre));
                norm = norm.max(vector::norm(path));
                for other in &paths {
                    diameter = diameter.max(vector::distance(path, other));
                }
            }
            assert!((set.diameter() - diameter).abs() < 1e-12);
            assert!((set.outer_radius() - outer).abs() < 1e-12);
            assert!((set.largest_norm() - norm).abs() < 1e-12);
            let hull = AffineHull::of(&set).unwrap();
            assert_eq!(hull.basis.len(), set.free_dimension);
            assert!(set.contains(&centre, 1e-12));
        }
    }

    #[test]
    fn bad_graphs_are_refused() {
        assert!(FlowPolytope::new(3, &[(0, 1), (1, 2), (2, 1)], 0, 2).is_err());
        assert!(FlowPolytope::new(3, &[(0, 1)], 0, 2).is_err());
        assert!(FlowPolytope::new(3, &[(0, 7)], 0, 2).is_err());
        assert!(FlowPolytope::new(3, &[(0, 2)], 0, 0).is_err());
        assert!(FlowPolytope::new(1, &[], 0, 0).is_err());
        let useless = FlowPolytope::new(4, &[(0, 1), (3, 0), (1, 2)], 0, 1).unwrap();
        assert_eq!(useless.vertices().unwrap(), [[1.0, 0.0, 0.0]]);
    }
}
