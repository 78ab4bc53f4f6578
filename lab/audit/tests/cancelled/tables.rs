//! Curves and tables, and records that are read in several passes.
//!
//! Two records with other features everywhere and residuals at their bound are as far apart as two
//! can be: what a record adds is then all new, and is all paid for.

use crate::adapter::{
    Entry, Own, Play, Pull, RELEASES, Replay, Seen, Stop, all_sums, amount, budget, filter,
    neighbours_in, paid, values,
};
use crate::share_of_price;
use crate::shelf::Shelf;
use crate::sums::Rows;
use hushstream_account::Adjacency;
use hushstream_learn::{CurvesAndTables, Learner};
use hushstream_mechanism::losses::{Features, Record};
use hushstream_mechanism::sums::{
    Geometry, Noise, PrivateSum, SumError, SumKind, SumPlan, SumRequest,
};
use hushstream_mechanism::{
    Contribution, Grant, Ledger, Participation, Pending, Raw, Response, Transcript,
};
use hushstream_noise::Key;
use hushstream_recipes::{Column, RecipeError, RecipeName, TablesRecipe, TablesRequest, TablesRun};

pub(crate) const ADJACENCIES: [Adjacency; 2] = [Adjacency::ReplaceOne, Adjacency::ZeroOut];
pub(crate) const NOISES: [Noise; 3] = [Noise::Gaussian, Noise::Laplace, Noise::L2Laplace];
/// Rows of a pass, and passes.
const ROWS: u64 = 4;
const PASSES: u64 = 5;

pub(crate) type Sum = PrivateSum<Transcript>;

/// `tables` on a sum.
pub(crate) struct OnTables {
    pub(crate) recipe: TablesRecipe,
    pub(crate) rows: Rows,
    /// Which grant of its ledger the run has.
    pub(crate) number: u64,
}

/// What a cell is, besides its sum and noise.
#[derive(Clone, Copy)]
pub(crate) struct Task {
    pub(crate) adjacency: Adjacency,
    pub(crate) response: Response,
    pub(crate) tables: u32,
    pub(crate) persons: u64,
    pub(crate) batch: u64,
    pub(crate) passes: u64,
    pub(crate) step: f64,
}

impl Task {
    pub(crate) const PLAIN: Self = Self {
        adjacency: Adjacency::ReplaceOne,
        response: Response::Sign,
        tables: 2,
        persons: 1,
        batch: 1,
        passes: 1,
        // So small that scores stay near 0.
        step: 1e-6,
    };
}

impl OnTables {
    pub(crate) fn plan(sum: SumKind, noise: Noise, task: Task) -> Result<Self, RecipeError> {
        let columns = vec![Column::Category(2), Column::Number { zero: -1.0 }];
        Self::plan_for(columns, sum, noise, task)
    }

    /// So few coordinates that noises can be compared in pairs.
    pub(crate) fn small(sum: SumKind, noise: Noise, number: u64) -> Self {
        let task = Task {
            tables: 0,
            ..Task::PLAIN
        };
        let cell = Self::plan_for(vec![Column::Category(1)], sum, noise, task);
        Self {
            number,
            ..cell.unwrap()
        }
    }

    fn plan_for(
        columns: Vec<Column>,
        sum: SumKind,
        noise: Noise,
        task: Task,
    ) -> Result<Self, RecipeError> {
        let several = task.passes > 1;
        let recipe = TablesRequest {
            columns,
            response: task.response,
            rounds: if several { ROWS } else { RELEASES * task.batch },
            horizon_unknown: sum.needs_no_horizon(),
            in_time: false,
            budget: budget(noise.is_pure()),
            adjacency: task.adjacency,
            participation: match task.persons {
                1 => Participation::OncePerRecord,
                most => Participation::PerPerson {
                    most,
                    separation: 1,
                },
            },
            sum: Some(sum),
            noise: Some(noise),
            batch: (!several).then_some(task.batch),
            at_rest: several,
            passes: several.then_some(task.passes),
            knots: Some(3),
            tables: (!several).then_some(task.tables),
            step: Some(task.step),
        }
        .plan()?;
        let rows = Rows::of(recipe.plan());
        Ok(Self {
            recipe,
            rows,
            number: 1,
        })
    }

    fn weights(&self) -> usize {
        self.recipe.learner().unwrap().iterate().len()
    }

    /// A record that is as far from others as it can be: its features are those of its side alone,
    /// and its residual is at its bound, since steps are so small that scores stay near 0. Its
    /// target is the same at every question: so all that a person's items move goes in one
    /// direction.
    fn record(&self, pull: Pull) -> Record {
        let response = self.recipe.request().response;
        let (side, is_far) = match pull {
            Pull::Low => (0, true),
            Pull::High => (1, true),
            Pull::Huge => (1, false),
            Pull::Other(k) => (k % 2, false),
            Pull::Null => (0, false),
        };
        let number = if side == 0 { -1.0 } else { 1.0 };
        let columns = self.recipe.request().columns.iter();
        let features = columns.map(|column| match column {
            Column::Category(1) => 0.0,
            Column::Category(_) => side as f64,
            Column::Number { .. } => number,
        });
        let features = Features::Dense(features.collect());
        let target = match (response, pull) {
            (_, Pull::Null) => f64::NAN,
            (Response::Classes(_), _) if is_far => side as f64,
            (Response::Number(half), _) if is_far => number * half,
            (Response::Sign, _) if is_far => number,
            (_, Pull::Huge) => 1e300,
            (Response::Number(half), _) => 0.3 * half,
            _ => 1.0,
        };
        Record { features, target }
    }

    fn paid(&self) -> (Ledger, Grant, Shelf) {
        let plan = self.recipe.plan();
        let noise = filter(plan.request().noise);
        paid(self.number, noise, plan.charge().unwrap(), plan.scope())
    }

    fn ask(
        &self,
        sum: &mut Sum,
        entry: Entry,
        question: &[f64],
    ) -> Result<Option<Pending<Vec<f64>, Transcript>>, SumError> {
        let record = Raw::seal(self.record(entry.pull));
        let response = self.recipe.request().response;
        sum.add_table(
            entry.person,
            self.recipe.map(),
            response,
            question,
            record,
            None,
        )
    }

    /// As a user plays it. Records are asked at iterates, which are not published: they are
    /// computed beside the run, from a sum alone.
    fn own(&self, stream: &[Entry], key: &Key, stop: Stop) -> Seen {
        let (mut ledger, grant, _) = self.paid();
        let plan = self.recipe.plan().clone();
        let mut sum = Sum::open(plan, grant, key, &mut ledger, Shelf::default()).unwrap();
        let mut learner = self.recipe.learner().unwrap();
        let mut questions = Vec::new();
        for entry in stream {
            let question = learner.iterate().to_vec();
            let pending = self.ask(&mut sum, *entry, &question).unwrap();
            sum.sync(&mut ledger).unwrap();
            if let Some(pending) = pending {
                let value = sum.publish(pending).unwrap().into_value();
                learner.observe(&value).unwrap();
            }
            questions.push(question);
        }
        let (mut ledger, grant, _) = self.paid();
        let shelf = Shelf::default();
        let recipe = || self.recipe.clone();
        let run = TablesRun::open(recipe(), grant, key, &mut ledger, shelf.clone()).unwrap();
        let number = std::cell::Cell::new(0);
        let own = Own {
            ask: &|_: &TablesRun| questions[number.get()].clone(),
            learn: &|run, entry| {
                let record = Raw::seal(self.record(entry.pull));
                run.learn(entry.person, record).unwrap();
                number.set(number.get() + 1);
            },
            sync: &|run, ledger| values(run.sync(ledger).unwrap()),
            resume: &|ledger| {
                let back = TablesRun::resume(recipe(), shelf.clone(), key, ledger, None);
                back.unwrap().0
            },
        };
        own.play(run, &mut ledger, stream, stop)
    }
}

/// What a sum answers to a record.
pub(crate) type Answer = Result<Option<Pending<Vec<f64>, Transcript>>, SumError>;

/// Makes the replay of a sum alone, and counts its bytes.
pub(crate) fn replayed(
    (plan, paid): (&SumPlan, (Ledger, Grant, Shelf)),
    (stream, path): (&[Entry], &Seen),
    (key, stop): (&Key, Stop),
    ask: &dyn Fn(&mut Sum, Entry, usize) -> Answer,
    publish: &mut dyn FnMut(&[f64]) -> Vec<f64>,
) -> Seen {
    let (mut ledger, grant, book) = paid;
    let shelf = Shelf::default();
    let sum = Sum::open(plan.clone(), grant, key, &mut ledger, shelf.clone()).unwrap();
    let mut replay = Replay {
        shelf: &shelf,
        add: &mut |sum: &mut Sum, number, entry, ledger, seen| {
            let pending = ask(sum, entry, number - 1).unwrap();
            sum.sync(ledger).unwrap();
            if let Some(pending) = pending {
                let value = sum.publish(pending).unwrap().into_value();
                seen.published.push(publish(&value));
                seen.values.push(value);
            }
        },
        checkpoint: &|sum| sum.checkpoint(Vec::new()).unwrap(),
        resume: &|ledger, seen| {
            let back = Sum::resume(shelf.clone(), key, ledger, None, |_| true).unwrap();
            for (pending, known) in back.recent.into_iter().zip(&seen.values) {
                let again = back.run.publish(pending).unwrap();
                assert_eq!(again.value(), known, "what comes again is the same");
            }
            back.run
        },
    };
    let (mut sum, mut seen) = replay.play(sum, &mut ledger, stream, path, stop);
    if plan.most_releases() == seen.values.len() as u64 {
        let last = stream.len() - 1;
        seen.refusal = match ask(&mut sum, stream[last], last) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("a release too many"),
        };
    }
    drop(sum);
    seen.bytes = [shelf.bytes().len(), book.bytes().len()];
    seen
}

/// The canary at the same row of every pass, for each row.
fn repeated(adjacency: Adjacency, items: u64, passes: u64, batch: u64) -> Vec<[Vec<Entry>; 2]> {
    let left = match adjacency {
        Adjacency::ReplaceOne => Pull::Low,
        Adjacency::ZeroOut => Pull::Null,
    };
    let rows = items * batch;
    let stream = |place: u64, pull: Pull| -> Vec<Entry> {
        let entry = |row: u64| Entry {
            person: None,
            pull: if row == place { pull } else { Pull::Other(row) },
        };
        (0..passes).flat_map(|_| (0..rows).map(entry)).collect()
    };
    (0..rows)
        .map(|place| [stream(place, left), stream(place, Pull::High)])
        .collect()
}

impl Play for OnTables {
    fn name(&self) -> String {
        let request = self.recipe.plan().request();
        format!(
            "tables of {:?} on {}, {}, {:?}, {:?}, batch {}, {} tables",
            self.recipe.request().response,
            request.kind,
            request.noise,
            request.adjacency,
            request.participation,
            request.batch,
            self.recipe.map().tables()
        )
    }

    fn price(&self) -> f64 {
        amount(self.recipe.plan().charge().unwrap())
    }

    fn streams(&self) -> Vec<[Vec<Entry>; 2]> {
        let request = self.recipe.plan().request();
        let (adjacency, participation) = (request.adjacency, request.participation);
        if let Participation::Passes { passes, .. } = participation {
            return repeated(adjacency, 1, passes, ROWS);
        }
        neighbours_in(self.recipe.plan(), &self.rows, &[8])
    }

    fn play(&self, stream: &[Entry], path: Option<&Seen>, key: &Key, stop: Stop) -> Seen {
        let Some(path) = path else {
            return self.own(stream, key, stop);
        };
        // Noise alone is asked for with questions of any length.
        let zero = vec![0.0; self.weights()];
        let question = |number: usize| {
            let asked = &path.questions[number];
            if asked.len() == zero.len() {
                asked
            } else {
                &zero
            }
        };
        let mut learner: CurvesAndTables = self.recipe.learner().unwrap();
        replayed(
            (self.recipe.plan(), self.paid()),
            (stream, path),
            (key, stop),
            &|sum, entry, number| self.ask(sum, entry, question(number)),
            &mut |value| {
                learner.observe(value).unwrap();
                learner.published().to_vec()
            },
        )
    }

    fn moved(&self, left: &Seen, right: &Seen) -> f64 {
        self.rows.moved(&right.minus(left))
    }
}

/// A sum alone, whose records come in several passes.
struct OnPasses {
    plan: SumPlan,
    rows: Rows,
    passes: u64,
}

impl OnPasses {
    fn plan(sum: SumKind, noise: Noise, adjacency: Adjacency, (passes, items): (u64, u64)) -> Self {
        let plan = SumRequest {
            kind: sum,
            noise,
            releases: passes * items,
            dimension: 2,
            bound: 1.0,
            geometry: Geometry::Ball,
            least_sigma: 0.0,
            batch: 1,
            adjacency,
            participation: Participation::Passes {
                passes,
                separation: items,
            },
            budget: budget(noise.is_pure()),
        };
        let plan = plan.plan().unwrap();
        Self {
            rows: Rows::of(&plan),
            plan,
            passes,
        }
    }

    /// What both lives of a run moved, if its journal was lost after so many records.
    fn moved_after_a_loss(&self, at: usize) -> f64 {
        let mut worst = 0.0_f64;
        for [left, right] in self.streams() {
            let (key, path) = (Key::insecure_from_seed(4), Seen::default());
            let play = |stream: &[Entry]| self.play(stream, Some(&path), &key, Stop::Restored(at));
            let (left, right) = (play(&left), play(&right));
            let moved = right.minus(&left);
            let (first, second) = moved.split_at(at);
            // A new instance goes on from the last release that is known.
            let base = if at > 1 {
                moved[at - 2].clone()
            } else {
                vec![0.0; 2]
            };
            let second = second.iter().map(|release| {
                let pairs = release.iter().zip(&base);
                pairs.map(|(release, base)| release - base).collect()
            });
            let second: Vec<Vec<f64>> = second.collect();
            let lives = [self.rows.moved(first), self.rows.moved(&second)];
            worst = worst.max(if self.plan.request().noise.is_pure() {
                lives[0] + lives[1]
            } else {
                lives[0].hypot(lives[1])
            });
        }
        worst
    }
}

impl Play for OnPasses {
    fn name(&self) -> String {
        let request = self.plan.request();
        format!(
            "{}, {}, {:?}, {:?}",
            request.kind, request.noise, request.adjacency, request.participation
        )
    }

    fn price(&self) -> f64 {
        amount(self.plan.charge().unwrap())
    }

    fn streams(&self) -> Vec<[Vec<Entry>; 2]> {
        let request = self.plan.request();
        let items = request.releases / self.passes;
        repeated(request.adjacency, items, self.passes, 1)
    }

    fn play(&self, stream: &[Entry], path: Option<&Seen>, key: &Key, stop: Stop) -> Seen {
        let plan = &self.plan;
        let noise = filter(plan.request().noise);
        let paid = paid(1, noise, plan.charge().unwrap(), plan.scope());
        let none = Seen::default();
        let ask = |sum: &mut Sum, entry: Entry, _| {
            let value = match entry.pull {
                Pull::Low => -1.0,
                Pull::High => 1.0,
                Pull::Huge => 1e300,
                Pull::Other(k) => 0.1 * (k % 5) as f64,
                Pull::Null => f64::NAN,
            };
            sum.add(Raw::seal(Contribution::Dense(vec![value, 0.0])))
        };
        let path = (stream, path.unwrap_or(&none));
        let mut seen = replayed((plan, paid), path, (key, stop), &ask, &mut <[f64]>::to_vec);
        seen.questions = vec![Vec::new(); stream.len()];
        seen
    }

    fn moved(&self, left: &Seen, right: &Seen) -> f64 {
        self.rows.moved(&right.minus(left))
    }
}

/// Counted, on every sum, with every noise, adjacency, response, with and without tables, persons
/// and batches: what a record moves is what was paid, and nothing is wasted.
#[test]
fn one_record_moves_no_table_by_more_than_was_paid() {
    let mut audited = 0;
    for sum in all_sums() {
        for noise in NOISES {
            let fits = RecipeName::Tables.accepts(sum, noise).is_ok();
            for adjacency in ADJACENCIES {
                for (response, tables) in [
                    (Response::Sign, 2),
                    (Response::Sign, 0),
                    (Response::Classes(3), 1),
                    (Response::Number(2.5), 2),
                ] {
                    for (persons, batch) in [(1, 1), (1, 4), (3, 1)] {
                        let task = Task {
                            adjacency,
                            response,
                            tables,
                            persons,
                            batch,
                            ..Task::PLAIN
                        };
                        let Ok(cell) = OnTables::plan(sum, noise, task) else {
                            let is_refused = sum == SumKind::Eras && persons > 1;
                            assert!(!fits || is_refused, "{sum} {noise}");
                            continue;
                        };
                        assert!(fits, "{} is not refused", cell.name());
                        let share = share_of_price(&cell);
                        let plan = cell.recipe.plan();
                        let least = 0.99 * cell.rows.worst_items(plan).1 * plan.share_of_one_item();
                        assert!(share >= least, "{}: only {share} of the price", cell.name());
                        audited += 1;
                    }
                }
            }
        }
    }
    assert!(audited > 300, "{audited}");
}

/// A record of every pass of `tables`.
#[test]
fn passes_move_no_table_by_more_than_was_paid() {
    for adjacency in ADJACENCIES {
        for response in [Response::Sign, Response::Classes(3), Response::Number(2.5)] {
            let task = Task {
                adjacency,
                response,
                passes: PASSES,
                ..Task::PLAIN
            };
            let cell = OnTables::plan(SumKind::Fresh, Noise::Gaussian, task).unwrap();
            let request = cell.recipe.plan().request();
            assert_eq!((request.releases, request.batch), (PASSES, ROWS));
            let share = share_of_price(&cell);
            assert!(share >= 0.99, "{}: only {share} of the price", cell.name());
        }
    }
}

/// Numbers of several passes are asked at an offset after the first one.
#[test]
fn an_offset_moves_no_table_by_more_than_was_paid() {
    for adjacency in ADJACENCIES {
        let task = Task {
            adjacency,
            response: Response::Number(2.5),
            passes: PASSES,
            step: 1.0,
            ..Task::PLAIN
        };
        let cell = OnTables::plan(SumKind::Fresh, Noise::Gaussian, task).unwrap();
        let streams = cell.streams();
        let [left, _] = &streams[0];
        let asked = cell
            .own(left, &Key::insecure_recorded(11).0, Stop::Never)
            .questions;
        let offsets = asked
            .iter()
            .map(|weights| weights[cell.recipe.map().dimension()]);
        let offsets: Vec<f64> = offsets.collect();
        let (first, later) = offsets.split_at(ROWS as usize);
        assert!(first.iter().all(|o| *o == 0.0) && later.iter().all(|o| *o != 0.0));
        let share = share_of_price(&cell);
        assert!(
            share <= 1.0 + 1e-9,
            "{}: moved {share} of the price",
            cell.name()
        );
    }
}

/// Passes on every sum, also if the journal is lost after any item and a new instance goes on.
#[test]
fn passes_move_no_sum_by_more_than_was_paid() {
    for sum in all_sums() {
        for noise in NOISES {
            if sum.is_windowed() || sum == SumKind::Eras || sum.accepts(noise).is_err() {
                continue;
            }
            for adjacency in ADJACENCIES {
                for passes in [(4, 1), (3, 4)] {
                    let cell = OnPasses::plan(sum, noise, adjacency, passes);
                    let share = share_of_price(&cell);
                    let least = 0.99 * cell.rows.worst_items(&cell.plan).1;
                    assert!(share >= least, "{}: only {share} of the price", cell.name());
                    for at in 1..cell.plan.request().releases as usize {
                        let share = cell.moved_after_a_loss(at) / cell.price();
                        let what = cell.name();
                        assert!(
                            share <= 1.0 + 1e-9,
                            "{what}, lost after {at}: moved {share}"
                        );
                    }
                }
            }
        }
    }
}
