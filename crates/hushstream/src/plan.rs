//! The plan of a run, from public numbers alone.

use crate::learner::Learner;
use crate::methods::Method;
use crate::outcome::Parameters;
use crate::warnings;
use hushstream_account::Adjacency;
use hushstream_pictures::numbers::{delta, grouped};
use hushstream_read::Layout;
use hushstream_recipes::{MechanismKind, RecipeName};
use std::fmt;

/// What was chosen, and why: the recipe, its noise, its regret bound, and what to think about
/// before the charge.
///
/// ```
/// use hushstream::prelude::*;
///
/// let plan = Learner::experts(8)
///     .records(100_000)
///     .budget(Budget::approx(1.0, 1e-6)?)
///     .adjacency(ReplaceOne)
///     .plan()?;
/// assert_eq!(plan.size, (8, "experts"));
/// assert!(plan.parameters.regret_bound.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Plan {
    /// The recipe.
    pub recipe: RecipeName,
    /// The recipe in a sentence.
    pub headline: String,
    /// The number of features, experts or arms, and which of these they are.
    pub size: (usize, &'static str),
    /// Number of records; with an unknown horizon, a rough guess.
    pub records: u64,
    /// Whether the stream may be endless.
    pub horizon_unknown: bool,
    /// ε and δ of this run.
    pub budget: (f64, f64),
    /// The neighbouring relation.
    pub adjacency: Adjacency,
    /// The parameters of the recipe, with its regret bound and the reasons for the choice.
    pub parameters: Parameters,
    /// Warnings to consider before the charge.
    pub warnings: Vec<String>,
}

impl Plan {
    pub(crate) fn new(learner: &Learner, layout: &Layout, method: &dyn Method) -> Self {
        let privacy = &learner.privacy;
        let (parameters, records) = (method.parameters(), method.records().0);
        let mut warnings = Vec::new();
        // For an endless stream the number of records is a guess, unless it is stated.
        if !privacy.horizon_unknown || privacy.rounds.is_some() {
            warnings.extend(warnings::large_delta(privacy.delta, records));
        }
        if let (Some(bound), Some(trivial)) = (parameters.regret_bound, parameters.trivial_regret) {
            let told = warnings::trivial_bound(bound, trivial);
            warnings.extend(told.map(|told| format!("warning: {told}")));
        }
        warnings.extend(warnings::left_ledgers(learner));
        Self {
            recipe: method.recipe(),
            headline: method.headline(),
            size: match (layout.arms(), method.recipe().entry().mechanism) {
                (Some(arms), MechanismKind::Feedback) => (arms, "arms"),
                (Some(arms), _) if layout.decides().is_some() => (arms, "arms"),
                (Some(experts), _) => (experts, "experts"),
                (None, _) => (layout.dimension(), "features"),
            },
            records,
            horizon_unknown: privacy.horizon_unknown,
            budget: (privacy.epsilon, privacy.delta),
            adjacency: privacy.adjacency.unwrap_or(Adjacency::ReplaceOne),
            parameters,
            warnings,
        }
    }
}

/// Prints the choice and its reasons, line by line, without the warnings.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let horizon = if self.horizon_unknown {
            "any number of records".to_owned()
        } else {
            format!("{} records", grouped(self.records))
        };
        let ((count, things), (epsilon, bound)) = (self.size, self.budget);
        write!(
            f,
            "{}: {} {things}, {horizon}, (ε, δ) = ({epsilon}, {}), {}",
            self.headline,
            grouped(count as u64),
            delta(bound),
            self.adjacency,
        )?;
        for reason in &self.parameters.reasons {
            write!(f, "\n  chosen: {reason}")?;
        }
        if let Some(until) = self.parameters.rows_until_signal {
            write!(
                f,
                "\n  noise: a feature stands out after about {} records that have it alone, at \
                 full length, and agree; there are {}",
                grouped(until.ceil() as u64),
                grouped(self.records)
            )?;
        }
        Ok(())
    }
}
