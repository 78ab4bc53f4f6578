//! The noise of several nodes at a time: each is the very noise that [`RoundedGaussian::fill`] draws for it, and all together cost less than one by one, because the cipher's
//! pipeline stays full.

use super::RoundedGaussian;
use super::cells::Cells;
use crate::source::{Block, Domain, Source, TOGETHER};
use hushstream_four::FOUR;

/// Blocks that are encrypted together: few enough for a processor's nearest memory.
const BLOCKS: usize = 9 * TOGETHER;

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
        let lanes = dimension.div_ceil(2);
        let together = BLOCKS / lanes;
        if together <= 1 {
            for (node, out) in nodes.iter().zip(out.chunks_exact_mut(dimension)) {
                self.fill(source, *node, 0, out);
            }
            return;
        }
        let cells = Cells::get();
        // Two coordinates share a block; draws are made of words in whole fours.
        let mut blocks = [Block::default(); BLOCKS + FOUR / 2];
        for (nodes, out) in nodes
            .chunks(together)
            .zip(out.chunks_mut(together * dimension))
        {
            source.fill_nodes(nodes, lanes, Domain::Rounded, &mut blocks);
            let words = blocks.as_flattened();
            // Where every block is used whole, the nodes' words follow each other as their coordinates do.
            let (part, stride) = if dimension.is_multiple_of(2) {
                (out.len(), words.len())
            } else {
                (dimension, 2 * lanes)
            };
            for (number, out) in out.chunks_mut(part).enumerate() {
                let first = number * dimension;
                self.decide(cells, &words[number * stride..], out, source, |place| {
                    let place = first + place;
                    (nodes[place / dimension], (place % dimension) as u32)
                });
            }
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
            0, 1, 2, 3, 5, 54, 55, 90, 255, 256, 269, 270, 271, 272, 539, 540, 541, 600,
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
