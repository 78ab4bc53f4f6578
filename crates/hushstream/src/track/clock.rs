//! Ticks: when a table is released.
//!
//! A tick is over by the clock, or after so many records. Nothing that a record holds decides it.
//! Where rows have times of their own, these are public, as arrival times are, and the guarantee
//! says so: a record is replaced by one of the same time. The tick of a row is then a function of
//! the times up to its own:
//!
//! - a row is in the tick of its time, and a later tick closes all before it, empty ones too;
//! - a row without a time that can be read, or of a time before the first tick, is an empty record
//!   in the tick of the row before it: it moves no other row;
//! - a time that goes backwards stays in the tick of the row before it, and its record counts.

use crate::error::{Error, Result};
use hushstream_read::written_time;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What a tick is.
///
/// ```
/// use hushstream::prelude::*;
///
/// assert_eq!("day".parse::<By>()?, By::Day);
/// assert_eq!("1000".parse::<By>()?, By::Records(1000));
/// assert!("fortnight".parse::<By>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum By {
    /// So many records.
    Records(u64),
    /// A minute of the clock.
    Minute,
    /// An hour.
    Hour,
    /// A day.
    Day,
    /// A week, from Monday.
    Week,
    /// What the program closes itself: a batch.
    Hand,
}

impl By {
    /// Seconds, and the second at which one begins.
    fn period(self) -> Option<(i64, i64)> {
        match self {
            Self::Records(_) | Self::Hand => None,
            Self::Minute => Some((60, 0)),
            Self::Hour => Some((3600, 0)),
            Self::Day => Some((86_400, 0)),
            // 1970 began on a Thursday.
            Self::Week => Some((7 * 86_400, -3 * 86_400)),
        }
    }

    /// The number of the tick of a time, counted from 1970.
    pub(crate) fn tick_at(self, seconds: i64) -> Option<i64> {
        let (period, begin) = self.period()?;
        Some((seconds - begin).div_euclid(period))
    }

    /// When a tick begins.
    fn begins(self, tick: i64) -> Option<i64> {
        let (period, begin) = self.period()?;
        Some(tick * period + begin)
    }
}

impl FromStr for By {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "minute" => Self::Minute,
            "hour" => Self::Hour,
            "day" => Self::Day,
            "week" => Self::Week,
            "batch" => Self::Hand,
            text => match hushstream_pictures::numbers::count(text) {
                Ok(records @ 1..) => Self::Records(records),
                _ => {
                    return Err(
                        "allowed: minute, hour, day, week, batch, or a number of records".into(),
                    );
                }
            },
        })
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Records(1) => write!(f, "record"),
            Self::Records(records) => write!(f, "{records} records"),
            Self::Minute => write!(f, "minute"),
            Self::Hour => write!(f, "hour"),
            Self::Day => write!(f, "day"),
            Self::Week => write!(f, "week"),
            Self::Hand => write!(f, "batch"),
        }
    }
}

/// A time of a flag.
pub fn parse_time(text: &str) -> Result<i64, Error> {
    let seconds = hushstream_read::parse_time(text);
    seconds.ok_or_else(|| {
        Error::refused(format!(
            "{text} is not a time; allowed: a date as in 2013-01-31, with or without the time of \
             day as in 2013-01-31T14:05"
        ))
    })
}

/// Which tick is open, by times. Ticks are counted from 1970.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    by: By,
    /// The first tick, as soon as it is known.
    pub(crate) first: Option<i64>,
    /// The open tick.
    open: Option<i64>,
}

/// What the time of a row means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placed {
    /// So many ticks close, then the row counts.
    After(u64),
    /// The row is empty, in the open tick.
    Nowhere,
}

impl Clock {
    /// A clock whose first tick is known or not, after so many ticks.
    pub(crate) fn new(by: By, first: Option<i64>, closed: u64) -> Self {
        let open = first.map(|first| first.saturating_add_unsigned(closed));
        Self { by, first, open }
    }

    /// The place of a row of this time.
    pub(crate) fn place(&mut self, time: Option<i64>) -> Placed {
        let Some(tick) = time.and_then(|time| self.by.tick_at(time)) else {
            return Placed::Nowhere;
        };
        let first = *self.first.get_or_insert(tick);
        let open = *self.open.get_or_insert(tick);
        if tick < first {
            return Placed::Nowhere;
        }
        self.open = Some(open.max(tick));
        Placed::After((tick - open).max(0) as u64)
    }

    /// When tick number `closed` + 1 begins.
    pub(crate) fn begins(&self, closed: u64) -> Option<i64> {
        let first = self.first?;
        self.by.begins(first.saturating_add_unsigned(closed))
    }

    /// The same, as a text.
    pub(crate) fn written(&self, closed: u64) -> Option<String> {
        self.begins(closed).map(written_time)
    }
}

/// Ticks of a file, counted by the times of its rows.
pub(crate) struct Counted {
    clock: Clock,
    pub(crate) ticks: u64,
    rows: u64,
}

impl Counted {
    pub(crate) fn new(by: By, first: Option<i64>) -> Self {
        Self {
            clock: Clock::new(by, first, 0),
            ticks: 0,
            rows: 0,
        }
    }

    /// Counts a row.
    pub(crate) fn row(&mut self, time: Option<i64>) {
        self.rows += 1;
        match self.clock.by {
            By::Records(records) => self.ticks = self.rows.div_ceil(records),
            _ => {
                if let Placed::After(closed) = self.clock.place(time) {
                    self.ticks = self.ticks.max(1) + closed;
                }
            }
        }
    }

    /// The first tick.
    pub(crate) fn first(&self) -> Option<i64> {
        self.clock.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400;

    /// The tick of every row, from 0; none for empty records.
    fn ticks(times: &[Option<i64>]) -> Vec<(u64, bool)> {
        let mut clock = Clock::new(By::Day, None, 0);
        let mut closed = 0;
        let mut place = |time: &Option<i64>| match clock.place(*time) {
            Placed::After(more) => {
                closed += more;
                (closed, true)
            }
            Placed::Nowhere => (closed, false),
        };
        times.iter().map(&mut place).collect()
    }

    #[test]
    fn rows_are_in_the_tick_of_their_time_or_of_the_row_before() {
        let at = |day: i64| Some(day * DAY + 3600);
        let found = ticks(&[at(5), None, at(5), at(7), at(6), at(7), None, at(4), at(8)]);
        let expected = [
            (0, true),
            (0, false),
            (0, true),
            (2, true),
            (2, true),
            (2, true),
            (2, false),
            (2, false),
            (3, true),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn weeks_begin_on_monday() {
        // 2013-01-07 was a Monday.
        let monday = 1_357_516_800;
        let week = |seconds| By::Week.tick_at(seconds).unwrap();
        assert_eq!(week(monday), week(monday + 7 * DAY - 1));
        assert_eq!(week(monday - 1), week(monday) - 1);
        let clock = Clock::new(By::Week, Some(week(monday)), 0);
        assert_eq!(clock.written(1).unwrap(), "2013-01-14");
    }

    #[test]
    fn ticks_are_counted_with_the_empty_ones() {
        let mut counted = Counted::new(By::Day, None);
        for day in [3, 3, 5, 4, 9] {
            counted.row(Some(day * DAY));
        }
        assert_eq!((counted.ticks, counted.first()), (7, Some(3)));
        let mut counted = Counted::new(By::Records(2), None);
        (0..5).for_each(|_| counted.row(None));
        assert_eq!(counted.ticks, 3);
    }
}
