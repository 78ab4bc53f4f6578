//! Recipes that choose: experts, nets, limited updates, bandits. A stop anywhere changes nothing;
//! they learn; what does not fit is refused.
#![allow(clippy::unwrap_used)]

mod bounds;
mod learning;
mod refusals;
mod stops;

use hushstream_account::{Adjacency, Budget, FilterKind, Price};
use hushstream_mechanism::feedback::Range;
use hushstream_mechanism::losses::{Distance, Features, LinearLoss, Loss, LossSet, Record};
use hushstream_mechanism::{Grant, Ledger, Participation, Raw, Scope};
use hushstream_recipes::{
    Actions, Advice, BanditRecipe, BanditRequest, ExpertsRecipe, ExpertsRequest, LimitedUpdates,
    LimitedUpdatesRequest, RecipeName, ValuesRecipe, ValuesRequest,
};
use hushstream_sets::{Ball, BoxSet, ConvexSet, VertexPolytope};
use std::sync::Arc;

fn budget(epsilon: f64) -> Budget {
    Budget::approx(epsilon, 1e-6).unwrap()
}

fn paid(budget: Budget, kind: FilterKind, scope: Scope, charge: Price) -> (Ledger, Grant) {
    let mut ledger = Ledger::simulated(budget, kind, scope).unwrap();
    let grant = ledger.debit(charge, scope).unwrap();
    (ledger, grant)
}

fn experts(recipe: RecipeName, rounds: Option<u64>, batch: Option<u64>) -> ExpertsRequest {
    ExpertsRequest {
        recipe,
        advice: Advice::Experts(5),
        rounds,
        restart: None,
        batch,
        board: None,
        budget: budget(1.0),
        adjacency: Adjacency::ReplaceOne,
        participation: Participation::OncePerRecord,
    }
}

/// Half the squared distance to a point of [−1, 1].
fn distance(dimension: usize) -> Arc<dyn Loss> {
    Arc::new(Distance::new(dimension, 1.0, 1.0).unwrap())
}

fn cover(rounds: u64) -> ExpertsRequest {
    ExpertsRequest {
        recipe: RecipeName::Cover,
        advice: Advice::Net {
            loss: distance(1),
            set: Arc::new(BoxSet::cube(1, 1.0).unwrap()),
            radius: None,
        },
        ..experts(RecipeName::Cover, Some(rounds), None)
    }
}

fn bandit(recipe: RecipeName, actions: Actions, rounds: Option<u64>) -> BanditRequest {
    BanditRequest {
        recipe,
        actions,
        reading: None,
        range: Range::Symmetric(1.0),
        rounds,
        restart: None,
        batch: None,
        noise: None,
        budget: Budget::pure(1.0).unwrap(),
        adjacency: Adjacency::ReplaceOne,
        participation: Participation::OncePerRecord,
    }
}

fn ball() -> Arc<dyn ConvexSet> {
    Arc::new(Ball::new(2, 1.0).unwrap())
}

fn limited() -> LimitedUpdates {
    LimitedUpdatesRequest {
        loss: distance(2),
        set: ball(),
        budget: budget(1.0),
        adjacency: Adjacency::ReplaceOne,
        participation: Participation::OncePerRecord,
    }
    .plan()
    .unwrap()
}

fn values(rounds: u64) -> ValuesRecipe {
    ValuesRequest {
        loss: distance(2),
        set: ball(),
        range: Range::ZeroTo(2.0),
        rounds,
        adaptive: false,
        curvature: None,
        radius: None,
        sum: None,
        noise: None,
        budget: budget(1.0),
        adjacency: Adjacency::ReplaceOne,
        participation: Participation::OncePerRecord,
    }
    .plan()
    .unwrap()
}

fn pay_experts(recipe: &ExpertsRecipe) -> (Ledger, Grant) {
    let plan = recipe.plan();
    paid(
        recipe.request().budget,
        plan.filter(),
        plan.scope(),
        plan.charge().unwrap(),
    )
}

fn pay_bandit(recipe: &BanditRecipe) -> (Ledger, Grant) {
    let plan = recipe.plan();
    paid(
        recipe.request().budget,
        plan.filter(),
        plan.scope(),
        plan.charge().unwrap(),
    )
}

fn point(values: &[f64]) -> Raw<Record> {
    Raw::seal(Record {
        features: Features::Dense(values.to_vec()),
        target: 0.0,
    })
}
