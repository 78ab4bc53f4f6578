//! Fields like those of the row before: where each has its digits and its point is known, so that nothing need be looked for.
//!
//! Rows of numbers of one precision differ in their digits alone. A field's *shape* says which of its bytes goes where, and what every byte may be; a row is read by it,
//! and every byte is compared with it, so a row of another shape is seen. It is then read as if nothing were known.

use super::{MOST, WIDTH};
use crate::digits::ZEROS;

/// Rows that a shape must serve to be worth its making, which takes as long as a row.
const WORTH: u32 = 8;
/// The most rows to pass before another one is made.
const PATIENCE: u32 = 1 << 12;

/// What lies beneath a byte that is to be zero.
const NOTHING: u8 = 0x80;

/// The shapes of a row's fields.
pub(crate) struct Shapes {
    /// What each byte is compared with: the difference is a digit, or nothing where the point stands.
    pub(super) texts: [u64; MOST],
    /// From which of sixteen bytes, those of a field and its neighbour, each of eight comes: the digits, the last one uppermost, and lowest the point.
    pub(super) places: [u64; MOST],
    /// The most that each of these may be.
    pub(super) limits: [u64; MOST],
    /// The power of ten to divide by, and one over it.
    pub(super) powers: [f64; MOST],
    pub(super) reciprocals: [f64; MOST],
    are_known: bool,
    /// Rows that were read by them, rows to pass before others are made, and how many that were the last time.
    served: u32,
    wait: u32,
    patience: u32,
}

impl Default for Shapes {
    fn default() -> Self {
        Self {
            texts: [0; MOST],
            places: [0; MOST],
            limits: [0; MOST],
            powers: [0.0; MOST],
            reciprocals: [0.0; MOST],
            are_known: false,
            served: 0,
            wait: 1,
            patience: 1,
        }
    }
}

impl Shapes {
    pub(super) fn are_known(&self) -> bool {
        self.are_known
    }

    /// They served.
    pub(super) fn serve(&mut self) {
        self.served = self.served.saturating_add(1);
    }

    /// They do not hold any more. The row that shows it is passed, because the next may well look as those before did; those that held for a few rows only make the next ones come later.
    pub(super) fn forget(&mut self) {
        if !self.are_known {
            return;
        }
        self.patience = if self.served < WORTH {
            (2 * self.patience).min(PATIENCE)
        } else {
            1
        };
        (self.are_known, self.served, self.wait) = (false, 0, self.patience + 1);
    }

    /// Learns the shapes of fields, each by eight bytes from where it begins and its length in bits, unless it is too early or one has none. There are whole vectors of them.
    #[inline(never)] // not in the way of rows that have none
    pub(super) fn learn(&mut self, fields: impl Iterator<Item = (u64, u64)>) {
        self.wait -= 1;
        if self.wait > 0 {
            return;
        }
        self.wait = self.patience;
        for (number, (word, bits)) in fields.enumerate() {
            let Some(shape) = shape(word, bits) else {
                self.patience = (2 * self.patience).min(PATIENCE);
                self.wait = self.patience;
                return;
            };
            // Two fields share sixteen bytes: what comes from the second is eight further.
            let second = if number % 2 == 1 { 8 } else { 0 };
            let place = |place| {
                if place == NOTHING {
                    NOTHING
                } else {
                    place + second
                }
            };
            self.texts[number] = shape.text;
            self.places[number] = u64::from_le_bytes(shape.places.map(place));
            self.limits[number] = u64::from_le_bytes(shape.limits);
            self.powers[number] = f64::from(10_u32.pow(shape.decimals));
            self.reciprocals[number] = 1.0 / self.powers[number];
        }
        self.are_known = true;
    }
}

struct Shape {
    text: u64,
    places: [u8; 8],
    limits: [u8; 8],
    decimals: u32,
}

/// The shape of a field of at most eight bytes, digits with perhaps a point.
fn shape(word: u64, bits: u64) -> Option<Shape> {
    let (bytes, length) = (word.to_le_bytes(), (bits / 8) as usize);
    let field = bytes.get(..length)?;
    let point = field.iter().position(|&byte| byte == b'.');
    let mut shape = Shape {
        text: ZEROS,
        places: [NOTHING; 8],
        limits: [0; 8],
        decimals: 0,
    };
    let mut free = 8;
    for (place, byte) in field.iter().enumerate().rev() {
        if Some(place) == point {
            continue;
        }
        if !byte.is_ascii_digit() {
            return None;
        }
        free -= 1;
        (shape.places[free], shape.limits[free]) = (place as u8, 9);
    }
    if let Some(point) = point {
        // There is room: a point is no digit.
        shape.places[0] = point as u8;
        shape.text ^= u64::from(b'0' ^ b'.') << (8 * point);
        shape.decimals = (length - 1 - point) as u32;
    }
    (free < 8).then_some(shape)
}

impl Shapes {
    /// Vector by vector.
    #[inline(always)]
    pub(super) fn fours(&self) -> impl Iterator<Item = Four<'_>> {
        let texts = self.texts.as_chunks().0.iter();
        texts
            .zip(self.places.as_chunks().0)
            .zip(self.limits.as_chunks().0)
            .zip(self.powers.as_chunks().0)
            .zip(self.reciprocals.as_chunks().0)
            .map(|((((text, place), limit), power), reciprocal)| Four {
                text,
                place,
                limit,
                power,
                reciprocal,
            })
    }
}

/// The shapes of a vector of fields.
pub(crate) struct Four<'a> {
    pub(super) text: &'a [u64; WIDTH],
    pub(super) place: &'a [u64; WIDTH],
    pub(super) limit: &'a [u64; WIDTH],
    pub(super) power: &'a [f64; WIDTH],
    pub(super) reciprocal: &'a [f64; WIDTH],
}

impl Four<'_> {
    /// Reads them, byte by byte: what they mean. A processor that can do it at one go has its own way.
    pub(super) fn read(&self, words: &[u64; WIDTH], out: &mut [f64; WIDTH]) -> [u64; WIDTH] {
        let mut odd = [0; WIDTH];
        for (lane, word) in words.iter().enumerate() {
            let text = (word ^ self.text[lane]).to_le_bytes();
            let places = self.place[lane].to_le_bytes();
            let limits = self.limit[lane].to_le_bytes();
            let mut value = 0;
            for (place, limit) in places.into_iter().zip(limits) {
                let digit = match place {
                    NOTHING => 0,
                    place => text[usize::from(place % 8)],
                };
                odd[lane] |= u64::from(digit.saturating_sub(limit));
                value = 10 * value + u32::from(digit);
            }
            out[lane] = f64::from(value) / self.power[lane];
        }
        odd
    }
}

#[cfg(test)]
mod tests;
