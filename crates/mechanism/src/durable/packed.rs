//! Integers as plain little-endian bytes. They are written once per round, and encoding
//! variable-length numbers costs more time than it saves bytes. With a fixed width, the length of a
//! journal reveals nothing about its contents.
//!
//! For vectors: `#[serde(with = "packed")]`. A single number has `postcard::fixint::le`.
//!
//! Two neighbouring streams give journals of equal length at every sync, with two exceptions, on
//! which no release depends:
//! - a sparse learner's items: one entry per nonzero of the gradient;
//! - the persons of a checkpoint: one entry per person seen.

use serde::de::{Deserializer, Error, Visitor};
use serde::ser::Serializer;
use std::fmt;
use std::marker::PhantomData;

/// An integer of fixed width.
pub(crate) trait Word: Copy {
    const BYTES: usize;
    fn write(self, out: &mut [u8]);
    fn read(bytes: &[u8]) -> Self;
}

macro_rules! words {
    ($($word:ty),*) => {$(
        impl Word for $word {
            const BYTES: usize = size_of::<$word>();

            fn write(self, out: &mut [u8]) {
                out.copy_from_slice(&self.to_le_bytes());
            }

            fn read(bytes: &[u8]) -> Self {
                let mut word = [0; size_of::<$word>()];
                word.copy_from_slice(bytes);
                Self::from_le_bytes(word)
            }
        }
    )*};
}

words!(i64, u64, i128);

pub(crate) fn serialize<W: Word, S: Serializer>(
    values: &[W],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut bytes = vec![0; W::BYTES * values.len()];
    for (word, value) in bytes.chunks_exact_mut(W::BYTES).zip(values) {
        value.write(word);
    }
    serializer.serialize_bytes(&bytes)
}

pub(crate) fn deserialize<'de, W: Word, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<W>, D::Error> {
    struct Bytes<W>(PhantomData<W>);
    impl<W: Word> Visitor<'_> for Bytes<W> {
        type Value = Vec<W>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("bytes of integers")
        }

        fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<W>, E> {
            let words = bytes.chunks_exact(W::BYTES);
            if !words.remainder().is_empty() {
                return Err(E::invalid_length(bytes.len(), &self));
            }
            Ok(words.map(W::read).collect())
        }
    }
    deserializer.deserialize_bytes(Bytes(PhantomData))
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Kept {
        #[serde(with = "super")]
        narrow: Vec<i64>,
        #[serde(with = "super")]
        wide: Vec<i128>,
        #[serde(with = "postcard::fixint::le")]
        count: u64,
    }

    #[test]
    fn numbers_come_back_and_all_take_the_same_room() {
        let kept = |value: i64, count| Kept {
            narrow: vec![value, 3],
            wide: vec![i128::from(value); 3],
            count,
        };
        let bytes = |kept: &Kept| postcard::to_allocvec(kept).unwrap();
        for (value, count) in [(0, 0), (i64::MIN, u64::MAX), (-129, 128)] {
            let kept = kept(value, count);
            assert_eq!(bytes(&kept).len(), 2 * 8 + 3 * 16 + 8 + 2);
            assert_eq!(postcard::from_bytes(&bytes(&kept)), Ok(kept));
        }
        let torn = [3, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert!(postcard::from_bytes::<Kept>(&torn).is_err());
    }
}
