//! Resuming equals never having stopped, bit for bit: every recipe on every sum, stopped after
//! every record.

use crate::disk::Machine;
use crate::game::*;
use hushstream_mechanism::sums::{Noise, SumKind};
use hushstream_mechanism::{
    CameBack, FileStorage, GuaranteeKind, Ledger, Participation, Transcript, Windowed,
};
use hushstream_recipes::{NoteError, Recipe, RecipeName, RecipeRequest, RunError, SumRun};
use hushstream_sets::{Ball, Simplex, Spectrahedron};

const ROUNDS: u64 = 64;
const DIMENSION: usize = 3;

/// Stops a run after each of its records, in turn, and goes on to the end.
fn stop_anywhere<G: GuaranteeKind>(recipe: &Recipe) {
    let case = name(recipe);
    let (batch, releases) = (recipe.request().batch, recipe.plan().most_releases());
    let machine = Machine::default();
    let (mut run, mut ledger) = machine.open::<G>(recipe).unwrap();
    let mut questions = vec![bits(run.question().for_the_operator())];
    let mut counts = vec![nulls_and_clipped(&run)];
    let mut stopped = vec![machine.copy()];
    let mut published = vec![Vec::new()];
    let mut whole = Vec::new();
    for t in 1..=ROUNDS {
        play(&mut run, t);
        whole.extend(publish(&mut run, &mut ledger));
        questions.push(bits(run.question().for_the_operator()));
        counts.push(nulls_and_clipped(&run));
        published.push(whole.clone());
        stopped.push(machine.copy());
    }
    assert_eq!(whole.len() as u64, releases.min(ROUNDS / batch), "{case}");

    for (stop, machine) in (0..).zip(&stopped) {
        let (mut run, mut ledger, outcome) = machine.resume::<G>(recipe).unwrap();
        assert_eq!(outcome, CameBack::Continued, "{case} stop={stop}");
        // Records of an unfinished batch come again, and so do those that nobody was asked about.
        let known = (stop / batch).min(releases) * batch;
        assert_eq!(run.rounds(), known, "{case} stop={stop}");
        assert_eq!(
            bits(run.question().for_the_operator()),
            questions[known as usize],
            "{case} stop={stop}"
        );
        assert_eq!(
            nulls_and_clipped(&run),
            counts[known as usize],
            "{case} stop={stop}"
        );
        let mut again = publish(&mut run, &mut ledger);
        assert_eq!(again, published[stop as usize], "{case} stop={stop}");
        for t in known + 1..=ROUNDS {
            play(&mut run, t);
            again.extend(publish(&mut run, &mut ledger));
        }
        assert_eq!(again, whole, "{case} stop={stop}");
        assert_eq!(
            &bits(run.question().for_the_operator()),
            questions.last().unwrap(),
            "{case} stop={stop}"
        );
    }
}

fn nulls_and_clipped<G: GuaranteeKind>(run: &SumRun<G>) -> (u64, u64) {
    let (nulls, clipped) = run.counts();
    (*nulls.for_the_operator(), *clipped.for_the_operator())
}

fn stop_anywhere_in_every_cell(recipes: &[RecipeName]) {
    let mut cells = 0;
    for request in every_recipe(DIMENSION, ROUNDS) {
        if !recipes.contains(&request.recipe) {
            continue;
        }
        for cell in cells_of(&request, 10) {
            let recipe = cell.plan().unwrap();
            if recipe.plan().request().kind.is_windowed() {
                stop_anywhere::<Windowed>(&recipe);
            } else {
                stop_anywhere::<Transcript>(&recipe);
            }
            cells += 1;
        }
    }
    assert!(cells >= 2 * recipes.len());
}

#[test]
fn stopping_pftal_anywhere_changes_nothing() {
    stop_anywhere_in_every_cell(&[RecipeName::Pftal]);
}

#[test]
fn stopping_pftal_convex_anywhere_changes_nothing() {
    stop_anywhere_in_every_cell(&[RecipeName::PftalConvex]);
}

#[test]
fn stopping_pqftl_anywhere_changes_nothing() {
    stop_anywhere_in_every_cell(&[RecipeName::Pqftl]);
}

#[test]
fn stopping_ftrl_and_ftpl_anywhere_changes_nothing() {
    stop_anywhere_in_every_cell(&[RecipeName::Ftrl, RecipeName::Ftpl]);
}

#[test]
fn stopping_window_recipes_anywhere_changes_nothing() {
    stop_anywhere_in_every_cell(&[RecipeName::CocoP, RecipeName::CocoL]);
}

/// Where a set has a linear minimiser only, `coco-l` is online Frank–Wolfe, and can be stopped all
/// the same.
#[test]
fn stopping_frank_wolfe_anywhere_changes_nothing() {
    let set = Spectrahedron::new(2).unwrap();
    let start = request(RecipeName::CocoL, distance(DIMENSION), set, ROUNDS);
    assert_eq!(
        start.clone().plan().unwrap().learner().unwrap().name(),
        "frank-wolfe"
    );
    for cell in cells_of(&start, 10) {
        stop_anywhere::<Windowed>(&cell.plan().unwrap());
    }
}

/// A stop inside a batch loses the batch, whose records are fed again; nothing of them had been
/// asked for in public.
#[test]
fn stopping_inside_a_batch_changes_nothing() {
    for mut request in every_recipe(DIMENSION, ROUNDS) {
        request.batch = 5; // the last batch is short
        let recipe = request.plan().unwrap();
        if recipe.plan().request().kind.is_windowed() {
            stop_anywhere::<Windowed>(&recipe);
        } else {
            stop_anywhere::<Transcript>(&recipe);
        }
    }
}

#[test]
fn who_has_contributed_is_remembered() {
    for mut request in every_recipe(DIMENSION, ROUNDS) {
        if matches!(request.recipe, RecipeName::CocoP | RecipeName::CocoL) {
            continue; // a window protects single records
        }
        request.participation = Participation::PerPerson {
            most: 3,
            separation: 4,
        };
        stop_anywhere::<Transcript>(&request.plan().unwrap());
    }
}

/// In files, one life after the other: each plays one record.
#[test]
fn a_run_in_files_that_stops_after_every_record() {
    fn check<G: GuaranteeKind>(recipe: &Recipe) {
        let case = name(recipe);
        let (mut whole, mut ledger) = Machine::default().open::<G>(recipe).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| FileStorage::open(directory.path().join(name)).unwrap();
        {
            let plan = recipe.plan();
            let (budget, noise) = (plan.request().budget, plan.request().noise);
            let mut ledger =
                Ledger::create(file("ledger"), budget, filter(noise), plan.scope()).unwrap();
            let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
            let journal = file("journal");
            SumRun::<G>::open(recipe.clone(), grant, &key(), &mut ledger, journal).unwrap();
        }
        for t in 1..=ROUNDS {
            let mut files = Ledger::open(file("ledger")).unwrap();
            let (mut run, outcome) =
                SumRun::<G>::resume(recipe.clone(), file("journal"), &key(), &mut files, None)
                    .unwrap();
            assert_eq!(
                (outcome, run.rounds()),
                (CameBack::Continued, t - 1),
                "{case}"
            );
            assert_eq!(
                bits(run.question().for_the_operator()),
                bits(whole.question().for_the_operator()),
                "{case} t={t}"
            );
            play(&mut run, t);
            play(&mut whole, t);
            let expected = publish(&mut whole, &mut ledger);
            let published = publish(&mut run, &mut files);
            assert_eq!(
                published.last(),
                expected.last().or(published.last()),
                "{case} t={t}"
            );
            assert_eq!(
                bits(run.question().for_the_operator()),
                bits(whole.question().for_the_operator()),
                "{case} t={t}"
            );
        }
    }
    for request in every_recipe(DIMENSION, ROUNDS) {
        let recipe = request.plan().unwrap();
        if recipe.plan().request().kind.is_windowed() {
            check::<Windowed>(&recipe);
        } else {
            check::<Transcript>(&recipe);
        }
    }
}

#[test]
fn a_journal_of_another_recipe_is_refused() {
    let ball = |radius| Ball::new(DIMENSION, radius).unwrap();
    let start = || request(RecipeName::Pftal, distance(DIMENSION), ball(1.0), ROUNDS);
    let machine = Machine::default();
    let recipe = start().plan().unwrap();
    let (mut run, mut ledger) = machine.open::<Transcript>(&recipe).unwrap();
    play(&mut run, 1);
    publish(&mut run, &mut ledger);
    drop((run, ledger));

    let changed = |change: fn(&mut RecipeRequest)| {
        let mut request = start();
        change(&mut request);
        request
    };
    let others = [
        (
            "curvature",
            changed(|request| request.curvature = Some(0.5)),
        ),
        ("rounds", changed(|request| request.rounds += 1)),
        ("batch", changed(|request| request.batch = 2)),
        (
            "recipe",
            changed(|request| request.recipe = RecipeName::PftalConvex),
        ),
        (
            "sum",
            changed(|request| request.sum = Some(SumKind::Honaker)),
        ),
        ("noise", on(start(), SumKind::Tree, Noise::L2Laplace)),
        (
            "set",
            request(
                RecipeName::Pftal,
                distance(DIMENSION),
                Simplex::new(DIMENSION).unwrap(),
                ROUNDS,
            ),
        ),
        (
            "dimension",
            request(
                RecipeName::Pftal,
                distance(2),
                Ball::new(2, 1.0).unwrap(),
                ROUNDS,
            ),
        ),
    ];
    for (what, other) in others {
        let other = other.plan().unwrap();
        let refused = machine.copy().resume::<Transcript>(&other).err().unwrap();
        let RunError::Note(NoteError::OtherRecipe(stored)) = &refused else {
            panic!("another {what}: {refused}")
        };
        assert_eq!(*stored, recipe.description(), "another {what}");
        assert!(stored.contains("pftal of Distance"));
        let told = "its recipe, privacy or settings differ";
        assert!(refused.to_string().ends_with(told));
    }
    // The other guarantee is refused before that, and the right recipe still goes on.
    let window = request(RecipeName::CocoP, distance(DIMENSION), ball(1.0), ROUNDS);
    let window = window.plan().unwrap();
    assert!(machine.copy().resume::<Windowed>(&window).is_err());
    assert!(machine.resume::<Transcript>(&recipe).is_ok());
}
