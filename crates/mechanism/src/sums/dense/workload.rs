//! What a sum's error is to be small for: a weight for every release.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Which releases count, and how much. A dense sum has the least Σ_t w_t·(variance of release t)
/// for its workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Workload {
    /// The worst release counts.
    #[default]
    Max,
    /// All releases count alike.
    Mean,
    /// Release t counts as a running mean, divided by t: w_t = 1/t².
    RunningMean,
    /// Release t of n counts γⁿ⁻ᵗ, and no release less than a millionth of the last. γ is in
    /// thousandths.
    Decay(u16),
    /// The last release counts as much as all others together.
    Last,
}

/// The smallest weight beside the largest.
const LEAST: f64 = 1e-6;

impl Workload {
    /// Every workload, with one γ.
    pub const ALL: [Self; 5] = [
        Self::Max,
        Self::Mean,
        Self::RunningMean,
        Self::Decay(990),
        Self::Last,
    ];

    /// The weights of releases 1 to n, which add up to 1; `None` for the worst release, whose
    /// weights are found with the strategy.
    #[must_use]
    pub fn weights(self, releases: u64) -> Option<Vec<f64>> {
        let last = releases.max(1);
        let weight = |t: u64| match self {
            Self::Max => None,
            Self::Mean => Some(1.0),
            Self::RunningMean => Some((t as f64).powi(-2)),
            Self::Decay(thousandths) => {
                let gamma = f64::from(thousandths) / 1000.0;
                Some(libm::pow(gamma, (last - t) as f64).max(LEAST))
            }
            Self::Last => Some(if t == last {
                (last - 1).max(1) as f64
            } else {
                1.0
            }),
        };
        let weights: Vec<f64> = (1..=last).map(weight).collect::<Option<_>>()?;
        let total: f64 = weights.iter().sum();
        Some(weights.iter().map(|weight| weight / total).collect())
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Max => f.write_str("max"),
            Self::Mean => f.write_str("mean"),
            Self::RunningMean => f.write_str("running-mean"),
            Self::Decay(thousandths) => write!(f, "decay({})", f64::from(*thousandths) / 1000.0),
            Self::Last => f.write_str("last"),
        }
    }
}

impl FromStr for Workload {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "max" => return Ok(Self::Max),
            "mean" => return Ok(Self::Mean),
            "running-mean" => return Ok(Self::RunningMean),
            "last" => return Ok(Self::Last),
            _ => {}
        }
        let gamma = name
            .strip_prefix("decay(")
            .and_then(|rest| rest.strip_suffix(')'));
        let Some(gamma) = gamma else {
            return Err(format!(
                "no workload is called {name}; there are: max, mean, running-mean, decay(G) with G \
                 from 0.001 to 1, last"
            ));
        };
        match gamma.parse::<f64>() {
            Ok(value) if (0.001..=1.0).contains(&value) => {
                Ok(Self::Decay((value * 1000.0).round() as u16))
            }
            _ => Err(format!(
                "decay({gamma}) is not allowed; allowed: a number from 0.001 to 1, in thousandths"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for workload in Workload::ALL {
            assert_eq!(workload.to_string().parse(), Ok(workload));
        }
        for wrong in [
            "worst",
            "decay",
            "decay(0)",
            "decay(2)",
            "decay(NaN)",
            "decay(x)",
        ] {
            assert!(wrong.parse::<Workload>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn weights_add_up_to_one_and_none_vanishes() {
        for workload in Workload::ALL {
            for n in [1, 2, 255, 1024] {
                let Some(weights) = workload.weights(n) else {
                    assert_eq!(workload, Workload::Max);
                    continue;
                };
                assert_eq!(weights.len() as u64, n);
                assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                assert!(weights.iter().all(|&weight| weight > 1e-12));
            }
        }
    }
}
