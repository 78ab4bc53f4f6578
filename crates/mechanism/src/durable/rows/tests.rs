use super::*;
use std::sync::{Arc, Mutex};

/// A disk that outlives the log on it.
#[derive(Clone, Default)]
struct Disk(Arc<Mutex<Vec<u8>>>);

impl Storage for Disk {
    fn load(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.0.lock().unwrap().clone())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.0.lock().unwrap().truncate(length as usize);
        Ok(())
    }

    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        *self.0.lock().unwrap() = bytes.to_vec();
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn hasher(seed: u64) -> RowHasher {
    RowHasher::new(&Key::insecure_from_seed(seed))
}

fn chain(seed: u64, rows: &[&str]) -> RowChain {
    let hasher = hasher(seed);
    let chain = RowChain::new(hasher.clone());
    for row in rows {
        chain.add(&hasher.digest(row.as_bytes()));
    }
    chain
}

fn open(disk: &Disk, rows: &RowChain) -> RowLog {
    let storage = WithRows::new(disk.clone(), rows.clone());
    RowLog::open(Box::new(storage)).unwrap().0
}

#[test]
fn chains_differ_by_row_order_number_and_key() {
    let rows = |seed, rows: &[&str]| chain(seed, rows).now();
    let one = rows(1, &["a,1", "b,2"]);
    assert!(one == rows(1, &["a,1", "b,2"]));
    let others = [
        rows(1, &["b,2", "a,1"]),
        rows(1, &["a,1"]),
        rows(1, &["a,1", "b,2", ""]),
        rows(1, &["a,1", "b,3"]),
        rows(1, &["", "a,1", "b,2"]),
        rows(1, &["a,1b,2", ""]),
        rows(2, &["a,1", "b,2"]),
    ];
    assert!(others.iter().all(|other| *other != one));
    // A digest depends on its key, and rows and chains have separate secrets.
    assert_ne!(hasher(1).digest(b"a").0, hasher(2).digest(b"a").0);
    assert_ne!(hash(&hasher(1).0[0], b"a"), hash(&hasher(1).0[1], b"a"));
}

#[test]
fn an_item_covers_the_rows_before_it_and_nothing_else_covers_more() {
    let (disk, rows) = (Disk::default(), chain(1, &[]));
    let row = |text: &str| rows.add(&hasher(1).digest(text.as_bytes()));
    let covered = || rows_covered(&mut disk.clone()).unwrap();
    let mut log = open(&disk, &rows);
    log.append(b"opening".to_vec()).unwrap();
    row("a");
    row("b");
    assert_eq!(covered(), 0);
    log.append_item(b"item".to_vec()).unwrap();
    assert_eq!(covered(), 2);
    // A checkpoint, or another life, after a row of the next item has arrived.
    row("c");
    log.append(b"life".to_vec()).unwrap();
    assert_eq!(covered(), 2);
    log.replace(vec![b"opening".to_vec(), b"checkpoint".to_vec()])
        .unwrap();
    assert_eq!(covered(), 2);
    log.append_item(b"item".to_vec()).unwrap();
    assert_eq!(covered(), 3);
    drop(log);
    // Without a chain the log carries the chain it found, and its records are unchanged.
    let (mut log, records) = RowLog::open(Box::new(disk.clone())).unwrap();
    let expected: [&[u8]; 3] = [b"opening", b"checkpoint", b"item"];
    assert_eq!(records, expected);
    log.append_item(b"more".to_vec()).unwrap();
    assert_eq!(covered(), 3);
}

#[test]
fn a_log_of_other_rows_is_not_written_to() {
    let (disk, rows) = (Disk::default(), chain(1, &[]));
    let mut log = open(&disk, &rows);
    rows.add(&hasher(1).digest(b"a"));
    log.append_item(b"item".to_vec()).unwrap();
    let before = disk.0.lock().unwrap().clone();
    for other in [
        chain(1, &[]),
        chain(1, &["b"]),
        chain(2, &["a"]),
        chain(1, &["a", "a"]),
    ] {
        let mut log = open(&disk, &other);
        for refused in [
            log.append(b"life".to_vec()),
            log.append_item(b"item".to_vec()),
            log.replace(vec![b"checkpoint".to_vec()]),
        ] {
            assert!(matches!(refused, Err(LogError::OtherRows)));
        }
        assert_eq!(*disk.0.lock().unwrap(), before);
    }
    open(&disk, &chain(1, &["a"]))
        .append(b"life".to_vec())
        .unwrap();
}
