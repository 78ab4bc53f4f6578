//! Floors of filters, with and without room for guard bits; integers of second moments.

use super::super::blt::{Layout, Width};
use super::super::{Strategy, SumKind};
use super::*;
use crate::losses::Bounds;
use crate::moments::{Moments, TargetWeight};
use hushstream_account::Adjacency;

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
    match &plan.fields.strategy {
        Strategy::Blt(filter) => filter.layout.unwrap(),
        _ => panic!("a filter has a layout"),
    }
}

/// Items so large that no guard bit is left: the floors are then whole units, also in the buffers,
/// and are paid for.
#[test]
fn floors_without_guard_bits_are_paid_for() {
    let (small, large) = (plan(1), plan(1 << 21));
    assert_eq!(layout(&small), Layout::new(Width::Double, 16));
    assert_eq!(layout(&large), Layout::new(Width::Double, 0));
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
fn coarse(moments: &Moments, radius: f64, adjacency: Adjacency) -> SumPlan {
    let plan = SumRequest {
        kind: SumKind::Tree,
        noise: Noise::Gaussian,
        releases: 1,
        dimension: moments.dimension() as u32,
        bound: moments.bound(),
        geometry: Geometry::Moments(moments.weight()),
        least_sigma: NOISE_SCALE as f64 * moments.bound() / (radius + 0.5),
        batch: 1,
        adjacency,
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

/// The price covers the largest distance of two records' moments with all truncations, and no more:
/// `moments/tests.rs` finds pairs nearly so far apart.
#[test]
fn distance_and_truncation_of_second_moments_are_paid_for() {
    for weight in [4, 8, 16, 32, 48].map(|count| TargetWeight::sixteenths(count).unwrap()) {
        for features in [1, 2, 6] {
            for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
                let moments = moments(features).weighted(weight);
                let plan = coarse(&moments, 40.0, adjacency);
                let room = f64::from(plan.request().dimension).sqrt();
                let apart = weight.distance(adjacency) * 40.0 + room;
                assert!(paid_for(&plan) >= apart, "{weight:?} {features}");
                assert!(
                    paid_for(&plan) <= apart * (1.0 + 1e-12),
                    "{weight:?} {features}"
                );
            }
        }
    }
}

/// An item's exact sums have 62 bits: batches that could fill them are refused.
#[test]
fn batches_of_second_moments_are_limited() {
    let mut request = coarse(&moments(1), 40.0, Adjacency::ReplaceOne)
        .request()
        .clone();
    request.batch = 1 << 34;
    assert!(request.clone().plan().is_ok());
    request.batch += 1;
    let message = request.plan().unwrap_err().to_string();
    assert!(
        message.contains("1 to 2^34 for second moments"),
        "{message}"
    );
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

/// In decisions whose policies are evaluated, a turn that moves costs more than a record that is
/// replaced: √(δ² + s²(4 + 10J)) radii for J policies, of which s²(4 + 5J) for the latter.
#[test]
fn turns_of_decisions_that_move_are_paid_for() {
    use crate::decisions::Evaluated;
    let weight = TargetWeight::sixteenths(8).unwrap();
    for policies in [1, 3, 40] {
        let plan = SumRequest {
            kind: SumKind::Fresh,
            noise: Noise::Gaussian,
            releases: 2,
            dimension: 100,
            bound: 1.0,
            geometry: Geometry::Decisions {
                weight,
                evaluated: Evaluated {
                    signed: policies + 1,
                    positive: policies,
                    scale: 1 << 13,
                },
            },
            least_sigma: 0.0,
            batch: 4,
            adjacency: Adjacency::ReplaceOne,
            participation: Participation::PerPerson {
                most: 1,
                separation: 1,
            },
            budget: Budget::approx(1.0, 1e-6).unwrap(),
        }
        .plan()
        .unwrap();
        let evaluation = (4.0 + 10.0 * f64::from(policies)) / 64.0;
        let apart = (weight.distance(Adjacency::ReplaceOne).powi(2) + evaluation).sqrt();
        // Each of the two items is truncated at every one of its coordinates.
        let moved = apart * plan.radius() as f64 + 2.0 * 10.0;
        assert!(paid_for(&plan) >= moved, "{policies}");
        assert!(paid_for(&plan) <= moved * (1.0 + 1e-12), "{policies}");
    }
}

/// Only trees have levels, which their guarantees name.
#[test]
fn filters_have_no_levels() {
    for (kind, levels) in [
        (SumKind::Tree, Some(7)),
        (SumKind::BLT, None),
        (SumKind::NORMALISED, None),
        (SumKind::DENSE, None),
    ] {
        let mut request = plan(1).request().clone();
        (request.kind, request.dimension) = (kind, 2);
        assert_eq!(request.plan().unwrap().levels(), levels, "{kind:?}");
    }
}

/// A person's turn may come in another tick, because an empty record does not use it up: then both
/// records count, each in its own tick, and the price covers that. Under pure noise their lengths
/// add up, under Gaussian noise their squares.
#[test]
fn a_person_may_count_in_another_tick() {
    use crate::losses::{Features, Record};
    use crate::statistics::{Statistic, Statistics};
    let persons = Participation::PerPerson {
        most: 1,
        separation: 1,
    };
    for noise in [Noise::Gaussian, Noise::L2Laplace, Noise::Laplace] {
        let l1 = noise == Noise::Laplace;
        let wanted = [
            (Statistic::Count, true, 1.0),
            (Statistic::Sum { column: 0 }, true, 1.0),
        ];
        let statistics =
            Statistics::balanced(Vec::new(), &wanted, Adjacency::ReplaceOne, persons, l1).unwrap();
        let budget = match noise {
            Noise::Gaussian => Budget::approx(1.0, 1e-6).unwrap(),
            _ => Budget::pure(1.0).unwrap(),
        };
        let plan = SumRequest {
            kind: SumKind::Fresh,
            noise,
            releases: 2,
            dimension: statistics.dimension(),
            bound: 1.0,
            geometry: Geometry::Statistics(statistics.clone()),
            least_sigma: 0.0,
            batch: 4,
            adjacency: Adjacency::ReplaceOne,
            participation: persons,
            budget,
        }
        .plan()
        .unwrap();
        let record = Record {
            features: Features::Dense(vec![1.0]),
            target: 0.0,
        };
        let mut item = vec![0; statistics.dimension() as usize];
        statistics.add(&record, plan.radius(), &mut item);
        let size = |x: &i64| x.unsigned_abs() as f64;
        let length = if l1 {
            item.iter().map(size).sum()
        } else {
            item.iter().map(|x| size(x).powi(2)).sum::<f64>().sqrt()
        };
        // Fresh noise: the columns of two ticks are orthogonal, of length 1.
        let moved = match noise {
            Noise::Gaussian => 2.0_f64.sqrt() * length,
            _ => 2.0 * length,
        };
        let paid = match plan.charge().unwrap().charge {
            Charge::Gaussian(mu) => mu.get(),
            Charge::Pure(epsilon) => epsilon.get(),
            _ => panic!("a sum is charged as Gaussian or pure"),
        } * NOISE_SCALE as f64;
        assert!(
            moved <= paid && moved > 0.999 * paid,
            "{noise}: {moved} of {paid}"
        );
    }
}

/// The same for every geometry: two records alone are never longer than what is paid.
#[test]
fn two_records_in_two_items_are_paid_for() {
    let moments = Geometry::Moments(TargetWeight::sixteenths(8).unwrap());
    let tables = Geometry::Tables {
        counts: 1000,
        sixteenths: 16,
    };
    for geometry in [Geometry::Ball, moments, tables] {
        for (noise, times) in [(Noise::Gaussian, 2.0_f64.sqrt()), (Noise::L2Laplace, 2.0)] {
            let mut request = plan(1).request().clone();
            request.geometry = geometry.clone();
            (request.kind, request.noise) = (SumKind::Fresh, noise);
            request.participation = Participation::PerPerson {
                most: 1,
                separation: 1,
            };
            if noise.is_pure() {
                request.budget = Budget::pure(1.0).unwrap();
            }
            let plan = request.plan().unwrap();
            let radius = plan.radius() as f64;
            let (alone, truncation) = plan.apart(radius, Adjacency::ZeroOut);
            let moved = times * alone + 2.0 * truncation;
            assert!(
                moved <= plan.distance(radius) * (1.0 + 1e-12),
                "{geometry:?} {noise}"
            );
        }
    }
}
