//! Paths from a source to a sink in a directed graph without cycles: listed, counted, shortest,
//! farthest apart.
//!
//! Nodes are kept in topological order (Kahn 1962), so that every pass is one loop, forwards or
//! backwards.

use crate::SetError;
use crate::set::check_vertex_count;
use hushstream_account::ParameterError;

#[derive(Debug)]
pub(crate) struct Graph {
    /// For each node in topological order from the source: its edges (index, position of the head)
    /// that lie on a path.
    pub(crate) outgoing: Vec<Vec<(usize, usize)>>,
    pub(crate) source: usize,
    sink: usize,
}

impl Graph {
    pub(crate) fn new(
        nodes: usize,
        edges: &[(usize, usize)],
        source: usize,
        sink: usize,
    ) -> Result<Self, SetError> {
        let mut leaving = vec![Vec::new(); nodes];
        let mut entering = vec![0_usize; nodes];
        for (index, &(tail, head)) in edges.iter().enumerate() {
            leaving[tail].push((index, head));
            entering[head] += 1;
        }
        let mut order: Vec<usize> = (0..nodes).filter(|&node| entering[node] == 0).collect();
        let mut done = 0;
        while done < order.len() {
            for &(_, head) in &leaving[order[done]] {
                entering[head] -= 1;
                if entering[head] == 0 {
                    order.push(head);
                }
            }
            done += 1;
        }
        if order.len() < nodes {
            return Err(ParameterError::new(
                "edges",
                "a graph with a cycle",
                "a directed graph without cycles",
            )
            .into());
        }
        let mut position = vec![0; nodes];
        for (place, &node) in order.iter().enumerate() {
            position[node] = place;
        }
        let mut reached = vec![false; nodes];
        reached[source] = true;
        for &node in &order {
            for &(_, head) in &leaving[node] {
                reached[head] |= reached[node];
            }
        }
        let mut reaches = vec![false; nodes];
        reaches[sink] = true;
        for &node in order.iter().rev() {
            reaches[node] |= leaving[node].iter().any(|&(_, head)| reaches[head]);
        }
        if !reaches[source] {
            return Err(
                ParameterError::new("edges", "no path", "a path from source to sink").into(),
            );
        }
        // No edge of a path leaves the sink: it would close a cycle.
        let outgoing = order
            .iter()
            .map(|&node| {
                let used = leaving[node]
                    .iter()
                    .filter(|&&(_, head)| reached[node] && reaches[head]);
                used.map(|&(index, head)| (index, position[head])).collect()
            })
            .collect();
        Ok(Self {
            outgoing,
            source: position[source],
            sink: position[sink],
        })
    }

    pub(crate) fn equal_split(&self, edges: usize) -> Vec<f64> {
        let mut flow = vec![0.0; edges];
        let mut through = vec![0.0; self.outgoing.len()];
        through[self.source] = 1.0;
        for (node, out) in self.outgoing.iter().enumerate() {
            for &(index, head) in out {
                flow[index] = through[node] / out.len() as f64;
                through[head] += flow[index];
            }
        }
        flow
    }

    /// The largest number of edges that lie on one of two paths but not on both.
    pub(crate) fn farthest_paths(&self) -> f64 {
        let nodes = self.outgoing.len();
        // best[a][b], a ≤ b: the best from a state with the paths at a and b. Heads come later in
        // the order, so their entries are complete.
        let mut best = vec![vec![0_u32; nodes]; nodes];
        for a in (0..nodes).rev() {
            for b in (a + 1..nodes).rev() {
                let onwards = self.outgoing[a].iter();
                best[a][b] = onwards
                    .map(|&(_, head)| 1 + best[head.min(b)][head.max(b)])
                    .max()
                    .unwrap_or(0);
            }
            let mut together = 0;
            for (place, &(_, first)) in self.outgoing[a].iter().enumerate() {
                together = together.max(best[first][first]);
                for &(_, second) in &self.outgoing[a][..place] {
                    together = together.max(2 + best[first.min(second)][first.max(second)]);
                }
            }
            best[a][a] = together;
        }
        f64::from(best[self.source][self.source])
    }

    pub(crate) fn list_paths(
        &self,
        node: usize,
        path: &mut Vec<f64>,
        found: &mut Vec<Vec<f64>>,
    ) -> Result<(), SetError> {
        if node == self.sink {
            found.push(path.clone());
            return check_vertex_count(found.len() as f64);
        }
        for &(index, head) in &self.outgoing[node] {
            path[index] = 1.0;
            self.list_paths(head, path, found)?;
            path[index] = 0.0;
        }
        Ok(())
    }

    /// Writes the indicator of a path of smallest weight; ties go to the edge given first.
    pub(crate) fn shortest_path(&self, direction: &[f64], out: &mut [f64]) {
        // From the sink backwards, so that the path can be read forwards.
        let nodes = self.outgoing.len();
        let mut length = vec![0.0; nodes];
        let mut onwards: Vec<Option<(usize, usize)>> = vec![None; nodes];
        for node in (0..nodes).rev() {
            for &(index, head) in &self.outgoing[node] {
                let candidate = direction[index] + length[head];
                if onwards[node].is_none() || candidate < length[node] {
                    length[node] = candidate;
                    onwards[node] = Some((index, head));
                }
            }
        }
        out.fill(0.0);
        let mut node = self.source;
        while let Some((index, head)) = onwards[node] {
            out[index] = 1.0;
            node = head;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_meet_where_they_share_a_node() {
        // Two diamonds in a row: two paths can differ in all four of their edges, each.
        let edges = [
            (0, 1),
            (0, 2),
            (1, 3),
            (2, 3),
            (3, 4),
            (3, 5),
            (4, 6),
            (5, 6),
        ];
        let graph = Graph::new(7, &edges, 0, 6).unwrap();
        assert!((graph.farthest_paths() - 8.0).abs() < 1e-15);
        // With only one way through the second half, in the first two.
        let graph = Graph::new(7, &edges[..5], 0, 4).unwrap();
        assert!((graph.farthest_paths() - 4.0).abs() < 1e-15);
    }

    #[test]
    fn ties_go_to_the_edge_given_first() {
        let graph = Graph::new(2, &[(0, 1), (0, 1), (0, 1)], 0, 1).unwrap();
        let mut path = [0.0; 3];
        graph.shortest_path(&[1.0, -2.0, -2.0], &mut path);
        assert!(path[1] > 0.5 && path[0] == 0.0 && path[2] == 0.0);
    }
}
