//! Holders as processes: stopped past their lease and woken, and a database that crashes.

use crate::cluster::Cluster;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const TURNS: u64 = if cfg!(feature = "long") { 50 } else { 3 };
const CRASHES: u64 = if cfg!(feature = "long") { 20 } else { 2 };

/// A process that holds the data set when it can.
struct Holder {
    child: Child,
    lines: Receiver<String>,
    told: Vec<(u64, String)>,
    holds: u64,
}

impl Holder {
    fn start(cluster: &Cluster, folder: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "holder::child", "--nocapture"])
            .env("HUSHSTREAM_TEST_URL", cluster.url())
            .env("HUSHSTREAM_TEST_FOLDER", folder)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let (told, holds) = (Vec::new(), 0);
        Self {
            child,
            lines,
            told,
            holds,
        }
    }

    /// Reads what it says, until it says this.
    fn until(&mut self, word: &str) -> String {
        let late = Instant::now() + Duration::from_secs(60);
        loop {
            let left = late.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            let line = line.unwrap_or_else(|_| panic!("nothing said of `{word}`"));
            self.note(&line);
            if line.starts_with(word) {
                return line;
            }
        }
    }

    fn note(&mut self, line: &str) {
        let mut words = line.split(' ');
        match (words.next(), words.next(), words.next()) {
            (Some("told"), Some(version), Some(sum)) => {
                self.told.push((version.parse().unwrap(), sum.to_owned()));
            }
            (Some("holds"), Some(fence), _) => self.holds = fence.parse().unwrap(),
            _ => {}
        }
    }

    /// What it has said so far.
    fn drain(&mut self) {
        std::thread::sleep(Duration::from_millis(50));
        while let Ok(line) = self.lines.try_recv() {
            self.note(&line);
        }
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args([name, &self.child.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_holder_that_is_stopped_past_its_lease_publishes_nothing() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut one = Holder::start(&cluster, &folder.path().join("one"));
    one.until("told");
    let mut two = Holder::start(&cluster, &folder.path().join("two"));
    two.until("ready");
    for turn in 0..TURNS {
        one.until("told");
        // Anywhere in its work.
        std::thread::sleep(Duration::from_millis(turn * 7 % 23));
        one.signal("-STOP");
        let before = one.holds;
        two.until("holds");
        assert_eq!(two.holds, before + 1, "taken over once");
        two.until("told");
        one.drain();
        let said = one.told.len();
        one.signal("-CONT");
        // Fenced, or without a session: the database ends one that stands in a transaction.
        one.until("f");
        // What it told before it noticed was stored before it was stopped.
        let own = format!("SELECT max(version) FROM releases WHERE fence = {before}");
        let last: u64 = cluster.ask(&own)[0].parse().unwrap();
        for (version, _) in &one.told[said..] {
            assert!(*version <= last, "told {version} after the takeover");
        }
        std::mem::swap(&mut one, &mut two);
    }
    one.signal("-KILL");
    two.signal("-KILL");
    one.drain();
    two.drain();
    // Each version once, in order, by rising fences; and what was told is what is stored.
    let rows = cluster.ask("SELECT version || ' ' || fence FROM releases ORDER BY at");
    let mut highest = 0;
    for (place, row) in rows.iter().enumerate() {
        let (version, fence) = row.split_once(' ').unwrap();
        assert_eq!(
            version.parse::<usize>().unwrap(),
            place,
            "version 0 is the first model"
        );
        let fence: u64 = fence.parse().unwrap();
        assert!(fence >= highest);
        highest = fence;
    }
    assert!(highest > TURNS, "{highest}");
    check_told(&cluster, one.told.iter().chain(&two.told));
}

/// Everything that was told is stored, with the same bytes.
fn check_told<'a>(cluster: &Cluster, told: impl Iterator<Item = &'a (u64, String)>) {
    let store = hushstream_postgres::Store::connect(&cluster.url(), crate::holder::settings());
    let store = store.unwrap();
    for (version, sum) in told {
        let bytes = store.release(crate::holder::RUN, *version).unwrap();
        let bytes = bytes.unwrap_or_else(|| panic!("version {version} was told and is lost"));
        assert_eq!(*sum, format!("{:08x}", crate::holder::checksum(&bytes)));
    }
}

#[test]
fn nothing_that_was_acknowledged_is_lost_in_a_crash_of_the_database() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut one = Holder::start(&cluster, &folder.path().join("one"));
    let mut two = Holder::start(&cluster, &folder.path().join("two"));
    for crash in 0..CRASHES {
        let seen = one.told.len() + two.told.len();
        let late = Instant::now() + Duration::from_secs(60);
        while one.told.len() + two.told.len() < seen + 3 {
            assert!(Instant::now() < late, "nothing more is published");
            one.drain();
            two.drain();
        }
        std::thread::sleep(Duration::from_millis(crash * 7 % 23));
        cluster.crash();
        cluster.up();
    }
    one.signal("-KILL");
    two.signal("-KILL");
    one.drain();
    two.drain();
    check_told(&cluster, one.told.iter().chain(&two.told));
}
