//! `hushstream plan --recipe sparse-ftrl`: what `learn` would do, and what it costs.

#![allow(clippy::unwrap_used)] // a test may stop where it fails

use std::process::{Command, Output};

const PLAN: &str =
    "plan --recipe sparse-ftrl --rounds 2000 --dim 4097 --norm 2 --epsilon 1 --delta 1e-6";

fn hushstream(arguments: &str, folder: &std::path::Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hushstream"))
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .output()
        .unwrap()
}

fn json(arguments: &str, folder: &std::path::Path) -> serde_json::Value {
    let output = hushstream(arguments, folder);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// An intercept makes records longer, so --norm here is √(2² − 1).
#[test]
fn it_promises_what_a_run_promises() {
    let folder = tempfile::tempdir().unwrap();
    let text = "1 | 3 17 900\n-1 | 4 17\n".repeat(1000);
    std::fs::write(folder.path().join("d.vw"), text).unwrap();
    let plan = json(&format!("{PLAN} --json"), folder.path());
    let run = json(
        "learn d.vw --recipe sparse-ftrl --hash-bits 12 --norm 1.7320508075688772 --epsilon 1 \
         --delta 1e-6 --ledger l --json",
        folder.path(),
    );
    for key in [
        "epsilon",
        "delta",
        "mu",
        "adjacency",
        "rounds",
        "releases",
        "sum",
        "levels",
        "sigma",
        "errata",
        "citation",
    ] {
        assert_eq!(plan["guarantee"][key], run["guarantee"][key], "{key}");
    }
    let (planned, made) = (&plan["parameters"], &run["parameters"]);
    for key in ["learning_rate", "rows_until_signal"] {
        let [a, b] = [planned, made].map(|told| told[key].as_f64().unwrap());
        assert!((a / b - 1.0).abs() < 1e-9, "{key}: {a} {b}");
    }
    // One vector of sums and two caches, whatever the number of rounds.
    assert_eq!(plan["state_vectors"], 1);
    let memory = plan["memory_bytes"].as_u64().unwrap();
    let longer = json(
        &format!("{PLAN} --json").replace("2000", "2000000"),
        folder.path(),
    );
    assert_eq!(longer["memory_bytes"].as_u64().unwrap(), memory);
    assert!((8 * 4097..8 * 4097 + (2 << 20)).contains(&memory));
    let words = hushstream(PLAN, folder.path());
    let words = String::from_utf8(words.stdout).unwrap();
    assert!(words.contains("stands out") && words.contains("regret of 2,000 rounds at most"));
}

#[test]
fn what_it_does_not_do_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (flags, reason) in [
        ("--sum blt", "its own tree"),
        ("--batch 3", "releases every row"),
        ("--max-per-person 2", "protects records"),
        ("--set ball", "no use for a set"),
        ("--lipschitz 1", "state --norm"),
        ("--learning-rate 0", "positive"),
    ] {
        let output = hushstream(&format!("{PLAN} {flags}"), folder.path());
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && told.contains(reason), "{told}");
    }
    let pure = PLAN.replace("--delta 1e-6", "");
    let output = hushstream(&pure, folder.path());
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("delta > 0"), "{told}");
}
