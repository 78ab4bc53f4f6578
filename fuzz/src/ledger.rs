//! Ledgers and their witnesses.
//!
//! An input is a ledger and its witness, which may be missing. Bits of the first byte: 1 makes the
//! frames of the ledger right, 2 the checksum of the witness, 4 makes a witness of this ledger.

use crate::disk::{Contents, File};
use crate::input;
use hushstream::account::{Adjacency, Budget, Charge, Epsilon, FilterKind};
use hushstream::ledgers::Statement;
use hushstream::mechanism::{Ledger, LedgerError, Scope};
use std::fmt::Write;

type Failure = Box<dyn std::error::Error>;

const FRAMES: u8 = 1;
const CHECKSUM: u8 = 2;
const WITNESS: u8 = 4;

pub(crate) fn check(bytes: &[u8]) -> Result<bool, String> {
    let (flags, [log, witness]) = input::parts(bytes);
    let log = match flags & FRAMES {
        0 => log.to_vec(),
        _ => input::log(log),
    };
    let witness = match flags & (CHECKSUM | WITNESS) {
        0 => witness.to_vec(),
        CHECKSUM => summed(witness),
        _ => witness_of(&log, witness),
    };
    let file = File::of(&log, Some(&witness[..]).filter(|bytes| !bytes.is_empty()));
    let before = file.contents();
    let mut ledger = match Ledger::open(file.clone()) {
        Ok(ledger) => ledger,
        Err(error) => {
            input::speaks(&error.to_string())?;
            if file.contents() != before {
                return Err(format!("refused, and changed: {error}"));
            }
            return Ok(false);
        }
    };
    let told = statement(&ledger)?;
    same(&file, &told, "opened")?;
    change(&mut ledger, &file, input::seed(bytes))?;
    Ok(true)
}

/// Everything that a ledger says but whether it had a witness.
fn statement(ledger: &Ledger) -> Result<String, String> {
    let mut statement = Statement::of(ledger);
    statement.witnessed = true;
    let told = serde_json::to_string(&statement).map_err(|error| error.to_string())?;
    let used = ledger.filter().used();
    if !(0.0..=1.0 + 1e-9).contains(&used) {
        return Err(format!("{used} of the budget is used: {told}"));
    }
    Ok(told)
}

/// What was written says the same when it is opened again.
fn same(file: &File, told: &str, when: &str) -> Result<(), String> {
    let contents = file.contents();
    let copy = File::of(&contents.bytes, contents.witness.as_deref());
    let again = Ledger::open(copy).map_err(|error| format!("{when}, and then refused: {error}"))?;
    let again = statement(&again)?;
    if again != told {
        return Err(format!("{when}: {told}\nthen: {again}"));
    }
    Ok(())
}

/// One change: what is refused changes nothing, and what is not is durable.
fn change(ledger: &mut Ledger, file: &File, seed: u64) -> Result<(), String> {
    let (before, told) = (file.contents(), statement(ledger)?);
    let (count, scope, budget) = (ledger.charges().count(), ledger.scope(), ledger.budget());
    let failed = |error: LedgerError| error.to_string();
    let done = match seed % 5 {
        0 | 1 => {
            let charge = charge(&[1e-9, 0.01, 1.0, 30.0], seed / 5)?;
            let done = ledger.debit(charge, scope).map(drop);
            if ledger.charges().count() != count + usize::from(done.is_ok()) {
                return Err("a debit without its charge".to_owned());
            }
            done
        }
        2 => {
            let scale = [0.5, 1.0, 1.5, 1e6][(seed / 5 % 4) as usize];
            match Budget::approx(budget.epsilon() * scale, budget.delta()) {
                Ok(budget) => ledger.widen(budget),
                Err(_) => Ok(()),
            }
        }
        3 => {
            let other = File::default();
            let total = Budget::approx(1.0, 1e-6).map_err(|error| error.to_string())?;
            let kind = FilterKind::Approximate;
            let mut other = Ledger::create(other, total, kind, scope).map_err(failed)?;
            let paid = other.debit(charge(&[0.125, 0.5], seed / 5)?, scope);
            paid.map_err(failed)?;
            ledger.merge(&mut other)
        }
        _ => ledger.close(),
    };
    match done {
        Ok(()) => same(file, &statement(ledger)?, "changed"),
        Err(error) => {
            input::speaks(&error.to_string())?;
            if file.contents() != before || statement(ledger)? != told {
                return Err(format!("a refused change changed something: {error}"));
            }
            Ok(())
        }
    }
}

fn charge(epsilons: &[f64], number: u64) -> Result<Charge, String> {
    let epsilon = epsilons[(number % epsilons.len() as u64) as usize];
    let epsilon = Epsilon::new(epsilon).map_err(|error| error.to_string())?;
    Ok(Charge::Pure(epsilon))
}

/// A witness whose last line is the checksum of those before.
fn summed(witness: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(witness);
    let body = text
        .trim_end()
        .rsplit_once('\n')
        .map_or("", |(body, _)| body);
    let body = format!("{body}\n");
    format!("{body}{:08x}\n", crc32fast::hash(body.as_bytes())).into_bytes()
}

/// The witness of a ledger, from its frames; how often it was rewritten comes from the input.
fn witness_of(log: &[u8], witness: &[u8]) -> Vec<u8> {
    let frames = input::frames(log);
    let name = frames
        .first()
        .and_then(|frame| frame.get(17..33))
        .unwrap_or(&[0; 16]);
    let name = name.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    let epoch = witness.first().copied().unwrap_or(0) % 3;
    let back = witness.get(1).copied().unwrap_or(0) % 3;
    let records = frames.len().saturating_sub(back.into());
    let last = match records.checked_sub(1).and_then(|last| frames.get(last)) {
        Some(frame) => crc32fast::hash(&frame[8..]),
        None => 0,
    };
    let text = format!("hushstream witness 1\n{name} {epoch} {records} {last:08x}\n0\n");
    summed(text.as_bytes())
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let golden: [&[u8]; 7] = [
        include_bytes!("../../crates/mechanism/tests/golden/ledger-v1-approximate"),
        include_bytes!("../../crates/mechanism/tests/golden/ledger-v1-gaussian"),
        include_bytes!("../../crates/mechanism/tests/golden/ledger-v1-pure"),
        include_bytes!("../../crates/mechanism/tests/golden/ledger-v2-gaussian"),
        include_bytes!("../../crates/mechanism/tests/golden/selection-v4-ledger"),
        include_bytes!("../../crates/mechanism/tests/golden/source-v4-ledger"),
        include_bytes!("../../crates/mechanism/tests/golden/sum-v4-ledger"),
    ];
    let mut all: Vec<Vec<u8>> = golden
        .iter()
        .flat_map(|log| [0, FRAMES, FRAMES | WITNESS].map(|flags| input::joined(flags, &[log])))
        .collect();
    for kind in [
        FilterKind::Gaussian,
        FilterKind::Zcdp,
        FilterKind::Pure,
        FilterKind::Approximate,
    ] {
        for Contents { bytes, witness } in changed(kind).unwrap_or_default() {
            let parts = [&bytes[..], &witness.unwrap_or_default()];
            all.extend([0, FRAMES | CHECKSUM].map(|flags| input::joined(flags, &parts)));
        }
    }
    all
}

/// A ledger to which everything was done that can be done to one, before and after.
fn changed(kind: FilterKind) -> Result<Vec<Contents>, Failure> {
    let scope = Scope::records(Adjacency::ZeroOut);
    let delta = if kind == FilterKind::Pure { 0.0 } else { 1e-6 };
    let charge = |epsilon| Epsilon::new(epsilon).map(Charge::Pure);
    let (file, from) = (File::default(), File::default());
    let budget = Budget::approx(2.0, delta)?;
    let mut ledger = Ledger::create_reserving(file.clone(), budget, kind, scope, delta / 2.0)?;
    let budget = Budget::approx(1.0, 1e-6)?;
    let mut other = Ledger::create(from.clone(), budget, FilterKind::Approximate, scope)?;
    ledger.debit(charge(0.25)?, scope)?;
    let new = file.contents();
    other.debit(charge(0.125)?, scope)?;
    ledger.widen(Budget::approx(3.0, delta)?)?;
    let _ = ledger.merge(&mut other);
    ledger.close()?;
    Ok(vec![new, file.contents(), from.contents()])
}
