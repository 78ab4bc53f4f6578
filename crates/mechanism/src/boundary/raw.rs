//! One person's data, sealed.

/// A value that only this crate can open. There is no `Clone`, `Debug`, `Display`, `Deref` or serialisation, so it
/// cannot be copied, printed or sent by accident.
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
