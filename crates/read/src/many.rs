//! Numbers many at a time: the way of most tables.
//!
//! A row of numbers is read in two passes. The first marks the delimiters, 64 bytes at a time. The second takes eight bytes from where each field begins, so that no field waits
//! for the one before it, and turns them into coordinates without a branch, in vectors. From the first that has another shape than sign, digits and perhaps a point in eight bytes, they
//! are left to the caller, one field at a time. Rows that look like the one before are read by its shapes (`shape.rs`).

#[cfg(target_arch = "x86_64")]
mod avx2;
mod scales;
mod shape;
mod words;

pub(crate) use scales::Scales;
pub(crate) use words::Words;

use shape::{Four, Shapes};

/// Fields at a time.
pub(crate) const MOST: usize = 128;
/// Numbers in a vector.
pub(crate) const WIDTH: usize = 4;
/// Bytes marked at a time.
pub(crate) const BLOCK: usize = 64;
/// Blocks that are searched for one row's fields: what lies beyond is looked for later.
const BLOCKS: usize = 16;
/// Bytes that are searched.
const REACH: usize = BLOCKS * BLOCK;
/// They, and as many more as a field that begins in the last of them is loaded with.
type Window = [u8; REACH + 8];

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

    /// Whether bytes can be put in another order at one go: only then do shapes pay.
    const SHUFFLES: bool = false;

    /// The same numbers by the shapes of their fields. Gives anything but 0 where a field has another.
    #[inline(always)]
    fn shaped(
        self,
        words: &[u64; WIDTH],
        shapes: &Four<'_>,
        out: &mut [f64; WIDTH],
    ) -> [u64; WIDTH] {
        shapes.read(words, out)
    }
}

/// Fields of a row, found but not yet read.
pub(crate) struct Fields {
    /// Where each begins and ends, from where the search began.
    begins: [u16; MOST],
    ends: [u16; MOST],
    /// Eight times their lengths.
    bits: [u64; MOST],
    count: usize,
    /// Room for their coordinates.
    values: [f64; MOST],
    /// What they look like, where rows before were alike.
    shapes: Shapes,
    /// What was looked for last, and what the search saw.
    question: Question,
    marks: [u64; BLOCKS],
    /// What was searched, if it lies too near the end of what was read.
    copy: Window,
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
            bits: [0; MOST],
            count: 0,
            values: [0.0; MOST],
            shapes: Shapes::default(),
            question: Question::default(),
            marks: [0; BLOCKS],
            copy: [0; REACH + 8],
        }
    }
}

/// What lies from `first` on, if there is enough.
#[inline(always)]
fn window(room: &[u8], first: usize) -> Option<&Window> {
    room.get(first..)?.first_chunk()
}

impl Fields {
    /// Finds the fields from `first` on, at most `most` of them. `room` holds a row of `length` bytes and what lies behind it, which is loaded but not looked at. What is not
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
        self.question = question;
        let window = match window(room, first) {
            Some(window) => window,
            None => copied(&mut self.copy, room, first),
        };
        let mut left = length.saturating_sub(first);
        for (known, block) in self.marks.iter_mut().zip(window.as_chunks().0) {
            let row = if left < BLOCK {
                (1 << left) - 1
            } else {
                u64::MAX
            };
            let marks = vectors.marks(block, delimiter) & row;
            is_same &= marks == *known;
            *known = marks;
            if left <= BLOCK {
                break;
            }
            left -= BLOCK;
        }
        if !is_same {
            self.shapes.forget();
            self.search();
        }
    }

    /// Where the fields are, by the marks.
    #[inline(never)]
    fn search(&mut self) {
        let Question {
            first,
            length,
            most,
            ..
        } = self.question;
        let blocks = length.saturating_sub(first).div_ceil(BLOCK);
        let (mut begin, mut count) = (0, 0);
        'row: for (block, marks) in (0_u16..).zip(self.marks).take(blocks) {
            let mut marks = marks;
            while marks != 0 {
                if count == most.min(MOST) {
                    break 'row;
                }
                let end = block * BLOCK as u16 + marks.trailing_zeros() as u16;
                (self.begins[count], self.ends[count]) = (begin, end);
                self.bits[count] = 8 * u64::from(end - begin);
                marks &= marks - 1;
                begin = end + 1;
                count += 1;
            }
        }
        self.count = count;
        // To the end of the last vector: the last one once more.
        if let Some(last) = count.checked_sub(1) {
            let rest = count..count.next_multiple_of(WIDTH);
            let (begin, bits) = (self.begins[last], self.bits[last]);
            self.begins[rest.clone()].fill(begin);
            self.bits[rest].fill(bits);
        }
    }

    /// How many were found.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Where the one behind so many begins.
    pub(crate) fn behind(&self, count: usize) -> Option<usize> {
        let end = self.ends.get(count.checked_sub(1)?)?;
        Some(self.question.first + usize::from(*end) + 1)
    }

    /// Writes their coordinates and gives how many are of the plain shape, from the first on: the others hold anything. Their columns begin at `first`; `room` is where they were found.
    #[inline(always)]
    pub(crate) fn decode<V: Vectors>(
        &mut self,
        vectors: V,
        room: &[u8],
        scales: &Scales,
        first: usize,
        out: &mut [f64],
    ) -> usize {
        let window = window(room, self.question.first).unwrap_or(&self.copy);
        let fours = self.count.div_ceil(WIDTH);
        let begins = &self.begins.as_chunks().0[..fours];
        let bits = &self.bits.as_chunks().0[..fours];
        let values = &mut self.values.as_chunks_mut().0[..fours];
        let mut is_plain = V::SHUFFLES
            && self.shapes.are_known()
            && read(begins, self.shapes.fours(), values, |begins, shape, out| {
                vectors.shaped(&words(window, begins), &shape, out)
            });
        if is_plain {
            self.shapes.serve();
        } else {
            self.shapes.forget();
            is_plain = read(begins, bits, values, |begins, bits, out| {
                vectors.numbers(&words(window, begins), bits, out)
            });
            if V::SHUFFLES && is_plain {
                let words = begins.iter().flat_map(|begins| words(window, begins));
                let fields = words.zip(bits.as_flattened().iter().copied());
                self.shapes.learn(fields);
            }
        }
        let columns = first..first + self.count;
        scales.write(columns, &self.values, out);
        if is_plain {
            self.count
        } else {
            self.first_odd(vectors, room)
        }
    }

    #[cold]
    fn first_odd<V: Vectors>(&self, vectors: V, room: &[u8]) -> usize {
        let window = window(room, self.question.first).unwrap_or(&self.copy);
        let places = (self.begins.as_chunks().0.iter()).zip(self.bits.as_chunks().0);
        let flags = places.flat_map(|(begins, bits)| {
            vectors.numbers(&words(window, begins), bits, &mut [0.0; WIDTH])
        });
        flags.take(self.count).take_while(|odd| *odd == 0).count()
    }
}

/// Reads vectors of fields; whether all are as they should be.
#[inline(always)]
fn read<'a, K>(
    begins: &'a [[u16; WIDTH]],
    known: impl IntoIterator<Item = K>,
    values: &mut [[f64; WIDTH]],
    four: impl Fn(&'a [u16; WIDTH], K, &mut [f64; WIDTH]) -> [u64; WIDTH],
) -> bool {
    let mut odd = [0; WIDTH];
    for ((begins, known), values) in begins.iter().zip(known).zip(values) {
        let found = four(begins, known, values);
        odd.iter_mut()
            .zip(found)
            .for_each(|(odd, found)| *odd |= found);
    }
    odd == [0; WIDTH]
}

/// Eight bytes from where each field begins.
#[inline(always)]
fn words(window: &Window, begins: &[u16; WIDTH]) -> [u64; WIDTH] {
    begins.map(|begin| {
        // Fields begin among the bytes that were searched; said so, it need not be looked at.
        let begin = usize::from(begin) % REACH;
        let mut word = [0; 8];
        word.copy_from_slice(&window[begin..begin + 8]);
        u64::from_le_bytes(word)
    })
}

/// What lies from `first` on, and zeros behind it.
#[cold]
fn copied<'a>(copy: &'a mut Window, room: &[u8], first: usize) -> &'a Window {
    let rest = room.get(first..).unwrap_or_default();
    let length = rest.len().min(copy.len());
    copy[..length].copy_from_slice(&rest[..length]);
    copy[length..].fill(0);
    copy
}

#[cfg(test)]
mod tests;
