//! One contestant at a time, measured in its own process: `hushstream-benches NAME [ARGUMENT]`
//! prints seconds and units as JSON.
//!
//! `make bench` lets these and other people's implementations take turns; see `compare/`.

mod accounting;
mod gaussian;
mod rows;
mod sums;
mod timing;
mod values;

use hushstream_mechanism::sums::SumKind;
use std::path::Path;
use std::process::ExitCode;
use timing::Measured;

const USAGE: &str = "usage: hushstream-benches NAME [ARGUMENT]
  rounded, fine, ziggurat      Gaussian samples
  tree D, blt D, plain D       steps of running sums in D dimensions
  spent KIND, curves KIND      1000 charges added up; KIND is gaussian or mixed
  pftal-bandit ROUNDS          rounds of a recipe that only the library plays
  rows default|quiet|BATCH FILE  rows of 54 features and a target, float64";

fn run(arguments: &[&str]) -> Option<Measured> {
    Some(match *arguments {
        ["rounded"] => gaussian::rounded(),
        ["fine"] => gaussian::fine(),
        ["ziggurat"] => gaussian::ziggurat(),
        ["tree", dimension] => sums::private(SumKind::Tree, dimension.parse().ok()?),
        ["blt", dimension] => sums::private(SumKind::BLT, dimension.parse().ok()?),
        ["plain", dimension] => sums::plain(dimension.parse().ok()?),
        ["spent", kind] => accounting::spent(is_mixed(kind)?),
        ["curves", kind] => accounting::curves(is_mixed(kind)?),
        ["pftal-bandit", rounds] => values::rounds(rounds.parse().ok()?),
        ["rows", how, file] => rows::learn(Path::new(file), how_to_learn(how)?),
        _ => return None,
    })
}

/// The default recipe; a first-order run that releases after so many records; the same after 1,000
/// and without figures.
fn how_to_learn(how: &str) -> Option<rows::How> {
    let (batch, is_quiet) = match how {
        "default" => (None, false),
        "quiet" => (Some(1000), true),
        batch => (Some(batch.parse().ok()?), false),
    };
    Some(rows::How { batch, is_quiet })
}

/// Whether a thousand charges are of two kinds.
fn is_mixed(kind: &str) -> Option<bool> {
    let known = ["gaussian", "mixed"].contains(&kind);
    known.then_some(kind == "mixed")
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Some(measured) => {
            println!("{measured}");
            ExitCode::SUCCESS
        }
        None => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}
