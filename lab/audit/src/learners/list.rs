//! What `audit all` audits.

use super::{Target, selection};
use crate::AuditError;
use hushstream_account::{Adjacency, Budget};
use hushstream_mechanism::sums::{Noise, SumKind};
use hushstream_recipes::{CATALOGUE, MechanismKind, RecipeName};

impl Target {
    /// Every recipe, on its own sum if it has one, and `pftal-convex` on every sum, with every
    /// noise, at the length where an audit can be tight and, but for iterates, where that is a
    /// single release, at seven too; persons, zero-out, batches and interruptions on two sums, on
    /// iterates and on the sparse tree; zero-out and interruptions on the others, and persons on a
    /// bandit. `gaussian` and `pure` are the budgets.
    pub fn all(gaussian: Budget, pure: Budget) -> Vec<Self> {
        let mut targets: Vec<Self> = Vec::new();
        let budget = |noise: Noise| if noise.is_pure() { pure } else { gaussian };
        let mut add = |recipe: RecipeName, sum: Option<SumKind>| {
            for noise in [Noise::Gaussian, Noise::Laplace, Noise::L2Laplace] {
                let Ok(plain) = Self::new(recipe, sum, budget(noise)) else {
                    return; // no attacks
                };
                let target = Self { noise, ..plain };
                if target.exists() && !targets.contains(&target) {
                    targets.push(target);
                    let iterates = recipe.entry().mechanism == MechanismKind::Iterate;
                    if target.releases == 1 && !iterates {
                        targets.push(target.but(|other| other.releases = 7));
                    }
                }
            }
        };
        for entry in CATALOGUE {
            add(entry.recipe, None);
        }
        for sum in SumKind::ALL {
            add(RecipeName::PftalConvex, Some(sum));
        }
        for (recipe, sum) in [
            (RecipeName::PftalConvex, Some(SumKind::Tree)),
            (RecipeName::PftalConvex, Some(SumKind::BLT)),
            (RecipeName::Pigd, None),
            (RecipeName::SparseFtrl, None),
        ] {
            let Ok(plain) = Self::new(recipe, sum, gaussian) else {
                continue;
            };
            targets.push(plain.but(|other| other.adjacency = Adjacency::ZeroOut));
            if recipe != RecipeName::SparseFtrl {
                targets.push(plain.but(|other| other.records_a_person = 2));
            }
            let interrupted = plain.but(|other| other.interrupted = true);
            targets.push(interrupted);
            if sum.is_some() {
                targets.push(interrupted.but(|other| other.batch = 3));
            }
        }
        for (recipe, budget) in [
            (RecipeName::Dartboard, pure),
            (RecipeName::HedgeBatched, pure),
            (RecipeName::LimitedUpdates, pure),
            (RecipeName::LimitedUpdates, gaussian),
            (RecipeName::Exp2Batched, pure),
            (RecipeName::PftalBandit, gaussian),
        ] {
            let Ok(plain) = Self::new(recipe, None, budget) else {
                continue;
            };
            let mut plains = vec![plain];
            if recipe == RecipeName::LimitedUpdates && budget.is_pure() {
                // On convex losses too.
                plains.push(plain.but(|other| other.noise = Noise::L2Laplace));
            }
            for plain in plains {
                targets.push(plain.but(|other| other.adjacency = Adjacency::ZeroOut));
                targets.push(plain.but(|other| {
                    (other.interrupted, other.releases) = (true, super::target::SEVERAL);
                }));
            }
            if recipe == RecipeName::Exp2Batched {
                targets.push(plain.but(|other| other.records_a_person = 2));
            }
        }
        targets.extend(Self::spent_dartboard(pure));
        targets
    }

    /// `dartboard` with a single draw, over many rounds after it.
    ///
    /// # Errors
    /// None; as [`Target::new`].
    pub fn spent_dartboard(budget: Budget) -> Result<Self, AuditError> {
        let plain = Self::new(RecipeName::Dartboard, None, budget)?;
        Ok(plain.but(|other| other.releases = selection::SPENT))
    }

    /// The same with a change.
    fn but(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}
