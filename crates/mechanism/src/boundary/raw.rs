//! One person's data, sealed.

use crate::losses::{Features, Record};

/// A value that only this crate can open. There is no `Clone`, `Debug`, `Display`, `Deref` or
/// serialisation, so it cannot be copied, printed or sent by accident.
///
/// ```
/// use hushstream_mechanism::Raw;
/// use hushstream_mechanism::losses::{Features, Record};
///
/// let record = Record { features: Features::Dense(vec![0.2, 0.9]), target: 1.0 };
/// let sealed: Raw<Record> = Raw::seal(record); // from here on, only mechanisms can read it
/// let losses: Raw<Vec<f64>> = sealed.into_losses(); // still sealed
/// # let _ = losses;
/// ```
///
/// Printing it does not compile:
///
/// ```compile_fail
/// let sealed = hushstream_mechanism::Raw::seal(vec![1.0]);
/// println!("{:?}", sealed);
/// ```
pub struct Raw<T>(T);

impl<T> Raw<T> {
    /// Seals a value as it enters the private side.
    pub fn seal(value: T) -> Self {
        Self(value)
    }

    pub(crate) fn open(self) -> T {
        self.0
    }

    pub(crate) fn peek(&self) -> &T {
        &self.0
    }
}

impl Raw<Record> {
    /// The record's features as losses of experts; still sealed. Sparse features are no loss
    /// vector: the mechanism will count them as malformed.
    #[must_use]
    pub fn into_losses(self) -> Raw<Vec<f64>> {
        Raw(match self.0.features {
            Features::Dense(values) => values,
            Features::Sparse(_) => Vec::new(),
        })
    }
}
