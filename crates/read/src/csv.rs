//! Tables of separated values with a header: RFC 4180, with line breaks of either kind, and with
//! line breaks within quotes only where they are asked for.
//!
//! Columns of numbers that lie side by side are read many at a time (`many.rs`); other numbers are parsed where they stand, and only other fields are looked for first.

use crate::encode::{Builder, Targets};
use crate::error::Fault;
use crate::many::{Fields, Scales, Vectors, Words};
use crate::number;
use crate::rows::Failure;
use crate::runs::{WORTH, rooms, runs};
use crate::step::Step;
use memchr::memchr;
use std::sync::Arc;

/// Rows of a table.
pub(crate) struct Table {
    columns: Columns,
    /// Room for fields that are read many at a time: several, because each remembers what the row before looked like there.
    found: Vec<Fields>,
    pub(crate) names: Vec<Arc<str>>,
}

/// What to do with the fields of a row.
struct Columns {
    delimiter: u8,
    steps: Vec<Step>,
    /// How many indicators follow each other from a column on.
    indicators: Vec<usize>,
    /// How many numbers whose coordinates follow each other.
    numbers: Vec<usize>,
    /// Which room these have.
    rooms: Vec<usize>,
    scales: Scales,
}

/// A row in its file: what lies behind it may be loaded with it, and is not looked at.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) row: &'a [u8],
    /// The row and what lies behind it.
    pub(crate) room: &'a [u8],
}

impl Table {
    pub(crate) fn new(delimiter: u8, steps: Vec<Step>, names: Vec<Arc<str>>) -> Self {
        let is_number = |step: &Step| step.number().is_some() && !step.is_indicator();
        let numbers = runs(&steps, is_number, |step, next| {
            let slot = |step: &Step| step.number().map(|scale| scale.slot);
            slot(next) == slot(step).map(|slot| slot + 1)
        });
        let rooms = rooms(&numbers);
        let columns = Columns {
            delimiter,
            indicators: runs(&steps, Step::is_indicator, |_, _| true),
            numbers,
            scales: Scales::new(steps.iter().map(Step::number)),
            steps,
            rooms,
        };
        let count = columns.rooms.iter().max().map_or(0, |last| last + 1);
        Self {
            columns,
            found: (0..count).map(|_| Fields::default()).collect(),
            names,
        }
    }

    pub(crate) fn row(
        &mut self,
        line: Line<'_>,
        quoted: bool,
        builder: &mut Builder,
        targets: Targets,
    ) -> Result<(), Failure> {
        if quoted {
            let Columns {
                delimiter, steps, ..
            } = &self.columns;
            return quoted_row(line.row, *delimiter, steps, builder, targets);
        }
        let found = &mut self.found;
        #[cfg(target_arch = "x86_64")]
        if let Some(v3) = pulp::x86::V3::try_new() {
            return v3.vectorize(PlainRow {
                columns: &self.columns,
                vectors: v3,
                found,
                line,
                builder,
                targets,
            });
        }
        self.columns.plain_row(Words, found, line, builder, targets)
    }
}

impl Table {
    pub(crate) fn step(&self, field: usize) -> Option<&Step> {
        self.columns.steps.get(field)
    }

    /// Calls back for every field of a row that is in order.
    pub(crate) fn each_field(&self, row: &[u8], quoted: bool, mut field: impl FnMut(usize, &[u8])) {
        let delimiter = self.columns.delimiter;
        if quoted {
            for (number, (_, text)) in Quoted::new(row, delimiter).enumerate() {
                field(number, &text);
            }
            return;
        }
        for (number, text) in row.split(|&byte| byte == delimiter).enumerate() {
            field(number, text);
        }
    }
}

impl Columns {
    /// A row without quotes.
    #[inline(always)]
    fn plain_row<V: Vectors>(
        &self,
        vectors: V,
        found: &mut [Fields],
        Line { row, room }: Line<'_>,
        builder: &mut Builder,
        targets: Targets,
    ) -> Result<(), Failure> {
        let zeros = [
            b'0',
            self.delimiter,
            b'0',
            self.delimiter,
            b'0',
            self.delimiter,
            b'0',
            self.delimiter,
        ];
        let (mut at, mut field) = (0, 0);
        // Up to here fields are read one by one.
        let mut one_by_one = 0;
        while let Some(step) = self.steps.get(field) {
            let Some(rest) = row.get(at..) else {
                return Err(short(row, &self.steps, field));
            };
            // Four indicators that are not set, as in most of a one-hot group: coordinates begin as zero.
            if self.indicators[field] >= 4 && rest.starts_with(&zeros) {
                (at, field) = (at + 8, field + 4);
                continue;
            }
            if let Step::Number(scale) = step {
                if self.numbers[field] >= WORTH && field >= one_by_one {
                    let most = self.numbers[field];
                    let found = &mut found[self.rooms[field]];
                    found.find(vectors, (room, row.len()), at, self.delimiter, most);
                    let count = found.count();
                    let plain = match builder.side_by_side(scale.slot, count) {
                        Some(out) => found.decode(vectors, room, &self.scales, field, out),
                        None => 0,
                    };
                    if plain < count.max(1) {
                        one_by_one = field + count.max(1);
                    }
                    if let Some(next) = found.behind(plain) {
                        (at, field) = (next, field + plain);
                        continue;
                    }
                }
                if let Some((value, next)) = number::field(row, at, self.delimiter) {
                    builder.put_number(scale, value);
                    (at, field) = (next, field + 1);
                    continue;
                }
                if let Some((value, length)) = number::scan(rest)
                    && rest.get(length).is_none_or(|&byte| byte == self.delimiter)
                {
                    builder.put_number(scale, value);
                    (at, field) = (at + length + 1, field + 1);
                    continue;
                }
            }
            let length = memchr(self.delimiter, rest).unwrap_or(rest.len());
            builder
                .field(step, &rest[..length], targets)
                .map_err(|fault| Failure {
                    at,
                    field: Some(field),
                    fault,
                })?;
            (at, field) = (at + length + 1, field + 1);
        }
        if at <= row.len() {
            return Err(long(at, &self.steps));
        }
        Ok(())
    }
}

/// [`Columns::plain_row`], to be compiled once more for newer processors: they have wider vectors and shorter ways to shift.
#[cfg(target_arch = "x86_64")]
struct PlainRow<'a, V> {
    columns: &'a Columns,
    vectors: V,
    found: &'a mut [Fields],
    line: Line<'a>,
    builder: &'a mut Builder,
    targets: Targets,
}

#[cfg(target_arch = "x86_64")]
impl<V: Vectors> pulp::NullaryFnOnce for PlainRow<'_, V> {
    type Output = Result<(), Failure>;

    #[inline(always)]
    fn call(self) -> Self::Output {
        self.columns.plain_row(
            self.vectors,
            self.found,
            self.line,
            self.builder,
            self.targets,
        )
    }
}

/// A row with quotes, which are known to be in order.
fn quoted_row(
    line: &[u8],
    delimiter: u8,
    steps: &[Step],
    builder: &mut Builder,
    targets: Targets,
) -> Result<(), Failure> {
    let mut fields = Quoted::new(line, delimiter);
    for (field, step) in steps.iter().enumerate() {
        let Some((at, text)) = fields.next() else {
            return Err(short(line, steps, field));
        };
        builder
            .field(step, &text, targets)
            .map_err(|fault| Failure {
                at,
                field: Some(field),
                fault,
            })?;
    }
    match fields.next() {
        Some((at, _)) => Err(long(at, steps)),
        None => Ok(()),
    }
}

fn short(line: &[u8], steps: &[Step], found: usize) -> Failure {
    let fault = Fault::ShortRow {
        expected: steps.len(),
        found,
    };
    Failure {
        at: line.len(),
        field: Some(found),
        fault,
    }
}

fn long(at: usize, steps: &[Step]) -> Failure {
    let fault = Fault::LongRow {
        expected: steps.len(),
    };
    Failure {
        at,
        field: Some(steps.len()),
        fault,
    }
}

/// Fields with where they begin, without their quotes.
pub(crate) struct Quoted<'a> {
    line: &'a [u8],
    delimiter: u8,
    at: Option<usize>,
}

impl<'a> Quoted<'a> {
    pub(crate) fn new(line: &'a [u8], delimiter: u8) -> Self {
        Self {
            line,
            delimiter,
            at: Some(0),
        }
    }
}

impl Iterator for Quoted<'_> {
    type Item = (usize, Vec<u8>);

    fn next(&mut self) -> Option<Self::Item> {
        let begin = self.at?;
        let rest = &self.line[begin..];
        let mut text = Vec::new();
        let mut length = 0;
        if rest.first() == Some(&b'"') {
            length = 1;
            while let Some(part) = memchr(b'"', &rest[length..]) {
                text.extend_from_slice(&rest[length..length + part]);
                length += part + 1;
                if rest.get(length) != Some(&b'"') {
                    break;
                }
                text.push(b'"');
                length += 1;
            }
        } else {
            length += memchr(self.delimiter, rest).unwrap_or(rest.len());
            text.extend_from_slice(&rest[..length]);
        }
        self.at = (length < rest.len()).then_some(begin + length + 1);
        Some((begin, text))
    }
}
