//! What only the owner may read, on disk and in memory.

use crate::common::{BUDGET, Folder, SCHEMA};
use std::fs::{Permissions, metadata, set_permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Names, of what a run leaves behind, that group or others may read.
fn open_to_others(folder: &Folder) -> Vec<String> {
    let mut found = Vec::new();
    for name in folder.names() {
        let path = folder.path(&name);
        let entry = metadata(&path).unwrap();
        if entry.mode() & 0o077 != 0 {
            found.push(name.clone());
        }
        // What is in a folder that is closed is closed, and its files are of 0600 besides.
        if entry.is_dir() {
            for inner in std::fs::read_dir(&path).unwrap() {
                let inner = inner.unwrap();
                if inner.metadata().unwrap().mode() & 0o077 != 0 {
                    found.push(format!("{name}/{}", inner.file_name().to_str().unwrap()));
                }
            }
        }
    }
    found
}

#[test]
fn only_what_may_be_published_can_be_read_by_others() {
    let folder = Folder::with_rows(200);
    let flags = format!(
        "learn d.csv {SCHEMA} {BUDGET} --state run --releases releases --report report.html \
         --without-privacy --model model"
    );
    folder.succeeds(&flags);
    assert_eq!(open_to_others(&folder), ["d.csv", "model", "releases"]);
    // A copy that was made without care is closed by the run that goes on with it.
    for name in ["run", "run/key", "run/run.json", "run/journal"] {
        set_permissions(folder.path(name), Permissions::from_mode(0o755)).unwrap();
    }
    assert!(open_to_others(&folder).len() >= 7);
    folder.succeeds(&format!("{flags} --resume"));
    assert_eq!(open_to_others(&folder), ["d.csv", "model", "releases"]);
}

/// Somebody who can write in the same folder puts links where unfinished files will be.
#[test]
fn a_link_in_place_of_an_unfinished_file_is_not_written_through() {
    let folder = Folder::with_rows(100);
    folder.write("victim", "as it was");
    let names = ["model", "report.html", "table.svg"];
    for name in names {
        let link = folder.path(&format!("{name}.unfinished"));
        std::os::unix::fs::symlink(folder.path("victim"), link).unwrap();
    }
    folder.succeeds(&format!(
        "learn d.csv {SCHEMA} {BUDGET} --seed-insecure 1 --model model --report report.html \
         --without-privacy"
    ));
    folder.succeeds("explain model --html table.svg");
    assert_eq!(folder.text("victim"), "as it was");
    assert!(names.iter().all(|name| !folder.read(name).is_empty()));
}

/// A token is never written into a file that is there: others might be able to read it.
#[cfg(feature = "serve")]
#[test]
fn a_token_is_never_written_into_a_file_that_is_there() {
    let folder = Folder::new();
    folder.write("victim", "as it was");
    std::fs::create_dir(folder.path("data")).unwrap();
    folder.write("data/operator.token", "old");
    set_permissions(
        folder.path("data/operator.token"),
        Permissions::from_mode(0o644),
    )
    .unwrap();
    std::os::unix::fs::symlink(folder.path("victim"), folder.path("data/admin.token")).unwrap();
    let mut server = folder
        .command("serve --data data --listen 127.0.0.1:0 --no-ops")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    let text = |name: &str| std::fs::read_to_string(folder.path(name)).unwrap_or_default();
    let is_new = |name: &str| text(name).starts_with("hs_");
    while !(is_new("data/operator.token") && is_new("data/admin.token")) {
        assert!(begin.elapsed() < Duration::from_secs(60), "no tokens");
        std::thread::sleep(Duration::from_millis(20));
    }
    server.kill().unwrap();
    server.wait().unwrap();
    for name in ["data/operator.token", "data/admin.token"] {
        let found = std::fs::symlink_metadata(folder.path(name)).unwrap();
        assert!(found.is_file() && found.mode() & 0o077 == 0, "{name}");
    }
    assert_eq!(folder.text("victim"), "as it was");
}

/// A key in a core dump would outlive its run.
#[cfg(target_os = "linux")]
#[test]
fn a_process_leaves_no_core_dump_and_shows_nobody_its_memory() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hushstream"));
    command
        .args([
            "check", "-", "--format", "csv", "--target", "y", "--bounds", "x=0:1",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .current_dir("/");
    // The system says whether a process can be dumped by who owns its entries: not by root's.
    let own = metadata("/proc/self").unwrap().uid();
    let other = if own == 0 { 65_534 } else { own };
    let spawned = command.uid(other).spawn();
    // Somebody else may not be allowed to run a program in this folder.
    let (mut child, is_other) = match spawned {
        Ok(child) => (child, true),
        Err(_) => (command.uid(own).spawn().unwrap(), own != 0),
    };
    let begin = Instant::now();
    let is_closed = || {
        let of = |name: &str| format!("/proc/{}/{name}", child.id());
        let limits = std::fs::read_to_string(of("limits")).unwrap();
        let core = limits
            .lines()
            .find(|line| line.starts_with("Max core file size"));
        let has_no_core = core
            .unwrap()
            .split_whitespace()
            .skip(4)
            .take(2)
            .eq(["0", "0"]);
        let is_roots = metadata(of("environ")).is_ok_and(|found| found.uid() == 0);
        has_no_core && (is_roots || !is_other)
    };
    while !is_closed() {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "its memory is open"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}
