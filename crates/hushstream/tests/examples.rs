//! Every example runs (`cargo test` builds the examples beside the tests), and comments fit a page.

use std::path::Path;
use std::process::Command;

#[test]
fn every_example_runs() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let test = std::env::current_exe().unwrap();
    let built = test.ancestors().nth(2).unwrap().join("examples");
    let mut count = 0;
    for entry in std::fs::read_dir(source).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.lines().count() <= 60, "{} is too long", path.display());
        let name = path.file_stem().unwrap();
        let done = Command::new(built.join(name)).output().unwrap();
        let told = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{}: {told}", name.display());
        assert!(!done.stdout.is_empty(), "{}", name.display());
        count += 1;
    }
    assert!(count >= 8, "{count}");
}

/// Rows of tables cannot be broken, and neither can code that a comment quotes.
#[test]
fn comments_have_at_most_100_columns() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders: Vec<_> = ["crates", "lab", "benches", "fuzz"]
        .map(|name| root.join(name))
        .into();
    let mut lines = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if path.extension().is_none_or(|ending| ending != "rs") {
                continue;
            }
            for line in std::fs::read_to_string(&path).unwrap().lines() {
                let text = line.trim_start();
                let quoted = ["//! |", "/// |", "//! //", "/// //"];
                let is_prose =
                    text.starts_with("//") && !quoted.iter().any(|q| text.starts_with(q));
                let length = line.chars().count();
                assert!(!is_prose || length <= 100, "{}: {line}", path.display());
                lines += usize::from(is_prose);
            }
        }
    }
    assert!(lines > 10_000, "{lines}");
}
