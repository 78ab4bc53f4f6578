//! Which expert to follow, when every one's loss is seen. `cargo run --example experts`
use hushstream::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut run = Learner::experts(4)
        .records(4000)
        .budget(Budget::approx(4.0, 1e-6)?)
        .adjacency(ReplaceOne)
        .simulated(7)
        .start()?;
    println!("{}", run.plan());
    for i in 0..4000 {
        // The third expert is right most of the time.
        let good = f64::from(u8::from(i % 10 == 0));
        run.learn(&[0.7, 0.6, good, 0.5])?;
    }
    let last = run.model()?;
    println!("weights of the experts: {:?}", last.value().weights);
    println!("{}", run.guarantee());
    Ok(())
}
