//! libsvm and svmlight text: `label index:value …`, indices increasing, `#` and what follows it passed over.
//!
//! Indices begin at 1 unless stated otherwise, and their number is stated: the largest index in a file is somebody's. Values are as they stand; the
//! stated norm bounds them.

use crate::digits;
use crate::encode::{Builder, Targets};
use crate::error::Fault;
use crate::number;
use crate::rows::Failure;
use crate::word::{fail, is_space, number_before, value};
use memchr::memchr;
use pulp::{Arch, Simd, WithSimd};

/// Rows of pairs.
pub(crate) struct Pairs {
    pub(crate) dimension: u32,
    /// The first index.
    pub(crate) base: u8,
}

impl Pairs {
    pub(crate) fn row(
        &self,
        line: &[u8],
        builder: &mut Builder,
        targets: Targets,
    ) -> Result<(), Failure> {
        let line = &line[..memchr(b'#', line).unwrap_or(line.len())];
        let begin = label(line, builder, targets)?;
        let first = u64::from(self.base);
        Arch::new().dispatch(Line {
            line,
            begin,
            first,
            last: first + u64::from(self.dimension) - 1,
            builder,
        })
    }
}

/// Takes the label, and tells where the pairs begin.
fn label(line: &[u8], builder: &mut Builder, targets: Targets) -> Result<usize, Failure> {
    let begin = line.iter().position(|byte| !is_space(*byte)).unwrap_or(0);
    let word = word(&line[begin..]);
    // A line that begins with a pair has no label.
    let label: &[u8] = if word.contains(&b':') { b"" } else { word };
    builder
        .set_target(label, targets)
        .map_err(|fault| fail(begin, fault))?;
    Ok(begin + label.len())
}

/// The pairs of a line, to be compiled for every generation of processors.
struct Line<'a> {
    line: &'a [u8],
    begin: usize,
    first: u64,
    last: u64,
    builder: &'a mut Builder,
}

impl WithSimd for Line<'_> {
    type Output = Result<(), Failure>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        let Self {
            line, first, last, ..
        } = self;
        let (mut at, mut least) = (self.begin, 0);
        while at < line.len() {
            if is_space(line[at]) {
                at += 1;
                continue;
            }
            let pair = plain_pair(line, at).or_else(|| any_pair(line, at));
            let (index, number, end) = pair.ok_or_else(|| fail(at, Fault::Pair))?;
            if !(first..=last).contains(&index) {
                return Err(fail(at, Fault::IndexRange { first, last }));
            }
            if index < least {
                return Err(fail(at, Fault::IndexOrder));
            }
            least = index + 1;
            self.builder.put((index - first) as u32, number);
            at = end;
        }
        Ok(())
    }
}

/// A short index and its value, with where they end: the way of most pairs.
#[inline(always)]
fn plain_pair(line: &[u8], at: usize) -> Option<(u64, f64, usize)> {
    let (index, after, end) = digits::whole(line, at)?;
    if after != b':' {
        return None;
    }
    let (number, end) = number_before(line, end + 1, is_space)?;
    Some((u64::from(index), number, end))
}

/// A pair of any shape, if it is one.
#[inline(never)]
fn any_pair(line: &[u8], at: usize) -> Option<(u64, f64, usize)> {
    let word = word(&line[at..]);
    let colon = memchr(b':', word)?;
    let index = number::whole(&word[..colon])?;
    Some((index, value(&word[colon + 1..])?, at + word.len()))
}

/// What stands before the next space.
fn word(rest: &[u8]) -> &[u8] {
    let length = rest.iter().position(|byte| is_space(*byte));
    &rest[..length.unwrap_or(rest.len())]
}
