//! What once went wrong: each of these was found by trying to break a run.

use crate::disk::Machine;
use crate::game::*;
use hushstream_mechanism::losses::{Bounds, Features, LinearLoss, LinearModel, Link, Record};
use hushstream_mechanism::sums::{Noise, PrivateSum};
use hushstream_mechanism::{CameBack, Ledger, Moments, Raw, Transcript};
use hushstream_recipes::{NoteError, Objective, Recipe, RecipeName, RunError};
use hushstream_sets::{Ball, BoxSet};
use std::sync::Arc;

fn plain() -> Recipe {
    request(
        RecipeName::Pftal,
        distance(3),
        Ball::new(3, 1.0).unwrap(),
        40,
    )
    .plan()
    .unwrap()
}

#[test]
fn a_new_instance_can_be_resumed() {
    let recipe = plain();
    let machine = Machine::default();
    let (mut run, mut ledger) = machine.open::<Transcript>(&recipe).unwrap();
    (1..=6).for_each(|t| play(&mut run, t));
    publish(&mut run, &mut ledger);
    let old = machine.copy().journal;
    (7..=8).for_each(|t| play(&mut run, t));
    publish(&mut run, &mut ledger);
    drop((run, ledger));
    let restored = Machine {
        ledger: machine.ledger,
        journal: old,
    };
    let (mut run, mut ledger, outcome) = restored.resume::<Transcript>(&recipe).unwrap();
    assert_eq!(outcome, CameBack::NewInstance { lost: 2 });
    (9..=12).for_each(|t| play(&mut run, t));
    publish(&mut run, &mut ledger);
    let question = bits(run.question().for_the_operator());
    drop((run, ledger));
    let (run, _, outcome) = restored.resume::<Transcript>(&recipe).unwrap();
    let state = (
        outcome,
        run.rounds(),
        bits(run.question().for_the_operator()),
    );
    assert_eq!(state, (CameBack::Continued, 12, question));
}

#[test]
fn a_crash_while_opening_loses_nothing() {
    let recipe = plain();
    let machine = Machine::default();
    let plan = recipe.plan();
    let budget = plan.request().budget;
    let mut ledger = Ledger::create(
        machine.ledger.clone(),
        budget,
        filter(Noise::Gaussian),
        plan.scope(),
    )
    .unwrap();
    let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
    let journal = machine.journal.clone();
    // The sum is open, the run is not yet: no note has been written.
    drop(
        PrivateSum::<Transcript>::open(plan.clone(), grant, &key(), &mut ledger, journal).unwrap(),
    );
    drop(ledger);
    let (mut run, mut ledger, outcome) = machine.resume::<Transcript>(&recipe).unwrap();
    assert_eq!((run.rounds(), outcome), (0, CameBack::Continued));
    (1..=3).for_each(|t| play(&mut run, t));
    publish(&mut run, &mut ledger);
    drop((run, ledger));
    assert_eq!(machine.resume::<Transcript>(&recipe).unwrap().0.rounds(), 3);
}

#[test]
fn another_set_or_loss_is_refused() {
    let ball = |radius| Ball::new(3, radius).unwrap();
    let refused = |one: Recipe, other: Recipe| {
        let machine = Machine::default();
        drop(machine.open::<Transcript>(&one).unwrap());
        let result = machine.resume::<Transcript>(&other);
        assert!(matches!(
            result.err(),
            Some(RunError::Note(NoteError::OtherRecipe(_)))
        ));
    };
    let on_ball = |radius| {
        request(RecipeName::Pftal, distance(3), ball(radius), 40)
            .plan()
            .unwrap()
    };
    refused(on_ball(1.0), on_ball(0.25));
    let convex = |link| {
        let loss = Objective::Convex(Arc::new(LinearModel::new(3, link, bounds()).unwrap()));
        let mut request = request(
            RecipeName::PftalConvex,
            loss,
            BoxSet::cube(3, 1.0).unwrap(),
            40,
        );
        request.curvature = Some(0.3);
        request.plan().unwrap()
    };
    refused(convex(Link::Logistic), convex(Link::Hinge));
    let squares = |y: f64| {
        let moments = Moments::new(3, Bounds::new(1.0, (-y, y), 1.0).unwrap());
        request(
            RecipeName::Pqftl,
            Objective::LeastSquares(moments),
            ball(1.0),
            40,
        )
        .plan()
        .unwrap()
    };
    refused(squares(1.0), squares(5.0));
}

#[test]
fn sets_of_another_dimension_are_refused() {
    for (three, four) in every_recipe(3, 64).into_iter().zip(every_recipe(4, 64)) {
        if three.recipe == RecipeName::Pqftl {
            continue;
        }
        let mut wrong = three;
        wrong.set = four.set;
        let message = wrong.plan().err().unwrap().to_string();
        assert!(message.contains("must be the same"), "{message}");
    }
}

#[test]
fn a_refused_record_is_no_round() {
    let machine = Machine::default();
    let (mut run, _ledger) = machine.open::<Transcript>(&plain()).unwrap();
    assert!(run.learn(Some(7), record(3, 1)).is_err());
    assert_eq!(run.rounds(), 0);
}

#[test]
fn an_epsilon_that_uses_up_delta_is_named() {
    let mut request = request(
        RecipeName::Pftal,
        distance(3),
        Ball::new(3, 1.0).unwrap(),
        40,
    );
    request.budget = hushstream_account::Budget::approx(100.0, 1e-6).unwrap();
    let message = request.plan().err().unwrap().to_string();
    assert!(
        message.contains("epsilon = 100 is not allowed"),
        "{message}"
    );
}

/// Losses are centred before they are summed; on a set whose points do not all have the same total
/// the middle must come back.
#[test]
fn centred_losses_are_put_back() {
    let losses = LinearLoss::new(2, 0.0, 1.0).unwrap();
    for name in [RecipeName::Ftrl, RecipeName::Ftpl, RecipeName::PftalConvex] {
        let set = BoxSet::new(&[0.0, 0.0], &[1.0, 1.0]).unwrap();
        let mut request = request(name, Objective::Linear(losses.clone()), set, 2000);
        request.budget = hushstream_account::Budget::approx(10.0, 1e-6).unwrap();
        request.noise = Some(Noise::Gaussian);
        let machine = Machine::default();
        let (mut run, _ledger) = machine
            .open::<Transcript>(&request.plan().unwrap())
            .unwrap();
        let mut paid = 0.0;
        for _ in 0..2000 {
            paid += 0.4 * run.question().for_the_operator().iter().sum::<f64>();
            let features = Features::Dense(vec![0.4; 2]);
            run.learn(
                None,
                Raw::seal(Record {
                    features,
                    target: 0.0,
                }),
            )
            .unwrap();
        }
        // The best pays nothing, the worst 1600.
        assert!(paid < 400.0, "{name}: {paid}");
    }
}
