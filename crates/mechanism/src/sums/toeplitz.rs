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
}

/// The largest item, as the encoder counts it.
fn item(plan: &SumPlan) -> i64 {
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

    fn response(&self) -> Option<Box<dyn Fn(u64) -> f64 + Send>> {
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
        let dimension = request.dimension as usize;
        let floors = FLOORS * room;
        let layout = Layout::choose(&self.blt, request.releases, dimension, item(plan), floors)?;
        Ok(Some(Strategy::Blt(Self {
            blt: self.blt.clone(),
            layout: Some(layout),
        })))
    }

    fn inflation(&self, request: &SumRequest) -> f64 {
        self.layout.map_or(0.0, |layout| {
            let dimension = request.dimension as usize;
            self.blt.inflation(layout, request.releases, dimension)
        })
    }

    fn build(&self, plan: &SumPlan, streams: Streams<'_>) -> Result<Box<dyn Running>, SumError> {
        let layout = self.layout.ok_or(PlanError::Stored)?;
        let dimension = plan.request().dimension as usize;
        let releases = plan.request().releases;
        let encoder = FixedBlt::open(&self.blt, layout, releases, dimension, item(plan))
            .map_err(PlanError::from)?;
        let unit = plan.lattice(0)?.unit();
        let source = streams.generators.source(Streams::MAIN);
        Ok(Box::new(Filter::new(
            &self.blt, layout, encoder, dimension, unit, source,
        )?))
    }
}
