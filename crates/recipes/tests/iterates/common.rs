//! Requests, records and ledgers for the tests.

use hushstream_account::{Adjacency, Budget, FilterKind};
use hushstream_mechanism::losses::{
    Bounds, Distance, Features, LinearModel, Link, Loss, Record, Regularised,
};
use hushstream_mechanism::sums::Noise;
use hushstream_mechanism::{Ledger, Participation, Raw, Storage};
use hushstream_noise::Key;
use hushstream_recipes::{
    Averaged, Insider, IterateRecipe, IterateRequest, IterateRun, RecipeName,
};
use hushstream_sets::Ball;
use std::sync::Arc;

pub(crate) const D: usize = 3;

pub(crate) const RECIPES: [RecipeName; 6] = [
    RecipeName::Pigd,
    RecipeName::PigdConvex,
    RecipeName::Pgiga,
    RecipeName::Pocp,
    RecipeName::PocpAnytime,
    RecipeName::Pol,
];

pub(crate) fn logistic() -> Arc<dyn Loss> {
    let bounds = Bounds::new(1.0, (-1.0, 1.0), 1.0).unwrap();
    Arc::new(LinearModel::new(D, Link::Logistic, bounds).unwrap())
}

pub(crate) fn ridge() -> Arc<dyn Loss> {
    Arc::new(Regularised::new(logistic(), 0.5, 1.0).unwrap())
}

pub(crate) fn distance() -> Distance {
    Distance::new(D, 1.0, 1.0).unwrap()
}

/// A request that every recipe accepts.
pub(crate) fn request(recipe: RecipeName, rounds: u64) -> IterateRequest {
    IterateRequest {
        recipe,
        insider: Insider::Loss(if recipe == RecipeName::PigdConvex {
            logistic()
        } else {
            ridge()
        }),
        set: Arc::new(Ball::new(D, 1.0).unwrap()),
        rounds,
        budget: Budget::approx(1.0, 1e-6).unwrap(),
        adjacency: Adjacency::ReplaceOne,
        participation: Participation::OncePerRecord,
        noise: None,
        curvature: None,
        steps: None,
        weighting: None,
        average: Averaged::All,
    }
}

pub(crate) fn key() -> Key {
    Key::insecure_from_seed(4)
}

pub(crate) fn open(
    recipe: &IterateRecipe,
    ledger: impl Storage + 'static,
    journal: impl Storage + 'static,
) -> (IterateRun, Ledger) {
    let plan = recipe.plan();
    let kind = if plan.request().noise == Noise::Gaussian {
        FilterKind::Gaussian
    } else {
        FilterKind::Pure
    };
    let mut ledger = Ledger::create(ledger, plan.request().budget, kind, plan.scope()).unwrap();
    let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
    let run = IterateRun::open(recipe.clone(), grant, &key(), &mut ledger, journal).unwrap();
    (run, ledger)
}

/// Record t: most are sound, some too long, some malformed.
pub(crate) fn record(t: u64) -> Raw<Record> {
    let wave = |i: u64| ((t * 7 + i * 13) as f64).sin();
    let mut features: Vec<f64> = (0..D as u64).map(wave).collect();
    if t % 11 == 3 {
        features.iter_mut().for_each(|value| *value *= 100.0);
    }
    if t % 13 == 5 {
        features[0] = f64::NAN;
    }
    Raw::seal(Record {
        target: if features[0] + features[1] > 0.0 {
            1.0
        } else {
            -1.0
        },
        features: Features::Dense(features),
    })
}

pub(crate) fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}
