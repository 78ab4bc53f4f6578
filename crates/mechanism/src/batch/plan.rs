//! Requests for a batch solver, and their price.
//!
//! The noise on a phase's average is Gaussian where the budget has a δ, and L2-Laplace where it has
//! none, density ∝ e^(−‖v‖/c): pure, as AFKT22 §5.2 asks for convex losses.

use super::steps::Solver;
use crate::boundary::Scope;
use crate::durable::DiaryError;
use crate::losses::Loss;
use crate::mechanism::Terms;
use crate::persons::{Participation, PersonError, Persons};
use crate::sums::{NOISE_SCALE, Noise};
use hushstream_account::{
    AccountError, Adjacency, Budget, Charge, Epsilon, FilterKind, Guarantee, GuaranteeError, Mu,
    ParameterError, Price,
};
use hushstream_noise::{L2Laplace, NoiseError};
use hushstream_sets::{ConvexSet, SetError};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Why a solver refuses.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// The set's projection is not in closed form, so its error is not bounded in advance.
    #[error("{0} cannot be projected on in closed form; allowed: ball, box, simplex, L1 ball")]
    Projection(&'static str),
    /// The loss has corners, and no closed form for implicit steps.
    #[error(
        "{0} is not smooth, and not a linear model's loss without a ridge, for which implicit steps \
         would serve (use a smoothed hinge, or huber)"
    )]
    NotSmooth(String),
    /// Implicit steps on this loss and set cannot be proved.
    #[error("implicit steps: {0}")]
    Implicit(String),
    /// The set is larger than the region where the loss states its slope.
    #[error(
        "the set reaches to {reach}, and the loss states its slope for weights up to {allowed} \
         only: state the bound on weights at least as large"
    )]
    Reach {
        /// The longest point of the set.
        reach: f64,
        /// The loss's bound on weights.
        allowed: f64,
    },
    /// Loss and set do not fit each other, or are not the stored ones.
    #[error("the loss, the set and the plan do not belong together")]
    Mismatch,
    /// The budget.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// A guarantee that would promise nothing.
    #[error(transparent)]
    Guarantee(#[from] GuaranteeError),
    /// The set.
    #[error(transparent)]
    Set(#[from] SetError),
    /// The journal or the ledger.
    #[error(transparent)]
    Diary(#[from] DiaryError),
    /// The noise.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// A constant out of range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// A record without its person, or with a person where the plan has none.
    #[error(transparent)]
    Person(#[from] PersonError),
}

/// Parameters of a batch solver.
#[derive(Clone, Copy)]
pub struct SolverRequest<'a> {
    /// The loss, whose Lipschitz constant and curvature hold on the set by clipping of the data;
    /// with corners, one in closed form ([`Loss::explicit`]).
    pub loss: &'a dyn Loss,
    /// The set of feasible points.
    pub set: &'a Arc<dyn ConvexSet>,
    /// The neighbouring relation.
    pub adjacency: Adjacency,
    /// Who contributes how often.
    pub participation: Participation,
    /// The budget.
    pub budget: Budget,
}

/// A solver plan: everything that is fixed before any data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SolverPlan {
    pub(crate) dimension: u32,
    pub(crate) lipschitz: f64,
    pub(crate) smoothness: f64,
    /// The public part of every gradient, the same in each coordinate: it is stepped along, with
    /// every record and every null, and moves with none.
    pub(crate) offset: f64,
    pub(crate) solver: Solver,
    pub(crate) diameter: f64,
    pub(crate) reach: f64,
    /// What the whole run costs: μ of Gaussian noise, ε of L2-Laplace noise.
    pub(crate) cost: f64,
    pub(crate) adjacency: Adjacency,
    pub(crate) participation: Participation,
    pub(crate) budget: Budget,
    /// Descriptions of loss and set: a resume must bring the same ones.
    pub(crate) about: String,
}

impl SolverRequest<'_> {
    /// Checks the request and calibrates the noise.
    ///
    /// # Errors
    /// A loss that no solver takes, a set without a closed projection, constants out of range.
    pub fn plan(self) -> Result<SolverPlan, BatchError> {
        if !matches!(self.set.name(), "ball" | "box" | "simplex" | "L1 ball") {
            return Err(BatchError::Projection(self.set.name()));
        }
        if self.loss.dimension() != self.set.dimension() {
            return Err(BatchError::Mismatch);
        }
        // Outside, a gradient could be longer than the charged slope, and whether it is would
        // depend on the secret iterate.
        let (reach, allowed) = (self.set.largest_norm(), self.loss.weights_bound());
        if reach > allowed * (1.0 + 1e-12) {
            return Err(BatchError::Reach { reach, allowed });
        }
        let dimension = u32::try_from(self.set.dimension()).map_err(|_| BatchError::Mismatch)?;
        self.participation.check_few()?;
        let noise = noise_for(self.budget);
        let differing = self.participation.differing(self.adjacency);
        let cost = if noise.is_pure() {
            // The guarantee states the samplers' slack: a δ of 0 has no room for it.
            L2Laplace::new(dimension, NOISE_SCALE)?;
            self.budget.epsilon()
        } else {
            let slack = total_variation(noise, dimension, differing);
            Mu::within_with_slack(self.budget, slack)?.get()
        };
        let plan = SolverPlan {
            dimension,
            lipschitz: self.loss.lipschitz(),
            // Linear losses have none, and steps of any length do not expand; nor do implicit ones.
            smoothness: self.loss.smoothness().unwrap_or(0.0).max(1e-99),
            solver: Solver::of(self.loss, self.set)?,
            // On the simplex a constant moves no point.
            offset: match self.set.name() {
                "simplex" => 0.0,
                _ => self.loss.offset(),
            },
            diameter: self.set.diameter(),
            reach: self.set.largest_norm(),
            cost,
            adjacency: self.adjacency,
            participation: self.participation,
            budget: self.budget,
            about: about(self.loss, self.set.as_ref()),
        };
        plan.check()?;
        Ok(plan)
    }
}

/// Gaussian noise where the budget has a δ, and pure noise where it has none.
fn noise_for(budget: Budget) -> Noise {
    if budget.is_pure() {
        Noise::L2Laplace
    } else {
        Noise::Gaussian
    }
}

/// Total-variation error of all draws that so many records affect, those of one phase each.
fn total_variation(noise: Noise, dimension: u32, records: u64) -> f64 {
    records as f64 * f64::from(dimension) * noise.slack()
}

pub(crate) fn about(loss: &dyn Loss, set: &dyn ConvexSet) -> String {
    format!("{} on {set:?}", loss.describe())
}

impl SolverPlan {
    pub(crate) fn check(&self) -> Result<(), BatchError> {
        self.participation.check_few()?;
        for (parameter, given) in [
            ("Lipschitz constant", self.lipschitz),
            ("smoothness", self.smoothness),
            ("diameter", self.diameter),
            ("largest norm", self.reach),
            ("cost", self.cost),
        ] {
            if !(given > 0.0 && (1e-100..1e100).contains(&given)) {
                return Err(ParameterError::new(parameter, given, "1e-100 to 1e100").into());
            }
        }
        let is_sound = self.offset.abs() < 1e100;
        if !is_sound {
            let (name, given) = ("middle of losses", self.offset);
            return Err(ParameterError::new(name, given, "a number below 1e100").into());
        }
        if self.cost * NOISE_SCALE as f64 <= 4.0 * self.phases() * f64::from(self.dimension).sqrt()
        {
            return Err(ParameterError::new(
                "cost",
                self.cost,
                "a budget that leaves room for rounding: mu*2^30 above 4*sqrt(d), for persons \
                 4*sqrt(2*k*d); without a delta, epsilon*2^30 above 4*sqrt(d), for persons \
                 8*k*sqrt(d)",
            )
            .into());
        }
        self.guarantee(true).map(|_| ())
    }

    /// The noise on the average of a phase.
    #[must_use]
    pub fn noise(&self) -> Noise {
        noise_for(self.budget)
    }

    /// The price of the whole run: one Gaussian of parameter μ, or one ε, since a record is in one
    /// phase only; given what was released before, the others have the same law in both worlds.
    ///
    /// A person's k records of one world, and k of the other where turns move to other items, are
    /// in phases k₁ + k₂ + … ≤ 2k; each moves its phase by at most Lη, its distance from a null, or
    /// two of one step together by 2Lη. Phase i moves by at most kᵢLη + ρ, ρ its rounding; its
    /// noise is for 2kLη + √(2k)·ρ. The ratio is at most max(kᵢ/2k, 1/√(2k)), whose square is at
    /// most kᵢ/2k, and these add up to 1. So does one unit of rounding in every coordinate. Pure
    /// costs add up themselves: there the noise is for 2kLη + 2kρ, and kᵢLη + ρ ≤ kᵢ(Lη + ρ). Under
    /// zero-out there are k in all, and noise for kLη + √k·ρ, or kLη + kρ.
    ///
    /// # Errors
    /// Numbers out of range. [`SolverRequest::plan`] has checked them, so a plan does not fail
    /// here.
    pub fn charge(&self) -> Result<Price, BatchError> {
        let charge = if self.noise().is_pure() {
            Charge::Pure(Epsilon::new(self.cost)?)
        } else {
            Charge::Gaussian(Mu::new(self.cost)?)
        };
        Ok(Price::new(charge, self.budget, self.total_variation())?)
    }

    fn total_variation(&self) -> f64 {
        let differing = self.participation.differing(self.adjacency);
        total_variation(self.noise(), self.dimension, differing)
    }

    /// The filter of a ledger that accepts the price.
    #[must_use]
    pub fn filter(&self) -> FilterKind {
        if self.noise().is_pure() {
            FilterKind::Pure
        } else {
            FilterKind::Gaussian
        }
    }

    /// The scope of the price.
    #[must_use]
    pub fn scope(&self) -> Scope {
        Scope {
            per_person: self.participation.is_per_person(),
            ..Scope::records(self.adjacency)
        }
    }

    pub(crate) fn terms(&self) -> Result<Terms, BatchError> {
        Ok(Terms {
            price: self.charge()?,
            scope: self.scope(),
            planned: 1 << 40,
            needs_all: self
                .participation
                .is_per_person()
                .then_some(Persons::NEEDED),
        })
    }

    /// The guarantee of everything that is released.
    ///
    /// # Errors
    /// Numbers out of range. [`SolverRequest::plan`] has checked them, so a plan does not fail
    /// here.
    pub fn guarantee(&self, simulated: bool) -> Result<Guarantee, BatchError> {
        self.promise(1, simulated)
    }

    /// The guarantee for this number of records: there is no horizon.
    pub(crate) fn promise(&self, records: u64, simulated: bool) -> Result<Guarantee, BatchError> {
        let (epsilon, mu) = match self.noise().is_pure() {
            true => (self.cost, None),
            false => (self.budget.epsilon(), Some(Mu::new(self.cost)?)),
        };
        let delta = mu.map_or(Ok(0.0), |mu| mu.delta_at(epsilon))?;
        let mut builder = Guarantee::builder(epsilon, delta, self.adjacency, records);
        if let Some(mu) = mu {
            builder = builder.mu(mu);
        }
        let steps = self.solver.steps();
        builder = builder
            .mechanism(steps.name())
            .noise(self.noise().to_string())
            .assume(steps.assumption(self.lipschitz, self.smoothness))
            .assume("gradients are evaluated to within the stated rounding error")
            .assume("the number of records and the time of each are public")
            .assume("AES-256 and HMAC-SHA-256 are pseudo-random")
            .total_variation(self.total_variation())
            .citation("AFKT22 Theorem 3, Feldman, Koren and Talwar 2020")
            .erratum("F9")
            .simulated(simulated);
        Ok(self.participation.stated(builder).build()?)
    }

    /// The expected loss of the point that an epoch of n independent records releases, above the
    /// best of the set, at most.
    ///
    /// L is the slope, the public part included ([`SolverPlan::slope`]).
    ///
    /// **Claim.** Σ_i [E_i/(2η_i·n_i) + η_i·L²(n_i+1)/(2n_i) + L·√E_i/n_i (not for i = 1)] +
    /// L·√E_{k+1}, with n_i = ⌊n/2ⁱ⌋ steps in phase i = 1 … k, E_1 = D² and E_{i+1} = d·σ_i² the
    /// mean square of phase i's noise; and never more than L·D.
    ///
    /// *Proof* (Feldman, Koren and Talwar 2020, with our constants). Let w̄_i be the average of
    /// phase i before noise, w̄_0 the best point, F the mean loss. Phase i starts within ‖ξ_{i−1}‖
    /// of w̄_{i−1}: projecting onto a set that holds w̄_{i−1} brings nothing further away. Its
    /// records are fresh, so for a fixed w, with one more step than is taken, the iterates x_1 …
    /// x_{n+1} have ΣE[F(x_t) − F(w)] ≤ ‖x_1 − w‖²/(2η) + η(n+1)L²/2. The average is of x_2 …
    /// x_{n+1}; leaving out x_1 costs F(w) − F(x_1) ≤ L‖x_1 − w‖, and nothing for w = w̄_0. So
    /// E[F(w̄_i) − F(w̄_{i−1})] is at most the i-th bracket, and the last noise costs L·E‖ξ_k‖. ∎
    /// What rounded corners cost is added. L2-Laplace noise of scale c has E‖ξ‖² = d(d+1)c².
    #[must_use]
    pub fn excess_risk(&self, records: u64) -> f64 {
        let (lipschitz, d) = (self.slope(), f64::from(self.dimension));
        let trivial = lipschitz * self.diameter;
        if records < 2 {
            return trivial;
        }
        let (mut square, mut total) = (self.diameter * self.diameter, 0.0);
        for phase in 1..=records.ilog2() {
            let steps = (records >> phase) as f64;
            let size = self.step_size(records, phase);
            total += square / (2.0 * size * steps)
                + size * lipschitz * lipschitz * (steps + 1.0) / (2.0 * steps);
            if phase > 1 {
                total += lipschitz * square.sqrt() / steps;
            }
            // A unit of rounding in every coordinate is 2⁻³⁰ of the noise.
            square = d * self.sigma(records, phase).powi(2) * (1.0 + 1e-8);
        }
        (total + lipschitz * square.sqrt() + self.solver.steps().corners()).min(trivial)
    }

    /// The longest gradient on the set: of records, and their public part.
    #[must_use]
    pub fn slope(&self) -> f64 {
        self.lipschitz + self.offset.abs() * f64::from(self.dimension).sqrt()
    }

    /// The step size of phase i ≥ 1 in an epoch of n records: (D/L)·min(1/√n, μ/√d)/4ⁱ, with pure
    /// noise ε/√(d(d+1)) for μ/√d, and no longer than steps that do not expand.
    pub(crate) fn step_size(&self, records: u64, phase: u32) -> f64 {
        let privacy = self.cost / self.length();
        let rate = (1.0 / (records as f64).sqrt()).min(privacy);
        let wanted = self.diameter / self.slope() * rate * libm::scalbn(1.0, -2 * phase as i32);
        wanted.min(self.solver.steps().longest(self.smoothness))
    }

    /// The root of the mean square length of noise of scale 1.
    fn length(&self) -> f64 {
        (f64::from(self.dimension) * self.noise().variance(self.dimension)).sqrt()
    }

    /// How far the average of a phase can move when one record, or all k of a person, change,
    /// rounding included.
    ///
    /// With exact arithmetic: κLη, L the length of a gradient without its public part. One step of
    /// two records from one point ends within η‖∇f − ∇f'‖ ≤ 2Lη (Lη for a null, whose gradient is
    /// the public part alone), and steps on one record do not expand, so neither iterates nor their
    /// average come further apart; and k such steps, from points that are apart already, add up to
    /// kκLη. In floats each step adds at most `rounding`, in each world. (`steps` has the proofs.)
    pub(crate) fn sensitivity(&self, records: u64, phase: u32) -> f64 {
        let step = self.step_size(records, phase);
        let taken = (records >> phase) as f64;
        let records = self.participation.limits().0 as f64;
        let ideal = records * self.adjacency.kappa() * self.lipschitz * (1.0 + 1e-9) * step;
        let (fixed, scaled) = self.solver.steps().errors();
        let rounding = 2.0 * (taken + 2.0) * (self.rounding(step) + fixed + scaled * step);
        ideal + self.phases() * rounding
    }

    /// The number of phases that can differ, 1 for a record; for Gaussian noise, whose costs add up
    /// as squares, its root, rounded up.
    fn phases(&self) -> f64 {
        let count = self.participation.differing(self.adjacency);
        if count == 1 || self.noise().is_pure() {
            count as f64
        } else {
            (count as f64).sqrt().next_up()
        }
    }

    /// A bound on the rounding error of one step: the update, the gradient, the projection, the
    /// running sum.
    fn rounding(&self, step: f64) -> f64 {
        let unit = f64::EPSILON;
        let dimension = f64::from(self.dimension) + 16.0;
        let update = 8.0 * unit * (self.reach + step * self.slope());
        let gradient = 64.0 * dimension * unit * (self.lipschitz + self.smoothness * self.reach);
        let projection = 64.0 * dimension * unit * (1.0 + self.reach);
        update + step * gradient + projection
    }

    /// Standard deviation of one coordinate of the noise on a phase's average, in an epoch of
    /// `records` records: public, like the plan.
    #[must_use]
    pub fn sigma(&self, records: u64, phase: u32) -> f64 {
        let scale = self.unit(records, phase) * NOISE_SCALE as f64;
        scale * self.noise().variance(self.dimension).sqrt()
    }

    /// The real value of a lattice unit, for noise of 2³⁰ units: Δ/unit and one unit of rounding
    /// per coordinate together stay within μ·2³⁰, or ε·2³⁰.
    pub(crate) fn unit(&self, records: u64, phase: u32) -> f64 {
        let rounding = self.phases() * f64::from(self.dimension).sqrt();
        let room = self.cost * NOISE_SCALE as f64 - rounding;
        self.sensitivity(records, phase) / room * (1.0 + 1e-12)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::losses::{Bounds, LinearModel, Link};
    use hushstream_sets::Ball;

    fn plan(dimension: usize) -> SolverPlan {
        let budget = Budget::approx(1.0, 1e-6).unwrap();
        let (adjacency, participation) = (Adjacency::ReplaceOne, Participation::OncePerRecord);
        plan_for(dimension, budget, adjacency, participation)
    }

    fn plan_for(
        dimension: usize,
        budget: Budget,
        adjacency: Adjacency,
        participation: Participation,
    ) -> SolverPlan {
        let bounds = Bounds::new(1.0, (-1.0, 1.0), 1.0).unwrap();
        let loss = LinearModel::new(dimension, Link::Huber(0.5), bounds).unwrap();
        let set: Arc<dyn ConvexSet> = Arc::new(Ball::new(dimension, 1.0).unwrap());
        let request = SolverRequest {
            loss: &loss,
            set: &set,
            budget,
            adjacency,
            participation,
        };
        request.plan().unwrap()
    }

    /// Every way in which the records of a person, up to six where both worlds have three, can lie
    /// in six phases: what these cost together, in lattice units, with the rounding of steps and a
    /// unit for each coordinate, is paid for, and nearly all of it in the worst case. There are so
    /// many coordinates that rounding is seen.
    #[test]
    fn records_in_several_phases_cost_what_is_paid() {
        const PHASES: usize = 6;
        let (dimension, size) = (10_000_usize, 1 << PHASES);
        for (budget, is_pure) in [
            (Budget::approx(1.0, 1e-6).unwrap(), false),
            (Budget::pure(1.0).unwrap(), true),
        ] {
            for (adjacency, most) in [
                (Adjacency::ReplaceOne, 1),
                (Adjacency::ReplaceOne, 3),
                (Adjacency::ZeroOut, 3),
            ] {
                let participation = match most {
                    1 => Participation::OncePerRecord,
                    most => Participation::PerPerson {
                        most,
                        separation: 1,
                    },
                };
                let plan = plan_for(dimension, budget, adjacency, participation);
                assert_eq!(plan.scope().per_person, most > 1);
                let halves = match adjacency {
                    Adjacency::ReplaceOne => 2 * most,
                    Adjacency::ZeroOut => most,
                };
                // What one half moves phase i by, and what rounding adds to that.
                let phases: Vec<(f64, f64, f64)> = (1..=PHASES as u32)
                    .map(|phase| {
                        let (step, unit) = (plan.step_size(size, phase), plan.unit(size, phase));
                        let rounding = 2.0 * ((size >> phase) as f64 + 2.0) * plan.rounding(step);
                        (plan.lipschitz * step, rounding, unit)
                    })
                    .collect();
                let mut worst = 0.0_f64;
                for code in 0..PHASES.pow(halves as u32) {
                    let (mut parts, mut rest) = ([0_u32; PHASES], code);
                    for _ in 0..halves {
                        parts[rest % PHASES] += 1;
                        rest /= PHASES;
                    }
                    // A record that is replaced stays in its place.
                    if most == 1 && parts.iter().all(|&part| part != 2) {
                        continue;
                    }
                    let hit = phases.iter().zip(parts).filter(|(_, part)| *part > 0);
                    let costs = hit.map(|((moved, rounding, unit), part)| {
                        let far = (f64::from(part) * moved + rounding) / unit;
                        (far + (dimension as f64).sqrt()) / 2_f64.powi(30)
                    });
                    let cost = if is_pure {
                        costs.sum()
                    } else {
                        costs.map(|cost| cost * cost).sum::<f64>().sqrt()
                    };
                    worst = worst.max(cost);
                }
                let share = worst / plan.cost;
                assert!(share <= 1.0, "{budget:?} {adjacency:?} {most} {share}");
                assert!(share > 0.999, "{budget:?} {adjacency:?} {most} {share}");
            }
        }
    }

    /// A phase's distance in lattice units and one unit of rounding for each coordinate, √d
    /// together, are what μ pays for at a scale of 2³⁰.
    #[test]
    fn a_unit_leaves_room_for_rounding() {
        for dimension in [1, 100, 10_000] {
            let plan = plan(dimension);
            for (records, phase) in [(16, 1), (1 << 20, 3), (1 << 40, 1)] {
                let distance = plan.sensitivity(records, phase) / plan.unit(records, phase);
                let whole = distance + (dimension as f64).sqrt();
                let paid = plan.cost * 2_f64.powi(30);
                assert!(whole <= paid, "{dimension} {records} {whole} {paid}");
                assert!(whole >= paid * (1.0 - 1e-9), "{dimension} {records}");
            }
        }
    }

    /// In a long phase both worlds round at every step: a float at the border of a ball of radius 1
    /// errs by half an ε, and much more is allowed for.
    #[test]
    fn rounding_of_every_step_is_paid_for() {
        let plan = plan(3);
        for (records, phase) in [(1_u64 << 30, 1), (1 << 40, 1), (1 << 40, 4)] {
            let ideal = 2.0 * plan.lipschitz * plan.step_size(records, phase);
            let steps = (records >> phase) as f64;
            let rounding = plan.sensitivity(records, phase) - ideal;
            assert!(
                rounding >= 2.0 * steps * f64::EPSILON,
                "{records} {phase} {rounding}"
            );
            assert!(
                rounding <= 2e4 * steps * f64::EPSILON + 1e-8 * ideal,
                "{records} {phase} {rounding}"
            );
        }
    }

    /// The slope of a squared loss is known for weights up to 1 only: on a larger ball a record
    /// would be skipped or not depending on the secret iterate, and the averages of two neighbours
    /// were 48 times as far apart as claimed.
    #[test]
    fn a_set_beyond_the_losses_bound_is_refused() {
        let plan = |weights: f64, radius: f64| {
            let bounds = Bounds::new(1.0, (-1.0, 1.0), weights).unwrap();
            let loss = LinearModel::new(1, Link::Squared, bounds).unwrap();
            let set: Arc<dyn ConvexSet> = Arc::new(Ball::new(1, radius).unwrap());
            let request = SolverRequest {
                loss: &loss,
                set: &set,
                budget: Budget::approx(1.0, 1e-6).unwrap(),
                adjacency: Adjacency::ReplaceOne,
                participation: Participation::OncePerRecord,
            };
            request.plan()
        };
        assert!(plan(10.0, 10.0).is_ok());
        assert!(matches!(plan(1.0, 10.0), Err(BatchError::Reach { .. })));
    }
}
