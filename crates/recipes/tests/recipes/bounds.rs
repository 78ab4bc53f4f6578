//! Regret bounds in numbers: the formulas with this plan's noise, silence where nothing is proved,
//! and no game above them.

use crate::disk::Machine;
use crate::game::*;
use hushstream_mechanism::losses::{Features, LinearLoss, Record};
use hushstream_mechanism::sums::{Noise, SumKind};
use hushstream_mechanism::{Raw, Windowed};
use hushstream_recipes::{Holds, NOISE_BETA, Objective, RecipeName, RecipeRequest};
use hushstream_sets::{Ball, ConvexSet, Simplex, Spectrahedron};

const D: usize = 3;
const ROUNDS: u64 = 1000;

fn ball() -> Ball {
    Ball::new(D, 1.0).unwrap()
}

fn close(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 1e-9, "{value} {expected}");
}

fn logarithm() -> f64 {
    1.0 + (ROUNDS as f64).ln()
}

/// Mean length of the noise, and truncation: T − 1 items of √3 units each at the most.
fn error(recipe: &hushstream_recipes::Recipe) -> f64 {
    let plan = recipe.plan();
    let root = f64::from(plan.request().dimension).sqrt();
    let unit = plan.request().bound / plan.radius() as f64;
    plan.prefix_sd_max() * root + 999.0 * unit * root
}

#[test]
fn the_leaders_bounds_are_their_formulas() {
    for (noise, sum) in [
        (Noise::Gaussian, SumKind::Tree),
        (Noise::L2Laplace, SumKind::Tree),
    ] {
        let start = request(RecipeName::Pftal, distance(D), ball(), ROUNDS);
        let recipe = on(start, sum, noise).plan().unwrap();
        let bound = recipe.regret_bound().unwrap();
        let (l, h) = (recipe.loss().unwrap().lipschitz(), recipe.curvature());
        let slope = l + 2.0 * h;
        close(
            bound.value,
            logarithm() * (slope * slope / 2.0 + l * error(&recipe)) / h,
        );
        assert_eq!(bound.holds, Holds::Expected);
        assert!(bound.theorem.contains("ST13 Theorem 4"));

        let start = request(RecipeName::PftalConvex, logistic(D), ball(), ROUNDS);
        let recipe = on(start, sum, noise).plan().unwrap();
        let (l, h) = (recipe.loss().unwrap().lipschitz(), recipe.curvature());
        let leader = logarithm() * ((l + h).powi(2) / 2.0 + l * error(&recipe)) / h;
        let bound = recipe.regret_bound().unwrap();
        close(bound.value, leader + h * ROUNDS as f64 / 2.0);
        // The card's N: σ√(dh), or c√(h·d(d+1)); 9 of 10 levels are the most in a release before
        // 1023.
        let terms = 9.0_f64;
        let n = recipe.plan().node_sigma() * (terms * 3.0).sqrt();
        close(recipe.noise_length().unwrap(), n);
    }
}

#[test]
fn linear_bounds_are_their_formulas() {
    let start = |recipe| request(recipe, linear(D), Simplex::new(D).unwrap(), ROUNDS);
    let recipe = start(RecipeName::Ftrl).plan().unwrap();
    let (eta, s) = (recipe.learning_rate(), recipe.plan().prefix_sd_max());
    let truncated = 2.0_f64.sqrt() * recipe.plan().truncation();
    let range = 2.0 * s * (2.0 * 3.0_f64.ln()).sqrt();
    let euclidean = 2.0_f64.sqrt() * s * 3.0_f64.sqrt();
    let bound = recipe.regret_bound().unwrap();
    // Losses in [0, 1], centred: half in every coordinate.
    let expected = 3.0_f64.ln() / eta + eta / 2.0 * ROUNDS as f64 / 4.0 + range.min(euclidean);
    close(bound.value, expected + truncated);
    assert_eq!(bound.holds, Holds::ExpectedOblivious);

    let recipe = start(RecipeName::Ftpl).plan().unwrap();
    let s = recipe.plan().prefix_sd_max();
    let norm = 3.0_f64.sqrt() / 2.0;
    let steps = ROUNDS as f64 * norm * norm / (s * std::f64::consts::TAU.sqrt());
    let r = recipe.request().set.outer_radius();
    let truncated = 2.0_f64.sqrt() * recipe.plan().truncation();
    close(
        recipe.regret_bound().unwrap().value,
        r * (s * 3.0_f64.sqrt() + steps) + truncated,
    );
}

/// Losses in [0, 1] have the length √3 on a ball, where the middle that was taken off counts, and
/// √3/2 on the simplex.
#[test]
fn offsets_count_where_they_matter() {
    let losses = |low, high| Objective::Linear(LinearLoss::new(D, low, high).unwrap());
    let bound = |low, high| {
        let mut start = request(RecipeName::Ftrl, losses(low, high), ball(), ROUNDS);
        start.learning_rate = Some(0.1);
        start.plan().unwrap().regret_bound().unwrap().value
    };
    let apart = bound(0.0, 1.0) - bound(-0.5, 0.5);
    close(apart, 0.1 / 2.0 * ROUNDS as f64 * (3.0 - 0.75));
}

#[test]
fn least_squares_has_the_moments_noise() {
    let start = request(RecipeName::Pqftl, least_squares(D), ball(), ROUNDS);
    let recipe = start.clone().plan().unwrap();
    let (sd, kappa) = (recipe.plan().prefix_sd_max(), 0.5_f64.sqrt());
    // R = Y = α = 1: ρ = ½, G = 1·(½ + 1) + ½ = 2, κ² = ½; six coordinates of the matrix, three of
    // the targets. A record's moments are rounded: each of three features by at most 2⁻¹².
    let rounding = (2.0 + kappa) * 3.0_f64.sqrt() / 4096.0 + kappa / 65536.0;
    let t = recipe.plan().truncation() + ROUNDS as f64 * rounding;
    let (matrix, target) = (sd * 6.0_f64.sqrt() + t, (sd * 3.0_f64.sqrt() + t) / kappa);
    let expected = logarithm() * (2.0 + 2.0 * (target + 0.5 * matrix));
    close(recipe.regret_bound().unwrap().value, expected);
    let mut ragged = start;
    ragged.batch = 3;
    assert!(
        ragged
            .plan()
            .unwrap()
            .regret_bound()
            .unwrap_err()
            .contains("last item")
    );
}

/// An unfinished item costs slope·diameter a record; a whole one has the batch's slope and
/// curvature.
#[test]
fn batches_are_items() {
    let at = |rounds, batch| {
        let mut start = request(RecipeName::Pftal, distance(D), ball(), rounds);
        start.batch = batch;
        let recipe = start.plan().unwrap();
        (recipe.regret_bound().unwrap().value, recipe)
    };
    let (whole, recipe) = at(1000, 10);
    let (l, h) = (
        10.0 * recipe.loss().unwrap().lipschitz(),
        recipe.curvature(),
    );
    close(h, 10.0);
    let plan = recipe.plan();
    let noise = plan.prefix_sd_max() * 3.0_f64.sqrt() + plan.truncation();
    let slope = l + 2.0 * h;
    close(
        whole,
        (1.0 + 100.0_f64.ln()) * (slope * slope / 2.0 + l * noise) / h,
    );
    // Seven more records: one release more, and 7·L·D.
    let (ragged, longer) = at(1007, 10);
    let plan = longer.plan();
    let noise = plan.prefix_sd_max() * 3.0_f64.sqrt() + plan.truncation();
    close(
        ragged,
        (1.0 + 100.0_f64.ln()) * (slope * slope / 2.0 + l * noise) / h + 7.0 * l / 10.0 * 2.0,
    );
}

#[test]
fn where_nothing_is_proved_nothing_is_claimed() {
    let silent = |request: RecipeRequest| request.plan().unwrap().regret_bound().unwrap_err();
    let mut bold = request(RecipeName::Pftal, logistic(D), ball(), ROUNDS);
    bold.curvature = Some(0.5);
    assert!(silent(bold).contains("no theorem covers it"));
    let simplex = || Simplex::new(D).unwrap();
    let ftrl = request(RecipeName::Ftrl, linear(D), simplex(), ROUNDS);
    assert!(silent(on(ftrl, SumKind::BLT, Noise::Gaussian)).contains("one law"));
    let mut tuned = request(RecipeName::CocoL, distance(D), simplex(), ROUNDS);
    tuned.tuned = true;
    assert!(silent(tuned).contains("after the run"));
    let stated = request(RecipeName::CocoL, distance(D), simplex(), ROUNDS);
    assert!(silent(stated).contains("W8"));
}

/// On the ball ρ = 1, the constants allow all the noise there is, and the bound is stated.
#[test]
fn the_stated_constants_use_the_rare_length() {
    let recipe = request(RecipeName::CocoL, distance(D), ball(), ROUNDS);
    let recipe = recipe.plan().unwrap();
    let plan = recipe.plan();
    let each = NOISE_BETA / 999.0;
    let n = plan.prefix_sd_max() * (3.0_f64.sqrt() + (-2.0 * each.ln()).sqrt());
    assert!((recipe.noise_length().unwrap() / n - 1.0).abs() < 1e-6);
    let bound = recipe.regret_bound().unwrap();
    assert_eq!(bound.holds, Holds::Unless(NOISE_BETA));
    // a = 1/5, C₀ = 625, C₁ = 26(L + μD)(1 + C_W), C_W = N/(2(L + μD)).
    let (l, mu) = (recipe.loss().unwrap().lipschitz(), recipe.curvature());
    let (slope, n) = (l + 2.0 * mu, recipe.noise_length().unwrap());
    let c1 = 26.0 * (slope + n / 2.0);
    let inner = slope * slope / 2.0 + l * (n + plan.truncation()) + 2.0 * l * c1;
    close(bound.value, logarithm() * inner / mu + 625.0 * mu * 2.0);
}

/// Density matrices of two rows, points that switch sides: online Frank–Wolfe stays below its
/// bound, and beats standing still.
#[test]
fn frank_wolfe_learns_on_the_spectrahedron() {
    let set = Spectrahedron::new(2).unwrap();
    let start = request(RecipeName::CocoL, distance(D), set.clone(), ROUNDS);
    let mut start = on(start, SumKind::Window(50), Noise::Gaussian);
    start.budget = hushstream_account::Budget::approx(8.0, 1e-6).unwrap();
    let recipe = start.plan().unwrap();
    let bound = recipe.regret_bound().unwrap();
    assert!(bound.theorem.contains("Frank-Wolfe"));
    let loss = recipe.request().objective.clone();
    let Objective::Convex(loss) = loss else {
        panic!("a convex loss")
    };
    let (mut run, mut ledger) = Machine::default().open::<Windowed>(&recipe).unwrap();
    let point = |t: u64| {
        let side = if t % 500 < 400 { 0.6 } else { -0.2 };
        Record {
            features: Features::Dense(vec![0.2 + side, 0.1, 0.2 - side / 2.0]),
            target: 0.0,
        }
    };
    let mut centre = vec![0.0; D];
    set.centre(&mut centre).unwrap();
    let (mut ours, mut still, mut mean) = (0.0, 0.0, vec![0.0; D]);
    for t in 1..=ROUNDS {
        ours += loss.value(&point(t), run.question().for_the_operator());
        still += loss.value(&point(t), &centre);
        if let Features::Dense(values) = point(t).features {
            (0..D).for_each(|i| mean[i] += values[i] / ROUNDS as f64);
        }
        run.learn(None, Raw::seal(point(t))).unwrap();
        run.sync(&mut ledger).unwrap();
        assert!(set.contains(run.question().for_the_operator(), 1e-9));
    }
    set.project(&mut mean).unwrap();
    let best: f64 = (1..=ROUNDS).map(|t| loss.value(&point(t), &mean)).sum();
    assert!(ours - best <= bound.value, "{ours} {best} {bound:?}");
    assert!(ours - best < 0.5 * (still - best), "{ours} {best} {still}");
}
