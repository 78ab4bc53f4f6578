//! `hushstream recipes`: the source, guarantee and use of every algorithm; with `--bounds` also the
//! papers' tables.

use crate::output::tell;
use anyhow::Result;
use clap::Args;
use comfy_table::{ContentArrangement, Table as Grid};
use hushstream_recipes::{CATALOGUE, Entry, TABLES, Table};
use serde_json::{Value, json};

/// Arguments of `recipes`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Also show the regret bounds and the papers' tables, as printed and as corrected.
    #[arg(long)]
    bounds: bool,
    /// Print a JSON list (with `--bounds` an object: `recipes` and `tables`).
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if arguments.json {
        let recipes: Vec<Value> = CATALOGUE.iter().map(entry_json).collect();
        let output = if arguments.bounds {
            let tables: Vec<Value> = TABLES.iter().map(table_json).collect();
            json!({ "recipes": recipes, "tables": tables })
        } else {
            Value::from(recipes)
        };
        tell!("{}", serde_json::to_string_pretty(&output)?);
        return Ok(());
    }
    for entry in CATALOGUE {
        print_entry(entry, arguments.bounds);
    }
    if arguments.bounds {
        for table in TABLES {
            print_table(table);
        }
    }
    Ok(())
}

fn entry_json(entry: &Entry) -> Value {
    json!({
        "recipe": entry.name,
        "source": entry.source,
        "errata": entry.errata,
        "guarantee": entry.guarantee,
        "when": entry.when,
        "mechanism": entry.mechanism.to_string(),
        "bound": { "printed": entry.printed, "holds": entry.holds },
    })
}

fn table_json(table: &Table) -> Value {
    let cells: Vec<Value> = table
        .cells
        .iter()
        .map(|cell| {
            json!({
                "setting": cell.setting,
                "whose": cell.whose,
                "printed": cell.printed,
                "holds": cell.holds,
                "errata": cell.errata,
            })
        })
        .collect();
    json!({ "paper": table.paper, "table": table.number, "about": table.about, "cells": cells })
}

fn print_entry(entry: &Entry, bounds: bool) {
    tell!(
        "{}  ({}; corrected: {})",
        entry.name,
        entry.source,
        entry.errata.join(", ")
    );
    tell!("    guarantee  {}", entry.guarantee);
    tell!("    when       {}", entry.when);
    tell!("    mechanism  {}", entry.mechanism);
    if bounds {
        tell!("    regret     as printed: {}", entry.printed);
        tell!("               as corrected: {}", entry.holds);
    }
    tell!("");
}

fn print_table(table: &Table) {
    tell!("{} Table {}: {}", table.paper, table.number, table.about);
    let mut grid = Grid::new();
    grid.load_style(comfy_table::presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(150)
        .set_header(["setting", "whose", "as printed", "as corrected", "errata"]);
    for cell in table.cells {
        let errata = cell.errata.join(" ");
        grid.add_row([
            cell.setting,
            cell.whose,
            cell.printed,
            cell.holds,
            errata.as_str(),
        ]);
    }
    tell!("{grid}\n");
}
