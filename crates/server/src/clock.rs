//! Time, injected so that tests own it, and its text form.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970, in UTC.
pub type Millis = u64;

/// Tells the time.
///
/// ```
/// use hushstream_server::clock::{Clock, ManualClock, SystemClock};
///
/// let clock = ManualClock::at(1000);
/// clock.advance(500);
/// assert_eq!(clock.now(), 1500);
/// assert!(SystemClock.now() > clock.now());
/// ```
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Millis;

    /// Takes the time of the store that several nodes share, where it may.
    fn set(&self, _now: Millis) {}
}

/// The clock of the machine.
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Millis {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| since.as_millis() as Millis)
    }
}

/// The clock of a store that several nodes share: of the machine, and as far from it as it was when
/// the store was last asked.
#[derive(Default)]
pub struct StoreClock(AtomicI64);

impl Clock for StoreClock {
    fn now(&self) -> Millis {
        let ahead = self.0.load(Ordering::SeqCst);
        SystemClock.now().saturating_add_signed(ahead)
    }

    fn set(&self, now: Millis) {
        let ahead = now.cast_signed() - SystemClock.now().cast_signed();
        self.0.store(ahead, Ordering::SeqCst);
    }
}

/// A clock that a test moves.
#[derive(Default)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// A clock that stands at this time.
    #[must_use]
    pub fn at(now: Millis) -> Self {
        Self(AtomicU64::new(now))
    }

    /// Moves it forward.
    pub fn advance(&self, by: Millis) {
        self.0.fetch_add(by, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Millis {
        self.0.load(Ordering::SeqCst)
    }
}

/// `2026-11-18T13:20:00.000Z`.
#[must_use]
pub fn rfc3339(at: Millis) -> String {
    let (days, rest) = (at / 86_400_000, at % 86_400_000);
    let (year, month, day) = civil(days as i64);
    let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
    let (second, milli) = (rest / 1000 % 60, rest % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Reads `2026-11-18T13:20:00Z`, with or without milliseconds.
#[must_use]
pub fn parse_rfc3339(text: &str) -> Option<Millis> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let mut parts = date.split('-').map(str::parse::<i64>);
    let mut next = || parts.next()?.ok();
    let (year, month, day) = (next()?, next()?, next()?);
    let (clock, milli) = time.split_once('.').unwrap_or((time, "0"));
    let mut parts = clock.split(':').map(str::parse::<u64>);
    let mut next = || parts.next()?.ok();
    let (hour, minute, second) = (next()?, next()?, next()?);
    let milli: u64 = format!("{milli:0<3}").get(..3)?.parse().ok()?;
    let is_sound = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    is_sound.then_some(())?;
    let days = u64::try_from(days_of(year, month, day)).ok()?;
    Some(days * 86_400_000 + ((hour * 60 + minute) * 60 + second) * 1000 + milli)
}

/// Year, month and day of a day since 1970. Years begin in March here, so that a leap day is the
/// last of its year; 400 years have 146,097 days.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march + 2) / 5 + 1;
    let month = if march < 10 { march + 3 } else { march - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let march = (month + 9) % 12;
    let of_year = (153 * march + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_and_read() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(1_709_210_096_789), "2024-02-29T12:34:56.789Z");
        assert_eq!(rfc3339(4_102_444_800_000), "2100-01-01T00:00:00.000Z");
        for at in [0, 951_782_400_000, 1_709_210_096_789, 4_107_542_400_123] {
            assert_eq!(parse_rfc3339(&rfc3339(at)), Some(at));
        }
        for bad in ["", "2024-02-29", "2024-02-29T25:00:00Z", "x-1-1T0:0:0Z"] {
            assert_eq!(parse_rfc3339(bad), None, "{bad}");
        }
    }
}
