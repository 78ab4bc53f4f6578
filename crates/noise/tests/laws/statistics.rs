//! Goodness-of-fit tests. Keys are fixed, so a test that passes once passes always; the thresholds
//! correspond to a false-alarm rate below 1e-7 each, so that passing is no accident of the key.

/// Six standard deviations: a false-alarm rate of 2e-9.
pub(crate) const SIX_SIGMA: f64 = 6.0;

/// Pearson's chi-square over cells with expected counts of at least ten, as a standard normal score
/// (Wilson and Hilferty's cube root); the cells that are too rare are pooled.
pub(crate) fn chi_square_score(observed: &[u64], probabilities: &[f64]) -> f64 {
    assert_eq!(observed.len(), probabilities.len());
    let total = observed.iter().sum::<u64>() as f64;
    let (mut statistic, mut cells) = (0.0, 0.0);
    let (mut rare_observed, mut rare_expected) = (0.0, 0.0);
    let mut add = |observed: f64, expected: f64| {
        statistic += (observed - expected).powi(2) / expected;
        cells += 1.0;
    };
    for (&count, probability) in observed.iter().zip(probabilities) {
        let expected = probability * total;
        if expected >= 10.0 {
            add(count as f64, expected);
        } else {
            rare_observed += count as f64;
            rare_expected += expected;
        }
    }
    if rare_expected >= 10.0 {
        add(rare_observed, rare_expected);
    }
    let freedom = cells - 1.0;
    let spread = 2.0 / (9.0 * freedom);
    ((statistic / freedom).cbrt() - (1.0 - spread)) / spread.sqrt()
}

/// Counts of values −reach…reach, with one cell at each end for all values beyond.
pub(crate) fn histogram(values: impl IntoIterator<Item = i64>, reach: i64) -> Vec<u64> {
    let mut counts = vec![0; 2 * reach as usize + 3];
    for value in values {
        counts[(value.clamp(-reach - 1, reach + 1) + reach + 1) as usize] += 1;
    }
    counts
}

/// The probabilities that belong to [`histogram`], from the distribution function at half-integers.
pub(crate) fn lattice_probabilities(reach: i64, below: impl Fn(f64) -> f64) -> Vec<f64> {
    let mut edges: Vec<f64> = (-reach..=reach + 1)
        .map(|k| below(k as f64 - 0.5))
        .collect();
    edges.insert(0, 0.0);
    edges.push(1.0);
    edges.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Kolmogorov–Smirnov distance at the edges of equal cells on [−reach, reach], and its bound at a
/// false-alarm rate of 1e-7 (Dvoretzky–Kiefer–Wolfowitz–Massart: 2e^(−2nD²)).
pub(crate) struct KolmogorovSmirnov {
    reach: f64,
    counts: Vec<u64>,
}

impl KolmogorovSmirnov {
    pub(crate) fn new(reach: f64) -> Self {
        let counts = vec![0; 4096 + 2];
        Self { reach, counts }
    }

    pub(crate) fn add(&mut self, value: f64) {
        let cells = (self.counts.len() - 2) as f64;
        let cell = ((value + self.reach) / (2.0 * self.reach) * cells).floor();
        self.counts[(cell.clamp(-1.0, cells) + 1.0) as usize] += 1;
    }

    /// Distance over bound: above one means rejected.
    pub(crate) fn score(&self, distribution: impl Fn(f64) -> f64) -> f64 {
        let total = self.counts.iter().sum::<u64>() as f64;
        let cells = self.counts.len() - 2;
        let (mut below, mut distance) = (0, 0.0_f64);
        for (cell, count) in self.counts[..=cells].iter().enumerate() {
            below += count;
            let edge = -self.reach + 2.0 * self.reach * cell as f64 / cells as f64;
            distance = distance.max((below as f64 / total - distribution(edge)).abs());
        }
        distance / ((2.0_f64 / 1e-7).ln() / (2.0 * total)).sqrt()
    }
}

/// The distance of a count of successes from its mean, in standard deviations.
pub(crate) fn binomial_score(successes: u64, trials: u64, probability: f64) -> f64 {
    let trials = trials as f64;
    (successes as f64 - trials * probability) / (trials * probability * (1.0 - probability)).sqrt()
}

/// Φ.
pub(crate) fn normal_below(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}
