use super::*;
use proptest::prelude::*;

fn image(lattice: &Lattice, values: &[f64]) -> (Vec<i64>, Outcome) {
    let mut total = vec![0; lattice.dimension()];
    let outcome = lattice.add(&Contribution::Dense(values.to_vec()), &mut total);
    (total, outcome)
}

/// What is added by the definition, in 128 bits, number by number.
fn by_definition(lattice: &Lattice, values: &[f64], multiple: Option<Multiple>) -> Vec<i64> {
    let entries = Entries::Dense(values);
    let (length, factor) = match (multiple, lattice.norm) {
        (None, _) => (lattice.careful_length(entries), 1.0),
        (Some(multiple), Norm::L2) => (Some(multiple.length), multiple.factor),
        (Some(multiple), Norm::L1) => {
            let length = lattice.careful_length(entries);
            let length = length.map(|length| length * multiple.factor.abs());
            (length, multiple.factor)
        }
    };
    let Some(length) = length else {
        return vec![0; values.len()];
    };
    let divisor = if length > lattice.bound {
        length
    } else {
        lattice.bound
    };
    for shrink in SHRINKS {
        let scale = lattice.radius as f64 / divisor * shrink * factor;
        let scaled: Vec<f64> = values.iter().map(|value| value * scale).collect();
        let radius = i128::from(lattice.radius);
        if scaled
            .iter()
            .all(|value| value.abs() < (lattice.radius + 1) as f64)
        {
            let integers = || scaled.iter().map(|value| *value as i128);
            let fits = match lattice.norm {
                Norm::L1 => integers().map(i128::abs).sum::<i128>() <= radius,
                Norm::L2 => integers().map(|u| u * u).sum::<i128>() <= radius * radius,
            };
            if fits {
                return integers().map(|u| u as i64).collect();
            }
        }
    }
    vec![0; values.len()]
}

#[test]
fn truncates_toward_zero_and_clips() {
    let lattice = Lattice::new(2, Norm::L2, 1.0, 1000).unwrap();
    assert_eq!(
        image(&lattice, &[0.1239, -0.1239]),
        (vec![123, -123], Outcome::Kept)
    );
    assert_eq!(
        image(&lattice, &[3.0, -4.0]),
        (vec![600, -800], Outcome::Clipped)
    );
    // On the bound is inside.
    assert_eq!(
        image(&lattice, &[0.0, -1.0]),
        (vec![0, -1000], Outcome::Kept)
    );
    let lattice = Lattice::new(2, Norm::L1, 2.0, 1000).unwrap();
    assert_eq!(
        image(&lattice, &[3.0, -1.0]),
        (vec![750, -250], Outcome::Clipped)
    );
}

/// With an infinite scale nothing would become something.
#[test]
fn bounds_too_small_to_divide_by_are_refused() {
    for bound in [1e-300, 5e-324, f64::MIN_POSITIVE] {
        assert!(Lattice::new(1, Norm::L2, bound, 1 << 28).is_err());
    }
    let lattice = Lattice {
        dimension: 2,
        norm: Norm::L2,
        bound: 1e-300,
        radius: 1 << 28,
        scale: f64::INFINITY,
    };
    for zero in [0.0, -0.0] {
        assert_eq!(image(&lattice, &[zero, 0.0]), (vec![0, 0], Outcome::Null));
    }
}

#[test]
fn integers_toward_zero_are_the_casts() {
    let mut state = 1_u64;
    for _ in 0..200_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let size = (state >> 33) as f64 / 2_f64.powi((state & 31) as i32);
        for value in [
            size,
            -size,
            size.floor(),
            -size.floor(),
            size.floor() + 0.5,
            0.5 - size.ceil(),
        ] {
            assert_eq!(integer(value), value as i64, "{value:e}");
        }
    }
    for value in [
        0.0,
        -0.0,
        1e-300,
        -1e-300,
        0.5,
        1.0 - f64::EPSILON,
        2_f64.powi(40) + 0.75,
    ] {
        assert_eq!(
            (integer(value), integer(-value)),
            (value as i64, -(value as i64))
        );
    }
}

#[test]
fn sums_of_a_batch_are_inside_its_radius() {
    let lattice = Lattice::new(2, Norm::L2, 1.0, 1000).unwrap();
    assert!(lattice.holds_sum(&[600, -800], 1) && lattice.holds_sum(&[1200, -1600], 2));
    assert!(!lattice.holds_sum(&[600, -801], 1) && !lattice.holds_sum(&[0, 1001], 1));
    assert!(lattice.holds_sum(&[0, -1000], 1) && lattice.holds_sum(&[3000, 0], 3));
    assert!(!lattice.holds_sum(&[600], 1) && !lattice.holds_sum(&[i64::MIN, 0], 1));
    let lattice = Lattice::new(2, Norm::L1, 1.0, 1000).unwrap();
    assert!(lattice.holds_sum(&[600, -400], 1) && !lattice.holds_sum(&[600, -401], 1));
    // Nothing wraps.
    let large = Lattice::new(64, Norm::L2, 1.0, 1 << 40).unwrap();
    assert!(!large.holds_sum(&[1 << 62; 64], 1 << 22));
    assert!(!large.holds_sum(&[i64::MAX; 64], 1 << 24)); // both squares are beyond 128 bits
    assert!(large.holds_sum(&[1 << 58; 64], 1 << 21));
}

#[test]
fn malformed_contributions_are_null() {
    let lattice = Lattice::new(3, Norm::L2, 1.0, 1 << 30).unwrap();
    let bad = [
        Contribution::Null,
        Contribution::Dense(vec![0.1; 2]),
        Contribution::Dense(vec![0.1, f64::NAN, 0.0]),
        Contribution::Dense(vec![f64::INFINITY, 0.0, 0.0]),
        Contribution::Sparse(vec![(0, 0.1), (0, 0.1)]),
        Contribution::Sparse(vec![(1, 0.1), (0, 0.1)]),
        Contribution::Sparse(vec![(3, 0.1)]),
        Contribution::Sparse(vec![(0, f64::NEG_INFINITY)]),
    ];
    for contribution in bad {
        let mut total = vec![7; 3];
        assert_eq!(lattice.add(&contribution, &mut total), Outcome::Null);
        assert_eq!(total, [7; 3]);
    }
}

/// Lengths refuse them earlier; the proof must not rest on that.
#[test]
fn what_is_no_number_does_not_fit() {
    let lattice = Lattice::new(2, Norm::L2, 1.0, 1000).unwrap();
    let fits = |value| lattice.holds([0.0, value].into_iter(), 1.0);
    assert!(fits(1000.5) && !fits(1001.0) && !fits(f64::NAN) && !fits(f64::INFINITY));
    // Beyond 2⁵¹ the integers are any: of these one square, or four, would wrap to 0.
    for power in [20, 32, 33, 40] {
        let lattice = Lattice::new(4, Norm::L2, 1.0, 1 << power).unwrap();
        let far = -3.0 * 2_f64.powi(52);
        assert_eq!(integer(far), i64::MIN);
        assert!(!lattice.holds([far; 4].into_iter(), 1.0), "2^{power}");
        assert!(
            !lattice.holds([0.0, far, 0.0, 0.0].into_iter(), 1.0),
            "2^{power}"
        );
    }
}

/// From a radius of 2³² on, squares have more than 64 bits: one that wrapped would count as 0.
#[test]
fn no_square_wraps() {
    for power in 0..=40 {
        let radius = 1_i64 << power;
        let lattice = Lattice::new(3, Norm::L2, 1.0, radius).unwrap();
        let fits = |values: [f64; 3]| lattice.holds(values.into_iter(), radius as f64);
        assert!(fits([0.0, -1.0, 0.0]), "2^{power}");
        assert!(!fits([1.0, -1.0, 0.0]) && !fits([1.0; 3]), "2^{power}");
    }
}

/// Of a large radius its square and one more are the same float: the proof in floating point must
/// leave such sums to the integers. And it must not leave ordinary ones to them.
#[test]
fn sums_that_floats_cannot_tell_from_the_limit_are_not_sure() {
    let unit = Lattice::new(16, Norm::L1, 1.0, 1).unwrap();
    let limit = 1.0 - 20.0 * f64::EPSILON;
    assert_eq!(unit.sure_limit(16).to_bits(), limit.to_bits());
    for power in [1, 20, 26, 27, 28, 33, 40] {
        let radius = 1_i64 << power;
        for norm in [Norm::L1, Norm::L2] {
            let lattice = Lattice::new(11, norm, radius as f64, radius).unwrap();
            let surely = |first: f64, rest: f64| {
                let mut records = Records::new(11);
                records.push(|features| {
                    features[..11].fill(rest);
                    features[0] = first;
                    Some((0.0, ()))
                });
                let scales = lattice.scales(Entries::Dense(records.features(0)), None);
                let scales = [scales.map(|([_, _], clipped)| ([1.0; 2], clipped))];
                let (lines, mut total, mut added) = (records.lines(0..1), [7; 11], Vec::new());
                add_those_that_surely_fit(&lattice, lines, 2, &scales, &mut total, &mut added);
                let wanted = |value: f64| 7 + if added[0] { value as i64 } else { 0 };
                assert_eq!(total[..2], [wanted(first), wanted(rest)]);
                added[0]
            };
            let radius = radius as f64;
            assert!(
                !surely(radius, 1.0) && !surely(-radius, -1.0),
                "2^{power} {norm:?}"
            );
            assert!(
                !surely(radius + 1.0, 0.0) && !surely(1e300, 0.0),
                "2^{power} {norm:?}"
            );
            assert!(surely(0.9 * radius, 0.0) && surely(0.5 * radius, -radius / 64.0));
        }
    }
}

#[test]
fn sparse_equals_dense() {
    let lattice = Lattice::new(4, Norm::L2, 1.0, 1 << 24).unwrap();
    let mut total = vec![0; 4];
    lattice.add(&Contribution::Sparse(vec![(1, 0.7), (3, -0.9)]), &mut total);
    assert_eq!(total, image(&lattice, &[0.0, 0.7, 0.0, -0.9]).0);
}

#[test]
fn bad_bounds_are_refused() {
    for bound in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(
            Lattice::new(1, Norm::L2, bound, 5),
            Err(LatticeError::Bound(_))
        ));
    }
    for radius in [0, -1, i64::MAX] {
        assert_eq!(
            Lattice::new(1, Norm::L2, 1.0, radius),
            Err(LatticeError::Radius(radius))
        );
    }
    assert_eq!(
        Lattice::new(0, Norm::L2, 1.0, 5),
        Err(LatticeError::Dimension)
    );
}

/// A length that rounds down to the bound, whose integers do not fit: the second try must begin
/// where the first did.
#[test]
fn what_does_not_fit_leaves_no_trace() {
    let radius = 1 << 29;
    let values = [1.0, 1.0 / f64::from(1 << 29)];
    let contribution = || Contribution::Dense(values.to_vec());
    let lattice = Lattice::new(2, Norm::L2, 1.0, radius).unwrap();
    let mut total = [7, -9];
    assert_eq!(lattice.add(&contribution(), &mut total), Outcome::Kept);
    let wanted = by_definition(&lattice, &values, None);
    assert_eq!([total[0] - 7, total[1] + 9], wanted[..]);
    assert!(total[0] - 7 < radius && total[0] - 7 > radius - radius / 1000);
}

/// Numbers that a vector may hold by mistake.
const STRANGE: [f64; 10] = [
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    5e-324,
    -2.5e-310,
    -0.0,
    f64::MAX,
    -4503599627370497.5,
    9e15,
    1e19,
];

proptest! {
    /// Multiples of anything, by anything, of a length that is not theirs: what is added fits by
    /// integers, the careful way adds the same, and what is null leaves no trace.
    #[test]
    fn multiples_that_lie_fit_or_leave_no_trace(
        bits in proptest::collection::vec(any::<u64>(), 1..11),
        ordinary in proptest::collection::vec(-2.0..2.0_f64, 10),
        strange in 0_usize..4,
        factor in prop_oneof![-3.0..3.0_f64, any::<f64>(), Just(0.0)],
        length in prop_oneof![0.0..3.0_f64, any::<f64>(), Just(f64::NAN)],
        is_sum in any::<bool>(),
    ) {
        // A few strange numbers among ordinary ones: where all are strange, all is null.
        let values: Vec<f64> = (bits.iter().zip(&ordinary).enumerate())
            .map(|(i, (bits, value))| if i < strange { f64::from_bits(*bits) } else { *value })
            .collect();
        let norm = if is_sum { Norm::L1 } else { Norm::L2 };
        let lattice = Lattice::new(values.len() as u32, norm, 1.0, 1 << 28).unwrap();
        let multiple = Multiple { factor, length };
        let entries = (0_u32..).zip(values.iter().copied()).collect();
        let before: Vec<i64> = (0..values.len() as i64).map(|i| 1000 * i - 7).collect();
        let added = |lattice: &Lattice, features: &Features| {
            let mut total = before.clone();
            let outcome = lattice.add_multiple(features, multiple, &mut total);
            total.iter_mut().zip(&before).for_each(|(total, before)| *total -= before);
            (total, outcome)
        };
        let (fast, outcome) = added(&lattice, &Features::Dense(values.clone()));
        prop_assert!(lattice.holds_sum(&fast, 1));
        prop_assert!(outcome != Outcome::Null || fast.iter().all(|&value| value == 0));
        let (sparse, _) = added(&lattice, &Features::Sparse(entries));
        // Lengths as they are and careful ones may differ in their last digit.
        if norm == Norm::L2 {
            prop_assert_eq!(&fast, &by_definition(&lattice, &values, Some(multiple)));
        }
        prop_assert_eq!(&fast, &sparse);
    }

    /// Records side by side are added one after the other: of any length and radius, with strange
    /// numbers in some, and with multiples that lie or that there are not.
    #[test]
    fn records_side_by_side_are_records_one_by_one(
        dimension in 1_usize..20,
        bits in proptest::collection::vec(any::<u64>(), 60),
        ordinary in proptest::collection::vec(-2.0..2.0_f64, 60),
        strange in 0_usize..7,
        multiples in proptest::collection::vec(
            prop_oneof![
                2 => (-3.0..3.0_f64, 0.0..3.0_f64).prop_map(Some),
                1 => (any::<f64>(), any::<f64>()).prop_map(Some),
                1 => Just(None),
            ],
            0..9,
        ),
        first in 0_usize..4,
        is_sum in any::<bool>(),
        radius in prop_oneof![Just(3_i64), Just(1 << 28), Just(1 << 33)],
        behind in prop_oneof![Just(0.0), Just(f64::NAN), Just(1e9)],
    ) {
        let norm = if is_sum { Norm::L1 } else { Norm::L2 };
        let lattice = Lattice::new(dimension as u32, norm, 1.0, radius).unwrap();
        let number = |record: usize, i: usize| {
            let place = (record * 7 + i) % 60;
            if place < strange { f64::from_bits(bits[place]) } else { ordinary[place] }
        };
        let mut records = Records::new(dimension);
        for record in 0..first + multiples.len() {
            records.push(|features| {
                let slots = features[..dimension].iter_mut().enumerate();
                slots.for_each(|(i, slot)| *slot = number(record, i));
                // Whoever forgets the zeros behind the features moves nothing by it.
                features[dimension..].fill(behind);
                Some((0.0, ()))
            });
        }
        let multiple = |(factor, length)| Multiple { factor, length };
        let multiples = || multiples.iter().map(|given| given.map(multiple));
        let before: Vec<i64> = (0..dimension as i64).map(|i| 1000 * i - 7).collect();
        let mut together = before.clone();
        let range = first..records.count();
        let outcomes = lattice.add_multiples(&records, range.clone(), multiples(), &mut together);
        let mut alone = before.clone();
        let one_by_one: Vec<Outcome> = range
            .zip(multiples())
            .map(|(record, multiple)| {
                let features = (0..dimension).map(|i| number(record, i)).collect();
                multiple.map_or(Outcome::Null, |multiple| {
                    lattice.add_multiple(&Features::Dense(features), multiple, &mut alone)
                })
            })
            .collect();
        prop_assert_eq!(outcomes, one_by_one);
        prop_assert_eq!(together, alone);
    }

    /// Any bit patterns at all: no panic, and never more than the radius.
    #[test]
    fn nothing_exceeds_the_radius(
        bits in proptest::collection::vec(any::<u64>(), 1..9),
        bound in prop_oneof![Just(1.0), Just(5e-324), Just(1e300), Just(f64::MAX), 1e-9..1e9],
        radius in prop_oneof![1_i64..1 << 30, 1_i64..=1 << 40],
        l1: bool,
    ) {
        let values: Vec<f64> = bits.iter().map(|&b| f64::from_bits(b)).collect();
        let norm = if l1 { Norm::L1 } else { Norm::L2 };
        let Ok(lattice) = Lattice::new(values.len() as u32, norm, bound, radius) else {
            prop_assert!(!(radius as f64 / bound).is_finite());
            return Ok(());
        };
        let (integers, _) = image(&lattice, &values);
        let wide: Vec<i128> = integers.iter().map(|&v| i128::from(v)).collect();
        let radius = i128::from(radius);
        match norm {
            Norm::L1 => prop_assert!(wide.iter().map(|v| v.abs()).sum::<i128>() <= radius),
            Norm::L2 => prop_assert!(wide.iter().map(|v| v * v).sum::<i128>() <= radius * radius),
        }
    }

    /// The integers are those of the definition, whatever the bits, for every size of radius; a
    /// stated length takes the rounding of lengths out of the comparison.
    #[test]
    fn integers_are_those_of_the_definition(
        bits in proptest::collection::vec(any::<u64>(), 1..14),
        ordinary in proptest::collection::vec(-2.0..2.0_f64, 13),
        choice: u16,
        radius in prop_oneof![1_i64..1 << 30, (1_i64 << 31)..1 << 33, 1_i64..=1 << 40],
        length in 0.0..3.0_f64,
    ) {
        let values: Vec<f64> = bits.iter().zip(&ordinary).enumerate()
            .map(|(i, (&bits, &usual))| if choice >> i & 1 == 1 { f64::from_bits(bits) } else { usual })
            .collect();
        let lattice = Lattice::new(values.len() as u32, Norm::L2, 1.0, radius).unwrap();
        let (multiple, mut total) = (Multiple { factor: 1.0, length }, vec![0; values.len()]);
        let wanted = by_definition(&lattice, &values, Some(multiple));
        lattice.add_multiple(&Features::Dense(values), multiple, &mut total);
        prop_assert_eq!(total, wanted);
    }

    /// The same for rows as long as tables are wide, with a few strange numbers anywhere, and in
    /// either norm: vectors of several lengths, and what is left over.
    #[test]
    fn integers_of_long_rows_are_those_of_the_definition(
        values in proptest::collection::vec(-0.2..0.2_f64, 1..=200),
        strange in proptest::collection::vec((0_usize..200, 0_usize..STRANGE.len()), 0..3),
        radius in prop_oneof![1_i64..1 << 30, (1_i64 << 31)..1 << 33, 1_i64..=1 << 40],
        length in prop_oneof![0.0..3.0_f64, Just(f64::NAN)],
        is_sum in any::<bool>(),
    ) {
        let mut values = values;
        for (place, which) in strange {
            let count = values.len();
            values[place % count] = STRANGE[which];
        }
        let (norm, dimension) = (if is_sum { Norm::L1 } else { Norm::L2 }, values.len() as u32);
        let lattice = Lattice::new(dimension, norm, 1.0, radius).unwrap();
        let multiple = Multiple { factor: 0.7, length };
        let before: Vec<i64> = (0..values.len() as i64).map(|i| 1000 * i - 7).collect();
        let mut total = before.clone();
        let outcome = lattice.add_multiple(&Features::Dense(values.clone()), multiple, &mut total);
        let added: Vec<i64> = total.iter().zip(&before).map(|(total, was)| total - was).collect();
        prop_assert!(lattice.holds_sum(&added, 1));
        prop_assert!(outcome != Outcome::Null || added.iter().all(|&value| value == 0));
        // Lengths as they are and careful ones may differ in their last digit.
        if norm == Norm::L2 {
            prop_assert_eq!(added, by_definition(&lattice, &values, Some(multiple)));
        }
    }

    #[test]
    fn lengths_near_the_bound_are_kept(direction in proptest::collection::vec(-1.0..1.0_f64, 2..20), radius in 1_i64 << 20..1 << 30) {
        let length = direction.iter().map(|v| v * v).sum::<f64>().sqrt();
        prop_assume!(length > 1e-3);
        let lattice = Lattice::new(direction.len() as u32, Norm::L2, length, radius).unwrap();
        let (integers, outcome) = image(&lattice, &direction);
        prop_assert!(outcome != Outcome::Null);
        for (integer, value) in integers.iter().zip(&direction) {
            prop_assert!((*integer as f64 * lattice.unit() - value).abs() <= 2e-6 * length);
        }
    }
}
