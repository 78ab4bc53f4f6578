//! One interface for every kind of run, and where its budget and its secrets are kept.

use super::arguments::{Arguments, Privacy};
use super::files::write_secret;
use anyhow::{Context, Result, bail};
use hushstream_account::{Budget, Charge, FilterKind, Guarantee, Spent};
use hushstream_engine::{Recipe, Run};
use hushstream_mechanism::losses::Record;
use hushstream_mechanism::sums::Resumed;
use hushstream_mechanism::{
    FileStorage, GuaranteeKind, Ledger, LedgerError, MemoryStorage, OperatorOnly, Raw, Scope,
    Transcript, Windowed,
};
use hushstream_noise::Key;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// A released model.
pub(crate) struct Release {
    pub(crate) step: u64,
    pub(crate) weights: Vec<f64>,
}

/// A run of any guarantee.
pub(crate) trait Session {
    fn question(&self) -> &[f64];
    fn learn(&mut self, person: Option<u64>, record: Raw<Record>) -> Result<()>;
    fn sync(&mut self, ledger: &mut Ledger) -> Result<Vec<Release>>;
    /// Makes everything durable and gives the last model, with its number.
    fn settled(&mut self, ledger: &mut Ledger) -> Result<(u64, Vec<f64>)>;
    /// Whether the next record makes the journal forget releases.
    fn checkpoint_is_due(&self) -> bool;
    fn rounds(&self) -> u64;
    fn guarantee(&self) -> Result<Guarantee>;
    fn counts(&self) -> (OperatorOnly<u64>, OperatorOnly<u64>);
}

impl<G: GuaranteeKind> Session for Run<G> {
    fn question(&self) -> &[f64] {
        Run::question(self)
    }

    fn learn(&mut self, person: Option<u64>, record: Raw<Record>) -> Result<()> {
        Ok(Run::learn(self, person, record)?)
    }

    fn sync(&mut self, ledger: &mut Ledger) -> Result<Vec<Release>> {
        let released = Run::sync(self, ledger)?;
        let release = |iterate: hushstream_mechanism::Released<Vec<f64>, G>| Release {
            step: iterate.receipt().step,
            weights: iterate.into_value(),
        };
        Ok(released.into_iter().map(release).collect())
    }

    fn settled(&mut self, ledger: &mut Ledger) -> Result<(u64, Vec<f64>)> {
        Ok(Run::settled(self, ledger)?)
    }

    fn checkpoint_is_due(&self) -> bool {
        Run::checkpoint_is_due(self)
    }

    fn rounds(&self) -> u64 {
        Run::rounds(self)
    }

    fn guarantee(&self) -> Result<Guarantee> {
        Ok(Run::guarantee(self)?)
    }

    fn counts(&self) -> (OperatorOnly<u64>, OperatorOnly<u64>) {
        Run::counts(self)
    }
}

/// What a state folder says about its run; the rest is in the journal and the key beside it.
#[derive(Serialize, Deserialize)]
struct Card {
    format: String,
    version: u32,
    rounds: u64,
    /// The number that the run's charge has in its ledger.
    charge: u64,
}

const FORMAT: &str = "hushstream state";

/// The rounds that a stored run was planned for.
pub(crate) fn stored_rounds(arguments: &Arguments) -> Result<Option<u64>> {
    match &arguments.output.state {
        Some(folder) if arguments.output.resume => Ok(Some(card(folder)?.rounds)),
        _ => Ok(None),
    }
}

fn card(folder: &Path) -> Result<Card> {
    let path = folder.join("run.json");
    let text = fs::read(&path)
        .with_context(|| format!("no run to resume: cannot read {}", path.display()))?;
    let card: Card = serde_json::from_slice(&text)
        .with_context(|| format!("{} is not the card of a state folder", path.display()))?;
    if card.format != FORMAT || card.version != 1 {
        bail!("{} was written by another version", path.display());
    }
    Ok(card)
}

/// An open run, its ledger, and what came before it.
pub(crate) struct Opened {
    pub(crate) session: Box<dyn Session>,
    pub(crate) ledger: Ledger,
    /// Charges of this ledger besides the run's own.
    pub(crate) earlier: usize,
    /// What to tell about how a run came back.
    pub(crate) resumed: Option<String>,
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
    let charge = recipe.plan().charge()?;
    let scope = recipe.plan().scope();
    let mut ledger = ledger(arguments, charge, scope)?;
    let resumed = arguments.output.resume;
    let folder = arguments.output.state.as_deref();
    let (key, number) = match (folder, resumed) {
        (Some(folder), true) => {
            let bytes = fs::read(folder.join("key"))
                .with_context(|| format!("cannot read the key in {}", folder.display()))?;
            (Key::import(&bytes)?, Some(card(folder)?.charge))
        }
        (Some(folder), false) => {
            let key = new_key(&arguments.privacy)?;
            prepare(
                folder,
                &key,
                recipe.request().rounds,
                ledger.charges().count() as u64 + 1,
            )?;
            (key, None)
        }
        (None, _) => (new_key(&arguments.privacy)?, None),
    };
    let earlier = ledger
        .charges()
        .filter(|(other, _)| Some(*other) != number)
        .count();
    let journal = folder.map(|folder| folder.join("journal"));
    // A crash before the first sync of the journal leaves none, or an empty one: then the run opens as if for the first time.
    let begun = journal
        .as_ref()
        .is_some_and(|path| fs::metadata(path).is_ok_and(|file| file.len() > 0));
    if let (Some(journal), true, true) = (&journal, resumed, begun) {
        let storage = FileStorage::open(journal)
            .with_context(|| format!("cannot open {}", journal.display()))?;
        match Run::<G>::resume(recipe.clone(), storage, &key, &mut ledger, None) {
            Ok((run, outcome)) => {
                let resumed = match outcome {
                    Resumed::Continued => format!(
                        "resumed after {} records, as if it had never stopped",
                        run.rounds()
                    ),
                    Resumed::NewInstance { lost } => format!(
                        "resumed from an old copy: {lost} batches that were learned after it are lost and are not learned again"
                    ),
                };
                return Ok(Opened {
                    session: Box::new(run),
                    ledger,
                    earlier,
                    resumed: Some(resumed),
                });
            }
            Err(error) => return Err(error.into()),
        }
    }
    let grant = match number {
        Some(number) if ledger.charges().any(|(known, _)| known == number) => {
            ledger.grant_again(number)?
        }
        _ => debit(&mut ledger, charge, scope)?,
    };
    let session: Box<dyn Session> = match journal {
        Some(journal) => {
            let storage = FileStorage::open(&journal)
                .with_context(|| format!("cannot open {}", journal.display()))?;
            Box::new(Run::<G>::open(
                recipe.clone(),
                grant,
                &key,
                &mut ledger,
                storage,
            )?)
        }
        // Without a state folder the key is never stored, so no noise can ever be drawn again.
        None => Box::new(Run::<G>::open(
            recipe.clone(),
            grant,
            &key,
            &mut ledger,
            MemoryStorage::default(),
        )?),
    };
    let resumed = resumed.then(|| "resumed before its first record".to_owned());
    Ok(Opened {
        session,
        ledger,
        earlier,
        resumed,
    })
}

fn new_key(privacy: &Privacy) -> Result<Key> {
    Ok(match privacy.seed_insecure {
        Some(seed) => Key::insecure_from_seed(seed),
        None => Key::from_os()?,
    })
}

/// Everything a resume needs is durable before anything is spent.
fn prepare(folder: &Path, key: &Key, rounds: u64, charge: u64) -> Result<()> {
    if folder.join("run.json").exists() {
        bail!(
            "{} holds a run already: add --resume to go on with it, or name another folder",
            folder.display()
        );
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    #[cfg(unix)]
    fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    let stale = folder.join("key");
    if stale.exists() {
        // A crash between the two files: nothing has been drawn with this key.
        fs::remove_file(&stale)?;
    }
    write_secret(&stale, key.export().as_slice())?;
    let card = Card {
        format: FORMAT.to_owned(),
        version: 1,
        rounds,
        charge,
    };
    write_secret(&folder.join("run.json"), &serde_json::to_vec_pretty(&card)?)?;
    fs::File::open(folder)?.sync_all()?;
    Ok(())
}

/// The ledger's file: what was named, or beside the data.
fn ledger_path(arguments: &Arguments) -> Result<PathBuf> {
    match &arguments.privacy.ledger {
        Some(path) => Ok(path.clone()),
        None if arguments.data.file == "-" => bail!(
            "name the ledger of this stream with --ledger FILE: it keeps the budget over all runs on the same data"
        ),
        None => Ok(format!("{}.ledger", arguments.data.file).into()),
    }
}

fn ledger(arguments: &Arguments, charge: Charge, scope: Scope) -> Result<Ledger> {
    let privacy = &arguments.privacy;
    let kind = match charge {
        Charge::Gaussian(_) => FilterKind::Gaussian,
        _ if privacy.delta > 0.0 => FilterKind::Zcdp,
        _ => FilterKind::Pure,
    };
    let wished = total(privacy)?;
    let own = Budget::approx(privacy.epsilon, privacy.delta)?;
    if privacy.seed_insecure.is_some()
        && privacy.ledger.is_none()
        && arguments.output.state.is_none()
    {
        return Ok(Ledger::simulated(wished.unwrap_or(own), kind, scope)?);
    }
    let path = ledger_path(arguments)?;
    let said = || format!("cannot use the ledger {}", path.display());
    let is_new = !fs::metadata(&path).is_ok_and(|file| file.len() > 0);
    let storage = FileStorage::open(&path).with_context(said)?;
    if is_new {
        return Ledger::create(storage, wished.unwrap_or(own), kind, scope).with_context(said);
    }
    let mut ledger = Ledger::open(storage).with_context(said)?;
    if let Some(wished) = wished {
        let present = ledger.budget();
        let differs = wished.epsilon() > present.epsilon() || wished.delta() > present.delta();
        if differs {
            ledger.widen(wished).with_context(said)?;
        }
    }
    Ok(ledger)
}

fn total(privacy: &Privacy) -> Result<Option<Budget>> {
    if privacy.total_epsilon.is_none() && privacy.total_delta.is_none() {
        return Ok(None);
    }
    let epsilon = privacy.total_epsilon.unwrap_or(privacy.epsilon);
    let delta = privacy.total_delta.unwrap_or(privacy.delta);
    Ok(Some(Budget::approx(epsilon, delta)?))
}

fn debit(ledger: &mut Ledger, charge: Charge, scope: Scope) -> Result<hushstream_mechanism::Grant> {
    let budget = ledger.budget();
    let runs = ledger.charges().count();
    ledger.debit(charge, scope).map_err(|error| match error {
        LedgerError::Refused(refused) => anyhow::anyhow!(
            "the budget of this data, (ε, δ) = ({}, {}), does not allow this run after {runs} others: {refused}. Raising it is a decision about people: --total-epsilon, --total-delta",
            budget.epsilon(),
            budget.delta()
        ),
        other => other.into(),
    })
}

/// ε of everything in the ledger at the budget's δ.
pub(crate) fn together(ledger: &Ledger) -> Result<(f64, f64)> {
    let mut spent = Spent::new();
    for (_, charge) in ledger.charges() {
        spent.add(&charge)?;
    }
    let delta = ledger.budget().delta();
    Ok((spent.epsilon_at(delta)?, delta))
}
