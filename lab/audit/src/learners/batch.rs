//! Duels against private batch solvers: `limited-updates`, which draws among experts, or descends
//! on convex losses with Gaussian or L2-Laplace noise.
//!
//! A point leaves after records 1, 3 and 7. Record 2 is alone in the only phase of its octave, so
//! that one Gaussian shows all of it; records 4 to 6 are in two phases.

use super::stage::{Interruption, Terms};
use super::target::{DRAWS, LineUp, boxed};
use super::{Target, selection};
use crate::AuditError;
use crate::duel::{Duel, World};
use hushstream_account::Adjacency;
use hushstream_arena::dense;
use hushstream_mechanism::losses::{Bounds, LinearModel, Link, Record};
use hushstream_mechanism::{Participation, Raw};
use hushstream_recipes::{LimitedUpdates, LimitedUpdatesRequest, UpdatesPlayer};
use hushstream_sets::Ball;
use std::sync::Arc;

/// Two neighbouring streams against the solver for convex losses.
struct Solved {
    recipe: LimitedUpdates,
    adjacency: Adjacency,
    terms: Terms,
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
        participation: Participation::OncePerRecord,
    };
    Ok(request.plan()?)
}

/// The first record that is used, those of later phases, the first among records that react,
/// interrupted runs.
pub(super) fn duels(target: &Target) -> Result<LineUp, AuditError> {
    if target.noise == DRAWS {
        return selection::duels(target);
    }
    let recipe = recipe(target)?;
    let n = target.releases;
    let plan = recipe.plan();
    let terms = target.terms(plan.charge(), plan.scope(), plan.guarantee(true))?;
    let duel = |place: u64, adaptive: bool, interruption: Interruption| {
        let others = if adaptive { ", adaptive stream" } else { "" };
        Solved {
            recipe: recipe.clone(),
            adjacency: target.adjacency,
            terms: terms.clone(),
            records: n,
            place,
            adaptive,
            interruption,
            what: format!("record {place} of {n}{others}{interruption}"),
        }
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
    Ok((terms, boxed(duels)))
}

/// Targets ±1 at feature 1 for a pull; a feature of 0 for none; malformed for the null record.
fn record(pull: Option<f64>) -> Record {
    let pull = pull.unwrap_or(f64::NAN);
    dense(vec![pull.abs()], pull)
}

impl Duel for Solved {
    fn name(&self) -> String {
        self.what.clone()
    }

    fn play(&self, world: World, seed: u64) -> Result<Vec<f64>, AuditError> {
        let mut stage =
            (self.terms).open::<UpdatesPlayer>(&self.recipe, seed, self.interruption)?;
        let (mut seen, mut again) = (Vec::new(), Vec::new());
        let mut other = 0.0;
        for t in 1..=self.records {
            let pull = if t == self.place {
                world.pull(self.adjacency)
            } else {
                Some(other)
            };
            stage.run.learn(None, Raw::seal(record(pull)))?;
            seen.extend(stage.sync()?.concat());
            if let Some(last) = seen.last()
                && self.adaptive
            {
                other = if *last >= 0.0 { -1.0 } else { 1.0 };
            }
            if stage.stops_after(t)? {
                again.extend(stage.sync()?.concat());
                self.interruption.check_again(&seen, &again)?;
            }
        }
        seen.append(&mut again);
        Ok(seen)
    }
}
