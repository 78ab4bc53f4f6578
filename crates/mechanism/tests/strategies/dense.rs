//! Dense sums, materialised: what a person's items move in any pattern, and the promised error.

use crate::filters::patterns;
use crate::matrices::Matrices;
use crate::plans::plan;
use hushstream_account::{Adjacency, Charge};
use hushstream_mechanism::Participation;
use hushstream_mechanism::sums::{Noise, SumKind, SumPlan, Workload};

/// C, and A·C⁻¹ by forward substitution on unit vectors.
fn matrices(plan: &SumPlan) -> Matrices {
    let rows = plan.dense_rows().unwrap();
    let n = rows.len();
    let entry = |t: usize, s: usize| rows[t].get(s).copied().unwrap_or(0.0);
    // Row t of C⁻¹ is the unit vector less what earlier rows explain.
    let mut inverse: Vec<Vec<f64>> = Vec::new();
    for t in 0..n {
        let known = |s: usize| -> f64 {
            let earlier = inverse.iter().enumerate();
            earlier.map(|(u, row)| entry(t, u) * row[s]).sum()
        };
        let one = |s| f64::from(u8::from(t == s));
        inverse.push((0..n).map(|s| (one(s) - known(s)) / entry(t, t)).collect());
    }
    let decoder = (0..n).map(|t| {
        let sum = |s| inverse[..=t].iter().map(|row| row[s]).sum();
        (0..n).map(sum).collect()
    });
    let strategy = (0..n).map(|t| (0..n).map(|s| entry(t, s)).collect());
    Matrices {
        decoder: decoder.collect(),
        strategy: strategy.collect(),
    }
}

fn dense(workload: Workload, releases: u64, participation: Participation) -> SumPlan {
    let kind = SumKind::Dense(workload);
    plan(
        kind,
        Noise::Gaussian,
        releases,
        Adjacency::ZeroOut,
        participation,
    )
}

/// Over all patterns of a person's items: no change is larger than what the plan is calibrated for,
/// and for one item it is exactly that.
#[test]
fn persons_move_a_dense_sum_by_at_most_what_is_calibrated() {
    for workload in Workload::ALL {
        for releases in [1, 2, 5, 9, 12] {
            for (most, separation) in [
                (1, 1),
                (2, 1),
                (2, 4),
                (3, 2),
                (3, 5),
                (5, 1),
                (12, 1),
                (99, 3),
            ] {
                let plan = dense(
                    workload,
                    releases,
                    Participation::PerPerson { most, separation },
                );
                let matrices = matrices(&plan);
                let brute = patterns(releases as usize, most, separation)
                    .map(|items| matrices.columns(&items, Noise::Gaussian))
                    .fold(0.0, f64::max);
                let claimed = plan.sensitivity();
                let what =
                    format!("{workload} n={releases} k={most} b={separation}: {claimed} {brute}");
                assert!(claimed >= brute, "{what}");
                let loose = if most == 1 { 1e-12 } else { 0.15 };
                assert!(claimed <= brute * (1.0 + loose), "{what}");
            }
        }
    }
}

/// Everybody in every pass, also if the journal is lost anywhere and the rest is in a new instance.
#[test]
fn passes_never_exceed_what_is_calibrated_in_one_instance_or_two() {
    for (separation, passes) in [(1, 2), (1, 5), (3, 2), (3, 4), (7, 3)] {
        let n = separation * passes;
        let plan = dense(
            Workload::Max,
            n,
            Participation::Passes { passes, separation },
        );
        let (matrices, claimed) = (matrices(&plan), plan.sensitivity());
        for (place, lost) in (0..separation).flat_map(|p| (0..=n).map(move |l| (p, l))) {
            let moved = |range: std::ops::Range<u64>| {
                let all = (0..passes).map(|pass| place + pass * separation);
                let inside = all.filter(|item| range.contains(item));
                let items: Vec<usize> = inside.map(|item| (item - range.start) as usize).collect();
                matrices.columns(&items, Noise::Gaussian)
            };
            let moved = moved(0..lost).hypot(moved(lost..n));
            assert!(
                moved <= claimed,
                "{passes} of {separation}, lost at {lost}: {moved} {claimed}"
            );
        }
    }
}

#[test]
fn the_promised_error_is_the_row_norm_and_the_price_covers_all_rows() {
    for workload in Workload::ALL {
        for releases in [1, 2, 3, 10, 37] {
            for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
                let kind = SumKind::Dense(workload);
                let once = Participation::OncePerRecord;
                let plan = plan(kind, Noise::Gaussian, releases, adjacency, once);
                let matrices = matrices(&plan);
                matrices.check_product(&format!("{workload} n={releases}"));
                let sd = |row: &Vec<f64>| row.iter().map(|b| b * b).sum::<f64>().sqrt();
                let norms: Vec<f64> = matrices.decoder.iter().map(sd).collect();
                for (t, norm) in (1..).zip(&norms) {
                    let promised = plan.prefix_sd(t) / plan.node_sigma();
                    assert!((promised / norm - 1.0).abs() < 1e-10, "{workload} {t}");
                }
                let worst = norms.iter().copied().fold(0.0, f64::max);
                assert!((plan.prefix_sd_max() / plan.node_sigma() / worst - 1.0).abs() < 1e-10);
                // Each row is rounded down: by less than a unit, in the one coordinate that there
                // is.
                let column = (0..releases as usize)
                    .map(|item| matrices.columns(&[item], Noise::Gaussian))
                    .fold(0.0, f64::max);
                let apart = adjacency.kappa() * plan.radius() as f64;
                let loss = (apart * column + (releases as f64).sqrt()) / 2_f64.powi(30);
                let Charge::Gaussian(price) = plan.charge().unwrap().charge else {
                    panic!("Gaussian noise has a Gaussian price");
                };
                let what = format!("{workload} n={releases}: {loss} {}", price.get());
                assert!(loss <= price.get() * (1.0 + 1e-15), "{what}");
                assert!(loss >= price.get() * (1.0 - 1e-8), "{what}");
            }
        }
    }
}

/// Large batches leave fewer bits for the coefficients, and at last none.
#[test]
fn large_items_have_shorter_coefficients() {
    let shorter = |batch| {
        let request = dense(Workload::Max, 100, Participation::OncePerRecord)
            .request()
            .clone();
        hushstream_mechanism::sums::SumRequest { batch, ..request }.plan()
    };
    let bits = |batch| {
        let rows = shorter(batch).unwrap().dense_rows().unwrap();
        (1..=20).find(|&bits| {
            let scaled = rows.iter().flatten().map(|c| c * f64::from(1_u32 << bits));
            scaled.into_iter().all(|c| c.fract() == 0.0)
        })
    };
    assert_eq!(bits(1), Some(20));
    assert_eq!(bits(1 << 16), Some(14));
    let worst = |batch| shorter(batch).unwrap().prefix_sd_max();
    assert!(worst(1 << 20) < 1.01 * worst(1));
    assert!(shorter(1 << 30).is_err());
}
