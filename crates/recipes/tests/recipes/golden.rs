//! State of every kind of run that is neither a sum of gradients nor a selection (those are with
//! the mechanism's tests), as version 3 wrote it: a journal and a ledger. It is resumed and goes on
//! bit for bit with what version 2 released; journals of another version are refused in words.
//! Version 4, which added batches of a source to sums, has the same records for these kinds.
//!
//! The files are written by this test if `HUSHSTREAM_WRITE_GOLDEN` is set. They change only with
//! the version; the releases are those of version 2.

use crate::game::key;
use hushstream_account::{Adjacency, Budget, FilterKind, Price};
use hushstream_mechanism::feedback::{FeedbackNoise, Range};
use hushstream_mechanism::losses::{Bounds, Distance, Features, LinearModel, Link, Record};
use hushstream_mechanism::sums::{Noise, SumKind};
use hushstream_mechanism::{
    FileStorage, Grant, Ledger, MemoryStorage, Participation, Raw, Released, Scope, Storage,
};
use hushstream_recipes::{
    Actions, Averaged, BanditRequest, BanditRun, Insider, IterateRequest, IterateRun,
    LimitedUpdatesRequest, LimitedUpdatesRun, RecipeName, SparseRequest, SparseRun, ValuesRequest,
    ValuesRun,
};
use hushstream_sets::Ball;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Records before the state was kept, and after it: octaves end at 1, 3, 7 and 15.
const STOPPED: u64 = 5;
const END: u64 = 15;
/// The byte of a journal that says its version.
const VERSION: usize = 9;

type Releases = Vec<Vec<f64>>;

type Open<R> = Box<dyn Fn(Grant, &mut Ledger, FileStorage) -> R>;
type Resume<R> = Box<dyn Fn(MemoryStorage, &mut Ledger) -> Result<R, String>>;

/// One kind of run.
struct Kind<R> {
    name: &'static str,
    filter: FilterKind,
    price: Price,
    scope: Scope,
    open: Open<R>,
    resume: Resume<R>,
    learn: fn(&mut R, u64),
    released: fn(&mut R, &mut Ledger) -> Releases,
}

fn path(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden")).join(name)
}

fn stored(bytes: &[u8]) -> MemoryStorage {
    let mut storage = MemoryStorage::default();
    storage.append(bytes).unwrap();
    storage
}

/// Bits of floats, in hexadecimal, one line for each release.
fn text(releases: &[Vec<f64>]) -> String {
    let line = |release: &Vec<f64>| {
        let words = release.iter().map(|x| format!("{:016x}", x.to_bits()));
        words.collect::<Vec<_>>().join(" ") + "\n"
    };
    releases.iter().map(line).collect()
}

fn budget() -> Budget {
    Budget::approx(2.0, 1e-6).unwrap()
}

impl<R> Kind<R> {
    fn file(&self, version: u8, what: &str) -> PathBuf {
        path(&format!("{}-v{version}-{what}", self.name))
    }

    /// Writes the files of the present version.
    fn write(&self) {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| FileStorage::open(folder.path().join(name)).unwrap();
        let mut ledger = Ledger::create(file("ledger"), budget(), self.filter, self.scope).unwrap();
        let grant = ledger.debit(self.price, self.scope).unwrap();
        let mut run = (self.open)(grant, &mut ledger, file("journal"));
        let mut all = Vec::new();
        for t in 1..=END {
            (self.learn)(&mut run, t);
            all.extend((self.released)(&mut run, &mut ledger));
            if t == STOPPED {
                for what in ["ledger", "journal"] {
                    std::fs::copy(folder.path().join(what), self.file(3, what)).unwrap();
                }
            }
        }
        assert_eq!(text(&all), self.known(), "{}", self.name);
    }

    /// What version 2 released.
    fn known(&self) -> String {
        std::fs::read_to_string(self.file(2, "releases")).unwrap()
    }

    fn check(&self) {
        if std::env::var_os("HUSHSTREAM_WRITE_GOLDEN").is_some() {
            self.write();
        }
        let read = |what: &str| std::fs::read(self.file(3, what)).unwrap();
        let ledger = || Ledger::open(stored(&read("ledger"))).unwrap();
        let journal = read("journal");
        assert_eq!(journal[VERSION], 3, "{}", self.name);
        let mut newer = journal.clone();
        newer[VERSION] = 5;
        let older = std::fs::read(self.file(2, "journal")).unwrap();
        for (other, told) in [
            (older, "begin a new run, which is charged"),
            (newer, "later version"),
        ] {
            let refused = (self.resume)(stored(&other), &mut ledger());
            let message = refused.err().unwrap();
            assert!(message.contains(told), "{}: {message}", self.name);
        }
        for version in [3, 4] {
            let (mut ledger, mut journal) = (ledger(), journal.clone());
            journal[VERSION] = version;
            let mut run = (self.resume)(stored(&journal), &mut ledger).unwrap();
            let mut all = (self.released)(&mut run, &mut ledger);
            assert!(!all.is_empty(), "{}: nothing comes again", self.name);
            for t in STOPPED + 1..=END {
                (self.learn)(&mut run, t);
                all.extend((self.released)(&mut run, &mut ledger));
            }
            // A model comes again once; of the others all releases do.
            let known = self.known();
            assert!(known.ends_with(&text(&all)), "{}: {known}", self.name);
        }
    }
}

fn record(t: u64) -> Raw<Record> {
    let features = vec![0.1 * (t % 7) as f64 - 0.3, 0.2 * (t % 3) as f64];
    Raw::seal(Record {
        features: Features::Dense(features),
        target: if t.is_multiple_of(2) { 1.0 } else { -0.5 },
    })
}

fn model(link: Link) -> Arc<LinearModel> {
    let bounds = Bounds::new(1.0, (-1.0, 1.0), 1.0).unwrap();
    Arc::new(LinearModel::new(2, link, bounds).unwrap())
}

fn ball() -> Arc<Ball> {
    Arc::new(Ball::new(2, 1.0).unwrap())
}

#[test]
fn answers_of_version_3_are_resumed() {
    let recipe = BanditRequest {
        recipe: RecipeName::Exp2,
        actions: Actions::Arms(3),
        reading: None,
        range: Range::ZeroTo(1.0),
        rounds: Some(END),
        restart: None,
        batch: Some(1),
        noise: Some(FeedbackNoise::Gaussian),
        budget: budget(),
        adjacency: Adjacency::ReplaceOne,
        participation: Participation::OncePerRecord,
    }
    .plan()
    .unwrap();
    let plan = recipe.plan();
    let (filter, price, scope) = (plan.filter(), plan.charge().unwrap(), plan.scope());
    let again = recipe.clone();
    Kind {
        name: "answers",
        filter,
        price,
        scope,
        open: Box::new(move |grant, ledger, journal| {
            BanditRun::open(recipe.clone(), grant, &key(), ledger, journal).unwrap()
        }),
        resume: Box::new(move |journal, ledger| {
            let back = BanditRun::resume(again.clone(), journal, &key(), ledger, None);
            back.map(|(run, _)| run).map_err(|error| error.to_string())
        }),
        learn: |run, t| {
            let losses = (0..3).map(|i| ((5 * t + 2 * i) % 7) as f64 / 6.0);
            run.learn_losses(None, Raw::seal(losses.collect())).unwrap();
        },
        released: |run, ledger| {
            let turns = run.sync(ledger).unwrap().into_iter();
            turns.map(|turn| vec![turn.into_value().answer]).collect()
        },
    }
    .check();
}

/// A solver's plan has the public middle of its losses since: a run without one is another.
#[test]
fn phases_of_version_3_are_refused() {
    let recipe = LimitedUpdatesRequest {
        loss: model(Link::Huber(0.5)),
        set: ball(),
        budget: budget(),
        adjacency: Adjacency::ReplaceOne,
        participation: Participation::OncePerRecord,
    }
    .plan()
    .unwrap();
    let plan = recipe.plan();
    let (filter, price, scope) = (plan.filter(), plan.charge().unwrap(), plan.scope());
    let again = recipe.clone();
    let kind = Kind {
        name: "phases",
        filter,
        price,
        scope,
        open: Box::new(move |grant, ledger, journal| {
            LimitedUpdatesRun::open(recipe.clone(), grant, &key(), ledger, journal).unwrap()
        }),
        resume: Box::new(move |journal, ledger| {
            let back = LimitedUpdatesRun::resume(again.clone(), journal, &key(), ledger, None);
            back.map(|(run, _)| run).map_err(|error| error.to_string())
        }),
        learn: |run, t| {
            run.learn(None, record(t)).unwrap();
        },
        released: |run, ledger| {
            let points = run.sync(ledger).unwrap().into_iter();
            points.map(Released::into_value).collect()
        },
    };
    let read = |what: &str| std::fs::read(kind.file(3, what)).unwrap();
    let mut ledger = Ledger::open(stored(&read("ledger"))).unwrap();
    let refused = (kind.resume)(stored(&read("journal")), &mut ledger);
    let message = refused.err().unwrap();
    assert!(message.contains("another mechanism"), "{message}");
}

#[test]
fn iterates_of_version_3_are_resumed() {
    let recipe = IterateRequest {
        recipe: RecipeName::Pigd,
        insider: Insider::Loss(Arc::new(Distance::new(2, 1.0, 1.0).unwrap())),
        set: ball(),
        rounds: END + 1,
        budget: budget(),
        adjacency: Adjacency::ReplaceOne,
        participation: Participation::OncePerRecord,
        noise: Some(Noise::Gaussian),
        curvature: None,
        steps: None,
        weighting: None,
        average: Averaged::All,
    }
    .plan()
    .unwrap();
    let plan = recipe.plan();
    let (price, scope) = (plan.charge().unwrap(), plan.scope());
    let again = recipe.clone();
    Kind {
        name: "iterates",
        filter: FilterKind::Gaussian,
        price,
        scope,
        open: Box::new(move |grant, ledger, journal| {
            IterateRun::open(recipe.clone(), grant, &key(), ledger, journal).unwrap()
        }),
        resume: Box::new(move |journal, ledger| {
            let back = IterateRun::resume(again.clone(), journal, &key(), ledger, None);
            back.map(|(run, _)| run).map_err(|error| error.to_string())
        }),
        learn: |run, t| {
            run.learn(None, record(t)).unwrap();
        },
        released: |run, ledger| {
            let points = run.sync(ledger).unwrap().into_iter();
            points.map(Released::into_value).collect()
        },
    }
    .check();
}

#[test]
fn sparse_models_of_version_3_are_resumed() {
    let recipe = SparseRequest {
        features: 4,
        bounds: Bounds::new(1.0, (-1.0, 1.0), 1.0).unwrap(),
        link: Link::Hinge,
        rounds: END + 1,
        budget: budget(),
        adjacency: Adjacency::ReplaceOne,
        rate: Some(0.1),
    }
    .plan()
    .unwrap();
    let plan = recipe.plan();
    let (price, scope) = (plan.charge().unwrap(), plan.scope());
    let again = recipe.clone();
    Kind {
        name: "sparse",
        filter: FilterKind::Gaussian,
        price,
        scope,
        open: Box::new(move |grant, ledger, journal| {
            SparseRun::open(recipe.clone(), grant, &key(), ledger, journal).unwrap()
        }),
        resume: Box::new(move |journal, ledger| {
            let back = SparseRun::resume(again.clone(), journal, &key(), ledger, None);
            back.map(|(run, _)| run).map_err(|error| error.to_string())
        }),
        learn: |run, t| {
            let record = Record {
                features: Features::Sparse(vec![((t % 3) as u32, 0.5), (3, -0.25)]),
                target: if t % 2 == 0 { 1.0 } else { -1.0 },
            };
            run.learn(None, Raw::seal(record)).unwrap();
        },
        released: |run, ledger| vec![run.model(ledger).unwrap().into_value()],
    }
    .check();
}

#[test]
fn values_of_version_3_are_resumed() {
    let recipe = ValuesRequest {
        loss: model(Link::Squared),
        set: ball(),
        range: Range::ZeroTo(2.0),
        rounds: END + 1,
        adaptive: false,
        curvature: None,
        radius: None,
        sum: Some(SumKind::Tree),
        noise: Some(Noise::Gaussian),
        budget: budget(),
        adjacency: Adjacency::ReplaceOne,
        participation: Participation::OncePerRecord,
    }
    .plan()
    .unwrap();
    let plan = recipe.plan();
    let (price, scope) = (plan.charge().unwrap(), plan.scope());
    let again = recipe.clone();
    Kind {
        name: "values",
        filter: FilterKind::Gaussian,
        price,
        scope,
        open: Box::new(move |grant, ledger, journal| {
            ValuesRun::open(recipe.clone(), grant, &key(), ledger, journal).unwrap()
        }),
        resume: Box::new(move |journal, ledger| {
            let back = ValuesRun::resume(again.clone(), journal, &key(), ledger, None);
            back.map(|(run, _)| run).map_err(|error| error.to_string())
        }),
        learn: |run, t| {
            run.learn(None, record(t)).unwrap();
        },
        released: |run, ledger| {
            let plays = run.sync(ledger).unwrap().into_iter();
            plays.map(Released::into_value).collect()
        },
    }
    .check();
}
