//! `hushstream predict`: a published model on new data.

use crate::learn::files::{WholeFile, check_distinct};
use crate::learn::model::Model;
use anyhow::{Result, bail};
use clap::Args;
use hushstream_read::{Format, Input, Reader, Row, TargetKind};
use std::io::{BufWriter, Stdout, Write};
use std::path::{Path, PathBuf};

/// Arguments of `predict`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// A model file.
    model: PathBuf,
    /// New data, or - for standard input.
    file: String,
    /// csv, tsv, jsonl, vw or libsvm; by default what the file's name says.
    #[arg(long)]
    format: Option<String>,
    /// Write predictions here instead of to standard output.
    #[arg(long)]
    output: Option<PathBuf>,
    /// Print one JSON object with the error on rows that have a target, instead of predictions.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let model = Model::read(&arguments.model)?;
    if *model.layout.target() == TargetKind::None {
        bail!(
            "this model says which experts to follow, or arms to play: `hushstream inspect` shows their weights"
        );
    }
    if let Some(output) = &arguments.output {
        check_distinct(&[
            ("the model", &arguments.model),
            ("the data", Path::new(&arguments.file)),
            ("the output", output),
        ])?;
    }
    let input = Input::open(&arguments.file)?;
    let format = match &arguments.format {
        Some(name) => name.parse::<Format>()?,
        None => input.guess_format()?,
    };
    let mut reader = Reader::with_layout(input, format, &model.layout)?;
    let mut row = Row::default();
    let mut tally = Tally::default();
    let mut out = Destination::open(arguments)?;
    while reader.next_row(&mut row)? {
        let (text, value) = predict(&model, &row);
        if let Some(target) = row.target {
            tally.add(&model, value, target);
        }
        tally.rows += 1;
        out.line(&text)?;
    }
    out.close()?;
    if arguments.json {
        let text = serde_json::to_string_pretty(&tally.tell(&model))?;
        writeln!(std::io::stdout(), "{text}")?;
    } else if tally.labelled > 0 {
        eprintln!("{}", tally.words(&model));
    }
    Ok(())
}

/// Where predictions go.
enum Destination {
    File(BufWriter<WholeFile>),
    Screen(BufWriter<Stdout>),
    Nowhere,
}

impl Destination {
    fn open(arguments: &Arguments) -> Result<Self> {
        Ok(match &arguments.output {
            Some(path) => Self::File(BufWriter::new(WholeFile::create(path)?)),
            None if arguments.json => Self::Nowhere,
            None => Self::Screen(BufWriter::new(std::io::stdout())),
        })
    }

    fn line(&mut self, text: &str) -> Result<()> {
        match self {
            Self::File(file) => writeln!(file, "{text}")?,
            Self::Screen(screen) => writeln!(screen, "{text}")?,
            Self::Nowhere => {}
        }
        Ok(())
    }

    fn close(self) -> Result<()> {
        match self {
            Self::File(file) => match file.into_inner() {
                Ok(file) => file.finish(),
                Err(error) => Err(error.into_error().into()),
            },
            Self::Screen(mut screen) => Ok(screen.flush()?),
            Self::Nowhere => Ok(()),
        }
    }
}

/// A prediction in words, and as the encoded target it stands for.
fn predict(model: &Model, row: &Row) -> (String, f64) {
    let scores = model.scores(&row.features);
    match model.layout.target() {
        TargetKind::Class { classes } => {
            let best = (0..scores.len())
                .fold(0, |best, k| if scores[k] > scores[best] { k } else { best });
            (classes.get(best).cloned().unwrap_or_default(), best as f64)
        }
        TargetKind::Number { low, high } => {
            let value = scores.first().map_or(0.0, |score| score.clamp(*low, *high));
            (format!("{value}"), value)
        }
        _ => {
            let score = scores.first().copied().unwrap_or(0.0);
            (
                format!("{} {score}", if score > 0.0 { 1 } else { -1 }),
                score,
            )
        }
    }
}

/// How right the predictions were, where the data says.
#[derive(Default)]
struct Tally {
    rows: u64,
    labelled: u64,
    right: u64,
    squares: f64,
}

impl Tally {
    fn add(&mut self, model: &Model, value: f64, target: f64) {
        self.labelled += 1;
        self.right += u64::from(match model.layout.target() {
            TargetKind::Class { .. } => (value - target).abs() < 0.5,
            _ => (value > 0.0) == (target > 0.0),
        });
        self.squares += (value - target).powi(2);
    }

    fn is_number(model: &Model) -> bool {
        matches!(model.layout.target(), TargetKind::Number { .. })
    }

    fn tell(&self, model: &Model) -> serde_json::Value {
        let labelled = self.labelled.max(1) as f64;
        let known = |value: f64| (self.labelled > 0).then_some(value);
        let number = Self::is_number(model);
        serde_json::json!({
            "rows": self.rows,
            "labelled": self.labelled,
            "accuracy": if number { None } else { known(self.right as f64 / labelled) },
            "squared_error": if number { known(self.squares / labelled) } else { None },
        })
    }

    fn words(&self, model: &Model) -> String {
        let labelled = self.labelled as f64;
        if Self::is_number(model) {
            format!(
                "{} rows with a target: mean squared error {:.6}",
                self.labelled,
                self.squares / labelled
            )
        } else {
            format!(
                "{} rows with a target: {:.6} right",
                self.labelled,
                self.right as f64 / labelled
            )
        }
    }
}
