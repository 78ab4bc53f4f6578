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

/// A container may allow no further thread. A run that was charged must not end for that.
#[cfg(target_os = "linux")]
#[test]
fn a_run_that_gets_no_thread_learns_alone() {
    use std::os::unix::fs::{MetadataExt, chown};
    use std::os::unix::process::CommandExt;
    let flags = format!(
        "learn d.csv {SCHEMA} {BUDGET} --recipe pftal-convex --batch 1 --seed-insecure 3 \
         --releases releases"
    );
    let [one, more] = [true, false].map(|is_alone| {
        let folder = Folder::with_rows(3000);
        if !is_alone {
            folder.succeeds(&flags);
            return folder.read("releases");
        }
        // The limit does not hold for root.
        let own = std::fs::metadata(folder.path(".")).unwrap().uid();
        let other = if own == 0 { 65_534 } else { own };
        chown(folder.path("."), Some(other), None).unwrap();
        let limited = format!(
            "ulimit -u 1 || exit 9; exec \"$0\" {}",
            flags.replace('|', "\\|")
        );
        let told = Command::new("bash")
            .args(["-c", &limited, env!("CARGO_BIN_EXE_hushstream")])
            .current_dir(folder.path("."))
            .uid(other)
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&told.stderr);
        assert!(told.status.success(), "{error}");
        folder.read("releases")
    });
    assert!(!one.is_empty() && one == more);
}
