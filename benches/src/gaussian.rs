//! Samples a second: the rounded Gaussian against a floating-point ziggurat fed by the same generator, and against
//! OpenDP's exact discrete Gaussian.

use crate::peer::nanoseconds;
use crate::timing::{median, medians};
use aes::Aes256;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit, consts::U16};
use hushstream_noise::{FineGaussian, Instance, Key, RoundedGaussian, Source};
use rand_core::TryRng;
use rand_distr::{Distribution, StandardNormal};
use std::convert::Infallible;
use std::hint::black_box;

const DIMENSION: usize = 1024;
const NODES: u64 = 2000;

/// AES-256 in counter mode, 64 blocks at a time: the generator under our sampler, as a plain stream.
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

/// Prints the table.
pub(crate) fn run(python: Option<&str>) {
    let key = Key::insecure_from_seed(1);
    let source = Source::open(&key, Instance::from_bytes([0; 16]), 1);
    let fine = FineGaussian::new(16).expect("16 guard bits are allowed");
    let mut stream = CounterMode::new();
    let mut floats = vec![0.0_f64; DIMENSION];
    let mut rounded = vec![0_i64; DIMENSION];
    let mut finer = vec![0_i64; DIMENSION];
    let mut peer = Vec::new();
    let units = NODES * DIMENSION as u64;
    let times = medians(&mut [
        Box::new(|| {
            for _ in 0..NODES {
                for value in &mut floats {
                    *value = StandardNormal.sample(&mut stream);
                }
                black_box(&floats);
            }
            units
        }),
        Box::new(|| {
            for node in 0..NODES {
                RoundedGaussian::STANDARD.fill(&source, node, 0, &mut rounded);
                black_box(&rounded);
            }
            units
        }),
        Box::new(|| {
            for node in 0..NODES {
                fine.fill_i64(&source, node, 0, &mut finer)
                    .expect("16 guard bits fit 64");
                black_box(&finer);
            }
            units
        }),
        Box::new(|| {
            peer.extend(python.and_then(|python| nanoseconds(python, "opendp_gaussian.py", &[])));
            1
        }),
    ]);
    println!("Gaussian samples (times are medians of alternating rounds in this run)");
    let row = |name: &str, ns: f64| {
        println!(
            "  {name:<44} {ns:>10.2} ns   {:>8.2} times ours",
            ns / times[1]
        );
    };
    row("round(2^30 N(0,1)), exact, addressed (ours)", times[1]);
    row("floor(2^46 N(0,1)), exact, addressed (ours)", times[2]);
    row("rand_distr::StandardNormal, same generator", times[0]);
    if peer.is_empty() {
        println!("  OpenDP discrete Gaussian: not installed, not measured");
    } else {
        row("OpenDP exact discrete Gaussian, scale 2^30", median(&peer));
    }
    println!(
        "  ours reaches {:.2} of the ziggurat's rate{}",
        times[0] / times[1],
        if peer.is_empty() {
            String::new()
        } else {
            format!(" and {:.0} times OpenDP's", median(&peer) / times[1])
        }
    );
}
