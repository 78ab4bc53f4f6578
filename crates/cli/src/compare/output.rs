//! The rows of `compare` as table, curves and page.

use super::rows::Row;
use comfy_table::Table;
use hushstream_pictures::chart::Series;
use hushstream_pictures::numbers::short;
use std::fmt::Write as _;

/// The columns, and a cell of each. Where no row has a cell, there is no column.
type Column = (&'static str, fn(&Row) -> Option<String>);

const COLUMNS: [Column; 11] = [
    ("recipe", |row| Some(row.recipe.clone())),
    ("mechanism", |row| Some(row.sum.clone())),
    ("game", |row| Some(row.game.clone())),
    ("ε", |row| Some(row.epsilon.to_string())),
    ("regret", |row| Some(short(row.regret.mean))),
    ("smallest", |row| Some(short(row.regret.low))),
    ("largest", |row| Some(short(row.regret.high))),
    ("without privacy", |row| row.without_privacy.map(short)),
    ("certified", |row| {
        Some(row.certified.map_or_else(|| "–".to_owned(), short))
    }),
    ("doing nothing", |row| Some(short(row.nothing))),
    ("seconds", |row| Some(short(row.seconds))),
];

fn columns(rows: &[Row]) -> Vec<Column> {
    let is_there = |column: &Column| rows.iter().any(|row| (column.1)(row).is_some());
    COLUMNS.into_iter().filter(is_there).collect()
}

fn head(rows: &[Row]) -> impl Iterator<Item = &'static str> {
    columns(rows).into_iter().map(|column| column.0)
}

fn cells(rows: &[Row]) -> impl Iterator<Item = Vec<String>> {
    let columns = columns(rows);
    let cells = move |row: &Row| {
        let cell = |column: &Column| (column.1)(row).unwrap_or_default();
        columns.iter().map(cell).collect::<Vec<_>>()
    };
    rows.iter().map(cells)
}

pub(crate) fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table
        .load_style(comfy_table::presets::UTF8_HORIZONTAL_ONLY)
        .set_header(head(rows));
    for row in cells(rows) {
        table.add_row(row);
    }
    table
}

pub(crate) fn series(rows: &[Row]) -> Vec<Series> {
    let line = |name: String, curve: &[(f64, f64)]| Series {
        name,
        // Regret can be negative, and a logarithmic axis cannot show it.
        points: curve.iter().copied().filter(|p| p.1 > 0.0).collect(),
    };
    let mut all = Vec::new();
    for row in rows {
        let name = format!("{} {} ε={} {}", row.recipe, row.sum, row.epsilon, row.game);
        all.push(line(name, &row.curve));
        if row.without_privacy.is_some() {
            let name = format!("{} without privacy, {}", row.recipe, row.game);
            all.push(line(name, &row.exact_curve));
        }
    }
    all
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
        for (t, regret) in &row.exact_curve {
            let _ = writeln!(out, "{},exact,{},inf,0,{t},{regret}", row.recipe, row.game);
        }
    }
    out
}

pub(crate) fn page(title: &str, rows: &[Row], chart: &str) -> String {
    let cell = |tag: &str, text: &str| format!("<{tag}>{text}</{tag}>");
    let head: String = head(rows).map(|name| cell("th", name)).collect();
    let row = |cells: Vec<String>| {
        let cells: String = cells.iter().map(|text| cell("td", text)).collect();
        cell("tr", &cells)
    };
    let body: String = cells(rows).map(row).collect();
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
