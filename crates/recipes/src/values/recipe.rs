//! The recipe `pftal-bandit`, calibrated.
//!
//! Values are clipped to the range [0, B] or [−B, B]; its middle is subtracted (E[u] = 0, so that
//! changes no mean), and (p/β)·value·u goes into the sum, a vector no longer than pB/(2β) or pB/β.
//! Two persons meet the same u, so they are pB/β or 2pB/β apart under replace-one: the ball's
//! 2·radius is exactly that. A null record is the zero vector, the value in the middle of the
//! range: it is at most the radius away from any other, which is what zero-out charges.
//!
//! A set that is longer than wide is played in its rounder image (ST13's isotropic position): the
//! learner and its directions are in coordinates y of a public linear map, and a play is the point
//! of the set whose image is w + βu. What goes into the sum is a value times (p/β)u as ever, so the
//! map moves no sensitivity.

use crate::catalogue::RecipeName;
use crate::error::RecipeError;
use crate::linear::{Holds, NOT_ALL, RegretBound, mean_length};
use hushstream_account::{Adjacency, Budget};
use hushstream_learn::bandits::OnePoint;
use hushstream_learn::{DualAveraging, FollowTheApproximateLeader, Learner};
use hushstream_mechanism::Participation;
use hushstream_mechanism::feedback::Range;
use hushstream_mechanism::losses::Loss;
use hushstream_mechanism::sums::{Geometry, Noise, SumKind, SumPlan, SumRequest};
use hushstream_sets::{ConvexSet, Image};
use std::sync::Arc;

/// Parameters of a bandit recipe on convex losses.
#[derive(Clone)]
pub struct ValuesRequest {
    /// The loss whose value is asked for.
    pub loss: Arc<dyn Loss>,
    /// Where plays live: a set with interior, or one that knows its affine hull.
    pub set: Arc<dyn ConvexSet>,
    /// Where values lie.
    pub range: Range,
    /// T.
    pub rounds: u64,
    /// Whether losses may depend on earlier plays: another radius of plays.
    pub adaptive: bool,
    /// H of strongly convex losses; the general convex learner if the loss has none and none is
    /// given.
    pub curvature: Option<f64>,
    /// β, the radius of plays, if not the calibrated one; it is the set's own, which is then not
    /// moved.
    pub radius: Option<f64>,
    /// The sum; the tree if none is named.
    pub sum: Option<SumKind>,
    /// The noise; by the budget if none.
    pub noise: Option<Noise>,
    /// What may be spent.
    pub budget: Budget,
    /// The neighbouring relation.
    pub adjacency: Adjacency,
    /// Who contributes how often.
    pub participation: Participation,
}

/// The recipe with everything fixed but the data.
#[derive(Clone)]
pub struct ValuesRecipe {
    pub(crate) request: ValuesRequest,
    pub(crate) plan: SumPlan,
    pub(crate) geometry: OnePoint,
    /// The map to where it plays, if that is rounder than the set.
    image: Option<Image>,
    strongly_convex: bool,
    /// H where it plays.
    curvature: f64,
    /// The longest one-point gradient.
    longest: f64,
}

impl ValuesRequest {
    /// Calibrates the recipe.
    ///
    /// # Errors
    /// A set without interior; everything that is out of range or does not fit.
    pub fn plan(self) -> Result<ValuesRecipe, RecipeError> {
        if self.loss.dimension() != self.set.dimension() {
            return Err(RecipeError::Unfit(
                "the loss and the set have different dimensions".into(),
            ));
        }
        if self.rounds < 2 {
            return Err(RecipeError::Unfit(
                "rounds: at least two, since nothing is released after the last".into(),
            ));
        }
        let image = match self.radius {
            Some(_) => None,
            None => Image::rounder(&self.set)?,
        };
        let set = image.as_ref().map_or(&self.set, Image::set).clone();
        // Lengths that are stretched on the way back make losses steeper, and at least as curved.
        let (least, most) = image.as_ref().map_or((1.0, 1.0), Image::stretch);
        let native = self.loss.strong_convexity() * least * least;
        let strongly_convex = self.curvature.is_some() || native > 0.0;
        let (p, t) = (set.dimension() as f64, self.rounds as f64);
        let root = if strongly_convex && !self.adaptive {
            3.0
        } else {
            4.0
        };
        let stated = OnePoint::stated_radius(set.as_ref(), self.rounds, root);
        let radius = self.radius.unwrap_or(stated);
        let geometry = OnePoint::new(&set, radius)?;
        let noise = self.noise.unwrap_or(if self.budget.is_pure() {
            Noise::L2Laplace
        } else {
            Noise::Gaussian
        });
        let kind = self.sum.unwrap_or(SumKind::Tree);
        RecipeName::PftalBandit
            .accepts(kind, noise)
            .map_err(RecipeError::Unfit)?;
        let bound = geometry.factor() * (self.range.bound() - self.range.middle());
        let dimension = u32::try_from(self.set.dimension())
            .map_err(|_| RecipeError::Unfit("dimension: below 2^32".into()))?;
        let plan = SumRequest {
            kind,
            noise,
            releases: self.rounds - 1,
            dimension,
            bound: if noise == Noise::Laplace {
                bound * p.sqrt()
            } else {
                bound
            },
            geometry: Geometry::Ball,
            least_sigma: 0.0,
            batch: 1,
            adjacency: self.adjacency,
            participation: self.participation,
            budget: self.budget,
        }
        .plan()?;
        let curvature = match self.curvature {
            Some(given) => given * least * least,
            None if strongly_convex => native,
            None => {
                let noise = plan.prefix_sd_max() * p.sqrt();
                let slope = bound.min(self.loss.lipschitz() * most + bound / t.powf(0.25));
                DualAveraging::suggested_h(set.diameter(), slope, noise, self.rounds)?
            }
        };
        let recipe = ValuesRecipe {
            request: self,
            plan,
            geometry,
            image,
            strongly_convex,
            curvature,
            longest: bound,
        };
        recipe.learner()?;
        Ok(recipe)
    }
}

impl ValuesRecipe {
    /// The sum's plan.
    #[must_use]
    pub fn plan(&self) -> &SumPlan {
        &self.plan
    }

    /// The parameters.
    #[must_use]
    pub fn request(&self) -> &ValuesRequest {
        &self.request
    }

    /// The point that is played or published for a point of the learner's.
    pub(crate) fn back(&self, point: &[f64]) -> Vec<f64> {
        match &self.image {
            Some(image) => image.back(point),
            None => point.to_vec(),
        }
    }

    /// Where the learner plays: the set, or its rounder image.
    #[must_use]
    pub fn played(&self) -> &Arc<dyn ConvexSet> {
        let own = &self.request.set;
        self.image.as_ref().map_or(own, Image::set)
    }

    /// H, of the losses or calibrated, where it plays.
    #[must_use]
    pub fn curvature(&self) -> f64 {
        self.curvature
    }

    /// β.
    #[must_use]
    pub fn radius(&self) -> f64 {
        self.geometry.radius()
    }

    /// The certified regret, or why there is none.
    ///
    /// **Claim** (ST13 Theorems 6, 12 and 17, with our constants). For L-Lipschitz losses within
    /// their range that are fixed in advance, in expectation over coins and noise, the plays have
    /// regret at most
    ///
    /// R(G, N) + L·T·β·(2 + r_out/r),
    ///
    /// R(G, N) the learner's own bound for gradients of length G = (p/β)·(half the range) and noise
    /// of mean length N, r_out the outer and r the inner radius of the set; all of it in the
    /// rounder image, if there is one, in which L is multiplied by the most that the map stretches
    /// lengths on the way back, and H by the square of the least.
    ///
    /// *Proof.* Let f̂_t(w) be the mean of f_t over the ball of radius β around w; it is convex (H-
    /// strongly, if f_t is), and f_t ≤ f̂_t ≤ f_t + Lβ, by Jensen. The one-point gradient g_t has
    /// mean ∇f̂_t(w_t), given the past (Stokes). So h_t(w) = f̂_t(w) + ⟨g_t − ∇f̂_t(w_t), w⟩ has
    /// gradient g_t at w_t and the same curvature, and the learner's proof, which uses no more of a
    /// loss than that, gives Σh_t(w_t) − Σh_t(w) ≤ R for every w of the shrunk set. For a w that
    /// does not depend on the coins, which losses fixed in advance allow, the mean of the left side
    /// is that of Σf̂_t(w_t) − Σf̂_t(w). A play costs f_t(w_t + βu_t) ≤ f_t(w_t) + Lβ ≤ f̂_t(w_t) +
    /// Lβ; the best point w* of the whole set, shrunk towards the centre by ξ = β/r, costs f̂_t ≤
    /// f_t(w*) + Lξ·r_out + Lβ. ∎
    ///
    /// # Errors
    /// The reason, for people.
    pub fn regret_bound(&self) -> Result<RegretBound, String> {
        if self.request.participation.is_per_person() {
            return Err(NOT_ALL.to_owned());
        }
        let (set, loss, rounds) = (self.played(), &self.request.loss, self.request.rounds);
        let (least, most) = self.image.as_ref().map_or((1.0, 1.0), Image::stretch);
        let own = loss.lipschitz() + loss.offset().abs() * (loss.dimension() as f64).sqrt();
        let slope = own * most;
        let noise = mean_length(&self.plan) + self.plan.truncation();
        let words = |error: hushstream_learn::LearnError| error.to_string();
        let shrunk = self.geometry.shrunk().clone();
        let learned = if self.strongly_convex {
            let known = loss.strong_convexity() * least * least;
            if self.curvature > known * (1.0 + 1e-12) {
                return Err(format!(
                    "the curvature, {}, is above what the losses are known to have, {known}: no \
                     theorem covers it",
                    self.curvature
                ));
            }
            FollowTheApproximateLeader::new(shrunk, self.curvature)
                .map_err(words)?
                .regret_bound(self.longest, noise, rounds)
        } else {
            DualAveraging::new(shrunk, self.curvature)
                .map_err(words)?
                .regret_bound(self.longest, noise, rounds)
        };
        let apart = 2.0 + set.outer_radius() / self.geometry.inner_radius();
        Ok(RegretBound {
            value: learned + slope * rounds as f64 * self.radius() * apart,
            holds: Holds::ExpectedOblivious,
            theorem: "ST13 Theorems 6, 12 and 17 with errata S1, S7, S8: R(pB/beta, N) + L T beta \
                      (2 + R/r)",
        })
    }

    /// A fresh learner, on the shrunk set.
    ///
    /// # Errors
    /// A set that cannot serve it.
    pub fn learner(&self) -> Result<Box<dyn Learner>, RecipeError> {
        let set = self.geometry.shrunk().clone();
        Ok(if self.strongly_convex {
            Box::new(FollowTheApproximateLeader::new(set, self.curvature)?)
        } else {
            Box::new(DualAveraging::new(set, self.curvature)?)
        })
    }

    /// Everything that makes two runs the same, in one line.
    #[must_use]
    pub fn description(&self) -> String {
        let moved = match self.image {
            Some(_) => ", in its rounder image",
            None => "",
        };
        format!(
            "{} of {} on {:?}{moved}, radius {:e}, curvature {:e} ({}), {:?}",
            RecipeName::PftalBandit,
            self.request.loss.describe(),
            self.request.set,
            self.radius(),
            self.curvature,
            self.strongly_convex,
            self.plan.request()
        )
    }
}
