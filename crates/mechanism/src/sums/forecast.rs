//! Forecasts of a planned sum: accuracy and memory.

use super::cover::NOISE_SCALE;
use super::dense::Workload;
use super::plan::SumPlan;

impl SumPlan {
    /// The error that a workload counts: the largest standard deviation of a release for `max`, and
    /// for the others the root of the weighted mean of the variances.
    #[must_use]
    pub fn workload_sd(&self, workload: Workload) -> f64 {
        let Some(weights) = workload.weights(self.request().releases) else {
            return self.prefix_sd_max();
        };
        let variances = (1..)
            .zip(weights)
            .map(|(t, weight)| weight * self.prefix_sd(t).powi(2));
        variances.sum::<f64>().sqrt()
    }

    /// Standard deviation of one coordinate of one node's noise, in the units of the data. For
    /// octaves and eras: of the one that contains the expected horizon.
    #[must_use]
    pub fn node_sigma(&self) -> f64 {
        self.sigma_in(self.last_part())
    }

    pub(super) fn sigma_in(&self, octave: u32) -> f64 {
        let request = self.request();
        let unit = self
            .lattice(octave)
            .map_or(f64::NAN, |lattice| lattice.unit());
        NOISE_SCALE as f64 * unit * request.noise.variance(request.dimension).sqrt()
    }

    /// The units of all parts, in that of the first.
    fn scales(&self) -> Vec<f64> {
        let first = self.radius() as f64;
        self.fields
            .radii
            .iter()
            .map(|&radius| first / radius as f64)
            .collect()
    }

    /// The variances of all releases, if items have several parts.
    fn scaled_variances(&self) -> Option<&[f64]> {
        let strategy = &self.fields.strategy;
        (strategy.parts() > 1 && !strategy.restarts()).then(|| {
            let of_all = || strategy.scaled_variances(&self.scales(), self.request().releases);
            &self.variances.get_or_init(|| of_all().unwrap_or_default())[..]
        })
    }

    /// Standard deviation of one coordinate of release t ≥ 1, in the units of the data.
    #[must_use]
    pub fn prefix_sd(&self, t: u64) -> f64 {
        let releases = self.request().releases;
        if let Some(variances) = self.scaled_variances() {
            let variance = variances.get(t as usize - 1);
            return variance.map_or(f64::NAN, |variance| variance.sqrt()) * self.sigma_in(0);
        }
        let strategy = &self.fields.strategy;
        if strategy.restarts() {
            // The last release of every past octave or era, then the one of this.
            let own = |part: u32, place: u64| {
                strategy.variance_in(part, place) * self.sigma_in(part).powi(2)
            };
            let part = strategy.part(t);
            let past = (0..part).map(|m| own(m, strategy.first(m + 1) - strategy.first(m)));
            let here = own(part, t - strategy.first(part) + 1);
            return (past.sum::<f64>() + here).sqrt();
        }
        strategy.variance(t, releases).sqrt() * self.sigma_in(0)
    }

    /// Standard deviation of one coordinate of Σ_t weights[t−1] · (release t), in the units of the
    /// data: exact for most sums. For the others an upper bound, as if all releases had the same
    /// noise: a deviation of a sum is at most the sum of deviations.
    #[must_use]
    pub fn combined_sd(&self, weights: &[f64]) -> f64 {
        match self
            .fields
            .strategy
            .scaled_combination(&self.scales(), weights)
        {
            Some(variance) => variance.sqrt() * self.sigma_in(0),
            None => (1..)
                .zip(weights)
                .map(|(t, weight)| weight.abs() * self.prefix_sd(t))
                .sum(),
        }
    }

    /// The largest standard deviation of a release.
    #[must_use]
    pub fn prefix_sd_max(&self) -> f64 {
        let releases = self.request().releases;
        if self.fields.strategy.restarts() {
            let worst = self.fields.strategy.worst_releases(releases).into_iter();
            return worst.map(|t| self.prefix_sd(t)).fold(0.0, f64::max);
        }
        let worst = match self.scaled_variances() {
            Some(variances) => variances.iter().copied().fold(0.0, f64::max),
            None => self.fields.strategy.worst_variance(releases),
        };
        worst.sqrt() * self.sigma_in(0)
    }

    /// The largest distance of a release from the exact sum of clipped contributions plus noise, in
    /// the units of the data.
    ///
    /// Truncation toward zero costs less than one lattice unit per record in every coordinate. A
    /// filter's floors add up to the inflation at most (all rows together, in L2), and a release
    /// weighs rows as it weighs their noise. Decoding in floats costs 10⁻⁹ of the sum, far less
    /// than one unit per record.
    #[must_use]
    pub fn truncation(&self) -> f64 {
        let request = self.request();
        let records = request.releases as f64 * request.batch as f64;
        let scale = NOISE_SCALE as f64 * request.noise.variance(request.dimension).sqrt();
        let unit = self.node_sigma() / scale;
        let floors = self.prefix_sd_max() * self.inflation() / NOISE_SCALE as f64;
        records * unit * f64::from(request.dimension).sqrt() + floors
    }

    /// Vectors of the dimension held in memory.
    #[must_use]
    pub fn state_vectors(&self) -> u64 {
        self.fields.strategy.vectors(self.request().releases)
    }

    /// Bytes held in memory.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.state_vectors() * u64::from(self.request().dimension) * 8
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BinaryTree, ConstantWeight};
    use super::super::{Cover, Geometry, Noise, SumKind, SumPlan, SumRequest, Term};
    use crate::persons::Participation;
    use hushstream_account::{Adjacency, Budget};

    const RELEASES: u64 = 37;

    fn plan(kind: SumKind) -> SumPlan {
        let request = SumRequest {
            kind,
            noise: Noise::Gaussian,
            releases: RELEASES,
            dimension: 2,
            bound: 1.0,
            geometry: Geometry::Ball,
            least_sigma: 0.0,
            batch: 1,
            adjacency: Adjacency::ReplaceOne,
            participation: Participation::OncePerRecord,
            budget: Budget::approx(1.0, 1e-6).unwrap(),
        };
        request.plan().unwrap()
    }

    fn shares() -> Vec<f64> {
        (0..RELEASES).map(|t| 0.3 - (t * 7 % 11) as f64).collect()
    }

    /// Σ a_t a_s Cov(t, s), with the covariance of two releases.
    fn brute(covariance: impl Fn(u64, u64) -> f64) -> f64 {
        let shares = shares();
        let mut sum = 0.0;
        for (t, a) in (1..).zip(&shares) {
            for (s, b) in (1..).zip(&shares) {
                sum += a * b * covariance(t, s);
            }
        }
        sum.sqrt()
    }

    #[test]
    fn combined_releases_have_the_deviation_of_their_covariances() {
        let shared = |a: &[Term], b: &[Term]| -> f64 {
            let pairs = a.iter().flat_map(|x| b.iter().map(move |y| (x, y)));
            let same = pairs.filter(|(x, y)| x.node == y.node);
            same.map(|(x, y)| f64::from(x.sign * y.sign)).sum()
        };
        let smooth = ConstantWeight::best(Noise::Gaussian, RELEASES);
        let inverse = {
            let super::super::Strategy::Blt(filter) = &plan(SumKind::BLT).fields.strategy else {
                panic!("a filter");
            };
            filter.blt.parameters().inverse()
        };
        let of_rows = |t: u64, s: u64| {
            let rows = 1..=t.min(s);
            let both = |j| inverse.prefix_coefficient(t - j) * inverse.prefix_coefficient(s - j);
            rows.map(both).sum::<f64>()
        };
        let cases = [
            (SumKind::Fresh, brute(|t, s| t.min(s) as f64)),
            (
                SumKind::Tree,
                brute(|t, s| shared(&BinaryTree.terms(t), &BinaryTree.terms(s))),
            ),
            (
                SumKind::Smooth,
                brute(|t, s| shared(&smooth.terms(t), &smooth.terms(s))),
            ),
            (SumKind::BLT, brute(of_rows)),
        ];
        for (kind, expected) in cases {
            let plan = plan(kind);
            let expected = expected * plan.node_sigma();
            let combined = plan.combined_sd(&shares());
            assert!((combined / expected - 1.0).abs() < 1e-9, "{kind}");
            // Of one release it is that release's own.
            let one: Vec<f64> = (1..=20).map(|t| f64::from(u8::from(t == 20))).collect();
            let own = plan.prefix_sd(20);
            assert!((plan.combined_sd(&one) / own - 1.0).abs() < 1e-9, "{kind}");
        }
        // Without covariances it is a bound.
        let octave = plan(SumKind::Octave);
        let sum: f64 = (1..)
            .zip(shares())
            .map(|(t, a)| a.abs() * octave.prefix_sd(t))
            .sum();
        assert!((octave.combined_sd(&shares()) - sum).abs() < 1e-9 * sum);
    }
}
