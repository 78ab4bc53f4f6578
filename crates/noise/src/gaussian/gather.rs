//! Scattered draws: noise at any (node, coordinate) pairs, many at a time.
//!
//! A sparse read needs a few coordinates of a few nodes. Each is the very draw that [`RoundedGaussian::fill`] makes at that address; only the order of the
//! cipher's work differs: blocks of different nodes are encrypted together, to fill its pipeline.

use super::RoundedGaussian;
use super::batch::BATCH;
use super::cells::Cells;
use crate::source::{Block, Domain, Source};

impl RoundedGaussian {
    /// Writes the noise at each (node, coordinate).
    ///
    /// # Panics
    /// If the two slices have different lengths.
    pub fn gather(self, source: &Source, addresses: &[(u64, u32)], out: &mut [i64]) {
        assert_eq!(addresses.len(), out.len(), "one draw an address");
        let cells = Cells::get();
        let mut blocks = [Block::default(); BATCH];
        let mut words = [0; BATCH];
        for (addresses, out) in addresses.chunks(BATCH).zip(out.chunks_mut(BATCH)) {
            let blocks = &mut blocks[..addresses.len()];
            let lanes = addresses.iter().map(|&(node, at)| (node, at / 2));
            source.gather(lanes, Domain::Rounded, blocks);
            for ((word, block), &(_, at)) in words.iter_mut().zip(&*blocks).zip(addresses) {
                *word = block[(at % 2) as usize];
            }
            self.decide(cells, &words, out, source, |place| addresses[place]);
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
        // Enough that the rare exact path is taken by some.
        let addresses: Vec<(u64, u32)> = (0..3000_u32)
            .map(|i| {
                (
                    u64::from(i % 7) << 6 | 3,
                    i.wrapping_mul(2_654_435_761) % 5000,
                )
            })
            .collect();
        let mut gathered = vec![0; addresses.len()];
        law.gather(&source, &addresses, &mut gathered);
        for (&(node, coordinate), &drawn) in addresses.iter().zip(&gathered) {
            let mut filled = [0];
            law.fill(&source, node, coordinate, &mut filled);
            assert_eq!(drawn, filled[0]);
        }
    }
}
