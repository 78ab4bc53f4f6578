//! The three properties of local linear oracles, against the exact solution of the problem they
//! approximate.
//!
//! min ⟨y, g⟩ over y in the set with ‖y − x‖ ≤ r has the solution y = Π(x − τg) for the τ at which
//! ‖y − x‖ = r (the optimality condition of the projection is that of the Lagrangian), or the
//! unconstrained minimum if no τ reaches r. The distance grows with τ, so bisection finds it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::sync::Arc;

use common::{Draws, distance, dot, examples};
use hushstream_sets::{
    BoxSet, ConvexSet, FlowPolytope, GraphicMatroid, L1Ball, Simplex, UniformMatroid,
    VertexPolytope,
};

/// The lowest value of ⟨·, gradient⟩ on the set within `radius` of `point`.
fn lowest_nearby(set: &dyn ConvexSet, point: &[f64], radius: f64, gradient: &[f64]) -> f64 {
    let walk = |length: f64| {
        let mut y: Vec<f64> = point
            .iter()
            .zip(gradient)
            .map(|(x, g)| x - length * g)
            .collect();
        set.project(&mut y).unwrap();
        y
    };
    let mut y = vec![0.0; set.dimension()];
    set.minimise(gradient, &mut y).unwrap();
    if distance(&y, point) <= radius {
        return dot(&y, gradient);
    }
    let (mut short, mut long) = (0.0, 1e5);
    if distance(&walk(long), point) <= radius {
        return dot(&walk(long), gradient);
    }
    for _ in 0..80 {
        let middle = (short + long) / 2.0;
        if distance(&walk(middle), point) <= radius {
            short = middle;
        } else {
            long = middle;
        }
    }
    dot(&walk(short), gradient)
}

fn check(name: &str, set: &dyn ConvexSet, seed: u64, runs: usize, rounds: usize) {
    let mut draws = Draws(seed);
    let scale = 1.0 + set.largest_norm();
    for _ in 0..runs {
        let mut oracle = set.local_oracle().unwrap();
        let rho = oracle.rho();
        let mut x = draws.point_of(set);
        for _ in 0..rounds {
            let radius = set.diameter() * draws.uniform().powi(3) * 0.7;
            let gradient = draws.vector(set.dimension());
            let p = oracle.step(&x, radius, &gradient).unwrap();
            assert!(set.contains(&p, 1e-9 * scale), "{name}: outside");
            let moved = distance(&x, &p);
            assert!(moved <= rho * radius + 1e-9 * scale, "{name}: {moved}");
            let (value, best) = (
                dot(&p, &gradient),
                lowest_nearby(set, &x, radius, &gradient),
            );
            assert!(value <= best + 1e-8 * scale, "{name}: {value} > {best}");
            let fraction = draws.uniform();
            let expected: Vec<f64> = x
                .iter()
                .zip(&p)
                .map(|(x, p)| (1.0 - fraction) * x + fraction * p)
                .collect();
            x = oracle.advance(fraction).unwrap();
            assert!(distance(&x, &expected) < 1e-12 * scale, "{name}: drifted");
        }
    }
}

#[test]
fn every_example_has_the_three_properties() {
    for (name, set) in examples() {
        if set.local_oracle().is_ok() {
            check(name, set.as_ref(), 11, 150, 12);
        }
    }
}

#[test]
fn small_simplices() {
    for dimension in 2..=5 {
        let set = Simplex::new(dimension).unwrap();
        check("simplex", &set, 12, 300, 5);
        let rho = set.local_oracle().unwrap().rho();
        assert!((rho - (dimension as f64 / 2.0).sqrt()).abs() < 1e-12);
    }
}

/// ρ of the simplex is attained: moving half of the coordinates to the other half takes all of the
/// mass √d·r/2.
#[test]
fn the_mass_on_the_simplex_cannot_be_less() {
    let set = Simplex::new(4).unwrap();
    let x = [0.5, 0.5, 0.0, 0.0];
    let gradient = [1.0, 1.0, 0.0, 0.0];
    let mut oracle = set.local_oracle().unwrap();
    let p = oracle.step(&x, 0.2, &gradient).unwrap();
    let best = lowest_nearby(&set, &x, 0.2, &gradient);
    assert!((dot(&p, &gradient) - best).abs() < 1e-9);
}

/// The constants computed from facets, on random, flat and degenerate polytopes.
#[test]
fn polytopes_by_their_vertices() {
    let mut draws = Draws(13);
    for case in 0..12 {
        let (dimension, count) = (2 + case % 3, 5 + case % 4);
        let points: Vec<Vec<f64>> = (0..count).map(|_| draws.vector(dimension)).collect();
        let set = VertexPolytope::new(&points).unwrap();
        check("random polytope", &set, case as u64, 60, 6);
    }
    let degenerate: [Arc<dyn ConvexSet>; 4] = [
        Arc::new(BoxSet::new(&[0.0; 3], &[1.0, 2.0, 0.1]).unwrap()),
        Arc::new(L1Ball::new(3, 1.0).unwrap()),
        Arc::new(UniformMatroid::new(4, 2).unwrap()),
        Arc::new(FlowPolytope::new(3, &[(0, 1), (0, 1), (1, 2), (1, 2)], 0, 2).unwrap()),
    ];
    for set in degenerate {
        let set = VertexPolytope::new(&set.vertices().unwrap()).unwrap();
        check("degenerate polytope", &set, 14, 60, 6);
    }
}

#[test]
fn larger_combinatorial_sets() {
    for (dimension, chosen) in [(3, 1), (3, 2), (6, 3), (7, 2), (8, 7)] {
        let set = UniformMatroid::new(dimension, chosen).unwrap();
        check("uniform", &set, 15, 60, 6);
    }
    let edges: Vec<(usize, usize)> = (0..5).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
    check("trees", &GraphicMatroid::new(5, &edges).unwrap(), 16, 5, 6);
    let multiple = [(0, 1), (0, 1), (0, 1), (1, 2), (1, 2)];
    check(
        "multigraph",
        &GraphicMatroid::new(3, &multiple).unwrap(),
        17,
        10,
        6,
    );
    let roads = FlowPolytope::new(5, &edges, 0, 4).unwrap();
    check("flows", &roads, 18, 10, 6);
}
