//! Logs whose checksums are right and whose contents no program wrote: refused in words.
#![allow(clippy::unwrap_used)] // a test may stop where it fails

use hushstream_account::{Adjacency, Budget, Charge, Epsilon, FilterKind};
use hushstream_mechanism::decisions::ContextMap;
use hushstream_mechanism::{Ledger, MemoryStorage, Scope, Storage};
use std::sync::{Arc, Mutex};

/// Bytes that can be looked at from outside.
#[derive(Clone, Default)]
struct Disk(Arc<Mutex<Vec<u8>>>);

impl Storage for Disk {
    fn load(&mut self) -> std::io::Result<Vec<u8>> {
        Ok(self.0.lock().unwrap().clone())
    }

    fn append(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> std::io::Result<()> {
        self.0.lock().unwrap().truncate(length as usize);
        Ok(())
    }

    fn replace(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        *self.0.lock().unwrap() = bytes.to_vec();
        Ok(())
    }

    fn sync(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn scope() -> Scope {
    Scope::records(Adjacency::ReplaceOne)
}

fn charge() -> Charge {
    Charge::Pure(Epsilon::new(0.125).unwrap())
}

/// The bytes of a ledger, and the payload of its one charge.
fn ledger() -> (Vec<u8>, Vec<u8>) {
    let disk = Disk::default();
    let budget = Budget::pure(1.0).unwrap();
    let mut ledger = Ledger::create(disk.clone(), budget, FilterKind::Pure, scope()).unwrap();
    let before = disk.0.lock().unwrap().clone();
    ledger.debit(charge(), scope()).unwrap();
    let payload = disk.0.lock().unwrap()[before.len() + 16..].to_vec();
    (before, payload)
}

/// A log with one record more.
fn with(log: &[u8], number: u64, payload: &[u8]) -> MemoryStorage {
    let numbered = [&number.to_le_bytes()[..], payload].concat();
    let frame = [
        &(payload.len() as u32).to_le_bytes()[..],
        &crc32fast::hash(&numbered).to_le_bytes(),
        &numbered,
    ];
    let mut storage = MemoryStorage::default();
    storage.append(&[log, &frame.concat()].concat()).unwrap();
    storage
}

/// The next charge has the number after the last, so the last one must have a next.
#[test]
fn a_charge_with_the_last_number_of_all_is_refused() {
    let (log, payload) = ledger();
    // Kind and number of the record, which is 1; then the price.
    assert_eq!(payload[..2], [7, 1]);
    let numbered = |number: &[u8]| [&payload[..1], number, &payload[2..]].concat();
    let mut sound = Ledger::open(with(&log, 1, &numbered(&[5]))).unwrap();
    sound.debit(charge(), scope()).unwrap();
    assert_eq!(sound.charges().last().unwrap().0, 6);
    let last = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
    let refused = Ledger::open(with(&log, 1, &numbered(&last))).err().unwrap();
    assert!(
        refused
            .to_string()
            .contains("record 1 is not of this version"),
        "{refused}"
    );
    // The same for charges that were merged: from another ledger, from this number on, one run.
    let price = &payload[2..];
    let merged = [&[9][..], &[7; 16], &last, &[1], price, &[0]].concat();
    let refused = Ledger::open(with(&log, 1, &merged)).err().unwrap();
    assert!(
        refused
            .to_string()
            .contains("record 1 is not of this version"),
        "{refused}"
    );
}

/// A map whose features are more than the policy has weights for would be read beyond their end.
#[test]
fn a_map_of_contexts_is_read_only_if_it_could_be_made() {
    let read = |text: &str| serde_json::from_str::<ContextMap>(text).map_err(|e| e.to_string());
    let curves = |tables: &str, l1: bool| {
        let axis = r#"{"category": {"values": 2}}"#;
        let share = if tables.is_empty() { 0.0 } else { 0.5 };
        format!(
            r#"{{"curves": {{"axes": [{axis}], "tables": [{tables}], "bins": 2, "share": {share},
             "l1": {l1}}}}}"#
        )
    };
    let sound = |map: ContextMap| {
        let mut features = Vec::new();
        assert!(map.map(&[1.0], &mut features));
        assert!(
            features
                .iter()
                .all(|&(place, _)| (place as usize) < map.features())
        );
    };
    for map in [curves("[0]", false), curves("", true)] {
        let told = read(&map).map(sound).unwrap_err();
        assert!(told.contains("of a context"), "{told}");
    }
    for length in ["-1", "0"] {
        let map = format!(r#"{{"linear": {{"columns": ["number"], "length": {length}}}}}"#);
        assert!(read(&map).unwrap_err().contains("length of a context"));
    }
    read(r#"{"linear": {"columns": ["number"], "length": 2}}"#)
        .map(sound)
        .unwrap();
}

/// A ledger that another version has to read is left to it, with its torn end.
#[test]
fn what_is_refused_stays_as_it_was() {
    let (log, payload) = ledger();
    let unknown = [&[99][..], &payload[1..]].concat();
    let mut whole = with(&log, 1, &unknown).load().unwrap();
    whole.extend([1, 2, 3]);
    for (bytes, told) in [
        (whole, "record 1 is not of this version"),
        (log[..5].to_vec(), "there is no ledger"),
        (Vec::new(), "there is no ledger"),
    ] {
        let disk = Disk::default();
        disk.clone().append(&bytes).unwrap();
        let refused = Ledger::open(disk.clone()).err().unwrap().to_string();
        assert!(refused.contains(told), "{refused}");
        assert_eq!(*disk.0.lock().unwrap(), bytes, "{refused}");
    }
}
