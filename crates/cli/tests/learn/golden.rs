//! Golden transcripts: what seeded runs have released before, hashed, so that a change of the code
//! that should change no release is seen to change none.
//!
//! The files are written anew by `HUSHSTREAM_WRITE_GOLDEN=1 cargo test --test learn golden`.

use crate::common::{Dice, Folder};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const ROWS: usize = 240;
const HASHED: [&str; 3] = ["hashed", "vw", "libsvm"];

/// The first words of a case, and the flags that they stand for.
const WORDS: [(&str, &str); 18] = [
    ("binary", "d.csv --target y TABLE"),
    ("gaps", "d.csv --target gaps --missing-target null TABLE"),
    ("classes", "d.csv --target k --classes l,m,n TABLE"),
    (
        "number",
        "d.csv --task regress --target t --target-bounds 0:4 TABLE",
    ),
    ("one", "d.csv --target y --features a --bounds a=0:1"),
    (
        "experts",
        "d.csv --task experts --features l1,l2,l3 --bounds l*=0:1",
    ),
    (
        "arms",
        "d.csv --task bandit --features l1,l2,l3 --bounds l*=0:1",
    ),
    ("labels", "d.csv --task bandit --target k --arms l,m,n"),
    (
        "log",
        "d.csv --task bandit --arm k --target t --target-bounds 0:4 --arms l,m,n",
    ),
    (
        "context",
        "d.csv --task decide --target k --arms l,m,n TABLE",
    ),
    (
        "rewards",
        "d.csv --task decide --arms l1,l2,l3 --features a,c --bounds a=0:1,l*=0:1 \
         --vocabulary c=x|y|z",
    ),
    (
        "logged",
        "d.csv --task decide --arm k --arms l,m,n --target t --target-bounds 0:4 TABLE",
    ),
    ("hashed", "d.csv --target y --features a,b,c --hash-bits 8"),
    ("vw", "d.vw --hash-bits 8"),
    ("libsvm", "d.libsvm --dim 256"),
    ("pure", "--epsilon 4"),
    ("approximate", "--epsilon 4 --delta 1e-6"),
    (
        "TABLE",
        "--features a,b,c --bounds a=0:1,b=0:10 --vocabulary c=x|y|z",
    ),
];

const BUDGETS: [&str; 2] = ["pure", "approximate"];
const SUMS: [&str; 8] = [
    "tree",
    "tree-padded",
    "honaker",
    "smooth",
    "blt",
    "kary",
    "octave",
    "eras",
];
const NOISES: [&str; 3] = [
    "approximate --noise gaussian",
    "pure --noise laplace",
    "pure --noise l2-laplace",
];

/// Recipes on sums, and the data that they learn from.
const ON_SUMS: [&str; 5] = [
    "binary --recipe pftal --strong-convexity 0.1",
    "binary --recipe pftal-convex",
    "number --recipe pqftl",
    "experts --recipe ftrl",
    "experts --recipe ftpl",
];

/// Everything else, with either budget.
const OTHERS: [&str; 99] = [
    // Windows.
    "binary --recipe coco-p --window 16 --strong-convexity 0.1",
    "binary --recipe coco-p --window 16 --strong-convexity 0.1 --noise laplace",
    "binary --recipe coco-p --window 16 --strong-convexity 0.1 --batch 4",
    "binary --recipe coco-l --window 16 --strong-convexity 0.1",
    "binary --recipe coco-l --window 16 --strong-convexity 0.1 --noise laplace",
    "binary --recipe coco-l --window 16 --strong-convexity 0.1 --batch 4",
    "number --recipe coco-p --window 5 --strong-convexity 0.1 --set box",
    // What the program chooses by itself.
    "binary",
    "binary --batch 1",
    "gaps",
    "classes",
    "classes --batch 1",
    "classes --person who --max-per-person 3",
    "classes --horizon unknown",
    "number",
    "number --batch 1",
    "number --person who --max-per-person 3",
    "number --horizon unknown",
    "experts",
    "experts --batch 4",
    "experts --person who --max-per-person 3",
    "experts --horizon unknown",
    "experts --rewards",
    "arms",
    "arms --batch 4",
    "arms --rewards",
    "labels",
    "labels --batch 4",
    "log --rewards",
    "log --propensity chance --least-propensity 0.2 --batch 4",
    // Classes by other recipes.
    "classes --recipe pqftl",
    "classes --recipe pqftl --batch 4 --sum honaker",
    "classes --recipe pftal-convex --batch 4 --sum honaker",
    "classes --recipe pftal-convex --batch 4 --noise laplace",
    // Losses and sets.
    "binary --recipe pftal-convex --batch 4 --loss hinge",
    "binary --recipe pftal-convex --batch 4 --loss smoothed-hinge",
    "binary --recipe pftal-convex --batch 4 --loss squared --set box --radius 2",
    "number --recipe pftal-convex --batch 4 --loss squared --radius 2",
    "number --recipe pftal-convex --batch 4 --loss absolute",
    "number --recipe pftal-convex --batch 4 --loss quantile",
    "number --recipe pftal-convex --batch 4 --loss huber --set simplex",
    "number --recipe pqftl --batch 4 --ridge 2",
    // Who is protected, from whom, for how long.
    "binary --recipe pftal-convex --batch 4 --person who --max-per-person 3",
    "binary --recipe pftal-convex --batch 4 --person who --max-per-person 3 --min-separation 4",
    "binary --recipe pftal-convex --sum honaker --batch 4 --person who --max-per-person 3",
    "binary --recipe pftal-convex --sum smooth --batch 4 --person who --max-per-person 3",
    "binary --recipe pftal-convex --sum blt --batch 4 --person who --max-per-person 3",
    "binary --recipe pftal-convex --sum blt --person who --max-per-person 3 --min-separation 4",
    "binary --recipe pftal-convex --sum octave --batch 4 --person who --max-per-person 3",
    "binary --recipe pftal-convex --batch 4 --adjacency zero-out",
    "binary --recipe pftal-convex --batch 4 --horizon unknown",
    "binary --recipe pftal-convex --batch 1 --horizon unknown --person who --max-per-person 3",
    "number --recipe pqftl --horizon unknown",
    "binary --recipe pftal-convex --batch 4 --shuffle 5",
    "binary --recipe pftal-convex --batch 7 --norm 0.5 --no-intercept",
    // Iterates with noise of their own.
    "binary --recipe pigd",
    "binary --recipe pigd --noise l2-laplace",
    "binary --recipe pigd --loss hinge --strong-convexity 1",
    "binary --recipe pigd --person who --max-per-person 3",
    "number --recipe pigd",
    "binary --recipe pigd-convex",
    "number --recipe pigd-convex --noise l2-laplace",
    "binary --recipe pgiga",
    "number --recipe pgiga --noise l2-laplace",
    "binary --recipe pocp --strong-convexity 1",
    "number --recipe pocp --loss squared --strong-convexity 1",
    "binary --recipe pocp-anytime --strong-convexity 1",
    "binary --recipe pocp-anytime --strong-convexity 1 --horizon unknown --rounds 16",
    "binary --recipe pol",
    "binary --recipe pol --noise l2-laplace",
    "number --recipe pol --strong-convexity 1",
    // Selection and batches of powers of two.
    "experts --recipe dartboard",
    "experts --recipe dartboard-batched",
    "experts --recipe dartboard-batched --batch 4",
    "experts --recipe hedge-batched",
    "experts --recipe hedge-batched --batch 4",
    "one --recipe cover --radius 1",
    "experts --recipe limited-updates",
    "binary --recipe limited-updates",
    "number --recipe limited-updates",
    // Bandits.
    "arms --recipe exp2",
    "arms --recipe exp2 --noise gaussian",
    "arms --recipe exp2-batched --batch 4",
    "arms --recipe scrible",
    "labels --recipe scrible --batch 2",
    "log --recipe exp2-batched --batch 4 --rewards",
    // Decisions by a context.
    "context",
    "context --batch 4 --knots 3 --exploration 16",
    "context --batch 4 --knots 0 --recipe linucb-jdp",
    "context --batch 4 --person who --max-per-person 3",
    "context --batch 4 --horizon unknown",
    "context --batch 4 --adjacency zero-out --first-arm",
    "rewards --batch 4 --evaluate uniform,arm:l1",
    "logged --rewards",
    "logged --propensity chance --least-propensity 0.2 --batch 4 --evaluate current,uniform,arm:m",
    // Sparse records.
    "hashed",
    "hashed --recipe sparse-ftrl --learning-rate 0.1",
    "vw --recipe sparse-ftrl --norm 1.5",
    "libsvm --recipe sparse-ftrl --norm 1.5 --thresholded",
];

/// Runs that are also stopped: a case of every kind of run, and of every family of sums.
const STOPPED: [&str; 17] = [
    "binary approximate --noise gaussian --recipe pftal-convex --sum tree --batch 1",
    "binary approximate --noise gaussian --recipe pftal-convex --sum honaker --batch 4",
    "binary approximate --noise gaussian --recipe pftal-convex --sum blt --batch 4",
    "binary pure --noise l2-laplace --recipe pftal-convex --sum kary --batch 4",
    "number approximate --noise gaussian --recipe pqftl --sum smooth --batch 1",
    "experts approximate --noise gaussian --recipe ftrl --sum octave --batch 1",
    "binary approximate --noise gaussian --recipe pftal-convex --sum eras --batch 4",
    "binary approximate --recipe coco-p --window 16 --strong-convexity 0.1",
    "binary approximate --recipe pftal-convex --batch 4 --person who --max-per-person 3",
    "classes approximate --recipe pqftl",
    "binary approximate --recipe pigd",
    "experts pure --recipe hedge-batched --batch 4",
    "binary approximate --recipe limited-updates",
    "arms pure --recipe exp2-batched --batch 4",
    "context approximate --batch 4 --person who --max-per-person 3",
    "context approximate --batch 4 --knots 0 --recipe linucb-jdp",
    "vw approximate --recipe sparse-ftrl --norm 1.5",
];
/// Rows after which they stop; batches end elsewhere.
const STOPS: [usize; 3] = [37, 97, 206];

/// Runs whose figures are golden too.
const FIGURES: [&str; 9] = [
    "binary approximate --recipe pftal-convex --batch 4",
    "classes approximate --recipe pqftl",
    "number approximate --recipe pqftl --batch 4",
    "experts approximate --recipe ftrl",
    "arms pure --recipe exp2-batched --batch 4",
    "log pure --recipe exp2-batched --batch 4 --rewards",
    "context approximate --batch 4 --knots 3 --exploration 16",
    "logged approximate --propensity chance --least-propensity 0.2 --batch 4 --evaluate \
     current,uniform,arm:m",
    "vw approximate --recipe sparse-ftrl --norm 1.5",
];

fn cases() -> Vec<String> {
    let mut cases = Vec::new();
    // The words of a case: its data, its budget and its flags.
    let case = |line: &str, more: &str| {
        let (data, flags) = line.split_once(' ').unwrap_or((line, ""));
        format!("{data} {more} {flags}").trim().to_owned()
    };
    for recipe in ON_SUMS {
        for sum in SUMS {
            for noise in NOISES {
                for batch in [1, 4] {
                    cases.push(case(recipe, noise) + &format!(" --sum {sum} --batch {batch}"));
                }
            }
        }
    }
    for other in OTHERS {
        cases.extend(BUDGETS.map(|budget| case(other, budget)));
    }
    cases
}

/// What a word stands for.
fn meaning(word: &str) -> &'static str {
    let found = WORDS.iter().find(|(known, _)| *known == word);
    found
        .unwrap_or_else(|| panic!("{word} stands for nothing"))
        .1
}

/// The flags of a case: its first two words tell data and budget.
fn flags(case: &str) -> String {
    let mut words = case.splitn(3, ' ');
    let mut word = || words.next().unwrap_or_default();
    let (data, budget, flags) = (meaning(word()), meaning(word()), word());
    let data = data.replace("TABLE", meaning("TABLE"));
    let releases = !HASHED.iter().any(|word| case.starts_with(word));
    let releases = if releases { "--releases releases" } else { "" };
    format!(
        "learn {data} {budget} {flags} {releases} --model model --ledger ledger --seed-insecure 7"
    )
}

/// Lines of the data, headers first: a table, VW text and libsvm.
fn data() -> [(&'static str, Vec<String>); 3] {
    let mut dice = Dice(2024);
    let mut table = vec!["a,b,c,who,y,gaps,k,t,l1,l2,l3,chance\n".to_owned()];
    let (mut vw, mut libsvm) = (Vec::new(), Vec::new());
    for row in 0..ROWS {
        let mut thousandths = |limit| dice.below(limit) as f64 / 1000.0;
        let (a, b, noise) = (thousandths(1001), thousandths(10_001), thousandths(500));
        let [l1, l2, l3] = [600, 800, 1000].map(|limit| thousandths(limit + 1));
        let (c, who) = (dice.below(3), dice.below(80));
        let t = ((2.0 * a + b / 10.0 + noise + if c == 0 { 0.5 } else { 0.0 }) * 1e3).round() / 1e3;
        let y = u8::from(t > 1.75);
        let k = dice.below(3).min((t / 1.4) as u64) as usize;
        let gaps = if row % 7 == 3 {
            String::new()
        } else {
            y.to_string()
        };
        let (c, k, chance) = (
            ["x", "y", "z"][c as usize],
            ["l", "m", "n"][k],
            [0.5, 0.25, 0.25][k],
        );
        table.push(format!(
            "{a},{b},{c},{who},{y},{gaps},{k},{t},{l1},{l2},{l3},{chance}\n"
        ));
        let sign = if y == 1 { 1 } else { -1 };
        let (telling, rest) = (1 + u64::from(y) + 2 * dice.below(2), 5 + dice.below(250));
        vw.push(format!("{sign} | {telling}:{a} {rest}\n"));
        libsvm.push(format!("{sign} {telling}:{a} {rest}:1\n"));
    }
    [("d.csv", table), ("d.vw", vw), ("d.libsvm", libsvm)]
}

/// A folder with the data.
fn folder() -> Folder {
    let folder = Folder::in_memory();
    write_rows(&folder, ROWS);
    folder
}

fn write_rows(folder: &Folder, rows: usize) {
    for (name, lines) in data() {
        let headers = lines.len() - ROWS;
        folder.write(name, lines[..headers + rows].concat());
    }
}

/// FNV-1a of 64 bits.
fn hash(bytes: &[u8]) -> String {
    let start = 0xcbf2_9ce4_8422_2325_u64;
    let hash = bytes.iter().fold(start, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// Hashes of the releases and of the model's weights that a run has left.
fn transcript(folder: &Folder, flags: &str) -> String {
    let releases = if flags.contains("--releases") {
        hash(&folder.read("releases"))
    } else {
        "-".to_owned()
    };
    let model: Value = serde_json::from_str(&folder.text("model")).unwrap();
    let weights = &model["weights"];
    assert!(weights.is_array(), "{flags}");
    format!("{releases} {}", hash(weights.to_string().as_bytes()))
}

/// What a case comes to.
fn play(case: &str) -> String {
    let (folder, flags) = (folder(), flags(case));
    let output = folder.run(&flags);
    if output.status.success() {
        return transcript(&folder, &flags);
    }
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{flags}\n{error}");
    // A wrong flag would be a mistake of this file: the program refuses by its own words.
    assert!(error.contains("hushstream: "), "{flags}\n{error}");
    "refused".to_owned()
}

/// What all cases come to, by two threads.
fn play_all(cases: &[String], play: impl Fn(&str) -> String + Sync) -> Vec<(&str, String)> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(place) else { break };
                    let result = (case.as_str(), play(case));
                    results.lock().unwrap().insert(place, result);
                }
            });
        }
    });
    results.into_inner().unwrap().into_values().collect()
}

/// A file of golden lines: what a case comes to, a tab, and the case.
struct Golden(&'static str);

const TRANSCRIPTS: Golden = Golden("golden-transcripts.txt");
const FIGURES_TOLD: Golden = Golden("golden-figures.txt");

impl Golden {
    fn is_being_written() -> bool {
        std::env::var_os("HUSHSTREAM_WRITE_GOLDEN").is_some()
    }

    fn path(&self) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("tests/vectors")
            .join(self.0)
    }

    /// Cases, and what they come to.
    fn read(&self) -> BTreeMap<String, String> {
        let text = std::fs::read_to_string(self.path()).unwrap();
        let lines = text.lines().map(|line| {
            let (result, case) = line.split_once('\t').unwrap();
            (case.to_owned(), result.to_owned())
        });
        lines.collect()
    }

    /// Compares, or writes if the environment says so.
    fn meet(&self, results: &[(&str, String)]) {
        if Self::is_being_written() {
            let mut text = String::new();
            for (case, result) in results {
                let _ = writeln!(text, "{result}\t{case}");
            }
            std::fs::write(self.path(), text).unwrap();
            return;
        }
        let mut golden = self.read();
        let mut wrong = String::new();
        for (case, result) in results {
            match golden.remove(*case) {
                Some(kept) if kept == *result => {}
                Some(kept) => {
                    let _ = writeln!(wrong, "{case}: was {kept}, is {result}");
                }
                None => {
                    let _ = writeln!(wrong, "{case}: is missing in {}", self.0);
                }
            }
        }
        for case in golden.keys() {
            let _ = writeln!(wrong, "{case}: is in {} and no case any more", self.0);
        }
        assert!(wrong.is_empty(), "golden transcripts differ\n{wrong}");
    }
}

#[test]
fn every_run_releases_what_it_always_has() {
    let cases = cases();
    TRANSCRIPTS.meet(&play_all(&cases, play));
}

#[test]
fn a_stopped_run_releases_what_it_always_has() {
    if Golden::is_being_written() {
        return;
    }
    let golden = TRANSCRIPTS.read();
    let stops = STOPPED
        .iter()
        .flat_map(|case| STOPS.map(|stop| format!("{stop} {case}")));
    let stops: Vec<String> = stops.collect();
    play_all(&stops, |line| {
        let (stop, case) = line.split_once(' ').unwrap();
        let golden = golden
            .get(case)
            .unwrap_or_else(|| panic!("{case}: is missing"));
        let (folder, flags) = (folder(), flags(case));
        let flags = format!("{flags} --rounds {ROWS} --state state --sync-milliseconds 0");
        write_rows(&folder, stop.parse().unwrap());
        let (_, told) = folder.succeeds(&flags);
        assert!(told.contains("ended after"), "{line}: {told}");
        write_rows(&folder, ROWS);
        let (_, told) = folder.succeeds(&format!("{flags} --resume"));
        assert!(
            told.contains("as if it had never stopped"),
            "{line}: {told}"
        );
        assert_eq!(transcript(&folder, &flags), *golden, "{line}");
        String::new()
    });
}

/// What the clock and the machine tell.
const TIMED: [&str; 3] = ["seconds", "rows_per_second", "peak_memory_bytes"];

/// Numbers to twelve digits, names and truths; sentences may be put in other words.
fn figures(value: &Value, text: &mut String) {
    let _ = match value {
        Value::Number(number) => write!(text, "{:.11e} ", number.as_f64().unwrap()),
        Value::String(words) if words.contains(' ') => Ok(()),
        Value::Array(items) => {
            items.iter().for_each(|item| figures(item, text));
            Ok(())
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                let _ = write!(text, "{key} ");
                figures(value, text);
            }
            Ok(())
        }
        other => write!(text, "{other} "),
    };
}

#[test]
fn figures_are_what_they_always_were() {
    let cases = FIGURES.map(str::to_owned);
    let told = play_all(&cases, |case| {
        let told = folder().json(&format!("{} --without-privacy", flags(case)));
        let told = told.as_object().unwrap().iter();
        let hashes = told.filter(|(key, _)| !TIMED.contains(&key.as_str()));
        let hashes = hashes.map(|(key, value)| {
            let mut text = String::new();
            figures(value, &mut text);
            format!("{key}={}", hash(text.as_bytes()))
        });
        hashes.collect::<Vec<_>>().join(" ")
    });
    let mut lines = Vec::new();
    for (case, figures) in &told {
        let figures = figures
            .split(' ')
            .map(|figure| figure.split_once('=').unwrap());
        lines.extend(figures.map(|(key, hash)| (format!("{case}: {key}"), hash.to_owned())));
    }
    let lines: Vec<(&str, String)> = lines
        .iter()
        .map(|(case, hash)| (case.as_str(), hash.clone()))
        .collect();
    FIGURES_TOLD.meet(&lines);
}
