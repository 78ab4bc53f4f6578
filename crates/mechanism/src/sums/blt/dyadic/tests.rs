//! The floats are the integers, and everything is rounded up.

use super::super::optimise;
use super::super::parameters::tests::vector;
use super::*;

#[test]
fn the_floats_are_the_integers() {
    for n in [2, 1 << 10, 1 << 20, 1 << 40] {
        for m in 1..=8 {
            let wanted = optimise(n, m).unwrap();
            let blt = DyadicBlt::new(&wanted).unwrap();
            let (decay, weight) = (blt.parameters().decay(), blt.parameters().weight());
            for j in 0..blt.buffers() {
                // Back to integers without loss, in arithmetic that would show a remainder.
                assert_eq!(
                    (decay[j] * 2_f64.powi(62)) as i64,
                    blt.decay_numerators()[j]
                );
                assert!((decay[j] * 2_f64.powi(62)).fract().abs() < f64::MIN_POSITIVE);
                assert_eq!(
                    (weight[j] * 2_f64.powi(40)) as i64,
                    blt.weight_numerators()[j]
                );
                assert!(weight[j] <= wanted.weight()[j]);
            }
            let (rounded, ideal) = (
                blt.parameters().worst_prefix_sd(n),
                wanted.worst_prefix_sd(n),
            );
            assert!(
                (rounded / ideal - 1.0).abs() < 1e-6,
                "{n} {m}: {rounded} {ideal}"
            );
            // Rounding twice changes nothing.
            assert_eq!(DyadicBlt::new(blt.parameters()).unwrap(), blt);
            let text = serde_json::to_string(&blt).unwrap();
            assert_eq!(serde_json::from_str::<DyadicBlt>(&text).unwrap(), blt);
        }
    }
}

#[test]
fn factors_are_short_where_that_is_harmless() {
    let new = |decay: &[f64], weight: &[f64]| {
        DyadicBlt::new(&BltParameters::new(decay.to_vec(), weight.to_vec()).unwrap()).unwrap()
    };
    let significant = |a: i64| i64::BITS - a.leading_zeros() - a.trailing_zeros();
    let blt = new(&[1e-6 / 3.0, 1.0 / 3.0], &[1.0 / 3000.0, 1.0 / 3.0]);
    assert!(blt.decay_numerators().iter().all(|a| significant(*a) <= 31));
    assert!(blt.weight_numerators().iter().all(|w| w % 512 == 0));
    // A faint weight, or decays closer than 31 bits can tell: nothing is lost.
    let third = 1.0_f64 / 3.0;
    for blt in [
        new(&[third], &[1.0 / 5000.0]),
        new(&[third, third.next_up()], &[third, third]),
    ] {
        assert!(significant(blt.decay_numerators()[0]) > 31);
        assert!(blt.weight_numerators()[0] % 512 != 0);
        let back = DyadicBlt::from_numerators(blt.decay_numerators(), blt.weight_numerators());
        assert_eq!(back.unwrap(), blt, "what is stored is never rounded again");
    }
    // Rounding to nearest, also up to the next power of two.
    assert_eq!(to_31_bits((1 << 62) - 1), 1 << 62);
    assert_eq!(to_31_bits((1 << 31) + 1), (1 << 31) + 2);
    assert_eq!(to_31_bits((1 << 31) - 1), (1 << 31) - 1);
}

#[test]
fn rounded_up() {
    let blt = DyadicBlt::new(&vector()).unwrap();
    for n in [1, 2, 100, 1 << 20] {
        let (up, near) = (blt.sensitivity(n), blt.parameters().sensitivity(n));
        assert!(up > near && up < near * (1.0 + 1e-12));
    }
    let several = blt.sensitivity_with(1 << 20, 3, 10).unwrap();
    assert!(several > blt.parameters().sensitivity_with(1 << 20, 3, 10).unwrap());
}

#[test]
fn inflation_of_a_million_releases() {
    let blt = DyadicBlt::new(&vector()).unwrap();
    let inflation = |width, f, n| blt.inflation(Layout::new(width, f), n, 54);
    let got = inflation(Width::Wide, 16, 1 << 20);
    let asymptotic = 1.0
        + vector()
            .decay()
            .iter()
            .zip(vector().weight())
            .map(|(a, w)| w / a)
            .sum::<f64>();
    let loose = asymptotic * (54.0 * 2_f64.powi(20)).sqrt() / 65536.0;
    assert!(got < loose && got > 0.8 * loose, "{got} {loose}");
    assert!((got - 128.0).abs() < 1.0, "{got}");
    // Doubles: one unit of the lattice for the row, four of the guarded ones for its sum, and what
    // the buffers add.
    let cells = (54.0 * 2_f64.powi(20)).sqrt();
    assert!((got - blt.gain(1 << 20) * cells / 65536.0).abs() < 1e-6);
    let doubles = inflation(Width::Double, 16, 1 << 20);
    assert!((doubles - got - cells * (1.0 + 3.0 / 65536.0)).abs() < 1e-6);
    assert!((inflation(Width::Double, 16, 1 << 18) - 3762.0).abs() < 35.0);
}

#[test]
fn refusals() {
    let faint = BltParameters::new(vec![0.1], vec![1e-13]).unwrap();
    assert!(matches!(
        DyadicBlt::new(&faint),
        Err(BltError::Weight { index: 0, .. })
    ));
    let twins = BltParameters::new(vec![1e-30, 2e-30], vec![0.1, 0.1]).unwrap();
    assert!(matches!(
        DyadicBlt::new(&twins),
        Err(BltError::Decay { index: 1, .. })
    ));
    let one = 1 << WEIGHT_BITS;
    assert!(DyadicBlt::from_numerators(&[1 << 61], &[one]).is_ok());
    assert!(matches!(
        DyadicBlt::from_numerators(&[(1 << 61) + 1], &[one]),
        Err(BltError::Decay { index: 0, .. })
    ));
    assert!(matches!(
        DyadicBlt::from_numerators(&[1 << 61], &[one + 1]),
        Err(BltError::TotalWeight { .. })
    ));
    for bad in [0, -1, i64::MIN, i64::MAX] {
        assert!(DyadicBlt::from_numerators(&[bad], &[one]).is_err());
        assert!(DyadicBlt::from_numerators(&[1 << 61], &[bad]).is_err());
    }
}
