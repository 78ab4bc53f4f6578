//! What libFuzzer found worth keeping, once more: every input is taken or refused as it must be.

use hushstream_fuzz::{TARGETS, Target};

fn again(target: &Target) -> Result<(), String> {
    let kept = target.kept().map_err(|error| error.to_string())?;
    let seeds = target.seeds();
    for input in kept.iter().chain(&seeds) {
        let complaint = |told| format!("{}: {told}\n{}", target.name, input.escape_ascii());
        target.check(input).map_err(complaint)?;
    }
    Ok(())
}

#[test]
fn kept_inputs_break_nothing() {
    for target in TARGETS {
        if let Err(complaint) = again(&target) {
            panic!("{complaint}");
        }
    }
}
