//! Sums of records made elsewhere, and their bytes.
//!
//! **As private as the records**: a partial sum of one record is that record's gradient. No
//! `Debug`, no `Clone`; the bytes belong on encrypted connections and disks, never into a log.
//!
//! Format: the eight bytes `HUSHSUM` and version; the fields in postcard, every number that depends
//! on records in a fixed width; the first sixteen bytes of the SHA-256 of all before, which show
//! that nothing was cut off. So the length depends on the question and on the positions alone (and,
//! where persons have slots, on the number of records).
//!
//! **Checks on receipt** ([`PartialSum::from_bytes`]): the same run, item and question; no more
//! records than the item may have, or than there are positions; integers that so many records can
//! add up to (`Lattice::holds_sum`; counts that are not negative; moments that satisfy the
//! inequalities of `Moments::holds`). They catch a mix-up, a rotten byte and a radius of another
//! octave. They do not prove that a worker counted every record once: workers are trusted.

use super::delivery::{DeliveryError, Positions, Span};
use super::question::{Name, Question, QuestionError, Written, name_of, read, write};
use super::sealed;
use crate::durable::packed;
use crate::persons::{NOBODY, in_slot};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

const MAGIC: &[u8; 7] = b"HUSHSUM";

/// Records summed elsewhere: exact integers, so neither order nor split changes the result. As
/// private as the records.
pub struct PartialSum {
    pub(super) fields: Fields,
    most: u64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Fields {
    run: Name,
    question: Name,
    item: u64,
    pub(super) positions: Positions,
    #[serde(with = "postcard::fixint::le")]
    pub(super) records: u64,
    #[serde(with = "postcard::fixint::le")]
    pub(super) nulls: u64,
    #[serde(with = "postcard::fixint::le")]
    pub(super) clipped: u64,
    #[serde(with = "packed")]
    pub(super) values: Vec<i64>,
    /// One name for each record, if persons have slots: that of its person if the record counts.
    #[serde(with = "packed")]
    pub(super) persons: Vec<u64>,
}

/// A partial sum that does not fit.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PartialSumError {
    /// The item has no room for more records.
    #[error("an item of this run holds at most {0} records: make smaller batches")]
    Full(u64),
    /// Another run.
    #[error("the partial sum was made for another run")]
    OtherRun,
    /// An old question.
    #[error(
        "the partial sum was made for item {made}, and item {asked} is asked for: it answers an \
         old question; ask its records again"
    )]
    OtherItem {
        /// Its item.
        made: u64,
        /// The item of the question.
        asked: u64,
    },
    /// The same item with other weights or another lattice.
    #[error(
        "the partial sum answers another question about this item, with other weights or another \
         lattice: ask its records again"
    )]
    OtherQuestion,
    /// Bytes that are none, or a version that is not read.
    #[error("not a partial sum: {0}")]
    Bytes(QuestionError),
    /// A sealed partial sum that was not opened.
    #[error(
        "the partial sum is sealed, and this run's key does not open it: it was sealed to another \
         key, or its bytes, question or positions were changed on the way; make it again"
    )]
    Sealed,
    /// A text that is not a key to seal to.
    #[error("not a key to seal to; expected the 64 hexadecimal digits that the run gave out")]
    SealingKey,
    /// Integers that no such records add up to.
    #[error(
        "the integers of the partial sum cannot be the sum of its {0} records: its worker runs \
         another program, or its bytes have changed"
    )]
    TooLarge(u64),
    /// A record without its person, or with a person where there are none.
    #[error("{0}")]
    Person(&'static str),
    /// A person in two places.
    #[error(
        "a person is in two partial sums of one item, and may contribute one record to it: send all \
         records of a person to one worker"
    )]
    PersonTwice,
    /// Positions.
    #[error(transparent)]
    Positions(#[from] DeliveryError),
    /// Other positions than the batch has.
    #[error(
        "the partial sums and the batch do not cover the same positions, at {0}: people would be \
         left out, or counted with another batch; add the partial sum that is missing, or leave \
         out the one that is too many"
    )]
    OtherPositions(Span),
    /// Fewer positions than records.
    #[error(
        "{records} records cannot come from {positions} positions: some were counted twice, or the \
         positions are those of another batch"
    )]
    MoreThanPositions {
        /// Records.
        records: u64,
        /// Positions.
        positions: u64,
    },
}

impl PartialSum {
    pub(super) fn new(question: &Question) -> Self {
        Self {
            fields: Fields {
                run: question.fields.run,
                question: question.name,
                item: question.fields.item,
                positions: Positions::default(),
                records: 0,
                nulls: 0,
                clipped: 0,
                values: vec![0; question.lattice.dimension()],
                persons: Vec::new(),
            },
            most: question.fields.most,
        }
    }

    /// Whether one more record fits.
    pub(super) fn check_room(&self) -> Result<(), PartialSumError> {
        if self.fields.records < self.most {
            Ok(())
        } else {
            Err(PartialSumError::Full(self.most))
        }
    }

    /// Adds all records of another partial sum of the same item.
    ///
    /// # Errors
    /// The two answer different questions, cover the same positions or hold the same person, or
    /// exceed an item together. This one is then unchanged.
    pub fn merge(&mut self, other: Self) -> Result<(), PartialSumError> {
        let (own, other) = (&mut self.fields, other.fields);
        if own.run != other.run {
            return Err(PartialSumError::OtherRun);
        }
        if own.item != other.item {
            return Err(PartialSumError::OtherItem {
                made: other.item,
                asked: own.item,
            });
        }
        if own.question != other.question {
            return Err(PartialSumError::OtherQuestion);
        }
        if own.records + other.records > self.most {
            return Err(PartialSumError::Full(self.most));
        }
        let mut seen: HashSet<u64> = own.persons.iter().copied().collect();
        let mut others = other.persons.iter().filter(|&&person| person != NOBODY);
        if !others.all(|&person| seen.insert(person)) {
            return Err(PartialSumError::PersonTwice);
        }
        own.positions = own.positions.clone().with(other.positions)?;
        // Below 2⁶¹: no more than the most records of an item.
        for (total, value) in own.values.iter_mut().zip(&other.values) {
            *total += value;
        }
        own.records += other.records;
        own.nulls += other.nulls;
        own.clipped += other.clipped;
        own.persons.extend(other.persons);
        Ok(())
    }

    /// Number of records. Public: it counts arrivals, empty ones included.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.fields.records
    }

    /// The positions that it covers. Public.
    #[must_use]
    pub fn positions(&self) -> &Positions {
        &self.fields.positions
    }

    /// The partial sum as bytes, **which are as private as its records**.
    ///
    /// # Errors
    /// None: what was summed can be written.
    pub fn seal_to_bytes(&self) -> Result<Vec<u8>, PartialSumError> {
        let mut bytes = write(&self.fields, MAGIC)
            .map_err(|_| PartialSumError::Bytes(QuestionError::NotAQuestion))?;
        let name = name_of(&[&bytes]);
        bytes.extend_from_slice(&name);
        Ok(bytes)
    }

    /// A partial sum from bytes, which are not trusted, for this question.
    ///
    /// # Errors
    /// Bytes that are not a partial sum of this version; one that was made for another run, item or
    /// question; integers that no such records add up to.
    pub fn from_bytes(question: &Question, bytes: &[u8]) -> Result<Self, PartialSumError> {
        if sealed::is_sealed(bytes) {
            return Err(PartialSumError::Sealed);
        }
        let fields: Fields = read(bytes, MAGIC).map_err(PartialSumError::Bytes)?;
        let partial = Self {
            fields,
            most: question.fields.most,
        };
        partial.check(question)?;
        Ok(partial)
    }

    /// The sum of all records of some partial sums, of which there may be none, from bytes, which
    /// are not trusted.
    ///
    /// # Errors
    /// As [`PartialSum::from_bytes`] and [`PartialSum::merge`].
    pub fn of_parts(
        question: &Question,
        parts: &[impl AsRef<[u8]>],
    ) -> Result<Self, PartialSumError> {
        let mut all = Self::new(question);
        for part in parts {
            all.merge(Self::from_bytes(question, part.as_ref())?)?;
        }
        Ok(all)
    }

    /// What is public in the bytes of a partial sum, sealed or not, whatever question they answer:
    /// the question's name, and the positions.
    ///
    /// # Errors
    /// Bytes that are not a partial sum of this version.
    pub fn public_in(bytes: &[u8]) -> Result<([u8; 16], Positions), PartialSumError> {
        if let Some(public) = sealed::public_in(bytes) {
            return Ok(public);
        }
        let fields: Fields = read(bytes, MAGIC).map_err(PartialSumError::Bytes)?;
        Ok((fields.question, fields.positions))
    }

    /// The checks on receipt.
    pub(super) fn check(&self, question: &Question) -> Result<(), PartialSumError> {
        let own = &self.fields;
        question.admits(&own.run, own.item, &own.question)?;
        if own.records > self.most {
            return Err(PartialSumError::Full(self.most));
        }
        let positions = own.positions.count();
        if own.records > positions {
            return Err(PartialSumError::MoreThanPositions {
                records: own.records,
                positions,
            });
        }
        let counted = own.nulls.saturating_add(own.clipped);
        let lattice = &question.lattice;
        let holds = match &question.fields.ask {
            Written::Vector | Written::Gradient { .. } => {
                lattice.holds_sum(&own.values, own.records)
            }
            Written::Moments(moments) => moments.holds(&own.values, own.records),
            Written::Statistics(statistics) => {
                statistics.holds_sum(&own.values, own.records, lattice.radius())
            }
            Written::Tables { sixteenths: 0, .. } => lattice.holds_sum(&own.values, own.records),
            Written::Tables {
                response,
                sixteenths,
                ..
            } => {
                let scores = response.checked().map_or(1, |response| response.scores());
                let counts = own.values.len() / (scores + 1);
                lattice.holds_tables(&own.values, counts, *sixteenths, own.records)
            }
        };
        if !holds || counted > own.records {
            return Err(PartialSumError::TooLarge(own.records));
        }
        self.check_persons(question)
    }

    /// Every person once, and only in its slot.
    fn check_persons(&self, question: &Question) -> Result<(), PartialSumError> {
        let own = &self.fields;
        let Some(slots) = question.fields.slots else {
            return if own.persons.is_empty() {
                Ok(())
            } else {
                Err(PartialSumError::Person("this run has no persons"))
            };
        };
        if own.persons.len() as u64 != own.records {
            return Err(PartialSumError::Person(
                "the partial sum does not tell the person of every record",
            ));
        }
        let mut seen = HashSet::new();
        for &person in own.persons.iter().filter(|&&person| person != NOBODY) {
            if !in_slot(person, slots, own.item) {
                return Err(PartialSumError::Person(
                    "a person contributes to an item of another slot",
                ));
            }
            if !seen.insert(person) {
                return Err(PartialSumError::PersonTwice);
            }
        }
        Ok(())
    }
}
