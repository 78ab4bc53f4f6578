//! Gaussian samples: exact and addressed, and for comparison a floating-point ziggurat fed by the
//! same generator.

use crate::timing::{Measured, measure};
use aes::Aes256;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit, consts::U16};
use hushstream_noise::{FineGaussian, Instance, Key, RoundedGaussian, Source};
use rand_core::TryRng;
use rand_distr::{Distribution, StandardNormal};
use std::convert::Infallible;
use std::hint::black_box;

const DIMENSION: usize = 1024;
const NODES: u64 = 200;

/// AES-256 in counter mode, 64 blocks at a time: the generator under our sampler, as a plain
/// stream.
struct CounterMode {
    cipher: Aes256,
    counter: u128,
    words: [u64; 128],
    used: usize,
}

impl CounterMode {
    fn new() -> Self {
        Self {
            cipher: Aes256::new(&Array([7; 32])),
            counter: 0,
            words: [0; 128],
            used: 128,
        }
    }

    fn refill(&mut self) {
        let mut blocks = [Array::<u8, U16>::default(); 64];
        for block in &mut blocks {
            block.0 = self.counter.to_le_bytes();
            self.counter += 1;
        }
        self.cipher.encrypt_blocks(&mut blocks);
        for (pair, block) in self.words.chunks_mut(2).zip(&blocks) {
            let all = u128::from_le_bytes(block.0);
            pair.copy_from_slice(&[all as u64, (all >> 64) as u64]);
        }
        self.used = 0;
    }
}

impl TryRng for CounterMode {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.try_next_u64().map(|word| word as u32)
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        if self.used == self.words.len() {
            self.refill();
        }
        self.used += 1;
        Ok(self.words[self.used - 1])
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(8) {
            let word = self.try_next_u64()?.to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
        Ok(())
    }
}

fn source() -> Source {
    Source::open(
        &Key::insecure_from_seed(1),
        Instance::from_bytes([0; 16]),
        1,
    )
}

/// Samples of one of our generators, a node at a time.
fn filled(mut fill: impl FnMut(&Source, u64, &mut [i64])) -> Measured {
    let source = source();
    let mut samples = vec![0_i64; DIMENSION];
    let mut node = 0;
    measure(|| {
        for _ in 0..NODES {
            fill(&source, node, &mut samples);
            black_box(&samples);
            node += 1;
        }
        NODES * DIMENSION as u64
    })
}

pub(crate) fn rounded() -> Measured {
    filled(|source, node, samples| RoundedGaussian::STANDARD.fill(source, node, 0, samples))
}

/// floor(2^46 N(0, 1)), the noise of filters over very long streams.
pub(crate) fn fine() -> Measured {
    let fine = FineGaussian::new(16).expect("16 guard bits are allowed");
    let source = source();
    let mut samples = vec![0_i128; DIMENSION];
    let mut node = 0;
    measure(|| {
        for _ in 0..NODES {
            fine.fill(&source, node, 0, &mut samples);
            black_box(&samples);
            node += 1;
        }
        NODES * DIMENSION as u64
    })
}

/// `rand_distr::StandardNormal`: fast, in floating point, and not private.
pub(crate) fn ziggurat() -> Measured {
    let mut stream = CounterMode::new();
    let mut samples = vec![0.0_f64; DIMENSION];
    measure(|| {
        for _ in 0..NODES {
            for sample in &mut samples {
                *sample = StandardNormal.sample(&mut stream);
            }
            black_box(&samples);
        }
        NODES * DIMENSION as u64
    })
}
