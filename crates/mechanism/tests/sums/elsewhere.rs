//! Sums made elsewhere: any split, order, repetition and crash point gives the releases of one
//! process, bit for bit; what would count people twice, or leave them out, is refused.

use crate::crashes::{Disk, Leftover, Machine};
use crate::game::*;
use hushstream_account::Adjacency;
use hushstream_mechanism::losses::{Bounds, Features, LinearModel, Link, Loss, Record};
use hushstream_mechanism::sums::{
    Ask, Committed, Delivery, DeliveryError, Geometry, Noise, PartialSum, PartialSumError,
    Positions, PrivateSum, Question, QuestionError, Span, SumError, SumKind, SumRequest,
};
use hushstream_mechanism::{
    Axis, Block, CameBack, Contribution, FileStorage, GroupColumn, Ledger, LedgerError, Moments,
    Participation, Pending, Raw, Response, Statistic, Statistics, StatisticsShape, TableMap,
    TableShape, Transcript,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const MOST: u64 = 9;
/// Records of each batch: some empty, some full.
const SIZES: [u64; 6] = [4, 0, 9, 1, 7, 3];

type Sum = PrivateSum<Transcript>;

/// Every shape of contribution.
enum Shape {
    Vector,
    Gradient(LinearModel),
    Moments(Moments),
    Tables(Box<TableMap>),
    Statistics(Statistics),
}

fn shapes() -> Vec<Shape> {
    let bounds = Bounds::new(2.0, (-1.0, 1.0), 3.0).unwrap();
    let number = |knots| Axis::Number { knots, log: None };
    let map = TableShape {
        axes: vec![number(3), Axis::Category { values: 2 }, number(2)],
        tables: vec![vec![0, 1], vec![1, 2]],
        bins: 2,
        share: 0.5,
        l1: false,
    };
    vec![
        Shape::Vector,
        Shape::Gradient(LinearModel::new(3, Link::Logistic, bounds).unwrap()),
        Shape::Moments(Moments::new(3, bounds)),
        Shape::Tables(Box::new(TableMap::new(map).unwrap())),
        Shape::Statistics(statistics()),
    ]
}

fn statistics() -> Statistics {
    let block = |statistic, by_group, weight| Block {
        statistic,
        by_group,
        weight,
    };
    let shape = StatisticsShape {
        groups: vec![GroupColumn {
            column: 1,
            values: 1,
        }],
        blocks: vec![
            block(Statistic::Sum { column: 0 }, true, 4096),
            block(Statistic::Histogram { column: 2, bins: 3 }, true, 1000),
            block(Statistic::Count, false, 2000),
        ],
    };
    Statistics::new(shape).unwrap()
}

impl Shape {
    fn request(&self, kind: SumKind) -> SumRequest {
        let mut request = request(kind, Noise::Gaussian, 8);
        request.batch = MOST;
        match self {
            Self::Vector => {}
            Self::Gradient(loss) => request.bound = loss.lipschitz(),
            Self::Moments(moments) => {
                request.dimension = moments.dimension() as u32;
                request.bound = moments.bound();
                request.geometry = Geometry::Moments(moments.weight());
            }
            Self::Tables(map) => {
                let counts = map.dimension() as u32;
                (request.dimension, request.bound) = (2 * counts, 0.5);
                request.geometry = Geometry::Tables {
                    counts,
                    sixteenths: 12,
                };
            }
            Self::Statistics(statistics) => {
                (request.dimension, request.bound) = (statistics.dimension(), 1.0);
                request.geometry = Geometry::Statistics(statistics.clone());
            }
        }
        request
    }

    /// A learner's weights: a function of the last release.
    fn weights(&self, last: &[f64]) -> Vec<f64> {
        let count = match self {
            Self::Vector | Self::Moments(_) | Self::Statistics(_) => 0,
            Self::Gradient(loss) => loss.dimension(),
            Self::Tables(map) => map.dimension(),
        };
        (0..count)
            .map(|i| {
                last.get(i)
                    .map_or(0.0, |value| 0.05 * value.clamp(-9.0, 9.0))
            })
            .collect()
    }

    fn ask<'a>(&'a self, weights: &'a [f64]) -> Ask<'a> {
        match self {
            Self::Vector => Ask::Vector,
            Self::Gradient(loss) => Ask::Gradient(loss, weights),
            Self::Moments(moments) => Ask::Moments(moments),
            Self::Tables(map) => Ask::Tables(map, Response::Sign, weights),
            Self::Statistics(_) => Ask::Statistics,
        }
    }

    /// Adds record t in one process.
    fn add(&self, sum: &mut Sum, weights: &[f64], t: u64) {
        let taken = match self {
            Self::Vector => sum.add(Raw::seal(item(t))),
            Self::Gradient(loss) => sum.add_gradient(None, loss, weights, record(t)),
            Self::Moments(moments) => sum.add_moments(None, moments, record(t)),
            Self::Statistics(_) => sum.add_statistics(None, record(t)),
            Self::Tables(map) => sum.add_table(None, map, Response::Sign, weights, record(t), None),
        };
        assert!(taken.unwrap().is_none());
    }
}

/// Record t; some are clipped, some malformed.
fn record(t: u64) -> Raw<Record> {
    let features = match item(t) {
        Contribution::Dense(values) => values,
        _ => vec![0.0; 3],
    };
    Raw::seal(Record {
        features: Features::Dense(features),
        target: if t.is_multiple_of(3) { 1.0 } else { -1.0 },
    })
}

/// Positions of batch b: records are numbered through.
fn start(batch: usize) -> u64 {
    SIZES[..batch].iter().sum()
}

fn span(start: u64, end: u64) -> Span {
    Span {
        partition: "log-0".to_owned(),
        start,
        end,
    }
}

fn delivery(batch: usize) -> Delivery {
    let (start, end) = (start(batch), start(batch + 1));
    Delivery::new(
        "clicks",
        batch as u64,
        Positions::new([span(start, end)]).unwrap(),
    )
    .unwrap()
}

/// The partial sum of records `from..to`, as bytes.
fn part(question: &Question, from: u64, to: u64) -> Vec<u8> {
    // A worker knows the bytes of the question alone.
    let question = Question::from_bytes(&question.to_bytes().unwrap()).unwrap();
    let mut worker = question.worker().unwrap();
    for t in from..to {
        let added = match worker.add(None, record(t)) {
            Err(PartialSumError::Bytes(QuestionError::Unfit(_))) => {
                worker.add_vector(None, Raw::seal(item(t)))
            }
            added => added,
        };
        added.unwrap();
    }
    let partial = worker.finish([span(from, to)]).unwrap();
    partial.seal_to_bytes().unwrap()
}

/// Batch b, cut at these places, merged in this order.
fn merged(question: &Question, batch: usize, cuts: &[u64], order: usize) -> PartialSum {
    let (first, last) = (start(batch), start(batch + 1));
    let mut places = vec![first, last];
    places.extend(cuts.iter().map(|cut| first + cut % (last - first + 1)));
    places.sort_unstable();
    let mut parts: Vec<Vec<u8>> = places
        .windows(2)
        .map(|pair| part(question, pair[0], pair[1]))
        .collect();
    let turn = order % parts.len();
    parts.rotate_left(turn);
    if order.is_multiple_of(2) {
        parts.reverse();
    }
    let read = |bytes: &Vec<u8>| PartialSum::from_bytes(question, bytes).unwrap();
    let mut all = read(&parts[0]);
    for bytes in &parts[1..] {
        all.merge(read(bytes)).unwrap();
    }
    all
}

fn published(
    sum: &mut Sum,
    ledger: &mut Ledger,
    pending: Pending<Vec<f64>, Transcript>,
) -> Vec<f64> {
    sum.sync(ledger).unwrap();
    sum.publish(pending).unwrap().into_value()
}

/// The releases of one process.
fn one_process(shape: &Shape, kind: SumKind) -> Vec<Vec<f64>> {
    let (mut sum, mut ledger) = open(shape.request(kind));
    sum.close_by_clock();
    let mut releases: Vec<Vec<f64>> = Vec::new();
    for batch in 0..SIZES.len() {
        let weights = shape.weights(releases.last().map_or(&[], |last| last));
        for t in start(batch)..start(batch + 1) {
            shape.add(&mut sum, &weights, t);
        }
        let pending = sum.close_item().unwrap().unwrap();
        releases.push(published(&mut sum, &mut ledger, pending));
    }
    releases
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any split and order; any batch again, right away or later, with any content.
    #[test]
    fn any_split_order_and_repetition_gives_the_releases_of_one_process(
        which in 0_usize..5,
        kind in 0_usize..SumKind::ALL.len(),
        cuts in prop::collection::vec(0_u64..10, 0..4),
        order in 0_usize..8,
        again in prop::collection::vec(any::<bool>(), SIZES.len()),
    ) {
        let shape = &shapes()[which];
        let kind = SumKind::ALL[kind];
        prop_assume!(kind.accepts(Noise::Gaussian).is_ok());
        let expected = one_process(shape, kind);
        let (mut sum, mut ledger) = open(shape.request(kind));
        let mut last: Vec<f64> = Vec::new();
        for batch in 0..SIZES.len() {
            let weights = shape.weights(&last);
            let question = sum.question(shape.ask(&weights), Vec::new()).unwrap();
            let partial = merged(&question, batch, &cuts, order);
            let Committed::Taken(pending) =
                sum.commit(&question, &delivery(batch), partial).unwrap()
            else {
                panic!("a new batch is taken");
            };
            last = published(&mut sum, &mut ledger, pending);
            prop_assert_eq!(&last, &expected[batch]);
            if again[batch] {
                // A retry, with whatever content: nothing is added, the same release comes.
                let other = merged(&question, (batch + 1) % SIZES.len(), &cuts, order);
                let Committed::Again(pending) =
                    sum.commit(&question, &delivery(batch), other).unwrap()
                else {
                    panic!("the last batch is known");
                };
                prop_assert_eq!(&published(&mut sum, &mut ledger, pending), &expected[batch]);
                if batch > 0 {
                    let other = merged(&question, 0, &cuts, order);
                    let old = sum.commit(&question, &delivery(batch - 1), other).unwrap();
                    prop_assert!(matches!(old, Committed::Old));
                }
            }
        }
        prop_assert_eq!(sum.delivered(), Some(("clicks", SIZES.len() as u64 - 1)));
    }
}

/// Runs, or continues, until the disk dies or all batches are in. The source delivers its batches
/// from the first that it does not know to be committed.
fn live(
    disks: [&Disk; 2],
    (shape, kind): (&Shape, SumKind),
    checkpoints: bool,
    next: &mut usize,
    seen: &mut BTreeMap<usize, Vec<f64>>,
) {
    let [ledger_disk, journal_disk] = disks;
    let mut run = || -> Result<(), Box<dyn std::error::Error>> {
        let noise = Noise::Gaussian;
        let mut ledger = match Ledger::open(ledger_disk.clone()) {
            Ok(ledger) => ledger,
            Err(error) if !matches!(error, LedgerError::Missing | LedgerError::Log(_)) => {
                panic!("a crash is no reason to refuse a ledger: {error}")
            }
            Err(_) => Ledger::create(ledger_disk.clone(), budget(noise), filter(noise), scope())?,
        };
        let plan = shape.request(kind).plan()?;
        let disk = journal_disk.clone();
        let mut last = Vec::new();
        let mut sum = match Sum::resume(disk.clone(), &key(), &mut ledger, None, |_| true) {
            Ok(back) => {
                assert_eq!(back.outcome, CameBack::Continued);
                let mut sum = back.run;
                sum.sync(&mut ledger)?;
                assert_eq!(
                    sum.delivered().is_some(),
                    sum.steps() > 0,
                    "batches are known"
                );
                if let Some((_, batch)) = sum.delivered() {
                    // What a learner would restore from its note: the last release.
                    let question = sum.question(shape.ask(&shape.weights(&[])), Vec::new())?;
                    let none = question.worker()?.finish([])?;
                    let known = delivery(batch as usize);
                    if let Committed::Again(pending) = sum.commit(&question, &known, none)? {
                        last = published(&mut sum, &mut ledger, pending);
                    }
                }
                sum
            }
            Err(_) => {
                let grant = match ledger.grant_again(1) {
                    Ok(grant) => grant,
                    Err(_) => ledger.debit(charge(&plan), plan.scope())?,
                };
                Sum::open(plan, grant, &key(), &mut ledger, disk)?
            }
        };
        while *next < SIZES.len() {
            let weights = shape.weights(&last);
            let question = sum.question(shape.ask(&weights), Vec::new())?;
            let partial = merged(&question, *next, &[2, 3], *next);
            let committed = sum.commit(&question, &delivery(*next), partial)?;
            if let Committed::Taken(pending) | Committed::Again(pending) = committed {
                sum.sync(&mut ledger)?;
                last = sum.publish(pending).unwrap().into_value();
                let before = seen.entry(*next).or_insert_with(|| last.clone());
                assert_eq!(before, &last, "a release was contradicted");
            }
            if checkpoints {
                sum.checkpoint(Vec::new())?;
            }
            // The source hears of it last.
            *next += 1;
        }
        Ok(())
    };
    let _ = run();
}

/// The machine dies at its n-th sync, for every n, with any part of the unsynced bytes left: after
/// the restart the source delivers its batch again, and all releases are those of one process.
#[test]
fn every_crash_point_gives_the_releases_of_one_process() {
    for (shape, kind) in shapes().iter().zip([
        SumKind::BLT,
        SumKind::Tree,
        SumKind::Octave,
        SumKind::Smooth,
        SumKind::Honaker,
    ]) {
        let expected = one_process(shape, kind);
        for checkpoints in [false, true] {
            for leftover in [Leftover::Nothing, Leftover::Half, Leftover::Everything] {
                for dies_at in 0.. {
                    let machine: Arc<Mutex<Machine>> = Arc::default();
                    let (ledger, journal) = (Disk::new(&machine), Disk::new(&machine));
                    let disks = [&ledger, &journal];
                    let (mut next, mut seen) = (0, BTreeMap::new());
                    machine.lock().unwrap().syncs_left = Some(dies_at);
                    live(disks, (shape, kind), checkpoints, &mut next, &mut seen);
                    if next == SIZES.len() {
                        break;
                    }
                    for disk in disks {
                        disk.platter.lock().unwrap().crash(leftover);
                    }
                    machine.lock().unwrap().syncs_left = None;
                    live(disks, (shape, kind), checkpoints, &mut next, &mut seen);
                    assert_eq!(next, SIZES.len(), "the run goes on after any crash");
                    for (batch, release) in &seen {
                        assert_eq!(release, &expected[*batch], "{kind} dies at {dies_at}");
                    }
                }
            }
        }
    }
}

/// A run with one batch taken.
fn with_one_batch() -> (Sum, Ledger, Question) {
    let (mut sum, ledger) = open(Shape::Vector.request(SumKind::Tree));
    let question = sum.question(Ask::Vector, Vec::new()).unwrap();
    let partial = merged(&question, 0, &[], 0);
    sum.commit(&question, &delivery(0), partial).unwrap();
    let next = sum.question(Ask::Vector, Vec::new()).unwrap();
    (sum, ledger, next)
}

fn refusal(sum: &mut Sum, question: &Question, delivery: &Delivery, bytes: &[u8]) -> SumError {
    let partial = PartialSum::from_bytes(question, bytes).unwrap();
    let steps = sum.steps();
    let refused = sum.commit(question, delivery, partial).err().unwrap();
    assert_eq!(sum.steps(), steps, "nothing was taken");
    refused
}

#[test]
fn gaps_overlaps_and_other_sources_are_refused_in_words_about_people() {
    let (mut sum, _ledger, question) = with_one_batch();
    let at = |source: &str, batch, start, end| {
        Delivery::new(source, batch, Positions::new([span(start, end)]).unwrap()).unwrap()
    };
    for (delivery, told) in [
        (
            at("clicks", 2, 4, 6),
            "batches between them would be left out",
        ),
        (at("clicks", 1, 3, 6), "would be counted twice"),
        (at("clicks", 1, 0, 6), "would be counted twice"),
        (
            at("clicks", 1, 5, 6),
            "the people between would be left out",
        ),
        (at("clicks 2", 1, 4, 6), "may read everybody again"),
        (at("clicks 2", 0, 0, 6), "may read everybody again"),
    ] {
        let Span { start, end, .. } = delivery.positions().spans()[0].clone();
        let bytes = part(&question, start, end);
        let refused = refusal(&mut sum, &question, &delivery, &bytes);
        assert!(matches!(refused, SumError::Delivery(_)));
        let message = refused.to_string();
        assert!(message.contains(told), "{message}");
        assert!(message.contains("people") || message.contains("everybody"));
        assert!(!sum.would_take(&delivery).is_ok_and(|taken| taken));
    }
    // A partition that is new begins at its beginning.
    let other = |start, end| Span {
        partition: "log-1".to_owned(),
        start,
        end,
    };
    let both = Positions::new([span(4, 6), other(1, 2)]).unwrap();
    let later = Delivery::new("clicks", 1, both).unwrap();
    let left_out = sum.would_take(&later);
    assert!(matches!(
        left_out,
        Err(SumError::Delivery(DeliveryError::LeftOut { .. }))
    ));
    let both = Positions::new([other(0, 2)]).unwrap();
    assert!(
        sum.would_take(&Delivery::new("clicks", 1, both).unwrap())
            .unwrap()
    );
}

#[test]
fn another_source_is_accepted_with_its_first_new_record_alone() {
    let (mut sum, mut ledger, question) = with_one_batch();
    let first = |start| BTreeMap::from([("log-0".to_owned(), start)]);
    let at = |batch, start, end| {
        Delivery::new(
            "restored",
            batch,
            Positions::new([span(start, end)]).unwrap(),
        )
        .unwrap()
    };
    // The statement must be about this batch's beginning.
    for stated in [first(3), first(5), BTreeMap::new()] {
        let refused = at(7, 4, 6).accept_new_source(&stated).unwrap_err();
        assert!(
            refused.to_string().contains("first new record"),
            "{refused}"
        );
    }
    let delivery = at(7, 4, 6).accept_new_source(&first(4)).unwrap();
    let partial = || PartialSum::from_bytes(&question, &part(&question, 4, 6)).unwrap();
    let taken = sum.commit(&question, &delivery, partial()).unwrap();
    assert!(matches!(taken, Committed::Taken(_)));
    sum.sync(&mut ledger).unwrap();
    // Once: the same batch again, with the statement or without, is known.
    for again in [delivery, at(7, 4, 6)] {
        let again = sum.commit(&question, &again, partial()).unwrap();
        assert!(matches!(again, Committed::Again(_)));
    }
    // From now on the run learns from the new source.
    let back = Delivery::new("clicks", 1, Positions::new([span(4, 6)]).unwrap()).unwrap();
    assert!(sum.would_take(&back).is_err());
    assert!(sum.would_take(&at(8, 6, 7)).unwrap());
}

/// What was taken survives a checkpoint, which drops the items themselves: after a restart the last
/// batch returns its release and is not added again, an earlier one is known, a gap and an overlap
/// are refused, and the next batch is taken as if nothing had happened.
#[test]
fn a_checkpoint_keeps_what_was_taken() {
    for (shape, kind) in shapes().iter().zip([
        SumKind::BLT,
        SumKind::Octave,
        SumKind::Tree,
        SumKind::Smooth,
        SumKind::BLT,
    ]) {
        let expected = one_process(shape, kind);
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| FileStorage::open(folder.path().join(name)).unwrap();
        let plan = shape.request(kind).plan().unwrap();
        let noise = Noise::Gaussian;
        let ledger = Ledger::create(file("ledger"), budget(noise), filter(noise), scope());
        let mut ledger = ledger.unwrap();
        let grant = ledger.debit(charge(&plan), plan.scope()).unwrap();
        let mut sum = Sum::open(plan, grant, &key(), &mut ledger, file("journal")).unwrap();
        let mut last: &[f64] = &[];
        for (batch, expected) in expected.iter().enumerate() {
            let weights = shape.weights(last);
            last = expected;
            let question = sum.question(shape.ask(&weights), Vec::new()).unwrap();
            let partial = merged(&question, batch, &[1], batch);
            let Committed::Taken(pending) =
                sum.commit(&question, &delivery(batch), partial).unwrap()
            else {
                panic!("a new batch is taken");
            };
            assert_eq!(&published(&mut sum, &mut ledger, pending), expected);
            sum.checkpoint(Vec::new()).unwrap();
            drop(sum);
            let back = Sum::resume(file("journal"), &key(), &mut ledger, None, |_| true);
            sum = back.unwrap().run;
            sum.sync(&mut ledger).unwrap();
            assert_eq!(sum.delivered(), Some(("clicks", batch as u64)));
            let records = sum.records();
            let question = sum.question(shape.ask(&shape.weights(expected)), Vec::new());
            let question = question.unwrap();
            // Other records than those of the first time.
            let other = || merged(&question, (batch + 1) % SIZES.len(), &[], 0);
            let again = sum.commit(&question, &delivery(batch), other()).unwrap();
            let Committed::Again(pending) = again else {
                panic!("the last batch is known");
            };
            assert_eq!(&published(&mut sum, &mut ledger, pending), expected);
            if batch > 0 {
                let old = sum.commit(&question, &delivery(batch - 1), other());
                assert!(matches!(old.unwrap(), Committed::Old));
            }
            let end = start(batch + 1);
            let at = |batch: usize, start, end| {
                let positions = Positions::new([span(start, end)]).unwrap();
                Delivery::new("clicks", batch as u64, positions).unwrap()
            };
            for refused in [
                at(batch + 2, end, end + 1),
                at(batch + 1, end - 1, end + 1),
                at(batch + 1, end + 1, end + 2),
            ] {
                let refused = sum.commit(&question, &refused, other());
                assert!(matches!(refused, Err(SumError::Delivery(_))));
            }
            assert_eq!((sum.steps(), sum.records()), (batch as u64 + 1, records));
        }
    }
}

/// After the loss of a journal the batches that it lacks are neither taken again nor skipped in
/// silence.
#[test]
fn an_old_copy_of_a_journal_goes_on_only_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| FileStorage::open(folder.path().join(name)).unwrap();
    let plan = Shape::Vector.request(SumKind::Tree).plan().unwrap();
    let noise = Noise::Gaussian;
    let mut ledger = Ledger::create(file("ledger"), budget(noise), filter(noise), scope()).unwrap();
    let grant = ledger.debit(charge(&plan), plan.scope()).unwrap();
    let mut sum = Sum::open(plan, grant, &key(), &mut ledger, file("journal")).unwrap();
    let mut last = Vec::new();
    for batch in 0..3 {
        let question = sum.question(Ask::Vector, Vec::new()).unwrap();
        let partial = merged(&question, batch, &[], 0);
        let Committed::Taken(pending) = sum.commit(&question, &delivery(batch), partial).unwrap()
        else {
            panic!("a new batch is taken");
        };
        let release = published(&mut sum, &mut ledger, pending);
        if batch == 0 {
            last = release;
            std::fs::copy(folder.path().join("journal"), folder.path().join("copy")).unwrap();
        }
    }
    let stale = sum.question(Ask::Vector, Vec::new()).unwrap();
    drop(sum);
    let back = Sum::resume(file("copy"), &key(), &mut ledger, None, |_| true).unwrap();
    assert_eq!(back.outcome, CameBack::NewInstance { lost: 2 });
    let mut sum = back.run;
    sum.sync(&mut ledger).unwrap();
    let question = sum.question(Ask::Vector, Vec::new()).unwrap();
    assert_eq!(question.item(), stale.item());
    // The copy knows the first batch, and returns its release.
    let none = question.worker().unwrap().finish([]).unwrap();
    let Committed::Again(pending) = sum.commit(&question, &delivery(0), none).unwrap() else {
        panic!("the first batch is known");
    };
    assert_eq!(published(&mut sum, &mut ledger, pending), last);
    // The second was published by the lost instance: it is not learned again in silence.
    let bytes = part(&question, start(1), start(2));
    let refused = refusal(&mut sum, &question, &delivery(1), &bytes);
    assert!(refused.to_string().contains("counted twice"), "{refused}");
    // Nor are records that the copy itself knows, whatever is stated.
    let first = BTreeMap::from([("log-0".to_owned(), start(0))]);
    let known = Positions::new([span(start(0), start(1))]).unwrap();
    let known = Delivery::new(delivery(0).source(), 5, known).unwrap();
    let known = known.accept_new_source(&first).unwrap();
    assert!(sum.would_take(&known).is_err());
    // Another source may have a partition of the same name: its records are others.
    let other = Delivery::new("orders", 0, Positions::new([span(0, 1)]).unwrap()).unwrap();
    let all = BTreeMap::from([("log-0".to_owned(), 0)]);
    assert!(
        sum.would_take(&other.accept_new_source(&all).unwrap())
            .unwrap()
    );
    // The source goes on with its fourth: two batches are missing here.
    let bytes = part(&question, start(3), start(4));
    let refused = refusal(&mut sum, &question, &delivery(3), &bytes);
    assert!(refused.to_string().contains("old copy"), "{refused}");
    let first = BTreeMap::from([("log-0".to_owned(), start(3))]);
    let accepted = delivery(3).accept_new_source(&first).unwrap();
    let partial = PartialSum::from_bytes(&question, &bytes).unwrap();
    let taken = sum.commit(&question, &accepted, partial).unwrap();
    assert!(matches!(taken, Committed::Taken(_)));
    // The statement is kept: a partition that it did not list may hold people of lost batches.
    let next =
        |spans: Vec<Span>| Delivery::new("clicks", 4, Positions::new(spans).unwrap()).unwrap();
    let unlisted = Span {
        partition: "log-1".into(),
        start: 0,
        end: 2,
    };
    let refused = sum.would_take(&next(vec![unlisted])).unwrap_err();
    assert!(refused.to_string().contains("not listed"), "{refused}");
    assert!(
        sum.would_take(&next(vec![span(start(4), start(4) + 1)]))
            .unwrap()
    );
}

/// Where a source is accepted with partitions that its first batch has nothing of, later batches
/// begin there.
#[test]
fn a_statement_holds_for_later_batches() {
    let (mut sum, mut ledger) = open(shapes()[1].request(SumKind::Tree));
    let shape = &shapes()[1];
    let on = |partition: &str, start, end| Span {
        partition: partition.to_owned(),
        start,
        end,
    };
    let first = BTreeMap::from([("a".to_owned(), 200), ("b".to_owned(), 200)]);
    for (batch, spans) in [(7, vec![on("a", 200, 201)]), (8, vec![on("b", 200, 201)])] {
        let positions = Positions::new(spans).unwrap();
        let mut delivery = Delivery::new("clicks", batch, positions.clone()).unwrap();
        if batch == 7 {
            delivery = delivery.accept_new_source(&first).unwrap();
        } else {
            let old = Positions::new([on("b", 100, 101)]).unwrap();
            let old = Delivery::new("clicks", batch, old).unwrap();
            assert!(sum.would_take(&old).is_err(), "stated as learned");
        }
        let weights = shape.weights(&[0.5; 3]);
        let question = sum.question(shape.ask(&weights), Vec::new()).unwrap();
        let partial = question
            .worker()
            .unwrap()
            .finish(positions.spans().to_vec())
            .unwrap();
        let Committed::Taken(pending) = sum.commit(&question, &delivery, partial).unwrap() else {
            panic!("batch {batch} is new");
        };
        published(&mut sum, &mut ledger, pending);
    }
}

/// A family of partitions is stated once: each new one begins at 0 and goes on where it ended.
#[test]
fn a_family_of_partitions_is_stated_once() {
    let (mut sum, mut ledger, _) = with_one_batch();
    let on = |partition: &str, start, end| Span {
        partition: partition.to_owned(),
        start,
        end,
    };
    let days = |batch, spans: Vec<Span>| {
        Delivery::new("days", batch, Positions::new(spans).unwrap()).unwrap()
    };
    let family = BTreeMap::from([("days/*".to_owned(), 0)]);
    // Only the beginning of a partition is covered by its family, and only its own names.
    for other in [on("days/1", 1, 2), on("nights/1", 0, 1)] {
        assert!(days(0, vec![other]).accept_new_source(&family).is_err());
    }
    let mut take = |delivery: &Delivery| {
        let question = sum.question(Ask::Vector, Vec::new()).unwrap();
        let spans = delivery.positions().spans().to_vec();
        let partial = question.worker().unwrap().finish(spans).unwrap();
        let committed = sum.commit(&question, delivery, partial)?;
        let Committed::Taken(pending) = committed else {
            panic!("the batch is new");
        };
        published(&mut sum, &mut ledger, pending);
        Ok::<_, SumError>(())
    };
    let first = days(0, vec![on("days/1", 0, 2)]);
    take(&first.accept_new_source(&family).unwrap()).unwrap();
    // No further statement is needed: an old partition goes on, and a new one begins.
    take(&days(1, vec![on("days/1", 2, 3), on("days/2", 0, 2)])).unwrap();
    for (refused, told) in [
        (on("days/1", 0, 2), "counted twice"),
        (on("days/2", 1, 3), "counted twice"),
        (on("days/3", 1, 2), "left out"),
        (on("nights/1", 0, 1), "not listed"),
    ] {
        let error = take(&days(2, vec![refused])).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
    // Not even a statement takes a known partition from its beginning again.
    let again = days(2, vec![on("days/1", 0, 2)]);
    let again = again.accept_new_source(&family).unwrap();
    let error = take(&again).unwrap_err().to_string();
    assert!(error.contains("counted twice"), "{error}");
    take(&days(2, vec![on("days/3", 0, 1)])).unwrap();
}

/// After a loss a family says nothing about partitions that the journal knows.
#[test]
fn a_family_after_a_loss_needs_what_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| FileStorage::open(folder.path().join(name)).unwrap();
    let plan = shapes()[0].request(SumKind::Tree).plan().unwrap();
    let noise = plan.request().noise;
    let scope = plan.scope();
    let mut ledger = Ledger::create(file("ledger"), budget(noise), filter(noise), scope).unwrap();
    let grant = ledger.debit(charge(&plan), scope).unwrap();
    let mut sum = Sum::open(plan, grant, &key(), &mut ledger, file("journal")).unwrap();
    for batch in 0..2 {
        let question = sum.question(Ask::Vector, Vec::new()).unwrap();
        let partial = merged(&question, batch, &[], 0);
        let Committed::Taken(pending) = sum.commit(&question, &delivery(batch), partial).unwrap()
        else {
            panic!("a new batch is taken");
        };
        published(&mut sum, &mut ledger, pending);
        if batch == 0 {
            std::fs::copy(folder.path().join("journal"), folder.path().join("copy")).unwrap();
        }
    }
    drop(sum);
    let back = Sum::resume(file("copy"), &key(), &mut ledger, None, |_| true).unwrap();
    let new = Span {
        partition: "log-9".into(),
        start: 0,
        end: 1,
    };
    let next = |first: &[(&str, u64)]| {
        let first = first.iter().map(|&(name, start)| (name.to_owned(), start));
        let next = Delivery::new("clicks", 2, Positions::new([new.clone()]).unwrap()).unwrap();
        next.accept_new_source(&first.collect()).unwrap()
    };
    let refused = back.run.would_take(&next(&[("log-*", 0)])).unwrap_err();
    assert!(
        refused.to_string().contains("beside its family"),
        "{refused}"
    );
    let listed = next(&[("log-*", 0), ("log-0", start(2))]);
    assert!(back.run.would_take(&listed).unwrap());
}

/// Old items, octaves and weights; other runs; more than a radius; other positions.
#[test]
fn partial_sums_of_another_question_are_refused() {
    let shape = &shapes()[1];
    let (mut sum, mut ledger) = open(shape.request(SumKind::Octave));
    let mut stale: Vec<(Question, Vec<u8>)> = Vec::new();
    for batch in 0..3 {
        let weights = shape.weights(&[0.5 * batch as f64; 3]);
        let question = sum.question(shape.ask(&weights), Vec::new()).unwrap();
        let bytes = part(&question, start(batch), start(batch + 1));
        // Another octave has another radius: to the present question this one is old.
        for (question, bytes) in &stale {
            let refused = PartialSum::from_bytes(question, bytes).map(|partial| {
                let refused = sum.commit(question, &delivery(batch), partial);
                refused.err().unwrap().to_string()
            });
            assert!(refused.unwrap().contains("answers an old question"));
        }
        // The same item at other weights.
        let other = shape.weights(&[9.0; 3]);
        let other = sum.question(shape.ask(&other), Vec::new()).unwrap();
        let refused = PartialSum::from_bytes(&other, &bytes).err().unwrap();
        assert_eq!(refused, PartialSumError::OtherQuestion);
        let partial = PartialSum::from_bytes(&question, &bytes).unwrap();
        assert!(matches!(
            sum.commit(&other, &delivery(batch), partial),
            Err(SumError::Partial(PartialSumError::OtherQuestion))
        ));
        // Without the right positions: one record is missing, or none.
        let partial = PartialSum::from_bytes(&question, &bytes).unwrap();
        let longer = Positions::new([span(start(batch), start(batch + 1) + 1)]).unwrap();
        let longer = Delivery::new("clicks", batch as u64, longer).unwrap();
        let refused = sum.commit(&question, &longer, partial).err().unwrap();
        assert!(
            refused.to_string().contains("people would be left out"),
            "{refused}"
        );
        let partial = PartialSum::from_bytes(&question, &bytes).unwrap();
        let Committed::Taken(pending) = sum.commit(&question, &delivery(batch), partial).unwrap()
        else {
            panic!("a new batch is taken");
        };
        published(&mut sum, &mut ledger, pending);
        stale.push((question, bytes));
    }
    // Another run: the same plan, another charge.
    let plan = shape.request(SumKind::Octave);
    let plan = SumRequest {
        releases: 7,
        ..plan
    };
    let (run, _ledger) = open(plan);
    let weights = shape.weights(&[]);
    let question = run.question(shape.ask(&weights), Vec::new()).unwrap();
    let refused = PartialSum::from_bytes(&question, &stale[0].1)
        .err()
        .unwrap();
    assert_eq!(refused, PartialSumError::OtherRun);
}

/// A question from outside that weighs counts otherwise asks for contributions that the price is
/// not for, though everything else is as in the present one.
#[test]
fn a_question_that_weighs_counts_otherwise_is_refused() {
    let shape = &shapes()[3];
    let Shape::Tables(map) = shape else {
        panic!("tables");
    };
    let weights = shape.weights(&[]);
    let (mut sum, _ledger) = open(shape.request(SumKind::Tree));
    let question = sum.question(shape.ask(&weights), Vec::new()).unwrap();
    let bytes = question.to_bytes().unwrap();
    // Last come the weight, the weights with their number, and an empty note.
    let place = bytes.len() - 16 - 1 - 8 * map.dimension() - 1 - 1;
    for (weight, is_paid) in [(11, false), (13, false), (12, true)] {
        let asked = forged(&bytes, |body| {
            assert_eq!(body[place], 12);
            body[place] = weight;
        });
        let asked = Question::from_bytes(&asked).unwrap();
        let partial = merged(&asked, 0, &[], 0);
        let taken = sum.commit(&asked, &delivery(0), partial);
        assert_eq!(taken.is_ok(), is_paid, "{weight}");
    }
    // Without counts there is nothing to weigh.
    let mut request = shape.request(SumKind::Tree);
    request.dimension = map.dimension() as u32;
    request.geometry = Geometry::Tables {
        counts: 0,
        sixteenths: 12,
    };
    let (mut sum, _ledger) = open(request);
    let question = sum.question(shape.ask(&weights), Vec::new()).unwrap();
    let partial = merged(&question, 0, &[], 0);
    assert!(sum.commit(&question, &delivery(0), partial).is_ok());
}

/// Changes the numbers of a partial sum and signs it again, as a worker with a bug would.
fn forged(bytes: &[u8], change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    use sha2::{Digest, Sha256};
    let mut body = bytes[..bytes.len() - 16].to_vec();
    change(&mut body);
    let name = Sha256::digest(&body);
    [&body[..], &name[..16]].concat()
}

#[test]
fn integers_that_no_records_add_up_to_are_refused() {
    for (which, shape) in shapes().iter().enumerate() {
        let (sum, _ledger) = open(shape.request(SumKind::Tree));
        let weights = shape.weights(&[]);
        let question = sum.question(shape.ask(&weights), Vec::new()).unwrap();
        let bytes = part(&question, 1, 4);
        assert!(PartialSum::from_bytes(&question, &bytes).is_ok());
        // The numbers come last, before the persons of whom there are none.
        let place = bytes.len() - 16 - 1 - 8;
        for (value, is_held) in [(0_i64, true), (i64::MAX, false), (i64::MIN, false)] {
            let bytes = forged(&bytes, |body| {
                body[place..place + 8].copy_from_slice(&value.to_le_bytes());
            });
            let read = PartialSum::from_bytes(&question, &bytes);
            assert_eq!(read.is_ok(), is_held, "shape {which}, {value}");
        }
        // Counts and squares are not negative.
        if which > 1 {
            let first = bytes.len() - 16 - 1 - 8 * question_dimension(shape);
            let at = if which == 2 { first } else { place };
            let bytes = forged(&bytes, |body| {
                body[at..at + 8].copy_from_slice(&(-1_i64).to_le_bytes());
            });
            let refused = PartialSum::from_bytes(&question, &bytes).err().unwrap();
            assert_eq!(refused, PartialSumError::TooLarge(3), "shape {which}");
        }
        // A byte that rotted, and an end that is missing.
        for place in [0, 7, 30, bytes.len() - 1] {
            let mut rotten = bytes.clone();
            rotten[place] ^= 1;
            assert!(PartialSum::from_bytes(&question, &rotten).is_err());
        }
        for length in 0..bytes.len() {
            assert!(PartialSum::from_bytes(&question, &bytes[..length]).is_err());
        }
    }
}

fn question_dimension(shape: &Shape) -> usize {
    shape.request(SumKind::Tree).dimension as usize
}

/// One copy too many, one record too many, and more records than positions.
#[test]
fn what_counts_twice_is_refused_where_it_is_merged() {
    let (sum, _ledger) = open(Shape::Vector.request(SumKind::Tree));
    let question = sum.question(Ask::Vector, Vec::new()).unwrap();
    let read = |bytes: &[u8]| PartialSum::from_bytes(&question, bytes).unwrap();
    let bytes = part(&question, 0, 4);
    let mut all = read(&bytes);
    let twice = all.merge(read(&bytes)).unwrap_err();
    assert!(
        twice.to_string().contains("would be counted twice"),
        "{twice}"
    );
    let twice = all.merge(read(&part(&question, 3, 6))).unwrap_err();
    assert!(
        twice.to_string().contains("would be counted twice"),
        "{twice}"
    );
    assert_eq!(all.records(), 4, "a refusal changes nothing");
    let full = all.merge(read(&part(&question, 4, 10))).unwrap_err();
    assert_eq!(full, PartialSumError::Full(MOST));
    all.merge(read(&part(&question, 4, 9))).unwrap();
    assert_eq!(all.positions().spans(), [span(0, 9)]);

    let mut worker = question.worker().unwrap();
    for t in 0..MOST {
        worker.add_vector(None, Raw::seal(item(t))).unwrap();
    }
    let full = worker.add_vector(None, Raw::seal(item(1))).unwrap_err();
    assert_eq!(full, PartialSumError::Full(MOST));
    let few = worker.finish([span(0, 8)]).err().unwrap();
    assert!(few.to_string().contains("counted twice"), "{few}");
}

/// The length of a partial sum tells nothing about its records.
#[test]
fn all_partial_sums_of_an_item_have_one_length() {
    for shape in &shapes() {
        let (sum, _ledger) = open(shape.request(SumKind::Tree));
        let weights = shape.weights(&[]);
        let question = sum.question(shape.ask(&weights), Vec::new()).unwrap();
        let lengths = (20..40).map(|t| part(&question, t, t + 2).len());
        let mut lengths: Vec<usize> = lengths.collect();
        lengths.dedup();
        assert_eq!(lengths.len(), 1);
    }
}

/// A person contributes to the items of its slot, once to each, wherever its records are.
#[test]
fn persons_contribute_in_their_slots_and_once_to_an_item() {
    let slots = 4;
    let mut request = Shape::Vector.request(SumKind::Tree);
    request.participation = Participation::PerPerson {
        most: 2,
        separation: slots,
    };
    let (mut sum, mut ledger) = open(request.clone());
    let mut taken: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut releases = Vec::new();
    for batch in 0..8_u64 {
        let question = sum.question(Ask::Vector, Vec::new()).unwrap();
        assert!(question.has_persons());
        let question = Question::from_bytes(&question.to_bytes().unwrap()).unwrap();
        // Nine persons, some with two records; by person, over two workers.
        let mut parts = Vec::new();
        for worker_number in 0..2 {
            let mut worker = question.worker().unwrap();
            assert!(worker.add_vector(None, Raw::seal(item(1))).is_err());
            let own = (0..9_u64).filter(|row| (row % 5) % 2 == worker_number);
            let mut rows = 0;
            for row in own {
                let person = row % 5;
                worker.add_vector(Some(person), Raw::seal(item(1))).unwrap();
                rows += 1;
            }
            let start = batch * 10 + worker_number * 5;
            parts.push(worker.finish([span(start, start + 5)]).unwrap());
            assert!(rows <= 5);
        }
        let mut all = parts.remove(0);
        all.merge(parts.remove(0)).unwrap();
        let bytes = all.seal_to_bytes().unwrap();
        let positions = Positions::new([span(batch * 10, batch * 10 + 10)]).unwrap();
        let delivery = Delivery::new("people", batch, positions).unwrap();
        let partial = PartialSum::from_bytes(&question, &bytes).unwrap();
        let before = *sum.counts().0.for_the_operator();
        let Committed::Taken(pending) = sum.commit(&question, &delivery, partial).unwrap() else {
            panic!("a new batch is taken");
        };
        releases.push(published(&mut sum, &mut ledger, pending));
        let nulls = *sum.counts().0.for_the_operator() - before;
        taken.entry(batch % slots).or_default().push(9 - nulls);
    }
    // Every slot has the same persons each time it comes round, and five persons have one each.
    let mut persons = 0;
    for counts in taken.values() {
        assert!(counts.iter().all(|count| *count == counts[0]));
        persons += counts[0];
    }
    assert_eq!(persons, 5);
    assert!(sum.guarantee().unwrap().to_string().contains("person"));

    // A person on two workers is refused, where they are merged.
    let (sum, _ledger) = open(request.clone());
    let question = sum.question(Ask::Vector, Vec::new()).unwrap();
    let of = |start| {
        let mut worker = question.worker().unwrap();
        for person in 0..4 {
            worker.add_vector(Some(person), Raw::seal(item(1))).unwrap();
        }
        worker.finish([span(start, start + 4)]).unwrap()
    };
    let mut one = of(0);
    let refused = one.merge(of(4)).unwrap_err();
    assert_eq!(refused, PartialSumError::PersonTwice);

    // Limits that slots do not keep are refused, with what to plan.
    request.participation = Participation::PerPerson {
        most: 1,
        separation: slots,
    };
    let (sum, _ledger) = open(request);
    let refused = sum.question(Ask::Vector, Vec::new()).unwrap_err();
    assert!(refused.to_string().contains("plan for 2"), "{refused}");
}

/// Records one by one and batches of a source do not mix: their positions are not known.
#[test]
fn records_and_batches_do_not_mix() {
    let (mut sum, _ledger, _) = with_one_batch();
    let refused = sum.add(Raw::seal(item(1))).err().unwrap();
    assert!(matches!(refused, SumError::Mixed(_)), "{refused}");
    let (mut sum, mut ledger) = open(Shape::Vector.request(SumKind::Tree));
    sum.close_by_clock();
    sum.add(Raw::seal(item(1))).unwrap();
    assert!(matches!(
        sum.question(Ask::Vector, Vec::new()),
        Err(SumError::Mixed(_))
    ));
    let pending = sum.close_item().unwrap().unwrap();
    published(&mut sum, &mut ledger, pending);
    let question = sum.question(Ask::Vector, Vec::new()).unwrap();
    let bytes = part(&question, 0, 4);
    let refused = refusal(&mut sum, &question, &delivery(0), &bytes);
    assert!(refused.to_string().contains("counted twice"), "{refused}");
}

/// A loss of the caller's own has no name; several passes have no source.
#[test]
fn what_cannot_be_asked_elsewhere_is_refused_with_the_reason() {
    struct Own;
    impl Loss for Own {
        fn name(&self) -> &str {
            "own"
        }
        fn dimension(&self) -> usize {
            3
        }
        fn lipschitz(&self) -> f64 {
            1.0
        }
        fn value(&self, _: &Record, _: &[f64]) -> f64 {
            0.0
        }
        fn gradient(&self, _: Record, _: &[f64]) -> Contribution {
            Contribution::Null
        }
    }
    let (sum, _ledger) = open(Shape::Vector.request(SumKind::Tree));
    let refused = sum.question(Ask::Gradient(&Own, &[0.0; 3]), Vec::new());
    assert!(refused.unwrap_err().to_string().contains("own"));
    let mut request = Shape::Vector.request(SumKind::Fresh);
    request.participation = Participation::Passes {
        passes: 8,
        separation: 1,
    };
    let (sum, _ledger) = open(request);
    let refused = sum.question(Ask::Vector, Vec::new()).unwrap_err();
    assert!(refused.to_string().contains("passes"), "{refused}");
}

/// The audit with the noise cancelled: two runs under one key on streams that differ in one record,
/// the second asked the first one's questions. Releases before the record are the same; after it
/// they differ by what the record moved, which is at most what was paid for.
#[test]
fn one_record_moves_no_more_than_its_price() {
    for (which, shape) in shapes().iter().enumerate() {
        let request = shape.request(SumKind::Tree);
        let plan = request.clone().plan().unwrap();
        let unit = request.bound / plan.radius() as f64;
        let price = match shape {
            Shape::Vector | Shape::Gradient(_) | Shape::Tables(_) => 2.0 * request.bound,
            Shape::Moments(moments) => {
                let truncation = f64::from(request.dimension).sqrt() * unit;
                moments.weight().distance(Adjacency::ReplaceOne) * request.bound + truncation
            }
            Shape::Statistics(statistics) => {
                statistics.distance(Adjacency::ReplaceOne, false) * request.bound / 4096.0
            }
        };
        let (mut largest, mut path) = (0.0_f64, Vec::new());
        for (own, other) in [
            (30, 30),
            (3, 35),
            (15, 40),
            (6, 25),
            (21, 20),
            (11, 45),
            (1, 33),
        ] {
            // Record 5, in the third batch, is one or the other.
            let released = |replaced: u64, path: &mut Vec<Vec<f64>>| {
                let (mut sum, mut ledger) = open(request.clone());
                let mut releases: Vec<Vec<f64>> = Vec::new();
                for batch in 0..SIZES.len() {
                    if path.len() == batch {
                        path.push(shape.weights(releases.last().map_or(&[], |last| last)));
                    }
                    let question = sum.question(shape.ask(&path[batch]), Vec::new()).unwrap();
                    let mut worker = question.worker().unwrap();
                    for t in start(batch)..start(batch + 1) {
                        let t = if t == 5 { replaced } else { t };
                        match shape {
                            Shape::Vector => worker.add_vector(None, Raw::seal(item(t))),
                            _ => worker.add(None, record(t)),
                        }
                        .unwrap();
                    }
                    let partial = worker
                        .finish([span(start(batch), start(batch + 1))])
                        .unwrap();
                    let Committed::Taken(pending) =
                        sum.commit(&question, &delivery(batch), partial).unwrap()
                    else {
                        panic!("a new batch is taken");
                    };
                    releases.push(published(&mut sum, &mut ledger, pending));
                }
                releases
            };
            path.clear();
            let left = released(own, &mut path);
            let right = released(other, &mut path);
            assert_eq!(left[..2], right[..2], "shape {which}: before the record");
            for (left, right) in left[2..].iter().zip(&right[2..]) {
                let squares = left.iter().zip(right).map(|(a, b)| (a - b).powi(2));
                let moved = squares.sum::<f64>().sqrt();
                // Releases are floats: their last bits differ.
                assert!(
                    moved <= price * (1.0 + 1e-9),
                    "shape {which}: {moved} of {price}"
                );
                largest = largest.max(moved);
            }
        }
        assert!(largest > 0.3 * price, "shape {which}: {largest} of {price}");
    }
}
