//! What the tests share: every recipe on a set that suits it, streams of records, and the cells of
//! recipe, sum and noise.

use hushstream_account::{Adjacency, Budget, FilterKind};
use hushstream_mechanism::losses::{
    Bounds, Distance, Features, LinearLoss, LinearModel, Link, Record,
};
use hushstream_mechanism::sums::{Noise, SumKind};
use hushstream_mechanism::{GuaranteeKind, Ledger, Moments, Participation, Raw};
use hushstream_noise::Key;
use hushstream_recipes::{Objective, Recipe, RecipeName, RecipeRequest, SumRun};
use hushstream_sets::{Ball, BoxSet, ConvexSet, L1Ball, Simplex, UniformMatroid};
use std::sync::Arc;

pub(crate) const NOISES: [Noise; 3] = [Noise::Gaussian, Noise::Laplace, Noise::L2Laplace];

pub(crate) fn key() -> Key {
    Key::insecure_from_seed(31)
}

pub(crate) fn filter(noise: Noise) -> FilterKind {
    if noise.is_pure() {
        FilterKind::Pure
    } else {
        FilterKind::Gaussian
    }
}

/// A recipe on its paper's sum with Gaussian noise, everything calibrated.
pub(crate) fn request(
    recipe: RecipeName,
    objective: Objective,
    set: impl ConvexSet + 'static,
    rounds: u64,
) -> RecipeRequest {
    RecipeRequest {
        recipe,
        objective,
        set: Arc::new(set),
        rounds,
        batch: 1,
        budget: Budget::approx(1.0, 1e-6).unwrap(),
        adjacency: Adjacency::ReplaceOne,
        participation: Participation::OncePerRecord,
        sum: None,
        noise: None,
        window: Some(10),
        curvature: None,
        learning_rate: None,
        tuned: false,
    }
}

/// The same on another sum, with another noise and a budget that fits it.
pub(crate) fn on(mut request: RecipeRequest, sum: SumKind, noise: Noise) -> RecipeRequest {
    request.sum = Some(sum);
    request.noise = Some(noise);
    if noise.is_pure() {
        request.budget = Budget::pure(1.0).unwrap();
    }
    request
}

/// Points of length at most 1, weights of length at most 1: strongly convex.
pub(crate) fn distance(dimension: usize) -> Objective {
    Objective::Convex(Arc::new(Distance::new(dimension, 1.0, 1.0).unwrap()))
}

pub(crate) fn bounds() -> Bounds {
    Bounds::new(1.0, (-1.0, 1.0), 1.0).unwrap()
}

/// Convex, but not strongly so.
pub(crate) fn logistic(dimension: usize) -> Objective {
    let model = LinearModel::new(dimension, Link::Logistic, bounds()).unwrap();
    Objective::Convex(Arc::new(model))
}

pub(crate) fn linear(dimension: usize) -> Objective {
    Objective::Linear(LinearLoss::new(dimension, 0.0, 1.0).unwrap())
}

pub(crate) fn least_squares(features: usize) -> Objective {
    Objective::LeastSquares(Moments::new(features, bounds()))
}

/// Every recipe, the ones with two learners twice.
pub(crate) fn every_recipe(d: usize, rounds: u64) -> Vec<RecipeRequest> {
    let simplex = || Simplex::new(d).unwrap();
    let ball = || Ball::new(d, 1.0).unwrap();
    let mut tuned = request(
        RecipeName::CocoL,
        distance(d),
        L1Ball::new(d, 1.0).unwrap(),
        rounds,
    );
    tuned.tuned = true;
    vec![
        request(RecipeName::Pftal, distance(d), ball(), rounds),
        request(
            RecipeName::PftalConvex,
            logistic(d),
            BoxSet::cube(d, 0.5).unwrap(),
            rounds,
        ),
        request(RecipeName::Pqftl, least_squares(d), ball(), rounds),
        request(RecipeName::Ftrl, linear(d), simplex(), rounds),
        request(RecipeName::Ftrl, linear(d), ball(), rounds),
        request(
            RecipeName::Ftpl,
            linear(d),
            UniformMatroid::new(d, d / 2).unwrap(),
            rounds,
        ),
        request(RecipeName::CocoP, distance(d), ball(), rounds),
        request(RecipeName::CocoL, distance(d), simplex(), rounds),
        tuned,
    ]
}

/// A recipe on every sum, with every noise, that it runs on.
pub(crate) fn cells_of(request: &RecipeRequest, window: u64) -> Vec<RecipeRequest> {
    SumKind::ALL
        .into_iter()
        .chain([SumKind::Window(window)])
        .flat_map(|sum| NOISES.map(|noise| (sum, noise)))
        .filter(|&(sum, noise)| request.recipe.accepts(sum, noise).is_ok())
        .map(|(sum, noise)| on(request.clone(), sum, noise))
        .collect()
}

/// For messages of failed tests.
pub(crate) fn name(recipe: &Recipe) -> String {
    let asked = recipe.plan().request();
    let set = recipe.request().set.name();
    format!(
        "{} on {set}, sum {}, {} noise",
        recipe.request().recipe,
        asked.kind,
        asked.noise
    )
}

/// A fixed stream: record t, some of them too long, some sparse, some malformed, some of another
/// dimension.
pub(crate) fn record(dimension: usize, t: u64) -> Raw<Record> {
    Raw::seal(open_record(dimension, t))
}

/// The same, for a test that computes from it.
pub(crate) fn open_record(dimension: usize, t: u64) -> Record {
    let value = |i: u64| ((t * 31 + i * 17 + t * t % 13) % 23) as f64 / 22.0;
    let length = if t.is_multiple_of(5) { 9.0 } else { 0.7 };
    let sign = if t.is_multiple_of(3) { -1.0 } else { 1.0 };
    let features = match t {
        _ if t.is_multiple_of(11) => Features::Dense(vec![f64::NAN; dimension]),
        _ if t.is_multiple_of(17) => Features::Dense(vec![0.1; dimension + 1]),
        _ if t.is_multiple_of(7) => Features::Sparse(vec![(1, length * value(1))]),
        _ => Features::Dense((0..dimension as u64).map(|i| length * value(i)).collect()),
    };
    Record {
        features,
        target: sign * value(99),
    }
}

/// Who record t belongs to, if the recipe wants to know.
pub(crate) fn person(recipe: &Recipe, t: u64) -> Option<u64> {
    match recipe.request().participation {
        Participation::OncePerRecord | Participation::Passes { .. } => None,
        Participation::PerPerson { .. } => Some(t % 9),
    }
}

/// Plays round t of the fixed stream.
pub(crate) fn play<G: GuaranteeKind>(run: &mut SumRun<G>, t: u64) {
    let (person, dimension) = (
        person(run.recipe(), t),
        run.recipe().request().set.dimension(),
    );
    run.learn(person, record(dimension, t)).unwrap();
}

/// Syncs, and gives what was published: (step, iterate).
pub(crate) fn publish<G: GuaranteeKind>(
    run: &mut SumRun<G>,
    ledger: &mut Ledger,
) -> Vec<(u64, Vec<u64>)> {
    let released = run.sync(ledger).unwrap();
    let step_and_bits = |release: &hushstream_mechanism::Released<Vec<f64>, G>| {
        (release.receipt().step, bits(release.value()))
    };
    released.iter().map(step_and_bits).collect()
}

/// Equal bits, not merely equal numbers: zero has a sign.
pub(crate) fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}
