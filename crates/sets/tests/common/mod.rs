//! One small example of each set, and test points.

#![allow(dead_code, reason = "not every test file uses everything")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;

use hushstream_sets::{
    Ball, BoxSet, ConvexSet, FlowPolytope, GraphicMatroid, HalfspacePolytope, L1Ball, Moved,
    Simplex, Spectrahedron, UniformMatroid, VertexPolytope,
};

/// Every set with its name in the table of the crate documentation.
pub(crate) fn examples() -> Vec<(&'static str, Arc<dyn ConvexSet>)> {
    let roads = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (0, 3)];
    let wheel = [(0, 1), (1, 2), (2, 0), (3, 0), (3, 1), (3, 4)];
    // An octahedron with one corner cut off its axis: facets of different sizes, an irregular
    // constant.
    let stone: Vec<Vec<f64>> = [
        [1.0, 0.0, 0.0],
        [-1.0, 0.0, 0.0],
        [0.0, 2.0, 0.0],
        [0.0, -1.0, 0.3],
        [0.1, 0.2, 1.0],
        [0.0, 0.0, -1.0],
        [0.7, 0.9, 0.4],
    ]
    .map(|point| point.to_vec())
    .to_vec();
    let pentagon = [
        [1.0, 0.0],
        [0.3, 1.0],
        [-0.8, 0.6],
        [-0.8, -0.6],
        [0.3, -1.0],
    ];
    let rows: Vec<Vec<f64>> = pentagon.map(|row| row.to_vec()).to_vec();
    let simplex = Arc::new(Simplex::new(4).unwrap());
    let subsets = Arc::new(UniformMatroid::new(5, 2).unwrap());
    vec![
        ("Ball", Arc::new(Ball::new(3, 1.5).unwrap())),
        (
            "BoxSet",
            Arc::new(BoxSet::new(&[-1.0, 0.0, 2.0], &[1.0, 0.5, 5.0]).unwrap()),
        ),
        ("Simplex", simplex.clone()),
        ("L1Ball", Arc::new(L1Ball::new(4, 2.0).unwrap())),
        (
            "VertexPolytope",
            Arc::new(VertexPolytope::new(&stone).unwrap()),
        ),
        (
            "HalfspacePolytope",
            Arc::new(HalfspacePolytope::new(&rows, &[1.0, 1.0, 2.0, 0.5, 1.0]).unwrap()),
        ),
        (
            "FlowPolytope",
            Arc::new(FlowPolytope::new(4, &roads, 0, 3).unwrap()),
        ),
        ("UniformMatroid", subsets.clone()),
        (
            "GraphicMatroid",
            Arc::new(GraphicMatroid::new(5, &wheel).unwrap()),
        ),
        ("Spectrahedron", Arc::new(Spectrahedron::new(3).unwrap())),
        ("Scaled", Arc::new(Moved::scaled(subsets, 0.3).unwrap())),
        (
            "Shifted",
            Arc::new(Moved::shifted(simplex, &[3.0, -1.0, 0.5, 10.0]).unwrap()),
        ),
    ]
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(crate) fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).powi(2))
        .sum::<f64>()
        .sqrt()
}

/// A source of repeatable numbers.
pub(crate) struct Draws(pub(crate) u64);

impl Draws {
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn vector(&mut self, size: usize) -> Vec<f64> {
        (0..size).map(|_| 4.0 * self.uniform() - 2.0).collect()
    }

    /// A point of the set: a random mixture of random extreme points, often on a low-dimensional
    /// face.
    pub(crate) fn point_of(&mut self, set: &dyn ConvexSet) -> Vec<f64> {
        let mut point = vec![0.0; set.dimension()];
        let parts = 1 + (self.uniform() * 5.0) as usize;
        let weights: Vec<f64> = (0..parts).map(|_| self.uniform().powi(3)).collect();
        let total: f64 = weights.iter().sum();
        let mut extreme = point.clone();
        for weight in weights {
            let direction = self.vector(set.dimension());
            set.minimise(&direction, &mut extreme).unwrap();
            for (point, value) in point.iter_mut().zip(&extreme) {
                *point += weight / total * value;
            }
        }
        point
    }
}
