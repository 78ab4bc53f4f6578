//! The normal distribution function and its inverse, with a margin for their rounding.
//!
//! `erfc` is good to a unit or two in the last place; its argument x/√2 is rounded once, which
//! moves the value by a relative 2z²u < 10⁻¹² for |x| ≤ 38. A margin of 10⁻¹¹ covers both.

pub(crate) const MARGIN: f64 = 1e-11;

/// Beyond this the distribution function is 0 or 1 for every purpose here.
const FAR: f64 = 37.0;

/// Φ, to within the margin.
pub(crate) fn phi(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

/// A number not below Φ⁻¹(p).
pub(crate) fn quantile_high(p: f64) -> f64 {
    let is_below = |x: f64| phi(x) * (1.0 - MARGIN) < p;
    let (mut low, mut high) = (-FAR, FAR);
    if is_below(high) {
        return f64::INFINITY;
    }
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if is_below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_not_below_the_truth() {
        // Φ⁻¹ to 15 digits.
        for (p, x) in [
            (0.5, 0.0),
            (0.975, 1.959_963_984_540_054),
            (1e-6, -4.753_424_308_822_899),
            (0.2, -0.841_621_233_572_914),
        ] {
            let high = quantile_high(p);
            assert!(x - 1e-14 <= high && high < x + 1e-9, "{x} {high}");
        }
        assert!(quantile_high(1.0) > 1e300 && quantile_high(0.0) < -36.0);
    }
}
