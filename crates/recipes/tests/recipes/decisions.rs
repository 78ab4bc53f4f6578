//! Decisions: resuming equals never having stopped, bit for bit, wherever it stops; missing rewards
//! favour no arm; what a plan refuses and promises.

use crate::game::*;
use hushstream_account::{Adjacency, Budget};
use hushstream_mechanism::decisions::{Judged, Outcomes};
use hushstream_mechanism::losses::{Features, Record};
use hushstream_mechanism::sums::{Noise, SumKind};
use hushstream_mechanism::{
    CameBack, Ledger, MemoryStorage, Participation, Raw, Scoreboard, Storage, Yardstick,
};
use hushstream_noise::Key;
use hushstream_recipes::{
    Column, DecisionsRecipe, DecisionsRequest, DecisionsRun, Judging, RecipeName, Release,
};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Bytes that outlive the run that wrote them, on a disk that may die.
#[derive(Clone, Default)]
struct Shelf(Arc<Mutex<Vec<u8>>>, Arc<AtomicBool>);

impl Shelf {
    fn copy(&self) -> Self {
        let bytes = self.0.lock().unwrap().clone();
        Self(Arc::new(Mutex::new(bytes)), Arc::default())
    }
}

impl Storage for Shelf {
    fn load(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.0.lock().unwrap().clone())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.0.lock().unwrap().truncate(length as usize);
        Ok(())
    }

    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        *self.0.lock().unwrap() = bytes.to_vec();
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.1.load(Ordering::Relaxed) {
            return Err(io::Error::other("a dead disk"));
        }
        Ok(())
    }
}

fn request() -> DecisionsRequest {
    DecisionsRequest {
        recipe: RecipeName::Igw,
        columns: vec![Column::Number { zero: 0.0 }, Column::Category(2)],
        arms: 3,
        outcomes: Outcomes::Labels,
        rounds: 24,
        horizon_unknown: false,
        budget: Budget::approx(1.0, 1e-6).unwrap(),
        adjacency: Adjacency::ReplaceOne,
        participation: Participation::OncePerRecord,
        sum: None,
        noise: None,
        batch: Some(4),
        knots: Some(0),
        length: None,
        ridge: None,
        exploration: None,
        evaluation: Some(Judging {
            judged: vec![Judged::Current],
            most: None,
            share: 0.05,
        }),
        first_arm: false,
    }
}

/// Some record; a few are malformed, a few have gaps.
fn record(recipe: &DecisionsRecipe, t: u64) -> Raw<Record> {
    let share = |k: u64| ((t * 31 + k * 17) % 23) as f64 / 11.5 - 1.0;
    let gap = |t: u64, value: f64| if t % 7 == 3 { f64::NAN } else { value };
    let mut values = vec![gap(t, share(1)), (t % 3) as f64];
    match recipe.request().outcomes {
        Outcomes::Labels => values.push(gap(t + 1, (t % 3) as f64)),
        Outcomes::Table => values.extend([share(2), gap(t + 1, share(3)), share(4)]),
        Outcomes::Log { .. } => values.extend([(t % 3) as f64, gap(t + 1, share(2)), 0.4]),
    }
    if t % 11 == 5 {
        values.pop();
    }
    Raw::seal(Record {
        features: Features::Dense(values),
        target: 0.0,
    })
}

fn opened(recipe: &DecisionsRecipe, seed: u64) -> (DecisionsRun, Ledger) {
    let plan = recipe.plan();
    let (budget, noise) = (plan.request().budget, filter(plan.request().noise));
    let mut ledger = Ledger::simulated(budget, noise, plan.scope()).unwrap();
    let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
    let (key, storage) = (Key::insecure_from_seed(seed), MemoryStorage::default());
    let run = DecisionsRun::open(recipe.clone(), grant, &key, &mut ledger, storage).unwrap();
    (run, ledger)
}

/// Everything that a release tells.
fn told(release: &Release) -> Vec<u64> {
    let mut numbers = release.policy.weights().to_vec();
    numbers.extend(release.policy.answer(&[0.3, 1.0]).unwrap());
    if let Some((mean, others)) = &release.evaluation {
        let all = [*mean].into_iter().chain(others.iter().copied().flatten());
        numbers.extend(all.flat_map(|one| [one.value, one.deviation]));
    }
    bits(&numbers)
}

/// A run stopped after each record, in turn: also in the middle of a batch. The arms that are drawn
/// after a stop are those that would have been drawn.
fn stop_anywhere(recipe: &DecisionsRecipe, what: &str) {
    let plan = recipe.plan();
    let persons = plan.request().participation != Participation::OncePerRecord;
    let learn = |run: &mut DecisionsRun, t: u64| {
        let person = persons.then_some(t % 7);
        run.learn(person, record(recipe, t)).unwrap();
    };
    let publish = |run: &mut DecisionsRun, ledger: &mut Ledger| -> Vec<Vec<u64>> {
        let released = run.sync(ledger).unwrap().into_iter();
        released.map(|release| told(release.value())).collect()
    };
    let (journal, book) = (Shelf::default(), Shelf::default());
    let noise = filter(plan.request().noise);
    let mut ledger =
        Ledger::create(book.clone(), plan.request().budget, noise, plan.scope()).unwrap();
    let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
    let open = DecisionsRun::open(recipe.clone(), grant, &key(), &mut ledger, journal.clone());
    let mut run = open.unwrap();
    let (mut whole, mut stops) = (Vec::new(), vec![(journal.copy(), book.copy(), Vec::new())]);
    for t in 1..=24 {
        learn(&mut run, t);
        whole.extend(publish(&mut run, &mut ledger));
        stops.push((journal.copy(), book.copy(), whole.clone()));
    }
    assert_eq!(whole.len(), 6, "{what}");
    assert!(whole.iter().any(|release| release != &whole[0]), "{what}");
    for (stop, (journal, book, published)) in (0..).zip(stops) {
        let mut ledger = Ledger::open(book).unwrap();
        let resumed = DecisionsRun::resume(recipe.clone(), journal, &key(), &mut ledger, None);
        let (mut run, outcome) = resumed.unwrap();
        assert_eq!(outcome, CameBack::Continued, "{what}: {stop}");
        let known = stop / 4 * 4;
        assert_eq!((run.rounds(), run.slot()), (known, known), "{what}: {stop}");
        let mut again = publish(&mut run, &mut ledger);
        assert_eq!(again, published, "{what}: {stop}");
        for t in known + 1..=24 {
            learn(&mut run, t);
            again.extend(publish(&mut run, &mut ledger));
        }
        assert_eq!(again, whole, "{what}: {stop}");
    }
}

#[test]
fn decisions_stop_anywhere() {
    let log = Outcomes::Log {
        stated: true,
        most: 3.0,
    };
    for outcomes in [Outcomes::Labels, Outcomes::Table, log] {
        for sum in [None, Some(SumKind::Tree), Some(SumKind::Octave)] {
            let plain = DecisionsRequest {
                outcomes,
                sum,
                horizon_unknown: sum == Some(SumKind::Octave),
                ..request()
            };
            let name = format!("{outcomes:?} on {sum:?}");
            stop_anywhere(&plain.clone().plan().unwrap(), &name);
            let curves = DecisionsRequest {
                knots: Some(3),
                recipe: RecipeName::LinucbJdp,
                ..plain.clone()
            };
            stop_anywhere(
                &curves.plan().unwrap(),
                &format!("{name}, curves, optimistic"),
            );
            let persons = DecisionsRequest {
                participation: Participation::PerPerson {
                    most: 2,
                    separation: 1,
                },
                first_arm: true,
                ..plain
            };
            stop_anywhere(&persons.plan().unwrap(), &format!("{name}, persons"));
        }
    }
    let pure = DecisionsRequest {
        budget: Budget::pure(1.0).unwrap(),
        ..request()
    };
    let pure = pure.plan().unwrap();
    assert_eq!(pure.plan().request().noise, Noise::L2Laplace);
    stop_anywhere(&pure, "pure");
}

/// A slot that was lost in a crash is drawn with another coin; a record that is read again is not.
#[test]
fn a_slot_that_comes_again_has_another_coin() {
    let recipe = DecisionsRequest {
        outcomes: Outcomes::Log {
            stated: true,
            most: 12.0,
        },
        ..request()
    };
    let recipe = recipe.plan().unwrap();
    let plan = recipe.plan();
    let (journal, book) = (Shelf::default(), Shelf::default());
    let noise = filter(plan.request().noise);
    let mut ledger =
        Ledger::create(book.clone(), plan.request().budget, noise, plan.scope()).unwrap();
    let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
    let open = DecisionsRun::open(recipe.clone(), grant, &key(), &mut ledger, journal.clone());
    let mut run = open.unwrap();
    // Two hundred people ask, and nothing is learned from them before the crash.
    let context = Raw::seal(Record {
        features: Features::Dense(vec![0.3, 1.0]),
        target: 0.0,
    });
    let ask = |run: &mut DecisionsRun, ledger: &mut Ledger| -> Vec<usize> {
        let mut decide = |slot| run.decide(ledger, &context, slot).unwrap();
        (0..200)
            .map(|slot| decide(slot).for_the_asker().arm)
            .collect()
    };
    let lives = (0..3).map(|life| {
        if life > 0 {
            let (journal, book) = (journal.clone(), book.clone());
            ledger = Ledger::open(book).unwrap();
            let resumed = DecisionsRun::resume(recipe.clone(), journal, &key(), &mut ledger, None);
            run = resumed.unwrap().0;
        }
        let arms = ask(&mut run, &mut ledger);
        assert_eq!(
            ask(&mut run, &mut ledger),
            arms,
            "one life, one coin a slot"
        );
        arms
    });
    let lives: Vec<Vec<usize>> = lives.collect();
    for (a, b) in [(0, 1), (0, 2), (1, 2)] {
        // 67 agree by chance; 121 or more do in one of 10¹⁴ tries.
        let agree = lives[a].iter().zip(&lives[b]).filter(|(a, b)| a == b);
        assert!(agree.count() < 121, "{a} {b}");
    }
}

/// A decision is drawn from a policy that a sync has covered: if none can, there is no decision.
#[test]
fn no_sync_no_decision() {
    let recipe = request().plan().unwrap();
    let (plan, journal) = (recipe.plan(), Shelf::default());
    let noise = filter(plan.request().noise);
    let mut ledger = Ledger::simulated(plan.request().budget, noise, plan.scope()).unwrap();
    let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
    let open = DecisionsRun::open(recipe.clone(), grant, &key(), &mut ledger, journal.clone());
    let mut run = open.unwrap();
    let context = Raw::seal(Record {
        features: Features::Dense(vec![0.3, 1.0]),
        target: 0.0,
    });
    for t in 1..=4 {
        run.learn(None, record(&recipe, t)).unwrap();
    }
    journal.1.store(true, Ordering::Relaxed);
    assert!(run.decide(&mut ledger, &context, 4).is_err());
    assert!(run.policy(&mut ledger).is_err());
}

/// Every arm's block has noise of its own: with records that tell nothing, weights are noise alone.
#[test]
fn no_two_arms_share_noise() {
    for sum in [None, Some(SumKind::Tree), Some(SumKind::Octave)] {
        let plain = DecisionsRequest {
            sum,
            horizon_unknown: sum == Some(SumKind::Octave),
            evaluation: None,
            ..request()
        };
        let recipe = plain.plan().unwrap();
        let (mut run, mut ledger) = opened(&recipe, 4);
        let nothing = || Record {
            features: Features::Dense(Vec::new()),
            target: 0.0,
        };
        for _ in 0..8 {
            run.learn(None, Raw::seal(nothing())).unwrap();
        }
        let policy = run.policy(&mut ledger).unwrap().into_value().policy;
        let arms: Vec<&[f64]> = policy.weights().chunks(policy.map().features()).collect();
        assert_eq!(arms.len(), 3);
        for (a, b) in [(0, 1), (0, 2), (1, 2)] {
            let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9 * (a.abs() + b.abs());
            assert!(!arms[a].iter().zip(arms[b]).any(near), "{sum:?} {arms:?}");
        }
    }
}

/// An arm whose good rewards are there, and one whose bad rewards are hidden: missing means the
/// middle, and the better arm is found all the same.
#[test]
fn missing_rewards_favour_no_arm() {
    let log = DecisionsRequest {
        columns: vec![Column::Number { zero: 0.0 }],
        arms: 2,
        outcomes: Outcomes::Log {
            stated: false,
            most: 2.0,
        },
        rounds: 40_000,
        batch: Some(400),
        evaluation: None,
        ..request()
    };
    let recipe = log.plan().unwrap();
    let (mut run, mut ledger) = opened(&recipe, 3);
    for t in 0..40_000_u64 {
        // Arm 0 earns 0.8 on average and tells all; arm 1 earns 0.5 and hides every failure.
        let arm = t % 2;
        let draw = (t * 7919 % 1000) as f64 / 1000.0;
        let reward = match arm {
            0 if draw < 0.8 => 1.0,
            0 => -1.0,
            _ if draw < 0.5 => 1.0,
            _ => f64::NAN,
        };
        let x = ((t * 31) % 200) as f64 / 100.0 - 1.0;
        run.learn(
            None,
            Raw::seal(Record {
                features: Features::Dense(vec![x, arm as f64, reward]),
                target: 0.0,
            }),
        )
        .unwrap();
    }
    let policy = run.policy(&mut ledger).unwrap().into_value().policy;
    for x in [-0.9, 0.0, 0.9] {
        let estimates = policy.estimates(&[x]).unwrap();
        // 0.8 against ½·1 + ½·½ = 0.75.
        assert!(estimates[0] > estimates[1], "{estimates:?}");
        assert!((estimates[0] - 0.8).abs() < 0.03, "{estimates:?}");
        assert!((estimates[1] - 0.75).abs() < 0.03, "{estimates:?}");
    }
}

/// The right arm depends on the context, and is found; the first arm is answered where that was
/// asked for, while the policy learns.
#[test]
fn contexts_are_learned() {
    let sized = DecisionsRequest {
        columns: vec![Column::Number { zero: 0.0 }],
        arms: 2,
        rounds: 40_000,
        batch: None,
        ..request()
    };
    let play = |request: DecisionsRequest| {
        let recipe = request.plan().unwrap();
        let (mut run, mut ledger) = opened(&recipe, 5);
        let mut board = Scoreboard::new(Yardstick::Experts(2), f64::INFINITY);
        for t in 0..recipe.request().rounds {
            let x = ((t * 7919) % 2001) as f64 / 1000.0 - 1.0;
            let right = f64::from(u8::from(x > 0.0));
            let row = Raw::seal(Record {
                features: Features::Dense(vec![x, right]),
                target: 0.0,
            });
            run.take(None, row, Some(&mut board)).unwrap();
        }
        let released = run.policy(&mut ledger).unwrap().into_value();
        let reward = 1.0 - board.summary().for_the_operator().average;
        (released, reward)
    };
    let (release, reward) = play(sized.clone());
    assert!(reward > 0.9, "{reward}");
    let (mean, _) = release.evaluation.unwrap();
    assert!(
        (mean.value - reward).abs() < 6.0 * mean.deviation,
        "{mean:?} {reward}"
    );
    assert!(release.policy.answer(&[0.8]).unwrap()[1] > 0.9);
    let (release, reward) = play(DecisionsRequest {
        first_arm: true,
        ..sized
    });
    assert!((reward - 0.5).abs() < 0.01, "{reward}");
    let estimates = release.policy.estimates(&[-0.9]).unwrap();
    assert!(estimates[0] > 0.8, "{estimates:?}");
}

#[test]
fn plans_refuse_what_does_not_fit_and_promise_joint_privacy() {
    let refused = |change: &dyn Fn(&mut DecisionsRequest)| {
        let mut request = request();
        change(&mut request);
        request.plan().err().unwrap().to_string()
    };
    assert!(refused(&|request| request.arms = 1).contains("arms = 1"));
    assert!(refused(&|request| request.columns.clear()).contains("column"));
    assert!(refused(&|request| request.batch = Some(25)).contains("rounds"));
    assert!(refused(&|request| request.exploration = Some(0.0)).contains("exploration"));
    assert!(refused(&|request| request.ridge = Some(-1.0)).contains("ridge"));
    assert!(refused(&|request| request.noise = Some(Noise::Laplace)).contains("L2"));
    assert!(refused(&|request| request.sum = Some(SumKind::Window(3))).contains("window"));
    assert!(refused(&|request| request.recipe = RecipeName::Pftal).contains("decide"));
    let recipe = request().plan().unwrap();
    let (run, _) = opened(&recipe, 1);
    let guarantee = run.guarantee().unwrap();
    assert!(guarantee.is_joint());
    let words = guarantee.to_string();
    assert!(
        words.contains("decisions made for everybody else"),
        "{words}"
    );
    assert!(words.contains("is not covered"), "{words}");
    assert!(recipe.regret_bound().unwrap() > 0.0 && recipe.forecast() > 0.0);
}
