//! Duels against one-point gradients in a continual sum: what leaves are the plays w + βu.
//!
//! With a large curvature iterates are so much smaller than β that a play shows its direction and
//! its iterate, and the iterates show the sums: an outsider computes them back, and turns them by
//! the direction that the canary met. The audit is then as tight as one of the sum.

use super::Target;
use super::nodes::Nodes;
use super::stage::{Interruption, Terms};
use super::target::LineUp;
use crate::AuditError;
use crate::duel::{Duel, World};
use hushstream_arena::dense;
use hushstream_mechanism::feedback::Range;
use hushstream_mechanism::losses::{Bounds, LinearModel, Link, Record};
use hushstream_mechanism::sums::SumKind;
use hushstream_mechanism::{Participation, Raw};
use hushstream_recipes::{ValuesPlayer, ValuesRecipe, ValuesRequest};
use hushstream_sets::Ball;
use std::sync::Arc;

/// β.
const RADIUS: f64 = 0.01;
/// Iterates are a millionth of it.
const CURVATURE: f64 = 1e10;

/// Two neighbouring streams against `pftal-bandit`.
struct Valued {
    recipe: ValuesRecipe,
    terms: Terms,
    place: u64,
    adaptive: bool,
    interruption: Interruption,
    nodes: Option<Nodes>,
    releases: u64,
    what: String,
}

/// Values in [0, 1] that the record alone decides: the error of a score that is always 0.
fn recipe(target: &Target) -> Result<ValuesRecipe, AuditError> {
    let bounds = Bounds::new(1.0, (-2.0, 2.0), 1.0)?;
    let request = ValuesRequest {
        loss: Arc::new(LinearModel::new(1, Link::Squared, bounds)?),
        set: Arc::new(Ball::new(1, 1.0)?),
        range: Range::ZeroTo(1.0),
        rounds: target.releases.saturating_add(1),
        adaptive: false,
        curvature: Some(CURVATURE),
        radius: Some(RADIUS),
        sum: target.sum,
        noise: Some(target.noise),
        budget: target.budget,
        adjacency: target.adjacency,
        participation: Participation::OncePerRecord,
    };
    Ok(request.plan()?)
}

/// First, middle and last record among neutral ones, the first among records that react,
/// interrupted runs.
pub(super) fn duels(target: &Target, sum: SumKind) -> Result<LineUp, AuditError> {
    let recipe = recipe(target)?;
    let n = target.releases;
    let plan = recipe.plan();
    let terms = target.terms(plan.charge(), plan.scope(), plan.guarantee(true))?;
    let reach = target.adjacency.kappa();
    let nodes = (target.noise.is_pure())
        .then(|| Nodes::of(sum, n, n, (reach, target.budget.epsilon())))
        .flatten();
    let duel = |place: u64, adaptive: bool, interruption: Interruption| {
        let others = if adaptive { ", adaptive stream" } else { "" };
        let whole = interruption == Interruption::Never;
        Valued {
            recipe: recipe.clone(),
            terms: terms.clone(),
            place,
            adaptive,
            interruption,
            nodes: nodes.clone().filter(|_| whole),
            releases: n,
            what: format!("record {place} of {n}{others}{interruption}"),
        }
    };
    let duels = target.line_up(1, [n > 1, false], duel);
    Ok((terms, duels))
}

impl Valued {
    fn pull(&self, world: World) -> Option<f64> {
        world.pull(self.recipe.request().adjacency)
    }

    /// The released sums, in units of their bound and as the canary's direction has them; `plays`
    /// begin with the first, `pulls` are those of the other records.
    fn read(&self, plays: &[f64], pulls: &[f64]) -> Vec<f64> {
        let direction = |play: f64| if play >= 0.0 { 1.0 } else { -1.0 };
        let iterate = |play: f64| play - RADIUS * direction(play);
        let bound = 0.5 / RADIUS;
        let canary = usize::try_from(self.place - 1).unwrap_or(0);
        let turned = direction(plays[canary.min(plays.len() - 1)]);
        let (mut total, mut known) = (0.0, 0.0);
        let mut sums = Vec::with_capacity(pulls.len());
        for (t, pull) in (1_u32..).zip(pulls) {
            let last = plays[t as usize - 1];
            total += iterate(last);
            known += pull * direction(last);
            let sum = CURVATURE * (total - f64::from(t) * iterate(plays[t as usize]));
            sums.push(turned * (sum / bound - known));
        }
        sums
    }
}

/// A record whose value is ½ + pull/2, or one that is malformed.
fn record(pull: Option<f64>) -> Record {
    dense(vec![0.0], pull.map_or(f64::NAN, |pull| (1.0 + pull).sqrt()))
}

impl Duel for Valued {
    fn name(&self) -> String {
        self.what.clone()
    }

    fn play(&self, world: World, seed: u64) -> Result<Vec<f64>, AuditError> {
        let mut stage = (self.terms).open::<ValuesPlayer>(&self.recipe, seed, self.interruption)?;
        let mut plays = vec![stage.run.question().for_the_operator()[0]];
        let (mut pulls, mut again) = (Vec::new(), Vec::new());
        for t in 1..=self.releases {
            let last = plays[plays.len() - 1];
            let other = if self.adaptive { last.signum() } else { 0.0 };
            let (pull, known) = if t == self.place {
                (self.pull(world), 0.0)
            } else {
                (Some(other), other)
            };
            stage.run.learn(None, Raw::seal(record(pull)))?;
            pulls.push(known);
            plays.extend(stage.sync()?.iter().map(|play| play[0]));
            if stage.stops_after(t)? {
                again.extend(stage.sync()?.concat());
                self.interruption.check_again(&plays, &again)?;
            }
        }
        let mut seen = self.read(&plays, &pulls);
        seen.append(&mut again);
        Ok(seen)
    }

    fn likelihood(&self, seen: &[f64]) -> Option<f64> {
        let nodes = self.nodes.as_ref()?;
        let worth = |world: World| -> Vec<f64> {
            let pull = self.pull(world).unwrap_or(0.0);
            (1..=self.releases)
                .map(|t| if t >= self.place { pull } else { 0.0 })
                .collect()
        };
        Some(nodes.ratio(seen, &worth(World::Left), &worth(World::Right)))
    }
}
