//! A run that stops and goes on: same noise, no second charge.
//! `cargo run --example resume_after_crash`
use hushstream::prelude::*;
use std::path::Path;

fn describe(folder: &Path) -> Result<Learner, Box<dyn std::error::Error>> {
    Ok(Learner::classify()
        .features(1)
        .records(400)
        .budget(Budget::approx(1.0, 1e-6)?)
        .adjacency(ReplaceOne)
        .ledger(folder.join("people.ledger"))
        .state(folder.join("run"))) // secret: it holds private data and the key of the noise
}

fn row(i: u64) -> [f64; 2] {
    let x = (i % 10) as f64 / 10.0;
    [x, f64::from(u8::from(x > 0.4))]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let mut run = describe(folder.path())?.start()?;
    for i in 0..150 {
        run.learn(&row(i))?;
    }
    run.publish()?;
    drop(run); // the crash

    let mut run = describe(folder.path())?.resume()?;
    println!("{}", run.resumed().unwrap_or_default());
    // Rows that no release covers yet are learned again.
    for i in run.records()..400 {
        run.learn(&row(i))?;
    }
    assert_eq!(run.records(), 400);
    let outcome = run.finish()?;
    assert_eq!(outcome.ledger.runs, 1);
    println!("{}", outcome.guarantee);
    Ok(())
}
