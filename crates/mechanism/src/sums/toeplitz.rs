//! The BLT filter as a sum: its parameters in a plan, and what they cost. `filter.rs` has the
//! mechanism with its proof, `blt` the filter itself.

use super::Strategy;
use super::SumKind;
use super::blt::{BltError, DyadicBlt, FixedBlt, Layout, Width, optimise};
use super::cover::Noise;
use super::error::SumError;
use super::filter::Filter;
use super::plan::{PlanError, SumPlan, SumRequest};
use super::running::Running;
use super::strategy::{About, Streams, SumStrategy};
use crate::persons::Participation;
use hushstream_noise::Source;
use serde::{Deserialize, Serialize};

/// The share of the budget that a filter's floors may cost.
const FLOORS: f64 = 1e-3;

/// A filter, and the layout of its integers, which is chosen once the radius is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Toeplitz {
    pub(crate) blt: DyadicBlt,
    pub(crate) layout: Option<Layout>,
}

pub(crate) const ABOUT: About = About {
    refuses: |noise| {
        noise
            .is_pure()
            .then_some("its rows are real-weighted, so it needs Gaussian noise and delta > 0")
    },
    ..About::any_noise("blt")
};

impl Toeplitz {
    pub(super) fn best(releases: u64, buffers: u8) -> Result<Self, BltError> {
        Ok(Self {
            blt: DyadicBlt::new(&optimise(releases, usize::from(buffers))?)?,
            layout: None,
        })
    }

    /// The same with integers for so many rows of items up to `item`, whose floors cost a small
    /// share of `room`.
    pub(super) fn with_layout(
        &self,
        releases: u64,
        dimension: u32,
        item: i64,
        room: f64,
    ) -> Result<Self, PlanError> {
        let (dimension, floors) = (dimension as usize, FLOORS * room);
        let layout = Layout::choose(&self.blt, releases, dimension, item, floors)?;
        Ok(Self {
            blt: self.blt.clone(),
            layout: Some(layout),
        })
    }

    /// The distance that the floors of so many rows add.
    pub(super) fn inflation_of(&self, releases: u64, dimension: u32) -> f64 {
        self.layout.map_or(0.0, |layout| {
            self.blt.inflation(layout, releases, dimension as usize)
        })
    }

    /// The encoder, if its integers fit.
    pub(super) fn encoder(
        &self,
        releases: u64,
        dimension: u32,
        item: i64,
    ) -> Result<FixedBlt, PlanError> {
        let (layout, dimension) = (self.layout.ok_or(PlanError::Stored)?, dimension as usize);
        Ok(FixedBlt::open(
            &self.blt, layout, releases, dimension, item,
        )?)
    }

    /// The running filter, which decodes to multiples of `unit`.
    pub(super) fn open(
        &self,
        releases: u64,
        dimension: u32,
        item: i64,
        unit: f64,
        source: Source,
    ) -> Result<Filter, SumError> {
        let encoder = self.encoder(releases, dimension, item)?;
        let (layout, dimension) = (encoder.layout(), dimension as usize);
        Ok(Filter::new(
            &self.blt, layout, encoder, dimension, unit, source,
        )?)
    }
}

/// The largest item, as the encoder counts it.
pub(super) fn item(plan: &SumPlan) -> i64 {
    i64::try_from(plan.largest_item()).unwrap_or(i64::MAX)
}

impl SumStrategy for Toeplitz {
    fn name(&self) -> String {
        format!("BLT filter, {} buffers", self.blt.buffers())
    }

    fn citation(&self, _: Noise) -> (&'static str, &'static [&'static str]) {
        (
            "Dvijotham et al. 2024, adaptive by Denisov et al. 2022 Theorem 2.1 and, with rounded \
             rows, Smith and Thakurta 2022",
            &[],
        )
    }

    fn fits(&self, kind: SumKind, _: u64) -> bool {
        let SumKind::Blt(buffers) = kind else {
            return false;
        };
        self.blt.buffers() <= usize::from(buffers) && self.layout.is_some()
    }

    fn levels(&self, _: u64, _: u32) -> Option<u32> {
        None
    }

    fn sensitivity(
        &self,
        _: Noise,
        releases: u64,
        _: u32,
        participation: Participation,
    ) -> Result<f64, BltError> {
        match participation.limits() {
            (1, _) => Ok(self.blt.sensitivity(releases)),
            (most, separation) => self.blt.sensitivity_with(releases, most, separation),
        }
    }

    fn variance(&self, t: u64, _: u64) -> f64 {
        self.blt.parameters().prefix_sd(t).powi(2)
    }

    fn response(&self, _: u32) -> Option<Box<dyn Fn(u64) -> f64 + Send>> {
        let inverse = self.blt.parameters().inverse();
        Some(Box::new(move |k| inverse.prefix_coefficient(k)))
    }

    fn combined_variance(&self, weights: &[f64]) -> Option<f64> {
        Some(self.blt.parameters().inverse().combined_variance(weights))
    }

    fn worst_variance(&self, releases: u64) -> f64 {
        self.variance(releases, releases)
    }

    fn vectors(&self, _: u64) -> u64 {
        let is_wide = |layout: Layout| layout.width() == Width::Wide;
        let words = if self.layout.is_some_and(is_wide) {
            2
        } else {
            1
        };
        let buffers = self.blt.buffers() as u64;
        words * (buffers + 2) + buffers + 4
    }

    /// Every row depends on the first item.
    fn draws_of_a_person(&self, releases: u64, _: f64) -> f64 {
        releases as f64
    }

    /// Filters keep no exact sum: their layout is checked instead.
    fn exact_items(&self, _: u64) -> u64 {
        1
    }

    fn laid_out(&self, plan: &SumPlan, room: f64) -> Result<Option<Strategy>, PlanError> {
        let request = plan.request();
        let filter = self.with_layout(request.releases, request.dimension, item(plan), room)?;
        Ok(Some(Strategy::Blt(filter)))
    }

    fn inflation(&self, request: &SumRequest, _: u32) -> f64 {
        self.inflation_of(request.releases, request.dimension)
    }

    fn build(&self, plan: &SumPlan, streams: Streams<'_>) -> Result<Box<dyn Running>, SumError> {
        let (request, unit) = (plan.request(), plan.lattice(0)?.unit());
        let source = streams.generators.source(Streams::MAIN);
        let (releases, dimension) = (request.releases, request.dimension);
        let filter = self.open(releases, dimension, item(plan), unit, source)?;
        Ok(Box::new(filter))
    }
}
