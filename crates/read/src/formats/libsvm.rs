//! libsvm and svmlight text: `label index:value …`, with indices that increase; `#` begins a
//! comment.
//!
//! Indices begin at 1 unless stated otherwise, and their number is stated: the largest index in a
//! file is somebody's. Values are as they stand; the stated norm bounds them.

use super::{Failure, FileFormat, NamesFrom, OTHER_KIND, Opened, Rows, is_space, refuse, value};
use crate::encode::{Builder, Targets};
use crate::error::Fault;
use crate::schema::{SchemaSpec, Space};
use memchr::memchr;

/// The format.
pub(super) struct Libsvm;

impl FileFormat for Libsvm {
    fn names(&self) -> &'static [&'static str] {
        &["libsvm", "svmlight", "svm"]
    }

    fn names_from(&self) -> NamesFrom {
        NamesFrom::Nowhere {
            state: "--dim N and --norm 1",
        }
    }

    fn space(&self, schema: &SchemaSpec) -> Result<Space, Fault> {
        let persons = "only VW text names persons, as --person tag";
        refuse("--person", schema.person.is_some(), persons)?;
        let bits = "libsvm indices are not hashed";
        refuse("--hash-bits", schema.hash_bits.is_some(), bits)?;
        Ok(Space::Indexed {
            dimension: schema.dimension.ok_or(Fault::DimensionNeeded)?,
            base: schema.index_base.unwrap_or(1),
        })
    }

    fn rows(&self, file: &Opened<'_>) -> Result<Box<dyn Rows>, Fault> {
        let &Space::Indexed { dimension, base } = file.layout.space() else {
            return Err(OTHER_KIND);
        };
        let first = u64::from(base);
        Ok(Box::new(Pairs {
            first,
            last: first + u64::from(dimension) - 1,
        }))
    }
}

/// Rows of pairs, with the indices that are allowed.
struct Pairs {
    first: u64,
    last: u64,
}

impl Rows for Pairs {
    fn row(&mut self, line: &[u8], builder: &mut Builder, targets: Targets) -> Result<(), Failure> {
        let line = &line[..memchr(b'#', line).unwrap_or(line.len())];
        let mut at = line.iter().position(|byte| !is_space(*byte)).unwrap_or(0);
        // A line that begins with a pair has no label.
        let label = Some(word(&line[at..])).filter(|word| !word.contains(&b':'));
        let label = label.unwrap_or_default();
        builder
            .set_target(label, targets)
            .map_err(|fault| Failure::new(at, fault))?;
        at += label.len();
        let (&mut Self { first, last }, mut least) = (self, 0);
        while at < line.len() {
            let word = word(&line[at..]);
            if word.is_empty() {
                at += 1;
                continue;
            }
            let fail = |fault| Failure::new(at, fault);
            let (index, value) = pair(word).ok_or_else(|| fail(Fault::Pair))?;
            if !(first..=last).contains(&index) {
                return Err(fail(Fault::IndexRange { first, last }));
            }
            if index < least {
                return Err(fail(Fault::IndexOrder));
            }
            least = index + 1;
            builder.put((index - first) as u32, value);
            at += word.len();
        }
        Ok(())
    }
}

/// An index of at most 18 digits and its value.
fn pair(word: &[u8]) -> Option<(u64, f64)> {
    let colon = memchr(b':', word)?;
    let index = &word[..colon];
    if !(1..=18).contains(&index.len()) || !index.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let index = index
        .iter()
        .fold(0, |index, digit| index * 10 + u64::from(digit - b'0'));
    Some((index, value(&word[colon + 1..])?))
}

/// What stands before the next space.
fn word(rest: &[u8]) -> &[u8] {
    let length = rest.iter().position(|byte| is_space(*byte));
    &rest[..length.unwrap_or(rest.len())]
}
