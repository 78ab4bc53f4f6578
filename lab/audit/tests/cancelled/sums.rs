//! Every recipe on every sum.
//!
//! A difference of two replays is the difference of the exact prefix sums. The public strategy
//! (which items each noised node contains, or a filter's coefficients) turns it into the shift of
//! what is noised, whose length in units of the noise is the price of that pair of streams.

use crate::adapter::{Entry, OnSum, Play, RELEASES, Seen, Stop, all_sums, neighbours};
use crate::share_of_price;
use hushstream_account::Adjacency;
use hushstream_mechanism::Participation;
use hushstream_mechanism::sums::blt::{DyadicBlt, optimise};
use hushstream_mechanism::sums::{
    BalancedDigits, BinaryTree, ConstantWeight, Cover, Noise, SumKind, SumPlan, Term, Window,
};
use hushstream_noise::Key;
use hushstream_recipes::{CATALOGUE, MechanismKind, RecipeName};
use std::collections::BTreeSet;

const NOISES: [Noise; 3] = [Noise::Gaussian, Noise::Laplace, Noise::L2Laplace];

/// What is noised.
pub(crate) struct Rows {
    kind: SumKind,
    noise: Noise,
    releases: u64,
    /// Of one node or row, in the units of the data; one for each octave.
    pub(crate) scales: Vec<f64>,
    /// Row by row, the coefficients of a filter or of a dense sum.
    coefficients: Vec<Vec<f64>>,
}

impl Rows {
    pub(crate) fn of(plan: &SumPlan) -> Self {
        let request = plan.request();
        let spread = request.noise.variance(request.dimension).sqrt();
        let mut scales = vec![plan.node_sigma() / spread];
        if request.kind == SumKind::Octave {
            // At its first item an octave's release has one noise of each past octave, and one of
            // its own.
            let until = |m: u32| plan.prefix_sd(1 << m).powi(2);
            let own = |m: u32| until(m) - (0..m).next_back().map_or(0.0, until);
            scales = (0..=request.releases.ilog2())
                .map(|m| own(m).sqrt() / spread)
                .collect();
        }
        let coefficients = match request.kind {
            SumKind::Blt(buffers) | SumKind::NormalisedBlt(buffers) => {
                let chosen = optimise(request.releases, usize::from(buffers)).unwrap();
                let blt = DyadicBlt::new(&chosen).unwrap();
                let coefficient = |k| blt.parameters().coefficient(k);
                // Items count in units of their own lattices.
                let worth = |item| plan.radius_of(item) as f64 / plan.radius() as f64;
                let entry = |t, item| coefficient(t - item) * worth(item);
                (1..=request.releases)
                    .map(|t| (1..=t).map(|item| entry(t, item)).collect())
                    .collect()
            }
            SumKind::Eras => {
                let unit = plan.radius_of(request.releases) as f64;
                let filters = ERAS.map(|(items, buffers)| {
                    DyadicBlt::new(&optimise(items, buffers).unwrap()).unwrap()
                });
                let entry = |t: u64, item: u64| {
                    let ((era, row), (own, place)) = (era(t), era(item));
                    if era != own {
                        return 0.0;
                    }
                    let worth = plan.radius_of(item) as f64 / unit;
                    filters[era].parameters().coefficient(row - place) * worth
                };
                (1..=request.releases)
                    .map(|t| (1..=t).map(|item| entry(t, item)).collect())
                    .collect()
            }
            _ => plan.dense_rows().unwrap_or_default(),
        };
        Self {
            kind: request.kind,
            noise: request.noise,
            releases: request.releases,
            scales,
            coefficients,
        }
    }

    /// (octave, first item, last item) of every node that releases `from` to `to` show.
    pub(crate) fn nodes(&self, from: u64, to: u64) -> BTreeSet<(u32, u64, u64)> {
        let plain = |cover: &dyn Cover| -> BTreeSet<(u32, u64, u64)> {
            let terms = (from..=to).flat_map(|t| cover.terms(t));
            terms
                .map(|term| {
                    let (first, last) = cover.items(term.node);
                    (0, first, last)
                })
                .collect()
        };
        match self.kind {
            SumKind::Tree | SumKind::PaddedTree => plain(&BinaryTree),
            SumKind::Smooth => plain(&self.code()),
            SumKind::Kary => plain(&BalancedDigits::cheapest(self.releases)),
            SumKind::Window(width) => plain(&Window { width }),
            SumKind::Honaker => (1..=to)
                .flat_map(|end| {
                    (0..=end.trailing_zeros()).map(move |level| (0, end + 1 - (1 << level), end))
                })
                .collect(),
            SumKind::Octave => (from..=to)
                .flat_map(|t| {
                    let octave = t.ilog2();
                    let before = (1 << octave) - 1;
                    let terms = BinaryTree.terms(t - before).into_iter();
                    terms.map(move |term| {
                        let (first, last) = BinaryTree.items(term.node);
                        (octave, before + first, before + last)
                    })
                })
                .collect(),
            SumKind::Fresh => (from..=to).map(|t| (0, t, t)).collect(),
            SumKind::Blt(_) | SumKind::Dense(_) | SumKind::NormalisedBlt(_) | SumKind::Eras => {
                unreachable!("it has rows")
            }
        }
    }

    pub(crate) fn code(&self) -> ConstantWeight {
        let power = if self.noise.is_pure() { 2 } else { 1 };
        ConstantWeight::cheapest(self.releases, |weight, depth| weight * depth.powi(power))
    }

    /// The signed nodes in release t, where a public cover says them.
    pub(crate) fn terms(&self, t: u64) -> Vec<Term> {
        match self.kind {
            SumKind::Smooth => self.code().terms(t),
            SumKind::Kary => BalancedDigits::cheapest(self.releases).terms(t),
            SumKind::Window(width) => Window { width }.terms(t),
            other => unreachable!("{other} is no cover of this kind"),
        }
    }

    /// Whether rows of coefficients are noised, not nodes.
    pub(crate) fn are_weighted(&self) -> bool {
        !self.coefficients.is_empty()
    }

    /// What the rows of a filter or of a dense sum are if its prefix sums are these.
    pub(crate) fn rows(&self, prefixes: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let zero = vec![0.0; prefixes[0].len()];
        let items = items(prefixes);
        (0..prefixes.len())
            .map(|t| {
                let mut row = zero.clone();
                for (c, item) in self.coefficients[t].iter().zip(&items) {
                    row.iter_mut().zip(item).for_each(|(row, x)| *row += c * x);
                }
                row
            })
            .collect()
    }

    /// How far the rows are apart if prefix sums are apart by `prefixes`: L2 over all of them for
    /// Gaussian noise, the sum of lengths (L1 or L2) for pure noise, in units of the noise.
    pub(crate) fn moved(&self, prefixes: &[Vec<f64>]) -> f64 {
        let n = prefixes.len();
        let zero = vec![0.0; prefixes[0].len()];
        let items = items(prefixes);
        let scale = self.scales[0];
        let mut lengths = Vec::new();
        if self.are_weighted() {
            lengths.extend(
                self.rows(prefixes)
                    .iter()
                    .map(|row| self.length(row) / scale),
            );
        } else {
            // A window protects an item in the releases after it, so many.
            let small = 1e-6 * scale / f64::from(1 << 20);
            let first = items.iter().position(|item| self.length(item) > small);
            let first = first.map_or(1, |place| place as u64 + 1);
            let last = match self.kind {
                SumKind::Window(width) => (first + width - 1).min(n as u64),
                _ => n as u64,
            };
            let from = if self.kind.is_windowed() { first } else { 1 };
            for (octave, start, end) in self.nodes(from, last) {
                let mut shift = zero.clone();
                for item in start..=end.min(n as u64) {
                    let item = &items[item as usize - 1];
                    shift.iter_mut().zip(item).for_each(|(s, x)| *s += x);
                }
                lengths.push(self.length(&shift) / self.scales[octave as usize]);
            }
        }
        match self.noise {
            Noise::Gaussian => lengths.iter().map(|l| l * l).sum::<f64>().sqrt(),
            Noise::Laplace | Noise::L2Laplace => lengths.iter().sum(),
        }
    }

    /// Where a person's items move the nodes or rows most, of all places that the plan allows, and
    /// the share of the price that they move there if each changes by all it can, in the same
    /// direction: by brute force. No other change of these items moves more where no item has a
    /// negative coefficient in a node or row, as in all sums but dense ones.
    pub(crate) fn worst_items(&self, plan: &SumPlan) -> (Vec<u64>, f64) {
        let request = plan.request();
        let most = request.participation.limits().0 as usize;
        let sets = match request.participation {
            Participation::OncePerRecord => subsets(self.releases, 1),
            Participation::PerPerson { separation, .. } => {
                let mut sets = subsets(self.releases, most);
                sets.retain(|set| set.windows(2).all(|pair| pair[1] - pair[0] >= separation));
                sets
            }
            Participation::Passes { separation, .. } => (1..=separation)
                .map(|first| {
                    (0..most as u64)
                        .map(|pass| first + pass * separation)
                        .collect()
                })
                .collect(),
        };
        // The price of one unit; each octave's own scale makes it the same for all of them.
        let last = self.scales.last().unwrap();
        let price = plan.sensitivity() / last;
        let share = |set: &[u64]| {
            let mut prefixes = vec![vec![0.0]; self.releases as usize];
            for item in set {
                let from = *item as usize - 1;
                prefixes[from..]
                    .iter_mut()
                    .for_each(|prefix| prefix[0] += 1.0);
            }
            self.moved(&prefixes) / price
        };
        let shares = sets.into_iter().map(|set| {
            let share = share(&set);
            (set, share)
        });
        // The first of several that move as much.
        let better = |a: (Vec<u64>, f64), b: (Vec<u64>, f64)| if b.1 > a.1 { b } else { a };
        shares.reduce(better).unwrap()
    }

    fn length(&self, vector: &[f64]) -> f64 {
        match self.noise {
            Noise::Laplace => vector.iter().map(|v| v.abs()).sum(),
            Noise::Gaussian | Noise::L2Laplace => vector.iter().map(|v| v * v).sum::<f64>().sqrt(),
        }
    }
}

/// Rows and buffers of the eras.
pub(crate) const ERAS: [(u64, usize); 3] = [(1 << 8, 4), (1 << 20, 5), (1 << 32, 7)];

/// The era of an item, from 0, and its place there, from 1.
pub(crate) fn era(item: u64) -> (usize, u64) {
    let (mut era, mut place) = (0, item);
    while place > ERAS[era].0 {
        place -= ERAS[era].0;
        era += 1;
    }
    (era, place)
}

/// The share of its price that a record moves at most in so few releases: all of it, but an era is
/// paid for as a whole.
pub(crate) fn share_seen(kind: SumKind, releases: u64) -> f64 {
    let (rows, buffers) = ERAS[0];
    if kind != SumKind::Eras || releases >= rows {
        return 1.0;
    }
    let filter = DyadicBlt::new(&optimise(rows, buffers).unwrap()).unwrap();
    filter.sensitivity(releases) / filter.sensitivity(rows)
}

/// All sets of so many of the items 1 to n, in increasing order.
fn subsets(n: u64, size: usize) -> Vec<Vec<u64>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let with_last = |last: u64| {
        let smaller = subsets(last - 1, size - 1).into_iter();
        smaller.map(move |set| [set, vec![last]].concat())
    };
    (1..=n).flat_map(with_last).collect()
}

/// What each prefix sum adds to the one before.
fn items(prefixes: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let zero = vec![0.0; prefixes[0].len()];
    (0..prefixes.len())
        .map(|t| {
            let before = if t == 0 { &zero } else { &prefixes[t - 1] };
            prefixes[t].iter().zip(before).map(|(a, b)| a - b).collect()
        })
        .collect()
}

/// Which prices of a person's items are tight, and what the others miss. A tree is priced as if
/// each item lay in as many used nodes as the deepest and any two shared all but a leaf; its worst
/// items are the first k, in a node of 2^l items there are min(2^l, what is left) of them, and
/// every other node of a level is in no release (in Honaker's estimate all are).
#[test]
fn what_a_persons_items_move_at_most() {
    for kind in all_sums().into_iter().filter(|kind| !kind.is_windowed()) {
        for noise in NOISES
            .into_iter()
            .filter(|&noise| kind.accepts(noise).is_ok())
        {
            // Eras are for records alone.
            let largest = if kind == SumKind::Eras { 1 } else { 4 };
            for most in 1..=largest {
                let adjacency = Adjacency::ReplaceOne;
                let cell = OnSum::plan(RecipeName::Pftal, kind, noise, adjacency, most, 1).unwrap();
                let plan = cell.recipe.plan();
                let (items, share) = cell.rows.worst_items(plan);
                let (power, is_pure) = if noise.is_pure() {
                    (1, true)
                } else {
                    (2, false)
                };
                let step = if kind == SumKind::Honaker { 1 } else { 2 };
                let node = |level: u32, place: u64| {
                    let inside = most.saturating_sub(place << level).min(1 << level);
                    inside.pow(power) as f64
                };
                let nodes = |level| (0..most).step_by(step).map(move |place| node(level, place));
                let sum: f64 = (0..4).flat_map(nodes).sum();
                let in_tree = if is_pure { sum } else { sum.sqrt() };
                let wanted = match (kind, is_pure) {
                    // Items 1, 2, 3 and 5 are in more nodes than the first four.
                    (SumKind::Tree | SumKind::PaddedTree, true) if most == 4 => 13.0 / 16.0,
                    (SumKind::Octave, true) | (SumKind::Kary | SumKind::Fresh, _) => 1.0,
                    (SumKind::Smooth, true) | (SumKind::Blt(_) | SumKind::NormalisedBlt(_), _) => {
                        1.0
                    }
                    (SumKind::Eras, _) => share_seen(kind, RELEASES),
                    // Priced as if any two items were as alike as the most alike.
                    (SumKind::Dense(_), _) if most > 1 => {
                        assert!((0.9..=1.0).contains(&share), "{kind} {most}: {share}");
                        share
                    }
                    (SumKind::Dense(_), _) => 1.0,
                    // As the search found it: a change would be seen.
                    (SumKind::Smooth, false) => {
                        [3.0_f64, 10.0, 21.0, 35.0][most as usize - 1].sqrt() / plan.sensitivity()
                    }
                    _ => in_tree / plan.sensitivity(),
                };
                let what = format!("{kind} {noise} {most}: {items:?}");
                assert!((share - wanted).abs() < 1e-6, "{what} {share} {wanted}");
            }
        }
    }
}

/// Every recipe × sum × noise × adjacency × persons × batch: what is accepted is audited, what is
/// not is refused.
#[test]
fn one_record_moves_no_sum_by_more_than_was_paid() {
    let (mut audited, mut refused) = (0, 0);
    for entry in CATALOGUE {
        // Those that are no gradients are in `tables.rs` and `decisions.rs`.
        let is_table = entry.recipe == RecipeName::Tables || entry.recipe.decides();
        if is_table || !matches!(entry.mechanism, MechanismKind::Sum(_)) {
            continue;
        }
        for (sum, noise) in all_sums()
            .into_iter()
            .flat_map(|sum| NOISES.map(|noise| (sum, noise)))
        {
            let fits = entry.recipe.accepts(sum, noise).is_ok();
            for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
                for (persons, batch) in [(1, 1), (1, 4), (3, 1), (3, 4)] {
                    let cell = OnSum::plan(entry.recipe, sum, noise, adjacency, persons, batch);
                    let planned =
                        fits && !((sum.is_windowed() || sum == SumKind::Eras) && persons > 1);
                    let cell = match cell {
                        Ok(cell) => cell,
                        Err(error) => {
                            assert!(!planned, "{} {sum} {noise}: {error}", entry.name);
                            refused += 1;
                            continue;
                        }
                    };
                    assert!(planned, "{} {sum} {noise} is not refused", entry.name);
                    let share = share_of_price(&cell);
                    audited += 1;
                    let (_, most) = cell.rows.worst_items(cell.recipe.plan());
                    let least = 0.99 * most * cell.recipe.plan().share_of_one_item();
                    assert!(share >= least, "{}: only {share} of the price", cell.name());
                }
            }
        }
    }
    assert!(audited > 400 && refused > 400, "{audited}, {refused}");
}

/// A run over the end of the first era and the start of the second.
struct OverEras(OnSum);

impl OverEras {
    const RELEASES: u64 = 270;
}

impl Play for OverEras {
    fn name(&self) -> String {
        self.0.name()
    }

    fn price(&self) -> f64 {
        self.0.price()
    }

    fn streams(&self) -> Vec<[Vec<Entry>; 2]> {
        let request = self.0.recipe.plan().request();
        let (adjacency, once) = (request.adjacency, request.participation);
        neighbours(Self::RELEASES, 1, adjacency, once, &[1, 256, 257, 270])
    }

    fn play(&self, stream: &[Entry], path: Option<&Seen>, key: &Key, stop: Stop) -> Seen {
        self.0.play(stream, path, key, stop)
    }

    fn moved(&self, left: &Seen, right: &Seen) -> f64 {
        self.0.moved(left, right)
    }
}

/// Where one era ends and the next begins: the first record uses the price of its era up, and none
/// costs more.
#[test]
fn one_record_moves_eras_by_no_more_than_was_paid() {
    for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
        let (sum, noise) = (SumKind::Eras, Noise::Gaussian);
        let releases = OverEras::RELEASES;
        let cell = OnSum::plan_for(releases, RecipeName::Pftal, (sum, noise), adjacency, 1, 1);
        let cell = OverEras(cell.unwrap());
        let plan = cell.0.recipe.plan();
        assert!(plan.radius_of(256) > plan.radius_of(257));
        let share = share_of_price(&cell);
        assert!(share > 0.99, "{}: only {share} of the price", cell.name());
    }
}
