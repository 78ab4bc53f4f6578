//! Attacks on running statistics, counted by one process and summed elsewhere: what outsiders see
//! proves four fifths of the claim, and never more than it.

#![allow(clippy::unwrap_used)] // a test may stop where it fails

use hushstream_account::{Adjacency, Budget, Charge, FilterKind};
use hushstream_audit::{AuditError, Claim, Duel, Effort, World, audit};
use hushstream_mechanism::losses::{Features, Record};
use hushstream_mechanism::sums::{
    Ask, Committed, Delivery, Geometry, Noise, PartialSum, Positions, PrivateSum, Span, SumKind,
    SumPlan, SumRequest,
};
use hushstream_mechanism::{
    GroupColumn, Ledger, MemoryStorage, Participation, Raw, Statistic, Statistics, Transcript,
};
use hushstream_noise::Key;

/// Ticks; the record that differs is in the first, and so in two nodes of the tree.
const TICKS: u64 = 3;
/// Records of a tick.
const RECORDS: u64 = 3;

/// Two worlds, in which one record has one group and number or another.
struct OnStatistics {
    plan: SumPlan,
    /// Whether workers sum the records, in two parts.
    is_elsewhere: bool,
    /// The record in each world; none is an empty one.
    worlds: [Option<(f64, f64)>; 2],
    /// Whether all other records are empty.
    is_alone: bool,
}

fn record(row: Option<(f64, f64)>) -> Raw<Record> {
    let (group, value) = row.unwrap_or((f64::NAN, f64::NAN));
    Raw::seal(Record {
        features: Features::Dense(vec![group, value]),
        target: if row.is_some() { 0.0 } else { f64::NAN },
    })
}

impl OnStatistics {
    fn new(adjacency: Adjacency, is_elsewhere: bool, worlds: [Option<(f64, f64)>; 2]) -> Self {
        let groups = vec![GroupColumn {
            column: 0,
            values: 2,
        }];
        let wanted = [
            (Statistic::Count, true, 3.0),
            (Statistic::Sum { column: 1 }, true, 3.0),
            (Statistic::Histogram { column: 1, bins: 3 }, false, 3.0),
        ];
        let once = Participation::OncePerRecord;
        let statistics = Statistics::balanced(groups, &wanted, adjacency, once, false).unwrap();
        let request = SumRequest {
            kind: SumKind::Tree,
            noise: Noise::Gaussian,
            releases: TICKS,
            dimension: statistics.dimension(),
            bound: 1.0,
            geometry: Geometry::Statistics(statistics),
            least_sigma: 0.0,
            batch: RECORDS,
            adjacency,
            participation: once,
            budget: Budget::approx(1.0, 1e-6).unwrap(),
        };
        Self {
            plan: request.plan().unwrap(),
            is_elsewhere,
            worlds,
            is_alone: false,
        }
    }

    fn claim(&self) -> Claim {
        let budget = self.plan.request().budget;
        let Charge::Gaussian(mu) = self.plan.charge().unwrap().charge else {
            panic!("a Gaussian sum");
        };
        Claim::Gaussian {
            mu: mu.get(),
            epsilon: budget.epsilon(),
            delta: budget.delta(),
        }
    }

    /// Record i of tick t; the canary is the first of the first.
    fn row(&self, world: World, t: u64, i: u64) -> Option<(f64, f64)> {
        if (t, i) == (0, 0) {
            return self.worlds[usize::from(world == World::Right)];
        }
        (t + i != 3 && !self.is_alone).then_some(((t + i) as f64 % 3.0, 0.3 * i as f64 - 0.4))
    }

    /// The exact statistics of a record, in the units of a release.
    fn exact(&self, row: Option<(f64, f64)>) -> Vec<f64> {
        let Geometry::Statistics(statistics) = &self.plan.request().geometry else {
            panic!("statistics");
        };
        let mut exact = vec![0.0; statistics.dimension() as usize];
        if let Some((group, value)) = row {
            let bin = (((value + 1.0) * 1.5) as usize).min(2);
            for (block, (place, amount)) in
                [(group as usize, 1.0), (group as usize, value), (bin, 1.0)]
                    .into_iter()
                    .enumerate()
            {
                exact[statistics.coordinates(block).start + place] =
                    amount * statistics.scale(block);
            }
        }
        exact
    }
}

impl Duel for OnStatistics {
    fn name(&self) -> String {
        format!("{:?}, elsewhere {}", self.worlds, self.is_elsewhere)
    }

    fn play(&self, world: World, seed: u64) -> Result<Vec<f64>, AuditError> {
        let (plan, key) = (self.plan.clone(), Key::insecure_from_seed(seed));
        let (budget, scope) = (plan.request().budget, plan.scope());
        let mut ledger = Ledger::simulated(budget, FilterKind::Gaussian, scope).unwrap();
        let grant = ledger.debit(plan.charge()?, scope).unwrap();
        let storage = MemoryStorage::default();
        let mut sum = PrivateSum::<Transcript>::open(plan, grant, &key, &mut ledger, storage)?;
        sum.close_by_clock();
        let mut seen = Vec::new();
        for t in 0..TICKS {
            let pending = if self.is_elsewhere {
                let question = sum.question(Ask::Statistics, Vec::new())?;
                let span = |start, end| Span {
                    partition: "p".to_owned(),
                    start: RECORDS * t + start,
                    end: RECORDS * t + end,
                };
                let part = |from, to| {
                    let mut worker = question.worker().unwrap();
                    for i in from..to {
                        worker.add(None, record(self.row(world, t, i))).unwrap();
                    }
                    let partial = worker.finish([span(from, to)]).unwrap();
                    partial.seal_to_bytes().unwrap()
                };
                let parts = [part(1, RECORDS), part(0, 1)];
                let all = PartialSum::of_parts(&question, &parts).unwrap();
                let positions = Positions::new([span(0, RECORDS)]).unwrap();
                let delivery = Delivery::new("s", t, positions).unwrap();
                match sum.commit(&question, &delivery, all)? {
                    Committed::Taken(pending) => Some(pending),
                    _ => None,
                }
            } else {
                for i in 0..RECORDS {
                    sum.add_statistics(None, record(self.row(world, t, i)))?;
                }
                sum.close_item()?
            };
            sum.sync(&mut ledger)?;
            seen.extend(sum.publish(pending.unwrap()).unwrap().into_value());
        }
        Ok(seen)
    }

    /// The first two releases are the two nodes with the record, of independent noise.
    fn likelihood(&self, seen: &[f64]) -> Option<f64> {
        let [left, right] = self.worlds.map(|row| self.exact(row));
        let dimension = left.len();
        let moved = left.iter().zip(&right).map(|(left, right)| right - left);
        let score = |(i, moved)| moved * (seen[i] + seen[dimension + i]);
        Some(moved.enumerate().map(score).sum())
    }
}

/// The worlds that are furthest apart: the other end of the range in the same group under
/// replace-one, nothing under zero-out.
#[test]
fn four_fifths_of_the_claim_are_proved_and_not_more_than_it() {
    for (adjacency, worlds) in [
        (Adjacency::ReplaceOne, [Some((0.0, -1.0)), Some((0.0, 1.0))]),
        (Adjacency::ZeroOut, [None, Some((1.0, 1.0))]),
    ] {
        for is_elsewhere in [false, true] {
            let duel = OnStatistics::new(adjacency, is_elsewhere, worlds);
            let claim = duel.claim();
            let verdict = audit(claim, &[Box::new(duel)], Effort::runs(4000, 1e-3, 5)).unwrap();
            let told = format!("{}: {}", verdict.attack, verdict.tightness());
            assert!(verdict.tightness() >= 0.8, "{told}");
            assert!(!verdict.violated(), "{told}");
        }
    }
}

/// A record that is the only one of its group, there or not: the count of an empty group has the
/// noise of any other, so nothing is proved beyond the claim.
#[test]
fn an_empty_group_tells_no_more_than_a_full_one() {
    for is_elsewhere in [false, true] {
        let worlds = [None, Some((1.0, 0.0))];
        let mut duel = OnStatistics::new(Adjacency::ZeroOut, is_elsewhere, worlds);
        duel.is_alone = true;
        let claim = duel.claim();
        let verdict = audit(claim, &[Box::new(duel)], Effort::runs(2000, 1e-3, 6)).unwrap();
        assert!(!verdict.violated(), "{}", verdict.attack);
    }
}
