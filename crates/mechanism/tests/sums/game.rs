//! Shared by the tests: plans, keys, ledgers and streams.

use hushstream_account::{Adjacency, Budget, FilterKind, Price};
use hushstream_mechanism::sums::{Geometry, Noise, PrivateSum, SumKind, SumPlan, SumRequest};
use hushstream_mechanism::{
    Contribution, Ledger, MemoryStorage, Participation, Raw, Scope, Transcript,
};
use hushstream_noise::Key;

pub(crate) const DIMENSION: u32 = 3;

pub(crate) fn key() -> Key {
    Key::insecure_from_seed(12)
}

pub(crate) fn request(kind: SumKind, noise: Noise, releases: u64) -> SumRequest {
    SumRequest {
        kind,
        noise,
        releases,
        dimension: DIMENSION,
        bound: 2.0,
        geometry: Geometry::Ball,
        least_sigma: 0.0,
        batch: 1,
        adjacency: Adjacency::ReplaceOne,
        participation: Participation::OncePerRecord,
        budget: budget(noise),
    }
}

pub(crate) fn budget(noise: Noise) -> Budget {
    if noise.is_pure() {
        Budget::pure(1.0).unwrap()
    } else {
        Budget::approx(1.0, 1e-6).unwrap()
    }
}

/// Every transcript sum with every noise it supports.
pub(crate) fn cells() -> Vec<(SumKind, Noise)> {
    let noises = [Noise::Gaussian, Noise::Laplace, Noise::L2Laplace];
    SumKind::ALL
        .into_iter()
        .flat_map(|kind| noises.map(|noise| (kind, noise)))
        .filter(|(kind, noise)| kind.accepts(*noise).is_ok())
        .collect()
}

/// A ledger with room for exactly one such charge.
pub(crate) fn ledger_for(noise: Noise) -> Ledger {
    Ledger::simulated(budget(noise), filter(noise), scope()).unwrap()
}

pub(crate) fn scope() -> Scope {
    Scope::records(Adjacency::ReplaceOne)
}

pub(crate) fn filter(noise: Noise) -> FilterKind {
    if noise.is_pure() {
        FilterKind::Pure
    } else {
        FilterKind::Gaussian
    }
}

pub(crate) fn charge(plan: &SumPlan) -> Price {
    plan.charge().unwrap()
}

/// A fixed stream: item t, some of them clipped, some null.
pub(crate) fn item(t: u64) -> Contribution {
    if t.is_multiple_of(11) {
        return Contribution::Dense(vec![f64::NAN; DIMENSION as usize]);
    }
    let x = |i: u64| ((t * 31 + i * 17) % 23) as f64 / 11.5 - 1.0;
    let length = if t.is_multiple_of(5) { 3.0 } else { 1.0 };
    Contribution::Dense((0..u64::from(DIMENSION)).map(|i| length * x(i)).collect())
}

pub(crate) fn open(request: SumRequest) -> (PrivateSum<Transcript>, Ledger) {
    let noise = request.noise;
    let plan = request.plan().unwrap();
    let mut ledger = Ledger::simulated(budget(noise), filter(noise), plan.scope()).unwrap();
    let grant = ledger.debit(charge(&plan), plan.scope()).unwrap();
    let sum = PrivateSum::open(plan, grant, &key(), &mut ledger, MemoryStorage::default()).unwrap();
    (sum, ledger)
}

/// Adds items and publishes each release.
pub(crate) fn feed(
    sum: &mut PrivateSum<Transcript>,
    ledger: &mut Ledger,
    items: impl IntoIterator<Item = u64>,
) -> Vec<Vec<f64>> {
    items
        .into_iter()
        .map(|t| {
            let pending = sum.add(Raw::seal(item(t))).unwrap().unwrap();
            sum.sync(ledger).unwrap();
            sum.publish(pending).unwrap().into_value()
        })
        .collect()
}
