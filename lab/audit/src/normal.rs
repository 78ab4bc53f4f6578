//! Bounds on the normal distribution function and on its inverse, rounded so that a lower bound
//! stays one.
//!
//! `erfc` is good to a unit or two in the last place; its argument x/√2 is rounded once, which
//! moves the value by a relative 2z²u < 10⁻¹² for |x| ≤ 38. A margin of 10⁻¹¹ covers both.

const MARGIN: f64 = 1e-11;

/// Beyond this the distribution function is 0 or 1 for every purpose here.
const FAR: f64 = 37.0;

/// Φ, to within the margin.
pub(crate) fn phi(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

/// A number not above Φ⁻¹(p).
pub(crate) fn quantile_low(p: f64) -> f64 {
    // x with a proved Φ(x) ≤ p.
    edge(|x| phi(x) * (1.0 + MARGIN) <= p).0
}

/// A number not below Φ⁻¹(p).
pub(crate) fn quantile_high(p: f64) -> f64 {
    // The first x for which Φ(x) ≥ p is proved.
    edge(|x| phi(x) * (1.0 - MARGIN) < p).1
}

/// The last x with a property that small x have and large x have not, from below and from above.
fn edge(holds: impl Fn(f64) -> bool) -> (f64, f64) {
    let (mut low, mut high) = (-FAR, FAR);
    if !holds(low) {
        return (f64::NEG_INFINITY, low);
    }
    if holds(high) {
        return (high, f64::INFINITY);
    }
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_enclose_the_truth() {
        // Φ⁻¹ to 15 digits.
        for (p, x) in [
            (0.5, 0.0),
            (0.975, 1.959_963_984_540_054),
            (1e-6, -4.753_424_308_822_899),
            (0.2, -0.841_621_233_572_914),
        ] {
            let (low, high) = (quantile_low(p), quantile_high(p));
            assert!(low <= x + 1e-14 && x - 1e-14 <= high, "{low} {x} {high}");
            assert!(high - low < 1e-9);
        }
        assert!(quantile_low(0.0) < -1e300 && quantile_high(1.0) > 1e300);
    }
}
