//! Recipes on sums made elsewhere: the releases of one process, bit for bit, for every recipe on
//! every sum, with a restart after every batch and every batch delivered twice.

use crate::game::*;
use crate::tables::{self, Shelf};
use hushstream_account::{Adjacency, Budget, FilterKind};
use hushstream_mechanism::losses::{Link, Record};
use hushstream_mechanism::sums::{Delivery, Positions, Question, Span};
use hushstream_mechanism::{
    GuaranteeKind, Ledger, MemoryStorage, Raw, Response, Transcript, Windowed,
};
use hushstream_recipes::{
    Player, Recipe, RecipeName, Run, RunError, SparseRequest, SparseRun, SumRun, TablesRun,
};

/// Records of each batch; the most is 3.
const SIZES: [u64; 4] = [2, 0, 3, 1];

fn span(start: u64, end: u64) -> Span {
    let partition = "log".to_owned();
    Span {
        partition,
        start,
        end,
    }
}

fn delivery(batch: usize, sizes: &[u64]) -> Delivery {
    let start = sizes[..batch].iter().sum();
    let positions = Positions::new([span(start, start + sizes[batch])]).unwrap();
    Delivery::new("stream", batch as u64, positions).unwrap()
}

/// The partial sums of a batch, one record each, and an empty one.
fn parts(
    question: &Question,
    delivery: &Delivery,
    record: &dyn Fn(u64) -> Raw<Record>,
) -> Vec<Vec<u8>> {
    let question = Question::from_bytes(&question.to_bytes().unwrap()).unwrap();
    let Span { start, end, .. } = delivery.positions().spans()[0];
    let mut parts = vec![question.worker().unwrap().finish([]).unwrap()];
    for t in (start..end).rev() {
        let mut worker = question.worker().unwrap();
        worker.add(None, record(t)).unwrap();
        parts.push(worker.finish([span(t, t + 1)]).unwrap());
    }
    parts
        .iter()
        .map(|part| part.seal_to_bytes().unwrap())
        .collect()
}

/// Where a run keeps what outlives it.
struct Kept {
    journal: Shelf,
    book: Shelf,
}

/// The releases of committed batches, each delivered twice, with a restart in between.
fn committed<P: Player<Output = Vec<f64>>>(
    recipe: impl Fn() -> P::Recipe,
    (budget, kind): (Budget, FilterKind),
    sizes: &[u64],
    record: &dyn Fn(u64) -> Raw<Record>,
    charge: impl Fn(&mut Ledger) -> hushstream_mechanism::Grant,
    scope: hushstream_mechanism::Scope,
) -> Vec<Vec<u64>> {
    let kept = Kept {
        journal: Shelf::default(),
        book: Shelf::default(),
    };
    let mut ledger = Ledger::create(kept.book.clone(), budget, kind, scope).unwrap();
    let grant = charge(&mut ledger);
    let open = Run::<P>::open(recipe(), grant, &key(), &mut ledger, kept.journal.clone());
    drop(open.unwrap());
    let mut releases = Vec::new();
    for batch in 0..sizes.len() {
        let delivery = delivery(batch, sizes);
        for time in 0..2 {
            let mut ledger = Ledger::open(kept.book.clone()).unwrap();
            let (mut run, _) =
                Run::<P>::resume(recipe(), kept.journal.clone(), &key(), &mut ledger, None)
                    .unwrap();
            run.sync(&mut ledger).unwrap();
            let note = b"how rows are read".to_vec();
            let parts = match run.question_elsewhere(&mut ledger, note.clone()) {
                Ok(question) => parts(question.value(), &delivery, record),
                // After the last batch nothing is asked, and the last one is known all the same.
                Err(_) => Vec::new(),
            };
            assert_eq!(run.commit(&delivery, note, &parts).unwrap(), time == 0);
            run.sync(&mut ledger).unwrap();
            let model = run.model(&mut ledger).unwrap();
            releases.push(bits(model.value()));
        }
    }
    // Twice each, the same.
    let (once, again): (Vec<_>, Vec<_>) = releases
        .chunks(2)
        .map(|pair| (pair[0].clone(), pair[1].clone()))
        .unzip();
    assert_eq!(once, again);
    once
}

fn one_process<G: GuaranteeKind>(recipe: &Recipe, d: usize) -> Vec<Vec<u64>> {
    let plan = recipe.plan();
    let kind = filter(plan.request().noise);
    let mut ledger = Ledger::simulated(plan.request().budget, kind, plan.scope()).unwrap();
    let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
    let storage = MemoryStorage::default();
    let mut run = SumRun::<G>::open(recipe.clone(), grant, &key(), &mut ledger, storage).unwrap();
    run.close_by_clock();
    let (mut t, mut releases) = (0, Vec::new());
    for size in SIZES {
        for _ in 0..size {
            run.learn(None, record(d, t)).unwrap();
            t += 1;
        }
        run.close_item().unwrap();
        run.sync(&mut ledger).unwrap();
        releases.push(bits(run.model(&mut ledger).unwrap().value()));
    }
    releases
}

fn compare<G: GuaranteeKind>(recipe: &Recipe, d: usize) {
    let plan = recipe.plan();
    let kind = filter(plan.request().noise);
    let released = committed::<hushstream_recipes::SumPlayer<G>>(
        || recipe.clone(),
        (plan.request().budget, kind),
        &SIZES,
        &|t| record(d, t),
        |ledger| ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap(),
        plan.scope(),
    );
    assert_eq!(released, one_process::<G>(recipe, d), "{}", name(recipe));
}

#[test]
fn every_recipe_on_sums_gives_the_releases_of_one_process() {
    let d = 4;
    for mut request in every_recipe(d, 15) {
        request.batch = 3;
        for request in cells_of(&request, 3) {
            let recipe = request.plan().unwrap();
            if recipe.plan().request().kind.is_windowed() {
                compare::<Windowed>(&recipe, d);
            } else {
                compare::<Transcript>(&recipe, d);
            }
        }
    }
}

#[test]
fn tables_give_the_releases_of_one_process() {
    for response in [Response::Sign, Response::Classes(3), Response::Number(2.0)] {
        let mut request = tables::request();
        request.response = response;
        let recipe = request.plan().unwrap();
        let plan = recipe.plan();
        let kind = filter(plan.request().noise);
        let record = |t: u64| tables::record(response, t);
        let released = |sizes: &[u64]| {
            committed::<hushstream_recipes::TablesPlayer>(
                || recipe.clone(),
                (plan.request().budget, kind),
                sizes,
                &record,
                |ledger| ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap(),
                plan.scope(),
            )
        };
        let mut ledger = Ledger::simulated(plan.request().budget, kind, plan.scope()).unwrap();
        let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
        let storage = MemoryStorage::default();
        let open = TablesRun::open(recipe.clone(), grant, &key(), &mut ledger, storage);
        let mut run = open.unwrap();
        let mut expected = Vec::new();
        for t in 0..16 {
            run.learn(None, record(t)).unwrap();
            if t % 4 == 3 {
                expected.push(bits(run.model(&mut ledger).unwrap().value()));
            }
        }
        assert_eq!(released(&[4, 4, 4, 4]), expected);
        // Short batches: the counts are means of the records that came, so weights stay finite.
        for release in released(&[0, 3, 0, 1]) {
            assert!(release.iter().all(|bits| f64::from_bits(*bits).is_finite()));
        }
    }
}

/// A recipe whose every record moves a state of one process says so.
#[test]
fn other_recipes_are_refused_with_the_reason() {
    let budget = Budget::approx(1.0, 1e-6).unwrap();
    let recipe = SparseRequest {
        features: 4,
        bounds: bounds(),
        link: Link::Hinge,
        rounds: 16,
        budget,
        adjacency: Adjacency::ReplaceOne,
        rate: Some(0.1),
    }
    .plan()
    .unwrap();
    let (price, scope) = (recipe.plan().charge().unwrap(), recipe.plan().scope());
    let mut ledger = Ledger::simulated(budget, FilterKind::Gaussian, scope).unwrap();
    let grant = ledger.debit(price, scope).unwrap();
    let storage = MemoryStorage::default();
    let mut run = SparseRun::open(recipe, grant, &key(), &mut ledger, storage).unwrap();
    for refused in [
        run.question_elsewhere(&mut ledger, Vec::new())
            .err()
            .unwrap(),
        run.commit(&delivery(0, &SIZES), Vec::new(), &[[0_u8; 0]; 0])
            .err()
            .unwrap(),
    ] {
        assert!(matches!(
            refused,
            RunError::OneProcess(RecipeName::SparseFtrl)
        ));
        assert!(refused.to_string().contains("one process"), "{refused}");
    }
    assert_eq!(run.delivered(), None);
}
