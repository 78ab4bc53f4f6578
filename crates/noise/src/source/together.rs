//! Many blocks through the cipher, as many at a time as this processor takes.
//!
//! Newer processors encrypt 30 or 64 blocks at one go, in the time of a few alone. Those left over would go one by one: where they are not very few, what stands behind
//! them is encrypted along, to no use and at no cost.

use aes::Block;
use aes::cipher::array::Array;
use aes::cipher::consts::U16;
use aes::cipher::typenum::Unsigned;
use aes::cipher::{BlockCipherEncBackend, BlockCipherEncClosure, BlockSizeUser};

/// One go takes as long as this share of its blocks one by one, about.
const SHARE: usize = 5;

/// The first `wanted` blocks are to be encrypted; those behind them may be.
pub(super) struct Together<'a> {
    pub(super) blocks: &'a mut [Block],
    pub(super) wanted: usize,
}

impl BlockSizeUser for Together<'_> {
    type BlockSize = U16;
}

impl BlockCipherEncClosure for Together<'_> {
    #[inline(always)]
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
        let width = B::ParBlocksSize::USIZE;
        let whole = self.wanted.next_multiple_of(width);
        let left_over = self.wanted % width;
        let are_many = left_over > width / SHARE && whole <= self.blocks.len();
        let count = if are_many { whole } else { self.wanted };
        let blocks = &mut self.blocks[..count];
        let (whole, rest) = Array::<Block, B::ParBlocksSize>::slice_as_chunks_mut(blocks);
        for blocks in whole {
            backend.encrypt_par_blocks_inplace(blocks);
        }
        for block in rest {
            backend.encrypt_block_inplace(block);
        }
    }
}
