//! The doubles are integers, and those of the formula, from any state that the layout admits.

use super::super::dyadic::{DECAY_BITS, WEIGHT_BITS};
use super::super::{BltParameters, FixedBlt, Layout, Width, optimise};
use super::*;
use proptest::prelude::*;

/// ⟦numerator/2^bits⟧, ties to even.
fn nearest_even(numerator: i128, bits: u32) -> i128 {
    if bits == 0 {
        return numerator;
    }
    let (floor, rest) = (numerator >> bits, numerator & ((1 << bits) - 1));
    match rest.cmp(&(1 << (bits - 1))) {
        std::cmp::Ordering::Less => floor,
        std::cmp::Ordering::Greater => floor + 1,
        std::cmp::Ordering::Equal => floor + (floor & 1),
    }
}

/// The formula of the module in 128 bits.
fn reference(blt: &DyadicBlt, guard_bits: u32, buffers: &mut [i128], item: i64) -> i128 {
    let scaled = i128::from(item) << guard_bits;
    let factors = blt.decay_numerators().iter().zip(blt.weight_numerators());
    let mut row = 0;
    for (buffer, (&a, &w)) in buffers.iter_mut().zip(factors) {
        let value = *buffer;
        row = nearest_even((row << WEIGHT_BITS) + i128::from(w) * value, WEIGHT_BITS);
        let lost = nearest_even(i128::from(a) * value, DECAY_BITS);
        *buffer = value + scaled - lost;
    }
    i128::from(item) + nearest_even(row, guard_bits)
}

/// A strategy, guard bits, the largest item that fits, and how many releases.
fn streams() -> impl Strategy<Value = (DyadicBlt, u32, i64, u64)> {
    let optimal = (1_u32..=20, 1_usize..=8)
        .prop_map(|(log_releases, m)| (1_u64 << log_releases, m))
        .prop_map(|(n, m)| (DyadicBlt::new(&optimise(n, m).unwrap()).unwrap(), n));
    // Factors with all the bits that a double has, and a buffer that forgets at once.
    let any = (
        1_u32..=30,
        proptest::collection::btree_set(1_i64..1 << 53, 1..=5),
        any::<[u32; 6]>(),
        any::<bool>(),
    )
        .prop_map(|(log_releases, decays, weights, forgets)| {
            let mut decays: Vec<i64> = decays.into_iter().map(|a| a << 8).collect();
            if forgets {
                decays.push(1 << 62);
            }
            let weights: Vec<i64> = decays
                .iter()
                .zip(weights)
                .map(|(_, w)| 1 + (i64::from(w) << 5))
                .collect();
            (
                DyadicBlt::from_numerators(&decays, &weights).unwrap(),
                1_u64 << log_releases,
            )
        });
    (prop_oneof![optimal, any], 0_u32..=16).prop_map(|((blt, n), f)| {
        let layout = Layout::new(Width::Double, f);
        let fits = |radius: i64| layout.check(&blt, n, 1, radius).is_ok();
        let (mut fit, mut too_large) = (1, 1 << 52);
        while too_large - fit > 1 {
            let middle = fit + (too_large - fit) / 2;
            *(if fits(middle) {
                &mut fit
            } else {
                &mut too_large
            }) = middle;
        }
        (blt, f, fit, n)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Buffers anywhere up to their bounds, items up to theirs: the same rows and buffers, for
    /// whole fours and what is left over.
    #[test]
    fn doubles_are_the_reference_bit_for_bit(
        (blt, f, radius, n) in streams(),
        places in proptest::collection::vec(prop_oneof![-1.0_f64..=1.0, Just(1.0), Just(-1.0), -1e-9_f64..1e-9], 8 * 6),
        items in proptest::collection::vec(prop_oneof![-1.0_f64..=1.0, Just(1.0), Just(-1.0), Just(0.0)], 6),
    ) {
        let (dimension, m) = (items.len(), blt.buffers());
        let layout = Layout::new(Width::Double, f);
        // One step short of the horizon, so that the last one may reach the bounds.
        let limits = layout.limits(&blt, n - 1, radius);
        let mut state: Vec<i128> = (0..dimension * m)
            .map(|place| (places[place] * limits[place % m]) as i128)
            .collect();
        let items: Vec<i64> = items.iter().map(|x| ((x * radius as f64) as i64).clamp(-radius, radius)).collect();
        let mut encoder = FixedBlt::open(&blt, layout, n, dimension, radius).unwrap();
        encoder.restore(n - 1, &state).unwrap();
        prop_assert_eq!(encoder.state(), state.clone());
        let mut row = vec![0; dimension];
        encoder.encode(&items, &mut row).unwrap();
        for ((buffers, item), y) in state.chunks_exact_mut(m).zip(&items).zip(&row) {
            prop_assert_eq!(*y, reference(&blt, f, buffers, *item));
        }
        prop_assert_eq!(encoder.state(), state);
    }
}

/// Driven to the bounds by the largest items of one sign: the buffers reach nearly what the layout
/// says, and are integers still.
#[test]
fn the_largest_stream_stays_exact() {
    let n = 1 << 14;
    let blt = DyadicBlt::new(&optimise(n, 4).unwrap()).unwrap();
    let layout = Layout::new(Width::Double, 3);
    let radius = (1..52)
        .map(|bit| 1_i64 << bit)
        .take_while(|radius| layout.check(&blt, n, 1, *radius).is_ok())
        .last()
        .unwrap();
    let mut encoder = FixedBlt::open(&blt, layout, n, 1, radius).unwrap();
    let (mut buffers, mut row) = (vec![0; blt.buffers()], [0]);
    for _ in 0..n {
        encoder.encode(&[radius], &mut row).unwrap();
        assert_eq!(row[0], reference(&blt, 3, &mut buffers, radius));
    }
    assert_eq!(encoder.state(), buffers);
    let limits = layout.limits(&blt, n, radius);
    for (reached, limit) in buffers.iter().zip(&limits) {
        assert!(*reached as f64 <= *limit && *reached as f64 > 0.99 * limit);
    }
    assert!(limits.iter().any(|limit| *limit > 2_f64.powi(51)));
}

/// A tie goes to the even neighbour, in every one of the three roundings.
#[test]
fn ties_are_even() {
    let half = BltParameters::new(vec![0.5], vec![0.5]).unwrap();
    let blt = DyadicBlt::new(&half).unwrap();
    for (buffer, item) in [(1, 0), (3, 0), (-1, 0), (-3, 0), (5, 1), (7, -1)] {
        let mut encoder = FixedBlt::open(&blt, Layout::new(Width::Double, 1), 20, 1, 9).unwrap();
        encoder.restore(9, &[buffer]).unwrap();
        let (mut row, mut wanted) = ([0], [buffer]);
        encoder.encode(&[item], &mut row).unwrap();
        assert_eq!(row[0], reference(&blt, 1, &mut wanted, item));
        assert_eq!(encoder.state(), wanted);
    }
    assert_eq!(
        [1, 3, 5, -1, -3].map(|x| nearest_even(x, 1)),
        [0, 2, 2, 0, -2]
    );
}
