//! Certified regret beside measured regret, for every recipe that plays rounds: on each game that
//! its theorem covers, the mean over fixed seeds is below the bound. And what an adversary that
//! sees the plays gains over the same losses, fixed in advance.
#![allow(clippy::unwrap_used)]

use hushstream_account::{Adjacency, Budget};
use hushstream_arena::figures::separation;
use hushstream_arena::{Contest, ContextualGame, Game, Outcome, Task};
use hushstream_mechanism::losses::LossSet;
use hushstream_recipes::{CATALOGUE, RecipeName};
use hushstream_sets::{
    Ball, BoxSet, ConvexSet, FlowPolytope, GraphicMatroid, L1Ball, UniformMatroid,
};
use std::sync::Arc;

fn contest(recipe: RecipeName, task: Task, game: Game, dimension: usize, rounds: u64) -> Contest {
    Contest {
        recipe,
        sum: None,
        noise: None,
        task,
        game,
        dimension,
        rounds,
        batch: 1,
        restart: None,
        budget: Budget::approx(2.0, 1e-6).unwrap(),
        adjacency: Adjacency::ReplaceOne,
        window: None,
        curvature: None,
        learning_rate: None,
        set: None,
        losses: None,
        tuned: false,
    }
}

fn mean(outcomes: &[Outcome]) -> f64 {
    outcomes.iter().map(Outcome::regret).sum::<f64>() / outcomes.len() as f64
}

/// The mean regret of these contests is below what is certified, where something is; returns both.
fn check(contest: &Contest, seeds: u64) -> (f64, Option<f64>) {
    let regret = mean(&contest.repeat(0..seeds).unwrap());
    let certified = contest.certified().unwrap().map(|bound| bound.value);
    let name = format!("{} {} {}", contest.recipe, contest.task, contest.game);
    println!("{name}: measured {regret:.1}, certified {certified:.1?}");
    if let Some(bound) = certified {
        assert!(regret <= bound, "{name}: {regret} above {bound}");
    }
    (regret, certified)
}

/// Every recipe plays a game that its theorem covers; the two that do not play say why.
#[test]
fn no_recipe_has_more_regret_than_is_certified() {
    for entry in CATALOGUE {
        // Decisions have games of their own, below.
        if entry.recipe.decides() {
            continue;
        }
        let mut covered = 0;
        for task in Task::ALL {
            for game in [Game::Stochastic, Game::Switching] {
                // Every round of a net asks each of its points.
                let (rounds, seeds) = match entry.recipe {
                    RecipeName::Cover => (128, 4),
                    _ => (512, 24),
                };
                let contest = contest(entry.recipe, task, game, 2, rounds);
                if contest.recipe().is_ok() {
                    covered += u32::from(check(&contest, seeds).1.is_some());
                }
            }
        }
        let plays_no_rounds = [RecipeName::Pol, RecipeName::Tables].contains(&entry.recipe);
        assert_eq!(covered == 0, plays_no_rounds, "{}", entry.name);
    }
}

/// Limited updates without a δ, on every task.
#[test]
fn pure_limited_updates_have_less_regret_than_is_certified() {
    let mut covered = 0;
    for task in Task::ALL {
        let mut contest = contest(RecipeName::LimitedUpdates, task, Game::Stochastic, 2, 2000);
        contest.budget = Budget::pure(4.0).unwrap();
        if contest.recipe().is_ok() {
            covered += u32::from(check(&contest, 16).1.is_some());
        }
    }
    assert!(covered >= 4, "{covered}");
}

/// Decisions by a context: far below what is certified, and better than arms drawn alike.
#[test]
fn decisions_have_less_regret_than_is_certified() {
    for (arms, features) in [(5, 11), (20, 6)] {
        let game = ContextualGame {
            recipe: RecipeName::Igw,
            arms,
            features,
            rounds: 20_000,
            sum: None,
            noise: None,
            batch: None,
            exploration: None,
            budget: Budget::approx(2.0, 1e-6).unwrap(),
            adjacency: Adjacency::ReplaceOne,
        };
        let bound = game.recipe().unwrap().regret_bound().unwrap();
        for seed in 0..2 {
            let earned = game.play(seed).unwrap();
            assert!(
                (earned.best - earned.private[0]) * 20_000.0 <= bound,
                "{earned:?}"
            );
            assert!(earned.private[0] > earned.uniform + 0.1, "{earned:?}");
            assert!(earned.exact[0] > earned.private[0], "{earned:?}");
        }
    }
}

/// The bounds that are close to what is measured, with more seeds.
#[test]
fn close_bounds_hold_too() {
    for recipe in [
        RecipeName::Dartboard,
        RecipeName::DartboardBatched,
        RecipeName::HedgeBatched,
        RecipeName::Ftrl,
        RecipeName::Ftpl,
    ] {
        for game in [Game::Stochastic, Game::Switching, Game::Blocks] {
            check(&contest(recipe, Task::Experts, game, 3, 1000), 200);
        }
    }
}

/// Where the best expert changes, a learner that begins anew loses less than any fixed expert; and
/// never more than is certified against the best expert of every season.
#[test]
fn restarts_follow_a_best_that_changes() {
    for (recipe, rounds, season) in [
        (RecipeName::Dartboard, 8000, 1000),
        (RecipeName::HedgeBatched, 8000, 1000),
        (RecipeName::Exp2, 40_000, 10_000),
    ] {
        let mut contest = contest(recipe, Task::Experts, Game::Switching, 3, rounds);
        contest.budget = Budget::approx(4.0, 1e-6).unwrap();
        let (stays, _) = check(&contest, 8);
        contest.restart = Some(season);
        let (moves, certified) = check(&contest, 8);
        assert!(certified.is_some(), "{recipe}");
        let gain = (stays - moves) / rounds as f64;
        assert!(moves < 0.0 && gain > 0.02, "{recipe}: {stays} {moves}");
    }
}

/// EXP2 on finitely many points at rates that meet its own condition, and FTPL and SCRiBLE on sets
/// of AS17's applications: below what is certified, and better than never moving.
#[test]
fn linear_losses_on_other_sets() {
    let edges = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)];
    let sets: [(RecipeName, Arc<dyn ConvexSet>, u64); 6] = [
        (
            RecipeName::Exp2,
            Arc::new(L1Ball::new(2, 1.0).unwrap()),
            30_000,
        ),
        (
            RecipeName::Scrible,
            Arc::new(BoxSet::cube(2, 1.0).unwrap()),
            8000,
        ),
        (
            RecipeName::Scrible,
            Arc::new(Ball::new(2, 1.0).unwrap()),
            8000,
        ),
        (
            RecipeName::Ftpl,
            Arc::new(FlowPolytope::new(4, &edges, 0, 3).unwrap()),
            8000,
        ),
        (
            RecipeName::Ftpl,
            Arc::new(GraphicMatroid::new(4, &edges).unwrap()),
            8000,
        ),
        (
            RecipeName::Ftpl,
            Arc::new(UniformMatroid::new(5, 2).unwrap()),
            8000,
        ),
    ];
    for (recipe, set, rounds) in sets {
        let dimension = set.dimension();
        let mut contest = contest(recipe, Task::Linear, Game::Stochastic, dimension, rounds);
        contest.budget = Budget::approx(8.0, 1e-6).unwrap();
        contest.losses = Some(LossSet::Ball(1.0));
        contest.set = Some(set.clone());
        let (regret, certified) = check(&contest, 4);
        assert!(certified.is_some(), "{recipe} on {}", set.name());
        let idle = contest.repeat(0..4).unwrap();
        let idle = idle.iter().map(|o| o.nothing - o.hindsight).sum::<f64>() / 4.0;
        assert!(
            regret < 0.8 * idle,
            "{recipe} on {}: {regret} {idle}",
            set.name()
        );
    }
    // Function values on the simplex, in its affine hull.
    let mut hull = contest(
        RecipeName::PftalBandit,
        Task::Experts,
        Game::Stochastic,
        3,
        20_000,
    );
    hull.budget = Budget::approx(20.0, 1e-6).unwrap();
    check(&hull, 4);
    let outcomes = hull.repeat(0..4).unwrap();
    let idle = outcomes
        .iter()
        .map(|o| o.nothing - o.hindsight)
        .sum::<f64>()
        / 4.0;
    assert!(mean(&outcomes) < 0.8 * idle, "{} {idle}", mean(&outcomes));
}

/// On the L1 ball in a hundred dimensions `ftrl` takes a p-norm, and noise counts with √(ln N):
/// measured below what is certified, and that below what squares would be with the same noise.
#[test]
fn l1_balls_of_many_dimensions() {
    let ball: Arc<dyn ConvexSet> = Arc::new(L1Ball::new(100, 1.0).unwrap());
    let mut contest = contest(RecipeName::Ftrl, Task::Linear, Game::Stochastic, 100, 4000);
    contest.budget = Budget::approx(8.0, 1e-6).unwrap();
    contest.losses = Some(LossSet::Box(-1.0, 1.0));
    contest.set = Some(ball);
    let (_, certified) = check(&contest, 4);
    // √(D_R·Σ‖l‖²) for squares, without any noise: 3/2·√(½·4000·100).
    let squares = 1.5 * (0.5 * 4000.0 * 100.0_f64).sqrt();
    let (_, deviation) = contest.recipe().unwrap().noise().unwrap();
    let noise = 2.0 * deviation * 10.0;
    assert!(
        certified.unwrap() < 0.7 * (squares + noise),
        "{squares} {noise}"
    );
}

/// AS17's loss sets, each with its own noise: less for the ball than for the box around it, and
/// least for the L1 ball.
#[test]
fn loss_sets_have_noise_of_their_own() {
    let noise = |set: LossSet| {
        let mut contest = contest(RecipeName::Ftrl, Task::Linear, Game::Switching, 4, 1024);
        contest.budget = Budget::pure(1.0).unwrap();
        contest.losses = Some(set);
        check(&contest, 8);
        contest.recipe().unwrap().noise().unwrap().1
    };
    let square = noise(LossSet::Box(-1.0, 1.0));
    let ball = noise(LossSet::Ball(1.0));
    let cross = noise(LossSet::L1Ball(1.0));
    // h = 10 levels, Laplace of scale 2·10 for each coordinate.
    assert!((cross / square - 0.25).abs() < 1e-6, "{cross} {square}");
    assert!((ball / square - 0.5).abs() < 1e-6, "{ball} {square}");
    let scale = 20.0 * 2_f64.sqrt() * 10_f64.sqrt();
    assert!((cross / scale - 1.0).abs() < 1e-3, "{cross} {scale}");
}

/// AFKT22 §4: at ε = 0.1 the adversary of Theorem 5 costs nearly one a round, whatever T is; its
/// losses, fixed in advance, cost less and less a round.
#[test]
fn an_adversary_that_sees_the_plays_costs_a_constant_a_round() {
    let rows = separation::figure(4096, 2).unwrap();
    let share = |regret: f64, rounds: u64| regret / rounds as f64;
    for row in &rows {
        let adaptive = share(row.adaptive, row.rounds);
        assert!(adaptive > 0.9, "{row:?}");
        assert!(row.oblivious < 0.75 * row.adaptive, "{row:?}");
    }
    let (first, last) = (rows[0], rows[rows.len() - 1]);
    let growth = (last.oblivious / first.oblivious).ln() / 16_f64.ln();
    let linear = (last.adaptive / first.adaptive).ln() / 16_f64.ln();
    println!("{rows:.1?}: exponents {linear:.3} and {growth:.3}");
    assert!((linear - 1.0).abs() < 0.02 && growth < 0.9, "{rows:?}");
}
