//! The guarantee of a sum.

use super::SumKind;
use super::cover::Noise;
use super::plan::{Geometry, SumPlan};
use crate::persons::Participation;
use hushstream_account::{Charge, Guarantee, GuaranteeError};

impl SumPlan {
    /// The guarantee of everything the planned sum will release.
    ///
    /// # Errors
    /// Numbers out of range. [`SumRequest::plan`](super::SumRequest::plan) has checked
    /// them, so a plan does not fail here.
    pub fn guarantee(&self, simulated: bool) -> Result<Guarantee, GuaranteeError> {
        self.guarantee_over(None, simulated)
    }

    /// The same for so many records; if none are stated, for as many as the plan has room for.
    pub(super) fn guarantee_over(
        &self,
        records: Option<u64>,
        simulated: bool,
    ) -> Result<Guarantee, GuaranteeError> {
        let request = self.request();
        let charge = self.charge().ok().map(|price| price.charge);
        let (epsilon, delta) = match charge {
            Some(Charge::Gaussian(mu)) => (
                request.budget.epsilon(),
                mu.delta_at(request.budget.epsilon())?,
            ),
            Some(Charge::Pure(epsilon)) => (epsilon.get(), 0.0),
            _ => (f64::NAN, 0.0), // refused below
        };
        let releases = self.most_releases();
        // A record that is read in every pass is one record.
        let passes = match request.participation {
            Participation::Passes { passes, .. } => passes.max(1),
            _ => 1,
        };
        let room = releases.saturating_mul(request.batch) / passes;
        let rounds = records.unwrap_or(room).max(1);
        let mut builder = Guarantee::builder(epsilon, delta, request.adjacency, rounds)
            .releases(releases)
            .mechanism("continual sum")
            .sum(self.name())
            .noise(request.noise.to_string())
            .sigma(self.node_sigma() / request.bound)
            .assume(self.clipping())
            .assume("the number of records and the time of each are public")
            .assume(self.cryptography())
            .total_variation(self.total_variation())
            .simulated(simulated);
        if let Some(levels) = self.levels() {
            builder = builder.levels(levels);
        }
        if let Some(Charge::Gaussian(mu)) = charge {
            builder = builder.mu(mu);
        }
        if let Geometry::Statistics(_) = request.geometry {
            builder = builder.tables();
        }
        if let Geometry::Decisions { .. } = request.geometry {
            builder = builder
                .joint()
                .assume("others may choose contexts and rewards from all of these, but not from the decision in question")
                .assume("rewards are clipped to their range, and a missing one is its middle");
            if request.participation == Participation::OncePerRecord {
                builder = builder.assume("other decisions for the same person count as others'");
            }
        }
        if let SumKind::Window(width) = request.kind {
            builder = builder.window(width);
        }
        if let Participation::Passes { passes, .. } = request.participation {
            builder = builder.assume(format!(
                "every record is read {passes} times, at the same place of the same order"
            ));
        }
        if let Participation::PerPerson { most, separation } = request.participation {
            builder = builder.person(most).assume(
                "a person's record is replaced by one of the same person, or by an empty one",
            );
            if separation > 1 {
                builder = builder.assume(format!(
                    "one person's contributions are at least {separation} items apart; others are \
                     nulled"
                ));
            }
        }
        let (citation, errata) = self.fields.strategy.citation(request.noise);
        builder = builder.citation(citation);
        for erratum in errata {
            builder = builder.erratum(*erratum);
        }
        builder.build()
    }

    /// What bounds a contribution.
    fn clipping(&self) -> String {
        let request = self.request();
        if let Geometry::Statistics(_) = request.geometry {
            return "a record counts in one group and in one bin of every histogram, and numbers \
                    are clipped to their bounds"
                .to_owned();
        }
        let norm = if request.noise == Noise::Laplace {
            "L1"
        } else {
            "L2"
        };
        format!(
            "contributions are clipped to length {} ({norm})",
            request.bound
        )
    }

    /// The computational assumption, with the number of blocks under one cipher key and the
    /// switching bound q²/2¹²⁹ for it.
    fn cryptography(&self) -> String {
        let request = self.request();
        let blocks =
            self.most_releases() as f64 * f64::from(request.dimension) * self.draws_a_release();
        let distance = (blocks * blocks / 2_f64.powi(129)).min(1.0);
        format!(
            "AES-256 and HMAC-SHA-256 are pseudo-random (AES on up to {blocks:.1e} blocks, to \
             within {distance:.1e})"
        )
    }

    /// A bound on the draws per release and coordinate: extra draws for padding, for every level,
    /// or inside L2-Laplace.
    fn draws_a_release(&self) -> f64 {
        let levels = self.levels().map_or(1.0, f64::from);
        let inside = if self.request().noise == Noise::Gaussian {
            1.0
        } else {
            16.0
        };
        (levels + 1.0) * inside
    }

    /// The sum's display name.
    #[must_use]
    pub fn name(&self) -> String {
        self.fields.strategy.name()
    }
}
