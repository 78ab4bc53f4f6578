//! `plan --recipe sparse-ftrl`: the parameters that `learn` would choose for two classes and
//! features of this length, their guarantee, and the time per round.

use super::arguments::Arguments;
use super::rows::Calibration;
use super::time::{measured, paid};
use anyhow::{Result, bail};
use hushstream_account::Budget;
use hushstream_mechanism::losses::{Features, Record};
use hushstream_mechanism::sums::SumKind;
use hushstream_mechanism::{NoStorage, Raw};
use hushstream_noise::Key;
use hushstream_recipes::{RecipeName, Situation, SparseRecipe, SparseRun, Task, Wishes};

/// Features of a record whose round is timed.
const FEATURES: u32 = 32;

/// Plans the recipe, which has only one sum.
pub(super) fn recipe(arguments: &Arguments, sum: Option<SumKind>) -> Result<SparseRecipe> {
    let task = &arguments.task;
    let Some(rounds) = arguments.rounds else {
        bail!("sparse-ftrl plays rounds: state --rounds");
    };
    if task.lipschitz.is_some() {
        bail!(
            "sparse-ftrl learns a logistic model, whose gradients are as long as the features: \
             state --norm, the largest length of a record's features, instead of --lipschitz"
        );
    }
    let situation = Situation {
        task: Task::Sign,
        features: arguments.dim as usize,
        length: task.norm,
        rounds,
        horizon_unknown: false,
        budget: Budget::approx(arguments.epsilon, arguments.delta)?,
        adjacency: arguments.adjacency.into(),
        participation: arguments.participation(),
    };
    let wishes = Wishes {
        recipe: Some(RecipeName::SparseFtrl),
        sum,
        noise: arguments.noise.map(Into::into),
        batch: (arguments.batch > 1).then_some(arguments.batch),
        set: task.set.as_ref().map(|_| "a set".to_owned()),
        radius: task.radius,
        curvature: task.curvature.or(task.strong_convexity),
        learning_rate: task.learning_rate,
        window: arguments.window,
        ..Wishes::default()
    };
    Ok(situation.choose_sparse(&wishes)?)
}

/// The calibration.
pub(super) fn calibration(recipe: &SparseRecipe) -> Calibration {
    let (rule, request) = (recipe.rule(), recipe.request());
    Calibration {
        learner: Some("follow the regularised leader, coordinate by coordinate,"),
        set: Some("box"),
        diameter: Some(2.0 * rule.half_side() * f64::from(request.features).sqrt()),
        rounds: Some(request.rounds),
        learning_rate: Some(rule.rate()),
        rows_until_signal: Some(recipe.rows_until_signal()),
        regret_theorem: Some(recipe.regret_bound().theorem),
        regret_holds: Some(recipe.regret_bound().holds.to_string()),
        ..Calibration::default()
    }
}

/// Nanoseconds per record of 32 random features.
pub(super) fn time(recipe: &SparseRecipe) -> Result<f64> {
    let (mut ledger, grant) = paid(recipe.plan())?;
    let key = Key::insecure_from_seed(0);
    let mut run = SparseRun::open(recipe.clone(), grant, &key, &mut ledger, NoStorage)?;
    let dimension = recipe.request().features;
    measured(recipe.request().rounds, |round| {
        let first = round as u32 % (1 << 16) * FEATURES;
        let mut places: Vec<u32> = (first..first + FEATURES)
            .map(|number| {
                let anywhere = u64::from(number.wrapping_mul(0x9e37_79b1));
                ((anywhere * u64::from(dimension)) >> 32) as u32
            })
            .collect();
        places.sort_unstable();
        places.dedup();
        let features = Features::Sparse(places.into_iter().map(|place| (place, 0.1)).collect());
        let record = Record {
            features,
            target: 1.0,
        };
        Ok(run.learn(None, Raw::seal(record))?)
    })
}
