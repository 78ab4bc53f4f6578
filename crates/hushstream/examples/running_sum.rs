//! A private running sum, without a learner. `cargo run --example running_sum`
use hushstream::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let budget = Budget::approx(1.0, 1e-6)?;
    // Hours that people worked, published after every one of a hundred days.
    let mut hours = RunningSum::start(0.0..24.0, 100, budget, |tracker| {
        tracker.adjacency(ReplaceOne).simulated(7) // for real: .ledger("people.ledger")
    })?;
    for day in 1..=100 {
        for person in 0..50 {
            hours.add(f64::from(6 + person % 4))?;
        }
        let sum = hours.tick()?.into_value(); // closes the day; durable before it is here
        if day % 20 == 0 {
            println!(
                "after {day} days: {:.0} ({:.0} to {:.0})",
                sum.value, sum.low, sum.high
            );
        }
    }
    println!("{}", hours.guarantee());
    Ok(())
}
