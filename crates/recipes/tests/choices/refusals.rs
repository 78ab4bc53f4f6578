//! Combinations that do not exist say why.

use crate::*;
use hushstream_mechanism::losses::{Bounds, LinearModel, Link, Regularised};
use hushstream_recipes::{Objective, RecipeRequest};

fn refusal<T, E: ToString>(outcome: Result<T, E>) -> String {
    outcome.err().map(|error| error.to_string()).unwrap()
}

#[test]
fn of_experts() {
    let mut unknown = cover(100);
    unknown.rounds = None;
    assert!(refusal(unknown.plan()).contains("known number of rounds"));
    let net = ExpertsRequest {
        recipe: RecipeName::Dartboard,
        ..cover(100)
    };
    assert!(refusal(net.plan()).contains("for cover"));
    assert!(refusal(experts(RecipeName::Cover, Some(9), None).plan()).contains("a loss and a set"));
    assert!(refusal(experts(RecipeName::Exp2, Some(9), None).plan()).contains("among experts"));
    assert!(refusal(experts(RecipeName::Dartboard, Some(9), Some(2)).plan()).contains("batch"));
    assert!(refusal(experts(RecipeName::Dartboard, Some(0), None).plan()).contains("rounds = 0"));
}

#[test]
fn of_bandits() {
    let set = bandit(RecipeName::Exp2, Actions::Set(ball()), Some(9));
    assert!(refusal(set.plan()).contains("arms"));
    let arms = bandit(RecipeName::Scrible, Actions::Arms(3), Some(9));
    assert!(refusal(arms.plan()).contains("barrier"));
    let one = bandit(RecipeName::Exp2, Actions::Arms(1), Some(9));
    assert!(refusal(one.plan()).contains("arms = 1"));
    let mut bad = bandit(RecipeName::Exp2, Actions::Arms(3), Some(9));
    bad.range = Range::ZeroTo(f64::NAN);
    assert!(refusal(bad.plan()).contains("bound on answers"));
}

#[test]
fn of_losses_without_curvature_bounds_and_of_sums() {
    let bounds = Bounds::new(1.0, (-1.0, 1.0), 1.0).unwrap();
    let hinge = Arc::new(LinearModel::new(2, Link::Hinge, bounds).unwrap());
    let hinge = LimitedUpdatesRequest {
        loss: Arc::new(Regularised::new(hinge, 0.1, 1.0).unwrap()),
        set: ball(),
        budget: budget(1.0),
        adjacency: Adjacency::ReplaceOne,
        participation: Participation::OncePerRecord,
    };
    assert!(refusal(hinge.plan()).contains("not smooth"));
    for recipe in [
        RecipeName::Dartboard,
        RecipeName::PftalBandit,
        RecipeName::Exp2,
    ] {
        let request = RecipeRequest {
            recipe,
            objective: Objective::Convex(distance(2)),
            set: ball(),
            rounds: 100,
            batch: 1,
            budget: budget(1.0),
            adjacency: Adjacency::ReplaceOne,
            participation: Participation::OncePerRecord,
            sum: None,
            noise: None,
            window: None,
            curvature: None,
            learning_rate: None,
            tuned: false,
        };
        assert!(refusal(request.plan()).contains("does not learn from gradients"));
    }
}
