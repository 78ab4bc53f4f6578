//! Decisions for a program: ask, answer, and learn from rewards that come later.
//!
//! Decisions take slots in the order in which they are asked. Whether, when and with what a slot is
//! filled does not depend on a reward: a batch of B slots is *closed* after so many further
//! decisions, a public number, and then every one of its slots is learned from, with the reward
//! that was told before, or the default one. So a batch has always B records, and one decision
//! moves one of them.
//!
//! Slots that wait are in memory alone. After a crash they are lost with their rewards, and the
//! run goes on with the first of them; decisions that were told stay valid.

use crate::decisions::{Decision, scaled};
use crate::error::{Error, Result, refuse};
use crate::learning::Frame;
use crate::run::Run;
use hushstream_mechanism::decisions::Drawn;
use hushstream_mechanism::{AskerOnly, OperatorOnly};
use hushstream_pictures::numbers::grouped;
use hushstream_read::{Fields as Row, Sealed, Told};
use std::collections::VecDeque;

/// Decisions that were told and are not learned from yet.
pub(crate) struct Asked {
    arms: Vec<String>,
    rewards: (f64, f64),
    /// From −1 to 1; nothing is the middle.
    default: Option<f64>,
    batch: u64,
    wait: u64,
    /// Whether rows ask, and tell no outcome.
    is_open: bool,
    slots: VecDeque<Slot>,
}

struct Slot {
    sealed: Sealed,
    drawn: Drawn,
    reward: Option<f64>,
}

impl Asked {
    pub(crate) fn new(frame: &Frame<'_>) -> Result<Self> {
        let batch = frame.method.parameters().batch.max(1);
        let wishes = &frame.learner.decisions;
        let decides = frame.layout.decides();
        let rewards = decides.map_or((0.0, 1.0), |decides| decides.rewards);
        Ok(Self {
            arms: decides.map_or_else(Vec::new, |decides| decides.arms.clone()),
            rewards,
            default: match wishes.default_reward {
                Some(reward) => Some(scaled(reward, rewards)?),
                None => None,
            },
            batch,
            wait: wishes.reward_wait.unwrap_or(batch),
            is_open: decides.is_some_and(|decides| decides.told == Told::Asked),
            slots: VecDeque::new(),
        })
    }

    /// Refuses whole rows where rows ask.
    pub(crate) fn refuse_rows(&self) -> Result<()> {
        if self.is_open {
            refuse!("this run decides: ask with `decide`, and tell what came of it with `reward`");
        }
        Ok(())
    }
}

impl Run {
    /// Decides for a context, with a policy that a sync has covered. Tell the answer to the person
    /// who asked and to nobody else: it depends on the context. Then tell its reward.
    ///
    /// ```
    /// use hushstream::prelude::*;
    ///
    /// let mut run = Learner::decide(["red", "green"])
    ///     .features(2)
    ///     .records(400)
    ///     .batch(40)
    ///     .budget(Budget::approx(8.0, 1e-6)?)
    ///     .adjacency(ReplaceOne)
    ///     .simulated(7)
    ///     .start()?;
    /// for i in 0..400 {
    ///     let context = [f64::from(i % 3) - 1.0, 0.5];
    ///     let answer = run.decide(&context)?;
    ///     let decision = answer.for_the_asker(); // for this person alone
    ///     let wanted = if context[0] > 0.0 { "red" } else { "green" };
    ///     run.reward(decision.id, if decision.action == wanted { 1.0 } else { 0.0 })?;
    /// }
    /// let policy = run.model()?.into_value(); // published: it decides anywhere
    /// assert_eq!(policy.decide(&[1.0, 0.5])?.for_the_asker().ranking.len(), 2);
    /// assert!(run.guarantee().is_joint());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A run that does not decide; more decisions than were planned; a row without one of the
    /// columns; a disk that fails.
    pub fn decide(&mut self, context: &(impl Row + ?Sized)) -> Result<AskerOnly<Decision>, Error> {
        if !self.asked.is_open {
            refuse!("this run learns from rows that tell their outcome: use `learn`");
        }
        self.close_due()?;
        let slot = self.next_slot();
        if slot >= self.most {
            refuse!(
                "the run was planned for {} decisions, and has made them all",
                grouped(self.most)
            );
        }
        let Some(encoder) = &mut self.encoder else {
            refuse!("these rows have no names of columns, and a context needs them");
        };
        let sealed = encoder.record(context)?;
        let Some(drawn) = self.learning.decide(&sealed.record, slot)? else {
            refuse!("this run does not decide");
        };
        let arms = &self.asked.arms;
        let told = drawn.clone().map(|drawn| Decision::new(slot, &drawn, arms));
        self.asked.slots.push_back(Slot {
            sealed,
            drawn: drawn.for_the_asker().clone(),
            reward: None,
        });
        Ok(told)
    }

    /// Tells what a decision earned. The last reward before its batch is closed counts; it is
    /// clipped to the range.
    ///
    /// # Errors
    /// A decision that was not made, or whose batch is closed; a reward that is not a finite
    /// number.
    pub fn reward(&mut self, id: u64, reward: f64) -> Result<(), Error> {
        let scaled = scaled(reward, self.asked.rewards)?;
        let first = self.records();
        let place = id
            .checked_sub(first)
            .and_then(|place| usize::try_from(place).ok());
        let slot = place.and_then(|place| self.asked.slots.get_mut(place));
        match slot {
            Some(slot) => {
                slot.reward = Some(scaled);
                Ok(())
            }
            None if id < first => {
                refuse!("decision {id} is learned from already: its batch is closed")
            }
            None => refuse!("decision {id} was not made"),
        }
    }

    /// The slot of the next decision.
    fn next_slot(&self) -> u64 {
        self.records() + self.asked.slots.len() as u64
    }

    /// Learns from batches that have waited long enough.
    fn close_due(&mut self) -> Result<()> {
        let Asked { batch, wait, .. } = self.asked;
        while self.asked.slots.len() as u64 >= batch.saturating_add(wait) {
            for _ in 0..batch {
                self.close_one()?;
            }
        }
        Ok(())
    }

    /// Learns from all decisions that wait: no further reward can be told for them.
    ///
    /// # Errors
    /// A disk that fails.
    pub fn close_all(&mut self) -> Result<(), Error> {
        while !self.asked.slots.is_empty() {
            self.close_one()?;
        }
        Ok(())
    }

    fn close_one(&mut self) -> Result<()> {
        let Some(slot) = self.asked.slots.pop_front() else {
            return Ok(());
        };
        let reward = slot.reward.or(self.asked.default);
        let record = slot.sealed.record.decided(&slot.drawn, reward);
        let sealed = Sealed {
            record,
            was_longer: OperatorOnly::new(false),
            ..slot.sealed
        };
        self.learning.take(sealed, false)
    }
}
