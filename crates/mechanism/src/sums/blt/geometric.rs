//! Finite geometric sums, accurate when the ratio is within 10⁻¹³ of one and the sum has 2⁴⁰ terms.
//!
//! G(q, t) = Σ_{k<t} (1−q)^k = (1 − (1−q)^t)/q for 0 ≤ q ≤ 2. The ratio enters as its *distance
//! from one*, so nothing is lost to 1 − θ. With y = −t·ln(1−q), 1 − (1−q)^t = −expm1(−y) for q < 1.
//!
//! **Error.** A relative error e in q moves 1 − (1−q)^t by t(1−q)^{t−1}·q·e ≤ (1 − (1−q)^t)·e,
//! because the sum has t terms of which (1−q)^{t−1} is the smallest; one in y moves it by y/(e^y −
//! 1)·e ≤ e relative. Numerator and denominator respond to q with the same sign, so all in all:
//! error of q, log1p (2u), product (u), expm1 (2u), quotient (u), conversion of t (u): at most the
//! error of q plus 7u, u = 2⁻⁵³, for q ≤ 1. (For 1 < q ≤ 2 the ratio is negative; that branch
//! serves only error estimates, never a sensitivity.)

/// Σ_{k<t} (1−q)^k.
pub(super) fn geometric(q: f64, t: u64) -> f64 {
    let terms = t as f64;
    if t == 0 {
        0.0
    } else if q <= 0.0 {
        terms
    } else if q < 1.0 {
        -libm::expm1(terms * libm::log1p(-q)) / q
    } else if q <= 1.0 {
        1.0
    } else {
        // (1−q)^t = ±(q−1)^t, and q − 1 = 1 − (2−q).
        let log_power = terms * libm::log1p(-(2.0 - q));
        if t.is_multiple_of(2) {
            -libm::expm1(log_power) / q
        } else {
            (1.0 + libm::exp(log_power)) / q
        }
    }
}

/// dG/dq for 0 ≤ q < 1, given G itself.
///
/// From the closed form, (t(1−q)^{t−1} − G)/q; where that would cancel, the first terms of Σ_k
/// k·C(t, k+1)·(−1)^k·q^{k−1}.
pub(super) fn geometric_slope(q: f64, t: u64, sum: f64) -> f64 {
    let n = t as f64;
    if q * n < 1e-3 {
        let second = n * (n - 1.0) / 2.0;
        let third = second * (n - 2.0) / 3.0;
        let fourth = third * (n - 3.0) / 4.0;
        let fifth = fourth * (n - 4.0) / 5.0;
        return -second + q * (2.0 * third - q * (3.0 * fourth - q * 4.0 * fifth));
    }
    (n * libm::exp((n - 1.0) * libm::log1p(-q)) - sum) / q
}

/// 1 − (1−a)(1−b) = a + b − ab: the distance from one of a product of two ratios.
///
/// Written with 1 − (the smaller), which is non-negative, so that no step cancels: relative error
/// at most 3u for a, b ≤ 1.
pub(super) fn joint(a: f64, b: f64) -> f64 {
    let (small, large) = if a <= b { (a, b) } else { (b, a) };
    small + large * (1.0 - small)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_sum_term_by_term() {
        for q in [0.0, 1e-13, 1e-5, 0.3, 0.999, 1.0, 1.2, 1.999, 2.0] {
            let (mut sum, mut power) = (0.0, 1.0);
            for t in 0..200 {
                let got = geometric(q, t);
                assert!(
                    (got - sum).abs() <= 1e-13 * sum.max(1.0),
                    "q {q} t {t}: {got} {sum}"
                );
                sum += power;
                power *= 1.0 - q;
            }
        }
    }

    #[test]
    fn keeps_its_precision_close_to_one() {
        // (1 − e^{−y})/q with y = −t·ln(1−q), from 50-digit arithmetic.
        let cases = [
            (1e-13, 1 << 40, 1_041_221_135_842.448_1),
            (1e-13, 1 << 20, 1_048_575.945_024_473),
            (1.723e-6, 1 << 20, 485_086.816_489_631),
            (0.5, 1 << 40, 2.0),
        ];
        for (q, t, exact) in cases {
            let got = geometric(q, t);
            assert!(
                (got - exact).abs() <= 1e-15 * exact,
                "{q} {t}: {got:.17e} {exact:.17e}"
            );
        }
    }

    #[test]
    fn slope_is_the_derivative() {
        for (q, t) in [
            (1e-9, 100),
            (1e-5, 90),
            (2e-5, 60),
            (0.01, 50),
            (0.3, 7),
            (1e-6, 1 << 20),
        ] {
            let step = q * 1e-5;
            let numeric = (geometric(q + step, t) - geometric(q - step, t)) / (2.0 * step);
            let got = geometric_slope(q, t, geometric(q, t));
            // The difference quotient loses about 10⁻¹⁶/(10⁻⁵·q·t) itself.
            let slack = 1e-8 + 1e-10 / (q * t as f64);
            assert!(
                (got / numeric - 1.0).abs() < slack,
                "{q} {t}: {got} {numeric}"
            );
        }
    }
}
