//! The addresses that the generators of a seeded key have read, for audits.
//!
//! An address must never serve two contents, and neighbouring streams must read the same addresses.
//! A recorder lets an audit check both. It sees addresses only, never bits and never data, and it
//! exists for seeded keys alone, which protect nobody: a key from the operating system has none,
//! and neither has a key that was stored and read back.

use crate::Instance;
use crate::source::Block;
use std::sync::{Arc, Mutex, PoisonError};

/// One block that a generator has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    /// The instance, as [`Instance::to_bytes`] gives it.
    pub instance: [u8; 16],
    /// The mechanism.
    pub mechanism: u64,
    /// The node.
    pub node: u64,
    /// The coordinate, or the pair of coordinates.
    pub lane: u32,
    /// Which sampler, and which block of its draw.
    pub place: u32,
}

/// A list of addresses that grows as they are read.
#[derive(Debug, Clone, Default)]
pub struct Recorder(Arc<Mutex<Vec<Address>>>);

impl Recorder {
    /// Takes out what was read since the last time, in order.
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
    /// Notes the addresses in these blocks, before they are encrypted.
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
        // Two coordinates share a block; a few draws ask for more.
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
