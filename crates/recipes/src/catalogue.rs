//! Every recipe: where it comes from, what was corrected, when to use it, and its regret as printed
//! and as it holds.

mod bandits;
mod coco;
mod decisions;
mod experts;
mod ftpl;
mod ftrl;
mod iterates;
mod pftal;
mod pftal_convex;
mod pqftl;
mod sparse;
mod tables;

use crate::bandits::BanditRules;
use crate::experts::Among;
use crate::iterates::{Calibration, IterateRules};
use crate::linear::{LearnsFrom, OnSums};
use hushstream_mechanism::select::Method;
use hushstream_mechanism::sums::{Noise, SumKind};
use std::fmt;
use std::str::FromStr;

/// The list of all recipes: a name for each, and the entry that says what it does.
macro_rules! recipes {
    ($($(#[$doc:meta])* $name:ident = $entry:path,)*) => {
        /// A recipe's name, as its paper has it.
        ///
        /// ```
        /// use hushstream_recipes::RecipeName;
        ///
        /// let recipe: RecipeName = "pftal-convex".parse()?;
        /// assert_eq!(recipe, RecipeName::PftalConvex);
        /// assert_eq!(recipe.to_string(), recipe.entry().name);
        /// println!("{}", recipe.entry().source); // paper and algorithm
        /// # Ok::<(), String>(())
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum RecipeName {
            $($(#[$doc])* $name,)*
        }

        /// All recipes.
        pub const CATALOGUE: &[Entry] = &[$($entry,)*];
    };
}

recipes! {
    /// Private follow-the-approximate-leader, strongly convex losses.
    Pftal = pftal::ENTRY,
    /// The same for general convex losses.
    PftalConvex = pftal_convex::ENTRY,
    /// Private quadratic follow-the-leader: least squares on second moments.
    Pqftl = pqftl::ENTRY,
    /// Private follow-the-regularised-leader for linear losses.
    Ftrl = ftrl::ENTRY,
    /// Private follow-the-perturbed-leader for linear losses.
    Ftpl = ftpl::ENTRY,
    /// Window-private constrained online convex optimisation, with projection.
    CocoP = coco::COCO_P,
    /// The same without projection.
    CocoL = coco::COCO_L,
    /// Private shrinking dartboard: prediction from expert advice.
    Dartboard = experts::DARTBOARD,
    /// The same in batches.
    DartboardBatched = experts::DARTBOARD_BATCHED,
    /// Hedge in batches, a private draw after each.
    HedgeBatched = experts::HEDGE_BATCHED,
    /// Convex losses in few dimensions: a dartboard on a net.
    Cover = experts::COVER,
    /// An update at every power of two, for stochastic losses.
    LimitedUpdates = experts::LIMITED_UPDATES,
    /// Multiplicative weights for bandits.
    Exp2 = bandits::EXP2,
    /// The same, holding an arm for a batch of rounds.
    Exp2Batched = bandits::EXP2_BATCHED,
    /// Linear bandits on convex sets with a barrier.
    Scrible = bandits::SCRIBLE,
    /// Private follow-the-approximate-leader from function values.
    PftalBandit = bandits::PFTAL_BANDIT,
    /// Follow the regularised leader over millions of hashed features.
    SparseFtrl = sparse::ENTRY,
    /// Curves of columns and tables of cells: a model of tables that is not linear.
    Tables = tables::ENTRY,
    /// Decisions that depend on a context, drawn by inverse gap weighting.
    Igw = decisions::IGW,
    /// The same by the largest upper bound, for comparison.
    LinucbJdp = decisions::LINUCB_JDP,
    /// Private implicit gradient descent, strongly convex losses.
    Pigd = iterates::PIGD,
    /// The same with decreasing regularisation, for losses that are not.
    PigdConvex = iterates::PIGD_CONVEX,
    /// Private explicit gradient descent (GIGA).
    Pgiga = iterates::PGIGA,
    /// Private online convex programming: any learner with a proved sensitivity.
    Pocp = iterates::POCP,
    /// The same for an unknown horizon.
    PocpAnytime = iterates::POCP_ANYTIME,
    /// Private offline learning: one model, the average of iterates.
    Pol = iterates::POL,
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

/// Stated parameters of a method, which a recipe takes or refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// The sum.
    Sum,
    /// The noise.
    Noise,
    /// The loss.
    Loss,
    /// Where the weights live.
    Set,
    /// Its radius.
    Radius,
    /// H, or α.
    Curvature,
    /// η.
    Rate,
    /// λ of least squares.
    Ridge,
    /// Items for which a record is protected.
    Window,
    /// Rounds after which it begins anew.
    Restart,
}

/// The wishes of recipes on gradients.
const GRADIENTS: &[Wish] = &[
    Wish::Sum,
    Wish::Noise,
    Wish::Loss,
    Wish::Set,
    Wish::Radius,
    Wish::Curvature,
];

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sum => "a sum",
            Self::Noise => "a noise",
            Self::Loss => "a loss",
            Self::Set => "a set",
            Self::Radius => "a radius",
            Self::Curvature => "a curvature",
            Self::Rate => "a learning rate",
            Self::Ridge => "a ridge",
            Self::Window => "a window",
            Self::Restart => "restarts",
        })
    }
}

/// What tells a recipe from the others of its family.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rules {
    /// On a continual sum.
    Sum(&'static dyn OnSums),
    /// On a private selection.
    Choice(Method, Among),
    /// On scalar feedback.
    Bandit(BanditRules),
    /// On perturbed iterates.
    Iterate(IterateRules),
    /// There is no other in its family.
    Alone,
}

/// A recipe: what there is to know of it, and its own rules.
#[derive(Debug, Clone, Copy)]
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
    /// The parameters that it takes, besides those of every run.
    pub hears: &'static [Wish],
    /// Its own rules.
    pub(crate) rules: Rules,
}

impl RecipeName {
    /// Its entry.
    #[must_use]
    pub fn entry(self) -> &'static Entry {
        &CATALOGUE[self as usize]
    }

    /// What it learns from, if it stands on sums of contributions.
    #[must_use]
    pub fn learns_from(self) -> Option<LearnsFrom> {
        self.on_sums().map(OnSums::learns_from)
    }

    /// Whether it decides among arms by a context.
    #[must_use]
    pub fn decides(self) -> bool {
        matches!(self, Self::Igw | Self::LinucbJdp)
    }

    /// Whether it is a selection among the points of a net: on losses, not on experts.
    #[must_use]
    pub fn plays_on_points(self) -> bool {
        matches!(self.entry().rules, Rules::Choice(_, Among::Points))
    }

    /// Whether it works with the curvature of a loss, and a loss without any needs one.
    #[must_use]
    pub fn needs_curvature(self) -> bool {
        let Rules::Iterate(rules) = self.entry().rules else {
            return false;
        };
        !matches!(rules.curvature, Calibration::Balanced(_))
    }

    pub(crate) fn on_sums(self) -> Option<&'static dyn OnSums> {
        match self.entry().rules {
            Rules::Sum(rules) => Some(rules),
            _ => None,
        }
    }

    /// Whether it runs on this sum with this noise; if not, why.
    ///
    /// # Errors
    /// The reason, for people.
    pub fn accepts(self, sum: SumKind, noise: Noise) -> Result<(), String> {
        let (MechanismKind::Sum(own) | MechanismKind::Values(own)) = self.entry().mechanism else {
            return Err(format!(
                "{self} does not stand on sums: it has none to choose"
            ));
        };
        sum.accepts(noise).map_err(|unfit| unfit.to_string())?;
        let refused = match (own.is_windowed(), sum.is_windowed()) {
            (true, false) => Some("its guarantee is about a window: it needs --sum window"),
            (false, true) => Some(
                "it promises privacy of the transcript, which a window does not give; use coco-p",
            ),
            _ if noise == Noise::Laplace && self.decides() => {
                Some("second moments are bounded in L2: use l2-laplace or gaussian")
            }
            _ => self.on_sums().and_then(|rules| rules.refuses(sum, noise)),
        };
        refused.map_or(Ok(()), |reason| {
            Err(format!(
                "{self} cannot run on sum {sum} with {noise} noise: {reason}"
            ))
        })
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
            assert_eq!(entry.recipe.entry().name, entry.name);
            let fits = match entry.rules {
                Rules::Sum(_) => matches!(entry.mechanism, MechanismKind::Sum(_)),
                Rules::Choice(..) => {
                    let kinds = [MechanismKind::Selection, MechanismKind::Batch];
                    kinds.contains(&entry.mechanism)
                }
                Rules::Bandit(_) => entry.mechanism == MechanismKind::Feedback,
                Rules::Iterate(_) => entry.mechanism == MechanismKind::Iterate,
                Rules::Alone => matches!(
                    entry.mechanism,
                    MechanismKind::SparseTree | MechanismKind::Values(_) | MechanismKind::Sum(_)
                ),
            };
            assert!(fits, "{}: rules of another family", entry.name);
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
