//! The one-dimensional part of a linear model's loss: φ(z, y) of the score z = ⟨w, x⟩ and the
//! target y. Everything about a link is in this file: a new one touches no other.

use super::Bounds;
use crate::scoreboard::Probability;
use hushstream_account::ParameterError;
use std::fmt;
use std::str::FromStr;

/// Width over which corners are rounded for proofs about steps; `explicit.rs` says why.
pub(super) const CORNER: f64 = 1.0 / (1 << 16) as f64;

/// A loss of score and target.
///
/// ```
/// use hushstream_mechanism::losses::Link;
///
/// assert!(Link::Logistic.is_classification()); // targets are ±1
/// assert!(Link::Quantile(0.9).check().is_ok());
/// assert!(Link::Quantile(1.5).check().is_err()); // the level must be in (0, 1)
/// assert_eq!("huber:0.5".parse(), Ok(Link::Huber(0.5)));
/// assert_eq!(Link::Quantile(0.9).to_string(), "quantile:0.9"); // enough to build it elsewhere
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Link {
    /// ln(1 + e^(−yz)), y = ±1.
    Logistic,
    /// ½(z − y)².
    Squared,
    /// max(0, 1 − yz), y = ±1.
    Hinge,
    /// The hinge with its corner rounded over a width γ: quadratic where 1 − γ < yz < 1. Smooth, as
    /// one-pass gradient methods require.
    SmoothedHinge(f64),
    /// Pinball loss of the τ-quantile; τ = ½ is half the absolute error.
    Quantile(f64),
    /// |z − y|.
    Absolute,
    /// Quadratic up to an error of δ, linear beyond.
    Huber(f64),
}

impl Link {
    /// Checks the parameter.
    ///
    /// # Errors
    /// γ or δ that is not positive and finite, τ outside (0, 1).
    pub fn check(self) -> Result<(), ParameterError> {
        let refused =
            |parameter, given, allowed| Err(ParameterError::new(parameter, given, allowed));
        match self {
            Self::SmoothedHinge(width) if !(width > 0.0 && width.is_finite()) => refused(
                "width of the smoothed hinge",
                width,
                "a positive finite number",
            ),
            Self::Huber(knee) if !(knee > 0.0 && knee.is_finite()) => {
                refused("knee of the Huber loss", knee, "a positive finite number")
            }
            Self::Quantile(level) if !(level > 0.0 && level < 1.0) => {
                refused("quantile", level, "between 0 and 1")
            }
            _ => Ok(()),
        }
    }

    /// Every link, with its usual parameter.
    pub const ALL: [Self; 7] = [
        Self::Logistic,
        Self::Squared,
        Self::Hinge,
        Self::SmoothedHinge(0.5),
        Self::Absolute,
        Self::Quantile(0.5),
        Self::Huber(1.0),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Logistic => "logistic",
            Self::Squared => "squared",
            Self::Hinge => "hinge",
            Self::SmoothedHinge(_) => "smoothed-hinge",
            Self::Quantile(_) => "quantile",
            Self::Absolute => "absolute",
            Self::Huber(_) => "huber",
        }
    }

    /// γ, τ or δ.
    #[must_use]
    pub fn parameter(self) -> Option<f64> {
        match self {
            Self::SmoothedHinge(given) | Self::Quantile(given) | Self::Huber(given) => Some(given),
            Self::Logistic | Self::Squared | Self::Hinge | Self::Absolute => None,
        }
    }

    /// The same with another parameter; nothing if it has none.
    fn with(self, given: f64) -> Option<Self> {
        match self {
            Self::SmoothedHinge(_) => Some(Self::SmoothedHinge(given)),
            Self::Quantile(_) => Some(Self::Quantile(given)),
            Self::Huber(_) => Some(Self::Huber(given)),
            Self::Logistic | Self::Squared | Self::Hinge | Self::Absolute => None,
        }
    }

    /// The map from scores to probabilities. Minimisers of hinge, absolute, quantile and Huber
    /// losses do not estimate probabilities, so these losses have none.
    #[must_use]
    pub fn probability(self) -> Option<Probability> {
        match self {
            Self::Logistic => Some(Probability::Logistic),
            Self::Squared => Some(Probability::Linear),
            _ => None,
        }
    }

    /// Whether targets are ±1.
    #[must_use]
    pub fn is_classification(self) -> bool {
        matches!(self, Self::Logistic | Self::Hinge | Self::SmoothedHinge(_))
    }

    /// A bound on |∂φ/∂z| for scores and targets within bounds.
    pub(crate) fn steepest(self, bounds: &Bounds) -> f64 {
        match self {
            Self::Logistic | Self::Hinge | Self::SmoothedHinge(_) | Self::Absolute => 1.0,
            Self::Squared => bounds.margin() + bounds.target_magnitude(),
            Self::Quantile(level) => level.max(1.0 - level),
            Self::Huber(knee) => knee.min(bounds.margin() + bounds.target_magnitude()),
        }
    }

    /// Whether [`Link::steepest`] holds for weights within bounds only.
    pub(super) fn is_steeper_far_out(self) -> bool {
        matches!(self, Self::Squared | Self::Huber(_))
    }

    /// The least and the largest slope for scores up to `score` and targets in an interval.
    pub(super) fn slopes(self, score: f64, (low, high): (f64, f64)) -> (f64, f64) {
        match self {
            Self::Squared => (-score - high, score - low),
            // All targets may lie beyond one knee.
            Self::Huber(knee) => (
                (-score - high).clamp(-knee, knee),
                (score - low).clamp(-knee, knee),
            ),
            Self::Quantile(level) => (-level, 1.0 - level),
            Self::Logistic | Self::Hinge | Self::SmoothedHinge(_) | Self::Absolute => (-1.0, 1.0),
        }
    }

    /// A bound on the second derivative in z.
    pub(super) fn curvature(self) -> Option<f64> {
        match self {
            Self::Logistic => Some(0.25),
            Self::Squared | Self::Huber(_) => Some(1.0),
            Self::SmoothedHinge(width) => Some(1.0 / width),
            Self::Hinge | Self::Absolute | Self::Quantile(_) => None,
        }
    }

    /// The same with corners rounded.
    pub(super) fn rounded_curvature(self) -> f64 {
        match self {
            Self::Absolute => 2.0 / CORNER,
            _ => self.curvature().unwrap_or(1.0 / CORNER),
        }
    }

    /// ∂φ/∂z with corners rounded, the same bits everywhere.
    pub(super) fn rounded_slope(self, z: f64, y: f64) -> f64 {
        match self {
            // Use libm: a platform's exponential may differ in the last bit.
            Self::Logistic => -y / (1.0 + libm::exp(y * z)),
            Self::Hinge => Self::SmoothedHinge(CORNER).slope(z, y),
            Self::Absolute => (2.0 * (z - y) / CORNER).clamp(-1.0, 1.0),
            Self::Quantile(level) => ((z - y) / CORNER + 0.5).clamp(0.0, 1.0) - level,
            Self::Squared | Self::SmoothedHinge(_) | Self::Huber(_) => self.slope(z, y),
        }
    }

    /// φ(z, y).
    pub(crate) fn value(self, z: f64, y: f64) -> f64 {
        match self {
            // Written so that neither branch overflows.
            Self::Logistic => (-(y * z).abs()).exp().ln_1p() + (-y * z).max(0.0),
            Self::Squared => 0.5 * (z - y).powi(2),
            Self::Hinge => (1.0 - y * z).max(0.0),
            Self::SmoothedHinge(width) => {
                let gap = 1.0 - y * z;
                if gap <= 0.0 {
                    0.0
                } else if gap < width {
                    gap * gap / (2.0 * width)
                } else {
                    gap - width / 2.0
                }
            }
            Self::Quantile(level) => {
                let error = y - z;
                (level * error).max((level - 1.0) * error)
            }
            Self::Absolute => (z - y).abs(),
            Self::Huber(knee) => {
                let error = (z - y).abs();
                if error <= knee {
                    0.5 * error * error
                } else {
                    knee * (error - 0.5 * knee)
                }
            }
        }
    }

    /// ∂φ/∂z, a subgradient at corners.
    pub(crate) fn slope(self, z: f64, y: f64) -> f64 {
        match self {
            Self::Logistic => -y / (1.0 + (y * z).exp()),
            Self::Squared => z - y,
            Self::Hinge => {
                if y * z < 1.0 {
                    -y
                } else {
                    0.0
                }
            }
            Self::SmoothedHinge(width) => -y * ((1.0 - y * z) / width).clamp(0.0, 1.0),
            Self::Quantile(level) => {
                if z < y {
                    -level
                } else {
                    1.0 - level
                }
            }
            Self::Absolute => {
                if z < y {
                    -1.0
                } else {
                    1.0
                }
            }
            Self::Huber(knee) => (z - y).clamp(-knee, knee),
        }
    }
}

/// The name, and the parameter where it is not the usual one.
impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self.parameter() {
            Some(given) if !Self::ALL.contains(self) => write!(f, ":{given}"),
            _ => Ok(()),
        }
    }
}

impl FromStr for Link {
    type Err = String;

    /// A name, with `:` and a parameter where it has one.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, given) = match text.split_once(':') {
            Some((name, given)) => (name, Some(given)),
            None => (text, None),
        };
        let usual = Self::ALL.into_iter().find(|link| link.name() == name);
        let usual =
            usual.ok_or_else(|| format!("allowed: {}", Self::ALL.map(Self::name).join(", ")))?;
        let Some(given) = given else {
            return Ok(usual);
        };
        let number = given
            .parse()
            .map_err(|_| format!("{name}: expected a number after the colon"))?;
        let link = usual
            .with(number)
            .ok_or_else(|| format!("{name} has no parameter"))?;
        link.check().map_err(|refused| refused.to_string())?;
        Ok(link)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Link; 7] = [
        Link::Logistic,
        Link::Squared,
        Link::Hinge,
        Link::SmoothedHinge(0.5),
        Link::Quantile(0.9),
        Link::Absolute,
        Link::Huber(0.7),
    ];

    #[test]
    fn slopes_are_derivatives_and_stay_within_their_bounds() {
        let bounds = Bounds::new(2.0, (-1.0, 1.0), 3.0).unwrap();
        for link in ALL {
            for step in -59..=59 {
                let z = f64::from(step) * 0.1 + 0.003;
                for y in [-1.0, 1.0] {
                    let h = 1e-6;
                    let numeric = (link.value(z + h, y) - link.value(z - h, y)) / (2.0 * h);
                    assert!(
                        (numeric - link.slope(z, y)).abs() < 1e-5,
                        "{link:?} {z} {y}"
                    );
                    assert!(link.slope(z, y).abs() <= link.steepest(&bounds) + 1e-12);
                    if let Some(curvature) = link.curvature() {
                        let bend = (link.slope(z + 0.01, y) - link.slope(z, y)) / 0.01;
                        assert!(
                            (-1e-9..=curvature + 1e-9).contains(&bend),
                            "{link:?} {z} {y}: {bend}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn extreme_scores_do_not_overflow() {
        for link in ALL {
            for z in [-1e300, 1e300] {
                for y in [-1.0, 1.0] {
                    assert!(
                        !link.value(z, y).is_nan() && !link.slope(z, y).is_nan(),
                        "{link:?} {z}"
                    );
                }
            }
        }
        assert!((Link::Logistic.value(-1000.0, 1.0) - 1000.0).abs() < 1e-9);
    }

    /// The name with its parameter builds the same link.
    #[test]
    fn names_come_back() {
        for link in ALL.into_iter().chain(Link::ALL) {
            assert_eq!(link.to_string().parse(), Ok(link));
        }
        assert_eq!("quantile".parse(), Ok(Link::Quantile(0.5)));
        assert_eq!("huber:1".parse::<Link>().unwrap().to_string(), "huber");
        for (bad, why) in [
            ("svm", "smoothed-hinge"),
            ("logistic:2", "no parameter"),
            ("huber:wide", "a number"),
            ("quantile:2", "between 0 and 1"),
        ] {
            let refused = bad.parse::<Link>().unwrap_err();
            assert!(refused.contains(why), "{bad}: {refused}");
        }
    }

    #[test]
    fn bad_parameters_are_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Link::SmoothedHinge(bad).check().is_err());
            assert!(Link::Huber(bad).check().is_err());
        }
        assert!(Link::Quantile(1.0).check().is_err() && Link::Quantile(0.0).check().is_err());
        assert!(ALL.iter().all(|link| link.check().is_ok()));
    }
}
