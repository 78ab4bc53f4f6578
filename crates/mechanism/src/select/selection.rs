//! A selection in progress: sealed loss vectors go in, the played expert comes out, paid for and
//! durable.
//!
//! **Cost.** One pass over the losses of an item; O(d) memory; another pass, the exact draw, only
//! when the expert is drawn anew.

use super::error::SelectError;
use super::plan::SelectPlan;
use super::play::{LOSS_BITS, Play};
use crate::boundary::{Pending, Raw, Released, Transcript};
use crate::durable::{DiaryError, decode_first, encode};
use crate::losses::{Loss, Record};
use crate::mechanism::{Generators, Machine, Terms};
use crate::persons::{Admission, Participation};
use crate::private::Private;
use hushstream_account::{Guarantee, ParameterError};
use hushstream_noise::Source;
use serde::{Deserialize, Serialize};

/// The content of a checkpoint.
#[derive(Serialize, Deserialize)]
struct Stored {
    play: Play,
    #[serde(with = "postcard::fixint::le")]
    nulls: u64,
    #[serde(with = "postcard::fixint::le")]
    clipped: u64,
}

/// A selection in progress.
pub type Selection = Private<Choice>;

/// The mechanism of a [`Selection`].
pub struct Choice {
    plan: SelectPlan,
    source: Source,
    play: Play,
    /// Sums of the incomplete batch.
    batch: Vec<u64>,
    in_batch: u64,
    admission: Admission,
    nulls: u64,
    clipped: u64,
    /// The bounds that losses are clipped to and scaled from.
    bounds: (f64, f64),
}

impl Machine for Choice {
    const KIND: &'static str = "selection v3";

    type Plan = SelectPlan;
    type Given = ();
    type Release = u32;
    type Promise = Transcript;
    type Error = SelectError;

    fn store(plan: &SelectPlan) -> Result<Vec<u8>, DiaryError> {
        plan.request().participation.after(encode(plan)?)
    }

    fn load(stored: &[u8], (): ()) -> Result<SelectPlan, SelectError> {
        let (mut plan, rest): (SelectPlan, _) = decode_first(stored)?;
        plan.request.participation = Participation::read(rest)?;
        plan.check_stored()?;
        Ok(plan)
    }

    fn terms(plan: &SelectPlan) -> Result<Terms, SelectError> {
        plan.terms()
    }

    fn begin(plan: SelectPlan, generators: Generators<'_>) -> Result<Self, SelectError> {
        let source = generators.source(0);
        let experts = plan.request().experts;
        Ok(Self {
            play: Play::begin(experts, &source)?,
            batch: vec![0; experts as usize],
            admission: Admission::new(plan.request().participation),
            plan,
            source,
            in_batch: 0,
            nulls: 0,
            clipped: 0,
            bounds: (0.0, 1.0),
        })
    }

    fn plan(&self) -> &SelectPlan {
        &self.plan
    }

    fn is_empty(&self) -> bool {
        self.in_batch == 0
    }

    fn is_complete(&self) -> bool {
        self.in_batch >= self.plan.batch()
    }

    /// The sums, the counts after them, and persons.
    fn item(&self, mut out: Vec<u8>) -> Result<Vec<u8>, DiaryError> {
        let width = self.width();
        for sum in &self.batch {
            out.extend_from_slice(&sum.to_le_bytes()[..width]);
        }
        out.extend_from_slice(&self.nulls.to_le_bytes());
        out.extend_from_slice(&self.clipped.to_le_bytes());
        self.admission.write(&mut out);
        Ok(out)
    }

    fn read_item(&mut self, t: u64, bytes: &[u8]) -> Result<(), SelectError> {
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
        let (nulls, rest) = counts.split_at_checked(8).ok_or(SelectError::Stored)?;
        let (clipped, names) = rest.split_at_checked(8).ok_or(SelectError::Stored)?;
        let is_larger = item.iter().any(|&sum| sum > most);
        if is_larger || !self.admission.read(t, names, self.plan.batch()) {
            return Err(SelectError::Stored);
        }
        (self.nulls, self.clipped) = (word(nulls), word(clipped));
        self.batch = item;
        Ok(())
    }

    fn step(&mut self, _t: u64) -> Result<Option<u32>, SelectError> {
        let Self {
            play,
            plan,
            batch,
            source,
            ..
        } = self;
        play.step(batch, &plan.schedule, source)?;
        batch.fill(0);
        self.in_batch = 0;
        self.admission.end_item();
        Ok(Some(self.play.current))
    }

    fn state(&self) -> Result<Vec<u8>, DiaryError> {
        self.admission.after(encode(&Stored {
            play: self.play.clone(),
            nulls: self.nulls,
            clipped: self.clipped,
        })?)
    }

    fn restore(&mut self, t: u64, state: &[u8]) -> Result<(), SelectError> {
        let (stored, persons): (Stored, _) = decode_first(state)?;
        let experts = self.plan.request().experts;
        let fits = stored.play.totals.len() == experts as usize
            && stored.play.current < experts
            && stored.play.items == t;
        if !fits {
            return Err(SelectError::Stored);
        }
        (self.play, self.nulls, self.clipped) = (stored.play, stored.nulls, stored.clipped);
        Ok(self.admission.restore(persons)?)
    }

    fn counts(&self) -> (u64, u64) {
        (self.nulls, self.clipped)
    }

    fn guarantee(&self, steps: u64, simulated: bool) -> Result<Guarantee, SelectError> {
        let (rounds, items) = match self.plan.request().horizon.rounds() {
            Some(rounds) => (rounds, self.plan.most_items()),
            None => ((steps * self.plan.batch()).max(1), steps),
        };
        self.plan.promise(rounds, items, self.bounds, simulated)
    }
}

impl Choice {
    /// Four bytes per sum if that suffices.
    fn width(&self) -> usize {
        if self.plan.batch() < 1 << (32 - LOSS_BITS) {
            4
        } else {
            8
        }
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
            // A power of two: exact, then truncated; at most 2²⁴.
            *sum += (loss.clamp(0.0, 1.0) * unit) as u64;
        }
        self.clipped += u64::from(outside);
    }
}

impl Selection {
    /// Sets the bounds of losses, in place of 0 and 1: losses are scaled, and the guarantee states
    /// the bounds. Privacy is the same for all bounds, so they are not stored; the caller's note
    /// distinguishes runs.
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
        self.mechanism.bounds = (low, high);
        Ok(())
    }

    /// The expert that the next loss vector will be charged to. **Not a release** until a sync has
    /// covered it.
    #[must_use]
    pub fn question(&self) -> u32 {
        self.mechanism.play.current
    }

    /// The first expert: uniform, and public. `None` once items have come in.
    #[must_use]
    pub fn before_the_first(&self) -> Option<Released<u32, Transcript>> {
        (self.steps() == 0).then(|| self.diary.pending(self.mechanism.play.current).publish())
    }

    /// Adds one loss vector: one number per expert. When it completes a batch, the next expert is
    /// drawn or kept. A vector of another length, or with a number that is not finite, is null: 0
    /// for every expert. A null favours no expert: a draw depends on differences of losses, which
    /// no constant changes; and with 0 the coin keeps the played expert, where another constant
    /// would only use up draws. (A bandit's null is different: it concerns the played arm alone, so
    /// it is the midpoint of the range.) The price is the same for every constant null: under
    /// zero-out the log-weights of a draw move by κ(s_i − c), an interval of length κ.
    ///
    /// `person` must be given if and only if the plan limits persons; a vector beyond a person's
    /// limit is null.
    ///
    /// # Errors
    /// The horizon is over; a person where none is expected, or none where one is; storage.
    pub fn add(
        &mut self,
        person: Option<u64>,
        losses: Raw<Vec<f64>>,
    ) -> Result<Option<Pending<u32, Transcript>>, SelectError> {
        let is_admitted = self.begin(person)?;
        let (low, high) = self.mechanism.bounds;
        let mut losses = losses.open();
        losses
            .iter_mut()
            .for_each(|loss| *loss = (*loss - low) / (high - low));
        self.mechanism
            .count(if is_admitted { &losses } else { &[] });
        self.end_record()
    }

    /// Begins a record; returns whether it counts.
    fn begin(&mut self, person: Option<u64>) -> Result<bool, SelectError> {
        let person = self.plan().request().participation.name_of(person)?;
        self.begin_record()?;
        let item = self.diary.items() + 1;
        Ok(self.mechanism.admission.admit(person, item))
    }

    /// Adds one record. Its loss at each of `points` is taken relative to the least of them and
    /// divided by `range` (AFKT22 §5.1, erratum F8). The recipe `cover` uses it.
    ///
    /// # Errors
    /// Another number of points than experts; as [`Selection::add`].
    pub fn add_record(
        &mut self,
        person: Option<u64>,
        loss: &dyn Loss,
        points: &[Vec<f64>],
        range: f64,
        record: Raw<Record>,
    ) -> Result<Option<Pending<u32, Transcript>>, SelectError> {
        if points.len() != self.mechanism.batch.len() {
            return Err(SelectError::Points {
                experts: self.mechanism.batch.len() as u64,
                given: points.len() as u64,
            });
        }
        let is_admitted = self.begin(person)?;
        let record = record.open();
        let mut values: Vec<f64> = points.iter().map(|at| loss.value(&record, at)).collect();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        values
            .iter_mut()
            .for_each(|value| *value = (*value - least) / range);
        self.mechanism
            .count(if is_admitted { &values } else { &[] });
        self.end_record()
    }
}
