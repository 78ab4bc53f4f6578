//! Errors in the words of the Python package.

use hushstream::Error;
use hushstream::read::{Fault, ReadError};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::{PyErr, create_exception};

create_exception!(
    hushstream,
    HushstreamError,
    PyValueError,
    "What was asked for is not possible. The text says what is allowed, and holds no value of the data."
);
create_exception!(
    hushstream,
    BudgetExceeded,
    HushstreamError,
    "The ledger has no room for this run: the people in the data were promised less."
);

/// The error of the library as an exception.
pub(crate) fn raised(error: impl Into<Error>) -> PyErr {
    let error = error.into();
    let text = told(&error);
    if is_no_room(&error) {
        BudgetExceeded::new_err(text)
    } else {
        HushstreamError::new_err(text)
    }
}

/// A refusal of this module.
pub(crate) fn refused(text: impl Into<String>) -> PyErr {
    HushstreamError::new_err(text.into())
}

/// A lock that a panic left behind.
pub(crate) fn broken<T>(_: T) -> PyErr {
    PyRuntimeError::new_err(
        "an internal error stopped this object before: make a new one, or resume the run from its \
         state folder",
    )
}

fn is_no_room(error: &Error) -> bool {
    match error {
        Error::NoRoom(_) => true,
        Error::While { source, .. } => is_no_room(source),
        _ => false,
    }
}

fn told(error: &Error) -> String {
    match error {
        Error::Read(ReadError {
            fault: Fault::Unstated(names),
            ..
        }) => unstated(names),
        error => error.worded(parameter).replace(
            "`Ledger.raise_to`, `Ledger.raise_to`, or",
            "`Ledger.raise_to(epsilon, delta, because=...)`, or",
        ),
    }
}

/// The parameter of an estimator that states a setting.
fn parameter(setting: &str) -> String {
    let (name, value) = setting
        .split_once([' ', '='])
        .map_or((setting, ""), |(name, value)| (name, value.trim()));
    match (name, value) {
        ("horizon", _) => "`rounds=\"unknown\"`".to_owned(),
        ("total-epsilon" | "total-delta", _) => "`Ledger.raise_to`".to_owned(),
        ("resume", _) => "`resume()`".to_owned(),
        ("adjacency", _) => "`adjacency=\"replace-one\"` or `\"zero-out\"`".to_owned(),
        (name, _) => format!("`{}=`", name.replace('-', "_")),
    }
}

/// Columns without a description.
fn unstated(names: &[String]) -> String {
    let listed: Vec<String> = names
        .iter()
        .take(100)
        .map(|name| format!("`{name}`"))
        .collect();
    let more = match names.len().saturating_sub(100) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let name = names.first().map_or("NAME", String::as_str);
    let (noun, verb) = if names.len() == 1 {
        ("column", "has")
    } else {
        ("columns", "have")
    };
    format!(
        "{noun} {}{more} {verb} no public bounds or categories. State what is known without \
         looking at the data, in a Schema: bounds={{'{name}': (LOW, HIGH)}}, vocabulary={{'{name}': \
         ['A', 'B']}}, hashed={{'{name}': BITS}}, dates=['{name}'] or one_hot=['{name}']; or leave \
         it out: ignore=['{name}']",
        listed.join(", "),
    )
}
