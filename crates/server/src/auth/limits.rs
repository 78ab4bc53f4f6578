//! How many decisions a token may ask for: a rate and a burst, by the generic cell rate algorithm.
//! It counts decisions and records alone; rewards, targets and activations are never limited, or
//! one person's reward could crowd out another's.

use crate::clock::Millis;
use std::collections::HashMap;
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

#[cfg(test)]
mod tests {
    use super::*;

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
