//! Exact Rényi divergences of single mechanisms, rounded up.
//!
//! The curves, with β = α − 1 and all rounded up:
//! * Gaussian: αμ²/2; zCDP: αρ.
//! * ε-DP: the curve of randomised response, of which every ε-DP mechanism is a post-processing:
//!   βr = ln(cosh((α−½)ε)/cosh(ε/2)) = ln(1 + 2·sinh(αε/2)·sinh(βε/2)/cosh(ε/2)), free of
//!   cancellation.
//! * Laplace, ratio ε: e^{βr} = (α·e^{βε} + β·e^{−αε})/(2α−1) (Mironov 2017, Proposition 6), and
//!   since the weights sum to one and the linear terms cancel,
//!   e^{βr} − 1 = (α·E(βε) + β·E(−αε))/(2α−1) with E(x) = e^x − 1 − x ≥ 0.
//! * η-bounded range: the smaller of αη²/8 and the η-DP curve (see [`Rho`](crate::Rho)).
//! * One coin whose probability differs: both directions of D_α(Ber(p)‖Ber(q)) by log-sum-exp; the
//!   larger counts.

use crate::round::{UNIT, exp_minus_one_minus_self, widen_up};

/// Above this αε the hyperbolic functions would overflow.
const LARGE: f64 = 600.0;

/// D_α of randomised response with ratio e^ε, rounded up, at most ε.
pub(crate) fn randomised_response(alpha: f64, epsilon: f64) -> f64 {
    let beta = alpha - 1.0;
    let scaled = if alpha * epsilon < LARGE {
        let (up, down) = (0.5 * alpha * epsilon, 0.5 * beta * epsilon);
        libm::log1p(2.0 * libm::sinh(up) * libm::sinh(down) / libm::cosh(0.5 * epsilon))
    } else {
        beta * epsilon + libm::log1p(libm::exp(-(alpha + beta) * epsilon))
            - libm::log1p(libm::exp(-epsilon))
    };
    // Hyperbolic functions of x carry x roundoffs from their argument: at most 600 in all.
    widen_up(scaled / beta, 16.0 + 4.0 * (alpha * epsilon).min(LARGE)).min(epsilon)
}

/// D_α of Laplace noise with ratio ε, rounded up, at most ε.
pub(crate) fn laplace(alpha: f64, epsilon: f64) -> f64 {
    let beta = alpha - 1.0;
    let scaled = if alpha * epsilon < LARGE {
        let up = alpha * exp_minus_one_minus_self(beta * epsilon);
        let down = beta * exp_minus_one_minus_self(-alpha * epsilon);
        libm::log1p((up + down) / (alpha + beta))
    } else {
        beta * epsilon
            + libm::log(alpha / (alpha + beta))
            + libm::log1p(beta / alpha * libm::exp(-(alpha + beta) * epsilon))
    };
    widen_up(scaled / beta, 24.0 + 4.0 * (alpha * epsilon).min(LARGE)).min(epsilon)
}

/// D_α(Ber(p)‖Ber(q)), rounded up.
pub(crate) fn coin(alpha: f64, p: f64, q: f64) -> f64 {
    let beta = alpha - 1.0;
    // ln(a/b) to a few roundoffs of itself, given a − b: for close probabilities p − q is exact,
    // while (1 − p) − (1 − q) is not.
    let ln_ratio = |a: f64, b: f64, difference: f64| {
        let relative = difference / b;
        if relative > -0.5 {
            libm::log1p(relative)
        } else {
            libm::log(a / b)
        }
    };
    let (not_p, not_q) = (1.0 - p, 1.0 - q);
    let on_heads = beta * ln_ratio(p, q, p - q);
    let on_tails = beta * ln_ratio(not_p, not_q, q - p);
    let (scaled, size) = if on_heads.abs().max(on_tails.abs()) < 1.0 {
        // The two parts nearly cancel, but each is small: the error stays a roundoff of their size.
        let (heads, tails) = (p * libm::expm1(on_heads), not_p * libm::expm1(on_tails));
        (libm::log1p(heads + tails), heads.abs() + tails.abs())
    } else {
        let (ln_p, ln_not_p) = (libm::log(p), libm::log1p(-p));
        let (heads, tails) = (ln_p + on_heads, ln_not_p + on_tails);
        let (high, low) = if heads >= tails {
            (heads, tails)
        } else {
            (tails, heads)
        };
        let size = 1.0 + ln_p.abs() + ln_not_p.abs() + on_heads.abs() + on_tails.abs();
        (high + libm::log1p(libm::exp(low - high)), size)
    };
    let bound = (scaled + 16.0 * UNIT * size) / beta;
    // A divergence is not negative; a NaN passes through to be rejected.
    if bound < 0.0 { 0.0 } else { bound }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_meet() {
        for e in [0.01, 1.0, 50.0] {
            for curve in [laplace, randomised_response] {
                let alpha = LARGE / e;
                let (below, above) = (curve(alpha * (1.0 - 1e-9), e), curve(alpha, e));
                assert!((below / above - 1.0).abs() < 1e-8);
            }
        }
    }
}
