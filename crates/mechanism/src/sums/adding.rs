//! The inputs of a private sum: sealed contributions, gradients, second moments, tables.

use super::error::SumError;
use super::plan::Geometry;
use super::sum::{PrivateSum, Sum};
use crate::boundary::{GuaranteeKind, Pending, Raw};
use crate::lattice::{Contribution, Outcome};
use crate::losses::{Bounds, Features, Link, Loss, Multiple, Record, Records, multiple};
use crate::mechanism::Machine;
use crate::moments::{Block, Moments};
use crate::persons::{Participation, person_name};
use crate::scoreboard::Scoreboard;
use crate::tables::{Response, TableForm, TableMap};
use std::ops::Range;

/// How many records were added, and the release of the item that they completed.
type Added<G> = (usize, Option<Pending<Vec<f64>, G>>);

impl<G: GuaranteeKind> PrivateSum<G> {
    /// Adds one record. When it completes an item (always, if the batch is 1), the next prefix sum
    /// is drawn.
    ///
    /// # Errors
    /// [`DiaryError::Exhausted`](crate::DiaryError::Exhausted) after the last planned release; a
    /// plan that limits persons; storage.
    pub fn add(
        &mut self,
        contribution: Raw<Contribution>,
    ) -> Result<Option<Pending<Vec<f64>, G>>, SumError> {
        self.refuse_moments()?;
        self.add_of(None, |sum| sum.take(contribution))
    }

    /// Adds one record of a person; it counts as null if the person has contributed often enough.
    ///
    /// # Errors
    /// As [`PrivateSum::add`]; a plan that does not limit persons.
    pub fn add_for(
        &mut self,
        person: u64,
        contribution: Raw<Contribution>,
    ) -> Result<Option<Pending<Vec<f64>, G>>, SumError> {
        self.refuse_moments()?;
        self.add_of(Some(person), |sum| sum.take(contribution))
    }

    /// Computes the gradient of `loss` at `weights` for one record, and adds it. `weights` is the
    /// question: public, or about to be.
    ///
    /// # Errors
    /// As [`PrivateSum::add`] and [`PrivateSum::add_for`].
    pub fn add_gradient(
        &mut self,
        person: Option<u64>,
        loss: &dyn Loss,
        weights: &[f64],
        record: Raw<Record>,
    ) -> Result<Option<Pending<Vec<f64>, G>>, SumError> {
        self.add_scored_gradient(person, loss, weights, record, None)
    }

    /// The same; the operator's board, if there is one, first scores the record at these weights,
    /// and what it measures is not measured again.
    ///
    /// # Errors
    /// As [`PrivateSum::add_gradient`].
    pub fn add_scored_gradient(
        &mut self,
        person: Option<u64>,
        loss: &dyn Loss,
        weights: &[f64],
        record: Raw<Record>,
        board: Option<&mut Scoreboard>,
    ) -> Result<Option<Pending<Vec<f64>, G>>, SumError> {
        let record = record.open();
        let measured = board.and_then(|board| board.look_at(&record, weights));
        self.refuse_moments()?;
        match multiple(loss, &record, weights, measured) {
            Some(multiple) => {
                let added =
                    self.add_of(person, |sum| sum.take_multiple(&record.features, multiple));
                self.mechanism.empty(record);
                added
            }
            None => {
                let gradient = Raw::seal(loss.gradient(record, weights));
                self.add_of(person, |sum| sum.take(gradient))
            }
        }
    }

    /// Adds the gradients at `weights` of some records, one after the other, up to the end of the
    /// item, and returns how many they are. The operator's board, if there is one, first scores
    /// them. Integers and figures are those of [`PrivateSum::add_scored_gradient`].
    ///
    /// # Errors
    /// A plan of another geometry; as [`PrivateSum::add`].
    pub fn add_scored_gradients(
        &mut self,
        (link, bounds): (Link, Bounds),
        weights: &[f64],
        (records, range): (&Raw<Records>, Range<usize>),
        board: Option<&mut Scoreboard>,
    ) -> Result<Added<G>, SumError> {
        self.refuse_moments()?;
        let mut added = 0;
        let release = self.add_any(None, |sum, _| {
            let room = sum.plan.request().batch - sum.in_batch;
            added = usize::try_from(room).map_or(range.len(), |room| range.len().min(room));
            let range = range.start..range.start + added;
            sum.take_gradients((link, &bounds), weights, (records.peek(), range), board);
        })?;
        Ok((added, release))
    }

    /// Adds one record's residuals at `weights`, times its hats and cells, and its counts. The
    /// operator's board, if there is one, first scores it with other weights, the published ones.
    ///
    /// # Errors
    /// A plan of another geometry; as [`PrivateSum::add`] and [`PrivateSum::add_for`].
    pub fn add_table(
        &mut self,
        person: Option<u64>,
        map: &TableMap,
        response: Response,
        weights: &[f64],
        record: Raw<Record>,
        board: Option<(&mut Scoreboard, &[f64])>,
    ) -> Result<Option<Pending<Vec<f64>, G>>, SumError> {
        let request = self.plan().request();
        let Geometry::Tables { counts, sixteenths } = request.geometry else {
            return Err(SumError::Geometry);
        };
        if !request.fits_tables(map, response) {
            return Err(SumError::Geometry);
        }
        self.add_any(person, |sum, is_admitted| {
            let radius = sum.lattice.radius();
            let weight = if counts > 0 { sixteenths } else { 0 };
            let new = || TableForm::new(map, response, weight, radius);
            let form = sum.form.get_or_insert_with(new);
            let record = record.open();
            // A record that is one too many is scored, and adds nothing.
            let values = is_admitted.then_some(&mut sum.item.values[..]);
            let outcome = form.add(map, response, weights, &record, board, values);
            sum.count(if is_admitted { outcome } else { Outcome::Null });
            sum.empty(record);
        })
    }

    /// Adds one record's second moments.
    ///
    /// # Errors
    /// A plan of another geometry; as [`PrivateSum::add`] and [`PrivateSum::add_for`].
    pub fn add_moments(
        &mut self,
        person: Option<u64>,
        moments: &Moments,
        record: Raw<Record>,
    ) -> Result<Option<Pending<Vec<f64>, G>>, SumError> {
        let request = self.plan().request();
        let same = request.fits_moments(moments);
        let block = &mut self.mechanism.block;
        if !same || block.as_ref().is_some_and(|block| !block.is_for(moments)) {
            return Err(SumError::Geometry);
        }
        block.get_or_insert_with(|| Block::new(moments));
        let record = record.open();
        let added = self.add_of(person, |sum| sum.take_moments(&record));
        self.mechanism.empty(record);
        added
    }

    /// Adds one record to the plan's statistics.
    ///
    /// # Errors
    /// A plan of another geometry; as [`PrivateSum::add`] and [`PrivateSum::add_for`].
    pub fn add_statistics(
        &mut self,
        person: Option<u64>,
        record: Raw<Record>,
    ) -> Result<Option<Pending<Vec<f64>, G>>, SumError> {
        let Geometry::Statistics(_) = self.plan().request().geometry else {
            return Err(SumError::Geometry);
        };
        let record = record.open();
        self.add_of(person, |sum| sum.take_statistics(&record))
    }

    fn refuse_moments(&self) -> Result<(), SumError> {
        match self.plan().request().geometry {
            Geometry::Ball => Ok(()),
            Geometry::Moments(_)
            | Geometry::Tables { .. }
            | Geometry::Statistics(_)
            | Geometry::Decisions { .. } => Err(SumError::Geometry),
        }
    }

    /// Adds one record: `take` adds its contribution, unless its person has contributed often
    /// enough.
    fn add_of(
        &mut self,
        person: Option<u64>,
        take: impl FnOnce(&mut Sum<G>),
    ) -> Result<Option<Pending<Vec<f64>, G>>, SumError> {
        self.add_any(person, |sum, is_admitted| {
            if is_admitted {
                take(sum);
            } else {
                sum.take(Raw::seal(Contribution::Null));
            }
        })
    }

    /// Adds one record, which `take` adds or counts as null.
    pub(super) fn add_any(
        &mut self,
        person: Option<u64>,
        take: impl FnOnce(&mut Sum<G>, bool),
    ) -> Result<Option<Pending<Vec<f64>, G>>, SumError> {
        let participation = self.plan().request().participation;
        let person = match (person, participation) {
            (None, Participation::OncePerRecord | Participation::Passes { .. }) => None,
            (Some(person), Participation::PerPerson { .. }) => Some(person),
            (None, Participation::PerPerson { .. }) => {
                return Err(SumError::Participation(
                    "per person",
                    "add_for, which names the person",
                ));
            }
            (Some(_), Participation::OncePerRecord | Participation::Passes { .. }) => {
                return Err(SumError::Participation("per record", "add"));
            }
        };
        if self.mechanism.delivered.is_some() {
            return Err(SumError::Mixed(
                "this run takes batches of a source: their positions tell which records were \
                 learned, and a record without a position could be learned twice; commit it in a \
                 batch",
            ));
        }
        self.check_room(1)?;
        self.begin_record()?;
        let next = self.diary.items() + 1;
        let person = person.map(person_name);
        let sum = &mut self.mechanism;
        sum.item.persons.extend(person);
        let limits = participation.limits();
        let is_admitted = person.is_none_or(|person| sum.persons.admit(limits, person, next));
        take(sum, is_admitted);
        if sum.is_complete() {
            sum.close_moments();
        }
        self.end_record()
    }

    /// From now on an item closes by [`PrivateSum::close_item`] alone, and never because it is
    /// full. The plan's batch is the most records that it may hold; one more is refused.
    pub fn close_by_clock(&mut self) {
        self.mechanism.by_clock = true;
    }

    /// Closes the item with the records it has, possibly none, and draws the next prefix sum.
    ///
    /// *When* an item closes may depend on arrivals and on the clock, never on what a record holds.
    /// A record is in one item, whatever the item's size, so the price is that of full items; and
    /// sums of fewer records are smaller, so nothing overflows that a full item would not.
    ///
    /// # Errors
    /// [`DiaryError::Exhausted`](crate::DiaryError::Exhausted) after the last planned release;
    /// storage.
    pub fn close_item(&mut self) -> Result<Option<Pending<Vec<f64>, G>>, SumError> {
        self.begin_record()?;
        self.mechanism.close_moments();
        self.end_item()
    }

    /// Refuses records beyond the most that an item may hold.
    fn check_room(&self, given: u64) -> Result<(), SumError> {
        let room = self.plan().request().batch - self.mechanism.in_batch;
        if given > room {
            return Err(SumError::BatchFull { room, given });
        }
        Ok(())
    }
}

impl<G: GuaranteeKind> Sum<G> {
    fn take(&mut self, contribution: Raw<Contribution>) {
        let (lattice, values) = (&self.lattice, &mut self.item.values);
        let outcome = lattice.add(&contribution.open(), values);
        self.count(outcome);
    }

    fn take_moments(&mut self, record: &Record) {
        if let Some(block) = &mut self.block {
            let outcome = block.add(record, &mut self.item.values);
            self.count(outcome);
        }
    }

    fn take_statistics(&mut self, record: &Record) {
        if let Geometry::Statistics(statistics) = &self.plan.request().geometry {
            let radius = self.lattice.radius();
            let outcome = statistics.add(record, radius, &mut self.item.values);
            self.count(outcome);
        }
    }

    /// Turns the exact second moments of a complete item into lattice integers.
    fn close_moments(&mut self) {
        if let Some(block) = &mut self.block {
            block.close(&mut self.item.values, self.lattice.radius());
        }
        if let Some(form) = &mut self.decisions {
            form.close(&mut self.item.values, self.lattice.radius());
        }
    }

    fn take_multiple(&mut self, features: &Features, multiple: Multiple) {
        let outcome = self
            .lattice
            .add_multiple(features, multiple, &mut self.item.values);
        self.count(outcome);
    }

    fn take_gradients(
        &mut self,
        (link, bounds): (Link, &Bounds),
        weights: &[f64],
        (records, range): (&Records, Range<usize>),
        board: Option<&mut Scoreboard>,
    ) {
        let measured = records.measured(range.clone(), weights);
        let each = || records.targets(range.clone()).iter().zip(&measured);
        if let Some(board) = board {
            each().for_each(|(target, measured)| board.note_measured(*target, *measured));
        }
        let multiples =
            each().map(|(target, measured)| link.multiple(bounds, *target, (*measured)?));
        let values = &mut self.item.values;
        let outcomes = self
            .lattice
            .add_multiples(records, range.clone(), multiples, values);
        outcomes.into_iter().for_each(|outcome| self.count(outcome));
    }

    /// Keeps the memory of a record that was added, and nothing that was in it.
    fn empty(&mut self, record: Record) {
        if let Features::Dense(mut values) = record.features {
            values.clear();
            self.spare = values;
        }
    }

    pub(super) fn count(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Kept => {}
            Outcome::Clipped => self.item.clipped += 1,
            Outcome::Null => self.item.nulls += 1,
        }
        self.in_batch += 1;
    }
}
