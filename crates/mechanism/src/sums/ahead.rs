//! Noise drawn ahead of need: many steps at a time, which costs less per step, and in a helper
//! thread if a core is free.
//!
//! The noise of step t is public in its address and known in advance, and noise is a function of
//! its address alone: drawn earlier and elsewhere it is the same, bit for bit. None of it leaves
//! before its step is due, and it is as secret as the generator it comes from.
//!
//! Steps come in blocks. Helper thread and caller claim blocks from a shared counter, so the caller
//! draws noise instead of waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// Numbers per block, about, and blocks that a thread draws at once: a quarter of a megabyte each.
/// Waking a thread takes as long as many draws, and may preempt a thread that is busy. So blocks
/// are large, and the memory of several blocks is returned at once.
const BLOCK: usize = 1 << 15;
/// The same without a thread: small enough for the first-level cache.
const SMALL_BLOCK: usize = 1 << 12;
const IN_ONE_GO: usize = 3;
/// The largest number of blocks that the caller draws and keeps while it waits for another.
const KEPT: usize = 2;
/// Vectors longer than this cost more memory than drawing ahead saves time.
const LARGEST: usize = 1 << 16;

/// The noise of consecutive steps.
struct Block {
    number: u64,
    first: u64,
    values: Vec<i64>,
}

/// Writes the noise of consecutive steps, from a given one.
type Draw = Box<dyn FnMut(u64, &mut [i64]) + Send>;

/// The work of both thread and caller: the blocks, the next one, and how to draw it.
struct Work {
    dimension: usize,
    /// Numbers from one step's to the next's.
    stride: usize,
    from: u64,
    last: u64,
    /// Steps in a block.
    steps: u64,
    next: Arc<AtomicU64>,
    draw: Draw,
}

impl Work {
    /// Claims the next block and draws it; `None` after the last.
    fn take(&mut self, mut values: Vec<i64>) -> Option<Block> {
        let number = self.next.fetch_add(1, Ordering::AcqRel);
        let first = number.checked_mul(self.steps)?.checked_add(self.from)?;
        let left = self.last.checked_sub(first)?.saturating_add(1);
        values.resize(left.min(self.steps) as usize * self.stride, 0);
        (self.draw)(first, &mut values);
        Some(Block {
            number,
            first,
            values,
        })
    }
}

/// The noise of future steps.
pub(crate) struct NoiseAhead {
    work: Work,
    current: Option<Block>,
    /// Later blocks, unordered.
    kept: Vec<Block>,
    /// Memory for the blocks that may be drawn here, so that none is allocated later; the rest goes
    /// back to the thread.
    spare: Vec<Vec<i64>>,
    blocks: Receiver<Block>,
    /// Memory to be returned to the thread.
    emptied: Vec<Vec<i64>>,
    used: Sender<Vec<Vec<i64>>>,
    /// Whether a block was claimed here and never drawn: nobody else will draw it.
    broken: bool,
}

impl NoiseAhead {
    /// Starts drawing the noise of `from`, `from` + 1, …, `last`. `draw` writes the noise of
    /// consecutive steps from a given one, each in `stride` numbers, of which the first `dimension`
    /// count. Returns `None` if vectors are too long, or if no core is free and drawing ahead is
    /// not `worth_it` without one. A thread ends with the last step, or when this is dropped.
    pub(crate) fn start(
        (dimension, stride): (usize, usize),
        from: u64,
        last: u64,
        worth_it: bool,
        draw: impl FnMut(u64, &mut [i64]) + Clone + Send + 'static,
    ) -> Option<Self> {
        let has_help = thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
        if !has_help && !worth_it {
            return None;
        }
        Self::start_with(has_help, (dimension, stride), from, last, draw)
    }

    fn start_with(
        has_help: bool,
        (dimension, stride): (usize, usize),
        from: u64,
        last: u64,
        draw: impl FnMut(u64, &mut [i64]) + Clone + Send + 'static,
    ) -> Option<Self> {
        if stride > LARGEST || dimension > stride {
            return None;
        }
        let block = if has_help { BLOCK } else { SMALL_BLOCK };
        let next = Arc::new(AtomicU64::new(0));
        let work = |draw: Draw| Work {
            dimension,
            stride,
            from,
            last,
            steps: (block / stride.max(1)).max(1) as u64,
            next: Arc::clone(&next),
            draw,
        };
        let (own, mut others) = (work(Box::new(draw.clone())), work(Box::new(draw)));
        let (sender, blocks) = channel();
        let (used, spare) = channel::<Vec<Vec<i64>>>();
        let help = move || {
            // As many blocks as there is memory for: some are drawn while others are used up, and
            // the caller keeps a few.
            let mut room = vec![Vec::new(); 2 * IN_ONE_GO + KEPT];
            loop {
                for values in room.drain(..) {
                    let Some(block) = others.take(values) else {
                        return;
                    };
                    if sender.send(block).is_err() {
                        return;
                    }
                }
                match spare.recv() {
                    Ok(emptied) => room = emptied,
                    Err(_) => return,
                }
            }
        };
        if has_help {
            // If the system has no thread to give, all blocks are drawn here.
            let _ = thread::Builder::new().spawn(help);
        }
        Some(Self {
            work: own,
            current: None,
            kept: Vec::new(),
            spare: Vec::new(),
            blocks,
            emptied: Vec::new(),
            used,
            broken: false,
        })
    }

    /// The noise of step t; `None` if it was not to be drawn here, or lies behind.
    pub(crate) fn at(&mut self, t: u64) -> Option<&[i64]> {
        if self.place_of(t).is_none() {
            if self.broken {
                return None;
            }
            let number = t.checked_sub(self.work.from)? / self.work.steps;
            let lies_behind = |block: &Block| block.number > number;
            if self.current.as_ref().is_some_and(lies_behind) || t > self.work.last {
                return None;
            }
            let next = self.wait_for(number)?;
            if let Some(old) = self.current.replace(next) {
                self.put_back(old.values);
            }
        }
        let begin = self.place_of(t)? * self.work.stride;
        let values = &self.current.as_ref()?.values;
        values.get(begin..begin + self.work.dimension)
    }

    /// The index of step t in the current block.
    fn place_of(&self, t: u64) -> Option<usize> {
        let step = t.checked_sub(self.current.as_ref()?.first)?;
        (step < self.work.steps).then_some(step as usize)
    }

    fn put_back(&mut self, values: Vec<i64>) {
        if self.spare.len() < KEPT {
            self.spare.push(values);
            return;
        }
        self.emptied.push(values);
        if self.emptied.len() == IN_ONE_GO {
            // The thread has already ended after the last block.
            let _ = self.used.send(std::mem::take(&mut self.emptied));
        }
    }

    /// The block of this number. While the thread draws it, the caller draws a later one.
    fn wait_for(&mut self, number: u64) -> Option<Block> {
        loop {
            if let Some(place) = self.kept.iter().position(|block| block.number <= number) {
                let block = self.kept.swap_remove(place);
                if block.number == number {
                    return Some(block);
                }
                self.put_back(block.values); // its steps were left out
                continue;
            }
            let block = match self.blocks.try_recv() {
                Ok(block) => block,
                // Also if the thread panicked over the block that is needed: then there is none.
                Err(_) if self.kept.len() >= KEPT => self.blocks.recv().ok()?,
                Err(_) => {
                    self.broken = true;
                    let drawn = self.work.take(self.spare.pop().unwrap_or_default());
                    self.broken = false;
                    match drawn {
                        Some(block) => block,
                        None => self.blocks.recv().ok()?,
                    }
                }
            };
            self.kept.push(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory is reused, no matter which side draws and how the two take turns.
    #[test]
    fn blocks_do_not_pile_up() {
        let (steps, blocks) = (BLOCK as u64, 400);
        let draw = |first, out: &mut [i64]| {
            (first..).zip(out).for_each(|(t, out)| *out = t as i64);
        };
        let mut ahead = NoiseAhead::start_with(true, (1, 1), 0, steps * blocks - 1, draw).unwrap();
        let mut seen = std::collections::HashSet::new();
        for number in 0..blocks {
            // Vary the caller's time per block, so that the thread is sometimes behind and
            // sometimes ahead.
            if number % 5 == 0 {
                thread::sleep(std::time::Duration::from_millis(number % 3));
            }
            let noise = ahead.at(number * steps).unwrap();
            assert_eq!(noise[0], (number * steps) as i64);
            seen.insert(noise.as_ptr() as usize);
        }
        let most = 2 * IN_ONE_GO + 3 * KEPT + 2;
        assert!(seen.len() <= most, "{} pieces of memory", seen.len());
    }

    /// Reused memory holds only the new noise, no matter which blocks are skipped and which side is
    /// late.
    #[test]
    fn blocks_may_be_left_out() {
        let (dimension, stride) = (3, 4);
        let draw = move |first: u64, out: &mut [i64]| {
            for (t, out) in (first..).zip(out.chunks_exact_mut(stride)) {
                out.fill(t as i64);
            }
        };
        let (steps, blocks) = ((BLOCK / stride) as u64, 150);
        let last = steps * blocks - 1;
        let mut ahead = NoiseAhead::start_with(true, (dimension, stride), 0, last, draw).unwrap();
        let mut number = 0;
        while number < blocks {
            if number % 4 == 1 {
                thread::sleep(std::time::Duration::from_millis(number % 3));
            }
            for t in [0, 1, steps / 2, steps - 1].map(|step| number * steps + step) {
                assert_eq!(ahead.at(t), Some(&[t as i64; 3][..]));
            }
            number += 1 + number % 5 * (number % 2);
        }
        assert_eq!(ahead.at(last + 1), None);
    }

    /// A thread that panics loses its block: the caller gets `None`, and does not draw all the
    /// others first.
    #[test]
    fn a_thread_that_breaks_down_leaves_nothing_to_wait_for() {
        let (caller, broken) = (thread::current().id(), Arc::new(AtomicU64::new(0)));
        let told = Arc::clone(&broken);
        let draw = move |first: u64, out: &mut [i64]| {
            if thread::current().id() != caller {
                told.store(1, Ordering::Release);
                std::panic::resume_unwind(Box::new("as planned"));
            }
            out.fill(first as i64 + 1);
        };
        let steps = BLOCK as u64;
        let mut ahead = NoiseAhead::start_with(true, (1, 1), 0, 1000 * steps, draw).unwrap();
        while broken.load(Ordering::Acquire) == 0 {
            thread::yield_now();
        }
        assert_eq!(ahead.at(0), None);
        assert_eq!(ahead.kept.len(), KEPT);
        for number in [1, 2, 20] {
            let noise = number * steps as i64 + 1;
            assert_eq!(ahead.at(number as u64 * steps), Some(&[noise][..]));
        }
    }

    #[test]
    fn every_step_has_its_own_noise_and_the_past_has_none() {
        for (has_help, block) in [(true, BLOCK), (false, SMALL_BLOCK)] {
            for (dimension, stride) in [
                (1, 1),
                (3, 3),
                (3, 4),
                (block / 2, block / 2 + 1),
                (block, block),
            ] {
                let last = 8 + 3 * (block / stride) as u64;
                let draw = move |first: u64, out: &mut [i64]| {
                    for (t, out) in (first..).zip(out.chunks_exact_mut(stride)) {
                        out.iter_mut()
                            .zip(0..)
                            .for_each(|(out, i)| *out = 100_000 * t as i64 + i);
                    }
                };
                let mut ahead =
                    NoiseAhead::start_with(has_help, (dimension, stride), 5, last, draw).unwrap();
                assert_eq!(ahead.at(4), None);
                // Steps may be skipped.
                for t in (5..=last).filter(|t| t % 7 != 3) {
                    let noise = ahead.at(t).unwrap();
                    assert_eq!((noise.len(), noise[0]), (dimension, 100_000 * t as i64));
                    let end = 100_000 * t as i64 + dimension as i64 - 1;
                    assert_eq!(noise[dimension - 1], end);
                }
                assert_eq!(ahead.at(last + 1), None);
                assert_eq!(ahead.at(5), None);
            }
        }
    }
}
