//! A recipe to be audited: with which sum, noise and budget, over how many releases, against which streams.

use super::contest::Contest;
use super::interrupted::Interruption;
use super::nodes::Nodes;
use super::scene::Scene;
use crate::AuditError;
use crate::bound::Claim;
use crate::duel::Duel;
use hushstream_account::{Adjacency, Budget, Charge};
use hushstream_engine::{CATALOGUE, MechanismKind, Recipe, RecipeName, RecipeRequest};
use hushstream_mechanism::Participation;
use hushstream_mechanism::sums::{Noise, SumKind};
use std::fmt;

/// So many items a window protects in an audit.
const WINDOW: u64 = 3;

/// A recipe to be audited.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    /// Which recipe.
    pub recipe: RecipeName,
    /// On which sum.
    pub sum: SumKind,
    /// With which noise.
    pub noise: Noise,
    /// What is promised.
    pub budget: Budget,
    /// Between which streams.
    pub adjacency: Adjacency,
    /// Records a person may have; 1 audits records.
    pub records_a_person: u64,
    /// n: one less than the rounds.
    pub releases: u64,
    /// Whether the run is interrupted too.
    pub interrupted: bool,
}

impl Target {
    /// A recipe on its paper's own sum, or another, with Gaussian noise if the budget has a δ.
    ///
    /// # Errors
    /// A recipe that does not stand on sums.
    pub fn new(
        recipe: RecipeName,
        sum: Option<SumKind>,
        budget: Budget,
    ) -> Result<Self, AuditError> {
        let MechanismKind::Sum(own) = recipe.entry().mechanism else {
            return Err(AuditError::NotOnSums(recipe));
        };
        let sum = match sum.unwrap_or(own) {
            SumKind::Window(0) => SumKind::Window(WINDOW),
            other => other,
        };
        let noise = match recipe {
            _ if !budget.is_pure() => Noise::Gaussian,
            RecipeName::Ftrl => Noise::Laplace,
            _ => Noise::L2Laplace,
        };
        Ok(Self {
            recipe,
            sum,
            noise,
            budget,
            adjacency: Adjacency::ReplaceOne,
            records_a_person: 1,
            releases: tight_releases(recipe, sum),
            interrupted: false,
        })
    }

    /// Every recipe that stands on sums on its own one and `pftal-convex` on every sum, with every noise, at the length where an audit can be tight and, where that is a single release,
    /// at seven too; persons, zero-out and interruptions on two sums. `gaussian` and `pure` are the budgets.
    #[must_use]
    pub fn all(gaussian: Budget, pure: Budget) -> Vec<Self> {
        let mut targets: Vec<Self> = Vec::new();
        let budget = |noise: Noise| if noise.is_pure() { pure } else { gaussian };
        let mut add = |recipe: RecipeName, sum: Option<SumKind>| {
            for noise in [Noise::Gaussian, Noise::Laplace, Noise::L2Laplace] {
                let Ok(plain) = Self::new(recipe, sum, budget(noise)) else {
                    return; // not on sums
                };
                let target = Self { noise, ..plain };
                if recipe.accepts(target.sum, noise).is_ok() && !targets.contains(&target) {
                    targets.push(target);
                    if target.releases == 1 {
                        targets.push(Self {
                            releases: 7,
                            ..target
                        });
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
        for sum in [SumKind::Tree, SumKind::BLT] {
            let Ok(plain) = Self::new(RecipeName::PftalConvex, Some(sum), gaussian) else {
                continue;
            };
            targets.push(Self {
                adjacency: Adjacency::ZeroOut,
                ..plain
            });
            targets.push(Self {
                records_a_person: 2,
                ..plain
            });
            targets.push(Self {
                interrupted: true,
                ..plain
            });
        }
        targets
    }

    /// The recipe, calibrated.
    ///
    /// # Errors
    /// A combination that does not fit.
    pub fn recipe(&self) -> Result<Recipe, AuditError> {
        let scene = self.scene()?;
        Ok(RecipeRequest {
            recipe: self.recipe,
            objective: scene.objective,
            set: scene.set,
            rounds: self.releases.saturating_add(1),
            batch: 1,
            budget: self.budget,
            adjacency: self.adjacency,
            participation: match self.records_a_person {
                1 => Participation::OncePerRecord,
                most => Participation::PerPerson {
                    most,
                    separation: 1,
                },
            },
            sum: Some(self.sum),
            noise: Some(self.noise),
            window: None,
            curvature: scene.curvature,
            learning_rate: None,
            tuned: scene.tuned,
        }
        .plan()?)
    }

    fn scene(&self) -> Result<Scene, AuditError> {
        Scene::of(self.recipe, self.noise.is_pure())
    }

    /// What the recipe claims: the price its ledger is charged, which is never above the budget.
    ///
    /// # Errors
    /// A combination that does not fit.
    pub fn claim(&self) -> Result<Claim, AuditError> {
        let recipe = self.recipe()?;
        let guarantee = recipe.plan().guarantee(true).map_err(|error| {
            AuditError::Plan(hushstream_mechanism::sums::PlanError::Guarantee(error))
        })?;
        let charge = recipe.plan().charge()?;
        Ok(match charge {
            Charge::Gaussian(mu) => Claim::Gaussian {
                mu: mu.get(),
                epsilon: guarantee.epsilon(),
                delta: guarantee.delta(),
            },
            _ => Claim::Pure {
                epsilon: guarantee.epsilon(),
            },
        })
    }

    /// The neighbouring streams: first, middle and last record, the one that most nodes contain, the same among records that react to what is published, and
    /// interrupted runs.
    ///
    /// # Errors
    /// A combination that does not fit.
    pub fn duels(&self) -> Result<Vec<Box<dyn Duel>>, AuditError> {
        let (recipe, scene) = (self.recipe()?, self.scene()?);
        let n = self.releases;
        let deepest = match self.sum {
            SumKind::Octave => 1 << n.ilog2(),
            _ => 1,
        };
        let mut places = vec![deepest, 1, n.div_ceil(2), n];
        let mut unique = Vec::new();
        places.retain(|place| {
            let fresh = !unique.contains(place);
            unique.push(*place);
            fresh
        });
        let contest = |place: u64, adaptive: bool, interruption: Interruption| {
            // A person's records stand as close together as they may: they share the most nodes.
            let canaries: Vec<u64> = (0..self.records_a_person)
                .map(|k| (place + k).min(n))
                .collect();
            let seen = match self.sum {
                SumKind::Window(width) => n.min(place + width - 1),
                _ => n,
            };
            let reach = if self.adjacency == Adjacency::ZeroOut {
                1.0
            } else {
                2.0
            };
            let readable = scene.reads_sums() && interruption == Interruption::Never;
            let nodes = (readable && self.noise.is_pure() && self.records_a_person == 1)
                .then(|| Nodes::of(self.sum, n, seen, (reach, self.budget.epsilon())))
                .flatten();
            let others = if adaptive { ", adaptive stream" } else { "" };
            let stop = match interruption {
                Interruption::Never => String::new(),
                Interruption::Stopped(at) => format!(", stopped after {at}"),
                Interruption::Restored(at) => format!(", old journal after {at}"),
            };
            Box::new(Contest {
                recipe: recipe.clone(),
                scene: scene.clone(),
                canaries,
                adaptive,
                interruption,
                seen,
                nodes,
                what: format!("record {place} of {n}{others}{stop}"),
            }) as Box<dyn Duel>
        };
        let mut duels: Vec<Box<dyn Duel>> = places
            .iter()
            .map(|&place| contest(place, false, Interruption::Never))
            .collect();
        if n > 1 {
            duels.push(contest(deepest, true, Interruption::Never));
        }
        if self.interrupted && n > 2 {
            let middle = n / 2;
            duels.push(contest(deepest, false, Interruption::Stopped(middle)));
            duels.push(contest(deepest, false, Interruption::Restored(middle)));
            duels.push(contest(middle, false, Interruption::Restored(middle)));
        }
        Ok(duels)
    }
}

/// The largest small number of releases for which what is published can reveal as much as is claimed: seven where every release brings one noise of its own, one where
/// releases carry noise that nothing else shows (padding, empty nodes) or the learner shows only a corner of its set.
fn tight_releases(recipe: RecipeName, sum: SumKind) -> u64 {
    let corner = matches!(
        recipe,
        RecipeName::Pqftl | RecipeName::Ftpl | RecipeName::CocoL
    );
    match sum {
        _ if corner => 1,
        SumKind::PaddedTree | SumKind::Honaker | SumKind::Smooth => 1,
        // Three levels of three would be thirteen: two of them reach four.
        SumKind::Kary => 4,
        _ => 7,
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (recipe, sum, noise) = (self.recipe, self.sum, self.noise);
        write!(f, "{recipe}, {sum}, {noise}, n = {}", self.releases)?;
        if self.adjacency == Adjacency::ZeroOut {
            f.write_str(", zero-out")?;
        }
        if self.records_a_person > 1 {
            write!(f, ", {} records a person", self.records_a_person)?;
        }
        if self.interrupted {
            f.write_str(", interrupted")?;
        }
        Ok(())
    }
}
