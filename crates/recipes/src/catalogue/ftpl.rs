//! `ftpl`: the leader on noisy sums of linear losses.

use super::{Entry, MechanismKind, RecipeName, Rules, Wish};
use crate::error::RecipeError;
use crate::linear::{Holds, Item, LearnsFrom, OnSums, Recipe, RegretBound};
use hushstream_learn::{Learner, PerturbedLeader};
use hushstream_mechanism::sums::{Noise, SumKind};

pub(super) const ENTRY: Entry = Entry {
    recipe: RecipeName::Ftpl,
    name: "ftpl",
    source: "AS17 Algorithm 3",
    errata: &["A1", "A3", "A8"],
    guarantee: "transcript, delta > 0",
    when: "linear losses over a set that can only be minimised over (paths, spanning trees)",
    mechanism: MechanismKind::Sum(SumKind::PaddedTree),
    printed: "O(N^(1/4) |X| |Y| sqrt(T) + N |X| log^1.5 T log(log T/delta)/eps)",
    holds: "the printed rate with |Y| in both terms, against losses fixed in advance",
    hears: &[Wish::Sum, Wish::Noise, Wish::Set, Wish::Radius],
    rules: Rules::Sum(&Ftpl),
};

#[derive(Debug)]
struct Ftpl;

fn learner(recipe: &Recipe) -> Result<PerturbedLeader, RecipeError> {
    Ok(PerturbedLeader::new(recipe.request.set.clone())?)
}

impl OnSums for Ftpl {
    fn learns_from(&self) -> LearnsFrom {
        LearnsFrom::LinearLosses
    }

    fn refuses(&self, sum: SumKind, noise: Noise) -> Option<&'static str> {
        if noise != Noise::Gaussian {
            Some("its regret needs Gaussian noise and delta > 0")
        } else if !sum.has_one_law() {
            Some("its regret needs noise of one law for every release: use tree-padded or smooth")
        } else {
            None
        }
    }

    /// AS17's first branch: noise for the regret, whatever privacy needs.
    fn least_sigma(&self, slope: f64, dimension: usize, items: u64) -> f64 {
        let (n, t) = (dimension as f64, items as f64);
        slope * (t / (n.sqrt() * t.ln().max(1.0))).sqrt()
    }

    fn starts_from_noise(&self) -> bool {
        true
    }

    fn curvature(&self, _: &Recipe) -> Result<f64, RecipeError> {
        Ok(0.0)
    }

    fn learner(&self, recipe: &Recipe) -> Result<Box<dyn Learner>, RecipeError> {
        Ok(Box::new(learner(recipe)?))
    }

    fn bound(&self, recipe: &Recipe, item: &Item) -> Result<RegretBound, String> {
        recipe.one_law()?;
        let learner = learner(recipe).map_err(|error| error.to_string())?;
        let deviation = recipe.plan.prefix_sd_max();
        let value = learner.regret_bound(item.slope, deviation, item.horizon);
        Ok(RegretBound {
            value: value + recipe.truncated(),
            holds: Holds::ExpectedOblivious,
            theorem: "AS17 Theorem 3.5 with errata A3, A7: |X|(s sqrt(N) + T |Y|^2/(s sqrt(2 pi)))",
        })
    }
}
