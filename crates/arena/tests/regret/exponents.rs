//! Exponents of T on the switching game, (1, 10⁻⁶), replace-one.

use crate::common::{budget, lengths};
use hushstream_account::Adjacency;
use hushstream_arena::fit::growth;
use hushstream_arena::{Contest, Game, Task};
use hushstream_engine::RecipeName;

struct Claim {
    recipe: RecipeName,
    task: Task,
    dimension: usize,
    window: Option<u64>,
    /// The theorem's a.
    stated: f64,
    /// The theorem's b.
    logarithms: f64,
}

fn check(claim: &Claim) {
    let seeds = if cfg!(feature = "long") { 16 } else { 2 };
    let (mut regrets, mut idle) = (Vec::new(), Vec::new());
    for rounds in lengths() {
        let contest = Contest {
            recipe: claim.recipe,
            sum: None,
            noise: None,
            task: claim.task,
            game: Game::Switching,
            dimension: claim.dimension,
            rounds,
            batch: 1,
            budget: budget(),
            adjacency: Adjacency::ReplaceOne,
            window: claim.window,
            curvature: None,
            tuned: false,
        };
        let outcomes = contest.repeat(0..seeds).unwrap();
        let count = outcomes.len() as f64;
        let regret = outcomes.iter().map(|outcome| outcome.regret() / count);
        regrets.push((rounds, regret.sum::<f64>()));
        let nothing = outcomes.iter().map(|o| (o.nothing - o.hindsight) / count);
        idle.push((rounds, nothing.sum::<f64>()));
    }
    let name = format!("{} {} d = {}", claim.recipe, claim.task, claim.dimension);
    let half = regrets.len() / 2;
    let fits: Vec<String> = [0.0, 1.0, 2.0, claim.logarithms]
        .map(|b| {
            let fit = growth(&regrets, b).unwrap();
            let late = growth(&regrets[half.min(regrets.len() - 3)..], b).unwrap();
            format!(
                "b={b}: {:.3}±{:.3} (late {:.3})",
                fit.exponent, fit.error, late.exponent
            )
        })
        .to_vec();
    println!(
        "{name}: {fits:?}\n   {regrets:.1?}\n   ratio {:.3}",
        regrets.last().unwrap().1 / idle.last().unwrap().1
    );
}

const CLAIMS: [Claim; 9] = [
    Claim {
        recipe: RecipeName::PftalConvex,
        task: Task::Linear,
        dimension: 3,
        window: None,
        stated: 0.5,
        logarithms: 1.0,
    },
    Claim {
        recipe: RecipeName::Ftrl,
        task: Task::Linear,
        dimension: 3,
        window: None,
        stated: 0.5,
        logarithms: 0.0,
    },
    Claim {
        recipe: RecipeName::Ftrl,
        task: Task::Experts,
        dimension: 3,
        window: None,
        stated: 0.5,
        logarithms: 0.0,
    },
    Claim {
        recipe: RecipeName::Ftpl,
        task: Task::Linear,
        dimension: 3,
        window: None,
        stated: 0.5,
        logarithms: 0.0,
    },
    Claim {
        recipe: RecipeName::Ftpl,
        task: Task::Experts,
        dimension: 3,
        window: None,
        stated: 0.5,
        logarithms: 0.0,
    },
    Claim {
        recipe: RecipeName::Pftal,
        task: Task::Mean,
        dimension: 2,
        window: None,
        stated: 0.0,
        logarithms: 2.0,
    },
    Claim {
        recipe: RecipeName::Pftal,
        task: Task::Ridge,
        dimension: 2,
        window: None,
        stated: 0.0,
        logarithms: 2.0,
    },
    Claim {
        recipe: RecipeName::Pqftl,
        task: Task::Ridge,
        dimension: 2,
        window: None,
        stated: 0.0,
        logarithms: 1.5,
    },
    Claim {
        recipe: RecipeName::CocoP,
        task: Task::Mean,
        dimension: 2,
        window: Some(1024),
        stated: 0.0,
        logarithms: 1.0,
    },
];

#[test]
fn look() {
    for claim in &CLAIMS {
        check(claim);
    }
    for claim in CLAIMS {
        for dimension in [2, 3, 4] {
            if dimension != claim.dimension {
                check(&Claim { dimension, ..claim });
            }
        }
    }
}
