//! The BLT filter with columns of one length: items count for more as the end of the stream comes
//! nearer.
//!
//! In a filter for n releases item i is in the n − i + 1 rows from its own to the last, so late
//! items move the rows by less than the first one, which sets the noise of all. Here every item has
//! a lattice for its own column: less noise for the same promise (Henzinger, Kalinin & Upadhyay
//! 2025, arXiv 2509.14334, normalise columns in this way).
//!
//! **As implemented.** Items are cut into *parts*, first items f_1 = 1 < f_2 < …; items of part j
//! are on a lattice of radius R_j. The rows are those of the plain filter (`filter.rs`), of
//! integers of whatever lattice. Let P_t be the filter's prefix sum of the integers, decoded;
//! release t is Σ_j unit_j·(P at the last item of part j up to t − P before its first), unit_j =
//! L/R_j.
//!
//! **Claim.** Gaussian differential privacy with μ = max_j (d_j·Δ(R_j) + inflation)/2³⁰, where Δ(R)
//! is the distance of two neighbouring items on a lattice of radius R, and d_j the norm of the
//! first n − f_j + 1 coefficients of the filter.
//!
//! **Proof for this code path.** Fix what was released before: two neighbouring runs differ in one
//! item i alone, of part j. Both of its integers are on the lattice of radius R_j: which part an
//! item is in depends on its number alone. Rows i, …, n shift by c_0·Δx, …, c_{n−i}·Δx up to
//! floors, which add the inflation (`blt/dyadic.rs`: it holds however many items differ, and for
//! items of any size). ‖(c_0, …, c_{n−i})‖ ≤ d_j, because n − i + 1 ≤ n − f_j + 1 and squares add
//! up. So the shift of all rows is at most d_j·Δ(R_j) + inflation on every path, and the rest is as
//! in `filter.rs`: noise is added to integer rows, and releases are functions of noisy rows and of
//! public numbers. Overflow is checked for the largest R_j. ∎
//!
//! Several contributions per person, or several passes, have one part: then this is the plain
//! filter at its price. So have streams of more than 2²² items, for which this would be planned too
//! slowly. After the loss of a journal a new instance begins with part 1, whose items have the
//! longest columns.
//!
//! **Error.** The covariance of the decoder's buffers and of the release, step by step, in floats.

use super::Strategy;
use super::SumKind;
use super::blt::{BltError, DyadicBlt};
use super::cover::Noise;
use super::error::SumError;
use super::filter::Filter;
use super::plan::{PlanError, SumPlan, SumRequest};
use super::running::{Running, State, StateError};
use super::strategy::{About, Streams, SumStrategy};
use super::toeplitz::{self, Toeplitz};
use crate::persons::Participation;
use serde::{Deserialize, Serialize};

/// Streams longer than this have one part.
const MOST_ITEMS: u64 = 1 << 22;
/// A new part begins where its column is shorter than that of the last part by this share.
const STEP: f64 = 0.001;

/// A filter, and the first item of every part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct NormalisedBlt {
    filter: Toeplitz,
    firsts: Vec<u64>,
}

pub(crate) const ABOUT: About = About {
    name: "blt-normalised",
    ..toeplitz::ABOUT
};

impl NormalisedBlt {
    pub(super) fn best(
        releases: u64,
        buffers: u8,
        participation: Participation,
    ) -> Result<Self, BltError> {
        let filter = Toeplitz::best(releases, buffers)?;
        let has_parts = participation.limits().0 == 1 && releases <= MOST_ITEMS;
        let firsts = if has_parts {
            parts(&filter.blt, releases)
        } else {
            vec![1]
        };
        Ok(Self { filter, firsts })
    }

    fn part_of(&self, item: u64) -> usize {
        self.firsts.partition_point(|&first| first <= item).max(1) - 1
    }

    /// ρ_i of items 1 to n: what a unit of their part is worth, in units of the first part.
    fn worth<'a>(&'a self, scales: &'a [f64], releases: u64) -> impl Iterator<Item = f64> + 'a {
        let mut part = 0;
        (1..=releases).map(move |item| {
            while self
                .firsts
                .get(part + 1)
                .is_some_and(|&first| first <= item)
            {
                part += 1;
            }
            scales[part]
        })
    }
}

/// The first item of every part: each is the first whose column is shorter than that of the part
/// before by [`STEP`]. Columns only get shorter.
fn parts(blt: &DyadicBlt, releases: u64) -> Vec<u64> {
    let column = |item: u64| blt.sensitivity(releases - item + 1);
    let (mut firsts, mut first) = (vec![1], 1);
    loop {
        let short = column(first) / (1.0 + STEP);
        let (mut low, mut high) = (first, releases + 1);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if column(middle) <= short {
                high = middle;
            } else {
                low = middle;
            }
        }
        if high > releases {
            return firsts;
        }
        firsts.push(high);
        first = high;
    }
}

impl SumStrategy for NormalisedBlt {
    fn name(&self) -> String {
        match self.firsts.len() {
            1 => self.filter.name(),
            parts => format!(
                "{}, columns normalised in {parts} parts",
                self.filter.name()
            ),
        }
    }

    fn citation(&self, noise: Noise) -> (&'static str, &'static [&'static str]) {
        let _ = noise;
        (
            "Dvijotham et al. 2024 with normalised columns (Henzinger, Kalinin and Upadhyay 2025), \
             adaptive by Denisov et al. 2022 Theorem 2.1 and, with rounded rows, Smith and Thakurta \
             2022",
            &[],
        )
    }

    fn fits(&self, kind: SumKind, releases: u64) -> bool {
        let SumKind::NormalisedBlt(buffers) = kind else {
            return false;
        };
        let firsts = &self.firsts;
        self.filter.fits(SumKind::Blt(buffers), releases)
            && firsts.first() == Some(&1)
            && firsts.windows(2).all(|pair| pair[0] < pair[1])
            && firsts.iter().all(|&first| first <= releases)
    }

    fn levels(&self, _: u64, _: u32) -> Option<u32> {
        None
    }

    fn parts(&self) -> u32 {
        self.firsts.len() as u32
    }

    fn part(&self, item: u64) -> u32 {
        self.part_of(item) as u32
    }

    /// d_j; of all of a person's items where there is one part.
    fn sensitivity(
        &self,
        noise: Noise,
        releases: u64,
        part: u32,
        participation: Participation,
    ) -> Result<f64, BltError> {
        let first = self.firsts.get(part as usize).copied().unwrap_or(1);
        if participation.limits().0 > 1 {
            // With several parts no bound is known: none is planned, and a forged one has no price.
            let one = self.firsts.len() == 1;
            let all = self.filter.sensitivity(noise, releases, 0, participation)?;
            return Ok(if one { all } else { f64::INFINITY });
        }
        let rows = releases.saturating_sub(first) + 1;
        self.filter.sensitivity(noise, rows, 0, participation)
    }

    /// As if all parts were one; plans ask for [`SumStrategy::scaled_variances`].
    fn variance(&self, t: u64, releases: u64) -> f64 {
        self.filter.variance(t, releases)
    }

    fn worst_variance(&self, releases: u64) -> f64 {
        self.filter.worst_variance(releases)
    }

    fn scaled_variances(&self, scales: &[f64], releases: u64) -> Option<Vec<f64>> {
        if self.firsts.len() == 1 {
            return None;
        }
        // x = z − ω·b, then b ← θ·b + x and S ← S + ρ·x: covariances of b and S. θ·b is b − α·b.
        let pairs: Vec<(f64, f64)> = self.filter.blt.parameters().pairs().collect();
        let m = pairs.len();
        let (mut of_buffers, mut with_sum, mut of_sum) = (vec![vec![0.0; m]; m], vec![0.0; m], 0.0);
        let step = |worth: f64| {
            let weighed = |row: &[f64]| -> f64 {
                row.iter()
                    .zip(&pairs)
                    .map(|(value, (_, weight))| value * weight)
                    .sum()
            };
            let kept: Vec<f64> = (0..m)
                .map(|i| (1.0 - pairs[i].0) * weighed(&of_buffers[i]))
                .collect();
            let row: Vec<f64> = of_buffers.iter().map(|row| weighed(row)).collect();
            let fresh = weighed(&row) + 1.0;
            let of_last = weighed(&with_sum);
            of_sum += worth * (worth * fresh - 2.0 * of_last);
            for i in 0..m {
                let decay = 1.0 - pairs[i].0;
                with_sum[i] = decay * with_sum[i] - of_last + worth * (fresh - kept[i]);
                for j in 0..m {
                    let both = decay * (1.0 - pairs[j].0) * of_buffers[i][j];
                    of_buffers[i][j] = both - kept[i] - kept[j] + fresh;
                }
            }
            of_sum
        };
        Some(self.worth(scales, releases).map(step).collect())
    }

    /// The same for one combination of releases, backwards: item i counts ρ_i·Σ_{t ≥ i}
    /// weights[t−1].
    fn scaled_combination(&self, scales: &[f64], weights: &[f64]) -> Option<f64> {
        let pairs: Vec<(f64, f64)> = self.filter.blt.parameters().pairs().collect();
        let (mut following, mut through) = (0.0, vec![0.0; pairs.len()]);
        let worth: Vec<f64> = self.worth(scales, weights.len() as u64).collect();
        let squares = weights.iter().zip(&worth).rev().map(|(weight, worth)| {
            following += weight;
            let row = worth * following + through.iter().sum::<f64>();
            for (through, (decay, weight)) in through.iter_mut().zip(&pairs) {
                *through = *through - decay * *through - weight * row;
            }
            row * row
        });
        Some(squares.sum())
    }

    fn vectors(&self, releases: u64) -> u64 {
        self.filter.vectors(releases) + 3
    }

    fn draws_of_a_person(&self, releases: u64, items: f64) -> f64 {
        self.filter.draws_of_a_person(releases, items)
    }

    fn exact_items(&self, releases: u64) -> u64 {
        self.filter.exact_items(releases)
    }

    fn laid_out(&self, plan: &SumPlan, room: f64) -> Result<Option<Strategy>, PlanError> {
        let Some(Strategy::Blt(filter)) = self.filter.laid_out(plan, room)? else {
            return Err(PlanError::Stored);
        };
        Ok(Some(Strategy::NormalisedBlt(Self {
            filter,
            firsts: self.firsts.clone(),
        })))
    }

    fn inflation(&self, request: &SumRequest, part: u32) -> f64 {
        self.filter.inflation(request, part)
    }

    fn build(&self, plan: &SumPlan, streams: Streams<'_>) -> Result<Box<dyn Running>, SumError> {
        let (releases, dimension) = (plan.request().releases, plan.request().dimension);
        let (item, source) = (
            toeplitz::item(plan),
            streams.generators.source(Streams::MAIN),
        );
        let units = (0..self.parts()).map(|part| Ok(plan.lattice(part)?.unit()));
        Ok(Box::new(Parts {
            filter: self.filter.open(releases, dimension, item, 1.0, source)?,
            units: units.collect::<Result<_, PlanError>>()?,
            strategy: self.clone(),
            past: vec![0.0; dimension as usize],
            start: vec![0.0; dimension as usize],
        }))
    }
}

/// The running mechanism: the plain filter on integers, and what its prefix sums are worth.
pub(crate) struct Parts {
    filter: Filter,
    strategy: NormalisedBlt,
    /// Of every part.
    units: Vec<f64>,
    /// The release at the end of the part before, and the filter's prefix sum there: public.
    past: Vec<f64>,
    start: Vec<f64>,
}

impl Parts {
    /// Release t, from the filter's prefix sum.
    fn worth(&self, t: u64, prefix: &mut [f64]) {
        let unit = self.units[self.strategy.part_of(t)];
        for ((value, past), start) in prefix.iter_mut().zip(&self.past).zip(&self.start) {
            *value = past + unit * (*value - start);
        }
    }
}

impl Running for Parts {
    fn step(&mut self, t: u64, item: &[i64], out: &mut [f64]) {
        if t > 1 && self.strategy.part_of(t) != self.strategy.part_of(t - 1) {
            let mut start = vec![0.0; self.start.len()];
            self.filter.last(t - 1, &mut start);
            let mut past = start.clone();
            self.worth(t - 1, &mut past);
            (self.past, self.start) = (past, start);
        }
        self.filter.step(t, item, out);
        self.worth(t, out);
    }

    fn last(&mut self, t: u64, out: &mut [f64]) {
        self.filter.last(t, out);
        self.worth(t, out);
    }

    fn draw_ahead(&mut self, from: u64, last: u64) {
        self.filter.draw_ahead(from, last);
    }

    fn state(&self) -> State {
        let State {
            integers,
            mut floats,
        } = self.filter.state();
        floats.extend(self.past.iter().chain(&self.start));
        State { integers, floats }
    }

    fn restore(&mut self, t: u64, state: &State) -> Result<(), StateError> {
        let dimension = self.past.len();
        let decoder = state.floats.len().checked_sub(2 * dimension);
        let (decoder, own) = state.floats.split_at(decoder.ok_or(StateError)?);
        let (past, start) = own.split_at(dimension);
        self.past.copy_from_slice(past);
        self.start.copy_from_slice(start);
        let filter = State {
            integers: state.integers.clone(),
            floats: decoder.to_vec(),
        };
        self.filter.restore(t, &filter)
    }
}

#[cfg(test)]
mod tests {
    use super::super::blt::{BltDecoder, FixedBlt, Layout, Width};
    use super::*;
    use hushstream_noise::{Instance, Key, RoundedGaussian, Source};

    const RELEASES: u64 = 60;

    fn source() -> Source {
        let instance = Instance::from_bytes([3; 16]);
        Source::open(&Key::insecure_from_seed(5), instance, 7)
    }

    fn strategy() -> NormalisedBlt {
        let once = Participation::OncePerRecord;
        let mut strategy = NormalisedBlt::best(RELEASES, 4, once).unwrap();
        strategy.filter.layout = Some(Layout::new(Width::Double, 9));
        strategy
    }

    fn unit(part: usize) -> f64 {
        1.0 / (3.0 + part as f64)
    }

    fn encoder(strategy: &NormalisedBlt) -> FixedBlt {
        let layout = strategy.filter.layout.unwrap();
        FixedBlt::open(&strategy.filter.blt, layout, RELEASES, 3, 1 << 20).unwrap()
    }

    fn running(strategy: &NormalisedBlt) -> Parts {
        let (blt, layout) = (&strategy.filter.blt, strategy.filter.layout.unwrap());
        let filter = Filter::new(blt, layout, encoder(strategy), 3, 1.0, source());
        Parts {
            filter: filter.unwrap(),
            strategy: strategy.clone(),
            units: (0..strategy.firsts.len()).map(unit).collect(),
            past: vec![0.0; 3],
            start: vec![0.0; 3],
        }
    }

    /// Every release is the sum, item by item, of what the plain filter decodes from its noisy
    /// rows, each in the unit of its own part; one that was stopped is the same bit for bit.
    #[test]
    fn releases_are_items_of_the_filter_in_their_own_units() {
        let strategy = strategy();
        assert!(strategy.firsts.len() > 20, "{:?}", strategy.firsts);
        let (mut encoder, mut sum) = (encoder(&strategy), running(&strategy));
        let blt = strategy.filter.blt.parameters();
        let mut decoder = BltDecoder::new(blt, 3, 1.0);
        let (mut before, mut wanted, mut out) = ([0.0; 3], [0.0; 3], [0.0; 3]);
        sum.last(0, &mut out);
        assert_eq!(out.map(f64::to_bits), [0; 3]);
        for t in 1..=RELEASES {
            let item = [1 << 20, -(1 << 20), t as i64 * 7919];
            sum.step(t, &item, &mut out);
            let (mut row, mut noise, mut prefix) = ([0; 3], [0; 3], [0.0; 3]);
            encoder.encode(&item, &mut row).unwrap();
            RoundedGaussian::STANDARD.fill(&source(), t, 0, &mut noise);
            let noisy = [0, 1, 2].map(|i| (row[i] + i128::from(noise[i])) as f64);
            decoder.step(&noisy, &mut prefix).unwrap();
            let part = strategy.firsts.iter().filter(|&&first| first <= t).count() - 1;
            for i in 0..3 {
                wanted[i] += unit(part) * (prefix[i] - before[i]);
                let scale = wanted[i].abs().max(1e9);
                assert!(
                    (out[i] - wanted[i]).abs() < 1e-11 * scale,
                    "{t}: {out:?} {wanted:?}"
                );
            }
            before = prefix;
            let mut restored = running(&strategy);
            restored.restore(t, &sum.state()).unwrap();
            let mut repeated = [0.0; 3];
            restored.last(t, &mut repeated);
            assert_eq!(out.map(f64::to_bits), repeated.map(f64::to_bits), "{t}");
            sum = restored;
        }
        assert!(sum.restore(RELEASES, &State::default()).is_err());
    }

    /// Parts begin at the first item, and each covers columns of nearly one length.
    #[test]
    fn parts_are_where_columns_are_shorter() {
        for releases in [1, 2, 3, 100, 5000, 1 << 20] {
            let blt = Toeplitz::best(releases, 4).unwrap().blt;
            let column = |item| blt.sensitivity(releases - item + 1);
            let firsts = parts(&blt, releases);
            assert_eq!(firsts[0], 1);
            for pair in firsts.windows(2) {
                let (short, last) = (column(pair[0]) / (1.0 + STEP), column(pair[1] - 1));
                assert!(column(pair[1]) <= short && (last > short || pair[1] - 1 == pair[0]));
            }
            let last = firsts[firsts.len() - 1];
            assert!(last == releases || column(releases) > column(last) / (1.0 + STEP));
        }
    }

    #[test]
    fn forged_parts_are_refused() {
        let honest = strategy();
        assert!(honest.fits(SumKind::NormalisedBlt(4), RELEASES));
        assert!(!honest.fits(SumKind::Blt(4), RELEASES));
        for firsts in [
            vec![],
            vec![2],
            vec![1, 1],
            vec![1, 9, 8],
            vec![1, RELEASES + 1],
        ] {
            let forged = NormalisedBlt {
                firsts,
                ..honest.clone()
            };
            assert!(!forged.fits(SumKind::NormalisedBlt(4), RELEASES));
        }
        // Several contributions have a price on one part only.
        let persons = Participation::PerPerson {
            most: 2,
            separation: 1,
        };
        let price = honest.sensitivity(Noise::Gaussian, RELEASES, 0, persons);
        assert!(price.unwrap().is_infinite());
    }
}
