//! Tables of separated values with a header: RFC 4180, with line breaks of either kind.
//!
//! A row without quotes is read in one pass: numbers are parsed where they stand, and only other fields are looked for first.

use crate::encode::{Builder, Step, Targets};
use crate::error::Fault;
use crate::number;
use crate::rows::Failure;
use memchr::memchr;
use pulp::{Arch, Simd, WithSimd};
use std::sync::Arc;

/// Rows of a table.
pub(crate) struct Table {
    delimiter: u8,
    steps: Vec<Step>,
    /// How many indicators follow each other from a column on.
    indicators: Vec<usize>,
    pub(crate) names: Vec<Arc<str>>,
}

impl Table {
    pub(crate) fn new(delimiter: u8, steps: Vec<Step>, names: Vec<Arc<str>>) -> Self {
        let mut indicators = vec![0; steps.len()];
        let mut run = 0;
        for (step, indicators) in steps.iter().zip(&mut indicators).rev() {
            run = if step.is_indicator() { run + 1 } else { 0 };
            *indicators = run;
        }
        Self {
            delimiter,
            steps,
            indicators,
            names,
        }
    }

    pub(crate) fn row(
        &self,
        line: &[u8],
        quoted: bool,
        builder: &mut Builder,
        targets: Targets,
    ) -> Result<(), Failure> {
        if quoted {
            quoted_row(line, self.delimiter, &self.steps, builder, targets)
        } else {
            Arch::new().dispatch(PlainRow {
                table: self,
                line,
                builder,
                targets,
            })
        }
    }

    /// A row without quotes.
    #[inline(always)]
    fn plain_row(
        &self,
        line: &[u8],
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
        while let Some(step) = self.steps.get(field) {
            let Some(rest) = line.get(at..) else {
                return Err(short(line, &self.steps, field));
            };
            // Four indicators that are not set, as in most of a one-hot group: coordinates begin as zero.
            if self.indicators[field] >= 4 && rest.starts_with(&zeros) {
                (at, field) = (at + 8, field + 4);
                continue;
            }
            if let Step::Number(scale) = step
                && let Some((value, next)) = number::field(line, at, self.delimiter)
            {
                builder.put_number(scale, value);
                (at, field) = (next, field + 1);
                continue;
            }
            if let Step::Number(scale) = step
                && let Some((value, length)) = number::scan(rest)
                && rest.get(length).is_none_or(|&byte| byte == self.delimiter)
            {
                builder.put_number(scale, value);
                (at, field) = (at + length + 1, field + 1);
                continue;
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
        if at <= line.len() {
            return Err(long(at, &self.steps));
        }
        Ok(())
    }
}

/// [`Table::plain_row`], to be compiled for every generation of processors: the newer have shorter ways to shift.
struct PlainRow<'a> {
    table: &'a Table,
    line: &'a [u8],
    builder: &'a mut Builder,
    targets: Targets,
}

impl WithSimd for PlainRow<'_> {
    type Output = Result<(), Failure>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        self.table.plain_row(self.line, self.builder, self.targets)
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
    let mut fields = Fields {
        line,
        delimiter,
        at: Some(0),
    };
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

/// The names in the first row.
pub(crate) fn header(line: &[u8], delimiter: u8) -> Result<Vec<String>, Failure> {
    let mut names: Vec<String> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for (at, text) in (Fields {
        line,
        delimiter,
        at: Some(0),
    }) {
        let fail = |fault| Failure {
            at,
            field: Some(names.len()),
            fault,
        };
        let name = String::from_utf8(text).map_err(|_| fail(Fault::NotUtf8))?;
        if name.is_empty() {
            return Err(fail(Fault::NamelessColumn));
        }
        if !seen.insert(name.clone()) {
            return Err(fail(Fault::DuplicateColumn(name)));
        }
        names.push(name);
    }
    if names
        .iter()
        .all(|name| number::parse(name.as_bytes()).is_some())
    {
        return Err(Failure {
            at: 0,
            field: None,
            fault: Fault::NoHeader,
        });
    }
    Ok(names)
}

/// Fields with where they begin, without their quotes.
struct Fields<'a> {
    line: &'a [u8],
    delimiter: u8,
    at: Option<usize>,
}

impl Iterator for Fields<'_> {
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
