//! `hushstream compare --figure`: the papers' figures, as printed and as corrected, on synthetic public data.

use crate::chart::{Series, log_log};
use crate::numbers::short;
use anyhow::Result;
use clap::ValueEnum;
use comfy_table::Table;
use hushstream_arena::figures::jkt2a;
use std::fmt::Write as _;

/// A figure.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Figure {
    /// JKT12 Figure 2a: private least squares, average regret against ε.
    Jkt2a,
}

/// A figure as text, and the same as files want it.
pub(crate) struct Drawn {
    pub(crate) text: String,
    pub(crate) csv: String,
    pub(crate) svg: String,
}

/// Plays a figure. `rounds` and `repeats` are the paper's own unless they are given.
pub(crate) fn draw(figure: Figure, rounds: Option<u64>, repeats: u64) -> Result<Drawn> {
    let Figure::Jkt2a = figure;
    let rounds = rounds.unwrap_or(jkt2a::ROUNDS);
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
