//! The map against a reference of its own, and the distance of two records by brute force.

use super::*;
use crate::persons::Participation;
use crate::scoreboard::Yardstick;
use crate::sums::{Geometry, Noise, SumKind, SumPlan, SumRequest};
use hushstream_account::{Adjacency, Budget};
use proptest::prelude::*;

const ADJACENCIES: [Adjacency; 2] = [Adjacency::ReplaceOne, Adjacency::ZeroOut];

fn number(knots: u32) -> Axis {
    Axis::Number { knots, log: None }
}

fn shape(axes: Vec<Axis>, tables: Vec<Vec<u32>>, l1: bool) -> TableShape {
    let share = if tables.is_empty() { 0.0 } else { 0.6 };
    TableShape {
        axes,
        tables,
        bins: 2,
        share,
        l1,
    }
}

/// Numbers with and without a logarithmic scale, categories, and tables of one to three columns.
fn mixed(l1: bool) -> TableMap {
    let log = Some(LogScale {
        knots: 2,
        origin: -0.5,
    });
    let axes = vec![
        Axis::Number { knots: 3, log },
        Axis::Category { values: 2 },
        number(2),
    ];
    let tables = vec![vec![0], vec![0, 1], vec![0, 1, 2]];
    TableMap::new(shape(axes, tables, l1)).unwrap()
}

fn row(values: &[f64]) -> Features {
    Features::Dense(values.to_vec())
}

#[test]
fn every_curve_and_table_has_coordinates_of_its_own() {
    let map = mixed(false);
    assert_eq!((map.hats(), map.cells()), (6 + 3 + 3, 3 + 9 + 27));
    let curves = (0..3).map(|axis| map.curve(axis));
    let tables = (0..3).map(|table| map.table(table));
    let mut end = 0;
    for range in curves.chain(tables) {
        assert_eq!(range.start, end);
        end = range.end;
    }
    assert_eq!(end, map.dimension());
    // The first axis runs fastest, and every edge divides two bins.
    for (table, place) in [(0, 0), (1, 0), (2, 2)] {
        assert_eq!(map.edges(table, place).len(), 2);
    }
    assert!(map.edges(1, 1).is_empty());
}

#[test]
fn shapes_without_sense_are_refused() {
    let refused = |shape: TableShape| TableMap::new(shape).unwrap_err().to_string();
    let plain = || shape(vec![number(2), number(2)], vec![vec![0, 1]], false);
    assert!(refused(shape(vec![], vec![], false)).contains("axes"));
    assert!(refused(shape(vec![number(1)], vec![], false)).contains("knots"));
    let none = Axis::Category { values: 0 };
    assert!(refused(shape(vec![none], vec![], false)).contains("categories"));
    for table in [vec![], vec![1, 0], vec![0, 0], vec![2], vec![0, 1, 2, 3, 4]] {
        let tables = vec![table];
        assert!(refused(TableShape { tables, ..plain() }).contains("columns of a table"));
    }
    for share in [0.0, 1.0, -0.1, f64::NAN] {
        assert!(refused(TableShape { share, ..plain() }).contains("share"));
    }
    for bins in [0, 1025] {
        assert!(refused(TableShape { bins, ..plain() }).contains("bins"));
    }
    let many = Axis::Category { values: 1 << 26 };
    let wide = shape(vec![many, many, many], vec![vec![0, 1, 2]; 9], false);
    assert!(refused(wide).contains("coordinates"));
    let origin = f64::NAN;
    let log = Some(LogScale { knots: 2, origin });
    let axes = vec![Axis::Number { knots: 2, log }];
    assert!(refused(shape(axes, vec![], false)).contains("origin"));
}

/// φ of a row, from the words of the file's documentation.
fn reference(map: &TableMap, values: &[f64]) -> Vec<f64> {
    let shape = map.shape();
    let mut phi = vec![0.0; map.dimension()];
    // A place in [0, 1] between equal knots.
    let hat = |phi: &mut [f64], first: usize, knots: u32, place: f64| {
        let gap = 1.0 / f64::from(knots - 1);
        for knot in 0..knots {
            let off = (place - f64::from(knot) * gap).abs() / gap;
            phi[first + knot as usize] += (1.0 - off).max(0.0);
        }
    };
    for (axis, &value) in values.iter().enumerate() {
        let first = map.curve(axis).start;
        match shape.axes[axis] {
            Axis::Number { knots, .. } if value.is_nan() => phi[first + knots as usize] = 1.0,
            Axis::Number { knots, log } => {
                let value = value.clamp(-1.0, 1.0);
                hat(&mut phi, first, knots, (value + 1.0) / 2.0);
                if let Some(log) = log {
                    // Lines between the powers of two.
                    let size = |x: f64| {
                        let distance = 1.0 + (x - log.origin).abs() * 500.0;
                        let power = distance.log2().floor();
                        power + distance / power.exp2() - 1.0
                    };
                    let scaled = |x: f64| if x < log.origin { -size(x) } else { size(x) };
                    let (low, high) = (scaled(-1.0), scaled(1.0));
                    let place = (scaled(value) - low) / (high - low);
                    hat(&mut phi, first + knots as usize + 1, log.knots, place);
                }
            }
            Axis::Category { values } => {
                let known = (0..values).find(|&code| (value - f64::from(code)).abs() < 1e-12);
                phi[first + known.unwrap_or(values) as usize] = 1.0;
            }
        }
    }
    let power = if shape.l1 { 1 } else { 2 };
    let length: f64 = phi.iter().map(|v| v.powi(power)).sum();
    let scale = (1.0 - shape.share) / length;
    let scale = if shape.l1 { scale } else { scale.sqrt() };
    phi.iter_mut().for_each(|v| *v *= scale);
    for (table, axes) in shape.tables.iter().enumerate() {
        let (mut cell, mut stride) = (map.table(table).start, 1);
        let mut is_whole = true;
        for (place, &axis) in axes.iter().enumerate() {
            let value = values[axis as usize];
            let (bin, bins) = match shape.axes[axis as usize] {
                Axis::Number { .. } => {
                    is_whole &= !value.is_nan();
                    let edges = map.edges(table, place);
                    let below = edges.iter().filter(|&&edge| edge <= value).count();
                    (below, shape.bins as usize + 1)
                }
                Axis::Category { values } => {
                    let known = (0..values).find(|&code| (value - f64::from(code)).abs() < 1e-12);
                    (known.unwrap_or(values) as usize, values as usize + 1)
                }
            };
            cell += bin * stride;
            stride *= bins;
        }
        if is_whole {
            phi[cell] += map.cell_length();
        }
    }
    phi
}

/// φ of a row as the code has it.
fn expanded(map: &TableMap, values: &[f64]) -> Vec<f64> {
    let mut phi = vec![0.0; map.dimension()];
    let mut expanded = Expanded::default();
    assert!(map.expand(&row(values), &mut expanded));
    for (&left, pair) in expanded.left.iter().zip(&expanded.hats) {
        for (coordinate, hat) in (left as usize..).zip(pair) {
            phi[coordinate] += hat * expanded.scale;
        }
    }
    for &i in &expanded.cells {
        phi[i as usize] += map.cell_length();
    }
    phi
}

fn assert_close(a: &[f64], b: &[f64], what: &str) {
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() < 1e-9, "{what}: {i}: {a} {b}");
    }
}

#[test]
fn rows_expand_to_the_hats_and_cells_of_the_documentation() {
    let nan = f64::NAN;
    for map in [mixed(false), mixed(true)] {
        let numbers = [-1.0, -0.73, -0.5, -0.499, 0.0, 0.31, 1.0, nan, -7.0, 1e300];
        for a in numbers {
            for b in [0.0, 1.0, 2.0, -1.0, nan, 1e300, -0.0] {
                for c in numbers {
                    let values = [a, b, c];
                    let (own, wanted) = (expanded(&map, &values), reference(&map, &values));
                    assert_close(&own, &wanted, &format!("{values:?}"));
                    let power = if map.shape().l1 { 1 } else { 2 };
                    let length: f64 = own.iter().map(|v| v.powi(power)).sum();
                    assert!(length <= 1.0 + 1e-12, "{values:?}: {length}");
                }
            }
        }
    }
    // Rows that are none.
    let (map, mut out) = (mixed(false), Expanded::default());
    assert!(!map.expand(&row(&[0.0]), &mut out));
    assert!(!map.expand(&Features::Sparse(vec![(0, 1.0)]), &mut out));
}

/// At the bounds, and beside every edge, a number stays in its table.
#[test]
fn no_cell_lies_outside_its_table() {
    for bins in [1, 2, 3, 5, 7, 64, 1000, 1024] {
        let tables: Vec<Vec<u32>> = vec![vec![0]; 400];
        let shape = TableShape {
            bins,
            ..shape(vec![number(2)], tables, false)
        };
        let map = TableMap::new(shape).unwrap();
        let mut out = Expanded::default();
        let edge = f64::from(bins) / 2.0;
        for value in [
            -1.0,
            1.0,
            (-1.0_f64).next_up(),
            1.0_f64.next_down(),
            f64::INFINITY,
            f64::NEG_INFINITY,
            -0.0,
            1.0 / edge,
        ] {
            assert!(map.expand(&row(&[value]), &mut out));
            for (table, &cell) in out.cells.iter().enumerate() {
                let own = map.table(table);
                assert!(own.contains(&(cell as usize)), "{bins} {value} {table}");
            }
            assert_eq!(out.cells.len(), 400);
        }
    }
}

#[test]
fn scores_are_inner_products() {
    let map = mixed(false);
    for (count, has_offsets) in [(1, false), (3, false), (1, true), (3, true)] {
        let offset = |k: usize| f64::from(u8::from(has_offsets)) * (k as f64 + 1.5);
        let mut weights: Vec<f64> = (0..map.dimension() * count)
            .map(|i| ((i * 37) % 101) as f64 / 10.0 - 5.0)
            .collect();
        if has_offsets {
            weights.extend((0..count).map(offset));
        }
        let values = [0.3, 1.0, -0.8];
        let mut phi = reference(&map, &values);
        // A cell's weight is that of its score.
        for cell in &mut phi[map.hats()..] {
            *cell /= map.cell_length();
        }
        let naive: Vec<f64> = (0..count)
            .map(|k| {
                let products = phi.iter().enumerate();
                0.25 + offset(k)
                    + products
                        .map(|(i, p)| p * weights[i * count + k])
                        .sum::<f64>()
            })
            .collect();
        let mut scores = vec![0.25; count];
        map.add_scores(&row(&values), &weights, &mut scores);
        assert_close(&scores, &naive, "scores");
    }
}

/// A plan whose records these are.
fn plan(
    map: &TableMap,
    response: Response,
    adjacency: Adjacency,
    (noise, sixteenths): (Noise, Option<u8>),
) -> SumPlan {
    let counts = if sixteenths.is_some() {
        map.dimension()
    } else {
        0
    };
    SumRequest {
        kind: SumKind::Tree,
        noise,
        releases: 1,
        dimension: (map.dimension() * response.scores() + counts) as u32,
        bound: response.residual_bound(),
        geometry: Geometry::Tables {
            counts: counts as u32,
            sixteenths: sixteenths.unwrap_or(16),
        },
        least_sigma: 0.0,
        batch: 1,
        adjacency,
        participation: Participation::OncePerRecord,
        budget: match noise {
            Noise::Gaussian => Budget::approx(1.0, 1e-6).unwrap(),
            _ => Budget::pure(1.0).unwrap(),
        },
    }
    .plan()
    .unwrap()
}

fn length(values: impl Iterator<Item = i64>, l1: bool) -> f64 {
    let sizes = values.map(|v| i128::from(v).unsigned_abs());
    if l1 {
        sizes.sum::<u128>() as f64
    } else {
        (sizes.map(|v| v * v).sum::<u128>() as f64).sqrt()
    }
}

fn difference(a: &[i64], b: &[i64], l1: bool) -> f64 {
    length(a.iter().zip(b).map(|(a, b)| a - b), l1)
}

/// All records of a small grid, at these weights, and the empty one.
fn all_integers(
    map: &TableMap,
    response: Response,
    weights: &[f64],
    (sixteenths, radius): (Option<u8>, i64),
) -> Vec<Vec<i64>> {
    let axes = &map.shape().axes;
    let mut rows: Vec<Vec<f64>> = vec![vec![]];
    for axis in axes {
        let values: Vec<f64> = match axis {
            Axis::Number { .. } => vec![-1.0, -0.3, 0.5, 1.0, f64::NAN],
            Axis::Category { values } => (0..=*values).map(f64::from).collect(),
        };
        let longer = rows.iter().flat_map(|row| {
            values
                .iter()
                .map(move |&value| [&row[..], &[value]].concat())
        });
        rows = longer.collect();
    }
    let targets: &[f64] = match response {
        Response::Sign => &[-1.0, 1.0],
        Response::Classes(_) => &[0.0, 1.0, 2.0],
        Response::Number(_) => &[-3.0, 0.4, 3.0],
    };
    let blocks = response.scores() + usize::from(sixteenths.is_some());
    let mut form = TableForm::new(map, response, sixteenths.unwrap_or(0), radius);
    let mut all = vec![vec![0; map.dimension() * blocks]];
    for values in &rows {
        for &target in targets {
            let record = Record {
                features: row(values),
                target,
            };
            let mut total = vec![0; map.dimension() * blocks];
            let outcome = form.add(map, response, weights, &record, None, Some(&mut total));
            assert!(outcome != Outcome::Null, "{values:?} {target}");
            all.push(total);
        }
    }
    all
}

/// Brute force: over all pairs of records the largest distance is at most what is paid for, and
/// nothing is wasted. Every adjacency, norm, weight of counts, and response.
#[test]
fn the_farthest_pair_of_records_is_what_is_paid_for() {
    let axes = || vec![Axis::Category { values: 2 }, number(2)];
    let responses = [Response::Sign, Response::Number(2.0), Response::Classes(3)];
    for noise in [Noise::Gaussian, Noise::Laplace, Noise::L2Laplace] {
        let l1 = noise == Noise::Laplace;
        for tables in [vec![], vec![vec![0], vec![0, 1]]] {
            let map = TableMap::new(shape(axes(), tables, l1)).unwrap();
            for response in responses {
                for sixteenths in [None, Some(1), Some(8), Some(16)] {
                    for adjacency in ADJACENCIES {
                        let plan = plan(&map, response, adjacency, (noise, sixteenths));
                        let radius = plan.radius();
                        // The third class is out of the question: two residuals are opposite.
                        let scores = response.scores();
                        let mut weights: Vec<f64> = (0..map.dimension() * scores)
                            .map(|i| if i % scores == 2 { -90.0 } else { 0.0 })
                            .collect();
                        let all = all_integers(&map, response, &weights, (sixteenths, radius));
                        let others = match adjacency {
                            Adjacency::ReplaceOne => &all[..],
                            // The first is empty.
                            Adjacency::ZeroOut => &all[..1],
                        };
                        let pairs = all.iter().flat_map(|a| others.iter().map(move |b| (a, b)));
                        let farthest = pairs.map(|(a, b)| difference(a, b, l1));
                        let farthest = farthest.fold(0.0, f64::max);
                        let paid = plan.distance(radius as f64);
                        let share = farthest / paid;
                        let what = format!("{noise} {response:?} {sixteenths:?} {adjacency:?}");
                        assert!(share <= 1.0, "{what}: {share}");
                        assert!(share >= 0.99, "{what}: {share}");
                        // An offset brings no two records farther apart.
                        weights.extend(vec![0.0; scores]);
                        for offset in [0.5, -3.0, 1e300] {
                            weights[map.dimension() * scores] = offset;
                            let all = all_integers(&map, response, &weights, (sixteenths, radius));
                            let to = &all[..others.len()];
                            let pairs = all.iter().flat_map(|a| to.iter().map(move |b| (a, b)));
                            let farthest = pairs.map(|(a, b)| difference(a, b, l1));
                            let share = farthest.fold(0.0, f64::max) / paid;
                            assert!(share <= 1.0, "{what}, offset {offset}: {share}");
                        }
                    }
                }
            }
        }
    }
}

/// What is added, integer by integer: the residual, to the nearest step if it is one and toward
/// zero if there are several, times the features; and K times the features. It is added to what is
/// there.
#[test]
fn a_record_adds_its_residuals_times_its_features() {
    let map = mixed(false);
    let values = [-0.5, 1.0, 1.0];
    let features = |form: &TableForm| -> Vec<i64> {
        let phi = reference(&map, &values);
        phi.iter()
            .map(|v| (v * form.features as f64) as i64)
            .collect()
    };
    for (response, target, wanted) in [
        // −0.3 of 16 steps; a softmax of three equal scores.
        (Response::Number(2.0), 0.6, vec![-5]),
        (Response::Sign, -1.0, vec![16]),
        (Response::Classes(3), 1.0, vec![6, -13, 6]),
    ] {
        let mut form = TableForm::new(&map, response, 8, 4096);
        assert_eq!((form.residual, form.features, form.count), (16, 256, 8));
        let (count, dimension) = (wanted.len(), map.dimension());
        let weights = vec![0.0; count * dimension];
        let mut total = vec![7; (count + 1) * dimension];
        let record = Record {
            features: row(&values),
            target,
        };
        form.add(&map, response, &weights, &record, None, Some(&mut total));
        let close = |a: i64, b: i64, b_of: i64| (a - 7 - b * b_of).abs() <= b.abs();
        for (i, q) in features(&form).into_iter().enumerate() {
            for (k, &b) in wanted.iter().enumerate() {
                let sum = total[i * count + k];
                assert!(close(sum, b, q), "{response:?} {i} {k}: {sum}, {b} {q}");
            }
            let counted = total[count * dimension + i];
            assert!(close(counted, 8, q), "{response:?} {i}: {counted}");
        }
        // Nothing of what came before is added by a row that is none, or does not fit.
        let before = total.clone();
        let other = Record {
            features: row(&values[..2]),
            target,
        };
        let mut add = |record: &Record, weights: &[f64], total: &mut [i64]| {
            form.add(&map, response, weights, record, None, Some(total))
        };
        assert_eq!(add(&other, &weights, &mut total), Outcome::Null);
        assert_eq!(add(&record, &weights[1..], &mut total), Outcome::Null);
        assert_eq!(add(&record, &weights, &mut total[1..]), Outcome::Null);
        assert_eq!(total, before, "{response:?}");
    }
}

/// An offset moves the residual as a target does that is lower by as much; a record that fits no
/// question is asked none.
#[test]
fn an_offset_moves_a_residual() {
    let map = mixed(false);
    let response = Response::Number(2.0);
    let mut form = TableForm::new(&map, response, 8, 4096);
    let mut weights = vec![0.25; map.dimension()];
    let mut add = |weights: &[f64], target: f64| {
        let features = row(&[-0.5, 1.0, 1.0]);
        let mut total = vec![0; 2 * map.dimension()];
        let record = Record { features, target };
        let outcome = form.add(&map, response, weights, &record, None, Some(&mut total));
        (outcome, total)
    };
    let plain = add(&weights, -0.4);
    weights.push(1.0);
    assert!(add(&weights, 0.6) == plain);
    assert!(add(&weights, -0.4) != plain);
    weights.push(1.0);
    assert_eq!(add(&weights, 0.6).0, Outcome::Null);
    assert!(map.fits(map.dimension(), 1) && map.fits(map.dimension() + 1, 1));
    assert!(!map.fits(map.dimension() + 1, 3) && map.fits(3 * map.dimension() + 3, 3));
}

/// An operator's scoreboard changes no integer, and scores rows only.
#[test]
fn a_board_changes_no_integer() {
    let map = mixed(false);
    let rows = [[-0.5, 1.0, 1.0].as_slice(), &[0.25, 0.0, f64::NAN], &[0.1]];
    for (response, yardstick, offsets) in [
        (Response::Sign, Yardstick::Sign(None), 0),
        (Response::Classes(3), Yardstick::Classes(3, None), 0),
        (Response::Number(2.0), Yardstick::Number(-2.0, 2.0), 1),
    ] {
        let scores = response.scores();
        let mut form = TableForm::new(&map, response, 8, 4096);
        let weights: Vec<f64> = (0..scores * map.dimension() + offsets)
            .map(|place| f64::from(place as u32 % 7) / 4.0 - 0.75)
            .collect();
        let mut board = Scoreboard::new(yardstick, f64::INFINITY);
        let published = vec![0.5; weights.len()];
        for values in rows {
            let (features, target) = (row(values), 1.0);
            let record = Record { features, target };
            let mut add = |board| {
                let mut total = vec![0; (scores + 1) * map.dimension()];
                let into = Some(&mut total[..]);
                let outcome = form.add(&map, response, &weights, &record, board, into);
                (outcome, total)
            };
            let alone = add(None);
            assert!(alone == add(Some((&mut board, &published))), "{values:?}");
        }
        assert_eq!(board.summary().for_the_operator().scored, 2);
    }
}

/// The checks of integers, with floats that lie.
#[test]
fn integers_are_checked_whatever_the_floats_are() {
    let map = mixed(false);
    let mut form = TableForm::new(&map, Response::Sign, 16, 1 << 40);
    let mut holds = |pairs: &[(u32, f64)], singles: usize, scale: f64| {
        let hats = pairs.iter().map(|(_, high)| [1.0 - high, *high]);
        let whole = std::iter::repeat_n([1.0, 0.0], singles);
        form.expanded.hats = hats.chain(whole).collect();
        form.expanded.scale = scale;
        form.quantise_hats()
    };
    // Hats that are negative, or more than 1.
    for high in [1.5, -0.5] {
        assert!(!holds(&[(0, high)], 0, 0.1) && !holds(&[(0, high), (2, 0.5)], 1, 0.1));
    }
    assert!(holds(&[(0, 0.5)], 0, 0.1) && !holds(&[], 1, -0.1) && !holds(&[], 1, 1.1));
    assert!(!holds(&[(0, 1.0)], 1, 0.8) && holds(&[(0, 1.0)], 1, 0.7));
    // A little too long: shrunk.
    assert!(holds(&[], 1, 1.0) && holds(&[(0, 1.0)], 1, 0.5_f64.sqrt() * (1.0 + 5e-7)));
    assert!(!holds(&[(0, 1.0)], 1, 0.5_f64.sqrt() * (1.0 + 2e-6)));
    // So many steps that lengths of residuals are wrong in their last digits.
    let response = Response::Classes(3);
    let mut form = TableForm::new(&map, response, 16, 1 << 40);
    form.residual = 1 << 50;
    let (mut kept, mut null) = (0, 0);
    for i in 0..2000 {
        let score = |k: usize| libm::sin(f64::from(i) * (1.0 + k as f64));
        form.scores = (0..3).map(score).collect();
        if form
            .quantise_residuals(response, f64::from(i % 3))
            .is_some()
        {
            let squares = form.residuals.iter().map(|&b| i128::from(b).pow(2));
            assert!(squares.sum::<i128>() <= 1 << 100);
            kept += 1;
        } else {
            null += 1;
        }
    }
    assert!(kept > 100 && null > 0, "{kept} {null}");
}

/// A form that was made for one map is asked with another of the same dimension, again and again.
#[test]
fn a_form_never_exceeds_its_radius_with_another_map() {
    let category = || Axis::Category { values: 1 };
    let of = |axes: u32, share, l1| {
        let tables = (0..axes).map(|axis| vec![axis]).collect();
        let shape = shape(vec![category(); axes as usize], tables, l1);
        TableMap::new(TableShape { share, ..shape }).unwrap()
    };
    // 2 hats and 2 cells for each axis; more tables with heavier cells than the form was made for.
    // With a small share, squares of cells fit, and their sum does not.
    for (share, l1) in [(0.99, false), (0.99, true), (0.3, true)] {
        let (few, many) = (of(1, share, l1), of(9, share, l1));
        let radius = 1 << 20;
        let mut form = TableForm::new(&few, Response::Sign, 16, radius);
        let weights = vec![0.0; many.dimension()];
        let record = Record {
            features: row(&[0.0; 9]),
            target: 1.0,
        };
        for _ in 0..3 {
            let mut total = vec![0; 2 * many.dimension()];
            let total_of = Some(&mut total[..]);
            form.add(&many, Response::Sign, &weights, &record, None, total_of);
            let (sums, counts) = total.split_at(many.dimension());
            for part in [sums, counts] {
                let length = length(part.iter().copied(), l1);
                assert!(length <= radius as f64, "{share} {l1}: {length}");
            }
        }
    }
}

/// What is no integer within the bound is refused, and so is a sum beyond the limit.
#[test]
fn integers_of_hats_are_proved_whatever_the_floats_are() {
    let (most, mut out) = (1_i64 << 30, [0; 5]);
    let mut fits = |norm, limit: u64, value: f64| {
        quantise(
            &[0.0, 3.9, value, 1.0, 2.0],
            1.0,
            norm,
            most,
            limit,
            &mut out,
        )
    };
    let top = (1_u64 << 30) as f64;
    for value in [0.0, -0.9, 0.9, 7.0, top, top + 0.5] {
        assert!(
            fits(Norm::L1, u64::MAX, value) && fits(Norm::L2, u64::MAX, value),
            "{value}"
        );
    }
    let beyond = [
        -1.0,
        top + 1.0,
        4.0 * top,
        8.0 * top,
        1e15,
        4503599627370496.0,
        1e19,
        1e300,
    ];
    let not = [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    for value in beyond
        .into_iter()
        .chain(beyond.map(|value| -value.abs()))
        .chain(not)
    {
        assert!(
            !fits(Norm::L1, u64::MAX, value) && !fits(Norm::L2, u64::MAX, value),
            "{value}"
        );
    }
    // 3² + 7² + 1 + 2², and 3 + 7 + 1 + 2.
    assert!(fits(Norm::L2, 63, 7.9) && !fits(Norm::L2, 62, 7.9));
    assert!(fits(Norm::L1, 13, 7.9) && !fits(Norm::L1, 12, 7.9));
    // Beyond 32 bits.
    let large = f64::from(1 << 20);
    assert!(fits(Norm::L2, 1 << 41, large) && !fits(Norm::L2, 1 << 40, large));
}

/// Any 64 bits; often numbers of an ordinary size.
fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        3 => any::<u64>().prop_map(f64::from_bits),
        3 => -2.0..2.0,
        2 => (-3..6_i32).prop_map(f64::from),
        1 => Just(f64::NAN),
        1 => prop_oneof![Just(f64::INFINITY), Just(f64::NEG_INFINITY), Just(-0.0), Just(1e308)],
    ]
}

fn any_response() -> impl Strategy<Value = Response> {
    prop_oneof![
        Just(Response::Sign),
        (1..5_usize).prop_map(Response::Classes),
        any_number().prop_map(Response::Number),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// Whatever bits a record, the weights and the settings have: two contributions are as close as
    /// was paid for, counts are not negative, and nothing panics.
    #[test]
    fn no_bits_lead_beyond_the_radius(
        values in prop::collection::vec(any_number(), 6),
        targets in prop::collection::vec(any_number(), 2),
        some in prop::collection::vec(any_number(), 7),
        (response, sixteenths) in (any_response(), 0..=16_u8),
        (l1, tables, radius) in (any::<bool>(), 0..4_usize, 0..=40_u32),
    ) {
        let plain = mixed(l1).shape().clone();
        let tables = plain.tables[..tables].to_vec();
        let map = TableMap::new(shape(plain.axes, tables, l1)).unwrap();
        let radius = (1_i64 << radius) - i64::from(radius % 3 == 2);
        let scores = response.scores();
        let offsets = if radius % 2 == 0 { scores } else { 0 };
        let weights = (0..map.dimension() * scores + offsets).map(|i| some[i % 7]);
        let weights: Vec<f64> = weights.collect();
        let blocks = scores + usize::from(sixteenths > 0);
        let mut form = TableForm::new(&map, response, sixteenths, radius);
        let mut integers = Vec::new();
        for (values, &target) in values.chunks(3).zip(&targets) {
            let mut total = vec![0; map.dimension() * blocks];
            let record = Record { features: row(values), target };
            form.add(&map, response, &weights, &record, None, Some(&mut total));
            let (sums, counts) = total.split_at(map.dimension() * scores);
            let kappa = f64::from(sixteenths) / 16.0;
            let most = radius as f64 * (1.0 + 1e-12);
            prop_assert!(counts.iter().all(|&count| count >= 0));
            prop_assert!(length(sums.iter().copied(), l1) <= most);
            prop_assert!(length(counts.iter().copied(), l1) <= kappa * most);
            integers.push(total);
        }
        let kappa = f64::from(sixteenths) / 16.0;
        let paid = radius as f64 * if l1 { 2.0 * (1.0 + kappa) } else { 2.0 };
        prop_assert!(difference(&integers[0], &integers[1], l1) <= paid * (1.0 + 1e-12));
    }
}
