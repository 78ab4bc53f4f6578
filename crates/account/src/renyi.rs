//! From a Rényi divergence to (ε, δ): the conversion that zCDP and Rényi accounting share.
//!
//! If D_α(P‖Q) ≤ r for one α > 1, then P(S) ≤ e^ε·Q(S) + δ for every S, for every ε ≥ 0, with
//!
//! ln δ = β(r − ε) − β·ln(1 + 1/β) − ln(1 + β), β = α − 1, or, solved for ε,
//! ε = r − ln(1 + 1/β) − (ln δ + ln(1 + β))/β
//!
//! (Canonne, Kamath & Steinke 2020, Proposition 12; Asoodeh et al. 2021). **Reason.** With the
//! privacy loss L = ln(P/Q), δ(ε) = E_P[(1 − e^{ε−L})₊], while E_P[e^{βL}] ≤ e^{βr}. For every l,
//! (1 − e^{ε−l})₊ ≤ c·e^{β(l−ε)} with c = max over y ≥ 1 of (1 − 1/y)·y^{−β} = β^β/(1+β)^{1+β},
//! attained at y = (1+β)/β. Taking expectations gives the formula.
//!
//! **Every order is a valid bound**, so a search for the best one may be approximate; only the
//! evaluation must not err downwards. β is the exact argument throughout (α = 1 + β is never
//! rounded) and each sum of terms is raised by 16 roundoffs of the sum of their sizes, several
//! times its error. If the formula gives ε < 0 then ε = 0 holds, since δ falls in ε.

use crate::round::UNIT;

/// ε at ln δ from D_{1+β} ≤ `divergence`, rounded up, at least 0.
pub(crate) fn epsilon_from(beta: f64, divergence: f64, ln_delta: f64) -> f64 {
    let gain = libm::log1p(1.0 / beta);
    let ln_alpha = libm::log1p(beta);
    let size = divergence + gain + (ln_delta.abs() + ln_alpha) / beta;
    let epsilon = divergence - gain - (ln_delta + ln_alpha) / beta;
    at_least_zero(epsilon + 16.0 * UNIT * size)
}

/// ln δ at ε from D_{1+β} ≤ `divergence`, rounded up, at most 0.
pub(crate) fn ln_delta_from(beta: f64, divergence: f64, epsilon: f64) -> f64 {
    let gain = libm::log1p(1.0 / beta);
    let ln_alpha = libm::log1p(beta);
    let size = beta * (divergence + epsilon + gain) + ln_alpha;
    let ln_delta = beta * (divergence - epsilon - gain) - ln_alpha;
    let bound = ln_delta + 16.0 * UNIT * size;
    // A NaN bound (∞ − ∞) says nothing, and δ ≤ 1 always holds.
    if bound < 0.0 { bound } else { 0.0 }
}

/// δ from an upper bound on ln δ, rounded up, at most 1.
pub(crate) fn delta_from_ln(ln_delta: f64) -> f64 {
    // e^x at a rounded x near −700 is off by 700 roundoffs.
    let margin = 4.0 * UNIT * ln_delta.abs().min(f64::MAX);
    libm::exp(ln_delta + margin).next_up().min(1.0)
}

/// max(0, x), with infinity for NaN: a loss that cannot be computed is reported as infinite.
fn at_least_zero(x: f64) -> f64 {
    if x.is_nan() {
        f64::INFINITY
    } else {
        x.max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_forms_are_inverse() {
        for beta in [0.01, 1.0, 28.0, 1e5] {
            for divergence in [1e-6, 0.3, 5.0] {
                let ln_delta = -30.0;
                let epsilon = epsilon_from(beta, divergence, ln_delta);
                if epsilon > 0.0 {
                    let back = ln_delta_from(beta, divergence, epsilon);
                    assert!((back - ln_delta).abs() < 1e-9 * (1.0 + beta));
                }
            }
        }
    }

    #[test]
    fn the_constant_bounds_the_hockey_stick() {
        // (1 − 1/y)₊ ≤ β^β/(1+β)^{1+β}·y^β, with equality at y = (1+β)/β.
        for beta in [0.1_f64, 1.0, 7.0] {
            let c = (beta.powf(beta)) / (1.0 + beta).powf(1.0 + beta);
            for step in 1..4000 {
                let y = 1.0 + f64::from(step) * 0.01;
                assert!(1.0 - 1.0 / y <= c * y.powf(beta) * (1.0 + 1e-14));
            }
            let y = (1.0 + beta) / beta;
            assert!((1.0 - 1.0 / y - c * y.powf(beta)).abs() < 1e-14);
        }
    }

    #[test]
    fn a_loss_that_cannot_be_computed_is_infinite() {
        assert!(epsilon_from(1.0, f64::INFINITY, -10.0).is_infinite());
        assert!(epsilon_from(1.0, f64::NAN, -10.0).is_infinite());
        assert!(ln_delta_from(1.0, f64::NAN, 1.0) >= 0.0);
        assert!(delta_from_ln(0.0) >= 1.0);
        assert!(delta_from_ln(f64::NEG_INFINITY) > 0.0);
    }
}
