//! Parameters of private feedback, and their price.
//!
//! Noise is fixed: discrete Laplace of scale 2³⁰ or ⌊2³⁰·N(0,1)⌉. Privacy sets the integer image R
//! of the range's bound M: a number y becomes ⌊yR/M⌋ toward zero, in [0, R] or [−R, R], checked in
//! integers. One person moves the sum of a batch by at most Δ, so ε = Δ/2³⁰, respectively μ =
//! Δ/2³⁰, exactly.
//!
//! **A null answer is no answer, so it must favour no play.** As 0 it would be the best answer of
//! [0, M], and the arm whose outcomes are missing would win. So a null is the integer m:
//!
//! | range | integers | m | Δ, replace-one | Δ, zero-out |
//! |---|---|---|---|---|
//! | [0, M] | 0 … R | ⌊R/2⌋ | R | ⌈R/2⌉ |
//! | [−M, M] | −R … R | 0 | 2R | R |
//! | a log's [0, M] | 0 … R | ⌊R/2M⌋: half of one loss | R | R |
//!
//! *Proof.* Plays, coins and all other answers are the same in both worlds, given the releases so
//! far, so the sum of one batch changes by the difference of two answers, whatever the batch. Under
//! replace-one both are integers of the range, nulls included, because m is one; the range's length
//! is R or 2R. Under zero-out one of them is m, and the other is at most max(m, R − m) = R − ⌊R/2⌋
//! = ⌈R/2⌉ away from it in the first row, and R in the second. In the third, m is near the lower
//! end, and the whole length R is charged in both cases: it covers a null row as well as a row that
//! only lacks its outcome (`reading.rs`). ∎ The tests try all pairs.
//!
//! **A person with k answers.** Answers of one person are at least one item apart, so each is in a
//! mean of its own. They may be in k means of one world and in k others of the other (an empty
//! record uses up no turn), with nulls in their place. So c ≤ k means move by Δ of replace-one, and
//! 2(k − c) by Δ₀ of zero-out, the distance to a null. The noisy means are drawn one after another,
//! so their losses add up: ε = k·max(Δ, 2Δ₀)/2³⁰; and squares of μ add up: μ = √k·max(Δ,
//! √2·Δ₀)/2³⁰. Under zero-out k means move by Δ₀. The precision of all draws that differ adds up
//! too.

use super::reading::Reading;
use crate::boundary::Scope;
use crate::durable::DiaryError;
use crate::mechanism::Terms;
use crate::persons::{Participation, PersonError, Persons};
use hushstream_account::{
    AccountError, Adjacency, Budget, Charge, Epsilon, FilterKind, Guarantee, GuaranteeError, Mu,
    ParameterError, Price,
};
use hushstream_noise::{DiscreteLaplace, NoiseError, RoundedGaussian};
use serde::{Deserialize, Serialize};

/// The scale of all noise, in lattice units.
pub(crate) const SCALE: u64 = 1 << 30;
const MOST_ITEMS: u64 = 1 << 40;

/// The range of answers. Answers outside are clipped.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Range {
    /// [0, M]: two answers are M apart.
    ZeroTo(f64),
    /// [−M, M]: two answers are 2M apart.
    Symmetric(f64),
    /// [0, M] for the losses of a log, from 0 to 1, times weights of at most M, which is 1 or more.
    Weighted(f64),
}

impl Range {
    /// M.
    #[must_use]
    pub fn bound(self) -> f64 {
        match self {
            Self::ZeroTo(bound) | Self::Symmetric(bound) | Self::Weighted(bound) => bound,
        }
    }

    /// The midpoint of the range.
    #[must_use]
    pub fn middle(self) -> f64 {
        match self {
            Self::ZeroTo(bound) | Self::Weighted(bound) => bound / 2.0,
            Self::Symmetric(_) => 0.0,
        }
    }

    /// The null answer: the midpoint of the range; in a log, half of one loss.
    #[must_use]
    pub fn null(self) -> f64 {
        match self {
            Self::ZeroTo(_) | Self::Symmetric(_) => self.middle(),
            Self::Weighted(_) => 0.5,
        }
    }

    /// The nearest number in the range.
    #[must_use]
    pub fn clip(self, value: f64) -> f64 {
        value.clamp(self.least(), self.bound())
    }

    fn least(self) -> f64 {
        match self {
            Self::ZeroTo(_) | Self::Weighted(_) => 0.0,
            Self::Symmetric(bound) => -bound,
        }
    }

    /// Δ, in lattice units: how far one person moves a sum of integers.
    fn moved(self, radius: i64, adjacency: Adjacency) -> i64 {
        match (self, adjacency) {
            (Self::Symmetric(_), Adjacency::ReplaceOne) => 2 * radius,
            (Self::ZeroTo(_), Adjacency::ZeroOut) => radius - self.null_integer(radius),
            _ => radius,
        }
    }

    /// The null answer's integer.
    pub(crate) fn null_integer(self, radius: i64) -> i64 {
        match self {
            Self::ZeroTo(_) => radius / 2,
            Self::Symmetric(_) => 0,
            Self::Weighted(_) => self.integer(radius, self.null()),
        }
    }

    /// The integer of a finite number, within the range in spite of rounding.
    pub(crate) fn integer(self, radius: i64, value: f64) -> i64 {
        let least = match self {
            Self::ZeroTo(_) | Self::Weighted(_) => 0,
            Self::Symmetric(_) => -radius,
        };
        let unit = self.bound() / radius as f64;
        ((self.clip(value) / unit) as i64).clamp(least, radius)
    }
}

/// The distribution of the noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FeedbackNoise {
    /// Discrete Laplace: ε, δ = 0.
    Laplace,
    /// Rounded Gaussian: δ > 0.
    Gaussian,
}

impl FeedbackNoise {
    /// Total-variation error of one draw.
    fn slack(self) -> f64 {
        match self {
            Self::Laplace => DiscreteLaplace::SLACK,
            Self::Gaussian => RoundedGaussian::SLACK,
        }
    }
}

/// Parameters of private feedback.
///
/// ```
/// use hushstream_account::{Adjacency, Budget};
/// use hushstream_mechanism::Participation;
/// use hushstream_mechanism::feedback::{FeedbackRequest, Range};
///
/// let request = FeedbackRequest {
///     range: Range::ZeroTo(1.0),
///     batch: 10,
///     rounds: Some(1000),
///     noise: None, // Laplace, since δ = 0
///     adjacency: Adjacency::ReplaceOne,
///     participation: Participation::OncePerRecord,
///     budget: Budget::pure(0.5)?,
/// };
/// let plan = request.plan()?;
/// assert!((plan.scale() - 1.0 / (0.5 * 10.0)).abs() < 1e-6); // range/(ε·batch)
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FeedbackRequest {
    /// The range of answers.
    pub range: Range,
    /// Persons per play.
    pub batch: u64,
    /// Total number of persons, if known. Privacy does not depend on it.
    pub rounds: Option<u64>,
    /// The noise; by default Laplace for δ = 0 and Gaussian for δ > 0.
    pub noise: Option<FeedbackNoise>,
    /// The neighbouring relation.
    pub adjacency: Adjacency,
    /// Who answers how often. A journal stores it after the plan.
    #[serde(skip)]
    pub participation: Participation,
    /// The budget of the whole run.
    pub budget: Budget,
}

/// Why feedback is refused.
#[derive(Debug, thiserror::Error)]
pub enum FeedbackError {
    /// A number out of range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The budget.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// A guarantee that would promise nothing.
    #[error(transparent)]
    Guarantee(#[from] GuaranteeError),
    /// The journal or the ledger.
    #[error(transparent)]
    Diary(#[from] DiaryError),
    /// The noise.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// A stored plan or item that this program does not produce.
    #[error("the stored feedback is not of this program")]
    Stored,
    /// An answer without its person, or with a person where the plan has none.
    #[error(transparent)]
    Person(#[from] PersonError),
}

/// A feedback plan: everything that is fixed before any data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FeedbackPlan {
    pub(crate) request: FeedbackRequest,
    pub(crate) noise: FeedbackNoise,
    /// R.
    pub(crate) radius: i64,
}

impl FeedbackRequest {
    /// Chooses the integer radius.
    ///
    /// # Errors
    /// A parameter out of range; the message states the allowed values.
    pub fn plan(self) -> Result<FeedbackPlan, FeedbackError> {
        let noise = self.noise.unwrap_or(if self.budget.is_pure() {
            FeedbackNoise::Laplace
        } else {
            FeedbackNoise::Gaussian
        });
        self.participation.check_few()?;
        let (answers, _) = self.participation.limits();
        let slack = self.participation.differing(self.adjacency) as f64 * noise.slack();
        let (allowed, times) = match noise {
            FeedbackNoise::Laplace => (self.budget.epsilon(), answers as f64),
            FeedbackNoise::Gaussian => (
                Mu::within_with_slack(self.budget, slack)?.get(),
                (answers as f64).sqrt(),
            ),
        };
        // Δ/R, up to a rounding that the loop below corrects.
        let width = match (self.range, self.adjacency) {
            (Range::Symmetric(_), Adjacency::ReplaceOne) => 2.0,
            (Range::ZeroTo(_), Adjacency::ZeroOut) => 0.5,
            (Range::Weighted(_), Adjacency::ReplaceOne) if self.participation.is_per_person() => {
                2.0
            }
            _ => 1.0,
        };
        let ideal = allowed * SCALE as f64 / (width * times);
        let mut plan = FeedbackPlan {
            request: self,
            noise,
            radius: ideal.clamp(0.0, (1_u64 << 40) as f64) as i64,
        };
        // Rounding may have gone one unit too far.
        while plan.radius > 0 && plan.loss()? > allowed {
            plan.radius -= 1;
        }
        plan.check()?;
        Ok(plan)
    }
}

impl FeedbackPlan {
    pub(crate) fn check(&self) -> Result<(), FeedbackError> {
        let request = &self.request;
        request.participation.check_few()?;
        let bound = request.range.bound();
        let wrong =
            |parameter, given, allowed| Err(ParameterError::new(parameter, given, allowed).into());
        if !(1e-200..1e200).contains(&bound) {
            return wrong("bound on answers", bound, "1e-200 to 1e200");
        }
        if matches!(request.range, Range::Weighted(_)) && bound < 1.0 {
            return wrong("bound on weighted losses", bound, "at least 1");
        }
        if !(1..=1 << 20).contains(&request.batch) {
            return wrong("batch", request.batch as f64, "1 to 2^20");
        }
        if !(1 << 10..=1 << 40).contains(&self.radius) {
            let given = request.budget.epsilon();
            return wrong(
                "epsilon",
                given,
                "large enough for a thousand lattice units",
            );
        }
        if request
            .rounds
            .is_some_and(|rounds| !(1..=MOST_ITEMS).contains(&rounds))
        {
            return wrong("rounds", 0.0, "1 to 2^40");
        }
        self.guarantee(true).map(|_| ())
    }

    /// ε or μ, rounded up: Δ/2³⁰ of a record, and of a person as stated above.
    fn loss(&self) -> Result<f64, FeedbackError> {
        let request = &self.request;
        let moved = |adjacency| request.range.moved(self.radius, adjacency) as f64;
        let (mut each, alone) = (moved(request.adjacency), moved(Adjacency::ZeroOut));
        let is_person = request.participation.is_per_person();
        if is_person && request.adjacency == Adjacency::ReplaceOne {
            each = each.max(match self.noise {
                FeedbackNoise::Laplace => 2.0 * alone,
                FeedbackNoise::Gaussian => (std::f64::consts::SQRT_2.next_up() * alone).next_up(),
            });
        }
        let (answers, _) = request.participation.limits();
        Ok(match self.noise {
            // Exact: an integer over a power of two; plans keep it far below 2⁵³.
            FeedbackNoise::Laplace => answers as f64 * each / SCALE as f64,
            FeedbackNoise::Gaussian if answers == 1 => Mu::new(each / SCALE as f64)?.get(),
            FeedbackNoise::Gaussian => {
                let root = (answers as f64).sqrt().next_up();
                Mu::new((root * each).next_up() / SCALE as f64)?.get()
            }
        })
    }

    /// Total-variation error of the draws that a record, or a person, affects.
    fn slack(&self) -> f64 {
        let draws = self.request.participation.differing(self.request.adjacency);
        draws as f64 * self.noise.slack()
    }

    /// The request of this plan.
    #[must_use]
    pub fn request(&self) -> &FeedbackRequest {
        &self.request
    }

    /// The distribution of the noise.
    #[must_use]
    pub fn noise(&self) -> FeedbackNoise {
        self.noise
    }

    /// The scale λ of the noise on one mean (its standard deviation, for Gaussian noise), in the
    /// units of answers.
    #[must_use]
    pub fn scale(&self) -> f64 {
        SCALE as f64 * self.unit() / self.request.batch as f64
    }

    /// The variance of the noise on one mean.
    #[must_use]
    pub fn variance(&self) -> f64 {
        let factor = match self.noise {
            FeedbackNoise::Laplace => 2.0,
            FeedbackNoise::Gaussian => 1.0,
        };
        factor * self.scale() * self.scale()
    }

    pub(crate) fn unit(&self) -> f64 {
        self.request.range.bound() / self.radius as f64
    }

    /// The largest number of items.
    #[must_use]
    pub fn most_items(&self) -> u64 {
        let rounds = self.request.rounds.unwrap_or(MOST_ITEMS);
        rounds.div_ceil(self.request.batch)
    }

    /// The price of the whole run.
    ///
    /// # Errors
    /// Numbers out of range. [`FeedbackRequest::plan`] has checked them, so a plan does not fail
    /// here.
    pub fn charge(&self) -> Result<Price, FeedbackError> {
        let loss = self.loss()?;
        let charge = match self.noise {
            FeedbackNoise::Laplace => Charge::Pure(Epsilon::new(loss)?),
            FeedbackNoise::Gaussian => Charge::Gaussian(Mu::new(loss)?),
        };
        Ok(Price::new(charge, self.request.budget, self.slack())?)
    }

    /// The filter of a ledger that accepts the price.
    #[must_use]
    pub fn filter(&self) -> FilterKind {
        match self.noise {
            FeedbackNoise::Laplace => FilterKind::Pure,
            FeedbackNoise::Gaussian => FilterKind::Gaussian,
        }
    }

    /// The scope of the price.
    #[must_use]
    pub fn scope(&self) -> Scope {
        Scope {
            per_person: self.request.participation.is_per_person(),
            ..Scope::records(self.request.adjacency)
        }
    }

    pub(crate) fn terms(&self) -> Result<Terms, FeedbackError> {
        Ok(Terms {
            price: self.charge()?,
            scope: self.scope(),
            planned: self.most_items(),
            needs_all: self
                .request
                .participation
                .is_per_person()
                .then_some(Persons::NEEDED),
        })
    }

    /// The guarantee of all plays and noisy answers together.
    ///
    /// # Errors
    /// Numbers out of range. [`FeedbackRequest::plan`] has checked them, so a plan does not fail
    /// here.
    pub fn guarantee(&self, simulated: bool) -> Result<Guarantee, FeedbackError> {
        self.promise(self.most_items(), None, simulated)
    }

    /// The guarantee for this number of items: for an unknown horizon, the items so far.
    pub(crate) fn promise(
        &self,
        items: u64,
        reading: Option<&Reading>,
        simulated: bool,
    ) -> Result<Guarantee, FeedbackError> {
        let request = &self.request;
        let (epsilon, delta, noise, slack) = match self.charge()?.charge {
            Charge::Gaussian(mu) => (
                request.budget.epsilon(),
                mu.delta_at(request.budget.epsilon())?,
                "Gaussian",
                self.slack(),
            ),
            other => (
                other.epsilon().unwrap_or(f64::NAN),
                0.0,
                "Laplace",
                self.slack(),
            ),
        };
        let rounds = request
            .rounds
            .unwrap_or(items.saturating_mul(request.batch));
        let clipped = match (reading, request.range) {
            (Some(reading), _) => reading.words(),
            (None, range) => format!(
                "answers are clipped to [{}, {}], and a missing one counts as {}",
                range.least(),
                range.bound(),
                range.null()
            ),
        };
        let mut builder = Guarantee::builder(epsilon, delta, request.adjacency, rounds)
            .releases(items)
            .mechanism("scalar feedback")
            .noise(noise)
            .sigma(self.variance().sqrt() / request.range.bound())
            .assume(clipped)
            .assume("the learner sees only its plays, its coins and the noisy answers")
            .assume("the number of records and the time of each are public")
            .assume("AES-256 and HMAC-SHA-256 are pseudo-random")
            .total_variation(slack)
            .citation("AS17 Theorem 4.1")
            .erratum("A4")
            .simulated(simulated);
        builder = request.participation.stated(builder);
        if let Charge::Gaussian(mu) = self.charge()?.charge {
            builder = builder.mu(mu);
        }
        Ok(builder.build()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every integer that an answer can become, by numbers on and off the lattice and beyond the
    /// ends.
    fn integers(range: Range, radius: i64) -> Vec<i64> {
        let steps = -12 * radius..=12 * radius;
        let values = steps.map(|k| k as f64 / (8 * radius) as f64 * range.bound());
        let mut all: Vec<i64> = values.map(|value| range.integer(radius, value)).collect();
        all.extend([range.null_integer(radius), radius]);
        all.sort_unstable();
        all.dedup();
        all
    }

    /// All pairs of answers, nulls among them: Δ covers each, and is attained but for a log under
    /// zero-out, where the whole range is charged.
    #[test]
    fn one_answer_moves_a_sum_by_at_most_delta() {
        for radius in 1..=33 {
            for range in [
                Range::ZeroTo(3.0),
                Range::Symmetric(0.7),
                Range::Weighted(1.0),
                Range::Weighted(5.0),
            ] {
                let all = integers(range, radius);
                let null = range.null_integer(radius);
                let ends = (all[0], all[all.len() - 1]);
                let symmetric = matches!(range, Range::Symmetric(_));
                assert_eq!(ends, (if symmetric { -radius } else { 0 }, radius));
                let apart = |other: &[i64]| {
                    let pairs = all.iter().flat_map(|a| other.iter().map(move |b| a - b));
                    pairs.map(i64::abs).max().unwrap_or(0)
                };
                let replaced = range.moved(radius, Adjacency::ReplaceOne);
                assert_eq!(apart(&all), replaced, "{range:?}, R = {radius}");
                let zeroed = range.moved(radius, Adjacency::ZeroOut);
                let farthest = apart(&[null]);
                assert!(farthest <= zeroed, "{range:?}, R = {radius}: {farthest}");
                if !matches!(range, Range::Weighted(_)) {
                    assert_eq!(farthest, zeroed, "{range:?}, R = {radius}");
                }
                // The null lies in the middle, or half a loss above 0, to less than one unit.
                let unit = range.bound() / radius as f64;
                assert!((range.null() - null as f64 * unit).abs() < unit);
            }
        }
        assert_eq!(Range::ZeroTo(1.0).moved(7, Adjacency::ZeroOut), 4);
        assert_eq!(Range::ZeroTo(1.0).moved(8, Adjacency::ZeroOut), 4);
    }

    /// A budget buys all that it can, and no more.
    #[test]
    fn the_radius_spends_the_budget() {
        for range in [
            Range::ZeroTo(1.0),
            Range::Symmetric(1.0),
            Range::Weighted(4.0),
        ] {
            for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
                for epsilon in [0.3, 1.0, 2.0_f64.powi(-19) * 1.5] {
                    let plan = FeedbackRequest {
                        range,
                        batch: 3,
                        rounds: Some(10),
                        noise: None,
                        adjacency,
                        participation: Participation::OncePerRecord,
                        budget: Budget::pure(epsilon).unwrap(),
                    }
                    .plan()
                    .unwrap();
                    let spent = range.moved(plan.radius, adjacency) as f64 / SCALE as f64;
                    let next = range.moved(plan.radius + 2, adjacency) as f64 / SCALE as f64;
                    assert!(
                        spent <= epsilon && epsilon < next,
                        "{range:?} {adjacency:?}"
                    );
                }
            }
        }
        let bad = FeedbackRequest {
            range: Range::Weighted(0.5),
            batch: 1,
            rounds: None,
            noise: None,
            adjacency: Adjacency::ZeroOut,
            participation: Participation::OncePerRecord,
            budget: Budget::pure(1.0).unwrap(),
        };
        assert!(bad.plan().is_err());
    }

    /// k answers of one person: ε is k times that of one, μ is √k times, and the noise grows so
    /// that both stay within the budget.
    #[test]
    fn a_person_pays_for_all_its_answers() {
        let plan = |most: u64, budget: Budget| {
            FeedbackRequest {
                range: Range::ZeroTo(1.0),
                batch: 1,
                rounds: Some(100),
                noise: None,
                adjacency: Adjacency::ReplaceOne,
                participation: match most {
                    1 => Participation::OncePerRecord,
                    most => Participation::PerPerson {
                        most,
                        separation: 1,
                    },
                },
                budget,
            }
            .plan()
        };
        for (budget, power) in [
            (Budget::pure(0.7).unwrap(), 1.0),
            (Budget::approx(0.7, 1e-6).unwrap(), 0.5),
        ] {
            let one = plan(1, budget).unwrap();
            for most in [2, 3, 10, 4096] {
                let many = plan(most, budget).unwrap();
                let times = (most as f64).powf(power);
                let ratio = many.scale() / one.scale() / times;
                // The samplers' precision takes a little of μ for every answer.
                assert!((0.999..1.01).contains(&ratio), "{most} {ratio}");
                let moved = many.radius as f64 / SCALE as f64;
                let spent = many.loss().unwrap();
                let share = spent / (times * moved);
                assert!((1.0..1.0 + 1e-4).contains(&share), "{most} {share}");
                assert!(many.scope().per_person && !one.scope().per_person);
                assert!(many.guarantee(true).is_ok());
            }
            assert!(plan(0, budget).is_err() && plan(4097, budget).is_err());
            // Turns that move from one item to another: in a log a row and a null are as far apart
            // as two rows, and 2k means may move by all of it.
            let mut log = plan(3, budget).unwrap().request;
            log.range = Range::Weighted(4.0);
            let log = log.plan().unwrap();
            let share = log.loss().unwrap() * SCALE as f64 / log.radius as f64;
            let expected = if power > 0.75 { 6.0 } else { 6.0_f64.sqrt() };
            assert!((share / expected - 1.0).abs() < 1e-9, "{share} {expected}");
        }
    }
}
