//! Vowpal Wabbit's text: `label [importance] [tag]|namespace[:scale] feature[:value] …`.
//!
//! The coordinate of a feature is the last bits of its hash as Vowpal Wabbit computes it:
//! MurmurHash3 (32 bits) of the name with the hash of its namespace as seed, or their sum if the
//! name is a number. Features that meet in one coordinate are added. Values are as they stand; the
//! stated norm bounds them. The last word before the bar is a tag if it touches the bar or begins
//! with an apostrophe. Importance must be 1.

use super::{Failure, FileFormat, NamesFrom, OTHER_KIND, Opened, Rows, is_space, refuse, value};
use crate::encode::{Builder, Targets, hash, parse_number};
use crate::error::Fault;
use crate::schema::{SchemaSpec, Space};
use memchr::memchr;

/// Bits of the hash, as in Vowpal Wabbit.
const BITS: u8 = 18;

/// The format.
pub(super) struct Vw;

impl FileFormat for Vw {
    fn names(&self) -> &'static [&'static str] {
        &["vw"]
    }

    fn names_from(&self) -> NamesFrom {
        NamesFrom::Nowhere { state: "--norm 1" }
    }

    fn space(&self, schema: &SchemaSpec) -> Result<Space, Fault> {
        let is_other = schema.person.as_ref().is_some_and(|person| person != "tag");
        let persons = "only VW text names persons, as --person tag";
        refuse("--person", is_other, persons)?;
        let hashed = "VW text is hashed: --hash-bits";
        refuse("--dim", schema.dimension.is_some(), hashed)?;
        refuse(
            "--index-base",
            schema.index_base.is_some(),
            "it is for libsvm",
        )?;
        Ok(Space::Hashed {
            bits: schema.hash_bits.unwrap_or(BITS),
        })
    }

    fn rows(&self, file: &Opened<'_>) -> Result<Box<dyn Rows>, Fault> {
        let Space::Hashed { bits } = file.layout.space() else {
            return Err(OTHER_KIND);
        };
        Ok(Box::new(Examples {
            mask: (1 << bits) - 1,
            has_persons: file.beside.person.is_some(),
        }))
    }
}

/// Rows that are examples.
struct Examples {
    mask: u32,
    /// Whether tags name persons.
    has_persons: bool,
}

impl Rows for Examples {
    fn row(&mut self, line: &[u8], builder: &mut Builder, targets: Targets) -> Result<(), Failure> {
        let bar = memchr(b'|', line).ok_or_else(|| fail(line.len(), Fault::NoBar))?;
        self.head(&line[..bar], builder, targets)?;
        let mut at = bar;
        while at < line.len() {
            at = self.namespace(line, at + 1, builder)?;
        }
        Ok(())
    }
}

impl Examples {
    /// Label, importance and tag.
    fn head(&self, head: &[u8], builder: &mut Builder, targets: Targets) -> Result<(), Failure> {
        let mut words = words(head);
        let mut tag: &[u8] = b"";
        if let Some(&(at, word)) = words.last()
            && (at + word.len() == head.len() || word[0] == b'\'')
        {
            tag = word.strip_prefix(b"'").unwrap_or(word);
            words.pop();
        }
        if self.has_persons {
            builder.person = Some(hash::person(tag));
        }
        let (at, label) = words.first().copied().unwrap_or((0, b""));
        builder
            .set_target(label, targets)
            .map_err(|fault| fail(at, fault))?;
        if let Some(&(at, importance)) = words.get(1) {
            match parse_number(importance) {
                Some(weight) if (weight - 1.0).abs() < f64::EPSILON => {}
                Some(_) => return Err(fail(at, Fault::Importance)),
                None => return Err(fail(at, Fault::VwLabel)),
            }
        }
        match words.get(2) {
            Some(&(at, _)) => Err(fail(at, Fault::VwLabel)),
            None => Ok(()),
        }
    }

    /// A namespace from behind its bar; returns where the next bar is.
    fn namespace(
        &self,
        line: &[u8],
        begin: usize,
        builder: &mut Builder,
    ) -> Result<usize, Failure> {
        let mut at = begin + word_length(&line[begin..]);
        let (name, scale) = split(&line[begin..at]);
        let scale = match scale {
            None => 1.0,
            Some(_) if name.is_empty() => return Err(fail(begin, Fault::Namespace)),
            Some(scale) => value(scale).ok_or_else(|| fail(begin, Fault::Namespace))?,
        };
        let seed = hash::vw(name, 0);
        loop {
            while at < line.len() && is_space(line[at]) {
                at += 1;
            }
            if at == line.len() || line[at] == b'|' {
                return Ok(at);
            }
            let (length, hash) = named(&line[at..], seed);
            if length == 0 {
                return Err(fail(at, Fault::NamelessFeature));
            }
            at += length;
            let mut number = 1.0;
            if line.get(at) == Some(&b':') {
                at += 1;
                let length = word_length(&line[at..]);
                number = value(&line[at..at + length]).ok_or_else(|| fail(at, Fault::VwValue))?;
                at += length;
            }
            builder.put(hash & self.mask, number * scale);
        }
    }
}

fn fail(at: usize, fault: Fault) -> Failure {
    Failure::new(at, fault)
}

/// The length of the name that a word begins with, and its hash: of digits, as names often are, the
/// number is found along the way.
fn named(word: &[u8], seed: u32) -> (usize, u32) {
    let is_end = |at: usize| {
        let byte = word.get(at);
        byte.is_none_or(|&byte| is_space(byte) || byte == b'|' || byte == b':')
    };
    let (mut length, mut number) = (0, 0_u32);
    while let Some(byte) = word.get(length).filter(|byte| byte.is_ascii_digit()) {
        let digit = u32::from(byte - b'0');
        number = number.wrapping_mul(10).wrapping_add(digit);
        length += 1;
    }
    if is_end(length) {
        return (length, number.wrapping_add(seed));
    }
    while !is_end(length) {
        length += 1;
    }
    (length, hash::vw(&word[..length], seed))
}

/// Bytes up to a space or a bar.
fn word_length(rest: &[u8]) -> usize {
    rest.iter()
        .take_while(|byte| !is_space(**byte) && **byte != b'|')
        .count()
}

/// Words with where they begin.
fn words(head: &[u8]) -> Vec<(usize, &[u8])> {
    let mut words = Vec::new();
    let mut at = 0;
    while at < head.len() {
        let length = word_length(&head[at..]);
        if length > 0 {
            words.push((at, &head[at..at + length]));
        }
        at += length + 1;
    }
    words
}

/// Name and what follows the colon.
fn split(word: &[u8]) -> (&[u8], Option<&[u8]>) {
    match memchr(b':', word) {
        Some(colon) => (&word[..colon], Some(&word[colon + 1..])),
        None => (word, None),
    }
}
