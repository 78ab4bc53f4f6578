//! The sums, and the noise that each supports: the registry.
//!
//! | sum | Gaussian | Laplace | L2-Laplace | horizon |
//! |---|---|---|---|---|
//! | `tree` | ✓ | ✓ | ✓ | known |
//! | `tree-padded` | ✓ | ✓ | ✓ | known |
//! | `honaker` | ✓ | ✓ | ✓ | known |
//! | `smooth` | ✓ | ✓ | ✓ | known |
//! | `blt` | ✓ | no: its rows are real-weighted, pure noise would have to cover an L1 norm that grows | no | known, or over-provisioned |
//! | `kary` | no: other sums are better | ✓ | ✓ | known |
//! | `window` | ✓ | ✓ | ✓ | known; another guarantee |
//! | `octave` | ✓ | ✓ | ✓ | unknown |
//! | `fresh` | ✓ | ✓ | ✓ | known; for people who are in every item |

use super::cover::Noise;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A way to release every prefix sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SumKind {
    /// The papers' binary tree.
    Tree,
    /// The binary tree with AS17's padding: every release has the same noise law.
    PaddedTree,
    /// The binary tree with every node noised and combined.
    Honaker,
    /// Constant-weight codes: identical noise law without padding.
    Smooth,
    /// Buffered linear Toeplitz filter with this many buffers (2 to 8).
    Blt(u8),
    /// k-ary tree with subtraction.
    Kary,
    /// Binary tree over this many last items: protects an item only while it is in the window.
    Window(u64),
    /// A fresh binary tree for each power of two of items: unknown horizon.
    Octave,
    /// Fresh noise for every item, added up.
    Fresh,
}

impl SumKind {
    /// The default number of BLT buffers: a fifth gains one percent at a million releases.
    pub const BLT: Self = Self::Blt(4);

    /// Every kind with a transcript guarantee, in the order of the table.
    pub const ALL: [Self; 8] = [
        Self::Tree,
        Self::PaddedTree,
        Self::Honaker,
        Self::Smooth,
        Self::BLT,
        Self::Kary,
        Self::Octave,
        Self::Fresh,
    ];

    /// Whether the sum supports the noise; if not, why.
    ///
    /// # Errors
    /// The excluded cells of the table above.
    pub fn accepts(self, noise: Noise) -> Result<(), Unfit> {
        let reason = match (self, noise) {
            (Self::Blt(_), Noise::Laplace | Noise::L2Laplace) => {
                "its rows are real-weighted, so it needs Gaussian noise and delta > 0"
            }
            (Self::Kary, Noise::Gaussian) => {
                "it saves levels, which pays for pure privacy only; use honaker, smooth or blt"
            }
            _ => return Ok(()),
        };
        Err(Unfit {
            sum: self,
            noise,
            reason,
        })
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
        f.write_str(match self {
            Self::Tree => "tree",
            Self::PaddedTree => "tree-padded",
            Self::Honaker => "honaker",
            Self::Smooth => "smooth",
            Self::Blt(_) => "blt",
            Self::Kary => "kary",
            Self::Window(_) => "window",
            Self::Octave => "octave",
            Self::Fresh => "fresh",
        })
    }
}

impl FromStr for SumKind {
    type Err = String;

    /// Parses the names in the table; `window` needs a width, so construct it directly.
    fn from_str(name: &str) -> Result<Self, String> {
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
        let documented = include_str!("kind.rs");
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
        assert!("forest".parse::<SumKind>().unwrap_err().contains("honaker"));
    }
}
