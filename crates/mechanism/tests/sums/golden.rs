//! Journals as every version wrote them: versions 1 and 2 are refused with an explanation, versions
//! 3 and 4 are read, and reproduce the published releases. Version 4 has batches of a source.
//!
//! The files of the present version are written by this test if `HUSHSTREAM_WRITE_GOLDEN` is set.
//! They change only with the version; the releases are those that version 2 published.

use crate::game::*;
use hushstream_account::{Adjacency, Budget};
use hushstream_mechanism::select::{Horizon, Method, SelectRequest, Selection};
use hushstream_mechanism::sums::{
    Ask, Committed, Delivery, Noise, Positions, PrivateSum, Span, SumKind,
};
use hushstream_mechanism::{
    CameBack, FileStorage, Ledger, MemoryStorage, Participation, Raw, RowChain, RowHasher, Storage,
    Transcript, WithRows, rows_covered,
};
use std::path::{Path, PathBuf};

fn path(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden")).join(name)
}

fn golden(name: &str) -> MemoryStorage {
    let mut storage = MemoryStorage::default();
    storage.append(&std::fs::read(path(name)).unwrap()).unwrap();
    storage
}

fn released(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap()
}

/// Rows as a program would feed them: row t is the number t.
fn rows(count: u64) -> RowChain {
    let hasher = RowHasher::new(&key());
    let rows = RowChain::new(hasher.clone());
    for t in 1..=count {
        rows.add(&hasher.digest(t.to_string().as_bytes()));
    }
    rows
}

fn with_rows(name: &str, count: u64) -> WithRows<MemoryStorage> {
    WithRows::new(golden(name), rows(count))
}

/// Bits of floats, in hexadecimal, one release per line.
fn text(releases: &[Vec<f64>]) -> String {
    let line = |release: &Vec<f64>| {
        let words = release.iter().map(|x| format!("{:016x}", x.to_bits()));
        words.collect::<Vec<_>>().join(" ")
    };
    releases
        .iter()
        .map(|release| line(release) + "\n")
        .collect()
}

fn losses(t: u64) -> Raw<Vec<f64>> {
    Raw::seal((0..3).map(|i| ((5 * t + 2 * i) % 7) as f64 / 6.0).collect())
}

/// Writes the files of the present version, in a folder of its own: journals are locked beside
/// themselves.
fn write() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| FileStorage::open(folder.path().join(name)).unwrap();
    let hasher = RowHasher::new(&key());
    let add = |rows: &RowChain, t: u64| rows.add(&hasher.digest(t.to_string().as_bytes()));

    let mut request = request(SumKind::Tree, Noise::Gaussian, 20);
    request.batch = 2;
    request.participation = Participation::PerPerson {
        most: 3,
        separation: 1,
    };
    let plan = request.plan().unwrap();
    let kind = filter(Noise::Gaussian);
    let budget = budget(Noise::Gaussian);
    let mut ledger = Ledger::create(file("ledger"), budget, kind, plan.scope()).unwrap();
    let grant = ledger.debit(charge(&plan), plan.scope()).unwrap();
    let chain = rows(0);
    let storage = WithRows::new(file("journal"), chain.clone());
    let mut sum =
        PrivateSum::<Transcript>::open(plan, grant, &key(), &mut ledger, storage).unwrap();
    let mut releases = Vec::new();
    // Three items and a checkpoint, two items, and half a batch.
    for t in 1..=11 {
        add(&chain, t);
        let pending = sum.add_for(t % 4, Raw::seal(item(t))).unwrap();
        sum.sync(&mut ledger).unwrap();
        releases.extend(pending.map(|pending| sum.publish(pending).unwrap().into_value()));
        if t == 6 {
            sum.checkpoint(b"a note".to_vec()).unwrap();
            releases.clear();
        }
    }
    drop((sum, ledger));
    for (from, to) in [("ledger", "sum-v4-ledger"), ("journal", "journal-v4-sum")] {
        std::fs::copy(folder.path().join(from), path(to)).unwrap();
    }
    assert_eq!(text(&releases), released("sum-v2-releases"));

    let file = |name: &str| FileStorage::open(folder.path().join(format!("{name} two"))).unwrap();
    let plan = SelectRequest {
        method: Method::Dartboard,
        experts: 3,
        horizon: Horizon::Known(20),
        batch: Some(1),
        adjacency: Adjacency::ReplaceOne,
        budget: Budget::approx(1.0, 1e-6).unwrap(),
        participation: Participation::OncePerRecord,
    }
    .plan()
    .unwrap();
    let budget = plan.request().budget;
    let mut ledger = Ledger::create(file("ledger"), budget, plan.filter(), plan.scope()).unwrap();
    let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
    let chain = rows(0);
    let storage = WithRows::new(file("journal"), chain.clone());
    let mut selection = Selection::open(plan, grant, &key(), &mut ledger, storage).unwrap();
    let mut plays = Vec::new();
    for t in 1..=8 {
        add(&chain, t);
        let pending = selection.add(None, losses(t)).unwrap().unwrap();
        selection.sync(&mut ledger).unwrap();
        plays.push(vec![f64::from(
            *selection.publish(pending).unwrap().value(),
        )]);
        if t == 4 {
            selection.checkpoint(b"a note".to_vec()).unwrap();
            plays.clear();
        }
    }
    drop((selection, ledger));
    for (from, to) in [
        ("ledger two", "selection-v4-ledger"),
        ("journal two", "journal-v4-selection"),
    ] {
        std::fs::copy(folder.path().join(from), path(to)).unwrap();
    }
    assert_eq!(text(&plays), released("selection-v2-releases"));
}

/// Batch b of a source, of b records.
fn committed(sum: &mut PrivateSum<Transcript>, batch: u64) -> Committed<Transcript> {
    let question = sum.question(Ask::Vector, Vec::new()).unwrap();
    let mut worker = question.worker().unwrap();
    let start = batch * (batch.saturating_sub(1)) / 2;
    let span = Span {
        partition: "a file".to_owned(),
        start,
        end: start + batch,
    };
    for t in span.start..span.end {
        worker.add_vector(None, Raw::seal(item(t))).unwrap();
    }
    let partial = worker.finish([span.clone()]).unwrap();
    let positions = Positions::new([span]).unwrap();
    let delivery = Delivery::new("a source", batch, positions).unwrap();
    sum.commit(&question, &delivery, partial).unwrap()
}

/// Batches 0 to 2 and a checkpoint, then 3 and 4.
fn write_source() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| FileStorage::open(folder.path().join(name)).unwrap();
    let mut request = request(SumKind::Tree, Noise::Gaussian, 9);
    request.batch = 4;
    let plan = request.plan().unwrap();
    let (kind, budget) = (filter(Noise::Gaussian), budget(Noise::Gaussian));
    let mut ledger = Ledger::create(file("ledger"), budget, kind, plan.scope()).unwrap();
    let grant = ledger.debit(charge(&plan), plan.scope()).unwrap();
    let mut sum =
        PrivateSum::<Transcript>::open(plan, grant, &key(), &mut ledger, file("journal")).unwrap();
    let mut releases = Vec::new();
    for batch in 0..=4 {
        let Committed::Taken(pending) = committed(&mut sum, batch) else {
            panic!("a new batch is taken");
        };
        sum.sync(&mut ledger).unwrap();
        releases.push(sum.publish(pending).unwrap().into_value());
        if batch == 2 {
            sum.checkpoint(b"a note".to_vec()).unwrap();
            releases.clear();
        }
    }
    drop((sum, ledger));
    for (from, to) in [
        ("ledger", "source-v4-ledger"),
        ("journal", "journal-v4-source"),
    ] {
        std::fs::copy(folder.path().join(from), path(to)).unwrap();
    }
    std::fs::write(path("source-v4-releases"), text(&releases)).unwrap();
}

fn read_source() {
    let mut ledger = Ledger::open(golden("source-v4-ledger")).unwrap();
    let journal = golden("journal-v4-source");
    let back =
        PrivateSum::<Transcript>::resume(journal, &key(), &mut ledger, None, |_| true).unwrap();
    assert_eq!(back.outcome, CameBack::Continued);
    let mut sum = back.run;
    assert_eq!(sum.delivered(), Some(("a source", 4)));
    assert_eq!(sum.records(), 10);
    let recent = back.recent.into_iter();
    let values: Vec<Vec<f64>> = recent
        .map(|pending| sum.publish(pending).unwrap().into_value())
        .collect();
    assert_eq!(text(&values), released("source-v4-releases"));
    // The last batch again: its release, as it was recorded; an older one: nothing.
    let Committed::Again(pending) = committed(&mut sum, 4) else {
        panic!("the last batch is known");
    };
    assert_eq!(sum.publish(pending).unwrap().into_value(), values[1]);
    assert!(matches!(committed(&mut sum, 2), Committed::Old));
}

#[test]
fn journals_of_every_version_are_read_or_refused_in_words() {
    if std::env::var_os("HUSHSTREAM_WRITE_GOLDEN").is_some() {
        write();
        write_source();
    }

    for version in ["v3", "v4"] {
        // A sum, of five items of two records, and half a batch that is not in it.
        assert_eq!(
            rows_covered(&mut golden(&format!("journal-{version}-sum"))).unwrap(),
            10
        );
        let mut ledger = Ledger::open(golden(&format!("sum-{version}-ledger"))).unwrap();
        let other = PrivateSum::<Transcript>::resume(
            with_rows(&format!("journal-{version}-sum"), 9),
            &key(),
            &mut ledger,
            None,
            |_| true,
        );
        let message = other.err().unwrap().to_string();
        assert!(
            message.contains("not those that the run has learned"),
            "{message}"
        );
        let journal = with_rows(&format!("journal-{version}-sum"), 10);
        let back =
            PrivateSum::<Transcript>::resume(journal, &key(), &mut ledger, None, |_| true).unwrap();
        assert_eq!(back.outcome, CameBack::Continued);
        assert_eq!(back.run.steps(), 5);
        assert_eq!(back.note, Some((3, b"a note".to_vec())));
        // Every fourth record is of one person: from the third each on, and where a record is not a
        // number, they are null.
        assert_eq!(*back.run.counts().0.for_the_operator(), 0);
        let recent = back.recent.into_iter();
        let values: Vec<Vec<f64>> = recent
            .map(|pending| back.run.publish(pending).unwrap().into_value())
            .collect();
        assert_eq!(text(&values), released("sum-v2-releases"));

        let mut ledger = Ledger::open(golden(&format!("selection-{version}-ledger"))).unwrap();
        let journal = with_rows(&format!("journal-{version}-selection"), 8);
        let back = Selection::resume(journal, &key(), &mut ledger, None, |note| {
            note == Some(b"a note")
        })
        .unwrap();
        assert_eq!(back.outcome, CameBack::Continued);
        assert_eq!(back.run.steps(), 8);
        let recent = back.recent.into_iter();
        let values: Vec<Vec<f64>> = recent
            .map(|pending| vec![f64::from(*back.run.publish(pending).unwrap().value())])
            .collect();
        assert_eq!(text(&values), released("selection-v2-releases"));
    }
    read_source();

    let mut ledger = ledger_for(Noise::Gaussian);
    let mut later = std::fs::read(path("journal-v4-sum")).unwrap();
    later[9] = 5;
    let mut newer = MemoryStorage::default();
    newer.append(&later).unwrap();
    for (journal, told) in [
        (golden("journal-v1-sum"), "earlier version"),
        (golden("journal-v1-selection"), "earlier version"),
        (golden("journal-v2-sum"), "finish its run with that version"),
        (
            golden("journal-v2-selection"),
            "begin a new run, which is charged",
        ),
        (newer, "later version"),
        (golden("sum-v4-ledger"), "is a ledger, and not a journal"),
    ] {
        let refused =
            PrivateSum::<Transcript>::resume(journal, &key(), &mut ledger, None, |_| true);
        let message = refused.err().unwrap().to_string();
        assert!(message.contains(told), "{message}");
    }
}
