//! A selection at work: loss vectors go in sealed, the played expert comes out, paid for and durable.
//!
//! **Cost.** One pass over the losses an item; O(d) memory; another pass, the exact draw, only when the expert is drawn anew.

use super::error::SelectError;
use super::plan::SelectPlan;
use super::play::{LOSS_BITS, Play};
use super::request::Horizon;
use crate::boundary::{Grant, OperatorOnly, Pending, Raw, Released, Transcript};
use crate::durable::{CameBack, Diary, DiaryError, FoundDiary, Ledger, Storage, decode, encode};
use crate::losses::{Loss, Record};
use hushstream_account::{Guarantee, ParameterError};
use hushstream_noise::{Key, Source};
use serde::{Deserialize, Serialize};

const KIND: &str = "selection v2";

/// What is stored in a checkpoint.
#[derive(Serialize, Deserialize)]
struct Stored {
    play: Play,
    #[serde(with = "postcard::fixint::le")]
    nulls: u64,
    #[serde(with = "postcard::fixint::le")]
    clipped: u64,
}

/// A selection in progress.
pub struct Selection {
    plan: SelectPlan,
    diary: Diary,
    source: Source,
    play: Play,
    /// Sums of the batch that is being filled.
    batch: Vec<u64>,
    in_batch: u64,
    nulls: u64,
    clipped: u64,
    /// What losses are clipped to, and scaled from.
    bounds: (f64, f64),
}

/// A selection that came back.
pub struct SelectionBack {
    /// Ready for its next loss vector.
    pub selection: Selection,
    /// How it came back.
    pub outcome: CameBack,
    /// The experts played since the last checkpoint. Sync, publish, and nothing is missing.
    pub recent: Vec<Pending<u32, Transcript>>,
    /// The note of the last checkpoint.
    pub note: Option<Vec<u8>>,
}

impl Selection {
    /// Opens a selection that has been paid for. `storage` must be new; it will hold private data.
    ///
    /// # Errors
    /// A grant below the price, or used before; a journal that is not empty; storage.
    pub fn open(
        plan: SelectPlan,
        grant: Grant,
        key: &Key,
        ledger: &mut Ledger,
        storage: impl Storage + 'static,
    ) -> Result<Self, SelectError> {
        let (terms, bytes) = (plan.terms()?, encode(&plan)?);
        let diary = Diary::open(KIND, bytes, &terms, grant, key, ledger, Box::new(storage))?;
        Self::assemble(plan, diary, key)
    }

    fn assemble(plan: SelectPlan, diary: Diary, key: &Key) -> Result<Self, SelectError> {
        let source = diary.source(key, 0);
        let experts = plan.request().experts;
        Ok(Self {
            play: Play::begin(experts, &source)?,
            batch: vec![0; experts as usize],
            plan,
            diary,
            source,
            in_batch: 0,
            nulls: 0,
            clipped: 0,
            bounds: (0.0, 1.0),
        })
    }

    /// From now on losses come between these bounds and not between 0 and 1: they are scaled, and the guarantee says so. Privacy is the same for all bounds, so they are not
    /// stored: the caller's note tells a run from another.
    ///
    /// # Errors
    /// Bounds that are not finite, the smaller first.
    pub fn losses_between(&mut self, low: f64, high: f64) -> Result<(), SelectError> {
        if !(low < high && (high - low).is_finite()) {
            return Err(ParameterError::new(
                "width of losses",
                high - low,
                "a positive finite number",
            )
            .into());
        }
        self.bounds = (low, high);
        Ok(())
    }

    /// Continues from a journal, if the caller accepts the note of the last checkpoint. `last_published` is the last release known from outside to have been published.
    ///
    /// # Errors
    /// Another key or ledger; a journal that has been superseded or is not accepted; storage.
    pub fn resume(
        storage: impl Storage + 'static,
        key: &Key,
        ledger: &mut Ledger,
        last_published: Option<u64>,
        accepts: impl FnOnce(Option<&[u8]>) -> bool,
    ) -> Result<SelectionBack, SelectError> {
        let found = FoundDiary::read(KIND, Box::new(storage))?;
        let plan: SelectPlan = found.plan()?;
        plan.check_stored()?;
        if !accepts(found.note()) {
            return Err(DiaryError::NotAccepted.into());
        }
        let note = found.note().map(<[u8]>::to_vec);
        let none: Option<Stored> = None;
        let back = found.resume(&plan.terms()?, key, ledger, last_published, &none, true)?;
        let mut selection = Self::assemble(plan, back.diary, key)?;
        let mut recent = Vec::new();
        if back.outcome == CameBack::Continued {
            let stored = back
                .checkpoint
                .map(|kept| decode(&kept.state))
                .transpose()?;
            if let Some(Some(stored)) = stored {
                selection.restore(stored)?;
            }
            for item in back.items {
                let item = selection.unpack(&item)?;
                selection.diary.replayed();
                recent.push(selection.take(&item)?);
            }
        }
        Ok(SelectionBack {
            selection,
            outcome: back.outcome,
            recent,
            note,
        })
    }

    fn restore(&mut self, stored: Stored) -> Result<(), SelectError> {
        let experts = self.plan.request().experts;
        let fits = stored.play.totals.len() == experts as usize
            && stored.play.current < experts
            && stored.play.items == self.diary.items();
        if !fits {
            return Err(SelectError::Stored);
        }
        (self.play, self.nulls, self.clipped) = (stored.play, stored.nulls, stored.clipped);
        Ok(())
    }

    /// The expert that the next loss vector will be charged to. **Not a release** until a sync has covered it.
    #[must_use]
    pub fn question(&self) -> u32 {
        self.play.current
    }

    /// The first expert: uniform, and public. Nothing once items have come in.
    #[must_use]
    pub fn before_the_first(&self) -> Option<Released<u32, Transcript>> {
        (self.diary.steps() == 0).then(|| self.diary.pending(self.play.current).publish())
    }

    /// Adds one loss vector: a number for each expert. When it completes a batch, the next expert
    /// is drawn or kept. A vector of another length, or with a number that is not finite, counts as
    /// null: 0 for every expert. A null favours none of them: a draw looks at differences of
    /// losses, which a constant leaves as they are, whichever constant it is; and with 0 the coin
    /// keeps the expert that is played, where another constant would only use up draws. (A bandit's
    /// null is another matter: it says something about the played arm alone, so there it is the
    /// middle of the range.) The price is the same for every constant null: under zero-out the
    /// log-weights of a draw move by κ(s_i − c), an interval of length κ.
    ///
    /// # Errors
    /// The horizon is over; storage.
    pub fn add(
        &mut self,
        losses: Raw<Vec<f64>>,
    ) -> Result<Option<Pending<u32, Transcript>>, SelectError> {
        self.begin_record()?;
        let (low, high) = self.bounds;
        let mut losses = losses.open();
        losses
            .iter_mut()
            .for_each(|loss| *loss = (*loss - low) / (high - low));
        self.count(&losses);
        self.tick()
    }

    /// Adds one record, whose loss at each of `points` is taken relative to the least of them and divided by `range` (AFKT22 §5.1, erratum F8): what `cover` plays with.
    ///
    /// # Errors
    /// Not one point for each expert; as [`Selection::add`].
    pub fn add_record(
        &mut self,
        loss: &dyn Loss,
        points: &[Vec<f64>],
        range: f64,
        record: Raw<Record>,
    ) -> Result<Option<Pending<u32, Transcript>>, SelectError> {
        if points.len() != self.batch.len() {
            return Err(SelectError::Points {
                experts: self.batch.len() as u64,
                given: points.len() as u64,
            });
        }
        self.begin_record()?;
        let record = record.open();
        let mut values: Vec<f64> = points.iter().map(|at| loss.value(&record, at)).collect();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        values
            .iter_mut()
            .for_each(|value| *value = (*value - least) / range);
        self.count(&values);
        self.tick()
    }

    fn begin_record(&mut self) -> Result<(), SelectError> {
        self.diary.check_open()?;
        if self.in_batch == 0 && self.diary.must_checkpoint() {
            self.checkpoint(Vec::new())?;
        }
        Ok(())
    }

    /// Clips, truncates and adds to the batch.
    fn count(&mut self, losses: &[f64]) {
        self.in_batch += 1;
        let sound = losses.len() == self.batch.len() && losses.iter().all(|l| l.is_finite());
        if !sound {
            self.nulls += 1;
            return;
        }
        let mut outside = false;
        let unit = (1_u64 << LOSS_BITS) as f64;
        for (sum, &loss) in self.batch.iter_mut().zip(losses) {
            outside |= !(0.0..=1.0).contains(&loss);
            *sum += (loss.clamp(0.0, 1.0) * unit) as u64; // a power of two: exact, then truncated; at most 2²⁴
        }
        self.clipped += u64::from(outside);
    }

    fn tick(&mut self) -> Result<Option<Pending<u32, Transcript>>, SelectError> {
        if self.in_batch < self.plan.batch() {
            return Ok(None);
        }
        let packed = self.pack();
        self.diary.item(packed)?;
        let item = std::mem::take(&mut self.batch);
        let pending = self.take(&item);
        self.batch = item;
        self.batch.fill(0);
        self.in_batch = 0;
        Ok(Some(pending?))
    }

    fn take(&mut self, item: &[u64]) -> Result<Pending<u32, Transcript>, SelectError> {
        self.play.step(item, &self.plan.schedule, &self.source)?;
        Ok(self.diary.pending(self.play.current))
    }

    /// Four bytes a sum where they suffice.
    fn width(&self) -> usize {
        if self.plan.batch() < 1 << (32 - LOSS_BITS) {
            4
        } else {
            8
        }
    }

    fn pack(&self) -> Vec<u8> {
        let width = self.width();
        let mut bytes = Vec::with_capacity(self.batch.len() * width + 16);
        for sum in &self.batch {
            bytes.extend_from_slice(&sum.to_le_bytes()[..width]);
        }
        bytes.extend_from_slice(&self.nulls.to_le_bytes());
        bytes.extend_from_slice(&self.clipped.to_le_bytes());
        bytes
    }

    /// An item that was written: the sums, and what the counts were.
    fn unpack(&mut self, bytes: &[u8]) -> Result<Vec<u64>, SelectError> {
        let width = self.width();
        let most = self.plan.batch() << LOSS_BITS;
        let (sums, counts) = bytes
            .split_at_checked(width * self.batch.len())
            .ok_or(SelectError::Stored)?;
        let word = |chunk: &[u8]| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        };
        let item: Vec<u64> = sums.chunks_exact(width).map(word).collect();
        let (nulls, clipped) = counts.split_at_checked(8).ok_or(SelectError::Stored)?;
        if clipped.len() != 8 || item.iter().any(|&sum| sum > most) {
            return Err(SelectError::Stored);
        }
        (self.nulls, self.clipped) = (word(nulls), word(clipped));
        Ok(item)
    }

    /// Makes everything taken in so far durable: experts up to here may leave.
    ///
    /// # Errors
    /// Another ledger; storage. After a storage error the run must be resumed.
    pub fn sync(&mut self, ledger: &mut Ledger) -> Result<(), SelectError> {
        Ok(self.diary.sync(ledger)?)
    }

    /// Lets a pending expert leave, if a sync has covered it; otherwise gives it back.
    ///
    /// # Errors
    /// The pending value itself.
    pub fn publish<T>(
        &self,
        pending: Pending<T, Transcript>,
    ) -> Result<Released<T, Transcript>, Pending<T, Transcript>> {
        self.diary.publish(pending)
    }

    /// From now on checkpoints are made only by [`Selection::checkpoint`], with a note.
    pub fn keep_note(&mut self) {
        self.diary.keep_note();
    }

    /// Whether a checkpoint would pay and may be made.
    #[must_use]
    pub fn checkpoint_is_due(&self) -> bool {
        self.in_batch == 0 && self.diary.checkpoint_is_due()
    }

    /// Replaces the journal by a checkpoint of the present state, with a note of the caller's.
    ///
    /// # Errors
    /// Items that no sync has covered, or half a batch; storage.
    pub fn checkpoint(&mut self, note: Vec<u8>) -> Result<(), SelectError> {
        if self.in_batch != 0 {
            return Err(DiaryError::Journal("a checkpoint must follow a whole batch").into());
        }
        let stored = Some(Stored {
            play: self.play.clone(),
            nulls: self.nulls,
            clipped: self.clipped,
        });
        Ok(self.diary.checkpoint(&stored, note)?)
    }

    /// Items taken in, over all instances.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.diary.steps()
    }

    /// The plan it follows.
    #[must_use]
    pub fn plan(&self) -> &SelectPlan {
        &self.plan
    }

    /// How many loss vectors were null, and how many had to be clipped.
    #[must_use]
    pub fn counts(&self) -> (OperatorOnly<u64>, OperatorOnly<u64>) {
        (
            OperatorOnly::new(self.nulls),
            OperatorOnly::new(self.clipped),
        )
    }

    /// What is promised about everything that this selection releases.
    ///
    /// # Errors
    /// Never for a selection that exists; the numbers were checked.
    pub fn guarantee(&self) -> Result<Guarantee, SelectError> {
        let simulated = self.diary.is_simulated();
        let (rounds, items) = match self.plan.request().horizon {
            Horizon::Known(_) => (self.plan.rounds(), self.plan.most_items()),
            Horizon::Unknown => {
                let items = self.diary.steps();
                ((items * self.plan.batch()).max(1), items)
            }
        };
        self.plan.promise(rounds, items, self.bounds, simulated)
    }
}
