//! Forest CoverType from its usual CSV file: ten numeric columns, four and forty indicators, the
//! class.

use crate::Dice;
use hushstream_mechanism::losses::{Features, Record};
use std::io::{self, BufRead, BufReader, Read};

const NUMBERS: usize = 10;
const INDICATORS: [usize; 2] = [4, 40];
/// Ranges of the numeric columns, from the documentation that comes with the data.
const RANGES: [(f64, f64); NUMBERS] = [
    (1859.0, 3858.0),
    (0.0, 360.0),
    (0.0, 66.0),
    (0.0, 1397.0),
    (-173.0, 601.0),
    (0.0, 7117.0),
    (0.0, 254.0),
    (0.0, 254.0),
    (0.0, 254.0),
    (0.0, 7173.0),
];

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// The file.
    #[error("cannot read the data: {0}")]
    Read(#[from] io::Error),
    /// A line that is not of this table.
    #[error(
        "line {0} is not one of CoverType: ten numbers, 4 and 40 indicators of which one each is \
         1, a class"
    )]
    Line(u64),
    /// Too few records to hold any out.
    #[error("the file has {0} records; at least 20 are needed")]
    Few(usize),
}

/// One record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Example {
    numbers: [f32; NUMBERS],
    indicators: [u8; 2],
    positive: bool,
}

impl Example {
    /// (coordinate, value), all others zero; of length at most 1.
    pub(super) fn entries(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let scale = 1.0 / 12.0_f64.sqrt();
        let numbers = self.numbers.iter().enumerate();
        let [area, soil] = self.indicators.map(usize::from);
        let ones = [NUMBERS + area, NUMBERS + INDICATORS[0] + soil];
        numbers
            .map(move |(i, &v)| (i, scale * f64::from(v)))
            .chain(ones.into_iter().map(move |i| (i, scale)))
    }

    pub(super) fn is_positive(&self) -> bool {
        self.positive
    }

    pub(super) fn record(&self) -> Record {
        let entries = self.entries().map(|(i, v)| (i as u32, v));
        Record {
            features: Features::Sparse(entries.collect()),
            target: if self.positive { 1.0 } else { -1.0 },
        }
    }
}

/// All records.
#[derive(Debug, Clone, PartialEq)]
pub struct Cover {
    examples: Vec<Example>,
}

impl Cover {
    /// Reads the table, with its header.
    ///
    /// # Errors
    /// A file that is not this table; the line is named, never its content.
    pub fn read(source: impl Read) -> Result<Self, DataError> {
        let mut examples = Vec::new();
        for (number, line) in (1_u64..).zip(BufReader::new(source).lines()) {
            let line = line?;
            if number == 1 || line.is_empty() {
                continue;
            }
            examples.push(parse(&line).ok_or(DataError::Line(number))?);
        }
        if examples.len() < 20 {
            return Err(DataError::Few(examples.len()));
        }
        Ok(Self { examples })
    }

    /// How many records are learned from if none are left out.
    pub fn rounds(&self) -> u64 {
        (self.examples.len() - self.examples.len() / 10) as u64
    }

    /// A random order: the first `rounds` (all but a tenth, if none are given), and the last tenth.
    pub(super) fn split(&self, seed: u64, rounds: Option<u64>) -> (Vec<&Example>, Vec<&Example>) {
        let mut order: Vec<&Example> = self.examples.iter().collect();
        let mut dice = Dice::new(seed ^ 0x636f_7665);
        for last in (1..order.len()).rev() {
            order.swap(last, (dice.bits() % (last as u64 + 1)) as usize);
        }
        let test = order.split_off(self.rounds() as usize);
        order.truncate(rounds.map_or(usize::MAX, |rounds| rounds as usize));
        (order, test)
    }
}

fn parse(line: &str) -> Option<Example> {
    let mut fields = line.split(',').map(str::trim);
    let mut numbers = [0.0; NUMBERS];
    for (number, (low, high)) in numbers.iter_mut().zip(RANGES) {
        let value: f64 = fields.next()?.parse().ok()?;
        *number = (2.0 * (value.clamp(low, high) - low) / (high - low) - 1.0) as f32;
    }
    let mut indicators = [0; 2];
    for (which, count) in indicators.iter_mut().zip(INDICATORS) {
        let mut found = None;
        for place in 0..count {
            match fields.next()? {
                "0" => {}
                "1" if found.is_none() => found = Some(place),
                _ => return None,
            }
        }
        *which = found? as u8;
    }
    let class: u8 = fields.next()?.parse().ok()?;
    let sound = (1..=7).contains(&class) && fields.next().is_none();
    sound.then_some(Example {
        numbers,
        indicators,
        positive: class == 2,
    })
}

/// A table of the same form: the class follows the first column.
#[cfg(test)]
pub(super) fn sample(records: u64) -> String {
    use std::fmt::Write as _;
    let mut dice = Dice::new(5);
    let mut text = String::from("header\n");
    for _ in 0..records {
        let numbers = RANGES.map(|(low, high)| low + dice.uniform() * (high - low));
        let middle = f64::midpoint(RANGES[0].0, RANGES[0].1);
        let class = if numbers[0] > middle { 2 } else { 1 };
        for number in numbers {
            let _ = write!(text, "{number:.0},");
        }
        for count in INDICATORS {
            let one = dice.bits() % count as u64;
            for place in 0..count as u64 {
                let _ = write!(text, "{},", u8::from(place == one));
            }
        }
        let _ = writeln!(text, "{class}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_short_and_bad_lines_are_named() {
        let text = sample(50);
        let cover = Cover::read(text.as_bytes()).unwrap();
        assert_eq!(cover.rounds(), 45);
        for example in &cover.examples {
            let square: f64 = example.entries().map(|(_, v)| v * v).sum();
            assert!(square <= 1.0 + 1e-12 && example.entries().count() == 12);
        }
        let (learn, test) = cover.split(3, None);
        assert_eq!((learn.len(), test.len()), (45, 5));
        assert_eq!(cover.split(3, None).0, learn);
        let broken = text.replacen(",1,", ",7,", 1);
        assert!(matches!(
            Cover::read(broken.as_bytes()),
            Err(DataError::Line(_))
        ));
        let short = sample(3);
        assert!(matches!(
            Cover::read(short.as_bytes()),
            Err(DataError::Few(3))
        ));
    }
}
