//! The machine dies at any moment: whatever is killed and resumed ends with the same bytes as if it
//! had never stopped, and has paid once.

use crate::common::{BUDGET, Dice, Folder, SCHEMA};
use std::time::{Duration, Instant};

const KILLS: u32 = if cfg!(feature = "long") { 200 } else { 60 };

/// One run that is killed over and over; `flags` say how it learns.
struct Victim {
    flags: String,
    releases: Option<Vec<u8>>,
    model: Vec<u8>,
    /// How long it takes undisturbed.
    time: Duration,
}

const FILES: &str = "--state state --ledger ledger --model model";
/// Every release leaves at once.
const HASTE: &str = "--sync-milliseconds 0";

impl Victim {
    fn new(data: &str, flags: &str) -> Self {
        let folder = Folder::new();
        folder.write("d.csv", data);
        let haste = if flags.contains("--sync") { "" } else { HASTE };
        let flags = format!("learn d.csv {flags} --seed-insecure 7 {FILES} {haste}");
        let start = Instant::now();
        folder.succeeds(&flags);
        Self {
            time: start.elapsed(),
            releases: released(&folder),
            model: folder.read("model"),
            flags,
        }
    }

    /// Kills a new run so often, and then lets it end. Gives how many kills came before the end.
    fn suffer(&self, data: &str, kills: u32, dice: &mut Dice) -> u32 {
        let folder = Folder::new();
        folder.write("d.csv", data);
        let mut killed = 0;
        for attempt in 0.. {
            // What a person would do: go on if there is something to go on with.
            let resumes = folder.path("state/run.json").exists();
            let flags = format!("{}{}", self.flags, if resumes { " --resume" } else { "" });
            if attempt >= kills {
                folder.succeeds(&flags);
                break;
            }
            let mut child = folder
                .command(&flags)
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .spawn()
                .unwrap();
            // Half of the kills come while the run is being opened.
            let longest = if attempt % 2 == 0 { 0.12 } else { 0.6 };
            std::thread::sleep(self.time.mul_f64(longest * dice.share()));
            child.kill().unwrap();
            let status = child.wait().unwrap();
            if status.success() {
                break;
            }
            assert_eq!(status.code(), None, "it failed by itself: {flags}");
            killed += 1;
            if folder.path("ledger").exists() && folder.read("ledger").len() > 64 {
                assert!(folder.charges("ledger") <= 1);
            }
        }
        assert_eq!(released(&folder), self.releases);
        assert_eq!(folder.read("model"), self.model);
        assert_eq!(folder.charges("ledger"), 1);
        assert!(
            folder
                .names()
                .iter()
                .all(|name| !name.contains("unfinished"))
        );
        killed
    }
}

/// Every released model, where they are kept.
fn released(folder: &Folder) -> Option<Vec<u8>> {
    std::fs::read(folder.path("releases")).ok()
}

/// Kills victims of one kind until enough have been killed.
fn torment(data: &str, flags: &str, kills: u32, seed: u64) {
    let victim = Victim::new(data, flags);
    let mut dice = Dice(seed);
    let mut killed = 0;
    while killed < kills {
        let most = 1 + dice.below(8) as u32;
        killed += victim.suffer(data, most.min(kills - killed), &mut dice);
    }
}

#[test]
fn a_run_that_is_killed_ends_as_if_it_had_not_been() {
    let data = crate::common::rows(120, 1);
    let flags = format!("{SCHEMA} {BUDGET} --batch 3 --releases releases");
    torment(&data, &flags, 2 * KILLS / 3, 11);
}

#[test]
fn so_does_one_whose_journal_is_written_anew_in_between() {
    let data = crate::common::rows(170, 1);
    let flags =
        format!("--target y --ignore who --hash-bits 13 {BUDGET} --batch 2 --releases releases");
    torment(&data, &flags, KILLS / 3, 12);
}

/// Much waits in memory when it dies.
#[test]
fn so_does_one_that_syncs_rarely() {
    let data = crate::common::rows(20_000, 1);
    let flags = format!(
        "{SCHEMA} {BUDGET} --recipe pftal-convex --batch 1 --releases releases --sync-milliseconds \
         40"
    );
    torment(&data, &flags, KILLS / 6, 19);
}

#[test]
fn so_do_a_selection_a_sparse_learner_and_perturbed_iterates() {
    let data = crate::common::rows(150, 1);
    let experts =
        format!("--task experts --features a,y --bounds a=0:1,y=0:1 {BUDGET} --releases releases");
    torment(&data, &experts, KILLS / 6, 13);
    let sparse = format!("--target y --ignore who --hash-bits 14 {BUDGET}");
    torment(&data, &sparse, KILLS / 6, 14);
    let iterates = format!("{SCHEMA} {BUDGET} --recipe pigd --releases releases");
    torment(&data, &iterates, KILLS / 6, 15);
}

#[test]
fn so_do_bandits_on_a_table_and_on_a_log() {
    let data = crate::common::rows(150, 1);
    let table = format!(
        "--task bandit --features a,y --bounds a=0:1,y=0:1 {BUDGET} --batch 2 --recipe \
         exp2-batched --releases releases"
    );
    torment(&data, &table, KILLS / 6, 16);
    let log = format!(
        "--task bandit --arm c --arms x,y,z --target a --target-bounds 0:1 {BUDGET} --recipe exp2 \
         --releases releases"
    );
    torment(&data, &log, KILLS / 6, 17);
}

#[test]
fn so_do_limited_updates_and_a_net() {
    let data = crate::common::rows(150, 1);
    let doubling = format!("{SCHEMA} {BUDGET} --recipe limited-updates --releases releases");
    torment(&data, &doubling, KILLS / 10, 18);
    let net = format!(
        "--target y --features a --bounds a=0:1 {BUDGET} --recipe cover --radius 1 --releases \
         releases"
    );
    torment(&data, &net, KILLS / 10, 19);
}
