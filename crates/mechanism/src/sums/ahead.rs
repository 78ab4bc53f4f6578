//! Noise drawn ahead of need, in a thread of its own.
//!
//! Which noise step t will need is public and known beforehand, and noise is a function of its address alone: drawn earlier and elsewhere it is the same, bit for
//! bit. Nothing of it leaves before its step is due, and it is as secret as the generator it comes from.

use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread;

/// Numbers in a block, about, and blocks that may wait: half a megabyte each. To wake a thread that waits takes as long as many draws, so there are many to a block.
const BLOCK: usize = 1 << 16;
const WAITING: usize = 2;
/// Above this many numbers a vector takes more memory ahead than it saves time.
const LARGEST: usize = 1 << 16;

/// The noise of consecutive steps.
struct Block {
    first: u64,
    values: Vec<i64>,
}

/// Noise of the steps to come.
pub(crate) struct NoiseAhead {
    dimension: usize,
    current: Block,
    blocks: Receiver<Block>,
    used: Sender<Vec<i64>>,
}

impl NoiseAhead {
    /// Nothing if vectors are too long for it, or the system gives no thread. Starts drawing the noise of `from`, `from` + 1, …, `last`: `draw` writes that of one step. The thread ends with the last, or when this is dropped.
    pub(crate) fn start(
        dimension: usize,
        from: u64,
        last: u64,
        mut draw: impl FnMut(u64, &mut [i64]) + Send + 'static,
    ) -> Option<Self> {
        if dimension > LARGEST {
            return None;
        }
        let steps = (BLOCK / dimension.max(1)).max(1) as u64;
        let (sender, blocks) = sync_channel(WAITING);
        let (used, spare) = channel::<Vec<i64>>();
        let drawing = thread::Builder::new().spawn(move || {
            let mut first = from;
            while first <= last {
                let count = steps.min(last - first + 1);
                let mut values = spare.try_recv().unwrap_or_default();
                values.resize(count as usize * dimension, 0);
                let vectors = values.chunks_exact_mut(dimension.max(1));
                (first..).zip(vectors).for_each(|(t, out)| draw(t, out));
                if sender.send(Block { first, values }).is_err() {
                    return;
                }
                first += count;
            }
        });
        // Without a thread, noise is drawn when it is needed.
        drawing.ok()?;
        let current = Block {
            first: from,
            values: Vec::new(),
        };
        Some(Self {
            dimension,
            current,
            blocks,
            used,
        })
    }

    /// The noise of step t; nothing if it was never to be drawn here, or lies behind.
    pub(crate) fn at(&mut self, t: u64) -> Option<&[i64]> {
        loop {
            let place = usize::try_from(t.checked_sub(self.current.first)?).ok()?;
            let begin = place.checked_mul(self.dimension)?;
            if begin < self.current.values.len() {
                return self.current.values.get(begin..begin + self.dimension);
            }
            let next = self.blocks.recv().ok()?;
            let old = std::mem::replace(&mut self.current, next);
            // Whoever drew the last block is gone.
            let _ = self.used.send(old.values);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_has_its_own_noise_and_the_past_has_none() {
        for dimension in [1, 3, BLOCK / 2 + 1, BLOCK] {
            let last = 8 + 3 * (BLOCK / dimension) as u64;
            let mut ahead = NoiseAhead::start(dimension, 5, last, |t, out| {
                out.iter_mut()
                    .zip(0..)
                    .for_each(|(out, i)| *out = 1000 * t as i64 + i);
            })
            .unwrap();
            assert_eq!(ahead.at(4), None);
            // Steps may be left out.
            for t in (5..=last).filter(|t| t % 7 != 3) {
                let noise = ahead.at(t).unwrap();
                assert_eq!((noise.len(), noise[0]), (dimension, 1000 * t as i64));
                assert_eq!(noise[dimension - 1], 1000 * t as i64 + dimension as i64 - 1);
            }
            assert_eq!(ahead.at(last + 1), None);
            assert_eq!(ahead.at(5), None);
        }
    }
}
