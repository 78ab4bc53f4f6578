//! How a run begins, or goes on: ledger, key, charge and journal, in an order in which a crash at any moment costs nothing.

use super::arguments::{Arguments, Privacy};
use super::budget;
use super::session::Session;
use super::state::{Card, StateFolder};
use anyhow::{Result, bail};
use hushstream_engine::{Recipe, Run, RunError};
use hushstream_mechanism::sums::{Resumed, SumError};
use hushstream_mechanism::{
    Grant, GuaranteeKind, Ledger, LedgerError, NoStorage, Transcript, Windowed,
};
use hushstream_noise::Key;
use std::path::Path;

/// An open run and its ledger.
pub(crate) struct Opened {
    pub(crate) session: Box<dyn Session>,
    pub(crate) ledger: Ledger,
    /// What to tell about how a run came back.
    pub(crate) resumed: Option<String>,
}

/// The records that a stored run was planned for.
pub(crate) fn stored_rounds(arguments: &Arguments) -> Result<Option<u64>> {
    let (Some(folder), true) = (&arguments.output.state, arguments.output.resume) else {
        return Ok(None);
    };
    let stored = Card::read(folder)?.rounds;
    match arguments.privacy.rounds {
        Some(rounds) if rounds != stored => bail!(
            "the run in {} was planned for {stored} records, not for {rounds}: --rounds cannot change",
            folder.display()
        ),
        _ => Ok(Some(stored)),
    }
}

/// Opens or resumes the run that the flags ask for.
pub(crate) fn open(arguments: &Arguments, recipe: &Recipe) -> Result<Opened> {
    if recipe.plan().request().kind.is_windowed() {
        open_as::<Windowed>(arguments, recipe)
    } else {
        open_as::<Transcript>(arguments, recipe)
    }
}

fn open_as<G: GuaranteeKind>(arguments: &Arguments, recipe: &Recipe) -> Result<Opened> {
    let output = &arguments.output;
    match &output.state {
        Some(folder) if output.resume => resume::<G>(arguments, recipe, folder),
        Some(folder) => begin::<G>(arguments, recipe, folder),
        None => {
            let (mut ledger, _) = affordable(arguments, recipe)?;
            let grant = debit(&mut ledger, recipe)?;
            // Without a state folder the key is never stored, so no noise can ever be drawn again.
            let key = new_key(&arguments.privacy)?;
            let storage = NoStorage;
            let run = Run::<G>::open(recipe.clone(), grant, &key, &mut ledger, storage)?;
            Ok(opened(arguments, run, ledger, None))
        }
    }
}

fn opened<G: GuaranteeKind>(
    arguments: &Arguments,
    mut run: Run<G>,
    ledger: Ledger,
    resumed: Option<String>,
) -> Opened {
    if arguments.output.releases.is_none() {
        run.keep_only_the_last();
    }
    Opened {
        session: Box::new(run),
        ledger,
        resumed,
    }
}

fn begin<G: GuaranteeKind>(
    arguments: &Arguments,
    recipe: &Recipe,
    folder: &Path,
) -> Result<Opened> {
    StateFolder::check_new(folder)?;
    let (mut ledger, next) = affordable(arguments, recipe)?;
    let key = new_key(&arguments.privacy)?;
    let folder = StateFolder::create(folder)?;
    folder.begin(&key, &Card::new(recipe.request().rounds, next))?;
    let grant = debit(&mut ledger, recipe)?;
    let storage = folder.into_journal();
    let run = Run::<G>::open(recipe.clone(), grant, &key, &mut ledger, storage)?;
    Ok(opened(arguments, run, ledger, None))
}

fn resume<G: GuaranteeKind>(arguments: &Arguments, recipe: &Recipe, path: &Path) -> Result<Opened> {
    let card = Card::read(path)?;
    let folder = StateFolder::open(path)?;
    let key = folder.key()?;
    let mut ledger = budget::open(arguments, recipe.plan().charge()?, recipe.plan().scope())?;
    let storage = folder.into_journal();
    let (run, told) = match Run::<G>::resume(recipe.clone(), storage, &key, &mut ledger, None) {
        Ok((run, Resumed::Continued)) => {
            let told = format!(
                "resumed after {} records, as if it had never stopped",
                run.rounds()
            );
            (run, told)
        }
        Ok((run, Resumed::NewInstance { lost })) => (
            run,
            format!(
                "resumed from an old copy: {lost} batches that were learned after it are lost and are not learned again"
            ),
        ),
        // A crash before the journal was begun: with the charge that was made then, or that was about to be.
        Err(RunError::Sum(SumError::NoRun)) => {
            let grant = owed(&mut ledger, recipe, &card)?;
            let storage = StateFolder::open(path)?.into_journal();
            let run = Run::<G>::open(recipe.clone(), grant, &key, &mut ledger, storage)?;
            (run, "resumed before its first record".to_owned())
        }
        Err(error) => return Err(error.into()),
    };
    Ok(opened(arguments, run, ledger, Some(told)))
}

/// The charge that the card names: again if it was made, otherwise now.
fn owed(ledger: &mut Ledger, recipe: &Recipe, card: &Card) -> Result<Grant> {
    let made = ledger.charges().count() as u64;
    if made + 1 == card.charge {
        return debit(ledger, recipe);
    }
    match ledger.grant_again(card.charge) {
        Ok(grant) => Ok(grant),
        Err(LedgerError::Begun(_) | LedgerError::Unknown(_)) => bail!(
            "this run stopped before it began, and charge number {} of the ledger is not its own: remove the state folder and begin again",
            card.charge
        ),
        Err(error) => Err(error.into()),
    }
}

/// The ledger, if it has room for the run, and the number that the charge will have.
fn affordable(arguments: &Arguments, recipe: &Recipe) -> Result<(Ledger, u64)> {
    let charge = recipe.plan().charge()?;
    let ledger = budget::open(arguments, charge, recipe.plan().scope())?;
    ledger
        .allows(&charge, recipe.plan().scope())
        .map_err(|error| budget::refusal(&ledger, charge, error))?;
    let next = ledger.charges().count() as u64 + 1;
    Ok((ledger, next))
}

fn debit(ledger: &mut Ledger, recipe: &Recipe) -> Result<Grant> {
    let charge = recipe.plan().charge()?;
    ledger
        .debit(charge, recipe.plan().scope())
        .map_err(|error| budget::refusal(ledger, charge, error))
}

fn new_key(privacy: &Privacy) -> Result<Key> {
    Ok(match privacy.seed_insecure {
        Some(seed) => Key::insecure_from_seed(seed),
        None => Key::from_os()?,
    })
}
