//! Other people's implementations in Python, run as they are installed.

use std::process::Command;

/// What a peer script prints: nanoseconds a unit, measured in its own process (so the start of the interpreter does not
/// count). `None` if it does not run here.
pub(crate) fn nanoseconds(python: &str, script: &str, arguments: &[&str]) -> Option<f64> {
    let path = format!("{}/peers/{script}", env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(python)
        .arg(path)
        .args(arguments)
        .output()
        .ok()?;
    if !output.status.success() {
        return None;
    }
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .last()?
        .trim()
        .parse()
        .ok()
}
