//! A recipe for bandits: actions, range of answers, learner and calibration.

use crate::catalogue::{RecipeName, Rules};
use crate::error::RecipeError;
use crate::note::as_before;
use hushstream_account::{Adjacency, Budget};
use hushstream_learn::LearnError;
use hushstream_learn::bandits::{
    AnswerSize, BanditLearner, Epochs, Exp2, Exp2Actions, Exp2Rates, FeedbackNoiseSize, Scrible,
};
use hushstream_mechanism::Participation;
use hushstream_mechanism::feedback::{
    FeedbackNoise, FeedbackPlan, FeedbackRequest, Range, Reading,
};
use hushstream_sets::{ConvexSet, Simplex};
use std::fmt;
use std::sync::Arc;

/// What can be played.
#[derive(Clone, Debug)]
pub enum Actions {
    /// Arms: a record has a loss for each.
    Arms(usize),
    /// Finitely many points; losses are linear.
    Points(Vec<Vec<f64>>),
    /// A convex set with a barrier; losses are linear.
    Set(Arc<dyn ConvexSet>),
}

impl Actions {
    /// The actions of a bandit on arms, as this recipe plays them: one arm, or a mixture of all.
    ///
    /// # Errors
    /// A recipe that does not play arms; fewer arms than a mixture needs.
    pub fn of_arms(recipe: RecipeName, arms: usize) -> Result<Self, RecipeError> {
        match recipe.entry().rules {
            Rules::Bandit(rules) if rules.plays == Plays::Choices => Ok(Self::Arms(arms)),
            Rules::Bandit(_) => Ok(Self::Set(Arc::new(Simplex::new(arms)?))),
            _ => Err(RecipeError::Unfit(format!(
                "{recipe} does not play arms: use exp2, exp2-batched or scrible"
            ))),
        }
    }
}

/// What a recipe plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plays {
    /// Arms, or finitely many points.
    Choices,
    /// The points of a convex set.
    Set,
}

/// What tells the recipes for bandits apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BanditRules {
    /// What it plays.
    pub(crate) plays: Plays,
    /// Whether it holds a play for a batch of rounds.
    pub(crate) holds: bool,
}

/// Parameters of a bandit recipe.
#[derive(Clone, Debug)]
pub struct BanditRequest {
    /// `exp2`, `exp2-batched` or `scrible`.
    pub recipe: RecipeName,
    /// What can be played.
    pub actions: Actions,
    /// Where answers lie.
    pub range: Range,
    /// How records become answers, if records come in; its range must be that of the answers.
    pub reading: Option<Reading>,
    /// T, if it is known; otherwise the learner restarts in octaves.
    pub rounds: Option<u64>,
    /// Rounds after which the learner begins anew, for losses that drift; never if none.
    pub restart: Option<u64>,
    /// Rounds for which a play is held; the best for `exp2-batched` if none is given, otherwise 1.
    pub batch: Option<u64>,
    /// The noise; if none is named, the one of the budget's two with the smaller variance.
    pub noise: Option<FeedbackNoise>,
    /// What may be spent.
    pub budget: Budget,
    /// The neighbouring relation.
    pub adjacency: Adjacency,
    /// Who answers how often.
    pub participation: Participation,
}

/// A recipe with everything fixed but the data.
#[derive(Clone, Debug)]
pub struct BanditRecipe {
    pub(crate) request: BanditRequest,
    pub(crate) plan: FeedbackPlan,
    own: Option<OwnLearner>,
}

impl BanditRequest {
    /// The recipe with the least certified regret for these actions, whichever was named: `exp2` or
    /// `exp2-batched` on arms, `exp2` on points, `scrible` on sets.
    ///
    /// # Errors
    /// As [`BanditRequest::plan`].
    pub fn automatic(mut self) -> Result<BanditRecipe, RecipeError> {
        self.recipe = match self.actions {
            Actions::Set(_) => RecipeName::Scrible,
            // With batches of one, the batched recipe is exp2 itself.
            Actions::Arms(_) if self.rounds.is_some() => {
                let held = Self {
                    recipe: RecipeName::Exp2Batched,
                    ..self.clone()
                }
                .plan()?;
                if held.batch() > 1 {
                    return Ok(held);
                }
                RecipeName::Exp2
            }
            _ => RecipeName::Exp2,
        };
        self.plan()
    }

    /// Calibrates the recipe.
    ///
    /// # Errors
    /// Everything that is out of range or does not fit, each with what is allowed.
    pub fn plan(self) -> Result<BanditRecipe, RecipeError> {
        let unfit = |reason: &str| RecipeError::Unfit(format!("{}: {reason}", self.recipe));
        let Rules::Bandit(rules) = self.recipe.entry().rules else {
            return Err(unfit("it is not a bandit recipe on scalar feedback"));
        };
        match (rules.plays, &self.actions) {
            (Plays::Choices, Actions::Set(_)) => {
                return Err(unfit("it plays arms or finitely many points"));
            }
            (Plays::Set, Actions::Arms(_) | Actions::Points(_)) => {
                return Err(unfit("it plays on a convex set with a barrier"));
            }
            _ => {}
        }
        if let Some(reading) = &self.reading {
            self.check_reading(reading)?;
        }
        let batch = match (self.batch, self.rounds) {
            (Some(batch), _) => batch,
            (None, _) if !rules.holds => 1,
            (None, Some(rounds)) => self.best_batch(self.restart.unwrap_or(rounds))?,
            (None, None) if self.restart.is_some() => self.best_batch(self.restart.unwrap_or(1))?,
            // ⌈1/ε⌉ makes the noise of a mean as large as the losses.
            (None, None) => (1.0 / self.budget.epsilon()).ceil().clamp(1.0, 1e6) as u64,
        };
        let recipe = BanditRecipe {
            plan: self.feedback(batch)?,
            request: self,
            own: None,
        };
        recipe.learner()?;
        Ok(recipe)
    }

    fn check_reading(&self, reading: &Reading) -> Result<(), RecipeError> {
        let unfit = |reason: &str| Err(RecipeError::Unfit(format!("{}: {reason}", self.recipe)));
        let arms = match &self.actions {
            Actions::Arms(arms) => *arms,
            _ if reading.is_log() => {
                return unfit("a log tells of arms that were played, and of no other points");
            }
            Actions::Points(points) => points.first().map_or(0, Vec::len),
            Actions::Set(set) => set.dimension(),
        };
        if reading.arms() != arms {
            return unfit("records have another number of arms");
        }
        if reading.range() != self.range {
            return unfit("records answer in another range");
        }
        Ok(())
    }

    fn feedback(&self, batch: u64) -> Result<FeedbackPlan, RecipeError> {
        let with = |noise| {
            FeedbackRequest {
                range: self.range,
                batch,
                rounds: self.rounds,
                noise,
                adjacency: self.adjacency,
                participation: self.participation,
                budget: self.budget,
            }
            .plan()
        };
        let usual = with(self.noise)?;
        if self.noise.is_some() || self.budget.is_pure() {
            return Ok(usual);
        }
        // One number a person: there is nothing to compose, which is where Gaussian noise wins.
        Ok(match with(Some(FeedbackNoise::Laplace)) {
            Ok(pure) if pure.variance() < usual.variance() => pure,
            _ => usual,
        })
    }

    /// The size of answers: those of a log are 0 except where arms agree.
    fn answers(&self, batch: u64) -> AnswerSize {
        match &self.reading {
            Some(reading) if reading.is_log() => AnswerSize::of_weights(self.range.bound(), batch),
            _ => AnswerSize::ANY,
        }
    }

    /// The power of two with the least regret bound.
    fn best_batch(&self, rounds: u64) -> Result<u64, RecipeError> {
        let mut best = (f64::INFINITY, 1);
        for power in 0..20 {
            let batch = 1_u64 << power;
            if batch > rounds.max(1) {
                break;
            }
            let recipe = BanditRecipe {
                plan: self.feedback(batch)?,
                request: self.clone(),
                own: None,
            };
            let bound = recipe.epoch_bound(rounds.div_ceil(batch));
            let bound = bound.unwrap_or(f64::INFINITY);
            if bound < best.0 {
                best = (bound, batch);
            }
        }
        Ok(best.1)
    }
}

impl BanditRecipe {
    /// The mechanism's plan.
    #[must_use]
    pub fn plan(&self) -> &FeedbackPlan {
        &self.plan
    }

    /// The parameters.
    #[must_use]
    pub fn request(&self) -> &BanditRequest {
        &self.request
    }

    /// Rounds for which a play is held.
    #[must_use]
    pub fn batch(&self) -> u64 {
        self.plan.request().batch
    }

    /// The noise on one answer, in units of the range's bound.
    #[must_use]
    pub fn noise_size(&self) -> FeedbackNoiseSize {
        let scale = self.plan.scale() / self.request.range.bound();
        match self.plan.noise() {
            FeedbackNoise::Laplace => FeedbackNoiseSize::Laplace(scale),
            FeedbackNoise::Gaussian => FeedbackNoiseSize::Gaussian(scale),
        }
    }

    /// A bound on the expected regret against losses that do not depend on the plays, for a known
    /// horizon; with restarts, against the best choice of every season. None for a learner of the
    /// caller's own, which has its own bound.
    #[must_use]
    pub fn regret_bound(&self) -> Option<f64> {
        if self.request.participation.is_per_person() || self.own.is_some() {
            return None; // records beyond a limit are not learned
        }
        let items = self.request.rounds?.div_ceil(self.batch());
        match self.season() {
            Some(season) => {
                let seasons = items.div_ceil(season) as f64;
                Some(seasons * self.epoch_bound(season)?)
            }
            None => self.epoch_bound(items),
        }
    }

    /// Items of a season, in whole batches, if it begins anew.
    fn season(&self) -> Option<u64> {
        let restart = self.request.restart?;
        Some((restart / self.batch()).max(1))
    }

    /// The bound for so many items that one learner plays.
    fn epoch_bound(&self, items: u64) -> Option<f64> {
        let noise = self.noise_size();
        let whole = self.batch() as f64 * self.request.range.bound();
        match &self.request.actions {
            Actions::Arms(arms) => {
                let size = self.request.answers(self.batch());
                let rates = Exp2Rates::for_answers(*arms, items, noise, size);
                Some(whole * rates.regret_bound(*arms, items, noise, size))
            }
            Actions::Points(points) => {
                let learner = Exp2Actions::tuned(points.clone(), items, noise).ok()?;
                Some(whole * learner.regret_bound(items, noise))
            }
            Actions::Set(set) => {
                let (rate, reach) = Scrible::stated(set.as_ref(), items, noise).ok()?;
                let learner = Scrible::new(set.as_ref(), rate, reach).ok()?;
                Some(whole * learner.regret_bound(items, noise))
            }
        }
    }

    /// The same with a learner of the caller's own, made afresh for every run. Privacy does not
    /// depend on it: a learner sees only its plays, its coins and noisy answers.
    #[must_use]
    pub fn with_learner(
        mut self,
        make: impl Fn() -> Box<dyn BanditLearner> + Send + Sync + 'static,
    ) -> Self {
        self.own = Some(OwnLearner(Arc::new(make)));
        self
    }

    /// A fresh learner.
    ///
    /// # Errors
    /// Actions that cannot serve it.
    pub fn learner(&self) -> Result<Box<dyn BanditLearner>, RecipeError> {
        if let Some(own) = &self.own {
            return Ok(own.0());
        }
        let (actions, noise) = (self.request.actions.clone(), self.noise_size());
        let size = self.request.answers(self.batch());
        let items = self.request.rounds.map(|t| t.div_ceil(self.batch()));
        epochs(actions, items, self.season(), noise, size)
    }

    /// A fresh learner for exact answers, one per round.
    pub(crate) fn exact_learner(&self) -> Result<Box<dyn BanditLearner>, RecipeError> {
        let (actions, none) = (
            self.request.actions.clone(),
            FeedbackNoiseSize::Laplace(0.0),
        );
        let size = self.request.answers(1);
        let (rounds, restart) = (self.request.rounds, self.request.restart);
        epochs(actions, rounds, restart, none, size)
    }

    /// Everything that makes two runs the same, in one line.
    #[must_use]
    pub fn description(&self) -> String {
        let own = if self.own.is_some() {
            ", own learner"
        } else {
            ""
        };
        as_before(&format!("{:?} with {:?}{own}", self.request, self.plan))
    }
}

/// Makes a learner of the caller's own.
#[derive(Clone)]
struct OwnLearner(Arc<dyn Fn() -> Box<dyn BanditLearner> + Send + Sync>);

impl fmt::Debug for OwnLearner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnLearner")
    }
}

/// One learner for all items, one for every season, or one for every octave.
fn epochs(
    actions: Actions,
    items: Option<u64>,
    season: Option<u64>,
    noise: FeedbackNoiseSize,
    size: AnswerSize,
) -> Result<Box<dyn BanditLearner>, RecipeError> {
    Ok(match (season, items) {
        (Some(season), _) => Box::new(Epochs::seasons(season, move |items| {
            tuned(&actions, items, noise, size)
        })?),
        (None, Some(items)) => tuned(&actions, items, noise, size)?,
        (None, None) => Box::new(Epochs::octaves(move |items| {
            tuned(&actions, items, noise, size)
        })?),
    })
}

fn tuned(
    actions: &Actions,
    items: u64,
    noise: FeedbackNoiseSize,
    size: AnswerSize,
) -> Result<Box<dyn BanditLearner>, LearnError> {
    Ok(match actions {
        Actions::Arms(arms) => {
            let rates = Exp2Rates::for_answers(*arms, items, noise, size);
            Box::new(Exp2::new(*arms, rates)?)
        }
        Actions::Points(points) => Box::new(Exp2Actions::tuned(points.clone(), items, noise)?),
        Actions::Set(set) => {
            let (rate, reach) = Scrible::stated(set.as_ref(), items, noise)?;
            Box::new(Scrible::new(set.as_ref(), rate, reach)?)
        }
    })
}
