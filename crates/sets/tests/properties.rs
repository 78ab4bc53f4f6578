//! Properties of every set: projections, minimisers, radii and nets, checked independently of their
//! computation.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{Draws, distance, dot, examples};
use hushstream_sets::{ConvexSet, SetError};
use proptest::prelude::*;

/// Extreme points for testing inequalities: all vertices, or many extreme points if there are
/// infinitely many.
fn extremes(set: &dyn ConvexSet, draws: &mut Draws) -> Vec<Vec<f64>> {
    set.vertices().unwrap_or_else(|_| {
        let sample = |_| {
            let mut extreme = vec![0.0; set.dimension()];
            let direction = draws.vector(set.dimension());
            set.minimise(&direction, &mut extreme).unwrap();
            extreme
        };
        (0..200).map(sample).collect()
    })
}

fn shifted_to(set: &dyn ConvexSet, offset: &[f64], size: f64) -> Vec<f64> {
    let mut point = vec![0.0; set.dimension()];
    set.centre(&mut point).unwrap();
    for (value, offset) in point.iter_mut().zip(offset) {
        *value += size * offset;
    }
    point
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// p = Π(x) exactly if ⟨y − p, x − p⟩ ≤ 0 for all y: idempotence and non-expansiveness follow,
    /// and are checked too.
    #[test]
    fn projections(
        a in prop::collection::vec(-1.0..1.0_f64, 8),
        b in prop::collection::vec(-1.0..1.0_f64, 8),
        exponent in -3.0..3.0_f64,
        seed in any::<u64>(),
    ) {
        let size = 10_f64.powf(exponent);
        for (name, set) in examples() {
            let scale = 1.0 + set.largest_norm();
            let (x, z) = (shifted_to(set.as_ref(), &a, size), shifted_to(set.as_ref(), &b, size));
            let (mut p, mut q) = (x.clone(), z.clone());
            let error = set.project(&mut p).unwrap();
            set.project(&mut q).unwrap();
            prop_assert!(error <= 1e-6 * (1.0 + size) * scale, "{name}: {error}");
            prop_assert!(set.contains(&p, 1e-11 * scale), "{name}");
            let away: Vec<f64> = x.iter().zip(&p).map(|(x, p)| x - p).collect();
            for y in extremes(set.as_ref(), &mut Draws(seed)) {
                let step: Vec<f64> = y.iter().zip(&p).map(|(y, p)| y - p).collect();
                let product = dot(&step, &away);
                prop_assert!(product <= 1e-12 * (1.0 + size) * scale * scale, "{name}: {product}");
            }
            let mut again = p.clone();
            set.project(&mut again).unwrap();
            prop_assert!(distance(&p, &again) <= 1e-11 * scale, "{name}");
            prop_assert!(distance(&p, &q) <= distance(&x, &z) + 1e-9 * scale, "{name}");
        }
    }

    #[test]
    fn minimisers(direction in prop::collection::vec(-1.0..1.0_f64, 8), seed in any::<u64>()) {
        for (name, set) in examples() {
            let direction = &direction[..set.dimension()];
            let mut lowest = vec![0.0; set.dimension()];
            set.minimise(direction, &mut lowest).unwrap();
            prop_assert!(set.contains(&lowest, 1e-12 * (1.0 + set.largest_norm())), "{name}");
            let value = dot(direction, &lowest);
            for y in extremes(set.as_ref(), &mut Draws(seed)) {
                prop_assert!(value <= dot(direction, &y) + 1e-12, "{name}");
            }
            if let Ok(vertices) = set.vertices() {
                prop_assert!(vertices.contains(&lowest), "{name}: not a vertex");
            }
        }
    }
}

/// Whole-numbered directions make many ties: the answer is still a vertex, and always the same.
#[test]
fn ties_are_decided_and_repeatable() {
    let mut draws = Draws(5);
    for (name, set) in examples() {
        for _ in 0..50 {
            let direction: Vec<f64> = draws
                .vector(set.dimension())
                .iter()
                .map(|v| v.round())
                .collect();
            let (mut first, mut second) = (direction.clone(), direction.clone());
            set.minimise(&direction, &mut first).unwrap();
            set.minimise(&direction, &mut second).unwrap();
            assert_eq!(first, second);
            if let Ok(vertices) = set.vertices() {
                assert!(vertices.contains(&first), "{name}");
                let best = vertices.iter().map(|vertex| dot(vertex, &direction));
                let best = best.fold(f64::INFINITY, f64::min);
                assert!(dot(&first, &direction) <= best + 1e-12, "{name}");
            }
        }
    }
}

#[test]
fn radii_are_bounds() {
    let mut draws = Draws(6);
    for (name, set) in examples() {
        let mut centre = vec![0.0; set.dimension()];
        set.centre(&mut centre).unwrap();
        assert!(
            set.contains(&centre, 1e-12 * (1.0 + set.largest_norm())),
            "{name}"
        );
        let points = extremes(set.as_ref(), &mut draws);
        let mut farthest = (0.0_f64, 0.0_f64, 0.0_f64);
        for point in &points {
            farthest.0 = farthest.0.max(distance(point, &centre));
            farthest.1 = farthest.1.max(dot(point, point).sqrt());
            for other in &points {
                farthest.2 = farthest.2.max(distance(point, other));
            }
        }
        assert!(farthest.0 <= set.outer_radius() + 1e-12, "{name}");
        assert!(farthest.1 <= set.largest_norm() + 1e-12, "{name}");
        assert!(farthest.2 <= set.diameter() + 1e-12, "{name}");
        if set.vertices().is_ok() && name != "GraphicMatroid" {
            assert!(farthest.0 >= set.outer_radius() - 1e-12, "{name}");
            assert!(farthest.1 >= set.largest_norm() - 1e-12, "{name}");
            assert!(farthest.2 >= set.diameter() - 1e-12, "{name}");
        }
        let mut tightest = f64::INFINITY;
        for _ in 0..2000 {
            let direction = draws.vector(set.dimension());
            let opposite: Vec<f64> = direction.iter().map(|value| -value).collect();
            let mut top = centre.clone();
            set.minimise(&opposite, &mut top).unwrap();
            let width = (dot(&direction, &top) - dot(&direction, &centre))
                / dot(&direction, &direction).sqrt();
            tightest = tightest.min(width);
        }
        assert!(set.inner_radius() <= tightest + 1e-12, "{name}: {tightest}");
    }
}

#[test]
fn nets_cover() {
    let mut draws = Draws(7);
    for (name, set) in examples() {
        let radius = set.diameter() / if set.dimension() <= 3 { 15.0 } else { 5.0 };
        let net = set.net(radius).unwrap();
        for point in &net {
            assert!(
                set.contains(point, 1e-10 * (1.0 + set.largest_norm())),
                "{name}"
            );
        }
        for _ in 0..200 {
            let point = draws.point_of(set.as_ref());
            let nearest = net.iter().map(|centre| distance(centre, &point));
            let nearest = nearest.fold(f64::INFINITY, f64::min);
            assert!(
                nearest <= radius * (1.0 + 1e-9),
                "{name}: {nearest} > {radius}"
            );
        }
        let error = set.net(set.diameter() * 1e-9).unwrap_err();
        assert!(matches!(error, SetError::TooMany { .. }), "{name}: {error}");
    }
}
