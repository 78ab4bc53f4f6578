//! The rows of `compare` as table, curves and page.

use super::rows::Row;
use comfy_table::Table;
use hushstream_pictures::chart::Series;
use hushstream_pictures::numbers::short;
use std::fmt::Write as _;

const HEAD: [&str; 10] = [
    "recipe",
    "mechanism",
    "game",
    "ε",
    "regret",
    "smallest",
    "largest",
    "certified",
    "doing nothing",
    "seconds",
];

fn cells(row: &Row) -> [String; 10] {
    [
        row.recipe.clone(),
        row.sum.clone(),
        row.game.clone(),
        row.epsilon.to_string(),
        short(row.regret.mean),
        short(row.regret.low),
        short(row.regret.high),
        row.certified.map_or_else(|| "–".to_owned(), short),
        short(row.nothing),
        short(row.seconds),
    ]
}

pub(crate) fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table
        .load_style(comfy_table::presets::UTF8_HORIZONTAL_ONLY)
        .set_header(HEAD);
    for row in rows {
        table.add_row(cells(row));
    }
    table
}

pub(crate) fn series(rows: &[Row]) -> Vec<Series> {
    rows.iter()
        .map(|row| Series {
            name: format!("{} {} ε={} {}", row.recipe, row.sum, row.epsilon, row.game),
            // Regret can be negative, and a logarithmic axis cannot show it.
            points: row
                .curve
                .iter()
                .copied()
                .filter(|point| point.1 > 0.0)
                .collect(),
        })
        .collect()
}

pub(crate) fn csv(rows: &[Row]) -> String {
    let mut out = String::from("recipe,sum,game,epsilon,delta,round,regret\n");
    for row in rows {
        for (t, regret) in &row.curve {
            let _ = writeln!(
                out,
                "{},{},{},{},{},{t},{regret}",
                row.recipe, row.sum, row.game, row.epsilon, row.delta
            );
        }
    }
    out
}

pub(crate) fn page(title: &str, rows: &[Row], chart: &str) -> String {
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
         <style>body{{font-family:sans-serif;max-width:60em;margin:2em auto}}\
         td,th{{padding:.2em .8em;text-align:right}}\
         td:nth-child(-n+2),th:nth-child(-n+2){{text-align:left}}</style>\n\
         <h1>Regret</h1>\n\
         <p>{title}. Simulated noise on synthetic data: nothing here protects anybody.</p>\n\
         {chart}\n<table><tr>{head}</tr>{body}</table>\n"
    )
}
