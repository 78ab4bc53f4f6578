//! Other people's implementations in Python, run as they are installed.

use std::process::Command;

/// Nanoseconds a sample of OpenDP's exact discrete Gaussian at scale 2³⁰, as its own process measures them (so the
/// start of the interpreter does not count). `None` if it is not installed.
pub(crate) fn opendp_gaussian(python: &str) -> Option<f64> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/opendp_gaussian.py");
    let output = Command::new(python).arg(script).output().ok()?;
    if !output.status.success() {
        eprintln!("{}", String::from_utf8_lossy(&output.stderr));
        return None;
    }
    String::from_utf8_lossy(&output.stdout).trim().parse().ok()
}
