use super::*;
use crate::lattice::Outcome;
use crate::losses::{Features, Record};
use proptest::prelude::*;

const WEIGHTS: [u8; 5] = [4, 8, 16, 32, 48];

fn number(features: usize, length: f64, target: f64) -> Moments {
    Moments::new(
        features,
        Bounds::new(length, (-target, target), 1.0).unwrap(),
    )
}

fn dense(values: &[f64], target: f64) -> Record {
    Record {
        features: Features::Dense(values.to_vec()),
        target,
    }
}

/// The exact sums of records, as integers.
fn sums(moments: &Moments, records: &[Record]) -> Vec<i64> {
    let mut block = Block::new(moments);
    let mut sums = vec![0; moments.dimension()];
    for record in records {
        assert_eq!(block.add(record, &mut sums), Outcome::Kept);
    }
    block.flush(&mut sums);
    sums
}

/// The lattice integers of an item of these records.
fn item(moments: &Moments, records: &[Record], radius: i64) -> Vec<i64> {
    // The item closes before the block is full, as it does where records are null.
    let mut block = Block::new(moments);
    let mut sums = vec![0; moments.dimension()];
    for record in records {
        assert_eq!(block.add(record, &mut sums), Outcome::Kept);
    }
    block.close(&mut sums, radius);
    sums
}

fn length(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|value| value * value).sum::<f64>().sqrt()
}

fn apart(a: &[i64], b: &[i64]) -> f64 {
    length(a.iter().zip(b).map(|(a, b)| (a - b) as f64))
}

/// The same by the definition, in integers that cannot overflow: a record's integers by division
/// and rounding, the products one by one.
fn naive(moments: &Moments, records: &[Record]) -> Vec<i128> {
    let p = moments.features;
    let mut out = vec![0_i128; moments.dimension()];
    for record in records {
        let v = match &record.features {
            Features::Dense(values) => values.clone(),
            Features::Sparse(entries) => {
                let mut v = vec![0.0; p];
                entries.iter().for_each(|&(i, value)| v[i as usize] = value);
                v
            }
        };
        let norm = length(v.iter().copied()).max(moments.bounds.features());
        let scaled = |value: &f64| value / norm * 4096.0;
        let mut q: Vec<i128> = v
            .iter()
            .map(|v| scaled(v).round_ties_even() as i128)
            .collect();
        if q.iter().map(|q| q * q).sum::<i128>() > 1 << 24 {
            let inside = |v| (scaled(v) * (1.0 - 1e-12)).trunc() as i128;
            q = v.iter().map(inside).collect();
        }
        let (class, s) = match moments.classes {
            Some(_) => (record.target as usize, 32768),
            None => {
                let y = moments.bounds.clip_target(record.target);
                let y = y / moments.bounds.target_magnitude();
                (0, (y * 32768.0).round() as i128)
            }
        };
        let mut place = p;
        for i in 0..p {
            out[i] += q[i] * q[i];
            for j in i + 1..p {
                out[place] += q[i] * q[j];
                place += 1;
            }
        }
        for i in 0..p {
            out[place + class * p + i] += s * q[i];
        }
    }
    out
}

fn check(moments: &Moments, records: &[Record]) {
    let found = sums(moments, records);
    let found: Vec<i128> = found.into_iter().map(i128::from).collect();
    assert_eq!(found, naive(moments, records));
}

proptest! {
    /// Blocks of every size and rest, dense and sparse, numbers and classes.
    #[test]
    fn blocks_are_what_the_definition_says(
        p in 1_usize..23,
        rows in 1_usize..260,
        seed in any::<u64>(),
        classes in prop::option::of(2_usize..4),
        sparse in any::<bool>(),
    ) {
        let moments = match classes {
            Some(classes) => Moments::of_classes(p, 1.5, classes).unwrap(),
            None => number(p, 1.5, 3.0),
        };
        let mut random = dice(seed);
        let records: Vec<Record> = (0..rows)
            .map(|_| {
                let far = if random() > 0.0 { 0.5 } else { 4.0 };
                let entries: Vec<(u32, f64)> = (0..p as u32)
                    .map(|i| (i, far * random(), random() > 0.6))
                    .filter(|entry| !sparse || entry.2)
                    .map(|entry| (entry.0, entry.1))
                    .collect();
                let values = entries.iter().map(|entry| entry.1).collect();
                let features = if sparse {
                    Features::Sparse(entries)
                } else {
                    Features::Dense(values)
                };
                let target = match classes {
                    Some(classes) => ((random() + 1.0) / 2.0 * classes as f64).floor(),
                    None => 5.0 * random(),
                };
                Record { features, target }
            })
            .collect();
        check(&moments, &records);
    }
}

fn dice(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

/// Every record at its largest, in one coordinate and in all, for whole blocks: no sum wraps.
#[test]
fn the_largest_values_do_not_wrap() {
    for p in [1, 2, 5, 16] {
        let moments = number(p, 2.0, 1.0);
        for sign in [1.0, -1.0] {
            let mut alone = vec![0.0; p];
            alone[p - 1] = 2.0 * sign;
            let spread = vec![1e9 * sign; p];
            for values in [alone, spread] {
                let records: Vec<Record> = (0..1000).map(|_| dense(&values, -9.0)).collect();
                check(&moments, &records);
            }
        }
    }
    let most = sums(&number(1, 2.0, 1.0), &[dense(&[-7.0], -9.0)]);
    assert_eq!(most, [1 << 24, 1 << 27]);
}

/// The largest sums that an item may have: the image is within batch·radius, and right.
#[test]
fn the_largest_items_have_an_image() {
    let moments = number(1, 1.0, 1.0);
    for (batch, radius) in [(MOST_RECORDS, 1 << 26), (1 << 20, 1 << 40)] {
        for weight in [1, 8, 64] {
            let batch = i64::try_from(batch).unwrap();
            let mut sums = [batch << 24, -(batch << 27)];
            let weight = TargetWeight(weight);
            Image::new(weight, radius).apply(&moments, &mut sums);
            let kappa = weight.squared().sqrt();
            let whole = (batch * radius) as f64 / kappa.hypot(1.0);
            for (sum, real) in sums.into_iter().zip([whole, -kappa * whole]) {
                let error = (sum as f64 / real - 1.0).abs();
                assert!(error < 1e-9, "{batch} {weight:?}: {sum} {real}");
                assert!(sum.abs() < 1 << 61);
            }
        }
    }
}

/// The multipliers are the largest that the proof allows: c, √2·c and κ·c rounded down.
#[test]
fn multipliers_are_rounded_down() {
    for weight in 1..=64 {
        for radius in [1, 2, 3, 40, 12_345, (1 << 30) - 1, 1 << 40] {
            let square = (radius as u128).pow(2) << (2 * POINT);
            let image = Image::new(TargetWeight(weight), radius);
            for (multiplier, share) in image.0.into_iter().zip([16, 32, u128::from(weight)]) {
                let (m, all) = (multiplier as u128, 16 + u128::from(weight));
                assert!(m * m * all <= share * square);
                assert!((m + 1) * (m + 1) * all > share * square);
            }
        }
    }
}

#[test]
fn layout_and_units() {
    let moments = number(3, 2.0, 5.0).weighted(TargetWeight(16));
    let records = [dense(&[1.0, -0.5, 0.25], 2.5)];
    let radius = 1 << 40;
    let unit = moments.bound() / radius as f64;
    let out: Vec<f64> = item(&moments, &records, radius)
        .into_iter()
        .map(|integer| integer as f64 * unit)
        .collect();
    let root = 2_f64.sqrt();
    // κ·R/Y·y = 1.
    let expected = [
        1.0,
        0.25,
        0.0625,
        -0.5 * root,
        0.25 * root,
        -0.125 * root,
        1.0,
        -0.5,
        0.25,
    ];
    for (out, expected) in out.iter().zip(expected) {
        assert!((out - expected).abs() < 1e-9, "{out} {expected}");
    }
    // The same by the exact sum.
    let mut block = Block::new(&moments);
    let (mut sums, mut total) = (vec![0; 9], vec![0.0; 9]);
    block.add(&records[0], &mut sums);
    block.drain(&mut sums, &mut total);
    for (total, expected) in total.iter().zip(expected) {
        assert!((total - expected).abs() < 1e-12, "{total} {expected}");
    }
}

/// Rounding to the nearest may lengthen: then features are truncated, and stay inside.
#[test]
fn integers_are_inside_the_ball() {
    let mut random = dice(3);
    let mut truncated = 0;
    for p in [1_usize, 2, 20, 200, 2000] {
        let moments = number(p, 1.0, 1.0);
        for _ in 0..50 {
            let values: Vec<f64> = (0..p).map(|_| 3.0 * random()).collect();
            let norm = length(values.iter().copied());
            let clipped: Vec<f64> = values.iter().map(|v| v / norm.max(1.0)).collect();
            let found = sums(&moments, &[dense(&values, 1.0)]);
            let squares: i64 = found[..p].iter().sum();
            assert!(squares <= 1 << 24, "{squares}");
            let q = &found[moments.products()..];
            let worst = q
                .iter()
                .zip(&clipped)
                .map(|(q, v)| (*q as f64 / 32768.0 - 4096.0 * v).abs())
                .fold(0.0, f64::max);
            assert!(worst < 1.0 + 1e-6, "{worst}");
            truncated += u32::from(worst > 0.501);
        }
    }
    assert!(truncated > 20, "{truncated}");
}

/// Rounding moves a record's moments by no more than is said, and by a good part of it.
#[test]
fn rounding_is_bounded() {
    let mut random = dice(4);
    for p in [1_usize, 3, 30] {
        let moments = number(p, 2.0, 3.0);
        let units = moments.units();
        let mut worst = 0.0_f64;
        for _ in 0..300 {
            let values: Vec<f64> = (0..p).map(|_| 2.0 * random()).collect();
            let target = 3.0 * random();
            let scale = 2.0 / length(values.iter().copied()).max(2.0);
            let v: Vec<f64> = values.iter().map(|v| v * scale).collect();
            let mut exact: Vec<f64> = v.iter().map(|v| v * v).collect();
            for i in 0..p {
                exact.extend(v[i + 1..].iter().map(|b| 2_f64.sqrt() * v[i] * b));
            }
            exact.extend(v.iter().map(|v| moments.target_scale() * target * v));
            let found = sums(&moments, &[dense(&values, target)]);
            let mut errors = Vec::new();
            for (kind, range) in moments.kinds() {
                let pairs = found[range.clone()].iter().zip(&exact[range]);
                errors.extend(pairs.map(|(&sum, exact)| sum as f64 * units[kind] - exact));
            }
            worst = worst.max(length(errors.into_iter()) / moments.rounding());
        }
        assert!(worst < 1.0 && worst > 0.1, "{p}: {worst}");
    }
}

/// The largest distance of two points is the stated one, for every weight: random search and hill
/// climbing over records, on a lattice so fine that truncation does not show.
#[test]
fn two_points_are_as_far_apart_as_proved() {
    let radius = 1_i64 << 40;
    for weight in WEIGHTS {
        let moments = number(3, 2.0, 5.0).weighted(TargetWeight(weight));
        let stated = moments.weight.distance(Adjacency::ReplaceOne) * radius as f64;
        let distance = |pair: &[([f64; 3], f64); 2]| {
            let [a, b] = pair.map(|(v, y)| item(&moments, &[dense(&v, y)], radius));
            apart(&a, &b)
        };
        let mut random = dice(u64::from(weight));
        let mut best = 0.0_f64;
        for _ in 0..100 {
            let mut pair = [0; 2].map(|_| ([0; 3].map(|_| random() * 3.0), random() * 6.0));
            let mut value = distance(&pair);
            for step in 0..400 {
                let reach = [1.0, 0.3, 0.1, 0.03][step % 4];
                let mut next = pair;
                for (vector, target) in &mut next {
                    vector.iter_mut().for_each(|v| *v += reach * random());
                    *target += reach * random();
                }
                let moved = distance(&next);
                if moved > value {
                    (pair, value) = (next, moved);
                }
            }
            best = best.max(value);
        }
        assert!(best <= stated + 3.0, "{weight}: {best} {stated}");
        assert!(best > 0.99 * stated, "{weight}: {best} {stated}");
        // A record and a null are a radius apart.
        let alone = item(&moments, &[dense(&[9.0, 0.0, 0.0], 9.0)], radius);
        let size = length(alone.iter().map(|&v| v as f64));
        assert!(size <= radius as f64 + 3.0 && size > 0.999 * radius as f64);
    }
}

/// Directions, lengths and targets: the first and last of each are at their bounds.
fn grid() -> Vec<([f64; 2], f64)> {
    let mut out = Vec::new();
    for step in 0..48 {
        let angle = f64::from(step) / 24.0 * std::f64::consts::PI;
        for length in [1.0, 0.93] {
            for target in [-1.0, 0.31, 1.0] {
                out.push(([length * angle.cos(), length * angle.sin()], target));
            }
        }
    }
    out
}

/// All pairs of records of a grid, beside other records of their batch, on lattices so coarse that
/// single units count: no pair is farther apart than is paid for, and some pair nearly so far.
#[test]
fn no_pair_on_a_small_lattice_is_farther_apart() {
    let others = [([0.6, 0.1], 0.7), ([-0.2, 0.9], -0.4), ([0.3, -0.3], 1.0)];
    for (weight, others) in WEIGHTS.iter().zip([0, 1, 2, 3, 1].map(|n| &others[..n])) {
        let moments = number(2, 1.0, 1.0).weighted(TargetWeight(*weight));
        let batch = |last: Option<([f64; 2], f64)>| -> Vec<Record> {
            let all = others.iter().copied().chain(last);
            all.map(|(v, y)| dense(&v, y)).collect()
        };
        for radius in [3, 7, 20, 41] {
            let images: Vec<Vec<i64>> = grid()
                .into_iter()
                .map(|last| item(&moments, &batch(Some(last)), radius))
                .collect();
            let without = item(&moments, &batch(None), radius);
            let farthest = |from: &Vec<i64>| {
                let distances = images.iter().map(|to| apart(from, to));
                distances.fold(0.0, f64::max)
            };
            let replaced = images.iter().map(farthest).fold(0.0, f64::max);
            for (most, adjacency) in [
                (replaced, Adjacency::ReplaceOne),
                (farthest(&without), Adjacency::ZeroOut),
            ] {
                let stated = moments.weight.distance(adjacency) * radius as f64;
                let room = (moments.dimension() as f64).sqrt();
                assert!(most <= stated + room, "{weight} {radius}: {most} {stated}");
                assert!(most > stated - room, "{weight} {radius}: {most} {stated}");
            }
        }
    }
}

/// Truncation is toward zero: an item is never longer than its records together.
#[test]
fn images_are_not_longer_than_the_radius() {
    for weight in WEIGHTS {
        let moments = number(2, 1.0, 1.0).weighted(TargetWeight(weight));
        for (v, y) in grid() {
            for radius in [1, 2, 5, 33] {
                let image = item(&moments, &[dense(&v, y)], radius);
                let squares: i64 = image.iter().map(|value| value * value).sum();
                assert!(squares <= radius * radius, "{v:?} {y} {radius}: {image:?}");
            }
        }
    }
}

/// Classes share the matrix; one class's block is filled, and two points are no farther apart than
/// those of a number.
#[test]
fn classes_cost_no_more_than_a_number() {
    let moments = Moments::of_classes(2, 1.0, 3).unwrap();
    let radius = 1 << 30;
    let of = |v: [f64; 2], class| item(&moments, &[dense(&v, class)], radius);
    let out = of([0.6, 0.8], 1.0);
    assert_eq!(out.len(), 9);
    assert_eq!([out[3], out[4], out[7], out[8]], [0; 4]);
    assert!((out[6] as f64 / out[5] as f64 - 0.8 / 0.6).abs() < 1e-3);
    let stated = moments.weight.distance(Adjacency::ReplaceOne) * f64::from(radius as i32);
    let mut farthest = 0.0_f64;
    for step in 0..=200 {
        let angle = f64::from(step) / 200.0 * std::f64::consts::PI;
        for class in [0.0, 1.0] {
            let other = of([angle.cos(), angle.sin()], class);
            farthest = farthest.max(apart(&of([1.0, 0.0], 0.0), &other));
        }
    }
    assert!(
        farthest <= stated + 3.0 && farthest > 0.99 * stated,
        "{farthest}"
    );
    let mut block = Block::new(&moments);
    for bad in [-1.0, 3.0, 0.5, f64::NAN] {
        let outcome = block.add(&dense(&[0.1, 0.1], bad), &mut [0; 9]);
        assert_eq!(outcome, Outcome::Null);
    }
    assert!(Moments::of_classes(2, 1.0, 1).is_err());
}

#[test]
fn malformed_records_are_null() {
    let moments = number(3, 2.0, 5.0);
    let null = |features, target| {
        let mut sums = vec![0; moments.dimension()];
        let mut block = Block::new(&moments);
        let outcome = block.add(&Record { features, target }, &mut sums);
        block.flush(&mut sums);
        let is_null = outcome == Outcome::Null;
        assert_eq!(is_null, sums.iter().all(|&sum| sum == 0));
        is_null
    };
    assert!(null(Features::Dense(vec![1.0; 2]), 1.0));
    assert!(null(Features::Dense(vec![f64::NAN; 3]), 1.0));
    assert!(null(Features::Dense(vec![1e200; 3]), 1.0));
    assert!(null(Features::Dense(vec![1.0; 3]), f64::NAN));
    assert!(null(Features::Dense(vec![1.0; 3]), f64::INFINITY));
    assert!(null(Features::Sparse(vec![(3, 1.0)]), 1.0));
    assert!(null(Features::Sparse(vec![(1, 1.0), (1, 1.0)]), 1.0));
    assert!(null(Features::Sparse(vec![(2, 1.0), (1, 1.0)]), 1.0));
    assert!(!null(Features::Sparse(vec![(0, 1.0), (2, 1.0)]), 1.0));
}

/// A bound so small that its inverse overflows makes records null, not infinite.
#[test]
fn a_tiny_bound_makes_no_garbage() {
    let moments = number(2, 1e-310, 1.0);
    let mut sums = vec![0; moments.dimension()];
    let mut block = Block::new(&moments);
    block.add(&dense(&[1e-311, 0.0], 1.0), &mut sums);
    assert_eq!(sums[1..], [0; 4]);
}

#[test]
fn weights_are_checked() {
    assert!(TargetWeight::sixteenths(0).is_err() && TargetWeight::sixteenths(65).is_err());
    for (count, squared) in [(16, 2.25), (32, 8.0 / 3.0), (48, 3.0), (64, 3.2)] {
        let weight = TargetWeight::sixteenths(count).unwrap();
        let found = weight.distance(Adjacency::ReplaceOne).powi(2);
        assert!(
            (found - squared).abs() < 1e-12 && found >= squared,
            "{found}"
        );
        assert!((weight.distance(Adjacency::ZeroOut) - 1.0).abs() < 1e-15);
    }
}

/// Toward zero, and whole multiples of a step are what they are.
#[test]
fn images_of_whole_steps_are_whole() {
    let bounds = Bounds::new(1.0, (-1.0, 1.0), 1.0).unwrap();
    let moments = Moments::new(1, bounds);
    let image = Image([1 << POINT; 3]);
    let steps = [
        1_i64 << (2 * FEATURE_BITS),
        1 << (FEATURE_BITS + TARGET_BITS),
    ];
    for (times, rest, wanted) in [(1, 0, 1), (-1, 0, -1), (-3, 0, -3), (-3, 1, -2), (3, -1, 2)] {
        let mut sums = steps.map(|step| times * step + rest);
        image.apply(&moments, &mut sums);
        assert_eq!(sums, [wanted; 2], "{times} {rest}");
    }
}
