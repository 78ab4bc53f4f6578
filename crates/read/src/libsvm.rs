//! libsvm and svmlight text: `label index:value …`, indices increasing, `#` and what follows it passed over.
//!
//! Indices begin at 1 unless stated otherwise, and their number is stated: the largest index in a file is somebody's. Values are as they stand; the
//! stated norm bounds them.

use crate::encode::{Builder, Targets};
use crate::error::Fault;
use crate::number;
use crate::rows::Failure;
use crate::vw::value;
use memchr::memchr;

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
        let (first, last) = (
            u64::from(self.base),
            u64::from(self.base) + u64::from(self.dimension) - 1,
        );
        let (mut at, mut labelled, mut least) = (0, false, 0);
        while at < line.len() {
            let rest = &line[at..];
            let length = rest
                .iter()
                .take_while(|byte| !matches!(byte, b' ' | b'\t'))
                .count();
            let word = &rest[..length];
            let fail = |fault| Failure {
                at,
                field: None,
                fault,
            };
            let colon = memchr(b':', word);
            if length == 0 {
                at += 1;
                continue;
            }
            if !labelled {
                // A line that begins with a pair has no label.
                let label: &[u8] = if colon.is_none() { word } else { b"" };
                builder.set_target(label, targets).map_err(fail)?;
                labelled = true;
                if colon.is_none() {
                    at += length;
                    continue;
                }
            }
            let colon = colon.ok_or_else(|| fail(Fault::Pair))?;
            let index = number::whole(&word[..colon]).ok_or_else(|| fail(Fault::Pair))?;
            let number = value(&word[colon + 1..]).ok_or_else(|| fail(Fault::Pair))?;
            if !(first..=last).contains(&index) {
                return Err(fail(Fault::IndexRange { first, last }));
            }
            if index < least {
                return Err(fail(Fault::IndexOrder));
            }
            least = index + 1;
            builder.put((index - first) as u32, number);
            at += length;
        }
        if !labelled {
            let fail = |fault| Failure {
                at: 0,
                field: None,
                fault,
            };
            builder.set_target(b"", targets).map_err(fail)?;
        }
        Ok(())
    }
}
