//! Rounds of `pftal-bandit`, which the program does not play: a library's loop, for callgrind to
//! count.

use crate::timing::Measured;
use hushstream_account::{Adjacency, Budget, FilterKind};
use hushstream_mechanism::feedback::Range;
use hushstream_mechanism::losses::{Bounds, Features, LinearModel, Link, Record};
use hushstream_mechanism::{Ledger, MemoryStorage, Participation, Raw};
use hushstream_noise::Key;
use hushstream_recipes::{ValuesRequest, ValuesRun};
use hushstream_sets::Ball;
use std::sync::Arc;
use std::time::Instant;

const DIMENSION: usize = 10;
const PLANNED: u64 = 50_000;
/// Rounds between two syncs: a group commit.
const GROUP: u64 = 256;

/// So many rounds.
pub(crate) fn rounds(rounds: u64) -> Measured {
    let budget = Budget::approx(1.0, 1e-6).expect("a budget");
    let bounds = Bounds::new(1.0, (-1.0, 1.0), 1.0).expect("bounds");
    let recipe = ValuesRequest {
        loss: Arc::new(LinearModel::new(DIMENSION, Link::Logistic, bounds).expect("a loss")),
        set: Arc::new(Ball::new(DIMENSION, 1.0).expect("a ball")),
        range: Range::ZeroTo(2.0),
        rounds: PLANNED,
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
    .expect("a plan");
    let (charge, scope) = (
        recipe.plan().charge().expect("a price"),
        recipe.plan().scope(),
    );
    let mut ledger = Ledger::simulated(budget, FilterKind::Gaussian, scope).expect("a ledger");
    let grant = ledger.debit(charge, scope).expect("a grant");
    let key = Key::insecure_from_seed(3);
    let mut run =
        ValuesRun::open(recipe, grant, &key, &mut ledger, MemoryStorage::default()).expect("a run");
    let (start, rounds) = (Instant::now(), rounds.min(PLANNED));
    for round in 1..=rounds {
        let record = Record {
            features: Features::Dense(vec![0.1; DIMENSION]),
            target: 1.0,
        };
        run.learn(None, Raw::seal(record))
            .expect("within the horizon");
        if round.is_multiple_of(GROUP) {
            run.sync(&mut ledger).expect("memory does not fail");
        }
    }
    Measured::once(start.elapsed().as_secs_f64(), rounds)
}
