//! A holder: learns a stream that all holders know, and publishes under its lease.

use hushstream::mechanism::Storage;
use hushstream::prelude::*;
use hushstream::{Run, SharedLedger};
use hushstream_postgres::{Fenced, Join, KeptRun, Lease, Settings, Store, Witness, ledger_log};
use std::error::Error as StdError;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub(crate) const DATASET: u64 = 7;
pub(crate) const BATCH: u64 = 8;
pub(crate) const RECORDS: u64 = 1 << 18;
pub(crate) const RUN: &str = "7/1";

type Outcome<T> = Result<T, Box<dyn StdError>>;

pub(crate) fn settings() -> Settings {
    Settings {
        lease: Duration::from_millis(400),
        patience: Duration::from_secs(5),
        connections: 4,
    }
}

/// The learner of every holder.
pub(crate) fn learner(ledger: &SharedLedger) -> Learner {
    let learner = Learner::classify()
        .features(2)
        .records(RECORDS)
        .batch(BATCH);
    let learner = learner.budget(Budget::approx(0.5, 1e-7).unwrap());
    learner.adjacency(ReplaceOne).on(ledger)
}

/// Row number `t` of the stream.
pub(crate) fn row(t: u64) -> [f64; 3] {
    let wave = |k: u64| (t.wrapping_mul(2_654_435_761 + k) % 1000) as f64 / 500.0 - 1.0;
    let (x, y) = (wave(1), wave(977));
    [x, y, f64::from(x + 0.5 * y > 0.0)]
}

fn name(dataset: u64) -> String {
    format!("{dataset}/1")
}

/// The ledger and the run of the data set, from where they are.
pub(crate) fn open(store: &Arc<Store>, lease: &Lease) -> Outcome<(SharedLedger, Run)> {
    open_set(store, lease, DATASET)
}

pub(crate) fn open_set(
    store: &Arc<Store>,
    lease: &Lease,
    dataset: u64,
) -> Outcome<(SharedLedger, Run)> {
    let log = || Fenced::new(store, lease, ledger_log(dataset));
    let ledger = if log().load()?.is_empty() {
        SharedLedger::create_in(log(), Budget::approx(2.0, 1e-6)?, ReplaceOne, false)?
    } else {
        SharedLedger::open_in(log())?
    };
    let kept = Arc::new(KeptRun::new(store, lease, name(dataset)));
    let is_begun = kept.is_begun()?;
    let learner = learner(&ledger).kept(name(dataset), kept);
    let run = if is_begun {
        learner.resume()?
    } else {
        learner.start()?
    };
    Ok((ledger, run))
}

/// One batch: learned, published under the fence, witnessed, told.
pub(crate) fn step(store: &Store, lease: &Lease, run: &mut Run, witness: &Witness) -> Outcome<u64> {
    let (version, stored) = step_of(store, lease, run, witness, DATASET)?;
    // Told to somebody: from the row that was read back.
    println!("told {version} {:08x}", checksum(&stored));
    Ok(version)
}

pub(crate) fn step_of(
    store: &Store,
    lease: &Lease,
    run: &mut Run,
    witness: &Witness,
    dataset: u64,
) -> Outcome<(u64, Vec<u8>)> {
    let first = run.records();
    for t in first..first + BATCH {
        run.learn(&row(t))?;
    }
    publish(store, lease, run, witness, dataset)
}

/// The newest model of a run.
fn publish(
    store: &Store,
    lease: &Lease,
    run: &mut Run,
    witness: &Witness,
    dataset: u64,
) -> Outcome<(u64, Vec<u8>)> {
    let released = run.model()?;
    let (version, file) = (released.release(), released.value().to_bytes()?);
    let stored = store.publish(lease, &name(dataset), version, &file)?;
    witness.note(dataset)?;
    Ok((version, stored))
}

pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    let add = |sum: u64, byte: &u8| sum.wrapping_mul(1_099_511_628_211) ^ u64::from(*byte);
    bytes.iter().fold(14_695_981_039_346_656_037, add) & 0xffff_ffff
}

/// Holds the data set whenever it can, until it is killed or everything is learned.
fn hold(url: &str, folder: &Path) -> Outcome<()> {
    let store = Store::connect(url, settings())?;
    let witness = Witness::open(folder, &store, Join::Because("a test's node"))?;
    println!("ready");
    loop {
        let Some(lease) = store.take_lease(DATASET)? else {
            std::thread::sleep(Duration::from_millis(20));
            continue;
        };
        println!("holds {}", lease.fence());
        let (_ledger, mut run) = open(&store, &lease)?;
        // The last holder may have synced a batch that it could not publish any more.
        publish(&store, &lease, &mut run, &witness, DATASET)?;
        loop {
            if run.records() + BATCH > RECORDS {
                println!("done");
                return Ok(());
            }
            step(&store, &lease, &mut run, &witness)?;
            store.renew_lease(&lease)?;
        }
    }
}

/// The process of a holder: this test itself, started by the others with an address.
#[test]
fn child() {
    let Ok(url) = std::env::var("HUSHSTREAM_TEST_URL") else {
        return;
    };
    let folder = std::env::var("HUSHSTREAM_TEST_FOLDER").unwrap();
    // Whatever fails, it begins anew: the database says where it is.
    while let Err(error) = hold(&url, Path::new(&folder)) {
        let what = if hushstream_postgres::is_fenced(error.as_ref()) {
            "fenced"
        } else {
            "failed"
        };
        println!("{what} {error}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
