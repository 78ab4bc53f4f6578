//! Where a recipe is audited: a task in which one record can move the sum as far as its bound
//! allows, and what an outsider reads off the iterates.
//!
//! A learner is a public function of the released sums. Inside its set that function can be
//! inverted, so the attacker computes the sums back from the iterates, and the audit of the learner
//! is as tight as one of the sum. Sets are therefore wide compared with the iterates (or the
//! curvature large, which makes iterates small); where a learner answers with a corner of its set
//! (`ftpl`, `coco-l`), the attacker sees what everybody sees.

use crate::AuditError;
use hushstream_arena::dense;
use hushstream_mechanism::Moments;
use hushstream_mechanism::losses::{Bounds, Distance, LinearLoss, LinearModel, Link, Record};
use hushstream_recipes::{Objective, RecipeName};
use hushstream_sets::{Ball, BoxSet, ConvexSet, Simplex};
use std::sync::Arc;

/// A task for an audit.
#[derive(Clone)]
pub(crate) struct Scene {
    pub(crate) objective: Objective,
    pub(crate) set: Arc<dyn ConvexSet>,
    pub(crate) curvature: Option<f64>,
    pub(crate) tuned: bool,
    kind: Kind,
}

/// What records look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Points at ±1, iterates near 0: gradients ∓1.
    Points,
    /// A hinge at ±1, iterates near 0.
    Margins,
    /// Loss ±1.
    Line,
    /// Losses (1, 0) and (0, 1) of two experts.
    Experts,
    /// Losses (1, −1) and (−1, 1).
    Pair,
    /// Feature 1, target ±1.
    Squares,
}

/// Small iterates: the loss is steepest there, and no projection hides anything.
const CURVATURE: f64 = 1e6;

impl Scene {
    /// The scene of a recipe. Pure noise on one coordinate has the same law as on one of many, and
    /// leaves less to guess.
    pub(crate) fn of(recipe: RecipeName, pure: bool) -> Result<Self, AuditError> {
        let kind = match recipe {
            RecipeName::Pftal | RecipeName::CocoP => Kind::Points,
            RecipeName::PftalConvex => Kind::Margins,
            RecipeName::Ftrl if !pure => Kind::Experts,
            RecipeName::Ftrl | RecipeName::Ftpl => Kind::Line,
            RecipeName::CocoL => Kind::Pair,
            RecipeName::Pqftl => Kind::Squares,
            other => return Err(AuditError::NoAttacks(other)),
        };
        let objective = match kind {
            Kind::Points => Objective::Convex(Arc::new(Distance::new(1, 1.0, 0.01)?)),
            Kind::Margins => {
                let bounds = Bounds::new(1.0, (-1.0, 1.0), 0.01)?;
                Objective::Convex(Arc::new(LinearModel::new(1, Link::Hinge, bounds)?))
            }
            Kind::Line => Objective::Linear(LinearLoss::new(1, -1.0, 1.0)?),
            Kind::Experts => Objective::Linear(LinearLoss::new(2, 0.0, 1.0)?),
            Kind::Pair => Objective::Linear(LinearLoss::new(2, -1.0, 1.0)?),
            Kind::Squares => {
                Objective::LeastSquares(Moments::new(1, Bounds::new(1.0, (-1.0, 1.0), 1.0)?))
            }
        };
        let set: Arc<dyn ConvexSet> = match kind {
            Kind::Points | Kind::Margins => Arc::new(Ball::new(1, 0.01)?),
            Kind::Line if recipe == RecipeName::Ftpl => Arc::new(BoxSet::cube(1, 1.0)?),
            Kind::Line => Arc::new(Ball::new(1, 1e6)?),
            Kind::Experts | Kind::Pair => Arc::new(Simplex::new(2)?),
            Kind::Squares => Arc::new(Ball::new(1, 1.0)?),
        };
        Ok(Self {
            objective,
            set,
            curvature: match kind {
                Kind::Points | Kind::Margins => Some(CURVATURE),
                Kind::Pair => Some(1.0),
                _ => None,
            },
            tuned: recipe == RecipeName::CocoL,
            kind,
        })
    }

    /// A record that pulls the sum by `pull`·(its bound), −1 ≤ `pull` ≤ 1; 0 is the neutral record,
    /// whose gradient is the null one.
    pub(crate) fn record(&self, pull: f64) -> Record {
        match self.kind {
            Kind::Points => dense(vec![-pull], 0.0),
            Kind::Margins => dense(vec![pull.abs()], if pull > 0.0 { -1.0 } else { 1.0 }),
            Kind::Line => dense(vec![pull], 0.0),
            Kind::Experts => dense(vec![0.5 + 0.5 * pull, 0.5 - 0.5 * pull], 0.0),
            Kind::Pair => dense(vec![pull, -pull], 0.0),
            Kind::Squares => dense(vec![pull.abs()], pull),
        }
    }

    /// What an outsider computes from the first iterate and those published after it: for most
    /// recipes the released sums, from which the neutral records are absent and every other one is
    /// `pull` times one unit.
    pub(crate) fn read(
        &self,
        recipe: RecipeName,
        (curvature, rate): (f64, f64),
        first: &[f64],
        iterates: &[Vec<f64>],
    ) -> Vec<f64> {
        let one = |t: usize| iterates[t].first().copied().unwrap_or(0.0);
        match (recipe, self.kind) {
            (RecipeName::Pftal | RecipeName::CocoP, _) => {
                let mut total = first.first().copied().unwrap_or(0.0);
                let mut sums = Vec::with_capacity(iterates.len());
                for t in 0..iterates.len() {
                    sums.push(curvature * (total - (t + 1) as f64 * one(t)));
                    total += one(t);
                }
                sums
            }
            (RecipeName::PftalConvex, _) => (0..iterates.len())
                .map(|t| -curvature * (t + 1) as f64 * one(t))
                .collect(),
            (RecipeName::Ftrl, Kind::Experts) => {
                let odds = |x: &[f64]| libm::log(x[1] / x[0]) / rate;
                // A round's losses (1, 0) and (0, 1) move the difference of the sums by one.
                iterates
                    .iter()
                    .map(|x| odds(x))
                    .chain([odds(first)])
                    .collect()
            }
            (RecipeName::Ftrl, _) => {
                let sums = iterates.iter().map(|x| -x[0] / rate);
                sums.chain([-first[0] / rate]).collect()
            }
            _ => {
                let seen = iterates.iter().flatten().copied();
                seen.chain(first.iter().copied()).collect()
            }
        }
    }

    /// Whether [`Scene::read`] gives sums.
    pub(crate) fn reads_sums(&self) -> bool {
        !matches!(self.kind, Kind::Pair | Kind::Squares)
    }
}
