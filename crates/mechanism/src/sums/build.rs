//! From a plan to a running sum: the only place that connects strategies to generators.

use super::blt::FixedBlt;
use super::cover::Draws;
use super::error::SumError;
use super::filter::Filter;
use super::fresh::Fresh;
use super::honaker::Honaker;
use super::kary::BalancedDigits;
use super::octave::Octaves;
use super::plan::{PlanError, SumPlan};
use super::running::{CoveredPrefix, Padding, Running};
use super::smooth::ConstantWeight;
use super::strategy::Strategy;
use super::tree::BinaryTree;
use super::window::Window;
use crate::mechanism::Generators;

/// Generators of a sum: its own, one for padding, and one for each octave.
const MAIN: u64 = 0;
const PADDING: u64 = 1;
const OCTAVES: u64 = 2;

pub(crate) fn build(
    plan: &SumPlan,
    generators: Generators<'_>,
) -> Result<Box<dyn Running>, SumError> {
    let request = plan.request();
    let source = |stream| generators.source(stream);
    let draws = |stream| Draws::new(request.noise, request.dimension, source(stream));
    let unit = plan.lattice(0)?.unit();
    Ok(match &plan.fields.strategy {
        Strategy::Tree => Box::new(CoveredPrefix::new(BinaryTree, draws(MAIN)?, None, unit)),
        Strategy::PaddedTree => {
            let padding = Padding {
                total: BinaryTree::most_terms(request.releases),
                draws: draws(PADDING)?,
            };
            Box::new(CoveredPrefix::new(
                BinaryTree,
                draws(MAIN)?,
                Some(padding),
                unit,
            ))
        }
        Strategy::Honaker => Box::new(Honaker::new(draws(MAIN)?, unit)),
        Strategy::Smooth { width, weight } => {
            let code = ConstantWeight {
                width: *width,
                weight: *weight,
            };
            Box::new(CoveredPrefix::new(code, draws(MAIN)?, None, unit))
        }
        Strategy::Kary { base, digits } => {
            let code = BalancedDigits {
                base: *base,
                digits: *digits,
            };
            Box::new(CoveredPrefix::new(code, draws(MAIN)?, None, unit))
        }
        Strategy::Window { width } => Box::new(CoveredPrefix::new(
            Window { width: *width },
            draws(MAIN)?,
            None,
            unit,
        )),
        Strategy::Blt { blt, layout } => {
            let layout = layout.ok_or(PlanError::Stored)?;
            let dimension = request.dimension as usize;
            let item = i64::try_from(plan.largest_item()).unwrap_or(i64::MAX);
            let encoder = FixedBlt::open(blt, layout, request.releases, dimension, item)
                .map_err(PlanError::from)?;
            Box::new(Filter::new(
                blt,
                layout,
                encoder,
                dimension,
                unit,
                source(MAIN),
            )?)
        }
        Strategy::Fresh => Box::new(Fresh::new(draws(MAIN)?, unit)),
        Strategy::Octave => {
            let octaves = u64::from(plan.most_releases().ilog2()) + 1;
            let sources = (0..octaves)
                .map(|octave| source(OCTAVES + octave))
                .collect();
            Box::new(Octaves::new(plan.clone(), sources))
        }
    })
}
