//! A run that stopped part-way goes on with the rows that it has not learned, or not at all: no row
//! is learned twice.

use crate::common::{BUDGET, Folder, SCHEMA, rows};
use crate::crash_points::cuts;

const ROWS: u64 = 100;

/// One recipe of each kind of run, and whether it publishes every release.
const RECIPES: [(&str, bool); 7] = [
    ("SCHEMA --recipe pftal-convex --batch 4", true),
    (
        "--task experts --features a,y --bounds a=0:1,y=0:1 --batch 2",
        true,
    ),
    (
        "--task bandit --features a,y --bounds a=0:1,y=0:1 --batch 2 --recipe exp2-batched",
        true,
    ),
    ("SCHEMA --recipe pigd", true),
    ("SCHEMA --recipe limited-updates", true),
    (
        "--target y --ignore who --hash-bits 14 --recipe sparse-ftrl",
        false,
    ),
    (
        "--target y --features a --bounds a=0:1 --recipe cover --radius 1",
        true,
    ),
];

/// A run that stopped part-way, and what it would have made.
struct Stopped {
    folder: Folder,
    learn: String,
    model: Vec<u8>,
}

impl Stopped {
    /// Runs to the end, then cuts journal and ledger back to what they held half-way.
    fn new(recipe: &str, releases: bool, flags: &str) -> Self {
        Self::cut(
            recipe,
            releases,
            flags,
            &[("state/journal", 2), ("ledger", 4)],
        )
    }

    /// The same with other files and parts of them.
    fn cut(recipe: &str, releases: bool, flags: &str, parts: &[(&str, usize)]) -> Self {
        let folder = Folder::in_memory();
        folder.write("d.csv", rows(ROWS, 1));
        let recipe = recipe.replace("SCHEMA", SCHEMA);
        let releases = if releases { "--releases releases" } else { "" };
        let learn = format!(
            "learn d.csv {recipe} {BUDGET} {flags} --seed-insecure 3 --sync-milliseconds 0 --state \
             state --ledger ledger --model model {releases}"
        );
        folder.succeeds(&learn);
        let stopped = Self {
            model: folder.read("model"),
            folder,
            learn,
        };
        for &(name, share) in parts {
            let whole = stopped.folder.read(name);
            let cuts = cuts(&whole);
            let last = (cuts.len() / share).max(4).min(cuts.len() - 1);
            stopped.folder.write(name, &whole[..cuts[last]]);
        }
        // A ledger that is cut back by hand was never witnessed to its end.
        for name in ["model", "releases", "ledger.witness"] {
            let _ = std::fs::remove_file(stopped.folder.path(name));
        }
        stopped
    }

    fn kept(&self) -> Vec<Vec<u8>> {
        ["state/journal", "state/key", "state/run.json", "ledger"]
            .map(|name| self.folder.read(name))
            .to_vec()
    }

    /// With other data it is refused, and nothing has changed.
    fn refuses(&self, data: &str, told: &str) {
        let before = self.kept();
        self.folder.write("d.csv", data);
        let message = self.folder.fails(&format!("{} --resume", self.learn));
        assert!(message.contains(told), "{}: {message}", self.learn);
        assert!(
            message.contains("nothing was learned or spent"),
            "{message}"
        );
        assert!(self.kept() == before, "{}: a file has changed", self.learn);
    }

    fn goes_on(&self, data: &str) -> String {
        self.folder.write("d.csv", data);
        let (_, told) = self.folder.succeeds(&format!("{} --resume", self.learn));
        assert!(told.contains("as if it had never stopped"), "{told}");
        assert!(!told.contains("resumed after 0 records"), "{told}");
        assert_eq!(self.folder.charges("ledger"), 1);
        told
    }
}

const OTHER: &str = "not the first rows of the data any more";

/// The lines of a table behind its header, changed.
fn changed(change: impl FnOnce(&mut Vec<String>)) -> String {
    let table = rows(ROWS, 1);
    let mut lines: Vec<String> = table.lines().map(|line| format!("{line}\n")).collect();
    let header = lines.remove(0);
    change(&mut lines);
    header + &lines.concat()
}

#[test]
fn shuffled_rows_are_refused_when_their_number_has_changed() {
    for (recipe, releases) in RECIPES {
        let stopped = Stopped::new(recipe, releases, "--shuffle 5");
        stopped.refuses(&changed(|lines| drop(lines.remove(70))), OTHER);
        stopped.refuses(
            &changed(|lines| lines.push("0.5,5,x,7,1\n".to_owned())),
            OTHER,
        );
        stopped.goes_on(&rows(ROWS, 1));
        assert_eq!(stopped.folder.read("model"), stopped.model, "{recipe}");
    }
}

#[test]
fn rows_that_were_learned_must_stay_as_they_were() {
    for (recipe, releases) in RECIPES {
        let stopped = Stopped::new(recipe, releases, "");
        // A byte that does not change what the row means.
        stopped.refuses(
            &changed(|lines| lines[1] = lines[1].replacen(',', ",0", 1)),
            OTHER,
        );
        stopped.refuses(&changed(|lines| lines.sort()), OTHER);
        stopped.refuses(&changed(|lines| lines.swap(0, 1)), OTHER);
        stopped.refuses(&changed(|lines| drop(lines.remove(3))), OTHER);
        stopped.refuses(&changed(|lines| lines.truncate(2)), "and the data has 2");
        // What has not been learned may change.
        stopped.goes_on(&changed(|lines| lines.swap(98, 99)));
    }
}

#[test]
fn a_file_grows_at_its_end_and_only_unshuffled() {
    let recipe = "SCHEMA --recipe pftal-convex --batch 2";
    let grown = rows(ROWS + 30, 1);
    assert!(grown.starts_with(&rows(ROWS, 1)));
    let stopped = Stopped::new(recipe, true, "--horizon unknown");
    stopped.goes_on(&grown);
    let stopped = Stopped::new(recipe, true, "--horizon unknown --shuffle 5");
    stopped.refuses(&grown, OTHER);
    stopped.goes_on(&rows(ROWS, 1));
}

/// What was published before a stop stays, whatever rows come after it.
#[test]
fn other_rows_after_a_stop_contradict_nothing() {
    let folder = Folder::in_memory();
    let learn = format!(
        "learn d.csv {SCHEMA} {BUDGET} --recipe pftal-convex --batch 4 --seed-insecure 3 \
         --sync-milliseconds 0 --state state --ledger ledger --releases releases"
    );
    folder.write("d.csv", rows(ROWS, 1));
    folder.succeeds(&learn);
    let (journal, ledger) = (folder.read("state/journal"), folder.read("ledger"));
    let releases = folder.text("releases");
    let whole: Vec<&str> = releases.lines().collect();
    let other = rows(ROWS, 2);
    for frames in [4, 9, 14] {
        // Opening, checkpoint, and items of four rows.
        let items = frames - 2;
        let (learned, published) = (4 * items, items - 1);
        let mixed = changed(|lines| {
            let others = other.lines().skip(1 + learned);
            lines.truncate(learned);
            lines.extend(others.map(|line| format!("{line}\n")));
        });
        folder.write("d.csv", mixed);
        folder.write("state/journal", &journal[..cuts(&journal)[frames]]);
        // A mark of 1 and of every item so far but the last: it waits to be published.
        let mut cut = cuts(&ledger);
        cut.truncate(cut.len() - (whole.len() - published));
        folder.write("ledger", &ledger[..cut[cut.len() - 1]]);
        let _ = std::fs::remove_file(folder.path("ledger.witness"));
        folder.write("releases", whole[..published].join("\n") + "\n");
        let (_, told) = folder.succeeds(&format!("{learn} --resume"));
        assert!(
            told.contains(&format!("resumed after {learned} records, as if")),
            "{told}"
        );
        let after = folder.text("releases");
        let after: Vec<&str> = after.lines().collect();
        assert_eq!(after.len(), whole.len());
        assert_eq!(after[..items], whole[..items]);
        assert!((items..whole.len()).all(|at| after[at] != whole[at]));
    }
}

/// An old copy of the journal: the rows it knows are compared, the others cannot be.
#[test]
fn an_old_copy_is_compared_as_far_as_it_knows() {
    // The last recipe writes its journal anew so late that a quarter of its frames are most of its
    // items.
    for (recipe, releases) in &RECIPES[..6] {
        let stopped = Stopped::cut(
            recipe,
            *releases,
            "",
            &[("state/journal", 4), ("ledger", 2)],
        );
        stopped.refuses(
            &changed(|lines| lines[1] = lines[1].replacen(',', ",0", 1)),
            OTHER,
        );
        let resume = format!("{} --resume", stopped.learn);
        stopped.folder.write("d.csv", rows(ROWS, 1));
        let (_, told) = stopped.folder.succeeds(&resume);
        assert!(told.contains("old copy"), "{told}");
        assert!(told.contains("cannot be checked"), "{told}");
        // From now on they are known.
        let (_, told) = stopped.folder.succeeds(&resume);
        assert!(!told.contains("old copy"), "{told}");
        stopped.refuses(&changed(|lines| lines.swap(40, 41)), OTHER);
        assert_eq!(stopped.folder.charges("ledger"), 1);
    }
}
