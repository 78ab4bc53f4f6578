//! Forecasts of a planned sum: accuracy and memory.

use super::cover::NOISE_SCALE;
use super::plan::SumPlan;

impl SumPlan {
    /// Standard deviation of one coordinate of one node's noise, in the units of the data. For
    /// octaves: of the last octave.
    #[must_use]
    pub fn node_sigma(&self) -> f64 {
        self.sigma_in(self.request().releases.ilog2())
    }

    fn sigma_in(&self, octave: u32) -> f64 {
        let request = self.request();
        let octave = if self.fields.strategy.restarts() {
            octave
        } else {
            0
        };
        let unit = self
            .lattice(octave)
            .map_or(f64::NAN, |lattice| lattice.unit());
        NOISE_SCALE as f64 * unit * request.noise.variance(request.dimension).sqrt()
    }

    /// Standard deviation of one coordinate of release t ≥ 1, in the units of the data.
    #[must_use]
    pub fn prefix_sd(&self, t: u64) -> f64 {
        let releases = self.request().releases;
        if self.fields.strategy.restarts() {
            // One root for every past octave, then the digits of the place in this one.
            let octave = t.ilog2();
            let place = t - (1 << octave) + 1;
            let past: f64 = (0..octave).map(|m| self.sigma_in(m).powi(2)).sum();
            let here =
                self.fields.strategy.variance(place, releases) * self.sigma_in(octave).powi(2);
            return (past + here).sqrt();
        }
        self.fields.strategy.variance(t, releases).sqrt() * self.sigma_in(0)
    }

    /// The largest standard deviation of a release.
    #[must_use]
    pub fn prefix_sd_max(&self) -> f64 {
        let releases = self.request().releases;
        if self.fields.strategy.restarts() {
            // Within an octave the worst place is the one with most digits; the last two octaves
            // hold the worst of all.
            let octave = releases.ilog2();
            let place = releases - (1 << octave) + 1;
            let most = (0..=place.ilog2())
                .map(|level| (1_u64 << level << 1) - 1)
                .filter(|&p| p <= place);
            let here = most
                .chain([place])
                .map(|p| self.prefix_sd((1 << octave) + p - 1));
            let before =
                (octave > 0).then(|| self.prefix_sd((1 << octave) - 2 + u64::from(octave == 1)));
            return here.chain(before).fold(0.0, f64::max);
        }
        self.fields.strategy.worst_variance(releases).sqrt() * self.sigma_in(0)
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
        let octave = request.releases.ilog2();
        let scale = NOISE_SCALE as f64 * request.noise.variance(request.dimension).sqrt();
        let unit = self.sigma_in(octave) / scale;
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
