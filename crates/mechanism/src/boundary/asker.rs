//! Values that only the person who asked may see.

use std::fmt;

/// The answer to one person's question, computed from that person's own data: a decision, its
/// probability. It may go to that person and to nobody else; joint privacy is about everything
/// else that leaves.
///
/// ```
/// use hushstream_mechanism::AskerOnly;
///
/// let answer = AskerOnly::new(3);
/// assert_eq!(*answer.for_the_asker(), 3);
/// assert_eq!(format!("{answer:?}"), "AskerOnly(..)");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AskerOnly<T>(T);

impl<T> AskerOnly<T> {
    /// Marks a value. Anyone may: the mark only restricts.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// The value, for the person who asked.
    pub fn for_the_asker(&self) -> &T {
        &self.0
    }

    /// The same for what is computed from the value.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> AskerOnly<U> {
        AskerOnly(f(self.0))
    }
}

impl<T> fmt::Debug for AskerOnly<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AskerOnly(..)")
    }
}
