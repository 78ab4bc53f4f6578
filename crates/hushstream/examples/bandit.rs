//! Which arm to play, when only the played one's loss is seen. `cargo run --example bandit`
use hushstream::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut run = Learner::bandit(3)
        .records(3000)
        .budget(Budget::approx(4.0, 0.0)?)
        .adjacency(ReplaceOne)
        .simulated(7)
        .start()?;
    println!("{}", run.plan());
    for i in 0..3000 {
        // A row has the losses of all arms, and the learner asks for one.
        run.learn(&[0.9, f64::from(i % 2) / 2.0, 0.8])?;
    }
    let last = run.model()?;
    for arm in last.value().arms.iter().flatten() {
        println!(
            "{}: played with probability {:.3}",
            arm.arm, arm.probability
        );
    }
    println!("{}", run.guarantee());
    Ok(())
}
