//! Duels against scalar feedback: what leaves is one noisy answer a play, and plays that follow
//! from it.
//!
//! The canary answers at one end of the range or the other, whatever is played; the ratio of its
//! answer's two laws is all that there is to know, since a learner's plays are a function of noisy
//! answers and coins. Plays are looked at all the same.

use super::Target;
use super::stage::{Interruption, Terms};
use super::target::LineUp;
use crate::AuditError;
use crate::duel::{Duel, World};
use hushstream_account::Adjacency;
use hushstream_mechanism::Raw;
use hushstream_mechanism::feedback::{FeedbackNoise, Range};
use hushstream_mechanism::sums::Noise;
use hushstream_recipes::{
    Actions, BanditPlayer, BanditRecipe, BanditRequest, RecipeError, RecipeName,
};
use hushstream_sets::Ball;
use std::sync::Arc;

/// So many persons answer one play of `exp2-batched`.
const BATCH: u64 = 2;

/// Two neighbouring streams against a bandit.
struct Answered {
    recipe: BanditRecipe,
    terms: Terms,
    items: u64,
    /// The play, from 1, whose first answer is the canary's.
    place: u64,
    /// In how many plays from there on.
    canaries: u64,
    /// Whether the other answers follow the last noisy one, and the canary's lies far outside the
    /// range.
    adaptive: bool,
    interruption: Interruption,
    what: String,
}

fn recipe(target: &Target) -> Result<BanditRecipe, AuditError> {
    let (actions, range, batch) = match target.recipe {
        RecipeName::Exp2 => (Actions::Arms(3), Range::ZeroTo(1.0), 1),
        RecipeName::Exp2Batched => (Actions::Arms(3), Range::Symmetric(1.0), BATCH),
        RecipeName::Scrible => {
            let disc = Arc::new(Ball::new(2, 1.0)?);
            (Actions::Set(disc), Range::Symmetric(1.0), 1)
        }
        other => return Err(AuditError::NoAttacks(other)),
    };
    let noise = match target.noise {
        Noise::Gaussian => FeedbackNoise::Gaussian,
        Noise::Laplace => FeedbackNoise::Laplace,
        Noise::L2Laplace => {
            let reason = format!(
                "{}: one number has Laplace or Gaussian noise",
                target.recipe
            );
            return Err(RecipeError::Unfit(reason).into());
        }
    };
    let request = BanditRequest {
        recipe: target.recipe,
        actions,
        reading: None,
        range,
        rounds: Some(target.releases.saturating_mul(batch)),
        restart: None,
        batch: Some(batch),
        noise: Some(noise),
        budget: target.budget,
        adjacency: target.adjacency,
        participation: target.participation(),
    };
    Ok(request.plan()?)
}

/// First, middle and last answer among neutral ones, the first far outside among answers that
/// react, interrupted runs.
pub(super) fn duels(target: &Target) -> Result<LineUp, AuditError> {
    let recipe = recipe(target)?;
    let n = target.releases;
    let plan = recipe.plan();
    let terms = target.terms(plan.charge(), plan.scope(), plan.guarantee(true))?;
    let duel = |place: u64, adaptive: bool, interruption: Interruption| {
        let others = if adaptive {
            ", far outside, adaptive stream"
        } else {
            ""
        };
        Answered {
            recipe: recipe.clone(),
            terms: terms.clone(),
            items: n,
            place: place.min(n + 1 - target.records_a_person.min(n)),
            canaries: target.records_a_person,
            adaptive,
            interruption,
            what: format!("answer {place} of {n}{others}{interruption}"),
        }
    };
    let duels = target.line_up(1, [true, true], duel);
    Ok((terms, duels))
}

/// The canary's person.
const CANARY: u64 = 1 << 40;

impl Answered {
    /// The plays that the canary answers.
    fn places(&self) -> std::ops::Range<u64> {
        self.place..self.place + self.canaries
    }

    /// The canary's answer; nothing is the null one.
    fn canary(&self, world: World) -> Option<f64> {
        let low = match self.recipe.request().range {
            Range::Symmetric(_) => -1.0,
            _ => 0.0,
        };
        match (self.recipe.request().adjacency, world) {
            (_, World::Right) => Some(1.0),
            (Adjacency::ReplaceOne, World::Left) => Some(low),
            (Adjacency::ZeroOut, World::Left) => None,
        }
    }

    /// How many numbers a turn is read as: the answer, then the next play.
    fn width(&self) -> usize {
        match &self.recipe.request().actions {
            Actions::Set(set) => 1 + set.dimension(),
            _ => 2,
        }
    }

    /// A whole loss vector whose part at the play is the value; malformed for none.
    fn losses(&self, value: Option<f64>, play: &[f64]) -> Vec<f64> {
        let Some(value) = value else {
            return Vec::new();
        };
        match &self.recipe.request().actions {
            Actions::Arms(arms) => vec![value; *arms],
            _ => {
                let squares: f64 = play.iter().map(|x| x * x).sum();
                play.iter().map(|x| value * x / squares.max(1e-9)).collect()
            }
        }
    }
}

impl Duel for Answered {
    fn name(&self) -> String {
        self.what.clone()
    }

    fn play(&self, world: World, seed: u64) -> Result<Vec<f64>, AuditError> {
        let mut stage = (self.terms).open::<BanditPlayer>(&self.recipe, seed, self.interruption)?;
        let (mut seen, mut answers, mut again) = (Vec::new(), Vec::new(), Vec::new());
        let (batch, mut other) = (self.recipe.batch(), 0.0);
        // Far outside counts as the end of the range.
        let stretch = if self.adaptive { 1e3 } else { 1.0 };
        for item in 1..=self.items {
            let mut known = 0.0;
            for k in 0..batch {
                let canary = self.places().contains(&item) && k == 0;
                let name = if canary { CANARY } else { item * batch + k };
                let person = (self.canaries > 1).then_some(name);
                let value = if canary {
                    self.canary(world).map(|value| value * stretch)
                } else {
                    known += other;
                    Some(other)
                };
                let play = stage.run.play().for_the_operator().point.clone();
                stage
                    .run
                    .learn_losses(person, Raw::seal(self.losses(value, &play)))?;
            }
            for turn in stage.sync()? {
                answers.push(turn.answer);
                seen.push(turn.answer - known / batch as f64);
                match turn.next.action {
                    Some(arm) => seen.push(arm as f64),
                    None => seen.extend(&turn.next.point),
                }
                if self.adaptive {
                    other = if turn.answer > 0.0 { 1.0 } else { 0.0 };
                }
            }
            if stage.stops_after(item)? {
                again.extend(stage.sync()?.iter().map(|turn| turn.answer));
                self.interruption.check_again(&answers, &again)?;
            }
        }
        seen.append(&mut again);
        Ok(seen)
    }

    fn likelihood(&self, seen: &[f64]) -> Option<f64> {
        let null = self.recipe.request().range.null();
        let mut total = 0.0;
        for place in self.places() {
            let place = usize::try_from(place - 1).ok()? * self.width();
            let answer = seen.get(place)? * self.recipe.batch() as f64;
            let away = |world: World| (answer - self.canary(world).unwrap_or(null)).abs();
            total += away(World::Left) - away(World::Right);
        }
        Some(total)
    }
}
