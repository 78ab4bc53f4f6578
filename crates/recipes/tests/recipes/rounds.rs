//! Rounds that count although nothing was learned, rounds that are refused, and horizons that
//! nobody knows.

use crate::disk::Machine;
use crate::game::*;
use hushstream_mechanism::losses::{Features, Record};
use hushstream_mechanism::sums::{Noise, SumKind};
use hushstream_mechanism::{Raw, Transcript};
use hushstream_recipes::{RecipeName, RecipeRequest, RunError};
use hushstream_sets::Ball;

const D: usize = 3;

fn pftal() -> RecipeRequest {
    request(
        RecipeName::Pftal,
        distance(D),
        Ball::new(D, 1.0).unwrap(),
        64,
    )
}

/// A record that does not fit the loss counts as null: the round ticks, and nobody learns that it
/// did not fit.
#[test]
fn records_of_another_dimension_are_null() {
    for request in every_recipe(D, 8) {
        if matches!(request.recipe, RecipeName::CocoP | RecipeName::CocoL) {
            continue;
        }
        let recipe = request.plan().unwrap();
        let (mut run, mut ledger) = Machine::default().open::<Transcript>(&recipe).unwrap();
        for (t, features) in (1..).zip([
            Features::Dense(vec![0.1; D - 1]),
            Features::Dense(vec![0.1; D + 1]),
            Features::Dense(Vec::new()),
            Features::Sparse(vec![(D as u32, 0.1)]),
            Features::Dense(vec![f64::NAN; D]),
        ]) {
            let target = 0.5;
            run.learn(None, Raw::seal(Record { features, target }))
                .unwrap();
            assert_eq!(publish(&mut run, &mut ledger).len(), 1, "{}", name(&recipe));
            assert_eq!(*run.counts().0.for_the_operator(), t, "{}", name(&recipe));
        }
        assert_eq!(run.rounds(), 5);
    }
}

/// Round T is played, although nothing is asked any more; round T + 1 is not, also after a resume.
#[test]
fn one_round_too_many() {
    for batch in [1, 3] {
        let mut start = pftal();
        start.rounds = 8;
        start.batch = batch;
        let recipe = start.plan().unwrap();
        let machine = Machine::default();
        let (mut run, mut ledger) = machine.open::<Transcript>(&recipe).unwrap();
        for _ in 0..2 {
            for t in run.rounds() + 1..=8 {
                play(&mut run, t);
            }
            let refused = run.learn(None, record(D, 9)).err().unwrap();
            assert!(matches!(
                refused,
                RunError::Finished {
                    planned: 8,
                    refused: 9
                }
            ));
            assert_eq!(
                refused.to_string(),
                "round 9 is refused: the recipe was planned for 8"
            );
            publish(&mut run, &mut ledger);
            drop((run, ledger));
            (run, ledger, _) = machine.resume(&recipe).unwrap();
        }
    }
}

/// Octaves do not know the horizon: the planned one may be passed.
#[test]
fn an_unknown_horizon_goes_on() {
    let recipe = on(pftal(), SumKind::Octave, Noise::Gaussian)
        .plan()
        .unwrap();
    assert!(recipe.rounds() > 1 << 30);
    let (mut run, mut ledger) = Machine::default().open::<Transcript>(&recipe).unwrap();
    (1..=200).for_each(|t| play(&mut run, t));
    assert_eq!(publish(&mut run, &mut ledger).len(), 200);
}
