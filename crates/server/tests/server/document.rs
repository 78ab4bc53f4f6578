//! The committed document is the one that is served.

use hushstream_server::api::document;

#[test]
fn the_committed_document_is_the_one_that_is_served() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");
    let now = format!("{}\n", serde_json::to_string_pretty(&document()).unwrap());
    if std::env::var_os("HUSHSTREAM_WRITE").is_some() {
        std::fs::write(path, &now).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == now,
        "openapi.json differs: run this test with HUSHSTREAM_WRITE=1 and commit the file"
    );
}
