//! The noise of several nodes at a time: each is the very noise that [`RoundedGaussian::fill`] draws for it, and all together cost less than one by one, because the cipher's
//! pipeline stays full, and because addresses, words and draws follow each other in the same memory.

use super::RoundedGaussian;
use super::cells::Cells;
use crate::source::{Block, Domain, Source};

/// Blocks that are encrypted and decided together: few enough for a processor's nearest memory, and a multiple of what processors take at one go, 8, 30 or 64.
const BLOCKS: usize = 960;
/// The most that one go may take behind them.
const BEHIND: usize = 64;

impl RoundedGaussian {
    /// Writes the noise of all coordinates of each node, one node after the other: as many coordinates each as there is room for in equal parts.
    ///
    /// # Panics
    /// If the room has no equal parts, or longer ones than 2³².
    pub fn fill_nodes(self, source: &Source, nodes: &[u64], out: &mut [i64]) {
        let dimension = out.len() / nodes.len().max(1);
        assert_eq!(out.len(), dimension * nodes.len(), "equal parts");
        if out.is_empty() {
            return;
        }
        assert!(dimension as u64 <= 1 << 32, "at most 2^32 coordinates");
        // Two coordinates share a block. The last of an odd number has one for itself, and there is no room for its other half.
        if !dimension.is_multiple_of(2) {
            for (node, out) in nodes.iter().zip(out.chunks_exact_mut(dimension)) {
                self.fill(source, *node, 0, out);
            }
            return;
        }
        let (cells, lanes) = (Cells::get(), dimension / 2);
        for first in (0..out.len() / 2).step_by(BLOCKS) {
            let rest = &mut out[2 * first..];
            let wanted = BLOCKS.min(rest.len() / 2);
            let room = (BLOCKS + BEHIND).min(rest.len() / 2);
            let words: &mut [u64] = bytemuck::cast_slice_mut(&mut rest[..2 * room]);
            let blocks: &mut [Block] = words.as_chunks_mut().0;
            source.fill_nodes((nodes, lanes), first, Domain::Rounded, blocks, wanted);
            self.decide_here(cells, &mut rest[..2 * wanted], source, |place| {
                let place = 2 * first + place;
                (nodes[place / dimension], (place % dimension) as u32)
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Instance, Key};

    /// Of every dimension, around the number of blocks that are encrypted together; enough that the rare exact path is taken.
    #[test]
    fn several_nodes_are_each_of_them() {
        let key = Key::insecure_from_seed(4);
        let source = Source::open(&key, Instance::from_bytes([8; 16]), 6);
        let law = RoundedGaussian::STANDARD;
        for dimension in [
            0, 1, 2, 3, 4, 6, 54, 55, 90, 256, 270, 958, 960, 962, 1918, 1920, 1922, 2000, 4000,
        ] {
            for count in [0, 1, 2, 5, 33] {
                let nodes: Vec<u64> = (0..count).map(|i| (i * 977 + 3) << (i % 40)).collect();
                let mut all = vec![0; dimension * nodes.len()];
                law.fill_nodes(&source, &nodes, &mut all);
                let mut one = vec![0; dimension];
                for (node, all) in nodes.iter().zip(all.chunks(dimension.max(1))) {
                    law.fill(&source, *node, 0, &mut one);
                    assert_eq!(one, all, "{dimension} {count}");
                }
            }
        }
    }
}
