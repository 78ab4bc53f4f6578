//! Exact confidence bounds on a probability (Clopper and Pearson 1934).
//!
//! **Claim.** If k of n independent runs had a property of probability p, then `lower(k, n, α)` ≤ p
//! except with probability at most α.
//!
//! **Proof.** The bound returned is a q with P[Bin(n, q) ≥ k] ≤ α, which is *checked* with
//! arithmetic rounded up, not solved for. If p < q, then the count that was seen, or a larger one,
//! had probability P[Bin(n, p) ≥ k] ≤ P[Bin(n, q) ≥ k] ≤ α. ∎
//!
//! **Rounding.** The tail is its first term times Σ of products of falling ratios: all positive, so
//! each of m additions and multiplications costs a relative 2⁻⁵²; what is cut off is bounded by a
//! geometric series. The first term is the exponential of a sum of five numbers, each good to a few
//! units in its last place: sixteen units of the sum of their sizes are added.

/// Largest number of runs: with more, the margin for rounding would begin to show.
pub(crate) const MOST_RUNS: u64 = 1 << 40;

/// A number that a probability seen `hits` times in `runs` is not below, except with probability
/// `error`.
pub(crate) fn lower(hits: u64, runs: u64, error: f64) -> f64 {
    if hits == 0 || hits > runs || runs > MOST_RUNS || error.is_nan() || error <= 0.0 {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, hits as f64 / runs as f64);
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if tail_high(hits, runs, middle) <= error {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// A number that it is not above, except with probability `error`.
pub(crate) fn upper(hits: u64, runs: u64, error: f64) -> f64 {
    // One minus a lower bound for the opposite.
    (1.0 - lower(runs.saturating_sub(hits), runs, error)).next_up()
}

/// At least P[Bin(n, p) ≥ k]; 1 where the terms do not fall from k on.
pub(crate) fn tail_high(k: u64, n: u64, p: f64) -> f64 {
    if k == 0 || p >= 1.0 {
        return 1.0;
    }
    if p <= 0.0 || k > n {
        return 0.0;
    }
    let (kf, nf) = (k as f64, n as f64);
    let parts = [
        libm::lgamma(nf + 1.0),
        -libm::lgamma(kf + 1.0),
        -libm::lgamma(nf - kf + 1.0),
        kf * libm::log(p),
        (nf - kf) * libm::log1p(-p),
    ];
    let size: f64 = parts.iter().map(|part| part.abs()).sum();
    let first = parts.iter().sum::<f64>() + (size + 1.0) * 16.0 * f64::EPSILON;
    let odds = p / (1.0 - p);
    let (mut term, mut sum) = (1.0_f64, 1.0_f64);
    let mut steps = 0_u32;
    for j in k..n {
        let ratio = (n - j) as f64 / (j + 1) as f64 * odds;
        if ratio >= 1.0 {
            return 1.0;
        }
        term *= ratio;
        sum += term;
        steps += 1;
        if term < 1e-18 * sum {
            sum += term / (1.0 - ratio); // ratios fall: the rest is below a geometric series
            break;
        }
    }
    let rounding = 1.0 + (f64::from(steps) + 4.0) * 4.0 * f64::EPSILON;
    (libm::exp(first) * sum * rounding).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P[Bin(n, p) ≥ k] by adding up all terms from the other end, in exact small integers.
    fn tail(k: u64, n: u64, p: f64) -> f64 {
        let mut choose = 1.0;
        let mut sum = 0.0;
        for j in 0..=n {
            if j >= k {
                sum += choose * p.powi(j as i32) * (1.0 - p).powi((n - j) as i32);
            }
            choose = choose * (n - j) as f64 / (j + 1) as f64;
        }
        sum
    }

    #[test]
    fn the_bound_solves_the_tail_equation() {
        for (k, n) in [(1, 1), (1, 10), (7, 10), (10, 10), (30, 50), (2, 50)] {
            for error in [0.05, 1e-3, 1e-9] {
                let low = lower(k, n, error);
                let at = tail(k, n, low);
                assert!(at <= error * (1.0 + 1e-9), "{k} of {n}: {at} > {error}");
                assert!(at >= error * (1.0 - 1e-9), "{k} of {n}: loose, {at}");
                let high = upper(n - k, n, error);
                assert!((high + low - 1.0).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn known_values() {
        // All of n: error^(1/n).
        assert!((lower(100, 100, 1e-7) - 1e-7_f64.powf(0.01)).abs() < 1e-12);
        // R: qbeta(0.025, 45, 56) and qbeta(0.975, 46, 55).
        assert!((lower(45, 100, 0.025) - 0.350_320_2).abs() < 1e-6);
        assert!((upper(45, 100, 0.025) - 0.552_719_8).abs() < 1e-6);
        assert!(lower(0, 10, 0.1).abs() < 1e-300 && upper(10, 10, 0.1) >= 1.0);
        assert!(lower(3, 2, 0.1).abs() < 1e-300 && lower(1, 2, f64::NAN).abs() < 1e-300);
    }

    #[test]
    fn large_counts_agree_with_the_normal_law() {
        let low = lower(500_000, 1_000_000, 1e-7);
        assert!((low - (0.5 - 5.199_3 * 0.0005)).abs() < 2e-6, "{low}");
    }
}
