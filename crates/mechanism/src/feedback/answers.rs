//! Private feedback in progress: one sealed number per person goes in, one noisy mean per play
//! comes out.

use super::plan::{FeedbackError, FeedbackNoise, FeedbackPlan, SCALE};
use super::reading::{Answer, Ask, Reading};
use crate::boundary::{Pending, Raw, Transcript};
use crate::durable::{DiaryError, append, decode_first, encode};
use crate::losses::{Loss, Record};
use crate::mechanism::{Generators, Machine, Terms};
use crate::persons::{Admission, Participation};
use crate::private::Private;
use hushstream_account::{Guarantee, ParameterError};
use hushstream_noise::{DiscreteLaplace, Key, RoundedGaussian, Source};
use serde::{Deserialize, Serialize};

/// One item: the sum of a batch, and the counts after it.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Item {
    #[serde(with = "postcard::fixint::le")]
    sum: i64,
    #[serde(with = "postcard::fixint::le")]
    nulls: u64,
    #[serde(with = "postcard::fixint::le")]
    clipped: u64,
}

/// Feedback in progress.
pub type Answers = Private<Means>;

/// The mechanism of [`Answers`].
pub struct Means {
    plan: FeedbackPlan,
    source: Source,
    /// The incomplete batch, and the counts so far.
    item: Item,
    in_batch: u64,
    admission: Admission,
    reading: Option<Reading>,
}

impl Machine for Means {
    const KIND: &'static str = "feedback v3";

    type Plan = FeedbackPlan;
    type Given = ();
    type Release = f64;
    type Promise = Transcript;
    type Error = FeedbackError;

    fn store(plan: &FeedbackPlan) -> Result<Vec<u8>, DiaryError> {
        plan.request.participation.after(encode(plan)?)
    }

    fn load(stored: &[u8], (): ()) -> Result<FeedbackPlan, FeedbackError> {
        let (mut plan, rest): (FeedbackPlan, _) = decode_first(stored)?;
        plan.request.participation = Participation::read(rest)?;
        plan.check()?;
        Ok(plan)
    }

    fn terms(plan: &FeedbackPlan) -> Result<Terms, FeedbackError> {
        plan.terms()
    }

    fn begin(plan: FeedbackPlan, generators: Generators<'_>) -> Result<Self, FeedbackError> {
        Ok(Self {
            source: generators.source(0),
            admission: Admission::new(plan.request.participation),
            plan,
            item: Item::default(),
            in_batch: 0,
            reading: None,
        })
    }

    fn plan(&self) -> &FeedbackPlan {
        &self.plan
    }

    fn is_empty(&self) -> bool {
        self.in_batch == 0
    }

    fn is_complete(&self) -> bool {
        self.in_batch >= self.plan.request.batch
    }

    fn item(&self, out: Vec<u8>) -> Result<Vec<u8>, DiaryError> {
        let mut out = append(&self.item, out)?;
        self.admission.write(&mut out);
        Ok(out)
    }

    fn read_item(&mut self, t: u64, bytes: &[u8]) -> Result<(), FeedbackError> {
        let (item, names): (Item, _) = decode_first(bytes)?;
        let batch = self.plan.request.batch;
        let most = self.plan.radius.unsigned_abs() * batch;
        if item.sum.unsigned_abs() > most || !self.admission.read(t, names, batch) {
            return Err(FeedbackError::Stored);
        }
        self.item = item;
        Ok(())
    }

    fn step(&mut self, t: u64) -> Result<Option<f64>, FeedbackError> {
        let mut noise = [0];
        match self.plan.noise {
            FeedbackNoise::Laplace => DiscreteLaplace::new(SCALE).expect("2^30 is a scale").fill(
                &self.source,
                t,
                0,
                &mut noise,
            ),
            FeedbackNoise::Gaussian => {
                RoundedGaussian::STANDARD.fill(&self.source, t, 0, &mut noise);
            }
        }
        let noisy = self.item.sum + noise[0];
        (self.item.sum, self.in_batch) = (0, 0);
        self.admission.end_item();
        let batch = self.plan.request.batch as f64;
        Ok(Some(noisy as f64 * self.plan.unit() / batch))
    }

    /// Only the counts, and those of persons.
    fn state(&self) -> Result<Vec<u8>, DiaryError> {
        self.admission.after(encode(&self.item)?)
    }

    fn restore(&mut self, _t: u64, state: &[u8]) -> Result<(), FeedbackError> {
        let (item, persons) = decode_first(state)?;
        self.item = item;
        self.admission.restore(persons)?;
        if self.item.sum == 0 {
            Ok(())
        } else {
            Err(FeedbackError::Stored)
        }
    }

    fn counts(&self) -> (u64, u64) {
        (self.item.nulls, self.item.clipped)
    }

    fn guarantee(&self, steps: u64, simulated: bool) -> Result<Guarantee, FeedbackError> {
        let items = match self.plan.request.rounds {
            Some(_) => self.plan.most_items(),
            None => steps.max(1),
        };
        self.plan.promise(items, self.reading.as_ref(), simulated)
    }
}

impl Means {
    fn count(&mut self, answer: Answer) {
        self.in_batch += 1;
        let (range, radius) = (self.plan.request.range, self.plan.radius);
        self.item.sum += match answer {
            Answer::Told(value) if value.is_finite() => {
                self.item.clipped += u64::from(range.clip(value).to_bits() != value.to_bits());
                range.integer(radius, value)
            }
            Answer::Missing(value) if value.is_finite() => {
                self.item.nulls += 1;
                range.integer(radius, value)
            }
            _ => {
                self.item.nulls += 1;
                range.null_integer(radius)
            }
        };
    }
}

impl Answers {
    /// Adds to the guarantee that records gave their answers by this reading. It is not stored: the
    /// caller's note distinguishes runs.
    pub fn read_by(&mut self, reading: Reading) {
        self.mechanism.reading = Some(reading);
    }

    /// Adds one answer to the current play. When it completes a batch (always, if the batch is 1),
    /// the noisy mean is drawn. A number that is not finite is null, and counts as [`Range::null`].
    /// `person` must be given if and only if the plan limits persons; an answer beyond a person's
    /// limit is null.
    ///
    /// [`Range::null`]: super::Range::null
    ///
    /// # Errors
    /// The horizon is over; a person where none is expected, or none where one is; storage.
    pub fn answer(
        &mut self,
        person: Option<u64>,
        value: Raw<f64>,
    ) -> Result<Option<Pending<f64, Transcript>>, FeedbackError> {
        self.take(person, Answer::Told(value.open()))
    }

    fn take(
        &mut self,
        person: Option<u64>,
        answer: Answer,
    ) -> Result<Option<Pending<f64, Transcript>>, FeedbackError> {
        let person = self.plan().request.participation.name_of(person)?;
        self.begin_record()?;
        let item = self.diary.items() + 1;
        let is_admitted = self.mechanism.admission.admit(person, item);
        self.mechanism
            .count(if is_admitted { answer } else { Answer::Null });
        self.end_record()
    }

    /// Adds the answer of a person whose loss is linear in the play: ⟨losses, play⟩.
    ///
    /// # Errors
    /// As [`Answers::answer`].
    pub fn answer_linear(
        &mut self,
        person: Option<u64>,
        play: &[f64],
        losses: Raw<Vec<f64>>,
    ) -> Result<Option<Pending<f64, Transcript>>, FeedbackError> {
        let losses = losses.open();
        let value = if losses.len() == play.len() {
            losses.iter().zip(play).map(|(l, x)| l * x).sum()
        } else {
            f64::NAN // null
        };
        self.answer(person, Raw::seal(value))
    }

    /// Adds the answer of a person with one loss per arm. Only the loss of the played arm is read.
    ///
    /// # Errors
    /// As [`Answers::answer`].
    pub fn answer_arm(
        &mut self,
        person: Option<u64>,
        arm: usize,
        losses: Raw<Vec<f64>>,
    ) -> Result<Option<Pending<f64, Transcript>>, FeedbackError> {
        let value = losses.open().get(arm).copied().unwrap_or(f64::NAN);
        self.answer(person, Raw::seal(value))
    }

    /// Adds the answer of a record: its loss at the play.
    ///
    /// # Errors
    /// As [`Answers::answer`].
    pub fn answer_loss(
        &mut self,
        person: Option<u64>,
        loss: &dyn Loss,
        play: &[f64],
        record: Raw<Record>,
    ) -> Result<Option<Pending<f64, Transcript>>, FeedbackError> {
        let record = record.open();
        let value = if loss.is_null(&record, play) {
            f64::NAN
        } else {
            loss.value(&record, play)
        };
        self.answer(person, Raw::seal(value))
    }

    /// Adds the answer of a record according to a reading.
    ///
    /// # Errors
    /// A reading whose range is not the plan's; as [`Answers::answer`].
    pub fn answer_record(
        &mut self,
        person: Option<u64>,
        reading: &Reading,
        play: Ask<'_>,
        record: Raw<Record>,
    ) -> Result<Option<Pending<f64, Transcript>>, FeedbackError> {
        if reading.range() != self.plan().request.range {
            return Err(ParameterError::new(
                "range of a record's answers",
                reading.range().bound(),
                "the range that was planned for",
            )
            .into());
        }
        let record = record.open();
        self.take(person, reading.answer(&record, play))
    }

    /// A generator for the learner's coins, of this run and instance, separate from the noise.
    #[must_use]
    pub fn coins(&self, key: &Key) -> Source {
        self.diary.generators(key).source(1)
    }
}
