//! Floors of filters, with and without room for guard bits; integers of second moments.

use super::super::SumKind;
use super::super::blt::Width;
use super::*;
use crate::lattice::{Contribution, Outcome};
use crate::losses::{Bounds, Features, Record};
use crate::moments::Moments;

fn plan(batch: u64) -> SumPlan {
    SumRequest {
        kind: SumKind::BLT,
        noise: Noise::Gaussian,
        releases: 64,
        dimension: 2000,
        bound: 2.0,
        geometry: Geometry::Ball,
        least_sigma: 0.0,
        batch,
        adjacency: Adjacency::ReplaceOne,
        participation: Participation::OncePerRecord,
        budget: Budget::approx(1.0, 1e-6).unwrap(),
    }
    .plan()
    .unwrap()
}

fn layout(plan: &SumPlan) -> Layout {
    match plan.fields.strategy {
        Strategy::Blt {
            layout: Some(layout),
            ..
        } => layout,
        _ => panic!("a filter has a layout"),
    }
}

/// Items so large that no guard bit is left: the floors are then whole units, also in the buffers,
/// and are paid for.
#[test]
fn floors_without_guard_bits_are_paid_for() {
    let (small, large) = (plan(1), plan(1_700_000_000));
    assert_eq!(layout(&small), Layout::new(Width::Double, 16));
    assert_eq!(layout(&large), Layout::new(Width::Narrow, 0));
    // One unit for every number of a row, and with a thousandth more for the buffers; then as many
    // as the buffers collect. What that costs is taken from the radius, and no more.
    let cells = (64.0_f64 * 2000.0).sqrt();
    assert!(small.inflation() > cells && small.inflation() < 1.001 * cells);
    assert!(large.inflation() > 8.0 * cells);
    let column = large.sensitivity();
    let cost = (large.inflation() - small.inflation()) / (2.0 * column);
    let lost = (small.radius() - large.radius()) as f64;
    assert!(cost > 10.0 && (lost - cost).abs() <= 1.0, "{lost} {cost}");
    // The price is computed back with the floors in it.
    let Charge::Gaussian(price) = large.charge().unwrap().charge else {
        panic!("Gaussian noise has a Gaussian price");
    };
    let data = 2.0 * column * large.radius() as f64;
    let paid = (data + large.inflation()) / NOISE_SCALE as f64;
    assert!(price.get() >= paid && price.get() < paid * (1.0 + 1e-12));
    assert!(price.get() <= large.limit().unwrap());
}

fn moments(features: usize) -> Moments {
    Moments::new(features, Bounds::new(1.0, (-1.0, 1.0), 1.0).unwrap())
}

/// A plan for second moments whose radius is so small that single units count.
fn coarse(features: usize, radius: f64) -> SumPlan {
    let moments = moments(features);
    let plan = SumRequest {
        kind: SumKind::Tree,
        noise: Noise::Gaussian,
        releases: 1,
        dimension: moments.dimension() as u32,
        bound: moments.bound(),
        geometry: Geometry::Moments,
        least_sigma: NOISE_SCALE as f64 * moments.bound() / (radius + 0.5),
        batch: 1,
        adjacency: Adjacency::ReplaceOne,
        participation: Participation::OncePerRecord,
        budget: Budget::approx(1.0, 1e-6).unwrap(),
    }
    .plan()
    .unwrap();
    assert_eq!(plan.radius(), radius as i64);
    plan
}

/// The largest paid distance of two items, in lattice units.
fn paid_for(plan: &SumPlan) -> f64 {
    let Charge::Gaussian(price) = plan.charge().unwrap().charge else {
        panic!("Gaussian noise has a Gaussian price");
    };
    price.get() * NOISE_SCALE as f64
}

/// Truncation of both ends alone increases the distance of D coordinates by up to √D. The price
/// covers this distance of two records' moments.
#[test]
fn truncation_of_second_moments_is_paid_for() {
    for features in 1..=6 {
        let plan = coarse(features, 40.0);
        // Each coordinate: nearly one unit is lost at one end and nothing at the other.
        let (before, after) = (
            [1.0, 1.0 - 1e-9],
            [1.0_f64.trunc(), (1.0_f64 - 1e-9).trunc()],
        );
        let grows = (after[0] - after[1]) - (before[0] - before[1]);
        let apart = 1.5 * 40.0 + grows * f64::from(plan.request().dimension).sqrt();
        assert!(paid_for(&plan) >= apart, "{features} {apart}");
        assert!(paid_for(&plan) <= apart + 1.1, "{features} {apart}");
    }
    // Real records, by hill climbing: their integers come further apart than 1.5 radii, and stay
    // within what is paid.
    let (plan, moments) = (coarse(2, 40.0), moments(2));
    let lattice = plan.lattice(0).unwrap();
    let integers = |features: &[f64; 2], target: f64| {
        let record = Record {
            features: Features::Dense(features.to_vec()),
            target,
        };
        let mut out = vec![0; moments.dimension()];
        assert_eq!(lattice.add(&moments.of(&record), &mut out), Outcome::Kept);
        out
    };
    let apart = |pair: &[[f64; 2]; 2]| {
        let (a, b) = (integers(&pair[0], 1.0), integers(&pair[1], -1.0));
        let squares = a.iter().zip(b).map(|(a, b)| (a - b).pow(2));
        (squares.sum::<i64>() as f64).sqrt()
    };
    let mut state = 5_u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    let mut most = 0.0_f64;
    for _ in 0..60 {
        let mut pair = [0; 2].map(|_| [random(), random()]);
        let mut value = apart(&pair);
        for step in 0..500 {
            let reach = [0.3, 0.1, 0.03, 0.01][step % 4];
            let moved = pair.map(|point| point.map(|v| v + reach * random()));
            let far = apart(&moved);
            if far >= value {
                (pair, value) = (moved, far);
            }
        }
        most = most.max(value);
    }
    assert!(most > 60.0 && most <= paid_for(&plan), "{most}");
}

/// Floats err before truncation, by 2⁻⁴⁰ of the radius: at the largest radius there is, that is a
/// unit, and is paid for with the others.
#[test]
fn errors_of_floats_before_truncation_are_paid_for() {
    let radius = 2_f64.powi(40);
    let extra = coarse(2, 40.0).distance(radius) - 1.5 * radius;
    assert!(extra >= 5_f64.sqrt() + radius * 2_f64.powi(-40), "{extra}");
    assert!(extra < 10.0, "{extra}");
}

/// The proof covers second moments as they are, not smaller copies: moments that do not fit are
/// null, not shrunk.
#[test]
fn second_moments_are_not_shrunk() {
    for kind in [SumKind::Tree, SumKind::Octave] {
        let mut request = coarse(1, 40.0).request().clone();
        (request.kind, request.releases, request.least_sigma) = (kind, 9, 0.0);
        // A radius so large that a float cannot see the square of one unit, and a bound that
        // divides it exactly.
        (request.budget, request.bound) = (Budget::approx(20.0, 1e-6).unwrap(), 1.0);
        for (geometry, shrinks) in [(Geometry::Ball, true), (Geometry::Moments, false)] {
            request.geometry = geometry;
            let plan = request.clone().plan().unwrap();
            for octave in 0..plan.fields.radii.len() as u32 {
                let lattice = plan.lattice(octave).unwrap();
                // As long as the bound as far as floats can see, and one unit too long in integers.
                let long = vec![request.bound, lattice.unit() * (1.0 + 1e-9)];
                let mut out = [0; 2];
                let outcome = lattice.add(&Contribution::Dense(long), &mut out);
                assert_eq!(outcome == Outcome::Null, !shrinks, "{kind} {octave}");
                assert_eq!(out == [0; 2], !shrinks, "{kind} {octave}");
            }
        }
    }
}

/// The largest radius whose price fits: at the price of a radius, and a few floats below, where the
/// quotient still gives that radius.
#[test]
fn the_price_decides_on_the_last_unit_of_a_radius() {
    let mut request = plan(1).request().clone();
    (request.kind, request.noise) = (SumKind::Tree, Noise::Laplace);
    request.budget = Budget::pure(0.3).unwrap();
    let usual = request.clone().plan().unwrap();
    for radius in [1, 2, 1000, usual.radius()] {
        let mut epsilon = usual.price(radius as f64, 0).unwrap();
        for below in 0..6 {
            request.budget = Budget::pure(epsilon).unwrap();
            let wanted = radius - i64::from(below > 0);
            match request.clone().plan() {
                Ok(plan) => assert_eq!(plan.radius(), wanted, "{below}"),
                Err(error) => {
                    assert!(matches!(error, PlanError::BudgetTooSmall { .. }), "{error}");
                    assert_eq!(wanted, 0);
                }
            }
            epsilon = epsilon.next_down();
        }
    }
}
