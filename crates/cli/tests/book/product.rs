//! The commands of the product's tutorial run as one script against a real server.

use crate::{blocks, text};
use serde_json::{Deserializer, Value};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn the_commands_of_the_product_run() {
    let page = text("docs/tutorials/product.md");
    let folder = tempfile::tempdir().unwrap();
    // A port that was free a moment ago.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let mut script = String::from(
        "exec 2>&1\nset -eu\ntrap 'echo \"failed: $BASH_COMMAND\"' ERR\n\
         trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n",
    );
    for block in blocks(&page, "sh") {
        script.push_str(block);
        script.push('\n');
    }
    let start = format!("serve --data shop --listen {address} --no-ops");
    let script = script
        .replace("localhost:7070", &address)
        .replace("serve --data shop", &start);
    let program = Path::new(env!("CARGO_BIN_EXE_hushstream"))
        .parent()
        .unwrap();
    let path = std::env::var("PATH").unwrap();
    let output = Command::new("bash")
        .args(["-c", &script])
        .current_dir(folder.path())
        .env("PATH", format!("{}:{path}", program.display()))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}");
    // Before the stop and after it: some policies, the same promise, the same number of slots.
    let begin = "{\"actions\":";
    let models: Vec<Value> = told
        .match_indices(begin)
        .filter_map(|(at, _)| Deserializer::from_str(&told[at..]).into_iter().next()?.ok())
        .filter(|model: &Value| model["released"].is_u64())
        .collect();
    assert!(models.len() >= 2, "{told}"); // the first is the answer to its making
    let [before, after] = [&models[models.len() - 2], &models[models.len() - 1]];
    assert!(before["released"].as_u64() >= Some(1), "{before}");
    assert!(after["released"].as_u64() >= before["released"].as_u64());
    assert_eq!(
        (&before["slots"], &after["slots"]),
        (&40.into(), &40.into())
    );
    assert_eq!(
        before["guarantee"]["epsilon"],
        after["guarantee"]["epsilon"]
    );
}
