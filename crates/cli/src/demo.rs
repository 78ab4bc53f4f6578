//! `hushstream demo`: `learn` on the embedded data set. The first run needs no data and no network.

use crate::learn;
use anyhow::{Context, Result};
use clap::{Args, Parser};
use std::path::{Path, PathBuf};

/// 327,346 flights: see `data/README.md`.
const FLIGHTS: &[u8] = include_bytes!("../data/flights.csv.gz");

const BOUNDS: &str =
    "hour=0:24,distance=0:5000,temp=0:110,humid=0:100,wind_speed=0:45,precip=0:1,visib=0:10";
const VOCABULARY: &str = "month=1|2|3|4|5|6|7|8|9|10|11|12,weekday=Mon|Tue|Wed|Thu|Fri|Sat|Sun,\
    carrier=UA|B6|EV|DL|AA|MQ|US|9E|WN|VX|FL|AS|F9|YV|HA|OO,origin=EWR|JFK|LGA";

/// Arguments of `demo`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The folder for the data, the model and the report.
    #[arg(long, default_value = "hushstream-demo")]
    folder: PathBuf,
    /// Only write the data set.
    #[arg(long)]
    data_only: bool,
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
    let inside = |name: &str| folder.join(name);
    let data = inside("flights.csv.gz");
    hushstream::files::write_whole(&data, FLIGHTS)?;
    if arguments.data_only {
        println!("{}", data.display());
        return Ok(());
    }
    // The data is public, so each demonstration may start with a fresh budget.
    for old in ["flights.csv.gz.ledger", "flights.csv.gz.ledger.lock"] {
        let _ = std::fs::remove_file(inside(old));
    }
    let (model, report) = (inside("model.json"), inside("report.html"));
    let flags = flags(&data, &model, &report);
    println!(
        "Will this flight arrive more than 15 minutes late? \
         Learned in order of departure, one release per batch, with this command:\n"
    );
    println!("  hushstream learn {}\n", quoted(&flags));
    let typed = Typed::try_parse_from(std::iter::once("learn".to_owned()).chain(flags))?;
    learn::run(&typed.learn)?;
    println!("\nModel, which may be published: {}", model.display());
    println!("Report, for you only:          {}", report.display());
    Ok(())
}

fn flags(data: &Path, model: &Path, report: &Path) -> Vec<String> {
    let text = |path: &Path| path.display().to_string();
    [
        text(data).as_str(),
        "--target",
        "late",
        "--ignore",
        "date,dest,delay",
        "--bounds",
        BOUNDS,
        "--vocabulary",
        VOCABULARY,
        "--epsilon",
        "1",
        "--delta",
        "1e-6",
        "--model",
        &text(model),
        "--report",
        &text(report),
    ]
    .map(str::to_owned)
    .to_vec()
}

fn quoted(flags: &[String]) -> String {
    let word = |flag: &String| {
        if flag.contains(['|', '*', ' ']) {
            format!("'{flag}'")
        } else {
            flag.clone()
        }
    };
    flags.iter().map(word).collect::<Vec<_>>().join(" ")
}
