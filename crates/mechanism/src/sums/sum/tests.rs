//! A journal is a file: an item that no record could have made is refused when it is replayed.

use super::super::{Geometry, Noise, SumKind, SumRequest};
use super::*;
use crate::boundary::{Raw, Transcript};
use crate::durable::{FileStorage, ITEM, Ledger, RowLog};
use crate::lattice::Contribution;
use hushstream_account::{Adjacency, Budget, FilterKind};
use hushstream_noise::{Instance, Key};

fn plan(kind: SumKind, noise: Noise, batch: u64) -> SumPlan {
    let budget = if noise.is_pure() {
        Budget::pure(1.0).unwrap()
    } else {
        Budget::approx(1.0, 1e-6).unwrap()
    };
    SumRequest {
        kind,
        noise,
        releases: 20,
        dimension: 2,
        bound: 1.0,
        geometry: Geometry::Ball,
        least_sigma: 0.0,
        batch,
        adjacency: Adjacency::ReplaceOne,
        participation: Participation::OncePerRecord,
        budget,
    }
    .plan()
    .unwrap()
}

/// Whether a run continues after one more item is added to its journal, after `before` honest ones.
fn goes_on(plan: &SumPlan, before: u64, forged: Vec<i64>) -> bool {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| FileStorage::open(directory.path().join(name)).unwrap();
    let key = Key::insecure_from_seed(5);
    let request = plan.request();
    let kind = if request.noise.is_pure() {
        FilterKind::Pure
    } else {
        FilterKind::Gaussian
    };
    let mut ledger = Ledger::create(file("ledger"), request.budget, kind, plan.scope()).unwrap();
    let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
    let mut sum =
        PrivateSum::<Transcript>::open(plan.clone(), grant, &key, &mut ledger, file("journal"))
            .unwrap();
    for _ in 0..before * request.batch {
        sum.add(Raw::seal(Contribution::Dense(vec![1.0, 0.0])))
            .unwrap();
    }
    sum.sync(&mut ledger).unwrap();
    drop(sum);
    let (mut journal, _) = RowLog::open(Box::new(file("journal"))).unwrap();
    let item = Item {
        values: forged,
        ..Item::default()
    };
    journal.append(append(&item, vec![ITEM]).unwrap()).unwrap();
    journal.sync().unwrap();
    drop(journal);
    let resumed =
        PrivateSum::<Transcript>::resume(file("journal"), &key, &mut ledger, None, |_| true);
    match resumed {
        Ok(back) => {
            assert_eq!(back.run.steps(), before + 1);
            true
        }
        Err(SumError::Diary(DiaryError::Journal("an item is not one of this plan"))) => false,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn forged_items_outside_the_radius_are_refused() {
    for (kind, noise) in [
        (SumKind::Tree, Noise::Gaussian),
        (SumKind::BLT, Noise::Gaussian),
        (SumKind::Eras, Noise::Gaussian),
        (SumKind::Tree, Noise::Laplace),
        (SumKind::Octave, Noise::L2Laplace),
    ] {
        for batch in [1, 3] {
            let plan = plan(kind, noise, batch);
            let most = plan.radius() * batch as i64;
            let case = format!("{kind} {noise} {batch}");
            assert!(goes_on(&plan, 0, vec![most, 0]), "{case}");
            assert!(goes_on(&plan, 0, vec![0, -most]), "{case}");
            assert!(!goes_on(&plan, 0, vec![most + 1, 0]), "{case}");
            assert!(!goes_on(&plan, 0, vec![0, i64::MIN]), "{case}");
            // Each coordinate inside, the vector outside.
            assert!(!goes_on(&plan, 0, vec![most, most]), "{case}");
            assert!(!goes_on(&plan, 0, vec![0]), "{case}");
        }
    }
}

/// Later octaves have smaller radii, which their noise is for.
#[test]
fn an_item_of_a_later_octave_has_that_octaves_radius() {
    let plan = plan(SumKind::Octave, Noise::Gaussian, 1);
    let radius = |octave| plan.lattice(octave).unwrap().radius();
    assert!(radius(2) < radius(0));
    assert!(goes_on(&plan, 4, vec![radius(2), 0]));
    assert!(!goes_on(&plan, 4, vec![radius(2) + 1, 0]));
    assert!(!goes_on(&plan, 4, vec![radius(0), 0]));
}

/// The same for eras: the second begins with item 257.
#[test]
fn an_item_of_a_later_era_has_that_eras_radius() {
    let plan = plan(SumKind::Eras, Noise::Gaussian, 1);
    let radius = |era| plan.lattice(era).unwrap().radius();
    assert!(radius(1) < radius(0));
    assert!(goes_on(&plan, 255, vec![radius(0), 0]));
    assert!(goes_on(&plan, 256, vec![radius(1), 0]));
    assert!(!goes_on(&plan, 256, vec![radius(1) + 1, 0]));
    assert!(!goes_on(&plan, 256, vec![radius(0), 0]));
}

/// Counts are not negative, and no longer than their weight allows.
#[test]
fn forged_counts_are_refused() {
    for (noise, sixteenths) in [
        (Noise::Gaussian, 16),
        (Noise::Gaussian, 4),
        (Noise::Laplace, 8),
    ] {
        let request = plan(SumKind::Tree, noise, 3).request().clone();
        let geometry = |counts| Geometry::Tables { counts, sixteenths };
        let dimension = 4;
        let plan = SumRequest {
            geometry: geometry(2),
            dimension,
            ..request.clone()
        };
        let plan = plan.plan().unwrap();
        let most = 3 * plan.radius();
        let counted = 3 * (plan.radius() * i64::from(sixteenths) / 16);
        let case = format!("{noise} {sixteenths}");
        assert!(goes_on(&plan, 0, vec![-most, 0, 0, counted]), "{case}");
        assert!(!goes_on(&plan, 0, vec![0, 0, 0, -1]), "{case}");
        assert!(!goes_on(&plan, 0, vec![0, 0, counted + 1, 0]), "{case}");
        assert!(!goes_on(&plan, 0, vec![0, most + 1, 0, 0]), "{case}");
        assert!(!goes_on(&plan, 0, vec![most, most, 0, 0]), "{case}");
        assert!(!goes_on(&plan, 0, vec![0, 0, 0]), "{case}");
        // Without counts all coordinates are residuals.
        let bare = SumRequest {
            geometry: geometry(0),
            dimension,
            ..request
        };
        let bare = bare.plan().unwrap();
        let most = 3 * bare.radius();
        assert!(goes_on(&bare, 0, vec![0, 0, 0, -most]), "{case}");
        assert!(!goes_on(&bare, 0, vec![most, 0, 0, most]), "{case}");
    }
}

/// Every octave has its generator: a plan's last release is reached.
#[test]
fn octaves_have_noise_until_the_last_release() {
    // So many records an item that the exact sums have room for six octaves.
    let plan = plan(SumKind::Octave, Noise::Gaussian, 1 << 29);
    assert_eq!(plan.most_releases(), 63);
    let key = Key::insecure_from_seed(5);
    let generators = Generators {
        key: &key,
        instance: Instance::from_bytes([7; 16]),
        number: 0,
    };
    let mut running = plan.build(generators).unwrap();
    let mut past = vec![0.0_f64; 2];
    for t in 1..=plan.most_releases() {
        let mut out = [0.0; 2];
        running.step(t, &[0; 2], &mut out);
        let is_new = out.map(f64::to_bits) != [past[0].to_bits(), past[1].to_bits()];
        assert!(out[0].abs() > 0.0 && is_new, "{t}");
        past = out.to_vec();
    }
}
