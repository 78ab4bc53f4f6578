//! One core or more: rows are read and noise is drawn in the same thread or in others, and what is
//! released is the same, bit for bit.

use crate::common::{BUDGET, Dice, Folder, SCHEMA};
use std::fmt::Write;
use std::process::{Command, Stdio};

/// Runs the program that is named behind it on a single core.
const ON_ONE_CORE: &str = "import os, sys
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.execv(sys.argv[1], sys.argv[1:])";

/// What is published by a run on one core, and by one on all there are.
fn published(file: &str, content: &str, flags: &str, names: &[&str]) -> [Vec<Vec<u8>>; 2] {
    [true, false].map(|is_alone| {
        let folder = Folder::in_memory();
        folder.write(file, content);
        let flags = format!("learn {file} {flags} {BUDGET} --seed-insecure 3");
        if is_alone {
            let status = Command::new("python3")
                .args(["-c", ON_ONE_CORE, env!("CARGO_BIN_EXE_hushstream")])
                .args(flags.split_whitespace())
                .current_dir(folder.path("."))
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            assert!(status.unwrap().success(), "{flags}");
        } else {
            folder.succeeds(&flags);
        }
        names.iter().map(|name| folder.read(name)).collect()
    })
}

#[test]
fn a_table_is_learned_alike_on_one_core_and_on_more() {
    // Rows are handed over a thousand at a time.
    let data = crate::common::rows(5000, 1);
    for sum in ["tree", "blt"] {
        let flags = format!(
            "{SCHEMA} --recipe pftal-convex --sum {sum} --batch 1 --releases releases --model model"
        );
        let [one, more] = published("d.csv", &data, &flags, &["releases", "model"]);
        assert!(one == more, "{sum}");
    }
}

#[test]
fn so_is_sparse_text() {
    let (mut dice, mut text) = (Dice(5), String::new());
    for _ in 0..5000 {
        let _ = write!(text, "{} |", if dice.below(2) == 0 { -1 } else { 1 });
        for _ in 0..dice.below(30) {
            let limit = 1 + dice.below(3000);
            let _ = write!(text, " {}", dice.below(limit));
        }
        text.push('\n');
    }
    let flags = "--recipe sparse-ftrl --hash-bits 12 --norm 6 --model model";
    let [one, more] = published("d.vw", &text, flags, &["model"]);
    assert!(one == more);
}
