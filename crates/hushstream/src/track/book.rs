//! A run of statistics: records go in, ticks close, tables come out after the sync that covers
//! them.

use super::clock::Clock;
use super::plan::Planned;
use super::tables::{Past, Table, Tables};
use crate::error::{Error, Result, refuse};
use crate::methods::{Place, Restart};
use crate::opening::{Opened, Opens};
use crate::outcome::Together;
use crate::shared::SharedLedger;
use hushstream_account::{Guarantee, Price};
use hushstream_mechanism::losses::{Features, Record};
use hushstream_mechanism::sums::{
    Ask, Committed, Delivery, PartialSum, PrivateSum, Question, SumError,
};
use hushstream_mechanism::{
    CameBack, DiaryError, Grant, OperatorOnly, Pending, Raw, RowChain, Scope, Transcript,
};
use hushstream_recipes::RunError;
use serde::{Deserialize, Serialize};

/// What is opened.
pub(crate) struct Statistical {
    pub(crate) planned: Planned,
    /// What makes two runs the same.
    pub(crate) description: String,
    pub(crate) ticks: Option<u64>,
    /// The first tick, counted from 1970.
    pub(crate) first: Option<i64>,
}

/// An open sum, with what its journal holds.
pub(crate) struct Begun {
    sum: PrivateSum<Transcript>,
    waiting: Vec<Pending<Vec<f64>, Transcript>>,
    past: Option<Past>,
    /// Whether a new instance followed an old copy of the journal: what waits was published.
    is_anew: bool,
}

/// What a checkpoint keeps beside the sum.
#[derive(Serialize, Deserialize)]
struct Note {
    description: String,
    past: Past,
}

fn run_error(error: SumError) -> Error {
    RunError::from(error).into()
}

impl Opens for Statistical {
    type Session = Begun;

    fn price(&self) -> Result<(Price, Scope)> {
        let plan = &self.planned.plan;
        Ok((plan.charge()?, plan.scope()))
    }

    fn planned(&self) -> u64 {
        self.ticks.unwrap_or(0)
    }

    fn first(&self) -> Option<i64> {
        self.first
    }

    fn open(&self, place: Place<'_>, grant: Option<Grant>) -> Result<Restart<Begun>> {
        let plan = self.planned.plan.clone();
        if let Some(grant) = grant {
            let sum = PrivateSum::open(plan, grant, place.key, place.ledger, place.storage);
            let mut sum = sum.map_err(run_error)?;
            sum.keep_note();
            sum.sync(place.ledger).map_err(run_error)?;
            sum.checkpoint(self.note(&Past::default())?)
                .map_err(run_error)?;
            let begun = Begun {
                sum,
                waiting: Vec::new(),
                past: None,
                is_anew: false,
            };
            return Ok(Restart::Run(begun, String::new()));
        }
        let mut past = None;
        let back = PrivateSum::resume(place.storage, place.key, place.ledger, None, |note| {
            let Some(note) = note else {
                return true; // a crash before the first checkpoint
            };
            match serde_json::from_slice::<Note>(note) {
                Ok(note) => {
                    past = Some(note.past);
                    note.description == self.description
                }
                Err(_) => false,
            }
        });
        let back = match back {
            Err(SumError::Diary(DiaryError::NoRun)) => return Ok(Restart::NoRun),
            Err(SumError::Diary(DiaryError::NotAccepted)) => refuse!(
                "the run in the state folder has other statistics, ticks or privacy: give the \
                 flags that it was begun with"
            ),
            back => back.map_err(run_error)?,
        };
        let mut sum = back.run;
        if *sum.plan() != plan {
            refuse!("the run in the state folder has other flags: give the same ones");
        }
        sum.keep_note();
        let told = match back.outcome {
            CameBack::Continued => format!(
                "resumed after {} ticks, as if it had never stopped",
                sum.steps()
            ),
            CameBack::NewInstance { lost } => format!(
                "resumed from an old copy: {lost} ticks that were published after it are lost and \
                 are not counted again"
            ),
        };
        let begun = Begun {
            sum,
            waiting: back.recent,
            past,
            is_anew: back.outcome != CameBack::Continued,
        };
        Ok(Restart::Run(begun, told))
    }

    fn taken(session: &Begun) -> u64 {
        session.sum.records()
    }
}

impl Statistical {
    fn note(&self, past: &Past) -> Result<Vec<u8>> {
        Ok(serde_json::to_vec(&Note {
            description: self.description.clone(),
            past: past.clone(),
        })?)
    }
}

/// The run.
pub(crate) struct Book {
    statistical: Statistical,
    sum: PrivateSum<Transcript>,
    ledger: SharedLedger,
    tables: Tables,
    pub(crate) clock: Clock,
    waiting: Vec<Pending<Vec<f64>, Transcript>>,
    rows: Option<RowChain>,
    /// Records in the open tick.
    pub(crate) in_tick: u64,
    /// The table of the last batch of a source, which is given again if the batch comes again.
    last: Option<Table>,
}

impl Book {
    pub(crate) fn new(
        statistical: Statistical,
        opened: Opened<Begun>,
        mut tables: Tables,
        clock: Clock,
    ) -> Result<Self> {
        let Begun {
            mut sum,
            mut waiting,
            past,
            is_anew,
        } = opened.session;
        sum.close_by_clock();
        let mut past = past.unwrap_or_default();
        for pending in waiting.drain(..if is_anew { waiting.len() } else { 0 }) {
            let Ok(release) = sum.publish(pending) else {
                refuse!("a release was not covered by its sync");
            };
            past = past.with(release.value(), tables.spans());
        }
        let last = tables.restore(past, &sum, &clock)?;
        if is_anew {
            // Windows need the releases before.
            let note = statistical.note(tables.past())?;
            sum.checkpoint(note).map_err(run_error)?;
        }
        Ok(Self {
            statistical,
            sum,
            ledger: opened.ledger,
            tables,
            clock,
            waiting,
            rows: opened.rows,
            in_tick: 0,
            last,
        })
    }

    /// Ticks that have closed.
    pub(crate) fn ticks(&self) -> u64 {
        self.sum.steps()
    }

    /// Whether all planned ticks have closed.
    pub(crate) fn is_over(&self) -> bool {
        self.ticks() >= self.sum.plan().most_releases()
    }

    /// Records so far.
    pub(crate) fn records(&self) -> u64 {
        self.sum.records() + self.in_tick
    }

    pub(crate) fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Counts a record in the open tick; none is an empty one.
    pub(crate) fn take(
        &mut self,
        person: Option<u64>,
        record: Option<Raw<Record>>,
        digest: Option<&hushstream_mechanism::RowDigest>,
    ) -> Result<()> {
        if let (Some(rows), Some(digest)) = (&self.rows, digest) {
            rows.add(digest);
        }
        let record = record.unwrap_or_else(|| {
            Raw::seal(Record {
                features: Features::Dense(Vec::new()),
                target: f64::NAN,
            })
        });
        self.in_tick += 1;
        let added = self.sum.add_statistics(person, record);
        added.map(drop).map_err(run_error)
    }

    /// Closes the open tick.
    pub(crate) fn close(&mut self) -> Result<()> {
        let release = self.sum.close_item().map_err(run_error)?;
        self.waiting.extend(release);
        self.in_tick = 0;
        Ok(())
    }

    /// Numbers in releases that wait for a sync.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len() * self.statistical.planned.statistics.dimension() as usize
    }

    /// Makes everything durable, and gives the tables that may now leave.
    pub(crate) fn sync(&mut self) -> Result<Vec<Table>> {
        self.sum
            .sync(&mut *self.ledger.lock()?)
            .map_err(run_error)?;
        let mut tables = Vec::with_capacity(self.waiting.len());
        for pending in self.waiting.drain(..) {
            let Ok(release) = self.sum.publish(pending) else {
                refuse!("a release was not covered by its sync");
            };
            tables.extend(self.tables.next(release.value(), &self.clock));
        }
        Ok(tables)
    }

    /// The question of the next tick, for workers on other machines.
    pub(crate) fn question(&self, note: Vec<u8>) -> Result<Question> {
        self.sum.question(Ask::Statistics, note).map_err(run_error)
    }

    /// Takes a batch of a source as the next tick, exactly once; whether it was taken now, and its
    /// table unless a later one was taken.
    pub(crate) fn commit(
        &mut self,
        delivery: &Delivery,
        note: Vec<u8>,
        parts: &[impl AsRef<[u8]>],
    ) -> Result<(bool, Option<Table>)> {
        let is_new = self.sum.would_take(delivery).map_err(run_error)?;
        if is_new {
            let question = self.question(note)?;
            let all = PartialSum::of_parts(&question, parts);
            let all = all.map_err(|error| run_error(error.into()))?;
            let committed = self.sum.commit(&question, delivery, all);
            if let Committed::Taken(pending) = committed.map_err(run_error)? {
                self.waiting.push(pending);
            }
        }
        self.keep_last()?;
        self.shorten()?;
        let is_last = self.delivered() == Some((delivery.source(), delivery.batch()));
        Ok((is_new, self.last.clone().filter(|_| is_last)))
    }

    /// The table of the last tick that is durable.
    pub(crate) fn last(&self) -> Option<&Table> {
        self.last.as_ref()
    }

    /// Makes everything durable, and keeps the last table.
    pub(crate) fn keep_last(&mut self) -> Result<()> {
        if let Some(table) = self.sync()?.pop() {
            self.last = Some(table);
        }
        Ok(())
    }

    /// The source and the number of the last batch.
    pub(crate) fn delivered(&self) -> Option<(&str, u64)> {
        self.sum.delivered()
    }

    /// Shortens a long journal. The tables so far must have been written.
    pub(crate) fn shorten(&mut self) -> Result<()> {
        if self.in_tick == 0 && self.sum.checkpoint_is_due() {
            let note = self.statistical.note(self.tables.past())?;
            self.sum.checkpoint(note).map_err(run_error)?;
        }
        Ok(())
    }

    pub(crate) fn guarantee(&self) -> Result<Guarantee> {
        self.sum.guarantee().map_err(run_error)
    }

    /// Records that counted for nothing: malformed, or over a person's limit.
    pub(crate) fn nulls(&self) -> OperatorOnly<u64> {
        self.sum.counts().0
    }

    pub(crate) fn together(&self) -> Together {
        Together::of(&self.ledger.look())
    }
}
