//! The one error of the library.

use hushstream_account::AccountError;
use hushstream_mechanism::LedgerError;
use hushstream_read::ReadError;
use hushstream_recipes::{RecipeError, RunError};
use std::error::Error as _;
use std::fmt;

/// The outcome of what can fail in this library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

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
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A schema, a row or a file of records.
    Read(ReadError),
    /// A number of the accounting that is not allowed.
    Account(AccountError),
    /// A ledger.
    Ledger(LedgerError),
    /// A recipe that cannot be planned.
    Recipe(RecipeError),
    /// A run that cannot go on.
    Run(RunError),
    /// A description, a file or a folder that is refused, and why.
    Refused(Refusal),
    /// A run that its ledger has no room for, and what would fit.
    NoRoom(Refusal),
    /// What could not be done, and why.
    While {
        /// What could not be done.
        what: String,
        /// Why.
        source: Box<Error>,
    },
    /// Any other failure.
    Other(Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// A refusal; settings of the run are marked as in `‹rounds N›`.
    pub(crate) fn refused(text: impl Into<String>) -> Self {
        Self::Refused(Refusal(text.into()))
    }

    /// A failure of a lower layer.
    pub(crate) fn other(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Other(Box::new(error))
    }

    /// The error and its causes on one line, skipping repeats, with every setting of a run in these
    /// words: see [`Refusal::worded`].
    pub fn worded(&self, words: impl Fn(&str) -> String) -> String {
        let (mut what, mut error) = (String::new(), self);
        while let Self::While { what: told, source } = error {
            what = format!("{what}{told}: ");
            error = source;
        }
        if let Self::Refused(refusal) | Self::NoRoom(refusal) = error {
            return what + &refusal.worded(words);
        }
        let causes = std::iter::successors(error.source(), |&cause| cause.source());
        let text = causes.fold(String::new(), |text, cause| match cause.to_string() {
            cause if text.is_empty() => cause,
            cause if text.contains(&cause) => text,
            cause => format!("{text}: {cause}"),
        });
        match error {
            // Readers name the settings of a schema as flags.
            Self::Read(_) => what + &flags_in(&text, words),
            _ => what + &text,
        }
    }
}

/// The text with every `--setting` in these words.
fn flags_in(text: &str, words: impl Fn(&str) -> String) -> String {
    let mut parts = text.split("--");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_name = |c: char| c.is_ascii_lowercase() || c == '-';
        let end = part.find(|c| !is_name(c)).unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        match name {
            "" => out.push_str("--"),
            name => out.push_str(&words(name)),
        }
        out.push_str(rest);
    }
    out
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.worded(name_in_rust))
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read(error) => Some(error),
            Self::Account(error) => Some(error),
            Self::Ledger(error) => Some(error),
            Self::Recipe(error) => Some(error),
            Self::Run(error) => Some(error),
            Self::Refused(_) | Self::NoRoom(_) => None,
            Self::While { source, .. } => Some(source.as_ref()),
            Self::Other(error) => Some(error.as_ref()),
        }
    }
}

/// Why something is refused: a text in which the settings of a run are marked, so that every front
/// end can name them in its own way.
///
/// As text it names the methods and fields of [`Learner`](crate::Learner).
///
/// ```
/// use hushstream::prelude::*;
///
/// let run = Learner::classify().features(2).budget(Budget::pure(1.0)?).adjacency(ReplaceOne);
/// let Err(Error::Refused(why)) = run.plan() else {
///     panic!("the number of records is missing");
/// };
/// assert!(why.to_string().contains("state `records`"));
/// assert!(why.worded(|setting| format!("--{setting}")).contains("state --rounds N"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal(String);

impl Refusal {
    /// A text in which settings of a run are marked as in `‹rounds N›`.
    pub(crate) fn new(text: String) -> Self {
        Self(text)
    }

    /// The text, with every setting in these words. A setting is given with its value or with a
    /// stand-in for one, as in `rounds N`.
    pub fn worded(&self, words: impl Fn(&str) -> String) -> String {
        let mut text = String::new();
        let mut parts = self.0.split('‹');
        text.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let (setting, rest) = part.split_once('›').unwrap_or((part, ""));
            text.push_str(&words(setting));
            text.push_str(rest);
        }
        text
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.worded(name_in_rust))
    }
}

/// The method or field of a learner that states a setting.
fn name_in_rust(setting: &str) -> String {
    let name = setting.split([' ', '=']).next().unwrap_or_default();
    match name {
        "rounds" => "`records`".to_owned(),
        "horizon" => "`unknown_horizon`".to_owned(),
        "releases" => "`every_release`".to_owned(),
        "total-epsilon" | "total-delta" => "`total`".to_owned(),
        other => format!("`{}`", other.replace('-', "_")),
    }
}

/// Returns with a refusal.
macro_rules! refuse {
    ($($text:tt)*) => {
        return Err($crate::error::Error::refused(format!($($text)*)))
    };
}

pub(crate) use refuse;

/// Says what could not be done.
pub(crate) trait Context<T> {
    fn with_context(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for Result<T, E> {
    fn with_context(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| Error::While {
            what: what(),
            source: Box::new(error.into()),
        })
    }
}

macro_rules! from {
    ($($error:ty => $make:expr),* $(,)?) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                $make(error)
            }
        })*
    };
}

fn other(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Other(Box::new(error))
}

from!(
    ReadError => Error::Read,
    AccountError => Error::Account,
    LedgerError => Error::Ledger,
    RecipeError => Error::Recipe,
    RunError => Error::Run,
    std::io::Error => other,
    std::num::TryFromIntError => other,
    serde_json::Error => other,
    hushstream_account::GuaranteeError => other,
    hushstream_mechanism::LogError => other,
    hushstream_mechanism::batch::BatchError => other,
    hushstream_mechanism::feedback::FeedbackError => other,
    hushstream_mechanism::perturb::PerturbError => other,
    hushstream_mechanism::select::SelectError => other,
    hushstream_mechanism::sums::PlanError => other,
    hushstream_noise::NoiseError => other,
    hushstream_read::Fault => other,
    hushstream_sets::SetError => other,
    hushstream_account::ParameterError => other,
);
