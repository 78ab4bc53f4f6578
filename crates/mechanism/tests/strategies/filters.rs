//! Filters, materialised: c₀ = 1, c_k = Σ ω_j·θ_j^{k−1}, row by row.

use crate::matrices::Matrices;
use crate::plans::{LARGEST, plan};
use hushstream_account::{Adjacency, Charge};
use hushstream_mechanism::Participation;
use hushstream_mechanism::sums::blt::{DyadicBlt, optimise};
use hushstream_mechanism::sums::{Noise, SumKind};

/// The strategy matrix of the filter that a plan for `releases` releases chooses; no decoder.
fn filter(releases: u64) -> Matrices {
    let blt = DyadicBlt::new(&optimise(releases, 4).unwrap()).unwrap();
    let parameters = blt.parameters();
    let pairs = || parameters.decay().iter().zip(parameters.weight());
    let coefficient = |k: u64| match k {
        0 => 1.0,
        _ => pairs()
            .map(|(decay, weight)| weight * (1.0 - decay).powi(k as i32 - 1))
            .sum(),
    };
    let row = |t: u64| {
        let entry = |item: u64| {
            if item <= t {
                coefficient(t - item)
            } else {
                0.0
            }
        };
        (0..releases).map(entry).collect()
    };
    Matrices {
        strategy: (0..releases).map(row).collect(),
        decoder: Vec::new(),
    }
}

/// All sets of at most `most` items among `releases`, any two at least `separation` apart.
pub(crate) fn patterns(
    releases: usize,
    most: u64,
    separation: u64,
) -> impl Iterator<Item = Vec<usize>> {
    (1_u32..1 << releases).filter_map(move |bits| {
        let items: Vec<usize> = (0..releases).filter(|item| bits >> item & 1 == 1).collect();
        let apart = items
            .windows(2)
            .all(|pair| (pair[1] - pair[0]) as u64 >= separation);
        (items.len() as u64 <= most && apart).then_some(items)
    })
}

/// Over all patterns of a person's items: the largest change is what the plan is calibrated for.
#[test]
fn persons_move_a_filter_by_what_is_calibrated() {
    for releases in [1, 2, 5, 9, 12] {
        let matrix = filter(releases);
        for (most, separation) in [(1, 1), (2, 1), (2, 4), (3, 2), (3, 5), (5, 1), (12, 1)] {
            let participation = Participation::PerPerson { most, separation };
            let plan = plan(
                SumKind::BLT,
                Noise::Gaussian,
                releases,
                Adjacency::ZeroOut,
                participation,
            );
            let brute = patterns(releases as usize, most, separation)
                .map(|items| matrix.columns(&items, Noise::Gaussian))
                .fold(0.0, f64::max);
            let claimed = plan.sensitivity();
            let what = format!("n={releases} k={most} b={separation}: {claimed} {brute}");
            assert!(claimed >= brute, "{what}");
            assert!(claimed <= brute * (1.0 + 1e-7), "{what}");
        }
    }
}

/// The price covers the distance of two runs over all rows.
#[test]
fn the_price_of_a_filter_covers_all_its_rows() {
    for releases in 1..=LARGEST {
        let matrix = filter(releases);
        let column = (0..releases as usize)
            .map(|item| matrix.columns(&[item], Noise::Gaussian))
            .fold(0.0, f64::max);
        for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
            let once = Participation::OncePerRecord;
            let plan = plan(SumKind::BLT, Noise::Gaussian, releases, adjacency, once);
            let apart = match adjacency {
                Adjacency::ReplaceOne => 2 * plan.radius(),
                Adjacency::ZeroOut => plan.radius(),
            } as f64;
            let Charge::Gaussian(price) = plan.charge().unwrap().charge else {
                panic!("Gaussian noise has a Gaussian price");
            };
            // Each row is rounded: by less than a unit, in the one coordinate that there is.
            let floors = (releases as f64).sqrt();
            let loss = (apart * column + floors) / 2_f64.powi(30);
            let what = format!("n={releases}: {loss} {}", price.get());
            assert!(loss <= price.get() * (1.0 + 1e-15), "{what}");
            assert!(loss >= price.get() * (1.0 - 1e-5), "{what}");
        }
    }
}
