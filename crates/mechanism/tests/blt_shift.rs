//! Fixed-point BLT: two encoders on neighbouring streams, and the distance of all their releases.
//!
//! Proved is ‖Y − Y′‖ ≤ sens·‖x_i − x_i′‖ + inflation, and the part beyond C·Δx is at most the
//! inflation. Both are measured, on streams made to keep the floors of the two runs apart. Few
//! guard bits make the floors count: the bound has to hold for every f.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use hushstream_mechanism::sums::blt::{
    BltParameters, DyadicBlt, FixedBlt, Layout, Width, optimise,
};

/// A fixed sequence of bits (SplitMix64), for streams that only have to be arbitrary.
struct Bits(u64);

impl Bits {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn within(&mut self, radius: i64) -> i64 {
        (self.next() % (2 * radius.unsigned_abs() + 1)) as i64 - radius
    }
}

/// The releases of the two runs, compared.
struct Shift {
    /// ‖Y − Y′‖ in lattice units.
    total: f64,
    /// ‖(Y − Y′) − C(x − x′)‖ in lattice units: the work of the roundings alone.
    floors: f64,
}

/// Runs both streams; `item(t, first)` is the item of step t in the first or second stream.
fn shift(
    blt: &DyadicBlt,
    layout: Layout,
    (n, dimension, radius): (u64, usize, i64),
    mut item: impl FnMut(u64, bool, &mut [i64]),
) -> Shift {
    let open = || FixedBlt::open(blt, layout, n, dimension, radius).unwrap();
    let (mut one, mut two) = (open(), open());
    let (mut x, mut z) = (vec![0; dimension], vec![0; dimension]);
    let (mut y, mut w) = (vec![0; dimension], vec![0; dimension]);
    // C(x − x′) in floats: exact enough, since differences are few and the buffers stay below 2⁵³
    // units.
    let (decay, weight) = (blt.parameters().decay(), blt.parameters().weight());
    let mut ideal = vec![0.0_f64; dimension * decay.len()];
    let (mut total, mut floors) = (0.0, 0.0);
    for t in 0..n {
        item(t, true, &mut x);
        item(t, false, &mut z);
        one.encode(&x, &mut y).unwrap();
        two.encode(&z, &mut w).unwrap();
        for i in 0..dimension {
            let buffers = &mut ideal[i * decay.len()..][..decay.len()];
            let change = (x[i] - z[i]) as f64;
            let row = change + buffers.iter().zip(weight).map(|(b, w)| b * w).sum::<f64>();
            for (b, a) in buffers.iter_mut().zip(decay) {
                *b += change - a * *b;
            }
            let measured = (y[i] - w[i]) as f64 * layout.unit();
            total += measured * measured;
            floors += (measured - row) * (measured - row);
        }
    }
    Shift {
        total: f64::sqrt(total),
        floors: f64::sqrt(floors),
    }
}

fn dyadic(blt: &BltParameters) -> DyadicBlt {
    DyadicBlt::new(blt).unwrap()
}

/// Both widths that a stream may run in, with as many guard bits as fit up to `guard`.
fn layouts(blt: &DyadicBlt, guard: u32, (n, dimension, radius): (u64, usize, i64)) -> [Layout; 2] {
    [Width::Wide, Width::Double].map(|width| {
        (0..=guard)
            .rev()
            .map(|f| Layout::new(width, f))
            .find(|layout| FixedBlt::open(blt, *layout, n, dimension, radius).is_ok())
            .unwrap()
    })
}

fn norm(vector: &[i64]) -> f64 {
    vector
        .iter()
        .map(|x| (*x as f64) * (*x as f64))
        .sum::<f64>()
        .sqrt()
}

/// Both claims, and how much of the inflation was used.
fn judge(
    name: &str,
    blt: &DyadicBlt,
    layout: Layout,
    n: u64,
    dimension: usize,
    distance: f64,
    shift: &Shift,
) -> f64 {
    let (sens, inflation) = (blt.sensitivity(n), blt.inflation(layout, n, dimension));
    let used = shift.floors / inflation;
    println!(
        "{name:<34} {:?} n {n:>6} d {dimension:>5} f {:>2}: shift/claim {:.6}, floors/inflation \
         {used:.3}",
        layout.width(),
        layout.guard_bits(),
        shift.total / (sens * distance + inflation),
    );
    assert!(
        shift.total <= sens * distance + inflation,
        "{name}: {} beyond the claim",
        shift.total
    );
    assert!(
        shift.floors <= inflation * (1.0 + 1e-9) + 1e-6,
        "{name}: floors {} beyond {inflation}",
        shift.floors
    );
    used
}

#[test]
fn random_streams() {
    for (n, dimension, guard, m) in [
        (1 << 16, 1 << 7, 16, 4),
        (1 << 14, 54, 0, 5),
        (1 << 11, 1 << 12, 4, 8),
        (40, 1 << 12, 0, 2),
    ] {
        let blt = dyadic(&optimise(n, m).unwrap());
        let radius = 1 << 26;
        for (changed, layout) in [0, n / 3]
            .into_iter()
            .flat_map(|t| layouts(&blt, guard, (n, dimension, radius)).map(|layout| (t, layout)))
        {
            let mut bits = [Bits(7), Bits(7)];
            let mut other = Bits(changed + 99);
            let mut change = vec![0; dimension];
            let result = shift(&blt, layout, (n, dimension, radius), |t, first, out| {
                let bits = &mut bits[usize::from(first)];
                out.iter_mut().for_each(|x| *x = bits.within(radius / 64));
                if t == changed {
                    if first {
                        change.copy_from_slice(out);
                    } else {
                        out.iter_mut().for_each(|x| *x = other.within(radius / 64));
                        change.iter_mut().zip(out).for_each(|(c, x)| *c -= *x);
                    }
                }
            });
            judge("random", &blt, layout, n, dimension, norm(&change), &result);
        }
    }
}

#[test]
fn extremes_along_the_filter() {
    // The whole radius flips sign in every coordinate at the first step, on streams of constant
    // extremes, of extremes with the signs of a slow and of the fastest oscillation, and of zeros.
    let (n, dimension, radius) = (1_u64 << 14, 8, 1_i64 << 28);
    let blt = dyadic(&optimise(n, 4).unwrap());
    type Pattern = fn(u64) -> i64;
    let patterns: [(&str, Pattern); 4] = [
        ("constant", |_| 1),
        ("slow oscillation", |t| 1 - 2 * (t as i64 / 512 % 2)),
        ("fast oscillation", |t| 1 - 2 * (t as i64 % 2)),
        ("silence", |_| 0),
    ];
    for layout in [0, 8, 16]
        .into_iter()
        .flat_map(|guard| layouts(&blt, guard, (n, dimension, radius)))
    {
        for (name, pattern) in patterns {
            let result = shift(&blt, layout, (n, dimension, radius), |t, first, out| {
                let value = if t > 0 {
                    pattern(t) * radius
                } else if first {
                    radius
                } else {
                    -radius
                };
                out.fill(value);
            });
            judge(
                name,
                &blt,
                layout,
                n,
                dimension,
                2.0 * radius as f64 * (dimension as f64).sqrt(),
                &result,
            );
        }
    }
}

#[test]
fn floors_kept_apart() {
    // A small difference, then silence. The exact difference decays; but once α·buf is below one
    // unit its floor is 0 and a positive buffer stays where it is for ever, while a negative one,
    // floored to −1, is lifted step by step to zero. In doubles both stay once α·buf is below one
    // half.
    let mut most = [0.0_f64; 2];
    for (n, dimension, m) in [
        (1_u64 << 16, 4, 4),
        (1 << 12, 64, 1),
        (1 << 10, 1 << 10, 3),
        (1 << 6, 1 << 12, 2),
    ] {
        let blt = dyadic(&optimise(n, m).unwrap());
        for layout in [0, 1, 16]
            .into_iter()
            .flat_map(|guard| layouts(&blt, guard, (n, dimension, 4)))
        {
            let most = &mut most[usize::from(layout.width() == Width::Double)];
            for (name, high, low) in [
                ("one above, one below zero", 1, -1),
                ("one and zero", 1, 0),
                ("zero and minus one", 0, -1),
            ] {
                let result = shift(&blt, layout, (n, dimension, 4), |t, first, out| {
                    out.fill(if t > 0 {
                        0
                    } else if first {
                        high
                    } else {
                        low
                    });
                });
                let distance = (high - low) as f64 * (dimension as f64).sqrt();
                *most = most.max(judge(name, &blt, layout, n, dimension, distance, &result));
            }
        }
    }
    println!("roundings reached {most:.3?} of the inflation");
    assert!(
        most[0] > 0.6 && most[1] > 0.25,
        "the adversary has gone soft: {most:?}"
    );
}

#[test]
fn an_adversary_that_sees_the_state() {
    // At every step the *common* item is chosen, among sixteen, so that the floors one step later
    // move the two runs furthest apart.
    let (n, radius) = (1_u64 << 12, 1_i64 << 20);
    for (m, guard) in [(1, 0), (2, 0), (4, 0), (4, 8)] {
        let blt = dyadic(&optimise(n, m).unwrap());
        for layout in layouts(&blt, guard, (n + 2, 1, radius)) {
            let mut one = FixedBlt::open(&blt, layout, n + 2, 1, radius).unwrap();
            let mut two = one.clone();
            let mut row = [[0], [0]];
            let mut items = vec![[radius, -radius]];
            one.encode(&[radius], &mut row[0]).unwrap();
            two.encode(&[-radius], &mut row[1]).unwrap();
            while items.len() < n as usize {
                // What is chosen is common, so it cannot change the ideal difference: compare the
                // rows themselves.
                let apart = |item: i64| {
                    let (mut one, mut two, mut row) = (one.clone(), two.clone(), [[0], [0]]);
                    for x in [item, 0] {
                        one.encode(&[x], &mut row[0]).unwrap();
                        two.encode(&[x], &mut row[1]).unwrap();
                    }
                    let state = one
                        .state()
                        .into_iter()
                        .zip(two.state())
                        .zip(blt.parameters().weight());
                    state.map(|((a, b), w)| (a - b) as f64 * w).sum::<f64>()
                };
                let best = (0..16)
                    .map(|k| k * 65_521 - 491_407)
                    .max_by(|a, b| apart(*a).total_cmp(&apart(*b)))
                    .unwrap();
                one.encode(&[best], &mut row[0]).unwrap();
                two.encode(&[best], &mut row[1]).unwrap();
                items.push([best, best]);
            }
            let result = shift(&blt, layout, (n, 1, radius), |t, first, out| {
                out[0] = items[t as usize][usize::from(!first)];
            });
            let used = judge(
                "adversary with sight",
                &blt,
                layout,
                n,
                1,
                2.0 * radius as f64,
                &result,
            );
            assert!(used > 0.1, "the adversary has gone soft: {used}");
        }
    }
}

#[test]
fn several_participations() {
    // One person in k items, b apart: the claim with the sensitivity for several participations,
    // the same inflation.
    let (n, dimension, radius, k, b) = (1_u64 << 12, 16, 1_i64 << 20, 5, 300);
    let blt = dyadic(&optimise(n, 4).unwrap());
    for layout in [0, 16]
        .into_iter()
        .flat_map(|guard| layouts(&blt, guard, (n, dimension, radius)))
    {
        let mut bits = [Bits(3), Bits(3)];
        let result = shift(&blt, layout, (n, dimension, radius), |t, first, out| {
            out.iter_mut()
                .for_each(|x| *x = bits[usize::from(first)].within(radius));
            if t % b == 0 && t / b < k {
                out.fill(if first { radius } else { -radius });
            }
        });
        let distance = 2.0 * radius as f64 * (dimension as f64).sqrt();
        let claim =
            blt.sensitivity_with(n, k, b).unwrap() * distance + blt.inflation(layout, n, dimension);
        assert!(
            result.total <= claim && result.total > 0.999 * claim,
            "{} {claim}",
            result.total
        );
        assert!(result.floors <= blt.inflation(layout, n, dimension) * (1.0 + 1e-9) + 1e-6);
    }
}
