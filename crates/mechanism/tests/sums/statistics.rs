//! Statistics through every sum and noise. Two runs under one key draw the same noise, so their
//! releases differ by what was counted.

use crate::game::*;
use hushstream_mechanism::losses::{Features, Record};
use hushstream_mechanism::sums::{Ask, Geometry, Noise, SumKind, SumRequest};
use hushstream_mechanism::{Contribution, GroupColumn, Participation, Raw, Statistic, Statistics};

const TICKS: u64 = 9;

fn statistics(noise: Noise) -> Statistics {
    let groups = vec![GroupColumn {
        column: 0,
        values: 2,
    }];
    let wanted = [
        (Statistic::Count, true, 3.0),
        (Statistic::Sum { column: 1 }, true, 3.0),
        (Statistic::Histogram { column: 1, bins: 4 }, true, 12.0),
        (Statistic::Count, false, 1.0),
        (Statistic::Sum { column: 1 }, false, 1.0),
    ];
    let adjacency = request(SumKind::Tree, noise, 1).adjacency;
    Statistics::balanced(
        groups,
        &wanted,
        adjacency,
        Participation::OncePerRecord,
        noise == Noise::Laplace,
    )
    .unwrap()
}

fn planned(kind: SumKind, noise: Noise) -> SumRequest {
    let statistics = statistics(noise);
    SumRequest {
        dimension: statistics.dimension(),
        bound: 1.0,
        geometry: Geometry::Statistics(statistics),
        batch: 100,
        ..request(kind, noise, TICKS)
    }
}

/// Group and number of record `i` of tick `t`; the third of four cannot be read.
fn row(t: u64, i: u64) -> Option<(usize, f64)> {
    let value = (t * 7 + i * 3) as f64 % 20.0 / 10.0 - 1.0;
    (i % 4 != 2).then_some(((t + i) as usize % 3, value))
}

fn sealed(row: Option<(usize, f64)>) -> Raw<Record> {
    let (group, value) = row.unwrap_or((0, f64::NAN));
    Raw::seal(Record {
        features: Features::Dense(vec![group as f64, value]),
        target: 0.0,
    })
}

fn releases(request: SumRequest, is_empty: bool) -> Vec<Vec<f64>> {
    let (mut sum, mut ledger) = open(request);
    sum.close_by_clock();
    (1..=TICKS)
        .map(|t| {
            for i in 0..t % 4 * 5 {
                let row = row(t, i).filter(|_| !is_empty);
                assert!(sum.add_statistics(None, sealed(row)).unwrap().is_none());
            }
            let pending = sum.close_item().unwrap().unwrap();
            sum.sync(&mut ledger).unwrap();
            sum.publish(pending).unwrap().into_value()
        })
        .collect()
}

#[test]
fn releases_hold_the_statistics() {
    for (kind, noise) in cells() {
        let request = planned(kind, noise);
        let Geometry::Statistics(statistics) = request.geometry.clone() else {
            panic!("statistics");
        };
        let counted = releases(request.clone(), false);
        let noise_alone = releases(request, true);
        let mut exact = vec![0.0; statistics.dimension() as usize];
        for t in 1..=TICKS {
            for (group, value) in (0..t % 4 * 5).filter_map(|i| row(t, i)) {
                let bin = (((value + 1.0) * 2.0) as usize).min(3);
                exact[group] += 1.0;
                exact[3 + group] += value;
                exact[6 + 4 * group + bin] += 1.0;
                exact[18] += 1.0;
                exact[19] += value;
            }
            let place = t as usize - 1;
            for block in 0..5 {
                for i in statistics.coordinates(block) {
                    let found =
                        (counted[place][i] - noise_alone[place][i]) / statistics.scale(block);
                    let error = (found - exact[i]).abs();
                    assert!(error < 1e-4, "{kind} {noise} {t} {i}: {found} {}", exact[i]);
                }
            }
        }
    }
}

#[test]
fn persons_and_geometries_are_checked() {
    let mut request = planned(SumKind::Tree, Noise::Gaussian);
    request.participation = Participation::PerPerson {
        most: 1,
        separation: 1,
    };
    let (mut sum, _) = open(request.clone());
    assert!(sum.add_statistics(None, sealed(row(1, 0))).is_err());
    sum.add_statistics(Some(7), sealed(row(1, 0))).unwrap();
    sum.add_statistics(Some(7), sealed(row(1, 1))).unwrap();
    assert_eq!(*sum.counts().0.for_the_operator(), 1);
    assert!(sum.add_for(8, Raw::seal(Contribution::Null)).is_err());
    assert!(sum.question(Ask::Vector, Vec::new()).is_err());
    let mut ball = request.clone();
    ball.geometry = Geometry::Ball;
    let (mut sum, _) = open(ball);
    assert!(sum.add_statistics(Some(7), sealed(row(1, 0))).is_err());
    for wrong in [
        SumRequest {
            dimension: request.dimension + 1,
            ..request.clone()
        },
        SumRequest {
            bound: 2.0,
            ..request
        },
    ] {
        assert!(wrong.plan().is_err());
    }
}
