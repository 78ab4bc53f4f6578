//! A hundred thousand experts for a hundred thousand rounds: memory of a few loss vectors, and no
//! round that costs more than a few passes over the losses (but for the draws).
//!
//! **Measured**: 9.7 MB at the peak, 12 loss vectors; 1.3 ms a round (opt-level 2), no more at the
//! end than at round 2,000.
//!
//! A binary of its own, because tests share their process's memory; without a journal, which would
//! be forty gigabytes of disk.
#![cfg(feature = "long")]
#![allow(clippy::unwrap_used)]

use hushstream_account::{Adjacency, Budget};
use hushstream_mechanism::{Ledger, NoStorage, Participation, Raw};
use hushstream_noise::Key;
use hushstream_recipes::{Advice, ExpertsRequest, ExpertsRun, RecipeName};

const EXPERTS: usize = 100_000;
const ROUNDS: u64 = 100_000;

/// The largest resident memory of this process so far, in bytes, where the system tells.
fn peak() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    let kilobytes: usize = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(1024 * kilobytes)
}

#[test]
fn memory_is_a_few_loss_vectors() {
    let recipe = ExpertsRequest {
        recipe: RecipeName::Dartboard,
        advice: Advice::Experts(EXPERTS as u32),
        rounds: Some(ROUNDS),
        restart: None,
        batch: None,
        board: None,
        budget: Budget::approx(1.0, 1e-6).unwrap(),
        adjacency: Adjacency::ReplaceOne,
        participation: Participation::OncePerRecord,
    }
    .plan()
    .unwrap();
    let plan = recipe.plan();
    let mut ledger =
        Ledger::simulated(recipe.request().budget, plan.filter(), plan.scope()).unwrap();
    let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
    let key = Key::insecure_from_seed(1);
    let mut run = ExpertsRun::open(recipe, grant, &key, &mut ledger, NoStorage).unwrap();
    let mut losses = vec![1.0; EXPERTS];
    losses[777] = 0.0;
    let (mut regret, start) = (0.0, std::time::Instant::now());
    for round in 0..ROUNDS {
        regret += losses[*run.expert().for_the_operator()];
        run.learn_losses(None, Raw::seal(losses.clone())).unwrap();
        if round % 8 == 7 {
            run.sync(&mut ledger).unwrap();
        }
        if round == 2000 || round == ROUNDS - 1 {
            let each = start.elapsed().as_secs_f64() / (round + 1) as f64;
            println!(
                "round {round}: peak {:?} bytes, {each:.5} s a round, regret {regret}",
                peak()
            );
        }
    }
    let most = peak().unwrap_or(0);
    assert!(most < 40 * 8 * EXPERTS, "{most}");
    assert!(regret < 0.5 * ROUNDS as f64, "{regret}");
}
