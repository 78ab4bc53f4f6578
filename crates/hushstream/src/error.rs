//! The one error of the library.

use hushstream_account::AccountError;
use hushstream_mechanism::LedgerError;
use hushstream_read::ReadError;

/// An error of a run or a file. The text says what is allowed.
///
/// ```
/// use hushstream::prelude::*;
///
/// // The neighbouring relation is missing, and the library has no default.
/// let error = Learner::classify()
///     .features(2)
///     .records(100)
///     .budget(Budget::approx(1.0, 1e-6)?)
///     .plan()
///     .err()
///     .expect("a plan needs a neighbouring relation");
/// assert!(error.to_string().contains("adjacency"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A schema, a row or a file of records.
    #[error("{0}")]
    Read(#[from] ReadError),
    /// A number of the accounting that is not allowed.
    #[error("{0}")]
    Account(#[from] AccountError),
    /// A ledger.
    #[error("{0}")]
    Ledger(#[from] LedgerError),
    /// Anything else, with its causes on one line.
    #[error("{message}")]
    Other {
        /// The error and its causes, skipping repeats.
        message: String,
        /// The error itself.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl From<anyhow::Error> for Error {
    fn from(error: anyhow::Error) -> Self {
        let message = one_line(&error);
        // Keep a context that says more than the error.
        if error.to_string() == message {
            match error.downcast::<ReadError>() {
                Ok(read) => return Self::Read(read),
                Err(error) => match error.downcast::<LedgerError>() {
                    Ok(ledger) => return Self::Ledger(ledger),
                    Err(error) => {
                        let source = error.into();
                        return Self::Other { message, source };
                    }
                },
            }
        }
        let source = error.into();
        Self::Other { message, source }
    }
}

/// An error and its causes on one line, skipping repeats.
fn one_line(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}
