//! Vowpal Wabbit's text: `label [importance] [tag]|namespace[:scale] feature[:value] …`.
//!
//! The coordinate of a feature is the last bits of its hash as Vowpal Wabbit computes it: MurmurHash3 (32 bits) of the name with the hash of its namespace as
//! seed, or their sum if the name is a number. Features that meet in one coordinate are added. Values are as they stand; the stated
//! norm bounds them. The last word before the bar is a tag if it touches the bar or begins with an apostrophe. Importance must be 1.

use crate::digits;
use crate::encode::{Builder, Targets};
use crate::error::Fault;
use crate::hash;
use crate::number;
use crate::rows::Failure;
use crate::word::{fail, is_space, number_before, value};
use memchr::memchr;
use pulp::{Arch, Simd, WithSimd};

/// Rows that are examples.
pub(crate) struct Examples {
    pub(crate) mask: u32,
    /// Whether tags name persons.
    pub(crate) persons: bool,
}

impl Examples {
    pub(crate) fn row(
        &self,
        line: &[u8],
        builder: &mut Builder,
        targets: Targets,
    ) -> Result<(), Failure> {
        let bar = memchr(b'|', line).ok_or_else(|| fail(line.len(), Fault::NoBar))?;
        self.head(&line[..bar], builder, targets)?;
        Arch::new().dispatch(Namespaces {
            examples: self,
            line,
            bar,
            builder,
        })
    }

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
        if self.persons {
            builder.person = Some(hash::person(tag));
        }
        let (at, label) = words.first().copied().unwrap_or((0, b""));
        builder
            .set_target(label, targets)
            .map_err(|fault| fail(at, fault))?;
        if let Some(&(at, importance)) = words.get(1) {
            match number::parse(importance) {
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
    #[inline(always)]
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
            if let Some((index, number, end)) = plain_feature(line, at) {
                builder.put(index.wrapping_add(seed) & self.mask, number * scale);
                at = end;
                continue;
            }
            let length = word_length(&line[at..]);
            let (name, given) = split(&line[at..at + length]);
            if name.is_empty() {
                return Err(fail(at, Fault::NamelessFeature));
            }
            let number = match given {
                None => 1.0,
                Some(given) => {
                    value(given).ok_or_else(|| fail(at + name.len() + 1, Fault::VwValue))?
                }
            };
            builder.put(hash::vw(name, seed) & self.mask, number * scale);
            at += length;
        }
    }
}

/// All namespaces of a line, to be compiled for every generation of processors.
struct Namespaces<'a> {
    examples: &'a Examples,
    line: &'a [u8],
    bar: usize,
    builder: &'a mut Builder,
}

impl WithSimd for Namespaces<'_> {
    type Output = Result<(), Failure>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        let mut at = self.bar;
        while at < self.line.len() {
            at = self.examples.namespace(self.line, at + 1, self.builder)?;
        }
        Ok(())
    }
}

/// A feature whose name is a short number, alone or with a value: the number, the value and where it ends. The way of most features that a program has
/// written; any other is left to the long way, which judges it.
#[inline(always)]
fn plain_feature(line: &[u8], at: usize) -> Option<(u32, f64, usize)> {
    let (index, after, end) = digits::whole(line, at)?;
    match after {
        b' ' | b'\t' | b'|' => Some((index, 1.0, end)),
        b':' => {
            let ends_word = |byte| is_space(byte) || byte == b'|';
            let (value, end) = number_before(line, end + 1, ends_word)?;
            Some((index, value, end))
        }
        _ => None,
    }
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
