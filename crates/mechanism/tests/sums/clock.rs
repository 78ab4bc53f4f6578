//! Items that close by a clock: of any size up to the plan's batch, and bit for bit what they would
//! be if nulls had filled them up.

use crate::game::*;
use hushstream_mechanism::losses::{Bounds, Features, Record};
use hushstream_mechanism::sums::{Geometry, Noise, PrivateSum, SumKind, SumRequest};
use hushstream_mechanism::{Contribution, FileStorage, Ledger, Moments, Raw, Transcript};

const MOST: u64 = 7;
const SIZES: [u64; 9] = [3, 0, 7, 1, 0, 0, 2, 7, 5];

fn by_clock(kind: SumKind, noise: Noise) -> SumRequest {
    SumRequest {
        batch: MOST,
        ..request(kind, noise, SIZES.len() as u64)
    }
}

fn published(
    sum: &mut PrivateSum<Transcript>,
    ledger: &mut Ledger,
    pending: Option<hushstream_mechanism::Pending<Vec<f64>, Transcript>>,
) -> Vec<f64> {
    sum.sync(ledger).unwrap();
    sum.publish(pending.unwrap()).unwrap().into_value()
}

/// The records of item `place`, from 0.
fn records(place: usize) -> impl Iterator<Item = Raw<Contribution>> {
    let before: u64 = SIZES[..place].iter().sum();
    (before + 1..=before + SIZES[place]).map(|t| Raw::seal(item(t)))
}

/// Full items, with nulls for the records that are not there.
fn filled(kind: SumKind, noise: Noise) -> Vec<Vec<f64>> {
    let (mut sum, mut ledger) = open(by_clock(kind, noise));
    let one = |place: usize| {
        let nulls = (SIZES[place]..MOST).map(|_| Raw::seal(Contribution::Null));
        let mut last = None;
        for record in records(place).chain(nulls) {
            last = sum.add(record).unwrap();
        }
        published(&mut sum, &mut ledger, last)
    };
    (0..SIZES.len()).map(one).collect()
}

#[test]
fn an_item_of_any_size_is_one_filled_up_with_nulls() {
    for (kind, noise) in cells() {
        let expected = filled(kind, noise);
        let (mut sum, mut ledger) = open(by_clock(kind, noise));
        sum.close_by_clock();
        for (place, expected) in expected.iter().enumerate() {
            for record in records(place) {
                assert!(sum.add(record).unwrap().is_none(), "closed by its size");
            }
            if SIZES[place] == MOST {
                assert!(sum.add(Raw::seal(item(1))).is_err(), "one more than fits");
            }
            let closed = sum.close_item().unwrap();
            assert_eq!(&published(&mut sum, &mut ledger, closed), expected);
        }
        assert_eq!(sum.records(), SIZES.iter().sum::<u64>());
        let is_over = sum.close_item().is_err();
        assert_eq!(
            is_over,
            !kind.needs_no_horizon(),
            "{kind}: the last release"
        );
    }
}

/// A resume after every item, and half of them after a checkpoint, changes no release and forgets
/// no record.
#[test]
fn sizes_survive_a_resume() {
    for (kind, noise) in cells() {
        let expected = filled(kind, noise);
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| FileStorage::open(directory.path().join(name)).unwrap();
        let plan = by_clock(kind, noise).plan().unwrap();
        let (budget, filter) = (budget(noise), filter(noise));
        let mut ledger = Ledger::create(file("ledger"), budget, filter, plan.scope()).unwrap();
        let grant = ledger.debit(charge(&plan), plan.scope()).unwrap();
        let sum: PrivateSum<Transcript> =
            PrivateSum::open(plan, grant, &key(), &mut ledger, file("journal")).unwrap();
        drop((sum, ledger));
        let mut before = 0;
        for (place, expected) in expected.iter().enumerate() {
            let mut ledger = Ledger::open(file("ledger")).unwrap();
            let back = PrivateSum::<Transcript>::resume(
                file("journal"),
                &key(),
                &mut ledger,
                None,
                |_| true,
            );
            let back = back.unwrap();
            let mut sum = back.run;
            assert_eq!(sum.records(), before);
            sum.close_by_clock();
            for record in records(place) {
                sum.add(record).unwrap();
            }
            let closed = sum.close_item().unwrap();
            assert_eq!(&published(&mut sum, &mut ledger, closed), expected);
            before += SIZES[place];
            if place % 2 == 1 {
                sum.checkpoint(Vec::new()).unwrap();
            }
        }
    }
}

#[test]
fn second_moments_close_by_a_clock_too() {
    let moments = Moments::new(2, Bounds::new(1.0, (-1.0, 1.0), 1.0).unwrap());
    let request = SumRequest {
        dimension: moments.dimension() as u32,
        bound: moments.bound(),
        geometry: Geometry::Moments(moments.weight()),
        ..by_clock(SumKind::BLT, Noise::Gaussian)
    };
    let record = |t: u64| {
        let x = (t % 5) as f64 / 8.0;
        Raw::seal(Record {
            features: Features::Dense(vec![x, 0.5 - x]),
            target: 1.0 - x,
        })
    };
    let null = || {
        Raw::seal(Record {
            features: Features::Dense(vec![f64::NAN; 2]),
            target: 0.0,
        })
    };
    let (mut full, mut paid) = open(request.clone());
    let (mut sum, mut ledger) = open(request);
    sum.close_by_clock();
    for size in SIZES {
        let mut last = None;
        for t in 0..MOST {
            let given = if t < size { record(t) } else { null() };
            last = full.add_moments(None, &moments, given).unwrap();
        }
        let expected = published(&mut full, &mut paid, last);
        for t in 0..size {
            sum.add_moments(None, &moments, record(t)).unwrap();
        }
        let closed = sum.close_item().unwrap();
        assert_eq!(published(&mut sum, &mut ledger, closed), expected);
    }
}
