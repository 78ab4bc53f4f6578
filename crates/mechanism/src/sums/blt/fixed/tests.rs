//! Rows are those of the formula, in both widths, and one pass is encoding, noise and decoding.

use super::super::optimise;
use super::super::parameters::tests::vector;
use super::*;

fn open(width: Width, n: u64, dimension: usize, radius: i64) -> FixedBlt {
    let blt = DyadicBlt::new(&vector()).unwrap();
    FixedBlt::open(&blt, Layout::new(width, 16), n, dimension, radius).unwrap()
}

#[test]
fn an_impulse_reads_out_the_coefficients() {
    let (n, radius) = (300, 1 << 30);
    let mut encoder = open(Width::Wide, n, 1, radius);
    let blt = DyadicBlt::new(&vector()).unwrap();
    let mut row = [0];
    for k in 0..n {
        let item = if k == 0 { radius } else { 0 };
        encoder.encode(&[item], &mut row).unwrap();
        let got = row[0] as f64 / (radius as f64 * 65536.0);
        let exact = blt.parameters().coefficient(k);
        // S_k units of 2⁻⁴⁶ at most, as the proof says.
        assert!(
            (got - exact).abs() <= blt.gain(k) / 2_f64.powi(46) + 1e-15,
            "c_{k}: {got} {exact}"
        );
    }
}

/// Driven to its bounds in every sign pattern of period two to four.
#[test]
fn wide_buffers_stay_within_their_limits() {
    let (n, radius) = (1 << 12, 1_i64 << 48);
    for pattern in [
        [1, 1, 1, 1],
        [-1, -1, -1, -1],
        [1, -1, 1, -1],
        [1, 1, -1, -1],
        [-1, 0, 0, 1],
    ] {
        let (mut encoder, mut row) = (open(Width::Wide, n, 1, radius), [0]);
        for t in 0..n as usize {
            encoder
                .encode(&[radius * pattern[t % 4]], &mut row)
                .unwrap();
        }
        let limits = encoder.layout().limits(&encoder.blt, n, radius);
        let state = encoder.state();
        let mut pairs = state.iter().zip(&limits);
        assert!(pairs.all(|(b, l)| b.unsigned_abs() as f64 <= *l));
        if pattern == [1; 4] {
            let mut pairs = state.iter().zip(&limits);
            assert!(pairs.all(|(b, l)| *b as f64 > 0.999 * l));
        }
    }
}

#[test]
fn coordinates_never_mix() {
    // More than two blocks and a remainder; restored in the middle, in the order of coordinates.
    let (n, radius, dimension) = (40, 1 << 30, 150);
    for width in [Width::Double, Width::Wide] {
        let mut all = open(width, n, dimension, radius);
        let mut each: Vec<_> = (0..dimension).map(|_| open(width, n, 1, radius)).collect();
        let (mut row, mut single) = (vec![0; dimension], [0]);
        for t in 0..n as i64 {
            let item: Vec<i64> = (0..dimension as i64)
                .map(|i| ((t + 3) * (i * i + 7) * 7_654_321) % (radius + 1) * (1 - 2 * (i % 2)))
                .collect();
            all.encode(&item, &mut row).unwrap();
            for (i, one) in each.iter_mut().enumerate() {
                one.encode(&item[i..=i], &mut single).unwrap();
                assert_eq!(row[i], single[0]);
            }
            if t == n as i64 / 2 {
                let state = all.state();
                let wanted: Vec<_> = each.iter().flat_map(FixedBlt::state).collect();
                assert_eq!(state, wanted);
                all = open(width, n, dimension, radius);
                all.restore(t as u64 + 1, &state).unwrap();
            }
        }
    }
}

/// For whole blocks and what is left over, with noise of any size and parity.
#[test]
fn a_round_is_encoding_noise_and_decoding() {
    for (guard_bits, radius) in [(0, 1 << 30), (9, 1 << 24), (16, 1 << 20)] {
        for buffers in [1, 4, 8] {
            for dimension in [1, 4, 7, 54, 150, 2100] {
                compare(
                    Layout::new(Width::Double, guard_bits),
                    buffers,
                    dimension,
                    radius,
                );
            }
        }
    }
}

fn compare(layout: Layout, buffers: usize, dimension: usize, radius: i64) {
    let n = 300;
    let blt = DyadicBlt::new(&optimise(1 << 10, buffers).unwrap()).unwrap();
    let mut encoder = FixedBlt::open(&blt, layout, n, dimension, radius).unwrap();
    let mut decoder = BltDecoder::new(blt.parameters(), dimension, layout.unit());
    let (mut other_encoder, mut other_decoder) = (encoder.clone(), decoder.clone());
    let (mut row, mut wanted) = (vec![0; dimension], vec![0.0; dimension]);
    let (mut prefix, largest) = (wanted.clone(), 1_i64 << 34);
    for t in 1..=n as i64 {
        let mixed = |i: i64, by: i64| (t * 31 + i).wrapping_mul(by.wrapping_pow(7)) >> 5;
        let item: Vec<i64> = (0..dimension as i64)
            .map(|i| mixed(i, 0x5851_f42d_4c95_7f2d) % (radius + 1))
            .collect();
        let noise: Vec<i64> = (0..dimension as i64)
            .map(|i| match (t + i) % 5 {
                0 => largest,
                1 => -largest,
                _ => mixed(i, 0x1405_7b7e_f767_814f) % largest,
            })
            .collect();
        let draw = |first: u32, out: &mut [i64]| {
            out.copy_from_slice(&noise[first as usize..][..out.len()]);
        };
        let given = if t % 2 == 0 {
            RoundNoise::Drawn(&noise)
        } else {
            RoundNoise::ToDraw(&draw)
        };
        let released = encoder.release(&item, given, &mut decoder, &mut prefix);
        assert!(released.unwrap());
        other_encoder.encode(&item, &mut row).unwrap();
        let noisy = row
            .iter()
            .zip(&noise)
            .map(|(y, z)| (y + i128::from(*z)) as f64);
        other_decoder
            .step(&noisy.collect::<Vec<_>>(), &mut wanted)
            .unwrap();
        let mut pairs = prefix.iter().zip(&wanted);
        assert!(pairs.all(|(p, w)| p.to_bits() == w.to_bits()));
    }
    assert_eq!(encoder.state(), other_encoder.state());
    assert_eq!(encoder.used(), n);
    let zero = vec![0; dimension];
    let late = encoder.release(&zero, RoundNoise::Drawn(&zero), &mut decoder, &mut prefix);
    assert!(late.is_err());
}
