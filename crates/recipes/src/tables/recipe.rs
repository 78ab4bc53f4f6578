//! The calibrated recipe.

use super::rule::{BINS, Column, Planned, Public};
use crate::catalogue::RecipeName;
use crate::error::RecipeError;
use hushstream_account::{Adjacency, Budget, ParameterError};
use hushstream_learn::{CurvesAndTables, TableRule};
use hushstream_mechanism::sums::{Geometry, Noise, SumKind, SumPlan, SumRequest};
use hushstream_mechanism::{Axis, LogScale, Participation, Response, TableMap, TableShape};

/// How much noise an offset may have, as a share of what curves give a score.
const OFFSET_NOISE: f64 = 0.25;
/// Records per batch for an unknown horizon.
const OPEN_BATCH: u64 = 64;

/// Parameters of `tables`; what is not stated is chosen from public numbers.
#[derive(Debug, Clone)]
pub struct TablesRequest {
    /// The columns.
    pub columns: Vec<Column>,
    /// What is predicted.
    pub response: Response,
    /// Records, or how many are expected.
    pub rounds: u64,
    /// Whether `rounds` is only an expectation.
    pub horizon_unknown: bool,
    /// Whether the order of records is that of time.
    pub in_time: bool,
    /// What may be spent.
    pub budget: Budget,
    /// The neighbouring relation.
    pub adjacency: Adjacency,
    /// Who contributes how often.
    pub participation: Participation,
    /// The sum.
    pub sum: Option<SumKind>,
    /// The noise.
    pub noise: Option<Noise>,
    /// Records per release.
    pub batch: Option<u64>,
    /// Whether records can be read again.
    pub at_rest: bool,
    /// How often they are read.
    pub passes: Option<u64>,
    /// Knots of a number's curve.
    pub knots: Option<u32>,
    /// Columns of a table: 1 to 3, or 0 for curves alone.
    pub tables: Option<u32>,
    /// η.
    pub step: Option<f64>,
}

/// A recipe with everything fixed but the data.
#[derive(Debug, Clone)]
pub struct TablesRecipe {
    request: TablesRequest,
    map: TableMap,
    plan: SumPlan,
    batch: u64,
    passes: u64,
    rule: TableRule,
    kappa: f64,
}

impl TablesRequest {
    /// Calibrates the recipe.
    ///
    /// # Errors
    /// Everything that is out of range or does not fit, each with what is allowed.
    pub fn plan(self) -> Result<TablesRecipe, RecipeError> {
        let batch = self.batch.unwrap_or(1);
        if batch == 0 {
            return Err(ParameterError::new("batch", 0.0, "1 to the number of records").into());
        }
        // A run that releases nothing would be paid for all the same.
        if self.rounds < 2 || batch > self.rounds && !self.horizon_unknown {
            let allowed = "at least 2, and no fewer than a batch has";
            return Err(ParameterError::new("rounds", self.rounds as f64, allowed).into());
        }
        if let Some(columns @ 4..) = self.tables {
            return Err(ParameterError::new("columns of a table", columns, "0 to 3").into());
        }
        let (kind, noise) = self.sum_and_noise()?;
        let mut trial = Trial {
            request: &self,
            kind,
            noise,
            error: None,
        };
        let public = Public {
            columns: &self.columns,
            response: self.response,
            records: self.rounds,
            in_time: self.in_time,
            is_open: self.horizon_unknown,
            is_pure: noise.is_pure(),
            releases: match (self.batch, self.horizon_unknown) {
                (None, true) => Some((self.rounds / OPEN_BATCH).max(1)),
                (batch, _) => batch.map(|batch| (self.rounds / batch).max(1)),
            },
            at_rest: self.at_rest && self.can_repeat(),
            passes: self.passes,
            knots: self.knots,
            tables: self.tables,
        };
        let Some(settings) = public.settle(&mut trial) else {
            let unfit = || RecipeError::Unfit("no plan fits the budget".to_owned());
            return Err(trial.error.unwrap_or_else(unfit));
        };
        if settings.passes > 1 && !self.can_repeat() {
            return Err(RecipeError::Unfit(
                "several passes are for records that are protected each by itself, with Gaussian \
                 noise and a known number of records, and without a sum or a batch of your own"
                    .to_owned(),
            ));
        }
        let (kind, participation) = match settings.passes {
            1 => (kind, self.participation),
            passes => (
                SumKind::Fresh,
                Participation::Passes {
                    passes,
                    separation: 1,
                },
            ),
        };
        let usual = match (self.horizon_unknown, settings.passes) {
            (true, _) => OPEN_BATCH,
            (false, 1) => self.rounds / settings.releases,
            _ => self.rounds,
        };
        let batch = self.batch.unwrap_or(usual).max(1);
        let releases = (self.rounds / batch).max(1) * settings.passes;
        let (knots, log_knots) = settings.knots;
        let axes = self.columns.iter().map(|column| match *column {
            Column::Number { zero } => Axis::Number {
                knots,
                log: Some(LogScale {
                    knots: log_knots,
                    origin: zero,
                }),
            },
            Column::Category(values) => Axis::Category { values },
        });
        let map = TableMap::new(TableShape {
            axes: axes.collect(),
            tables: settings.tables,
            bins: BINS,
            share: settings.share,
            l1: noise == Noise::Laplace,
        })?;
        let sixteenths = self.count_weight(noise, map.tables() > 0);
        let shape = (
            map.dimension() * (self.response.scores() + 1),
            map.dimension(),
        );
        let mut request = self.sum_request(kind, noise, (releases, batch), shape, sixteenths)?;
        request.participation = participation;
        let plan = request.plan()?;
        // A number's weights are in its own units.
        let unit = match self.response {
            Response::Number(half) => half,
            _ => 1.0,
        };
        let unit_is_number = matches!(self.response, Response::Number(_));
        let noise_at = plan.prefix_sd_max() * map.hats_length();
        let step = self.step.unwrap_or(settings.score_noise / noise_at);
        let has_offset = unit_is_number && settings.passes > 1;
        let rule = TableRule {
            hats: map.hats(),
            cells: map.cells(),
            tables: map.tables(),
            scores: self.response.scores(),
            count_weight: f64::from(sixteenths) / 16.0,
            batch: batch as f64,
            spread: map.hats_length() / (self.columns.len() as f64).sqrt(),
            unit,
            step,
            residual_bound: self.response.residual_bound(),
            cell_length: map.cell_length(),
            curvature: if unit_is_number { 1.0 } else { 0.25 },
            averaged: !self.in_time,
            repeats: settings.passes > 1,
            offset: has_offset.then_some(OFFSET_NOISE * step * noise_at),
            noise: (1..=releases.min(1 << 16))
                .map(|t| plan.prefix_sd(t))
                .collect(),
        };
        CurvesAndTables::new(rule.clone())?;
        Ok(TablesRecipe {
            map,
            plan,
            batch,
            passes: settings.passes,
            rule,
            kappa: settings.kappa,
            request: self,
        })
    }

    /// Whether several passes can be priced: records are protected each by itself.
    fn can_repeat(&self) -> bool {
        self.participation == Participation::OncePerRecord
            && !self.budget.is_pure()
            && !self.horizon_unknown
            && self.batch.is_none()
            && self.sum.is_none_or(|sum| sum == SumKind::Fresh)
            && self.noise.is_none_or(|noise| noise == Noise::Gaussian)
    }

    /// κ in sixteenths. Under replace-one counts are free in L2; elsewhere they take a part of the
    /// budget: a small one where they only say what the mean record is.
    fn count_weight(&self, noise: Noise, has_tables: bool) -> u8 {
        match (self.adjacency, noise) {
            (Adjacency::ReplaceOne, Noise::Gaussian | Noise::L2Laplace) => 16,
            _ if has_tables => 8,
            _ => 4,
        }
    }

    fn sum_and_noise(&self) -> Result<(SumKind, Noise), RecipeError> {
        let noise = match (self.noise, self.budget.is_pure()) {
            (Some(noise), _) => noise,
            (None, true) => Noise::Laplace,
            (None, false) => Noise::Gaussian,
        };
        let kind = match self.sum {
            Some(kind) => kind,
            None if self.horizon_unknown => SumKind::Octave,
            None if noise == Noise::Gaussian => SumKind::BLT,
            None => SumKind::Smooth,
        };
        RecipeName::Tables
            .accepts(kind, noise)
            .map_err(RecipeError::Unfit)?;
        Ok((kind, noise))
    }

    fn sum_request(
        &self,
        kind: SumKind,
        noise: Noise,
        (releases, batch): (u64, u64),
        (dimension, counts): (usize, usize),
        sixteenths: u8,
    ) -> Result<SumRequest, RecipeError> {
        let narrow = |count: usize| {
            let error = ParameterError::new("dimension", count as f64, "below 2^32");
            u32::try_from(count).map_err(|_| error)
        };
        Ok(SumRequest {
            kind,
            noise,
            releases,
            dimension: narrow(dimension)?,
            bound: self.response.residual_bound(),
            geometry: Geometry::Tables {
                counts: narrow(counts)?,
                sixteenths,
            },
            least_sigma: 0.0,
            batch,
            adjacency: self.adjacency,
            participation: self.participation,
            budget: self.budget,
        })
    }
}

/// Plans of one coordinate, to see how much noise so many releases carry.
struct Trial<'a> {
    request: &'a TablesRequest,
    kind: SumKind,
    noise: Noise,
    error: Option<RecipeError>,
}

impl Planned for Trial<'_> {
    fn noise(&mut self, releases: u64) -> Option<f64> {
        let weight = self.request.count_weight(self.noise, true);
        let shape = (releases, (self.request.rounds / releases).max(1));
        let request = self
            .request
            .sum_request(self.kind, self.noise, shape, (2, 1), weight);
        match request.and_then(|request| Ok(request.plan()?)) {
            Ok(plan) => Some(plan.prefix_sd_max()),
            Err(error) => {
                self.error = Some(error);
                None
            }
        }
    }
}

impl TablesRecipe {
    /// The sum's plan.
    #[must_use]
    pub fn plan(&self) -> &SumPlan {
        &self.plan
    }

    /// The map from records to hats and cells.
    #[must_use]
    pub fn map(&self) -> &TableMap {
        &self.map
    }

    /// The parameters.
    #[must_use]
    pub fn request(&self) -> &TablesRequest {
        &self.request
    }

    /// Records per release.
    #[must_use]
    pub fn batch(&self) -> u64 {
        self.batch
    }

    /// How often the records are read, and how many of them in a pass.
    #[must_use]
    pub fn passes(&self) -> (u64, u64) {
        (self.passes, self.request.rounds)
    }

    /// The most records that a run takes in, pass by pass.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        match self.plan.request().kind {
            SumKind::Fresh if self.passes > 1 => self.request.rounds * self.passes,
            kind if kind.needs_no_horizon() => self.plan.most_releases().saturating_mul(self.batch),
            _ => self.request.rounds,
        }
    }

    /// η.
    #[must_use]
    pub fn step(&self) -> f64 {
        self.rule.step
    }

    /// Records in a mean cell against the noise of its count; 0 where there can be no tables.
    #[must_use]
    pub fn kappa(&self) -> f64 {
        self.kappa
    }

    /// The deviation that noise gives the score of the last iterate, in the units of the score,
    /// before steps along the mean are damped: an upper bound, from public numbers. The noises of
    /// curves and of an offset are added as if they were independent: where they are not, they
    /// partly cancel.
    #[must_use]
    pub fn score_noise(&self) -> f64 {
        let of_curves = self.rule.step * self.plan.prefix_sd_max() * self.map.hats_length();
        let of_offset = self.rule.offset.unwrap_or(0.0);
        self.rule.unit * (of_curves * of_curves + of_offset * of_offset).sqrt()
    }

    /// A fresh learner.
    ///
    /// # Errors
    /// None for a recipe that was planned; the numbers were checked.
    pub fn learner(&self) -> Result<CurvesAndTables, RecipeError> {
        Ok(CurvesAndTables::new(self.rule.clone())?)
    }

    /// The same learner for sums without noise.
    pub(super) fn quiet_learner(&self) -> Result<CurvesAndTables, RecipeError> {
        let rule = TableRule {
            noise: vec![0.0],
            count_weight: 1.0,
            ..self.rule.clone()
        };
        Ok(CurvesAndTables::new(rule)?)
    }

    /// Everything that makes two runs the same, in one line.
    #[must_use]
    pub fn description(&self) -> String {
        let (shape, rule) = (self.map.shape(), &self.rule);
        format!(
            "tables of {:?}, {:?} in {} tables of {} bins, share {:e}, T = {}, step {:e}, \
             averaged {}{}, {:?}",
            self.request.response,
            shape.axes,
            shape.tables.len(),
            shape.bins,
            shape.share,
            self.request.rounds,
            rule.step,
            rule.averaged,
            rule.offset.map_or("", |_| ", an offset"),
            self.plan.request()
        )
    }
}
