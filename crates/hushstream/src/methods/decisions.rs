//! Decisions that depend on a context.

use super::session::{Baseline, Content, Running};
use super::{Method, Place, Restart, tables};
use crate::decisions::{Evaluation, Judge};
use crate::error::{Result, refuse};
use crate::learner::Learner;
use crate::outcome::Parameters;
use hushstream_account::Price;
use hushstream_mechanism::decisions::{ContextMap, Judged, Outcomes, Plain, Policy, Rule};
use hushstream_mechanism::{Grant, Scope};
use hushstream_pictures::numbers::{grouped, short};
use hushstream_read::{Decides, Layout, Told};
use hushstream_recipes::{
    Column, DecisionsRecipe, DecisionsRequest, DecisionsRun, DecisionsShadow, Judging, RecipeName,
    Release, Situation,
};

/// The share of μ² for evaluation, if none is stated.
const SHARE: f64 = 0.05;

struct Decisions {
    recipe: DecisionsRecipe,
    decides: Decides,
    judged: Vec<String>,
    reasons: Vec<String>,
}

/// How rows tell about their decision.
pub(crate) fn outcomes(learner: &Learner, decides: &Decides) -> Result<Outcomes> {
    let most = match (learner.data.least_propensity, decides.told) {
        (Some(least), Told::Played { .. }) if least > 0.0 && least <= 1.0 => 1.0 / least,
        (Some(_), Told::Played { .. }) => {
            refuse!("the least propensity is not allowed; allowed: a number above 0 and at most 1")
        }
        (None, Told::Played { propensity: true }) => refuse!(
            "a log with propensities needs the least of them, from what is known of the logging \
             policy: ‹least-propensity P›"
        ),
        // Ours are at least 1/(K + γ), and γ grows: the weight is clipped.
        (_, Told::Asked) => 4.0 * decides.arms.len() as f64,
        _ => decides.arms.len() as f64,
    };
    Ok(match decides.told {
        Told::Right => Outcomes::Labels,
        Told::All => Outcomes::Table,
        Told::Played { propensity } => Outcomes::Log {
            stated: propensity,
            most,
        },
        Told::Asked => Outcomes::Log { stated: true, most },
    })
}

/// The named recipe, or `igw`.
pub(crate) fn choose(
    learner: &Learner,
    layout: &Layout,
    situation: &Situation,
) -> Result<Box<dyn Method>> {
    let (Some(decides), Some(contexts)) = (layout.decides(), layout.contexts()) else {
        refuse!("these records are not about decisions: ‹task decide›");
    };
    if decides.told == Told::Asked && !learner.data.file.is_empty() {
        refuse!(
            "these rows tell no outcome: name the right arm by ‹target›, a log by ‹arm› and \
             ‹target›, or columns of rewards by ‹arms›; a program that asks uses `Run::decide`"
        );
    }
    let named = learner.wishes.recipe.unwrap_or(RecipeName::Igw);
    if !named.decides() {
        refuse!("{named} does not look at contexts: use igw, or ‹task bandit›");
    }
    learner.wishes.check(named)?;
    let wishes = &learner.decisions;
    let columns = tables::columns(&contexts);
    let judges = match &wishes.evaluate {
        Some(judges) => judges.clone(),
        None if matches!(decides.told, Told::Played { .. }) => vec![Judge::Current],
        None => Vec::new(),
    };
    let share = wishes.evaluation_share.unwrap_or(SHARE);
    let judged = judges.iter().map(|judge| judged(judge, &columns, decides));
    let evaluation = (share > 0.0).then_some(Judging {
        judged: judged.collect::<Result<_>>()?,
        most: wishes.greatest_weight,
        share,
    });
    let recipe = DecisionsRequest {
        recipe: named,
        columns,
        arms: decides.arms.len(),
        outcomes: outcomes(learner, decides)?,
        rounds: situation.rounds,
        horizon_unknown: situation.horizon_unknown,
        budget: situation.budget,
        adjacency: situation.adjacency,
        participation: situation.participation,
        sum: learner.wishes.sum,
        noise: learner.wishes.noise,
        batch: learner.wishes.batch,
        knots: learner.data.schema.knots,
        length: learner.data.schema.norm,
        ridge: learner.wishes.ridge,
        exploration: wishes.exploration,
        evaluation,
        first_arm: wishes.first_arm,
    }
    .plan()?;
    let reasons = reasons(&recipe);
    Ok(Box::new(Decisions {
        judged: judges.iter().map(ToString::to_string).collect(),
        decides: decides.clone(),
        recipe,
        reasons,
    }))
}

/// A policy to be evaluated.
fn judged(judge: &Judge, columns: &[Column], decides: &Decides) -> Result<Judged> {
    let fixed = |rule: Rule| -> Result<Judged> {
        let plain = columns.iter().map(|column| match *column {
            Column::Number { .. } => Plain::Number,
            Column::Category(values) => Plain::Category(values),
        });
        let map = ContextMap::linear(plain.collect(), 1.0)?;
        let weights = vec![0.0; map.features() * decides.arms.len()];
        let policy = Policy::new(map, weights, decides.arms.len(), rule)?;
        Ok(Judged::Frozen(Box::new(policy)))
    };
    match judge {
        Judge::Current => Ok(Judged::Current),
        Judge::Uniform => fixed(Rule::Uniform),
        Judge::Arm(name) => match decides.arms.iter().position(|arm| arm == name) {
            Some(arm) => fixed(Rule::Always(arm)),
            None => refuse!(
                "no arm is called {name}; there are: {}",
                decides.arms.join(", ")
            ),
        },
        Judge::Model(model) => {
            let is_same = model.arm_names() == decides.arms.as_slice();
            match model.policy()? {
                Some(policy) if is_same => Ok(Judged::Frozen(Box::new(policy))),
                _ => refuse!("a model to be evaluated must be a policy of the same arms"),
            }
        }
    }
}

fn reasons(recipe: &DecisionsRecipe) -> Vec<String> {
    let (map, plan) = (recipe.map(), recipe.plan());
    let p = map.context().features();
    let kind = match map.context() {
        ContextMap::Linear { .. } => "linear features",
        ContextMap::Curves(_) => "curves of columns",
    };
    let needed =
        plan.prefix_sd_max() * (2.0 * p as f64).sqrt() * p as f64 / map.context().length().powi(2);
    let mut reasons = vec![format!(
        "{kind}, {p} for every arm: spread evenly, they would rise above their noise after about \
         {} records of an arm, and an arm can expect {}",
        grouped(needed as u64),
        grouped(recipe.request().rounds / map.arms() as u64)
    )];
    if recipe.request().recipe == RecipeName::Igw {
        reasons.push(format!(
            "exploration {}: gamma from {} to {}",
            short(recipe.exploration()),
            short(recipe.gamma(0)),
            short(recipe.gamma(plan.request().releases)),
        ));
    }
    if let (Some(evaluation), Some(scale)) = (map.evaluation(), recipe.evaluated()) {
        let noise = plan.prefix_sd_max() / scale.unit(plan.request().bound);
        reasons.push(format!(
            "{} % of mu squared for an evaluation: the sum of rewards, on a scale of 0 to 1, has \
             noise of {}",
            short(100.0 * evaluation.share),
            short(noise),
        ));
    }
    reasons
}

/// A release for the file of releases.
fn shown(release: &Release, decides: &Decides, judged: &[String]) -> Content {
    Content::Policy {
        weights: release.policy.weights().to_vec(),
        rule: release.policy.rule().clone(),
        evaluation: Evaluation::of(release.evaluation.as_ref(), decides.rewards, judged),
    }
}

impl Method for Decisions {
    fn recipe(&self) -> RecipeName {
        self.recipe.request().recipe
    }

    fn price(&self) -> Result<(Price, Scope)> {
        let plan = self.recipe.plan();
        Ok((plan.charge()?, plan.scope()))
    }

    fn records(&self) -> (u64, u64) {
        (self.recipe.request().rounds, self.recipe.rounds())
    }

    fn parameters(&self) -> Parameters {
        let request = self.recipe.plan().request();
        let (low, high) = self.decides.rewards;
        let draws = self.recipe.map().outcomes().draws();
        let bound = self.recipe.regret_bound().filter(|_| draws);
        let trivial = self.recipe.request().rounds as f64 * (high - low);
        Parameters {
            sum: Some(request.kind.to_string()),
            noise: Some(request.noise.to_string()),
            batch: request.batch,
            releases: request.releases,
            ridge: Some(self.recipe.ridge()),
            noise_sd: Some(self.recipe.plan().prefix_sd_max()),
            regret_bound: bound.map(|bound| bound * (high - low)),
            trivial_regret: bound.map(|_| trivial),
            reasons: self.reasons.clone(),
            ..Parameters::default()
        }
    }

    fn headline(&self) -> String {
        let request = self.recipe.plan().request();
        format!(
            "{}: a policy of the context, on {} sums with {} noise, batches of {}",
            self.recipe(),
            request.kind,
            request.noise,
            grouped(request.batch)
        )
    }

    fn open(&self, place: Place<'_>, grant: Option<Grant>) -> Result<Restart> {
        let every = place.every;
        let decides = [self.decides.clone(), self.decides.clone()];
        let names = [self.judged.clone(), self.judged.clone()];
        let [shown_decides, read_decides] = decides;
        let [shown_names, read_names] = names;
        place.open(self.recipe.clone(), grant, true, |mut run: DecisionsRun| {
            if !every {
                run.keep_only_the_last();
            }
            run.draw_ahead();
            let mut running = Running::new(run, move |release| {
                shown(&release, &shown_decides, &shown_names)
            });
            running.decide =
                Box::new(|run, ledger, context, slot| Ok(Some(run.decide(ledger, context, slot)?)));
            running.policy = Box::new(move |run, ledger| {
                let release = run.policy(ledger)?.into_value();
                let rewards = read_decides.rewards;
                let evaluation = Evaluation::of(release.evaluation.as_ref(), rewards, &read_names);
                Ok(Some((release.policy, evaluation)))
            });
            Ok(Box::new(running))
        })
    }

    fn shadow(&self) -> Result<Option<Box<dyn Baseline>>> {
        Ok(Some(Box::new(DecisionsShadow::new(&self.recipe)?)))
    }
}
