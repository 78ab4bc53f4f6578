//! Steps a second of private sums: against the same loop without noise or journal, and against other implementations.

use crate::peer::nanoseconds;
use crate::timing::{median, medians};
use hushstream_account::{Adjacency, Budget, FilterKind};
use hushstream_mechanism::sums::{Geometry, Noise, PrivateSum, SumKind, SumRequest};
use hushstream_mechanism::{Contribution, Ledger, MemoryStorage, Participation, Raw, Transcript};
use hushstream_noise::Key;
use std::hint::black_box;

const RELEASES: u64 = 1 << 20;
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
            releases: RELEASES,
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
        if self.sum.steps() + steps > RELEASES {
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
fn plain(steps: u64, dimension: usize, exact: &mut [i64]) {
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

/// Prints the tables.
pub(crate) fn run(python: Option<&str>, jax: Option<&str>) {
    for dimension in [54_u32, 1024] {
        let steps = if dimension > 100 { 4_000 } else { 40_000 };
        let mut exact = vec![0; dimension as usize];
        let mut tree = Ours::open(SumKind::Tree, dimension);
        let mut blt = Ours::open(SumKind::BLT, dimension);
        let (mut jax_times, mut tfp_times) = (Vec::new(), Vec::new());
        let text = dimension.to_string();
        let times = medians(&mut [
            Box::new(|| {
                plain(steps, dimension as usize, &mut exact);
                steps
            }),
            Box::new(|| {
                tree.steps(steps);
                steps
            }),
            Box::new(|| {
                blt.steps(steps);
                steps
            }),
            Box::new(|| {
                jax_times
                    .extend(jax.and_then(|python| nanoseconds(python, "jax_blt.py", &[&text])));
                tfp_times
                    .extend(python.and_then(|python| nanoseconds(python, "tfp_tree.py", &[&text])));
                1
            }),
        ]);
        println!(
            "Steps of private sums, d = {dimension}, 2^20 releases, one release a step, sync every {GROUP}"
        );
        let row = |name: &str, ns: f64| {
            println!(
                "  {name:<52} {ns:>12.0} ns   {:>9.2} times the tree",
                ns / times[1]
            );
        };
        row("the same loop without noise or journal", times[0]);
        row("binary tree, exact noise, journalled (ours)", times[1]);
        row(
            "BLT with 4 buffers, exact noise, journalled (ours)",
            times[2],
        );
        for (name, peer) in [
            ("jax-privacy's BLT (compiled)", &jax_times),
            ("tensorflow-privacy's tree", &tfp_times),
        ] {
            if peer.is_empty() {
                println!("  {name}: not installed, not measured");
            } else {
                row(name, median(peer));
            }
        }
    }
}
