//! A private running sum without a learner. `cargo run --example running_sum`
use hushstream::account::FilterKind;
use hushstream::mechanism::sums::{Geometry, Noise, PrivateSum, SumKind, SumRequest};
use hushstream::mechanism::{Contribution, MemoryStorage, Participation, Raw, Transcript};
use hushstream::noise::Key;
use hushstream::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let budget = Budget::approx(1.0, 1e-6)?;
    let plan = SumRequest {
        kind: SumKind::BLT,
        noise: Noise::Gaussian,
        releases: 100,
        dimension: 1,
        bound: 1.0, // nobody counts for more than this
        geometry: Geometry::Ball,
        least_sigma: 0.0,
        batch: 1,
        adjacency: ReplaceOne,
        participation: Participation::OncePerRecord,
        budget,
    }
    .plan()?;
    println!("standard deviation at most {:.1}", plan.prefix_sd_max());
    // For real data: `Ledger::create` with a `FileStorage`.
    let mut ledger = Ledger::simulated(budget, FilterKind::Gaussian, plan.scope())?;
    let grant = ledger.debit(plan.charge()?, plan.scope())?;
    let (key, journal) = (Key::from_os()?, MemoryStorage::default());
    let mut sum = PrivateSum::<Transcript>::open(plan, grant, &key, &mut ledger, journal)?;
    for i in 0..100 {
        let Some(pending) = sum.add(Raw::seal(Contribution::Dense(vec![1.0])))? else {
            continue;
        };
        sum.sync(&mut ledger)?; // before it, nothing may leave
        let release = sum.publish(pending).expect("a sync has covered it");
        if i % 20 == 19 {
            println!("after {} people: {:.1}", i + 1, release.value()[0]);
        }
    }
    println!("{}", sum.guarantee()?);
    Ok(())
}
