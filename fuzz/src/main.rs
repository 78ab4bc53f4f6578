//! Broken files of every kind for the readers, and broken questions and partial sums: a mutation
//! fuzzer that needs nothing but Rust.
//!
//! `hushstream-fuzz [--seconds N] [--seed S] [--only CASE]`. A case is a function of the seed and
//! its number, so a failure can be played again.

mod cases;
mod check;
mod mutate;
mod sums;

use std::fmt;
use std::panic::{self, RefUnwindSafe};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Something broken, for the code that reads it.
trait Broken: fmt::Display + RefUnwindSafe {
    /// Whether it is taken as it is; what must hold and does not is told.
    fn check(&self) -> Result<bool, String>;
}

/// The case of this number: one of eight is a question or a partial sum.
fn draw(seed: u64, number: u64) -> Box<dyn Broken> {
    if number % 8 == 7 {
        Box::new(sums::draw(seed, number))
    } else {
        Box::new(cases::draw(seed, number))
    }
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprintln!("usage: hushstream-fuzz [--seconds N] [--seed S] [--only CASE]");
        return ExitCode::from(2);
    };
    let begin = Instant::now();
    let numbers = options.only.map_or(0..u64::MAX, |only| only..only + 1);
    let (mut cases, mut read, mut refused) = (0_u64, 0_u64, 0_u64);
    for number in numbers {
        if begin.elapsed() >= Duration::from_secs(options.seconds) {
            break;
        }
        let case = draw(options.seed, number);
        let outcome = panic::catch_unwind(|| case.check());
        let complaint = match outcome {
            Ok(Ok(accepted)) => {
                cases += 1;
                read += u64::from(accepted);
                refused += u64::from(!accepted);
                continue;
            }
            Ok(Err(complaint)) => complaint,
            Err(_) => "panicked".to_owned(),
        };
        eprintln!(
            "case {number} of seed {}: {complaint}\n{case}",
            options.seed
        );
        return ExitCode::FAILURE;
    }
    println!(
        "{cases} cases of seed {} in {} s: {read} read, {refused} refused, none wrong",
        options.seed,
        begin.elapsed().as_secs()
    );
    ExitCode::SUCCESS
}

struct Options {
    seconds: u64,
    seed: u64,
    only: Option<u64>,
}

fn options() -> Option<Options> {
    let mut options = Options {
        seconds: 60,
        seed: 1,
        only: None,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value: u64 = arguments.next()?.parse().ok()?;
        match &*name {
            "--seconds" => options.seconds = value,
            "--seed" => options.seed = value,
            "--only" => options.only = Some(value),
            _ => return None,
        }
    }
    Some(options)
}
