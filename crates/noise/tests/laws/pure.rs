//! The empirical laws of the samplers behind pure differential privacy, and planted bugs that the
//! tests notice.

use crate::statistics::*;
use hushstream_noise::{
    Coin, DiscreteLaplace, Dyadic, ExponentialChoice, Instance, Key, L2Laplace, Source,
};

fn source(mechanism: u64) -> Source {
    let key = Key::insecure_from_seed(77);
    Source::open(&key, Instance::from_bytes([8; 16]), mechanism)
}

const LAPLACE_DRAWS: usize = 1_000_000;

#[test]
fn discrete_laplace_has_its_exact_probabilities() {
    for scale in [1_u64, 3, 16] {
        let mut draws = vec![0; LAPLACE_DRAWS];
        DiscreteLaplace::new(scale)
            .unwrap()
            .fill(&source(scale), 0, 0, &mut draws);
        let b = scale as f64;
        let reach = 12 * scale as i64;
        let mut probabilities: Vec<f64> = (-reach..=reach)
            .map(|k| (0.5 / b).tanh() * (-(k.abs() as f64) / b).exp())
            .collect();
        let rest = (1.0 - probabilities.iter().sum::<f64>()) / 2.0;
        probabilities.insert(0, rest);
        probabilities.push(rest);
        let score = chi_square_score(&histogram(draws.iter().copied(), reach), &probabilities);
        assert!(score < SIX_SIGMA, "scale {scale}: {score}");
        // Planted: "−0" is not drawn again, so zero comes up twice as often as it should.
        let doubled = draws
            .iter()
            .copied()
            .chain(draws.iter().copied().filter(|&k| k == 0));
        assert!(chi_square_score(&histogram(doubled, reach), &probabilities) > SIX_SIGMA);
        // Planted: off by one.
        let shifted = histogram(draws.iter().map(|k| k + 1), reach);
        assert!(chi_square_score(&shifted, &probabilities) > SIX_SIGMA);
    }
}

#[test]
fn discrete_laplace_at_full_scale() {
    let mut draws = vec![0; LAPLACE_DRAWS];
    DiscreteLaplace::new(1 << 30)
        .unwrap()
        .fill(&source(5), 0, 0, &mut draws);
    let law = |x: f64| {
        if x < 0.0 {
            0.5 * x.exp()
        } else {
            1.0 - 0.5 * (-x).exp()
        }
    };
    let score = |factor: f64| {
        let mut distance = KolmogorovSmirnov::new(16.0);
        draws
            .iter()
            .for_each(|&k| distance.add(k as f64 / 2_f64.powi(30) * factor));
        distance.score(law)
    };
    assert!(score(1.0) < 1.0);
    assert!(score(1.03) > 1.0); // a scale 3 % off
    assert!(score(std::f64::consts::SQRT_2) > 1.0); // scale taken for standard deviation
}

/// In one dimension the rounded law has a closed form.
#[test]
fn l2_laplace_in_one_dimension_has_its_exact_probabilities() {
    let law = L2Laplace::new(1, 16).unwrap();
    let source = source(6);
    let mut one = [0];
    let draws: Vec<i64> = (0..300_000)
        .map(|node| {
            law.fill(&source, node, 0, &mut one);
            one[0]
        })
        .collect();
    let below = |x: f64| {
        if x < 0.0 {
            0.5 * (x / 16.0).exp()
        } else {
            1.0 - 0.5 * (-x / 16.0).exp()
        }
    };
    let probabilities = lattice_probabilities(160, below);
    assert!(chi_square_score(&histogram(draws.iter().copied(), 160), &probabilities) < SIX_SIGMA);
    let toward_zero = histogram(draws.iter().map(|k| k - k.signum()), 160);
    assert!(chi_square_score(&toward_zero, &probabilities) > SIX_SIGMA);
}

/// The length is Gamma(d), the direction uniform.
#[test]
fn l2_laplace_has_a_gamma_length_and_a_uniform_direction() {
    const NODES: u64 = 100_000;
    for dimension in [2_usize, 3, 7] {
        let law = L2Laplace::new(dimension as u32, 1 << 30).unwrap();
        let source = source(7);
        // Gamma(d) for whole d: P(r ≤ x) = 1 − e^(−x)·Σ_{k<d} x^k/k!.
        let gamma = |x: f64| {
            if x <= 0.0 {
                return 0.0;
            }
            let mut term = 1.0;
            let mut sum = 0.0;
            for k in 0..dimension {
                sum += term;
                term *= x / (k + 1) as f64;
            }
            1.0 - (-x).exp() * sum
        };
        let mut length = KolmogorovSmirnov::new(40.0);
        let mut exponential_length = KolmogorovSmirnov::new(40.0);
        let mut direction = KolmogorovSmirnov::new(1.0);
        let mut octants = vec![0_u64; 1 << dimension.min(3)];
        let mut draw = vec![0; dimension];
        for node in 0..NODES {
            law.fill(&source, node, 0, &mut draw);
            let v: Vec<f64> = draw.iter().map(|&k| k as f64 / 2_f64.powi(30)).collect();
            let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt();
            length.add(norm);
            // Planted: the radius an exponential (the classical slip), here through its own
            // distribution function.
            exponential_length.add(-(1.0 - gamma(norm)).ln());
            direction.add(v[0] / norm);
            let octant = v
                .iter()
                .take(3)
                .enumerate()
                .map(|(i, x)| usize::from(*x < 0.0) << i)
                .sum::<usize>();
            octants[octant] += 1;
        }
        assert!(length.score(gamma) < 1.0, "length, d = {dimension}");
        assert!(
            exponential_length.score(gamma) > 1.0,
            "planted, d = {dimension}"
        );
        if dimension == 3 {
            // Archimedes: one coordinate of a uniform point on the sphere is uniform.
            assert!(direction.score(|x| ((x + 1.0) / 2.0).clamp(0.0, 1.0)) < 1.0);
        }
        let equal = vec![1.0 / octants.len() as f64; octants.len()];
        assert!(
            chi_square_score(&octants, &equal) < SIX_SIGMA,
            "octants, d = {dimension}"
        );
    }
}

#[test]
fn coins_have_their_probabilities() {
    const TOSSES: u64 = 400_000;
    let source = source(8);
    let cases = [
        (Coin::ratio(1, 3).unwrap(), 1.0 / 3.0),
        (Coin::ratio(999, 1000).unwrap(), 0.999),
        (Coin::exp_minus(1, 2).unwrap(), (-0.5_f64).exp()),
        (Coin::exp_minus(1, 1).unwrap(), (-1.0_f64).exp()),
        (Coin::exp_minus(7, 2).unwrap(), (-3.5_f64).exp()),
        (Coin::exp_minus(1, 1000).unwrap(), (-0.001_f64).exp()),
    ];
    for (node, (coin, probability)) in (0..).zip(cases) {
        let mut bits = source.cursor(node, 0);
        let heads = (0..TOSSES).filter(|_| coin.toss(&mut bits)).count() as u64;
        let score = |p| binomial_score(heads, TOSSES, p).abs();
        assert!(score(probability) < SIX_SIGMA, "{coin:?}");
        // Planted: one percentage point off (a tenth of one for the nearly certain coins).
        let step = if probability > 0.99 { 0.0009 } else { 0.01 };
        assert!(score(probability - step) > SIX_SIGMA, "{coin:?}");
    }
}

#[test]
fn choices_have_their_probabilities() {
    const DRAWS: u64 = 300_000;
    let source = source(9);
    let penalties = [1000_u64, 1003, 1000, 1001, 1040, 9000, 1010];
    let choice = ExponentialChoice::new(Dyadic::from_f64(0.25).unwrap());
    let mut bits = source.cursor(0, 0);
    let mut counts = vec![0_u64; penalties.len()];
    for _ in 0..DRAWS {
        counts[choice.draw(&penalties, &mut bits).unwrap()] += 1;
    }
    let law = |rate: f64| {
        let weights = penalties.map(|p| (-rate * (p - 1000) as f64).exp());
        let total: f64 = weights.iter().sum();
        weights.map(|w| w / total)
    };
    assert!(chi_square_score(&counts, &law(0.25)) < SIX_SIGMA);
    // Planted: half the rate, the constant of the other adjacency.
    assert!(chi_square_score(&counts, &law(0.125)) > SIX_SIGMA);
}
