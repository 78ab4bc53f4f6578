//! The fuzzer that needs nothing but Rust, and what the other one needs around it.
//!
//! `hushstream-fuzz [--seconds N] [--seed S] [--only CASE]` tries broken files for the readers,
//! broken questions and partial sums, and inputs of all other targets. A case is a function of the
//! seed and its number, so a failure can be played again.
//!
//! `hushstream-fuzz try TARGET FILE…` tries inputs, `hushstream-fuzz unpack TARGET FOLDER` writes
//! the kept ones and those to begin with into a folder, and `hushstream-fuzz pack TARGET FOLDER`
//! keeps those of a folder.

use hushstream_fuzz::{Target, draw, mutate, pack, target};
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{fs, panic};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let [act @ ("try" | "unpack" | "pack"), name, paths @ ..] = &words[..] {
        let Some(target) = target(name) else {
            eprintln!("there is no target {name}");
            return ExitCode::from(2);
        };
        let done = match (*act, paths) {
            ("try", files) => tried(target, files),
            ("unpack", [folder]) => unpacked(target, Path::new(folder)),
            ("pack", [folder]) => packed(target, Path::new(folder)),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        };
        if let Err(error) = done {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
        return ExitCode::SUCCESS;
    }
    match options(&words) {
        Some(options) => mutated(&options),
        None => {
            eprintln!("usage: hushstream-fuzz [--seconds N] [--seed S] [--only CASE]");
            ExitCode::from(2)
        }
    }
}

fn tried(target: Target, files: &[&str]) -> io::Result<()> {
    for file in files {
        let accepted = target.check(&fs::read(file)?).map_err(io::Error::other)?;
        println!("{file}: {}", if accepted { "taken" } else { "refused" });
    }
    Ok(())
}

fn unpacked(target: Target, folder: &Path) -> io::Result<()> {
    let mut inputs = target.kept()?;
    inputs.extend(target.seeds());
    fs::create_dir_all(folder)?;
    fs::write(folder.with_extension("dict"), mutate::dictionary())?;
    for (number, input) in inputs.iter().enumerate() {
        fs::write(folder.join(format!("kept-{number}")), input)?;
    }
    Ok(())
}

fn packed(target: Target, folder: &Path) -> io::Result<()> {
    let files = fs::read_dir(folder)?.map(|entry| fs::read(entry?.path()));
    fs::write(
        target.path(),
        pack::pack(files.collect::<io::Result<_>>()?)?,
    )
}

fn mutated(options: &Options) -> ExitCode {
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

fn options(words: &[&str]) -> Option<Options> {
    let mut options = Options {
        seconds: 60,
        seed: 1,
        only: None,
    };
    let mut words = words.iter();
    while let Some(name) = words.next() {
        let value: u64 = words.next()?.parse().ok()?;
        match *name {
            "--seconds" => options.seconds = value,
            "--seed" => options.seed = value,
            "--only" => options.only = Some(value),
            _ => return None,
        }
    }
    Some(options)
}
