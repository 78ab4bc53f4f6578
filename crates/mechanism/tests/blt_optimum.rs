//! The quality of the optimiser: its table, against the square-root factorisation, lower bounds,
//! and an independent local search.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use hushstream_mechanism::sums::blt::{BltParameters, optimise};

/// sens·err of the square-root factorisation: f_0 = 1, f_k = f_{k−1}(1 − 1/(2k)), and both factors
/// are the same matrix.
fn square_root(n: u64) -> f64 {
    let (mut f, mut square) = (1.0, 1.0);
    for k in 1..n {
        f *= 1.0 - 0.5 / k as f64;
        square += f * f;
    }
    square
}

/// A lower bound for all factorisations A = BC: the nuclear norm of A over n, as ‖B‖·‖C‖ (largest
/// row times largest column) is at least ‖B‖_F·‖C‖_F/n ≥ ‖A‖_nuclear/n. The singular values of A
/// are 1/(2·sin((2k−1)π/(4n+2))).
fn lower_bound(n: u64) -> f64 {
    let (angle, size) = (std::f64::consts::PI / (4 * n + 2) as f64, n as f64);
    (1..=n)
        .map(|k| 1.0 / ((2 * k - 1) as f64 * angle).sin())
        .sum::<f64>()
        / (2.0 * size)
}

#[test]
fn table() {
    println!("{:>5} {:>7} {:>7}  buffers 2 to 8", "n", "lower", "√");
    for log_n in (8..=24).step_by(2) {
        let n = 1 << log_n;
        let (lower, root) = (lower_bound(n), square_root(n));
        let products: Vec<f64> = (2..=8)
            .map(|m| optimise(n, m).unwrap().worst_prefix_sd(n))
            .collect();
        let text: Vec<String> = products.iter().map(|p| format!("{p:.4}")).collect();
        println!("2^{log_n:<3} {lower:7.4} {root:7.4}  {}", text.join("  "));
        assert!(
            products.iter().all(|p| *p >= lower),
            "below the bound for factorisations"
        );
        assert!(
            products.windows(2).all(|pair| pair[1] <= pair[0] * 1.0001),
            "a buffer more is never worse"
        );
        assert!(
            products[6] < root * 1.002,
            "eight buffers do as well as the square root"
        );
        // Four buffers are enough to 2¹⁶, five to 2²².
        assert!(log_n > 16 || products[2] < root * 1.02);
        assert!(log_n > 22 || products[3] < root * 1.02);
    }
    assert!(
        (lower_bound(1 << 20) - 5.11).abs() < 0.005 && (square_root(1 << 20) - 5.48).abs() < 0.005
    );
}

#[test]
fn a_million_releases() {
    let product = |m| optimise(1 << 20, m).unwrap().worst_prefix_sd(1 << 20);
    for (m, known) in [(3, 5.79), (4, 5.56), (5, 5.50)] {
        assert!(
            (product(m) - known).abs() < 0.005,
            "{m} buffers: {}",
            product(m)
        );
    }
    assert!(product(4) <= 5.57);
}

/// Coordinate search on the public parameters themselves, in another metric than the optimiser's:
/// decays and weights by factors.
fn polish(start: &BltParameters, n: u64) -> f64 {
    let (mut decay, mut weight) = (start.decay().to_vec(), start.weight().to_vec());
    let mut best = start.worst_prefix_sd(n);
    let mut step = 0.3_f64;
    while step > 1e-4 {
        let mut improved = false;
        for index in 0..2 * decay.len() {
            for factor in [1.0 + step, 1.0 / (1.0 + step)] {
                let (mut d, mut w) = (decay.clone(), weight.clone());
                if index < d.len() {
                    d[index] *= factor;
                } else {
                    w[index - decay.len()] *= factor;
                }
                let Ok(candidate) = BltParameters::new(d.clone(), w.clone()) else {
                    continue;
                };
                let value = candidate.worst_prefix_sd(n);
                if value < best {
                    (best, decay, weight, improved) = (value, d, w, true);
                }
            }
        }
        if !improved {
            step /= 2.0;
        }
    }
    best
}

#[test]
fn an_independent_search_finds_nothing_better() {
    for log_n in [8, 12, 16, 20, 24] {
        for m in [2, 4, 6] {
            let n = 1 << log_n;
            let found = optimise(n, m).unwrap();
            let best = polish(&found, n);
            assert!(
                found.worst_prefix_sd(n) <= best * 1.0005,
                "2^{log_n}, {m}: {} {best}",
                found.worst_prefix_sd(n)
            );
        }
    }
}

#[test]
fn over_provisioning_costs_what_the_documentation_says() {
    let t = 1 << 20;
    // Relative to the same seven buffers for a known horizon: that is what one gives up.
    let known = optimise(t, 7).unwrap().worst_prefix_sd(t);
    for (m, log_max, expected) in [(7, 32, 1.23), (7, 40, 1.39), (4, 32, 1.36), (4, 40, 1.62)] {
        let blt = optimise(1 << log_max, m).unwrap();
        let ratio = blt.sensitivity(1 << log_max) * blt.prefix_sd(t) / known;
        println!("{m} buffers for 2^{log_max}: ×{ratio:.4} at 2^20");
        assert!(
            (ratio - expected).abs() < 0.011,
            "{m} buffers for 2^{log_max}: {ratio}"
        );
    }
}
