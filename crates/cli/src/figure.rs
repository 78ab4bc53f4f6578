//! `hushstream compare --figure`: the papers' figures, as printed and as corrected, on synthetic public data.

use crate::chart::{Series, log_log};
use crate::numbers::short;
use anyhow::Result;
use clap::ValueEnum;
use comfy_table::Table;
use hushstream_arena::figures::{afkt1, jkt2a};
use std::fmt::Write as _;

/// A figure.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Figure {
    /// JKT12 Figure 2a: private least squares, average regret against ε.
    Jkt2a,
    /// AFKT22 Figure 1: regret of experts against ε, for d = T.
    Afkt1,
}

/// A figure as text, and the same as files want it.
pub(crate) struct Drawn {
    pub(crate) text: String,
    pub(crate) csv: String,
    pub(crate) svg: String,
}

/// Plays a figure. `rounds` and `repeats` are the paper's own unless they are given.
pub(crate) fn draw(figure: Figure, rounds: Option<u64>, repeats: u64) -> Result<Drawn> {
    match figure {
        Figure::Jkt2a => draw_jkt2a(rounds.unwrap_or(jkt2a::ROUNDS), repeats),
        Figure::Afkt1 => draw_afkt1(rounds.unwrap_or(afkt1::ROUNDS)),
    }
}

fn draw_jkt2a(rounds: u64, repeats: u64) -> Result<Drawn> {
    let played = jkt2a::figure(rounds, repeats, &jkt2a::EPSILONS)?;
    let mut table = Table::new();
    let mut head = vec!["ε".to_owned()];
    head.extend(jkt2a::Method::ALL.iter().map(ToString::to_string));
    table
        .load_style(comfy_table::presets::UTF8_HORIZONTAL_ONLY)
        .set_header(head);
    for rows in played.rows.chunks(jkt2a::Method::ALL.len()) {
        let mut cells = vec![rows[0].epsilon.to_string()];
        cells.extend(rows.iter().map(|row| short(row.mean)));
        table.add_row(cells);
    }
    let mut csv = String::from("epsilon,method,unsound,mean,low,high\n");
    for row in &played.rows {
        let (method, unsound) = (row.method, row.method.is_unsound());
        let _ = writeln!(
            csv,
            "{},{method},{unsound},{},{},{}",
            row.epsilon, row.mean, row.low, row.high
        );
    }
    let series: Vec<Series> = jkt2a::Method::ALL
        .into_iter()
        .map(|method| Series {
            name: method.to_string(),
            points: played
                .rows
                .iter()
                .filter(|row| row.method == method && row.mean > 0.0)
                .map(|row| (row.epsilon, row.mean))
                .collect(),
        })
        .collect();
    let title = format!(
        "JKT12 Figure 2a: T = {rounds}, {repeats} repeats, δ = {:e}, replace-one",
        jkt2a::DELTA
    );
    let text = format!(
        "{title}\nAverage regret against ridge regression in hindsight, whose average loss is {}\n{table}\n\
         UNSOUND: the paper's own constants, whose privacy claim is false; simulated on public synthetic data.",
        short(played.ridge)
    );
    let svg = log_log(&title, "ε", "average regret", &series);
    Ok(Drawn { text, csv, svg })
}

/// Exponents as the paper draws them, and bounds as they are certified: nothing is played.
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
        "{title}\nExponents β of regret T^β at ε = T^-α as the paper draws them (logarithms dropped), and the bounds certified at this T; \
         {rounds} is what following anybody has.\n{table}"
    );
    let svg = log_log(&title, "ε", "regret", &series);
    Ok(Drawn { text, csv, svg })
}
