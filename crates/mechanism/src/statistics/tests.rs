use super::*;
use hushstream_account::Adjacency::{ReplaceOne, ZeroOut};

const RADIUS: i64 = 3 * 4096;

fn record(values: &[f64]) -> Record {
    Record {
        features: Features::Dense(values.to_vec()),
        target: 0.0,
    }
}

/// All records of two categories and two numbers, inside and outside of what is listed.
fn records() -> Vec<Record> {
    let mut all = Vec::new();
    for region in [0.0, 1.0, 2.0, -3.0] {
        for kind in [0.0, 0.5] {
            for x in [-1.0, -0.3, 0.999, 7.0] {
                for y in [-1.0, 0.1, 1.0, f64::NAN] {
                    all.push(record(&[region, kind, x, y]));
                }
            }
        }
    }
    all.push(Record {
        features: Features::Sparse(vec![(0, 1.0)]),
        target: 0.0,
    });
    all
}

fn shapes() -> Vec<StatisticsShape> {
    let group = |column, values| GroupColumn { column, values };
    let statistics = [
        Statistic::Count,
        Statistic::Sum { column: 2 },
        Statistic::Sum { column: 3 },
        Statistic::Histogram { column: 2, bins: 3 },
        Statistic::Histogram { column: 3, bins: 2 },
    ];
    let kinds: Vec<(Statistic, bool)> = statistics
        .iter()
        .flat_map(|statistic| [(*statistic, true), (*statistic, false)])
        .collect();
    let mut shapes = Vec::new();
    for groups in [vec![], vec![group(0, 2)], vec![group(0, 3), group(1, 1)]] {
        // Every subset of blocks, with weights that differ.
        for subset in 1_u32..1 << kinds.len() {
            let chosen = (0..kinds.len()).filter(|place| subset >> place & 1 == 1);
            let weight = |place: usize| 1 + ((place as u32 * 1103 + subset * 37) % 4096) as u16;
            let blocks = chosen.map(|place| Block {
                statistic: kinds[place].0,
                by_group: kinds[place].1,
                weight: weight(place),
            });
            shapes.push(StatisticsShape {
                groups: groups.clone(),
                blocks: blocks.collect(),
            });
        }
    }
    shapes
}

fn integers(statistics: &Statistics, record: &Record) -> Vec<i64> {
    let mut total = vec![0; statistics.dimension() as usize];
    statistics.add(record, RADIUS, &mut total);
    total
}

fn apart(a: &[i64], b: &[i64], l1: bool) -> u64 {
    let differences = a.iter().zip(b).map(|(x, y)| x.abs_diff(*y));
    differences.map(|d| if l1 { d } else { d * d }).sum()
}

/// Over all pairs of records the largest distance is the claimed one: never above it, and attained.
#[test]
fn the_claimed_distance_is_that_of_all_pairs() {
    let records = records();
    for (number, shape) in shapes().into_iter().enumerate() {
        // One in seven of three thousand shapes: all kinds of blocks together and apart.
        if number % 7 != 3 && shape_is_large(&shape) {
            continue;
        }
        let statistics = Statistics::new(shape).unwrap();
        let all: Vec<Vec<i64>> = records.iter().map(|r| integers(&statistics, r)).collect();
        let nothing = vec![0; statistics.dimension() as usize];
        let step = (RADIUS / 4096) as f64;
        for l1 in [false, true] {
            let mut most = 0;
            let mut alone = 0;
            for (place, a) in all.iter().enumerate() {
                alone = alone.max(apart(a, &nothing, l1));
                for b in &all[..place] {
                    most = most.max(apart(a, b, l1));
                }
            }
            let size = |most: u64| {
                let most = most as f64 / if l1 { step } else { step * step };
                if l1 { most } else { most.sqrt() }
            };
            for (adjacency, most) in [(ReplaceOne, most.max(alone)), (ZeroOut, alone)] {
                let claimed = statistics.distance(adjacency, l1);
                assert!(size(most) <= claimed, "{adjacency} {l1} {statistics:?}");
                // Attained, up to sums whose one column does not reach both of its ends.
                let found = size(most) / claimed;
                assert!(
                    found > 1.0 - 1e-12,
                    "{found} {adjacency} {l1} {statistics:?}"
                );
            }
        }
    }
}

fn shape_is_large(shape: &StatisticsShape) -> bool {
    shape.blocks.len() > 2
}

/// By hand: one count is 1 apart without groups and √2 with them, not 2.
#[test]
fn one_hot_distances_by_hand() {
    let one = |statistic, by_group, groups: u32| {
        let columns = (groups > 1).then_some(GroupColumn {
            column: 0,
            values: groups - 1,
        });
        Statistics::new(StatisticsShape {
            groups: columns.into_iter().collect(),
            blocks: vec![Block {
                statistic,
                by_group,
                weight: 1,
            }],
        })
        .unwrap()
    };
    let root = 2_f64.sqrt().next_up();
    let count = Statistic::Count;
    let sum = Statistic::Sum { column: 0 };
    let bins = Statistic::Histogram { column: 0, bins: 9 };
    for (statistic, by_group, groups, adjacency, l2, l1) in [
        (count, true, 1, ReplaceOne, 1.0_f64.next_up(), 1.0),
        (count, true, 5, ReplaceOne, root, 2.0),
        (count, false, 5, ReplaceOne, 1.0_f64.next_up(), 1.0),
        (sum, true, 5, ReplaceOne, 2.0_f64.next_up(), 2.0),
        (bins, true, 5, ReplaceOne, root, 2.0),
        (bins, true, 1, ReplaceOne, root, 2.0),
        (count, true, 5, ZeroOut, 1.0_f64.next_up(), 1.0),
        (sum, true, 5, ZeroOut, 1.0_f64.next_up(), 1.0),
    ] {
        let statistics = one(statistic, by_group, groups);
        let got = (
            statistics.distance(adjacency, false),
            statistics.distance(adjacency, true),
        );
        assert_eq!(
            got,
            (l2, l1),
            "{statistic:?} {by_group} {groups} {adjacency}"
        );
    }
}

/// Sums of records are held, and integers that no such records add up to are not.
#[test]
fn sums_are_recognised() {
    let records = records();
    for shape in shapes().into_iter().step_by(101) {
        let statistics = Statistics::new(shape).unwrap();
        let mut total = vec![0; statistics.dimension() as usize];
        for record in &records {
            statistics.add(record, RADIUS, &mut total);
        }
        let count = records.len() as u64;
        assert!(statistics.holds_sum(&total, count, RADIUS));
        assert!(!statistics.holds_sum(&total[1..], count, RADIUS));
        for (block, of) in statistics.shape().blocks.iter().enumerate() {
            let first = statistics.coordinates(block).start;
            let mut larger = total.clone();
            larger[first] = i64::from(of.weight) * RADIUS / 4096 * count as i64 + 1;
            assert!(!statistics.holds_sum(&larger, count, RADIUS));
            let mut negative = total.clone();
            negative[first] = -1;
            let is_sum = matches!(of.statistic, Statistic::Sum { .. });
            assert_eq!(statistics.holds_sum(&negative, count, RADIUS), is_sum);
        }
    }
}

/// No weights near the chosen ones have a smaller total error.
#[test]
fn balanced_weights_are_the_best_nearby() {
    let groups = vec![GroupColumn {
        column: 0,
        values: 71,
    }];
    let wanted = [
        (Statistic::Count, true, 72.0),
        (Statistic::Sum { column: 1 }, true, 72.0),
        (
            Statistic::Histogram {
                column: 1,
                bins: 10,
            },
            true,
            720.0,
        ),
        (Statistic::Count, false, 1.0),
        (Statistic::Sum { column: 1 }, false, 1.0),
    ];
    for adjacency in [ReplaceOne, ZeroOut] {
        for l1 in [false, true] {
            let best = {
                let once = Participation::OncePerRecord;
                Statistics::balanced(groups.clone(), &wanted, adjacency, once, l1).unwrap()
            };
            let error = |shape: &StatisticsShape| {
                let distance = Statistics::new(shape.clone())
                    .unwrap()
                    .distance(adjacency, l1);
                let blocks = shape.blocks.iter().zip(&wanted);
                let sum: f64 = blocks
                    .map(|(block, (.., k))| k / f64::from(block.weight).powi(2))
                    .sum();
                distance * distance * sum
            };
            let least = error(best.shape());
            for block in 0..wanted.len() {
                for times in [0.5, 0.9, 1.1, 1.5] {
                    let mut other = best.shape().clone();
                    let weight = f64::from(other.blocks[block].weight) * times;
                    other.blocks[block].weight = weight.min(4096.0) as u16;
                    assert!(
                        error(&other) > least * (1.0 - 1e-3),
                        "{adjacency} {l1} {block}"
                    );
                }
            }
        }
    }
}

#[test]
fn shapes_that_are_none_are_refused() {
    let block = |statistic, weight| Block {
        statistic,
        by_group: true,
        weight,
    };
    let shape = |values, blocks| StatisticsShape {
        groups: vec![GroupColumn { column: 0, values }],
        blocks,
    };
    let bins = |bins| Statistic::Histogram { column: 0, bins };
    for bad in [
        shape(1, vec![]),
        shape(0, vec![block(Statistic::Count, 1)]),
        shape(1, vec![block(Statistic::Count, 0)]),
        shape(1, vec![block(Statistic::Count, 4097)]),
        shape(1, vec![block(bins(1), 1)]),
        shape(1 << 20, vec![block(bins(1 << 20), 1)]),
        shape(u32::MAX, vec![block(Statistic::Count, 1)]),
    ] {
        let written = serde_json::to_string(&bad).unwrap();
        assert!(Statistics::new(bad).is_err());
        assert!(serde_json::from_str::<Statistics>(&written).is_err());
    }
    let good = shape(3, vec![block(bins(4), 7), block(Statistic::Count, 4096)]);
    let statistics = Statistics::new(good).unwrap();
    let written = postcard::to_allocvec(&statistics).unwrap();
    let read: Statistics = postcard::from_bytes(&written).unwrap();
    assert_eq!(read, statistics);
}

/// Every pair of categories has a coordinate of its own; what is not listed has one for each
/// column.
#[test]
fn groups_are_told_apart() {
    let group = |column, values| GroupColumn { column, values };
    let shape = StatisticsShape {
        groups: vec![group(0, 3), group(1, 2)],
        blocks: vec![Block {
            statistic: Statistic::Count,
            by_group: true,
            weight: 4096,
        }],
    };
    let statistics = Statistics::new(shape).unwrap();
    for (first, row) in [0.0, 1.0, 2.0, 3.0].into_iter().enumerate() {
        for (second, column) in [0.0, 1.0, 2.0].into_iter().enumerate() {
            let counts = integers(&statistics, &record(&[row, column]));
            let place = counts.iter().position(|&count| count != 0);
            assert_eq!(place, Some(3 * first + second));
        }
    }
    for unlisted in [0.5, -1.0, 4.0, 1e300] {
        let counts = integers(&statistics, &record(&[unlisted, 1.0]));
        assert_eq!(counts[3 * 3 + 1], RADIUS, "{unlisted}");
    }
}
