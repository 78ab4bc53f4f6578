//! Recipes on perturbed iterates and their figures, as a person or a script meets them.

#![allow(clippy::unwrap_used)] // a test may stop where it fails

use std::fmt::Write as _;
use std::process::{Command, Output};

fn hushstream(arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hushstream"))
        .args(arguments.split_whitespace())
        .output()
        .unwrap()
}

fn told(output: &Output) -> String {
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    format!("{out}{err}")
}

#[test]
fn recipes_are_listed_and_compared() {
    let text = told(&hushstream("recipes --bounds"));
    for recipe in [
        "pigd",
        "pigd-convex",
        "pgiga",
        "pocp",
        "pocp-anytime",
        "pol",
    ] {
        assert!(text.contains(&format!("{recipe}  (")), "{recipe}");
    }
    assert!(text.contains("perturbed iterates"));
    let output = hushstream(
        "compare --recipes pigd,pgiga,pocp-anytime --task mean --rounds 2000 --repeats 1 --json",
    );
    assert!(output.status.success(), "{}", told(&output));
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 3);
    assert_eq!(rows[0]["sum"], "iterates");
    for (arguments, words) in [
        ("compare --recipes pol --task mean", "one model"),
        (
            "compare --recipes pigd --task mean --sum tree",
            "does not stand on sums",
        ),
        ("compare --recipes pigd --task mean --batch 4", "no batches"),
        ("compare --recipes pigd --task classify", "pigd-convex"),
        ("compare --figure jkt2c", "--data"),
        ("compare --figure jkt2b --data x.csv", "cannot open"),
        ("compare --figure jkt2a --data x.csv", "jkt2c"),
        ("compare --figure jkt2c --as-printed", "--public-data"),
        (
            "compare --figure jkt2c --data /nonexistent.csv",
            "cannot open",
        ),
    ] {
        let output = hushstream(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert!(
            told(&output).contains(words),
            "{arguments}: {}",
            told(&output)
        );
    }
}

/// A small table of CoverType's form.
fn cover(records: u64) -> String {
    let mut text = String::from("header\n");
    for t in 0..records {
        let steep = t * 37 % 66;
        let _ = write!(
            text,
            "{},{},{steep},0,0,0,0,0,0,0,",
            1900 + t * 53 % 1900,
            t % 360
        );
        for (count, one) in [(4, t % 4), (40, t % 40)] {
            (0..count).for_each(|place| {
                let _ = write!(text, "{},", u8::from(place == one));
            });
        }
        let _ = writeln!(text, "{}", if steep > 33 { 2 } else { 1 });
    }
    text
}

#[test]
fn figures_are_played_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    std::fs::write(path("cover.csv"), cover(2000)).unwrap();
    let output = hushstream(&format!(
        "compare --figure jkt2c --data {} --as-printed --public-data --repeats 1 --csv {} --svg {}",
        path("cover.csv"),
        path("f.csv"),
        path("f.svg")
    ));
    let text = told(&output);
    assert!(output.status.success(), "{text}");
    assert!(
        text.contains("UNSOUND") && text.contains("held-out"),
        "{text}"
    );
    let lines = std::fs::read_to_string(path("f.csv")).unwrap();
    assert_eq!(lines.lines().count(), 1 + 6 * 7);
    assert!(
        !std::fs::read_to_string(path("f.svg"))
            .unwrap()
            .contains("NaN")
    );
    std::fs::write(path("cover.csv"), cover(40).replace("1900,0,", "1900,x,")).unwrap();
    let bad = hushstream(&format!(
        "compare --figure jkt2c --data {}",
        path("cover.csv")
    ));
    assert!(told(&bad).contains("line 2"), "{}", told(&bad));

    let output = hushstream("compare --figure jkt2b --rounds 2000 --repeats 1");
    let text = told(&output);
    assert!(
        output.status.success() && text.contains("synthetic"),
        "{text}"
    );
    assert!(!text.contains("UNSOUND"), "{text}");
}
