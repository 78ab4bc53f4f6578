//! The store that several nodes share, on a real PostgreSQL in a temporary folder.

use crate::cluster::Cluster;
use std::path::Path;
use std::process::{Command, Stdio};

const SOCKET: &str = "HUSHSTREAM_TEST_SOCKET";
const PSQL: &str = "HUSHSTREAM_TEST_PSQL";

/// The database of a server whose folder this is, in a process whose tests are on PostgreSQL.
pub(crate) fn database_of(folder: &Path) -> Option<String> {
    let socket = std::env::var(SOCKET).ok()?;
    let name = folder.display().to_string();
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let name = name.to_ascii_lowercase();
    // It is there after a restart.
    let made = Command::new(std::env::var_os(PSQL)?)
        .args(["-h", &socket, "-U", "postgres", "-c"])
        .arg(format!("CREATE DATABASE {name}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    made.unwrap();
    let socket = socket.replace('/', "%2F");
    Some(format!("postgres://postgres@{socket}/{name}"))
}

/// Tests of the server from outside, once more with PostgreSQL as the store. Left out are those that
/// copy or damage files of the embedded store.
#[test]
fn every_promise_is_kept_on_postgresql_too() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let run = Command::new(std::env::current_exe().unwrap())
        .args([
            "api::",
            "neighbours::",
            "many::",
            "operations::",
            "recovery::",
        ])
        .args(["--skip", "a_folder_that_is_older_than_its_witness"])
        .args(["--skip", "a_store_that_is_older_than_a_journal"])
        .env(SOCKET, cluster.folder())
        .env(PSQL, cluster.program("psql"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}");
    assert!(!said.contains(" 0 passed"), "{said}");
}
