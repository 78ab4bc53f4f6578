//! Ledgers as files: opened, shown, raised, merged, closed and moved.

use crate::budget::{self, Least, pair, rounded_up, witness};
use crate::error::{Context, Result, refuse};
use crate::files::{sync_folder, write_whole_secret};
use hushstream_account::{Budget, Charge, FilterKind, Price};
use hushstream_mechanism::{FileStorage, Ledger, LedgerError, MemoryStorage, Storage};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// What a ledger says: its promise, what is used of it, and its runs. `--json` prints it.
#[derive(Debug, Serialize)]
pub struct Statement {
    /// The name of the ledger.
    pub name: String,
    /// ε over all runs.
    pub epsilon: f64,
    /// δ over all runs.
    pub delta: f64,
    /// What charges are added up in.
    pub currency: &'static str,
    /// The fraction of ε that is used.
    pub used: f64,
    /// The δ that is set aside.
    pub reserved_delta: f64,
    /// The δ that is used.
    pub used_delta: f64,
    /// The neighbouring relation.
    pub adjacency: String,
    /// Whether persons are protected, and not records.
    pub per_person: bool,
    /// Whether protection ends with a window.
    pub windowed: bool,
    /// Whether the budget was raised.
    pub raised: bool,
    /// Whether the part that is set aside was changed.
    pub resplit: bool,
    /// Whether no run can be charged any more.
    pub closed: bool,
    /// The ledger that took over its charges.
    pub merged_into: Option<String>,
    /// Whether a witness stands beside it.
    pub witnessed: bool,
    /// Its runs.
    pub runs: Vec<Charged>,
}

/// One run on a ledger.
#[derive(Debug, Serialize)]
pub struct Charged {
    /// The number of its charge.
    pub number: u64,
    /// ε of the run.
    pub epsilon: f64,
    /// δ of the run.
    pub delta: f64,
    /// The kind of noise.
    pub kind: &'static str,
    /// Whether it has begun.
    pub begun: bool,
    /// Whether its charge came from another ledger.
    pub merged: bool,
    /// Whether its noise protects nobody.
    pub simulated: bool,
}

impl Statement {
    /// What this ledger says.
    #[must_use]
    pub fn of(ledger: &Ledger) -> Self {
        let (filter, scope) = (ledger.filter(), ledger.scope());
        let (epsilon, delta) = filter.promise();
        let run = |(number, price): (u64, Price)| {
            let (epsilon, delta) = fixed(ledger, &price);
            Charged {
                number,
                epsilon,
                delta,
                kind: kind(price.charge),
                begun: ledger.has_begun(number),
                merged: ledger.is_merged(number),
                simulated: ledger.is_simulated() || ledger.is_unprotected(number),
            }
        };
        Self {
            name: ledger.name_in_words(),
            epsilon,
            delta,
            currency: match filter.kind() {
                FilterKind::Gaussian => "gaussian",
                FilterKind::Zcdp => "zcdp",
                FilterKind::Pure => "pure",
                FilterKind::Approximate => "approximate",
            },
            used: filter.used(),
            reserved_delta: filter.room(),
            used_delta: filter.used_delta(),
            adjacency: scope.adjacency.to_string(),
            per_person: scope.per_person,
            windowed: scope.windowed,
            raised: ledger.is_raised(),
            resplit: ledger.is_widened() && !ledger.is_raised(),
            closed: ledger.closed().is_some(),
            merged_into: ledger.closed().flatten().map(|into| into.to_string()),
            witnessed: !ledger.was_unwitnessed(),
            runs: ledger.charges().map(run).collect(),
        }
    }
}

/// The (ε, δ) that a run was fixed at. Ledgers of earlier versions lack it; then ε at the ledger's
/// δ.
fn fixed(ledger: &Ledger, price: &Price) -> (f64, f64) {
    if let Some(fixed) = price.fixed {
        return (fixed.epsilon(), fixed.delta());
    }
    let bound = ledger.budget().delta();
    let at = |epsilon: Result<f64, _>| epsilon.map_or(f64::NAN, rounded_up);
    match price.charge {
        Charge::Gaussian(mu) => (at(mu.epsilon_at(bound)), bound),
        Charge::Zcdp(rho) => (at(rho.epsilon_at(bound)), bound),
        charge => (charge.epsilon().unwrap_or(f64::NAN), charge.delta()),
    }
}

fn kind(charge: Charge) -> &'static str {
    match charge {
        Charge::Gaussian(_) => "Gaussian noise",
        Charge::Pure(_) | Charge::RoundedLaplace(_) => "pure",
        Charge::Zcdp(_) => "zCDP",
        Charge::BoundedRange(_) => "selection",
        _ => "selection or composition",
    }
}

/// Opens a ledger to change it.
///
/// # Errors
/// No ledger there; a ledger that is damaged or in use.
pub fn open(path: &Path) -> Result<Ledger> {
    let said = || format!("cannot use the ledger {}", path.display());
    // `FileStorage::open` would create a missing file.
    if !path.is_file() {
        refuse!("there is no ledger {}", path.display());
    }
    Ledger::open(FileStorage::open(path).with_context(said)?).with_context(said)
}

/// Reads a ledger. It changes nothing and waits for no run.
///
/// # Errors
/// No ledger there; a ledger that is damaged.
pub fn read(path: &Path) -> Result<Ledger> {
    let said = || format!("cannot use the ledger {}", path.display());
    Ledger::open(Snapshot::of(path)?).with_context(said)
}

/// Raises the budget, and sets aside this fraction of δ if the charges so far leave room for it.
///
/// # Errors
/// A smaller budget; a fraction out of range; a disk that fails.
pub fn raise(
    path: &Path,
    total_epsilon: Option<f64>,
    total_delta: Option<f64>,
    reserve: f64,
) -> Result<Ledger> {
    if !(0.0..1.0).contains(&reserve) {
        refuse!("‹reserve› is a part of δ, from 0 to below 1");
    }
    let mut ledger = open(path)?;
    let present = ledger.budget();
    let budget = Budget::approx(
        total_epsilon.unwrap_or(present.epsilon()),
        total_delta.unwrap_or(present.delta()),
    )?;
    budget::raise(&mut ledger, budget, reserve, None)
        .with_context(|| format!("cannot raise the budget of {}", path.display()))?;
    Ok(ledger)
}

/// Adds the charges of another ledger about the same people, and closes that one; gives the ledger
/// and the number of charges.
///
/// # Errors
/// Charges that do not fit, and what would hold both; a disk that fails.
pub fn merge(path: &Path, from: &Path) -> Result<(Ledger, usize)> {
    if from.canonicalize().ok() == path.canonicalize().ok() && path.exists() {
        refuse!("both are the same ledger: there is nothing to merge");
    }
    let (mut ledger, mut other) = (open(path)?, open(from)?);
    let runs = other.charges().count();
    match ledger.merge(&mut other) {
        Ok(()) => Ok((ledger, runs)),
        Err(LedgerError::Refused(refused)) => {
            let both = ledger.charges().chain(other.charges());
            let both: Vec<Price> = both.map(|(_, price)| price).collect();
            let enough = budget::total_for(&ledger, &both, Least::Share)
                .map(|total| {
                    let total = pair(total);
                    format!("; a total of {total} would hold both: raise it first")
                })
                .unwrap_or_default();
            refuse!(
                "the charges of {} do not fit {}: {refused}{enough}. Nothing has changed",
                from.display(),
                path.display()
            );
        }
        Err(error) => Err(error.into()),
    }
}

/// A copy of a ledger and its witness: showing a ledger changes nothing and waits for no run.
struct Snapshot {
    bytes: MemoryStorage,
    witness: Option<Vec<u8>>,
}

impl Snapshot {
    fn of(path: &Path) -> Result<Self> {
        let said = || format!("cannot read {}", path.display());
        // Read the witness first: read after the ledger, it could be ahead of the copy.
        let witness = match fs::read(witness(path)) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).with_context(said),
        };
        let mut bytes = MemoryStorage::default();
        bytes.append(&fs::read(path).with_context(said)?)?;
        Ok(Self { bytes, witness })
    }
}

impl Storage for Snapshot {
    fn load(&mut self) -> io::Result<Vec<u8>> {
        self.bytes.load()
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes.append(bytes)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.bytes.truncate(length)
    }

    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes.replace(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn load_witness(&mut self) -> io::Result<Option<Vec<u8>>> {
        Ok(self.witness.clone())
    }
}

/// The witness goes first and leaves last, so that at every moment a ledger has one beside it.
///
/// Stopped after the first step, the ledger is where it was, and a witness waits at the new name: a
/// new ledger cannot be made there, and moving again goes on. Stopped after the second, the ledger
/// is at its new name, and the old witness forbids a new ledger at the old name until moving again
/// removes it.
///
/// Gives the real name that it had.
///
/// # Errors
/// A file at the new name; the witness of another ledger; a disk that fails.
pub fn move_to(path: &Path, to: &Path) -> Result<PathBuf> {
    // By its real name: a link would be moved alone.
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let path = real.as_path();
    let (old, new) = (witness(path), witness(to));
    if !path.is_file() && to.is_file() && old.is_file() && same_name(&old, &new)? {
        return leave(path);
    }
    if to.exists() {
        refuse!("there is a file {} already", to.display());
    }
    let ledger = open(path)?;
    if new.exists() && !same_name(&old, &new)? {
        refuse!(
            "{} is the witness of another ledger, which was lost or moved: put that ledger back, \
             or choose another name",
            new.display()
        );
    }
    let witness = fs::read(&old).with_context(|| format!("cannot read {}", old.display()))?;
    write_whole_secret(&new, &witness)?;
    let said = || format!("cannot move {} to {}", path.display(), to.display());
    fs::rename(path, to).with_context(said)?;
    for place in [path, to] {
        sync_folder(place).with_context(said)?;
    }
    drop(ledger);
    leave(path)
}

/// Removes what a move leaves at the old name.
fn leave(path: &Path) -> Result<PathBuf> {
    let mut lock = path.as_os_str().to_owned();
    lock.push(".lock");
    for left in [witness(path), lock.into()] {
        match fs::remove_file(&left) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove {}", left.display()));
            }
            _ => {}
        }
    }
    Ok(path.to_owned())
}

/// Whether two witnesses are of the same ledger: its name is the first word of the second line.
fn same_name(one: &Path, other: &Path) -> Result<bool> {
    let name = |path: &Path| -> Result<Option<String>> {
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let line = text.lines().nth(1).unwrap_or_default();
        Ok(line.split(' ').next().map(str::to_owned))
    };
    Ok(name(one)? == name(other)?)
}
