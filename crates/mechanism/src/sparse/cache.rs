//! Noise that will be asked for again: sums over the long-lived nodes of the present cover, for coordinates seen lately.
//!
//! Release t of a binary tree is covered by the nodes of its binary digits. The nodes of the digits from level ℓ up are a function of t >> ℓ and stay for 2^ℓ rounds. A *place* keeps, for
//! the coordinate that was last asked for there, the sums of its noises from each of six levels up, as they were in some round: those whose digits have not changed since
//! still hold, and only the noises below them are drawn. So a coordinate that was asked for g rounds ago costs about log₂(g)/2 draws. What a place holds is a function of
//! addresses, so a hit and a miss give the same number; only time differs, and time is never given out.

use crate::sums::dyadic_node;
use hushstream_noise::{RoundedGaussian, Source};

/// Levels from which sums are kept.
const LEVELS: [u32; 6] = [2, 4, 6, 9, 12, 15];
/// How many there are: no place, for a coordinate of which nothing is known.
const NONE: usize = LEVELS.len();
/// Number of places, as a power of two: half a megabyte, which stays near the processor. More would hardly be hit more often where features follow a power law.
const PLACES_LOG2: u32 = 13;

/// The round from which on places are kept: a short run needs none.
const FIRST_WORTH: u64 = 16;
const EMPTY: Place = Place {
    coordinate: 0,
    round: 0,
    sums: [0; NONE],
};

/// One line of the processor's cache.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Place {
    coordinate: u32,
    /// The round of the sums; 0 is empty.
    round: u64,
    /// From each level up.
    sums: [i64; NONE],
}

impl Place {
    /// Takes in what was drawn for a coordinate, the noise of the largest node first, and gives the sum of all.
    #[inline]
    fn update(
        &mut self,
        (round, coordinate): (u64, u32),
        (held, base): (usize, i64),
        mut drawn: &[i64],
        below: &[usize; NONE + 1],
    ) -> i64 {
        // Another coordinate may have taken the place meanwhile: then there is nothing to add to.
        let is_ours = held == NONE || self.coordinate == coordinate;
        let mut total = base;
        for level in (0..held).rev() {
            let (here, rest) = drawn.split_at(below[level + 1] - below[level]);
            total += here.iter().sum::<i64>();
            drawn = rest;
            if is_ours {
                self.sums[level] = total;
            }
        }
        if is_ours {
            (self.coordinate, self.round) = (coordinate, round);
        }
        total + drawn.iter().sum::<i64>()
    }
}

/// For each number of digits, the first level above them.
const FIRST_ABOVE: [usize; 65] = {
    let mut table = [NONE; 65];
    let mut level = NONE;
    while level > 0 {
        level -= 1;
        let mut digits = 0;
        while digits <= LEVELS[level] as usize {
            table[digits] = level;
            digits += 1;
        }
    }
    table
};

/// The cache of one generator.
pub(crate) struct NoiseCache {
    source: Source,
    /// Made when there is something worth keeping.
    places: Vec<Place>,
    /// What is known of each coordinate: the first level whose sum holds, and that sum.
    known: Vec<(usize, i64)>,
    wanted: Vec<(u64, u32)>,
    drawn: Vec<i64>,
}

impl NoiseCache {
    pub(crate) fn new(source: Source) -> Self {
        Self {
            source,
            places: Vec::new(),
            known: Vec::new(),
            wanted: Vec::new(),
            drawn: Vec::new(),
        }
    }

    /// Adds to `sums` the noise of release t at each coordinate; no coordinate twice.
    pub(crate) fn add(&mut self, t: u64, coordinates: &[u32], sums: &mut [i64]) {
        if self.places.is_empty() && t >= FIRST_WORTH {
            self.places = vec![EMPTY; 1 << PLACES_LOG2];
        }
        // Nodes in the order in which they are drawn, the largest first, and how many of them lie below each level.
        let (mut all, mut count) = ([0; 64], 0);
        for (place, node) in all.iter_mut().zip(nodes(t)) {
            (*place, count) = (node, count + 1);
        }
        let mut below = [count; NONE + 1];
        for (below, level) in below.iter_mut().zip(LEVELS) {
            *below = (t & !(u64::MAX << level)).count_ones() as usize;
        }
        self.look_up(t, coordinates, &all[..count], &below);
        RoundedGaussian::STANDARD.gather(&self.source, &self.wanted, &mut self.drawn);
        let mut drawn = &self.drawn[..];
        for ((&coordinate, sum), &(held, base)) in coordinates.iter().zip(sums).zip(&self.known) {
            let (mine, others) = drawn.split_at(below[held]);
            drawn = others;
            let mut nowhere = EMPTY;
            let place = self.places.get_mut(slot(coordinate));
            let place = place.unwrap_or(&mut nowhere);
            *sum += place.update((t, coordinate), (held, base), mine, &below);
        }
    }

    /// Finds what is known, and lists what must be drawn, coordinate by coordinate.
    fn look_up(&mut self, t: u64, coordinates: &[u32], all: &[u64], below: &[usize; NONE + 1]) {
        self.known.clear();
        self.wanted.clear();
        for &coordinate in coordinates {
            let place = self.places.get(slot(coordinate)).unwrap_or(&EMPTY);
            let (mut held, mut base) = (NONE, 0);
            if place.coordinate == coordinate && place.round > 0 {
                // Digits at and below the highest that has changed are other nodes now.
                held = FIRST_ABOVE
                    [(place.round ^ t).checked_ilog2().map_or(0, |bit| bit + 1) as usize];
                base = place.sums.get(held).copied().unwrap_or(0);
            }
            self.known.push((held, base));
            let missing = &all[all.len() - below[held]..];
            self.wanted
                .extend(missing.iter().map(|&node| (node, coordinate)));
        }
        self.drawn.clear();
        self.drawn.resize(self.wanted.len(), 0);
    }

    /// The noise of release t at all coordinates, added to a whole vector.
    pub(crate) fn add_all(&self, t: u64, sums: &mut [i64]) {
        let mut noise = vec![0; sums.len()];
        for node in nodes(t) {
            RoundedGaussian::STANDARD.fill(&self.source, node, 0, &mut noise);
            sums.iter_mut().zip(&noise).for_each(|(s, n)| *s += n);
        }
    }
}

fn slot(coordinate: u32) -> usize {
    (coordinate.wrapping_mul(0x9e37_79b1) >> (32 - PLACES_LOG2)) as usize
}

/// The nodes of the binary digits of t, the largest first.
fn nodes(t: u64) -> impl Iterator<Item = u64> {
    let mut rest = t;
    std::iter::from_fn(move || {
        let level = rest.checked_ilog2()?;
        rest ^= 1 << level;
        Some(dyadic_node(level, t >> level << level))
    })
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
            let mut own: Vec<u64> = nodes(t).collect();
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
        let dimension = 1 << 17;
        // Coordinates that share a place.
        let rivals: Vec<u32> = (0..1 << 17).filter(|&c| slot(c) == slot(5)).collect();
        assert!(rivals.len() > 2);
        let rivals = [rivals[0], rivals[1], rivals[2]];
        let mut whole = vec![0; dimension];
        for t in (1..200).chain(4090..4110).chain([1 << 16, (1 << 16) + 15]) {
            whole.fill(0);
            cache.add_all(t, &mut whole);
            let mut coordinates: Vec<u32> = (0..9)
                .map(|i| (t as u32 * 31 + i * i * 7) % 1024)
                .chain(rivals)
                .collect();
            coordinates.sort_unstable();
            coordinates.dedup();
            // Rivals come in either order, and not all of them every time.
            if t % 2 == 0 {
                coordinates.reverse();
            }
            coordinates.truncate(coordinates.len() - (t % 3) as usize);
            let mut sums = vec![5; coordinates.len()];
            cache.add(t, &coordinates, &mut sums);
            for (coordinate, sum) in coordinates.iter().zip(sums) {
                assert_eq!(sum, 5 + whole[*coordinate as usize], "{t} {coordinate}");
            }
        }
    }
}
