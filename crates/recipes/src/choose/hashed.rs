//! The sparse learner, for hashed features: what it takes and what is chosen for it.

use super::{Situation, Task, Wishes};
use crate::catalogue::RecipeName;
use crate::error::RecipeError;
use crate::sparse::{SparseRecipe, SparseRequest};
use hushstream_account::ParameterError;
use hushstream_mechanism::Participation;
use hushstream_mechanism::losses::{Bounds, Link};
use hushstream_mechanism::sums::{Noise, SumKind};

/// The largest score that a class needs: a logistic loss has e⁻⁵ left there.
const SCORE: f64 = 5.0;

impl Situation {
    /// Whether nothing was asked for that the sparse learner does not do.
    #[must_use]
    pub fn suits_sparse(&self, wishes: &Wishes) -> bool {
        // Its own may be named.
        wishes.sum.is_none_or(|sum| sum == SumKind::Tree)
            && wishes.noise.is_none_or(|noise| noise == Noise::Gaussian)
            && wishes.batch.is_none()
            && !self.budget.is_pure()
            && !self.horizon_unknown
            && self.participation == Participation::OncePerRecord
    }

    /// `sparse-ftrl`, with weights as long as scores need.
    ///
    /// # Errors
    /// A task that it does not support; a parameter out of range.
    pub fn choose_sparse(&self, wishes: &Wishes) -> Result<SparseRecipe, RecipeError> {
        wishes.check(RecipeName::SparseFtrl)?;
        if !self.suits_sparse(wishes) {
            return Err(RecipeError::Unfit(
                "sparse-ftrl runs on its own tree with Gaussian noise \
                (delta > 0), releases every row, protects records and needs a known \
                horizon"
                    .to_owned(),
            ));
        }
        let (targets, usual, scores) = match self.task {
            Task::Sign => ((-1.0, 1.0), Link::Logistic, SCORE),
            Task::Number(low, high) => ((low, high), Link::Squared, low.abs().max(high.abs())),
            _ => {
                return Err(RecipeError::Unfit(
                    "sparse-ftrl predicts one of two classes, or a number".to_owned(),
                ));
            }
        };
        let features = u32::try_from(self.features).map_err(|_| {
            ParameterError::new("features", self.features as f64, "fewer than 2^32")
        })?;
        let weights = wishes.radius.unwrap_or(scores / self.length);
        SparseRequest {
            features,
            bounds: Bounds::new(self.length, targets, weights)?,
            link: wishes.link.unwrap_or(usual),
            rounds: self.rounds,
            budget: self.budget,
            adjacency: self.adjacency,
            rate: wishes.learning_rate,
        }
        .plan()
    }
}
