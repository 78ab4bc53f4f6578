//! One process with several holders: what is refused, and that the log is poisoned by it.

use crate::cluster::Cluster;
use crate::holder::{BATCH, DATASET, RUN, open, row, settings, step};
use hushstream::mechanism::Storage;
use hushstream_postgres::{Error, Fenced, Join, Store, Told, Witness, is_fenced};
use std::sync::Arc;
use std::time::Duration;

fn taken_over(first: &Arc<Store>, second: &Arc<Store>) -> hushstream_postgres::Lease {
    assert!(
        second.take_lease(DATASET).unwrap().is_none(),
        "while it lasts"
    );
    std::thread::sleep(settings().lease + Duration::from_millis(50));
    let lease = second
        .take_lease(DATASET)
        .unwrap()
        .expect("its time is over");
    assert!(first.take_lease(DATASET).unwrap().is_none());
    lease
}

#[test]
fn a_log_is_what_was_synced() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let store = Store::connect(&cluster.url(), settings()).unwrap();
    let lease = store.take_lease(DATASET).unwrap().unwrap();
    let log = || Fenced::new(&store, &lease, "ledger/7");
    let mut one = log();
    one.append(b"one").unwrap();
    one.append(b" two").unwrap();
    assert_eq!(log().load().unwrap(), b"", "not synced");
    one.sync().unwrap();
    one.append(b" three").unwrap();
    assert_eq!(one.load().unwrap(), b"one two three");
    one.truncate(7).unwrap();
    assert_eq!(log().load().unwrap(), b"one two");
    one.replace(b"new").unwrap();
    one.append(b"er").unwrap();
    one.sync().unwrap();
    assert_eq!(log().load().unwrap(), b"newer");
    // A second writer with the same lease: the first notices that the log is not its own.
    let mut two = log();
    two.append(b"est").unwrap();
    two.sync().unwrap();
    one.append(b"x").unwrap();
    let refused = one.sync().unwrap_err().to_string();
    assert!(refused.contains("not the one that was opened"), "{refused}");
    assert!(one.sync().is_err() && one.append(b"").is_ok() && one.replace(b"").is_err());
    // Another log keeps one checksum when it is replaced.
    let mut other = Fenced::new(&store, &lease, "run/7/1/journal");
    for text in ["a", "b", "c"] {
        other.replace(text.as_bytes()).unwrap();
        other.append(b"!").unwrap();
        assert_eq!(other.load().unwrap(), format!("{text}!").as_bytes());
    }
    assert_eq!(
        cluster.ask("SELECT seq FROM frames WHERE log LIKE 'run%' ORDER BY seq"),
        ["4", "5", "6"]
    );
    let last = "SELECT max(seq) FROM frames WHERE log = 'ledger/7'";
    for change in ["bytes = 'x'", "crc = 1", "seq = seq + 1"] {
        let is_ledger = format!("log = 'ledger/7' AND seq = ({last})");
        cluster.ask("CREATE TABLE kept AS SELECT * FROM frames");
        cluster.ask(&format!("UPDATE frames SET {change} WHERE {is_ledger}"));
        let damaged = log().load().unwrap_err().to_string();
        assert!(damaged.contains("damaged"), "{change}: {damaged}");
        cluster.ask("TRUNCATE frames");
        cluster.ask("INSERT INTO frames SELECT * FROM kept");
        cluster.ask("DROP TABLE kept");
    }
    assert_eq!(log().load().unwrap(), b"newerest");
}

#[test]
fn a_holder_that_was_taken_over_writes_and_publishes_nothing() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let connect = || Store::connect(&cluster.url(), settings()).unwrap();
    let (first, second) = (connect(), connect());
    let folder = tempfile::tempdir().unwrap();
    let witness = Witness::open(&folder.path().join("a"), &first, Join::Refused).unwrap();
    let lease = first.take_lease(DATASET).unwrap().unwrap();
    let (ledger, mut run) = open(&first, &lease).unwrap();
    for version in 1..=3 {
        assert_eq!(step(&first, &lease, &mut run, &witness).unwrap(), version);
    }
    // A release that was computed, and not published yet.
    for t in run.records()..run.records() + BATCH {
        run.learn(&row(t)).unwrap();
    }
    let late = run.model().unwrap();
    let file = late.value().to_bytes().unwrap();
    assert_eq!(late.release(), 4);
    let next = taken_over(&first, &second);
    let all = "SELECT log || seq || crc FROM frames ORDER BY log, seq";
    let before = cluster.ask(all);
    // Every way to write is refused: a release, the ledger, the journal, the card.
    let refused = first.publish(&lease, RUN, 4, &file).unwrap_err();
    assert!(matches!(refused, Error::Fenced), "{refused}");
    assert!(!first.renew_lease(&lease).unwrap() && !first.end_lease(&lease).unwrap());
    let mut failed = None;
    for t in run.records()..run.records() + 2 * BATCH {
        if let Err(error) = run.learn(&row(t)).and_then(|()| run.model().map(|_| ())) {
            failed = Some(error);
            break;
        }
    }
    let failed = failed.expect("a release without a journal");
    assert!(is_fenced(&failed), "{failed}");
    let raised = ledger
        .raise(hushstream::Budget::approx(3.0, 1e-6).unwrap(), None)
        .unwrap_err();
    assert!(is_fenced(&raised), "{raised}");
    // Poisoned: also what would not be written is not released.
    assert!(run.model().is_err());
    for name in [
        "ledger/7",
        "run/7/1/journal",
        "run/7/1/run.json",
        "run/7/1/key",
        "other",
    ] {
        let mut log = Fenced::new(&first, &lease, name);
        assert!(log.replace(b"x").is_err(), "{name}");
        let mut log = Fenced::new(&first, &lease, name);
        log.append(b"x").unwrap();
        assert!(log.sync().is_err(), "{name}");
    }
    assert_eq!(cluster.ask(all), before, "nothing was written");
    assert_eq!(first.newest(RUN).unwrap().unwrap().0, 3);
    // The next holder goes on, from what was synced: the fourth batch was.
    let (_ledger, mut run) = open(&second, &next).unwrap();
    assert_eq!(run.records(), 4 * BATCH);
    let again = run.model().unwrap();
    let stored = second
        .publish(&next, RUN, 4, &again.value().to_bytes().unwrap())
        .unwrap();
    assert_eq!(stored, file, "the same release, bit for bit");
    assert_eq!(
        cluster.ask("SELECT string_agg(fence::text, ' ' ORDER BY version) FROM releases"),
        ["1 1 1 2"]
    );
}

#[test]
fn an_old_database_is_refused() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    let connect = || Store::connect(&cluster.url(), settings()).unwrap();
    let store = connect();
    let witness = Witness::open(&one, &store, Join::Refused).unwrap();
    let work = |store: &Arc<Store>, witness: &Witness| {
        let lease = store.take_lease(DATASET).unwrap().unwrap();
        let (_ledger, mut run) = open(store, &lease).unwrap();
        let version = step(store, &lease, &mut run, witness).unwrap();
        drop(run);
        store.end_lease(&lease).unwrap();
        version
    };
    assert_eq!(work(&store, &witness), 1);
    // A node without a witness: refused, and let in by an operator, whose reason is stored.
    let refused = |told: Result<Witness, Error>| told.err().expect("refused").to_string();
    let told = refused(Witness::open(&two, &store, Join::Refused));
    assert!(told.contains("has no witness"), "{told}");
    let told = refused(Witness::open(&two, &store, Join::Because(" ")));
    assert!(told.contains("has no witness"), "{told}");
    Witness::open(&two, &store, Join::Because("a second node")).unwrap();
    Witness::open(&two, &store, Join::Refused).unwrap();
    let reasons = "SELECT reason FROM nodes WHERE reason IS NOT NULL";
    assert_eq!(cluster.ask(reasons), ["a second node"]);
    drop(store);
    cluster.down();
    cluster.back_up();
    cluster.up();
    let store = connect();
    let witness = Witness::open(&one, &store, Join::Refused).unwrap();
    assert_eq!(work(&store, &witness), 2);
    drop(store);
    cluster.down();
    cluster.restore();
    cluster.up();
    let store = connect();
    let told = refused(Witness::open(&one, &store, Join::Refused));
    assert!(told.contains("old copy"), "{told}");
    assert!(witness.check().is_err(), "also a node that stayed up");
    // Nor does it forget what it has seen.
    assert!(witness.note(DATASET).is_err());
    // The second node has seen no more than the copy has. It goes on, and the first still refuses:
    // there is a frame at that place now, and it is another.
    let other = Witness::open(&two, &store, Join::Refused).unwrap();
    assert_eq!(work(&store, &other), 2);
    let told = refused(Witness::open(&one, &store, Join::Refused));
    assert!(told.contains("old copy"), "{told}");
    // Another database has another name.
    let elsewhere = Cluster::start().unwrap();
    let elsewhere = Store::connect(&elsewhere.url(), settings()).unwrap();
    let told = refused(Witness::open(&one, &elsewhere, Join::Refused));
    assert!(told.contains("another database"), "{told}");
}

#[test]
fn a_database_that_forgets_is_refused() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let set = |sql: &str| {
        cluster.ask(sql);
        cluster.ask("SELECT pg_reload_conf()");
        std::thread::sleep(Duration::from_millis(200));
        Store::connect(&cluster.url(), settings())
            .err()
            .map(|error| error.to_string())
    };
    assert_eq!(set("SELECT 1"), None);
    let told = set("ALTER SYSTEM SET fsync = off").expect("refused");
    assert!(told.contains("fsync = off"), "{told}");
    // A session has its own setting, whatever the database's is.
    assert_eq!(set("ALTER SYSTEM RESET fsync"), None);
    assert_eq!(set("ALTER SYSTEM SET synchronous_commit = off"), None);
    cluster.ask("INSERT INTO migrations (number) VALUES (1000)");
    let told = set("SELECT 1").expect("refused");
    assert!(told.contains("a later version"), "{told}");
    assert!(Store::connect("no address", settings()).is_err());
}

#[test]
fn other_nodes_are_told_of_releases() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let connect = || Store::connect(&cluster.url(), settings()).unwrap();
    let (first, second) = (connect(), connect());
    let told = second.watch();
    let next = || told.recv_timeout(Duration::from_secs(30)).unwrap();
    assert_eq!(next(), Told::Watching);
    let lease = first.take_lease(DATASET).unwrap().unwrap();
    let publish = |version| first.publish(&lease, RUN, version, b"a model");
    assert_eq!(publish(1).unwrap(), b"a model");
    let run = RUN.to_owned();
    assert_eq!(next(), Told::Released { run, version: 1 });
    // The same again is told once. After a crash of the database it watches again.
    publish(1).unwrap();
    cluster.crash();
    cluster.up();
    assert_eq!(next(), Told::Watching);
    while publish(2).is_err() {}
    let run = RUN.to_owned();
    assert_eq!(next(), Told::Released { run, version: 2 });
    assert_eq!(
        second.newest(RUN).unwrap().unwrap(),
        (2, b"a model".to_vec())
    );
}
