//! Building a guarantee: what it says is collected, then checked once.

use crate::guarantee::Fields;
use crate::round::add_up;
use crate::{AccountError, Adjacency, Guarantee, GuaranteeError, Mu, Rho, Unit, precision_slack};

/// Collects what a guarantee says; [`GuaranteeBuilder::build`] checks it.
#[derive(Debug, Clone)]
#[must_use]
pub struct GuaranteeBuilder {
    fields: Fields,
    tau: f64,
}

impl Guarantee {
    /// Starts a guarantee of (ε, δ) for exact draws, over `rounds` records; it protects one record unless told otherwise.
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
            },
        }
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

    /// How many noisy values are released.
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

    /// How many levels the sum has.
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

    /// Where the proof is.
    pub fn citation(mut self, citation: impl Into<String>) -> Self {
        self.fields.citation = Some(citation.into());
        self
    }

    /// Adds an erratum of the cited text that this guarantee respects.
    pub fn erratum(mut self, erratum: impl Into<String>) -> Self {
        self.fields.errata.push(erratum.into());
        self
    }

    /// The total-variation error of all draws that one unit affects; (1 + e^ε)·τ of it is added to δ.
    pub fn total_variation(mut self, tau: f64) -> Self {
        self.tau = tau;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_algorithm_adds_words_and_no_numbers() {
        let sum = Guarantee::builder(1.0, 1e-6, crate::Adjacency::ReplaceOne, 1000)
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
