//! Year Prediction from its usual text file: a year and ninety numbers in each line, no header.
//!
//! The documentation of the data states no ranges for its numbers. A figure is of public data, so
//! every column is centred and divided by its own deviation here; a private run would have to be
//! told both. Years are stated, from 1922 to 2011.

use super::super::regression::bound;
use super::D;
use crate::vector::dot;
use std::io::{self, BufRead, BufReader, Read};

const YEARS: (f64, f64) = (1922.0, 2011.0);

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum YearsError {
    /// The file.
    #[error("cannot read the data: {0}")]
    Read(#[from] io::Error),
    /// A line that is not of this table.
    #[error(
        "line {0} is not one of Year Prediction: a year from 1922 to 2011 and 90 numbers, separated \
         by commas"
    )]
    Line(u64),
    /// Too few records for an item.
    #[error("the file has {0} records; at least 512 are needed, two items")]
    Few(usize),
}

/// All records: features of length at most R, targets in [−R, R].
#[derive(Debug, Clone, PartialEq)]
pub struct Years {
    pub(crate) records: Vec<(Vec<f32>, f32)>,
}

impl Years {
    /// Reads the table.
    ///
    /// # Errors
    /// A file that is not this table; the line is named, never its content.
    pub fn read(source: impl Read) -> Result<Self, YearsError> {
        let mut records = Vec::new();
        let (mut sums, mut squares) = (vec![0.0; D], vec![0.0; D]);
        for (number, line) in (1_u64..).zip(BufReader::new(source).lines()) {
            let line = line?;
            if line.is_empty() {
                continue;
            }
            let (features, year) = parse(&line).ok_or(YearsError::Line(number))?;
            for (i, &value) in features.iter().enumerate() {
                sums[i] += f64::from(value);
                squares[i] += f64::from(value) * f64::from(value);
            }
            records.push((features, year));
        }
        if records.len() < 512 {
            return Err(YearsError::Few(records.len()));
        }
        let (count, bound) = (records.len() as f64, bound(D));
        for (features, year) in &mut records {
            let scaled = features.iter().zip(sums.iter().zip(&squares));
            let mut scaled: Vec<f64> = scaled
                .map(|(&value, (sum, square))| {
                    let mean = sum / count;
                    let deviation = (square / count - mean * mean).max(0.0).sqrt();
                    (f64::from(value) - mean) / deviation.max(1e-9)
                })
                .collect();
            let shrink = (bound / dot(&scaled, &scaled).sqrt()).min(1.0);
            scaled.iter_mut().for_each(|value| *value *= shrink);
            *features = scaled.into_iter().map(|value| value as f32).collect();
            let (first, last) = YEARS;
            let place = 2.0 * (f64::from(*year) - first) / (last - first) - 1.0;
            *year = (bound * place) as f32;
        }
        Ok(Self { records })
    }

    /// The number of records.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.records.len() as u64
    }
}

fn parse(line: &str) -> Option<(Vec<f32>, f32)> {
    let mut fields = line.split(',').map(|field| field.trim().parse::<f32>());
    let year = fields.next()?.ok()?;
    let features: Vec<f32> = fields.collect::<Result<_, _>>().ok()?;
    let sound = features.len() == D && features.iter().all(|value| value.is_finite());
    let (first, last) = YEARS;
    (sound && (first..=last).contains(&f64::from(year))).then_some((features, year))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_tables_are_refused_by_their_line() {
        let row = |year: &str, count: usize| format!("{year}{}\n", ",1.5".repeat(count));
        let good = row("1999", D).repeat(600);
        assert_eq!(Years::read(good.as_bytes()).unwrap().rounds(), 600);
        for bad in [row("1999", D - 1), row("1899", D), row("year", D)] {
            let text = row("2001", D).repeat(3) + &bad;
            let error = Years::read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with("line 4"), "{error}");
        }
        let few = row("1999", D).repeat(5);
        assert!(matches!(
            Years::read(few.as_bytes()),
            Err(YearsError::Few(5))
        ));
    }

    /// Columns are centred and of one spread, years go from −R to R, and nothing is longer than R.
    #[test]
    fn records_keep_to_their_bounds() {
        let text: String = (0..1024)
            .map(|row| {
                let year = 1922 + row % 90;
                let numbers = (0..D).map(|i| format!(",{}", (row * (i + 3)) % 97 * 100));
                format!("{year}{}\n", numbers.collect::<String>())
            })
            .collect();
        let years = Years::read(text.as_bytes()).unwrap();
        let bound = bound(D) as f32;
        let mut means = [0.0_f32; D];
        for (features, year) in &years.records {
            assert!(year.abs() <= bound * 1.000_01);
            let square: f32 = features.iter().map(|value| value * value).sum();
            assert!(square.sqrt() <= bound * 1.000_01);
            means
                .iter_mut()
                .zip(features)
                .for_each(|(sum, value)| *sum += value / 1024.0);
        }
        assert!(means.iter().all(|mean| mean.abs() < 0.05), "{means:?}");
        assert!(years.records[0].1 < -0.99 * bound && years.records[89].1 > 0.99 * bound);
    }
}
