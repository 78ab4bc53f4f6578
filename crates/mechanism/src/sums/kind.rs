//! The kinds of sums: names, and the noise that each supports.

use super::cover::Noise;
use super::dense::Workload;
use std::fmt;
use std::str::FromStr;

use super::SumKind;

impl SumKind {
    /// The default number of BLT buffers: a fifth gains one percent at a million releases.
    pub const BLT: Self = Self::Blt(4);

    /// The dense sum with the least worst error.
    pub const DENSE: Self = Self::Dense(Workload::Max);

    /// The default number of buffers of a normalised filter: it gains more from a fifth.
    pub const NORMALISED: Self = Self::NormalisedBlt(5);

    /// Whether a run on it may be longer than planned.
    #[must_use]
    pub fn needs_no_horizon(self) -> bool {
        matches!(self, Self::Octave | Self::Eras)
    }

    /// Whether the sum supports the noise; if not, why.
    ///
    /// # Errors
    /// The excluded cells of the table in this module's documentation.
    pub fn accepts(self, noise: Noise) -> Result<(), Unfit> {
        match (self.about().refuses)(noise) {
            None => Ok(()),
            Some(reason) => Err(Unfit {
                sum: self,
                noise,
                reason,
            }),
        }
    }

    /// Whether the noise of every release has the same law.
    #[must_use]
    pub fn has_one_law(self) -> bool {
        self.about().one_law
    }

    /// The most releases that can be planned.
    #[must_use]
    pub fn most_releases(self) -> u64 {
        self.about().most_releases
    }

    /// Whether its releases protect an item only within a window.
    #[must_use]
    pub fn is_windowed(self) -> bool {
        matches!(self, Self::Window(_))
    }
}

/// An unsupported combination of sum and noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("sum {sum} cannot carry {noise} noise: {reason}")]
pub struct Unfit {
    /// The sum.
    pub sum: SumKind,
    /// The noise.
    pub noise: Noise,
    /// The reason, and an alternative.
    pub reason: &'static str,
}

impl fmt::Display for SumKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.about().name)?;
        match self {
            Self::Dense(workload) if *workload != Workload::Max => write!(f, ":{workload}"),
            _ => Ok(()),
        }
    }
}

impl FromStr for SumKind {
    type Err = String;

    /// Parses the names in the table, and `dense:` with a workload; `window` needs a width, so
    /// construct it directly.
    fn from_str(name: &str) -> Result<Self, String> {
        if let Some(workload) = name.strip_prefix("dense:") {
            return Ok(Self::Dense(workload.parse()?));
        }
        Self::ALL
            .into_iter()
            .find(|kind| kind.to_string() == name)
            .ok_or_else(|| {
                let names: Vec<String> = Self::ALL.iter().map(Self::to_string).collect();
                format!(
                    "no sum is called {name}; there are: {}, window",
                    names.join(", ")
                )
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_the_documentation_is_the_table_of_the_code() {
        let documented = include_str!("mod.rs");
        for kind in SumKind::ALL.into_iter().chain([SumKind::Window(5)]) {
            let row = documented
                .lines()
                .find(|line| line.starts_with(&format!("//! | `{kind}`")))
                .unwrap();
            let cells: Vec<&str> = row.split('|').skip(2).map(str::trim).collect();
            for (cell, noise) in
                cells
                    .iter()
                    .zip([Noise::Gaussian, Noise::Laplace, Noise::L2Laplace])
            {
                assert_eq!(*cell == "✓", kind.accepts(noise).is_ok(), "{kind} {noise}");
            }
        }
    }

    #[test]
    fn names_come_back() {
        for kind in SumKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        for workload in Workload::ALL {
            let kind = SumKind::Dense(workload);
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        assert!("dense:worst".parse::<SumKind>().is_err());
        assert!("forest".parse::<SumKind>().unwrap_err().contains("honaker"));
    }
}
