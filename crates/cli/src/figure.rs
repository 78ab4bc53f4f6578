//! `hushstream compare --figure`: the papers' figures, as printed and as corrected, on public data.

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use comfy_table::Table;
use hushstream_arena::figures::{afkt1, jkt2a, jkt2b, jkt2c, pol, separation};
use hushstream_pictures::chart::{Series, log_log};
use hushstream_pictures::numbers::short;
use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;

/// A figure.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Figure {
    /// JKT12 Figure 2a: private least squares, average regret against ε.
    Jkt2a,
    /// JKT12 Figure 2b: least squares in 90 dimensions, on Year Prediction (--data
    /// YearPredictionMSD.txt) or on synthetic records.
    Jkt2b,
    /// JKT12 Figure 2c: private logistic regression on CoverType (--data covtype.csv), accuracy
    /// against ε.
    Jkt2c,
    /// AFKT22 Figure 1: regret of experts against ε, for d = T.
    Afkt1,
    /// JKT12 §5: accuracy of one private model against output and objective perturbation, pure ε.
    Pol,
    /// AFKT22 §4: regret against T of one learner at ε = 0.1, adaptive and oblivious.
    Separation,
}

/// The note under a figure that shows constants with a false privacy claim.
const UNSOUND: &str = "UNSOUND: the paper's own constants, whose privacy claim is false; \
    simulated on public synthetic data.";

/// Settings of a figure. Without `rounds`, the paper's own number.
pub(crate) struct Settings<'a> {
    pub(crate) rounds: Option<u64>,
    pub(crate) repeats: u64,
    pub(crate) as_printed: bool,
    pub(crate) data: Option<&'a Path>,
}

/// A figure as text, CSV and SVG.
pub(crate) struct Drawn {
    pub(crate) text: String,
    pub(crate) csv: String,
    pub(crate) svg: String,
}

/// One point of a figure: ε, method, mean, minimum and maximum.
struct Point {
    epsilon: f64,
    method: String,
    unsound: bool,
    mean: f64,
    low: f64,
    high: f64,
}

/// Plays a figure.
pub(crate) fn draw(figure: Figure, settings: &Settings<'_>) -> Result<Drawn> {
    if settings.data.is_some() && !matches!(figure, Figure::Jkt2b | Figure::Jkt2c) {
        bail!("--data is for jkt2b and jkt2c; the other figures make their own records");
    }
    match figure {
        Figure::Jkt2a => draw_2a(settings),
        Figure::Jkt2b => draw_2b(settings),
        Figure::Jkt2c => draw_2c(settings),
        Figure::Afkt1 => draw_afkt1(settings.rounds.unwrap_or(afkt1::ROUNDS)),
        Figure::Pol => draw_pol(settings),
        Figure::Separation => draw_separation(settings),
    }
}

fn draw_2a(settings: &Settings<'_>) -> Result<Drawn> {
    let (rounds, repeats) = (settings.rounds.unwrap_or(jkt2a::ROUNDS), settings.repeats);
    let played = jkt2a::figure(rounds, repeats, &jkt2a::EPSILONS)?;
    let points = played.rows.iter().map(|row| Point {
        epsilon: row.epsilon,
        method: row.method.to_string(),
        unsound: row.method.is_unsound(),
        mean: row.mean,
        low: row.low,
        high: row.high,
    });
    let title = format!(
        "JKT12 Figure 2a: T = {rounds}, {repeats} repeats, δ = {:e}, replace-one",
        jkt2a::DELTA
    );
    let note = format!(
        "Average regret against ridge regression in hindsight, whose average loss is {}",
        short(played.ridge)
    );
    Ok(drawn(
        &title,
        &note,
        "average regret",
        &points.collect::<Vec<_>>(),
        UNSOUND,
    ))
}

fn draw_2b(settings: &Settings<'_>) -> Result<Drawn> {
    let (rounds, repeats) = (settings.rounds.unwrap_or(jkt2b::ROUNDS), settings.repeats);
    let methods: &[jkt2b::Method] = if settings.as_printed {
        jkt2b::ALL
    } else {
        jkt2b::SOUND
    };
    let years = match settings.data {
        Some(path) => {
            let file =
                File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
            Some(jkt2b::Years::read(file).with_context(|| path.display().to_string())?)
        }
        None => None,
    };
    let rounds = rounds.min(years.as_ref().map_or(u64::MAX, jkt2b::Years::rounds));
    let records = match years {
        Some(_) => "JKT12 Figure 2b, Year Prediction",
        None => "Like JKT12 Figure 2b, synthetic records",
    };
    let rows = jkt2b::figure(years, rounds, repeats, &jkt2b::EPSILONS, methods)?;
    let points = rows.iter().map(|row| Point {
        epsilon: row.epsilon,
        method: row.method.to_string(),
        unsound: row.method == jkt2b::Method::PrintedNoise,
        mean: row.mean,
        low: row.low,
        high: row.high,
    });
    let title = format!(
        "{records}: T = {rounds}, 90 dimensions, {repeats} repeats, \
         δ = {:e}, replace-one",
        jkt2b::DELTA
    );
    let unsound = if settings.as_printed { UNSOUND } else { "" };
    let note = "Average regret against ridge regression in hindsight";
    Ok(drawn(
        &title,
        note,
        "average regret",
        &points.collect::<Vec<_>>(),
        unsound,
    ))
}

fn draw_2c(settings: &Settings<'_>) -> Result<Drawn> {
    let Some(path) = settings.data else {
        bail!("jkt2c needs its data: --data covtype.csv (Forest CoverType with its header)");
    };
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let data = jkt2c::Cover::read(file).with_context(|| path.display().to_string())?;
    let repeats = settings.repeats;
    let rounds = settings.rounds.unwrap_or(u64::MAX).min(data.rounds());
    let methods: &[jkt2c::Method] = if settings.as_printed {
        &jkt2c::Method::ALL
    } else {
        jkt2c::Method::SOUND
    };
    let rows = jkt2c::figure(&data, Some(rounds), repeats, &jkt2c::EPSILONS, methods)?;
    let points = rows.iter().map(|row| Point {
        epsilon: row.epsilon,
        method: row.method.to_string(),
        unsound: row.method == jkt2c::Method::PrintedProduct,
        mean: row.mean,
        low: row.low,
        high: row.high,
    });
    let title = format!(
        "JKT12 Figure 2c: CoverType, class 2 against the rest, T = {rounds}, a tenth held out, \
         {repeats} repeats, δ = {:e}, replace-one",
        jkt2c::DELTA
    );
    let mut unsound = String::new();
    if settings.as_printed {
        unsound.push_str(
            "Simulated on public data. True δ at ε of the noise as printed, and with \
            c read as a product (UNSOUND):",
        );
        for epsilon in jkt2c::EPSILONS {
            let printed = jkt2c::printed_delta(epsilon, rounds, false)?;
            let product = jkt2c::printed_delta(epsilon, rounds, true)?;
            let _ = write!(unsound, "\n  ε = {epsilon}: {printed:.1e}, {product:.1e}");
        }
    }
    let note = "Accuracy of the last release on the held-out tenth";
    Ok(drawn(
        &title,
        note,
        "accuracy",
        &points.collect::<Vec<_>>(),
        &unsound,
    ))
}

fn draw_pol(settings: &Settings<'_>) -> Result<Drawn> {
    let (rounds, repeats) = (settings.rounds.unwrap_or(pol::ROUNDS), settings.repeats);
    let rows = pol::figure(rounds, repeats, &pol::EPSILONS)?;
    let points = rows.iter().map(|row| Point {
        epsilon: row.epsilon,
        method: row.method.to_string(),
        unsound: false,
        mean: row.mean,
        low: row.low,
        high: row.high,
    });
    let title = format!(
        "JKT12 §5: one model of {rounds} synthetic records, {repeats} repeats, δ = 0, replace-one"
    );
    let note = "Accuracy on as many fresh records; every method has the same ridge, 0.01";
    let points: Vec<Point> = points.collect();
    Ok(drawn(&title, note, "accuracy", &points, ""))
}

/// Table, CSV and picture of the points, ordered by ε and then by method.
fn drawn(title: &str, note: &str, quantity: &str, points: &[Point], unsound: &str) -> Drawn {
    let first = points.first().map_or(0.0, |point| point.epsilon);
    let methods: Vec<&str> = points
        .iter()
        .take_while(|point| point.epsilon.total_cmp(&first).is_eq())
        .map(|point| &point.method[..])
        .collect();
    let mut table = Table::new();
    let mut head = vec!["ε"];
    head.extend(&methods);
    table
        .load_style(comfy_table::presets::UTF8_HORIZONTAL_ONLY)
        .set_header(head);
    for line in points.chunks(methods.len().max(1)) {
        let mut cells = vec![line[0].epsilon.to_string()];
        cells.extend(line.iter().map(|point| short(point.mean)));
        table.add_row(cells);
    }
    let mut csv = String::from("epsilon,method,unsound,mean,low,high\n");
    for point in points {
        let _ = writeln!(
            csv,
            "{},{},{},{},{},{}",
            point.epsilon, point.method, point.unsound, point.mean, point.low, point.high
        );
    }
    let series: Vec<Series> = methods
        .iter()
        .map(|method| Series {
            name: (*method).to_owned(),
            points: points
                .iter()
                .filter(|point| point.method == *method && point.mean > 0.0)
                .map(|point| (point.epsilon, point.mean))
                .collect(),
        })
        .collect();
    let mut text = format!("{title}\n{note}\n{table}");
    if !unsound.is_empty() {
        let _ = write!(text, "\n{unsound}");
    }
    Drawn {
        text,
        csv,
        svg: log_log(title, "ε", quantity, &series),
    }
}

/// Two curves of regret against T.
fn draw_separation(settings: &Settings<'_>) -> Result<Drawn> {
    let rounds = settings.rounds.unwrap_or(separation::ROUNDS);
    let rows = separation::figure(rounds, settings.repeats)?;
    let mut table = Table::new();
    table
        .load_style(comfy_table::presets::UTF8_HORIZONTAL_ONLY)
        .set_header(["T", "adaptive", "a round", "oblivious", "a round"]);
    let mut csv = String::from("rounds,game,regret\n");
    for row in &rows {
        let each = |regret: f64| short(regret / row.rounds as f64);
        table.add_row([
            row.rounds.to_string(),
            short(row.adaptive),
            each(row.adaptive),
            short(row.oblivious),
            each(row.oblivious),
        ]);
        let _ = writeln!(csv, "{},adaptive,{}", row.rounds, row.adaptive);
        let _ = writeln!(csv, "{},oblivious,{}", row.rounds, row.oblivious);
    }
    let line = |name: &str, value: &dyn Fn(&separation::Row) -> f64| Series {
        name: name.to_owned(),
        points: rows
            .iter()
            .map(|row| (row.rounds as f64, value(row)))
            .filter(|point| point.1 > 0.0)
            .collect(),
    };
    let series = [
        line("T", &|row| row.rounds as f64),
        line("adaptive (Theorem 5)", &|row| row.adaptive),
        line("oblivious (the same losses)", &|row| row.oblivious),
    ];
    let title = format!(
        "AFKT22 §4: the dartboard at ε = {}, δ = 0, replace-one, {} repeats",
        separation::EPSILON,
        settings.repeats
    );
    let text = format!(
        "{title}\nRegret against the adversary of Theorem 5, who sees the plays, and against its \
         losses once more, fixed in advance, with fresh coins; 2T/0.9 experts.\n{table}"
    );
    let svg = log_log(&title, "rounds T", "mean regret", &series);
    Ok(Drawn { text, csv, svg })
}

/// The paper's exponents and the certified bounds. No game is played.
fn draw_afkt1(rounds: u64) -> Result<Drawn> {
    let rows = afkt1::figure(rounds)?;
    let printed = ["prior work", "dartboard", "batched"];
    let certified = ["dartboard", "dartboard-batched", "hedge-batched"];
    let mut table = Table::new();
    let mut head = vec!["α".to_owned(), "ε = T^-α".to_owned()];
    head.extend(printed.iter().map(|name| format!("β, {name}")));
    head.extend(certified.iter().map(|name| format!("bound, {name}")));
    table
        .load_style(comfy_table::presets::UTF8_HORIZONTAL_ONLY)
        .set_header(head);
    let mut csv = String::from("alpha,epsilon,method,printed_exponent,certified_bound\n");
    for row in &rows {
        let mut cells = vec![format!("{:.3}", row.alpha), short(row.epsilon)];
        cells.extend(row.printed.iter().map(|beta| format!("{beta:.3}")));
        cells.extend(row.certified.iter().map(|bound| short(*bound)));
        table.add_row(cells);
        for (name, beta) in printed.iter().zip(&row.printed) {
            let _ = writeln!(
                csv,
                "{},{},{name} (printed),{beta},",
                row.alpha, row.epsilon
            );
        }
        for (name, bound) in certified.iter().zip(&row.certified) {
            let _ = writeln!(csv, "{},{},{name},,{bound}", row.alpha, row.epsilon);
        }
    }
    let mut series = Vec::new();
    for (index, name) in printed.iter().enumerate() {
        let point = |row: &afkt1::Row| (row.epsilon, (rounds as f64).powf(row.printed[index]));
        series.push(Series {
            name: format!("{name} as printed, T^β"),
            points: rows.iter().map(point).collect(),
        });
    }
    for (index, name) in certified.iter().enumerate() {
        series.push(Series {
            name: format!("{name}, certified"),
            points: rows
                .iter()
                .map(|row| (row.epsilon, row.certified[index]))
                .collect(),
        });
    }
    let title = format!(
        "AFKT22 Figure 1: T = d = {rounds}, δ = {:e}, replace-one",
        afkt1::DELTA
    );
    let text = format!(
        "{title}\nExponents β of regret T^β at ε = T^-α as the paper draws them (logarithms \
         dropped), and the bounds certified at this T; \
         {rounds} is the trivial bound, and one above it says nothing.\n{table}"
    );
    let svg = log_log(&title, "ε", "regret", &series);
    Ok(Drawn { text, csv, svg })
}
