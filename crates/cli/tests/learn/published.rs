//! Everything a user may publish, audited from outside: model files, files of releases,
//! predictions, what a quiet run prints; also after a stop, and with a ledger.
//!
//! Two neighbouring files are learned from by the program itself, many times with simulated noise,
//! and `hushstream-audit` tries to tell them apart by all numbers that were published. ε = 8 and
//! few records, so that few runs tell much. The same attack is shown to work on a leak: with the
//! operator's own figures among what it sees, it refutes the claim. What noise does not touch must
//! be the same for both files, byte for byte.

use crate::common::Folder;
use hushstream_audit::{AuditError, Claim, Duel, Effort, Verdict, World, audit};
use serde_json::{Map, Value};

/// Records, of which the first is the canary and the last is not learned from.
const ROWS: usize = 4;
const SCHEMA: &str = "--target y --features a --bounds a=0:1 --no-intercept";
const BUDGET: &str = "--epsilon 8 --delta 1e-5";
const ON_SUMS: &str =
    "--recipe pftal-convex --loss hinge --batch 1 --strong-convexity 1e6 --releases releases";
const ON_ITERATES: &str = "--recipe pigd --loss hinge --strong-convexity 1000 --releases releases";
const ONE_MODEL: &str = "--recipe pol --loss hinge --strong-convexity 1000";
const SPARSE: &str = "--recipe sparse-ftrl --loss hinge --learning-rate 1e-6";
/// What the model is asked about.
const PROBE: &str = "a\n0\n0.25\n1\n";

/// The first `rows` rows; the canary pulls with all its might, the others not at all.
fn table(world: World, rows: usize) -> String {
    let mut text = "a,y\n".to_owned();
    text.push_str(match world {
        World::Left => "1,0\n",
        World::Right => "1,1\n",
    });
    for row in 1..rows {
        text.push_str(if row % 2 == 0 { "0.5,0\n" } else { "0.5,1\n" });
    }
    text
}

/// How a run is made.
#[derive(Clone, Copy, PartialEq)]
enum Course {
    /// At once.
    Whole,
    /// The first half, then all of it with --resume; both models are seen.
    Resumed,
}

struct Published {
    flags: &'static str,
    course: Course,
    /// Whether the operator's figures are seen too: a leak.
    leaks: bool,
}

impl Published {
    /// One run, and the texts that may leave.
    fn publish(&self, world: World, seed: u64) -> (Folder, Vec<(&'static str, String)>) {
        let folder = Folder::in_memory();
        let loud = if self.leaks { "" } else { "--quiet" };
        let learn = format!(
            "learn d.csv {SCHEMA} {BUDGET} {} --seed-insecure {seed} --model model {loud} --json",
            self.flags
        );
        let mut texts = Vec::new();
        if self.course == Course::Resumed {
            let kept = format!("--rounds {ROWS} --state state --ledger ledger");
            folder.write("d.csv", table(world, ROWS / 2));
            texts.push(("half", folder.succeeds(&format!("{learn} {kept}")).0));
            texts.push(("model", folder.text("model")));
            folder.write("d.csv", table(world, ROWS));
            texts.push((
                "told",
                folder.succeeds(&format!("{learn} {kept} --resume")).0,
            ));
        } else {
            folder.write("d.csv", table(world, ROWS));
            texts.push(("told", folder.succeeds(&learn).0));
        }
        texts.push(("model", folder.text("model")));
        if self.flags.contains("--releases") {
            texts.push(("releases", folder.text("releases")));
        }
        folder.write("probe.csv", PROBE);
        texts.push(("predictions", folder.succeeds("predict model probe.csv").0));
        (folder, texts)
    }

    /// The claim that its model file makes.
    fn claim(&self) -> Claim {
        let (folder, _) = self.publish(World::Left, 1);
        let model: Value = serde_json::from_str(&folder.text("model")).unwrap();
        let number = |key: &str| model["guarantee"][key].as_f64().unwrap();
        Claim::Gaussian {
            mu: number("mu"),
            epsilon: number("epsilon"),
            delta: number("delta"),
        }
    }

    fn audit(self, seed: u64) -> Verdict {
        let claim = self.claim();
        let more = if cfg!(feature = "long") { 10 } else { 1 };
        // A correct program is flagged with probability below 10⁻⁷; seeds are fixed besides.
        let effort = Effort {
            fit: 80 * more,
            choose: 120 * more,
            prove: 300 * more,
            enough: 1.0,
            error: 1e-7,
            seed,
        };
        let duels: [Box<dyn Duel>; 1] = [Box::new(self)];
        audit(claim, &duels, effort).unwrap()
    }
}

impl Duel for Published {
    fn name(&self) -> String {
        "first row".to_owned()
    }

    fn play(&self, world: World, seed: u64) -> Result<Vec<f64>, AuditError> {
        let (_, texts) = self.publish(world, seed);
        let mut seen = Vec::new();
        for (_, text) in texts {
            for value in values(&text) {
                numbers(&value, &mut seen);
            }
        }
        Ok(seen)
    }
}

/// One JSON object, one a line, or words and numbers.
fn values(text: &str) -> Vec<Value> {
    if let Ok(whole) = serde_json::from_str(text) {
        return vec![whole];
    }
    let lines = text
        .lines()
        .flat_map(|line| match serde_json::from_str(line) {
            Ok(value) => vec![value],
            Err(_) => line
                .split(' ')
                .map(|word| word.parse::<f64>().map_or(word.into(), Value::from))
                .collect(),
        });
    lines.collect()
}

/// What the clock tells is no figure of the data, and would only confuse an attack that is fitted
/// on few runs.
const TIMED: [&str; 3] = ["seconds", "rows_per_second", "peak_memory_bytes"];

fn numbers(value: &Value, seen: &mut Vec<f64>) {
    match value {
        Value::Number(number) => seen.extend(number.as_f64()),
        Value::Array(items) => items.iter().for_each(|item| numbers(item, seen)),
        Value::Object(fields) => {
            let figures = fields
                .iter()
                .filter(|(key, _)| !TIMED.contains(&key.as_str()));
            figures.for_each(|(_, item)| numbers(item, seen));
        }
        _ => {}
    }
}

#[test]
fn published_files_keep_the_promise_on_sums() {
    let verdict = Published {
        flags: ON_SUMS,
        course: Course::Whole,
        leaks: false,
    }
    .audit(1);
    assert!(!verdict.violated(), "{verdict:?}");
    // Not an empty attack: it sees the canary.
    assert!(verdict.share > 0.1, "{verdict:?}");
}

#[test]
fn published_files_keep_the_promise_on_iterates_after_a_stop() {
    let verdict = Published {
        flags: ON_ITERATES,
        course: Course::Resumed,
        leaks: false,
    }
    .audit(2);
    assert!(!verdict.violated(), "{verdict:?}");
    assert!(verdict.share > 0.1, "{verdict:?}");
}

/// The operator's figures of the same run, among what is seen, refute the claim at once.
#[test]
fn figures_of_the_operator_would_break_it() {
    let verdict = Published {
        flags: ONE_MODEL,
        course: Course::Whole,
        leaks: true,
    }
    .audit(3);
    assert!(verdict.violated(), "{verdict:?}");
}

/// Weights, what is computed from them, and nothing else may differ between neighbours.
fn without_weights(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let clean = fields.into_iter().map(|(key, value)| {
                let value = match (key.as_str(), value) {
                    ("weights", Value::Array(weights)) => Value::from(weights.len()),
                    ("checksum", _) => Value::Null,
                    (_, other) => without_weights(other),
                };
                (key, value)
            });
            Value::Object(clean.collect::<Map<String, Value>>())
        }
        other => other,
    }
}

/// With the same noise, neighbouring files give the same of everything that is published, but for
/// the weights: names and number of files, keys, counts of releases, columns, words.
#[test]
fn what_noise_does_not_touch_is_the_same() {
    for (flags, course) in [
        (ON_SUMS, Course::Whole),
        (ON_SUMS, Course::Resumed),
        (ON_ITERATES, Course::Resumed),
        (
            "--recipe pocp --loss logistic --strong-convexity 1000 --releases releases",
            Course::Whole,
        ),
        (
            "--recipe pocp-anytime --loss hinge --horizon unknown --rounds 4 --strong-convexity \
             1000 --releases releases",
            Course::Whole,
        ),
        (ONE_MODEL, Course::Whole),
        (SPARSE, Course::Whole),
        (SPARSE, Course::Resumed),
    ] {
        let run = |world| {
            let published = Published {
                flags,
                course,
                leaks: false,
            };
            let (folder, texts) = published.publish(world, 5);
            let shapes = texts.into_iter().map(|(what, text)| {
                let shape: Vec<Value> = match what {
                    "predictions" => vec![text.lines().count().into()],
                    _ => values(&text).into_iter().map(without_weights).collect(),
                };
                (what, serde_json::to_string(&shape).unwrap())
            });
            (folder.names(), shapes.collect::<Vec<_>>())
        };
        let (left, right) = (run(World::Left), run(World::Right));
        assert_eq!(left, right, "{flags}");
        // And the canary was seen: a shape that is the same because nothing was learned would be no
        // test.
        let published = Published {
            flags,
            course,
            leaks: false,
        };
        let differ = |seed| {
            let numbers = |world| published.play(world, seed).unwrap();
            numbers(World::Left) != numbers(World::Right)
        };
        assert!((5..25).any(differ), "{flags}");
    }
}

/// What a quiet run says in words is a function of public numbers: the same bytes for neighbours.
#[test]
fn a_quiet_run_says_the_same_of_neighbours() {
    for flags in [ON_SUMS, ON_ITERATES, ONE_MODEL, SPARSE] {
        let said = |world| {
            let folder = Folder::in_memory();
            folder.write("d.csv", table(world, ROWS));
            folder.succeeds(&format!(
                "learn d.csv {SCHEMA} {BUDGET} {flags} --seed-insecure 5 --model model --quiet"
            ))
        };
        assert_eq!(said(World::Left), said(World::Right), "{flags}");
    }
}

/// The keys of what is published are these, and a key that only a run for its operator fills is
/// named as the operator's.
#[test]
fn no_figure_of_the_operator_is_published() {
    let published = Published {
        flags: ON_ITERATES,
        course: Course::Whole,
        leaks: false,
    };
    let (folder, texts) = published.publish(World::Right, 5);
    let keys = |value: &Value| -> Vec<String> {
        let fields = value.as_object().unwrap();
        fields.keys().cloned().collect()
    };
    let model: Value = serde_json::from_str(&folder.text("model")).unwrap();
    let mut names = keys(&model);
    names.sort();
    assert_eq!(
        names,
        [
            "checksum",
            "format",
            "guarantee",
            "layout",
            "length",
            "offset",
            "recipe",
            "release",
            "version",
            "weights"
        ]
    );
    for line in values(&folder.text("releases")) {
        assert_eq!(keys(&line), ["release", "version", "weights"]);
    }
    let quiet: Value = serde_json::from_str(&texts[0].1).unwrap();
    let loud = Published {
        flags: ON_ITERATES,
        course: Course::Whole,
        leaks: true,
    };
    let (_, texts) = loud.publish(World::Right, 5);
    let loud: Value = serde_json::from_str(&texts[0].1).unwrap();
    let named: Vec<&str> = loud["operator_only"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| key.as_str().unwrap())
        .collect();
    assert_eq!(quiet["operator_only"], Value::Array(Vec::new()));
    for (key, value) in loud.as_object().unwrap() {
        if named.contains(&key.as_str()) {
            let mut figures = Vec::new();
            numbers(&quiet[key], &mut figures);
            assert!(figures.is_empty(), "{key} is told by a quiet run");
            assert!(!quiet[key].is_boolean() && !quiet[key].is_string(), "{key}");
            let inside = folder.text("model").contains(&format!("\"{key}\":"));
            assert!(!inside, "{key} is in the model");
        } else if key != "operator_only" {
            assert_eq!(*value, quiet[key], "{key} is not named as the operator's");
        }
    }
}
