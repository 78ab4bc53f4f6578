//! The automatic choice: recipe, sum, batch and step sizes from what is public (the task, its
//! bounds, the horizon and the budget) and nothing else.
//!
//! **Two ways to learn a linear model.** *Second order*: least squares on the running second
//! moments (`pqftl`). It asks each record for p(p+3)/2 numbers whatever the iterate is, so it
//! forgets nothing and needs no step size; against its noise a ridge of ½σ√p is put on the matrix
//! (tried on public data: between σ√p/4 and σ√p the choice matters little). *First order*: dual
//! averaging on gradients (`pftal-convex`): p numbers a record, any convex loss.
//!
//! **When second order pays.** If features are spread over their bounds, the matrix after t records
//! has eigenvalues about t·R²/p, and its noise has operator norm about σ√(2p). The rounds after
//! which the first exceeds the second, t₂ = σ√(2p)·p/R², are the price of privacy: until then
//! nothing is learned. We take second order if t₂ is at most the horizon and the moments fit 2^20
//! numbers; on forest cover it is still ahead of first order there, by 0.67 to 0.61 of 20,000
//! records. The same figure for first order is in `first_order`, with its radius and curvature. It
//! chooses a recipe; it predicts no accuracy, because features are seldom spread so.
//!
//! **Batches** do not change what a record may contribute, only how often a sum is released, and a
//! sum's error grows with the number of releases: so the horizon is cut into about 256 batches for
//! second order, which learns from sums whatever was asked before, 1024 for first order, which
//! moves once a batch, and 64 for pure noise, whose error grows faster.

mod first_order;
mod hashed;
mod linear;
mod problem;

pub(crate) use linear::Draft;

use crate::catalogue::{RecipeName, Wish};
use crate::error::RecipeError;
use crate::linear::{LearnsFrom, Recipe};
use hushstream_account::{Adjacency, Budget, ParameterError};
use hushstream_mechanism::Participation;
use hushstream_mechanism::losses::Link;
use hushstream_mechanism::sums::{Noise, SumKind};

/// The prediction task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Task {
    /// ±1.
    Sign,
    /// 0 … K − 1.
    Classes(usize),
    /// A number between two bounds.
    Number(f64, f64),
    /// Which of the experts, whose losses lie between two bounds, to follow.
    Experts(f64, f64),
    /// Which of the arms, whose losses lie between two bounds, to play, when only its loss is seen.
    Bandit(f64, f64),
    /// Which arm to play for a context.
    Decide,
}

/// The public facts about a run.
#[derive(Debug, Clone)]
pub struct Situation {
    /// The prediction task.
    pub task: Task,
    /// Features, experts or arms.
    pub features: usize,
    /// Bound on the length of the features.
    pub length: f64,
    /// Records.
    pub rounds: u64,
    /// Whether `rounds` is only an expectation.
    pub horizon_unknown: bool,
    /// What may be spent.
    pub budget: Budget,
    /// The neighbouring relation.
    pub adjacency: Adjacency,
    /// Who contributes how often.
    pub participation: Participation,
}

/// Stated parameters of the method; the rest is chosen.
///
/// ```
/// use hushstream_mechanism::sums::SumKind;
/// use hushstream_recipes::{RecipeName, Wishes};
///
/// let wishes = Wishes {
///     sum: Some(SumKind::Tree),
///     batch: Some(100),
///     ..Wishes::default()
/// };
/// wishes.check(RecipeName::PftalConvex)?; // it has a sum and batches
/// assert!(wishes.check(RecipeName::Pigd).is_err()); // it has neither
/// # Ok::<(), hushstream_recipes::RecipeError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    /// The recipe.
    pub recipe: Option<RecipeName>,
    /// The sum.
    pub sum: Option<SumKind>,
    /// The noise.
    pub noise: Option<Noise>,
    /// Records an item.
    pub batch: Option<u64>,
    /// Where the weights live: `ball`, `box` or `simplex`.
    pub set: Option<String>,
    /// Its radius.
    pub radius: Option<f64>,
    /// H, or α a record.
    pub curvature: Option<f64>,
    /// η.
    pub learning_rate: Option<f64>,
    /// λ of least squares.
    pub ridge: Option<f64>,
    /// The loss of first-order recipes.
    pub link: Option<Link>,
    /// Items for which a window recipe protects a record.
    pub window: Option<u64>,
    /// Rounds after which a selection or a bandit begins anew.
    pub restart: Option<u64>,
    /// Columns that each table of `tables` takes: 1 to 3, or 0 for curves alone.
    pub tables: Option<u32>,
}

impl Wishes {
    /// Refuses wishes that this recipe would not hear.
    ///
    /// # Errors
    /// The first of them; a radius that is not positive.
    pub fn check(&self, recipe: RecipeName) -> Result<(), RecipeError> {
        if let Some(given) = self.radius
            && !(given > 0.0 && given.is_finite())
        {
            return Err(ParameterError::new("radius", given, "a positive finite number").into());
        }
        let entry = recipe.entry();
        let is_heard = |wish: Wish| {
            entry.hears.contains(&wish)
                // A sum that was named may be a window, and least squares is a squared loss.
                || wish == Wish::Window && self.sum.is_some_and(|sum| sum.is_windowed())
                || wish == Wish::Loss
                    && self.link == Some(Link::Squared)
                    && recipe.learns_from() == Some(LearnsFrom::Moments)
        };
        let stated = [
            (Wish::Sum, self.sum.is_some()),
            (Wish::Noise, self.noise.is_some()),
            (Wish::Loss, self.link.is_some()),
            (Wish::Set, self.set.is_some()),
            (Wish::Radius, self.radius.is_some()),
            (Wish::Curvature, self.curvature.is_some()),
            (Wish::Rate, self.learning_rate.is_some()),
            (Wish::Ridge, self.ridge.is_some()),
            (Wish::Window, self.window.is_some()),
            (Wish::Restart, self.restart.is_some()),
        ];
        let mut stated = stated.into_iter().filter(|(_, is_stated)| *is_stated);
        match stated.find(|(wish, _)| !is_heard(*wish)) {
            Some((wish, _)) => Err(RecipeError::Unfit(format!(
                "{recipe} has no use for {wish}: leave it out, or name another recipe"
            ))),
            None => Ok(()),
        }
    }
}

/// A recipe, and why.
pub struct Choice {
    /// The recipe.
    pub recipe: Recipe,
    /// The reasons, for people.
    pub reasons: Vec<String>,
    /// Records after which what is learned would exceed the noise, if features were spread evenly
    /// over their bounds: what the choice is made by, and no forecast.
    pub rows_until_signal: f64,
}

impl Situation {
    /// Chooses what the wishes leave open.
    ///
    /// # Errors
    /// Wishes that do not fit together or are out of range.
    pub fn choose(&self, wishes: &Wishes) -> Result<Choice, RecipeError> {
        if let Task::Bandit(..) | Task::Decide = self.task {
            return Err(RecipeError::Unfit(
                "sums need all losses of a record, and a bandit sees one: see BanditRequest and \
                 DecisionsRequest"
                    .into(),
            ));
        }
        if let Task::Experts(..) = self.task {
            return self.chosen(RecipeName::Ftrl, wishes, Vec::new());
        }
        if let Some(recipe) = wishes.recipe {
            return self.chosen(recipe, wishes, Vec::new());
        }
        let first = |reason: String| self.chosen(RecipeName::PftalConvex, wishes, vec![reason]);
        if wishes.link.is_some_and(|link| link != Link::Squared) {
            return first(
                "pftal-convex, because a loss was named: it takes any convex one".to_owned(),
            );
        }
        if wishes.set.is_some() || wishes.radius.is_some() {
            return first(
                "pftal-convex, because a set was named: its weights stay in it".to_owned(),
            );
        }
        let numbers = self.moments()?.dimension();
        if numbers > 1 << 20 {
            return first(format!(
                "pftal-convex, because second moments would be {numbers} numbers a record"
            ));
        }
        let second = self.chosen(RecipeName::Pqftl, wishes, Vec::new());
        match second {
            Ok(mut choice) if choice.rows_until_signal <= self.rounds as f64 => {
                choice.reasons.insert(
                    0,
                    format!(
                        "pqftl, because with {} features, if they were spread evenly over their \
                     bounds, second moments would rise above their noise after about {:.0} of {} \
                     records",
                        self.features, choice.rows_until_signal, self.rounds
                    ),
                );
                Ok(choice)
            }
            Ok(choice) => first(format!(
                "pftal-convex, because with {} features, even if they were spread evenly over \
                 their bounds, second moments would need about {:.0} records to rise above their \
                 noise, and there are {}",
                self.features, choice.rows_until_signal, self.rounds
            )),
            // What refuses second moments (a sum or noise that was wished for) may suit gradients.
            Err(error) => first(format!("pftal-convex, because pqftl does not fit: {error}")),
        }
    }
}

#[cfg(test)]
mod tests;
