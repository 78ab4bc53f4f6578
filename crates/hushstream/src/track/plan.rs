//! The plan of running statistics: sum, noise and weights, from public numbers alone.

use super::asked::Shape;
use super::clock::By;
use crate::error::{Error, Result, refuse};
use hushstream_account::{Adjacency, Budget};
use hushstream_mechanism::Participation;
use hushstream_mechanism::Statistics;
use hushstream_mechanism::sums::{Geometry, Noise, PlanError, SumKind, SumPlan, SumRequest, View};
use hushstream_pictures::numbers::{delta, grouped, short};
use serde::Serialize;
use std::fmt;

/// The most records of a tick that a plan leaves room for.
const MOST_RECORDS: u64 = 1 << 30;
/// The fewest.
const LEAST_RECORDS: u64 = 1 << 10;
/// Ticks that an unknown horizon is planned around.
const ANY_TICKS: u64 = 1 << 10;

/// The public facts that a plan is made from.
pub(crate) struct Situation {
    pub(crate) by: By,
    /// Planned ticks; none if their number is not known.
    pub(crate) ticks: Option<u64>,
    pub(crate) budget: Budget,
    pub(crate) adjacency: Adjacency,
    pub(crate) participation: Participation,
    pub(crate) sum: Option<SumKind>,
    pub(crate) noise: Option<Noise>,
}

/// A plan with its statistics.
#[derive(Clone)]
pub(crate) struct Planned {
    pub(crate) plan: SumPlan,
    pub(crate) statistics: Statistics,
}

impl Situation {
    /// The plan with the least total error.
    pub(crate) fn plan(&self, shape: &Shape) -> Result<Planned> {
        if self.ticks == Some(0) {
            refuse!("‹ticks 0› is not allowed; allowed: 1 or more");
        }
        if self.sum.is_some_and(SumKind::is_windowed) {
            refuse!(
                "a window sum promises less than the others: the last ticks of any other sum are \
                 ‹last N›, without another promise"
            );
        }
        let pure = [Noise::Laplace, Noise::L2Laplace];
        let noises: Vec<Noise> = match self.noise {
            Some(noise) => vec![noise],
            None if self.budget.is_pure() => pure.to_vec(),
            None => vec![Noise::Gaussian],
        };
        let kinds = |noise: Noise| match (self.sum, self.ticks) {
            (Some(sum), _) => vec![sum],
            (None, None) => vec![SumKind::Octave],
            (None, Some(_)) if noise == Noise::Gaussian => vec![SumKind::BLT],
            (None, Some(_)) => vec![SumKind::Smooth, SumKind::Kary, SumKind::Tree],
        };
        let (mut best, mut failure) = (None, None);
        for noise in noises {
            let (is_l1, who) = (noise == Noise::Laplace, self.participation);
            let statistics = shape.statistics(self.adjacency, who, is_l1)?;
            for kind in kinds(noise) {
                let plan = match self.with(kind, noise, &statistics) {
                    Ok(plan) => plan,
                    Err(error) => {
                        failure = Some(error);
                        continue;
                    }
                };
                let error = shape.error(&statistics, plan.prefix_sd_max());
                if best.as_ref().is_none_or(|(least, _)| error < *least) {
                    let statistics = statistics.clone();
                    best = Some((error, Planned { plan, statistics }));
                }
            }
        }
        match (best, failure) {
            (Some((_, planned)), _) => Ok(planned),
            (None, Some(failure)) => Err(failure.into()),
            (None, None) => Err(Error::refused("there is no sum for this noise")),
        }
    }

    /// The plan of one sum: with room for as many records of a tick as its integers have.
    fn with(
        &self,
        kind: SumKind,
        noise: Noise,
        statistics: &Statistics,
    ) -> Result<SumPlan, PlanError> {
        let request = |batch| SumRequest {
            kind,
            noise,
            releases: self.ticks.unwrap_or(ANY_TICKS),
            dimension: statistics.dimension(),
            bound: 1.0,
            geometry: Geometry::Statistics(statistics.clone()),
            least_sigma: 0.0,
            batch,
            adjacency: self.adjacency,
            participation: self.participation,
            budget: self.budget,
        };
        let mut batch = MOST_RECORDS;
        loop {
            match request(batch).plan() {
                Err(PlanError::Overflow { .. } | PlanError::Layout(_)) if batch > LEAST_RECORDS => {
                    batch /= 4;
                }
                planned => return planned,
            }
        }
    }
}

/// What running statistics will be like, before anything is spent.
#[derive(Debug, Clone, Serialize)]
pub struct TrackPlan {
    /// What a tick is.
    pub by: String,
    /// Planned ticks; none if their number is not known.
    pub ticks: Option<u64>,
    /// The sum, with its parameters.
    pub sum: String,
    /// The noise.
    pub noise: String,
    /// Number of groups, that of values that are not listed included.
    pub groups: usize,
    /// Numbers in a release.
    pub numbers: u32,
    /// ε and δ.
    pub budget: (f64, f64),
    /// The neighbouring relation.
    pub adjacency: Adjacency,
    /// How the budget is split.
    pub split: Vec<Share>,
}

/// A statistic's part of the budget, and its noise.
#[derive(Debug, Clone, Serialize)]
pub struct Share {
    /// The statistic.
    pub statistic: String,
    /// Its weight against the largest, which is 1.
    pub weight: f64,
    /// Standard deviation since the beginning, at the worst tick: of a count in records, of a sum
    /// in half the range of its column.
    pub sd: f64,
    /// The same of a single tick.
    pub sd_of_a_tick: f64,
}

impl TrackPlan {
    pub(crate) fn new(situation: &Situation, shape: &Shape, planned: &Planned) -> Self {
        let plan = &planned.plan;
        let (total, request) = (plan.prefix_sd_max(), plan.request());
        let ticks = situation.ticks.unwrap_or(ANY_TICKS).min(1 << 16);
        let noises = plan.noise_of(View::Last(1)).take(ticks as usize);
        let tick = noises.fold(0.0_f64, |most, noise| most.max(noise.sd));
        let blocks = 0..planned.statistics.shape().blocks.len();
        let share = |block| {
            let scale = planned.statistics.scale(block);
            Share {
                statistic: shape.block_name(block),
                weight: scale,
                sd: total / scale,
                sd_of_a_tick: tick / scale,
            }
        };
        Self {
            by: situation.by.to_string(),
            ticks: situation.ticks,
            sum: plan.name(),
            noise: request.noise.to_string(),
            groups: shape.group_count(),
            numbers: planned.statistics.dimension(),
            budget: (request.budget.epsilon(), request.budget.delta()),
            adjacency: request.adjacency,
            split: blocks.map(share).collect(),
        }
    }
}

/// The choice and the split, line by line.
impl fmt::Display for TrackPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ticks = match self.ticks {
            Some(ticks) => format!("{} ticks", grouped(ticks)),
            None => "any number of ticks".to_owned(),
        };
        let (epsilon, bound) = self.budget;
        write!(
            f,
            "every {}: {ticks}, {} numbers each, on {} with {} noise, (ε, δ) = ({epsilon}, {}), {}",
            self.by,
            grouped(self.numbers.into()),
            self.sum,
            self.noise,
            delta(bound),
            self.adjacency,
        )?;
        for share in &self.split {
            write!(
                f,
                "\n  {}: weight {}, standard deviation at most {} since the beginning, {} in a tick",
                share.statistic,
                short(share.weight),
                short(share.sd),
                short(share.sd_of_a_tick),
            )?;
        }
        write!(
            f,
            "\n  one charge for all of it; weights by the least total error; deviations of counts \
             in records, of sums in half ranges"
        )
    }
}
