//! Splits against published figures, optimality, and the limits of the lattice.

use super::*;
use hushstream_account::{Budget, Mu};

fn mu() -> f64 {
    Mu::within(Budget::approx(1.0, 1e-6).unwrap())
        .unwrap()
        .get()
}

fn every(noise: Noise, weighting: Weighting, limit: f64, s: &[f64]) -> Schedule {
    let timing = Timing::Every(s.len() as u64);
    let at = |t: u64| s[t as usize - 1];
    Schedule::new(noise, weighting, timing, limit, 3, 1.0, at).unwrap()
}

/// The published values for PIGD, T = 1024, 2L/α = 1, (1, 10⁻⁶).
#[test]
fn published_noise() {
    let s: Vec<f64> = (1..=1023).map(|t| 1.0 / f64::from(t + 1)).collect();
    let sigma = optimal_noise(&s, Noise::Gaussian, Weighting::Lipschitz, mu());
    assert!((sigma[0] - 13.7765).abs() < 5e-5, "{}", sigma[0]);
    assert!((sigma[1022] - 0.215_257).abs() < 5e-7, "{}", sigma[1022]);
    // The lattice and the floats cost next to nothing beyond that.
    let schedule = every(Noise::Gaussian, Weighting::Lipschitz, mu(), &s);
    for t in [1, 1023] {
        let real = schedule.scale(t, s[t as usize - 1]).unwrap().unwrap();
        let ratio = real / sigma[t as usize - 1];
        assert!((1.0..1.000_01).contains(&ratio), "{ratio}");
    }
}

/// JKT12's Algorithm 2 with (ε/3, δ/2), as its Theorem 7 needs it (erratum J9), against the split
/// of Lemma B.
#[test]
fn the_papers_noise_is_thirty_times_larger() {
    let t = 2_f64.powi(20);
    let (epsilon, delta) = (1.0_f64 / 3.0, 0.5e-6_f64);
    let c = (1.0 / (2.0 * epsilon) * (2.0 / delta).ln()).ln() / (2.0 * t.ln());
    let reach = t.powf(0.5 + c);
    let beta = reach * (2.0 / epsilon * ((t / delta).ln() + epsilon.sqrt() / reach)).sqrt();
    let printed: f64 = (1..1 << 20).map(|t| beta / f64::from(t)).sum();
    let s: Vec<f64> = (1..1 << 20).map(|t| 1.0 / f64::from(t + 1)).collect();
    let ours: f64 = optimal_noise(&s, Noise::Gaussian, Weighting::Lipschitz, mu())
        .iter()
        .sum();
    assert!(printed / ours > 30.0, "{}", printed / ours);
}

/// No other split of the same price has a smaller objective: multiplicative perturbations, rescaled
/// to the same price.
#[test]
fn splits_are_optimal() {
    let s: Vec<f64> = (1..=50).map(|t| 1.0 / f64::from(t).powf(0.8)).collect();
    for noise in [Noise::Gaussian, Noise::L2Laplace] {
        for weighting in [Weighting::Lipschitz, Weighting::Smooth] {
            let objective = |sigma: &[f64]| -> f64 {
                sigma
                    .iter()
                    .map(|x| {
                        if weighting == Weighting::Smooth {
                            x * x
                        } else {
                            *x
                        }
                    })
                    .sum()
            };
            let price = |sigma: &[f64]| -> f64 {
                let ratios = s.iter().zip(sigma).map(|(s, sigma)| s / sigma);
                if noise == Noise::Gaussian {
                    ratios.map(|r| r * r).sum::<f64>().sqrt()
                } else {
                    ratios.sum()
                }
            };
            let best = optimal_noise(&s, noise, weighting, 0.7);
            assert!((price(&best) - 0.7).abs() < 1e-12);
            for seed in 0..200_u32 {
                let mut other: Vec<f64> = (0..50_u32)
                    .zip(&best)
                    .map(|(i, x)| {
                        let wobble = f64::from((seed * 7919 + i * 104_729) % 1000) / 1000.0;
                        x * (0.9 + 0.2 * wobble)
                    })
                    .collect();
                let factor = price(&other) / 0.7;
                other.iter_mut().for_each(|x| *x *= factor);
                assert!(objective(&other) >= objective(&best) * (1.0 - 1e-12));
            }
        }
    }
}

#[test]
fn prices_stay_within_the_limit_and_close_to_it() {
    let within = |price: f64| price <= 0.3 && price > 0.3 * (1.0 - 1e-9);
    for noise in [Noise::Gaussian, Noise::L2Laplace] {
        for weighting in [Weighting::Lipschitz, Weighting::Smooth] {
            for releases in [9, 3000] {
                let s: Vec<f64> = (1..=releases).map(|t| 5.0 / f64::from(t)).collect();
                let schedule = every(noise, weighting, 0.3, &s);
                let price = schedule.price(|t| s[t as usize - 1]).unwrap();
                assert!(within(price), "{price}");
                // More than the float sum, which may have lost something.
                let cost = |(t, &given): (u64, &f64)| {
                    let scale = schedule.scale(t, given).unwrap().unwrap();
                    schedule.padded(given).unwrap().unwrap() / scale + schedule.rounding
                };
                let costs = (1..).zip(&s).map(cost);
                if noise == Noise::Gaussian {
                    let squares: f64 = costs.map(|cost| cost * cost).sum();
                    assert!(price > squares.sqrt().next_up());
                } else {
                    assert!(price > costs.sum());
                }
            }
            let last = Schedule::new(noise, weighting, Timing::Last(9), 0.3, 3, 1.0, |_| 5.0);
            assert!(within(last.unwrap().price(|_| 5.0).unwrap()));
        }
    }
}

#[test]
fn shares_of_an_unknown_horizon_never_exceed_the_limit() {
    for noise in [Noise::Gaussian, Noise::L2Laplace] {
        let at = |t: u64| 1.0 / t as f64;
        let weighting = Weighting::Lipschitz;
        let schedule = Schedule::new(noise, weighting, Timing::Unknown, 0.3, 3, 1.0, at).unwrap();
        let mut total = 0.0;
        for t in 1..200_000 {
            let s = schedule.padded(at(t)).unwrap().unwrap();
            let here = s / schedule.scale(t, at(t)).unwrap().unwrap() + schedule.rounding;
            assert!(here <= schedule.share(t), "{t}");
            total += if noise == Noise::Gaussian {
                here * here
            } else {
                here
            };
        }
        let limit: f64 = if noise == Noise::Gaussian { 0.09 } else { 0.3 };
        // The first octave has half of it, and its float is not above.
        let power = if noise == Noise::Gaussian { 2 } else { 1 };
        assert!(2.0 * schedule.share(1).powi(power) <= limit);
        // What is left for ever: 1/(m + 1) from octave m on.
        assert!(total <= limit * (1.0 - 1.0 / 19.0) && total > limit * (1.0 - 1.0 / 17.0));
        assert!(schedule.most_steps() > 1 << 24, "{}", schedule.most_steps());
    }
}

/// The end that the text above names.
#[test]
fn an_unknown_horizon_ends_at_the_lattice() {
    let (noise, weighting) = (Noise::Gaussian, Weighting::Lipschitz);
    let schedule =
        Schedule::new(noise, weighting, Timing::Unknown, mu(), 54, 1.0, |_| 1.0).unwrap();
    assert_eq!(schedule.most_steps(), (1 << 36) - 1);
}

/// Two iterates cut off at the reach in every coordinate are √d times as long: the float quotient
/// errs by no more than was paid for.
#[test]
fn the_quotient_of_the_longest_iterate_is_paid_for() {
    let (noise, weighting) = (Noise::Gaussian, Weighting::Lipschitz);
    for dimension in [1, 54, 10_000] {
        let timing = Timing::Last(1);
        let schedule =
            Schedule::new(noise, weighting, timing, mu(), dimension, 3.0, |_| 1.0).unwrap();
        let longest = 3.0 * f64::from(dimension).sqrt();
        let padded = schedule.padded(1e-9).unwrap().unwrap();
        // The sum of floats may have lost something.
        assert!(padded > 1e-9 + schedule.quotient);
        let paid = padded - 1e-9;
        assert!(paid >= f64::EPSILON * longest, "{dimension}: {paid:e}");
    }
}

#[test]
fn what_cannot_be_split_is_refused() {
    let new = |limit, timing, s: f64| {
        Schedule::new(
            Noise::Gaussian,
            Weighting::Lipschitz,
            timing,
            limit,
            3,
            1.0,
            move |_| s,
        )
    };
    assert!(new(0.3, Timing::Every(9), 0.0).is_err());
    assert!(new(0.3, Timing::Every(9), f64::NAN).is_err());
    assert!(new(0.3, Timing::Every(9), f64::INFINITY).is_err());
    assert!(new(0.3, Timing::Every(9), -1.0).is_err());
    assert!(new(1e-12, Timing::Every(9), 1.0).is_err());
    assert!(new(1e-12, Timing::Last(9), 1.0).is_err());
    assert!(new(1e-12, Timing::Unknown, 1.0).is_err());
    // A scale whose lattice would underflow.
    let (noise, weighting, timing) = (Noise::Gaussian, Weighting::Lipschitz, Timing::Last(9));
    let tiny = Schedule::new(noise, weighting, timing, 0.3, 3, 1e-300, |_| 1.0).unwrap();
    assert!(tiny.scale(9, 1e-290).is_ok() && tiny.scale(9, 1e-305).is_err());
}
