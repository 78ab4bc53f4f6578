//! Values that only the operator of a run may see.

use std::fmt;

/// A value computed from private data without noise: a loss, a count of null records. Showing it to
/// the operator is legitimate; publishing it is a breach. No function accepts it in place of a
/// release.
///
/// ```
/// use hushstream_mechanism::OperatorOnly;
///
/// let nulls = OperatorOnly::new(3);
/// assert_eq!(*nulls.for_the_operator(), 3);
/// assert_eq!(format!("{nulls:?}"), "OperatorOnly(..)");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OperatorOnly<T>(T);

impl<T> OperatorOnly<T> {
    /// Marks a value. Anyone may: the mark only restricts.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// The value, for a screen that only the operator sees.
    pub fn for_the_operator(&self) -> &T {
        &self.0
    }
}

impl<T: fmt::Display> fmt::Display for OperatorOnly<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (operator only: computed from private data)", self.0)
    }
}

impl<T> fmt::Debug for OperatorOnly<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OperatorOnly(..)")
    }
}
