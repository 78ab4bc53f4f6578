//! A privacy guarantee: complete enough to check and plain enough to read.
//!
//! A privacy number without its conditions is not a claim. A [`Guarantee`] therefore carries the
//! neighbouring relation, the unit that is protected, what is covered (every release, or only a
//! window), the mechanism with its noise, the assumptions, the theorem with its errata, and the
//! precision slack; δ *includes* that slack. Both constructors, the builder and deserialisation,
//! check every number, so no guarantee with a number that is not finite, or with δ ≥ 1, exists.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::round::add_up;
use crate::{AccountError, Adjacency, Mu, ParameterError, Rho, precision_slack};

/// The unit of protection: one record, or all records of one person.
///
/// ```
/// use hushstream_account::{Adjacency, Guarantee, Unit};
///
/// let guarantee = Guarantee::builder(1.0, 1e-6, Adjacency::ReplaceOne, 1000).person(12).build()?;
/// assert_eq!(guarantee.unit(), (Unit::Person, 12));
/// # Ok::<(), hushstream_account::GuaranteeError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// One record.
    Record,
    /// All records of one person, at most as many as the guarantee's participations.
    Person,
}

/// What is published, for the words of a guarantee.
///
/// ```
/// use hushstream_account::{Adjacency, Guarantee, Published};
///
/// let guarantee = Guarantee::builder(1.0, 1e-6, Adjacency::ReplaceOne, 1000).build()?;
/// let told = guarantee.publishing(Published::Tables).to_string();
/// assert!(told.contains("any set of published sequences of tables"));
/// # Ok::<(), hushstream_account::GuaranteeError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Published {
    /// Models.
    #[default]
    Models,
    /// Tables of statistics.
    Tables,
    /// Plays of a bandit, and models of its arms.
    Plays,
}

impl Published {
    // Serde passes a reference.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    fn is_models(&self) -> bool {
        *self == Self::Models
    }
}

/// A checked privacy guarantee. `Display` gives its wording, serde its stable keys.
///
/// ```
/// use hushstream_account::{Adjacency, Guarantee};
///
/// let guarantee = Guarantee::builder(0.5, 0.0, Adjacency::ZeroOut, 1000)
///     .mechanism("private selection")
///     .build()?;
/// assert_eq!(
///     guarantee.to_string(),
///     "Whether one of the 1,000 records is present or replaced by the public null, \
///      the probability of any set of published model sequences \
///      changes by at most a factor of e^0.500.\n\
///      (private selection, zero-out; precision slack 0)"
/// );
/// # Ok::<(), hushstream_account::GuaranteeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Fields", into = "Fields")]
pub struct Guarantee(Fields);

/// The keys, in their published order; a key that does not apply is null.
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
    /// Whether `rounds` is an upper bound, for a stream without a known end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) open_ended: bool,
    /// Whether it is about policies and everybody else's decisions, and not about models alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) joint: bool,
    /// What is published.
    #[serde(default, skip_serializing_if = "Published::is_models")]
    pub(crate) published: Published,
}

/// Why a guarantee cannot be stated.
///
/// ```
/// use hushstream_account::{Adjacency, Guarantee};
///
/// // e^1000 times any error of the sampler is more than 1: such a claim would say nothing.
/// let claim = Guarantee::builder(1e3, 1e-6, Adjacency::ReplaceOne, 10).total_variation(1e-20);
/// assert!(claim.build().unwrap_err().to_string().contains("delta must stay below 1"));
/// ```
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum GuaranteeError {
    /// A number or a count out of range.
    #[error(transparent)]
    Parameter(#[from] AccountError),
    /// With the precision slack δ reaches 1, which guarantees nothing.
    #[error(
        "delta = {delta} with its precision slack {precision_slack} guarantees nothing: \
         delta must stay below 1"
    )]
    Vacuous {
        /// δ of the mechanism.
        delta: f64,
        /// The share of the sampler's error.
        precision_slack: f64,
    },
    /// A window starts at one record; for a person with several records it is not defined.
    #[error(
        "a window guarantee protects one record: it cannot be stated for a person with several"
    )]
    WindowForPerson,
    /// One record takes part once.
    #[error("one record takes part once: state the unit `person` for {participations} records")]
    ParticipationsOfRecord {
        /// The participations that were given.
        participations: u64,
    },
}

/// Collects the parts of a guarantee; [`GuaranteeBuilder::build`] checks them.
///
/// ```
/// use hushstream_account::{Adjacency, Guarantee, GuaranteeError};
///
/// let guarantee = Guarantee::builder(1.0, 1e-6, Adjacency::ReplaceOne, 1000)
///     .noise("Gaussian")
///     .sigma(8.45)
///     .total_variation(1e-9)
///     .build()?;
/// // The sampler's error is part of δ: (1 + e)·1e-9.
/// assert!(guarantee.delta() > 1e-6 + 3.7e-9);
/// # Ok::<(), GuaranteeError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct GuaranteeBuilder {
    fields: Fields,
    tau: f64,
}

impl Guarantee {
    /// Starts a guarantee of (ε, δ) for exact draws, over `rounds` records; it protects one record
    /// unless [`GuaranteeBuilder::person`] is called.
    pub fn builder(
        epsilon: f64,
        delta: f64,
        adjacency: Adjacency,
        rounds: u64,
    ) -> GuaranteeBuilder {
        GuaranteeBuilder {
            tau: 0.0,
            fields: Fields {
                epsilon,
                delta,
                mu: None,
                rho: None,
                adjacency,
                unit: Unit::Record,
                participations: 1,
                rounds,
                releases: None,
                window: None,
                mechanism: None,
                sum: None,
                noise: None,
                levels: None,
                sigma: None,
                assumptions: Vec::new(),
                citation: None,
                errata: Vec::new(),
                precision_slack: 0.0,
                simulated: false,
                open_ended: false,
                joint: false,
                published: Published::Models,
            },
        }
    }

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

    /// The unit of protection, and the most records of one unit.
    #[must_use]
    pub fn unit(&self) -> (Unit, u64) {
        (self.0.unit, self.0.participations)
    }

    /// The number of covered rounds after a record, if not all are.
    #[must_use]
    pub fn window(&self) -> Option<u64> {
        self.0.window
    }

    /// Whether it is joint privacy: of the policies and of the decisions for everybody else.
    #[must_use]
    pub fn is_joint(&self) -> bool {
        self.0.joint
    }

    /// Whether the noise was simulated, in which case nothing is protected.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        self.0.simulated
    }

    /// The same guarantee under one more assumption, e.g. about checks before the run.
    #[must_use]
    pub fn assuming(mut self, assumption: impl Into<String>) -> Self {
        self.0.assumptions.push(assumption.into());
        self
    }

    /// The same guarantee for a stream of `records` records of which the mechanism reads only the
    /// first ones: the others are protected too, since nothing is computed from them.
    #[must_use]
    pub fn over_records(mut self, records: u64) -> Self {
        self.0.rounds = self.0.rounds.max(records);
        self
    }

    /// The same guarantee for a stream without a known end, if more than the `seen` records may
    /// come: their number is then an upper bound.
    #[must_use]
    pub fn open_ended(mut self, seen: u64) -> Self {
        self.0.open_ended = self.0.rounds > seen;
        self
    }

    /// The same guarantee where something else than models is published.
    #[must_use]
    pub fn publishing(mut self, published: Published) -> Self {
        self.0.published = published;
        self
    }

    /// The same guarantee for an algorithm that post-processes the mechanism's releases. Adds its
    /// name, its paper and the errata it respects; changes no number.
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

    /// The fields, for `Display`.
    pub(crate) fn fields(&self) -> &Fields {
        &self.0
    }
}

impl GuaranteeBuilder {
    /// The Gaussian-DP parameter behind ε and δ.
    pub fn mu(mut self, mu: Mu) -> Self {
        self.fields.mu = Some(mu.get());
        self
    }

    /// The zCDP parameter behind ε and δ.
    pub fn rho(mut self, rho: Rho) -> Self {
        self.fields.rho = Some(rho.get());
        self
    }

    /// Protects one person with at most `participations` records.
    pub fn person(mut self, participations: u64) -> Self {
        self.fields.unit = Unit::Person;
        self.fields.participations = participations;
        self
    }

    /// The number of noisy values that are released.
    pub fn releases(mut self, releases: u64) -> Self {
        self.fields.releases = Some(releases);
        self
    }

    /// Covers only the `rounds` releases from the first that includes the record.
    pub fn window(mut self, rounds: u64) -> Self {
        self.fields.window = Some(rounds);
        self
    }

    /// The mechanism that sees the data.
    pub fn mechanism(mut self, name: impl Into<String>) -> Self {
        self.fields.mechanism = Some(name.into());
        self
    }

    /// The sum under the mechanism, e.g. "binary tree".
    pub fn sum(mut self, name: impl Into<String>) -> Self {
        self.fields.sum = Some(name.into());
        self
    }

    /// The law of the noise, e.g. "Gaussian".
    pub fn noise(mut self, name: impl Into<String>) -> Self {
        self.fields.noise = Some(name.into());
        self
    }

    /// The number of levels of the sum.
    pub fn levels(mut self, levels: u32) -> Self {
        self.fields.levels = Some(levels);
        self
    }

    /// The standard deviation of one noise value, in units of the bound L on one contribution.
    pub fn sigma(mut self, sigma_over_bound: f64) -> Self {
        self.fields.sigma = Some(sigma_over_bound);
        self
    }

    /// Adds an assumption, e.g. a public bound.
    pub fn assume(mut self, assumption: impl Into<String>) -> Self {
        self.fields.assumptions.push(assumption.into());
        self
    }

    /// The theorem that proves the guarantee.
    pub fn citation(mut self, citation: impl Into<String>) -> Self {
        self.fields.citation = Some(citation.into());
        self
    }

    /// Adds an erratum of the cited text that this guarantee respects.
    pub fn erratum(mut self, erratum: impl Into<String>) -> Self {
        self.fields.errata.push(erratum.into());
        self
    }

    /// The total-variation error of all draws that one unit affects; (1 + e^ε)·τ of it is added to
    /// δ.
    pub fn total_variation(mut self, tau: f64) -> Self {
        self.tau = tau;
        self
    }

    /// What is published are tables of statistics, not models.
    pub fn tables(mut self) -> Self {
        self.fields.published = Published::Tables;
        self
    }

    /// States joint privacy, of decisions: everything is covered but the decision that is made for
    /// the record itself, which goes to the person who asked and to nobody else.
    pub fn joint(mut self) -> Self {
        self.fields.joint = true;
        self
    }

    /// Marks the noise as simulated: nothing is protected.
    pub fn simulated(mut self, simulated: bool) -> Self {
        self.fields.simulated = simulated;
        self
    }

    /// Checks every number and adds the precision slack to δ.
    ///
    /// # Errors
    /// [`GuaranteeError`] if a number is out of range or the statement would have no meaning.
    pub fn build(self) -> Result<Guarantee, GuaranteeError> {
        let Self { mut fields, tau } = self;
        let delta = fields.delta;
        let delta_valid = (0.0..1.0).contains(&delta);
        AccountError::unless(delta_valid, "delta", delta, "at least 0 and below 1")?;
        fields.precision_slack = precision_slack(fields.epsilon, tau)?;
        fields.delta = add_up(delta, fields.precision_slack);
        if fields.delta >= 1.0 {
            return Err(GuaranteeError::Vacuous {
                delta,
                precision_slack: fields.precision_slack,
            });
        }
        Guarantee::try_from(fields)
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
                let zero = ParameterError::new(parameter, 0, "at least 1");
                return Err(AccountError::from(zero).into());
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

    fn plain() -> GuaranteeBuilder {
        Guarantee::builder(1.0, 1e-6, Adjacency::ReplaceOne, 1000)
    }

    #[test]
    fn keys_are_stable_and_null_when_they_do_not_apply() {
        let json = serde_json::to_string(&plain().build().unwrap()).unwrap();
        assert_eq!(
            json,
            concat!(
                r#"{"epsilon":1.0,"delta":1e-6,"mu":null,"rho":null,"#,
                r#""adjacency":"replace-one","unit":"record","participations":1,"#,
                r#""rounds":1000,"releases":null,"window":null,"mechanism":null,"#,
                r#""sum":null,"noise":null,"levels":null,"sigma":null,"#,
                r#""assumptions":[],"citation":null,"errata":[],"#,
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

    #[test]
    fn an_algorithm_adds_words_and_no_numbers() {
        let sum = Guarantee::builder(1.0, 1e-6, Adjacency::ReplaceOne, 1000)
            .citation("JKT12 Theorem 11")
            .erratum("J1")
            .build()
            .unwrap();
        let algorithm = sum
            .clone()
            .of_algorithm("pftal", "ST13 Algorithm 1", &["S1", "J1"]);
        let text = algorithm.to_string();
        assert!(
            text.contains("JKT12 Theorem 11, ST13 Algorithm 1 with errata J1, S1"),
            "{text}"
        );
        let numbers =
            |guarantee: &Guarantee| (guarantee.epsilon().to_bits(), guarantee.delta().to_bits());
        assert_eq!(numbers(&algorithm), numbers(&sum));
    }

    #[test]
    fn delta_includes_the_slack() {
        let guarantee = Guarantee::builder(1.0, 1e-6, Adjacency::ReplaceOne, 1000)
            .total_variation(1e-8)
            .build()
            .unwrap();
        let slack = (1.0 + 1.0_f64.exp()) * 1e-8;
        assert!((guarantee.precision_slack() / slack - 1.0).abs() < 1e-14);
        assert!((guarantee.delta() / (1e-6 + slack) - 1.0).abs() < 1e-14);
        assert!(guarantee.delta() >= 1e-6 + slack);
    }
}
