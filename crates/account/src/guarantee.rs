//! The guarantee: what a run promises, complete enough to check and plain enough to read.
//!
//! A privacy number without its conditions is not a claim. A [`Guarantee`] therefore carries the neighbouring relation, the unit that is
//! protected, what is covered (every release, or only a window), the mechanism with its noise, the assumptions, the theorem with its
//! errata, and the precision slack; δ *includes* that slack. It can only be made through checks, also when it is read
//! back from a file, so no guarantee with a number that is not finite, or with δ ≥ 1, exists.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{AccountError, Adjacency};

/// Whose data is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// One record.
    Record,
    /// All records of one person, at most as many as the guarantee's participations.
    Person,
}

/// A checked privacy guarantee. `Display` gives its wording, serde its stable keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Fields", into = "Fields")]
pub struct Guarantee(Fields);

/// The keys, in their published order; what does not apply is null.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Fields {
    pub(crate) epsilon: f64,
    pub(crate) delta: f64,
    pub(crate) mu: Option<f64>,
    pub(crate) rho: Option<f64>,
    pub(crate) adjacency: Adjacency,
    pub(crate) unit: Unit,
    pub(crate) participations: u64,
    pub(crate) rounds: u64,
    pub(crate) releases: Option<u64>,
    pub(crate) window: Option<u64>,
    pub(crate) mechanism: Option<String>,
    pub(crate) sum: Option<String>,
    pub(crate) noise: Option<String>,
    pub(crate) levels: Option<u32>,
    pub(crate) sigma: Option<f64>,
    pub(crate) assumptions: Vec<String>,
    pub(crate) citation: Option<String>,
    pub(crate) errata: Vec<String>,
    pub(crate) precision_slack: f64,
    pub(crate) simulated: bool,
    /// Whether `rounds` is the most that can come, of a stream whose end is not known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) open_ended: bool,
}

/// Why a guarantee cannot be stated.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum GuaranteeError {
    /// A number out of range.
    #[error(transparent)]
    Parameter(#[from] AccountError),
    /// A count that must be at least one is zero.
    #[error("{parameter} = 0 is not allowed: it must be at least 1")]
    Zero {
        /// The count.
        parameter: &'static str,
    },
    /// With the precision slack δ reaches 1, which promises nothing.
    #[error(
        "delta = {delta} with its precision slack {precision_slack} promises nothing: it must stay below 1"
    )]
    Vacuous {
        /// δ of the mechanism.
        delta: f64,
        /// What the sampler's error adds.
        precision_slack: f64,
    },
    /// A window around one record does not say what it means for a person with several.
    #[error(
        "a window guarantee protects one record: it cannot be stated for a person with several"
    )]
    WindowForPerson,
    /// One record takes part once.
    #[error("one record takes part once: state the unit `person` for {participations} records")]
    ParticipationsOfRecord {
        /// What was given.
        participations: u64,
    },
}

impl Guarantee {
    /// ε.
    #[must_use]
    pub fn epsilon(&self) -> f64 {
        self.0.epsilon
    }

    /// δ, precision slack included.
    #[must_use]
    pub fn delta(&self) -> f64 {
        self.0.delta
    }

    /// The part of δ that pays for draws whose law is not exact.
    #[must_use]
    pub fn precision_slack(&self) -> f64 {
        self.0.precision_slack
    }

    /// The neighbouring relation.
    #[must_use]
    pub fn adjacency(&self) -> Adjacency {
        self.0.adjacency
    }

    /// Whose data is protected, and with how many records at most.
    #[must_use]
    pub fn unit(&self) -> (Unit, u64) {
        (self.0.unit, self.0.participations)
    }

    /// How many rounds after a record are covered, if not all of them.
    #[must_use]
    pub fn window(&self) -> Option<u64> {
        self.0.window
    }

    /// Whether the noise was simulated, so that nothing is in fact protected.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        self.0.simulated
    }

    /// The same guarantee under one more assumption, e.g. about what was checked before the run.
    #[must_use]
    pub fn assuming(mut self, assumption: impl Into<String>) -> Self {
        self.0.assumptions.push(assumption.into());
        self
    }

    /// The same guarantee for a stream of so many records, of which the mechanism takes in the first: records that nothing is computed from
    /// are protected too.
    #[must_use]
    pub fn over_records(mut self, records: u64) -> Self {
        self.0.rounds = self.0.rounds.max(records);
        self
    }

    /// The same guarantee for a stream whose end is not known, if more than the `seen` records of it
    /// may come: their number is then the most that there can be.
    #[must_use]
    pub fn open_ended(mut self, seen: u64) -> Self {
        self.0.open_ended = self.0.rounds > seen;
        self
    }

    /// The same guarantee for an algorithm that only post-processes what the mechanism releases: its name, its paper and the errata it respects are
    /// added; no number changes.
    #[must_use]
    pub fn of_algorithm(mut self, name: &str, citation: &str, errata: &[&str]) -> Self {
        self.0.mechanism = Some(name.to_owned());
        self.0.citation = Some(match self.0.citation.take() {
            Some(mechanism) => format!("{mechanism}, {citation}"),
            None => citation.to_owned(),
        });
        for erratum in errata {
            if !self.0.errata.iter().any(|known| known == erratum) {
                self.0.errata.push((*erratum).to_owned());
            }
        }
        self
    }

    /// What the wording reads.
    pub(crate) fn fields(&self) -> &Fields {
        &self.0
    }
}

impl From<Guarantee> for Fields {
    fn from(guarantee: Guarantee) -> Self {
        guarantee.0
    }
}

impl TryFrom<Fields> for Guarantee {
    type Error = GuaranteeError;

    fn try_from(fields: Fields) -> Result<Self, GuaranteeError> {
        AccountError::epsilon_asked(fields.epsilon)?;
        let delta_valid = (0.0..1.0).contains(&fields.delta);
        AccountError::unless(delta_valid, "delta", fields.delta, "at least 0 and below 1")?;
        let slack = fields.precision_slack;
        let slack_valid = (0.0..=fields.delta).contains(&slack);
        AccountError::unless(
            slack_valid,
            "precision slack",
            slack,
            "at least 0 and at most delta",
        )?;
        for (name, value) in [
            ("mu", fields.mu),
            ("rho", fields.rho),
            ("sigma", fields.sigma),
        ] {
            value.map_or(Ok(0.0), |value| AccountError::positive(name, value))?;
        }
        for (parameter, count) in [
            ("rounds", Some(fields.rounds)),
            ("participations", Some(fields.participations)),
            ("window", fields.window),
        ] {
            if count == Some(0) {
                return Err(GuaranteeError::Zero { parameter });
            }
        }
        match fields.unit {
            Unit::Person if fields.window.is_some() => Err(GuaranteeError::WindowForPerson),
            Unit::Record if fields.participations != 1 => {
                Err(GuaranteeError::ParticipationsOfRecord {
                    participations: fields.participations,
                })
            }
            _ => Ok(Self(fields)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GuaranteeBuilder;

    fn plain() -> GuaranteeBuilder {
        Guarantee::builder(1.0, 1e-6, Adjacency::ReplaceOne, 1000)
    }

    #[test]
    fn keys_are_stable_and_null_when_they_do_not_apply() {
        let json = serde_json::to_string(&plain().build().unwrap()).unwrap();
        assert_eq!(
            json,
            concat!(
                r#"{"epsilon":1.0,"delta":1e-6,"mu":null,"rho":null,"adjacency":"replace-one","unit":"record","#,
                r#""participations":1,"rounds":1000,"releases":null,"window":null,"mechanism":null,"sum":null,"#,
                r#""noise":null,"levels":null,"sigma":null,"assumptions":[],"citation":null,"errata":[],"#,
                r#""precision_slack":0.0,"simulated":false}"#
            )
        );
        let back: Guarantee = serde_json::from_str(&json).unwrap();
        assert_eq!(back, plain().build().unwrap());
        let forged = json.replace("1e-6", "1.5");
        assert!(serde_json::from_str::<Guarantee>(&forged).is_err());
    }

    #[test]
    fn nothing_meaningless_can_be_stated() {
        let builder = |epsilon, delta| Guarantee::builder(epsilon, delta, Adjacency::ZeroOut, 10);
        for epsilon in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(builder(epsilon, 1e-6).build().is_err());
        }
        for delta in [-1e-9, 1.0, f64::NAN] {
            assert!(builder(1.0, delta).build().is_err());
        }
        assert!(matches!(
            builder(1e3, 1e-6).total_variation(1e-20).build(),
            Err(GuaranteeError::Vacuous { .. })
        ));
        assert!(plain().total_variation(f64::NAN).build().is_err());
        for sigma in [0.0, f64::NAN, f64::INFINITY] {
            assert!(plain().sigma(sigma).build().is_err());
        }
        assert!(plain().window(0).build().is_err() && plain().person(0).build().is_err());
        assert_eq!(
            plain().person(3).window(5).build(),
            Err(GuaranteeError::WindowForPerson)
        );
        assert!(
            Guarantee::builder(1.0, 0.0, Adjacency::ZeroOut, 0)
                .build()
                .is_err()
        );
    }
}
