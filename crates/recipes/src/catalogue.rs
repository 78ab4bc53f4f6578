//! Every recipe: where it comes from, what was corrected, when to use it, and its regret as printed
//! and as it holds.

mod entries;

pub use entries::CATALOGUE;

use hushstream_mechanism::sums::{Noise, SumKind};
use std::fmt;
use std::str::FromStr;

/// A recipe's name, as its paper has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecipeName {
    /// Private follow-the-approximate-leader, strongly convex losses.
    Pftal,
    /// The same for general convex losses.
    PftalConvex,
    /// Private quadratic follow-the-leader: least squares on second moments.
    Pqftl,
    /// Private follow-the-regularised-leader for linear losses.
    Ftrl,
    /// Private follow-the-perturbed-leader for linear losses.
    Ftpl,
    /// Window-private constrained online convex optimisation, with projection.
    CocoP,
    /// The same without projection.
    CocoL,
    /// Private shrinking dartboard: prediction from expert advice.
    Dartboard,
    /// The same in batches.
    DartboardBatched,
    /// Hedge in batches, a private draw after each.
    HedgeBatched,
    /// Convex losses in few dimensions: a dartboard on a net.
    Cover,
    /// An update at every power of two, for stochastic losses.
    LimitedUpdates,
    /// Multiplicative weights for bandits.
    Exp2,
    /// The same, holding an arm for a batch of rounds.
    Exp2Batched,
    /// Linear bandits on convex sets with a barrier.
    Scrible,
    /// Private follow-the-approximate-leader from function values.
    PftalBandit,
    /// Follow the regularised leader over millions of hashed features.
    SparseFtrl,
    /// Curves of columns and tables of cells: a model of tables that is not linear.
    Tables,
    /// Private implicit gradient descent, strongly convex losses.
    Pigd,
    /// The same with decreasing regularisation, for losses that are not.
    PigdConvex,
    /// Private explicit gradient descent (GIGA).
    Pgiga,
    /// Private online convex programming: any learner with a proved sensitivity.
    Pocp,
    /// The same for an unknown horizon.
    PocpAnytime,
    /// Private offline learning: one model, the average of iterates.
    Pol,
}

/// The column of the design's table that a recipe stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MechanismKind {
    /// A continual sum: the paper's own, which is the default.
    Sum(SumKind),
    /// A binary tree that is read where a record has features.
    SparseTree,
    /// Private selection: the choice itself.
    Selection,
    /// Scalar feedback: one noisy number a play.
    Feedback,
    /// A private batch solver.
    Batch,
    /// Function values, as one-point gradients, in a continual sum.
    Values(SumKind),
    /// The iterate itself, with noise.
    Iterate,
}

impl fmt::Display for MechanismKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sum(kind) => write!(f, "sum {kind} (any that fits with --sum)"),
            Self::SparseTree => f.write_str("binary tree, read where a record has features"),
            Self::Selection => f.write_str("private selection"),
            Self::Feedback => f.write_str("scalar feedback"),
            Self::Batch => f.write_str("private batch solver"),
            Self::Values(kind) => write!(f, "function values in sum {kind}"),
            Self::Iterate => f.write_str("perturbed iterates"),
        }
    }
}

/// What there is to know of a recipe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entry {
    /// Its name.
    pub recipe: RecipeName,
    /// As written on a command line.
    pub name: &'static str,
    /// Paper and algorithm.
    pub source: &'static str,
    /// Errata that are corrected.
    pub errata: &'static [&'static str],
    /// The guarantee.
    pub guarantee: &'static str,
    /// When to use it.
    pub when: &'static str,
    /// The mechanism that reads the records.
    pub mechanism: MechanismKind,
    /// Regret as printed.
    pub printed: &'static str,
    /// Regret as it holds with our calibration.
    pub holds: &'static str,
}

impl RecipeName {
    /// Its entry.
    #[must_use]
    pub fn entry(self) -> &'static Entry {
        let found = CATALOGUE.iter().find(|entry| entry.recipe == self);
        found.expect("every recipe is in the catalogue, which a test checks")
    }

    /// Whether it runs on this sum with this noise; if not, why.
    ///
    /// # Errors
    /// The reason, for people.
    pub fn accepts(self, sum: SumKind, noise: Noise) -> Result<(), String> {
        if !matches!(
            self.entry().mechanism,
            MechanismKind::Sum(_) | MechanismKind::Values(_)
        ) {
            return Err(format!(
                "{self} does not stand on sums: it has none to choose"
            ));
        }
        sum.accepts(noise).map_err(|unfit| unfit.to_string())?;
        let windowed = matches!(self, Self::CocoP | Self::CocoL);
        let reason = match self {
            _ if windowed != sum.is_windowed() => {
                if windowed {
                    "its guarantee is about a window: it needs --sum window"
                } else {
                    "it promises privacy of the transcript, which a window does not give; use \
                     coco-p"
                }
            }
            Self::Ftpl if noise != Noise::Gaussian => {
                "its regret needs Gaussian noise and delta > 0"
            }
            Self::Ftpl if !matches!(sum, SumKind::PaddedTree | SumKind::Smooth) => {
                "its regret needs noise of one law for every release: use tree-padded or smooth"
            }
            Self::Pqftl if noise == Noise::Laplace => {
                "second moments are bounded in L2: use l2-laplace or gaussian"
            }
            _ => return Ok(()),
        };
        Err(format!(
            "{self} cannot run on sum {sum} with {noise} noise: {reason}"
        ))
    }
}

impl fmt::Display for RecipeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry().name)
    }
}

impl FromStr for RecipeName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = CATALOGUE.iter().find(|entry| entry.name == name);
        found.map(|entry| entry.recipe).ok_or_else(|| {
            let names: Vec<&str> = CATALOGUE.iter().map(|entry| entry.name).collect();
            format!(
                "no recipe is called {name}; there are: {}",
                names.join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recipe_has_one_entry_and_its_name_comes_back() {
        for entry in CATALOGUE {
            assert_eq!(entry.name.parse(), Ok(entry.recipe));
            assert_eq!(entry.recipe.to_string(), entry.name);
        }
        assert!(
            "svm"
                .parse::<RecipeName>()
                .unwrap_err()
                .contains("pftal-convex")
        );
    }

    #[test]
    fn impossible_cells_say_why() {
        let refused = |recipe: RecipeName, sum, noise| recipe.accepts(sum, noise).unwrap_err();
        assert!(refused(RecipeName::Ftpl, SumKind::Tree, Noise::Gaussian).contains("one law"));
        assert!(refused(RecipeName::Ftpl, SumKind::Smooth, Noise::Laplace).contains("Gaussian"));
        assert!(refused(RecipeName::CocoP, SumKind::Tree, Noise::Gaussian).contains("window"));
        assert!(refused(RecipeName::Pftal, SumKind::Window(9), Noise::Gaussian).contains("coco-p"));
        assert!(refused(RecipeName::Pftal, SumKind::BLT, Noise::Laplace).contains("blt"));
        assert!(
            refused(RecipeName::Pigd, SumKind::Tree, Noise::Gaussian)
                .contains("does not stand on sums")
        );
        assert!(
            RecipeName::PftalConvex
                .accepts(SumKind::BLT, Noise::Gaussian)
                .is_ok()
        );
    }
}
