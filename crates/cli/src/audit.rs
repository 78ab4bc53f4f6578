//! `hushstream audit`: attacks a recipe and reports the privacy loss that the attack proves. The
//! noise is simulated and the data public: nothing here protects anybody.

use crate::names::{AdjacencyName, NoiseName};
use crate::output::tell;
use anyhow::{Context, Result, bail};
use clap::Args;
use comfy_table::Table;
use hushstream_account::Budget;
use hushstream_audit::{Duel, Effort, Printed, Target, Verdict, audit, planted};
use hushstream_mechanism::sums::SumKind;
use hushstream_pictures::chart::escape;
use hushstream_pictures::numbers::{count, delta, finite, grouped, short};
use hushstream_pictures::roc::{Roc, picture};
use hushstream_recipes::RecipeName;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Arguments of `audit`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The recipe, or `all`.
    #[arg(required_unless_present_any = ["as_printed", "planted"])]
    recipe: Option<String>,
    /// The recipe's sum; by default the paper's own.
    #[arg(long)]
    sum: Option<SumKind>,
    /// The noise; by default Gaussian for δ > 0 and the paper's own for δ = 0.
    #[arg(long, value_enum)]
    noise: Option<NoiseName>,
    /// The claimed ε. By default 8, and 2 for δ = 0: values at which few runs give tight bounds.
    #[arg(long, value_parser = finite)]
    epsilon: Option<f64>,
    /// The claimed δ; 0 means pure differential privacy.
    #[arg(long, value_parser = finite, default_value_t = 1e-5)]
    delta: f64,
    /// The neighbouring relation; by default replace-one.
    #[arg(long, value_enum)]
    adjacency: Option<AdjacencyName>,
    /// Rounds; by default the largest number for which an audit can be tight.
    #[arg(long, value_parser = count)]
    rounds: Option<u64>,
    /// Time for each row, such as 60s or 5m: more runs, tighter bounds. By default 10s, and for
    /// --as-printed and --planted a fixed number of runs.
    #[arg(long, value_parser = time)]
    time: Option<Duration>,
    /// End a row as soon as this share of its claim is proved, such as 0.8; with 1, as soon as the
    /// claim is refuted. By default a row takes its whole time.
    #[arg(long, value_parser = finite)]
    share: Option<f64>,
    /// The probability that a row's bound holds.
    #[arg(long, value_parser = finite, default_value_t = 0.999)]
    confidence: f64,
    /// The seed of all noise.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Audit the papers' own constants, where they break privacy.
    #[arg(long, conflicts_with_all = ["recipe", "planted"])]
    as_printed: bool,
    /// Audit mechanisms with planted bugs, and their correct twins.
    #[arg(long, conflicts_with = "recipe")]
    planted: bool,
    /// Print a JSON list.
    #[arg(long)]
    json: bool,
    /// Write the table and the pictures to this HTML file.
    #[arg(long)]
    html: Option<PathBuf>,
    /// Write the scores of each row's proving runs to this folder, for other auditors: 1.csv for
    /// the first row, one pair of runs per line.
    #[arg(long)]
    scores: Option<PathBuf>,
}

/// One row of the table, with the stable keys of `--json`.
#[derive(Serialize)]
struct Row {
    recipe: String,
    sum: Option<String>,
    noise: Option<String>,
    claimed: Claimed,
    lower_bound: Proved,
    /// What is proved of what is claimed: of μ, or of ε at its δ.
    share: f64,
    runs: u64,
    attack: String,
    seconds: f64,
    violated: bool,
    /// Whether the audit must refute the claim.
    #[serde(skip)]
    faulty: bool,
    #[serde(skip)]
    name: String,
    #[serde(skip)]
    verdict: Verdict,
}

#[derive(Serialize)]
struct Claimed {
    epsilon: f64,
    delta: f64,
    mu: Option<f64>,
}

#[derive(Serialize)]
struct Proved {
    /// At the claimed δ.
    epsilon: f64,
    /// At the claimed ε.
    delta: f64,
    mu: f64,
    confidence: f64,
}

impl Row {
    fn expected_to_fall(mut self, faulty: bool) -> Self {
        self.faulty = faulty;
        self
    }

    fn new(
        name: String,
        (recipe, sum, noise): (String, Option<String>, Option<String>),
        verdict: Verdict,
    ) -> Self {
        let (epsilon, delta) = verdict.claim.budget();
        Self {
            recipe,
            sum,
            noise,
            claimed: Claimed {
                epsilon,
                delta,
                mu: verdict.claim.mu(),
            },
            lower_bound: Proved {
                epsilon: verdict.epsilon,
                delta: verdict.delta,
                mu: verdict.mu,
                confidence: 1.0 - verdict.error,
            },
            share: verdict.share,
            runs: verdict.runs,
            attack: verdict.attack.clone(),
            seconds: verdict.seconds,
            violated: verdict.violated(),
            faulty: false,
            name,
            verdict,
        }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let (title, rows) = if arguments.as_printed {
        let title = "UNSOUND: the papers' own constants, on public synthetic streams";
        (title, printed(arguments)?)
    } else if arguments.planted {
        ("Planted bugs, each with its correct twin", bugs(arguments)?)
    } else {
        ("Privacy loss proved by attacks", recipes(arguments)?)
    };
    if let Some(path) = &arguments.html {
        std::fs::write(path, page(title, &rows))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    if let Some(folder) = &arguments.scores {
        write_scores(folder, &rows)
            .with_context(|| format!("cannot write to {}", folder.display()))?;
    }
    if arguments.json {
        tell!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        tell!("{title}\n{}", table(&rows));
        tell!("{}", closing(arguments, &rows));
    }
    // Planted bugs and printed constants must be refuted, and nothing else.
    let in_time = arguments.time.is_none() && enough(arguments) >= 1.0;
    let is_wrong = |row: &&Row| {
        if row.faulty {
            in_time && !row.violated
        } else {
            row.violated
        }
    };
    let wrong = rows.iter().find(is_wrong);
    match wrong {
        Some(row) if row.faulty => bail!("a fault was not found: {}", row.name),
        Some(row) => bail!("a claim is refuted: {}", row.name),
        None => Ok(()),
    }
}

/// The error probability of a row.
fn error(arguments: &Arguments) -> f64 {
    1.0 - arguments.confidence
}

/// The share of a claim that ends a row.
fn enough(arguments: &Arguments) -> f64 {
    arguments.share.unwrap_or(f64::INFINITY)
}

/// As many runs as the time allows; without a time, `runs`.
fn effort(arguments: &Arguments, duels: &[Box<dyn Duel>], runs: Option<u64>) -> Result<Effort> {
    let (error, seed) = (error(arguments), arguments.seed);
    let effort = match (arguments.time, runs) {
        (None, Some(runs)) => Effort::runs(runs, error, seed),
        (time, _) => {
            let time = time.unwrap_or(Duration::from_secs(10));
            Effort::within(time, duels, error, seed)?
        }
    };
    Ok(effort.until(enough(arguments)))
}

fn recipes(arguments: &Arguments) -> Result<Vec<Row>> {
    let name = arguments.recipe.as_deref().unwrap_or("all");
    let pure = |epsilon: Option<f64>| Budget::pure(epsilon.unwrap_or(2.0));
    let is_special = arguments.sum.is_some()
        || arguments.noise.is_some()
        || arguments.rounds.is_some()
        || arguments.adjacency.is_some();
    if name == "all" && is_special {
        bail!("--sum, --noise, --adjacency and --rounds are for one recipe: name it");
    }
    let targets = if name == "all" {
        let gaussian = Budget::approx(arguments.epsilon.unwrap_or(8.0), arguments.delta)?;
        Target::all(gaussian, pure(arguments.epsilon)?)
    } else {
        let recipe: RecipeName = name.parse().map_err(anyhow::Error::msg)?;
        // A stated noise decides which budget is meant.
        let is_pure = match arguments.noise {
            Some(noise) => hushstream_mechanism::sums::Noise::from(noise).is_pure(),
            None => arguments.delta <= 0.0,
        };
        let budget = if is_pure {
            pure(arguments.epsilon)?
        } else {
            Budget::approx(arguments.epsilon.unwrap_or(8.0), arguments.delta)?
        };
        let mut target = Target::new(recipe, arguments.sum, budget)?;
        target.adjacency = arguments
            .adjacency
            .unwrap_or(AdjacencyName::ReplaceOne)
            .into();
        if let Some(noise) = arguments.noise {
            target.noise = noise.into();
        }
        if let Some(rounds) = arguments.rounds {
            target.releases = rounds.saturating_sub(1);
        }
        vec![target]
    };
    let rows = targets.into_iter().map(|target| {
        let (claim, duels) = (target.claim()?, target.duels()?);
        let verdict = audit(claim, &duels, effort(arguments, &duels, None)?)?;
        let parts = (
            target.recipe.to_string(),
            target.sum.map(|sum| sum.to_string()),
            target.noise_added().map(|noise| noise.to_string()),
        );
        Ok(Row::new(target.to_string(), parts, verdict))
    });
    rows.collect()
}

fn printed(arguments: &Arguments) -> Result<Vec<Row>> {
    let rows = Printed::all().into_iter().map(|row| {
        let duels = [row.duel()];
        let effort = effort(arguments, &duels, Some(row.enough_runs()?))?;
        let verdict = audit(row.claim, &duels, effort)?;
        let name = format!("{} {}: {}", row.erratum, row.place, row.setting);
        Ok(Row::new(name.clone(), (name, None, None), verdict).expected_to_fall(true))
    });
    rows.collect()
}

fn bugs(arguments: &Arguments) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for bug in planted::all() {
        for faulty in [true, false] {
            let effort = Effort::runs(20_000, error(arguments), arguments.seed);
            let effort = effort.until(enough(arguments));
            let planted::Finding::Audited(verdict) = bug.examine(faulty, effort)? else {
                continue; // found by the order of records, not by an attack
            };
            let name = if faulty {
                bug.name().to_owned()
            } else {
                "... its twin".to_owned()
            };
            let row = Row::new(name.clone(), (name, None, None), *verdict);
            rows.push(row.expected_to_fall(faulty));
        }
    }
    Ok(rows)
}

const HEAD: [&str; 8] = [
    "audited", "claimed", "proved", "share", "runs", "attack", "seconds", "",
];

fn cells(row: &Row) -> [String; 8] {
    let (claim, proved) = (&row.claimed, &row.lower_bound);
    let (claimed, bound) = match claim.mu {
        Some(mu) => (
            format!("μ = {}", short(mu)),
            format!("μ ≥ {}", down(proved.mu)),
        ),
        None if claim.delta > 0.0 => (
            format!("ε = {}, δ = {}", claim.epsilon, delta(claim.delta)),
            format!(
                "ε ≥ {}, or δ ≥ {}",
                down(proved.epsilon),
                down(proved.delta)
            ),
        ),
        None => (
            format!("ε = {}", short(claim.epsilon)),
            format!("ε ≥ {}", down(proved.epsilon)),
        ),
    };
    [
        row.name.clone(),
        claimed,
        bound,
        format!("{:.0} %", 100.0 * row.share),
        grouped(row.runs),
        row.attack.clone(),
        short(row.seconds),
        if row.violated { "REFUTED" } else { "" }.to_owned(),
    ]
}

/// Four digits of a lower bound, rounded down.
fn down(bound: f64) -> String {
    short(bound * (1.0 - 5e-4))
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table
        .load_style(comfy_table::presets::UTF8_HORIZONTAL_ONLY)
        .set_header(HEAD);
    for row in rows {
        table.add_row(cells(row));
    }
    table
}

fn closing(arguments: &Arguments, rows: &[Row]) -> String {
    let together = (rows.len() as f64 * error(arguments)).min(1.0);
    format!(
        "Each bound holds with probability {}; all {} together with at least {}. \
         A bound below its claim is not a proof of privacy: see docs/auditing.md.\n\
         Simulated noise on synthetic data: nothing here protects anybody.",
        arguments.confidence,
        rows.len(),
        short(1.0 - together)
    )
}

/// The scores of a row in both worlds, as CSV.
fn write_scores(folder: &Path, rows: &[Row]) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (number, row) in (1..).zip(rows) {
        let mut text = "left,right\n".to_owned();
        let [left, right] = &row.verdict.scores;
        for (left, right) in left.iter().zip(right) {
            let _ = writeln!(text, "{left},{right}");
        }
        std::fs::write(folder.join(format!("{number}.csv")), text)?;
    }
    Ok(())
}

fn page(title: &str, rows: &[Row]) -> String {
    let mut body = String::new();
    for name in HEAD {
        let _ = write!(body, "<th>{name}</th>");
    }
    for row in rows {
        body.push_str("</tr>\n<tr>");
        for text in cells(row) {
            let _ = write!(body, "<td>{}</td>", escape(&text));
        }
    }
    let pictures: String = rows
        .iter()
        .map(|row| {
            let verdict = &row.verdict;
            let roc = Roc {
                curve: &verdict.curve(),
                allows: &|alarms| verdict.claim.allows(1.0, alarms),
                proved: &|alarms| verdict.claim.allows(verdict.share, alarms),
                is_refuted: verdict.violated(),
            };
            picture(&row.name, &roc)
        })
        .collect();
    format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>Hushstream: {title}</title>\n\
         <style>body{{font-family:sans-serif;margin:2em auto;max-width:90em}}\
         td,th{{padding:.2em .8em;text-align:left}}</style>\n\
         <h1>Audit</h1>\n\
         <p>{title}. Simulated noise on synthetic data: nothing here protects anybody.</p>\n\
         <table><tr>{body}</tr></table>\n\
         <h2>Attacks</h2>\n<p>Black: the attack's measured ROC curve. Blue: the region that the \
         claim allows. Green: the edge of the largest region that is refuted; red if the claim \
         is.</p>\n\
         {pictures}\n"
    )
}

/// A time such as 60s, 5m or 30.
fn time(text: &str) -> Result<Duration, String> {
    let (digits, unit) = match text.strip_suffix('m') {
        Some(digits) => (digits, 60.0),
        None => (text.strip_suffix('s').unwrap_or(text), 1.0),
    };
    match digits.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 1e6 => Ok(Duration::from_secs_f64(unit * value)),
        _ => Err("expected a time, such as 60s or 5m".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        assert_eq!(time("60s"), Ok(Duration::from_secs(60)));
        assert_eq!(time("5m"), Ok(Duration::from_secs(300)));
        assert_eq!(time("1.5"), Ok(Duration::from_millis(1500)));
        for bad in ["", "0", "-1s", "1h", "nan", "infs"] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }
}
