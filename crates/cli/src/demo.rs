//! `hushstream demo`: `learn` on embedded data sets. The first run needs no data and no network.

use crate::{explain, learn};
use anyhow::{Context, Result};
use clap::{Args, Parser};
use flate2::read::GzDecoder;
use hushstream::files::write_whole;
use hushstream::model::Model;
use hushstream_pictures::glance;
use hushstream_pictures::numbers::grouped;
use hushstream_pictures::report::Headline;
use std::io::Read;
use std::path::{Path, PathBuf};

/// 32,561 people and 327,346 flights: see `data/README.md`.
const PEOPLE: &[u8] = include_bytes!("../data/adult.csv.gz");
const PEOPLE_SCHEMA: &str = include_str!("../data/adult.toml");
const FLIGHTS: &[u8] = include_bytes!("../data/flights.csv.gz");
const FLIGHTS_SCHEMA: &str = include_str!("../data/flights.toml");

/// Arguments of `demo`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The folder for the data, the models and the reports.
    #[arg(long, default_value = "hushstream-demo")]
    folder: PathBuf,
    /// Only write the data sets.
    #[arg(long)]
    data_only: bool,
    /// Leave out the stream of flights.
    #[arg(long)]
    short: bool,
}

/// The flags of `learn`, as a user would type them.
#[derive(Parser)]
struct Typed {
    #[command(flatten)]
    learn: learn::arguments::Arguments,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    let files = Files { folder };
    let learned = files.people()?;
    write_whole(&files.path("flights.csv.gz"), FLIGHTS)?;
    write_whole(&files.path("flights.toml"), FLIGHTS_SCHEMA.as_bytes())?;
    if arguments.data_only {
        for name in ["people.csv", "new-people.csv", "flights.csv.gz"] {
            println!("{}", files.path(name).display());
        }
        return Ok(());
    }
    // The data is public, so each demonstration may start with a fresh budget.
    for data in ["people.csv", "flights.csv.gz"] {
        for end in ["ledger", "ledger.lock", "ledger.witness"] {
            let _ = std::fs::remove_file(files.path(&format!("{data}.{end}")));
        }
    }
    println!(
        "1. People. Does this person earn more than 50,000 dollars a year? Learned from {} \
         people,\nand tested on others, with this command:\n",
        grouped(learned)
    );
    learn_people(&files, learned)?;
    if !arguments.short {
        println!(
            "\n2. A stream. Will this flight arrive more than 15 minutes late? Learned in order of \
             departure,\neach flight predicted before it is learned from, with this command:\n"
        );
        learn_flights(&files)?;
    }
    println!("\nLook at:");
    println!(
        "  {}  what the model says; may be published",
        files.text("people.html")
    );
    println!(
        "  {}  how well it does; for you only",
        files.text("people-report.html")
    );
    println!("  {}    the same in one picture", files.text("people.svg"));
    if !arguments.short {
        println!(
            "  {}  the stream; for you only",
            files.text("flights-report.html")
        );
    }
    Ok(())
}

struct Files<'a> {
    folder: &'a Path,
}

impl Files<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// Writes four fifths of the people to learn from, and the others to test on; returns the
    /// number of the first.
    fn people(&self) -> Result<u64> {
        let mut text = String::new();
        GzDecoder::new(PEOPLE).read_to_string(&mut text)?;
        let rows: Vec<&str> = text.lines().filter(|row| !row.is_empty()).collect();
        let (learned, new) = rows.split_at(rows.len() * 4 / 5);
        let bytes = |rows: &[&str]| format!("{}\n", rows.join("\n"));
        write_whole(&self.path("people.csv"), bytes(learned).as_bytes())?;
        write_whole(&self.path("new-people.csv"), bytes(new).as_bytes())?;
        write_whole(&self.path("people.toml"), PEOPLE_SCHEMA.as_bytes())?;
        Ok(learned.len() as u64)
    }

    /// Learns with these flags and those that both runs share.
    fn learn(&self, name: &str, flags: &[&str]) -> Result<hushstream::Outcome> {
        let (model, report) = (format!("{name}.json"), format!("{name}-report.html"));
        let (model, report) = (self.text(&model), self.text(&report));
        let shared = [
            "--epsilon",
            "1",
            "--delta",
            "1e-6",
            "--without-privacy",
            "--model",
            &model,
            "--report",
            &report,
        ];
        let flags: Vec<String> = flags
            .iter()
            .chain(&shared)
            .map(|&flag| flag.to_owned())
            .collect();
        println!("  hushstream learn {}\n", learn::quoted(&flags));
        let words = std::iter::once("learn".to_owned()).chain(flags.iter().cloned());
        learn::run_as(&Typed::try_parse_from(words)?.learn, &flags)
    }
}

fn learn_people(files: &Files<'_>, learned: u64) -> Result<()> {
    let [data, schema, test] =
        ["people.csv", "people.toml", "new-people.csv"].map(|n| files.text(n));
    let outcome = files.learn("people", &[&data, "--schema", &schema, "--test", &test])?;
    let model = files.path("people.json");
    explain::write_page(&model, &files.path("people.html"))?;
    let shapes = Model::load(&model)?.explain()?;
    if let Some(headline) = Headline::of(&serde_json::to_value(&outcome)?) {
        println!("\n{}", headline.words());
        let under = format!(
            "Learned from {} people of the US census at ε = 1, tested on {} others.",
            grouped(learned),
            grouped(outcome.scored.unwrap_or(0))
        );
        let title = "Does this person earn more than $50,000 a year?";
        let picture = glance::picture(title, &under, &headline, &shapes);
        write_whole(&files.path("people.svg"), picture.as_bytes())?;
    }
    Ok(())
}

fn learn_flights(files: &Files<'_>) -> Result<()> {
    let [data, schema] = ["flights.csv.gz", "flights.toml"].map(|name| files.text(name));
    let outcome = files.learn("flights", &[&data, "--schema", &schema])?;
    if let Some(headline) = Headline::of(&serde_json::to_value(&outcome)?) {
        println!("\n{}", headline.words());
    }
    Ok(())
}
