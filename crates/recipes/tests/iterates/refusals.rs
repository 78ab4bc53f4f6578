//! Requests that do not fit, each with its reason.

use crate::common::*;
use hushstream_mechanism::losses::{Bounds, LinearModel, Link, Loss, Record};
use hushstream_mechanism::perturb::{Leader, StepSize};
use hushstream_mechanism::{Contribution, Participation};
use hushstream_recipes::{Insider, IterateRequest, Objective, RecipeName, RecipeRequest, Steps};
use hushstream_sets::{Ball, VertexPolytope};
use std::sync::Arc;

fn refused(recipe: RecipeName, change: impl FnOnce(&mut IterateRequest)) -> String {
    let mut request = request(recipe, 100);
    change(&mut request);
    request.plan().err().unwrap().to_string()
}

struct Own;

impl Loss for Own {
    fn name(&self) -> &str {
        "my own"
    }
    fn dimension(&self) -> usize {
        D
    }
    fn lipschitz(&self) -> f64 {
        1.0
    }
    fn value(&self, _: &Record, _: &[f64]) -> f64 {
        0.0
    }
    fn gradient(&self, _: Record, _: &[f64]) -> Contribution {
        Contribution::Null
    }
}

#[test]
fn each_says_why() {
    use RecipeName::*;
    assert!(refused(Pftal, |_| ()).contains("pigd"));
    assert!(refused(Pigd, |r| r.rounds = 1).contains("rounds = 1"));
    let convex = |r: &mut IterateRequest| r.insider = Insider::Loss(logistic());
    assert!(refused(Pigd, convex).contains("pigd-convex"));
    assert!(refused(Pgiga, convex).contains("state the curvature"));
    let strong = |r: &mut IterateRequest| r.insider = Insider::Loss(ridge());
    assert!(refused(PigdConvex, strong).contains("use pigd"));
    for bad in [0.0, -1.0, f64::NAN] {
        assert!(refused(Pigd, |r| r.curvature = Some(bad)).contains("curvature = "));
    }
    assert!(refused(Pigd, |r| r.curvature = Some(0.1)).contains("the loss's own"));
    let implicit = |r: &mut IterateRequest| r.steps = Some(Steps::Implicit);
    assert!(refused(Pgiga, implicit).contains("other steps"));
    let gradient = |r: &mut IterateRequest| r.steps = Some(Steps::Gradient(StepSize::Corrected));
    assert!(refused(Pigd, gradient).contains("other steps"));
    let own = |r: &mut IterateRequest| r.insider = Insider::Loss(Arc::new(Own));
    assert!(refused(Pigd, own).contains("StableLearner"));
    let leader = |r: &mut IterateRequest| {
        let leader = Leader::new(distance(), r.set.clone(), 0.0).unwrap();
        r.insider = Insider::Learner(Arc::new(leader));
    };
    assert!(refused(Pigd, leader).contains("written out"));
    let other_set = |r: &mut IterateRequest| {
        leader(r);
        r.set = Arc::new(Ball::new(D + 1, 1.0).unwrap());
    };
    assert!(refused(Pocp, other_set).contains("dimensions"));
    let bounds = Bounds::new(1.0, (-1.0, 1.0), 1.0).unwrap();
    let hinge: Arc<dyn Loss> = Arc::new(LinearModel::new(D, Link::Hinge, bounds).unwrap());
    let corners = |r: &mut IterateRequest| {
        r.insider = Insider::Loss(hinge);
        r.curvature = Some(1.0);
    };
    assert!(refused(Pgiga, corners).contains("corners"));
    let polytope = |r: &mut IterateRequest| {
        let points = [
            vec![1.0, 0.0, 0.0],
            vec![0.0, 1.0, 0.0],
            vec![0.0, 0.0, 1.0],
        ];
        r.set = Arc::new(VertexPolytope::new(&points).unwrap());
    };
    assert!(refused(Pigd, polytope).contains("not known beforehand"));
}

/// A recipe on iterates asked for on a sum is refused, not run on one.
#[test]
fn sums_do_not_serve_them() {
    let iterate = request(RecipeName::Pigd, 100);
    let error = RecipeRequest {
        recipe: RecipeName::Pigd,
        objective: Objective::Convex(ridge()),
        set: iterate.set,
        rounds: 100,
        batch: 1,
        budget: iterate.budget,
        adjacency: iterate.adjacency,
        participation: Participation::OncePerRecord,
        sum: None,
        noise: None,
        window: None,
        curvature: None,
        learning_rate: None,
        tuned: false,
    }
    .plan()
    .err()
    .unwrap();
    assert!(error.to_string().contains("perturbed iterates"), "{error}");
}
