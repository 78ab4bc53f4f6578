//! Sets with a second implementation of their geometry, and deterministic random numbers.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test file uses a part of this one"
)]

use std::sync::Arc;

use hushstream_sets::{
    Ball, BoxSet, ConvexSet, FlowPolytope, L1Ball, Simplex, UniformMatroid, VertexPolytope,
};

/// Numbers from a congruential generator: enough for tests.
pub struct Draws(u64);

impl Draws {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1)
    }

    /// Uniform on −1 to 1.
    pub fn sign(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let mixed = self.0 ^ (self.0 >> 29);
        (mixed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    pub fn vector(&mut self, length: usize) -> Vec<f64> {
        (0..length).map(|_| self.sign()).collect()
    }

    /// About normal, variance 1.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.sign()).sum::<f64>() / 2.0
    }
}

pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).powi(2))
        .sum::<f64>()
        .sqrt()
}

pub fn add(target: &mut [f64], factor: f64, vector: &[f64]) {
    for (target, value) in target.iter_mut().zip(vector) {
        *target += factor * value;
    }
}

/// A set by its definition, independent of the library.
#[derive(Clone)]
pub enum Shape {
    Ball(f64),
    Box(Vec<f64>, Vec<f64>),
    Simplex,
    Hull(Vec<Vec<f64>>),
}

impl Shape {
    /// The nearest point: by definition for ball and box, by bisection for the simplex, by trying
    /// all subsets of vertices otherwise.
    pub fn project(&self, z: &[f64]) -> Vec<f64> {
        match self {
            Self::Ball(radius) => {
                let factor = (radius / dot(z, z).sqrt()).min(1.0);
                z.iter().map(|z| z * factor).collect()
            }
            Self::Box(low, high) => (0..z.len())
                .map(|i| z[i].max(low[i]).min(high[i]))
                .collect(),
            Self::Simplex => {
                let most = z.iter().copied().fold(f64::MIN, f64::max);
                let (mut low, mut high) = (most - 1.0, most);
                for _ in 0..200 {
                    let middle = f64::midpoint(low, high);
                    if z.iter().map(|z| (z - middle).max(0.0)).sum::<f64>() > 1.0 {
                        low = middle;
                    } else {
                        high = middle;
                    }
                }
                z.iter().map(|z| (z - low).max(0.0)).collect()
            }
            Self::Hull(vertices) => nearest_in_hull(vertices, z),
        }
    }

    /// The lowest vertex (for a ball: point), by enumeration.
    pub fn lowest(&self, g: &[f64]) -> Vec<f64> {
        match self {
            Self::Ball(radius) => {
                let norm = dot(g, g).sqrt();
                g.iter().map(|g| -g / norm * radius).collect()
            }
            Self::Box(low, high) => {
                let corners = (0..1_usize << g.len()).map(|bits| {
                    let side = |i: usize| if bits >> i & 1 == 1 { high[i] } else { low[i] };
                    (0..g.len()).map(side).collect::<Vec<f64>>()
                });
                lowest_of(corners, g)
            }
            Self::Simplex => lowest_of(
                (0..g.len()).map(|i| {
                    let mut vertex = vec![0.0; g.len()];
                    vertex[i] = 1.0;
                    vertex
                }),
                g,
            ),
            Self::Hull(vertices) => lowest_of(vertices.iter().cloned(), g),
        }
    }
}

fn lowest_of(points: impl Iterator<Item = Vec<f64>>, g: &[f64]) -> Vec<f64> {
    points
        .min_by(|a, b| dot(a, g).total_cmp(&dot(b, g)))
        .unwrap()
}

fn nearest_in_hull(vertices: &[Vec<f64>], z: &[f64]) -> Vec<f64> {
    let mut best: Option<(f64, Vec<f64>)> = None;
    for bits in 1..1_usize << vertices.len() {
        let chosen: Vec<&Vec<f64>> = (0..vertices.len())
            .filter(|i| bits >> i & 1 == 1)
            .map(|i| &vertices[i])
            .collect();
        // Minimise ‖Σ λᵢvᵢ − z‖² subject to Σ λᵢ = 1, with a multiplier.
        let n = chosen.len();
        let mut rows: Vec<Vec<f64>> = (0..n)
            .map(|i| {
                let mut row: Vec<f64> = chosen.iter().map(|v| dot(v, chosen[i])).collect();
                row.extend([1.0, dot(z, chosen[i])]);
                row
            })
            .collect();
        rows.push([vec![1.0; n], vec![0.0, 1.0]].concat());
        let Some(weights) = eliminate(rows) else {
            continue;
        };
        if weights[..n].iter().any(|&weight| weight < -1e-13) {
            continue;
        }
        let mut point = vec![0.0; z.len()];
        for (weight, vertex) in weights.iter().zip(&chosen) {
            add(&mut point, *weight, vertex);
        }
        let far = distance(&point, z);
        if best.as_ref().is_none_or(|(least, _)| far < *least) {
            best = Some((far, point));
        }
    }
    best.unwrap().1
}

/// Solves a square system (last column: right side) by Gaussian elimination with pivoting;
/// `None` if it is singular.
pub fn eliminate(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let n = rows.len();
    for column in 0..n {
        let pivot =
            (column..n).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()))?;
        if rows[pivot][column].abs() < 1e-10 {
            return None;
        }
        rows.swap(column, pivot);
        let row = rows[column].clone();
        for (index, other) in rows.iter_mut().enumerate() {
            if index != column {
                let factor = -other[column] / row[column];
                add(other, factor, &row);
            }
        }
    }
    Some((0..n).map(|i| rows[i][n] / rows[i][i]).collect())
}

/// Library sets beside their definitions.
pub fn sets() -> Vec<(Arc<dyn ConvexSet>, Shape)> {
    let (low, high) = (vec![-1.0, 0.0, -0.5], vec![2.0, 4.0, 0.5]);
    let edges = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (0, 3)];
    let paths = vec![
        vec![1.0, 0.0, 0.0, 1.0, 0.0, 0.0],
        vec![0.0, 1.0, 0.0, 0.0, 1.0, 0.0],
        vec![1.0, 0.0, 1.0, 0.0, 1.0, 0.0],
        vec![0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
    ];
    let pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)].map(|(i, j)| {
        let mut pair = vec![0.0; 4];
        pair[i] = 1.0;
        pair[j] = 1.0;
        pair
    });
    let corners = vec![
        vec![0.8, 0.0],
        vec![-0.8, 0.0],
        vec![0.0, 0.8],
        vec![0.0, -0.8],
    ];
    let mut draws = Draws::new(77);
    let points: Vec<Vec<f64>> = (0..6).map(|_| draws.vector(3)).collect();
    vec![
        (Arc::new(Ball::new(3, 0.7).unwrap()), Shape::Ball(0.7)),
        (
            Arc::new(BoxSet::new(&low, &high).unwrap()),
            Shape::Box(low, high),
        ),
        (Arc::new(Simplex::new(5).unwrap()), Shape::Simplex),
        (
            Arc::new(FlowPolytope::new(4, &edges, 0, 3).unwrap()),
            Shape::Hull(paths),
        ),
        (
            Arc::new(UniformMatroid::new(4, 2).unwrap()),
            Shape::Hull(pairs.to_vec()),
        ),
        (Arc::new(L1Ball::new(2, 0.8).unwrap()), Shape::Hull(corners)),
        (
            Arc::new(VertexPolytope::new(&points).unwrap()),
            Shape::Hull(points),
        ),
    ]
}

pub fn centre(set: &dyn ConvexSet) -> Vec<f64> {
    let mut centre = vec![0.0; set.dimension()];
    set.centre(&mut centre).unwrap();
    centre
}

/// Minimises a function with a constant curvature over a shape, by damped projected gradient steps:
/// the distance shrinks tenfold in each.
pub fn minimise(
    shape: &Shape,
    start: &[f64],
    curvature: f64,
    gradient: impl Fn(&[f64]) -> Vec<f64>,
) -> Vec<f64> {
    let mut point = start.to_vec();
    for _ in 0..20 {
        let mut target = point.clone();
        add(&mut target, -0.9 / curvature, &gradient(&point));
        point = shape.project(&target);
    }
    point
}
