//! Rows are those of the formula, at the extremes too, in both widths.

use super::super::parameters::tests::vector;
use super::*;

fn open(layout: Layout, n: u64, dimension: usize, radius: i64) -> FixedBlt {
    FixedBlt::open(
        &DyadicBlt::new(&vector()).unwrap(),
        layout,
        n,
        dimension,
        radius,
    )
    .unwrap()
}

fn narrow(n: u64, dimension: usize, radius: i64) -> FixedEncoder<i64> {
    match open(Layout::new(Width::Narrow, 16), n, dimension, radius) {
        FixedBlt::Narrow(encoder) => encoder,
        FixedBlt::Wide(_) => panic!("asked for narrow"),
    }
}

fn wide(n: u64, dimension: usize, radius: i64) -> FixedEncoder<i128> {
    match open(Layout::new(Width::Wide, 16), n, dimension, radius) {
        FixedBlt::Wide(encoder) => encoder,
        FixedBlt::Narrow(_) => panic!("asked for wide"),
    }
}

#[test]
fn an_impulse_reads_out_the_coefficients() {
    let (n, radius) = (300, 1 << 30);
    let mut encoder = narrow(n, 1, radius);
    let blt = DyadicBlt::new(&vector()).unwrap();
    let mut row = [0];
    for k in 0..n {
        let item = if k == 0 { radius } else { 0 };
        encoder.encode(&[item], &mut row).unwrap();
        let got = row[0] as f64 / (radius as f64 * 65536.0);
        let exact = blt.parameters().coefficient(k);
        // S_k units of 2⁻⁴⁶ at most, as the proof says.
        assert!(
            (got - exact).abs() <= blt.gain(k) / 2_f64.powi(46) + 1e-15,
            "c_{k}: {got} {exact}"
        );
    }
}

#[test]
fn both_widths_agree_to_the_bit_at_the_extremes() {
    // The largest radius that fits 64 bits, driven to its bounds in every sign pattern of period
    // two to four.
    let (n, radius) = (1 << 12, 1_i64 << 34);
    for pattern in [
        [1, 1, 1, 1],
        [-1, -1, -1, -1],
        [1, -1, 1, -1],
        [1, 1, -1, -1],
        [-1, 0, 0, 1],
    ] {
        let (mut short, mut long) = (narrow(n, 1, radius), wide(n, 1, radius));
        let (mut y, mut z) = ([0_i64], [0_i128]);
        for t in 0..n as usize {
            let item = [radius * pattern[t % 4]];
            short.encode(&item, &mut y).unwrap();
            long.encode(&item, &mut z).unwrap();
            assert_eq!(i128::from(y[0]), z[0]);
        }
        let limits = short.layout().limits(&short.blt, n, radius);
        assert!(
            short
                .state()
                .iter()
                .zip(&limits)
                .all(|(b, l)| b.unsigned_abs() as f64 <= *l)
        );
    }
}

#[test]
fn coordinates_never_mix() {
    // More than a block of lanes and a remainder; restored in the middle, in the order of
    // coordinates.
    let (n, radius, dimension) = (40, 1 << 30, 150);
    let mut all = narrow(n, dimension, radius);
    let mut each: Vec<_> = (0..dimension).map(|_| wide(n, 1, radius)).collect();
    let (mut row, mut single) = (vec![0; dimension], [0]);
    for t in 0..n as i64 {
        let item: Vec<i64> = (0..dimension as i64)
            .map(|i| ((t + 3) * (i * i + 7) * 7_654_321) % (radius + 1) * (1 - 2 * (i % 2)))
            .collect();
        all.encode(&item, &mut row).unwrap();
        for (i, one) in each.iter_mut().enumerate() {
            one.encode(&item[i..=i], &mut single).unwrap();
            assert_eq!(i128::from(row[i]), single[0]);
        }
        if t == n as i64 / 2 {
            let state = all.state();
            let wanted: Vec<_> = each.iter().flat_map(FixedEncoder::state).collect();
            assert!(state.iter().map(|b| i128::from(*b)).eq(wanted));
            all = narrow(n, dimension, radius);
            all.restore(t as u64 + 1, &state).unwrap();
        }
    }
    assert!(
        matches!(all.buffers, Buffers::Lanes(_)),
        "this strategy has short factors"
    );
}
