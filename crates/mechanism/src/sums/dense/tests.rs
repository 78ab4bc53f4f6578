//! The optimum against its certificate, rows against their definition, and prices against all
//! patterns of participation.

use super::*;
use hushstream_account::{Adjacency, Budget};
use hushstream_noise::{Instance, Key, Source};
use nalgebra::DMatrix;

/// ‖W^½·A·V^½‖_*, from singular values: no strategy has less error, whatever v is.
fn certificate(rows: &[f64], columns: &[f64]) -> f64 {
    let weighted = DMatrix::from_fn(rows.len(), rows.len(), |t, s| {
        if s <= t {
            (rows[t] * columns[s]).sqrt()
        } else {
            0.0
        }
    });
    let (w, v): (f64, f64) = (rows.iter().sum(), columns.iter().sum());
    weighted.singular_values().sum() / (w * v).sqrt()
}

/// The error of the integers' strategy, from its definition: sqrt(Σ w_t·‖row t of A·C⁻¹‖²), or the
/// worst, times the longest column. C⁻¹ is inverted by LU.
fn error(dense: &Dense) -> f64 {
    let n = dense.releases();
    let c = DMatrix::from_fn(n, n, |t, s| {
        let c = dense.triangle.strategy[t].get(s).copied().unwrap_or(0);
        f64::from(c) / f64::from(1_u32 << dense.bits)
    });
    let longest = (0..n).map(|s| c.column(s).norm()).fold(0.0, f64::max);
    let a = DMatrix::from_fn(n, n, |t, s| f64::from(u8::from(s <= t)));
    let rows = a * c.try_inverse().unwrap();
    let variance = |t: usize| rows.row(t).norm_squared();
    let square = match dense.workload.weights(n as u64) {
        None => (0..n).map(variance).fold(0.0, f64::max),
        Some(weights) => (0..n).map(|t| weights[t] * variance(t)).sum(),
    };
    longest * square.sqrt()
}

#[test]
fn no_strategy_has_less_error() {
    for n in [1, 2, 3, 7, 64, 255] {
        for workload in Workload::ALL {
            let optimum = Optimum::of(workload, n);
            let rows = workload.weights(n as u64);
            let backwards = || optimum.columns.iter().rev().copied().collect();
            let least = certificate(&rows.unwrap_or_else(backwards), &optimum.columns);
            let reached = error(&Dense::best(workload, n as u64).unwrap());
            let what = format!("{n} {workload}: {reached}, at least {least}");
            assert!(reached >= least * (1.0 - 1e-9), "{what}");
            assert!(reached <= least * (1.0 + 5e-5), "{what}");
            // The rule's precision.
            assert!((optimum.certificate / least - 1.0).abs() < 1e-5, "{what}");
            if (n, workload) == (255, Workload::Max) {
                assert!(least > 2.5315 && reached < 2.5317, "{what}");
            }
            if (n, workload) == (255, Workload::RunningMean) {
                assert!(least > 1.3495 && reached < 1.3497, "{what}");
            }
        }
    }
}

/// The largest plan: in balance where every release counts alike, and positive everywhere.
#[test]
fn a_thousand_releases_are_in_balance() {
    let dense = Dense::best(Workload::Max, MOST_RELEASES).unwrap();
    let sd = |t| dense.variance(t, MOST_RELEASES).sqrt();
    let all: Vec<f64> = (1..=MOST_RELEASES).map(sd).collect();
    let (least, most) = all
        .iter()
        .fold((f64::MAX, 0.0), |(a, b), &sd| (sd.min(a), sd.max(b)));
    assert!(least > 2.9613 && most < 2.9617, "{least} {most}");
    assert!(dense.triangle.strategy.iter().flatten().all(|&c| c >= 0));
    assert!(Dense::best(Workload::Decay(0), 9).is_err());
    assert!(Dense::best(Workload::Decay(1001), 9).is_err());
}

const DIMENSION: u32 = 3;

fn rows(dense: &Dense, largest: i64) -> Rows {
    let key = Key::insecure_from_seed(5);
    let source = Source::open(&key, Instance::from_bytes([3; 16]), 7);
    let draws = Draws::new(Noise::Gaussian, DIMENSION, source).unwrap();
    Rows::new(dense.clone(), draws, largest, 0.25)
}

/// Every row is the floor of its definition in 128 bits and one whole noise of its own; every
/// release decodes all rows; one that was stopped is the same bit for bit.
#[test]
fn releases_are_decoded_rows_plus_their_noise() {
    let n = 40;
    for (workload, largest) in [
        (Workload::Max, 1 << 27),
        (Workload::Last, 1000),
        (Workload::Mean, 1),
    ] {
        let dense = Dense::best(workload, n).unwrap();
        let mut sum = rows(&dense, largest);
        let mut draws = rows(&dense, largest).draws;
        let (mut out, mut items, mut noisy) = ([0.0; 3], Vec::new(), Vec::new());
        sum.last(0, &mut out);
        assert_eq!(out.map(f64::to_bits), [0; 3]);
        for t in 1..=n {
            let item = [
                largest,
                -largest,
                (t as i64 * 7919) % (2 * largest + 1) - largest,
            ];
            items.push(item);
            sum.step(t, &item, &mut out);
            let noise = draws.node(t).to_vec();
            let row: Vec<f64> = (0..3)
                .map(|i| {
                    let terms = dense.triangle.strategy[t as usize - 1].iter().zip(&items);
                    let exact: i128 = terms.map(|(c, x)| i128::from(*c) * i128::from(x[i])).sum();
                    (exact.div_euclid(1 << dense.bits) + i128::from(noise[i])) as f64
                })
                .collect();
            noisy.push(row);
            assert_eq!(sum.noisy, noisy, "{workload} {t}");
            for i in 0..3 {
                let decoded: f64 = dense
                    .decode(t)
                    .iter()
                    .zip(&noisy)
                    .map(|(b, y)| b * y[i])
                    .sum();
                assert!((out[i] - decoded * 0.25).abs() <= 1e-12 * decoded.abs().max(1e9));
            }
            let mut restored = rows(&dense, largest);
            restored.restore(t, &sum.state()).unwrap();
            let mut repeated = [0.0; 3];
            restored.last(t, &mut repeated);
            assert_eq!(
                out.map(f64::to_bits),
                repeated.map(f64::to_bits),
                "{workload} {t}"
            );
            sum = restored;
        }
        // States of another place, or with items that no lattice of the plan has.
        let mut other = rows(&dense, largest);
        assert!(other.restore(n - 1, &sum.state()).is_err());
        assert!(other.restore(n + 1, &sum.state()).is_err());
        let mut large = sum.state();
        large.integers[5] = i128::from(largest) + 1;
        assert!(other.restore(n, &large).is_err());
    }
}

/// Small items, where floors weigh: over all pairs of neighbouring streams, rows differ by at most
/// what the price covers, and by more than it would cover without the floors' share.
#[test]
fn floors_are_paid_for() {
    let n = 6;
    let dense = Dense::best(Workload::Max, n).unwrap();
    let request = SumRequest {
        kind: SumKind::DENSE,
        noise: Noise::Gaussian,
        releases: n,
        dimension: DIMENSION,
        bound: 1.0,
        geometry: super::super::Geometry::Ball,
        least_sigma: 0.0,
        batch: 1,
        adjacency: Adjacency::ZeroOut,
        participation: Participation::OncePerRecord,
        budget: Budget::approx(1.0, 1e-6).unwrap(),
    };
    let once = Participation::OncePerRecord;
    let sensitivity = dense.sensitivity(Noise::Gaussian, n, 0, once).unwrap();
    let inflation = dense.inflation(&request, 0);
    assert!(inflation.powi(2) >= (n * u64::from(DIMENSION)) as f64);
    let play = |items: &[[i64; 3]]| {
        let (mut sum, mut out) = (rows(&dense, 2), [0.0; 3]);
        for (t, item) in (1..).zip(items) {
            sum.step(t, item, &mut out);
        }
        sum.noisy.concat()
    };
    let mut most = 0.0_f64;
    for seed in 0..3000_i64 {
        let digit = |place: i64| (seed * 7919 + place * 104_729 + seed * seed * place) % 5 - 2;
        let left: Vec<[i64; 3]> = (0..n as i64)
            .map(|t| [0, 1, 2].map(|i| digit(3 * t + i)))
            .collect();
        let place = seed as usize % n as usize;
        let mut right = left.clone();
        right[place] = [0, 1, 2].map(|i| digit(100 + i));
        let difference = left[place]
            .iter()
            .zip(right[place])
            .map(|(a, b)| (a - b).pow(2))
            .sum::<i64>();
        let apart = play(&left)
            .iter()
            .zip(play(&right))
            .map(|(a, b)| (a - b).powi(2))
            .sum::<f64>();
        let data = sensitivity * (difference as f64).sqrt();
        assert!(apart.sqrt() <= data + inflation, "{seed}");
        most = most.max(apart.sqrt() - data);
    }
    assert!(most > 0.1 * inflation, "{most}");
}

#[test]
fn forged_triangles_are_refused() {
    let honest = Dense::best(Workload::Max, 5).unwrap();
    let written = || Written::from(honest.clone());
    assert!(Dense::try_from(written()) == Ok(honest.clone()));
    let forge = |change: fn(&mut Written)| {
        let mut forged = written();
        change(&mut forged);
        Dense::try_from(forged).is_err()
    };
    assert!(forge(|w| w.bits = 7));
    assert!(forge(|w| w.bits = 21));
    assert!(forge(|w| w.coefficients[0] = (1 << 20) + 1));
    assert!(forge(|w| w.coefficients[3] = i32::MIN));
    assert!(forge(|w| w.coefficients[2] = 0));
    assert!(forge(|w| w.coefficients.clear()));
    assert!(forge(|w| w.coefficients.push(1)));
    // A larger triangle is one of another plan.
    assert!(!honest.fits(SumKind::DENSE, 6) && honest.fits(SumKind::DENSE, 5));
    assert!(!honest.fits(SumKind::Dense(Workload::Mean), 5));
    assert!(honest.holds(1 << 40) && !honest.holds(1 << 42));
}
