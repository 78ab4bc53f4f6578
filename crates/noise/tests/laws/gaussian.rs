//! The empirical law of the Gaussian samplers, tested on the production code; and the same tests
//! on planted bugs, to show that they can fail.

use crate::statistics::*;
use hushstream_noise::{FineGaussian, Instance, Key, RoundedGaussian, Source};

const LATTICE_DRAWS: usize = 4_000_000;
const FULL_DRAWS: u64 = 20_000_000;

fn source(mechanism: u64) -> Source {
    let key = Key::insecure_from_seed(2024);
    Source::open(&key, Instance::from_bytes([4; 16]), mechanism)
}

/// Draws of ⌊2⁴·N + ½⌋, in nodes of an odd length so that every alignment occurs.
fn small_draws() -> Vec<i64> {
    let law = RoundedGaussian::with_bits(4).unwrap();
    let mut draws = vec![0; LATTICE_DRAWS];
    for (node, chunk) in draws.chunks_mut(1001).enumerate() {
        law.fill(&source(1), node as u64, (node % 3) as u32, chunk);
    }
    draws
}

fn small_probabilities() -> Vec<f64> {
    lattice_probabilities(80, |edge| normal_below(edge / 16.0))
}

#[test]
fn every_lattice_point_has_its_exact_probability() {
    let score = chi_square_score(&histogram(small_draws(), 80), &small_probabilities());
    assert!(score < SIX_SIGMA, "{score}");
}

#[test]
fn a_lattice_off_by_one_is_noticed() {
    let draws = small_draws();
    type Distortion = fn(i64) -> i64;
    let planted: [(&str, Distortion); 3] = [
        ("shifted by one", |k| k + 1),
        ("rounded away from zero only half the time", |k| {
            if k == 0 { 1 } else { k }
        }),
        ("toward zero", |k| k - k.signum()),
    ];
    for (bug, distort) in planted {
        let counts = histogram(draws.iter().map(|&k| distort(k)), 80);
        let score = chi_square_score(&counts, &small_probabilities());
        assert!(score > SIX_SIGMA, "{bug}: {score}");
    }
    // A floor where the law says round: half a lattice unit, the slip that would pass at full
    // scale.
    let mut floors = vec![0; LATTICE_DRAWS];
    FineGaussian::new(0)
        .unwrap()
        .fill(&source(1), 0, 0, &mut floors);
    let counts = histogram(floors.iter().map(|k| (k >> 26) as i64), 80);
    assert!(chi_square_score(&counts, &small_probabilities()) > SIX_SIGMA);
    // The same floors against the law they do have.
    let floor_law = lattice_probabilities(80, |edge| normal_below((edge + 0.5) / 16.0));
    assert!(chi_square_score(&counts, &floor_law) < SIX_SIGMA);
}

/// The statistics of the full-scale test, for draws in units of the standard deviation.
struct FullScale {
    distance: KolmogorovSmirnov,
    beyond: [u64; 5],
    squares: f64,
    draws: u64,
}

impl FullScale {
    fn new() -> Self {
        Self {
            distance: KolmogorovSmirnov::new(8.0),
            beyond: [0; 5],
            squares: 0.0,
            draws: 0,
        }
    }

    fn add(&mut self, z: f64) {
        self.distance.add(z);
        for (sigmas, count) in (1..).zip(&mut self.beyond) {
            *count += u64::from(z.abs() > f64::from(sigmas));
        }
        self.squares += z * z;
        self.draws += 1;
    }

    /// Names of the tests that reject.
    fn rejections(&self) -> Vec<String> {
        let mut rejected = Vec::new();
        if self.distance.score(normal_below) > 1.0 {
            rejected.push("distance".to_owned());
        }
        for (sigmas, &count) in (1..).zip(&self.beyond) {
            let probability = 2.0 * normal_below(-f64::from(sigmas));
            if binomial_score(count, self.draws, probability).abs() > SIX_SIGMA {
                rejected.push(format!("tail beyond {sigmas}"));
            }
        }
        let draws = self.draws as f64;
        if ((self.squares / draws - 1.0) / (2.0 / draws).sqrt()).abs() > SIX_SIGMA {
            rejected.push("variance".to_owned());
        }
        rejected
    }
}

fn full_scale(scale: f64, fill: impl Fn(u64, &mut [i64])) -> [FullScale; 3] {
    // The draws as they are, and two planted bugs: a scale 0.5 % too large, and 0.5 % too small.
    let mut kept = [FullScale::new(), FullScale::new(), FullScale::new()];
    let mut draws = [0_i64; 5000];
    for node in 0..FULL_DRAWS / 5000 {
        fill(node, &mut draws);
        for &draw in &draws {
            let z = draw as f64 / scale;
            for (kept, factor) in kept.iter_mut().zip([1.0, 1.005, 0.995]) {
                kept.add(z * factor);
            }
        }
    }
    kept
}

fn check_full_scale([honest, wide, narrow]: &[FullScale; 3]) {
    assert_eq!(honest.rejections(), Vec::<String>::new());
    for planted in [wide, narrow] {
        let rejected = planted.rejections();
        for test in ["distance", "tail beyond 1", "tail beyond 2", "variance"] {
            assert!(
                rejected.iter().any(|r| r == test),
                "{test} missed it: {rejected:?}"
            );
        }
    }
}

#[test]
fn rounded_draws_are_normal_and_half_a_percent_of_scale_is_noticed() {
    let source = source(2);
    check_full_scale(&full_scale(2_f64.powi(30), |node, draws| {
        RoundedGaussian::STANDARD.fill(&source, node, 0, draws);
    }));
}

#[test]
fn fine_draws_are_normal_and_half_a_percent_of_scale_is_noticed() {
    let source = source(3);
    let law = FineGaussian::new(16).unwrap();
    check_full_scale(&full_scale(2_f64.powi(46), |node, draws| {
        let mut fine = vec![0; draws.len()];
        law.fill(&source, node, 0, &mut fine);
        draws.iter_mut().zip(fine).for_each(|(d, f)| *d = f as i64);
    }));
}

/// The digits inside a cell: the low bits of a draw are uniform, and neighbouring coordinates are
/// uncorrelated.
#[test]
fn low_digits_are_uniform_and_neighbours_independent() {
    let source = source(4);
    let mut draws = vec![0_i64; 2_000_000];
    RoundedGaussian::STANDARD.fill(&source, 0, 0, &mut draws);
    let mut counts = vec![0_u64; 1024];
    for draw in &draws {
        counts[(draw & 1023) as usize] += 1;
    }
    assert!(chi_square_score(&counts, &[1.0 / 1024.0; 1024]) < SIX_SIGMA);
    let scale = 2_f64.powi(30);
    for lag in 1..=4 {
        let correlation: f64 = draws
            .iter()
            .zip(&draws[lag..])
            .map(|(a, b)| (*a as f64 / scale) * (*b as f64 / scale))
            .sum();
        let score = correlation / ((draws.len() - lag) as f64).sqrt();
        assert!(score.abs() < SIX_SIGMA, "lag {lag}: {score}");
    }
}
