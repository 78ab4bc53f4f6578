//! Places that cannot be written, and ledgers, journals, keys and models that are damaged, locked
//! or of another run.

use crate::common::{BUDGET, Folder, SCHEMA, rows};
use std::process::Stdio;

fn learn(flags: &str) -> String {
    format!("learn d.csv {SCHEMA} {BUDGET} {flags}")
}

#[test]
fn places_that_cannot_be_written_are_found_before_anything_is_spent() {
    let folder = Folder::with_rows(100);
    std::fs::create_dir(folder.path("folder")).unwrap();
    folder.write("file", "text");
    let before = folder.names();
    for flags in [
        "--model none/model",
        "--model folder",
        "--report none/report",
        "--report folder",
        "--releases none/releases",
        "--releases folder",
        "--ledger none/ledger",
        "--state file",
        "--state file/state",
        "--model d.csv",
        "--report x --model x",
        "--releases folder/../d.csv.ledger",
        "--model /dev/full/x",
    ] {
        let message = folder.fails(&learn(flags));
        let named = flags.split_whitespace().nth(1).unwrap();
        assert!(
            message.contains(named.trim_end_matches("/state")),
            "{flags}: {message}"
        );
        assert_eq!(folder.names(), before, "{flags}");
    }
    let message = folder.fails(&learn("--ledger folder"));
    assert!(message.contains("folder"), "{message}");
    let message = folder.fails(&format!("learn folder {SCHEMA} {BUDGET}"));
    assert!(message.contains("directory"), "{message}");
    let message = folder.fails(&format!("learn none.csv {SCHEMA} {BUDGET}"));
    assert!(message.contains("no such file"), "{message}");
    assert_eq!(folder.text("d.csv"), rows(100, 1));
}

#[test]
fn what_is_not_there_cannot_be_resumed() {
    let folder = Folder::with_rows(100);
    let message = folder.fails(&learn("--state state --resume"));
    assert!(message.contains("no run to resume"), "{message}");
    assert_eq!(folder.names(), ["d.csv"]);
    let flags = "--state state --batch 4 --recipe pqftl --seed-insecure 1 --ledger ledger";
    folder.succeeds(&learn(flags));
    let message = folder.fails(&learn(flags));
    assert!(
        message.contains("holds a run already") && message.contains("--resume"),
        "{message}"
    );
    for (other, told) in [
        (
            "--batch 5",
            "in state was begun with --batch 4, not with --batch 5:",
        ),
        (
            "--recipe pftal-convex",
            "in state was begun with --recipe pqftl, not with --recipe pftal-convex:",
        ),
        (
            "--horizon unknown",
            "with --horizon known, not with --horizon unknown:",
        ),
        ("--rounds 99", "planned for 100 records"),
        ("--norm 0.5", "reads its rows in another way"),
        ("--shuffle 7", "reads its rows in another way"),
    ] {
        let message = folder.fails(&learn(&format!(
            "{} {other} --resume",
            match other.split_once(' ') {
                Some(("--batch", _)) => flags.replace("--batch 4", ""),
                Some(("--recipe", _)) => flags.replace("--recipe pqftl", ""),
                _ => flags.to_owned(),
            }
        )));
        assert!(message.contains(told), "{other}: {message}");
    }
    let message =
        folder.fails(&learn(&format!("{flags} --resume")).replace("--epsilon 1", "--epsilon 2"));
    assert!(
        message.ends_with(
            "the run in state was begun with --epsilon 1, not with --epsilon 2: leave the settings of \
             privacy and method as they were"
        ),
        "{message}"
    );
    // An earlier version did not write down how it was begun.
    let card = folder.text("state/run.json");
    let mut old: serde_json::Value = serde_json::from_str(&card).unwrap();
    old.as_object_mut().unwrap().remove("flags");
    folder.write("state/run.json", old.to_string());
    let message = folder.fails(&learn(&format!("{flags} --ridge 3 --resume")));
    assert!(
        message.contains("its recipe, privacy or settings differ") && !message.contains('{'),
        "{message}"
    );
    folder.write("state/run.json", card);
    let put = |from: &str, to: &str| {
        for end in ["", ".witness"] {
            let place = |name: &str| folder.path(&format!("{name}{end}"));
            std::fs::rename(place(from), place(to)).unwrap();
        }
    };
    put("ledger", "away");
    let message = folder.fails(&learn(&format!("{flags} --resume")));
    assert!(
        message.contains("the ledger ledger does not exist"),
        "{message}"
    );
    folder.succeeds(&learn("--seed-insecure 2 --ledger ledger"));
    let message = folder.fails(&learn(&format!("{flags} --resume")));
    assert!(message.contains("not the ledger"), "{message}");
    put("away", "ledger");
    // More rows than planned: the rest is not read. Fewer than were learned: those are other data.
    folder.write("d.csv", rows(130, 1));
    let (_, told) = folder.succeeds(&learn(&format!("{flags} --resume")));
    assert!(told.contains("the rest of the file was not read"), "{told}");
    folder.write("d.csv", rows(30, 1));
    let message = folder.fails(&learn(&format!("{flags} --resume")));
    assert!(
        message.contains("has learned 96 rows, and the data has 30"),
        "{message}"
    );
    assert_eq!(folder.charges("ledger"), 1);
}

#[test]
fn damage_is_told() {
    let folder = Folder::with_rows(100);
    let flags = "--state state --batch 4 --seed-insecure 1 --ledger ledger --model model";
    folder.succeeds(&learn(flags));
    let resume = learn(&format!("{flags} --resume"));
    for (name, told) in [
        ("ledger", "damaged"),
        ("state/key", "key"),
        ("state/run.json", "the run in state reads its rows"),
    ] {
        let whole = folder.read(name);
        let mut broken = whole.clone();
        broken[whole.len() / 3] ^= 0x20;
        folder.write(name, &broken);
        let message = folder.fails(&resume);
        assert!(message.contains(told), "{name}: {message}");
        folder.write(name, "something else altogether");
        folder.fails(&resume);
        folder.write(name, &whole);
    }
    // A journal that lost synced items is an old copy: its run goes on under another name, and is
    // not charged again.
    let whole = folder.read("state/journal");
    folder.write("state/journal", &whole[..whole.len() - 40]);
    let (_, told) = folder.succeeds(&resume);
    assert!(told.contains("old copy"), "{told}");
    assert_eq!(folder.charges("ledger"), 1);
    folder.write("state/journal", "something else altogether");
    folder.fails(&resume);
    // A journal that is gone cannot be told from another run's charge: it is not charged again in
    // silence.
    folder.write("state/journal", "");
    let message = folder.fails(&resume);
    assert!(message.contains("begin again"), "{message}");
    assert_eq!(folder.charges("ledger"), 1);
}

/// A state folder of the first version: its card and its key are read, its journal is refused, and
/// nothing changes.
#[test]
fn states_of_other_versions_are_refused_in_words() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("state")).unwrap();
    let golden = |name: &str| {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/state-v1/");
        std::fs::read(format!("{root}{name}")).unwrap()
    };
    let files = [
        ("d.csv", "d.csv"),
        ("ledger", "ledger"),
        ("journal", "state/journal"),
        ("key", "state/key"),
        ("run.json", "state/run.json"),
    ];
    for (name, place) in files {
        folder.write(place, golden(name));
    }
    let resume = "learn d.csv --target y --bounds a=0:1 --recipe pftal-convex --batch 4 --epsilon \
        1 --delta 1e-6 --seed-insecure 3 --state state --ledger ledger --resume";
    let message = folder.fails(resume);
    assert!(
        message.contains("the journal was written by an earlier version"),
        "{message}"
    );
    assert_eq!(folder.read("state/journal"), golden("journal"));
    let card = folder.text("state/run.json");
    folder.write(
        "state/run.json",
        card.replace("\"version\": 1", "\"version\": 2"),
    );
    let message = folder.fails(resume);
    assert!(
        message.contains("has version 2, and this program reads version 1"),
        "{message}"
    );
}

#[test]
fn damaged_models_are_refused() {
    let folder = Folder::with_rows(100);
    folder.succeeds(&learn("--model model --seed-insecure 1"));
    let model = folder.text("model");
    for (broken, told) in [
        (
            model.replace("\"release\": ", "\"release\": x"),
            "not a model",
        ),
        (
            model.replace("hushstream model", "another"),
            "another format",
        ),
        (
            model.replace("\"checksum\": ", "\"checksum\": 1"),
            "not a model",
        ),
        (model[..model.len() / 2].to_owned(), "not a model"),
        (String::new(), "model"),
    ] {
        folder.write("broken", broken);
        for command in ["predict broken d.csv", "inspect broken"] {
            let message = folder.fails(command);
            assert!(message.contains(told), "{command}: {message}");
        }
    }
    let message = folder.fails("predict none d.csv");
    assert!(message.contains("cannot read none"), "{message}");
    let before = folder.names();
    let message = folder.fails("inspect d.csv");
    assert!(
        message.contains("neither a model nor a ledger"),
        "{message}"
    );
    assert_eq!(folder.names(), before, "looking changes nothing");
}

#[test]
fn two_at_once_do_not_share() {
    let folder = Folder::with_rows(100);
    let stream = format!(
        "learn - --format csv {SCHEMA} {BUDGET} --rounds 100 --state state --ledger ledger"
    );
    let mut first = folder
        .command(&stream)
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut pipe = first.stdin.take().unwrap();
    std::io::Write::write_all(&mut pipe, rows(60, 1).as_bytes()).unwrap();
    while !folder.path("state/run.json").exists() || folder.charges("ledger") < 1 {
        std::thread::yield_now();
    }
    // The first run waits for more; meanwhile its ledger and its folder are its own.
    let message = folder.fails(&learn("--ledger ledger"));
    assert!(message.contains("in use"), "{message}");
    let message = folder.fails(&learn(
        "--state state --ledger ledger --resume --rounds 100",
    ));
    assert!(message.contains("in use"), "{message}");
    let message = folder.fails(&learn("--state state --ledger other"));
    assert!(message.contains("holds a run already"), "{message}");
    drop(pipe);
    assert!(first.wait().unwrap().success());
    assert_eq!(folder.charges("ledger"), 1);
}
