//! `hushstream recipes` as a person or a script meets them.

#![allow(clippy::unwrap_used)] // a test may stop where it fails

use std::process::{Command, Output};

fn hushstream(arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hushstream"))
        .args(arguments.split_whitespace())
        .output()
        .unwrap()
}

fn json(arguments: &str) -> serde_json::Value {
    let output = hushstream(arguments);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn every_recipe_is_listed_with_both_bounds() {
    let output = hushstream("recipes --bounds");
    let text = String::from_utf8(output.stdout).unwrap();
    let list = json("recipes --json");
    for recipe in [
        "pftal",
        "pftal-convex",
        "pqftl",
        "ftrl",
        "ftpl",
        "coco-p",
        "coco-l",
    ] {
        assert!(text.contains(&format!("{recipe}  (")), "{recipe}");
        assert!(
            list.as_array()
                .unwrap()
                .iter()
                .any(|entry| entry["recipe"] == recipe)
        );
    }
    assert!(text.contains("as printed") && text.contains("as corrected"));
}

#[test]
fn the_papers_tables_are_shown_as_printed_and_as_they_hold() {
    let output = hushstream("recipes --bounds");
    let text = String::from_utf8(output.stdout).unwrap();
    let all = json("recipes --bounds --json");
    assert!(all["recipes"].as_array().unwrap().len() >= 7);
    let tables = all["tables"].as_array().unwrap();
    let names: Vec<String> = tables
        .iter()
        .map(|table| {
            format!(
                "{} Table {}",
                table["paper"].as_str().unwrap(),
                table["table"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(
        names,
        [
            "ST13 Table 1",
            "ST13 Table 2",
            "AS17 Table 1",
            "AS17 Table 2",
            "AFKT22 Table 1a",
            "AFKT22 Table 1b",
            "WDP20 Table I",
        ]
    );
    assert!(names.iter().all(|name| text.contains(name)), "{text}");
    // A cell by its place: what ST13 prints for strongly convex losses needs twice the noise.
    let cell = tables[0]["cells"]
        .as_array()
        .unwrap()
        .iter()
        .find(|cell| cell["whose"] == "ST13" && cell["printed"] == "O(p log^2.5 T/eps)")
        .unwrap();
    assert_eq!(cell["errata"], serde_json::json!(["S1"]));
    assert!(cell["holds"].as_str().unwrap().contains("2L^2"));
    // Without --bounds the tables stay away.
    assert!(json("recipes --json").is_array());
}
