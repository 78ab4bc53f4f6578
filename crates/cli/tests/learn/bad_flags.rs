//! Flags that are wrong or do not go together: refused with what is allowed, before anything is
//! spent or written.

use crate::common::{Folder, SCHEMA};

/// Each refused with words that help, leaving nothing but the data.
fn refused(cases: &[(&str, &str)]) {
    let folder = Folder::with_rows(200);
    for (flags, told) in cases {
        let message = folder.fails(&format!("learn d.csv {SCHEMA} {flags}"));
        assert!(message.contains(told), "{flags}\n{message}");
        assert_eq!(folder.names(), ["d.csv"], "{flags}");
    }
}

#[test]
fn numbers_out_of_range() {
    refused(&[
        ("--epsilon 0 --delta 1e-6", "epsilon"),
        ("--epsilon=-1 --delta 1e-6", "epsilon"),
        ("--epsilon nan", "finite number"),
        ("--epsilon inf", "finite number"),
        ("--epsilon one", "finite number"),
        ("--epsilon 1 --delta 1", "delta"),
        ("--epsilon 1 --delta=-1e-6", "delta"),
        ("--epsilon 1 --delta 1e-6 --batch 0", "batch"),
        ("--epsilon 1 --delta 1e-6 --batch 1.5", "whole number"),
        ("--epsilon 1 --delta 1e-6 --rounds 0", "rounds"),
        ("--epsilon 1 --delta 1e-6 --rounds 1", "rounds"),
        ("--epsilon 1 --delta 1e-6 --batch 1000", "rounds"),
        (
            "--epsilon 1 --delta 1e-6 --radius 0 --recipe pftal-convex",
            "radius",
        ),
        (
            "--epsilon 1 --delta 1e-6 --radius=-1 --recipe pftal-convex",
            "radius",
        ),
        ("--epsilon 1 --delta 1e-6 --norm 0", "norm"),
        ("--epsilon 1 --delta 1e-6 --ridge=-1", "ridge"),
        (
            "--epsilon 1 --delta 1e-6 --recipe pftal-convex --strong-convexity 0",
            "curvature",
        ),
        (
            "--epsilon 1 --delta 1e-6 --person who --max-per-person 0",
            "per person",
        ),
        (
            "--epsilon 1 --delta 1e-6 --total-epsilon 0.5",
            "does not fit",
        ),
        ("--epsilon 1 --delta 1e-6 --total-epsilon 0", "epsilon"),
        ("--epsilon 1 --delta 1e-6 --bounds a", "bounds"),
        ("--epsilon 1 --delta 1e-6 --bounds d=2:1", "bounds"),
        ("--epsilon 1 --delta 1e-6 --target-bounds 5", "low:high"),
    ]);
}

#[test]
fn names_that_nothing_has() {
    refused(&[
        ("--epsilon 1 --recipe magic", "pftal-convex"),
        ("--epsilon 1 --delta 1e-6 --sum magic", "honaker"),
        ("--epsilon 1 --delta 1e-6 --noise magic", "gaussian"),
        ("--epsilon 1 --delta 1e-6 --loss magic", "logistic, squared"),
        (
            "--epsilon 1 --delta 1e-6 --recipe pftal-convex --set magic",
            "ball, box, simplex",
        ),
        ("--epsilon 1 --delta 1e-6 --task magic", "experts"),
        (
            "--epsilon 1 --delta 1e-6 --format magic",
            "csv, tsv, jsonl, vw, libsvm",
        ),
        ("--epsilon 1 --delta 1e-6 --horizon magic", "unknown"),
        ("--epsilon 1 --delta 1e-6 --magic", "--magic"),
        ("", "--epsilon"),
    ]);
}

#[test]
fn wishes_that_do_not_go_together() {
    refused(&[
        ("--epsilon 1 --recipe ftpl", "ftpl"),
        ("--epsilon 1 --recipe pftal-convex --sum blt", "blt"),
        ("--epsilon 1 --sum blt --noise laplace", "blt"),
        (
            "--epsilon 1 --delta 1e-6 --recipe pftal-convex --ridge 1",
            "ridge",
        ),
        (
            "--epsilon 1 --delta 1e-6 --recipe pqftl --loss logistic",
            "pqftl",
        ),
        ("--epsilon 1 --delta 1e-6 --recipe coco-l", "window"),
        ("--epsilon 1 --delta 1e-6 --recipe ftrl", "ftrl"),
        ("--epsilon 1 --delta 1e-6 --recipe pftal", "strongly convex"),
        (
            "--epsilon 1 --delta 1e-6 --recipe pigd --ridge 1",
            "no use for a ridge",
        ),
        (
            "--epsilon 1 --delta 1e-6 --recipe pigd --horizon unknown",
            "needs a known horizon",
        ),
        (
            "--epsilon 1 --delta 1e-6 --sum tree --horizon unknown",
            "needs a known horizon",
        ),
        ("--epsilon 1 --delta 1e-6 --person who", "--max-per-person"),
        ("--epsilon 1 --delta 1e-6 --resume", "--state"),
        ("--epsilon 1 --delta 1e-6 --quiet --report r", "--report"),
        ("--epsilon 1 --delta 1e-6 --task experts", "same bounds"),
        ("--epsilon 1 --delta 1e-6 --task regress", "--target-bounds"),
        (
            "--epsilon 1 --delta 1e-6 --positive 1 --classes 0,1",
            "positive",
        ),
    ]);
}

#[test]
fn who_is_protected_is_never_dropped_in_silence() {
    let folder = Folder::with_rows(200);
    let persons = "--person who --max-per-person 2 --epsilon 1 --delta 1e-6";
    let experts =
        format!("learn d.csv --task experts --features a,y --bounds a=0:1,y=0:1 {persons}");
    let sparse = format!("learn d.csv --target y --hash-bits 14 {persons} --recipe sparse-ftrl");
    assert!(folder.fails(&sparse).contains("protects records"));
    // What does run says persons.
    for flags in [
        format!("{experts} --recipe dartboard"),
        format!("{experts} --recipe hedge-batched --batch 4"),
        format!("{experts} --recipe limited-updates"),
        format!("{experts} --recipe dartboard --horizon unknown"),
        experts.replace("experts", "bandit"),
        experts,
        format!("learn d.csv {SCHEMA} {persons}"),
        format!("learn d.csv {SCHEMA} {persons} --recipe pigd"),
        format!("learn d.csv {SCHEMA} {persons} --recipe limited-updates"),
        format!("learn d.csv {SCHEMA} {persons} --recipe pftal-bandit"),
    ] {
        let (out, _) = folder.succeeds(&format!("{flags} --seed-insecure 1"));
        assert!(out.contains("of one person"), "{flags}\n{out}");
    }
}

#[test]
fn streams_must_say_how_long_they_are_and_where_their_budget_is() {
    let folder = Folder::new();
    let flags = format!("learn - --format csv {SCHEMA} --epsilon 1 --delta 1e-6");
    let data = crate::common::rows(50, 1);
    let run = |flags: &str| {
        use std::io::Write;
        use std::process::Stdio;
        let mut command = folder.command(flags);
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = pipes.stderr(Stdio::piped()).spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(data.as_bytes());
        let output = child.wait_with_output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, message) = run(&flags);
    assert!(
        code == Some(2) && message.contains("state --rounds N"),
        "{message}"
    );
    let (code, message) = run(&format!("{flags} --rounds 50"));
    assert!(
        code == Some(2) && message.contains("--ledger FILE"),
        "{message}"
    );
    assert!(folder.names().is_empty());
    let (code, message) = run(&format!("{flags} --rounds 50 --ledger ledger"));
    assert_eq!(code, Some(0), "{message}");
    // A shuffled stream is read to its end first, so its length is known.
    let (code, message) = run(&format!("{flags} --shuffle 3 --ledger other"));
    assert_eq!(code, Some(0), "{message}");
}
