//! Noise that will be asked for again: sums over the long-lived nodes of the present cover, for coordinates seen lately.
//!
//! Release t of a binary tree is covered by the nodes of its binary digits. The nodes of the digits from level ℓ up are a function of t >> ℓ and stay for 2^ℓ rounds. A *tier* keeps, for
//! some coordinates, the sum of their noises: a table with one place a hash value, where the last one asked for stays. What it holds is a function of addresses, so
//! a hit and a miss give the same number; only time differs, and time is never given out.

use crate::sums::dyadic_node;
use hushstream_noise::{RoundedGaussian, Source};

/// Levels at which tiers begin, the highest first.
const LEVELS: [u32; 3] = [12, 8, 4];
/// Places of a tier.
const PLACES: usize = 1 << 16;

#[derive(Clone, Copy)]
struct Place {
    coordinate: u32,
    /// (t >> level) + 1; 0 is empty.
    epoch: u64,
    sum: i64,
}

const EMPTY: Place = Place {
    coordinate: 0,
    epoch: 0,
    sum: 0,
};

/// The caches of one generator.
pub(crate) struct NoiseCache {
    source: Source,
    /// Made when their level is first reached: a short run needs none.
    tiers: Vec<Vec<Place>>,
    wanted: Vec<(u64, u32)>,
    drawn: Vec<i64>,
}

impl NoiseCache {
    pub(crate) fn new(source: Source) -> Self {
        Self {
            source,
            tiers: vec![Vec::new(); LEVELS.len()],
            wanted: Vec::new(),
            drawn: Vec::new(),
        }
    }

    /// Adds to `sums` the noise of release t at each coordinate.
    pub(crate) fn add(&mut self, t: u64, coordinates: &[u32], sums: &mut [i64]) {
        let mut above = 64;
        for (tier, level) in LEVELS.into_iter().enumerate() {
            self.add_tier(t, tier, level, above, coordinates, sums);
            above = level;
        }
        let nodes: Vec<u64> = nodes(t, 0, above).collect();
        self.draw(&nodes, coordinates.iter().copied());
        for (index, noise) in self.drawn.iter().enumerate() {
            sums[index / nodes.len().max(1)] += noise;
        }
    }

    /// Noises of the digits from `level` up to below `above`.
    fn add_tier(
        &mut self,
        t: u64,
        tier: usize,
        level: u32,
        above: u32,
        coordinates: &[u32],
        sums: &mut [i64],
    ) {
        let epoch = (t >> level) + 1;
        let place = |coordinate: u32| coordinate.wrapping_mul(0x9e37_79b1) as usize >> 16;
        let nodes: Vec<u64> = nodes(t, level, above).collect();
        if nodes.is_empty() {
            return;
        }
        let table = &mut self.tiers[tier];
        if table.is_empty() {
            table.resize(PLACES, EMPTY);
        }
        let misses: Vec<usize> = coordinates
            .iter()
            .zip(sums.iter_mut())
            .enumerate()
            .filter_map(|(index, (&coordinate, sum))| {
                let found = table[place(coordinate)];
                if found.coordinate == coordinate && found.epoch == epoch {
                    *sum += found.sum;
                    None
                } else {
                    Some(index)
                }
            })
            .collect();
        self.draw(&nodes, misses.iter().map(|&index| coordinates[index]));
        for (&index, noises) in misses.iter().zip(self.drawn.chunks_exact(nodes.len())) {
            let sum = noises.iter().sum();
            sums[index] += sum;
            let coordinate = coordinates[index];
            self.tiers[tier][place(coordinate)] = Place {
                coordinate,
                epoch,
                sum,
            };
        }
    }

    /// All noises of these nodes at these coordinates, coordinate by coordinate.
    fn draw(&mut self, nodes: &[u64], coordinates: impl Iterator<Item = u32>) {
        self.wanted.clear();
        for coordinate in coordinates {
            self.wanted
                .extend(nodes.iter().map(|&node| (node, coordinate)));
        }
        self.drawn.clear();
        self.drawn.resize(self.wanted.len(), 0);
        RoundedGaussian::STANDARD.gather(&self.source, &self.wanted, &mut self.drawn);
    }

    /// The noise of release t at all coordinates, added to a whole vector.
    pub(crate) fn add_all(&self, t: u64, sums: &mut [i64]) {
        let mut noise = vec![0; sums.len()];
        for node in nodes(t, 0, 64) {
            RoundedGaussian::STANDARD.fill(&self.source, node, 0, &mut noise);
            sums.iter_mut().zip(&noise).for_each(|(s, n)| *s += n);
        }
    }
}

/// The nodes of the binary digits of t from `low` up to below `high`.
fn nodes(t: u64, low: u32, high: u32) -> impl Iterator<Item = u64> {
    (low..high)
        .filter(move |level| t >> level & 1 == 1)
        .map(move |level| dyadic_node(level, t >> level << level))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sums::{BinaryTree, Cover};
    use hushstream_noise::{Instance, Key};

    fn cache() -> NoiseCache {
        let key = Key::insecure_from_seed(1);
        NoiseCache::new(Source::open(&key, Instance::from_bytes([2; 16]), 3))
    }

    #[test]
    fn the_nodes_are_the_trees() {
        for t in [1_u64, 5, 4096, 0b1011_0110_0111_0101, (1 << 20) - 1] {
            let mut own: Vec<u64> = nodes(t, 0, 64).collect();
            let mut cover: Vec<u64> = BinaryTree.terms(t).iter().map(|term| term.node).collect();
            own.sort_unstable();
            cover.sort_unstable();
            assert_eq!(own, cover);
        }
    }

    /// Hits, misses, evictions and new epochs: every read is the whole release's coordinate.
    #[test]
    fn a_cached_read_is_the_whole_release() {
        let mut cache = cache();
        let dimension = 1 << 10;
        let mut whole = vec![0; dimension];
        for t in (1..200).chain(4090..4110).chain([1 << 16, (1 << 16) + 15]) {
            whole.fill(0);
            cache.add_all(t, &mut whole);
            let coordinates: Vec<u32> =
                (0..9).map(|i| (t as u32 * 31 + i * i * 7) % 1024).collect();
            let mut sums = vec![5; coordinates.len()];
            cache.add(t, &coordinates, &mut sums);
            for (coordinate, sum) in coordinates.iter().zip(sums) {
                assert_eq!(sum, 5 + whole[*coordinate as usize], "{t} {coordinate}");
            }
        }
    }
}
