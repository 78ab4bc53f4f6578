//! Rows that a resumed run has learned: passed over, and compared with those of its journal, so
//! that no row is learned twice.

use crate::error::{Error, Result, refuse};
use hushstream_mechanism::{LogError, RowChain, RowHasher};
use hushstream_read::Reader;

/// What to do if rows are not the same. The state folder and the ledger have not changed then.
const ADVICE: &str = "nothing was learned or spent. Restore the data as it was when the run \
    stopped, and resume; new rows can only be appended, and without ‹shuffle›, because another \
    number of rows shuffles them all in another way. Otherwise begin a new run in another state \
    folder, which is charged";

/// Passes over rows until `learned` of them are in the chain.
pub(crate) fn pass_over(
    reader: &mut Reader,
    hasher: &RowHasher,
    rows: &RowChain,
    learned: u64,
) -> Result<()> {
    while rows.count() < learned {
        match reader.pass_over(hasher)? {
            Some(digest) => rows.add(&digest),
            None => refuse!(
                "the run has learned {learned} rows, and the data has {}: {ADVICE}",
                rows.count()
            ),
        }
    }
    Ok(())
}

/// Tells what may have happened to rows that are not those of the journal.
pub(crate) fn other_rows(error: &Error) -> Option<String> {
    let first: &(dyn std::error::Error + 'static) = error;
    let mut chain = std::iter::successors(Some(first), |&cause| cause.source());
    let is_other = |cause: &(dyn std::error::Error + 'static)| {
        matches!(cause.downcast_ref(), Some(LogError::OtherRows))
    };
    chain.any(is_other).then(|| {
        format!(
            "the rows that this run has learned are not the first rows of the data any more: rows \
             were edited, sorted, removed or put in between, or added to data with ‹shuffle›, or \
             this is other data; some would be learned twice; {ADVICE}"
        )
    })
}
