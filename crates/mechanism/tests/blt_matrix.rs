//! BLT by brute force: for every n ≤ 40 the strategy is written out as a matrix, and everything
//! that calibrates it is read off.
//!
//! C comes twice: from the definition of its coefficients, and column by column out of the integer
//! encoder. B = A·C⁻¹ is found by forward substitution. Neither uses a closed form.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use hushstream_mechanism::sums::blt::{
    BltParameters, DyadicBlt, FixedBlt, Layout, Width, optimise,
};

type Matrix = Vec<Vec<f64>>;

/// The optimum for n, with few and with many buffers; the test vector for a million; and two
/// strategies at the edge of what is allowed.
fn strategies(n: usize) -> Vec<DyadicBlt> {
    let edge = |decay: &[f64], weight: &[f64]| {
        BltParameters::new(decay.to_vec(), weight.to_vec()).unwrap()
    };
    let all = [
        optimise(n as u64, 1).unwrap(),
        optimise(n as u64, 4).unwrap(),
        optimise(n as u64, 8).unwrap(),
        optimise(1 << 20, 4).unwrap(),
        edge(&[1.0], &[1.0]),
        edge(&[1e-13, 0.5], &[0.75, 0.25]),
    ];
    all.iter().map(|blt| DyadicBlt::new(blt).unwrap()).collect()
}

/// c_k = Σ ω_jθ_j^{k−1}, powers by repeated multiplication.
fn from_the_definition(blt: &BltParameters, n: usize) -> Matrix {
    let mut coefficients = vec![1.0];
    let mut terms = blt.weight().to_vec();
    for _ in 1..n {
        coefficients.push(terms.iter().sum());
        for (term, decay) in terms.iter_mut().zip(blt.decay()) {
            *term -= decay * *term;
        }
    }
    (0..n)
        .map(|row| {
            (0..n)
                .map(|column| {
                    if row < column {
                        0.0
                    } else {
                        coefficients[row - column]
                    }
                })
                .collect()
        })
        .collect()
}

/// Column i is the run on the i-th unit vector, as large as the width allows.
fn from_the_encoder(blt: &DyadicBlt, n: usize) -> Matrix {
    let radius = 1_i64 << 30;
    let layout = Layout::new(Width::Wide, 30);
    let one = radius as f64 / layout.unit();
    // All columns at once: coordinate i sees its impulse at step i.
    let mut encoder = FixedBlt::open(blt, layout, n as u64, n, radius).unwrap();
    let run = |t: usize| {
        let item: Vec<i64> = (0..n).map(|i| if i == t { radius } else { 0 }).collect();
        let mut row = vec![0; n];
        encoder.encode(&item, &mut row).unwrap();
        row.iter().map(|y| *y as f64 / one).collect()
    };
    (0..n).map(run).collect()
}

/// B with B·C = A: row by row, from the diagonal back, as C has ones there.
fn prefix_factor(c: &Matrix) -> Matrix {
    let n = c.len();
    let mut b = vec![vec![0.0; n]; n];
    for (row, out) in b.iter_mut().enumerate() {
        for column in (0..=row).rev() {
            let known: f64 = (column + 1..=row).map(|k| out[k] * c[k][column]).sum();
            out[column] = 1.0 - known;
        }
    }
    b
}

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|x| x * x).sum::<f64>().sqrt()
}

fn close(got: f64, exact: f64, tolerance: f64) -> bool {
    (got - exact).abs() <= tolerance * exact
}

#[test]
fn encoder_and_definition_are_one_matrix() {
    for n in 1..=40 {
        for blt in strategies(n) {
            let (ideal, real) = (
                from_the_definition(blt.parameters(), n),
                from_the_encoder(&blt, n),
            );
            for (ideal, real) in ideal.iter().flatten().zip(real.iter().flatten()) {
                // The floors are at most S_40 ≤ 41 units of 2⁻⁶⁰; the rest is the rounding of forty
                // float products.
                assert!((ideal - real).abs() < 1e-14, "n = {n}: {ideal} {real}");
            }
        }
    }
}

#[test]
fn sensitivity_is_the_largest_column_norm() {
    for n in 1..=40 {
        for blt in strategies(n) {
            let c = from_the_encoder(&blt, n);
            let largest = (0..n)
                .map(|i| norm(c.iter().map(|row| row[i])))
                .fold(0.0, f64::max);
            let claimed = blt.sensitivity(n as u64);
            assert!(
                claimed >= largest * (1.0 - 1e-15) && close(claimed, largest, 1e-12),
                "n = {n}: {claimed} {largest}"
            );
        }
    }
}

#[test]
fn error_is_the_row_norm_of_the_other_factor() {
    for n in 1..=40 {
        for blt in strategies(n) {
            let b = prefix_factor(&from_the_encoder(&blt, n));
            let inverse = blt.parameters().inverse();
            let mut largest = 0.0;
            for (t, row) in b.iter().enumerate() {
                let exact = norm(row.iter().copied());
                let claimed = inverse.prefix_sd(t as u64 + 1);
                assert!(
                    close(claimed, exact, 1e-12),
                    "n = {n}, t = {t}: {claimed} {exact}"
                );
                largest = f64::max(largest, exact);
            }
            assert!(
                close(inverse.prefix_sd(n as u64), largest, 1e-12),
                "the last prefix sum is the worst"
            );
        }
    }
}

#[test]
fn two_participations_at_every_distance() {
    for n in 2..=40 {
        for blt in strategies(n) {
            let c = from_the_encoder(&blt, n);
            for separation in 1..=n {
                let mut largest = (0..n)
                    .map(|i| norm(c.iter().map(|row| row[i])))
                    .fold(0.0, f64::max);
                for first in 0..n {
                    for second in (first + separation).min(n)..n {
                        for sign in [1.0, -1.0] {
                            let pair = norm(c.iter().map(|row| row[first] + sign * row[second]));
                            largest = f64::max(largest, pair);
                        }
                    }
                }
                let claimed = blt
                    .sensitivity_with(n as u64, 2, separation as u64)
                    .unwrap();
                assert!(
                    claimed >= largest * (1.0 - 1e-15),
                    "n = {n}, b = {separation}: {claimed} < {largest}"
                );
                assert!(
                    close(claimed, largest, 1e-9),
                    "attained: {claimed} {largest}"
                );
            }
        }
    }
}

#[test]
fn every_pattern_of_a_short_stream() {
    // All subsets of 12 steps that respect k and b; the worst of them is the claimed one.
    let n = 12;
    for blt in strategies(n) {
        let c = from_the_encoder(&blt, n);
        for (most, separation) in [(2, 1), (3, 2), (3, 5), (4, 3), (12, 1), (5, 4)] {
            let allowed = |set: &usize| {
                let steps: Vec<usize> = (0..n).filter(|i| set >> i & 1 == 1).collect();
                steps.len() <= most && steps.windows(2).all(|pair| pair[1] - pair[0] >= separation)
            };
            let size = |set: usize| {
                norm(
                    c.iter()
                        .map(|row| (0..n).filter(|i| set >> i & 1 == 1).map(|i| row[i]).sum()),
                )
            };
            let largest = (1..1 << n).filter(allowed).map(size).fold(0.0, f64::max);
            let claimed = blt
                .sensitivity_with(n as u64, most as u64, separation as u64)
                .unwrap();
            assert!(
                claimed >= largest * (1.0 - 1e-15) && close(claimed, largest, 1e-9),
                "{most} {separation}: {claimed} {largest}"
            );
        }
    }
}
