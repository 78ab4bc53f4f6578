//! What decisions earn on games with a context, with privacy and without, beside the best that
//! could be earned: the table of docs/results.md.
//!
//! `cargo run --release -p hushstream-arena --example contextual [-- SEEDS]`

use hushstream_account::{Adjacency, Budget};
use hushstream_arena::{ContextualGame, Earned, in_parallel};
use hushstream_recipes::RecipeName;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seeds: u64 = std::env::args().nth(1).map_or(Ok(4), |text| text.parse())?;
    println!("| K, p | T | recipe | private (last quarter) | without | best | certified regret |");
    println!("|---|---|---|---|---|---|---|");
    let (igw, optimistic) = (RecipeName::Igw, RecipeName::LinucbJdp);
    let sizes = [
        (5, 11, 20_000, igw, 1.0),
        (5, 11, 20_000, igw, 4.0),
        (5, 11, 100_000, igw, 1.0),
        (5, 11, 100_000, igw, 4.0),
        (5, 11, 100_000, igw, 16.0),
        (5, 11, 100_000, optimistic, 1.0),
        (5, 11, 1_000_000, igw, 1.0),
        (5, 11, 1_000_000, igw, 4.0),
        (20, 6, 100_000, igw, 4.0),
        (20, 6, 1_000_000, igw, 4.0),
    ];
    for (arms, features, rounds, recipe, exploration) in sizes {
        let game = ContextualGame {
            recipe,
            arms,
            features,
            rounds,
            sum: None,
            noise: None,
            batch: None,
            exploration: Some(exploration),
            budget: Budget::approx(1.0, 1e-6)?,
            adjacency: Adjacency::ReplaceOne,
        };
        let bound = game.recipe()?.regret_bound();
        let bound = bound.map_or("-".to_owned(), |bound| format!("{bound:.1e}"));
        let all: Vec<u64> = (0..seeds).collect();
        let all = in_parallel(&all, |&seed| game.play(seed))?;
        let mean = |of: fn(&Earned) -> f64| all.iter().map(of).sum::<f64>() / seeds as f64;
        println!(
            "| {arms}, {features} | {rounds} | {recipe}, {exploration} | {:.3} ({:.3}) | {:.3} \
             ({:.3}) | {:.3} | {bound} |",
            mean(|earned| earned.private[0]),
            mean(|earned| earned.private[1]),
            mean(|earned| earned.exact[0]),
            mean(|earned| earned.exact[1]),
            mean(|earned| earned.best),
        );
    }
    Ok(())
}
