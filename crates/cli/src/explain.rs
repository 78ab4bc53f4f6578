//! `hushstream explain`: what a published model of curves and tables says.

use crate::learn;
use crate::output::tell;
use anyhow::Result;
use clap::Args;
use hushstream::explain::{Column, Shape, Shapes};
use hushstream::files::{check_distinct, write_whole};
use hushstream::model::Model;
use hushstream_pictures::explain as picture;
use hushstream_pictures::numbers::grouped;
use hushstream_pictures::page::Origin;
use hushstream_pictures::shapes::{Effect, number, plain, signed};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Arguments of `explain`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// A model.
    file: PathBuf,
    /// Write one HTML page with pictures here, instead of text to standard output.
    #[arg(long)]
    html: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if let Some(path) = &arguments.html {
        write_page(&arguments.file, path)?;
        tell!("{}", path.display());
        return Ok(());
    }
    let model = read(&arguments.file)?;
    let shapes = model.explain()?;
    tell!("It predicts {}.\n", shapes.predicts);
    tell!("{}", text(&shapes, usize::MAX));
    Ok(())
}

fn read(file: &Path) -> Result<Model> {
    let (model, notes) = Model::read(file)?;
    notes.iter().for_each(|note| eprintln!("{note}"));
    Ok(model)
}

/// Writes the page of a model.
pub(crate) fn write_page(file: &Path, path: &Path) -> Result<()> {
    check_distinct(&[("the model", file), ("the page", path)])?;
    let model = read(file)?;
    let shapes = model.explain()?;
    let headline = format!(
        "Learned by {}, release {}.",
        model.recipe,
        grouped(model.release)
    );
    let name = file.display().to_string();
    let flags = [
        name.clone(),
        "--html".to_owned(),
        path.display().to_string(),
    ];
    let command = format!("hushstream explain {}", learn::quoted(&flags));
    let page = picture::page(&picture::Page {
        shapes: &shapes,
        guarantee: &model.guarantee.to_string(),
        is_simulated: model.guarantee.is_simulated(),
        headline: &headline,
        origin: Origin {
            command: Some(&command),
            file: Some(&name),
            version: env!("CARGO_PKG_VERSION"),
        },
    });
    Ok(write_whole(path, page.as_bytes())?)
}

/// Columns by importance, one line each.
pub(crate) fn text(shapes: &Shapes, most: usize) -> String {
    let mut text = format!(
        "Columns, by how far each moves the {} beyond its noise; ± is at most about two standard \
         deviations of the noise:\n",
        shapes.unit
    );
    let shown = || shapes.columns.iter().take(most);
    let names = shown().map(|column| column.name.chars().count());
    let width = names.max().unwrap_or(0).min(24);
    for column in shown() {
        let _ = write!(
            text,
            "  {:>7}  {:<width$}",
            plain(column.range),
            column.name
        );
        for (k, output) in shapes.outputs.iter().enumerate() {
            if k > 0 {
                let _ = write!(text, "\n  {:>7}  {:<width$}", "", "");
            }
            if !output.is_empty() {
                let _ = write!(text, "  [{output}]");
            }
            let _ = write!(text, "  {}", words(column, k));
        }
        text.push('\n');
    }
    let left = shapes.columns.len().saturating_sub(most);
    if left > 0 {
        let _ = writeln!(text, "  … and {left} more");
    }
    let base: Vec<String> = shapes.base.iter().map(|&base| signed(base)).collect();
    let _ = write!(
        text,
        "Where all columns are at their means, the score is {}.",
        base.join(", ")
    );
    for pair in shapes.pairs.iter().take(most) {
        let size = pair.cells.iter().map(|cell| cell.value.abs());
        let _ = write!(
            text,
            "\nTogether, {} and {} add up to ±{}.",
            pair.names[0],
            pair.names[1],
            plain(size.fold(0.0, f64::max))
        );
    }
    text
}

/// A column's curve as a line of blocks, or its greatest and least categories.
fn words(column: &Column, output: usize) -> String {
    let values = column.values();
    let at = |value: &(String, &[Effect])| value.1[output].value;
    let greatest = values.iter().max_by(|a, b| at(a).total_cmp(&at(b)));
    let least = values.iter().min_by(|a, b| at(a).total_cmp(&at(b)));
    let (Some(greatest), Some(least)) = (greatest, least) else {
        return String::new();
    };
    let (low, high) = (at(least), at(greatest));
    let ends =
        [greatest, least].map(|(value, effects)| format!("{value} {}", effects[output].text()));
    let ends = ends.join(", ");
    let Shape::Curve { points, .. } = &column.shape else {
        return ends;
    };
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let block = |step: u32| {
        let place = f64::from(step) / 15.0;
        let right = points.partition_point(|point| point.at < place).max(1);
        let right = right.min(points.len() - 1);
        let (a, b) = (&points[right - 1], &points[right]);
        let share = ((place - a.at) / (b.at - a.at).max(1e-12)).clamp(0.0, 1.0);
        let value = a.effects[output].value * (1.0 - share) + b.effects[output].value * share;
        let level = (value - low) / (high - low).max(1e-12) * 7.0;
        BLOCKS[(level.round().max(0.0) as usize).min(7)]
    };
    let line: String = (0..16).map(block).collect();
    let end = |point: Option<&hushstream::explain::Point>| number(point.map_or(0.0, |p| p.x));
    format!(
        "{} {line} {}  {ends}",
        end(points.first()),
        end(points.last())
    )
}
