//! Every example runs. `cargo test` builds the examples beside the tests.

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
