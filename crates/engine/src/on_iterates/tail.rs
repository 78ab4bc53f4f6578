//! The mean of the later half of the releases: what to publish as the model where every iterate has noise of its own.
//!
//! Releases are points of a convex set, each an iterate with fresh noise, and iterates move less and less; so a mean of n late ones has noise smaller by √n, stays in the set, and is a function of what is
//! public already. What it needs beyond the journal, the sum so far, is carried by the checkpoints' note.

use super::recipe::IterateRecipe;
use crate::on_sums::RunError;
use hushstream_mechanism::perturb::Timing;
use serde::{Deserialize, Serialize};

/// A running mean of releases after the first few.
pub(super) struct Tail {
    /// Releases that do not count; nothing if there is no mean.
    skipped: Option<u64>,
    sums: Sums,
}

#[derive(Serialize, Deserialize, Default)]
struct Sums {
    /// Releases so far.
    seen: u64,
    total: Vec<f64>,
}

impl Tail {
    pub(super) fn of(recipe: &IterateRecipe) -> Self {
        let skipped = match recipe.plan().request().timing {
            Timing::Every(releases) => Some(releases / 2),
            Timing::Unknown | Timing::Last(_) => None,
        };
        Self {
            skipped,
            sums: Sums::default(),
        }
    }

    pub(super) fn add(&mut self, point: &[f64]) {
        let Some(skipped) = self.skipped else { return };
        self.sums.seen += 1;
        if self.sums.seen > skipped {
            self.sums.total.resize(point.len(), 0.0);
            for (total, value) in self.sums.total.iter_mut().zip(point) {
                *total += value;
            }
        }
    }

    /// How many releases count, and their mean.
    pub(super) fn mean(&self) -> Option<(u64, Vec<f64>)> {
        let count = self.sums.seen.saturating_sub(self.skipped?);
        let mean = |total: &f64| total / count as f64;
        (count > 0).then(|| (count, self.sums.total.iter().map(mean).collect()))
    }

    pub(super) fn note(&self) -> Result<Vec<u8>, RunError> {
        postcard::to_allocvec(&self.sums).map_err(|_| RunError::Note)
    }

    /// Goes back to a note; none is that of a run without a checkpoint.
    pub(super) fn restore(&mut self, note: &[u8]) -> Result<(), RunError> {
        if !note.is_empty() {
            self.sums = postcard::from_bytes(note).map_err(|_| RunError::Note)?;
        }
        Ok(())
    }
}
