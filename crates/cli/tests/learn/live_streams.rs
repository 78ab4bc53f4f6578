//! A stream that pauses: what was learned leaves all the same.

use crate::common::{BUDGET, Folder, SCHEMA, rows};
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Far longer than any sync takes: who waits for it waits in vain.
const FOREVER: Duration = Duration::from_secs(120);

/// Feeds bursts of rows to a run and waits after each until a release for every row so far has
/// left, though the stream is still open.
fn every_burst_leaves(bursts: &[usize], flags: &str) {
    let folder = Folder::new();
    let text = rows(1000, 1);
    let mut lines = text.lines();
    let mut command = folder.command(&format!(
        "learn - --format csv {SCHEMA} {BUDGET} --recipe pftal-convex --batch 1 --rounds 1000 \
         --ledger ledger --releases releases --quiet {flags}"
    ));
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    writeln!(pipe, "{}", lines.next().unwrap()).unwrap();
    let mut written = 0;
    for &burst in bursts {
        let block: String = lines
            .by_ref()
            .take(burst)
            .flat_map(|row| [row, "\n"])
            .collect();
        pipe.write_all(block.as_bytes()).unwrap();
        written += burst;
        let start = Instant::now();
        loop {
            let left = std::fs::read_to_string(folder.path("releases")).unwrap_or_default();
            let count = left.matches('\n').count();
            if count == written {
                break;
            }
            assert!(
                count < written && start.elapsed() < FOREVER,
                "{count} of {written}"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    drop(pipe);
    assert!(child.wait().unwrap().success());
}

#[test]
fn releases_of_all_rows_that_have_come_leave_without_waiting_for_the_next() {
    every_burst_leaves(&[1, 5, 207, 2, 300], "--sync-milliseconds 0");
}

#[test]
fn releases_leave_when_their_time_is_over_though_nothing_comes() {
    every_burst_leaves(&[2, 1, 130, 3], "--sync-milliseconds 100");
}
