//! Recipes on perturbed iterates: exponents of T, the same learner without noise beside them, and
//! the excess risk of `pol` against the number of records.
//!
//! **What is claimed.** With s_t ∝ 1/t, Σσ_t = (Σs_t^⅔)^1.5/μ grows like √T, without logarithms;
//! for `pocp-anytime` like √T·ln T; with curvature t^¾ like T^¾.
//!
//! **Measured**, δ = 10⁻⁶, replace-one, switching game, d = 2, T = 2¹¹, 2¹³, 2¹⁵, 2¹⁷, 2 seeds;
//! "share" is regret divided by that of never moving, at 2¹⁷.
//!
//! | recipe | task | ε | a | regret | without noise | never moving | share |
//! |---|---|---|---|---|---|---|---|
//! | `pigd` | mean | 1 | 0.40 ± 0.02 | 474, 916, 1584, 2514 | 1.1 … 1.6 | 59 … 3820 | 0.66 |
//! | `pgiga` | mean | 1 | 0.40 ± 0.02 | 481, 926, 1596, 2526 | 1.2 … 1.6 | 59 … 3820 | 0.66 |
//! | `pocp-anytime` | mean | 10 | 0.25 ± 0.02 at b = 1 | 234, 423, 696, 1026 | 1.1 … 1.6 | 59 … 3820 | 0.27 |
//! | `pigd-convex` | linear | 10 | 0.61 ± 0.03 | 266, 677, 1351, 3505 | 257 … 2660 | 490 … 31646 | 0.11 |
//!
//! Below ½ is not a better rate: at small T noise is larger than the set and projection cuts it
//! off. At ε = 1 these recipes are worse than never moving up to T = 2¹⁵; `pftal` on the same game
//! is not (share 0.056 at 2¹⁷). The excess risk of `pol` falls like n^−1.5 (from 3·10⁻³ to 5·10⁻⁶),
//! faster than 1/n because its noise, like ln n/n, still dominates the sample's own error at small
//! n.

use crate::common::{budget, lengths};
use crate::fit::{growth, power};
use hushstream_account::{Adjacency, Budget, FilterKind};
use hushstream_arena::{Contest, Environment, Game, Task, best_in_hindsight, record};
use hushstream_mechanism::perturb::StableLearner;
use hushstream_mechanism::{Ledger, MemoryStorage, Participation, Raw};
use hushstream_noise::Key;
use hushstream_recipes::{AnyRecipe, Averaged, Insider, IterateRequest, IterateRun, RecipeName};

const SEEDS: u64 = if cfg!(feature = "long") { 8 } else { 2 };

fn contest(recipe: RecipeName, task: Task, epsilon: f64, rounds: u64) -> Contest {
    Contest {
        recipe,
        sum: None,
        noise: None,
        task,
        game: Game::Switching,
        dimension: 2,
        rounds,
        batch: 1,
        restart: None,
        budget: Budget::approx(epsilon, 1e-6).unwrap(),
        adjacency: Adjacency::ReplaceOne,
        window: None,
        curvature: None,
        learning_rate: None,
        set: None,
        losses: None,
        tuned: false,
    }
}

/// Regret of the secret iterates themselves: the same learner, the same records, no noise.
fn without_noise(contest: &Contest, seed: u64) -> f64 {
    let AnyRecipe::Iterate(recipe) = contest.recipe().unwrap() else {
        panic!("a recipe on iterates")
    };
    let learner: &dyn StableLearner = recipe.plan().request().learner.as_ref();
    let loss = contest.task.loss(contest.dimension);
    let set = contest.task.set(contest.dimension).unwrap();
    let mut environment = Environment::new(contest.game, contest.dimension, contest.rounds, seed);
    let mut state = learner.start();
    let mut here = vec![0.0; contest.dimension];
    let (mut rows, mut total) = (Vec::new(), 0.0);
    for t in 1..=contest.rounds {
        learner.iterate(t - 1, &state, &mut here);
        let row = contest.task.row(&mut environment, t, &here);
        total += loss.value(&record(&row), &here);
        learner.step(t, &mut state, Some(&record(&row)));
        rows.push(row);
    }
    let best = best_in_hindsight(contest.task, set.as_ref(), loss.as_ref(), rows).unwrap();
    total - best.loss
}

/// Regret, that of the learner without noise and that of never moving, means over seeds, for each
/// length: the exponent is at most the claimed one + 0.1, and the largest run is worth more than
/// doing nothing.
fn check(recipe: RecipeName, task: Task, epsilon: f64, (exponent, logarithms): (f64, f64)) {
    let (mut regrets, mut idle, mut quiet) = (Vec::new(), Vec::new(), Vec::new());
    for rounds in lengths() {
        let contest = contest(recipe, task, epsilon, rounds);
        let outcomes = contest.repeat(0..SEEDS).unwrap();
        let mean = |value: &dyn Fn(usize) -> f64| {
            (0..outcomes.len()).map(value).sum::<f64>() / outcomes.len() as f64
        };
        regrets.push((rounds, mean(&|i| outcomes[i].regret())));
        idle.push((
            rounds,
            mean(&|i| outcomes[i].nothing - outcomes[i].hindsight),
        ));
        quiet.push((rounds, without_noise(&contest, 0)));
    }
    let name = format!("{recipe} {task} ε = {epsilon}");
    let share = regrets[regrets.len() - 1].1 / idle[idle.len() - 1].1;
    println!(
        "{name}: share {share:.3}\n  private {regrets:.1?}\n  without noise {quiet:.1?}\n  nothing \
         {idle:.1?}"
    );
    let fit = growth(&regrets, logarithms).unwrap();
    let plain = growth(&regrets, 0.0).unwrap();
    println!(
        "  a = {:.3} ± {:.3} at b = {logarithms}, {:.3} at b = 0",
        fit.exponent, fit.error, plain.exponent
    );
    assert!(
        fit.exponent <= exponent + 0.1,
        "{name}: {fit:?} {regrets:.1?}"
    );
    assert!(share <= 0.9, "{name}: {share}");
    // One stream against the mean of several: comparable only where noise costs much.
    let (private, quiet) = (regrets[regrets.len() - 1].1, quiet[quiet.len() - 1].1);
    assert!(quiet < private, "{name}: {quiet} {private}");
    let linear = growth(&idle, 0.0).unwrap();
    assert!((linear.exponent - 1.0).abs() < 0.05, "{name}: {linear:?}");
}

#[test]
fn strongly_convex_losses() {
    check(RecipeName::Pigd, Task::Mean, 1.0, (0.5, 0.0));
    check(RecipeName::Pgiga, Task::Mean, 1.0, (0.5, 0.0));
}

/// At ε = 1 it is worse than doing nothing until far beyond 2¹⁷ rounds.
#[test]
fn unknown_horizon() {
    check(RecipeName::PocpAnytime, Task::Mean, 10.0, (0.5, 1.0));
}

/// At ε = 1 the regulariser still holds it near its start at 2¹⁷ rounds.
#[test]
fn losses_without_curvature() {
    check(RecipeName::PigdConvex, Task::Linear, 10.0, (0.75, 0.0));
}

/// `pol` on means: E½‖x̂ − m‖² falls like 1/n² for noise and 1/n for data; asserted: the exponent
/// is at most −0.8 and the largest run is within 2 % of the best, at d = 5.
#[test]
fn excess_risk_of_one_model() {
    let (task, dimension) = (Task::Mean, 5);
    let mut points = Vec::new();
    for rounds in lengths() {
        let mut total = 0.0;
        for seed in 0..2 * SEEDS {
            let recipe = IterateRequest {
                recipe: RecipeName::Pol,
                insider: Insider::Loss(task.loss(dimension)),
                set: task.set(dimension).unwrap(),
                rounds,
                budget: budget(),
                adjacency: Adjacency::ReplaceOne,
                participation: Participation::OncePerRecord,
                noise: None,
                curvature: None,
                steps: None,
                weighting: None,
                average: Averaged::All,
            }
            .plan()
            .unwrap();
            let plan = recipe.plan();
            let mut ledger =
                Ledger::simulated(budget(), FilterKind::Gaussian, plan.scope()).unwrap();
            let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
            let key = Key::insecure_from_seed(seed);
            let storage = MemoryStorage::default();
            let mut run = IterateRun::open(recipe, grant, &key, &mut ledger, storage).unwrap();
            let mut environment = Environment::new(Game::Stochastic, dimension, rounds, seed);
            let (mut mean, mut models) = (vec![0.0; dimension], Vec::new());
            // A fresh sample of the same size stands for the distribution.
            for t in 1..=rounds {
                let row = task.row(&mut environment, t, &[]);
                run.learn(None, Raw::seal(record(&row))).unwrap();
                if t % 1024 == 0 {
                    models.extend(run.sync(&mut ledger).unwrap());
                }
            }
            for t in 1..=4 * rounds {
                let row = task.row(&mut environment, t, &[]);
                let share = mean.iter_mut().zip(&row.0);
                share.for_each(|(m, x)| *m += x / (4 * rounds) as f64);
            }
            models.extend(run.sync(&mut ledger).unwrap());
            let [model] = &models[..] else {
                panic!("one model")
            };
            let apart = model
                .value()
                .iter()
                .zip(&mean)
                .map(|(a, b)| (a - b).powi(2));
            total += 0.5 * apart.sum::<f64>();
        }
        points.push((rounds as f64, total / (2 * SEEDS) as f64));
    }
    let fit = power(&points).unwrap();
    println!(
        "pol: excess risk {points:?}, exponent {:.2} ± {:.2}",
        fit.exponent, fit.error
    );
    assert!(fit.exponent < -0.8, "{fit:?} {points:?}");
    assert!(points[points.len() - 1].1 < 2e-3, "{points:?}");
}
