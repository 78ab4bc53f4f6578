//! Dates as public calendar features: the month, the day of the week, and the hour.
//!
//! Dates are written as in ISO 8601, year first: `2013-01-31` or `2013/01/31`; after a `T` or a
//! space the time of day may follow, `14:05`, with seconds and a zone, which is not looked at.

/// One part of a date.
pub(crate) struct Part {
    pub(crate) name: &'static str,
    /// Number of its values.
    pub(crate) count: u64,
}

/// The parts, in the order of their coordinates.
pub(crate) const PARTS: [Part; 3] = [
    Part {
        name: "month",
        count: 12,
    },
    Part {
        name: "weekday",
        count: 7,
    },
    Part {
        name: "hour",
        count: 24,
    },
];

/// The name of a value of a part.
pub(crate) fn value_name(part: usize, value: usize) -> String {
    const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    match part {
        0 => (value + 1).to_string(),
        1 => DAYS[value % 7].to_owned(),
        _ => value.to_string(),
    }
}

/// The place of each part's value, from 0; no hour without the time of day. Nothing for a text that
/// is no date.
pub(crate) fn parts(text: &[u8]) -> Option<[Option<u32>; 3]> {
    let number = |digits: &[u8]| -> Option<u32> {
        let is_number = digits.iter().all(u8::is_ascii_digit);
        is_number.then(|| {
            digits
                .iter()
                .fold(0, |sum, d| 10 * sum + u32::from(d - b'0'))
        })
    };
    let (date, rest) = text.split_at_checked(10)?;
    let separator = date[4];
    if !matches!(separator, b'-' | b'/') || date[7] != separator {
        return None;
    }
    let (year, month, day) = (
        number(&date[..4])?,
        number(&date[5..7])?,
        number(&date[8..])?,
    );
    if !(1..=12).contains(&month) || !(1..=days_in(year, month)).contains(&day) {
        return None;
    }
    let hour = match rest {
        [] => None,
        [b'T' | b' ', a, b, b':', c, d, ..] => {
            let (hour, minute) = (number(&[*a, *b])?, number(&[*c, *d])?);
            if hour > 23 || minute > 59 {
                return None;
            }
            Some(hour)
        }
        _ => return None,
    };
    Some([Some(month - 1), Some(weekday(year, month, day)), hour])
}

/// Seconds since 1970 of a date with or without the time of day, or of a number of seconds. A zone
/// is not looked at: ticks are of the clock that wrote the times.
pub(crate) fn seconds(text: &[u8]) -> Option<i64> {
    if !text.is_empty() && text.len() <= 12 && text.iter().all(u8::is_ascii_digit) {
        return std::str::from_utf8(text).ok()?.parse().ok();
    }
    parts(text)?;
    let two = |at: usize| i64::from(text[at] - b'0') * 10 + i64::from(text[at + 1] - b'0');
    let mut seconds = days(two(0) * 100 + two(2), two(5), two(8)) * 86_400;
    if text.len() >= 16 {
        seconds += two(11) * 3600 + two(14) * 60;
        if let [b':', tens @ b'0'..=b'5', ones @ b'0'..=b'9', ..] = text[16..] {
            seconds += i64::from(tens - b'0') * 10 + i64::from(ones - b'0');
        }
    }
    Some(seconds)
}

/// A time as in a column of times, in seconds.
#[must_use]
pub fn parse_time(text: &str) -> Option<i64> {
    seconds(text.trim().as_bytes())
}

/// Days since 1970 of a date in the Gregorian calendar; years begin in March, so that a leap day is
/// the last of its year.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month < 3 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leaps + (153 * month + 2) / 5 + day - 1 - 719_468
}

/// The date and the time of day of seconds since 1970, as in 2013-01-31T14:05; without the time of
/// day at midnight.
#[must_use]
pub fn written(seconds: i64) -> String {
    let (mut day, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // From the first day of year 0: whole centuries first, then the year is found.
    let guess = (day + 719_468).div_euclid(366).max(-1);
    let year = (guess..).take_while(|&year| days(year, 1, 1) <= day).last();
    let year = year.unwrap_or(guess);
    let month = (1..=12).rev().find(|&month| days(year, month, 1) <= day);
    let month = month.unwrap_or(1);
    day -= days(year, month, 1) - 1;
    let date = format!("{year:04}-{month:02}-{day:02}");
    match (rest / 3600, rest / 60 % 60, rest % 60) {
        (0, 0, 0) => date,
        (hour, minute, 0) => format!("{date}T{hour:02}:{minute:02}"),
        (hour, minute, second) => format!("{date}T{hour:02}:{minute:02}:{second:02}"),
    }
}

fn days_in(year: u32, month: u32) -> u32 {
    let is_leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since Monday, by Sakamoto's rule.
fn weekday(year: u32, month: u32, day: u32) -> u32 {
    const SHIFTS: [u32; 12] = [0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4];
    let year = if month < 3 { year + 399 } else { year + 400 };
    let sunday = year + year / 4 - year / 100 + year / 400 + SHIFTS[month as usize - 1] + day;
    (sunday + 6) % 7
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_days() {
        let of = |text: &str| parts(text.as_bytes());
        assert_eq!(of("2013-01-01"), Some([Some(0), Some(1), None])); // a Tuesday
        assert_eq!(
            of("2024-02-29T23:59:59Z"),
            Some([Some(1), Some(3), Some(23)])
        );
        assert_eq!(of("1970/01/01 00:00"), Some([Some(0), Some(3), Some(0)]));
        assert_eq!(of("2000-01-01"), Some([Some(0), Some(5), None]));
        assert_eq!(of("0000-03-01"), Some([Some(2), Some(2), None]));
        for bad in [
            "",
            "2013",
            "2013-13-01",
            "2013-02-29",
            "2013-1-1",
            "2013-01-01x",
            "2013-01-01T24:00",
            "2013-01/01",
            "2013-00-10",
            "2013-01-00",
            "2013-01-01T1:00",
            "20130101",
            "+013-01-01",
        ] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }

    #[test]
    fn seconds_since_1970() {
        for (text, expected) in [
            ("1970-01-01", 0),
            ("1970/01/02 00:01", 86_460),
            ("2013-01-01T00:00:00Z", 1_356_998_400),
            ("2024-02-29T23:59:59", 1_709_251_199),
            ("1969-12-31", -86_400),
            ("1356998400", 1_356_998_400),
        ] {
            assert_eq!(seconds(text.as_bytes()), Some(expected), "{text}");
        }
        for bad in ["", "2013-02-29", "12:00", "99999999999999", "1e9", "-5"] {
            assert_eq!(seconds(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(written(1_709_251_199), "2024-02-29T23:59:59");
        assert_eq!(written(1_357_003_800), "2013-01-01T01:30");
        // Every day of some centuries, there and back.
        for day in -200_000..200_000 {
            let text = written(day * 86_400);
            assert_eq!(seconds(text.as_bytes()), Some(day * 86_400), "{text}");
        }
    }

    /// Every day of four centuries follows the one before it.
    #[test]
    fn days_follow_each_other() {
        let mut last = None;
        for year in 1900..2300 {
            for month in 1..=12 {
                for day in 1..=days_in(year, month) {
                    let today = weekday(year, month, day);
                    assert!(last.is_none_or(|last| (last + 1) % 7 == today));
                    last = Some(today);
                }
            }
        }
    }
}
