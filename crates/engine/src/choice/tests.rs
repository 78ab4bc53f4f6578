//! What is chosen where.

use super::*;

fn situation(features: usize, rounds: u64) -> Situation {
    Situation {
        task: Task::Sign,
        features,
        length: 1.8,
        rounds,
        horizon_unknown: false,
        budget: Budget::approx(1.0, 1e-6).unwrap(),
        adjacency: Adjacency::ReplaceOne,
        participation: Participation::OncePerRecord,
    }
}

fn name(choice: &Choice) -> String {
    let request = choice.recipe.request();
    format!(
        "{} on {}",
        request.recipe,
        choice.recipe.plan().request().kind
    )
}

#[test]
fn few_features_are_learned_by_second_moments_and_many_by_gradients() {
    let choice = situation(55, 581_012).choose(&Wishes::default()).unwrap();
    assert_eq!(name(&choice), "pqftl on blt");
    assert!(
        choice.rows_until_signal < 30_000.0,
        "{}",
        choice.rows_until_signal
    );
    let choice = situation(55, 5_000).choose(&Wishes::default()).unwrap();
    assert_eq!(name(&choice), "pftal-convex on blt");
    let choice = situation(5_000, 1_000_000)
        .choose(&Wishes::default())
        .unwrap();
    assert_eq!(name(&choice), "pftal-convex on blt");
    assert!(!choice.reasons.is_empty());
}

#[test]
fn wishes_are_kept_and_unknown_horizons_get_octaves() {
    let wishes = Wishes {
        recipe: Some(RecipeName::PftalConvex),
        batch: Some(10),
        ..Wishes::default()
    };
    let choice = situation(5, 100_000).choose(&wishes).unwrap();
    assert_eq!(name(&choice), "pftal-convex on tree", "the paper's own sum");
    assert_eq!(choice.recipe.request().batch, 10);
    let unknown = Situation {
        horizon_unknown: true,
        ..situation(5, 100_000)
    };
    assert_eq!(
        name(&unknown.choose(&Wishes::default()).unwrap()),
        "pqftl on octave"
    );
    let pure = Situation {
        budget: Budget::pure(1.0).unwrap(),
        ..situation(5, 1_000_000)
    };
    assert_eq!(
        name(&pure.choose(&Wishes::default()).unwrap()),
        "pqftl on smooth"
    );
    let experts = Situation {
        task: Task::Experts(0.0, 1.0),
        ..situation(36, 5_000)
    };
    assert_eq!(
        name(&experts.choose(&Wishes::default()).unwrap()),
        "ftrl on blt"
    );
    let classes = Situation {
        task: Task::Classes(7),
        ..situation(55, 581_012)
    };
    assert_eq!(
        name(&classes.choose(&Wishes::default()).unwrap()),
        "pqftl on blt"
    );
}
