//! Sums made elsewhere, by real processes: the script of the book, kills at any moment, and what
//! is refused.

use crate::common::{Dice, Example, Folder, HEADER};
use std::process::{Command, Stdio};

const SCRIPT: &str = include_str!("../../../../examples/cluster.sh");
const FLAGS: &str = "--target y --ignore who --bounds a=0:1,b=0:10 --vocabulary c=x|y|z \
                     --epsilon 1 --delta 1e-6 --rounds 6000 --batch 600 --seed-insecure 7";
const DAYS: u64 = 3;
const FILES: [&str; 3] = ["a.csv", "b.csv", "c.csv"];
/// Rows of each file: together a full batch.
const ROWS: [u64; 3] = [100, 250, 250];

/// Rows in days of three files; and all of them in one file.
fn cluster() -> Folder {
    let folder = Folder::in_memory();
    let (mut dice, mut all) = (Dice(5), HEADER.to_owned());
    for day in 0..DAYS {
        std::fs::create_dir_all(folder.path(&format!("days/{day}"))).unwrap();
        for (file, rows) in FILES.iter().zip(ROWS) {
            let rows: String = (0..rows).map(|_| Example::draw(&mut dice).line()).collect();
            folder.write(&format!("days/{day}/{file}"), format!("{HEADER}{rows}"));
            all += &rows;
        }
    }
    folder.write("all.csv", all);
    folder
}

/// The model of one process that reads all rows as a stream.
fn one_process(folder: &Folder) -> serde_json::Value {
    let rows = folder.read("all.csv");
    let flags = format!("learn - --format csv {FLAGS} --ledger one.ledger --model one.json");
    let output = folder.piped(&flags, &rows);
    assert!(output.status.success(), "{output:?}");
    weights(folder, "one.json")
}

fn weights(folder: &Folder, model: &str) -> serde_json::Value {
    let model: serde_json::Value = serde_json::from_slice(&folder.read(model)).unwrap();
    assert!(
        model["weights"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
    );
    model["weights"].clone()
}

fn script(folder: &Folder) -> std::process::Output {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_hushstream"));
    let path = format!(
        "{}:{}",
        program.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let seeded = SCRIPT.replace("--epsilon 1", "--seed-insecure 7 --epsilon 1");
    Command::new("sh")
        .args(["-c", &seeded])
        .current_dir(folder.path("."))
        .env("PATH", path)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn the_script_of_the_book_gives_the_model_of_one_process() {
    let page = include_str!("../../../../docs/how-to/clusters.md");
    assert!(page.contains(SCRIPT), "the page shows examples/cluster.sh");
    let folder = cluster();
    let output = script(&folder);
    let told = String::from_utf8(output.stdout).unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{error}");
    assert!(
        told.contains("batch 2 of days was taken: release 3, after 1800 records"),
        "{told}"
    );
    assert_eq!(weights(&folder, "model.json"), one_process(&folder));
    assert_eq!(folder.charges("people.ledger"), 1);
    // Once more: nothing is added, and the model is the same.
    let model = folder.read("model.json");
    let output = script(&folder);
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    assert!(
        told.contains("batch 2 of days was taken before, and was not added again"),
        "{told}"
    );
    assert_eq!(folder.read("model.json"), model);
}

fn opened(folder: &Folder) {
    let flags = format!("open days/0/a.csv {FLAGS} --state run --ledger ledger");
    folder.succeeds(&flags);
    folder.succeeds("question --state run --output question");
}

/// The files of a day, as positions.
fn positions(day: u64) -> String {
    FILES.map(|file| format!("days/{day}/{file}")).join(",")
}

/// The partial sums of a day, one for each file.
fn parts(folder: &Folder, day: u64) -> String {
    let part = |file: &&str| {
        folder.succeeds(&format!(
            "partial days/{day}/{file} --question question --output {file}.part"
        ));
        format!("{file}.part")
    };
    FILES.iter().map(part).collect::<Vec<_>>().join(" ")
}

fn commit(folder: &Folder, parts: &str, batch: u64, positions: &str, more: &str) -> String {
    let _ = folder;
    format!(
        "commit {parts} --state run --source days --batch {batch} --positions {positions} \
         --model model.json --question question {more}"
    )
}

/// Sealed partial sums give the model of one process, and open for their own run, question and
/// batch alone.
#[test]
fn sealed_sums_open_for_their_own_run_and_batch_alone() {
    let folder = cluster();
    opened(&folder);
    folder.succeeds("question --state run --output question --sealing-key key");
    // Another run on the same people, with keys of its own.
    let other = FLAGS.replace("--seed-insecure 7", "--seed-insecure 8");
    folder.succeeds(&format!(
        "open days/0/a.csv {other} --state other --ledger other.ledger"
    ));
    folder.succeeds("question --state other --output others --sealing-key other.key");
    assert_ne!(folder.read("key"), folder.read("other.key"));
    let sealed = |day: u64, key: &str| {
        let part = |file: &&str| {
            folder.succeeds(&format!(
                "partial days/{day}/{file} --question question --seal-to {key} --output {file}.part"
            ));
            format!("{file}.part")
        };
        FILES.iter().map(part).collect::<Vec<_>>().join(" ")
    };
    let refused = |parts: &str, day: u64| {
        let told = folder.fails(&commit(&folder, parts, day, &positions(day), ""));
        assert!(!told.contains("panicked"), "{told}");
        told
    };
    let told = refused(&sealed(0, "other.key"), 0);
    assert!(told.contains("another key"), "{told}");
    let parts = sealed(0, "key");
    // Nothing of the plain bytes is left, and every byte is covered.
    let bytes = folder.read("a.csv.part");
    assert!(!bytes.windows(7).any(|window| window == b"HUSHSUM"));
    for place in (0..bytes.len()).step_by(bytes.len() / 40) {
        let mut changed = bytes.clone();
        changed[place] ^= 1;
        folder.write("a.csv.part", changed);
        refused(&parts, 0);
    }
    folder.write("a.csv.part", &bytes[..bytes.len() - 1]);
    let told = refused(&parts, 0);
    assert!(told.contains("changed on the way"), "{told}");
    folder.write("a.csv.part", &bytes);
    folder.succeeds(&commit(&folder, &parts, 0, &positions(0), ""));
    // A retry is answered without a look at its bytes.
    folder.write("a.csv.part", &bytes[..bytes.len() - 1]);
    let (told, _) = folder.succeeds(&commit(&folder, &parts, 0, "days/0/a.csv", ""));
    assert!(told.contains("was taken before"), "{told}");
    // A sum that answers the last question.
    std::fs::copy(folder.path("question"), folder.path("kept")).unwrap();
    let stale = sealed(1, "key");
    folder.succeeds(&commit(&folder, &stale, 1, &positions(1), ""));
    std::fs::copy(folder.path("kept"), folder.path("question")).unwrap();
    let told = refused(&sealed(2, "key"), 2);
    assert!(told.contains("old question"), "{told}");
    folder.succeeds("question --state run --output question");
    // Sealed and plain sums may come together.
    let last = sealed(2, "key");
    folder.succeeds("partial days/2/a.csv --question question --output a.csv.part");
    folder.succeeds(&commit(&folder, &last, 2, &positions(2), ""));
    assert_eq!(weights(&folder, "model.json"), one_process(&folder));
    folder.write("key", "abc");
    let told = folder.fails("partial days/2/a.csv --question question --seal-to key");
    assert!(told.contains("64 hexadecimal digits"), "{told}");
}

/// Whatever is killed, the source delivers its batch again: the model is that of one process.
#[test]
fn kills_at_any_moment_change_nothing() {
    let folder = cluster();
    opened(&folder);
    let mut dice = Dice(11);
    let mut killed = 0;
    for day in 0..DAYS {
        for _ in 0..12 {
            folder.succeeds("question --state run --output question");
            let parts = parts(&folder, day);
            let command = commit(&folder, &parts, day, &positions(day), "");
            let mut child = folder
                .command(&command)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            std::thread::sleep(std::time::Duration::from_micros(dice.below(12_000)));
            child.kill().unwrap();
            let status = child.wait().unwrap();
            assert!(
                status.success() || status.code().is_none(),
                "it failed by itself"
            );
            killed += u32::from(!status.success());
        }
        folder.succeeds("question --state run --output question");
        let parts = parts(&folder, day);
        folder.succeeds(&commit(&folder, &parts, day, &positions(day), ""));
    }
    assert!(killed > 0);
    assert_eq!(weights(&folder, "model.json"), one_process(&folder));
    assert_eq!(folder.charges("ledger"), 1);
}

#[test]
fn what_would_count_twice_or_leave_out_is_refused() {
    let folder = cluster();
    opened(&folder);
    let day = parts(&folder, 0);
    for (parts, positions, told) in [
        // A part that is missing, named or not; a part twice; another day's.
        ("a.csv.part b.csv.part", positions(0), "would be left out"),
        (
            "a.csv.part b.csv.part",
            "days/0/a.csv".to_owned(),
            "at days/0/b.csv=0:250",
        ),
        (
            &*day,
            "days/0/a.csv=0:99,days/0/b.csv,days/0/c.csv".to_owned(),
            "do not cover the same",
        ),
        (
            "a.csv.part a.csv.part",
            positions(0),
            "would be counted twice",
        ),
    ] {
        let refused = folder.fails(&commit(&folder, parts, 0, &positions, ""));
        assert!(refused.contains(told), "{refused}");
    }
    folder.succeeds(&commit(&folder, &day, 0, &positions(0), ""));
    // The old question's answers, under a new number.
    std::fs::copy(folder.path("days/1/a.csv"), folder.path("a.csv")).unwrap();
    let question = folder.read("question");
    for (command, told) in [
        (
            commit(&folder, &day, 1, &positions(0), ""),
            "would be counted twice",
        ),
        (
            commit(&folder, &day, 2, &positions(0), ""),
            "commit those batches first",
        ),
        (
            commit(&folder, &day, 1, &positions(0), "").replace("--source days", "--source old"),
            "--accept-new-source",
        ),
    ] {
        let refused = folder.fails(&command);
        assert!(refused.contains(told), "{refused}");
        assert!(
            refused.contains("people") || refused.contains("person"),
            "{refused}"
        );
        assert_eq!(folder.read("question"), question);
    }
    // A question of before: the rows must be asked again.
    folder.write("old", folder.read("a.csv.part"));
    folder.succeeds("partial a.csv --question question --rows 10:60 --output new");
    let next = |part: &str, positions: &str, more: &str| commit(&folder, part, 1, positions, more);
    let refused = folder.fails(&next("new", "a.csv=10:60", ""));
    assert!(
        refused.contains("people between would be left out"),
        "{refused}"
    );
    // Another source, with its first new record stated, and wrongly stated.
    let other = |first: &str| {
        let more = format!("--accept-new-source {first}");
        next("new", "a.csv=10:60", &more).replace("--source days", "--source old")
    };
    let refused = folder.fails(&other("a.csv=0"));
    assert!(refused.contains("first new record"), "{refused}");
    folder.succeeds(&other("a.csv=10"));
    let told = folder.succeeds(&other("a.csv=10")).0;
    assert!(told.contains("not added again"), "{told}");
}

#[test]
fn flags_that_have_no_meaning_are_refused_before_anything_is_spent() {
    let folder = cluster();
    for (flags, told) in [
        ("--shuffle 3", "--shuffle"),
        ("--passes 2", "--passes"),
        ("--malformed refuse", "--malformed"),
        ("--recipe sparse-ftrl", "one process"),
    ] {
        let command = format!("open days/0/a.csv {FLAGS} {flags} --state run --ledger ledger");
        let command = if flags.contains("sparse") {
            command.replace("--batch 600", "")
        } else {
            command
        };
        let refused = folder.fails(&command);
        assert!(refused.contains(told), "{refused}");
        assert!(!folder.path("ledger").exists(), "{flags}");
    }
    let refused = folder.fails("question --state run");
    assert!(refused.contains("hushstream open"), "{refused}");
    folder.write("question", "nonsense");
    let refused = folder.fails("partial days/0/a.csv --question question");
    assert!(refused.contains("not a question"), "{refused}");
}

const STATISTICS: &str = "--mean b=0:10 --group c=x|y --last 2 --epsilon 1 --delta 1e-6 --ticks 5 \
                          --seed-insecure 7";

/// Running statistics of batches: opened, asked, summed and committed by programs, some of which
/// are killed, the tables are those of one process that reads all rows.
#[test]
fn tables_of_batches_are_those_of_one_process() {
    let folder = cluster();
    let rows: u64 = ROWS.iter().sum();
    let flags = format!("track all.csv --by {rows} {STATISTICS} --ledger one.ledger");
    folder.succeeds(&format!("{flags} --releases one.jsonl"));
    let one = String::from_utf8(folder.read("one.jsonl")).unwrap();
    let tables: Vec<serde_json::Value> = one
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(tables.len() as u64, DAYS);
    let open = format!("track days/0/a.csv --by batch {STATISTICS} --state run --ledger ledger");
    folder.succeeds(&open);
    let commit = |parts: &str, day: u64| {
        commit(&folder, parts, day, &positions(day), "").replace("--model", "--table")
    };
    let (mut dice, mut killed) = (Dice(3), 0);
    for (day, expected) in (0..DAYS).zip(&tables) {
        folder.succeeds("question --state run --output question");
        for _ in 0..6 {
            let parts = parts(&folder, day);
            let mut child = folder
                .command(&commit(&parts, day))
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            std::thread::sleep(std::time::Duration::from_micros(dice.below(12_000)));
            child.kill().unwrap();
            killed += u32::from(!child.wait().unwrap().success());
            folder.succeeds("question --state run --output question");
        }
        let parts = parts(&folder, day);
        folder.succeeds(&commit(&parts, day));
        let table: serde_json::Value = serde_json::from_slice(&folder.read("model.json")).unwrap();
        assert_eq!(table["tick"], day + 1);
        assert_eq!(table["rows"], expected["rows"]);
        let told = folder.succeeds(&commit(&parts, day)).0;
        assert!(told.contains("not added again"), "{told}");
        let again: serde_json::Value = serde_json::from_slice(&folder.read("model.json")).unwrap();
        assert_eq!(again, table);
    }
    assert!(killed > 0);
    assert_eq!(folder.charges("ledger"), 1);
    // What has no meaning is refused, before anything is spent.
    for (flags, told) in [
        ("--time a", "--time"),
        ("--releases r", "--releases"),
        ("--malformed refuse", "--malformed"),
    ] {
        let open = open
            .replace("run", "other")
            .replace("ledger ledger", "ledger new");
        let refused = folder.fails(&format!("{open} {flags}"));
        assert!(refused.contains(told), "{refused}");
    }
    assert!(!folder.path("new").exists());
    let model = format!("commit --state run --source days --batch {DAYS} --model m");
    let refused = folder.fails(&model);
    assert!(refused.contains("--table"), "{refused}");
}
