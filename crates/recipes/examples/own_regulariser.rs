//! Follow the regularised leader with a regulariser of one's own, on a private sum of losses.
//! `cargo run -p hushstream-recipes --example own_regulariser`
use hushstream_account::{Adjacency, Budget, FilterKind};
use hushstream_learn::{LearnError, Learner, RegularisedLeader, Regulariser};
use hushstream_mechanism::sums::{Geometry, Noise, PrivateSum, SumKind, SumRequest};
use hushstream_mechanism::{Contribution, Ledger, MemoryStorage, Participation, Raw, Transcript};
use hushstream_noise::Key;
use hushstream_sets::{BoxSet, ConvexSet};
use std::sync::Arc;

/// Σ wᵢxᵢ²/2 on a box: coordinates that matter more may move more.
#[derive(Debug)]
struct Weighted(BoxSet, [f64; 2]);

impl Regulariser for Weighted {
    fn set(&self) -> &dyn ConvexSet {
        &self.0
    }
    fn leader(&self, rate: f64, losses: &[f64]) -> Result<Vec<f64>, LearnError> {
        let pairs = losses.iter().zip(self.1);
        Ok(pairs
            .map(|(loss, w)| (-rate * loss / w).clamp(-1.0, 1.0))
            .collect())
    }
    fn range(&self) -> f64 {
        self.1.iter().sum::<f64>() / 2.0
    }
    fn squared_length(&self, losses: &[f64]) -> f64 {
        losses
            .iter()
            .zip(self.1)
            .map(|(loss, w)| loss * loss / w)
            .sum()
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const ROUNDS: u64 = 4096;
    let budget = Budget::approx(1.0, 1e-6)?;
    let request = SumRequest {
        kind: SumKind::Smooth, // noise of one law, which the regret bound needs
        noise: Noise::Gaussian,
        releases: ROUNDS - 1,
        dimension: 2,
        bound: 1.0, // losses of length at most 1
        geometry: Geometry::Ball,
        least_sigma: 0.0,
        batch: 1,
        adjacency: Adjacency::ReplaceOne,
        participation: Participation::OncePerRecord,
        budget,
    };
    let plan = request.plan()?;
    let spread = plan.prefix_sd_max() * 2.0_f64.sqrt() * 8.0_f64.sqrt(); // diameter · E‖Z‖
    let mut ledger = Ledger::simulated(budget, FilterKind::Gaussian, plan.scope())?;
    let grant = ledger.debit(plan.charge()?, plan.scope())?;
    let (key, storage) = (Key::insecure_from_seed(7), MemoryStorage::default());
    let mut sum = PrivateSum::<Transcript>::open(plan, grant, &key, &mut ledger, storage)?;

    let regulariser = Arc::new(Weighted(BoxSet::cube(2, 1.0)?, [1.0, 4.0]));
    let loss = [0.8, -0.2]; // everybody's, here
    let squares = ROUNDS as f64 * regulariser.squared_length(&loss);
    let rate = RegularisedLeader::best_rate(regulariser.range(), squares)?;
    let mut leader = RegularisedLeader::new(regulariser, rate)?;
    if let Some(noise) = sum.before_the_first() {
        leader.observe_initial(noise.value())?;
    }
    let mut regret = 0.0;
    for _ in 0..ROUNDS {
        let at = leader.iterate();
        regret += loss[0] * at[0] + loss[1] * at[1] + 1.0; // the best point is (−1, 1)
        if leader.rounds() + 1 < ROUNDS
            && let Some(release) = sum.add(Raw::seal(Contribution::Dense(loss.to_vec())))?
        {
            sum.sync(&mut ledger)?;
            let released = sum.publish(release).map_err(|_| "a sync covers it")?;
            leader.observe(released.value())?;
        }
    }
    println!(
        "regret {regret:.0}, certified {:.0}",
        leader.regret_bound(squares, spread)
    );
    Ok(())
}
