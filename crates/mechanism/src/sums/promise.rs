//! The guarantee of a sum.

use super::cover::Noise;
use super::kind::SumKind;
use super::plan::SumPlan;
use super::strategy::Strategy;
use crate::persons::Participation;
use hushstream_account::{Charge, Guarantee, GuaranteeError};

impl SumPlan {
    /// The guarantee of everything the planned sum will release.
    ///
    /// # Errors
    /// Numbers out of range. [`SumRequest::plan`](super::SumRequest::plan) has checked
    /// them, so a plan does not fail here.
    pub fn guarantee(&self, simulated: bool) -> Result<Guarantee, GuaranteeError> {
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
        let rounds = releases.saturating_mul(request.batch);
        let mut builder = Guarantee::builder(epsilon, delta, request.adjacency, rounds)
            .releases(releases)
            .mechanism("continual sum")
            .sum(self.name())
            .noise(request.noise.to_string())
            .sigma(self.node_sigma() / request.bound)
            .assume(format!(
                "contributions are clipped to length {} ({})",
                request.bound,
                if request.noise == Noise::Laplace {
                    "L1"
                } else {
                    "L2"
                }
            ))
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
                "who contributes at which time is public to the mechanism's neighbours: a \
                    null keeps its person's name",
            );
            if separation > 1 {
                builder = builder.assume(format!(
                    "one person's contributions are at least {separation} items apart; others are \
                     nulled"
                ));
            }
        }
        let (citation, errata) = self.citation();
        builder = builder.citation(citation);
        for erratum in errata {
            builder = builder.erratum(*erratum);
        }
        builder.build()
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
        match &self.fields.strategy {
            Strategy::Tree => "binary tree".into(),
            Strategy::PaddedTree => "binary tree, padded".into(),
            Strategy::Honaker => "binary tree, Honaker estimate".into(),
            Strategy::Smooth { width, weight } => {
                format!("smooth binary, {width}-bit words of weight {weight}")
            }
            Strategy::Kary { base, .. } => format!("{base}-ary tree with subtraction"),
            Strategy::Window { width } => format!("window tree of {width} items"),
            Strategy::Octave => "binary tree for each octave".into(),
            Strategy::Fresh => "fresh noise for every item".into(),
            Strategy::Blt { blt, .. } => format!("BLT filter, {} buffers", blt.buffers()),
        }
    }

    fn citation(&self) -> (&'static str, &'static [&'static str]) {
        match (&self.fields.strategy, self.request().noise) {
            (Strategy::Tree | Strategy::PaddedTree, Noise::Gaussian) => {
                ("JKT12 Theorem 11", &["J1", "S2"])
            }
            (Strategy::Tree | Strategy::PaddedTree, Noise::Laplace) => {
                ("AS17 Lemma 3.3", &["A1", "A2", "S2"])
            }
            (Strategy::Tree | Strategy::PaddedTree, Noise::L2Laplace) => {
                ("ST13 Theorem 3", &["S1", "S2", "S4"])
            }
            (Strategy::Honaker, _) => ("Honaker 2015, tree as in JKT12 Theorem 11", &["J1", "S2"]),
            (Strategy::Smooth { .. }, _) => ("Andersson and Pagh 2023", &[]),
            (Strategy::Kary { .. }, _) => ("Andersson, Pagh and Torkamani 2024", &[]),
            (Strategy::Window { .. }, _) => ("WDP20 Lemma 3", &["W1", "W6", "W7"]),
            (Strategy::Blt { .. }, _) => (
                "Dvijotham et al. 2024, adaptive by Denisov et al. 2022 Theorem 2.1 and, with \
                 rounded rows, Smith and Thakurta 2022",
                &[],
            ),
            (Strategy::Fresh, _) => (
                "Dwork, Rothblum and Vadhan 2010; Dong, Roth and Su 2022",
                &[],
            ),
            (Strategy::Octave, _) => ("JKT12 Algorithm 7", &["J1", "J14"]),
        }
    }
}
