//! Malformed rows: found before anything is charged, and after the charge one empty round each.

use crate::common::{BUDGET, Folder, HEADER, SCHEMA, rows};

/// A private value: it must be in no output, whatever happens.
const MARKER: &str = "8675309.25";

/// Rows of every kind of fault in a table, with the kind.
fn bad_rows() -> Vec<(Vec<u8>, &'static str)> {
    let text = |row: &str| row.replace('M', MARKER).into_bytes();
    let mut long = text("0.5,M");
    long.resize(17 << 20, b'7');
    vec![
        (text(""), "blank line"),
        (text("\r"), "blank line"),
        (text("0.5,M,x,1"), "wrong number of fields"),
        (text("0.5,1,x,1,0,M"), "wrong number of fields"),
        (text("0.5,aboutM,x,1,0"), "not a number"),
        (text("inf,1,x,1,0"), "infinite number"),
        (text("0.5,1,x,1,M"), "not a label"),
        (text("0.5,1,x,1,"), "missing target"),
        (text("0.5,1,\"M,1,0"), "open quote"),
        (text("\"0.5,M"), "open quote"),
        (text("0.5,1,\"x\"M,1,0"), "stray quote"),
        (text("0.5,\0M,x,1,0"), "NUL byte"),
        (b"0.5,1,\xff,1,0".to_vec(), "not UTF-8"),
        (b"\x1f\x8b\x08\0".to_vec(), "NUL byte"),
        (text("PAR1M"), "not a number"),
        (long, "line too long"),
    ]
}

/// Ten rows, then this one, then five.
fn with(row: &[u8]) -> Vec<u8> {
    let after = &rows(5, 2)[HEADER.len()..];
    [rows(10, 1).as_bytes(), row, b"\n", after.as_bytes()].concat()
}

#[test]
fn a_bad_cell_in_the_last_row_is_refused_and_nothing_is_charged() {
    let folder = Folder::new();
    folder.write(
        "d.csv",
        format!("{}0.5,about{MARKER},x,1,0\n", rows(500, 1)),
    );
    for flags in [
        "",
        "--shuffle 1",
        "--rounds 100",
        "--state state",
        "--horizon unknown",
    ] {
        let learn = format!("learn d.csv {SCHEMA} {BUDGET} --ledger ledger --model m {flags}");
        let message = folder.fails(&learn);
        assert!(
            message.contains("line 502, column 2 (`b`): text"),
            "{message}"
        );
        assert!(message.contains("1 of 501 rows is malformed"), "{message}");
        assert!(message.contains("nothing is charged"), "{message}");
        assert!(message.contains("hushstream check d.csv"), "{message}");
        assert!(!message.contains("8675309"), "{message}");
        assert_eq!(folder.names(), ["d.csv"], "{flags}");
    }
}

/// Only noise may differ between two streams that differ in one row, whatever the row holds: not
/// the exit code, not a word, not the number of releases.
#[test]
fn no_row_of_a_stream_stops_it_or_moves_another() {
    let folder = Folder::new();
    let learn = format!(
        "learn - --format csv {SCHEMA} {BUDGET} --rounds 16 --batch 1 --recipe pftal-convex \
         --seed-insecure 1 --quiet --json --releases releases --model model"
    );
    let told = |row: &[u8]| {
        let output = folder.piped(&learn, &with(row));
        let releases = folder.text("releases").lines().count();
        (output.status.code(), output.stdout, output.stderr, releases)
    };
    let good = told(b"0.5,1,x,1,0");
    assert_eq!((good.0, good.3), (Some(0), 15));
    let mut last = Vec::new();
    for (row, kind) in bad_rows() {
        let bad = told(&row);
        assert!(bad == good, "{kind}: {}", String::from_utf8_lossy(&bad.2));
        // With the same noise all malformed rows are the same empty round.
        let model = folder.read("model");
        assert!(last.is_empty() || last == model, "{kind}");
        last = model;
        assert!(!folder.text("releases").contains("8675309"));
    }
    let loud = learn.replace(" --quiet", "");
    let output = folder.piped(&loud, &with(b"0.5,1,x,1,"));
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let counts = ["rounds", "scored", "nulls", "malformed"].map(|key| told[key].as_u64());
    assert_eq!(counts, [Some(16), Some(15), Some(1), Some(1)]);
}

/// The same in formats without a header, where the first line is a record too.
#[test]
fn no_record_of_any_format_stops_a_stream() {
    let folder = Folder::new();
    for (format, flags, good, bad) in [
        (
            "jsonl",
            "--target y --bounds x=0:1",
            "{\"x\":0.5,\"y\":1}",
            &[
                &b""[..],
                b"{",
                b"[]",
                b"{\"x\":\"",
                b"\x1f\x8b\x08\0",
                b"PAR1",
                b"{}",
            ][..],
        ),
        (
            "vw",
            "--norm 1 --hash-bits 4",
            "1 | a:0.5",
            &[
                b"",
                b"1",
                b"| a",
                b"1 | a:x",
                b"\x1f\x8b\x08\0",
                b"PAR1",
                b"1 2 | a",
            ],
        ),
        (
            "libsvm",
            "--norm 1 --dim 3",
            "1 1:0.5",
            &[
                b"",
                b"# note",
                b"1 9:1",
                b"1 2:1 1:1",
                b"\x1f\x8b\x08\0",
                b"PAR1",
                b"x",
            ],
        ),
    ] {
        let learn = format!(
            "learn - --format {format} {flags} {BUDGET} --rounds 6 --batch 1 --recipe pftal-convex \
             --seed-insecure 1 --quiet --json --releases releases"
        );
        for at in [0, 2, 5] {
            let told = |row: &[u8]| {
                let mut lines = [good.as_bytes(); 6];
                lines[at] = row;
                let output = folder.piped(&learn, &[&lines.join(&b'\n')[..], b"\n"].concat());
                let releases = folder.text("releases").lines().count();
                (output.status.code(), output.stdout, output.stderr, releases)
            };
            let expected = told(good.as_bytes());
            assert_eq!((expected.0, expected.3), (Some(0), 5), "{format}");
            for row in bad {
                assert!(
                    told(row) == expected,
                    "{format} {at} {}",
                    row.escape_ascii()
                );
            }
        }
    }
}

/// Every kind of mechanism takes a malformed row as an empty round.
#[test]
fn every_mechanism_takes_empty_rounds() {
    let table = |names: &str, row: fn(u64) -> String| {
        let row = |n: u64| if n % 3 == 1 { "\"".to_owned() } else { row(n) };
        let rows: Vec<String> = (0..60).map(row).collect();
        format!("{names}\n{}\n", rows.join("\n"))
    };
    let examples = table("x,z,y", |n| format!("0.{n},{},{}", n % 7, n % 2));
    let losses = table("a,b,c", |n| format!("0.{n},0.5,{}", n % 2));
    let log = table("item,chance,clicks", |n| format!("a,0.5,{}", n % 2));
    let features = "--bounds x=0:1 --hashed z=4 --target y";
    for (text, flags) in [
        (&examples, features.to_owned()),
        (&examples, format!("{features} --recipe pftal-convex")),
        (&examples, format!("{features} --recipe sparse-ftrl")),
        (
            &examples,
            format!("{features} --recipe pigd --strong-convexity 1"),
        ),
        (
            &examples,
            format!("{features} --recipe pol --strong-convexity 1"),
        ),
        (&examples, format!("{features} --classes 0,1")),
        (&examples, format!("{features} --target-bounds 0:1")),
        (
            &examples,
            "--bounds x=0:1 --target y --person z --max-per-person 2".to_owned(),
        ),
        (&losses, "--task experts --bounds *=0:1".to_owned()),
        (
            &losses,
            "--task experts --bounds *=0:1 --recipe ftrl".to_owned(),
        ),
        (&losses, "--task bandit --bounds *=0:1".to_owned()),
        (
            &log,
            "--task bandit --arm item --arms a,b --target clicks --target-bounds 0:1 --propensity \
             chance --least-propensity 0.1"
                .to_owned(),
        ),
    ] {
        let folder = Folder::new();
        folder.write("d.csv", text);
        let told = folder.json(&format!(
            "learn d.csv {flags} --epsilon 1 --delta 1e-6 --seed-insecure 1 --malformed empty \
             --passes 1"
        ));
        let counts = ["rounds", "malformed", "scored"].map(|key| told[key].as_u64());
        assert_eq!(counts, [Some(60), Some(20), Some(40)], "{flags}");
    }
}

#[test]
fn check_lists_all_faults_and_spends_nothing() {
    let folder = Folder::new();
    let mut text = rows(3, 1).into_bytes();
    for (row, _) in bad_rows() {
        text.extend(row);
        text.push(b'\n');
    }
    folder.write("d.csv", text);
    let output = folder.run(&format!("check d.csv {SCHEMA} --json"));
    assert_eq!(output.status.code(), Some(2));
    let all = [&output.stdout[..], &output.stderr].concat();
    let all = String::from_utf8(all).unwrap();
    assert!(!all.contains("8675309"), "{all}");
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&told["rows"], &told["malformed"]),
        (&19.into(), &16.into())
    );
    for (number, (fault, (_, kind))) in
        (5..).zip(told["faults"].as_array().unwrap().iter().zip(bad_rows()))
    {
        assert_eq!(fault["line"], number, "{kind}");
        assert_eq!(fault["kind"], kind, "{number}");
    }
    let cell = &told["faults"][4];
    assert_eq!((&cell["column"], &cell["name"]), (&2.into(), &"b".into()));

    let output = folder.run(&format!("check d.csv {SCHEMA} --limit 2"));
    let words = String::from_utf8(output.stdout).unwrap();
    assert_eq!(words.matches("d.csv, line ").count(), 2, "{words}");
    for part in [
        "and 14 more",
        "stray quote",
        "19 rows, 16 malformed",
        "operator",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    folder.write("d.csv", rows(60, 1));
    let (out, _) = folder.succeeds(&format!("check d.csv {SCHEMA}"));
    assert!(out.contains("60 rows, 0 malformed"), "{out}");
    assert!(!out.contains("warning"), "{out}");
    assert_eq!(folder.names(), ["d.csv"]);
}

#[test]
fn columns_that_do_not_fit_are_told_to_the_operator_alone() {
    let folder = Folder::with_rows(60);
    let flags = format!("{} --positive yes", SCHEMA.replace("b=0:10", "b=100:101"));
    let learn = format!("learn d.csv {flags} {BUDGET} --seed-insecure 1");
    let (_, error) = folder.succeeds(&learn);
    for part in [
        "operator only: no row has the target value `yes`",
        "operator only: column `b`: no value lies within its bounds, 60 are",
    ] {
        assert!(error.contains(part), "{error}");
    }
    let (out, error) = folder.succeeds(&format!("{learn} --quiet"));
    assert!(!format!("{out}{error}").contains("no row has"), "{error}");
    let told = folder.json(&learn);
    assert_eq!(told["warnings"].as_array().unwrap().len(), 2);
    let (out, _) = folder.succeeds(&format!("check d.csv {flags}"));
    assert!(out.contains("no row has the target value `yes`"), "{out}");
    // A stream tells what it has seen at its end.
    let text = format!("{HEADER}{}{}", "0.5,1,x,1,0\n".repeat(20), "\n".repeat(20));
    let stream = format!("learn - --format csv {SCHEMA} {BUDGET} --seed-insecure 1 --rounds 40");
    let output = folder.piped(&stream, text.as_bytes());
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("20 of 40 rounds are empty"), "{error}");
    assert!(error.contains("all targets are alike"), "{error}");
    // And everything that a check of the file would have told.
    let stream = learn.replace("d.csv", "- --format csv --rounds 60");
    let output = folder.piped(&format!("{stream} --json"), folder.text("d.csv").as_bytes());
    let seen: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(seen["warnings"], told["warnings"]);
    let output = folder.piped(
        &stream.replace("c=x|y|z", "c=x|y|no"),
        folder.text("d.csv").as_bytes(),
    );
    let error = String::from_utf8(output.stderr).unwrap();
    for part in [
        "no row has the target value `yes`",
        "column `b`: no value lies within its bounds, 60 are",
        "column `c`: no row has the stated value `no`",
        "rows have a value that is not stated",
    ] {
        assert!(error.contains(part), "{error}");
    }
    // A stream with more rows than were planned tells of those that were learned.
    let output = folder.piped(
        &stream.replace("--rounds 60", "--rounds 20"),
        folder.text("d.csv").as_bytes(),
    );
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("bounds, 20 are clipped"), "{error}");
}

/// Metrics are of clipped targets, so the operator is told how many there are.
#[test]
fn targets_outside_their_bounds_are_counted() {
    let folder = Folder::new();
    let text = format!("a,b\n{}0,5\n1,-3\n", "0.5,0.5\n".repeat(30));
    folder.write("d.csv", &text);
    let flags = "--target b --target-bounds 0:1 --bounds a=0:1 --seed-insecure 1";
    let learn = format!("learn d.csv {flags} {BUDGET}");
    let stream = learn.replace("d.csv", "- --format csv --rounds 32");
    for output in [folder.run(&learn), folder.piped(&stream, text.as_bytes())] {
        let error = String::from_utf8(output.stderr).unwrap();
        for part in [
            "operator only: targets outside their bounds: 2, clipped to them; metrics",
            "\n  targets outside their bounds: 2, clipped to them\n",
        ] {
            assert!(error.contains(part), "{error}");
        }
    }
    let told = folder.json(&learn);
    assert_eq!(told["targets_clipped"], 2);
    assert!(
        told["operator_only"]
            .to_string()
            .contains("targets_clipped")
    );
    let (out, _) = folder.succeeds(&format!(
        "check d.csv {}",
        flags.replace("--seed-insecure 1", "")
    ));
    assert!(out.contains("targets outside their bounds: 2"), "{out}");
}

/// A remedy is told once, however many rows need it.
#[test]
fn a_refusal_says_everything_once() {
    let folder = Folder::new();
    folder.write("d.csv", rows(20, 1) + &"0.5,1,x,1,\n".repeat(5));
    let message = folder.fails(&format!("learn d.csv {SCHEMA} {BUDGET}"));
    assert_eq!(
        message.matches("--missing-target null").count(),
        1,
        "{message}"
    );
    assert!(
        message.contains("the same in line 23; the same in line 24; and 2 more"),
        "{message}"
    );
}

#[test]
fn quoted_line_breaks_are_for_checked_files() {
    let folder = Folder::new();
    let text = format!("{}0.5,1,\"x\ny\",1,0\n", rows(60, 1));
    folder.write("d.csv", &text);
    let learn = format!("{SCHEMA} {BUDGET} --seed-insecure 1 --passes 1");
    let message = folder.fails(&format!("learn d.csv {learn}"));
    assert!(
        message.contains("line 62, column 7: a quote is opened"),
        "{message}"
    );
    assert!(message.contains("--multiline"), "{message}");
    let told = folder.json(&format!("learn d.csv {learn} --multiline"));
    assert_eq!(
        (&told["rounds"], &told["malformed"]),
        (&61.into(), &0.into())
    );
    let (out, _) = folder.succeeds(&format!("check d.csv {SCHEMA} --multiline"));
    assert!(out.contains("61 rows, 0 malformed"), "{out}");
    // One quote would hide all records after it, so it is refused even where faults are not.
    folder.write("d.csv", text.replace("\ny\"", "\ny"));
    let empty = format!("learn d.csv {learn} --multiline --malformed empty --ledger ledger");
    let message = folder.fails(&empty);
    assert!(message.contains("a quote is opened"), "{message}");
    assert!(!folder.names().contains(&"ledger".to_owned()));
    for (arguments, part) in [
        (
            format!("learn - --format csv {learn} --rounds 9 --multiline"),
            "for files",
        ),
        (
            format!("learn - --format csv {learn} --rounds 9 --malformed refuse"),
            "for files",
        ),
        (
            format!("learn d.csv --format jsonl {learn} --multiline"),
            "for csv and tsv",
        ),
    ] {
        let message = folder.fails(&arguments);
        assert!(message.contains(part), "{message}");
    }
}

/// What a checked file supposes about a replaced record is part of the guarantee; a run that takes
/// any row supposes nothing.
#[test]
fn the_guarantee_says_which_records_it_is_about() {
    let folder = Folder::with_rows(60);
    let learn = format!("learn d.csv {SCHEMA} {BUDGET} --seed-insecure 1 --model model --passes 1");
    let (out, _) = folder.succeeds(&learn);
    let words = "a record is replaced by any that `hushstream check` accepts or by an empty one";
    assert!(out.contains(words), "{out}");
    assert!(folder.text("model").contains(words));
    let (out, _) = folder.succeeds(&format!("{learn} --malformed empty"));
    assert!(!out.contains("hushstream check"), "{out}");
    assert!(!folder.text("model").contains("hushstream check"));
    // A run that began checked stays so, however it goes on.
    let kept = "--rounds 60 --state state --ledger ledger";
    folder.write("d.csv", rows(30, 1));
    folder.succeeds(&format!("{learn} {kept}"));
    folder.write("d.csv", rows(60, 1));
    let (out, _) = folder.succeeds(&format!("{learn} {kept} --resume --malformed empty"));
    assert!(out.contains(words), "{out}");
}
