//! Memory does not grow with the number of rows.

use crate::common::{BUDGET, Dice, Example, Folder, HEADER, SCHEMA};
use std::fmt::Write as _;
use std::io::Write;
use std::process::Stdio;

/// Peak memory of learning from so many rows on standard input, which are made as they are read.
fn peak(rows: u64, flags: &str) -> f64 {
    let folder = Folder::new();
    let flags = format!(
        "learn - --format csv {SCHEMA} {BUDGET} --rounds {rows} --ledger ledger {flags} --json"
    );
    let mut command = folder.command(&flags);
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = pipes.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        let mut dice = Dice(1);
        let lines: Vec<String> = (0..1000).map(|_| Example::draw(&mut dice).line()).collect();
        pipe.write_all(HEADER.as_bytes()).unwrap();
        let mut block = String::new();
        for row in 0..rows {
            let _ = block.write_str(&lines[dice.below(1000) as usize]);
            if block.len() > 1 << 16 || row + 1 == rows {
                pipe.write_all(block.as_bytes()).unwrap();
                block.clear();
            }
        }
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["rounds"], rows);
    told["peak_memory_bytes"].as_u64().unwrap() as f64
}

#[cfg(target_os = "linux")]
#[test]
fn ten_times_the_rows_need_no_more_memory() {
    let most = if cfg!(feature = "long") {
        10_000_000
    } else {
        1_000_000
    };
    for flags in [
        "--recipe pqftl",
        "--recipe pqftl --state state --batch 10 --releases releases",
        "--tables 0 --passes 1 --batch 1000",
    ] {
        let few = peak(100_000, flags);
        let many = peak(most, flags);
        assert!(many < 1.1 * few, "{few} bytes, then {many}: {flags}");
    }
}
