//! Directed rounding: the operations behind every outward-rounded number.
//!
//! IEEE arithmetic rounds to nearest, so a result may lie below the real value; a privacy loss must
//! not. Sums and products here recover their exact rounding error (Knuth's two-sum, a fused
//! multiply-add) and step one float up or down only when the error demands it: ½ + ½ stays 1, and
//! two charges of ½ fit a budget of 1. For longer expressions, whose error is bounded by analysis,
//! the caller adds the bound. Solvers search the floats themselves and return a float they have
//! checked.

/// The unit roundoff, 2⁻⁵³: the largest relative error of one rounded operation.
pub(crate) const UNIT: f64 = f64::EPSILON / 2.0;

/// Below this a product's rounding error may itself underflow, so it cannot be inspected.
const PRODUCT_ERROR_VISIBLE: f64 = 1e-290;

/// The smallest float not below a + b, for a, b ≥ 0.
pub(crate) fn add_up(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let part_of_b = sum - a;
    let lost = (a - (sum - part_of_b)) + (b - part_of_b);
    if lost > 0.0 { sum.next_up() } else { sum }
}

/// A float not above a − b, for a ≥ b ≥ 0, and exact when the difference is.
pub(crate) fn sub_down(a: f64, b: f64) -> f64 {
    let difference = a - b;
    if add_up(difference, b) > a {
        difference.next_down()
    } else {
        difference
    }
}

/// The smallest float not below a·b, for a, b ≥ 0 (one step more when the product is near
/// underflow).
pub(crate) fn mul_up(a: f64, b: f64) -> f64 {
    let product = a * b;
    let unseen = product < PRODUCT_ERROR_VISIBLE && a > 0.0 && b > 0.0;
    if unseen || libm::fma(a, b, -product) > 0.0 {
        product.next_up()
    } else {
        product
    }
}

/// The largest float not above a·b, for a, b ≥ 0 (zero when the product is near underflow).
pub(crate) fn mul_down(a: f64, b: f64) -> f64 {
    let product = a * b;
    if product < PRODUCT_ERROR_VISIBLE {
        0.0
    } else if libm::fma(a, b, -product) < 0.0 {
        product.next_down()
    } else {
        product
    }
}

/// An upper bound for a non-negative value known with relative error at most `roundoffs`·2⁻⁵³
/// (and, near underflow, an absolute error of less than one float).
pub(crate) fn widen_up(value: f64, roundoffs: f64) -> f64 {
    (value * (1.0 + (roundoffs + 2.0) * UNIT)).next_up()
}

/// e^x − 1 − x, which is never negative, with relative error below 8·2⁻⁵³.
///
/// Near zero `expm1(x) − x` would cancel. There the Taylor series is used instead: on |x| < 1 its
/// 21 terms leave less than 1/23! of the leading one.
pub(crate) fn exp_minus_one_minus_self(x: f64) -> f64 {
    if x.abs() < 1.0 {
        let mut tail = 1.0;
        for k in (3..=22).rev() {
            tail = 1.0 + x / f64::from(k) * tail;
        }
        0.5 * x * x * tail
    } else {
        libm::expm1(x) - x
    }
}

/// The largest positive float with `holds`, for a property that holds below a threshold and fails
/// above.
///
/// Bisection on the bit patterns of the positive floats, which are ordered as the floats are: at
/// most 62 evaluations over all magnitudes. `None` if it fails at the smallest normal
/// float. If rounding errors blur the threshold, the answer is still a float at which `holds`
/// returned true.
pub(crate) fn largest_with(holds: impl Fn(f64) -> bool) -> Option<f64> {
    boundary(holds).map(|(below, _)| below)
}

/// The smallest positive float with `holds`, for a property that fails below a threshold and holds
/// above.
///
/// The mirror image of [`largest_with`]; `None` if it fails even at the largest float.
pub(crate) fn smallest_with(holds: impl Fn(f64) -> bool) -> Option<f64> {
    if holds(f64::MIN_POSITIVE) {
        return Some(f64::MIN_POSITIVE);
    }
    let (_, above) = boundary(|x| !holds(x))?;
    holds(above).then_some(above)
}

/// Neighbouring floats between which `low` turns from true to false.
fn boundary(low: impl Fn(f64) -> bool) -> Option<(f64, f64)> {
    let mut below = f64::MIN_POSITIVE.to_bits();
    let mut above = f64::MAX.to_bits();
    if !low(f64::from_bits(below)) {
        return None;
    }
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        if low(f64::from_bits(middle)) {
            below = middle;
        } else {
            above = middle;
        }
    }
    Some((f64::from_bits(below), f64::from_bits(above)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_operations_do_not_move() {
        assert_eq!(add_up(0.5, 0.5).to_bits(), 1.0_f64.to_bits());
        assert_eq!(mul_up(0.5, 3.0).to_bits(), 1.5_f64.to_bits());
        assert_eq!(mul_down(0.5, 3.0).to_bits(), 1.5_f64.to_bits());
        assert_eq!(sub_down(0.75, 0.5).to_bits(), 0.25_f64.to_bits());
        assert_eq!(add_up(0.0, 0.1).to_bits(), 0.1_f64.to_bits());
    }

    #[test]
    fn inexact_operations_move_outward() {
        // 1 + 2⁻⁶⁰ rounds to 1, below the real sum.
        assert!(add_up(1.0, 2.0_f64.powi(-60)) > 1.0);
        assert!(sub_down(1.0, 2.0_f64.powi(-60)) < 1.0);
        let x = 1.0 + f64::EPSILON; // x² = 1 + 2ε + ε², not representable
        assert!(mul_up(x, x) > 1.0 + 2.0 * f64::EPSILON);
        assert!(mul_down(x, x) <= 1.0 + 2.0 * f64::EPSILON);
        assert!(mul_up(1e-200, 1e-200) > 0.0);
        assert!(mul_down(1e-200, 1e-200) <= 0.0);
    }

    #[test]
    fn series_meets_the_direct_formula() {
        for x in [-0.999_f64, -0.9, 0.9, 0.999] {
            let direct = libm::expm1(x) - x;
            assert!((exp_minus_one_minus_self(x) / direct - 1.0).abs() < 1e-15);
        }
        let tiny = exp_minus_one_minus_self(-1e-9);
        assert!((tiny / 5e-19 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn searches_return_checked_floats() {
        let root = largest_with(|x| x * x <= 2.0).unwrap();
        assert!(root * root <= 2.0 && root.next_up() * root.next_up() > 2.0);
        let root = smallest_with(|x| x * x >= 2.0).unwrap();
        assert!(root * root >= 2.0 && root.next_down() * root.next_down() < 2.0);
        assert!(largest_with(|_| false).is_none());
        assert!(smallest_with(|_| false).is_none());
    }
}
