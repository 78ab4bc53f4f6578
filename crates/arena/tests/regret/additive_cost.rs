//! x
use crate::common::{Recorded, means, request};
use hushstream_account::Budget;
use hushstream_arena::Task;
use hushstream_arena::fit::{growth, power};
use hushstream_engine::{Objective, RecipeName};
use hushstream_mechanism::Transcript;
use hushstream_mechanism::losses::LinearLoss;
use hushstream_sets::Simplex;
use std::sync::Arc;

fn play<const N: usize>(
    experts: usize,
    rounds: u64,
    rate: Option<f64>,
    seeds: u64,
    eps: [f64; N],
) -> [f64; N] {
    let loss = LinearLoss::new(experts, 0.0, 1.0).unwrap();
    let set = Arc::new(Simplex::new(experts).unwrap());
    means(0..seeds, |seed| {
        let game = Recorded::new(Task::Experts, set.as_ref(), &loss, rounds, seed);
        eps.map(|e| {
            let mut request = request(
                RecipeName::Ftrl,
                Objective::Linear(loss.clone()),
                set.clone(),
                rounds,
            );
            request.budget = Budget::pure(e).unwrap();
            request.learning_rate = rate;
            game.regret::<Transcript>(request.plan().unwrap(), &loss, seed)
        })
    })
}

#[test]
fn look3() {
    let eps = [1.0, 2.0, 4.0, 8.0, 16.0, 1e4];
    for rate in [None, Some(1.0)] {
        let start = std::time::Instant::now();
        let r = play(5, 1 << 16, rate, 8, eps);
        let points: Vec<_> = eps
            .iter()
            .zip(r)
            .take(5)
            .map(|(e, x)| (*e, x - r[5]))
            .collect();
        println!(
            "rate {rate:?} inf {} {points:.2?} {:?} {:?}",
            r[5],
            power(&points),
            start.elapsed()
        );
        for e in [1.0, 4.0] {
            let start = std::time::Instant::now();
            let points: Vec<_> = (14..=18)
                .map(|p| 1u64 << p)
                .map(|t| {
                    let [a, b] = play(5, t, rate, 6, [e, 1e4]);
                    (t, a - b)
                })
                .collect();
            println!(
                "   eps {e} {points:.2?} b=0 {:.3?} b=1.5 {:.3?} {:?}",
                growth(&points, 0.0),
                growth(&points, 1.5),
                start.elapsed()
            );
        }
    }
}
