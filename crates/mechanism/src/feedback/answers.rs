//! Private answers at work: one sealed number a person goes in, one noisy mean a play comes out.

use super::plan::{FeedbackError, FeedbackNoise, FeedbackPlan, SCALE};
use super::reading::{Answer, Ask, Reading};
use crate::boundary::{Grant, OperatorOnly, Pending, Raw, Released, Transcript};
use crate::durable::{CameBack, Diary, DiaryError, FoundDiary, Ledger, Storage, decode, encode};
use crate::losses::{Loss, Record};
use hushstream_account::{Guarantee, ParameterError};
use hushstream_noise::{DiscreteLaplace, Key, RoundedGaussian, Source};
use serde::{Deserialize, Serialize};

const KIND: &str = "feedback v2";

/// One item: the sum of a batch, and the counts after it.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Item {
    #[serde(with = "postcard::fixint::le")]
    sum: i64,
    #[serde(with = "postcard::fixint::le")]
    nulls: u64,
    #[serde(with = "postcard::fixint::le")]
    clipped: u64,
}

/// Feedback in progress.
pub struct Answers {
    plan: FeedbackPlan,
    diary: Diary,
    source: Source,
    sum: i64,
    in_batch: u64,
    nulls: u64,
    clipped: u64,
}

/// Feedback that came back.
pub struct AnswersBack {
    /// Ready for the next answer.
    pub answers: Answers,
    /// How it came back.
    pub outcome: CameBack,
    /// The noisy means since the last checkpoint that are known.
    pub recent: Vec<Pending<f64, Transcript>>,
    /// The note of the last checkpoint.
    pub note: Option<Vec<u8>>,
}

impl Answers {
    /// Opens feedback that has been paid for. `storage` must be new; it will hold private data.
    ///
    /// # Errors
    /// A grant below the price, or used before; a journal that is not empty; storage.
    pub fn open(
        plan: FeedbackPlan,
        grant: Grant,
        key: &Key,
        ledger: &mut Ledger,
        storage: impl Storage + 'static,
    ) -> Result<Self, FeedbackError> {
        let (terms, bytes) = (plan.terms()?, encode(&plan)?);
        let diary = Diary::open(KIND, bytes, &terms, grant, key, ledger, Box::new(storage))?;
        Ok(Self::assemble(plan, diary, key))
    }

    fn assemble(plan: FeedbackPlan, diary: Diary, key: &Key) -> Self {
        Self {
            source: diary.source(key, 0),
            plan,
            diary,
            sum: 0,
            in_batch: 0,
            nulls: 0,
            clipped: 0,
        }
    }

    /// Continues from a journal, if the caller accepts the note of the last checkpoint.
    ///
    /// # Errors
    /// Another key or ledger; a journal that has been superseded or is not accepted; storage.
    pub fn resume(
        storage: impl Storage + 'static,
        key: &Key,
        ledger: &mut Ledger,
        last_published: Option<u64>,
        accepts: impl FnOnce(Option<&[u8]>) -> bool,
    ) -> Result<AnswersBack, FeedbackError> {
        let found = FoundDiary::read(KIND, Box::new(storage))?;
        let plan: FeedbackPlan = found.plan()?;
        plan.check()?;
        if !accepts(found.note()) {
            return Err(DiaryError::NotAccepted.into());
        }
        let note = found.note().map(<[u8]>::to_vec);
        let none: Option<[[u8; 8]; 2]> = None;
        let back = found.resume(&plan.terms()?, key, ledger, last_published, &none, true)?;
        let mut answers = Self::assemble(plan, back.diary, key);
        let mut recent = Vec::new();
        if back.outcome == CameBack::Continued {
            if let Some(kept) = back.checkpoint
                && let Some(counts) = decode::<Option<[[u8; 8]; 2]>>(&kept.state)?
            {
                [answers.nulls, answers.clipped] = counts.map(u64::from_le_bytes);
            }
            let most = answers.plan.radius * answers.plan.request.batch as i64;
            for item in back.items {
                let item: Item = decode(&item)?;
                if item.sum.abs() > most {
                    return Err(FeedbackError::Stored);
                }
                answers.diary.replayed();
                (answers.nulls, answers.clipped) = (item.nulls, item.clipped);
                recent.push(answers.noisy(item.sum));
            }
        }
        Ok(AnswersBack {
            answers,
            outcome: back.outcome,
            recent,
            note,
        })
    }

    /// One person's answer to the present play. When it completes a batch (always, if that is 1),
    /// the noisy mean is drawn. A number that is not finite is null, and counts as [`Range::null`].
    ///
    /// [`Range::null`]: super::Range::null
    ///
    /// # Errors
    /// The horizon is over; storage.
    pub fn answer(
        &mut self,
        value: Raw<f64>,
    ) -> Result<Option<Pending<f64, Transcript>>, FeedbackError> {
        self.take(Answer::Told(value.open()))
    }

    fn take(&mut self, answer: Answer) -> Result<Option<Pending<f64, Transcript>>, FeedbackError> {
        self.diary.check_open()?;
        if self.in_batch == 0 && self.diary.must_checkpoint() {
            self.checkpoint(Vec::new())?;
        }
        self.count(answer);
        if self.in_batch < self.plan.request.batch {
            return Ok(None);
        }
        let item = Item {
            sum: self.sum,
            nulls: self.nulls,
            clipped: self.clipped,
        };
        self.diary.item(encode(&item)?)?;
        (self.sum, self.in_batch) = (0, 0);
        Ok(Some(self.noisy(item.sum)))
    }

    /// The answer of a person whose loss vector is linear in the play: ⟨losses, play⟩.
    ///
    /// # Errors
    /// As [`Answers::answer`].
    pub fn answer_linear(
        &mut self,
        play: &[f64],
        losses: Raw<Vec<f64>>,
    ) -> Result<Option<Pending<f64, Transcript>>, FeedbackError> {
        let losses = losses.open();
        let value = if losses.len() == play.len() {
            losses.iter().zip(play).map(|(l, x)| l * x).sum()
        } else {
            f64::NAN // null
        };
        self.answer(Raw::seal(value))
    }

    /// The answer of a person who has a loss for every arm, of which only the played one is looked at.
    ///
    /// # Errors
    /// As [`Answers::answer`].
    pub fn answer_arm(
        &mut self,
        arm: usize,
        losses: Raw<Vec<f64>>,
    ) -> Result<Option<Pending<f64, Transcript>>, FeedbackError> {
        let value = losses.open().get(arm).copied().unwrap_or(f64::NAN);
        self.answer(Raw::seal(value))
    }

    /// The answer of a record: its loss at the play.
    ///
    /// # Errors
    /// As [`Answers::answer`].
    pub fn answer_loss(
        &mut self,
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
        self.answer(Raw::seal(value))
    }

    /// The answer of a record, as its reading says.
    ///
    /// # Errors
    /// A reading whose range is not the plan's; as [`Answers::answer`].
    pub fn answer_record(
        &mut self,
        reading: &Reading,
        play: Ask<'_>,
        record: Raw<Record>,
    ) -> Result<Option<Pending<f64, Transcript>>, FeedbackError> {
        if reading.range() != self.plan.request.range {
            return Err(ParameterError::new(
                "range of a record's answers",
                reading.range().bound(),
                "the range that was planned for",
            )
            .into());
        }
        let record = record.open();
        self.take(reading.answer(&record, play))
    }

    fn count(&mut self, answer: Answer) {
        self.in_batch += 1;
        let (range, radius) = (self.plan.request.range, self.plan.radius);
        self.sum += match answer {
            Answer::Told(value) if value.is_finite() => {
                self.clipped += u64::from(range.clip(value).to_bits() != value.to_bits());
                range.integer(radius, value)
            }
            Answer::Missing(value) if value.is_finite() => {
                self.nulls += 1;
                range.integer(radius, value)
            }
            _ => {
                self.nulls += 1;
                range.null_integer(radius)
            }
        };
    }

    fn noisy(&self, sum: i64) -> Pending<f64, Transcript> {
        let node = self.diary.items();
        let mut noise = [0];
        match self.plan.noise {
            FeedbackNoise::Laplace => DiscreteLaplace::new(SCALE).expect("2^30 is a scale").fill(
                &self.source,
                node,
                0,
                &mut noise,
            ),
            FeedbackNoise::Gaussian => {
                RoundedGaussian::STANDARD.fill(&self.source, node, 0, &mut noise);
            }
        }
        let mean = (sum + noise[0]) as f64 * self.plan.unit() / self.plan.request.batch as f64;
        self.diary.pending(mean)
    }

    /// Makes everything taken in so far durable: means up to here may leave.
    ///
    /// # Errors
    /// Another ledger; storage.
    pub fn sync(&mut self, ledger: &mut Ledger) -> Result<(), FeedbackError> {
        Ok(self.diary.sync(ledger)?)
    }

    /// Lets a pending value leave, if a sync has covered it; otherwise gives it back.
    ///
    /// # Errors
    /// The pending value itself.
    pub fn publish<T>(
        &self,
        pending: Pending<T, Transcript>,
    ) -> Result<Released<T, Transcript>, Pending<T, Transcript>> {
        self.diary.publish(pending)
    }

    /// From now on checkpoints are made only by [`Answers::checkpoint`], with a note.
    pub fn keep_note(&mut self) {
        self.diary.keep_note();
    }

    /// Whether a checkpoint would pay and may be made.
    #[must_use]
    pub fn checkpoint_is_due(&self) -> bool {
        self.in_batch == 0 && self.diary.checkpoint_is_due()
    }

    /// Replaces the journal by a checkpoint, with a note of the caller's.
    ///
    /// # Errors
    /// Items that no sync has covered, or half a batch; storage.
    pub fn checkpoint(&mut self, note: Vec<u8>) -> Result<(), FeedbackError> {
        if self.in_batch != 0 {
            return Err(DiaryError::Journal("a checkpoint must follow a whole batch").into());
        }
        let counts = Some([self.nulls, self.clipped].map(u64::to_le_bytes));
        Ok(self.diary.checkpoint(&counts, note)?)
    }

    /// Items (batches) taken in, over all instances.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.diary.steps()
    }

    /// A generator for the learner's own coins: of this run and instance, and apart from the noise.
    #[must_use]
    pub fn coins(&self, key: &Key) -> Source {
        self.diary.source(key, 1)
    }

    /// The plan it follows.
    #[must_use]
    pub fn plan(&self) -> &FeedbackPlan {
        &self.plan
    }

    /// How many answers were null, and how many had to be clipped.
    #[must_use]
    pub fn counts(&self) -> (OperatorOnly<u64>, OperatorOnly<u64>) {
        (
            OperatorOnly::new(self.nulls),
            OperatorOnly::new(self.clipped),
        )
    }

    /// What is promised about all plays and noisy answers, which records gave by this reading, if they did.
    ///
    /// # Errors
    /// Never for feedback that exists.
    pub fn guarantee(&self, reading: Option<&Reading>) -> Result<Guarantee, FeedbackError> {
        let (steps, simulated) = (self.diary.steps(), self.diary.is_simulated());
        let items = match self.plan.request.rounds {
            Some(_) => self.plan.most_items(),
            None => steps.max(1),
        };
        self.plan.promise(items, reading, simulated)
    }
}
