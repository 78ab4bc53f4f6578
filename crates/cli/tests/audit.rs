//! The `audit` command from outside: its table, its JSON keys, its page, its refusals.
#![allow(clippy::unwrap_used)]

use std::process::{Command, Output};

fn audit(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hushstream"))
        .arg("audit")
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn json_has_its_stable_keys_and_no_claim_is_refuted() {
    let output = audit(&["ftrl", "--noise", "laplace", "--time", "0.2s", "--json"]);
    assert!(output.status.success(), "{output:?}");
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let row = &rows[0];
    for key in [
        "recipe",
        "sum",
        "noise",
        "claimed",
        "lower_bound",
        "runs",
        "share",
        "attack",
        "seconds",
        "violated",
    ] {
        assert!(!row[key].is_null(), "{key} in {row}");
    }
    for key in ["epsilon", "mu", "confidence"] {
        assert!(row["lower_bound"][key].is_number(), "{key}");
    }
    assert_eq!(row["recipe"], "ftrl");
    assert_eq!(row["violated"], false);
    assert!(row["lower_bound"]["epsilon"].as_f64() <= row["claimed"]["epsilon"].as_f64());
}

/// Iterates have no sum to name, and a tree that is read sparsely has none to choose.
#[test]
fn recipes_without_a_sum_are_audited_too() {
    for recipe in ["pigd", "sparse-ftrl"] {
        let output = audit(&[recipe, "--rounds", "3", "--time", "0.2s", "--json"]);
        assert!(output.status.success(), "{output:?}");
        let rows: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(rows[0]["sum"].is_null() && rows[0]["noise"] == "Gaussian");
        assert_eq!(rows[0]["violated"], false);
    }
}

#[test]
fn a_page_holds_the_table_and_the_picture() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("audit.html");
    let arguments = [
        "pftal",
        "--delta",
        "0",
        "--time",
        "0.2s",
        "--html",
        page.to_str().unwrap(),
    ];
    let output = audit(&arguments);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("nothing here protects anybody") && text.contains("ε ≥"));
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("<svg") && page.contains("<polygon") && !page.contains("NaN"));
}

/// A row ends when its share is proved, and other auditors get the scores of its proving runs.
#[test]
fn a_row_ends_when_enough_is_proved() {
    let folder = tempfile::tempdir().unwrap();
    let scores = folder.path().join("scores");
    let arguments = [
        "pftal-convex",
        "--time",
        "3s",
        "--share",
        "0.5",
        "--scores",
        scores.to_str().unwrap(),
        "--json",
    ];
    let output = audit(&arguments);
    assert!(output.status.success(), "{output:?}");
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let share = rows[0]["share"].as_f64().unwrap();
    assert!((0.5..1.0).contains(&share), "{share}");
    let text = std::fs::read_to_string(scores.join("1.csv")).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("left,right"));
    let pairs: Vec<Vec<f64>> = lines
        .map(|line| {
            line.split(',')
                .map(|score| score.parse().unwrap())
                .collect()
        })
        .collect();
    let mean = |side: usize| pairs.iter().map(|pair| pair[side]).sum::<f64>() / pairs.len() as f64;
    assert!(pairs.len() >= 128 && mean(0) < mean(1), "{}", pairs.len());
}

#[test]
fn refusals_say_what_is_allowed() {
    for (arguments, needle) in [
        (vec!["nonesuch"], "there are: pftal"),
        (vec!["pftal", "--sum", "kary"], "kary"),
        (vec!["pftal", "--rounds", "1"], "rounds"),
        (vec!["pigd", "--sum", "tree"], "does not stand on sums"),
        (vec!["pigd", "--noise", "laplace"], "close in L2"),
        (vec!["sparse-ftrl", "--delta", "0"], "delta > 0"),
        (vec!["pftal", "--confidence", "1"], "confidence"),
        (vec!["pftal", "--time", "soon"], "60s"),
        (vec![], "required"),
    ] {
        let output = audit(&arguments);
        assert!(!output.status.success(), "{arguments:?}");
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.contains(needle), "{arguments:?}: {message}");
    }
}
