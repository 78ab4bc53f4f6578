//! Floors of filters, with and without room for guard bits.

use super::super::SumKind;
use super::super::blt::Width;
use super::*;

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

/// Items so large that no bit is left to guard: the floors are then whole units, also in the buffers, and are paid for all the same.
#[test]
fn floors_without_guard_bits_are_paid_for() {
    let (small, large) = (plan(1), plan(1_700_000_000));
    assert_eq!(layout(&small), Layout::new(Width::Double, 16));
    assert_eq!(layout(&large), Layout::new(Width::Narrow, 0));
    // One unit for every number of a row, and with a thousandth more for the buffers; then as many as the buffers collect. What that costs is taken from the radius, and no more.
    let cells = (64.0_f64 * 2000.0).sqrt();
    assert!(small.inflation() > cells && small.inflation() < 1.001 * cells);
    assert!(large.inflation() > 8.0 * cells);
    let column = large.sensitivity();
    let cost = (large.inflation() - small.inflation()) / (2.0 * column);
    let lost = (small.radius() - large.radius()) as f64;
    assert!(cost > 10.0 && (lost - cost).abs() <= 1.0, "{lost} {cost}");
    // The price is computed back with the floors in it.
    let Charge::Gaussian(price) = large.charge().unwrap() else {
        panic!("Gaussian noise has a Gaussian price");
    };
    let data = 2.0 * column * large.radius() as f64;
    let paid = (data + large.inflation()) / NOISE_SCALE as f64;
    assert!(price.get() >= paid && price.get() < paid * (1.0 + 1e-12));
    assert!(price.get() <= large.limit().unwrap());
}
