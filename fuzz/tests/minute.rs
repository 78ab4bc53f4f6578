//! The fuzzer for a minute from its first seed. As a test of the workspace it needs no build of
//! its own.

use std::process::Command;

#[test]
fn a_minute_of_broken_input_breaks_nothing() {
    let status = Command::new(env!("CARGO_BIN_EXE_hushstream-fuzz"))
        .args(["--seconds", "60"])
        .status()
        .expect("the fuzzer starts");
    assert!(status.success(), "{status}");
}
