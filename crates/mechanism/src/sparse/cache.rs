//! Cached noise: sums over the nodes of the cover that outlive a round, for recently used
//! coordinates.
//!
//! Release t of a binary tree is covered by the nodes of its binary digits, the largest first. Two
//! rounds whose digits agree from level ℓ up share the nodes of those digits, so they share the
//! first few partial sums of their noises. A *place* keeps, for the coordinate that was last asked
//! for there, the last seven partial sums of some round's cover: the noises behind the last one
//! that is shared are drawn, and no others. A coordinate that was asked for g rounds ago costs
//! about log₂(g)/2 + 1 draws, which is the least: those nodes are new to it. What a place holds is
//! a function of addresses, so a hit and a miss give the same number; only time differs, and time
//! is never given out.
//!
//! **Speed.** Places are scattered in memory. A loop without branches first fetches all that are
//! needed, so that many cache misses overlap; then addresses are listed, drawn together and added
//! up.

use crate::sums::dyadic_node;
use hushstream_noise::{LISTED, RoundedGaussian, Scattered, Source};
use pulp::{Arch, Simd, WithSimd};
use std::hint::select_unpredictable;

/// Partial sums per place.
const KEPT: u32 = 7;
/// Digits of a round in a place; the place is invalid once other digits change.
const DIGITS_KEPT: u32 = 24;
/// Number of places, as a power of two: half a megabyte, which fits a second-level cache. More
/// would hardly be hit more often if features follow a power law.
const PLACES_LOG2: u32 = 13;
const PLACES: usize = 1 << PLACES_LOG2;
/// Memory of a cache, for any number of features.
pub const CACHE_BYTES: usize = PLACES * size_of::<Place>();
/// Coordinates that are looked up together.
const GROUP: usize = 64;
/// Digits of a round.
const DIGITS: usize = 64;
/// The nodes of a round's cover, padded: addresses are listed a few at a time.
type Nodes = [u64; DIGITS + LISTED];

/// Where a place has the sum of the first k + 1 nodes: k mod 7, without a division.
const RING: [u8; 2 * DIGITS] = {
    let (mut ring, mut k) = ([0; 2 * DIGITS], 0);
    while k < ring.len() {
        ring[k] = (k as u32 % KEPT) as u8;
        k += 1;
    }
    ring
};

/// More nodes than there are: an empty place.
const NOTHING: u32 = 0xff;
const EMPTY: Place = Place {
    coordinate: 0,
    round: NOTHING,
    sums: [0; KEPT as usize],
};

/// One line of the processor's cache.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Place {
    coordinate: u32,
    /// The last 24 digits of the round of the sums; below them, the least number of nodes whose sum
    /// is still held.
    round: u32,
    /// The last partial sums of the round's nodes above level 0: that of the first k nodes is at (k
    /// − 1) mod 7. A shorter cover leaves gaps where sums of the longer one before it stood, which
    /// is why the least is noted.
    sums: [i64; KEPT as usize],
}

/// The cached noise of a coordinate: the sum at the first nodes of the cover, and their number.
#[derive(Clone, Copy, Default)]
struct Known {
    sum: i64,
    nodes: u32,
}

impl Place {
    /// The part that is still valid in round t.
    #[inline(always)]
    fn recall(&self, t: u64, coordinate: u32) -> Known {
        let changed = (self.round ^ place_of(t)) >> (32 - DIGITS_KEPT);
        // Digits at and below the highest that has changed are other nodes now. That of level 0 is
        // never kept.
        let nodes = (t >> (32 - changed.leading_zeros()).max(1)).count_ones();
        let sum = self.sums[ring(nodes.wrapping_sub(1))];
        let holds = (self.coordinate == coordinate) & (nodes >= self.round & NOTHING);
        Known {
            sum: select_unpredictable(holds, sum, 0),
            nodes: select_unpredictable(holds, nodes, 0),
        }
    }

    /// Adds the noises of the nodes that follow the known ones, and returns the total; `held` is
    /// the least number of nodes whose sum a place has room for.
    #[inline(always)]
    fn update(&mut self, t: u64, coordinate: u32, known: Known, drawn: &[i64], held: u32) -> i64 {
        let (mut sum, mut at) = (known.sum, ring(known.nodes));
        let lasting = drawn.len() - (t & 1) as usize;
        // A sum of at most 64 numbers below 2³⁵.
        for noise in &drawn[..lasting] {
            sum = sum.wrapping_add(*noise);
            self.sums[at] = sum;
            at = if at + 1 == KEPT as usize { 0 } else { at + 1 };
        }
        let least = held.max(select_unpredictable(
            known.nodes == 0,
            0,
            self.round & NOTHING,
        ));
        (self.coordinate, self.round) = (coordinate, place_of(t) | least);
        drawn[lasting..]
            .iter()
            .fold(sum, |sum, noise| sum.wrapping_add(*noise))
    }
}

/// The cache of one generator.
pub(crate) struct NoiseCache {
    source: Source,
    places: Box<[Place; PLACES]>,
    /// The digits of the last round that are not stored in places.
    age: u64,
    wanted: Scattered,
    drawn: Vec<i64>,
}

impl NoiseCache {
    pub(crate) fn new(source: Source) -> Self {
        Self {
            source,
            places: empty(),
            age: 0,
            wanted: Scattered::new(GROUP * DIGITS),
            drawn: vec![0; GROUP * DIGITS],
        }
    }

    /// Writes release t at each coordinate, from its exact sum; coordinates are distinct, and
    /// rounds never decrease.
    pub(crate) fn read(
        &mut self,
        t: u64,
        coordinates: &[u32],
        exact: impl Fn(u32) -> i64,
        sums: &mut Vec<i64>,
    ) {
        if self.age != t >> DIGITS_KEPT {
            (self.age, self.places) = (t >> DIGITS_KEPT, empty());
        }
        let (mut nodes, mut count) = ([0; DIGITS + LISTED], 0);
        for (place, node) in nodes.iter_mut().zip(nodes_of(t)) {
            (*place, count) = (node, count + 1);
        }
        sums.resize(coordinates.len(), 0);
        let groups = coordinates.chunks(GROUP).zip(sums.chunks_mut(GROUP));
        for (coordinates, sums) in groups {
            let mut known = [Known::default(); GROUP];
            let wanted = Arch::new().dispatch(LookUp {
                t,
                exact: &exact,
                places: &self.places,
                coordinates,
                nodes: (&nodes, count),
                sums,
                known: &mut known,
                wanted: &mut self.wanted,
            });
            let drawn = &mut self.drawn[..wanted];
            RoundedGaussian::STANDARD.gather(&self.source, &self.wanted, drawn);
            let mut drawn = &*drawn;
            let held = (t >> 1).count_ones().saturating_sub(KEPT) + 1;
            let mut nowhere = EMPTY;
            for ((&coordinate, sum), &known) in coordinates.iter().zip(sums).zip(&known) {
                let (own, others) = drawn.split_at(count - known.nodes as usize);
                drawn = others;
                let place = &mut self.places[slot(coordinate)];
                // Another coordinate may have taken the place meanwhile: then there is nothing to
                // update.
                let is_ours = (known.nodes == 0) | (place.coordinate == coordinate);
                let place = if is_ours { place } else { &mut nowhere };
                *sum += place.update(t, coordinate, known, own, held);
            }
            debug_assert!(drawn.is_empty(), "as many were listed as are used");
        }
    }

    /// The noise of release t at all coordinates, added to a whole vector.
    pub(crate) fn add_all(&self, t: u64, sums: &mut [i64]) {
        let mut noise = vec![0; sums.len()];
        for node in nodes_of(t) {
            RoundedGaussian::STANDARD.fill(&self.source, node, 0, &mut noise);
            sums.iter_mut().zip(&noise).for_each(|(s, n)| *s += n);
        }
    }
}

/// Finds the exact sum and the cached noise of each coordinate, and lists the draws that are
/// missing, coordinate by coordinate; returns their number. Compiled for several CPU generations,
/// because newer ones have a popcount instruction.
struct LookUp<'a, E> {
    t: u64,
    exact: &'a E,
    places: &'a [Place; PLACES],
    /// At most one group.
    coordinates: &'a [u32],
    /// The nodes of the cover, the largest first, and their number.
    nodes: (&'a Nodes, usize),
    sums: &'a mut [i64],
    known: &'a mut [Known; GROUP],
    wanted: &'a mut Scattered,
}

impl<E: Fn(u32) -> i64> WithSimd for LookUp<'_, E> {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> usize {
        // In a separate loop, so that cache misses overlap.
        for (sum, &coordinate) in self.sums.iter_mut().zip(self.coordinates) {
            *sum = (self.exact)(coordinate);
        }
        for (known, &coordinate) in self.known.iter_mut().zip(self.coordinates) {
            *known = self.places[slot(coordinate)].recall(self.t, coordinate);
        }
        let (nodes, count) = self.nodes;
        let mut end = 0;
        for (known, &coordinate) in self.known.iter().zip(self.coordinates) {
            let first = known.nodes as usize;
            let (mut node, mut at) = (first, end);
            while node < count {
                let nodes = nodes[node % DIGITS..].first_chunk();
                let nodes = nodes.unwrap_or_else(|| unreachable!("there is room behind them"));
                self.wanted.list(at, nodes, coordinate);
                (node, at) = (node + LISTED, at + LISTED);
            }
            end += count - first;
        }
        end
    }
}

fn empty() -> Box<[Place; PLACES]> {
    let places = vec![EMPTY; PLACES].into_boxed_slice();
    places
        .try_into()
        .unwrap_or_else(|_| unreachable!("as many as were made"))
}

/// Where a place has the digits of a round.
#[inline(always)]
fn place_of(t: u64) -> u32 {
    (t << (32 - DIGITS_KEPT)) as u32
}

#[inline(always)]
fn ring(nodes: u32) -> usize {
    usize::from(RING[nodes as usize % RING.len()])
}

#[inline(always)]
fn slot(coordinate: u32) -> usize {
    (coordinate.wrapping_mul(0x9e37_79b1) >> (32 - PLACES_LOG2)) as usize
}

/// The nodes of the binary digits of t, the largest first.
fn nodes_of(t: u64) -> impl Iterator<Item = u64> {
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
            let mut own: Vec<u64> = nodes_of(t).collect();
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
        let exact: Vec<i64> = (0..dimension as i64).collect();
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
            let mut sums = vec![7];
            cache.read(t, &coordinates, |c| exact[c as usize], &mut sums);
            for (coordinate, sum) in coordinates.iter().zip(sums) {
                let expected = i64::from(*coordinate) + whole[*coordinate as usize];
                assert_eq!(sum, expected, "{t} {coordinate}");
            }
        }
    }

    /// The longest cover there can be, for a full group and more.
    #[test]
    fn the_last_round_fits() {
        let (mut cache, dimension) = (cache(), 70);
        for t in [u64::MAX - 1, u64::MAX] {
            let mut whole = vec![0; dimension];
            cache.add_all(t, &mut whole);
            let read: Vec<u32> = (0..dimension as u32).collect();
            let mut sums = Vec::new();
            cache.read(t, &read, |_| 0, &mut sums);
            assert_eq!(sums, whole);
        }
    }

    /// Short covers after long ones, reads after any number of rounds, and rounds beyond those that
    /// places tell apart.
    #[test]
    fn reads_at_any_distance_are_the_whole_release() {
        // More than are looked up together.
        let dimension = 150;
        for start in [
            1_u64,
            (1 << DIGITS_KEPT) - 3000,
            (0b1011 << DIGITS_KEPT) - 3000,
        ] {
            let (mut cache, mut state, mut t) = (cache(), 7_u64, start);
            for _ in 0..600 {
                let mut whole = vec![0; dimension];
                cache.add_all(t, &mut whole);
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let read: Vec<u32> = (0..dimension as u32)
                    .filter(|&c| state.rotate_right(c) & 1 != 0)
                    .collect();
                let mut sums = Vec::new();
                cache.read(t, &read, |_| 0, &mut sums);
                for (&coordinate, sum) in read.iter().zip(sums) {
                    assert_eq!(sum, whole[coordinate as usize], "{t} {coordinate}");
                }
                // Steps of 0 to 2⁸, all lengths alike, and at times to a round with the same last
                // digits.
                t += (1 << ((state >> 33) % 10) >> 1) * (state >> 63);
                t += u64::from(state >> 50 & 31 == 0) << DIGITS_KEPT;
            }
        }
    }
}
