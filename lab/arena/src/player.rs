//! Contests with recipes on iterates.

use crate::play::{ArenaError, Contest, Outcome};
use hushstream_account::FilterKind;
use hushstream_mechanism::{Ledger, MemoryStorage, Participation};
use hushstream_noise::Key;
use hushstream_recipes::{
    Averaged, Insider, IterateRecipe, IterateRequest, IterateRun, RecipeError, RecipeName,
};

impl Contest {
    /// The recipe on iterates, calibrated for this contest.
    ///
    /// # Errors
    /// A combination that does not fit; `pol`, which plays no rounds; batches, which iterates do
    /// not have.
    pub fn iterate_recipe(&self) -> Result<IterateRecipe, ArenaError> {
        let unfit = |reason: &str| {
            ArenaError::Recipe(RecipeError::Unfit(format!("{}: {reason}", self.recipe)))
        };
        if self.recipe == RecipeName::Pol {
            return Err(unfit(
                "it releases one model at the end and plays no rounds",
            ));
        }
        if self.batch != 1 {
            return Err(unfit("iterates move with every record: --batch must be 1"));
        }
        if self.sum.is_some() {
            return Err(unfit("it releases iterates, not sums: it takes no --sum"));
        }
        Ok(IterateRequest {
            recipe: self.recipe,
            insider: Insider::Loss(self.task.loss(self.dimension)),
            set: self.set()?,
            rounds: self.rounds,
            budget: self.budget,
            adjacency: self.adjacency,
            participation: Participation::OncePerRecord,
            noise: self.noise,
            curvature: self.curvature,
            steps: None,
            weighting: None,
            average: Averaged::All,
        }
        .plan()?)
    }

    pub(crate) fn play_iterates(&self, seed: u64) -> Result<Outcome, ArenaError> {
        let recipe = self.iterate_recipe()?;
        let plan = recipe.plan();
        let kind = if plan.request().noise.is_pure() {
            FilterKind::Pure
        } else {
            FilterKind::Gaussian
        };
        let scope = plan.scope();
        let charge = plan.charge().map_err(RecipeError::from)?;
        let mut ledger = Ledger::simulated(self.budget, kind, scope)?;
        let grant = ledger.debit(charge, scope)?;
        let key = Key::insecure_from_seed(seed);
        let storage = MemoryStorage::default();
        let mut run = IterateRun::open(recipe, grant, &key, &mut ledger, storage)?;
        self.against(&mut run, &mut ledger, seed)
    }

    /// What stands under the recipe, for people: the sum's name, or that there is none.
    ///
    /// # Errors
    /// A combination that does not fit.
    pub fn mechanism(&self) -> Result<String, ArenaError> {
        use hushstream_recipes::MechanismKind;
        Ok(match self.recipe.entry().mechanism {
            MechanismKind::Iterate => {
                self.iterate_recipe()?;
                "iterates".to_owned()
            }
            _ => self.recipe()?.plan().request().kind.to_string(),
        })
    }
}
