//! The authority's side: asks, and takes each batch of a source exactly once.

use super::delivery::{Delivery, DeliveryError, Verdict};
use super::partial::{PartialSum, PartialSumError};
use super::question::{Ask, Place, Question, QuestionError, Written, name_of};
use crate::boundary::{GuaranteeKind, Pending};
use crate::mechanism::Machine;
use crate::moments::Image;
use crate::persons::{NOBODY, Participation};
use crate::sums::plan::Geometry;
use crate::sums::{PrivateSum, SumError};
use crate::tables::TableMap;

/// What became of a batch.
pub enum Committed<G> {
    /// It was taken: the release that it made.
    Taken(Pending<Vec<f64>, G>),
    /// It was taken before, as the last one, and was not added again: its release, bit for bit.
    Again(Pending<Vec<f64>, G>),
    /// It was taken before the last one, and was not added again.
    Old,
}

impl<G: GuaranteeKind> PrivateSum<G> {
    /// The question of the next item, with a public note of the caller's.
    ///
    /// # Errors
    /// A plan of another geometry, or of several passes; persons whose limits do not follow from
    /// slots; a loss without a name; an item that is open; the last planned release.
    pub fn question(&self, ask: Ask<'_>, note: Vec<u8>) -> Result<Question, SumError> {
        self.diary.check_open()?;
        let request = self.plan().request();
        let fits = match (ask, &request.geometry) {
            (Ask::Vector, Geometry::Ball) | (Ask::Statistics, Geometry::Statistics(_)) => true,
            (Ask::Gradient(loss, weights), Geometry::Ball) => {
                let dimension = request.dimension as usize;
                loss.dimension() == dimension && weights.len() == dimension
            }
            (Ask::Moments(moments), _) => request.fits_moments(moments),
            (Ask::Tables(map, response, _), _) => request.fits_tables(map, response),
            _ => false,
        };
        if !fits {
            return Err(SumError::Geometry);
        }
        let (place, lattice) = (self.place()?, &self.mechanism.lattice);
        Ok(Question::new(place, lattice, ask, &request.geometry, note)?)
    }

    /// Where the next item stands in its run.
    fn place(&self) -> Result<Place, SumError> {
        let plan = self.plan();
        let request = plan.request();
        if !self.mechanism.is_empty() {
            return Err(SumError::Mixed(
                "an item of records that were added one by one is open: close it first",
            ));
        }
        let slots = match request.participation {
            Participation::OncePerRecord => None,
            // One contribution to each item of a slot: ⌈T/m⌉ at most.
            Participation::PerPerson { most, separation } => {
                if most < plan.most_releases().div_ceil(separation) {
                    return Err(SumError::Slots {
                        separation,
                        needed: plan.most_releases().div_ceil(separation),
                        most,
                    });
                }
                Some(separation)
            }
            Participation::Passes { .. } => {
                return Err(SumError::Mixed(
                    "a run of several passes reads the same records again, and a source's records \
                     are taken once: plan one pass",
                ));
            }
        };
        let (ledger, number, stored) = self.diary.identity();
        let next = self.diary.items() + 1;
        Ok(Place {
            run: name_of(&[b"hushstream run", ledger, &number.to_le_bytes(), stored]),
            item: self.steps() + 1,
            octave: self.plan().fields.strategy.part(next),
            most: request.batch,
            slots,
        })
    }

    /// Whether a batch would be taken; if so, its records must answer the present question. Changes
    /// nothing.
    ///
    /// # Errors
    /// A batch that would be refused: its people would be counted twice, or left out.
    pub fn would_take(&self, delivery: &Delivery) -> Result<bool, SumError> {
        Ok(self.verdict(delivery)? == Verdict::Next)
    }

    fn verdict(&self, delivery: &Delivery) -> Result<Verdict, SumError> {
        let last = self.mechanism.delivered.as_ref();
        if last.is_none() && self.steps() > 0 && !delivery.is_accepted() {
            return Err(DeliveryError::Unknown.into());
        }
        Ok(delivery.verdict(last)?)
    }

    /// The source and the number of the last batch in the journal.
    #[must_use]
    pub fn delivered(&self) -> Option<(&str, u64)> {
        self.mechanism.delivered.as_ref().map(|last| last.name())
    }

    /// Takes a batch of a source as the next item: what its records answered to `question`, which
    /// must be the present one. A batch that was taken before is not added again; whether it was is
    /// decided by names and positions alone, before the partial sum is looked at.
    ///
    /// # Errors
    /// A batch whose people would be counted twice or left out; a partial sum of another question
    /// or of other positions; the last planned release; storage.
    pub fn commit(
        &mut self,
        question: &Question,
        delivery: &Delivery,
        partial: PartialSum,
    ) -> Result<Committed<G>, SumError> {
        match self.verdict(delivery)? {
            Verdict::Old => return Ok(Committed::Old),
            Verdict::Last => return Ok(Committed::Again(self.repeated())),
            Verdict::Next => {}
        }
        self.check_current(question)?;
        partial.check(question)?;
        let PartialSum { fields, .. } = partial;
        if let Some(span) = fields.positions.difference(delivery.positions()) {
            return Err(PartialSumError::OtherPositions(span).into());
        }
        let mut values = fields.values;
        if let Written::Moments(moments) = &question.fields.ask {
            let radius = question.lattice.radius();
            Image::new(moments.weight(), radius).apply(moments, &mut values);
        }
        let (limits, next) = (
            self.plan().request().participation.limits(),
            self.diary.items() + 1,
        );
        let counted = || fields.persons.iter().filter(|&&person| person != NOBODY);
        let persons = &self.mechanism.persons;
        if !counted().all(|&person| persons.admits(limits, person, next)) {
            return Err(PartialSumError::PersonTwice.into());
        }
        self.begin_record()?;
        let sum = &mut self.mechanism;
        for &person in counted() {
            sum.persons.admit(limits, person, next);
        }
        sum.item.values = values;
        (sum.item.nulls, sum.item.clipped) = (fields.nulls, fields.clipped);
        sum.item.persons = fields.persons;
        sum.in_batch = fields.records;
        sum.incoming = Some(delivery.clone());
        // A sum makes a release at every step.
        Ok(self.end_item()?.map_or(Committed::Old, Committed::Taken))
    }

    /// Refuses a question that is not the present one.
    fn check_current(&self, question: &Question) -> Result<(), SumError> {
        let (place, asked) = (self.place()?, &question.fields);
        if asked.run != place.run {
            return Err(PartialSumError::OtherRun.into());
        }
        if asked.item != place.item {
            return Err(PartialSumError::OtherItem {
                made: asked.item,
                asked: place.item,
            }
            .into());
        }
        let is_current = asked.octave == place.octave
            && asked.most == place.most
            && asked.slots == place.slots
            && question.lattice == self.mechanism.lattice
            && self.pays_for(&asked.ask)?;
        if is_current {
            Ok(())
        } else {
            Err(PartialSumError::OtherQuestion.into())
        }
    }

    /// Whether the plan's price is for what a question asks. A question may come from outside, and
    /// on the same lattice other contributions are further apart: vectors of a ball 2 radii, second
    /// moments 1.44.
    fn pays_for(&self, ask: &Written) -> Result<bool, SumError> {
        let request = self.plan().request();
        Ok(match (ask, &request.geometry) {
            (Written::Vector | Written::Gradient { .. }, Geometry::Ball) => true,
            (Written::Moments(moments), _) => request.fits_moments(moments),
            (Written::Statistics(asked), Geometry::Statistics(own)) => asked == own,
            (
                Written::Tables {
                    map,
                    response,
                    sixteenths,
                    ..
                },
                Geometry::Tables {
                    counts,
                    sixteenths: own,
                },
            ) => {
                let map = TableMap::new(map.into()).map_err(QuestionError::from)?;
                let weight = if *counts > 0 { *own } else { 0 };
                *sixteenths == weight && request.fits_tables(&map, response.checked()?)
            }
            _ => false,
        })
    }

    /// The last release, again.
    fn repeated(&mut self) -> Pending<Vec<f64>, G> {
        let value = self.mechanism.last_release();
        self.diary.pending(value)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Positions, Span};
    use super::*;
    use crate::boundary::{Raw, Transcript};
    use crate::durable::{FileStorage, Ledger};
    use crate::lattice::Contribution;
    use crate::losses::Bounds;
    use crate::moments::Moments;
    use crate::sums::{Noise, SumKind, SumRequest};
    use hushstream_account::{Adjacency, Budget, FilterKind};
    use hushstream_noise::Key;

    /// Second moments are priced by their own distance: a question about vectors on the same
    /// lattice would let a record move more than was paid for.
    #[test]
    fn a_question_of_another_geometry_is_refused() {
        let moments = Moments::new(3, Bounds::new(2.0, (-1.0, 1.0), 3.0).unwrap());
        let plan = SumRequest {
            kind: SumKind::Tree,
            noise: Noise::Gaussian,
            releases: 8,
            dimension: moments.dimension() as u32,
            bound: moments.bound(),
            geometry: Geometry::Moments(moments.weight()),
            least_sigma: 0.0,
            batch: 4,
            adjacency: Adjacency::ReplaceOne,
            participation: Participation::OncePerRecord,
            budget: Budget::approx(1.0, 1e-6).unwrap(),
        }
        .plan()
        .unwrap();
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| FileStorage::open(directory.path().join(name)).unwrap();
        let (key, scope) = (Key::insecure_from_seed(5), plan.scope());
        let budget = plan.request().budget;
        let mut ledger = Ledger::create(file("ledger"), budget, FilterKind::Gaussian, scope);
        let ledger = ledger.as_mut().unwrap();
        let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
        let mut sum =
            PrivateSum::<Transcript>::open(plan, grant, &key, ledger, file("journal")).unwrap();
        let honest = sum.question(Ask::Moments(&moments), Vec::new()).unwrap();
        let mut fields = honest.fields.clone();
        fields.ask = Written::Vector;
        let forged = Question::checked(fields).unwrap();
        let span = Span {
            partition: "p".into(),
            start: 0,
            end: 1,
        };
        let mut worker = forged.worker().unwrap();
        let vector = Contribution::Dense(vec![1.0; moments.dimension()]);
        worker.add_vector(None, Raw::seal(vector)).unwrap();
        let partial = worker.finish([span.clone()]).unwrap();
        let delivery = Delivery::new("s", 0, Positions::new([span]).unwrap()).unwrap();
        let refused = sum.commit(&forged, &delivery, partial);
        assert!(matches!(
            refused,
            Err(SumError::Partial(PartialSumError::OtherQuestion))
        ));
        assert_eq!(sum.steps(), 0);
    }
}
