//! From a budget to integers.
//!
//! There is one noise, of scale 2³⁰; the budget sets the integer radius R of the data instead:
//!
//! - Gaussian: R = ⌊(μ·2³⁰ − inflation)/(κ·sensitivity)⌋, so that κ·sensitivity·R + inflation ≤
//!   μ·2³⁰;
//! - pure: R = ⌊ε·2³⁰/(κ·sensitivity)⌋;
//!
//! κ = 2 for replace-one (two points of a ball are two radii apart), 1 for zero-out. The inflation
//! is 0 for integer strategies and covers the floors of fixed-point filters. The price is then
//! computed back *from the integer R*, rounded up: it never exceeds the budget, and it is what the
//! ledger is asked for. For Gaussian noise the samplers' slack is taken out of δ beforehand; pure
//! noise leaves no room for it, and the guarantee then names it as a δ of its own.

use super::Strategy;
use super::cover::{NOISE_SCALE, Noise};
use super::plan::{Geometry, PlanError, SumPlan, SumRequest};
use crate::boundary::Scope;
use crate::decisions;
use crate::lattice::{Lattice, Norm};
use crate::persons::Participation;
use crate::statistics::UNIT;
use hushstream_account::{Adjacency, Budget, Charge, Epsilon, Mu, Price, precision_slack};

impl SumPlan {
    /// Filters only: chooses the width of the integers and the guard bits, then the radius that
    /// remains after paying for the floors.
    pub(super) fn choose_layout(&mut self) -> Result<(), PlanError> {
        let room = self.limit()? * NOISE_SCALE as f64;
        if let Some(strategy) = self.fields.strategy.laid_out(self, room)? {
            self.fields.strategy = strategy;
            self.fields.radii = self.radii_within_budget()?;
        }
        Ok(())
    }

    /// The radius of every part.
    pub(super) fn radii_within_budget(&self) -> Result<Vec<i64>, PlanError> {
        let parts = 0..self.fields.strategy.parts();
        parts.map(|part| self.radius_within_budget(part)).collect()
    }

    /// The distance that the floors of fixed-point rows add to two runs, in lattice units: of the
    /// parts that begin anew, all together.
    pub(super) fn inflation(&self) -> f64 {
        let parts = if self.fields.strategy.restarts() {
            self.fields.strategy.parts()
        } else {
            1
        };
        (0..parts).map(|part| self.inflation_in(part)).sum()
    }

    /// The same if they differ in this part.
    fn inflation_in(&self, part: u32) -> f64 {
        self.fields.strategy.inflation(self.request(), part)
    }

    /// The request of this plan.
    #[must_use]
    pub fn request(&self) -> &SumRequest {
        &self.fields.request
    }

    /// The largest number of releases; one more is refused.
    #[must_use]
    pub fn most_releases(&self) -> u64 {
        let releases = self.request().releases;
        let strategy = &self.fields.strategy;
        strategy.most_releases(releases, self.largest_item())
    }

    pub(crate) fn largest_item(&self) -> u128 {
        let radius = self.fields.radii.iter().copied().max().unwrap_or(1);
        u128::from(self.request().batch) * radius as u128
    }

    pub(super) fn check_overflow(&self) -> Result<(), PlanError> {
        let request = self.request();
        // A batch is summed exactly in every case.
        let items = self.fields.strategy.exact_items(request.releases);
        let reach = self.largest_item().saturating_mul(u128::from(items));
        if reach >= 1 << 61 || request.releases > self.most_releases() {
            return Err(PlanError::Overflow {
                releases: request.releases,
                batch: request.batch,
                radius: self.radius(),
            });
        }
        Ok(())
    }

    /// Sums that begin anew only: the radius of every octave or era up to the last.
    pub(super) fn add_octaves(&mut self) -> Result<(), PlanError> {
        if self.fields.strategy.restarts() {
            let octaves = 0..=self.fields.strategy.part(self.most_releases());
            self.fields.radii = octaves
                .map(|octave| self.radius_within_budget(octave))
                .collect::<Result<_, _>>()?;
        }
        Ok(())
    }

    /// The lattice of a part or octave.
    pub(crate) fn lattice(&self, part: u32) -> Result<Lattice, PlanError> {
        let request = self.request();
        let norm = if request.noise == Noise::Laplace {
            Norm::L1
        } else {
            Norm::L2
        };
        let radii = &self.fields.radii;
        let radius = *radii.get(part as usize).ok_or(PlanError::Stored)?;
        Ok(Lattice::new(
            request.dimension,
            norm,
            request.bound,
            radius,
        )?)
    }

    /// The largest number of nodes that contain an item; for octaves, up to the expected horizon.
    /// `None` for filters.
    #[must_use]
    pub fn levels(&self) -> Option<u32> {
        let releases = self.request().releases;
        self.fields.strategy.levels(releases, self.last_part())
    }

    /// The octave or era that contains the expected horizon, where the sum begins anew; otherwise
    /// the first part.
    pub(super) fn last_part(&self) -> u32 {
        self.part_that_begins(self.request().releases)
    }

    /// The octave or era of an item, where the sum begins anew; otherwise the first part.
    pub(super) fn part_that_begins(&self, item: u64) -> u32 {
        let strategy = &self.fields.strategy;
        if strategy.restarts() {
            strategy.part(item)
        } else {
            0
        }
    }

    /// The largest column norm of the strategy, rounded up: L2 for Gaussian noise, L1 for pure
    /// noise; all of a person's items together. For octaves and eras, that of the one that contains
    /// the expected horizon; for parts, that of the first.
    #[must_use]
    pub fn sensitivity(&self) -> f64 {
        self.sensitivity_in(self.last_part()).unwrap_or(f64::NAN)
    }

    /// The integer image of the bound; for octaves and parts, that of the first.
    #[must_use]
    pub fn radius(&self) -> i64 {
        self.fields.radii[0]
    }

    /// The integer image of the bound for an item: it differs where octaves or parts have lattices
    /// of their own.
    #[must_use]
    pub fn radius_of(&self, item: u64) -> i64 {
        let part = self.fields.strategy.part(item) as usize;
        let last = self.fields.radii.last().copied().unwrap_or(1);
        self.fields.radii.get(part).copied().unwrap_or(last)
    }

    fn sensitivity_in(&self, octave: u32) -> Result<f64, PlanError> {
        let request = self.request();
        let strategy = &self.fields.strategy;
        Ok(strategy.sensitivity(
            request.noise,
            request.releases,
            octave,
            request.participation,
        )?)
    }

    /// μ or ε that may be spent.
    fn limit(&self) -> Result<f64, PlanError> {
        if self.request().noise.is_pure() {
            Ok(self.request().budget.epsilon())
        } else {
            Ok(self.mu_within_budget()?.get())
        }
    }

    /// The largest radius whose price fits the budget.
    pub(super) fn radius_within_budget(&self, octave: u32) -> Result<i64, PlanError> {
        let request = self.request();
        let limit = self.limit()?;
        let inflation = self.inflation_in(octave);
        let room = (limit * NOISE_SCALE as f64 - inflation) / self.sensitivity_in(octave)?;
        let slope = self.distance(1.0) - self.distance(0.0);
        let mut radius = ((room - self.distance(0.0)) / slope).floor();
        if request.least_sigma > 0.0 {
            let spread = request.noise.variance(request.dimension).sqrt() * NOISE_SCALE as f64;
            radius = radius.min((spread * request.bound / request.least_sigma).floor());
        }
        radius = radius.min((1_u64 << 40) as f64);
        // Statistics have whole steps.
        let step = match request.geometry {
            Geometry::Statistics(_) => f64::from(UNIT),
            _ => 1.0,
        };
        radius = (radius / step).floor() * step;
        // The float quotient may be one too large: the price decides.
        while radius >= step && self.price(radius, octave)? > limit {
            radius -= step;
        }
        if radius < step {
            return Err(PlanError::BudgetTooSmall {
                releases: request.releases,
            });
        }
        Ok(radius as i64)
    }

    /// μ for the budget less the samplers' slack.
    fn mu_within_budget(&self) -> Result<Mu, PlanError> {
        let budget = self.request().budget;
        let slack = self.slack()?;
        // Slightly less than the difference, so that the sum, rounded up, does not exceed the
        // budget.
        let delta = (budget.delta() - 2.0 * slack) * (1.0 - 1e-14);
        if budget.is_pure() {
            return Ok(Mu::within(budget)?); // refuses, and says why
        }
        if delta <= 0.0 {
            return Err(PlanError::Slack {
                epsilon: budget.epsilon(),
                delta: budget.delta(),
                slack,
            });
        }
        Ok(Mu::within(Budget::approx(budget.epsilon(), delta)?)?)
    }

    /// How far apart, in lattice units, the items of two neighbours can be: what the strategy's
    /// sensitivity is multiplied by.
    ///
    /// **Records** (and passes): the two neighbours differ in one item, in which one record is
    /// replaced; [`SumPlan::apart`] bounds that.
    ///
    /// **Persons under replace-one.** Which of a person's records count depends on the records
    /// themselves: an empty or malformed one has no name, so it does not use up the person's turn,
    /// and a later record takes it. So the person may be in the items P of one neighbour and in
    /// other items P′ of the other. Let S be the sensitivity, C the strategy's columns, g ≥ 0 their
    /// inner products, and x, x′ what is added, of length at most A, with ⟨x, x′⟩ ≥ −m.
    ///
    /// *Gaussian*: ‖Σ_P C_i x_i − Σ_P′ C_j x′_j‖² ≤ A²S² + A²S² + 2m·Σg_ij ≤ (2A² + 2m)S² if m > 0,
    /// by Cauchy–Schwarz, and ≤ 2A²S² otherwise. If ⟨x, x′⟩ = −m is attained at the full length,
    /// two records of one item are √(2A² + 2m) apart, so the larger of that and √2·A pays for both.
    /// It is in balls, moments and tables. In statistics and decisions parts of the vector differ
    /// in sign. *Statistics*: with a = Σ_P C_i and b = Σ_P′ C_j, and those of a group or a bin
    /// alone, every block adds at most w²(‖a‖² + ‖b‖²), and 2w²⟨a, b⟩ of the same group more if it
    /// is a sum, less if it counts. That is affine in products between 0 and S², so its largest
    /// value is at an end: nothing in common (2A²), or everything (S or D of `statistics.rs`).
    /// *Decisions*: `decisions::distance_of_turns` takes √(2A² + 2m) itself. *Pure* noise adds up
    /// lengths: 2A·S; so do columns whose products may be negative, those of dense strategies.
    ///
    /// A is the distance to nothing, and every item's truncation counts by itself. In a ball, where
    /// two records are 2A apart, nothing changes.
    pub(crate) fn distance(&self, radius: f64) -> f64 {
        let request = self.request();
        let (apart, truncation) = self.apart(radius, request.adjacency);
        let is_person = matches!(request.participation, Participation::PerPerson { .. });
        if !is_person || request.adjacency == Adjacency::ZeroOut {
            return plus(apart, truncation);
        }
        let (alone, _) = self.apart(radius, Adjacency::ZeroOut);
        let is_signed = matches!(self.fields.strategy, Strategy::Dense(_));
        let both = match request.geometry {
            _ if request.noise.is_pure() || is_signed => 2.0 * alone,
            Geometry::Decisions { weight, evaluated } => {
                (decisions::distance_of_turns(weight, evaluated) * radius).next_up()
            }
            _ => (std::f64::consts::SQRT_2.next_up() * alone).next_up(),
        };
        plus(apart.max(both), 2.0 * truncation)
    }

    /// The share of the price that is for records of one item: below 1 where a person's turn that
    /// moves to another item costs more. For audits, which ask how tight a price is.
    #[doc(hidden)]
    #[must_use]
    pub fn share_of_one_item(&self) -> f64 {
        let radius = self.radius() as f64;
        let (apart, truncation) = self.apart(radius, self.request().adjacency);
        plus(apart, truncation) / self.distance(radius)
    }

    /// How far apart, in lattice units, one item can be with one record replaced, and what
    /// truncation adds to that.
    ///
    /// *Ball*: a record's integers are inside the radius, which the lattice has checked: κ·radius,
    /// nothing to add. *Moments*: `moments.rs` proves it in integers; the item's truncation adds
    /// √D. *Decisions*: `decisions/mod.rs` proves that arms cost nothing, and adds the evaluation.
    /// *Tables* and *statistics*: proved in integers beside [`TableMap`](crate::TableMap) and
    /// [`Statistics`](crate::Statistics).
    fn apart(&self, radius: f64, adjacency: Adjacency) -> (f64, f64) {
        let request = self.request();
        let truncation = f64::from(request.dimension).sqrt().next_up();
        match request.geometry {
            Geometry::Ball | Geometry::Tables { counts: 0, .. } => {
                (adjacency.kappa() * radius, 0.0)
            }
            Geometry::Tables { sixteenths, .. } => {
                let weight = f64::from(sixteenths) / 16.0;
                let times = match (adjacency, request.noise) {
                    (_, Noise::Laplace) => adjacency.kappa() * (1.0 + weight),
                    (Adjacency::ReplaceOne, _) => 2.0,
                    (Adjacency::ZeroOut, _) => (1.0 + weight * weight).sqrt().next_up(),
                };
                ((times * radius).next_up(), 0.0)
            }
            Geometry::Statistics(ref statistics) => {
                let steps = radius / f64::from(UNIT);
                let times = statistics.distance(adjacency, request.noise == Noise::Laplace);
                ((times * steps).next_up(), 0.0)
            }
            Geometry::Moments(weight) => (weight.distance(adjacency) * radius, truncation),
            Geometry::Decisions { weight, evaluated } => {
                let times = decisions::distance(weight, evaluated, adjacency);
                ((times * radius).next_up(), truncation)
            }
        }
    }

    /// μ or ε of a radius, rounded up.
    pub(super) fn price(&self, radius: f64, octave: u32) -> Result<f64, PlanError> {
        let request = self.request();
        let data = self.sensitivity_in(octave)? * self.distance(radius);
        let shift = (data.next_up().next_up() + self.inflation_in(octave)).next_up();
        Ok(if request.noise.is_pure() {
            Epsilon::of_noise(shift, NOISE_SCALE as f64)?.get()
        } else {
            Mu::of_noise(shift, NOISE_SCALE as f64)?.get()
        })
    }

    /// The scope of the charge.
    #[must_use]
    pub fn scope(&self) -> Scope {
        let request = self.request();
        Scope {
            adjacency: request.adjacency,
            per_person: matches!(request.participation, Participation::PerPerson { .. }),
            windowed: request.kind.is_windowed(),
        }
    }

    /// The price of the whole run. An item lies in one octave, so octaves do not add up; of a
    /// person's k items each octave spends a share that `octave.rs` bounds by its share of the
    /// items. An item lies in one part or era, too.
    ///
    /// # Errors
    /// Numbers out of range. [`SumRequest::plan`] has checked them, so a plan does not fail here.
    pub fn charge(&self) -> Result<Price, PlanError> {
        let mut price = 0.0_f64;
        for (octave, &radius) in (0..).zip(&self.fields.radii) {
            price = price.max(self.price(radius as f64, octave)?);
        }
        let charge = if self.request().noise.is_pure() {
            Charge::Pure(Epsilon::new(price)?)
        } else {
            Charge::Gaussian(Mu::new(price)?)
        };
        let tau = self.total_variation().min(1.0);
        Ok(Price::new(charge, self.request().budget, tau)?)
    }

    /// Total-variation error of all draws that one person affects.
    #[must_use]
    pub fn total_variation(&self) -> f64 {
        let request = self.request();
        let coordinates = f64::from(request.dimension);
        let people = request.participation.limits().0 as f64;
        let strategy = &self.fields.strategy;
        let draws = strategy.draws_of_a_person(request.releases, people);
        draws * coordinates * request.noise.slack()
    }

    fn slack(&self) -> Result<f64, PlanError> {
        Ok(precision_slack(
            self.request().budget.epsilon(),
            self.total_variation(),
        )?)
    }
}

/// The sum, rounded up; nothing is added where nothing is truncated.
fn plus(distance: f64, truncation: f64) -> f64 {
    if truncation > 0.0 {
        (distance + truncation).next_up()
    } else {
        distance
    }
}

#[cfg(test)]
mod tests;
