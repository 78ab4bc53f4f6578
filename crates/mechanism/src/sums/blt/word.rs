//! The two integers of the encoder. Arithmetic is always in `i128`; what is stored is as wide as
//! the layout asks.

use std::fmt;

/// The integer of a buffer or a row: `i64` or `i128`.
pub trait Word: Copy + Default + PartialEq + fmt::Debug + sealed::Sealed + 'static {
    /// As an `i128`.
    fn widen(self) -> i128;
    /// From an `i128` that the static checks have shown to fit.
    fn fit(value: i128) -> Self;
    /// As narrow words, if they are.
    fn narrow(words: &mut [Self]) -> Option<&mut [i64]>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for i64 {}
    impl Sealed for i128 {}
}

impl Word for i64 {
    fn widen(self) -> i128 {
        i128::from(self)
    }

    fn fit(value: i128) -> Self {
        debug_assert!(
            Self::try_from(value).is_ok(),
            "the static checks exclude this"
        );
        value as Self
    }

    fn narrow(words: &mut [Self]) -> Option<&mut [i64]> {
        Some(words)
    }
}

impl Word for i128 {
    fn widen(self) -> i128 {
        self
    }

    fn fit(value: i128) -> Self {
        value
    }

    fn narrow(_: &mut [Self]) -> Option<&mut [i64]> {
        None
    }
}
