//! Unknown horizon with Gaussian noise: a fresh filter for each of three *eras*, of 2⁸, 2²⁰ and 2³²
//! items.
//!
//! Octaves (`octave.rs`) end at every power of two, and each end leaves the noise of a root in all
//! later releases. Eras are few and long, and a filter has less noise than a tree.
//!
//! **As implemented.** Era m holds the items f_m, …, f_{m+1} − 1, with f_0 = 1 and f_{m+1} = f_m +
//! n_m. They are the n_m releases of the plain filter (`filter.rs`) for n_m rows, with empty
//! buffers at the start, a noise generator of its own, and a lattice of its own radius R_m. Release
//! t is the sum of the past eras' last releases plus the current filter's.
//!
//! **Claim.** Gaussian differential privacy with μ = max_m (s_m·Δ(R_m) + inflation_m)/2³⁰, where
//! s_m is the norm of all n_m coefficients of era m's filter, inflation_m what its floors add, and
//! Δ(R) the distance of two neighbouring items on a lattice of radius R.
//!
//! **Proof for this code path.** Fix what was released before. Which era an item is in depends on
//! its number alone, so two neighbouring runs differ in one item, of one era m, and both of its
//! integers are on the lattice of radius R_m. A row of another era is a function of items of that
//! era: it is the same in both runs. The rows of era m are those of a filter for n_m rows; by
//! `filter.rs` they differ by at most s_m·Δ(R_m) + inflation_m in length, whatever the stream
//! answers to releases, those of earlier eras included. No two rows share noise: eras have
//! generators of their own, and rows of an era have addresses of their own. So on every path all
//! rows together shift by at most μ·2³⁰, and noise with standard deviation 2³⁰ is added to each, as
//! in `filter.rs`. Releases are functions of noisy rows and public numbers. ∎
//!
//! **Persons** are refused. With k items in several eras the lemma of `octave.rs` would need
//! s_m(j)²/s_m(k)² ≤ j/k for j ≤ k, and the norm of a filter's items does not grow beyond those
//! that an era has room for. The floors are paid once for each era, too. Octaves serve persons.
//!
//! **Error.** √(Σ_{m'<m} e_{m'}² + e_m(place)²), e_m the filter's own, in the units of its lattice.
//! In units of sensitivity/μ, at its worst up to each t (`known` is a filter for t releases):
//!
//! | t | 2² | 2⁴ | 2⁸ | 2¹⁰ | 2¹² | 2¹⁶ | 2²⁰ | 2²⁴ | 2³² |
//! |---|---|---|---|---|---|---|---|---|---|
//! | octaves | 2.4 | 4.2 | 9.2 | 11.6 | 14.1 | 19.0 | 23.9 | 28.8 | 38.6 |
//! | eras | 2.1 | 2.3 | 2.8 | 5.1 | 5.3 | 5.8 | 6.2 | 9.5 | 10.3 |
//! | known | 1.5 | 1.9 | 2.8 | 3.3 | 3.7 | 4.6 | 5.5 | 6.4 | 8.2 |
//!
//! From release 4 on, no release has more noise than the one of octaves, and from release 16 on
//! none has more than 1.65 times that of a known horizon. Of the schedules that were computed this
//! is the one with the fewest eras of which that holds: eras of 2⁴, 2⁸, 2¹⁶, 2³² items have 8.8 at
//! 2²⁰, eras that are sixteen times as long each 8.8, and 256 times as long each 8.0. One filter
//! for 2³² items has 4.8 at 2⁸ and 6.8 at 2²⁰. A row more at the end of an era, with its total,
//! would take a fifth of the noise beyond 2²⁰ releases and little below: left out.
//!
//! **Overflow.** Each filter's integers are checked for the rows and the radius of its own era; the
//! last item is number Σn_m, and one more is refused. **Slack.** An item is in at most n_m rows.
//! **State.** The filter of the current era, and the public sum of past eras.

use super::Strategy;
use super::SumKind;
use super::blt::{BltError, MAX_BUFFERS};
use super::cover::Noise;
use super::error::SumError;
use super::filter::Filter;
use super::plan::{PlanError, SumPlan, SumRequest};
use super::running::{Running, State, StateError};
use super::strategy::{About, Streams, SumStrategy};
use super::toeplitz::{self, Toeplitz};
use crate::persons::Participation;
use hushstream_noise::Source;
use serde::{Deserialize, Serialize};

/// A filter for each era.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Eras {
    eras: Vec<Era>,
}

/// Consecutive items with a filter of their own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Era {
    items: u64,
    filter: Toeplitz,
}

pub(crate) const ABOUT: About = About {
    name: "eras",
    ..toeplitz::ABOUT
};

/// The largest number of items in a stored plan.
const MOST_ITEMS: u64 = 1 << 44;

/// The items of every era, and the buffers of its filter.
const ERAS: [(u64, u8); 3] = [(1 << 8, 4), (1 << 20, 5), (1 << 32, 7)];

impl Eras {
    pub(super) fn best() -> Result<Self, BltError> {
        let eras = ERAS.iter().map(|&(items, buffers)| {
            let filter = Toeplitz::best(items, buffers)?;
            Ok(Era { items, filter })
        });
        Ok(Self {
            eras: eras.collect::<Result<_, BltError>>()?,
        })
    }

    /// The era of item t and its place in it, from 1.
    fn place(&self, t: u64) -> (u32, u64) {
        let (mut era, mut place) = (0, t.max(1));
        while let (Some(here), true) = (self.eras.get(era), era + 1 < self.eras.len())
            && place > here.items
        {
            place -= here.items;
            era += 1;
        }
        (era as u32, place)
    }

    fn era(&self, part: u32) -> Option<&Era> {
        self.eras.get(part as usize)
    }
}

impl Era {
    /// The largest item, as the encoder counts it.
    fn largest_item(plan: &SumPlan, part: u32) -> Result<i64, PlanError> {
        let radius = plan.lattice(part)?.radius();
        Ok(radius.saturating_mul(i64::try_from(plan.request().batch).unwrap_or(i64::MAX)))
    }

    fn open(&self, plan: &SumPlan, part: u32, source: Source) -> Result<Filter, SumError> {
        let item = Self::largest_item(plan, part)?;
        let (dimension, unit) = (plan.request().dimension, plan.lattice(part)?.unit());
        self.filter.open(self.items, dimension, item, unit, source)
    }
}

impl SumStrategy for Eras {
    fn name(&self) -> String {
        "BLT filter for each era".to_owned()
    }

    fn citation(&self, noise: Noise) -> (&'static str, &'static [&'static str]) {
        let _ = noise;
        (
            "Dvijotham et al. 2024 for each era of an unknown horizon, adaptive by Denisov et al. \
             2022 Theorem 2.1 and, with rounded rows, Smith and Thakurta 2022",
            &[],
        )
    }

    fn fits(&self, kind: SumKind, _: u64) -> bool {
        let total = self.eras.iter().try_fold(0_u64, |total, era| {
            total
                .checked_add(era.items)
                .filter(|&sum| sum <= MOST_ITEMS)
        });
        kind == SumKind::Eras
            && total.is_some_and(|total| total > 0)
            && self.eras.iter().all(|era| {
                era.items > 0 && era.filter.fits(SumKind::Blt(MAX_BUFFERS as u8), era.items)
            })
    }

    fn levels(&self, _: u64, _: u32) -> Option<u32> {
        None
    }

    /// s_m; several contributions have no price.
    fn sensitivity(
        &self,
        _: Noise,
        _: u64,
        part: u32,
        participation: Participation,
    ) -> Result<f64, BltError> {
        Ok(match self.era(part) {
            Some(era) if participation == Participation::OncePerRecord => {
                era.filter.blt.sensitivity(era.items)
            }
            _ => f64::INFINITY,
        })
    }

    fn variance(&self, t: u64, _: u64) -> f64 {
        let (part, place) = self.place(t);
        self.variance_in(part, place)
    }

    fn variance_in(&self, part: u32, place: u64) -> f64 {
        self.era(part)
            .map_or(f64::NAN, |era| era.filter.variance(place, era.items))
    }

    fn difference_in(&self, part: u32, place: u64, items: u64) -> Option<f64> {
        let inverse = self.era(part)?.filter.blt.parameters().inverse();
        Some(inverse.difference_variance(place, items))
    }

    fn response(&self, part: u32) -> Option<Box<dyn Fn(u64) -> f64 + Send>> {
        self.era(part)?.filter.response(0)
    }

    /// An era's last release is in all later ones: it counts with the weights of all of them.
    fn scaled_combination(&self, scales: &[f64], weights: &[f64]) -> Option<f64> {
        let (mut rest, mut variance) = (weights, 0.0);
        for (era, scale) in self.eras.iter().zip(scales) {
            let (here, later) = rest.split_at(rest.len().min(era.items as usize));
            let mut here = here.to_vec();
            if let Some(last) = here.last_mut() {
                *last += later.iter().sum::<f64>();
            }
            variance += scale * scale * era.filter.combined_variance(&here)?;
            rest = later;
        }
        Some(variance)
    }

    fn worst_variance(&self, releases: u64) -> f64 {
        self.variance(releases, releases)
    }

    /// Noise only grows.
    fn worst_releases(&self, releases: u64) -> Vec<u64> {
        vec![releases]
    }

    fn vectors(&self, _: u64) -> u64 {
        let filters = self.eras.iter().map(|era| era.filter.vectors(era.items));
        filters.max().unwrap_or(0) + 1
    }

    /// Every row of an era depends on its first item.
    fn draws_of_a_person(&self, _: u64, _: f64) -> f64 {
        let longest = self.eras.iter().map(|era| era.items).max();
        longest.unwrap_or(0) as f64
    }

    /// Filters keep no exact sum: their layouts are checked instead.
    fn exact_items(&self, _: u64) -> u64 {
        1
    }

    fn parts(&self) -> u32 {
        self.eras.len() as u32
    }

    fn part(&self, item: u64) -> u32 {
        self.place(item).0
    }

    fn restarts(&self) -> bool {
        true
    }

    fn first(&self, part: u32) -> u64 {
        let past = self.eras.iter().take(part as usize);
        1 + past.map(|era| era.items).sum::<u64>()
    }

    fn most_releases(&self, _: u64, _: u128) -> u64 {
        self.first(self.parts()) - 1
    }

    fn laid_out(&self, plan: &SumPlan, room: f64) -> Result<Option<Strategy>, PlanError> {
        let dimension = plan.request().dimension;
        let eras = (0..).zip(&self.eras).map(|(part, era)| {
            let item = Era::largest_item(plan, part)?;
            let filter = era.filter.with_layout(era.items, dimension, item, room)?;
            Ok(Era { filter, ..*era })
        });
        let eras = eras.collect::<Result<_, PlanError>>()?;
        Ok(Some(Strategy::Eras(Self { eras })))
    }

    fn inflation(&self, request: &SumRequest, part: u32) -> f64 {
        self.era(part).map_or(f64::INFINITY, |era| {
            era.filter.inflation_of(era.items, request.dimension)
        })
    }

    fn build(&self, plan: &SumPlan, streams: Streams<'_>) -> Result<Box<dyn Running>, SumError> {
        // A plan from a file may say anything: later eras are checked now, not when they begin.
        for (part, era) in (0..).zip(&self.eras) {
            let item = Era::largest_item(plan, part)?;
            era.filter
                .encoder(era.items, plan.request().dimension, item)?;
        }
        let sources = (0..u64::from(self.parts()))
            .map(|era| Some(streams.generators.source(Streams::OCTAVES + era)));
        Ok(Box::new(InEras {
            strategy: self.clone(),
            sources: sources.collect(),
            past: vec![0.0; plan.request().dimension as usize],
            current: None,
            last: None,
            plan: plan.clone(),
        }))
    }
}

/// The running mechanism.
pub(crate) struct InEras {
    plan: SumPlan,
    strategy: Eras,
    /// One generator for each era, taken when it begins.
    sources: Vec<Option<Source>>,
    /// The last releases of past eras, added up: public.
    past: Vec<f64>,
    current: Option<Filter>,
    /// The last step whose noise is to be drawn ahead of need, if any is.
    last: Option<u64>,
}

impl InEras {
    fn open(&mut self, part: u32) -> Result<Filter, StateError> {
        let source = self.sources.get_mut(part as usize).and_then(Option::take);
        let era = self.strategy.era(part).ok_or(StateError)?;
        let filter = era.open(&self.plan, part, source.ok_or(StateError)?);
        filter.map_err(|_| StateError)
    }

    /// Draws the current era's noise ahead from step t on.
    fn draw_the_rest(&mut self, t: u64) {
        let (part, place) = self.strategy.place(t);
        let items = self.strategy.era(part).map_or(0, |era| era.items);
        if let (Some(filter), Some(last)) = (&mut self.current, self.last) {
            filter.draw_ahead(place, items.min(place + last.saturating_sub(t)));
        }
    }
}

impl Running for InEras {
    fn step(&mut self, t: u64, item: &[i64], out: &mut [f64]) {
        let (part, place) = self.strategy.place(t);
        if place == 1 {
            if let Some(finished) = &mut self.current {
                finished.last(t - 1, out);
                for (past, last) in self.past.iter_mut().zip(out.iter()) {
                    *past += last;
                }
            }
            let fresh = self.open(part);
            self.current = Some(fresh.expect("the plan opens every era, and each begins once"));
            self.draw_the_rest(t);
        }
        if let Some(filter) = &mut self.current {
            filter.step(place, item, out);
        }
        for (out, past) in out.iter_mut().zip(&self.past) {
            *out += past;
        }
    }

    fn last(&mut self, t: u64, out: &mut [f64]) {
        out.fill(0.0);
        if let (Some(filter), true) = (&mut self.current, t > 0) {
            filter.last(t, out);
        }
        for (out, past) in out.iter_mut().zip(&self.past) {
            *out += past;
        }
    }

    fn draw_ahead(&mut self, from: u64, last: u64) {
        self.last = Some(last);
        if self.strategy.place(from).1 > 1 {
            self.draw_the_rest(from);
        }
    }

    fn state(&self) -> State {
        let State {
            integers,
            mut floats,
        } = self.current.as_ref().map(Filter::state).unwrap_or_default();
        floats.extend(&self.past);
        State { integers, floats }
    }

    fn restore(&mut self, t: u64, state: &State) -> Result<(), StateError> {
        let dimension = self.past.len();
        if t == 0 {
            return state.check(0, dimension);
        }
        let decoder = state.floats.len().checked_sub(dimension);
        let (decoder, past) = state.floats.split_at(decoder.ok_or(StateError)?);
        let (part, place) = self.strategy.place(t);
        let mut filter = self.open(part)?;
        let inner = State {
            integers: state.integers.clone(),
            floats: decoder.to_vec(),
        };
        filter.restore(place, &inner)?;
        self.current = Some(filter);
        self.past.copy_from_slice(past);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::blt::{BltDecoder, FixedBlt, Layout, Width};
    use super::super::plan::{Geometry, PlanFields};
    use super::*;
    use crate::mechanism::Generators;
    use hushstream_account::{Adjacency, Budget};
    use hushstream_noise::{FineGaussian, Instance, Key, RoundedGaussian};

    const DIMENSION: usize = 3;
    const NUMBER: u64 = 7;

    fn instance() -> Instance {
        Instance::from_bytes([3; 16])
    }

    fn request() -> SumRequest {
        SumRequest {
            kind: SumKind::Eras,
            noise: Noise::Gaussian,
            releases: 40,
            dimension: DIMENSION as u32,
            bound: 2.0,
            geometry: Geometry::Ball,
            least_sigma: 0.0,
            batch: 1,
            adjacency: Adjacency::ReplaceOne,
            participation: Participation::OncePerRecord,
            budget: Budget::approx(1.0, 1e-6).unwrap(),
        }
    }

    /// Eras of 1, 4, 9 and 30 items, of both widths.
    fn short() -> SumPlan {
        let eras = [
            (1, 1, Layout::new(Width::Double, 16)),
            (4, 2, Layout::new(Width::Double, 9)),
            (9, 3, Layout::new(Width::Wide, 16)),
            (30, 4, Layout::new(Width::Double, 12)),
        ];
        let eras = eras.map(|(items, buffers, layout)| {
            let mut filter = Toeplitz::best(items, buffers).unwrap();
            filter.layout = Some(layout);
            Era { items, filter }
        });
        SumPlan::from(PlanFields {
            request: request(),
            strategy: Strategy::Eras(Eras { eras: eras.into() }),
            radii: vec![1 << 20, 999_999, 888_888, 777_777],
        })
    }

    fn eras(plan: &SumPlan) -> &Eras {
        let Strategy::Eras(eras) = &plan.fields.strategy else {
            panic!("eras");
        };
        eras
    }

    fn running(plan: &SumPlan) -> Box<dyn Running> {
        let generators = Generators {
            key: &Key::insecure_from_seed(5),
            instance: instance(),
            number: NUMBER,
        };
        plan.build(generators).unwrap()
    }

    fn item(t: u64, radius: i64) -> [i64; DIMENSION] {
        [radius, -radius, t as i64 * 7919 % radius]
    }

    /// Every release, worked out once more: encoders that begin with each era, and noise at its
    /// address.
    fn expected(plan: &SumPlan) -> Vec<Vec<f64>> {
        let (mut releases, mut past) = (Vec::<Vec<f64>>::new(), vec![0.0; DIMENSION]);
        for (part, era) in (0..).zip(&eras(plan).eras) {
            let layout = era.filter.layout.unwrap();
            let radius = plan.fields.radii[part as usize];
            let stream = 128 * NUMBER + 2 + part;
            let source = Source::open(&Key::insecure_from_seed(5), instance(), stream);
            let blt = &era.filter.blt;
            let encoder = FixedBlt::open(blt, layout, era.items, DIMENSION, radius);
            let (mut encoder, unit) = (encoder.unwrap(), 2.0 / radius as f64);
            let mut decoder = BltDecoder::new(blt.parameters(), DIMENSION, layout.unit() * unit);
            let mut own = vec![0.0; DIMENSION];
            for place in 1..=era.items {
                let (mut row, mut noise) = ([0; DIMENSION], [0; DIMENSION]);
                let t = releases.len() as u64 + 1;
                encoder.encode(&item(t, radius), &mut row).unwrap();
                match layout.width() {
                    Width::Double => {
                        let mut drawn = [0; DIMENSION];
                        RoundedGaussian::STANDARD.fill(&source, place, 0, &mut drawn);
                        noise = drawn.map(i128::from);
                    }
                    Width::Wide => {
                        let law = FineGaussian::new(layout.row_bits()).unwrap();
                        law.fill(&source, place, 0, &mut noise);
                    }
                }
                let noisy = row.iter().zip(&noise).map(|(y, z)| (y + z) as f64);
                let noisy: Vec<f64> = noisy.collect();
                decoder.step(&noisy, &mut own).unwrap();
                releases.push(past.iter().zip(&own).map(|(a, b)| a + b).collect());
            }
            past = releases[releases.len() - 1].clone();
        }
        releases
    }

    /// Each era is a filter of its own, from empty buffers, on its own lattice and with its own
    /// noise; one that was stopped anywhere is the same bit for bit, and so is one whose noise is
    /// drawn ahead.
    #[test]
    fn releases_are_those_of_the_filters_one_after_the_other() {
        let plan = short();
        let expected = expected(&plan);
        assert_eq!(expected.len() as u64, plan.most_releases());
        for is_ahead in [false, true] {
            let mut sum = running(&plan);
            let mut out = vec![0.0; DIMENSION];
            sum.last(0, &mut out);
            assert_eq!(out, [0.0; DIMENSION]);
            let mut goes_on = running(&plan);
            if is_ahead {
                sum.draw_ahead(1, plan.most_releases());
                goes_on.draw_ahead(1, plan.most_releases());
            }
            for (t, wanted) in (1..).zip(&expected) {
                let radius = plan.radius_of(t);
                sum.step(t, &item(t, radius), &mut out);
                assert_eq!(&out, wanted, "{t}");
                goes_on.step(t, &item(t, radius), &mut out);
                assert_eq!(&out, wanted, "{t}, never stopped");
                let mut restored = running(&plan);
                restored.restore(t, &sum.state()).unwrap();
                restored.last(t, &mut out);
                assert_eq!(&out, wanted, "{t}, restored");
                if is_ahead && t < plan.most_releases() {
                    restored.draw_ahead(t + 1, plan.most_releases());
                }
                sum = restored;
            }
            assert!(running(&plan).restore(3, &State::default()).is_err());
            assert!(running(&plan).restore(3, &running(&plan).state()).is_err());
        }
    }

    #[test]
    fn forged_eras_are_refused() {
        let honest = request().plan().unwrap();
        assert!(eras(&honest).fits(SumKind::Eras, 1));
        assert!(!eras(&honest).fits(SumKind::Octave, 1));
        let forge = |change: fn(&mut Eras)| {
            let mut forged = eras(&honest).clone();
            change(&mut forged);
            forged.fits(SumKind::Eras, 1)
        };
        assert!(!forge(|eras| eras.eras.clear()));
        assert!(!forge(|eras| eras.eras[1].items = 0));
        assert!(!forge(|eras| eras.eras[1].items = u64::MAX));
        assert!(!forge(|eras| eras.eras[2].items = MOST_ITEMS));
        assert!(!forge(|eras| eras.eras[0].filter.layout = None));
        // An era that is said to be longer costs more, or its integers do not fit.
        let mut longer = honest.clone();
        if let Strategy::Eras(eras) = &mut longer.fields.strategy {
            eras.eras[0].items *= 16;
        }
        let price = |plan: &SumPlan| plan.price(plan.radius() as f64, 0).unwrap();
        assert!(price(&longer) > price(&honest));
        // Integers of a later era that do not fit are refused before the first item.
        let mut wider = honest.clone();
        if let Strategy::Eras(eras) = &mut wider.fields.strategy {
            eras.eras[2].filter.layout = Some(Layout::new(Width::Double, 16));
        }
        let generators = Generators {
            key: &Key::insecure_from_seed(5),
            instance: instance(),
            number: NUMBER,
        };
        assert!(honest.build(generators).is_ok() && wider.build(generators).is_err());
        // Several contributions have no price.
        let persons = Participation::PerPerson {
            most: 1,
            separation: 1,
        };
        let price = eras(&honest).sensitivity(Noise::Gaussian, 1, 0, persons);
        assert!(price.unwrap().is_infinite());
    }
}
