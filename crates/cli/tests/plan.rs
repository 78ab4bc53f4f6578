//! `hushstream plan` as a person or a script meets it.

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

fn close(value: &serde_json::Value, expected: f64, tolerance: f64) {
    let value = value.as_f64().unwrap();
    assert!(
        (value - expected).abs() < tolerance,
        "{value} instead of {expected}"
    );
}

#[test]
fn keys_are_stable() {
    let plan = json("plan --rounds 1e6 --dim 54 --epsilon 1 --delta 1e-6 --sum tree --json");
    let keys: Vec<&str> = plan
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let mut expected = vec![
        "recipe",
        "sum",
        "noise",
        "mu",
        "releases",
        "levels",
        "node_sigma",
        "prefix_sd_max",
        "state_vectors",
        "memory_bytes",
        "ns_per_round",
        "regret_bound",
        "parameters",
        "guarantee",
    ];
    expected.sort_unstable();
    assert_eq!(keys, expected);
    assert_eq!(plan["releases"], 999_999);
    assert_eq!(plan["levels"], 20);
    assert!(plan["recipe"].is_null() && plan["regret_bound"].is_null());
    close(&plan["mu"], 0.236_704, 1e-6);
    // σ = 2·√20/μ, and a worst sum of 19 noises.
    close(&plan["node_sigma"], 37.786, 2e-3);
    close(&plan["prefix_sd_max"], 37.786 * 19_f64.sqrt(), 1e-2);
    close(&plan["guarantee"]["epsilon"], 1.0, 1e-12);
    assert!(plan["guarantee"]["delta"].as_f64().unwrap() <= 1e-6);
    assert_eq!(plan["guarantee"]["adjacency"], "replace-one");
    assert_eq!(plan["guarantee"]["simulated"], false);
}

#[test]
fn all_sums_stand_side_by_side_and_the_best_is_chosen() {
    let request = "plan --releases 1048576 --dim 2 --epsilon 1 --delta 1e-6 --json --sum";
    let all = json(&format!("{request} all"));
    let sums: Vec<&str> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["sum"].as_str().unwrap())
        .collect();
    assert_eq!(
        sums,
        ["tree", "tree-padded", "honaker", "smooth", "blt", "octave"]
    );
    // The worst error in units of Δ/μ, Δ = 2.
    let units = |sum: &str| {
        let row = all
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["sum"] == sum)
            .unwrap();
        row["prefix_sd_max"].as_f64().unwrap() * row["mu"].as_f64().unwrap() / 2.0
    };
    for (sum, expected) in [
        ("tree", 20.49),
        ("honaker", 15.06),
        ("smooth", 11.40),
        ("blt", 5.565),
    ] {
        assert!(
            (units(sum) - expected).abs() < 0.006,
            "{sum}: {}",
            units(sum)
        );
    }
    assert_eq!(json(&format!("{request} best"))["sum"], "blt");
}

#[test]
fn pure_privacy_needs_no_delta() {
    let plan = json(
        "plan --releases 1048576 --epsilon 1 --sum kary --noise laplace --adjacency zero-out --json",
    );
    assert!(plan["mu"].is_null());
    assert_eq!(plan["guarantee"]["delta"], 0.0);
    let worst = plan["prefix_sd_max"].as_f64().unwrap();
    assert!((46.8..=47.4).contains(&worst), "{worst}");
}

#[test]
fn the_table_ends_with_the_guarantee() {
    let output = hushstream("plan --releases 1000 --dim 3 --epsilon 1 --delta 1e-6");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("μ = 0.236704"), "{text}");
    assert!(
        text.contains("changes by at most a factor of e^1.00 plus 1e-6."),
        "{text}"
    );
}

#[test]
fn a_window_says_what_it_does_not_promise() {
    let output =
        hushstream("plan --releases 1000 --epsilon 1 --delta 1e-6 --sum window --window 50");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("does not protect the whole transcript"),
        "{text}"
    );
}

#[test]
fn a_picture_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("error.svg");
    let arguments = format!(
        "plan --releases 1e4 --epsilon 1 --delta 1e-6 --sum all --svg {}",
        path.display()
    );
    assert!(hushstream(&arguments).status.success());
    let svg = std::fs::read_to_string(path).unwrap();
    assert_eq!(svg.matches("<polyline").count(), 6);
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}

#[test]
fn bad_requests_end_with_code_two_and_what_is_allowed() {
    for (arguments, words) in [
        ("plan --epsilon 1 --delta 1e-6", "--releases"),
        (
            "plan --releases 10 --epsilon 0 --delta 1e-6",
            "epsilon = 0 is not allowed",
        ),
        (
            "plan --releases 10 --epsilon nan --delta 1e-6",
            "finite number",
        ),
        (
            "plan --releases 10 --epsilon 1 --delta 1",
            "delta = 1 is not allowed",
        ),
        ("plan --releases 10 --epsilon 1 --delta -0.1", "delta"),
        (
            "plan --releases 1.5 --epsilon 1 --delta 1e-6",
            "whole number",
        ),
        (
            "plan --releases 0 --epsilon 1 --delta 1e-6 --sum tree",
            "releases = 0 is not allowed",
        ),
        ("plan --rounds 1 --epsilon 1 --delta 1e-6", "at least 2"),
        (
            "plan --releases 10 --epsilon 1 --sum blt",
            "cannot carry L2-Laplace noise",
        ),
        (
            "plan --releases 10 --epsilon 1 --delta 1e-6 --sum kary",
            "cannot carry Gaussian noise",
        ),
        (
            "plan --releases 10 --epsilon 1 --delta 1e-6 --sum forest",
            "no sum is called forest",
        ),
        (
            "plan --releases 10 --epsilon 1 --delta 1e-6 --sum window",
            "needs --window",
        ),
        (
            "plan --releases 10 --epsilon 1 --delta 1e-6 --bound 0 --sum tree",
            "a positive finite number",
        ),
        (
            "plan --releases 10 --epsilon 1 --delta 1e-6 --svg /nowhere/x.svg",
            "cannot write",
        ),
    ] {
        let output = hushstream(arguments);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {message}");
        assert!(message.contains(words), "{arguments}: {message}");
    }
}
