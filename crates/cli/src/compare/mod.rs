//! `hushstream compare`: compares the regret of recipes on synthetic games. The noise is simulated
//! and the data public: nothing here protects anybody.

mod arguments;
mod decisions;
mod output;
mod rows;

pub(crate) use arguments::Arguments;

use crate::figure::{Figure, Settings, draw};
use crate::output::tell;
use anyhow::{Context, Result, bail};
use hushstream_pictures::chart::log_log;
use output::{csv, page, series, table};
use std::path::PathBuf;

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if let Some(figure) = arguments.figure {
        return run_figure(arguments, figure);
    }
    let rows = rows::rows(arguments)?;
    let title = arguments.title()?;
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
        tell!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        tell!("{title}");
        tell!("{}", table(&rows));
        tell!("Simulated noise on synthetic data: nothing here protects anybody.");
    }
    Ok(())
}

fn run_figure(arguments: &Arguments, figure: Figure) -> Result<()> {
    if arguments.json {
        bail!("a figure has no JSON; use --csv for its numbers");
    }
    let settings = Settings {
        rounds: arguments.rounds,
        repeats: arguments.repeats,
        as_printed: arguments.as_printed,
        data: arguments.data.as_deref(),
    };
    let drawn = draw(figure, &settings)?;
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
                "<!doctype html>\n<meta charset=\"utf-8\">\n<title>Hushstream</title>\n\
                 {}\n<pre>{text}</pre>\n",
                drawn.svg
            ),
        )?;
    }
    tell!("{}", drawn.text);
    Ok(())
}

fn write(path: &PathBuf, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
