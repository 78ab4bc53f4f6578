//! Mechanisms with a bug planted in them, each beside its correct twin: an audit must flag the one
//! and pass the other.
//!
//! They are written by hand on the samplers and the public learners, never on the product's
//! mechanisms: no bug can leave this folder. Whoever adds a recipe adds its bugs here, as one more
//! [`Planted`] in [`all`]; the test over the list does the rest.

mod answers;
mod batches;
mod calibration;
mod content;
mod decisions;
mod handmade;
mod iterates;
mod order;
mod phases;
mod selection;
mod sparse;
mod structure;
mod tables;

use crate::procedure::{Effort, Verdict, audit};
use crate::{AuditError, Claim, Duel};

pub(crate) use handmade::{Handmade, duel, scored};
pub use order::order_matters;
pub(crate) use selection::{Dartboard, aimed, batch};

/// What an audit says about a planted mechanism.
#[derive(Debug, Clone)]
pub enum Finding {
    /// The result of an audit.
    Audited(Box<Verdict>),
    /// Whether the order of the records changed the result: a mechanism whose exact sums are exact
    /// must not care.
    OrderMatters(bool),
}

impl Finding {
    /// Whether the bug was found.
    pub fn is_flagged(&self) -> bool {
        match self {
            Self::Audited(verdict) => verdict.violated(),
            Self::OrderMatters(matters) => *matters,
        }
    }
}

/// A bug and its correct twin.
///
/// ```
/// for bug in hushstream_audit::planted::all() {
///     println!("{}: {}", bug.name(), bug.what());
/// }
/// ```
pub trait Planted: Sync {
    /// Short, for tables.
    fn name(&self) -> &'static str;

    /// The planted bug.
    fn what(&self) -> &'static str;

    /// Audits the mechanism, with or without the bug.
    ///
    /// # Errors
    /// Those of an audit.
    fn examine(&self, faulty: bool, effort: Effort) -> Result<Finding, AuditError>;
}

/// The bugs that exist so far.
pub fn all() -> Vec<Box<dyn Planted>> {
    let mut bugs = calibration::all();
    bugs.extend(structure::all());
    bugs.extend(content::all());
    bugs.extend(selection::all());
    bugs.extend(answers::all());
    bugs.extend(phases::all());
    bugs.extend(iterates::all());
    bugs.extend(sparse::all());
    bugs.extend(tables::all());
    bugs.extend(decisions::all());
    bugs.extend(batches::all());
    bugs.push(Box::new(order::FloatSum));
    bugs
}

/// A bug that shows in a duel.
pub(crate) struct InDuel {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) claim: Claim,
    /// The mechanism, with or without the bug.
    pub(crate) duel: fn(bool, Claim) -> Result<Box<dyn Duel>, AuditError>,
}

impl Planted for InDuel {
    fn name(&self) -> &'static str {
        self.name
    }

    fn what(&self) -> &'static str {
        self.what
    }

    fn examine(&self, faulty: bool, effort: Effort) -> Result<Finding, AuditError> {
        let duel = (self.duel)(faulty, self.claim)?;
        let verdict = audit(self.claim, &[duel], effort)?;
        Ok(Finding::Audited(Box::new(verdict)))
    }
}

/// A claim of μ and nothing else: (0, 1) is no promise.
pub(crate) const fn gaussian(mu: f64) -> Claim {
    Claim::Gaussian {
        mu,
        epsilon: 0.0,
        delta: 1.0,
    }
}
