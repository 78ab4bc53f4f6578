//! The ledger of a run: where it is, what it allows, and what it has given out.

use super::arguments::{Arguments, Privacy};
use super::data::is_stream;
use crate::numbers::delta;
use anyhow::{Context, Result, anyhow, bail};
use hushstream_account::{Budget, Charge, FilterKind, Refused, Spent};
use hushstream_mechanism::{FileStorage, Ledger, LedgerError, Scope};
use std::path::{Path, PathBuf};

/// The ledger's file: what was named, or beside the data.
pub(crate) fn path(arguments: &Arguments) -> Result<PathBuf> {
    match &arguments.privacy.ledger {
        Some(path) => Ok(path.clone()),
        None if is_stream(&arguments.data.file) => bail!(
            "name the ledger of this stream with --ledger FILE: it keeps the budget over all runs on the same data"
        ),
        None => {
            // By its real name, so that a second name of the file does not get a budget of its own.
            let file = Path::new(&arguments.data.file);
            let mut name = file
                .canonicalize()
                .unwrap_or_else(|_| file.to_owned())
                .into_os_string();
            name.push(".ledger");
            Ok(name.into())
        }
    }
}

/// Opens the ledger; for a new run makes one if there is none, and raises its budget if that is stated.
pub(crate) fn open(arguments: &Arguments, charge: Charge, scope: Scope) -> Result<Ledger> {
    let privacy = &arguments.privacy;
    let kind = match charge {
        Charge::Gaussian(_) => FilterKind::Gaussian,
        // Pure charges too: as concentrated ones they would cost many times as much.
        _ if privacy.delta > 0.0 => FilterKind::Approximate,
        _ => FilterKind::Pure,
    };
    let own = Budget::approx(privacy.epsilon, privacy.delta)?;
    let is_named = privacy.ledger.is_some() || arguments.output.state.is_some();
    if privacy.seed_insecure.is_some() && !is_named {
        return Ok(Ledger::simulated(total(privacy, own)?, kind, scope)?);
    }
    let path = path(arguments)?;
    let said = || format!("cannot use the ledger {}", path.display());
    if arguments.output.resume && !path.exists() {
        bail!(
            "the ledger {} is not there: a run goes on only with the ledger that it was paid from",
            path.display()
        );
    }
    if !path.exists() {
        // A budget that is too small from the start is refused before there is a file that holds it.
        let trial = Ledger::simulated(total(privacy, own)?, kind, scope)?;
        trial
            .allows(&charge, scope)
            .map_err(|error| refusal(&trial, charge, error))?;
    }
    match Ledger::open(FileStorage::open(&path).with_context(said)?) {
        Ok(mut ledger) => {
            let wished = total(privacy, ledger.budget())?;
            if wished != ledger.budget() {
                ledger.widen(wished).with_context(said)?;
            }
            Ok(ledger)
        }
        // Also after a crash while it was being made: it has no budget yet, so nothing was spent.
        Err(LedgerError::Missing) if !arguments.output.resume => {
            let storage = FileStorage::open(&path).with_context(said)?;
            Ledger::create(storage, total(privacy, own)?, kind, scope).with_context(said)
        }
        Err(error) => Err(error).with_context(said),
    }
}

/// The stated total; what is not stated stays as it is.
fn total(privacy: &Privacy, present: Budget) -> Result<Budget> {
    let epsilon = privacy.total_epsilon.unwrap_or(present.epsilon());
    let delta = privacy.total_delta.unwrap_or(present.delta());
    Ok(Budget::approx(epsilon, delta)?)
}

/// Why a charge is refused, and what would allow it.
pub(crate) fn refusal(ledger: &Ledger, charge: Charge, error: LedgerError) -> anyhow::Error {
    let LedgerError::Refused(refused @ Refused::OverBudget { .. }) = error else {
        return error.into();
    };
    let budget = ledger.budget();
    let runs = ledger.charges().count();
    let needed = all(ledger)
        .and_then(|mut spent| {
            spent.add(&charge)?;
            Ok(spent.epsilon_at(budget.delta())?)
        })
        .map(|epsilon| {
            format!(
                "; with it the total would be ({}, {})",
                rounded_up(epsilon),
                delta(budget.delta())
            )
        });
    anyhow!(
        "this run does not fit the budget of its data, (ε, δ) = ({}, {}), after {runs} other run{}: {refused}{}. To raise the budget is a decision about the people in the data: --total-epsilon, --total-delta",
        budget.epsilon(),
        delta(budget.delta()),
        if runs == 1 { "" } else { "s" },
        needed.unwrap_or_default(),
    )
}

/// Four decimals that are enough.
pub(crate) fn rounded_up(epsilon: f64) -> f64 {
    (epsilon * 1e4 + 1e-3).ceil() / 1e4
}

fn all(ledger: &Ledger) -> Result<Spent> {
    let mut spent = Spent::new();
    for (_, charge) in ledger.charges() {
        spent.add(&charge)?;
    }
    Ok(spent)
}

/// ε of everything in the ledger at the budget's δ.
pub(crate) fn together(ledger: &Ledger) -> Result<(f64, f64)> {
    let delta = ledger.budget().delta();
    Ok((all(ledger)?.epsilon_at(delta)?, delta))
}

/// Runs on the ledger whose noise was simulated.
pub(crate) fn simulated(ledger: &Ledger) -> usize {
    let is_simulated = |number| ledger.is_simulated() || ledger.is_unprotected(number);
    let charges = ledger.charges();
    charges.filter(|&(number, _)| is_simulated(number)).count()
}
