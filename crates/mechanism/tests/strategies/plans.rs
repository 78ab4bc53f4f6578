//! Plans of one dimension, and the sums that are covers.

use hushstream_account::{Adjacency, Budget};
use hushstream_mechanism::Participation;
use hushstream_mechanism::sums::{Geometry, Noise, SumKind, SumPlan, SumRequest};

pub(crate) const LARGEST: u64 = 40;

pub(crate) fn plan(
    kind: SumKind,
    noise: Noise,
    releases: u64,
    adjacency: Adjacency,
    participation: Participation,
) -> SumPlan {
    let budget = if noise.is_pure() {
        Budget::pure(1.0)
    } else {
        Budget::approx(1.0, 1e-6)
    };
    SumRequest {
        kind,
        noise,
        releases,
        dimension: 1,
        bound: 1.0,
        geometry: Geometry::Ball,
        least_sigma: 0.0,
        batch: 1,
        adjacency,
        participation,
        budget: budget.unwrap(),
    }
    .plan()
    .unwrap()
}

pub(crate) fn single(kind: SumKind, noise: Noise, releases: u64) -> SumPlan {
    plan(
        kind,
        noise,
        releases,
        Adjacency::ZeroOut,
        Participation::OncePerRecord,
    )
}

pub(crate) fn covering() -> impl Iterator<Item = (SumKind, Noise)> {
    let kinds = [
        SumKind::Tree,
        SumKind::PaddedTree,
        SumKind::Honaker,
        SumKind::Smooth,
        SumKind::Kary,
        SumKind::Fresh,
    ];
    let noises = [Noise::Gaussian, Noise::Laplace, Noise::L2Laplace];
    kinds
        .into_iter()
        .flat_map(move |kind| noises.map(|noise| (kind, noise)))
        .filter(|(kind, noise)| kind.accepts(*noise).is_ok())
}
