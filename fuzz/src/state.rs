//! The state of a run that is resumed: its card, its journal, and the ledger that paid for it.
//!
//! An input is a card, a key, a journal and a ledger. The first byte is the number of a learner,
//! and 32 makes the frames of journal and ledger right.

use crate::disk::{File, Folder};
use crate::input;
use hushstream::engine::RecipeName;
use hushstream::prelude::*;
use hushstream::{Error, SharedLedger};
use std::sync::Arc;

const FRAMES: u8 = 32;
const RECORDS: u64 = 24;

/// A run of each kind of journal.
const LEARNERS: [fn() -> Result<Learner, Failure>; 9] = [
    || Ok(Learner::classify().features(2)),
    || {
        Ok(Learner::classify()
            .features(2)
            .recipe(name("pftal-convex")?))
    },
    || Ok(Learner::classes(["a", "b", "c"]).features(2).batch(4)),
    || Ok(Learner::regress(0.0..1.0).features(1).batch(2)),
    || Ok(Learner::experts(3)),
    || Ok(Learner::experts(3).recipe(name("ftpl")?)),
    || Ok(Learner::bandit(3)),
    || {
        Ok(Learner::decide(["a", "b"])
            .features(1)
            .batch(4)
            .reward_wait(2))
    },
    || Ok(Learner::classify().features(2).recipe(name("pigd")?)),
];

type Failure = Box<dyn std::error::Error>;

fn name(name: &str) -> Result<RecipeName, Failure> {
    Ok(name.parse::<RecipeName>()?)
}

/// What a run leaves behind.
#[derive(Clone)]
struct Left {
    folder: Folder,
    ledger: File,
}

impl Left {
    fn of([card, key, journal, ledger]: [&[u8]; 4]) -> Self {
        let folder = Folder::default();
        for (name, bytes) in [("run.json", card), ("key", key), ("journal", journal)] {
            folder.put(name, File::of(bytes, None));
        }
        Self {
            folder,
            ledger: File::of(ledger, None),
        }
    }

    fn parts(&self) -> [Vec<u8>; 4] {
        let file = |name: &str| self.folder.file(name).contents().bytes;
        let ledger = self.ledger.contents().bytes;
        [file("run.json"), file("key"), file("journal"), ledger]
    }

    fn resumed(&self, learner: Learner) -> Result<Run, Error> {
        let ledger = SharedLedger::open_in(self.ledger.clone())?;
        self.described(learner, &ledger).resume()
    }

    fn described(&self, learner: Learner, ledger: &SharedLedger) -> Learner {
        learner
            .records(RECORDS)
            .budget(Budget::approx(1.0, 1e-6).unwrap_or_else(|_| unreachable!()))
            .adjacency(ReplaceOne)
            .on(ledger)
            .kept("state", Arc::new(self.folder.clone()))
    }
}

pub(crate) fn check(bytes: &[u8]) -> Result<bool, String> {
    let (flags, parts) = input::parts::<4>(bytes);
    let [card, key, mut journal, mut ledger] = parts.map(<[u8]>::to_vec);
    let number = usize::from(flags % FRAMES) % LEARNERS.len();
    let learner = || LEARNERS[number]().map_err(|error| error.to_string());
    if flags & FRAMES != 0 {
        (journal, ledger) = (input::log(&journal), input::log(&ledger));
    }
    let left = Left::of([&card, &key, &journal, &ledger]);
    let before = left.parts();
    let mut run = match left.resumed(learner()?) {
        Ok(run) => run,
        Err(error) => {
            input::speaks(&error.to_string())?;
            // In a log that is read a torn end is cut off, an old format written anew, and a life
            // begun that may be refused after all. No whole frame is lost or changed.
            let after = left.parts();
            let is_forged = flags & FRAMES != 0 && is_new(&journal) && is_new(&ledger);
            let keeps = |log: usize| after[log].starts_with(&before[log][..whole(&before[log])]);
            if after[..2] != before[..2] || is_forged && !(keeps(2) && keeps(3)) {
                return Err(format!("refused, and changed: {error}"));
            }
            return Ok(false);
        }
    };
    let records = run.records();
    if let Err(error) = fed(&mut run, number, 3) {
        // All records were learned.
        input::speaks(&error.to_string())?;
    }
    let (most, guarantee) = (run.records(), run.guarantee().to_string());
    if most < records {
        return Err("records are lost".to_owned());
    }
    drop(run);
    let again = left.resumed(learner()?);
    let again = again.map_err(|error| format!("resumed once, and then refused: {error}"))?;
    if again.records() > most
        || again.guarantee().to_string() != guarantee && again.records() == most
    {
        return Err(format!(
            "{most} records, {guarantee}, are another run when it is resumed"
        ));
    }
    Ok(true)
}

/// Feeds some rows, and makes them durable.
fn fed(run: &mut Run, number: usize, rows: u64) -> Result<(), Error> {
    for _ in 0..rows {
        let at = run.records() as f64;
        let x = (at * 0.37) % 1.0;
        match number {
            4..=6 => run.learn(&[x, 1.0 - x, 0.5])?,
            7 => {
                let slot = run.decide(&[x])?;
                let slot = slot.for_the_asker().id;
                run.reward(slot, x)?;
            }
            2 => run.learn(
                &[
                    ("x1", Value::Number(x)),
                    ("x2", Value::Number(-x)),
                    ("y", Value::Text(["a", "b", "c"][(at as usize) % 3])),
                ][..],
            )?,
            3 => run.learn(&[x, 1.0 - x])?,
            _ => run.learn(&[x, -x, at % 2.0])?,
        }
    }
    if number == 6 || (4..=5).contains(&number) {
        let _ = run.model()?;
    }
    run.publish().map(drop)
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for number in 0..LEARNERS.len() {
        match ran(number) {
            Ok((states, _)) => all.extend(states.iter().flat_map(|parts| {
                let parts = parts.each_ref().map(Vec::as_slice);
                [0, FRAMES].map(|flags| input::joined(flags | number as u8, &parts))
            })),
            Err(error) => eprintln!("no seed of learner {number}: {error}"),
        }
    }
    all
}

/// The models that the runs learn.
pub(crate) fn models() -> Vec<Vec<u8>> {
    let models = (0..LEARNERS.len()).filter_map(|number| ran(number).ok()?.1);
    models.collect()
}

/// The states of a run, and its model.
type Ran = (Vec<[Vec<u8>; 4]>, Option<Vec<u8>>);

/// States of a run: new, on its way, resumed, and resumed from an old copy.
fn ran(number: usize) -> Result<Ran, Failure> {
    let left = Left::of([b""; 4]);
    let total = Budget::approx(9.0, 1e-4)?;
    let ledger = SharedLedger::create_in(left.ledger.clone(), total, ReplaceOne, false)?;
    // Room for runs of every kind.
    ledger.raise(total, Some(0.5))?;
    let mut run = left.described(LEARNERS[number]()?, &ledger).start()?;
    let mut all = vec![left.parts()];
    fed(&mut run, number, 6)?;
    all.push(left.parts());
    let old = left.parts();
    fed(&mut run, number, 6)?;
    let model = run.model().and_then(|model| model.value().to_bytes()).ok();
    drop((run, ledger));
    let mut run = left.resumed(LEARNERS[number]()?)?;
    fed(&mut run, number, 4)?;
    drop(run);
    let new = left.parts();
    all.push(new.clone());
    let left = Left::of([&old[0], &old[1], &old[2], &new[3]]);
    if let Ok(mut run) = left.resumed(LEARNERS[number]()?) {
        fed(&mut run, number, 4)?;
        drop(run);
        all.push(left.parts());
    }
    Ok((all, model))
}

fn is_new(log: &[u8]) -> bool {
    log.starts_with(b"HUSHLOG2J\x04") || log.starts_with(b"HUSHLOG2L\x02")
}

/// Where the last whole frame of a log ends: a head of ten bytes, then frames of a length, a
/// checksum, a number and as many bytes as the length says.
fn whole(log: &[u8]) -> usize {
    let mut end = 10.min(log.len());
    while let Some(length) = log[end..].first_chunk::<4>() {
        let next = end + 16 + u32::from_le_bytes(*length) as usize;
        if next > log.len() {
            break;
        }
        end = next;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Logs of runs that were not torn are whole frames to their ends, and lose one with a byte.
    #[test]
    fn frames_are_found() {
        for number in 0..LEARNERS.len() {
            let (states, _) = ran(number).unwrap();
            for log in states.iter().flat_map(|state| &state[2..]) {
                assert_eq!(whole(log), log.len());
                assert!(whole(&log[..log.len() - 1]) < log.len() - 1);
            }
        }
    }
}
