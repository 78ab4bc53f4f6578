//! Exponents of T at a fixed budget, replace-one. Every game has a constant gap, so that doing
//! nothing costs a constant a round, and a learner tuned for T pays about (ln d)/rate(T).
//!
//! b is the power of ln T that is divided out: ½ where the rate has a √(ln T), 1 for `pftal-bandit`
//! on strongly convex losses (whose theorem has more).
//!
//! **Measured** with the feature `long`, 16 seeds; "share" is regret divided by that of doing
//! nothing, at the largest T.
//!
//! | recipe | budget | T | a | theorem | regret, first and last | share |
//! |---|---|---|---|---|---|---|
//! | `dartboard`, 16 experts | ε = 1 | 2¹⁰…2¹⁷ | 0.475 ± 0.013 | ½ | 344, 3480 | 0.047 |
//! | `dartboard` | (1, 10⁻⁶) | 2¹⁰…2¹⁷ | 0.334 ± 0.008 | ⅓ while privacy dominates, then ½ | 144, 748 | 0.010 |
//! | `hedge-batched` | (1, 10⁻⁶) | 2¹⁰…2¹⁷ | 0.491 ± 0.006 | ½ | 106, 1139 | 0.015 |
//! | `exp2`, 3 arms, b = ½ | ε = 4 | 2¹²…2¹⁹ | 0.504 ± 0.001 | ½ | 778, 11261 | 0.018 |
//! | `scrible`, disc, b = ½ | ε = 4 | 2¹²…2¹⁸ | 0.492 ± 0.002 | ½ | 428, 4005 | 0.015 |
//! | `pftal-bandit`, squared distance, b = 1 | (20, 10⁻⁶) | 2¹⁰…2¹⁸ | 0.65 (0.746 ± 0.005 at b = 0) | ⅔ | 110, 6929 | 0.054 |
//! | `pftal-bandit`, linear | (20, 10⁻⁶) | 2¹⁰…2¹⁸ | 0.744 ± 0.001 | ¾ | 389, 23977 | 0.091 |
//! | `cover`, d = 1, b = ½ | (8, 10⁻⁶) | 2⁸…2¹² | 0.369 ± 0.052 | ½ | 36, 133 | 0.080 |

use crate::fit::growth;
use hushstream_account::{Adjacency, Budget, FilterKind};
use hushstream_arena::{Dice, open};
use hushstream_mechanism::feedback::Range;
use hushstream_mechanism::losses::{Distance, Features, LinearLoss, Loss, Record};
use hushstream_mechanism::{Ledger, MemoryStorage, NoStorage, Participation, Raw};
use hushstream_noise::Key;
use hushstream_recipes::{
    Actions, Advice, BanditRequest, BanditRun, ExpertsPlayer, ExpertsRecipe, ExpertsRequest,
    ExpertsRun, RecipeName, ValuesRequest, ValuesRun,
};
use hushstream_sets::{Ball, BoxSet, ConvexSet};
use std::sync::Arc;

/// Lengths, and games of each.
fn lengths(from: u32, short: u32, long: u32) -> Vec<u64> {
    let to = if cfg!(feature = "long") { long } else { short };
    (from..=to).map(|power| 1 << power).collect()
}

const SEEDS: u64 = if cfg!(feature = "long") { 16 } else { 4 };

/// Measures (regret, regret of doing nothing), and asserts the exponent, at `logarithms` powers of
/// ln T, and the share of doing nothing at the largest T.
fn check(
    name: &str,
    lengths: &[u64],
    logarithms: f64,
    (low, high): (f64, f64),
    most_share: f64,
    play: impl Fn(u64, u64) -> (f64, f64) + Sync,
) {
    let mut points = Vec::new();
    let mut share = 0.0;
    for &rounds in lengths {
        let (mut regret, mut nothing) = (0.0, 0.0);
        for seed in 0..SEEDS {
            let (here, idle) = play(rounds, seed);
            regret += here / SEEDS as f64;
            nothing += idle / SEEDS as f64;
        }
        points.push((rounds, regret));
        share = regret / nothing;
    }
    let fit = growth(&points, logarithms).unwrap();
    println!(
        "{name}: {:.3} ± {:.3}, share {share:.3}, {points:.0?}",
        fit.exponent, fit.error
    );
    assert!(
        (low..=high).contains(&fit.exponent),
        "{name} {fit:?} {points:?}"
    );
    assert!(share <= most_share, "{name} {share} {points:?}");
}

fn planned(recipe: RecipeName, budget: Budget, rounds: u64) -> ExpertsRecipe {
    ExpertsRequest {
        recipe,
        advice: Advice::Experts(16),
        rounds: Some(rounds),
        restart: None,
        batch: None,
        board: None,
        budget,
        adjacency: Adjacency::ReplaceOne,
        participation: Participation::OncePerRecord,
    }
    .plan()
    .unwrap()
}

/// One expert loses 0.2 a round, the others 0.8, as coins fall.
fn experts(recipe: RecipeName, budget: Budget, rounds: u64, seed: u64) -> (f64, f64) {
    let recipe = planned(recipe, budget, rounds);
    let plan = recipe.plan();
    let paid = (budget, plan.charge().unwrap(), plan.scope());
    let key = Key::insecure_from_seed(seed);
    let (mut run, _) = open::<ExpertsPlayer>(recipe, paid, &key, NoStorage).unwrap();
    let mut dice = Dice::new(seed);
    let (mut loss, mut totals) = (0.0, [0.0; 16]);
    for _ in 0..rounds {
        let mean = |i: usize| if i == 5 { 0.2 } else { 0.8 };
        let losses: Vec<f64> = (0..16)
            .map(|i| f64::from(u8::from(dice.coin(mean(i)))))
            .collect();
        loss += losses[*run.expert().for_the_operator()];
        totals.iter_mut().zip(&losses).for_each(|(t, l)| *t += l);
        run.learn_losses(None, Raw::seal(losses)).unwrap();
    }
    let best = totals.into_iter().fold(f64::INFINITY, f64::min);
    (loss - best, 0.6 * 15.0 / 16.0 * rounds as f64)
}

#[test]
fn dartboards_grow_like_the_root() {
    let pure = Budget::pure(1.0).unwrap();
    let approximate = Budget::approx(1.0, 1e-6).unwrap();
    let all = lengths(10, 14, 17);
    check(
        "dartboard, pure",
        &all,
        0.0,
        (0.35, 0.6),
        0.4,
        |rounds, seed| experts(RecipeName::Dartboard, pure, rounds, seed),
    );
    check(
        "dartboard, approximate",
        &all,
        0.0,
        (0.2, 0.6),
        0.3,
        |rounds, seed| experts(RecipeName::Dartboard, approximate, rounds, seed),
    );
    check(
        "hedge-batched, approximate",
        &all,
        0.0,
        (0.2, 0.6),
        0.3,
        |rounds, seed| experts(RecipeName::HedgeBatched, approximate, rounds, seed),
    );
}

/// With a gap of 0.6 between the best expert and the others, limited updates lose little more in
/// sixteen times the rounds, and what is certified for the gap is above that, and far below the
/// bound for any losses.
#[test]
fn limited_updates_stop_growing_where_there_is_a_gap() {
    let pure = Budget::pure(1.0).unwrap();
    let mut rows = Vec::new();
    for rounds in [1 << 10, 1 << 14] {
        let recipe = planned(RecipeName::LimitedUpdates, pure, rounds);
        let bound = recipe.certified_apart(0.6).unwrap().value;
        let any = recipe.certified().unwrap().value;
        let seeds = 0..24;
        let regrets = seeds.map(|seed| experts(RecipeName::LimitedUpdates, pure, rounds, seed).0);
        let regret = regrets.sum::<f64>() / 24.0;
        println!("{rounds}: {regret:.1} measured, {bound:.1} and {any:.1} certified");
        assert!(
            regret <= bound && bound < 0.7 * any,
            "{regret} {bound} {any}"
        );
        rows.push((regret, bound));
    }
    assert!(
        rows[1].1 < rows[0].1 + 0.01 && rows[1].0 < 1.5 * rows[0].0,
        "{rows:?}"
    );
}

fn bandit(request: BanditRequest, losses: &[f64], best: f64, idle: f64, seed: u64) -> (f64, f64) {
    let rounds = request.rounds.unwrap();
    let recipe = request.plan().unwrap();
    let plan = recipe.plan();
    let budget = recipe.request().budget;
    let mut ledger = Ledger::simulated(budget, plan.filter(), plan.scope()).unwrap();
    let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
    let (key, storage) = (Key::insecure_from_seed(seed), MemoryStorage::default());
    let mut run = BanditRun::open(recipe, grant, &key, &mut ledger, storage).unwrap();
    let mut regret = 0.0;
    for _ in 0..rounds {
        let point = run.play().for_the_operator().point.clone();
        let loss: f64 = losses.iter().zip(point).map(|(l, x)| l * x).sum();
        regret += loss - best;
        run.learn_losses(None, Raw::seal(losses.to_vec())).unwrap();
    }
    (regret, (idle - best) * rounds as f64)
}

fn request(recipe: RecipeName, actions: Actions, rounds: u64) -> BanditRequest {
    BanditRequest {
        recipe,
        actions,
        reading: None,
        range: Range::Symmetric(1.0),
        rounds: Some(rounds),
        restart: None,
        batch: None,
        noise: None,
        budget: Budget::pure(4.0).unwrap(),
        adjacency: Adjacency::ReplaceOne,
        participation: Participation::OncePerRecord,
    }
}

#[test]
fn bandits_grow_like_the_root() {
    let arms = [0.9, -0.9, 0.9];
    check(
        "exp2",
        &lengths(12, 16, 19),
        0.5,
        (0.3, 0.6),
        0.5,
        |rounds, seed| {
            let request = request(RecipeName::Exp2, Actions::Arms(3), rounds);
            bandit(request, &arms, -0.9, 0.3, seed)
        },
    );
    let set: Arc<dyn ConvexSet> = Arc::new(Ball::new(2, 1.0).unwrap());
    check(
        "scrible",
        &lengths(12, 15, 18),
        0.5,
        (0.3, 0.6),
        0.5,
        |rounds, seed| {
            let request = request(RecipeName::Scrible, Actions::Set(set.clone()), rounds);
            bandit(request, &[0.6, -0.8], -1.0, 0.0, seed)
        },
    );
}

fn values(
    loss: &Arc<dyn Loss>,
    range: Range,
    target: [f64; 2],
    rounds: u64,
    seed: u64,
) -> (f64, f64) {
    let set: Arc<dyn ConvexSet> = Arc::new(Ball::new(2, 1.0).unwrap());
    let budget = Budget::approx(20.0, 1e-6).unwrap();
    let recipe = ValuesRequest {
        loss: loss.clone(),
        set,
        range,
        rounds,
        adaptive: false,
        curvature: None,
        radius: None,
        sum: None,
        noise: None,
        budget,
        adjacency: Adjacency::ReplaceOne,
        participation: Participation::OncePerRecord,
    }
    .plan()
    .unwrap();
    let plan = recipe.plan();
    let mut ledger = Ledger::simulated(budget, FilterKind::Gaussian, plan.scope()).unwrap();
    let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
    let (key, storage) = (Key::insecure_from_seed(seed), MemoryStorage::default());
    let mut run = ValuesRun::open(recipe, grant, &key, &mut ledger, storage).unwrap();
    let record = || Record {
        features: Features::Dense(target.to_vec()),
        target: 0.0,
    };
    let length = (target[0].powi(2) + target[1].powi(2)).sqrt();
    let best = [-target[0] / length, -target[1] / length];
    let least = loss
        .value(&record(), &target)
        .min(loss.value(&record(), &best));
    let idle = loss.value(&record(), &[0.0, 0.0]);
    let mut regret = 0.0;
    for _ in 0..rounds {
        regret += loss.value(&record(), run.question().for_the_operator()) - least;
        run.learn(None, Raw::seal(record())).unwrap();
    }
    (regret, (idle - least) * rounds as f64)
}

#[test]
fn function_values_grow_like_two_thirds_and_three_quarters() {
    let distance: Arc<dyn Loss> = Arc::new(Distance::new(2, 1.0, 1.0).unwrap());
    let all = lengths(10, 14, 18);
    check(
        "pftal-bandit, strongly convex",
        &all,
        1.0,
        (0.5, 0.8),
        0.3,
        |rounds, seed| values(&distance, Range::ZeroTo(2.0), [0.9, -0.4], rounds, seed),
    );
    let linear: Arc<dyn Loss> = Arc::new(LinearLoss::new(2, -1.0, 1.0).unwrap());
    check(
        "pftal-bandit, convex",
        &all,
        0.0,
        (0.65, 0.85),
        0.4,
        |rounds, seed| values(&linear, Range::Symmetric(1.0), [0.6, -0.8], rounds, seed),
    );
}

#[test]
fn cover_grows_like_the_root() {
    let lengths = lengths(8, 10, 12);
    check("cover", &lengths, 0.5, (0.1, 0.8), 0.6, |rounds, seed| {
        let loss: Arc<dyn Loss> = Arc::new(Distance::new(1, 1.0, 1.0).unwrap());
        let recipe = ExpertsRequest {
            recipe: RecipeName::Cover,
            advice: Advice::Net {
                loss: loss.clone(),
                set: Arc::new(BoxSet::cube(1, 1.0).unwrap()),
                radius: None,
            },
            rounds: Some(rounds),
            restart: None,
            batch: None,
            board: None,
            budget: Budget::approx(8.0, 1e-6).unwrap(),
            adjacency: Adjacency::ReplaceOne,
            participation: Participation::OncePerRecord,
        }
        .plan()
        .unwrap();
        let plan = recipe.plan();
        let mut ledger =
            Ledger::simulated(recipe.request().budget, plan.filter(), plan.scope()).unwrap();
        let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
        let (key, storage) = (Key::insecure_from_seed(seed), MemoryStorage::default());
        let mut run = ExpertsRun::open(recipe.clone(), grant, &key, &mut ledger, storage).unwrap();
        let mut dice = Dice::new(seed);
        let mut regret = 0.0;
        let mut nothing = 0.0;
        for _ in 0..rounds {
            let at = 0.9 + 0.1 * dice.normal().clamp(-1.0, 1.0);
            let record = || Record {
                features: Features::Dense(vec![at]),
                target: 0.0,
            };
            let least = loss.value(&record(), &[0.9]);
            regret += loss.value(&record(), run.question().for_the_operator()) - least;
            nothing += loss.value(&record(), &[0.0]) - least;
            run.learn(None, Raw::seal(record())).unwrap();
        }
        (regret, nothing)
    });
}
