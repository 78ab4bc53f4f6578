//! Long runs that crash: ten thousand records, a sync every hundred, twenty crashes at
//! pseudo-random moments that leave nothing, half or everything of what was not yet synced.
//! Journals grow long enough to be cut by checkpoints, so learners come back from their saved state
//! too.

use crate::disk::{Leftover, Machine};
use crate::game::*;
use hushstream_mechanism::sums::{Noise, SumKind};
use hushstream_mechanism::{CameBack, GuaranteeKind, Transcript, Windowed};
use hushstream_recipes::{Recipe, RecipeName};

const ROUNDS: u64 = 10_000;
const GROUP: u64 = 100;
const CRASHES: u64 = 20;

/// Sorted, from a fixed generator.
fn moments(seed: u64) -> Vec<u64> {
    let mut state = seed;
    let mut moments: Vec<u64> = (0..CRASHES)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            1 + (state >> 33) % (ROUNDS - 1)
        })
        .collect();
    moments.sort_unstable();
    moments
}

/// Returns whether it ever came back from a journal that had been cut.
fn crash_often<G: GuaranteeKind>(recipe: &Recipe, seed: u64) -> bool {
    let case = name(recipe);
    let (mut run, mut ledger) = Machine::default().open::<G>(recipe).unwrap();
    let mut whole = Vec::new();
    for t in 1..=ROUNDS {
        play(&mut run, t);
        if t.is_multiple_of(GROUP) {
            whole.extend(publish(&mut run, &mut ledger));
        }
    }
    let last = bits(run.question().for_the_operator());

    let machine = Machine::default();
    drop(machine.open::<G>(recipe).unwrap());
    let mut published = 0; // steps 1..=published have been seen
    let (mut cut, mut came_back) = (false, false);
    let leftovers = [Leftover::Nothing, Leftover::Half, Leftover::Everything];
    for (crash, stop) in moments(seed).into_iter().chain([ROUNDS]).enumerate() {
        let (mut run, mut ledger, outcome) = machine.resume::<G>(recipe).unwrap();
        assert_eq!(outcome, CameBack::Continued, "{case} crash={crash}");
        came_back |= cut;
        let mut see = |releases: Vec<(u64, Vec<u64>)>| {
            for (step, iterate) in releases {
                assert!(
                    step <= published + 1,
                    "{case}: step {} is missing",
                    published + 1
                );
                assert_eq!(iterate, whole[step as usize - 1].1, "{case} step={step}");
                published = published.max(step);
            }
        };
        see(publish(&mut run, &mut ledger));
        let mut length = machine.journal.len();
        for t in run.rounds() + 1..=stop {
            play(&mut run, t);
            if t.is_multiple_of(GROUP) {
                see(publish(&mut run, &mut ledger));
            }
            cut |= machine.journal.len() < length;
            length = machine.journal.len();
        }
        if stop == ROUNDS {
            see(publish(&mut run, &mut ledger));
            assert_eq!(bits(run.question().for_the_operator()), last, "{case}");
        } else {
            drop((run, ledger));
            machine.crash(leftovers[crash % 3]);
        }
    }
    assert_eq!(published as usize, whole.len(), "{case}");
    came_back
}

/// The recipes of one name, each on every sum that fits, with one noise for each.
fn crash_on_every_sum(recipe: RecipeName) {
    // Second moments have 77 coordinates then.
    let dimension = if recipe == RecipeName::Pqftl { 11 } else { 64 };
    let windows = [100, 3000].map(SumKind::Window);
    for request in every_recipe(dimension, ROUNDS) {
        if request.recipe != recipe {
            continue;
        }
        for (seed, sum) in (1..).zip(SumKind::ALL.into_iter().chain(windows)) {
            let mut noises = [Noise::Gaussian, Noise::L2Laplace].into_iter();
            let Some(noise) = noises.find(|&noise| recipe.accepts(sum, noise).is_ok()) else {
                continue;
            };
            let mut request = on(request.clone(), sum, noise);
            // A dense sum takes a thousand releases, and keeps its items: nothing cuts its journal.
            let is_dense = matches!(sum, SumKind::Dense(_));
            if is_dense {
                request.batch = 10;
            }
            let recipe = request.plan().unwrap();
            let from_checkpoint = if sum.is_windowed() {
                crash_often::<Windowed>(&recipe, seed)
            } else {
                crash_often::<Transcript>(&recipe, seed)
            };
            let what = name(&recipe);
            assert_eq!(
                from_checkpoint, !is_dense,
                "{what}: checkpoints that served"
            );
        }
    }
}

#[test]
fn pftal() {
    crash_on_every_sum(RecipeName::Pftal);
}

#[test]
fn pftal_convex() {
    crash_on_every_sum(RecipeName::PftalConvex);
}

#[test]
fn pqftl() {
    crash_on_every_sum(RecipeName::Pqftl);
}

#[test]
fn ftrl() {
    crash_on_every_sum(RecipeName::Ftrl);
}

#[test]
fn ftpl() {
    crash_on_every_sum(RecipeName::Ftpl);
}

#[test]
fn coco_p() {
    crash_on_every_sum(RecipeName::CocoP);
}

#[test]
fn coco_l() {
    crash_on_every_sum(RecipeName::CocoL);
}
