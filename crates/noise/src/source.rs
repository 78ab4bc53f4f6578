//! The addressed generator: AES-256 in counter mode, one cipher key for each (instance, mechanism).
//!
//! The 128-bit counter *is* the address; it is encrypted as 16 little-endian bytes, and a block is
//! read as two little-endian words, first bytes first:
//!
//! | bits | 64…127 | 32…63 | 28…31 | 0…27 |
//! |---|---|---|---|---|
//! | | node | lane (coordinate or group of coordinates) | domain | counter |
//!
//! The domain separates the samplers (0 rounded Gaussian, 1 fine Gaussian, 2 cursors, 3 and 4
//! direction and length of L2-Laplace, 5 discrete Laplace) and, with 8 added, the first bits of a
//! draw from the rare extra bits it may ask for; so no two samplers share a block. Callers
//! of [`Source::cursor`] keep their cursors apart themselves: a coin and a choice at the same
//! (node, lane) read the same bits.
//!
//! **Assumption.** AES-256 is a pseudo-random permutation. A permutation never repeats a block, so
//! q blocks under one cipher key differ from ideal bits by at most q²/2¹²⁹ (the switching lemma):
//! 2⁻⁶³ for 2³³ blocks, about 2³⁴ Gaussian draws. AES rather than ChaCha20 because one coordinate
//! of a sparse read costs one 16-byte block, and because the processor computes it.

mod cursor;

pub use cursor::Cursor;

use crate::recorder::Recording;
use crate::{Instance, Key};
use aes::Aes256;
use aes::cipher::consts::U16;
use aes::cipher::typenum::Unsigned;
use aes::cipher::{
    BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser, KeyInit,
};
use hybrid_array::Array;

/// A block as two words, first bytes first.
pub(crate) type Block = [u64; 2];

/// The reader of a block. The values are part of the stored format: a change would redraw noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Domain {
    Rounded = 0,
    Fine = 1,
    Stream = 2,
    L2Direction = 3,
    L2Radius = 4,
    Laplace = 5,
}

impl Domain {
    /// The twin of a domain that supplies the extra bits of its draws.
    const EXTENSION: u8 = 8;
}

/// All noise of one mechanism in one instance.
///
/// ```
/// use hushstream_noise::{Instance, Key, NoiseError, Source};
///
/// let key = Key::insecure_from_seed(1);
/// let source = Source::open(&key, Instance::from_bytes([0; 16]), 1);
/// assert!(source.is_simulated());
/// // The same address gives the same bits, another address gives others.
/// let word = |node| source.cursor(node, 0).next_word();
/// assert_eq!(word(7), word(7));
/// assert_ne!(word(7), word(8));
/// ```
pub struct Source {
    cipher: Aes256,
    simulated: bool,
    recording: Option<Box<Recording>>,
}

impl Source {
    /// The generator of `mechanism` in `instance`. The caller guarantees that no other live process
    /// uses the same key, instance and mechanism.
    #[must_use]
    pub fn open(key: &Key, instance: Instance, mechanism: u64) -> Self {
        let subkey = key.subkey(instance, mechanism);
        Self {
            cipher: Aes256::new(&Array(*subkey)),
            simulated: key.is_simulated(),
            recording: key.recorder().map(|recorder| {
                Box::new(Recording {
                    recorder: recorder.clone(),
                    instance,
                    mechanism,
                })
            }),
        }
    }

    /// Whether the key came from a seed, in which case the noise protects nothing.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        self.simulated
    }

    /// A long stream of bits at (node, lane), for coins and choices. The same address gives the
    /// same bits: use it for one purpose.
    #[must_use]
    pub fn cursor(&self, node: u64, lane: u32) -> Cursor<'_> {
        self.cursor_in(node, lane, Domain::Stream)
    }

    pub(crate) fn cursor_in(&self, node: u64, lane: u32, domain: Domain) -> Cursor<'_> {
        Cursor::new(self, address(node, lane, domain as u8))
    }

    /// The two words at an address.
    pub(crate) fn words(&self, node: u64, lane: u32, domain: Domain) -> Block {
        self.block(address(node, lane, domain as u8))
    }

    /// Block `counter` of the extra bits of the draw at (node, lane).
    pub(crate) fn extension(&self, node: u64, lane: u32, domain: Domain, counter: u32) -> Block {
        debug_assert!(counter < COUNTERS);
        self.block(address(node, lane, domain as u8 | Domain::EXTENSION) | u128::from(counter))
    }

    /// Fills the first `wanted` blocks with those of consecutive lanes: the fast way to many draws.
    /// Later blocks are scratch space.
    pub(crate) fn fill(
        &self,
        node: u64,
        first_lane: u32,
        domain: Domain,
        blocks: &mut [Block],
        wanted: usize,
    ) {
        list(
            address(node, first_lane, domain as u8),
            &mut blocks[..wanted],
        );
        self.encrypt(blocks, wanted);
    }

    /// Fills the first `wanted` blocks from a list of the first `lanes` lanes of several nodes, one
    /// node after the other, starting at entry `first`. Later blocks are scratch space.
    pub(crate) fn fill_nodes(
        &self,
        (nodes, lanes): (&[u64], usize),
        first: usize,
        domain: Domain,
        blocks: &mut [Block],
        wanted: usize,
    ) {
        let (mut lane, mut listed) = (first % lanes, 0);
        for node in &nodes[first / lanes..] {
            let end = wanted.min(listed + lanes - lane);
            list(
                address(*node, lane as u32, domain as u8),
                &mut blocks[listed..end],
            );
            (lane, listed) = (0, end);
            if listed == wanted {
                break;
            }
        }
        // A block without an address would repeat noise.
        assert_eq!(listed, wanted, "the list has fewer blocks");
        self.encrypt(blocks, wanted);
    }

    /// The domain, shifted to its place in the first word of an address. The lane is the upper half
    /// of that word, the node is the second word.
    pub(crate) const fn domain(domain: Domain) -> u64 {
        (domain as u64) << 28
    }

    /// Passes the addresses of a read to the recorder, if there is one.
    #[inline]
    fn note(&self, addresses: &[Block]) {
        if let Some(recording) = &self.recording {
            recording.note(addresses);
        }
    }

    #[inline]
    fn block(&self, address: u128) -> Block {
        // One block: the set-up for many would not pay.
        self.note(&[halves(address)]);
        let mut block = Array(address.to_le_bytes());
        self.cipher.encrypt_block(&mut block);
        halves(u128::from_le_bytes(block.0))
    }

    /// Replaces the first `wanted` addresses by the blocks at them. Later blocks are scratch space.
    pub(crate) fn encrypt(&self, blocks: &mut [Block], wanted: usize) {
        self.note(&blocks[..wanted]);
        // Words are little-endian on every machine.
        let swap = |blocks: &mut [Block]| {
            if cfg!(target_endian = "big") {
                let words = blocks.as_flattened_mut().iter_mut();
                words.for_each(|word| *word = word.to_le());
            }
        };
        swap(blocks);
        self.cipher.encrypt_with_backend(Together {
            blocks: bytemuck::cast_slice_mut(blocks),
            wanted,
        });
        swap(blocks);
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source")
            .field("simulated", &self.simulated)
            .finish_non_exhaustive()
    }
}

const LANE: u64 = 1 << 32;
const COUNTERS: u32 = 1 << 28;

fn address(node: u64, lane: u32, domain: u8) -> u128 {
    u128::from(node) << 64 | u128::from(lane) << 32 | u128::from(domain) << 28
}

/// Lists the addresses of consecutive lanes.
fn list(first: u128, blocks: &mut [Block]) {
    let [mut lane, node] = halves(first);
    for block in blocks {
        *block = [lane, node];
        lane = lane.wrapping_add(LANE); // wraps after the last lane of a node
    }
}

fn halves(address: u128) -> Block {
    [address as u64, (address >> 64) as u64]
}

/// One parallel call takes about as long as this fraction of its blocks, encrypted one by one.
const SHARE: usize = 5;

/// Encrypts at least the first `wanted` blocks, as many at a time as the processor supports.
///
/// Newer processors encrypt 30 or 64 blocks in the time of a few single ones. If more than a few
/// blocks are left over, a last parallel call encrypts them along with the scratch blocks that
/// follow, which costs nothing.
pub(super) struct Together<'a> {
    pub(super) blocks: &'a mut [aes::Block],
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
        let (whole, rest) = Array::<aes::Block, B::ParBlocksSize>::slice_as_chunks_mut(blocks);
        for blocks in whole {
            backend.encrypt_par_blocks_inplace(blocks);
        }
        for block in rest {
            backend.encrypt_block_inplace(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    pub(super) fn source() -> Source {
        Source::open(
            &Key::insecure_from_seed(3),
            Instance::from_bytes([9; 16]),
            4,
        )
    }

    #[test]
    fn addresses_of_different_uses_never_meet() {
        let mut seen = HashSet::new();
        for node in [0, 1, u64::MAX] {
            for lane in [0, 1, u32::MAX] {
                for domain in 0..16 {
                    for counter in [0, 1, COUNTERS - 1] {
                        assert!(seen.insert(address(node, lane, domain) | u128::from(counter)));
                    }
                }
            }
        }
    }

    #[test]
    fn the_parts_of_an_address_are_in_their_documented_places() {
        let whole = halves(address(7, 0xffff_fffe, Domain::Laplace as u8));
        assert_eq!(
            whole,
            [0xffff_fffe << 32 | Source::domain(Domain::Laplace), 7]
        );
    }

    #[test]
    fn many_blocks_equal_single_blocks() {
        let source = source();
        for wanted in 0..=100 {
            let mut blocks = [Block::default(); 100];
            source.fill(5, 100, Domain::Fine, &mut blocks, wanted);
            for (lane, block) in (100..).zip(&blocks[..wanted]) {
                assert_eq!(*block, source.words(5, lane, Domain::Fine));
            }
        }
    }
}
