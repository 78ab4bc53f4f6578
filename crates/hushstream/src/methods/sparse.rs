//! The sparse learner.

use super::session::{Content, Running};
use super::{Method, Place, Restart};
use crate::error::Result;
use crate::outcome::Parameters;
use hushstream_account::Price;
use hushstream_mechanism::{Grant, Scope};
use hushstream_recipes::{RecipeName, Situation, SparseRecipe, SparseRun, Wishes};

struct Sparse {
    recipe: SparseRecipe,
    thresholded: bool,
    reasons: Vec<String>,
}

/// The recipe for records with few features. `thresholded`: weights within the noise are 0.
pub(crate) fn choose(
    situation: &Situation,
    wishes: &Wishes,
    thresholded: bool,
    reasons: Vec<String>,
) -> Result<Box<dyn Method>> {
    Ok(Box::new(Sparse {
        recipe: situation.choose_sparse(wishes)?,
        thresholded,
        reasons,
    }))
}

impl Method for Sparse {
    fn recipe(&self) -> RecipeName {
        RecipeName::SparseFtrl
    }

    fn price(&self) -> Result<(Price, Scope)> {
        let plan = self.recipe.plan();
        Ok((plan.charge()?, plan.scope()))
    }

    fn records(&self) -> (u64, u64) {
        let rounds = self.recipe.request().rounds;
        (rounds, rounds)
    }

    fn parameters(&self) -> Parameters {
        let request = self.recipe.plan().request();
        let noise = self.recipe.plan().prefix_sd_max();
        Parameters {
            sum: Some(request.kind.to_string()),
            noise: Some(request.noise.to_string()),
            batch: 1,
            releases: request.releases,
            radius: Some(self.recipe.rule().half_side()),
            learning_rate: Some(self.recipe.rule().rate()),
            noise_sd: Some(noise),
            rows_until_signal: Some(self.recipe.rows_until_signal()),
            reasons: self.reasons.clone(),
            ..Parameters::default()
        }
    }

    fn headline(&self) -> String {
        "sparse-ftrl on tree sums with Gaussian noise, read where records have features".to_owned()
    }

    fn open(&self, place: Place<'_>, grant: Option<Grant>) -> Result<Restart> {
        place.open(self.recipe.clone(), grant, false, |mut run: SparseRun| {
            if self.thresholded {
                run.threshold();
            }
            let running = Running::new(run, |model| Content::Weights {
                weights: model.dense(),
            });
            Ok(Box::new(running))
        })
    }
}
