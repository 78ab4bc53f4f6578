//! `ftrl`: the regularised leader on linear losses.

use super::{Entry, MechanismKind, RecipeName, Rules, Wish};
use crate::error::RecipeError;
use crate::linear::{Holds, Item, LearnsFrom, Objective, OnSums, Recipe, RegretBound};
use hushstream_learn::{Learner, PNorm, RegularisedLeader};
use hushstream_mechanism::losses::LossSet;
use hushstream_mechanism::sums::{Noise, SumKind};
use std::sync::Arc;

pub(super) const ENTRY: Entry = Entry {
    recipe: RecipeName::Ftrl,
    name: "ftrl",
    source: "AS17 Algorithms 1 and 2",
    errata: &["A1", "A2", "A7", "A8"],
    guarantee: "transcript",
    when: "expert advice and other linear losses: privacy costs an additive polylogarithm",
    mechanism: MechanismKind::Sum(SumKind::PaddedTree),
    printed: "sqrt(D_R sum max|l|^2) + D_Lap",
    holds: "3/2 sqrt(D_R sum max|l|^2) + D_Lap with noise of one law (tree-padded, smooth), \
        against losses fixed in advance",
    hears: &[Wish::Sum, Wish::Noise, Wish::Set, Wish::Radius, Wish::Rate],
    rules: Rules::Sum(&Ftrl),
};

#[derive(Debug)]
struct Ftrl;

/// Entropy on the simplex, Euclidean otherwise.
fn is_entropic(recipe: &Recipe) -> bool {
    recipe.request.set.name() == "simplex"
}

/// A p-norm, on an L1 ball of so many dimensions that its regret is less than that of squares, for
/// losses in a box around 0.
fn p_norm(recipe: &Recipe) -> Option<PNorm> {
    let set = &recipe.request.set;
    let Objective::Linear(loss) = &recipe.request.objective else {
        return None;
    };
    let around = matches!(loss.set(), LossSet::Box(low, high) if low.total_cmp(&-high).is_eq());
    if set.name() != "L1 ball" || !around {
        return None;
    }
    let norm = PNorm::for_l1_ball(set.dimension(), set.outer_radius()).ok()?;
    (norm.per_square_of_box() < 0.9 * set.dimension() as f64).then_some(norm)
}

/// D_R, and the dual norm of an item's loss over the root of the convexity: the largest coordinate
/// on the simplex, otherwise the length.
fn range_and_norm(recipe: &Recipe, length: f64) -> (f64, f64) {
    let set = &recipe.request.set;
    let half = set.outer_radius().powi(2) / 2.0;
    let Objective::Linear(loss) = &recipe.request.objective else {
        return (half, length);
    };
    let largest = recipe.request.batch as f64 * loss.largest_coordinate();
    if is_entropic(recipe) {
        return ((set.dimension() as f64).ln(), largest);
    }
    match p_norm(recipe) {
        Some(norm) => (half, largest * norm.per_square_of_box().sqrt()),
        None => (half, length),
    }
}

fn learner(recipe: &Recipe) -> Result<RegularisedLeader, RecipeError> {
    let set = &recipe.request.set;
    Ok(if let Some(norm) = p_norm(recipe) {
        RegularisedLeader::new(Arc::new(norm), recipe.learning_rate)?
    } else if is_entropic(recipe) {
        RegularisedLeader::entropic(set.dimension(), recipe.learning_rate)?
    } else {
        RegularisedLeader::euclidean(set.clone(), recipe.learning_rate)?
    })
}

/// D_Z = E[max⟨Z, x⟩ − min⟨Z, x⟩] over the set, at most diameter·E‖Z‖. On the simplex it is E[max −
/// min] of N coordinates: at most 2s√(2 ln N) for normal ones, hence also for L2-Laplace, which is
/// normal given its variance, of mean at most s²; and 2(s√(2 ln N) + b·ln N) for sums of Laplace
/// noises of scale b with weights ±1, as ln E e^(λX) = −ln(1 − λ²b²) ≤ λ²b²/(1 − λb) for each. On
/// an L1 ball of radius r it is 2r·E max |Zᵢ|, the largest of 2N such numbers: r times the same at
/// 2N.
fn noise_range(recipe: &Recipe) -> f64 {
    let set = &recipe.request.set;
    let any = set.diameter() * recipe.mean_noise();
    let (numbers, radius) = match set.name() {
        "simplex" => (set.dimension() as f64, 1.0),
        "L1 ball" => (2.0 * set.dimension() as f64, set.outer_radius()),
        _ => return any,
    };
    let logarithm = numbers.ln();
    let normal = recipe.plan.prefix_sd_max() * (2.0 * logarithm).sqrt();
    let tail = match recipe.plan.request().noise {
        Noise::Laplace => recipe.plan.node_sigma() / std::f64::consts::SQRT_2 * logarithm,
        Noise::Gaussian | Noise::L2Laplace => 0.0,
    };
    any.min(2.0 * radius * (normal + tail))
}

impl OnSums for Ftrl {
    fn learns_from(&self) -> LearnsFrom {
        LearnsFrom::LinearLosses
    }

    fn pure_noise(&self) -> Noise {
        Noise::Laplace
    }

    fn starts_from_noise(&self) -> bool {
        true
    }

    fn curvature(&self, _: &Recipe) -> Result<f64, RecipeError> {
        Ok(0.0)
    }

    /// η = √(D_R/Σ‖l‖*²).
    fn rate(&self, recipe: &Recipe) -> Result<f64, RecipeError> {
        let length = recipe.request.batch as f64 * recipe.gradient()?.lipschitz();
        let (range, norm) = range_and_norm(recipe, length);
        let squares = recipe.items() as f64 * norm * norm;
        Ok(RegularisedLeader::stated_rate(range, squares)?)
    }

    fn learner(&self, recipe: &Recipe) -> Result<Box<dyn Learner>, RecipeError> {
        Ok(Box::new(learner(recipe)?))
    }

    fn bound(&self, recipe: &Recipe, item: &Item) -> Result<RegretBound, String> {
        recipe.one_law()?;
        let learner = learner(recipe).map_err(|error| error.to_string())?;
        let (_, norm) = range_and_norm(recipe, item.slope);
        let squares = item.horizon as f64 * norm * norm;
        Ok(RegretBound {
            value: learner.regret_bound(squares, noise_range(recipe)) + recipe.truncated(),
            holds: Holds::ExpectedOblivious,
            theorem: "AS17 Theorem 3.4 with errata A1, A7: D_R/eta + (eta/2) sum |l|*^2 + D_Z",
        })
    }
}
