//! A recipe to be audited: with which sum, noise and budget, over how many releases, against which
//! streams.

use super::contest::Contest;
use super::nodes::Nodes;
use super::scene::Scene;
use super::stage::{Interruption, Terms};
use super::{batch, decisions, feedback, iterate, selection, sparse, tables, values};
use crate::AuditError;
use crate::bound::Claim;
use crate::duel::Duel;
use hushstream_account::{Adjacency, Budget, Guarantee, Price};
use hushstream_mechanism::sums::{Noise, SumKind};
use hushstream_mechanism::{Participation, Scope};
use hushstream_recipes::{MechanismKind, Recipe, RecipeError, RecipeName, RecipeRequest};
use std::fmt;

/// So many items a window protects in an audit.
const WINDOW: u64 = 3;
/// So many releases of iterates, and of a tree that is read where records have features. With pure
/// noise a single one tells most: the claim is reached where all noises agree, which is rare among
/// many.
const ITERATES: u64 = 7;
/// So many releases where none of them hides another: answers, one-point gradients, the points of
/// three octaves.
pub(super) const SEVERAL: u64 = 7;
/// Of a solver: that it draws among experts, which adds no noise.
pub(super) const DRAWS: Noise = Noise::Laplace;

/// What is claimed of a target, and the streams that try to refute it.
pub(super) type LineUp = (Terms, Vec<Box<dyn Duel>>);

pub(super) fn boxed<D: Duel + 'static>(duels: Vec<D>) -> Vec<Box<dyn Duel>> {
    let boxed = duels.into_iter().map(|duel| Box::new(duel) as _);
    boxed.collect()
}

/// A recipe to be audited.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    /// Which recipe.
    pub recipe: RecipeName,
    /// On which sum, if it stands on one.
    pub sum: Option<SumKind>,
    /// With which noise.
    pub noise: Noise,
    /// The claimed guarantee.
    pub budget: Budget,
    /// Between which streams.
    pub adjacency: Adjacency,
    /// Records a person may have; 1 audits records.
    pub records_a_person: u64,
    /// Records to a release, on a sum; the canary is in the middle of them.
    pub batch: u64,
    /// n: one less than the batches.
    pub releases: u64,
    /// Whether the run is interrupted too.
    pub interrupted: bool,
}

impl Target {
    /// A recipe, one on sums with its paper's own or another, with Gaussian noise if the budget has
    /// a δ.
    ///
    /// # Errors
    /// A sum for a recipe that stands on none.
    pub fn new(
        recipe: RecipeName,
        sum: Option<SumKind>,
        budget: Budget,
    ) -> Result<Self, AuditError> {
        let noise = match recipe {
            _ if !budget.is_pure() => Noise::Gaussian,
            RecipeName::Ftrl => Noise::Laplace,
            _ if recipe.entry().mechanism == MechanismKind::Feedback => Noise::Laplace,
            _ if recipe.entry().mechanism == MechanismKind::Batch => DRAWS,
            _ => Noise::L2Laplace,
        };
        let (on, releases) = match recipe.entry().mechanism {
            MechanismKind::Sum(own) => {
                let sum = match sum.unwrap_or(own) {
                    SumKind::Window(0) => SumKind::Window(WINDOW),
                    other => other,
                };
                (Some(sum), tight_releases(recipe, sum))
            }
            MechanismKind::Iterate | MechanismKind::SparseTree => {
                (None, if budget.is_pure() { 1 } else { ITERATES })
            }
            MechanismKind::Values(own) => (Some(sum.unwrap_or(own)), SEVERAL),
            // One play, whose likelihood ratio can reach the claim.
            MechanismKind::Selection => (None, 1),
            MechanismKind::Feedback | MechanismKind::Batch => (None, SEVERAL),
        };
        if let (None, Some(unfit)) = (on, sum) {
            recipe.accepts(unfit, noise).map_err(RecipeError::Unfit)?;
        }
        Ok(Self {
            recipe,
            sum: on,
            noise,
            budget,
            adjacency: Adjacency::ReplaceOne,
            records_a_person: 1,
            batch: 1,
            releases,
            interrupted: false,
        })
    }

    /// Whether the recipe runs on this sum with this noise.
    pub(super) fn exists(&self) -> bool {
        match (self.recipe.entry().mechanism, self.sum) {
            (MechanismKind::Iterate, _) => self.noise != Noise::Laplace,
            (MechanismKind::SparseTree, _) => self.noise == Noise::Gaussian,
            (MechanismKind::Feedback, _) => self.noise != Noise::L2Laplace,
            // Where no noise is added the budget decides.
            (MechanismKind::Selection, _) => self.noise != Noise::Laplace,
            (MechanismKind::Batch, _) => true,
            (MechanismKind::Values(_), _) => self.noise != Noise::Laplace,
            (_, sum) => sum.is_some_and(|sum| self.recipe.accepts(sum, self.noise).is_ok()),
        }
    }

    /// The noise, for mechanisms that add one: a selection draws.
    pub fn noise_added(&self) -> Option<Noise> {
        let draws = match self.recipe.entry().mechanism {
            MechanismKind::Selection => true,
            MechanismKind::Batch => self.noise == DRAWS,
            _ => false,
        };
        (!draws).then_some(self.noise)
    }

    pub(super) fn participation(&self) -> Participation {
        match self.records_a_person {
            1 => Participation::OncePerRecord,
            most => Participation::PerPerson {
                most,
                separation: 1,
            },
        }
    }

    /// The canary's places: that which most noise tells of, then the first, the middle and the
    /// last.
    pub(super) fn places(&self, deepest: u64) -> Vec<u64> {
        let n = self.releases;
        let mut places = Vec::new();
        for place in [deepest, 1, n.div_ceil(2), n] {
            if !places.contains(&place) {
                places.push(place);
            }
        }
        places
    }

    /// The items of a person's records, from `place` on: as close together as they may be, where
    /// they share the most nodes.
    pub(super) fn canaries(&self, place: u64) -> Vec<u64> {
        let items = (0..self.records_a_person).map(|k| (place + k).min(self.releases));
        items.collect()
    }

    /// The place that the most nodes of a sum contain.
    pub(super) fn deepest(&self, sum: SumKind) -> u64 {
        match sum {
            SumKind::Octave => 1 << self.releases.ilog2(),
            _ => 1,
        }
    }

    /// Where the run is interrupted, and the canary's places then.
    pub(super) fn interruptions(&self, deepest: u64) -> Vec<(u64, Interruption)> {
        let middle = self.releases / 2;
        if !self.interrupted || self.releases <= 2 {
            return Vec::new();
        }
        vec![
            (deepest, Interruption::Stopped(middle)),
            (deepest, Interruption::Restored(middle)),
            (middle, Interruption::Restored(middle)),
        ]
    }

    /// The canary at every place of a stream that does not react; at the deepest place of one that
    /// does, if there is such a stream; and around an interruption, on a stream that reacts or not.
    pub(super) fn line_up<D: Duel + 'static>(
        &self,
        deepest: u64,
        [reacts, interrupted_reacts]: [bool; 2],
        duel: impl Fn(u64, bool, Interruption) -> D,
    ) -> Vec<Box<dyn Duel>> {
        let never = Interruption::Never;
        let places = self.places(deepest).into_iter();
        let mut duels: Vec<D> = places.map(|place| duel(place, false, never)).collect();
        if reacts {
            duels.push(duel(deepest, true, never));
        }
        for (place, interruption) in self.interruptions(deepest) {
            duels.push(duel(place, interrupted_reacts, interruption));
        }
        boxed(duels)
    }

    /// What a plan of this target tells.
    pub(super) fn terms<E, F>(
        &self,
        price: Result<Price, E>,
        scope: Scope,
        guarantee: Result<Guarantee, F>,
    ) -> Result<Terms, AuditError>
    where
        AuditError: From<E> + From<F>,
    {
        Ok(Terms {
            budget: self.budget,
            price: price?,
            scope,
            guarantee: guarantee?,
        })
    }

    fn planned(&self, scene: &Scene) -> Result<Recipe, AuditError> {
        Ok(RecipeRequest {
            recipe: self.recipe,
            objective: scene.objective.clone(),
            set: scene.set.clone(),
            rounds: self.releases.saturating_add(1).saturating_mul(self.batch),
            batch: self.batch,
            budget: self.budget,
            adjacency: self.adjacency,
            participation: self.participation(),
            sum: self.sum,
            noise: Some(self.noise),
            window: None,
            curvature: scene.curvature,
            learning_rate: None,
            tuned: scene.tuned,
        }
        .plan()?)
    }

    /// What the recipe claims: the price its ledger is charged, which is never above the budget.
    ///
    /// # Errors
    /// A combination that does not fit.
    pub fn claim(&self) -> Result<Claim, AuditError> {
        Ok(self.staged()?.0.claim())
    }

    /// The neighbouring streams: first, middle and last record, the one that most nodes contain,
    /// the same among records that react to what is published, and interrupted runs.
    ///
    /// # Errors
    /// A combination that does not fit.
    pub fn duels(&self) -> Result<Vec<Box<dyn Duel>>, AuditError> {
        Ok(self.staged()?.1)
    }

    fn staged(&self) -> Result<LineUp, AuditError> {
        match (self.recipe.entry().mechanism, self.sum) {
            (MechanismKind::Sum(_), Some(sum)) if self.recipe == RecipeName::Tables => {
                tables::duels(self, sum)
            }
            (MechanismKind::Sum(_), Some(sum)) if self.recipe.decides() => {
                decisions::duels(self, sum)
            }
            (MechanismKind::Sum(_), Some(sum)) => self.duels_on_sum(sum),
            (MechanismKind::Iterate, _) => iterate::duels(self),
            (MechanismKind::SparseTree, _) => sparse::duels(self),
            (MechanismKind::Selection, _) => selection::duels(self),
            (MechanismKind::Feedback, _) => feedback::duels(self),
            (MechanismKind::Batch, _) => batch::duels(self),
            (MechanismKind::Values(_), Some(sum)) => values::duels(self, sum),
            _ => Err(AuditError::NoAttacks(self.recipe)),
        }
    }

    fn duels_on_sum(&self, sum: SumKind) -> Result<LineUp, AuditError> {
        let scene = Scene::of(self.recipe, self.noise.is_pure())?;
        let recipe = self.planned(&scene)?;
        let plan = recipe.plan();
        let terms = self.terms(plan.charge(), plan.scope(), plan.guarantee(true))?;
        let n = self.releases;
        let deepest = self.deepest(sum);
        let contest = |place: u64, adaptive: bool, interruption: Interruption| {
            let seen = match sum {
                SumKind::Window(width) => n.min(place + width - 1),
                _ => n,
            };
            let reach = self.adjacency.kappa();
            let readable = scene.reads_sums() && interruption == Interruption::Never;
            let nodes = (readable && self.noise.is_pure() && self.records_a_person == 1)
                .then(|| Nodes::of(sum, n, seen, (reach, self.budget.epsilon())))
                .flatten();
            let others = if adaptive { ", adaptive stream" } else { "" };
            Contest {
                recipe: recipe.clone(),
                terms: terms.clone(),
                scene: scene.clone(),
                canaries: self.canaries(place),
                adaptive,
                interruption,
                seen,
                nodes,
                what: format!("record {place} of {n}{others}{interruption}"),
            }
        };
        let duels = self.line_up(deepest, [n > 1, false], contest);
        Ok((terms, duels))
    }
}

/// The largest small number of releases for which what is published can reveal as much as is
/// claimed: seven where every release brings one noise of its own, one where releases carry noise
/// that nothing else shows (padding, empty nodes) or the learner shows only a corner of its set.
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
        // An era is paid for as a whole, which is 256 releases.
        SumKind::Eras => 64,
        _ => 7,
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, ", self.recipe)?;
        if let Some(sum) = self.sum {
            write!(f, "{sum}, ")?;
        }
        match self.noise_added() {
            Some(noise) => write!(f, "{noise}, ")?,
            None if self.budget.is_pure() => f.write_str("pure, ")?,
            None => f.write_str("approximate, ")?,
        }
        write!(f, "n = {}", self.releases)?;
        if self.batch > 1 {
            write!(f, ", batches of {}", self.batch)?;
        }
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
