//! Rounded and fine Gaussian draws.

use crate::vectors::{Gaussian, vectors};
use hushstream_noise::{FineGaussian, RoundedGaussian, Source};
use sha2::{Digest, Sha256};

impl Gaussian {
    /// Compares the first values, and the digest of all draws if the file has one.
    pub(crate) fn holds(&self, draws: &[i128], bytes: usize) -> bool {
        let heads_agree = draws.len() == self.count && draws[..self.head.len()] == self.head;
        let digests_agree = self.sha256.as_ref().is_none_or(|expected| {
            let mut hasher = Sha256::new();
            for draw in draws {
                hasher.update(&draw.to_le_bytes()[..bytes]);
            }
            let digest: String = hasher
                .finalize()
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            digest == *expected
        });
        assert!(self.sha256.is_some() || self.head.len() == self.count);
        heads_agree && digests_agree
    }

    pub(crate) fn draw_rounded(&self, source: &Source, node: u64) -> Vec<i128> {
        let law = RoundedGaussian::with_bits(self.bits.unwrap()).unwrap();
        let mut draws = vec![0; self.count];
        law.fill(source, node, self.first, &mut draws);
        draws.into_iter().map(i128::from).collect()
    }

    pub(crate) fn draw_fine(&self, source: &Source, node: u64) -> Vec<i128> {
        let law = FineGaussian::new(self.guard_bits.unwrap()).unwrap();
        let mut draws = vec![0; self.count];
        law.fill(source, node, self.first, &mut draws);
        draws
    }
}

pub(crate) const BYTES_ROUNDED: usize = 8;
pub(crate) const BYTES_FINE: usize = 16;

#[test]
fn rounded_gaussian() {
    let vectors = vectors();
    for known in &vectors.rounded_gaussian {
        let source = vectors.open(&known.place);
        let draws = known.draw_rounded(&source, known.place.node);
        assert!(
            known.holds(&draws, BYTES_ROUNDED),
            "bits {:?} node {} first {}",
            known.bits,
            known.place.node,
            known.first
        );
    }
}

#[test]
fn fine_gaussian() {
    let vectors = vectors();
    for known in &vectors.fine_gaussian {
        let source = vectors.open(&known.place);
        let draws = known.draw_fine(&source, known.place.node);
        assert!(
            known.holds(&draws, BYTES_FINE),
            "guard bits {:?} node {} first {}",
            known.guard_bits,
            known.place.node,
            known.first
        );
    }
}

/// Draws with up to three rejections, and cells that the first word leaves open.
#[test]
fn rarely_reached_gaussian_draws() {
    let vectors = vectors();
    for known in &vectors.rare_gaussian {
        let source = vectors.open(&known.place);
        let (node, coordinate) = (known.place.node, known.coordinate);
        let value = match known.law.as_str() {
            "rounded" => {
                let mut one = [0];
                RoundedGaussian::STANDARD.fill(&source, node, coordinate, &mut one);
                i128::from(one[0])
            }
            "fine" => {
                let mut one = [0];
                FineGaussian::new(64)
                    .unwrap()
                    .fill(&source, node, coordinate, &mut one);
                one[0]
            }
            other => panic!("unknown law {other}"),
        };
        assert_eq!(
            value, known.value,
            "{} {} {coordinate}: {} rejections",
            known.law, node, known.rejections
        );
    }
    let deepest = vectors.rare_gaussian.iter().map(|r| r.rejections).max();
    assert!(deepest >= Some(3));
}

/// The last coordinate of the last node: the last address of all.
#[test]
fn the_last_address_of_all() {
    let vectors = vectors();
    let known = &vectors.last_address;
    assert_eq!((known.place.node, known.coordinate), (u64::MAX, u32::MAX));
    let source = vectors.open(&known.place);
    let (mut rounded, mut fine) = ([0], [0]);
    RoundedGaussian::STANDARD.fill(&source, u64::MAX, u32::MAX, &mut rounded);
    assert_eq!(rounded[0], known.rounded_30);
    FineGaussian::new(64)
        .unwrap()
        .fill(&source, u64::MAX, u32::MAX, &mut fine);
    assert_eq!(fine[0], known.fine_64);
}
