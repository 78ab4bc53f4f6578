//! Duels against curves and tables: what leaves are weights.
//!
//! One column with one category, and a step so small that no weight matters: then a record's
//! residual is its target, and the weight of the category is the released sum of residuals, times
//! the step. The audit is as tight as one of the sum, but for the counts: where these are paid for,
//! under zero-out and for pure noise, an outsider who sees weights alone cannot prove that part.

use super::Target;
use super::nodes::Nodes;
use super::stage::{Interruption, Terms};
use super::target::LineUp;
use crate::AuditError;
use crate::duel::{Duel, World};
use hushstream_mechanism::losses::{Features, Record};
use hushstream_mechanism::sums::SumKind;
use hushstream_mechanism::{Participation, Raw, Response};
use hushstream_recipes::{Column, TablesPlayer, TablesRecipe, TablesRequest};

/// η.
const STEP: f64 = 1e-9;
/// The person whose records are the canary, where persons count.
const CANARY: u64 = 0;

/// Two neighbouring streams against `tables`.
struct Tabled {
    recipe: TablesRecipe,
    terms: Terms,
    /// The items, from 1, that hold the canary's records.
    canaries: Vec<u64>,
    adaptive: bool,
    interruption: Interruption,
    nodes: Option<Nodes>,
    releases: u64,
    what: String,
}

fn recipe(target: &Target) -> Result<TablesRecipe, AuditError> {
    let request = TablesRequest {
        columns: vec![Column::Category(1)],
        response: Response::Number(1.0),
        rounds: target.releases.saturating_mul(target.batch),
        horizon_unknown: target.sum.is_some_and(SumKind::needs_no_horizon),
        // The last iterate is published, not an average.
        in_time: true,
        budget: target.budget,
        adjacency: target.adjacency,
        participation: target.participation(),
        sum: target.sum,
        noise: Some(target.noise),
        batch: Some(target.batch),
        at_rest: false,
        passes: None,
        knots: None,
        tables: Some(0),
        step: Some(STEP),
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
    // A ratio up to a factor, which is that of counts.
    let reach = target.adjacency.kappa();
    let alone = target.records_a_person == 1;
    let nodes = (target.noise.is_pure() && alone)
        .then(|| Nodes::of(sum, n, n, (reach, target.budget.epsilon())))
        .flatten();
    let duel = |place: u64, adaptive: bool, interruption: Interruption| {
        let others = if adaptive { ", adaptive stream" } else { "" };
        let whole = interruption == Interruption::Never;
        Tabled {
            recipe: recipe.clone(),
            terms: terms.clone(),
            canaries: target.canaries(place),
            adaptive,
            interruption,
            nodes: nodes.clone().filter(|_| whole),
            releases: n,
            what: format!("record {place} of {n}{others}{interruption}"),
        }
    };
    let duels = target.line_up(target.deepest(sum), [n > 1, false], duel);
    Ok((terms, duels))
}

impl Tabled {
    fn pull(&self, world: World) -> Option<f64> {
        world.pull(self.recipe.request().adjacency)
    }
}

/// A record with this residual, or one that is malformed.
fn record(pull: Option<f64>) -> Record {
    Record {
        features: Features::Dense(vec![0.0]),
        target: pull.map_or(f64::NAN, |pull| -pull),
    }
}

impl Duel for Tabled {
    fn name(&self) -> String {
        self.what.clone()
    }

    fn play(&self, world: World, seed: u64) -> Result<Vec<f64>, AuditError> {
        let mut stage = (self.terms).open::<TablesPlayer>(&self.recipe, seed, self.interruption)?;
        let (mut sums, mut again) = (Vec::new(), Vec::new());
        let (mut known, mut direction) = (0.0, 1.0);
        let persons = matches!(
            self.recipe.request().participation,
            Participation::PerPerson { .. }
        );
        for t in 1..=self.releases {
            let canary = self.canaries.contains(&t);
            let pull = if canary {
                self.pull(world)
            } else if self.adaptive {
                known += direction;
                Some(direction)
            } else {
                Some(0.0)
            };
            let batch = self.recipe.batch();
            for k in 0..batch {
                let middle = k == batch / 2;
                let name = if canary && middle {
                    CANARY
                } else {
                    t * batch + k
                };
                let pull = if middle { pull } else { Some(0.0) };
                let record = Raw::seal(record(pull));
                stage.run.learn(persons.then_some(name), record)?;
            }
            for weights in stage.sync()? {
                // The others go against what was published last, as an adversary would.
                direction = if weights[0] >= 0.0 { 1.0 } else { -1.0 };
                sums.push(-weights[0] / STEP - known);
            }
            if stage.stops_after(t)? {
                again.extend(stage.sync()?.iter().map(|weights| -weights[0] / STEP));
            }
        }
        sums.append(&mut again);
        Ok(sums)
    }

    fn likelihood(&self, seen: &[f64]) -> Option<f64> {
        let nodes = self.nodes.as_ref()?;
        let taken = |t: u64| self.canaries.iter().filter(|&&canary| canary <= t).count() as f64;
        let worth = |world: World| -> Vec<f64> {
            let pull = self.pull(world).unwrap_or(0.0);
            (1..=self.releases).map(|t| pull * taken(t)).collect()
        };
        let seen = seen.get(..usize::try_from(self.releases).ok()?)?;
        Some(nodes.ratio(seen, &worth(World::Left), &worth(World::Right)))
    }
}
