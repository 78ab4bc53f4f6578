//! `coco-p` and `coco-l`: constrained online convex optimisation with privacy for a window, with
//! and without projections.

use super::pftal::{leader, leader_bound};
use super::{Entry, MechanismKind, RecipeName, Rules, Wish};
use crate::error::RecipeError;
use crate::linear::{Holds, Item, NOISE_BETA, OnSums, Recipe, RegretBound};
use hushstream_learn::{FrankWolfe, Learner, LocalLinear};
use hushstream_mechanism::sums::SumKind;
use hushstream_sets::Capability;

const GRADIENTS_IN_A_WINDOW: &[Wish] = &[
    Wish::Sum,
    Wish::Noise,
    Wish::Loss,
    Wish::Set,
    Wish::Radius,
    Wish::Curvature,
    Wish::Window,
];

pub(super) const COCO_P: Entry = Entry {
    recipe: RecipeName::CocoP,
    name: "coco-p",
    source: "WDP20 Algorithm 1",
    errata: &["W1", "W2", "W5", "W6", "W7"],
    guarantee: "window: not privacy of the transcript",
    when: "a record only needs protection for a while, and projections are cheap",
    mechanism: MechanismKind::Sum(SumKind::Window(0)),
    printed: "O(d (L+mu D)^2 log^1.5 W ln(d/beta) ln T / (mu eps))",
    holds: "the printed rate with sensitivity 2L (replace-one) instead of L + mu D",
    hears: GRADIENTS_IN_A_WINDOW,
    rules: Rules::Sum(&CocoP),
};

pub(super) const COCO_L: Entry = Entry {
    recipe: RecipeName::CocoL,
    name: "coco-l",
    source: "WDP20 Algorithm 2",
    errata: &["W1", "W3", "W5", "W7", "W8"],
    guarantee: "window: not privacy of the transcript",
    when: "as coco-p, on sets where only a linear minimiser is cheap; useful constants only in \
        few dimensions",
    mechanism: MechanismKind::Sum(SumKind::Window(0)),
    printed: "as coco-p",
    holds: "as coco-p with constants (25 rho^2)^2; the tuned variant has the same privacy and \
        an empirical regret; with a linear minimiser only (spectrahedron) online Frank-Wolfe, \
        order T^(2/3)",
    hears: GRADIENTS_IN_A_WINDOW,
    rules: Rules::Sum(&CocoL),
};

#[derive(Debug)]
struct CocoP;

impl OnSums for CocoP {
    fn learner(&self, recipe: &Recipe) -> Result<Box<dyn Learner>, RecipeError> {
        Ok(Box::new(leader(recipe)?))
    }

    fn bound(&self, recipe: &Recipe, item: &Item) -> Result<RegretBound, String> {
        let theorem =
            "WDP20 Theorems 3 and 4 with errata W1, W2: (1 + ln T)((L + mu D)^2/2 + L N)/mu";
        let likely = leader_bound(recipe, item, recipe.rare_error(), theorem)?;
        Ok(RegretBound {
            holds: Holds::Unless(NOISE_BETA),
            ..likely
        })
    }
}

#[derive(Debug)]
struct CocoL;

/// Whether it must do with a linear minimiser: the set has no local oracle.
fn minimises_only(recipe: &Recipe) -> bool {
    let set = &recipe.request.set;
    !set.can(Capability::LocalOracle) && set.can(Capability::Minimise)
}

fn frank_wolfe(recipe: &Recipe) -> Result<FrankWolfe, RecipeError> {
    let set = recipe.request.set.clone();
    Ok(FrankWolfe::new(set, recipe.curvature)?)
}

fn as_stated(recipe: &Recipe, slope: f64) -> Result<LocalLinear, RecipeError> {
    let (set, noise) = (recipe.request.set.clone(), recipe.rare_noise());
    Ok(LocalLinear::as_stated(set, recipe.curvature, slope, noise)?)
}

impl OnSums for CocoL {
    /// One that is exceeded with probability [`NOISE_BETA`].
    fn noise_length(&self, recipe: &Recipe) -> Option<f64> {
        (!recipe.request.tuned && !minimises_only(recipe)).then(|| recipe.rare_noise())
    }

    fn noise_beta(&self) -> Option<f64> {
        Some(NOISE_BETA)
    }

    fn learner(&self, recipe: &Recipe) -> Result<Box<dyn Learner>, RecipeError> {
        if minimises_only(recipe) {
            return Ok(Box::new(frank_wolfe(recipe)?));
        }
        if recipe.request.tuned {
            let set = recipe.request.set.clone();
            return Ok(Box::new(LocalLinear::tuned(set, recipe.curvature, 0.0)?));
        }
        let slope = recipe.gradient()?.lipschitz() * recipe.request.batch as f64;
        Ok(Box::new(as_stated(recipe, slope)?))
    }

    fn bound(&self, recipe: &Recipe, item: &Item) -> Result<RegretBound, String> {
        recipe.curved()?;
        let words = |error: RecipeError| error.to_string();
        let noise = recipe.rare_error();
        let (value, theorem) = if minimises_only(recipe) {
            let learner = frank_wolfe(recipe).map_err(words)?;
            (
                learner.regret_bound(item.slope, noise, item.horizon),
                "online Frank-Wolfe: (1 + ln T)((L + mu D)^2/2 + L N)/mu + (3/2) L E T^(2/3)",
            )
        } else if recipe.request.tuned {
            return Err(
                "the tuned variant's bound is computed along the way and known after the run"
                    .to_owned(),
            );
        } else {
            let learner = as_stated(recipe, item.slope).map_err(words)?;
            let value = learner.stated_bound(item.slope, noise, item.horizon);
            (
                value.ok_or(
                    "noise can move the sums further in a round than WDP20's constants allow: its \
                     theorem does not cover this plan (erratum W8)",
                )?,
                "WDP20 Theorems 6 and 7 with errata W1, W3, W8: (1 + ln T)((L + mu D)^2/2 + L N + \
                 2 L C1)/mu + C0 mu D^2/2",
            )
        };
        Ok(RegretBound {
            value,
            holds: Holds::Unless(NOISE_BETA),
            theorem,
        })
    }
}
