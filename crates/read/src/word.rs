//! What the words of VW text and of libsvm have in common: where they end, the values in them, and how a fault is placed.

use crate::error::Fault;
use crate::number;
use crate::rows::Failure;

/// Larger values could overflow when they are squared and added.
const LARGEST: f64 = 1e100;

#[inline(always)]
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// A number small enough to be squared and added.
pub(crate) fn value(text: &[u8]) -> Option<f64> {
    number::parse(text).filter(|value| value.abs() < LARGEST)
}

/// A number small enough to be squared and added, from `begin` to the end of its word, and where that is; nothing if it has to be looked at more closely.
#[inline(always)]
pub(crate) fn number_before(
    line: &[u8],
    begin: usize,
    ends_word: impl Fn(u8) -> bool,
) -> Option<(f64, usize)> {
    // A single digit, as of most features that are only there or not.
    if let Some([digit @ b'0'..=b'9', after]) = line.get(begin..begin + 2)
        && ends_word(*after)
    {
        return Some((f64::from(digit - b'0'), begin + 1));
    }
    let (value, length) = number::scan(&line[begin..])?;
    let end = begin + length;
    let ends = line.get(end).is_none_or(|byte| ends_word(*byte));
    (ends && value.abs() < LARGEST).then_some((value, end))
}

pub(crate) fn fail(at: usize, fault: Fault) -> Failure {
    Failure {
        at,
        field: None,
        fault,
    }
}
