//! A stream without an end: models leave while it goes on. `cargo run --example live_stream`
use hushstream::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut run = Learner::regress(0.0..50.0)
        .features(3)
        .norm(1.0)
        .unknown_horizon()
        .budget(Budget::approx(1.0, 1e-6)?)
        .adjacency(ReplaceOne)
        .simulated(7) // for real data: .ledger("people.ledger")
        .start()?;
    println!("{}", run.plan());
    for i in 0..5000 {
        let x = f64::from(i % 100) / 100.0;
        run.learn(&[x, -x, 0.5, 30.0 * x + 5.0])?;
        if i % 1000 == 999 {
            // One sync of the disk covers all releases since the last.
            for model in run.publish()? {
                let told = model.value().predict(&[0.5, -0.5, 0.5])?;
                println!("after {} records: {told}", run.records());
            }
        }
    }
    // Computed from private data: for whoever runs this, and not for publication.
    if let Some(figures) = run.figures() {
        println!(
            "operator only: {} scored",
            figures.for_the_operator().scored
        );
    }
    println!("{}", run.guarantee());
    Ok(())
}
