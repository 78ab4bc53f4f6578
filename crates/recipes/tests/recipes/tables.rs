//! Curves and tables: resuming equals never having stopped, bit for bit, wherever it stops; and
//! what a plan refuses.

use crate::game::*;
use hushstream_account::{Adjacency, Budget};
use hushstream_mechanism::losses::{Features, Record};
use hushstream_mechanism::sums::{Noise, SumKind};
use hushstream_mechanism::{CameBack, Ledger, Participation, Raw, Response, Storage};
use hushstream_recipes::{Column, TablesRecipe, TablesRequest, TablesRun};
use std::io;
use std::sync::{Arc, Mutex};

/// Bytes that outlive the run that wrote them.
#[derive(Clone, Default)]
pub(crate) struct Shelf(Arc<Mutex<Vec<u8>>>);

impl Shelf {
    fn copy(&self) -> Self {
        Self(Arc::new(Mutex::new(self.0.lock().unwrap().clone())))
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
        Ok(())
    }
}

pub(crate) fn request() -> TablesRequest {
    TablesRequest {
        columns: vec![
            Column::Number { zero: -1.0 },
            Column::Category(3),
            Column::Number { zero: 0.0 },
        ],
        response: Response::Sign,
        rounds: 24,
        horizon_unknown: false,
        in_time: false,
        budget: Budget::approx(1.0, 1e-6).unwrap(),
        adjacency: Adjacency::ReplaceOne,
        participation: Participation::OncePerRecord,
        sum: None,
        noise: None,
        batch: Some(4),
        at_rest: false,
        passes: None,
        knots: Some(4),
        tables: Some(2),
        step: None,
    }
}

/// Some record; a few are malformed, a few have gaps.
pub(crate) fn record(response: Response, t: u64) -> Raw<Record> {
    let share = |k: u64| ((t * 31 + k * 17) % 23) as f64 / 11.5 - 1.0;
    let gap = |t: u64, value: f64| if t % 7 == 3 { f64::NAN } else { value };
    let features = vec![gap(t, share(1)), (t % 5) as f64, gap(t + 2, share(2))];
    Raw::seal(Record {
        features: Features::Dense(features),
        target: match response {
            Response::Sign => share(3),
            Response::Classes(classes) => (t % (classes as u64 + 1)) as f64,
            Response::Number(half) => 1.2 * half * share(4),
        },
    })
}

/// A run stopped after each record, in turn: also in the middle of a batch, or of a pass.
fn stop_anywhere(recipe: &TablesRecipe, what: &str) {
    let plan = recipe.plan();
    let response = recipe.request().response;
    let (passes, rows) = recipe.passes();
    let rounds = if passes > 1 { passes * rows } else { 24 };
    let persons = matches!(
        plan.request().participation,
        Participation::PerPerson { .. }
    );
    let learn = |run: &mut TablesRun, t: u64| {
        let person = persons.then_some(t % 7);
        // The same row in every pass.
        let row = if passes > 1 { (t - 1) % rows + 1 } else { t };
        run.learn(person, record(response, row)).unwrap();
    };
    let publish = |run: &mut TablesRun, ledger: &mut Ledger| -> Vec<Vec<u64>> {
        let released = run.sync(ledger).unwrap().into_iter();
        released.map(|weights| bits(weights.value())).collect()
    };
    let (journal, book) = (Shelf::default(), Shelf::default());
    let noise = filter(plan.request().noise);
    let mut ledger =
        Ledger::create(book.clone(), plan.request().budget, noise, plan.scope()).unwrap();
    let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
    let open = TablesRun::open(recipe.clone(), grant, &key(), &mut ledger, journal.clone());
    let mut run = open.unwrap();
    let (mut whole, mut stops) = (Vec::new(), vec![(journal.copy(), book.copy(), Vec::new())]);
    for t in 1..=rounds {
        learn(&mut run, t);
        whole.extend(publish(&mut run, &mut ledger));
        stops.push((journal.copy(), book.copy(), whole.clone()));
    }
    let last = bits(run.question().for_the_operator());
    assert!(whole.len() >= 3, "{what}: {}", whole.len());
    assert!(whole.iter().any(|weights| weights != &whole[0]), "{what}");
    let batch = recipe.batch();
    for (stop, (journal, book, published)) in (0..).zip(stops) {
        let mut ledger = Ledger::open(book).unwrap();
        let resumed = TablesRun::resume(recipe.clone(), journal, &key(), &mut ledger, None);
        let (mut run, outcome) = resumed.unwrap();
        assert_eq!(outcome, CameBack::Continued, "{what}: {stop}");
        let known = stop / batch * batch;
        assert_eq!(run.rounds(), known, "{what}: {stop}");
        let mut again = publish(&mut run, &mut ledger);
        assert_eq!(again, published, "{what}: {stop}");
        for t in known + 1..=rounds {
            learn(&mut run, t);
            again.extend(publish(&mut run, &mut ledger));
        }
        assert_eq!(again, whole, "{what}: {stop}");
        assert_eq!(bits(run.question().for_the_operator()), last, "{what}");
    }
}

#[test]
fn stopping_curves_and_tables_anywhere_changes_nothing() {
    let pure = || Budget::pure(4.0).unwrap();
    let persons = Participation::PerPerson {
        most: 3,
        separation: 1,
    };
    for response in [Response::Sign, Response::Classes(3), Response::Number(2.5)] {
        let request = || TablesRequest {
            response,
            ..request()
        };
        let cases = [
            request(),
            TablesRequest {
                tables: Some(0),
                adjacency: Adjacency::ZeroOut,
                ..request()
            },
            TablesRequest {
                participation: persons,
                ..request()
            },
            TablesRequest {
                horizon_unknown: true,
                ..request()
            },
            TablesRequest {
                budget: pure(),
                ..request()
            },
            TablesRequest {
                budget: pure(),
                noise: Some(Noise::L2Laplace),
                sum: Some(SumKind::Honaker),
                ..request()
            },
            TablesRequest {
                in_time: true,
                sum: Some(SumKind::Fresh),
                ..request()
            },
            TablesRequest {
                rounds: 9,
                batch: None,
                tables: None,
                passes: Some(4),
                ..request()
            },
        ];
        for case in cases {
            let what = format!("{case:?}");
            stop_anywhere(&case.plan().unwrap(), &what);
        }
    }
}

/// A pass is one item, and every record pays for as many as there are passes.
#[test]
fn passes_are_priced_or_refused() {
    let several = || TablesRequest {
        batch: None,
        tables: None,
        passes: Some(4),
        ..request()
    };
    let recipe = several().plan().unwrap();
    let sum = recipe.plan().request();
    assert_eq!((sum.kind, sum.batch, sum.releases), (SumKind::Fresh, 24, 4));
    assert_eq!(sum.participation.limits(), (4, 1));
    assert_eq!((recipe.rounds(), recipe.passes()), (96, (4, 24)));
    assert!((recipe.plan().sensitivity() - 2.0).abs() < 1e-12);
    let once = TablesRequest {
        sum: Some(SumKind::Fresh),
        batch: Some(24),
        ..request()
    };
    let ratio = once.plan().unwrap().plan().radius() as f64 / recipe.plan().radius() as f64;
    assert!((ratio - 2.0).abs() < 1e-6, "{ratio}");
    let persons = Participation::PerPerson {
        most: 3,
        separation: 1,
    };
    for refused in [
        TablesRequest {
            participation: persons,
            ..several()
        },
        TablesRequest {
            budget: Budget::pure(1.0).unwrap(),
            ..several()
        },
        TablesRequest {
            horizon_unknown: true,
            ..several()
        },
        TablesRequest {
            batch: Some(2),
            ..several()
        },
        TablesRequest {
            sum: Some(SumKind::Tree),
            ..several()
        },
        TablesRequest {
            noise: Some(Noise::L2Laplace),
            ..several()
        },
    ] {
        let what = format!("{refused:?}");
        let error = refused.plan().unwrap_err().to_string();
        assert!(!error.is_empty(), "{what}");
    }
}
