//! Numbers many at a time: the way of most tables.
//!
//! A row of numbers is read in two passes. The first marks the delimiters, 64 bytes at a time, and takes eight bytes from where each field begins: no field waits
//! for the one before it. The second turns fields into coordinates without a branch, in vectors. From the first that has another shape than sign, digits and perhaps a point in eight bytes, they
//! are left to the caller, one field at a time.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod words;

pub(crate) use words::Words;

use crate::digits::ZEROS;
use crate::step::Scale;

/// Fields at a time.
pub(crate) const MOST: usize = 128;
/// Numbers in a vector.
pub(crate) const WIDTH: usize = 4;
/// Blocks that are searched for one row's fields: what lies beyond is looked for later.
const BLOCKS: usize = 16;
/// Bytes marked at a time.
pub(crate) const BLOCK: usize = 64;

/// What is done with many bytes at a time, by a processor's own means.
pub(crate) trait Vectors: Copy {
    /// One bit for every byte, the first one lowest: whether it is `byte`.
    fn marks(self, bytes: &[u8; BLOCK], byte: u8) -> u64;

    /// Writes the numbers that fields of `bits`/8 bytes are, the first byte lowest. Gives anything but 0 for one that has another shape than a sign, digits and a point.
    fn numbers(
        self,
        words: &[u64; WIDTH],
        bits: &[u64; WIDTH],
        out: &mut [f64; WIDTH],
    ) -> [u64; WIDTH];
}

/// Columns of numbers as arrays, so that a loop can pass over them: for each column (value − shift)·factor, clipped to [low, high].
#[derive(Default)]
pub(crate) struct Scales {
    shift: Vec<f64>,
    factor: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
}

impl Scales {
    /// Of all columns; what is no number takes a place too.
    pub(crate) fn new<'a>(columns: impl Iterator<Item = Option<&'a Scale>>) -> Self {
        Self::of(columns.map(|scale| scale.map_or([0.0; 4], Scale::parts)))
    }

    fn of(columns: impl Iterator<Item = [f64; 4]>) -> Self {
        let mut scales = Self::default();
        for [shift, factor, low, high] in columns {
            scales.shift.push(shift);
            scales.factor.push(factor);
            scales.low.push(low);
            scales.high.push(high);
        }
        scales
    }
}

/// Fields of a row, found but not yet read.
pub(crate) struct Fields {
    /// Where each begins and ends.
    begins: [usize; MOST],
    ends: [usize; MOST],
    /// Eight bytes from where each begins.
    words: [u64; MOST],
    /// Eight times their lengths.
    bits: [u64; MOST],
    count: usize,
    /// Room for their coordinates.
    values: [f64; MOST],
    /// What was looked for last, and what the search saw.
    question: Question,
    marks: [u64; BLOCKS],
}

/// What is looked for: from where on, up to where, what, and how many.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Question {
    first: usize,
    length: usize,
    delimiter: u8,
    most: usize,
}

impl Default for Fields {
    fn default() -> Self {
        Self {
            begins: [0; MOST],
            ends: [0; MOST],
            words: [0; MOST],
            bits: [0; MOST],
            count: 0,
            values: [0.0; MOST],
            question: Question::default(),
            marks: [0; BLOCKS],
        }
    }
}

impl Fields {
    /// Finds the fields from `first` on, at most `most` of them. `room` holds a row of `length` bytes and more behind it, which is not looked at but loaded: without that nothing is found. What is not
    /// ended by a delimiter is no field here.
    ///
    /// Rows of numbers of one precision have their delimiters where the row before had them: then nothing need be searched.
    #[inline(always)]
    pub(crate) fn find<V: Vectors>(
        &mut self,
        vectors: V,
        (room, length): (&[u8], usize),
        first: usize,
        delimiter: u8,
        most: usize,
    ) {
        let question = Question {
            first,
            length,
            delimiter,
            most,
        };
        let mut is_same = question == self.question;
        let mut at = first;
        for known in &mut self.marks {
            let mut marks = 0;
            if at < length
                && let Some(block) = room.get(at..).and_then(|rest| rest.first_chunk())
            {
                marks = vectors.marks(block, delimiter);
                if length - at < BLOCK {
                    marks &= (1 << (length - at)) - 1;
                }
            }
            is_same &= marks == *known;
            *known = marks;
            at += BLOCK;
            if at >= length {
                break;
            }
        }
        self.question = question;
        if !is_same {
            self.search(first, length, most);
        }
        let mut count = 0;
        let begins = self.begins[..self.count].iter();
        for (word, &begin) in self.words.iter_mut().zip(begins) {
            // Too near the end of the window.
            let Some(eight) = room.get(begin..).and_then(|rest| rest.first_chunk()) else {
                break;
            };
            *word = u64::from_le_bytes(*eight);
            count += 1;
        }
        if count < self.count {
            // The same marks in a window with more room would tell more.
            self.question = Question::default();
            self.count = count;
        }
        // To the end of the last vector: numbers that nobody asked for.
        for rest in count..count.next_multiple_of(WIDTH) {
            (self.words[rest], self.bits[rest]) = (ZEROS, 8);
        }
    }

    /// Where the fields are, by the marks.
    #[inline(always)]
    fn search(&mut self, first: usize, length: usize, most: usize) {
        let (mut at, mut begin, mut count) = (first, first, 0);
        let places = self.begins.iter_mut().zip(&mut self.ends);
        let mut slots = places.zip(&mut self.bits).take(most);
        'row: for marks in self.marks {
            let mut marks = marks;
            while marks != 0 {
                let Some(((slot_begin, slot_end), bits)) = slots.next() else {
                    break 'row;
                };
                let end = at + marks.trailing_zeros() as usize;
                (*slot_begin, *slot_end) = (begin, end);
                *bits = 8 * (end - begin) as u64;
                marks &= marks - 1;
                begin = end + 1;
                count += 1;
            }
            at += BLOCK;
            if at >= length {
                break;
            }
        }
        self.count = count;
    }

    /// How many were found.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Where the one behind so many begins.
    pub(crate) fn behind(&self, count: usize) -> Option<usize> {
        Some(self.ends.get(count.checked_sub(1)?)? + 1)
    }

    /// Writes their coordinates and gives how many are of the plain shape, from the first on: the others hold anything. Their columns begin at `first`.
    #[inline(always)]
    pub(crate) fn decode<V: Vectors>(
        &mut self,
        vectors: V,
        scales: &Scales,
        first: usize,
        out: &mut [f64],
    ) -> usize {
        let mut odd = [0; WIDTH];
        let parts = self.words.as_chunks().0.iter().zip(self.bits.as_chunks().0);
        let values = self.values.as_chunks_mut().0;
        for ((words, bits), values) in parts.zip(values).take(self.count.div_ceil(WIDTH)) {
            let found = vectors.numbers(words, bits, values);
            odd.iter_mut()
                .zip(found)
                .for_each(|(odd, found)| *odd |= found);
        }
        let columns = first..first + self.count;
        let scales = scales.shift[columns.clone()]
            .iter()
            .zip(&scales.factor[columns.clone()])
            .zip(&scales.low[columns.clone()])
            .zip(&scales.high[columns]);
        for (((((shift, factor), low), high), value), out) in scales.zip(&self.values).zip(out) {
            let scaled = (value - shift) * factor;
            let above = if scaled > *low { scaled } else { *low };
            *out = if above < *high { above } else { *high };
        }
        if odd == [0; WIDTH] {
            self.count
        } else {
            self.first_odd(vectors)
        }
    }

    #[cold]
    fn first_odd<V: Vectors>(&self, vectors: V) -> usize {
        let parts = self.words.as_chunks().0.iter().zip(self.bits.as_chunks().0);
        let flags = parts.flat_map(|(words, bits)| vectors.numbers(words, bits, &mut [0.0; WIDTH]));
        flags.take(self.count).take_while(|odd| *odd == 0).count()
    }
}

#[cfg(test)]
mod tests;
