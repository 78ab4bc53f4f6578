//! The addressed generator: AES-256 in counter mode, one cipher key for each (instance, mechanism).
//!
//! The 128-bit counter *is* the address; it is encrypted as 16 little-endian bytes, and a block is read as two
//! little-endian words, first bytes first:
//!
//! | bits | 64…127 | 32…63 | 28…31 | 0…27 |
//! |---|---|---|---|---|
//! | | node | lane (coordinate or group of coordinates) | domain | counter |
//!
//! The domain separates the samplers (0 rounded Gaussian, 1 fine Gaussian, 2 cursors, 3 and 4 direction and length of L2-Laplace, 5
//! discrete Laplace) and, with 8 added, the first bits of a draw from the rare extra bits it may ask for; so no two samplers
//! share a block. What is read through one [`Cursor`] is the caller's to keep apart: a coin and a choice at the same (node,
//! lane) see the same bits.
//!
//! **Assumption.** AES-256 is a pseudo-random permutation. A permutation never repeats a block, so q blocks under one
//! cipher key differ from ideal bits by at most q²/2¹²⁹ (the switching lemma): 2⁻⁶³ for 2³³ blocks, about 2³⁴ Gaussian
//! draws. AES rather than ChaCha20 because one coordinate of a sparse read costs one 16-byte block, and because the
//! processor computes it.

mod cursor;
mod together;

pub use cursor::Cursor;

use crate::recorder::Recording;
use crate::{Instance, Key};
use aes::Aes256;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use hybrid_array::Array;
use together::Together;

/// A block as two words, first bytes first.
pub(crate) type Block = [u64; 2];

/// Who reads a block. The values are part of the stored format: a change would redraw noise.
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
pub struct Source {
    cipher: Aes256,
    simulated: bool,
    recording: Option<Box<Recording>>,
}

impl Source {
    /// The generator of `mechanism` in `instance`. The caller vouches that no other live process holds the same three.
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

    /// Whether the key came from a seed, so that nothing drawn here protects anybody.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        self.simulated
    }

    /// A long stream of bits at (node, lane), for coins and choices. The same address gives the same bits: use it for one
    /// purpose.
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

    /// The first `wanted` blocks become those of consecutive lanes: the fast way to many draws. What stands behind them is used up.
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

    /// The first `wanted` blocks become those from number `first` on in a list of the first `lanes` lanes of several nodes, one node after the other. What stands behind them is used up.
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
        // What is not listed would be no address of its own.
        assert_eq!(listed, wanted, "there are fewer");
        self.encrypt(blocks, wanted);
    }

    /// The domain, where it stands in the first word of an address; the lane is in the upper half of that word, the node is the second.
    pub(crate) const fn domain(domain: Domain) -> u64 {
        (domain as u64) << 28
    }

    /// Tells the recorder, if there is one, what is about to be read.
    #[inline]
    fn note(&self, addresses: &[Block]) {
        if let Some(recording) = &self.recording {
            recording.note(addresses);
        }
    }

    #[inline]
    fn block(&self, address: u128) -> Block {
        // Alone: what the cipher prepares for many would not pay.
        self.note(&[halves(address)]);
        let mut block = Array(address.to_le_bytes());
        self.cipher.encrypt_block(&mut block);
        halves(u128::from_le_bytes(block.0))
    }

    /// The first `wanted` addresses become what is read there. What stands behind them is used up, where that takes less time.
    pub(crate) fn encrypt(&self, blocks: &mut [Block], wanted: usize) {
        self.note(&blocks[..wanted]);
        // Bytes are those of little-endian words, whatever the machine's own are.
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

/// Lists the addresses of lanes from this one on.
fn list(first: u128, blocks: &mut [Block]) {
    let [mut lane, node] = halves(first);
    for block in blocks {
        *block = [lane, node];
        lane = lane.wrapping_add(LANE); // the last lane of a node has no successor, and needs none
    }
}

fn halves(address: u128) -> Block {
    [address as u64, (address >> 64) as u64]
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
    fn an_address_has_its_parts_where_it_says() {
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
