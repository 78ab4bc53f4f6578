//! `hushstream compare`: recipes against each other on synthetic games. Noise is simulated, data public: nothing here protects anybody.

use crate::chart::{Series, log_log};
use crate::figure::{Figure, draw};
use crate::names::{AdjacencyName, NoiseName};
use crate::numbers::{count, delta, finite, grouped, short};
use anyhow::{Context, Result, bail};
use clap::Args;
use comfy_table::Table;
use hushstream_account::{Adjacency, Budget};
use hushstream_arena::{Contest, Game, Outcome, Task};
use hushstream_engine::RecipeName;
use hushstream_mechanism::sums::SumKind;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Instant;

/// Arguments of `compare`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Recipes, separated by commas.
    #[arg(
        long,
        value_delimiter = ',',
        required_unless_present = "figure",
        conflicts_with = "figure"
    )]
    recipes: Vec<RecipeName>,
    /// A figure of a paper instead, as printed and as corrected.
    #[arg(long, value_enum)]
    figure: Option<Figure>,
    /// Sums, separated by commas; each recipe's own if none is named.
    #[arg(long, value_delimiter = ',')]
    sum: Vec<SumKind>,
    /// experts, linear, mean, classify, regress or ridge.
    #[arg(long, default_value = "experts")]
    task: Task,
    /// stochastic, switching, drifting, blocks or adaptive.
    #[arg(long, default_value = "switching")]
    game: Game,
    /// Coordinates (experts: how many).
    #[arg(long, default_value_t = 4)]
    dim: usize,
    /// Rounds of a game; 16384 if not given (a figure's own number for figures).
    #[arg(long, value_parser = count)]
    rounds: Option<u64>,
    /// Records summed into one item.
    #[arg(long, value_parser = count, default_value_t = 1)]
    batch: u64,
    /// Privacy losses ε, separated by commas.
    #[arg(long, value_delimiter = ',', value_parser = finite, default_value = "1")]
    epsilon: Vec<f64>,
    /// Privacy loss δ; 0 means pure differential privacy.
    #[arg(long, value_parser = finite, default_value_t = 1e-6)]
    delta: f64,
    /// The noise; by default Gaussian for δ > 0 and the paper's own for δ = 0.
    #[arg(long, value_enum)]
    noise: Option<NoiseName>,
    /// What a neighbouring data set is.
    #[arg(long, value_enum, default_value_t = AdjacencyName::ReplaceOne)]
    adjacency: AdjacencyName,
    /// Protect a record in this many releases (window recipes).
    #[arg(long, value_parser = count)]
    window: Option<u64>,
    /// Curvature H, or α for pqftl, if not the calibrated one.
    #[arg(long, value_parser = finite)]
    strong_convexity: Option<f64>,
    /// coco-l with tuned constants.
    #[arg(long)]
    tuned: bool,
    /// How often each game is played, with seeds 0, 1, ….
    #[arg(long, value_parser = count, default_value_t = 5)]
    repeats: u64,
    /// Print a JSON list.
    #[arg(long)]
    json: bool,
    /// Write the regret curves.
    #[arg(long)]
    csv: Option<PathBuf>,
    /// Write a picture of the regret curves.
    #[arg(long)]
    svg: Option<PathBuf>,
    /// Write table and picture as one page.
    #[arg(long)]
    html: Option<PathBuf>,
}

/// One line of the table, with the stable keys of `--json`.
#[derive(Serialize)]
struct Row {
    recipe: String,
    sum: String,
    epsilon: f64,
    delta: f64,
    rounds: u64,
    regret: Spread,
    loss: f64,
    nothing: f64,
    seconds: f64,
    #[serde(skip)]
    curve: Vec<(f64, f64)>,
}

/// Mean, smallest and largest over the repeats.
#[derive(Serialize)]
struct Spread {
    mean: f64,
    low: f64,
    high: f64,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if let Some(figure) = arguments.figure {
        return run_figure(arguments, figure);
    }
    let rows = rows(arguments)?;
    let title = title(arguments);
    let chart = || log_log(&title, "round t", "mean regret so far", &series(&rows));
    if let Some(path) = &arguments.csv {
        write(path, &csv(&rows))?;
    }
    if let Some(path) = &arguments.svg {
        write(path, &chart())?;
    }
    if let Some(path) = &arguments.html {
        write(path, &page(&title, &rows, &chart()))?;
    }
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        println!("{title}");
        println!("{}", table(&rows));
        println!("Simulated noise on synthetic data: nothing here protects anybody.");
    }
    Ok(())
}

fn run_figure(arguments: &Arguments, figure: Figure) -> Result<()> {
    if arguments.json {
        bail!("a figure has no JSON; use --csv for its numbers");
    }
    let drawn = draw(figure, arguments.rounds, arguments.repeats)?;
    for (path, text) in [(&arguments.csv, &drawn.csv), (&arguments.svg, &drawn.svg)] {
        if let Some(path) = path {
            write(path, text)?;
        }
    }
    if let Some(path) = &arguments.html {
        let text = drawn.text.replace('&', "&amp;").replace('<', "&lt;");
        write(
            path,
            &format!(
                "<!doctype html>\n<meta charset=\"utf-8\">\n<title>Hushstream</title>\n{}\n<pre>{text}</pre>\n",
                drawn.svg
            ),
        )?;
    }
    println!("{}", drawn.text);
    Ok(())
}

fn write(path: &PathBuf, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn rounds(arguments: &Arguments) -> u64 {
    arguments.rounds.unwrap_or(16_384)
}

fn title(arguments: &Arguments) -> String {
    format!(
        "{} in {} dimensions, {} game, {} rounds, δ = {}, {}, {} repeats",
        arguments.task,
        arguments.dim,
        arguments.game,
        grouped(rounds(arguments)),
        delta(arguments.delta),
        Adjacency::from(arguments.adjacency),
        arguments.repeats
    )
}

fn rows(arguments: &Arguments) -> Result<Vec<Row>> {
    if arguments.repeats == 0 {
        bail!("--repeats = 0 is not allowed; allowed: 1 or more");
    }
    let own = [None];
    let named: Vec<Option<SumKind>> = arguments.sum.iter().copied().map(Some).collect();
    let sums = if named.is_empty() {
        &own[..]
    } else {
        &named[..]
    };
    let mut rows = Vec::new();
    for &recipe in &arguments.recipes {
        for &sum in sums {
            for &epsilon in &arguments.epsilon {
                let contest = Contest {
                    recipe,
                    sum,
                    noise: arguments.noise.map(Into::into),
                    task: arguments.task,
                    game: arguments.game,
                    dimension: arguments.dim,
                    rounds: rounds(arguments),
                    batch: arguments.batch,
                    budget: Budget::approx(epsilon, arguments.delta)?,
                    adjacency: arguments.adjacency.into(),
                    window: arguments.window,
                    curvature: arguments.strong_convexity,
                    tuned: arguments.tuned,
                };
                rows.push(
                    row(&contest, arguments.repeats)
                        .with_context(|| format!("{recipe} at epsilon = {epsilon}"))?,
                );
            }
        }
    }
    Ok(rows)
}

fn row(contest: &Contest, repeats: u64) -> Result<Row> {
    let sum = contest.recipe()?.plan().request().kind.to_string();
    let start = Instant::now();
    let outcomes = contest.repeat(0..repeats)?;
    let seconds = start.elapsed().as_secs_f64();
    let mean = |value: &dyn Fn(&Outcome) -> f64| {
        outcomes.iter().map(value).sum::<f64>() / outcomes.len() as f64
    };
    let regrets = || outcomes.iter().map(Outcome::regret);
    let curve = (0..outcomes[0].curve.len())
        .map(|i| {
            (
                outcomes[0].curve[i].0 as f64,
                mean(&|outcome| outcome.curve[i].1),
            )
        })
        .collect();
    Ok(Row {
        recipe: contest.recipe.to_string(),
        sum,
        epsilon: contest.budget.epsilon(),
        delta: contest.budget.delta(),
        rounds: contest.rounds,
        regret: Spread {
            mean: mean(&Outcome::regret),
            low: regrets().fold(f64::INFINITY, f64::min),
            high: regrets().fold(f64::NEG_INFINITY, f64::max),
        },
        loss: mean(&|outcome| outcome.loss),
        nothing: mean(&|outcome| outcome.nothing - outcome.hindsight),
        seconds,
        curve,
    })
}

const HEAD: [&str; 8] = [
    "recipe",
    "sum",
    "ε",
    "regret",
    "smallest",
    "largest",
    "doing nothing",
    "seconds",
];

fn cells(row: &Row) -> [String; 8] {
    [
        row.recipe.clone(),
        row.sum.clone(),
        row.epsilon.to_string(),
        short(row.regret.mean),
        short(row.regret.low),
        short(row.regret.high),
        short(row.nothing),
        short(row.seconds),
    ]
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

fn series(rows: &[Row]) -> Vec<Series> {
    rows.iter()
        .map(|row| Series {
            name: format!("{} {} ε={}", row.recipe, row.sum, row.epsilon),
            // A learner can be ahead of the best fixed point; a logarithm cannot show it.
            points: row
                .curve
                .iter()
                .copied()
                .filter(|point| point.1 > 0.0)
                .collect(),
        })
        .collect()
}

fn csv(rows: &[Row]) -> String {
    let mut out = String::from("recipe,sum,epsilon,delta,round,regret\n");
    for row in rows {
        for (t, regret) in &row.curve {
            let _ = writeln!(
                out,
                "{},{},{},{},{t},{regret}",
                row.recipe, row.sum, row.epsilon, row.delta
            );
        }
    }
    out
}

fn page(title: &str, rows: &[Row], chart: &str) -> String {
    let cell = |tag: &str, text: &str| format!("<{tag}>{text}</{tag}>");
    let head: String = HEAD.iter().map(|name| cell("th", name)).collect();
    let body: String = rows
        .iter()
        .map(|row| {
            cell(
                "tr",
                &cells(row)
                    .iter()
                    .map(|text| cell("td", text))
                    .collect::<String>(),
            )
        })
        .collect();
    format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>Hushstream: {title}</title>\n\
         <style>body{{font-family:sans-serif;max-width:60em;margin:2em auto}}td,th{{padding:.2em .8em;text-align:right}}\
         td:nth-child(-n+2),th:nth-child(-n+2){{text-align:left}}</style>\n\
         <h1>Regret</h1>\n<p>{title}. Simulated noise on synthetic data: nothing here protects anybody.</p>\n\
         {chart}\n<table><tr>{head}</tr>{body}</table>\n"
    )
}
