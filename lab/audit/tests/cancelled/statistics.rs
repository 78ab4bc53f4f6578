//! Running statistics: what one record moves in counts, sums and histograms by group.
//!
//! The record goes to the other end of its range, in its own group or in another; ticks hold one
//! record and three, in turn, and close by the number of rows.

use crate::adapter::{
    Entry, Play, Pull, RELEASES, Seen, Stop, all_sums, amount, budget, filter, neighbours, paid,
};
use crate::share_of_price;
use crate::sums::{Rows, share_seen};
use crate::tables::{ADJACENCIES, Answer, NOISES, Sum, replayed};
use hushstream_account::Adjacency;
use hushstream_mechanism::losses::{Features, Record};
use hushstream_mechanism::sums::{
    Ask, Committed, Delivery, Geometry, Noise, PartialSum, Positions, Span, SumKind, SumPlan,
    SumRequest,
};
use hushstream_mechanism::{GroupColumn, Participation, Raw, Statistic, Statistics};
use hushstream_noise::Key;
use std::cell::RefCell;

/// Which statistics, with their importance.
#[derive(Debug, Clone, Copy)]
enum Asked {
    CountByGroup,
    MeanByGroup,
    Everything,
    SumOfAll,
}

struct OnStatistics {
    plan: SumPlan,
    rows: Rows,
    asked: Asked,
    /// Whether the record stays in its group.
    stays: bool,
    /// Whether workers sum the rows of a tick, each its own.
    is_elsewhere: bool,
}

impl OnStatistics {
    fn plan(
        (sum, noise): (SumKind, Noise),
        (adjacency, persons): (Adjacency, u64),
        asked: Asked,
        stays: bool,
    ) -> Option<Self> {
        let (count, mean) = (Statistic::Count, Statistic::Sum { column: 1 });
        let bins = Statistic::Histogram { column: 1, bins: 5 };
        let (groups, wanted) = match asked {
            Asked::CountByGroup => (2, vec![(count, true, 3.0), (count, false, 1.0)]),
            Asked::MeanByGroup => (2, vec![(count, true, 3.0), (mean, true, 3.0)]),
            Asked::Everything => (
                2,
                vec![
                    (count, true, 3.0),
                    (count, false, 1.0),
                    (mean, true, 3.0),
                    (mean, false, 1.0),
                    (bins, true, 15.0),
                    (bins, false, 5.0),
                ],
            ),
            Asked::SumOfAll => (0, vec![(count, false, 1.0), (mean, false, 1.0)]),
        };
        let columns = (groups > 0).then_some(GroupColumn {
            column: 0,
            values: groups,
        });
        let columns = columns.into_iter().collect();
        let l1 = noise == Noise::Laplace;
        let participation = match persons {
            1 => Participation::OncePerRecord,
            most => Participation::PerPerson {
                most,
                separation: 1,
            },
        };
        let statistics =
            Statistics::balanced(columns, &wanted, adjacency, participation, l1).unwrap();
        let request = SumRequest {
            kind: sum,
            noise,
            releases: RELEASES,
            dimension: statistics.dimension(),
            bound: 1.0,
            geometry: Geometry::Statistics(statistics),
            least_sigma: 0.0,
            batch: 8,
            adjacency,
            participation,
            budget: budget(noise.is_pure()),
        };
        let plan = request.plan().ok()?;
        Some(Self {
            rows: Rows::of(&plan),
            plan,
            asked,
            stays,
            is_elsewhere: false,
        })
    }

    /// Sums the rows of a tick elsewhere, and takes them as a batch.
    fn commit(&self, sum: &mut Sum, rows: &[(u64, Entry)]) -> Answer {
        let question = sum.question(Ask::Statistics, Vec::new())?;
        let span = |start, end| Span {
            partition: "p".to_owned(),
            start,
            end,
        };
        let part = |(place, entry): &(u64, Entry)| {
            let mut worker = question.worker().unwrap();
            let record = Raw::seal(self.record(entry.pull));
            worker.add(entry.person, record).unwrap();
            let partial = worker.finish([span(*place, place + 1)]).unwrap();
            partial.seal_to_bytes().unwrap()
        };
        let parts: Vec<Vec<u8>> = rows.iter().rev().map(part).collect();
        let (first, last) = (rows[0].0, rows[rows.len() - 1].0);
        let positions = Positions::new([span(first, last + 1)]).unwrap();
        let delivery = Delivery::new("rows", sum.steps(), positions).unwrap();
        let all = PartialSum::of_parts(&question, &parts).unwrap();
        match sum.commit(&question, &delivery, all)? {
            Committed::Taken(pending) => Ok(Some(pending)),
            _ => panic!("a new batch is taken"),
        }
    }

    fn record(&self, pull: Pull) -> Record {
        let (group, value) = match pull {
            Pull::Low => (0, -1.0),
            Pull::High => (u64::from(!self.stays), 1.0),
            Pull::Huge => (1, 1e300),
            Pull::Other(k) => (k % 3, 0.1 * (k % 7) as f64),
            Pull::Null => (0, f64::NAN),
        };
        Record {
            features: Features::Dense(vec![group as f64, value]),
            target: if pull == Pull::Null { f64::NAN } else { 0.0 },
        }
    }
}

impl Play for OnStatistics {
    fn name(&self) -> String {
        let request = self.plan.request();
        format!(
            "{:?} on {}, {}, {:?}, {:?}, stays {}, elsewhere {}",
            self.asked,
            request.kind,
            request.noise,
            request.adjacency,
            request.participation,
            self.stays,
            self.is_elsewhere
        )
    }

    fn price(&self) -> f64 {
        amount(self.plan.charge().unwrap())
    }

    fn streams(&self) -> Vec<[Vec<Entry>; 2]> {
        let request = self.plan.request();
        let (adjacency, participation) = (request.adjacency, request.participation);
        // One row in the odd ticks, the last among them, and three in the others.
        let rows = 2 * RELEASES - 1;
        neighbours(rows, 1, adjacency, participation, &[1, 16, rows])
    }

    fn play(&self, stream: &[Entry], path: Option<&Seen>, key: &Key, stop: Stop) -> Seen {
        let plan = &self.plan;
        let noise = filter(plan.request().noise);
        let paid = paid(1, noise, plan.charge().unwrap(), plan.scope());
        let none = Seen::default();
        let waiting = RefCell::new(Vec::new());
        let ask = |sum: &mut Sum, entry: Entry, number: usize| {
            sum.close_by_clock();
            if self.is_elsewhere {
                let mut rows = waiting.borrow_mut();
                rows.push((number as u64, entry));
                if !closes(number) {
                    return Ok(None);
                }
                return self.commit(sum, &std::mem::take(&mut *rows));
            }
            let record = Raw::seal(self.record(entry.pull));
            let none = sum.add_statistics(entry.person, record)?;
            assert!(none.is_none(), "a tick closed by itself");
            if closes(number) {
                return sum.close_item();
            }
            Ok(None)
        };
        let path = (stream, path.unwrap_or(&none));
        let mut seen = replayed((plan, paid), path, (key, stop), &ask, &mut <[f64]>::to_vec);
        seen.questions = vec![Vec::new(); stream.len()];
        seen
    }

    fn moved(&self, left: &Seen, right: &Seen) -> f64 {
        self.rows.moved(&right.minus(left))
    }
}

/// Ticks of one row and of three: the place of a row decides.
fn closes(number: usize) -> bool {
    [0, 1].contains(&((number + 1) % 4))
}

/// Every sum, noise, adjacency, kind of statistics, for records and for persons: what a record
/// moves is what was paid, and one of the two moves uses the price up.
#[test]
fn one_record_moves_no_statistic_by_more_than_was_paid() {
    let mut audited = 0;
    for sum in all_sums() {
        for noise in NOISES {
            if sum.is_windowed() || sum.accepts(noise).is_err() {
                continue;
            }
            for adjacency in ADJACENCIES {
                for asked in [
                    Asked::CountByGroup,
                    Asked::MeanByGroup,
                    Asked::Everything,
                    Asked::SumOfAll,
                ] {
                    for persons in [1, 3] {
                        if sum == SumKind::Eras && persons > 1 {
                            continue; // refused
                        }
                        let mut worst = 0.0_f64;
                        for stays in [true, false] {
                            let (cell, who) = ((sum, noise), (adjacency, persons));
                            let mut cell = OnStatistics::plan(cell, who, asked, stays).unwrap();
                            worst = worst.max(share_of_price(&cell));
                            audited += 1;
                            // The limits of these persons do not follow from slots.
                            if persons == 1 && matches!(asked, Asked::Everything) {
                                cell.is_elsewhere = true;
                                let elsewhere = share_of_price(&cell);
                                assert!(elsewhere <= worst, "{}: {elsewhere}", cell.name());
                                audited += 1;
                            }
                        }
                        let least = if persons == 1 { 0.97 } else { 0.4 };
                        let least = least * share_seen(sum, RELEASES);
                        assert!(
                            worst >= least,
                            "{asked:?} on {sum}, {noise}, {adjacency:?}, {persons}: only {worst}"
                        );
                    }
                }
            }
        }
    }
    assert!(audited > 400, "{audited}");
}
