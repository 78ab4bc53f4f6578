//! Tests of the automatic choice.

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

#[test]
fn gradients_get_room_from_public_numbers_unless_it_is_stated() {
    let wishes = Wishes {
        recipe: Some(RecipeName::PftalConvex),
        sum: Some(SumKind::BLT),
        ..Wishes::default()
    };
    let choice = situation(55, 581_012).choose(&wishes).unwrap();
    let request = choice.recipe.request();
    assert_eq!(request.batch, 567);
    // By hand: N = 49.9·√55, L = 1.8, so r is 2.5·√55/1.8 and H is (N·√(2Lr)/(Tr²))^⅔ a record.
    let radius = 2.5 * 55_f64.sqrt() / 1.8;
    assert!((request.set.outer_radius() - radius).abs() < 0.02 * radius);
    let a_record = choice.recipe.curvature() / 567.0;
    assert!((a_record - 1.1e-3).abs() < 1e-4, "{a_record}");
    let stated = Wishes {
        radius: Some(2.0),
        curvature: Some(7.0),
        ..wishes
    };
    let choice = situation(55, 581_012).choose(&stated).unwrap();
    assert!((choice.recipe.request().set.outer_radius() - 2.0).abs() < 1e-12);
    assert!((choice.recipe.curvature() - 7.0).abs() < 1e-12);
}

#[test]
fn wishes_that_nobody_would_hear_are_refused() {
    let refused = |recipe, change: fn(&mut Wishes)| {
        let mut wishes = Wishes {
            recipe,
            ..Wishes::default()
        };
        change(&mut wishes);
        let chosen = situation(5, 100_000).choose(&wishes);
        chosen.err().map(|error| error.to_string())
    };
    for (recipe, change, told) in [
        (
            RecipeName::Pqftl,
            (|wishes| wishes.link = Some(Link::Logistic)) as fn(&mut Wishes),
            "a loss",
        ),
        (
            RecipeName::Pqftl,
            |wishes| wishes.radius = Some(1.0),
            "a radius",
        ),
        (
            RecipeName::PftalConvex,
            |wishes| wishes.ridge = Some(1.0),
            "a ridge",
        ),
        (
            RecipeName::PftalConvex,
            |wishes| wishes.learning_rate = Some(1.0),
            "a learning rate",
        ),
        (
            RecipeName::PftalConvex,
            |wishes| wishes.window = Some(5),
            "a window",
        ),
        (
            RecipeName::PftalConvex,
            |wishes| wishes.radius = Some(0.0),
            "radius = 0",
        ),
    ] {
        let message = refused(Some(recipe), change).unwrap();
        assert!(message.contains(told), "{message}");
    }
    // Where nothing is named, what is wished for decides.
    assert!(refused(None, |wishes| wishes.radius = Some(1.0)).is_none());
}
