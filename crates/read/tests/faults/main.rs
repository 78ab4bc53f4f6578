//! Every fault: its place, its words, and that no message holds what a field held. Fields that
//! could leak carry a marker.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
mod files;
mod rows;
mod stated;

use common::refused;
use hushstream_read::Format;

pub(crate) const MARKER: &str = "zq7secret";
pub(crate) const XY: &str = "target = 'y'\nbounds = { x = [0, 1] }";

/// Schema, text, and the whole message.
pub(crate) fn check(format: Format, stated: &str, text: &str, message: &str) {
    let given = refused(format, stated, text.as_bytes()).to_string();
    assert!(
        given.starts_with(message),
        "{text:?}\n given {given}\n expected {message}"
    );
    assert!(!given.contains('\n') && !given.contains(MARKER), "{given}");
}
