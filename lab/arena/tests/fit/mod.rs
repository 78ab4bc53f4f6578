//! Growth rates from measurements: least squares on logarithms.
//!
//! A regret of c·T^a·(ln T)^b is a straight line in ln T once the power b of the logarithm, which a
//! theorem gives, has been divided out. Over the range of T that can be played, ln ln T is so
//! nearly a straight line in ln T itself that fitting a and b together would tell neither; hence b
//! is given.

/// A fitted power law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fit {
    /// a.
    pub(crate) exponent: f64,
    /// Standard error of a, from how far the points lie from the line.
    pub(crate) error: f64,
    /// c.
    pub(crate) constant: f64,
}

/// Fits y = c·x^a to points (x, y). Nothing, if there are fewer than three, or all at one x, or one
/// that is not positive and finite.
pub(crate) fn power(points: &[(f64, f64)]) -> Option<Fit> {
    let sound = |value: f64| value > 0.0 && value.is_finite();
    if points.len() < 3 || !points.iter().all(|&(x, y)| sound(x) && sound(y)) {
        return None;
    }
    let count = points.len() as f64;
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let middle_x = logs.iter().map(|(x, _)| x).sum::<f64>() / count;
    let middle_y = logs.iter().map(|(_, y)| y).sum::<f64>() / count;
    let spread: f64 = logs.iter().map(|(x, _)| (x - middle_x).powi(2)).sum();
    if spread < 1e-12 {
        return None;
    }
    let common: f64 = logs
        .iter()
        .map(|(x, y)| (x - middle_x) * (y - middle_y))
        .sum();
    let exponent = common / spread;
    let start = middle_y - exponent * middle_x;
    let rest: f64 = logs
        .iter()
        .map(|(x, y)| (y - start - exponent * x).powi(2))
        .sum();
    Some(Fit {
        exponent,
        error: (rest / (count - 2.0) / spread).sqrt(),
        constant: start.exp(),
    })
}

/// Fits regret = c·T^a·(ln T)^b to points (T, regret), for a given b = `logarithms`. Nothing, if
/// [`power`] would give nothing, or if a T is below 2.
pub(crate) fn growth(points: &[(u64, f64)], logarithms: f64) -> Option<Fit> {
    if points.iter().any(|&(t, _)| t < 2) {
        return None;
    }
    let flattened: Vec<(f64, f64)> = points
        .iter()
        .map(|&(t, regret)| (t as f64, regret / (t as f64).ln().powf(logarithms)))
        .collect();
    power(&flattened)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_laws_come_back() {
        for (exponent, logarithms) in [(0.5, 0.0), (0.5, 1.0), (0.0, 2.5), (-1.0, 0.0)] {
            let points: Vec<(u64, f64)> = (10..=17)
                .map(|power| 1_u64 << power)
                .map(|t| {
                    let x = t as f64;
                    (t, 3.0 * x.powf(exponent) * x.ln().powf(logarithms))
                })
                .collect();
            let fit = growth(&points, logarithms).unwrap();
            assert!((fit.exponent - exponent).abs() < 1e-12, "{fit:?}");
            assert!((fit.constant - 3.0).abs() < 1e-10, "{fit:?}");
            assert!(fit.error < 1e-12, "{fit:?}");
        }
    }

    /// By hand: ln y = 0, 1, 1 at ln x = 0, 1, 2 has slope ½, residuals −1/6, 1/3, −1/6 and so the
    /// error √(1/6/2).
    #[test]
    fn the_error_is_the_textbooks() {
        let e = std::f64::consts::E;
        let fit = power(&[(1.0, 1.0), (e, e), (e * e, e)]).unwrap();
        assert!((fit.exponent - 0.5).abs() < 1e-14);
        assert!((fit.error - (1.0_f64 / 12.0).sqrt()).abs() < 1e-14);
        assert!((fit.constant.ln() - 1.0 / 6.0).abs() < 1e-14);
    }

    #[test]
    fn what_has_no_exponent_gets_none() {
        assert_eq!(power(&[(1.0, 1.0), (2.0, 2.0)]), None);
        assert_eq!(power(&[(2.0, 1.0), (2.0, 2.0), (2.0, 3.0)]), None);
        assert_eq!(power(&[(1.0, 1.0), (2.0, -2.0), (3.0, 3.0)]), None);
        assert_eq!(power(&[(1.0, 1.0), (2.0, f64::NAN), (3.0, 3.0)]), None);
        assert_eq!(growth(&[(1, 1.0), (2, 1.0), (3, 1.0)], 1.0), None);
    }
}
