//! The keys of `--json`: those that are printed, with the comments of the fields that they are.

use crate::{is_up_to_date, text};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

const SCHEMA: &str = "--target y --ignore who --bounds a=0:1,b=0:10 --vocabulary c=x|y|z";
const BUDGET: &str = "--epsilon 1 --delta 1e-6 --seed-insecure 1";

/// An object: where it is in what is printed, and the file and the type that it is written from.
type Object = (&'static str, &'static str, &'static str);

const GUARANTEE: &str = "crates/account/src/guarantee.rs";
const OUTCOME: &str = "crates/hushstream/src/outcome.rs";
const TRACKED: &str = "crates/hushstream/src/track/file.rs";
const TRACK_PLAN: &str = "crates/hushstream/src/track/plan.rs";

/// What is told in full once.
const GUARANTEE_OF: Object = ("guarantee", GUARANTEE, "Fields");
const LEDGER_OF: Object = ("ledger", OUTCOME, "Together");

/// Meanings of fields without a comment.
const PLAIN: &[(&str, &str)] = &[
    ("epsilon", "ε"),
    ("delta", "δ"),
    (
        "mu",
        "The μ of Gaussian differential privacy, where it is known.",
    ),
    (
        "rho",
        "The ρ of zero-concentrated differential privacy, where it is known.",
    ),
    ("adjacency", "`replace-one` or `zero-out`."),
    ("unit", "`record` or `person`."),
    (
        "participations",
        "Records of one unit that are protected together, at most.",
    ),
    ("rounds", "Records, empty rounds included."),
    ("releases", "Releases."),
    ("window", "The releases that it is about, if not all."),
    ("mechanism", "The mechanism."),
    ("sum", "The sum."),
    ("noise", "The noise."),
    ("levels", "Levels of a tree."),
    (
        "sigma",
        "The standard deviation of the noise, in lengths of the bound.",
    ),
    ("assumptions", "What it assumes."),
    ("citation", "Where its proof is."),
    (
        "errata",
        "What was corrected in it, by the names of ERRATA.md.",
    ),
    (
        "precision_slack",
        "The part of δ for the imperfection of the samplers.",
    ),
    (
        "simulated",
        "Whether the noise came from a seed and protects nobody.",
    ),
    ("rows", "Rows read."),
    ("metrics", "Metrics, as those of `learn`."),
    ("recipe", "The recipe."),
    (
        "node_sigma",
        "Standard deviation of the noise of one node of the sum.",
    ),
    (
        "prefix_sd_max",
        "Largest standard deviation of the noise of a released sum.",
    ),
    ("state_vectors", "Vectors that the sum keeps in memory."),
    ("memory_bytes", "Their size."),
    ("ns_per_round", "Measured time of a round, in nanoseconds."),
    (
        "regret_bound",
        "The certified regret; null if there is none.",
    ),
    ("parameters", "The parameters, below."),
    ("guarantee", "The guarantee that a run would have, below."),
    ("name", "The name of the sum."),
    ("dim", "Numbers in a contribution."),
    ("bound", "The length that contributions are clipped to."),
    ("batch", "Records per release."),
    (
        "radius",
        "The bound on the lattice: contributions are integers of at most this length.",
    ),
    ("sensitivity", "What one record can change, in bounds."),
    ("noise_scale", "The scale of the integer noise."),
    ("learner", "The learner."),
    ("set", "The set of weights."),
    ("diameter", "Its diameter."),
    (
        "noise_beta",
        "The probability that `noise_length` is exceeded; null if it is the mean.",
    ),
    ("regret_holds", "In which sense the bound holds."),
    ("regret_missing", "Why there is no bound."),
    ("game", "The game."),
    ("regret", "The regret over the repeats, below."),
    ("loss", "The learner's mean loss."),
    ("nothing", "The regret of never moving."),
    ("trivial", "The largest possible regret."),
    ("seconds", "Elapsed time in seconds."),
    ("mean", "The mean."),
    ("low", "The smallest."),
    ("high", "The largest."),
    ("claimed", "The claim, below."),
    ("lower_bound", "What was proved, below."),
    ("runs", "Runs altogether."),
    ("attack", "The attack that was chosen."),
    ("violated", "Whether the claim was refuted."),
];

/// The same, where a name means another thing in an object.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    ("lower_bound", "mu", "The least μ."),
    (
        "lower_bound",
        "confidence",
        "The probability that the bound holds.",
    ),
    ("guarantee", "releases", "Releases that it covers."),
];

#[test]
fn keys_of_json_are_those_that_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    let mut rows = String::from("who,a,b,c,y\n");
    for row in 0..300_u64 {
        let c = ["x", "y", "z"][(row * 7 % 3) as usize];
        let _ = writeln!(
            rows,
            "{row},0.{},{},{c},{}",
            row * 37 % 100,
            row % 10,
            row * 13 % 5 / 3
        );
    }
    std::fs::write(folder.path().join("d.csv"), rows).unwrap();
    let mut page = String::from(
        "# Keys of `--json`\n\nA test runs each command, makes this page from the keys that it \
         prints and from the comments of the code, and fails if it differs. Keys are stable: new \
         ones may come, and a key that does not apply is null. **Those marked * are computed from \
         private data without noise and must not be published**; `operator_only` lists them.\n",
    );
    let learn = format!("learn d.csv {SCHEMA} {BUDGET} --model m.json --without-privacy");
    section(
        &mut page,
        folder.path(),
        "`hushstream learn`",
        &learn,
        &[
            ("", OUTCOME, "Outcome"),
            GUARANTEE_OF,
            LEDGER_OF,
            ("parameters", OUTCOME, "Parameters"),
            ("metrics", "crates/hushstream/src/scores.rs", "Scores"),
            ("loss", OUTCOME, "Loss"),
            ("without_privacy", OUTCOME, "WithoutPrivacy"),
            ("regret", OUTCOME, "Regret"),
        ],
    );
    page.push_str(
        "\n`metrics` of a number, `rewards`, `off_policy`, `arms` and `evaluation` are described \
         where they are used: [read the output](../how-to/output.md), [bandits](../how-to/tasks.md), \
         [decisions](../how-to/decisions.md).\n",
    );
    let track = format!("track d.csv --by 100 --mean a=0:1 {BUDGET}");
    section(
        &mut page,
        folder.path(),
        "`hushstream track`",
        &track,
        &[
            ("", TRACKED, "Tracked"),
            ("plan", TRACK_PLAN, "TrackPlan"),
            ("plan.split", TRACK_PLAN, "Share"),
        ],
    );
    section(
        &mut page,
        folder.path(),
        "`hushstream check`",
        &format!("check d.csv {SCHEMA}"),
        &[("", "crates/hushstream/src/checked.rs", "Report")],
    );
    section(
        &mut page,
        folder.path(),
        "`hushstream predict`",
        "predict m.json d.csv",
        &[("", "crates/cli/src/predict.rs", "Told")],
    );
    let rows = "crates/cli/src/plan/rows.rs";
    section(
        &mut page,
        folder.path(),
        "`hushstream plan`",
        "plan --rounds 1000 --dim 3 --recipe pftal --epsilon 1 --delta 1e-6",
        &[("", rows, "Row"), ("parameters", rows, "Parameters")],
    );
    let paid = format!("learn d.csv {SCHEMA} --epsilon 1 --delta 1e-6 --ledger l --quiet");
    printed(folder.path(), &paid);
    let ledgers = "crates/hushstream/src/ledgers.rs";
    section(
        &mut page,
        folder.path(),
        "`hushstream ledger show`",
        "ledger show l",
        &[("", ledgers, "Statement"), ("runs", ledgers, "Charged")],
    );
    let rows = "crates/cli/src/compare/rows.rs";
    section(
        &mut page,
        folder.path(),
        "`hushstream compare`: a list of",
        "compare --recipes ftrl --task experts --rounds 64 --repeats 1 --epsilon 1",
        &[("", rows, "Row"), ("regret", rows, "Spread")],
    );
    let rows = "crates/cli/src/audit.rs";
    section(
        &mut page,
        folder.path(),
        "`hushstream audit`: a list of",
        "audit ftrl --time 0.2s",
        &[
            ("", rows, "Row"),
            ("claimed", rows, "Claimed"),
            ("lower_bound", rows, "Proved"),
        ],
    );
    page.push_str(
        "\n`hushstream recipes --json` prints what [the recipes' page](recipes.md) is made from.\n",
    );
    is_up_to_date("reference/json.md", &page);
}

/// What a command prints with `--json`.
fn printed(folder: &Path, command: &str) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_hushstream"))
        .args(command.split_whitespace())
        .arg("--json")
        .current_dir(folder)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command}: {told}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The objects of a command as tables.
fn section(page: &mut String, folder: &Path, title: &str, command: &str, objects: &[Object]) {
    let all = printed(folder, command);
    let all = if all.is_array() { &all[0] } else { &all };
    let names = all["operator_only"].as_array().into_iter().flatten();
    let private: Vec<&str> = names.filter_map(Value::as_str).collect();
    let _ = write!(page, "\n## {title}\n");
    for (at, file, kind) in objects {
        let mut object = all;
        for part in at.split('.').filter(|part| !part.is_empty()) {
            object = &object[part];
        }
        let object = if object.is_array() {
            &object[0]
        } else {
            object
        };
        let code = text(file);
        if !at.is_empty() {
            let _ = write!(page, "\n`{at}`:\n");
        }
        page.push_str("\n| key | meaning |\n|---|---|\n");
        let keys = object
            .as_object()
            .unwrap_or_else(|| panic!("{title}: {at} is {object}"));
        for key in keys.keys() {
            let is_private = at.is_empty() && private.contains(&key.as_str());
            let mark = if is_private { " *" } else { "" };
            let told = meaning(at, key, &code, kind).replace('|', "\\|");
            let _ = writeln!(page, "| `{key}`{mark} | {told} |");
        }
    }
}

fn meaning(at: &str, key: &str, code: &str, kind: &str) -> String {
    let here = ELSEWHERE
        .iter()
        .find(|(place, name, _)| (*place, *name) == (at, key));
    if let Some((_, _, told)) = here {
        return (*told).to_owned();
    }
    // Some objects are flattened into others.
    let inner = || {
        let is_flat = code.contains("#[serde(flatten)]");
        is_flat.then(|| comment(code, "Calibration", key))?
    };
    if let Some(told) = comment(code, kind, key).or_else(inner) {
        return told;
    }
    let plain = PLAIN.iter().find(|(name, _)| *name == key);
    plain.map_or_else(
        || panic!("say what {at}.{key} of {kind} means"),
        |(_, told)| (*told).into(),
    )
}

/// The comment of a field.
fn comment(code: &str, kind: &str, key: &str) -> Option<String> {
    let begin = [format!("struct {kind} {{"), format!("enum {kind} {{")];
    let body = begin
        .iter()
        .find_map(|begin| code.split(&begin[..]).nth(1))?;
    let mut lines = Vec::new();
    for line in body.split("\n}").next()?.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("/// ") {
            lines.push(text);
        } else if line.starts_with("#[") {
            continue;
        } else {
            let name = line.split(':').next()?.rsplit(' ').next()?;
            if name == key && !lines.is_empty() {
                return Some(lines.join(" "));
            }
            lines.clear();
        }
    }
    None
}
