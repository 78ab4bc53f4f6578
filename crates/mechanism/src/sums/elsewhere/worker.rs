//! A worker: from a question and sealed records to a partial sum.

use super::delivery::Span;
use super::partial::{PartialSum, PartialSumError};
use super::question::{Question, QuestionError, Written};
use crate::boundary::Raw;
use crate::lattice::{Contribution, Outcome};
use crate::losses::{Features, Loss, Record, multiple};
use crate::moments::Block;
use crate::persons::{NOBODY, in_slot, person_name};
use crate::tables::{Response, TableForm, TableMap};
use std::collections::HashSet;
use std::sync::Arc;

/// Forms what records contribute, and adds it up. It holds no key, draws no noise, and its result
/// is as private as the records.
pub struct Worker {
    question: Question,
    form: Form,
    partial: PartialSum,
    /// Persons with a record in the sum.
    seen: HashSet<u64>,
    /// Memory of the last record, for one to come.
    spare: Vec<f64>,
}

/// What turns a record into integers.
enum Form {
    Vector,
    Gradient(Arc<dyn Loss>),
    Moments(Block),
    Tables(Box<(TableMap, Response, TableForm)>),
    Statistics,
}

impl Worker {
    pub(super) fn new(question: &Question) -> Result<Self, QuestionError> {
        let form = match &question.fields.ask {
            Written::Vector => Form::Vector,
            Written::Statistics(_) => Form::Statistics,
            Written::Gradient { loss, .. } => Form::Gradient(loss.build()?),
            Written::Moments(moments) => Form::Moments(Block::new(moments)),
            Written::Tables {
                map,
                response,
                sixteenths,
                ..
            } => {
                let (map, response) = (TableMap::new(map.into())?, response.checked()?);
                let radius = question.lattice.radius();
                let form = TableForm::new(&map, response, *sixteenths, radius);
                Form::Tables(Box::new((map, response, form)))
            }
        };
        Ok(Self {
            question: question.clone(),
            form,
            partial: PartialSum::new(question),
            seen: HashSet::new(),
            spare: Vec::new(),
        })
    }

    /// Adds one record. `person` must be given if and only if the question has persons. A record
    /// outside its person's slot, or the second one of a person, counts as null.
    ///
    /// # Errors
    /// The item is full; a question about vectors; a person that is missing or not asked for.
    pub fn add(&mut self, person: Option<u64>, record: Raw<Record>) -> Result<(), PartialSumError> {
        if matches!(self.form, Form::Vector) {
            return Err(PartialSumError::Bytes(QuestionError::Unfit(
                "it asks for vectors, which add_vector adds",
            )));
        }
        let record = record.open();
        let added = self.count(person, |question, form, values| {
            let lattice = &question.lattice;
            match (form, &question.fields.ask) {
                (Form::Gradient(loss), Written::Gradient { weights, .. }) => {
                    match multiple(loss.as_ref(), &record, weights, None) {
                        Some(multiple) => lattice.add_multiple(&record.features, multiple, values),
                        None => lattice.add(&loss.gradient(record.duplicate(), weights), values),
                    }
                }
                (Form::Moments(block), _) => block.add(&record, values),
                (Form::Tables(tables), Written::Tables { weights, .. }) => {
                    let (map, response, form) = &mut **tables;
                    form.add(map, *response, weights, &record, None, Some(values))
                }
                (Form::Statistics, Written::Statistics(statistics)) => {
                    statistics.add(&record, lattice.radius(), values)
                }
                _ => Outcome::Null,
            }
        });
        if let Features::Dense(mut values) = record.features {
            values.clear();
            self.spare = values;
        }
        added
    }

    /// The memory of the last record, empty, for one to come.
    #[must_use]
    pub fn spare(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.spare)
    }

    /// Adds one vector as it is, clipped to the bound.
    ///
    /// # Errors
    /// As [`Worker::add`]; a question that forms its vectors from records.
    pub fn add_vector(
        &mut self,
        person: Option<u64>,
        vector: Raw<Contribution>,
    ) -> Result<(), PartialSumError> {
        if !matches!(self.form, Form::Vector) {
            return Err(PartialSumError::Bytes(QuestionError::Unfit(
                "it forms gradients, moments or tables from records itself",
            )));
        }
        let vector = vector.open();
        self.count(person, |question, _, values| {
            question.lattice.add(&vector, values)
        })
    }

    fn count(
        &mut self,
        person: Option<u64>,
        form: impl FnOnce(&Question, &mut Form, &mut [i64]) -> Outcome,
    ) -> Result<(), PartialSumError> {
        self.partial.check_room()?;
        let fields = &mut self.partial.fields;
        let person = match (person, self.question.fields.slots) {
            (None, None) => None,
            (Some(person), Some(slots)) => Some((person_name(person), slots)),
            (None, Some(_)) => {
                return Err(PartialSumError::Person(
                    "this run limits persons: state the person of every record",
                ));
            }
            (Some(_), None) => {
                return Err(PartialSumError::Person(
                    "this run protects records: state no person",
                ));
            }
        };
        let item = self.question.fields.item;
        let is_admitted = person.is_none_or(|(person, slots)| {
            in_slot(person, slots, item) && !self.seen.contains(&person)
        });
        let outcome = if is_admitted {
            form(&self.question, &mut self.form, &mut fields.values)
        } else {
            Outcome::Null
        };
        if let Some((person, _)) = person {
            // A record that adds nothing takes no one's turn.
            let counts = is_admitted && outcome != Outcome::Null;
            fields.persons.push(if counts { person } else { NOBODY });
            if counts {
                self.seen.insert(person);
            }
        }
        match outcome {
            Outcome::Kept => {}
            Outcome::Clipped => fields.clipped += 1,
            Outcome::Null => fields.nulls += 1,
        }
        fields.records += 1;
        Ok(())
    }

    /// Number of records so far.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.partial.fields.records
    }

    /// The partial sum of the records, which came from these positions.
    ///
    /// # Errors
    /// Ranges that overlap; fewer positions than records.
    pub fn finish(
        mut self,
        spans: impl IntoIterator<Item = Span>,
    ) -> Result<PartialSum, PartialSumError> {
        let fields = &mut self.partial.fields;
        if let Form::Moments(block) = &mut self.form {
            block.flush(&mut fields.values);
        }
        fields.positions = super::Positions::new(spans)?;
        self.partial.check(&self.question)?;
        Ok(self.partial)
    }
}
