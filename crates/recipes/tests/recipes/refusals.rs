//! What cannot be is refused before anything is spent, by name, value and what is allowed.

use crate::game::*;
use hushstream_account::{Budget, ParameterError};
use hushstream_learn::LearnError;
use hushstream_mechanism::Participation;
use hushstream_mechanism::sums::{Noise, PlanError, SumKind};
use hushstream_recipes::{RecipeError, RecipeName, RecipeRequest};
use hushstream_sets::{Ball, Capability, ConvexSet, SetError, Shape, Simplex, Spectrahedron};

const D: usize = 3;

fn ball() -> Ball {
    Ball::new(D, 1.0).unwrap()
}

fn pftal() -> RecipeRequest {
    request(RecipeName::Pftal, distance(D), ball(), 64)
}

fn refusal(request: RecipeRequest) -> RecipeError {
    request.plan().err().expect("this must be refused")
}

/// The message names all of these.
fn names(error: &RecipeError, parts: &[&str]) {
    let message = error.to_string();
    for part in parts {
        assert!(message.contains(part), "{message:?} does not say {part:?}");
    }
}

#[test]
fn fewer_than_two_rounds() {
    for rounds in [0, 1] {
        for mut request in every_recipe(D, 64) {
            request.rounds = rounds;
            let error = refusal(request);
            assert!(matches!(
                error,
                RecipeError::Parameter(ParameterError {
                    parameter: "rounds",
                    ..
                })
            ));
            names(
                &error,
                &["rounds", &format!("= {rounds} "), "at least two items"],
            );
        }
    }
    for mut request in every_recipe(D, 64) {
        request.rounds = 2;
        request.plan().unwrap();
    }
}

#[test]
fn losses_that_are_not_strongly_convex() {
    for recipe in [RecipeName::Pftal, RecipeName::CocoP, RecipeName::CocoL] {
        for (objective, loss) in [(logistic(D), "logistic"), (linear(D), "linear")] {
            let set = Simplex::new(D).unwrap();
            let mut start = request(recipe, objective, set, 64);
            let error = refusal(start.clone());
            assert!(matches!(error, RecipeError::Unfit(_)));
            let recipe = recipe.to_string();
            names(&error, &[&recipe, "strongly convex", loss, "pftal-convex"]);
            // Who knows better states the curvature.
            start.curvature = Some(0.1);
            assert!(start.plan().is_ok());
        }
    }
}

#[test]
fn objectives_that_a_recipe_does_not_learn_from() {
    let wrong = [
        (RecipeName::Pqftl, logistic(D), "second moments"),
        (RecipeName::Pqftl, linear(D), "second moments"),
        (RecipeName::Ftrl, logistic(D), "linear losses"),
        (RecipeName::Ftpl, distance(D), "linear losses"),
        (RecipeName::Ftrl, least_squares(D), "gradients"),
        (RecipeName::Pftal, least_squares(D), "gradients"),
        (RecipeName::PftalConvex, least_squares(D), "gradients"),
        (RecipeName::CocoP, least_squares(D), "gradients"),
        (RecipeName::CocoL, least_squares(D), "gradients"),
    ];
    for (recipe, objective, learns_from) in wrong {
        let error = refusal(request(recipe, objective, Simplex::new(D).unwrap(), 64));
        assert!(matches!(error, RecipeError::Objective { .. }), "{error}");
        names(&error, &[&recipe.to_string(), learns_from]);
    }
}

/// Every cell of the table of recipes, sums and noises is either planned or refused with its
/// reason.
#[test]
fn impossible_cells() {
    let gaussian = Noise::Gaussian;
    let impossible = [
        (
            RecipeName::Ftpl,
            SumKind::Tree,
            gaussian,
            "tree-padded or smooth",
        ),
        (
            RecipeName::Ftpl,
            SumKind::BLT,
            gaussian,
            "tree-padded or smooth",
        ),
        (
            RecipeName::Ftpl,
            SumKind::Octave,
            gaussian,
            "tree-padded or smooth",
        ),
        (
            RecipeName::Ftpl,
            SumKind::PaddedTree,
            Noise::L2Laplace,
            "delta > 0",
        ),
        (RecipeName::CocoP, SumKind::Tree, gaussian, "--sum window"),
        (RecipeName::CocoL, SumKind::BLT, gaussian, "--sum window"),
        (RecipeName::Pftal, SumKind::Window(9), gaussian, "coco-p"),
        (RecipeName::Ftrl, SumKind::Window(9), gaussian, "coco-p"),
        (
            RecipeName::PftalConvex,
            SumKind::BLT,
            Noise::L2Laplace,
            "delta > 0",
        ),
        (
            RecipeName::PftalConvex,
            SumKind::BLT,
            Noise::Laplace,
            "delta > 0",
        ),
        (
            RecipeName::Pftal,
            SumKind::Kary,
            gaussian,
            "honaker, smooth or blt",
        ),
        (
            RecipeName::Pqftl,
            SumKind::Tree,
            Noise::Laplace,
            "l2-laplace or gaussian",
        ),
    ];
    for (recipe, sum, noise, reason) in impossible {
        let start = every_recipe(D, 64)
            .into_iter()
            .find(|start| start.recipe == recipe);
        let error = refusal(on(start.unwrap(), sum, noise));
        assert!(matches!(error, RecipeError::Unfit(_)), "{error}");
        names(&error, &[&sum.to_string(), &noise.to_string(), reason]);
    }
    for request in every_recipe(D, 64) {
        for sum in SumKind::ALL.into_iter().chain([SumKind::Window(9)]) {
            for noise in NOISES {
                let fits = request.recipe.accepts(sum, noise).is_ok();
                let planned = on(request.clone(), sum, noise).plan();
                assert_eq!(planned.is_ok(), fits, "{} {sum} {noise}", request.recipe);
            }
        }
    }
}

/// Without δ there is no Gaussian noise; the default noise follows the budget.
#[test]
fn budgets_and_noises_that_do_not_fit() {
    let mut blt = request(RecipeName::PftalConvex, logistic(D), ball(), 64);
    blt.sum = Some(SumKind::BLT);
    blt.budget = Budget::pure(1.0).unwrap();
    names(&refusal(blt), &["blt", "L2-Laplace", "delta > 0"]);
    let mut gaussian = pftal();
    gaussian.budget = Budget::pure(1.0).unwrap();
    gaussian.noise = Some(Noise::Gaussian);
    assert!(matches!(
        refusal(gaussian),
        RecipeError::Plan(PlanError::Account(_))
    ));
    for mut start in every_recipe(D, 64) {
        start.budget = Budget::pure(1.0).unwrap();
        let recipe = start.recipe;
        match start.plan() {
            Ok(planned) => assert!(planned.plan().request().noise.is_pure(), "{recipe}"),
            Err(error) => {
                assert_eq!(recipe, RecipeName::Ftpl);
                names(&error, &["ftpl", "delta > 0"]);
            }
        }
    }
}

#[test]
fn curvatures_and_rates_out_of_range() {
    for bad in [f64::NAN, -1.0, 0.0, f64::INFINITY, f64::NEG_INFINITY] {
        for start in every_recipe(D, 64) {
            for parameter in ["curvature", "learning rate"] {
                let mut request = start.clone();
                if parameter == "curvature" {
                    request.curvature = Some(bad);
                } else {
                    request.learning_rate = Some(bad);
                }
                let error = refusal(request);
                assert!(matches!(error, RecipeError::Parameter(_)), "{error}");
                names(&error, &[parameter, &bad.to_string(), "positive finite"]);
            }
        }
    }
}

#[test]
fn counts_out_of_range() {
    let mut no_window = request(RecipeName::CocoP, distance(D), ball(), 64);
    no_window.window = None;
    let error = refusal(no_window);
    assert!(matches!(error, RecipeError::Plan(PlanError::Parameter(_))));
    names(&error, &["window = 0", "1 to 2^44"]);
    let mut no_batch = pftal();
    no_batch.batch = 0;
    names(&refusal(no_batch), &["batch = 0", "1 to 2^44"]);
    let mut nobody = pftal();
    nobody.participation = Participation::PerPerson {
        most: 0,
        separation: 1,
    };
    names(
        &refusal(nobody),
        &["contributions per person = 0", "1 to 2^44"],
    );
    let mut persons = request(RecipeName::CocoP, distance(D), ball(), 64);
    persons.participation = Participation::PerPerson {
        most: 2,
        separation: 1,
    };
    let error = refusal(persons);
    assert!(matches!(
        error,
        RecipeError::Plan(PlanError::WindowForPersons)
    ));
}

/// A set that can only project.
#[derive(Debug)]
struct Projecting(Ball);

impl ConvexSet for Projecting {
    fn shape(&self) -> &Shape {
        self.0.shape()
    }
    fn name(&self) -> &'static str {
        "projecting set"
    }
    fn can(&self, capability: Capability) -> bool {
        capability == Capability::Project
    }
    fn project(&self, point: &mut [f64]) -> Result<f64, SetError> {
        self.0.project(point)
    }
}

/// A set that lacks what a recipe needs says so, and which recipes it does serve.
#[test]
fn sets_that_cannot_serve() {
    for tuned in [false, true] {
        let mut start = request(RecipeName::CocoL, distance(D), Projecting(ball()), 64);
        start.tuned = tuned;
        let error = refusal(start);
        let RecipeError::Learn(LearnError::Set(SetError::Unable(unable))) = &error else {
            panic!("{error}")
        };
        assert_eq!(unable.capability, Capability::LocalOracle);
        assert!(!unable.serves.contains(&"coco-l") && unable.serves.contains(&"coco-p"));
        names(
            &error,
            &["projecting set cannot", "local linear oracle", "coco-p"],
        );
    }
    let error = refusal(request(RecipeName::Ftpl, linear(D), Projecting(ball()), 64));
    names(&error, &["projecting set cannot minimise"]);
    // Three coordinates; no local oracle, but a linear minimiser.
    let set = Spectrahedron::new(2).unwrap();
    // What it serves, it serves.
    for (recipe, objective) in [
        (RecipeName::Pftal, distance(D)),
        (RecipeName::PftalConvex, logistic(D)),
        (RecipeName::CocoP, distance(D)),
        (RecipeName::CocoL, distance(D)),
        (RecipeName::Ftrl, linear(D)),
        (RecipeName::Ftpl, linear(D)),
    ] {
        assert!(
            request(recipe, objective, set.clone(), 64).plan().is_ok(),
            "{recipe}"
        );
    }
}
