//! libFuzzer on the target that `HUSHSTREAM_FUZZ` names.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

static TARGET: OnceLock<hushstream_fuzz::Target> = OnceLock::new();

fuzz_target!(
    init: {
        let name = std::env::var("HUSHSTREAM_FUZZ").unwrap_or_default();
        let target = hushstream_fuzz::target(&name).expect("HUSHSTREAM_FUZZ names a target");
        let _ = TARGET.set(target);
    },
    |bytes: &[u8]| {
        if let Some(target) = TARGET.get()
            && let Err(complaint) = target.check(bytes)
        {
            panic!("{complaint}");
        }
    }
);
