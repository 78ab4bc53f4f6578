//! Opens or resumes a run: ledger, key, charge and journal, in an order in which a crash at any
//! moment costs nothing.

use crate::budget;
use crate::data;
use crate::error::{Error, Result, refuse};
use crate::learner::{Learner, Listener, Privacy};
use crate::methods::session::Session;
use crate::methods::{Method, Place, Restart};
use crate::passed::{other_rows, pass_over};
use crate::shared::SharedLedger;
use crate::state::{Card, StateFolder};
use hushstream_account::Price;
use hushstream_mechanism::sums::Opener;
use hushstream_mechanism::{Grant, Ledger, LedgerError, NoStorage, RowChain, RowHasher, Scope};
use hushstream_noise::Key;
use hushstream_read::Reader;
use std::path::Path;
use std::sync::Arc;

/// What is opened: its price, and how it begins or goes on.
pub(crate) trait Opens {
    type Session;

    /// What it takes from a ledger, and whom that protects.
    fn price(&self) -> Result<(Price, Scope)>;
    /// Its planned length, as the card of a state folder has it.
    fn planned(&self) -> u64;
    /// The first tick, as the card has it.
    fn first(&self) -> Option<i64> {
        None
    }
    /// Begins on new storage with a grant, or resumes from a journal without one.
    fn open(&self, place: Place<'_>, grant: Option<Grant>) -> Result<Restart<Self::Session>>;
    /// Records that a session has taken.
    fn taken(session: &Self::Session) -> u64;
}

impl Opens for dyn Method + '_ {
    type Session = Box<dyn Session>;

    fn price(&self) -> Result<(Price, Scope)> {
        Method::price(self)
    }

    fn planned(&self) -> u64 {
        self.records().0
    }

    fn open(&self, place: Place<'_>, grant: Option<Grant>) -> Result<Restart<Self::Session>> {
        Method::open(self, place, grant)
    }

    fn taken(session: &Self::Session) -> u64 {
        session.rounds()
    }
}

/// An open run and its ledger.
pub(crate) struct Opened<S = Box<dyn Session>> {
    pub(crate) session: S,
    pub(crate) ledger: SharedLedger,
    /// The message about a resumed run.
    pub(crate) resumed: Option<String>,
    /// The chain of learned rows, if a journal covers them.
    pub(crate) rows: Option<RowChain>,
    /// Opens what workers have sealed.
    pub(crate) opener: Arc<Opener>,
}

/// The planned number of records of a stored run.
pub(crate) fn stored_rounds(learner: &Learner) -> Result<Option<u64>> {
    let (Some(folder), true) = (&learner.output.state, learner.output.resume) else {
        return Ok(None);
    };
    let stored = Card::read(folder, learner.output.keeper())?.rounds;
    match learner.privacy.rounds {
        Some(rounds) if rounds != stored => refuse!(
            "the run in {} was planned for {stored} records, not for {rounds}: ‹rounds› cannot \
             change",
            folder.display()
        ),
        _ => Ok(Some(stored)),
    }
}

/// Opens or resumes the described run. The reader is then past the learned rows.
pub(crate) fn open<M: Opens + ?Sized>(
    learner: &Learner,
    method: &M,
    reading: &str,
    reader: Option<&mut Reader>,
    listener: &mut dyn Listener,
) -> Result<Opened<M::Session>> {
    let output = &learner.output;
    let every = output.releases.is_some() || output.every;
    match &output.state {
        Some(folder) if output.resume => {
            resume(learner, method, folder, every, reading, reader, listener)
        }
        Some(folder) => begin(learner, method, folder, every, reading, reader, listener),
        None => {
            let (shared, _) = affordable(learner, method, listener)?;
            let mut ledger = shared.lock()?;
            let grant = debit(&mut ledger, method)?;
            // Without a state folder the key is never stored, so its noise is never drawn again.
            let key = new_key(&learner.privacy)?;
            let place = Place::new(&key, &mut ledger, Box::new(NoStorage), every);
            let session = begun(method, grant, place)?;
            drop(ledger);
            let ledger = shared;
            Ok(Opened {
                session,
                ledger,
                resumed: None,
                rows: None,
                opener: Arc::new(Opener::new(&key)),
            })
        }
    }
}

fn begin<M: Opens + ?Sized>(
    learner: &Learner,
    method: &M,
    folder: &Path,
    every: bool,
    reading: &str,
    reader: Option<&mut Reader>,
    listener: &mut dyn Listener,
) -> Result<Opened<M::Session>> {
    let keeper = learner.output.keeper();
    StateFolder::check_new(folder, keeper)?;
    let (shared, next) = affordable(learner, method, listener)?;
    let mut ledger = shared.lock()?;
    let key = new_key(&learner.privacy)?;
    let folder = StateFolder::create(folder, keeper)?;
    folder.begin(
        &key,
        &Card::new(method.planned(), next, reading.to_owned(), learner.fixed())
            .beginning(method.first()),
        learner.output.seal.as_deref(),
    )?;
    let grant = debit(&mut ledger, method)?;
    let rows = reader.map(|reader| {
        let hasher = RowHasher::new(&key);
        reader.digested(hasher.clone());
        RowChain::new(hasher)
    });
    let storage = folder.into_journal(rows.clone());
    let session = begun(method, grant, Place::new(&key, &mut ledger, storage, every))?;
    drop(ledger);
    Ok(Opened {
        session,
        ledger: shared,
        resumed: None,
        rows,
        opener: Arc::new(Opener::new(&key)),
    })
}

fn resume<M: Opens + ?Sized>(
    learner: &Learner,
    method: &M,
    path: &Path,
    every: bool,
    reading: &str,
    reader: Option<&mut Reader>,
    listener: &mut dyn Listener,
) -> Result<Opened<M::Session>> {
    let keeper = learner.output.keeper();
    let card = Card::read(path, keeper)?;
    let mut folder = StateFolder::open(path, keeper)?;
    // First, because the version of a journal explains other differences.
    let covered = folder.rows()?;
    let unchecked = |reading: &str| reading.replace(data::CHECKED, "");
    if unchecked(&card.reading) != unchecked(reading) {
        refuse!(
            "the run in {} reads its rows in another way: format, columns, schema and ‹shuffle› \
             must stay as they were, or rows would be learned twice",
            path.display()
        );
    }
    let key = folder.key(learner.output.seal.as_deref())?;
    let shared = held(learner, method, listener)?;
    let mut ledger = shared.lock()?;
    let hasher = RowHasher::new(&key);
    let mut reader = reader;
    // Rows of a program have no digests: the program continues by their number.
    let rows = reader.as_ref().map(|_| RowChain::new(hasher.clone()));
    if let (Some(reader), Some(rows)) = (&mut reader, &rows) {
        reader.digested(hasher.clone());
        pass_over(reader, &hasher, rows, covered)?;
    }
    let storage = folder.into_journal(rows.clone());
    let restart = method.open(Place::new(&key, &mut ledger, storage, every), None);
    let restart = restart.map_err(|error| {
        let told = other_rows(&error).or_else(|| card.other_flags(path, &learner.fixed()));
        told.map_or(error, Error::refused)
    });
    let (session, told) = match restart? {
        Restart::Run(session, told) => (session, told),
        // A crash before the journal began: use the charge that was made, or make it now.
        Restart::NoRun => {
            let grant = owed(&mut ledger, method, &card)?;
            let storage = StateFolder::open(path, keeper)?.into_journal(rows.clone());
            let session = begun(method, grant, Place::new(&key, &mut ledger, storage, every))?;
            (session, "resumed before its first record".to_owned())
        }
    };
    let learned = M::taken(&session);
    let mut told = told;
    if let (Some(reader), Some(rows)) = (reader, &rows) {
        // The rows of batches that an old copy has lost are unknown.
        let known = rows.count();
        if known > learned {
            refuse!(
                "the journal covers {known} rows, and its run has learned {learned}: this program \
                 did not write it"
            );
        }
        pass_over(reader, &hasher, rows, learned)?;
        if learned > known {
            let lost = learned - known;
            told = format!(
                "{told}; whether {lost} of the rows that were learned are still the same cannot be \
                 checked"
            );
        }
    }
    drop(ledger);
    Ok(Opened {
        session,
        ledger: shared,
        resumed: Some(told),
        rows,
        opener: Arc::new(Opener::new(&key)),
    })
}

/// Begins a run with this grant.
fn begun<M: Opens + ?Sized>(method: &M, grant: Grant, place: Place<'_>) -> Result<M::Session> {
    match method.open(place, Some(grant))? {
        Restart::Run(session, _) => Ok(session),
        Restart::NoRun => refuse!("a run that was opened is not there"),
    }
}

/// The charge that the card names: reclaimed if it was made, otherwise made now.
fn owed<M: Opens + ?Sized>(ledger: &mut Ledger, method: &M, card: &Card) -> Result<Grant> {
    if ledger.next_number() == card.charge {
        return debit(ledger, method);
    }
    match ledger.grant_again(card.charge) {
        Ok(grant) => Ok(grant),
        Err(LedgerError::Begun(_) | LedgerError::Unknown(_) | LedgerError::Elsewhere(_)) => {
            refuse!(
                "this run stopped before it began, and charge number {} of the ledger is not its own: \
             remove the state folder and begin again",
                card.charge
            )
        }
        Err(error) => Err(error.into()),
    }
}

/// The ledger: the one that the program holds, or a file.
fn held<M: Opens + ?Sized>(
    learner: &Learner,
    method: &M,
    listener: &mut dyn Listener,
) -> Result<SharedLedger> {
    if let Some(shared) = &learner.privacy.shared {
        return Ok(shared.clone());
    }
    let (charge, scope) = method.price()?;
    let ledger = budget::open(learner, charge, scope, listener)?;
    Ok(SharedLedger::new(ledger))
}

/// The ledger, if it has room for the run, and the number of the next charge.
fn affordable<M: Opens + ?Sized>(
    learner: &Learner,
    method: &M,
    listener: &mut dyn Listener,
) -> Result<(SharedLedger, u64)> {
    let (charge, scope) = method.price()?;
    let shared = held(learner, method, listener)?;
    let ledger = shared.look();
    ledger
        .allows(charge, scope)
        .map_err(|error| budget::refusal(&ledger, charge, error))?;
    let next = ledger.next_number();
    drop(ledger);
    Ok((shared, next))
}

fn debit<M: Opens + ?Sized>(ledger: &mut Ledger, method: &M) -> Result<Grant> {
    let (charge, scope) = method.price()?;
    ledger
        .debit(charge, scope)
        .map_err(|error| budget::refusal(ledger, charge, error))
}

fn new_key(privacy: &Privacy) -> Result<Key> {
    Ok(match privacy.seed_insecure {
        Some(seed) => Key::insecure_from_seed(seed),
        None => Key::from_os()?,
    })
}
