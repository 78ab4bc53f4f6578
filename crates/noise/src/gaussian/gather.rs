//! Scattered draws: noise at any (node, coordinate) pairs, many at a time.
//!
//! A sparse read needs a few coordinates of a few nodes. Each draw is the same as from
//! [`RoundedGaussian::fill`] at that address; only the order of the cipher's work differs: blocks
//! of different nodes are encrypted together, to fill its pipeline.

use super::RoundedGaussian;
use super::batch::BATCH;
use super::cells::Cells;
use crate::source::{Block, Domain, Source};

/// The number of addresses that [`Scattered::list`] writes at a time.
pub const LISTED: usize = 4;

/// A list of (node, coordinate) pairs for [`RoundedGaussian::gather`].
///
/// ```
/// use hushstream_noise::{Instance, Key, RoundedGaussian, Scattered, Source};
///
/// let source = Source::open(&Key::insecure_from_seed(1), Instance::from_bytes([0; 16]), 1);
/// let mut list = Scattered::new(4);
/// list.list(0, &[1, 2, 3, 4], 9); // coordinate 9 of nodes 1 to 4
/// let mut scattered = [0; 4];
/// RoundedGaussian::STANDARD.gather(&source, &list, &mut scattered);
/// let mut filled = [0];
/// RoundedGaussian::STANDARD.fill(&source, 3, 9, &mut filled);
/// assert_eq!(scattered[2], filled[0]);
/// ```
// Stored nearly as addresses: the coordinate is shifted so that its pair is in the place of the
// lane, and the bit below says which of the two it is.
pub struct Scattered(Vec<Block>);

const ODD: u64 = 1 << 31;

/// Does not show the coordinates, which may be private features.
impl std::fmt::Debug for Scattered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scattered(..)")
    }
}

impl Scattered {
    /// An empty list with room for `most` pairs.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self(vec![Block::default(); most + LISTED])
    }

    /// Writes one coordinate at four nodes to places `at` to `at` + 3. To list fewer than four,
    /// overwrite the rest with the next call.
    ///
    /// # Panics
    /// If the list has no room for four pairs at `at`.
    #[inline(always)]
    pub fn list(&mut self, at: usize, nodes: &[u64; LISTED], coordinate: u32) {
        let coordinate = u64::from(coordinate) << 31;
        let places = &mut self.0[at..][..LISTED];
        for (place, &node) in places.iter_mut().zip(nodes) {
            *place = [coordinate, node];
        }
    }
}

impl RoundedGaussian {
    /// Writes the noise at the first `out.len()` addresses of the list, which the caller must have
    /// written.
    ///
    /// # Panics
    /// If the list has less room than `out`.
    pub fn gather(self, source: &Source, list: &Scattered, out: &mut [i64]) {
        let places = &list.0[..out.len()];
        let cells = Cells::get();
        let (mut blocks, mut words) = ([Block::default(); BATCH], [0; BATCH]);
        for (places, out) in places.chunks(BATCH).zip(out.chunks_mut(BATCH)) {
            for (block, [coordinate, node]) in blocks.iter_mut().zip(places) {
                *block = [coordinate & !ODD | Source::domain(Domain::Rounded), *node];
            }
            source.encrypt(&mut blocks, places.len());
            for ((word, block), [coordinate, _]) in words.iter_mut().zip(&blocks).zip(places) {
                *word = block[usize::from(coordinate & ODD != 0)];
            }
            self.decide(cells, &words, out, source, |place| {
                let [coordinate, node] = places[place];
                (node, (coordinate >> 31) as u32)
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Instance, Key};

    #[test]
    fn gathered_draws_are_the_filled_ones() {
        let key = Key::insecure_from_seed(3);
        let source = Source::open(&key, Instance::from_bytes([7; 16]), 5);
        let law = RoundedGaussian::STANDARD;
        // Enough draws for the rare exact path, also at the edges, and not a multiple of four.
        let edges = [0, 1, (1 << 31) - 1, 1 << 31, u32::MAX - 1, u32::MAX];
        let scattered = (0..3000_u32).map(|i| {
            (
                u64::from(i % 7) << 6 | 3,
                i.wrapping_mul(2_654_435_761) % 5000,
            )
        });
        let at_edges = (0..3001_u64).map(|i| (u64::MAX - i / 6, edges[i as usize % 6]));
        let addresses: Vec<(u64, u32)> = scattered.chain(at_edges).collect();
        let mut list = Scattered::new(addresses.len());
        for (at, &(node, coordinate)) in addresses.iter().enumerate() {
            // The last three are overwritten.
            list.list(at, &[node, 1, 2, 3], coordinate);
        }
        let mut gathered = vec![0; addresses.len()];
        law.gather(&source, &list, &mut gathered);
        for (&(node, coordinate), &drawn) in addresses.iter().zip(&gathered) {
            let mut filled = [0];
            law.fill(&source, node, coordinate, &mut filled);
            assert_eq!(drawn, filled[0]);
        }
    }
}
