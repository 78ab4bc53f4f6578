//! `hushstream predict`: predicts new data with a published model.

use crate::learn::arguments::TableText;
use anyhow::{Result, bail};
use clap::Args;
use hushstream::files::{WholeFile, check_distinct};
use hushstream::model::Model;
use hushstream::scores::Scores;
use hushstream::target::Target;
use hushstream_mechanism::decisions::Policy;
use hushstream_mechanism::losses::{Features, Record};
use hushstream_mechanism::{OperatorOnly, Raw, Scoreboard, Yardstick};
use hushstream_read::{Form, Format, Input, Reader, Row, TargetKind};
use serde::Serialize;
use std::io::{BufWriter, Stdout, Write};
use std::path::{Path, PathBuf};

/// Arguments of `predict`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// A model file.
    model: PathBuf,
    /// New data, or - for standard input.
    file: String,
    /// csv, tsv, jsonl, vw or libsvm; by default from the file's name.
    #[arg(long)]
    format: Option<String>,
    #[command(flatten)]
    table: TableText,
    /// The table has a header. By default, if the training table had none, this one has none
    /// either, and its columns are in the same order.
    #[arg(long, conflicts_with_all = ["no_header", "names"])]
    header: bool,
    /// Quoted fields of csv and tsv may hold line breaks.
    #[arg(long)]
    multiline: bool,
    /// Write predictions here instead of to standard output.
    #[arg(long)]
    output: Option<PathBuf>,
    /// Print one JSON object with metrics over the rows that have a target, instead of predictions.
    #[arg(long)]
    json: bool,
}

/// The object of `--json`.
#[derive(Serialize)]
struct Told {
    rows: u64,
    /// Rows with a target: the metrics are over these.
    labelled: u64,
    metrics: Option<Scores>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let (model, notes) = Model::read(&arguments.model)?;
    notes.iter().for_each(|note| eprintln!("{note}"));
    if *model.layout.target() == TargetKind::None && model.policy.is_none() {
        bail!(
            "this model weights experts or arms and predicts no target: \
             `hushstream inspect` shows the weights"
        );
    }
    if let Some(output) = &arguments.output {
        check_distinct(&[
            ("the model", &arguments.model),
            ("the data", Path::new(&arguments.file)),
            ("the output", output),
        ])?;
    }
    let mut input = Input::open(&arguments.file)?;
    if arguments.multiline {
        input = input.multiline();
    }
    let format = match &arguments.format {
        Some(name) => name.parse::<Format>()?,
        None => input.guess_format()?,
    };
    let form = form(arguments, &model, format, input.is_parquet())?;
    let mut reader = Reader::with_layout(input, form, &model.layout)?;
    if let Some(policy) = model.policy()? {
        return decide(arguments, &model, &policy, reader);
    }
    let predictor = Predictor::new(&model);
    let mut board = predictor.board();
    let (mut row, mut rows) = (Row::default(), 0);
    let mut out = Destination::open(arguments)?;
    out.line(&predictor.header())?;
    while reader.next_row(&mut row)? {
        rows += 1;
        let scores = model.scores(&row.features);
        out.line(&predictor.line(&scores))?;
        if let Some(target) = row.target {
            predictor.compare(&mut board, &scores, target);
        }
    }
    out.close()?;
    let summary = board.summary();
    let summary = summary.for_the_operator();
    let told = Told {
        rows,
        labelled: summary.scored,
        metrics: Scores::of(summary),
    };
    if arguments.json {
        let text = serde_json::to_string_pretty(&told)?;
        writeln!(std::io::stdout(), "{text}")?;
    } else if let Some(metrics) = &told.metrics {
        let own: Vec<String> = (metrics.own().into_iter().chain(metrics.baselines()))
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        eprintln!("{} rows with a target: {}", told.labelled, own.join(", "));
    }
    Ok(())
}

/// The likeliest arm for every context, and the probabilities of all.
fn decide(arguments: &Arguments, model: &Model, policy: &Policy, mut reader: Reader) -> Result<()> {
    if arguments.json {
        bail!("--json is for metrics, and a policy predicts no target: leave it out");
    }
    let mut out = Destination::open(arguments)?;
    let names = model.arm_names();
    let head = names
        .iter()
        .map(|name| quoted(&format!("probability of {name}")));
    let head: Vec<String> = head.collect();
    out.line(&format!("arm,{}", head.join(",")))?;
    let mut row = Row::default();
    while reader.next_row(&mut row)? {
        let context = match &row.features {
            Features::Dense(values) => values.as_slice(),
            Features::Sparse(_) => &[],
        };
        let chances = policy.answer(context).unwrap_or_default();
        let likeliest = (0..chances.len()).max_by(|&a, &b| chances[a].total_cmp(&chances[b]));
        let name = likeliest.and_then(|arm| names.get(arm));
        let texts: Vec<String> = chances
            .iter()
            .map(|chance| format!("{chance:.6}"))
            .collect();
        let name = name.map_or("", String::as_str);
        out.line(&format!("{},{}", quoted(name), texts.join(",")))?;
    }
    out.close()
}

/// The form of the new data: the flags', or that of the training data.
fn form(arguments: &Arguments, model: &Model, format: Format, is_parquet: bool) -> Result<Form> {
    let mut table = arguments.table.clone();
    let is_text = matches!(format, Format::Csv | Format::Tsv) && !is_parquet;
    let is_stated = arguments.header || table.no_header || !table.names.is_empty();
    if model.no_header && is_text && !is_stated {
        table.no_header = true;
        table.names.clone_from(&model.names);
        eprintln!(
            "note: the model was learned from a table without a header, and this one is read the \
             same way; add --header if it has one"
        );
    }
    Ok(table.form(format)?)
}

/// The destination of predictions.
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
                Ok(file) => Ok(file.finish()?),
                Err(error) => Err(error.into_error().into()),
            },
            Self::Screen(mut screen) => Ok(screen.flush()?),
            Self::Nowhere => Ok(()),
        }
    }
}

/// Turns scores into lines of CSV and metrics.
struct Predictor<'a> {
    kind: &'a TargetKind,
    target: Target,
    /// Added to the score of a numeric target.
    offset: f64,
}

impl<'a> Predictor<'a> {
    fn new(model: &'a Model) -> Self {
        Self {
            kind: model.layout.target(),
            target: Target::new(&model.layout, model.probability),
            offset: model.offset,
        }
    }

    /// Names of the columns.
    fn header(&self) -> String {
        match (self.kind, self.target.probability) {
            (TargetKind::Number { .. }, _) => "prediction".to_owned(),
            (_, None) => "prediction,score".to_owned(),
            (TargetKind::Class { .. }, _) => "prediction,probability,score".to_owned(),
            _ => {
                let column = format!("probability of {}", self.target.name(1));
                format!("prediction,{},score", quoted(&column))
            }
        }
    }

    /// The prediction for a row: a number, or the class with its probability (the positive class's
    /// for two classes), if the model has one, and its score.
    fn line(&self, scores: &[f64]) -> String {
        let first = scores.first().copied().unwrap_or(0.0);
        let map = self.target.probability;
        let (class, chance, score) = match self.kind {
            TargetKind::Number { .. } => return self.number(first).to_string(),
            TargetKind::Class { .. } => {
                let best = (0..scores.len())
                    .fold(0, |best, k| if scores[k] > scores[best] { k } else { best });
                let chance = map.and_then(|map| {
                    let mut chances = scores.to_vec();
                    map.of_classes(&mut chances);
                    chances.get(best).copied()
                });
                (best, chance, scores.get(best).copied().unwrap_or(0.0))
            }
            _ => {
                let chance = map.map(|map| map.of_positive(first));
                (usize::from(first > 0.0), chance, first)
            }
        };
        let chance = chance.map_or(String::new(), |chance| format!(",{chance}"));
        format!("{}{chance},{score}", quoted(self.target.name(class)))
    }

    /// The predicted number for a score.
    fn number(&self, score: f64) -> f64 {
        match self.kind {
            TargetKind::Number { low, high } => (score + self.offset).clamp(*low, *high),
            _ => score,
        }
    }

    fn board(&self) -> Scoreboard {
        let map = self.target.probability;
        let yardstick = match self.kind {
            TargetKind::Class { classes } => Yardstick::Classes(classes.len(), map),
            TargetKind::Number { low, high } => Yardstick::Number(*low, *high),
            _ => Yardstick::Sign(map),
        };
        // The features are clipped already.
        Scoreboard::new(yardstick, f64::INFINITY)
    }

    fn compare(&self, board: &mut Scoreboard, scores: &[f64], target: f64) {
        let record = |target| Record {
            features: Features::Dense(vec![1.0]),
            target,
        };
        if let TargetKind::Class { .. } = self.kind {
            board.score(&Raw::seal(record(target)), scores);
        } else {
            let first = scores.first().copied().unwrap_or(0.0);
            let record = record(target + self.target.midpoint);
            board.note(&Raw::seal(record), &OperatorOnly::new(self.number(first)));
        }
    }
}

/// A CSV field, quoted if necessary.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}
