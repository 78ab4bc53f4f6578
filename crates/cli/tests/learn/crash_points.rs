//! Every moment of opening at which a crash leaves something behind, made by hand: files are cut
//! back to what they held then.

use crate::common::{BUDGET, Folder, SCHEMA};

const FILES: &str = "--state state --ledger ledger --releases releases --model model";

fn flags() -> String {
    format!("learn d.csv {SCHEMA} {BUDGET} --batch 5 --seed-insecure 3 {FILES}")
}

/// Lengths of a log after its head, and after each of its records.
pub(crate) fn cuts(log: &[u8]) -> Vec<usize> {
    let mut ends = vec![10];
    while let Some(length) = log
        .get(ends[ends.len() - 1]..)
        .and_then(|rest| rest.first_chunk())
    {
        ends.push(ends[ends.len() - 1] + 16 + u32::from_le_bytes(*length) as usize);
    }
    ends
}

/// A folder where a run has ended, and what it made.
fn finished() -> (Folder, Vec<u8>, Vec<u8>) {
    let folder = Folder::with_rows(100);
    folder.succeeds(&flags());
    let (releases, model) = (folder.read("releases"), folder.read("model"));
    std::fs::remove_file(folder.path("model")).unwrap();
    std::fs::remove_file(folder.path("releases")).unwrap();
    // A ledger that is cut back by hand was never witnessed to its end.
    std::fs::remove_file(folder.path("ledger.witness")).unwrap();
    (folder, releases, model)
}

/// A folder as it was when the ledger held so many records and the journal so many bytes.
fn at(ledger_records: usize, journal: usize) -> (Folder, Vec<u8>, Vec<u8>) {
    let (folder, releases, model) = finished();
    let ledger = folder.read("ledger");
    folder.write("ledger", &ledger[..cuts(&ledger)[ledger_records]]);
    let whole = folder.read("state/journal");
    folder.write("state/journal", &whole[..journal.min(whole.len())]);
    (folder, releases, model)
}

fn goes_on((folder, releases, model): &(Folder, Vec<u8>, Vec<u8>), resume: bool) {
    folder.succeeds(&format!(
        "{}{}",
        flags(),
        if resume { " --resume" } else { "" }
    ));
    assert_eq!(folder.read("releases"), *releases);
    assert_eq!(folder.read("model"), *model);
    assert_eq!(folder.charges("ledger"), 1);
}

#[test]
fn before_the_charge_after_it_and_before_the_journal_has_a_beginning() {
    // The ledger: 1 record when it has a budget, 2 with the charge, 3 when the run has begun. The
    // journal: nothing, a torn head, a head, a torn opening.
    for (records, journal) in [(1, 0), (2, 0), (2, 5), (2, 10), (2, 22)] {
        goes_on(&at(records, journal), true);
    }
}

#[test]
fn while_the_ledger_or_the_card_was_being_made() {
    let cut = |ledger: &[u8], length: usize| ledger[..length].to_vec();
    for length in [0, 3, 10, 30] {
        let (folder, releases, model) = finished();
        std::fs::remove_dir_all(folder.path("state")).unwrap();
        folder.write("ledger", cut(&folder.read("ledger"), length));
        goes_on(&(folder, releases, model), false);
    }
    // A key without a card, and what a crash leaves of a file that was being written.
    let (folder, releases, model) = at(1, 0);
    std::fs::remove_file(folder.path("state/run.json")).unwrap();
    folder.write("state/run.json.unfinished", "{");
    folder.write("state/key.unfinished", "x");
    goes_on(&(folder, releases, model), false);
}

#[test]
fn after_the_journal_was_begun_and_before_the_ledger_heard_of_it() {
    let (folder, ..) = finished();
    let opening = cuts(&folder.read("state/journal"))[1];
    goes_on(&at(2, opening), true);
    goes_on(&at(3, opening), true);
}

#[test]
fn a_charge_is_not_lost_when_another_run_came_in_between() {
    // This run stopped before its charge, and its number went to another one.
    let (folder, ..) = at(1, 0);
    let other =
        format!("learn d.csv {SCHEMA} {BUDGET} --seed-insecure 4 --state other --ledger ledger");
    folder.succeeds(&other);
    let message = folder.fails(&format!("{} --resume", flags()));
    assert!(message.contains("is not its own"), "{message}");
    assert_eq!(folder.charges("ledger"), 1);
}

#[test]
fn a_run_that_has_ended_can_be_resumed_and_says_nothing_of_averages() {
    let (folder, releases, model) = finished();
    let told = folder.json(&format!("{} --resume", flags()));
    assert_eq!(told["rounds"], 100);
    // The last batch is never asked, so it is read again; nothing else is.
    assert!(told["scored"].as_u64().unwrap() <= 5);
    goes_on(&(folder, releases, model), true);
}

/// A crash between a ledger's sync and its witness's leaves the witness behind, and the run goes
/// on; a witness that knows more than the ledger is no crash.
#[test]
fn a_witness_may_lag_and_never_lead() {
    for (seen, records) in [(1, 1), (1, 2), (2, 2), (2, 1), (3, 1), (3, 2)] {
        let (folder, releases, model) = finished();
        let ledger = folder.read("ledger");
        let cuts = cuts(&ledger);
        // The witness as it was after so many records: opening a ledger without one makes it.
        folder.write("ledger", &ledger[..cuts[seen]]);
        let message = folder.fails("ledger raise ledger --total-epsilon 0.1");
        assert!(message.contains("raised, not lowered"), "{message}");
        assert!(
            folder
                .text("ledger.witness")
                .contains(&format!(" 0 {seen} "))
        );
        folder.write("ledger", &ledger[..cuts[records]]);
        folder.write("state/journal", "");
        if seen <= records {
            goes_on(&(folder, releases, model), true);
        } else {
            for command in [
                format!("{} --resume", flags()),
                "ledger show ledger".to_owned(),
            ] {
                let message = folder.fails(&command);
                assert!(message.contains("has lost records"), "{message}");
            }
        }
    }
}
