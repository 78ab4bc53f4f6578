//! Duels against perturbed iterates: the learner is secret, but its code is public, and so is
//! everybody's record but the canary.
//!
//! The attacker runs the learner on both streams, without noise; where the canary may have led it,
//! and how much noise was added, gives the exact likelihood ratio of every release: ⟨y − (m₋ +
//! m₊)/2, m₊ − m₋⟩/σ_t² for Gaussian noise, (‖y − m₋‖ − ‖y − m₊‖)/c_t for L2-Laplace. On squared
//! distances and linear losses every iterate moves by its whole sensitivity, so a bound can reach
//! the claim. Records that react to releases are no obstacle: the attacker sees the releases too.
//! After a restored journal there is no such ratio, and the attacks are fitted.

use super::Target;
use super::stage::{Interruption, Terms};
use super::target::{LineUp, boxed};
use crate::AuditError;
use crate::duel::{Duel, World};
use hushstream_arena::dense;
use hushstream_mechanism::losses::{Distance, LinearLoss, Record};
use hushstream_mechanism::perturb::{Leader, Timing};
use hushstream_mechanism::sums::Noise;
use hushstream_mechanism::{Participation, Raw};
use hushstream_recipes::{Insider, IteratePlayer, IterateRecipe, IterateRequest, RecipeName};
use hushstream_sets::Ball;
use std::sync::Arc;

/// So wide that no noise reaches the boundary, where a projection would hide it.
const WIDE: f64 = 1e6;
/// The person whose records are the canary, where persons count.
const CANARY: u64 = 0;

/// What the records besides the canary are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Others {
    /// Points at 0.
    Neutral,
    /// Malformed: steps on the null loss.
    Null,
    /// Extreme, away from what was published last.
    Adaptive,
}

/// Two neighbouring streams against a recipe on iterates.
struct Perturbed {
    recipe: IterateRecipe,
    terms: Terms,
    /// The steps, from 1, whose records differ.
    canaries: Vec<u64>,
    others: Others,
    /// How far a canary lies outside its bound: 1 is on it.
    stretch: f64,
    interruption: Interruption,
    steps: u64,
    what: String,
}

/// The recipe in its scene: squared distances from points in [−1, 1], linear losses where those
/// have too much curvature, a leader where any learner will do.
fn recipe(target: &Target) -> Result<IterateRecipe, AuditError> {
    let (recipe, noise) = (target.recipe, target.noise);
    // One recipe in three dimensions, where the length of an L2-Laplace vector has a law of its
    // own; in one dimension a bound comes closest.
    let dimension = if recipe == RecipeName::PocpAnytime && noise.is_pure() {
        3
    } else {
        1
    };
    let set = Arc::new(Ball::new(dimension, WIDE)?);
    let distance = Distance::new(dimension, 1.0, WIDE)?;
    let (insider, curvature) = match recipe {
        RecipeName::PigdConvex => {
            let linear = LinearLoss::new(dimension, -1.0, 1.0)?;
            (Insider::Loss(Arc::new(linear)), Some(1.0))
        }
        RecipeName::Pocp => {
            let leader = Leader::new(distance, set.clone(), 0.0)?;
            (Insider::Learner(Arc::new(leader)), None)
        }
        _ => (Insider::Loss(Arc::new(distance)), None),
    };
    Ok(IterateRequest {
        recipe,
        insider,
        set,
        rounds: target.releases.saturating_add(1),
        budget: target.budget,
        adjacency: target.adjacency,
        participation: target.participation(),
        noise: Some(noise),
        curvature,
        steps: None,
        weighting: None,
        average: hushstream_recipes::Averaged::All,
    }
    .plan()?)
}

/// First, middle and last record among neutral ones, far outside its bound among null ones, and
/// among records that react; interrupted runs.
pub(super) fn duels(target: &Target) -> Result<LineUp, AuditError> {
    let recipe = recipe(target)?;
    let n = target.releases;
    let plan = recipe.plan();
    let terms = target.terms(plan.charge(), plan.scope(), plan.guarantee(true))?;
    let duel = |place: u64, others: Others, interruption: Interruption| {
        let (stretch, words) = match others {
            Others::Neutral => (1.0, ""),
            Others::Null => (1e9, ", far outside, among null ones"),
            Others::Adaptive => (1.0, ", adaptive stream"),
        };
        Perturbed {
            recipe: recipe.clone(),
            terms: terms.clone(),
            canaries: target.canaries(place),
            others,
            stretch,
            interruption,
            steps: n,
            what: format!("record {place} of {n}{words}{interruption}"),
        }
    };
    let places = target.places(1).into_iter();
    let mut duels: Vec<_> = places
        .map(|place| duel(place, Others::Neutral, Interruption::Never))
        .collect();
    duels.push(duel(1, Others::Null, Interruption::Never));
    if n > 1 {
        duels.push(duel(1, Others::Adaptive, Interruption::Never));
    }
    for (place, interruption) in target.interruptions(1) {
        // One release at the end needs all records: a lost one is refused.
        if target.recipe != RecipeName::Pol || matches!(interruption, Interruption::Stopped(_)) {
            duels.push(duel(place, Others::Neutral, interruption));
        }
    }
    Ok((terms, boxed(duels)))
}

impl Perturbed {
    /// A canary's record, or nothing for the null one.
    fn canary(&self, world: World) -> Option<f64> {
        let pull = world.pull(self.recipe.request().adjacency);
        pull.map(|pull| pull * self.stretch)
    }

    /// The record of step t, where others go `away`.
    fn record(&self, t: u64, world: World, away: f64) -> Record {
        let place = if self.canaries.contains(&t) {
            self.canary(world)
        } else {
            match self.others {
                Others::Neutral => Some(0.0),
                Others::Null => None,
                Others::Adaptive => Some(away),
            }
        };
        let mut features = vec![0.0; self.recipe.request().set.dimension()];
        // A number that is none makes the record malformed.
        features[0] = place.unwrap_or(f64::NAN);
        dense(features, 0.0)
    }

    /// Where the learner is on both streams, as an outsider computes it.
    fn ratio(&self, t: u64, seen: &[f64], states: &[Vec<f64>; 2]) -> f64 {
        let plan = self.recipe.plan();
        let learner = &plan.request().learner;
        let place = |state: &[f64]| {
            let mut point = vec![0.0; seen.len()];
            learner.iterate(t, state, &mut point);
            point
        };
        let (left, right) = (place(&states[0]), place(&states[1]));
        let sigma = plan.sigma(t);
        let ratio = if plan.request().noise == Noise::Gaussian {
            let coordinates = seen.iter().zip(left.iter().zip(&right));
            let products = coordinates.map(|(y, (l, r))| (y - f64::midpoint(*l, *r)) * (r - l));
            products.sum::<f64>() / sigma.powi(2)
        } else {
            (distance(seen, &left) - distance(seen, &right)) / sigma
        };
        // A ratio that is bounded has atoms at its ends: floats must not scatter them.
        libm::round(ratio * 1e9) / 1e9
    }

    /// Releases of which the ratio is known.
    fn known(&self) -> u64 {
        let releases = match self.recipe.plan().request().timing {
            Timing::Last(_) => 1,
            _ => self.steps,
        };
        match self.interruption {
            Interruption::Restored(_) => 0,
            _ => releases,
        }
    }
}

impl Duel for Perturbed {
    fn name(&self) -> String {
        self.what.clone()
    }

    /// The ratios of all releases, then the releases, then what came again.
    fn play(&self, world: World, seed: u64) -> Result<Vec<f64>, AuditError> {
        let plan = self.recipe.plan();
        let learner = &plan.request().learner;
        let mut stage =
            (self.terms).open::<IteratePlayer>(&self.recipe, seed, self.interruption)?;
        let persons = plan.request().participation != Participation::OncePerRecord;
        let mut states = [learner.start(), learner.start()];
        let (mut ratios, mut releases, mut again) = (Vec::new(), Vec::new(), Vec::new());
        let mut away = 1.0;
        for t in 1..=self.steps {
            let person = persons.then_some(if self.canaries.contains(&t) {
                CANARY
            } else {
                t
            });
            stage
                .run
                .learn(person, Raw::seal(self.record(t, world, away)))?;
            for (state, world) in states.iter_mut().zip([World::Left, World::Right]) {
                learner.step(t, state, Some(&self.record(t, world, away)));
            }
            for release in stage.sync()? {
                if self.known() > 0 {
                    ratios.push(self.ratio(t, &release, &states));
                }
                away = if release[0] >= 0.0 { -1.0 } else { 1.0 };
                releases.extend(release);
            }
            if stage.stops_after(t)? {
                again.extend(stage.sync()?.concat());
                self.interruption.check_again(&releases, &again)?;
            }
        }
        ratios.append(&mut releases);
        ratios.append(&mut again);
        Ok(ratios)
    }

    fn likelihood(&self, seen: &[f64]) -> Option<f64> {
        let known = usize::try_from(self.known()).ok()?;
        (known > 0).then(|| seen.iter().take(known).sum())
    }
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    let squares = a.iter().zip(b).map(|(a, b)| (a - b).powi(2));
    squares.sum::<f64>().sqrt()
}
