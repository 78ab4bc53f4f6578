//! Duels against private batch solvers: `limited-updates`, which for δ = 0 chooses among experts
//! and for δ > 0 descends on convex losses.
//!
//! A point leaves after records 1, 3 and 7. Record 2 is alone in the only phase of its octave, so
//! that one Gaussian shows all of it; records 4 to 6 are in two phases.

use super::interrupted::{Interruption, Shelf};
use super::paid::Paid;
use super::{Target, selection};
use crate::AuditError;
use crate::duel::{Duel, World};
use hushstream_account::{Adjacency, Guarantee, Price};
use hushstream_mechanism::Raw;
use hushstream_mechanism::losses::{Bounds, Features, LinearModel, Link, Record};
use hushstream_noise::Key;
use hushstream_recipes::{LimitedUpdates, LimitedUpdatesRequest, LimitedUpdatesRun, RecipeError};
use hushstream_sets::Ball;
use std::sync::Arc;

/// Two neighbouring streams against the solver for convex losses.
struct Solved {
    recipe: LimitedUpdates,
    adjacency: Adjacency,
    paid: Paid,
    records: u64,
    place: u64,
    /// Whether other records pull back what was published last; otherwise they have no slope.
    adaptive: bool,
    interruption: Interruption,
    what: String,
}

/// A Huber loss, steepest at targets ±1, on [−1, 1].
fn recipe(target: &Target) -> Result<LimitedUpdates, AuditError> {
    let bounds = Bounds::new(1.0, (-1.0, 1.0), 1.0)?;
    let request = LimitedUpdatesRequest {
        loss: Arc::new(LinearModel::new(1, Link::Huber(0.5), bounds)?),
        set: Arc::new(Ball::new(1, 1.0)?),
        budget: target.budget,
        adjacency: target.adjacency,
    };
    Ok(request.plan()?)
}

/// The price and the claim of the recipe.
pub(super) fn price(target: &Target) -> Result<(Price, Guarantee), AuditError> {
    if target.budget.is_pure() {
        return selection::price(target);
    }
    let recipe = recipe(target)?;
    let plan = recipe.plan();
    let charge = plan.charge().map_err(RecipeError::from)?;
    let guarantee = plan.guarantee(true).map_err(RecipeError::from)?;
    Ok((charge, guarantee))
}

/// The first record that is used, those of later phases, the first among records that react,
/// interrupted runs.
pub(super) fn duels(target: &Target) -> Result<Vec<Box<dyn Duel>>, AuditError> {
    if target.budget.is_pure() {
        return selection::duels(target);
    }
    let recipe = recipe(target)?;
    let n = target.releases;
    let plan = recipe.plan();
    let paid = Paid {
        budget: target.budget,
        filter: plan.filter(),
        scope: plan.scope(),
        charge: plan.charge().map_err(RecipeError::from)?,
    };
    let duel = |place: u64, adaptive: bool, interruption: Interruption| {
        let others = if adaptive { ", adaptive stream" } else { "" };
        Box::new(Solved {
            recipe: recipe.clone(),
            adjacency: target.adjacency,
            paid: paid.clone(),
            records: n,
            place,
            adaptive,
            interruption,
            what: format!("record {place} of {n}{others}{interruption}"),
        }) as Box<dyn Duel>
    };
    let mut duels: Vec<_> = (2..=n.min(6))
        .map(|place| duel(place, false, Interruption::Never))
        .collect();
    duels.push(duel(2, true, Interruption::Never));
    if target.interrupted && n > 4 {
        duels.push(duel(2, false, Interruption::Stopped(3)));
        duels.push(duel(4, false, Interruption::Stopped(4)));
        duels.push(duel(2, false, Interruption::Restored(3)));
        duels.push(duel(4, false, Interruption::Restored(5)));
    }
    Ok(duels)
}

/// Targets ±1 at feature 1 for a pull; a feature of 0 for none; malformed for the null record.
fn record(pull: Option<f64>) -> Record {
    let pull = pull.unwrap_or(f64::NAN);
    Record {
        features: Features::Dense(vec![pull.abs()]),
        target: pull,
    }
}

impl Duel for Solved {
    fn name(&self) -> String {
        self.what.clone()
    }

    fn play(&self, world: World, seed: u64) -> Result<Vec<f64>, AuditError> {
        let (mut ledger, grant) = self.paid.open()?;
        let key = Key::insecure_from_seed(seed);
        let shelf = Shelf::default();
        let recipe = self.recipe.clone();
        let mut run = LimitedUpdatesRun::open(recipe, grant, &key, &mut ledger, shelf.open())?;
        let (mut seen, mut again) = (Vec::new(), Vec::new());
        let mut old = shelf.copy();
        let mut other = 0.0;
        for t in 1..=self.records {
            let pull = match (self.adjacency, world) {
                _ if t != self.place => Some(other),
                (Adjacency::ZeroOut, World::Left) => None,
                _ => Some(world.sign()),
            };
            run.learn(None, Raw::seal(record(pull)))?;
            for point in run.sync(&mut ledger)? {
                seen.extend(point.into_value());
                if self.adaptive
                    && let Some(last) = seen.last()
                {
                    other = if *last >= 0.0 { -1.0 } else { 1.0 };
                }
            }
            if self.interruption.is_after(t) {
                let lost = self.interruption.restore(&shelf, &old);
                drop(run);
                let recipe = self.recipe.clone();
                let back =
                    LimitedUpdatesRun::resume(recipe, shelf.open(), &key, &mut ledger, None)?;
                run = back.0;
                self.interruption.check(back.1, lost)?;
                // What is published again must be the same; if it is not, the attacker sees both.
                for point in run.sync(&mut ledger)? {
                    again.extend(point.into_value());
                }
                self.interruption.check_again(&seen, &again)?;
            }
            old = shelf.copy();
        }
        seen.append(&mut again);
        Ok(seen)
    }
}
