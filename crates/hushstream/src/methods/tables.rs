//! Curves and tables.

use super::session::{Baseline, Running};
use super::{Method, Place, Restart};
use crate::error::{Result, refuse};
use crate::outcome::Parameters;
use hushstream_account::Price;
use hushstream_mechanism::losses::Link;
use hushstream_mechanism::{Grant, Response, Scope, TableMap};
use hushstream_pictures::numbers::grouped;
use hushstream_read::{AxisKind, Layout, SchemaSpec};
use hushstream_recipes::{
    Column, RecipeName, Situation, TablesRecipe, TablesRequest, TablesRun, TablesShadow, Task,
    Wishes,
};

/// Coordinates of curves up to which they are the default: hashed columns can have more.
const MOST_HATS: usize = 1 << 16;

struct Tables {
    recipe: TablesRecipe,
    reasons: Vec<String>,
}

/// Whether curves and tables can learn this task, and nothing was asked for that they do not do.
pub(crate) fn suits(
    schema: &SchemaSpec,
    layout: &Layout,
    situation: &Situation,
    wishes: &Wishes,
) -> bool {
    let hats: usize = columns(layout).iter().map(width).sum();
    let is_task = response(situation.task).is_some();
    let is_plain = schema.norm.is_none() && schema.intercept.is_none();
    is_task && is_plain && (1..=MOST_HATS).contains(&hats) && unheard(wishes, situation).is_none()
}

fn width(column: &Column) -> usize {
    match column {
        Column::Number { .. } => 32,
        Column::Category(values) => *values as usize + 1,
    }
}

/// The columns of coded records; none if there can be no such records.
pub(super) fn columns(layout: &Layout) -> Vec<Column> {
    let axes = layout.coded().map(|coded| coded.axes());
    let column = |kind: AxisKind| match kind {
        AxisKind::Number { low, high } => Column::Number {
            zero: (2.0 * (0.0 - low) / (high - low) - 1.0).clamp(-1.0, 1.0),
        },
        AxisKind::Category(values) => Column::Category(values.len() as u32),
        AxisKind::Hashed(bits) => Column::Category(1 << bits),
    };
    let axes = axes.unwrap_or_default().into_iter();
    axes.map(|axis| column(axis.kind)).collect()
}

fn response(task: Task) -> Option<Response> {
    match task {
        Task::Sign => Some(Response::Sign),
        Task::Classes(classes) => Some(Response::Classes(classes)),
        Task::Number(low, high) => Some(Response::Number(low.abs().max(high.abs()))),
        Task::Experts(..) | Task::Bandit(..) | Task::Decide => None,
    }
}

/// The first wish that curves and tables have no use for.
fn unheard(wishes: &Wishes, situation: &Situation) -> Option<&'static str> {
    let usual = match situation.task {
        Task::Number(..) => Link::Squared,
        _ => Link::Logistic,
    };
    let wishes = [
        (
            "another loss",
            wishes.link.is_some_and(|link| link != usual),
        ),
        ("a set", wishes.set.is_some()),
        ("a radius", wishes.radius.is_some()),
        ("a curvature", wishes.curvature.is_some()),
        ("a ridge", wishes.ridge.is_some()),
        ("a window", wishes.window.is_some()),
        ("a window", wishes.sum.is_some_and(|sum| sum.is_windowed())),
    ];
    let mut unheard = wishes.into_iter().filter(|(_, is_stated)| *is_stated);
    unheard.next().map(|(wish, _)| wish)
}

/// The recipe, with what the wishes leave open chosen from public numbers.
pub(crate) fn choose(
    schema: &SchemaSpec,
    layout: &Layout,
    situation: &Situation,
    wishes: &Wishes,
    (at_rest, passes): (bool, Option<u64>),
) -> Result<Box<dyn Method>> {
    let columns = columns(layout);
    let (Some(response), false) = (response(situation.task), columns.is_empty()) else {
        refuse!(
            "tables learns a target from columns of numbers and categories, which this data does \
             not have"
        );
    };
    if let Some(wish) = unheard(wishes, situation) {
        refuse!("tables has no use for {wish}: leave it out, or name another recipe");
    }
    let recipe = TablesRequest {
        columns,
        response,
        rounds: situation.rounds,
        horizon_unknown: situation.horizon_unknown,
        in_time: schema.in_time_order == Some(true),
        budget: situation.budget,
        adjacency: situation.adjacency,
        participation: situation.participation,
        sum: wishes.sum,
        noise: wishes.noise,
        batch: wishes.batch,
        at_rest,
        passes,
        knots: schema.knots,
        tables: wishes.tables,
        step: wishes.learning_rate,
    }
    .plan()?;
    let reasons = reasons(&recipe, wishes);
    Ok(Box::new(Tables { recipe, reasons }))
}

fn reasons(recipe: &TablesRecipe, wishes: &Wishes) -> Vec<String> {
    let map = recipe.map();
    let mut reasons = Vec::new();
    if wishes.recipe.is_none() {
        reasons.push(
            "tables, because the data has columns with stated bounds and categories".to_owned(),
        );
    }
    reasons.push(match (map.tables(), recipe.kappa()) {
        (0, kappa) if kappa > 0.0 => format!(
            "curves alone, because a cell of three columns would hold {kappa:.2} times the noise \
             of its count"
        ),
        (0, _) => "curves alone".to_owned(),
        (tables, kappa) => format!(
            "curves and {tables} tables of three columns, because a cell holds {kappa:.1} times \
             the noise of its count"
        ),
    });
    if let (passes @ 2.., _) = recipe.passes() {
        reasons.push(format!(
            "{passes} passes over the file, a release after each: every record is in all of them, \
             and the price is for that"
        ));
    }
    reasons.push(format!(
        "about {} releases and steps of {:.3}: noise in a score of at most {:.2}",
        grouped(recipe.plan().request().releases),
        recipe.step(),
        recipe.score_noise(),
    ));
    reasons
}

impl Method for Tables {
    fn recipe(&self) -> RecipeName {
        RecipeName::Tables
    }

    fn price(&self) -> Result<(Price, Scope)> {
        let plan = self.recipe.plan();
        Ok((plan.charge()?, plan.scope()))
    }

    fn records(&self) -> (u64, u64) {
        (self.recipe.request().rounds, self.recipe.rounds())
    }

    fn parameters(&self) -> Parameters {
        let request = self.recipe.plan().request();
        Parameters {
            sum: Some(request.kind.to_string()),
            noise: Some(request.noise.to_string()),
            batch: request.batch,
            releases: request.releases,
            learning_rate: Some(self.recipe.step()),
            noise_sd: Some(self.recipe.plan().prefix_sd_max()),
            noise_in_score: Some(self.recipe.score_noise()),
            reasons: self.reasons.clone(),
            ..Parameters::default()
        }
    }

    fn headline(&self) -> String {
        let (map, request) = (self.recipe.map(), self.recipe.plan().request());
        let tables = match map.tables() {
            0 => String::new(),
            tables => format!(
                " and {tables} tables of {} cells",
                grouped(map.cells() as u64)
            ),
        };
        format!(
            "tables: {} curves{tables}, on {} sums with {} noise, batches of {}",
            map.shape().axes.len(),
            request.kind,
            request.noise,
            grouped(request.batch)
        )
    }

    fn open(&self, place: Place<'_>, grant: Option<Grant>) -> Result<Restart> {
        let every = place.every;
        place.open(self.recipe.clone(), grant, true, |mut run: TablesRun| {
            if !every {
                run.keep_only_the_last();
            }
            run.draw_ahead();
            Ok(Box::new(Running::of_models(run)))
        })
    }

    fn shadow(&self) -> Result<Option<Box<dyn Baseline>>> {
        Ok(Some(Box::new(TablesShadow::new(&self.recipe)?)))
    }

    fn passes(&self) -> (u64, u64) {
        self.recipe.passes()
    }

    fn tables(&self) -> Option<&TableMap> {
        Some(self.recipe.map())
    }
}
