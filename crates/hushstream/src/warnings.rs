//! Warnings before a run, from public numbers and names of files alone.

use crate::budget;
use crate::learner::Learner;
use hushstream_pictures::numbers::{delta, grouped, short};
use std::path::{Path, PathBuf};

/// A warning for the operator: almost all predictions are the same class.
pub const ONE_SIDED: &str = "at least 99.9 % of the predictions were the same class. Either noise \
    hides what the features tell (more ε, more records or fewer features help), or bounds are much \
    wider than the values, or the features tell nothing about the target, or one class is so rare \
    that the other is always the better guess";

/// A δ that allows a mechanism to publish a record that it picks at random.
pub fn large_delta(value: f64, records: u64) -> Option<String> {
    (value > 0.0 && value * records as f64 >= 1.0).then(|| {
        format!(
            "warning: δ = {} is not below 1/n for n = {} records: publishing the record of \
             somebody drawn at random would keep such a promise; state a δ far below {}",
            delta(value),
            grouped(records),
            short(1.0 / records as f64)
        )
    })
}

/// Warns about a regret bound that no learner could exceed anyway.
pub fn trivial_bound(bound: f64, trivial: f64) -> Option<String> {
    (bound >= trivial).then(|| {
        format!(
            "the regret bound, {}, is not below the trivial one, {}, and says nothing here",
            short(bound),
            short(trivial)
        )
    })
}

/// Ledgers beside the data whose own data is gone: if the file was renamed, its people have a
/// budget already.
pub fn left_ledgers(learner: &Learner) -> Option<String> {
    let privacy = &learner.privacy;
    if privacy.ledger.is_some() || privacy.seed_insecure.is_some() || learner.output.resume {
        return None;
    }
    let own = budget::path(learner).ok()?;
    if own.exists() {
        return None;
    }
    let mut left: Vec<PathBuf> = own
        .parent()?
        .read_dir()
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| is_left(path) && may_be_of(path, Path::new(&learner.data.file)))
        .collect();
    left.sort();
    let names: Vec<String> = left.iter().map(|path| path.display().to_string()).collect();
    let first = names.first()?;
    Some(format!(
        "warning: {} is a ledger whose data is not there. If {} holds the same people under a new \
         name, their budget must not be opened twice: `hushstream ledger move {first} {}` lets it \
         go on, and so does naming the ledger {first}",
        names.join(", "),
        learner.data.file,
        own.display()
    ))
}

/// Whether a file is named as the ledger of data that is not there.
fn is_left(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "ledger")
        && path.is_file()
        // A ledger that was named by hand, as `people.ledger`, need not have data beside it.
        && path.with_extension("").extension().is_some()
        && !path.with_extension("").exists()
}

/// Whether a file can be the data of a ledger under a new name: it must have been there when the
/// ledger was begun, and names of one format end alike. A copy is as old as what it was made of by
/// one of its times, if it was moved between disks.
fn may_be_of(ledger: &Path, file: &Path) -> bool {
    if ledger.with_extension("").extension() != file.extension() {
        return false;
    }
    let times = |path: &Path| {
        let about = path.metadata().ok()?;
        Some((about.created().ok()?, about.modified().ok()?))
    };
    match (times(ledger), times(file)) {
        (Some((begun, _)), Some((created, modified))) => created <= begun || modified <= begun,
        // Not every file system stores creation times.
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delta_of_one_record_or_more_is_told() {
        assert!(large_delta(1e-3, 1000).is_some() && large_delta(0.5, 2).is_some());
        assert!(large_delta(0.9e-3, 1000).is_none() && large_delta(0.0, 1 << 60).is_none());
    }

    #[test]
    fn a_bound_says_something_only_below_the_trivial_one() {
        assert!(trivial_bound(1000.0, 1000.0).is_some() && trivial_bound(999.0, 1000.0).is_none());
    }

    #[test]
    fn a_file_that_is_younger_or_of_another_format_has_no_older_ledger() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let write = |name: &str| {
            std::fs::write(path(name), "").unwrap();
            std::thread::sleep(std::time::Duration::from_millis(20));
        };
        for name in ["old.csv", "old.vw", "gone.csv.ledger", "new.csv"] {
            write(name);
        }
        let may = |name| may_be_of(&path("gone.csv.ledger"), &path(name));
        assert!(may("old.csv") && !may("old.vw"));
        let knows = path("new.csv").metadata().unwrap().created().is_ok();
        assert_eq!(may("new.csv"), !knows);
        // Rows that are appended make no other file of it.
        write("old.csv");
        assert!(may("old.csv") || !knows);
    }

    #[test]
    fn only_ledgers_of_data_that_is_gone_are_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in [
            "here.csv",
            "here.csv.ledger",
            "gone.csv.ledger",
            "people.ledger",
        ] {
            std::fs::write(path(name), "").unwrap();
        }
        std::fs::create_dir(path("folder.csv.ledger")).unwrap();
        let left = |name| is_left(&path(name));
        assert!(left("gone.csv.ledger"));
        for name in [
            "here.csv.ledger",
            "people.ledger",
            "here.csv",
            "folder.csv.ledger",
        ] {
            assert!(!left(name), "{name}");
        }
    }
}
