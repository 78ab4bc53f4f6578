//! Steps of private sums, one release a step, and the same loop without noise or journal.

use crate::timing::{Measured, measure};
use hushstream_account::{Adjacency, Budget, FilterKind};
use hushstream_mechanism::sums::{Geometry, Noise, PrivateSum, SumKind, SumRequest};
use hushstream_mechanism::{Contribution, Ledger, MemoryStorage, Participation, Raw, Transcript};
use hushstream_noise::Key;
use std::hint::black_box;

/// A stream of small records has a release for each; a long vector, one for each batch.
const fn releases(dimension: u32) -> u64 {
    if dimension < 1 << 12 {
        1 << 20
    } else {
        1 << 12
    }
}
/// Rounds between two syncs: a group commit.
const GROUP: u64 = 256;

/// One contestant of ours: a sum in progress, opened anew when its horizon ends.
struct Ours {
    kind: SumKind,
    dimension: u32,
    sum: PrivateSum<Transcript>,
    ledger: Ledger,
}

impl Ours {
    fn open(kind: SumKind, dimension: u32) -> Self {
        let budget = Budget::approx(1.0, 1e-6).expect("a budget");
        let plan = SumRequest {
            kind,
            noise: Noise::Gaussian,
            releases: releases(dimension),
            dimension,
            bound: 1.0,
            geometry: Geometry::Ball,
            least_sigma: 0.0,
            batch: 1,
            adjacency: Adjacency::ReplaceOne,
            participation: Participation::OncePerRecord,
            budget,
        }
        .plan()
        .expect("a plan");
        let mut ledger =
            Ledger::simulated(budget, FilterKind::Gaussian, plan.scope()).expect("a ledger");
        let grant = ledger
            .debit(plan.charge().expect("a price"), plan.scope())
            .expect("a grant");
        let key = Key::insecure_from_seed(3);
        let sum = PrivateSum::open(plan, grant, &key, &mut ledger, MemoryStorage::default())
            .expect("a sum");
        Self {
            kind,
            dimension,
            sum,
            ledger,
        }
    }

    fn steps(&mut self, steps: u64) {
        if self.sum.steps() + steps > releases(self.dimension) {
            *self = Self::open(self.kind, self.dimension);
        }
        for step in 1..=steps {
            let record = Contribution::Dense(vec![0.01; self.dimension as usize]);
            black_box(self.sum.add(Raw::seal(record)).expect("within the horizon"));
            if step.is_multiple_of(GROUP) {
                self.sum
                    .sync(&mut self.ledger)
                    .expect("memory does not fail");
            }
        }
    }
}

/// The same loop without noise and without a journal: clip, scale, truncate, add, decode.
fn without_noise(steps: u64, dimension: usize, exact: &mut [i64]) {
    let radius = 2.5e7;
    for _ in 0..steps {
        let record = vec![0.01; dimension];
        let length = record.iter().map(|v| v * v).sum::<f64>().sqrt();
        let scale = radius / length.max(1.0);
        let mut squares = 0_u128;
        for (exact, value) in exact.iter_mut().zip(&record) {
            let integer = (value * scale).trunc() as i64;
            squares += u128::from(integer.unsigned_abs()).pow(2);
            *exact += integer;
        }
        assert!(squares <= (radius * radius) as u128);
        let release: Vec<f64> = exact.iter().map(|&v| v as f64 / radius).collect();
        black_box(release);
    }
}

const STEPS: u64 = 4096;

pub(crate) fn private(kind: SumKind, dimension: u32) -> Measured {
    let mut ours = Ours::open(kind, dimension);
    measure(|| {
        ours.steps(STEPS);
        STEPS
    })
}

/// No noise, no journal.
pub(crate) fn plain(dimension: u32) -> Measured {
    let mut exact = vec![0; dimension as usize];
    measure(|| {
        without_noise(STEPS, dimension as usize, &mut exact);
        STEPS
    })
}
