//! What a closed batch costs: for docs/scaling.md.

use crate::cluster::Cluster;
use crate::holder::{open_set, settings, step_of};
use hushstream_postgres::{Join, Settings, Store, Witness};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Two nodes, each of which learns so many data sets, each on a thread of its own.
#[test]
#[ignore = "a measurement: cargo test -p hushstream-postgres -- --ignored --nocapture"]
fn published_batches_per_second() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let commits = || -> u64 {
        let sql = "SELECT xact_commit FROM pg_stat_database WHERE datname = 'postgres'";
        std::thread::sleep(Duration::from_secs(1));
        cluster.ask(sql)[0].parse().unwrap()
    };
    closed_between_batches(&cluster, folder.path());
    let mut first = 100;
    for sets in [1_u64, 4, 16] {
        let (count, stop) = (AtomicU64::new(0), AtomicBool::new(false));
        let before = commits();
        let mut seconds = 0.0;
        std::thread::scope(|scope| {
            for node in 0..2_u64 {
                let settings = Settings {
                    lease: Duration::from_secs(30),
                    connections: 8,
                    ..settings()
                };
                let store = Store::connect(&cluster.url(), settings).unwrap();
                let own = folder.path().join(node.to_string());
                let witness = Witness::open(&own, &store, Join::Because("measured")).unwrap();
                let witness = Arc::new(witness);
                for set in 0..sets {
                    let (store, witness) = (Arc::clone(&store), Arc::clone(&witness));
                    let (count, stop) = (&count, &stop);
                    let dataset = first + 2 * set + node;
                    scope.spawn(move || {
                        let lease = store.take_lease(dataset).unwrap().unwrap();
                        let (_ledger, mut run) = open_set(&store, &lease, dataset).unwrap();
                        while !stop.load(Ordering::Relaxed) {
                            step_of(&store, &lease, &mut run, &witness, dataset).unwrap();
                            count.fetch_add(1, Ordering::Relaxed);
                        }
                    });
                }
            }
            std::thread::sleep(Duration::from_secs(2));
            let (from, since) = (count.load(Ordering::Relaxed), Instant::now());
            std::thread::sleep(Duration::from_secs(5));
            let done = count.load(Ordering::Relaxed) - from;
            seconds = since.elapsed().as_secs_f64();
            stop.store(true, Ordering::Relaxed);
            println!(
                "{} data sets: {:.0} batches/s",
                2 * sets,
                done as f64 / seconds
            );
        });
        let all = count.load(Ordering::Relaxed);
        let each = (commits() - before) as f64 / all as f64;
        println!("{} data sets: {each:.1} commits a batch", 2 * sets);
        first += 1000;
    }
}

/// A run that is opened for each batch, as one is that waits long between two.
fn closed_between_batches(cluster: &Cluster, folder: &std::path::Path) {
    let store = Store::connect(&cluster.url(), settings()).unwrap();
    let witness = Witness::open(&folder.join("alone"), &store, Join::Refused).unwrap();
    let start = Instant::now();
    for _ in 0..100 {
        let lease = store.take_lease(99).unwrap().unwrap();
        let (_ledger, mut run) = open_set(&store, &lease, 99).unwrap();
        step_of(&store, &lease, &mut run, &witness, 99).unwrap();
    }
    let each = start.elapsed().as_secs_f64() * 10.0;
    let bytes = cluster.ask("SELECT sum(length(bytes)) FROM frames WHERE log = 'ledger/99'");
    println!(
        "opened for each batch: {each:.0} ms; a ledger of {} bytes after 100",
        bytes[0]
    );
}
