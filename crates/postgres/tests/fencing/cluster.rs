//! A real PostgreSQL in a temporary folder.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A cluster of its own: a data folder, a socket and no port.
pub(crate) struct Cluster {
    folder: tempfile::TempDir,
    bin: PathBuf,
}

/// Where PostgreSQL's programs are. Without them nothing is tested, loudly; where
/// `HUSHSTREAM_POSTGRES` is set, that fails.
fn programs() -> Option<PathBuf> {
    let debian = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let debian = debian.flatten().map(|version| version.path().join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let found = debian.chain(path).find(|bin| bin.join("initdb").exists());
    if found.is_none() {
        let told =
            "***** NOT TESTED: PostgreSQL is not installed (apt-get install postgresql) *****";
        assert!(std::env::var_os("HUSHSTREAM_POSTGRES").is_none(), "{told}");
        eprintln!("{told}");
    }
    found
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    id.stdout == b"0\n"
}

impl Cluster {
    /// Starts one, if PostgreSQL is installed.
    pub(crate) fn start() -> Option<Self> {
        let cluster = Self {
            bin: programs()?,
            folder: tempfile::tempdir().unwrap(),
        };
        if is_root() {
            // PostgreSQL does not run as root.
            let owner = Command::new("chown")
                .arg("postgres")
                .arg(cluster.folder.path())
                .status();
            assert!(owner.unwrap().success());
        }
        cluster.run(
            "initdb",
            &["-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync"],
        );
        cluster.up();
        Some(cluster)
    }

    /// The folder of its socket.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The path of one of PostgreSQL's programs.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.bin.join(name)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A program of PostgreSQL's on the data folder, as an ordinary user.
    fn run(&self, name: &str, arguments: &[&str]) {
        let program = self.program(name);
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
            command.arg(program);
            command
        } else {
            Command::new(program)
        };
        command.arg("-D").arg(self.data()).args(arguments);
        let quiet = command
            .current_dir("/")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        assert!(quiet.status().unwrap().success(), "{name} failed");
    }

    /// Starts the server.
    pub(crate) fn up(&self) {
        let socket = self.folder.path().display();
        let options = format!("-c listen_addresses= -c unix_socket_directories={socket}");
        let log = self.folder.path().join("log").display().to_string();
        self.run("pg_ctl", &["start", "-w", "-l", &log, "-o", &options]);
    }

    /// Stops it at once, as a crash does.
    pub(crate) fn crash(&self) {
        self.run("pg_ctl", &["stop", "-m", "immediate"]);
    }

    /// Stops it in order.
    pub(crate) fn down(&self) {
        self.run("pg_ctl", &["stop", "-m", "fast"]);
    }

    /// Copies the data folder aside; it must be down.
    pub(crate) fn back_up(&self) {
        copy(&self.data(), &self.folder.path().join("copy"));
    }

    /// Puts the copy back; it must be down.
    pub(crate) fn restore(&self) {
        std::fs::remove_dir_all(self.data()).unwrap();
        copy(&self.folder.path().join("copy"), &self.data());
    }

    /// The address.
    pub(crate) fn url(&self) -> String {
        let socket = self.folder.path().display().to_string().replace('/', "%2F");
        format!("postgres://postgres@{socket}/postgres")
    }

    /// Asks with psql: each line a row.
    pub(crate) fn ask(&self, sql: &str) -> Vec<String> {
        let mut psql = Command::new(self.program("psql"));
        psql.arg("-h")
            .arg(self.folder())
            .args(["-U", "postgres", "-AtX", "-c", sql]);
        let output = psql.output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").arg(from).arg(to).status();
    assert!(copied.unwrap().success());
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let pid = std::fs::read_to_string(self.data().join("postmaster.pid"));
        if pid.is_ok() {
            self.crash();
        }
    }
}
