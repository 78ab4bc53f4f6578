//! `limited-updates` for convex losses: records in, a point out at every power of two. (For experts
//! it is a selection.)

use crate::catalogue::RecipeName;
use crate::error::{RecipeError, RunError};
use crate::experts::doublings;
use crate::linear::{Holds, RegretBound};
use crate::run::{Beginning, Player, Run};
use hushstream_account::{Adjacency, Budget};
use hushstream_mechanism::batch::{Descent, SolverPlan, SolverRequest, SolverTask};
use hushstream_mechanism::losses::{Loss, Record, evaluate};
use hushstream_mechanism::{OperatorOnly, Participation, PendingOf, Private, Raw, Scoreboard};
use hushstream_noise::Key;
use hushstream_sets::ConvexSet;
use std::sync::Arc;

/// Parameters of `limited-updates`.
#[derive(Clone)]
pub struct LimitedUpdatesRequest {
    /// The loss: with constants that hold by clipping of the data, and smooth or in closed form.
    pub loss: Arc<dyn Loss>,
    /// Where points live: a ball, box, simplex or L1 ball.
    pub set: Arc<dyn ConvexSet>,
    /// What may be spent.
    pub budget: Budget,
    /// The neighbouring relation.
    pub adjacency: Adjacency,
    /// Who contributes how often.
    pub participation: Participation,
}

/// The recipe with everything fixed but the data.
#[derive(Clone)]
pub struct LimitedUpdates {
    request: LimitedUpdatesRequest,
    plan: SolverPlan,
}

impl LimitedUpdatesRequest {
    /// Calibrates the recipe.
    ///
    /// # Errors
    /// A loss that no solver takes, a set without a closed projection.
    pub fn plan(self) -> Result<LimitedUpdates, RecipeError> {
        let plan = SolverRequest {
            loss: self.loss.as_ref(),
            set: &self.set,
            adjacency: self.adjacency,
            participation: self.participation,
            budget: self.budget,
        }
        .plan()?;
        Ok(LimitedUpdates {
            request: self,
            plan,
        })
    }
}

impl LimitedUpdates {
    /// The mechanism's plan.
    #[must_use]
    pub fn plan(&self) -> &SolverPlan {
        &self.plan
    }

    /// The certified regret of T rounds.
    ///
    /// **Claim** (AFKT22 Theorem 3 and Corollary 5.1). For records drawn independently from one
    /// distribution, against the best point in hindsight, in expectation at most
    ///
    /// L·D + Σ_j N_j·Δ(2^(j−1)) + L·r·√T,
    ///
    /// Δ(n) the excess risk of the solver ([`SolverPlan::excess_risk`]), N_j ≤ 2^j the rounds for
    /// which a point is held, r the outer radius.
    ///
    /// *Proof.* A point is held in rounds of which it knows nothing, so each costs Δ more than the
    /// best mean loss; the first round costs L·D at most. Let any learner with regret R_T play the
    /// same records without privacy: its loss is on average at least T times the best mean loss,
    /// and at most R_T above the best in hindsight. So that is at most R_T below T times the best
    /// mean, and gradient descent has R_T ≤ L·r·√T. ∎
    #[must_use]
    pub fn regret_bound(&self, rounds: u64) -> RegretBound {
        let trivial = self.trivial_regret(1);
        let learned = doublings(rounds, |records| self.plan.excess_risk(records));
        let hindsight =
            self.plan.slope() * self.request.set.outer_radius() * (rounds as f64).sqrt();
        RegretBound {
            value: trivial + learned + hindsight,
            holds: Holds::ExpectedStochastic,
            theorem: "AFKT22 Theorem 3 and Corollary 5.1 with erratum F9: L D + sum over j of 2^j \
                      Delta(2^(j-1)) + L r sqrt(T), Delta the risk of phased descent (Feldman, \
                      Koren and Talwar 2020)",
        }
    }

    /// Whether persons are limited: then records beyond a limit are not learned, and no bound
    /// holds.
    pub(crate) fn limits_persons(&self) -> bool {
        self.request.participation.is_per_person()
    }

    /// What the regret of T rounds can never exceed: slope times diameter, each round.
    #[must_use]
    pub fn trivial_regret(&self, rounds: u64) -> f64 {
        self.plan.slope() * self.request.set.diameter() * rounds as f64
    }

    /// Everything that makes two runs the same, in one line.
    #[must_use]
    pub fn description(&self) -> String {
        format!("{} with {:?}", RecipeName::LimitedUpdates, self.plan)
    }
}

/// Follows the released points.
pub struct UpdatesPlayer {
    point: Vec<f64>,
}

/// The recipe in progress.
pub type LimitedUpdatesRun = Run<UpdatesPlayer>;

impl Player for UpdatesPlayer {
    type Recipe = LimitedUpdates;
    type Mechanism = Descent;
    type Output = Vec<f64>;

    fn name(_: &LimitedUpdates) -> RecipeName {
        RecipeName::LimitedUpdates
    }

    fn description(recipe: &LimitedUpdates) -> String {
        recipe.description()
    }

    fn plan(recipe: &LimitedUpdates) -> Result<SolverTask, RunError> {
        let (loss, set) = Self::given(recipe)?;
        Ok(SolverTask::new(recipe.plan.clone(), loss, set)?)
    }

    fn given(recipe: &LimitedUpdates) -> Result<(Arc<dyn Loss>, Arc<dyn ConvexSet>), RunError> {
        let request = &recipe.request;
        Ok((request.loss.clone(), request.set.clone()))
    }

    fn rounds(_: &LimitedUpdates) -> u64 {
        u64::MAX
    }

    fn begin(
        _: &LimitedUpdates,
        solver: &mut Private<Descent>,
        _: &Key,
        _: Beginning<'_>,
    ) -> Result<Self, RunError> {
        Ok(Self {
            point: solver.question().to_vec(),
        })
    }

    fn weights(&self) -> &[f64] {
        &self.point
    }

    fn ask(
        &mut self,
        _: &LimitedUpdates,
        solver: &mut Private<Descent>,
        person: Option<u64>,
        record: Raw<Record>,
        board: Option<&mut Scoreboard>,
    ) -> Result<Option<PendingOf<Descent>>, RunError> {
        if let Some(board) = board {
            board.score(&record, &self.point);
        }
        Ok(solver.add(person, record)?)
    }

    fn observe(&mut self, _: &LimitedUpdates, point: Vec<f64>) -> Result<(), RunError> {
        self.point = point;
        Ok(())
    }

    fn output(&self) -> Vec<f64> {
        self.point.clone()
    }

    fn last_release(solver: &Private<Descent>) -> u64 {
        solver.last_release()
    }
}

impl LimitedUpdatesRun {
    /// The loss of a record at the present point: computed from private data.
    #[must_use]
    pub fn loss(&self, record: &Raw<Record>) -> OperatorOnly<f64> {
        evaluate(
            self.recipe.request.loss.as_ref(),
            record,
            &self.player.point,
        )
    }
}
