//! Rounds that do not depend on data: pure code, no clock and no disk of its own.
//!
//! A decision or a record takes the next **slot** of its model, in order of arrival, before its
//! content is looked at. Batch b is the slots from bB to (b+1)B. It is *full* at its last slot, or
//! when its time is over: the slots that are left are null then. It is *closed* `reward_wait`
//! later; what is told afterwards is refused. So whether, when and with what a slot counts is a
//! function of that slot and of public numbers, and one slot moves one item of one batch.

mod slot;

pub use slot::{Added, Aggregation, Cell, Contribution, Filled, MOST_REWARDS, Slot, Told};

use crate::clock::Millis;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// What is fixed about the rounds of a model: public.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Slots of a batch.
    pub batch: u64,
    /// Batches that are planned.
    pub batches: u64,
    /// The longest time from the first slot of a batch until it is full.
    pub close_after: Option<Millis>,
    /// Time from a full batch until it is closed.
    pub reward_wait: Millis,
    /// What an operator asks for takes effect at multiples of this time.
    pub boundary: Millis,
}

/// The rounds of a model so far: public.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// The slot of the next request.
    pub next_slot: u64,
    /// When the first slot of the open batch was taken.
    pub opened_at: Option<Millis>,
    /// When an operator's wish closes the open batch.
    pub cut_at: Option<Millis>,
    /// Full batches, and when each is closed.
    pub full: VecDeque<(u64, Millis)>,
    /// Batches that are closed.
    pub closed: u64,
    /// Batches that were learned from.
    pub fed: u64,
    /// Whether no slot is given out, from the next batch on.
    pub paused: bool,
    /// Whether nothing is given out or closed any more: the store was restored from a copy.
    pub ended: bool,
}

/// What happened in a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A batch is closed: learn from it.
    Closed {
        /// Its number.
        batch: u64,
        /// When.
        at: Millis,
    },
}

impl State {
    /// Does what is due: fills batches whose time is over, and closes full ones.
    pub fn tick(&mut self, now: Millis, settings: &Settings) -> Vec<Event> {
        if self.ended {
            return Vec::new();
        }
        if let Some(due) = self.full_at(settings).filter(|due| *due <= now) {
            let batch = self.next_slot / settings.batch;
            self.next_slot = (batch + 1) * settings.batch;
            self.fill(batch, due, settings);
        }
        let mut events = Vec::new();
        while let Some(&(batch, at)) = self.full.front().filter(|(_, at)| *at <= now) {
            self.full.pop_front();
            self.closed = batch + 1;
            events.push(Event::Closed { batch, at });
        }
        events
    }

    /// The next slot, after a tick; none if all were given out, or the model is paused.
    pub fn take(&mut self, now: Millis, settings: &Settings) -> Option<u64> {
        let begins = self.next_slot.is_multiple_of(settings.batch);
        if self.ended || self.is_over(settings) || self.paused && begins {
            return None;
        }
        let slot = self.next_slot;
        self.next_slot += 1;
        if begins {
            self.opened_at = Some(now);
        }
        if self.next_slot.is_multiple_of(settings.batch) {
            self.fill(slot / settings.batch, now, settings);
        }
        Some(slot)
    }

    fn fill(&mut self, batch: u64, at: Millis, settings: &Settings) {
        (self.opened_at, self.cut_at) = (None, None);
        self.full
            .push_back((batch, at.saturating_add(settings.reward_wait)));
    }

    /// Closes the open batch at the next boundary; false if none is open.
    pub fn cut(&mut self, now: Millis, settings: &Settings) -> bool {
        let boundary = settings.boundary.max(1);
        let next = (now / boundary + 1) * boundary;
        self.cut_at = self.opened_at.map(|_| self.cut_at.unwrap_or(next));
        self.cut_at.is_some()
    }

    /// When the open batch is full at the latest.
    fn full_at(&self, settings: &Settings) -> Option<Millis> {
        let opened = self.opened_at?;
        let late = settings
            .close_after
            .map(|after| opened.saturating_add(after));
        late.into_iter().chain(self.cut_at).min()
    }

    /// When the batch of this slot is closed, as far as it is known.
    #[must_use]
    pub fn closes_at(&self, slot: u64, settings: &Settings) -> Option<Millis> {
        let batch = slot / settings.batch;
        let full = self.full.iter().find(|(full, _)| *full == batch);
        let open = || {
            let full = self.full_at(settings)?;
            (batch == self.next_slot / settings.batch).then_some(full)
        };
        match full {
            Some(&(_, at)) => Some(at),
            None => open().map(|at| at.saturating_add(settings.reward_wait)),
        }
    }

    /// When a tick is due next.
    #[must_use]
    pub fn next_due(&self, settings: &Settings) -> Option<Millis> {
        let closes = self.full.front().map(|(_, at)| *at);
        if self.ended {
            return None;
        }
        self.full_at(settings).into_iter().chain(closes).min()
    }

    /// Whether the batch of this slot is closed.
    #[must_use]
    pub fn is_closed(&self, slot: u64, settings: &Settings) -> bool {
        slot / settings.batch < self.closed
    }

    /// Whether all slots were given out.
    #[must_use]
    pub fn is_over(&self, settings: &Settings) -> bool {
        self.next_slot >= settings.batch.saturating_mul(settings.batches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings {
            batch: 3,
            batches: 2,
            close_after: Some(100),
            reward_wait: 10,
            boundary: 50,
        }
    }

    #[test]
    fn a_batch_closes_by_count_and_by_the_clock() {
        let (settings, mut state) = (settings(), State::default());
        for (now, slot) in [(0, 0), (5, 1), (7, 2)] {
            assert!(state.tick(now, &settings).is_empty());
            assert_eq!(state.take(now, &settings), Some(slot));
        }
        assert_eq!(state.closes_at(0, &settings), Some(17));
        assert!(state.tick(16, &settings).is_empty());
        let closed = Event::Closed { batch: 0, at: 17 };
        assert_eq!(state.tick(17, &settings), [closed]);
        assert!(state.is_closed(2, &settings) && !state.is_closed(3, &settings));
        // The second by the clock, with two null slots.
        assert_eq!(state.take(20, &settings), Some(3));
        assert_eq!(state.next_due(&settings), Some(120));
        let closed = Event::Closed { batch: 1, at: 130 };
        assert_eq!(state.tick(500, &settings), [closed]);
        assert_eq!((state.next_slot, state.take(500, &settings)), (6, None));
    }

    #[test]
    fn an_operators_wishes_wait_for_a_boundary() {
        let (settings, mut state) = (settings(), State::default());
        assert!(!state.cut(1, &settings));
        state.take(60, &settings);
        assert!(state.cut(61, &settings));
        assert_eq!(state.next_due(&settings), Some(100));
        // Paused: the open batch goes on, the next does not begin.
        state.paused = true;
        assert_eq!(state.take(62, &settings), Some(1));
        assert!(state.tick(100, &settings).is_empty());
        assert_eq!(state.take(100, &settings), None);
        state.paused = false;
        assert_eq!(state.take(101, &settings), Some(3));
    }
}
