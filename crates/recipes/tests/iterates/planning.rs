//! Calibration: the sensitivities and noises that the cards state.

use crate::common::*;
use hushstream_account::{Adjacency, Budget, Mu};
use hushstream_mechanism::losses::{Bounds, Distance, LinearModel, Link, Loss};
use hushstream_mechanism::perturb::{StepSize, Weighting};
use hushstream_recipes::{IterateRequest, RecipeName, Steps};
use hushstream_sets::Ball;
use std::sync::Arc;

fn mu() -> f64 {
    let budget = Budget::approx(1.0, 1e-6).unwrap();
    Mu::within(budget).unwrap().get()
}

/// PIGD at T = 1024 with 2L/α = 1: σ_1 = 13.7765, σ_1023 = 0.215257, with the lattice and all float
/// error on top.
#[test]
fn pigd_has_the_stated_noise() {
    let bounds = Bounds::new(1.0, (-1.0, 1.0), 1.0).unwrap();
    let hinge = LinearModel::new(D, Link::SmoothedHinge(0.5), bounds).unwrap();
    let recipe = IterateRequest {
        insider: hushstream_recipes::Insider::Loss(Arc::new(hinge)),
        curvature: Some(2.0),
        ..request(RecipeName::Pigd, 1024)
    };
    let recipe = recipe.plan().unwrap();
    for (t, sigma) in [(1, 13.7765), (1023, 0.215_257)] {
        let ratio = recipe.plan().sigma(t) / sigma;
        assert!((ratio - 1.0).abs() < 1e-5, "{t}: {ratio}");
    }
}

/// POL's one noise: Δ/μ with Δ = 2L(H_T − 1)/(αT) on implicit steps, 2G(H_{T−1} − H_{t_q−1})/(αT)
/// on gradients, half of either for zero-out.
#[test]
fn pol_has_the_stated_noise() {
    let harmonic = |n: u64| (1..=n).map(|j| 1.0 / j as f64).sum::<f64>();
    let (t, alpha) = (500_u64, 0.5);
    for (adjacency, kappa) in [(Adjacency::ReplaceOne, 2.0), (Adjacency::ZeroOut, 1.0)] {
        for steps in [Steps::Implicit, Steps::Gradient(StepSize::Corrected)] {
            let mut request = request(RecipeName::Pol, t);
            (request.steps, request.adjacency) = (Some(steps), adjacency);
            let recipe = request.plan().unwrap();
            let sum = match steps {
                Steps::Implicit => harmonic(t) - 1.0,
                // L_G = ¼ + ½, so t_q = ⌈(½ + ¾)/1⌉ = 2.
                Steps::Gradient(_) => harmonic(t - 1) - harmonic(1),
            };
            let sigma = kappa * sum / (alpha * t as f64) / mu();
            let ratio = recipe.plan().sigma(t - 1) / sigma;
            assert!((ratio - 1.0).abs() < 1e-6, "{steps:?} {ratio}");
            assert!(recipe.plan().sigma(t - 2) == 0.0 && recipe.plan().releases() == 1);
        }
    }
}

#[test]
fn gradient_steps_pay_for_their_size() {
    let distance: Arc<dyn Loss> = Arc::new(Distance::new(D, 1.0, 1.0).unwrap());
    let recipe = |size| {
        let mut request = request(RecipeName::Pgiga, 100);
        request.insider = hushstream_recipes::Insider::Loss(distance.clone());
        request.steps = Some(Steps::Gradient(size));
        request.plan().unwrap()
    };
    let (corrected, legacy) = (recipe(StepSize::Corrected), recipe(StepSize::Legacy));
    let t = 50;
    assert!((corrected.plan().sensitivity(t) * 50.0 - 2.0).abs() < 1e-9);
    assert!((legacy.plan().sensitivity(t) * 50.0 - 4.0).abs() < 1e-9);
}

/// An unknown horizon costs a few times the noise of a known one: 3.1 times at T = 2¹⁰.
#[test]
fn anytime_costs_what_is_stated() {
    let mut known = request(RecipeName::Pigd, 1024);
    let mut unknown = request(RecipeName::PocpAnytime, 1024);
    known.curvature = Some(2.0);
    unknown.curvature = Some(2.0);
    let total = |request: IterateRequest| -> f64 {
        let recipe = request.plan().unwrap();
        (1..1024).map(|t| recipe.plan().sigma(t)).sum()
    };
    let ratio = total(unknown) / total(known);
    assert!((ratio - 3.1).abs() < 0.1, "{ratio}");
}

#[test]
fn squares_are_weighted_otherwise() {
    let sigmas = |weighting| {
        let mut request = request(RecipeName::Pigd, 200);
        request.weighting = Some(weighting);
        let recipe = request.plan().unwrap();
        (1..200).map(|t| recipe.plan().sigma(t)).collect::<Vec<_>>()
    };
    let (lengths, squares) = (sigmas(Weighting::Lipschitz), sigmas(Weighting::Smooth));
    let sum = |values: &[f64]| values.iter().sum::<f64>();
    let square = |values: &[f64]| values.iter().map(|x| x * x).sum::<f64>();
    assert!(sum(&lengths) < sum(&squares) && square(&squares) < square(&lengths));
}

/// The calibrated curvatures are near the best, by the bound that they are to minimise; and a bound
/// with probability is above the mean.
#[test]
fn calibrated_curvature_is_near_the_best() {
    let bound = |curvature: Option<f64>| {
        let mut request = request(RecipeName::PigdConvex, 4000);
        request.set = Arc::new(Ball::new(D, 20.0).unwrap());
        request.curvature = curvature;
        request.plan().unwrap().regret_bound(None).unwrap()
    };
    let calibrated = bound(None);
    for exponent in -8..=8 {
        let other = bound(Some(2_f64.powi(exponent)));
        assert!(calibrated < 1.4 * other, "{calibrated} {other}");
    }
    let recipe = request(RecipeName::Pigd, 4000).plan().unwrap();
    let mean = recipe.regret_bound(None).unwrap();
    let rare = recipe.regret_bound(Some(1e-3)).unwrap();
    assert!(rare > mean && rare < 1.2 * mean, "{mean} {rare}");
    assert_eq!(recipe.regret_bound(Some(0.0)), None);
}
