//! `coco-l`.
use crate::common::{Recorded, lengths, means, request};
use hushstream_arena::Task;
use hushstream_arena::fit::growth;
use hushstream_engine::{Objective, RecipeName};
use hushstream_mechanism::Windowed;
use hushstream_mechanism::losses::{Distance, Loss};
use hushstream_sets::{Ball, ConvexSet, Simplex};
use std::sync::Arc;

fn play(set: &Arc<dyn ConvexSet>, tuned: bool, rounds: u64, seeds: u64) -> [f64; 2] {
    let loss: Arc<dyn Loss> = Arc::new(Distance::new(set.dimension(), 1.0, 1.0).unwrap());
    means(0..seeds, |seed| {
        let game = Recorded::new(Task::Mean, set.as_ref(), loss.as_ref(), rounds, seed);
        let mut request = request(
            RecipeName::CocoL,
            Objective::Convex(loss.clone()),
            set.clone(),
            rounds,
        );
        request.window = Some(1024);
        request.tuned = tuned;
        let regret = game.regret::<Windowed>(request.plan().unwrap(), loss.as_ref(), seed);
        [regret, game.nothing - game.best]
    })
}

#[test]
fn look2() {
    for d in 2..=5 {
        let sets: [Arc<dyn ConvexSet>; 2] = [
            Arc::new(Ball::new(d, 1.0).unwrap()),
            Arc::new(Simplex::new(d).unwrap()),
        ];
        for (i, set) in sets.iter().enumerate() {
            for tuned in [true, false] {
                let all: Vec<_> = lengths()
                    .into_iter()
                    .map(|t| (t, play(set, tuned, t, 4)))
                    .collect();
                let regrets: Vec<_> = all.iter().map(|(t, [r, _])| (*t, *r)).collect();
                let [r, n] = all.last().unwrap().1;
                println!(
                    "{} d={d} tuned {tuned} b=0 {:.3?} b=1 {:.3?} ratio {:.3} {regrets:.1?}",
                    set.name(),
                    growth(&regrets, 0.0).unwrap(),
                    growth(&regrets, 1.0).unwrap(),
                    r / n
                );
                if cfg!(feature = "long") && i == 1 && !tuned {
                    let late: Vec<_> = [1u64 << 17, 1 << 18, 1 << 19]
                        .into_iter()
                        .map(|t| (t, play(set, tuned, t, 2)[0]))
                        .collect();
                    println!("    late {:?} {late:.1?}", growth(&late, 0.0).unwrap());
                }
            }
        }
    }
}
