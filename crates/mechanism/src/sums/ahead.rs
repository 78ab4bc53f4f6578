//! Noise drawn ahead of need: many steps at a time, which costs less per step, and in a helper
//! thread if a core is free.
//!
//! The noise of step t is public in its address and known in advance, and noise is a function of
//! its address alone: drawn earlier and elsewhere it is the same, bit for bit. None of it leaves
//! before its step is due, and it is as secret as the generator it comes from.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// Numbers per block, about: a quarter of a megabyte. Waking a thread takes as long as many draws,
/// and may preempt a thread that is busy, so blocks are large.
const BLOCK: usize = 1 << 15;
/// The same without a thread: small enough for the first-level cache.
const SMALL_BLOCK: usize = 1 << 12;
/// Blocks that the thread draws while another is used up.
const IN_FLIGHT: usize = 3;
/// Vectors longer than this cost more memory than drawing ahead saves time.
const LARGEST: usize = 1 << 18;

/// Writes the noise of consecutive steps, from a given one.
type Draw = Box<dyn FnMut(u64, &mut [i64]) + Send>;

/// The noise of future steps, in blocks.
pub(crate) struct NoiseAhead {
    dimension: usize,
    /// Numbers from one step's to the next's.
    stride: usize,
    last: u64,
    /// Steps in a block.
    steps: u64,
    /// The first step of the current block, and its noise; empty before the first.
    first: u64,
    values: Vec<i64>,
    draw: Draw,
    helper: Option<Helper>,
}

/// A thread that draws one block after the other, in memory that comes back to it.
struct Helper {
    blocks: Receiver<Vec<i64>>,
    used: Sender<Vec<i64>>,
}

impl NoiseAhead {
    /// Starts drawing the noise of `from`, `from` + 1, …, `last`. `draw` writes the noise of
    /// consecutive steps from a given one, each in `stride` numbers, of which the first `dimension`
    /// count. Returns `None` if vectors are too long, or if no core is free and drawing ahead is
    /// not `worth_it` without one, as it never is where a block would be one step. A thread ends
    /// with the last step, or when this is dropped.
    pub(crate) fn start(
        (dimension, stride): (usize, usize),
        from: u64,
        last: u64,
        worth_it: bool,
        draw: impl FnMut(u64, &mut [i64]) + Clone + Send + 'static,
    ) -> Option<Self> {
        let has_help = thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
        if !(has_help || worth_it && 2 * stride <= SMALL_BLOCK) {
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
        if stride == 0 || stride > LARGEST || dimension > stride {
            return None;
        }
        let block = if has_help { BLOCK } else { SMALL_BLOCK };
        let mut ahead = Self {
            dimension,
            stride,
            last,
            steps: (block / stride.max(1)).max(1) as u64,
            first: from,
            values: Vec::new(),
            draw: Box::new(draw.clone()),
            helper: None,
        };
        if has_help {
            ahead.helper = ahead.help(draw);
        }
        Some(ahead)
    }

    /// Starts the thread; if the system has none to give, all blocks are drawn here.
    fn help(&self, mut draw: impl FnMut(u64, &mut [i64]) + Send + 'static) -> Option<Helper> {
        let (sender, blocks) = channel();
        let (used, spare) = channel();
        for _ in 0..IN_FLIGHT {
            used.send(Vec::new()).ok()?;
        }
        let (mut first, last) = (self.first, self.last);
        let (steps, stride) = (self.steps, self.stride);
        let work = move || {
            while let Some(left) = last.checked_sub(first)
                && let Ok(mut values) = spare.recv()
            {
                values.resize(left.saturating_add(1).min(steps) as usize * stride, 0);
                draw(first, &mut values);
                if sender.send(values).is_err() {
                    return;
                }
                first += steps;
            }
        };
        thread::Builder::new().spawn(work).ok()?;
        Some(Helper { blocks, used })
    }

    /// The noise of step t; `None` if it was not to be drawn here, or lies behind.
    pub(crate) fn at(&mut self, t: u64) -> Option<&[i64]> {
        let mut place = t.checked_sub(self.first)?;
        if t > self.last {
            return None;
        }
        while self.values.is_empty() || place >= self.steps {
            if !self.values.is_empty() {
                self.first += self.steps;
                place -= self.steps;
            }
            self.next_block(place >= self.steps);
        }
        let begin = place as usize * self.stride;
        self.values.get(begin..begin + self.dimension)
    }

    /// Replaces the current block by the next, which is not needed if it is `skipped`.
    fn next_block(&mut self, skipped: bool) {
        if let Some(helper) = &self.helper {
            let emptied = std::mem::take(&mut self.values);
            if !emptied.is_empty() {
                // The thread has already ended after the last block.
                let _ = helper.used.send(emptied);
            }
            if let Ok(values) = helper.blocks.recv() {
                self.values = values;
                return;
            }
            // The thread broke down: its blocks are drawn here.
            self.helper = None;
        }
        let left = (self.last - self.first).saturating_add(1);
        self.values
            .resize(left.min(self.steps) as usize * self.stride, 0);
        if !skipped {
            (self.draw)(self.first, &mut self.values);
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
        assert!(
            seen.len() <= 2 * IN_FLIGHT,
            "{} pieces of memory",
            seen.len()
        );
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

    /// A thread that panics loses its block: the caller draws it, and all others.
    #[test]
    fn a_thread_that_breaks_down_is_replaced() {
        let caller = thread::current().id();
        let draw = move |first: u64, out: &mut [i64]| {
            if thread::current().id() != caller && first > 0 {
                std::panic::resume_unwind(Box::new("as planned"));
            }
            out.fill(first as i64 + 1);
        };
        let steps = BLOCK as u64;
        let mut ahead = NoiseAhead::start_with(true, (1, 1), 0, 1000 * steps, draw).unwrap();
        for number in [0, 1, 2, 20] {
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
                if last >= 5 + ahead.steps {
                    assert_eq!(ahead.at(5), None);
                }
            }
        }
    }
}
