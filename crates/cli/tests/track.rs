//! `hushstream track` as a process: files, streams, resumes and refusals.

#![allow(clippy::unwrap_used)] // a test may stop where it fails

use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

fn hushstream(folder: &Path, flags: &str) -> Command {
    program(folder, &format!("track {flags}"))
}

fn program(folder: &Path, words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hushstream"));
    command.current_dir(folder);
    let (mut word, mut is_quoted) = (String::new(), false);
    for sign in words.chars().chain([' ']) {
        match sign {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted && !word.is_empty() => drop(command.arg(std::mem::take(&mut word))),
            ' ' if !is_quoted => {}
            sign => word.push(sign),
        }
    }
    command
}

fn run(folder: &TempDir, flags: &str) -> Output {
    hushstream(folder.path(), flags).output().unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", told(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A row: day of January, region, age.
type Row = (u64, &'static str, u64);

fn rows() -> Vec<Row> {
    // No rows on days 4 and 5.
    let days = [1, 2, 3, 6, 7, 8];
    let of = |day: u64| (0..40 + 10 * day).map(move |i| (day, ["N", "S", "W"][i as usize % 3], i));
    days.into_iter().flat_map(of).collect()
}

fn line(row: Row) -> String {
    let (day, region, age) = row;
    format!(
        "2013-01-{day:02}T{:02}:30,{region},{}\n",
        age % 24,
        age % 90
    )
}

fn table(rows: &[Row]) -> String {
    let lines: String = rows.iter().map(|row| line(*row)).collect();
    format!("at,region,age\n{lines}")
}

fn folder(content: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("d.csv"), content).unwrap();
    folder
}

const ASKED: &str = "--by day --time at --mean age=0:100 --group region='N|S' --last 3 \
                     --epsilon 1 --delta 1e-6";

fn releases(folder: &TempDir, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.path().join(name)).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The value of a column of a span for a group, or for all.
fn value(table: &Value, span: &str, group: Option<&str>, column: &str) -> f64 {
    let rows = table["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| {
        let of = row["group"].get("region").and_then(Value::as_str);
        row["span"] == span && of == group
    });
    row.unwrap()[column][0].as_f64().unwrap()
}

#[test]
fn a_file_is_tracked_by_its_times() {
    let folder = folder(&table(&rows()));
    let flags = format!(
        "d.csv {ASKED} --seed-insecure 3 --releases r.jsonl --csv r.csv --picture p.svg --json"
    );
    let outcome = json(&run(&folder, &flags));
    let all = rows().len() as u64;
    assert_eq!(
        (outcome["ticks"].as_u64(), outcome["records"].as_u64()),
        (Some(8), Some(all))
    );
    let tables = releases(&folder, "r.jsonl");
    assert_eq!(tables.len(), 8, "empty days have tables too");
    assert_eq!(tables[3]["from"], "2013-01-04");
    assert_eq!(outcome["table"]["rows"], tables[7]["rows"]);
    let csv = std::fs::read_to_string(folder.path().join("r.csv")).unwrap();
    // Three spans, all and three groups, a count and a mean.
    assert_eq!(csv.lines().count(), 1 + 8 * 3 * 4 * 2);
    assert!(csv.starts_with("tick,from,to,span,region,statistic,value,low,high\n"));
    let svg = std::fs::read_to_string(folder.path().join("p.svg")).unwrap();
    assert!(svg.contains("mean age") && svg.contains("<polyline"));
    let told = outcome["guarantee"].to_string();
    assert!(told.contains("times are public"), "{told}");
    // With little noise, the numbers are those of the file.
    let exact = flags.replace("--epsilon 1 --delta 1e-6", "--epsilon 40 --delta 0.01");
    json(&run(&folder, &exact));
    let tables = releases(&folder, "r.jsonl");
    let count = |day: u64| (40 + 10 * day) as f64;
    let near = |found: f64, exact: f64| assert!((found - exact).abs() < 6.0, "{found} {exact}");
    near(value(&tables[1], "tick", None, "count"), count(2));
    near(value(&tables[3], "tick", None, "count"), 0.0);
    near(value(&tables[5], "last 3", None, "count"), count(6));
    near(value(&tables[7], "total", None, "count"), all as f64);
    near(value(&tables[0], "tick", Some("N"), "count"), 17.0);
    near(value(&tables[0], "tick", Some("(other)"), "count"), 16.0);
}

/// A row that is changed, also into one that cannot be read, moves no other row to another tick:
/// the noise of two runs with one seed is the same, and counts differ by that row alone, in its
/// tick.
#[test]
fn the_content_of_a_row_moves_no_other_row() {
    let rows = rows();
    let by_day = ASKED.replace("--epsilon 1 --delta 1e-6", "--epsilon 40 --delta 0.01");
    let by_rows = by_day.replace("--by day --time at", "--by 50");
    for asked in [by_day, by_rows] {
        let is_by_day = asked.contains("--by day");
        let flags =
            format!("d.csv {asked} --malformed empty --seed-insecure 3 --releases r.jsonl --json");
        let plain = folder(&table(&rows));
        json(&run(&plain, &flags));
        let before = releases(&plain, "r.jsonl");
        // The first and the last row of a day, and one in between.
        for place in [50, 51, 70, 109, 110, rows.len() - 1] {
            let time = line(rows[place]);
            let time = time.split(',').next().unwrap();
            for other in [
                format!("{time},S,12\n"),
                format!("{time},nowhere,1e9\n"),
                format!("{time},N,old\n"),
                format!("{time},N\n"),
                format!("{time},N,1,2,3\n"),
                "2013-01-99,N,5\n".to_owned(),
                "\n".to_owned(),
                "2012-12-31,N,5\n".to_owned(),
            ] {
                let mut text = "at,region,age\n".to_owned();
                for (number, row) in rows.iter().enumerate() {
                    let own = line(*row);
                    text += if number == place { &other } else { &own };
                }
                let changed = folder(&text);
                json(&run(&changed, &flags));
                let after = releases(&changed, "r.jsonl");
                assert_eq!(before.len(), after.len(), "{place} {other}");
                let own = if is_by_day {
                    rows[place].0 as usize
                } else {
                    place / 50 + 1
                };
                for (tick, (before, after)) in (1..).zip(before.iter().zip(&after)) {
                    for group in [None, Some("N"), Some("S"), Some("(other)")] {
                        let of = |table| value(table, "tick", group, "count");
                        let (moved, most) = (of(after) - of(before), [0.2, 1.2]);
                        let most = most[usize::from(tick == own)];
                        assert!(moved.abs() < most, "{place} {other} tick {tick}: {moved}");
                    }
                }
            }
        }
    }
}

/// Stopped and resumed, also with rows appended, the files are those of a run that never stopped.
#[test]
fn a_resumed_file_has_the_tables_of_a_whole_one() {
    let rows = rows();
    let whole = folder(&table(&rows));
    let flags = format!("d.csv {ASKED} --ticks 8 --seed-insecure 3 --releases r.jsonl --csv r.csv");
    json(&run(
        &whole,
        &format!("{flags} --json --ledger l --state s"),
    ));
    let part = folder(&table(&rows[..]));
    // The first days, as a stream that ends in the middle of a day by a crash of the reader.
    let kept = format!("{flags} --ledger l --state s --json");
    let cut = rows.iter().position(|row| row.0 == 6).unwrap();
    std::fs::write(part.path().join("d.csv"), table(&rows[..cut])).unwrap();
    json(&run(&part, &kept));
    std::fs::write(part.path().join("d.csv"), table(&rows)).unwrap();
    let outcome = json(&run(&part, &format!("{kept} --resume")));
    assert_eq!(outcome["ticks"], 8);
    for name in ["r.jsonl", "r.csv"] {
        let read = |folder: &TempDir| std::fs::read(folder.path().join(name)).unwrap();
        assert_eq!(read(&whole), read(&part), "{name}");
    }
    // Other rows, or other statistics, are refused.
    let mut other = rows.clone();
    other[3].2 += 1;
    std::fs::write(part.path().join("d.csv"), table(&other)).unwrap();
    let refused = run(&part, &format!("{kept} --resume"));
    assert!(
        told(&refused).contains("are not the first rows"),
        "{}",
        told(&refused)
    );
    std::fs::write(part.path().join("d.csv"), table(&rows)).unwrap();
    let asked = kept.replace("age=0:100", "age=0:90");
    let refused = run(&part, &format!("{asked} --resume"));
    assert!(!refused.status.success());
    // One charge, however often it is resumed.
    let again = json(&run(&part, &format!("{kept} --resume")));
    assert_eq!(again["ledger"]["runs"], 1);
}

#[test]
fn a_stream_is_tracked_by_rows_or_by_its_arrival() {
    let folder = folder("");
    let mut text = "region\n".to_owned();
    (0..95).for_each(|i| writeln!(text, "{}", ["N", "S"][i % 2]).unwrap());
    let feed = |flags: &str| {
        let mut child = hushstream(folder.path(), flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
        json(&child.wait_with_output().unwrap())
    };
    let common = "- --format csv --group region='N|S' --epsilon 1 --delta 1e-6 --seed-insecure 3 \
                  --ledger l --json";
    let outcome = feed(&format!("{common} --by 10 --ticks 20"));
    assert_eq!(
        (outcome["ticks"].as_u64(), outcome["records"].as_u64()),
        (Some(10), Some(95))
    );
    let common = common.replace("--ledger l", "--ledger m");
    let outcome = feed(&format!("{common} --by 10 --horizon unknown"));
    assert_eq!(outcome["plan"]["ticks"], Value::Null);
    // All of it arrives within a minute, or across one border.
    let common = common.replace("--ledger m", "--ledger n");
    let outcome = feed(&format!("{common} --by minute --ticks 20"));
    assert!((1..=2).contains(&outcome["ticks"].as_u64().unwrap()));
    assert_eq!(outcome["records"], 95);
    assert!(outcome["table"]["from"].is_string());
}

#[test]
fn wrong_flags_are_refused_before_anything_is_spent() {
    let text = table(&rows());
    let folder = folder(&text);
    for (flags, said) in [
        ("--by day --mean age=0:100", "--time"),
        ("--by fortnight", "minute, hour, day, week"),
        ("--by 10 --mean age", "age=0:100"),
        ("--by 10 --group region", "--group region='A|B'"),
        ("--by 10 --mean nothing=0:1", "nothing"),
        ("--by 10 --histogram age=0:100", "name=low:high/bins"),
        ("--by 10 --quantile 0.5", "--histogram"),
        ("--by 10 --sum age=0:1 --mean age=0:2", "stated twice"),
        ("--by 10 --last 0", "--last"),
        ("--by 10 --ticks 0", "ticks"),
        ("--by day --time region --group region='N|S'", "region"),
    ] {
        let output = run(&folder, &format!("d.csv {flags} --epsilon 1 --delta 1e-6"));
        assert!(!output.status.success(), "{flags}");
        assert!(told(&output).contains(said), "{flags}: {}", told(&output));
    }
    // A row that cannot be read is refused with its line, and is empty if that is allowed.
    std::fs::write(folder.path().join("d.csv"), text + "2013-01-09,N,old\n").unwrap();
    let flags = "d.csv --by day --time at --mean age=0:100 --epsilon 1 --delta 1e-6";
    let output = run(&folder, flags);
    assert!(told(&output).contains("line"), "{}", told(&output));
    assert!(
        !folder.path().join("d.csv.ledger").exists(),
        "nothing was charged"
    );
    let planned = run(&folder, &format!("{flags} --malformed empty --plan"));
    let plan = String::from_utf8_lossy(&planned.stdout).into_owned();
    assert!(
        plan.contains("9 ticks") && plan.contains("sum of age"),
        "{plan}"
    );
    assert!(
        !folder.path().join("d.csv.ledger").exists(),
        "a plan spends nothing"
    );
    let outcome = json(&run(&folder, &format!("{flags} --malformed empty --json")));
    assert_eq!(
        (outcome["nulls"].as_u64(), outcome["ticks"].as_u64()),
        (Some(1), Some(9))
    );
    // A second run does not fit the budget of the data.
    let output = run(&folder, &format!("{flags} --malformed empty"));
    assert!(
        told(&output).contains("does not fit the budget"),
        "{}",
        told(&output)
    );
}

/// Ten thousand groups.
#[test]
fn many_groups_work() {
    let groups: Vec<String> = (0..10_000).map(|group| format!("g{group}")).collect();
    let rows: String = (0..3000).map(|i| format!("g{}\n", i * 7 % 9000)).collect();
    let folder = folder(&format!("k\n{rows}"));
    let flags = format!(
        "d.csv --by 1000 --group k='{}' --epsilon 1 --delta 1e-6 --seed-insecure 1 --json",
        groups.join("|")
    );
    let outcome = json(&run(&folder, &flags));
    assert_eq!(outcome["ticks"], 3);
    assert_eq!(outcome["plan"]["groups"], 10_001);
}
