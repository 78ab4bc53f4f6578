//! The addresses that the generators of a seeded key have read, for audits.
//!
//! An address must never serve two contents, and neighbouring streams must read the same addresses.
//! A recorder lets an audit check both. It holds addresses only, never bits and never data, and it
//! exists for seeded keys alone, which protect nothing: a key from the operating system has no
//! recorder, nor has a key that was exported and imported.

use crate::Instance;
use crate::source::Block;
use std::sync::{Arc, Mutex, PoisonError};

/// The address of one block that a generator has read.
///
/// ```
/// use hushstream_noise::{Instance, Key, Source};
///
/// let (key, recorder) = Key::insecure_recorded(1);
/// let source = Source::open(&key, Instance::from_bytes([0; 16]), 3);
/// source.cursor(7, 0).next_word();
/// let read = recorder.take();
/// assert_eq!((read[0].mechanism, read[0].node), (3, 7));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    /// The bytes of the instance ([`Instance::to_bytes`]).
    pub instance: [u8; 16],
    /// The mechanism.
    pub mechanism: u64,
    /// The node.
    pub node: u64,
    /// The coordinate, or the pair of coordinates.
    pub lane: u32,
    /// The sampler, and the block of its draw.
    pub place: u32,
}

/// The list of addresses that the generators of a key have read.
///
/// ```
/// use hushstream_noise::{Instance, Key, RoundedGaussian, Source};
///
/// let (key, recorder) = Key::insecure_recorded(1);
/// let source = Source::open(&key, Instance::from_bytes([0; 16]), 1);
/// RoundedGaussian::STANDARD.fill(&source, 0, 0, &mut [0; 4]);
/// let mut read = recorder.take();
/// read.sort();
/// read.dedup();
/// assert!(read.len() >= 2); // two coordinates share a block
/// assert!(recorder.take().is_empty());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Recorder(Arc<Mutex<Vec<Address>>>);

impl Recorder {
    /// Removes and returns the addresses read since the last call, in order.
    #[must_use]
    pub fn take(&self) -> Vec<Address> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A recorder with the name of the generator that writes to it.
pub(crate) struct Recording {
    pub(crate) recorder: Recorder,
    pub(crate) instance: Instance,
    pub(crate) mechanism: u64,
}

impl Recording {
    /// Records the addresses in these blocks, before they are encrypted.
    #[cold]
    pub(crate) fn note(&self, blocks: &[Block]) {
        let read = blocks.iter().map(|&[low, node]| Address {
            instance: self.instance.to_bytes(),
            mechanism: self.mechanism,
            node,
            lane: (low >> 32) as u32,
            place: low as u32,
        });
        let list = &self.recorder.0;
        list.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(read);
    }
}

#[cfg(test)]
mod tests {
    use crate::{DiscreteLaplace, Instance, Key, RoundedGaussian, Source};

    #[test]
    fn a_recorder_sees_every_block_and_changes_none() {
        let (key, recorder) = Key::insecure_recorded(5);
        let plain = Key::insecure_from_seed(5);
        let instance = Instance::from_bytes([2; 16]);
        let [recorded, silent] = [&key, &plain].map(|key| Source::open(key, instance, 9));
        let (mut left, mut right) = ([0; 70], [0; 70]);
        RoundedGaussian::STANDARD.fill(&recorded, 3, 0, &mut left);
        RoundedGaussian::STANDARD.fill(&silent, 3, 0, &mut right);
        assert_eq!(left, right);
        let read = recorder.take();
        // Two coordinates share a block; a few draws read more.
        let first: Vec<u32> = (read.iter().filter(|a| a.place == 0))
            .map(|a| a.lane)
            .collect();
        assert_eq!(first, (0..35).collect::<Vec<u32>>());
        let named = |a: &crate::Address| (a.instance, a.mechanism, a.node) == ([2; 16], 9, 3);
        assert!(read.iter().all(named));
        DiscreteLaplace::new(1 << 30)
            .unwrap()
            .fill(&recorded, 4, 0, &mut left[..1]);
        assert!(!recorder.take().is_empty() && recorder.take().is_empty());
    }

    #[test]
    fn a_stored_key_has_none() {
        let (key, recorder) = Key::insecure_recorded(5);
        let back = Key::import(key.export().as_slice()).unwrap();
        let source = Source::open(&back, Instance::from_bytes([2; 16]), 9);
        let _ = source.cursor(1, 1).next_word();
        assert!(recorder.take().is_empty());
    }
}
