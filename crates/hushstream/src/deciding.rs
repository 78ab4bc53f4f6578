//! Decisions for a program: ask, answer, and learn from rewards that come later.
//!
//! Decisions take slots in the order in which they are asked. Whether, when and with what a slot is
//! filled does not depend on a reward: a batch of B slots is *closed* after so many further
//! decisions, a public number, and then every one of its slots is learned from, with the reward
//! that was told before, or the default one. So a batch has always B records, and one decision
//! moves one of them.
//!
//! Slots that wait are in memory alone. After a crash they are lost with their rewards, and the
//! run goes on with the first of them; decisions that were told stay valid. The next person in such
//! a slot meets another coin: its address has a random name of the process's own, which the journal
//! and the ledger hold before the first answer. (A number in its place would come twice after a
//! disk is restored.)
//!
//! A program that keeps slots itself, on a disk or for several processes, decides with the
//! published policy ([`Model::decider`](crate::Model::decider)), closes batches itself, and feeds
//! every slot of a closed batch in order: [`Run::learn_decision`], [`Run::learn_empty`].

use crate::decisions::{Decision, scaled};
use crate::error::{Error, Result, refuse};
use crate::learning::Frame;
use crate::run::Run;
use hushstream_mechanism::decisions::Drawn;
use hushstream_mechanism::losses::{Features, Record};
use hushstream_mechanism::{AskerOnly, OperatorOnly, Raw};
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
    /// Whether persons are limited.
    per_person: bool,
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
            per_person: frame.learner.privacy.max_per_person.is_some(),
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
            refuse!("rows of this run already hold their outcome: use `learn`");
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
            refuse!("these rows have no column names, which a context needs");
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
        let (arm, probability) = (slot.drawn.arm, slot.drawn.probability);
        self.close(slot.sealed, (arm, probability), slot.reward)
    }

    /// Learns from a slot; its reward is from −1 to 1.
    fn close(&mut self, sealed: Sealed, played: (usize, f64), reward: Option<f64>) -> Result<()> {
        let reward = reward.or(self.asked.default);
        let sealed = Sealed {
            record: sealed.record.decided(played, reward),
            was_longer: OperatorOnly::new(false),
            ..sealed
        };
        self.learning.take(sealed, false)
    }

    /// Learns from the decision of the next slot, which was made with a published policy of this
    /// run: its context, action and probability as [`Decider`](crate::Decider) tells them, and the
    /// last reward before its batch was closed. Without a reward it is the default one. For
    /// programs that keep slots themselves: feed every slot once, in order, and those that nobody
    /// filled by [`Run::learn_empty`]; [`Run::records`] is the next one, also after a resume.
    ///
    /// ```
    /// use hushstream::noise::{Instance, Key, Source};
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
    /// // Coins: a key, and a name that no other process of this model has had.
    /// let coins = Source::open(&Key::from_os()?, Instance::from_os()?, 0);
    /// for batch in 0..10 {
    ///     let mut policy = run.model()?.into_value().decider()?;
    ///     let mut slots = Vec::new(); // a product keeps them on a disk
    ///     for slot in 40 * batch..40 * (batch + 1) {
    ///         let context = [(slot % 3) as f64 - 1.0, 0.5];
    ///         let answer = policy.decide(&context, &coins, slot)?;
    ///         let decision = answer.for_the_asker(); // for this person alone
    ///         let wanted = if context[0] > 0.0 { "red" } else { "green" };
    ///         let reward = if decision.action == wanted { 1.0 } else { 0.0 };
    ///         slots.push((context, decision.clone(), (slot % 10 > 0).then_some(reward)));
    ///     }
    ///     for (context, decision, reward) in slots {
    ///         run.learn_decision(&context, &decision.action, decision.probability, reward)?;
    ///     }
    /// }
    /// assert_eq!((run.records(), run.model()?.release()), (400, 10));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A run that does not decide, or that keeps slots of its own ([`Run::decide`]); more decisions
    /// than were planned; an action that there is not; a probability that is none; a reward that is
    /// not a finite number; a row without one of the columns; a disk that fails. Nothing is learned
    /// then, and the slot is still to be fed.
    pub fn learn_decision(
        &mut self,
        context: &(impl Row + ?Sized),
        action: &str,
        probability: f64,
        reward: Option<f64>,
    ) -> Result<(), Error> {
        self.check_feed()?;
        let asked = &self.asked;
        let Some(arm) = asked.arms.iter().position(|arm| arm == action) else {
            refuse!(
                "an action is not one of this run's: {}",
                asked.arms.join(", ")
            );
        };
        if !(probability > 0.0 && probability <= 1.0) {
            refuse!("a probability is not allowed; allowed: above 0 and at most 1");
        }
        let rewards = asked.rewards;
        let reward = reward.map(|reward| scaled(reward, rewards)).transpose()?;
        let Some(encoder) = &mut self.encoder else {
            refuse!("these rows have no column names, which a context needs");
        };
        let sealed = encoder.record(context)?;
        self.close(sealed, (arm, probability), reward)
    }

    /// Takes the next slot as one that tells nothing: nobody filled it, or what was in it is
    /// deleted. It counts as a decision, and adds nothing.
    ///
    /// # Errors
    /// As [`Run::learn_decision`].
    pub fn learn_empty(&mut self) -> Result<(), Error> {
        self.check_feed()?;
        let nothing = Sealed {
            // Whoever it is, nothing is added.
            person: self.asked.per_person.then_some(0),
            time: None,
            record: Raw::seal(Record {
                features: Features::Dense(Vec::new()),
                target: 0.0,
            }),
            was_longer: OperatorOnly::new(false),
            digest: None,
            is_malformed: OperatorOnly::new(false),
            target_was_clipped: OperatorOnly::new(false),
        };
        self.learning.take(nothing, false)
    }

    /// Refuses slots of a program that keeps them itself, where they do not fit.
    fn check_feed(&self) -> Result<()> {
        if !self.asked.is_open {
            refuse!("rows of this run already hold their outcome: use `learn`");
        }
        if !self.asked.slots.is_empty() {
            refuse!(
                "this run keeps its decisions itself: ask with `decide`, and tell what came of it \
                 with `reward`"
            );
        }
        if self.records() >= self.most {
            refuse!(
                "the run was planned for {} decisions, and has learned from them all",
                grouped(self.most)
            );
        }
        Ok(())
    }
}
