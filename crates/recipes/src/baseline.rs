//! What a run would be without privacy: the same learner, fed exactly, beside the run. For the
//! operator only.

use crate::error::RunError;
use crate::tables::TablesShadow;
use hushstream_mechanism::losses::Record;
use hushstream_mechanism::{Raw, Scoreboard};

/// A learner without privacy, on the records of a run. The difference between the two is what
/// privacy costs; nothing of it may be published.
///
/// ```
/// use hushstream_account::{Adjacency, Budget};
/// use hushstream_mechanism::losses::{Features, Record};
/// use hushstream_mechanism::{Participation, Raw};
/// use hushstream_recipes::{Advice, Baseline, ExpertsRequest, ExpertsShadow, RecipeName};
///
/// let recipe = ExpertsRequest {
///     recipe: RecipeName::Dartboard,
///     advice: Advice::Experts(2),
///     rounds: Some(100),
///     restart: None,
///     batch: None,
///     board: None,
///     budget: Budget::approx(1.0, 1e-6)?,
///     adjacency: Adjacency::ReplaceOne,
///     participation: Participation::OncePerRecord,
/// }
/// .plan()?;
/// let mut shadow = ExpertsShadow::new(&recipe, 1.0)?;
/// for _ in 0..100 {
///     let losses = Features::Dense(vec![0.9, 0.1]); // of two experts, the second is better
///     shadow.learn(&Raw::seal(Record { features: losses, target: 0.0 }))?;
/// }
/// assert!(shadow.weights()[1] > 0.99);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Baseline: Send {
    /// Scores the record that is learned from next.
    fn score(&self, record: &Raw<Record>, board: &mut Scoreboard);

    /// Learns from a record; a malformed one counts as in the run.
    ///
    /// # Errors
    /// Those of the learner.
    fn learn(&mut self, record: &Raw<Record>) -> Result<(), RunError>;
}

impl Baseline for TablesShadow {
    fn score(&self, record: &Raw<Record>, board: &mut Scoreboard) {
        self.score(record, board);
    }

    fn learn(&mut self, record: &Raw<Record>) -> Result<(), RunError> {
        self.learn(record)
    }
}
