//! Several readings of the same rows, and files that change between them.
#![allow(clippy::unwrap_used)]

mod common;

use common::open;
use hushstream_mechanism::RowHasher;
use hushstream_noise::Key;
use hushstream_read::{Format, ReadError, Reader};
use std::sync::atomic::{AtomicUsize, Ordering};

const STATED: &str = "target = 'y'\nbounds = { b = [0, 9] }\nperson = 'a'";

fn reader(rows: &[&str]) -> Reader {
    let rows: Vec<String> = rows.iter().map(|row| row.replacen(',', ",5,", 1)).collect();
    let text = format!("a,b,y\n{}\n", rows.join("\n"));
    open(Format::Csv, STATED, text.as_bytes()).unwrap()
}

/// Persons of all records, which tell rows apart, until an error.
fn read(mut reader: Reader) -> (Vec<Option<u64>>, Option<ReadError>) {
    let mut all = Vec::new();
    loop {
        match reader.next_record() {
            Ok(Some(sealed)) => all.push(sealed.person),
            Ok(None) => return (all, None),
            Err(error) => return (all, Some(error)),
        }
    }
}

/// The readings of a file that is another one each time it is opened.
fn passes(files: Vec<Vec<&'static str>>, rows: u64) -> (Vec<Option<u64>>, Option<ReadError>) {
    let (first, count) = (reader(&files[0]), files.len() as u64);
    let opened = AtomicUsize::new(0);
    let again = move || {
        let number = opened.fetch_add(1, Ordering::Relaxed) + 1;
        files.get(number).map(|rows| reader(rows))
    };
    read(first.repeated(rows, count, again))
}

#[test]
fn every_pass_reads_the_same_rows_in_the_same_order() {
    let rows = vec!["1,0", "2,1", "broken", "4,1"];
    let (once, error) = read(reader(&rows));
    assert!(error.is_none() && once.len() == 4);
    let (all, error) = passes(vec![rows.clone(); 3], 4);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(all, [&once[..], &once, &once].concat());
    // No more than the planned rows, though the file has grown.
    let grown = vec!["1,0", "2,1", "broken", "4,1", "5,0"];
    let (all, error) = passes(vec![grown.clone(), rows.clone(), grown], 4);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(all, [&once[..], &once, &once].concat());
}

/// No pass over other rows is ever complete: its last row is not given away.
#[test]
fn a_file_that_has_changed_is_refused_before_its_pass_is_complete() {
    let rows = || vec!["1,0", "2,1", "3,0"];
    for changed in [
        vec!["1,0", "2,1", "3,1"],
        vec!["2,1", "1,0", "3,0"],
        vec!["1,0", "2,1"],
        vec!["1,0", "2,13,", "0"],
        vec!["0,0", "1,0", "2,1", "3,0"],
    ] {
        for place in [1, 2] {
            let mut files = vec![rows(); 3];
            files[place] = changed.clone();
            let (all, error) = passes(files, 3);
            let error = error.unwrap().to_string();
            assert!(error.contains("changed since"), "{changed:?}: {error}");
            assert_eq!(all.len(), place * 3 + 2, "{changed:?}");
        }
    }
    // A file that is gone.
    let first = reader(&rows());
    let (all, error) = read(first.repeated(3, 2, || None));
    assert!(error.unwrap().to_string().contains("changed since") && all.len() == 3);
    // A file that was too short from the start.
    let (all, error) = passes(vec![rows(); 2], 5);
    let error = error.unwrap().to_string();
    assert!(error.contains("--rounds") && all.len() == 3, "{error}");
}

/// A resumed run passes over rows, also over whole passes, and reads on where it stopped.
#[test]
fn rows_are_passed_over_pass_by_pass() {
    let rows = vec!["1,0", "2,1", "3,0"];
    let hasher = RowHasher::new(&Key::insecure_from_seed(1));
    let whole = passes(vec![rows.clone(); 3], 3).0;
    for learned in 0..=9 {
        let copy = rows.clone();
        let mut resumed = reader(&rows).repeated(3, 3, move || Some(reader(&copy)));
        for _ in 0..learned {
            assert!(resumed.pass_over(&hasher).unwrap().is_some());
        }
        let (rest, error) = read(resumed);
        assert!(error.is_none());
        assert_eq!(rest, whole[learned..], "{learned}");
    }
}
