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
