//! How many decisions a token may ask for: a rate and a burst, by the generic cell rate algorithm;
//! and how many may be in progress, of all tokens. Decisions and records alone are counted;
//! rewards, targets and activations are never limited, or one person's reward could crowd out
//! another's.

use crate::clock::Millis;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Limits of all tokens.
#[derive(Default)]
pub struct Rates {
    /// When each token's next decision would be on time, in microseconds.
    next: Mutex<HashMap<String, u64>>,
}

/// Seconds of decisions that may come at once.
const BURST: u64 = 1;

impl Rates {
    /// Whether a token may ask for so many decisions now, at this rate per second. If so, they
    /// count.
    #[must_use]
    pub fn admit(&self, token: &str, count: u64, rate: Option<u32>, now: Millis) -> bool {
        let Some(rate) = rate.filter(|rate| *rate > 0) else {
            return true;
        };
        let (now, each) = (now * 1000, 1_000_000 / u64::from(rate).min(1_000_000));
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let due = next.entry(token.to_owned()).or_insert(0);
        let begins = (*due).max(now);
        // At least one request fits, whatever it holds.
        if begins > now + BURST * 1_000_000 {
            return false;
        }
        *due = begins + count.saturating_mul(each);
        true
    }
}

/// Room for decisions in progress. What comes when it is full is turned away at once, and costs
/// little: so under ten times the load those that are let in are answered as fast as before.
#[derive(Debug)]
pub struct Room {
    taken: AtomicUsize,
    most: usize,
}

/// A place in a room, until it is dropped.
#[derive(Debug)]
pub struct Place<'r>(&'r Room);

impl Room {
    /// Room for so many.
    #[must_use]
    pub fn new(most: usize) -> Self {
        let taken = AtomicUsize::new(0);
        Self { taken, most }
    }

    /// Whether there is no place now.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.taken.load(Ordering::Relaxed) >= self.most
    }

    /// A place, if there is one.
    #[must_use]
    pub fn enter(&self) -> Option<Place<'_>> {
        let next = |taken: usize| (taken < self.most).then_some(taken + 1);
        let entered = self
            .taken
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        entered.ok().map(|_| Place(self))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_holds_so_many_until_they_leave() {
        let room = Room::new(2);
        let (one, two) = (room.enter(), room.enter());
        assert!(one.is_some() && two.is_some() && room.is_full() && room.enter().is_none());
        drop(one);
        assert!(!room.is_full());
        let three = room.enter();
        assert!(three.is_some() && room.enter().is_none());
    }

    #[test]
    fn a_rate_holds_over_time_and_each_token_has_its_own() {
        let rates = Rates::default();
        let admitted = |token: &str, from: u64, to: u64| {
            let times = (from..to).filter(|now| rates.admit(token, 1, Some(100), *now));
            times.count()
        };
        // A burst of a second, then a hundred per second.
        assert_eq!(admitted("one", 10_000, 20_000), 1100);
        assert_eq!(admitted("two", 10_000, 10_100), 100);
        assert!(rates.admit("one", 1, Some(100), 20_000));
        assert!(!rates.admit("one", 1, Some(100), 20_000));
        assert!(rates.admit("one", 1, None, 20_000));
    }
}
