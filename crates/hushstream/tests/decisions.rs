//! Decisions of a program: the run keeps slots, or the program does; both are the same run.

use hushstream::noise::{Instance, Key, Source};
use hushstream::prelude::*;

fn learner() -> Learner {
    Learner::decide(["red", "green", "blue"])
        .features(2)
        .records(120)
        .batch(20)
        .budget(Budget::approx(2.0, 1e-6).expect("allowed numbers"))
        .adjacency(ReplaceOne)
        .simulated(11)
}

fn context(slot: u64) -> [f64; 2] {
    [
        (slot * 7 % 11) as f64 / 5.5 - 1.0,
        (slot * 5 % 13) as f64 / 6.5 - 1.0,
    ]
}

/// A third of the slots has no reward.
fn reward(slot: u64) -> Option<f64> {
    (!slot.is_multiple_of(3)).then_some((slot * 3 % 7) as f64 / 6.0)
}

fn bits(model: &Model) -> Vec<u64> {
    model
        .weights
        .iter()
        .map(|weight| weight.to_bits())
        .collect()
}

#[test]
fn slots_of_the_program_are_slots_of_the_run() {
    for default in [None, Some(0.25)] {
        let learner = || match default {
            Some(reward) => learner().default_reward(reward),
            None => learner(),
        };
        let mut own = learner().start().unwrap();
        let mut fed = learner().start().unwrap();
        let mut told = Vec::new();
        for slot in 0..120 {
            let answer = own.decide(&context(slot)).unwrap();
            told.push(answer.for_the_asker().clone());
            if let Some(reward) = reward(slot) {
                own.reward(slot, reward).unwrap();
            }
        }
        own.close_all().unwrap();
        for (slot, decision) in (0..120).zip(&told) {
            let Decision {
                action,
                probability,
                ..
            } = decision;
            fed.learn_decision(&context(slot), action, *probability, reward(slot))
                .unwrap();
        }
        let (own, fed) = (own.model().unwrap(), fed.model().unwrap());
        assert_eq!((own.release(), fed.release()), (6, 6));
        assert_eq!(bits(own.value()), bits(fed.value()), "{default:?}");
    }
}

/// Slots that nobody filled count, and add nothing: also where persons are limited.
#[test]
fn empty_slots_count() {
    let schema = "names = ['x', 'who']
        arms = ['red', 'green', 'blue']
        task = 'decide'
        person = 'who'
        bounds = { x = [-1, 1] }";
    for per_person in [false, true] {
        let start = || {
            let mut learner = learner();
            if per_person {
                learner = learner.schema(schema.parse().unwrap());
                learner.privacy.max_per_person = Some(2);
            }
            learner.start().unwrap()
        };
        let (mut run, mut emptied) = (start(), start());
        for slot in 0..120_u64 {
            let x = context(slot)[0];
            let who = slot.to_string();
            let fill = |run: &mut Run, x: Value<'_>| {
                if per_person {
                    let row = [("x", x), ("who", Value::Text(&who))];
                    return run.learn_decision(&row, "green", 0.5, Some(1.0));
                }
                run.learn_decision(&[("x1", x), ("x2", Value::Number(0.0))], "green", 0.5, None)
            };
            // What cannot be read makes a slot empty.
            let x = if slot % 4 == 1 {
                Value::Text("?")
            } else {
                Value::Number(x)
            };
            fill(&mut run, x).unwrap();
            if slot % 4 == 1 {
                emptied.learn_empty().unwrap();
            } else {
                fill(&mut emptied, x).unwrap();
            }
        }
        assert_eq!((run.records(), emptied.records()), (120, 120));
        let (run, emptied) = (run.model().unwrap(), emptied.model().unwrap());
        assert_eq!(bits(run.value()), bits(emptied.value()), "{per_person}");
    }
}

#[test]
fn what_cannot_be_a_slot_is_refused_and_takes_none() {
    let mut run = learner().start().unwrap();
    let mut refused = |action: &str, probability: f64, reward: Option<f64>| {
        let told = run.learn_decision(&[0.1, 0.2], action, probability, reward);
        assert_eq!(run.records(), 0);
        told.err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    };
    let told = refused("violet", 0.5, None);
    assert!(
        told.contains("red, green, blue") && !told.contains("violet"),
        "{told}"
    );
    for probability in [0.0, -0.1, 1.1, f64::NAN] {
        assert!(refused("red", probability, None).contains("above 0 and at most 1"));
    }
    assert!(refused("red", 0.5, Some(f64::INFINITY)).contains("finite"));
    assert!(run.learn_decision(&[0.1], "red", 0.5, None).is_err());
    assert_eq!(run.records(), 0);
    // A run that keeps its own slots takes no others.
    run.decide(&[0.1, 0.2]).unwrap();
    let told = run.learn_decision(&[0.1, 0.2], "red", 0.5, None);
    assert!(told.unwrap_err().to_string().contains("itself"));
    assert!(run.learn_empty().is_err());
    // And there are no more than were planned.
    let mut run = learner().start().unwrap();
    for _ in 0..120 {
        run.learn_empty().unwrap();
    }
    let told = run.learn_empty().unwrap_err().to_string();
    assert!(told.contains("120 decisions"), "{told}");
    let mut other = Learner::regress(0.0..1.0)
        .features(1)
        .records(100)
        .budget(Budget::approx(1.0, 1e-6).unwrap())
        .adjacency(ReplaceOne)
        .simulated(3)
        .start()
        .unwrap();
    assert!(other.learn_empty().is_err());
}

/// A policy decides elsewhere with coins of the program, and tells what it drew with.
#[test]
fn a_decider_draws_by_its_probabilities() {
    let mut run = learner().start().unwrap();
    for slot in 0..120 {
        let action = ["red", "green"][slot as usize % 2];
        let gain = f64::from(u8::from(action == "green"));
        run.learn_decision(&context(slot), action, 0.5, Some(gain))
            .unwrap();
    }
    let mut policy = run.model().unwrap().into_value().decider().unwrap();
    let coins = Source::open(
        &Key::insecure_from_seed(5),
        Instance::from_bytes([1; 16]),
        0,
    );
    let told = policy.probabilities(&context(1)).unwrap();
    let told = told.for_the_asker();
    let whole: f64 = told.iter().map(|arm| arm.1).sum();
    assert!((whole - 1.0).abs() < 1e-12);
    let mut counts = [0_u64; 3];
    for slot in 0..20_000 {
        let answer = policy.decide(&context(1), &coins, slot).unwrap();
        let decision = answer.for_the_asker();
        let arm = told
            .iter()
            .position(|arm| arm.0 == decision.action)
            .unwrap();
        assert_eq!((decision.id, decision.probability), (slot, told[arm].1));
        counts[arm] += 1;
        let again = policy.decide(&context(1), &coins, slot).unwrap();
        assert_eq!(again.for_the_asker(), decision);
    }
    for (count, (name, probability)) in counts.iter().zip(told) {
        let deviation = (20_000.0 * probability * (1.0 - probability)).sqrt();
        let gap = *count as f64 - 20_000.0 * probability;
        assert!(
            gap.abs() < 6.0 * deviation + 1.0,
            "{name}: {count} of {probability}"
        );
    }
}
