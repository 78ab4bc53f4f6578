//! Noise found ahead of need: which coordinates a record will be asked about is known before it is its turn, and noise is a function of addresses.
//!
//! Whoever reads records ahead lets a [`Scout`] look at them. A thread then finds the noise of the round that each will be asked in, and the learner takes it from there. It takes
//! nothing on trust: what was found is used only for the same round and the very same coordinates, and otherwise found again. So releases are the same bit for bit.

use super::cache::NoiseCache;
use super::learner::entries;
use crate::boundary::Raw;
use crate::losses::Record;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Blocks that may wait on either side.
const WAITING: usize = 2;

/// Coordinates of consecutive rounds, and their noise once it is found. As secret as the records and the key.
#[derive(Default)]
struct Block {
    first: u64,
    /// Where the coordinates of each round end.
    ends: Vec<usize>,
    coordinates: Vec<u32>,
    noise: Vec<i64>,
}

impl Block {
    fn place(&self, index: usize) -> std::ops::Range<usize> {
        let begin = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        begin..self.ends[index]
    }
}

/// Looks at records before it is their turn.
pub struct Scout {
    dimension: usize,
    /// The round of the next record, and the first that there will not be.
    next: u64,
    end: u64,
    ahead: SyncSender<Block>,
    /// `next`, for the learner, who need not wait for what nobody looks for.
    looked_at: Arc<AtomicU64>,
}

impl Scout {
    /// Looks at the records that follow those it has looked at. Waits while noise is far behind: so whoever looks at more than a few blocks before the learner takes the first needs a thread
    /// of its own.
    pub fn look<'a>(&mut self, records: impl Iterator<Item = &'a Raw<Record>>) {
        let mut block = Block {
            first: self.next,
            ..Block::default()
        };
        for record in records.take((self.end - self.next) as usize) {
            if let Some(entries) = entries(record.peek(), self.dimension) {
                let touched = entries.iter().map(|entry| entry.0);
                block.coordinates.extend(touched);
            }
            block.ends.push(block.coordinates.len());
        }
        // The learner takes every block it has records of, and only those: one without would stay for ever.
        if block.ends.is_empty() {
            return;
        }
        self.next += block.ends.len() as u64;
        self.looked_at.store(self.next, Ordering::Release);
        // Without a thread the learner finds its noise itself.
        let _ = self.ahead.send(block);
    }
}

/// The noise that was found.
pub(super) struct Found {
    blocks: Receiver<Block>,
    current: Block,
    looked_at: Arc<AtomicU64>,
}

impl Found {
    /// Starts a thread for the rounds from `next` on, up to `end`. Nothing if the system gives no thread.
    pub(super) fn start(
        mut cache: NoiseCache,
        dimension: usize,
        next: u64,
        end: u64,
    ) -> Option<(Self, Scout)> {
        let (ahead, asked) = sync_channel::<Block>(WAITING);
        let (found, blocks) = sync_channel(WAITING);
        let work = move || {
            let mut noise = Vec::new();
            for mut block in asked {
                for index in 0..block.ends.len() {
                    if index + 1 < block.ends.len() {
                        let next = &block.coordinates[block.place(index + 1)];
                        next.iter().for_each(|coordinate| cache.fetch(*coordinate));
                    }
                    let coordinates = &block.coordinates[block.place(index)];
                    cache.read(block.first + index as u64, coordinates, |_| 0, &mut noise);
                    block.noise.extend_from_slice(&noise);
                }
                if found.send(block).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().spawn(work).ok()?;
        let looked_at = Arc::new(AtomicU64::new(next));
        let scout = Scout {
            dimension,
            next,
            end: end.max(next),
            ahead,
            looked_at: Arc::clone(&looked_at),
        };
        let found = Self {
            blocks,
            current: Block::default(),
            looked_at,
        };
        Some((found, scout))
    }

    /// The noise of round t at these coordinates, if it was found. To be asked in every round: what nobody takes is in the way of what follows.
    pub(super) fn at(&mut self, t: u64, coordinates: &[u32]) -> Option<&[i64]> {
        if t >= self.looked_at.load(Ordering::Acquire) {
            return None;
        }
        loop {
            let index = usize::try_from(t.checked_sub(self.current.first)?).ok()?;
            if index < self.current.ends.len() {
                let place = self.current.place(index);
                let same = self.current.coordinates[place.clone()] == *coordinates;
                return same.then(|| &self.current.noise[place]);
            }
            self.current = self.blocks.recv().ok()?;
        }
    }
}
