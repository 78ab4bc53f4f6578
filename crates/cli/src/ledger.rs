//! `hushstream ledger`: shows and manages the budget of a data set.

use crate::output::tell;
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use hushstream::budget::{self, Least, RESERVE, witness};
use hushstream::files::write_whole_secret;
use hushstream_account::{Budget, Charge, FilterKind, Price};
use hushstream_mechanism::{FileStorage, Ledger, LedgerError, MemoryStorage, Storage};
use hushstream_pictures::numbers::{delta, finite, percent};
use serde_json::json;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Arguments of `ledger`.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show the promise, the (ε, δ) of each run, and the share that is used.
    Show {
        /// The ledger.
        ledger: PathBuf,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Raise the budget: a decision about the people in the data. It cannot be lowered again.
    Raise {
        /// The ledger.
        ledger: PathBuf,
        /// The new ε over all runs; by default unchanged.
        #[arg(long, value_parser = finite)]
        total_epsilon: Option<f64>,
        /// The new δ over all runs; by default unchanged.
        #[arg(long, value_parser = finite)]
        total_delta: Option<f64>,
        /// The fraction of δ to set aside for runs of other kinds than the first, if the charges so
        /// far leave room for it.
        #[arg(long, value_parser = finite, default_value_t = RESERVE)]
        reserve: f64,
    },
    /// Add the charges of another ledger about the same people, and close that one.
    Merge {
        /// The ledger to keep.
        ledger: PathBuf,
        /// The ledger to close.
        from: PathBuf,
    },
    /// Allow no more charges. Runs that were paid for can continue.
    Close {
        /// The ledger.
        ledger: PathBuf,
    },
    /// Rename a ledger and its witness, for example after the data file was renamed.
    Move {
        /// The ledger.
        ledger: PathBuf,
        /// Its new name.
        to: PathBuf,
    },
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        Command::Show { ledger, json } => show(ledger, *json),
        Command::Raise {
            ledger,
            total_epsilon,
            total_delta,
            reserve,
        } => raise(ledger, *total_epsilon, *total_delta, *reserve),
        Command::Merge { ledger, from } => merge(ledger, from),
        Command::Close { ledger } => {
            open(ledger)?.close()?;
            tell!(
                "{} is closed: no run can be charged to it. Runs that were paid for can continue.",
                ledger.display()
            );
            Ok(())
        }
        Command::Move { ledger, to } => move_to(ledger, to),
    }
}

/// Opens a ledger to change it.
fn open(path: &Path) -> Result<Ledger> {
    let said = || format!("cannot use the ledger {}", path.display());
    // `FileStorage::open` would create a missing file.
    if !path.is_file() {
        bail!("there is no ledger {}", path.display());
    }
    Ledger::open(FileStorage::open(path).with_context(said)?).with_context(said)
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

/// Shows a ledger.
pub(crate) fn show(path: &Path, as_json: bool) -> Result<()> {
    let said = || format!("cannot use the ledger {}", path.display());
    let ledger = Ledger::open(Snapshot::of(path)?).with_context(said)?;
    if as_json {
        return show_json(&ledger);
    }
    tell!(
        "A ledger: the budget of one data set over all runs. \
         Keep it with the data, and never restore an old copy."
    );
    let (filter, scope) = (ledger.filter(), ledger.scope());
    let (epsilon, bound) = filter.promise();
    tell!(
        "Promise: (ε, δ) = ({epsilon}, {}), {}, for {}{}, however the runs were chosen{}",
        delta(bound),
        scope.adjacency,
        if scope.per_person {
            "persons"
        } else {
            "records"
        },
        if scope.windowed {
            ", over a window"
        } else {
            ""
        },
        match budget::supposes(&ledger) {
            "" => String::new(),
            supposed => format!(", {supposed}"),
        },
    );
    match filter.kind() {
        FilterKind::Approximate => tell!(
            "Used so far: {} % of ε, {} % of δ",
            percent(filter.used()),
            percent(share(filter.used_delta(), filter.room())),
        ),
        _ => tell!("Used so far: {} %", percent(filter.used())),
    }
    if matches!(filter.kind(), FilterKind::Gaussian | FilterKind::Zcdp) {
        tell!(
            "Set aside for runs with a δ of their own and for the precision of draws: \
             δ = {:.2e}, of which {:.2e} is used",
            filter.room(),
            filter.used_delta(),
        );
    }
    match ledger.closed() {
        Some(Some(into)) => tell!("Closed: its charges were merged into the ledger {into}"),
        Some(None) => tell!("Closed: no run can be charged to it"),
        None => {}
    }
    if ledger.was_unwitnessed() {
        tell!("It has no witness file, so an old copy would go unnoticed");
    }
    let runs = ledger.charges().count();
    tell!("{runs} run{}:", if runs == 1 { "" } else { "s" });
    for (number, price) in ledger.charges() {
        let (epsilon, bound) = fixed(&ledger, &price);
        let mut notes = String::new();
        if ledger.is_merged(number) {
            notes.push_str(", merged from another ledger");
        } else if !ledger.has_begun(number) {
            notes.push_str(", not begun");
        }
        if ledger.is_simulated() || ledger.is_unprotected(number) {
            notes.push_str(", with simulated noise, which protects nobody");
        }
        tell!(
            "  {number}: (ε, δ) = ({epsilon}, {}), {}{notes}",
            delta(bound),
            kind(price.charge)
        );
    }
    Ok(())
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// The (ε, δ) that a run was fixed at. Ledgers of earlier versions lack it; then ε at the ledger's
/// δ.
fn fixed(ledger: &Ledger, price: &Price) -> (f64, f64) {
    if let Some(fixed) = price.fixed {
        return (fixed.epsilon(), fixed.delta());
    }
    let bound = ledger.budget().delta();
    let at = |epsilon: Result<f64, _>| epsilon.map_or(f64::NAN, budget::rounded_up);
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

fn show_json(ledger: &Ledger) -> Result<()> {
    let (filter, scope) = (ledger.filter(), ledger.scope());
    let (epsilon, bound) = filter.promise();
    let runs: Vec<_> = ledger
        .charges()
        .map(|(number, price)| {
            let (epsilon, delta) = fixed(ledger, &price);
            json!({
                "number": number,
                "epsilon": epsilon,
                "delta": delta,
                "kind": kind(price.charge),
                "begun": ledger.has_begun(number),
                "merged": ledger.is_merged(number),
                "simulated": ledger.is_simulated() || ledger.is_unprotected(number),
            })
        })
        .collect();
    let currency = match filter.kind() {
        FilterKind::Gaussian => "gaussian",
        FilterKind::Zcdp => "zcdp",
        FilterKind::Pure => "pure",
        FilterKind::Approximate => "approximate",
    };
    let told = json!({
        "name": ledger.name_in_words(),
        "epsilon": epsilon,
        "delta": bound,
        "currency": currency,
        "used": filter.used(),
        "reserved_delta": filter.room(),
        "used_delta": filter.used_delta(),
        "adjacency": scope.adjacency.to_string(),
        "per_person": scope.per_person,
        "windowed": scope.windowed,
        "raised": ledger.is_raised(),
        "resplit": ledger.is_widened() && !ledger.is_raised(),
        "closed": ledger.closed().is_some(),
        "merged_into": ledger.closed().flatten(),
        "witnessed": !ledger.was_unwitnessed(),
        "runs": runs,
    });
    tell!("{}", serde_json::to_string_pretty(&told)?);
    Ok(())
}

fn raise(
    path: &Path,
    total_epsilon: Option<f64>,
    total_delta: Option<f64>,
    reserve: f64,
) -> Result<()> {
    if !(0.0..1.0).contains(&reserve) {
        bail!("--reserve is a part of δ, from 0 to below 1");
    }
    let mut ledger = open(path)?;
    let present = ledger.budget();
    let budget = Budget::approx(
        total_epsilon.unwrap_or(present.epsilon()),
        total_delta.unwrap_or(present.delta()),
    )?;
    budget::raise(&mut ledger, budget, reserve, None)
        .with_context(|| format!("cannot raise the budget of {}", path.display()))?;
    let (epsilon, bound) = ledger.filter().promise();
    tell!(
        "The budget of {} is now (ε, δ) = ({epsilon}, {}). Used so far: {} %",
        path.display(),
        delta(bound),
        percent(ledger.filter().used())
    );
    Ok(())
}

fn merge(path: &Path, from: &Path) -> Result<()> {
    if from.canonicalize().ok() == path.canonicalize().ok() && path.exists() {
        bail!("both are the same ledger: there is nothing to merge");
    }
    let (mut ledger, mut other) = (open(path)?, open(from)?);
    let runs = other.charges().count();
    match ledger.merge(&mut other) {
        Ok(()) => {}
        Err(LedgerError::Refused(refused)) => {
            let both = ledger.charges().chain(other.charges());
            let both: Vec<Price> = both.map(|(_, price)| price).collect();
            let enough = budget::total_for(&ledger, &both, Least::Share)
                .map(|total| {
                    let total = budget::pair(total);
                    format!("; a total of {total} would hold both: raise it first")
                })
                .unwrap_or_default();
            bail!(
                "the charges of {} do not fit {}: {refused}{enough}. Nothing has changed",
                from.display(),
                path.display()
            );
        }
        Err(error) => return Err(error.into()),
    }
    tell!(
        "The {runs} charge{} of {} {} in {} now, and {} is closed. Runs that were paid from it go \
         on with it. Used so far: {} %",
        if runs == 1 { "" } else { "s" },
        from.display(),
        if runs == 1 { "is" } else { "are" },
        path.display(),
        from.display(),
        percent(ledger.filter().used())
    );
    Ok(())
}

/// The witness goes first and leaves last, so that at every moment a ledger has one beside it.
///
/// Stopped after the first step, the ledger is where it was, and a witness waits at the new name: a
/// new ledger cannot be made there, and moving again goes on. Stopped after the second, the ledger
/// is at its new name, and the old witness forbids a new ledger at the old name until moving again
/// removes it.
fn move_to(path: &Path, to: &Path) -> Result<()> {
    // By its real name: a link would be moved alone.
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let path = real.as_path();
    let (old, new) = (witness(path), witness(to));
    if !path.is_file() && to.is_file() && old.is_file() && same_name(&old, &new)? {
        return leave(path, to);
    }
    if to.exists() {
        bail!("there is a file {} already", to.display());
    }
    let ledger = open(path)?;
    if new.exists() && !same_name(&old, &new)? {
        bail!(
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
    leave(path, to)
}

/// Removes what a move leaves at the old name.
fn leave(path: &Path, to: &Path) -> Result<()> {
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
    tell!("The ledger {} is {} now.", path.display(), to.display());
    Ok(())
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

fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}
