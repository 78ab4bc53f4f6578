//! Sums made elsewhere: other machines turn rows into sums of integers, and a run takes each batch
//! of them exactly once.
//!
//! ```
//! use hushstream::elsewhere::{Delivery, Positions, Span, Worker};
//! use hushstream::prelude::*;
//!
//! let mut run = Learner::classify()
//!     .features(2)
//!     .records(1000)
//!     .batch(100) // the most rows of a batch
//!     .budget(Budget::approx(1.0, 1e-6)?)
//!     .adjacency(ReplaceOne)
//!     .simulated(7)
//!     .start()?;
//!
//! let question = run.question()?; // public bytes, for any number of workers
//! let mut parts = Vec::new();
//! for (start, end) in [(0_u32, 40_u32), (40, 100)] {
//!     let mut worker = Worker::new(&question)?; // on another machine
//!     for row in start..end {
//!         worker.add(&[0.1, 0.2, f64::from(row % 2)])?;
//!     }
//!     let span = Span { partition: "clicks-0".into(), start: start.into(), end: end.into() };
//!     parts.push(worker.finish([span])?); // as private as the rows
//! }
//!
//! let span = Span { partition: "clicks-0".into(), start: 0, end: 100 };
//! let batch = Delivery::new("clicks", 0, Positions::new([span])?)?;
//! let taken = run.commit(&batch, &parts)?;
//! let again = run.commit(&batch, &parts)?; // a retry changes nothing
//! assert!(taken.is_new && !again.is_new);
//! let weights = |committed: &hushstream::elsewhere::Committed| {
//!     committed.model.as_ref().map(|model| model.value().weights.clone())
//! };
//! assert_eq!(weights(&taken), weights(&again));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Running statistics are asked, summed and committed in the same way
//! ([`Tracking::question`](crate::Tracking::question)); every batch is a tick.
//!
//! A worker holds no key and draws no noise, but it sees rows: the guarantee is about what is
//! *published*. `docs/partial-sums.md` has the rules and the formats.

use crate::error::{Context, Error, Result, refuse};
use crate::learner::Data;
use crate::model::Model;
use crate::released::Released;
use hushstream_mechanism::sums;
pub use hushstream_mechanism::sums::{
    Delivery, DeliveryError, Positions, Question, SealingKey, Span,
};
use hushstream_read::{
    Encoder, Fields as Row, Form, Format, Input, Layout, MissingTarget, Reader, Sealed,
};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What became of a batch.
#[derive(Debug)]
pub struct Committed {
    /// Whether the batch was taken now; otherwise it was taken before, and was not added again.
    pub is_new: bool,
    /// The model after the batch, bit for bit the same every time; none if the batch was taken
    /// before the last one.
    pub model: Option<Released<Model>>,
}

/// How workers read rows: the note of a question. Public.
#[derive(Serialize, Deserialize)]
pub(crate) struct Reading {
    layout: Layout,
    /// The columns of a row of numbers.
    columns: Vec<String>,
    person: Option<String>,
    /// Whether a row without a target is an empty one.
    target_may_be_missing: bool,
    /// How files are laid out, where it was stated.
    format: Option<String>,
    separator: Option<String>,
    no_header: bool,
    names: Vec<String>,
}

impl Reading {
    /// The reading of a run whose records have this layout.
    pub(crate) fn new(data: &Data, layout: &Layout, columns: Vec<String>) -> Self {
        let schema = &data.schema;
        Self {
            layout: layout.clone(),
            columns,
            person: schema.person.clone(),
            target_may_be_missing: schema.missing_target == Some(MissingTarget::Null),
            format: data.format.clone(),
            separator: schema.separator.clone(),
            no_header: schema.no_header == Some(true),
            names: schema.names.clone(),
        }
    }

    pub(crate) fn to_note(&self) -> Result<Vec<u8>> {
        Ok(serde_json::to_vec(self)?)
    }

    fn missing_target(&self) -> MissingTarget {
        if self.target_may_be_missing {
            MissingTarget::Null
        } else {
            MissingTarget::Error
        }
    }

    fn reader(&self, file: &str) -> Result<Reader> {
        let input = Input::open(file)?;
        let format: Format = match &self.format {
            Some(name) => name.parse()?,
            None => input.guess_format()?,
        };
        let separator = self.separator.as_deref();
        let form = Form::new(format, separator, self.no_header, &self.names)?;
        let (person, missing) = (self.person.as_deref(), self.missing_target());
        Ok(Reader::of_layout(
            input,
            form,
            &self.layout,
            person,
            missing,
        )?)
    }

    fn encoder(&self) -> Result<Encoder> {
        let (person, missing) = (self.person.as_deref(), self.missing_target());
        Ok(Encoder::of_layout(
            &self.layout,
            &self.columns,
            person,
            missing,
        )?)
    }
}

/// Answers a question with rows of the program, or of files. It needs no ledger and no key.
pub struct Worker {
    reading: Reading,
    encoder: Option<Encoder>,
    sum: sums::Worker,
}

impl Worker {
    /// A worker for a question's bytes, which are not trusted.
    ///
    /// # Errors
    /// Bytes that are not a question of this version.
    pub fn new(question: &[u8]) -> Result<Self, Error> {
        let question = Question::from_bytes(question).map_err(Error::other)?;
        let reading = serde_json::from_slice(question.note())
            .with_context(|| "the question does not tell how rows are read".to_owned())?;
        Ok(Self {
            reading,
            encoder: None,
            sum: question.worker().map_err(Error::other)?,
        })
    }

    /// The columns of a row of numbers, in order; none for rows that come from files alone.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.reading.columns
    }

    /// Adds one row. A value that cannot be read makes the record empty: what one person states
    /// does not stop a worker.
    ///
    /// # Errors
    /// More rows than a batch holds; a row without one of the columns.
    pub fn add(&mut self, row: &(impl Row + ?Sized)) -> Result<(), Error> {
        let encoder = match &mut self.encoder {
            Some(encoder) => encoder,
            none => none.insert(self.reading.encoder()?),
        };
        let sealed = encoder.record(row)?;
        self.take(sealed)
    }

    fn take(&mut self, sealed: Sealed) -> Result<(), Error> {
        let added = self.sum.add(sealed.person, sealed.record);
        if let Some(encoder) = &mut self.encoder {
            encoder.reuse(self.sum.spare());
        }
        added.map_err(Error::other)
    }

    /// Adds rows of a file, all of them or those at these places, and returns their positions in a
    /// partition that has the file's name.
    ///
    /// # Errors
    /// A file that cannot be read, has other columns, or ends before the last place.
    pub fn add_file(&mut self, file: &str, places: Option<Range<u64>>) -> Result<Span, Error> {
        let mut reader = self.reading.reader(file)?;
        let Range { start, end } = places.clone().unwrap_or(0..u64::MAX);
        let mut place = 0;
        while place < end
            && let Some(sealed) = reader.next_record()?
        {
            if place >= start {
                self.take(sealed)?;
            }
            place += 1;
        }
        if place < places.map_or(0, |places| places.end) {
            refuse!("{file} has {place} rows, and rows {start} to {end} are asked for");
        }
        Ok(Span {
            partition: partition(file),
            start,
            end: place.max(start),
        })
    }

    /// The bytes of the partial sum, **as private as the rows**, which came from these positions.
    ///
    /// # Errors
    /// Positions that overlap; fewer positions than rows.
    pub fn finish(self, spans: impl IntoIterator<Item = Span>) -> Result<Vec<u8>, Error> {
        let partial = self.sum.finish(spans).map_err(Error::other)?;
        partial.seal_to_bytes().map_err(Error::other)
    }

    /// The same, sealed to the run that asked ([`Run::sealing_key`](crate::Run::sealing_key)): who
    /// holds the bytes learns the positions, and nothing about rows.
    ///
    /// # Errors
    /// As [`Worker::finish`]; a key that is none.
    pub fn finish_sealed(
        self,
        spans: impl IntoIterator<Item = Span>,
        key: &SealingKey,
    ) -> Result<Vec<u8>, Error> {
        key.seal(&self.finish(spans)?).map_err(Error::other)
    }
}

/// The name of a file's partition: the file's, as it was given, without `./`.
#[must_use]
pub fn partition(file: &str) -> String {
    let parts = file.split('/').filter(|part| *part != ".");
    let mut name = String::new();
    for part in parts {
        if !name.is_empty() && !name.ends_with('/') {
            name.push('/');
        }
        name.push_str(part);
    }
    if file.starts_with('/') {
        name.insert(0, '/');
    }
    name
}

/// The positions that partial sums cover, whatever question they answer.
///
/// # Errors
/// Bytes that are not partial sums; positions in two of them.
pub fn covered(parts: &[impl AsRef<[u8]>]) -> Result<Positions, Error> {
    let mut spans = Vec::new();
    for part in parts {
        let own = sums::PartialSum::public_in(part.as_ref());
        let (_, own) = own.map_err(Error::other)?;
        spans.extend_from_slice(own.spans());
    }
    Positions::new(spans).map_err(Error::other)
}

/// Adds up partial sums of one batch, on the way to the run: as private as the rows.
///
/// # Errors
/// Partial sums of another question; positions or a person in two of them.
pub fn merge(question: &[u8], parts: &[impl AsRef<[u8]>]) -> Result<Vec<u8>, Error> {
    let question = Question::from_bytes(question).map_err(Error::other)?;
    let all = sums::PartialSum::of_parts(&question, parts).map_err(Error::other)?;
    all.seal_to_bytes().map_err(Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_one_name() {
        for (given, name) in [
            ("a.csv", "a.csv"),
            ("./a.csv", "a.csv"),
            ("day//a.csv", "day/a.csv"),
            ("./day/./a.csv", "day/a.csv"),
            ("/data/a.csv", "/data/a.csv"),
            ("../a.csv", "../a.csv"),
        ] {
            assert_eq!(partition(given), name);
        }
    }
}
