//! Attacks on running statistics, counted by one process and summed elsewhere: what outsiders see
//! proves four fifths of the claim, and never more than it.

#![allow(clippy::unwrap_used)] // a test may stop where it fails

use hushstream_account::{Adjacency, Budget, Charge, FilterKind};
use hushstream_audit::{AuditError, Claim, Duel, Effort, World, audit};
use hushstream_mechanism::losses::{Features, Record};
use hushstream_mechanism::sums::{
    Ask, Committed, Delivery, Geometry, Noise, PartialSum, Positions, PrivateSum, Question, Span,
    SumKind, SumPlan, SumRequest,
};
use hushstream_mechanism::{
    GroupColumn, Ledger, MemoryStorage, Participation, Pending, Raw, Statistic, Statistics,
    Transcript,
};
use hushstream_noise::Key;

/// Ticks; the record that differs is in two nodes of its tree.
const TICKS: u64 = 3;
/// Records of a tick.
const RECORDS: u64 = 3;

/// What goes wrong with the tick of the record, when workers sum it. A run that took it anyway
/// would publish more than was paid for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    /// The batch comes again.
    Twice,
    /// Another query reads the same positions.
    Query,
    /// A worker answers the question of the octave before.
    Stale,
}

/// Two worlds, in which one record has one group and number or another.
struct OnStatistics {
    plan: SumPlan,
    /// Whether workers sum the records, in two parts.
    is_elsewhere: bool,
    fault: Option<Fault>,
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
        Self::of_sum(SumKind::Tree, adjacency, is_elsewhere, worlds)
    }

    fn of_sum(
        kind: SumKind,
        adjacency: Adjacency,
        is_elsewhere: bool,
        worlds: [Option<(f64, f64)>; 2],
    ) -> Self {
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
            kind,
            noise: Noise::Gaussian,
            releases: TICKS,
            dimension: statistics.dimension(),
            bound: 1.0,
            geometry: Geometry::Statistics(statistics),
            least_sigma: 0.0,
            batch: RECORDS,
            adjacency,
            participation: once,
            // Little noise: so many runs prove little of a small claim.
            budget: Budget::approx(8.0, 1e-5).unwrap(),
        };
        Self {
            plan: request.plan().unwrap(),
            is_elsewhere,
            fault: None,
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

    /// The tick of the canary: the first, or the first of the second octave.
    fn tick(&self) -> u64 {
        u64::from(self.plan.request().kind == SumKind::Octave)
    }

    /// Record i of tick t; the canary is the first of its tick.
    fn row(&self, world: World, t: u64, i: u64) -> Option<(f64, f64)> {
        if (t, i) == (self.tick(), 0) {
            return self.worlds[usize::from(world == World::Right)];
        }
        (t + i != 3 && !self.is_alone).then_some(((t + i) as f64 % 3.0, 0.3 * i as f64 - 0.4))
    }

    /// Offers the records of tick t as a batch of a source, summed in two parts; what was taken.
    fn commit(
        &self,
        sum: &mut PrivateSum<Transcript>,
        question: &Question,
        world: World,
        (source, batch): (&str, u64),
        t: u64,
    ) -> Option<Pending<Vec<f64>, Transcript>> {
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
        let all = PartialSum::of_parts(question, &parts).unwrap();
        let positions = Positions::new([span(0, RECORDS)]).unwrap();
        let delivery = Delivery::new(source, batch, positions).unwrap();
        match sum.commit(question, &delivery, all) {
            Ok(Committed::Taken(pending)) => Some(pending),
            _ => None,
        }
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
        format!(
            "{:?}, elsewhere {}, {:?}",
            self.worlds, self.is_elsewhere, self.fault
        )
    }

    fn play(&self, world: World, seed: u64) -> Result<Vec<f64>, AuditError> {
        let (plan, key) = (self.plan.clone(), Key::insecure_from_seed(seed));
        let (budget, scope) = (plan.request().budget, plan.scope());
        let mut ledger = Ledger::simulated(budget, FilterKind::Gaussian, scope).unwrap();
        let grant = ledger.debit(plan.charge()?, scope).unwrap();
        let storage = MemoryStorage::default();
        let mut sum = PrivateSum::<Transcript>::open(plan, grant, &key, &mut ledger, storage)?;
        sum.close_by_clock();
        let (mut seen, mut question) = (Vec::new(), None);
        for t in 0..TICKS {
            let mut publish = |sum: &mut PrivateSum<Transcript>, pending| {
                sum.sync(&mut ledger)?;
                seen.extend(sum.publish(pending).unwrap().into_value());
                Ok::<_, AuditError>(())
            };
            if !self.is_elsewhere {
                for i in 0..RECORDS {
                    sum.add_statistics(None, record(self.row(world, t, i)))?;
                }
                let pending = sum.close_item()?.unwrap();
                publish(&mut sum, pending)?;
                continue;
            }
            let fault = self.fault.filter(|_| t == self.tick());
            let old = question.replace(sum.question(Ask::Statistics, Vec::new())?);
            if let (Some(Fault::Stale), Some(old)) = (fault, &old)
                && let Some(pending) = self.commit(&mut sum, old, world, ("s", t), t)
            {
                publish(&mut sum, pending)?;
            }
            let asked = question.as_ref().unwrap();
            if let Some(pending) = self.commit(&mut sum, asked, world, ("s", t), t) {
                publish(&mut sum, pending)?;
            }
            if let Some(Fault::Twice | Fault::Query) = fault {
                let source = match fault {
                    Some(Fault::Twice) => ("s", t),
                    _ => ("another", 0),
                };
                let next = sum.question(Ask::Statistics, Vec::new())?;
                if let Some(pending) = self.commit(&mut sum, &next, world, source, t) {
                    publish(&mut sum, pending)?;
                }
            }
        }
        Ok(seen)
    }

    /// The releases of the canary's tick and of the next one are the two nodes with the record, of
    /// independent noise, beside what was before.
    fn likelihood(&self, seen: &[f64]) -> Option<f64> {
        let [left, right] = self.worlds.map(|row| self.exact(row));
        let (dimension, tick) = (left.len(), self.tick() as usize);
        let moved = left.iter().zip(&right).map(|(left, right)| right - left);
        let score = |(i, moved)| {
            let at = |release: usize| seen[release * dimension + i];
            let before = if tick == 0 { 0.0 } else { at(tick - 1) };
            moved * (at(tick) + at(tick + 1) - 2.0 * before)
        };
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
            let told = format!("{}: {}", verdict.attack, verdict.share);
            assert!(verdict.share >= 0.8, "{told}");
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

/// A batch that comes again, a second query and an answer to an old question are offered to the run
/// at the record's own tick. Whoever took one of them would give this attack more than the claim.
#[test]
fn what_comes_twice_or_late_proves_no_more_than_the_claim() {
    let worlds = [Some((0.0, -1.0)), Some((0.0, 1.0))];
    for fault in [Fault::Twice, Fault::Query, Fault::Stale] {
        let mut duel = OnStatistics::of_sum(SumKind::Octave, Adjacency::ReplaceOne, true, worlds);
        duel.fault = Some(fault);
        let claim = duel.claim();
        let verdict = audit(claim, &[Box::new(duel)], Effort::runs(4000, 1e-3, 7)).unwrap();
        let told = format!("{}: {}", verdict.attack, verdict.share);
        assert!(verdict.share >= 0.8, "{told}");
        assert!(!verdict.violated(), "{told}");
    }
}
