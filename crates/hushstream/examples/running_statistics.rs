//! Counts, means and quantiles by group for one charge, with intervals.
//! `cargo run --example running_statistics`
use hushstream::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut run = Tracker::by_ticks(30)
        .group("region", ["north", "south"])
        .mean("age", 0.0..100.0)
        .histogram("age", 0.0..100.0, 10)
        .quantile(0.5)
        .last(7)
        .budget(Budget::approx(1.0, 1e-6)?)
        .adjacency(ReplaceOne)
        .simulated(7) // for real: .ledger("people.ledger").state("run")
        .start()?;
    println!("{}", run.plan());
    for _day in 0..30 {
        for person in 0..300 {
            let region = if person % 3 == 0 { "north" } else { "south" };
            let age = f64::from(20 + person % 60);
            run.add(&[("region", Value::Text(region)), ("age", Value::Number(age))])?;
        }
        let table = run.tick()?.into_value();
        if table.tick == 30 {
            for column in ["count", "mean age", "age quantile 0.5"] {
                let week = table.get(Span::Last(7), &["north"], column);
                if let Some(week) = week {
                    println!(
                        "north, last 7 days, {column}: {:.1} ({:.1} to {:.1})",
                        week.value, week.low, week.high
                    );
                }
            }
        }
    }
    println!("{}", run.guarantee());
    Ok(())
}
