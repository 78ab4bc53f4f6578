//! Duels against private selections: the plays are all that leaves, and their law is known exactly.
//!
//! A selection tells most about a record that makes the played expert's loss and one other's as
//! unlike as they can be: the canary is therefore aimed, in both worlds, by what was played before
//! it. "Play the other one next" then has a likelihood ratio that comes close to e^(ε_Z + R): the
//! coin's share and that of one draw. A calibrated dartboard over two rounds draws nothing at all,
//! so at one release the audit brings parameters of its own, whose price the plan computes as ever;
//! at sixteen it brings others, with a single draw, after which a dartboard must stay where it is.

use super::Target;
use super::law::Law;
use super::stage::{Interruption, Terms};
use super::target::LineUp;
use crate::AuditError;
use crate::duel::{Duel, World};
use hushstream_arena::{add, dense};
use hushstream_mechanism::losses::LinearLoss;
use hushstream_mechanism::select::Board;
use hushstream_mechanism::{Participation, Raw};
use hushstream_recipes::{
    Advice, ExpertsPlayer, ExpertsRecipe, ExpertsRequest, ExpertsRun, RecipeName,
};
use hushstream_sets::Ball;
use std::sync::Arc;

/// Records per batch of the batched recipes.
const BATCH: u64 = 2;
/// So many releases of a dartboard that may draw once.
pub(super) const SPENT: u64 = 16;
/// A net of this many points in [−1, 1].
const POINTS: usize = 8;

/// Two neighbouring streams against a selection.
struct Selected {
    recipe: ExpertsRecipe,
    terms: Terms,
    law: Option<Law>,
    experts: usize,
    items: u64,
    /// The item, from 1, whose first record is the canary.
    place: u64,
    /// Whether the other records lose where the play is; otherwise they lose nowhere.
    against: bool,
    interruption: Interruption,
    what: String,
}

/// The recipe: eight experts for one release, where a draw's ratio comes closest to its bound, and
/// two for several, whose transcripts can be counted.
fn recipe(target: &Target) -> Result<ExpertsRecipe, AuditError> {
    let n = target.releases;
    let batch = batch(target.recipe);
    let alone = n == 1 || target.recipe == RecipeName::LimitedUpdates;
    let advice = if target.recipe == RecipeName::Cover {
        Advice::Net {
            loss: Arc::new(linear()?),
            set: Arc::new(Ball::new(1, 1.0)?),
            radius: Some(1.001 / POINTS as f64),
        }
    } else {
        Advice::Experts(if alone { 8 } else { 2 })
    };
    let request = ExpertsRequest {
        recipe: target.recipe,
        advice,
        rounds: Some(n.saturating_add(1).saturating_mul(batch)),
        restart: None,
        batch: (batch > 1).then_some(batch),
        board: board(target)?,
        budget: target.budget,
        adjacency: target.adjacency,
        participation: Participation::OncePerRecord,
    };
    Ok(request.plan()?)
}

/// Parameters of one's own that the budget affords, with one draw: one that a coin decides, or one
/// that comes almost at once.
fn board(target: &Target) -> Result<Option<Board>, AuditError> {
    let dartboard = matches!(
        target.recipe,
        RecipeName::Dartboard | RecipeName::DartboardBatched | RecipeName::Cover
    );
    let (share, forced) = match target.releases {
        1 if dartboard => (4.4, 0.3),
        SPENT if dartboard => (3.1, 0.9),
        _ => return Ok(None),
    };
    let rate = (target.budget.epsilon() / share).min(0.5);
    Ok(Some(Board::new(rate, forced, 1)?))
}

fn batch(recipe: RecipeName) -> u64 {
    match recipe {
        RecipeName::DartboardBatched | RecipeName::HedgeBatched => BATCH,
        _ => 1,
    }
}

fn linear() -> Result<LinearLoss, AuditError> {
    Ok(LinearLoss::new(1, -1.0, 1.0)?)
}

/// First, middle and last item among neutral ones, the first among losses that drive the play away,
/// interrupted runs.
pub(super) fn duels(target: &Target) -> Result<LineUp, AuditError> {
    let recipe = recipe(target)?;
    let n = target.releases;
    let plan = recipe.plan();
    let law = match plan.board() {
        Some(board) => Law::Board(*board),
        None => Law::Doubling(target.budget.epsilon() / target.adjacency.kappa()),
    };
    let terms = target.terms(plan.charge(), plan.scope(), plan.guarantee(true))?;
    let duel = |place: u64, against: bool, interruption: Interruption| {
        let others = if against {
            ", others against the play"
        } else {
            ""
        };
        Selected {
            recipe: recipe.clone(),
            terms: terms.clone(),
            law: (interruption == Interruption::Never).then_some(law),
            experts: plan.request().experts as usize,
            items: n,
            place,
            against,
            interruption,
            what: format!("item {place} of {n}{others}{interruption}"),
        }
    };
    let duels = target.line_up(1, [n > 1, true], duel);
    Ok((terms, duels))
}

impl Selected {
    /// The records of an item, as slopes: 1 loses where the play is, −1 everywhere else, 0 nowhere;
    /// nothing is the null record.
    fn slopes(&self, item: u64, world: World) -> Vec<Option<f64>> {
        let other = Some(if self.against { 1.0 } else { 0.0 });
        let batch = usize::try_from(self.recipe.plan().batch()).unwrap_or(1);
        let mut slopes = vec![other; batch];
        if item == self.place {
            slopes[0] = world.pull(self.recipe.request().adjacency);
        }
        slopes
    }

    /// What a record loses with each expert, after the play of one. A canary loses with all but the
    /// next expert, or with it alone; other records lose with the play alone.
    fn losses(&self, slope: Option<f64>, played: usize, canary: bool) -> Vec<f64> {
        let slope = slope.unwrap_or(0.0);
        let points = self.recipe.points();
        if points.is_empty() {
            let aim = if canary {
                (played + 1) % self.experts
            } else {
                played
            };
            let sign = if canary { -slope } else { slope };
            let aimed = if sign > 0.0 { 1.0 } else { 0.0 };
            let rest = if sign < 0.0 { 1.0 } else { 0.0 };
            return (0..self.experts)
                .map(|expert| if expert == aim { aimed } else { rest })
                .collect();
        }
        let slope = self.feature(slope, played);
        let values = points.iter().map(|point| slope * point[0]);
        let least = values.clone().fold(f64::INFINITY, f64::min);
        // The set's diameter times the loss's slope is 2.
        values.map(|value| (value - least) / 2.0).collect()
    }

    /// A record on the line that loses where the play is.
    fn feature(&self, slope: f64, played: usize) -> f64 {
        let at = self
            .recipe
            .points()
            .get(played)
            .map_or(1.0, |point| point[0]);
        slope * if at >= 0.0 { 1.0 } else { -1.0 }
    }

    /// A play as seen from the first one: experts in a circle, points of a net with the first on
    /// the right. So fitted attacks see where a canary aims.
    fn seen_from(&self, first: usize, play: usize) -> usize {
        match self.recipe.points().get(first) {
            None => (play + self.experts - first) % self.experts,
            Some(point) if point[0] < 0.0 => self.experts - 1 - play,
            Some(_) => play,
        }
    }

    /// The plays themselves again.
    fn plays(&self, seen: &[f64]) -> Vec<usize> {
        let first = seen.first().map_or(0, |&first| first as usize);
        let back = |&play: &f64| match self.recipe.points().get(first) {
            None => (play as usize + first) % self.experts,
            Some(_) => self.seen_from(first, play as usize),
        };
        let others = seen.get(1..).unwrap_or_default();
        std::iter::once(first)
            .chain(others.iter().map(back))
            .collect()
    }

    fn learn(
        &self,
        run: &mut ExpertsRun,
        (slope, canary): (Option<f64>, bool),
        played: usize,
    ) -> Result<(), AuditError> {
        if self.recipe.points().is_empty() {
            let losses = match slope {
                Some(_) => self.losses(slope, played, canary),
                None => Vec::new(),
            };
            return Ok(run.learn_losses(None, Raw::seal(losses))?);
        }
        let feature = slope.map_or(f64::NAN, |slope| self.feature(slope, played));
        Ok(run.learn(None, Raw::seal(dense(vec![feature], 0.0)))?)
    }
}

impl Duel for Selected {
    fn name(&self) -> String {
        self.what.clone()
    }

    fn play(&self, world: World, seed: u64) -> Result<Vec<f64>, AuditError> {
        let mut stage =
            (self.terms).open::<ExpertsPlayer>(&self.recipe, seed, self.interruption)?;
        let mut played = *stage.run.expert().for_the_operator();
        let first = played;
        let mut seen = vec![first as f64];
        let mut again = Vec::new();
        for item in 1..=self.items {
            let canary = |k: usize| item == self.place && k == 0;
            for (k, slope) in self.slopes(item, world).into_iter().enumerate() {
                self.learn(&mut stage.run, (slope, canary(k)), played)?;
            }
            for play in stage.sync()? {
                played = play as usize;
                seen.push(self.seen_from(first, played) as f64);
            }
            if stage.stops_after(item)? {
                let published = stage.sync()?.into_iter();
                again.extend(published.map(|play| self.seen_from(first, play as usize) as f64));
                self.interruption.check_again(&seen, &again)?;
                played = *stage.run.expert().for_the_operator();
                again.push(played as f64);
            }
        }
        seen.append(&mut again);
        Ok(seen)
    }

    fn likelihood(&self, seen: &[f64]) -> Option<f64> {
        let law = self.law?;
        let plays = self.plays(seen);
        let ln = |world: World| {
            law.ln_probability(self.experts, &plays, |item| {
                let played = plays[usize::try_from(item).unwrap_or(1) - 1];
                let mut sum = vec![0.0; self.experts];
                for (k, slope) in self.slopes(item, world).into_iter().enumerate() {
                    let canary = item == self.place && k == 0;
                    add(&mut sum, self.losses(slope, played, canary));
                }
                sum
            })
        };
        Some(ln(World::Right) - ln(World::Left))
    }
}
