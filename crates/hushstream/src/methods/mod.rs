//! One interface for every kind of recipe: its charge, its start and its description.

mod bandits;
mod cover;
mod decisions;
mod experts;
mod iterates;
mod limited_updates;
mod linear;
mod problem;
pub(crate) mod session;
mod sparse;
mod tables;
mod values;

use crate::data;
use crate::error::{Result, refuse};
use crate::learner::Learner;
use crate::outcome::Parameters;
pub(crate) use decisions::outcomes;
use hushstream_account::Price;
use hushstream_mechanism::{CameBack, DiaryError, Grant, Ledger, Scope, Storage, TableMap};
use hushstream_noise::Key;
use hushstream_read::Layout;
use hushstream_recipes::{MechanismKind, Player, RecipeName, Run, Situation, Task, Wishes};
use session::{Baseline, Session};

/// Number of features from which a sparse learner pays off.
const MANY: usize = 1 << 13;

/// A fully calibrated recipe, before any data.
pub(crate) trait Method: Send {
    fn recipe(&self) -> RecipeName;
    /// What it takes from a ledger, and whom that protects.
    fn price(&self) -> Result<(Price, Scope)>;
    /// Records that it was asked for, and the most that it can take.
    fn records(&self) -> (u64, u64);
    fn parameters(&self) -> Parameters;
    /// Describes the recipe in a sentence, before the start.
    fn headline(&self) -> String;
    /// Begins on new storage with a grant, or resumes from a journal without one.
    fn open(&self, place: Place<'_>, grant: Option<Grant>) -> Result<Restart>;
    /// The same learner without privacy, where there is one.
    fn shadow(&self) -> Result<Option<Box<dyn Baseline>>> {
        Ok(None)
    }
    /// How often records are read, and how many in a pass.
    fn passes(&self) -> (u64, u64) {
        (1, u64::MAX)
    }
    /// The map of curves and tables, if the recipe learns from coded records.
    fn tables(&self) -> Option<&TableMap> {
        None
    }
    /// Noise against signal, where both are lengths.
    fn picture(&self) -> Option<String> {
        None
    }
}

/// The storage and settings of a run.
pub(crate) struct Place<'a> {
    pub(crate) key: &'a Key,
    pub(crate) ledger: &'a mut Ledger,
    pub(crate) storage: Box<dyn Storage>,
    every: bool,
}

impl<'a> Place<'a> {
    /// `every`: keep all releases instead of the last one.
    pub(crate) fn new(
        key: &'a Key,
        ledger: &'a mut Ledger,
        storage: Box<dyn Storage>,
        every: bool,
    ) -> Self {
        Self {
            key,
            ledger,
            storage,
            every,
        }
    }
}

/// An open run with a message about it, or `NoRun` if none had begun.
pub(crate) enum Restart<S = Box<dyn Session>> {
    Run(S, String),
    NoRun,
}

impl Place<'_> {
    /// Opens or resumes a run. `keeps`: a new instance continues from the known releases.
    fn open<P: Player>(
        self,
        recipe: P::Recipe,
        grant: Option<Grant>,
        keeps: bool,
        session: impl FnOnce(Run<P>) -> Result<Box<dyn Session>>,
    ) -> Result<Restart> {
        let (run, outcome) = match grant {
            Some(grant) => {
                let run = Run::open(recipe, grant, self.key, self.ledger, self.storage)?;
                (run, CameBack::Continued)
            }
            None => match Run::resume(recipe, self.storage, self.key, self.ledger, None) {
                Ok(back) => back,
                Err(error) if matches!(error.diary(), Some(DiaryError::NoRun)) => {
                    return Ok(Restart::NoRun);
                }
                Err(error) => return Err(error.into()),
            },
        };
        let told = match outcome {
            CameBack::Continued => format!(
                "resumed after {} records, as if it had never stopped",
                run.rounds()
            ),
            CameBack::NewInstance { lost } if keeps => format!(
                "resumed from an old copy: {lost} batches that were learned after it are lost and \
                 are not learned again"
            ),
            CameBack::NewInstance { lost } => format!(
                "resumed from an old copy: it begins anew, and {lost} batches that were learned \
                 after the copy are not learned again"
            ),
        };
        Ok(Restart::Run(session(run)?, told))
    }
}

/// The named recipe, or the best one from public numbers.
pub(crate) fn choose(
    learner: &Learner,
    layout: &Layout,
    situation: &Situation,
) -> Result<Box<dyn Method>> {
    let method = find(learner, layout, situation)?;
    if situation.horizon_unknown && method.records().1 <= situation.rounds {
        refuse!(
            "{} needs a known horizon: state ‹rounds› in place of ‹horizon unknown›, or leave the \
             choice of recipe and sum open",
            method.headline()
        );
    }
    if learner.output.thresholded && method.recipe().entry().mechanism != MechanismKind::SparseTree
    {
        refuse!(
            "‹thresholded› is for the millions of weights of sparse-ftrl, and this is {}: leave it \
             out",
            method.recipe()
        );
    }
    Ok(method)
}

/// Refuses restarts that nobody would make: a stream that drifts must not be learned as one that
/// does not, in silence.
fn check_restarts(wishes: &Wishes, task: Task) -> Result<()> {
    let restart = wishes.restart;
    match wishes.recipe {
        Some(recipe) => Ok(Wishes {
            restart,
            ..Wishes::default()
        }
        .check(recipe)?),
        None if restart.is_none() => Ok(()),
        None if matches!(task, Task::Experts(..) | Task::Bandit(..)) => Ok(()),
        None => {
            refuse!("‹restart-every› is for experts, bandits and the recipe cover: leave it out")
        }
    }
}

fn find(learner: &Learner, layout: &Layout, situation: &Situation) -> Result<Box<dyn Method>> {
    if learner.data.passes.is_some_and(|passes| passes == 0) {
        refuse!("passes = 0 is not allowed; allowed: 1 or more");
    }
    let wishes = learner.wishes.clone();
    let kind = wishes.recipe.map(|recipe| recipe.entry().mechanism);
    check_restarts(&wishes, situation.task)?;
    // Each model of a sparse learner would be all features long, so it makes only the last.
    let every = learner.output.releases.is_some() || learner.output.every;
    let thresholded = learner.output.thresholded;
    let per_person = learner.privacy.max_per_person.is_some();
    let schema = &learner.data.schema;
    let is_tables = wishes.recipe == Some(RecipeName::Tables);
    let is_open = wishes.recipe.is_none();
    let at_rest = data::is_at_rest(&learner.data);
    let repeats = learner.data.passes.is_some_and(|passes| passes > 1);
    if repeats && !at_rest {
        refuse!("several passes are for files, which can be read again: leave out ‹passes›");
    }
    if is_tables || is_open && tables::suits(schema, layout, situation, &wishes) {
        let passes = (at_rest, learner.data.passes);
        return tables::choose(schema, layout, situation, &wishes, passes);
    }
    if repeats {
        refuse!(
            "several passes are for the recipe tables: leave out ‹passes›, or add ‹recipe tables›"
        );
    }
    if situation.task == Task::Decide {
        return decisions::choose(learner, layout, situation);
    }
    match (kind, situation.task) {
        (_, Task::Bandit(..)) => {
            let reading = data::feedback(&learner.data, layout)?;
            return bandits::choose(situation, &wishes, layout, reading);
        }
        (Some(MechanismKind::Feedback), _) => refuse!(
            "{} plays arms: ‹task bandit›",
            wishes.recipe.map_or("", |recipe| recipe.entry().name)
        ),
        (Some(MechanismKind::Sum(_)), _) if wishes.recipe.is_some_and(RecipeName::decides) => {
            refuse!("it decides by a context: ‹task decide›")
        }
        (Some(MechanismKind::Sum(_)), _) => {}
        (Some(MechanismKind::Iterate), _) => return iterates::choose(situation, &wishes),
        (Some(MechanismKind::SparseTree), _) => {
            if every {
                refuse!("sparse-ftrl publishes its last model only: leave out ‹releases›");
            }
            return sparse::choose(situation, &wishes, thresholded, Vec::new());
        }
        (Some(MechanismKind::Selection | MechanismKind::Batch), Task::Experts(low, high)) => {
            return experts::choose(situation, &wishes, (low, high));
        }
        (Some(MechanismKind::Batch), Task::Sign | Task::Number(..)) => {
            return limited_updates::choose(situation, &wishes);
        }
        (Some(MechanismKind::Values(_)), Task::Sign | Task::Number(..)) => {
            return values::choose(situation, &wishes);
        }
        (Some(MechanismKind::Selection), Task::Sign | Task::Number(..))
            if wishes.recipe.is_some_and(RecipeName::plays_on_points) =>
        {
            return cover::choose(situation, &wishes);
        }
        (Some(other), _) => refuse!(
            "{} ({other}) does not learn from a table of records with `learn`; see `hushstream \
             recipes`",
            wishes.recipe.map_or("", |recipe| recipe.entry().name)
        ),
        // Only a sum was stated.
        (None, Task::Experts(low, high)) if wishes.sum.is_none() && !per_person => {
            return experts::choose(situation, &wishes, (low, high));
        }
        (None, Task::Sign | Task::Number(..))
            if layout.is_sparse()
                && layout.dimension() > MANY
                && !every
                && situation.suits_sparse(&wishes) =>
        {
            let reason = format!(
                "sparse-ftrl, because records have few of {} features",
                layout.dimension()
            );
            return sparse::choose(situation, &wishes, thresholded, vec![reason]);
        }
        (None, _) => {}
    }
    let mut choice = situation.choose(&wishes)?;
    if kind.is_none() && layout.is_sparse() && layout.dimension() > MANY {
        choice.reasons.insert(
            0,
            "not sparse-ftrl, which is made for so many features: it predicts two classes or a \
             number, publishes its last model alone (not every release), protects records, and has its \
             own sum, batches of one, delta > 0 and a known horizon"
                .to_owned(),
        );
    }
    Ok(Box::new(choice))
}
