//! The one way from this audit to the recipes: five methods. A change of how recipes are played
//! changes this file.

use crate::shelf::Shelf;
use crate::sums::Rows;
use hushstream_account::{Adjacency, Budget, Charge, FilterKind, Price};
use hushstream_learn::bandits::{Coins, OnePoint, sphere};
use hushstream_mechanism::batch::{Solver, SolverTask};
use hushstream_mechanism::feedback::{Answers, FeedbackNoise, Range};
use hushstream_mechanism::losses::{
    Bounds, Distance, Features, LinearLoss, LinearModel, Link, Loss, LossSet, Record,
};
use hushstream_mechanism::perturb::{Leader, PerturbedIterates, Timing};
use hushstream_mechanism::select::{Board, Exposure, Selection};
use hushstream_mechanism::sums::{Noise, PrivateSum, SumKind, SumPlan};
use hushstream_mechanism::{
    CameBack, Contribution, Grant, GuaranteeKind, Ledger, Moments, Participation, Pending, Raw,
    Released, Scope, Transcript, Windowed,
};
use hushstream_noise::{
    Address, Coin, Dyadic, ExponentialChoice, Instance, Key, L2Laplace, Recorder, RoundedGaussian,
    Source,
};
use hushstream_recipes::{
    Actions, Advice, Ask, Averaged, BanditRecipe, BanditRequest, BanditRun, ExpertsRecipe,
    ExpertsRequest, ExpertsRun, Insider, IterateRecipe, IterateRequest, IterateRun, LimitedUpdates,
    LimitedUpdatesRequest, LimitedUpdatesRun, Objective, Recipe, RecipeError, RecipeName,
    RecipeRequest, SparseRecipe, SparseRequest, SparseRun, SumRun, ValuesRecipe, ValuesRequest,
    ValuesRun,
};
use hushstream_sets::{Ball, BoxSet, ConvexSet, Simplex};
use std::sync::Arc;

/// A recipe in one cell of the matrix.
pub(crate) trait Play {
    /// For messages.
    fn name(&self) -> String;
    /// What the ledger is charged: μ, or ε.
    fn price(&self) -> f64;
    /// Neighbouring streams, left and right: the record moves as far as it can.
    fn streams(&self) -> Vec<[Vec<Entry>; 2]>;
    /// Plays a stream. Without a path as a user does; with one the mechanism is asked the path's
    /// questions.
    fn play(&self, stream: &[Entry], path: Option<&Seen>, key: &Key, stop: Stop) -> Seen;
    /// How far two replays of one path moved what is noised, in the unit of the price.
    fn moved(&self, left: &Seen, right: &Seen) -> f64;
}

/// One record of a stream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Entry {
    pub(crate) person: Option<u64>,
    pub(crate) pull: Pull,
}

/// What a record says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Pull {
    /// As far as the bound allows, one way or the other.
    Low,
    High,
    /// Far outside its bound.
    Huge,
    /// Something in between.
    Other(u64),
    /// Malformed: counts as null.
    Null,
}

/// Where a run is stopped and resumed: after so many records.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Stop {
    Never,
    Resumed(usize),
    /// The journal was replaced by a checkpoint just before.
    Checkpointed(usize),
    /// The journal is the one before the last record, whose release was published: a new instance
    /// goes on.
    Restored(usize),
}

impl Stop {
    fn is_after(self, records: usize) -> bool {
        matches!(
            self,
            Self::Resumed(at) | Self::Checkpointed(at) | Self::Restored(at) if at == records
        )
    }
}

/// What a run asked and published.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    /// Asked of each record.
    pub(crate) questions: Vec<Vec<f64>>,
    /// What a user sees.
    pub(crate) published: Vec<Vec<f64>>,
    /// What left the mechanism; only replays tell.
    pub(crate) values: Vec<Vec<f64>>,
    /// Bytes of the journal and the ledger.
    pub(crate) bytes: [usize; 2],
    /// What was said to one record too many.
    pub(crate) refusal: String,
    /// What the generators read.
    pub(crate) reads: Vec<Address>,
    /// Of a path: what takes down the reads of each record in a replay.
    pub(crate) listens: Option<Recorder>,
    /// The same, record by record.
    pub(crate) read_for: Vec<Vec<Address>>,
    /// Whether that, and the journal's length, is private by design.
    pub(crate) reads_are_private: bool,
}

impl Seen {
    /// Draws, bytes, counts and words must not depend on what a record says.
    pub(crate) fn assert_same_form(&self, other: &Self, what: &str) {
        assert_eq!(self.bytes[1], other.bytes[1], "{what}: bytes of the ledger");
        if !self.reads_are_private {
            assert_eq!(self.reads, other.reads, "{what}: addresses read");
            assert_eq!(
                self.bytes[0], other.bytes[0],
                "{what}: bytes of the journal"
            );
        }
        assert_eq!(self.refusal, other.refusal, "{what}: words");
        assert_eq!(self.values.len(), other.values.len(), "{what}: releases");
    }

    /// The difference of two replays, release by release.
    pub(crate) fn minus(&self, other: &Self) -> Vec<Vec<f64>> {
        let difference =
            |(a, b): (&Vec<f64>, &Vec<f64>)| a.iter().zip(b).map(|(a, b)| a - b).collect();
        self.values
            .iter()
            .zip(&other.values)
            .map(difference)
            .collect()
    }
}

/// The budgets of the audit: some μ, and ε.
pub(crate) fn budget(pure: bool) -> Budget {
    if pure {
        Budget::pure(1.5).unwrap()
    } else {
        Budget::approx(2.0, 1e-6).unwrap()
    }
}

pub(crate) fn amount(price: Price) -> f64 {
    match price.charge {
        Charge::Gaussian(mu) => mu.get(),
        Charge::Pure(epsilon) => epsilon.get(),
        other => panic!("{other:?} is no price of one noise"),
    }
}

/// A ledger whose bytes can be counted, and the grant for a price, which has this number.
pub(crate) fn paid(
    number: u64,
    filter: FilterKind,
    charge: Price,
    scope: Scope,
) -> (Ledger, Grant, Shelf) {
    // Room for several runs, and for the precision of their draws.
    let (budget, reserve) = if filter == FilterKind::Pure {
        (Budget::pure(41.0).unwrap(), 0.1)
    } else {
        (Budget::approx(25.0, 0.5).unwrap(), 0.1)
    };
    let shelf = Shelf::default();
    let storage = shelf.clone();
    let mut ledger = Ledger::create_reserving(storage, budget, filter, scope, reserve).unwrap();
    let mut grant = ledger.debit(charge, scope).unwrap();
    while grant.number() < number {
        grant = ledger.debit(charge, scope).unwrap();
    }
    (ledger, grant, shelf)
}

/// A recipe's own run, as a user plays it.
pub(crate) struct Own<'a, R> {
    pub(crate) ask: &'a dyn Fn(&R) -> Vec<f64>,
    pub(crate) learn: &'a dyn Fn(&mut R, Entry),
    pub(crate) sync: &'a dyn Fn(&mut R, &mut Ledger) -> Vec<Vec<f64>>,
    pub(crate) resume: &'a dyn Fn(&mut Ledger) -> R,
}

impl<R> Own<'_, R> {
    pub(crate) fn play(
        &self,
        mut run: R,
        ledger: &mut Ledger,
        stream: &[Entry],
        stop: Stop,
    ) -> Seen {
        let mut seen = Seen::default();
        for (number, entry) in (1..).zip(stream) {
            seen.questions.push((self.ask)(&run));
            (self.learn)(&mut run, *entry);
            seen.published.extend((self.sync)(&mut run, ledger));
            if stop.is_after(number) {
                drop(run);
                run = (self.resume)(ledger);
                let again = (self.sync)(&mut run, ledger);
                assert!(seen.published.ends_with(&again), "another value came");
            }
        }
        seen
    }
}

/// A mechanism alone, along a path.
pub(crate) struct Replay<'a, M> {
    pub(crate) shelf: &'a Shelf,
    /// Takes in record `number`, from 1, and notes what leaves.
    pub(crate) add: &'a mut dyn FnMut(&mut M, usize, Entry, &mut Ledger, &mut Seen),
    pub(crate) checkpoint: &'a dyn Fn(&mut M),
    pub(crate) resume: &'a dyn Fn(&mut Ledger, &Seen) -> M,
}

impl<M> Replay<'_, M> {
    pub(crate) fn play(
        &mut self,
        mut mechanism: M,
        ledger: &mut Ledger,
        stream: &[Entry],
        path: &Seen,
        stop: Stop,
    ) -> (M, Seen) {
        let mut seen = Seen {
            questions: path.questions.clone(),
            ..Seen::default()
        };
        let mut old = Vec::new();
        for (number, entry) in (1..).zip(stream) {
            old.clone_from(&self.shelf.bytes());
            (self.add)(&mut mechanism, number, *entry, ledger, &mut seen);
            let read = path.listens.as_ref().map(Recorder::take);
            seen.read_for.extend(read);
            if stop.is_after(number) {
                if let Stop::Checkpointed(_) = stop {
                    (self.checkpoint)(&mut mechanism);
                }
                drop(mechanism);
                if let Stop::Restored(_) = stop {
                    self.shelf.bytes().clone_from(&old);
                }
                mechanism = (self.resume)(ledger, &seen);
                // What is drawn again is of records that are known.
                let read = path.listens.as_ref().map(Recorder::take);
                seen.read_for
                    .last_mut()
                    .into_iter()
                    .for_each(|all| all.extend(read.iter().flatten()));
            }
        }
        (mechanism, seen)
    }
}

/// The values of what was released.
pub(crate) fn values<G: GuaranteeKind>(released: Vec<Released<Vec<f64>, G>>) -> Vec<Vec<f64>> {
    released.into_iter().map(Released::into_value).collect()
}

/// Neighbouring streams of `items` batches. The canary, or all records of its person, stand from
/// each of these items on, a few beyond the person's limit.
pub(crate) fn neighbours(
    items: u64,
    batch: u64,
    adjacency: Adjacency,
    participation: Participation,
    places: &[u64],
) -> Vec<[Vec<Entry>; 2]> {
    // A person tries two records more than are allowed.
    let tries = match participation {
        Participation::OncePerRecord => 1,
        _ => participation.limits().0 + 2,
    };
    let places = places.iter().filter(|&&place| place <= items);
    let pair = |&place: &u64| {
        let own: Vec<u64> = (place..place + tries).collect();
        neighbours_at(items, batch, adjacency, participation, &own)
    };
    let mut pairs: Vec<_> = places.clone().map(pair).collect();
    if let (Participation::PerPerson { most, .. }, Adjacency::ReplaceOne) =
        (participation, adjacency)
    {
        // Empty records have no name and use up no turn: those that count come later.
        let moved = places.map(|&place| {
            let own: Vec<u64> = (place..place + 2 * most).collect();
            let [left, mut right] = neighbours_at(items, batch, adjacency, participation, &own);
            for (number, entry) in (0..).zip(&mut right) {
                if entry.person == Some(CANARY) && number / batch + 1 < place + most {
                    (entry.person, entry.pull) = (Some(NOBODY), Pull::Null);
                }
            }
            [left, right]
        });
        pairs.extend(moved);
    }
    pairs
}

/// The names of the person in question, and of nobody.
const CANARY: u64 = 1 << 40;
const NOBODY: u64 = 1 << 41;

/// The same with the canary in these items.
fn neighbours_at(
    items: u64,
    batch: u64,
    adjacency: Adjacency,
    participation: Participation,
    own: &[u64],
) -> [Vec<Entry>; 2] {
    let persons = participation != Participation::OncePerRecord;
    let stream = |pull: Pull| -> Vec<Entry> {
        let mut entries = Vec::new();
        for item in 1..=items {
            for k in 0..batch {
                let number = entries.len() as u64;
                // A person comes twice in one batch.
                let canary = own.contains(&item) && (k == batch / 2 || persons && k + 1 == batch);
                let (name, pull) = if canary {
                    (CANARY, pull)
                } else {
                    (number, Pull::Other(number))
                };
                entries.push(Entry {
                    person: persons.then_some(name),
                    pull,
                });
            }
        }
        entries
    };
    let left = match adjacency {
        Adjacency::ReplaceOne => Pull::Low,
        Adjacency::ZeroOut => Pull::Null,
    };
    [stream(left), stream(Pull::High)]
}

/// Neighbouring streams for a sum: the canary at its first and its last item and in between, and
/// where it moves most.
pub(crate) fn neighbours_in(plan: &SumPlan, rows: &Rows, between: &[u64]) -> Vec<[Vec<Entry>; 2]> {
    let request = plan.request();
    let (adjacency, participation) = (request.adjacency, request.participation);
    let places = [&[1], between, &[RELEASES]].concat();
    let mut pairs = neighbours(RELEASES, request.batch, adjacency, participation, &places);
    let (mut own, _) = rows.worst_items(plan);
    if participation != Participation::OncePerRecord {
        // Beyond the limit.
        own.push(own[own.len() - 1] + 1);
    }
    // Before those whose turns move: every pair has a key of its own, by its place.
    let worst = neighbours_at(RELEASES, request.batch, adjacency, participation, &own);
    pairs.insert(places.len(), worst);
    pairs
}

/// Single records, or persons with so many.
pub(crate) fn participation(persons: u64) -> Participation {
    match persons {
        1 => Participation::OncePerRecord,
        most => Participation::PerPerson {
            most,
            separation: 1,
        },
    }
}

/// What the records of a stream say, those beyond a person's limit nothing: an account of its own,
/// record by record.
fn counted(stream: &[Entry], batch: u64, participation: Participation) -> Vec<Pull> {
    let (most, separation) = participation.limits();
    let mut seen: Vec<(u64, u64, u64)> = Vec::new();
    let pull = |(place, entry): (u64, &Entry)| {
        let Some(person) = entry.person else {
            return entry.pull;
        };
        let item = place / batch;
        match seen.iter_mut().find(|(name, ..)| *name == person) {
            None => seen.push((person, 1, item)),
            Some((_, count, last)) if *count < most && item - *last >= separation => {
                (*count, *last) = (*count + 1, item);
            }
            Some(_) => return Pull::Null,
        }
        entry.pull
    };
    (0..).zip(stream).map(pull).collect()
}

/// Releases of every sum in this audit.
pub(crate) const RELEASES: u64 = 15;
/// Items that a window protects.
pub(crate) const WINDOW: u64 = 3;

/// A recipe on a sum.
pub(crate) struct OnSum {
    pub(crate) recipe: Recipe,
    pub(crate) rows: Rows,
    /// Which grant of its ledger the run has.
    pub(crate) number: u64,
}

/// All sums there are; a new one does not compile until it is here.
pub(crate) fn all_sums() -> Vec<SumKind> {
    let listed = |kind: SumKind| match kind {
        SumKind::Tree
        | SumKind::PaddedTree
        | SumKind::Honaker
        | SumKind::Smooth
        | SumKind::Blt(_)
        | SumKind::Kary
        | SumKind::Window(_)
        | SumKind::Octave
        | SumKind::Fresh
        | SumKind::Dense(_)
        | SumKind::NormalisedBlt(_)
        | SumKind::Eras => kind,
    };
    let all = SumKind::ALL.into_iter().chain([SumKind::Window(WINDOW)]);
    all.map(listed).collect()
}

impl OnSum {
    pub(crate) fn plan(
        recipe: RecipeName,
        sum: SumKind,
        noise: Noise,
        adjacency: Adjacency,
        persons: u64,
        batch: u64,
    ) -> Result<Self, RecipeError> {
        Self::plan_for(RELEASES, recipe, (sum, noise), adjacency, persons, batch)
    }

    pub(crate) fn plan_for(
        releases: u64,
        recipe: RecipeName,
        (sum, noise): (SumKind, Noise),
        adjacency: Adjacency,
        persons: u64,
        batch: u64,
    ) -> Result<Self, RecipeError> {
        let bounds = Bounds::new(1.0, (-1.0, 1.0), 1e-4).unwrap();
        let ball: Arc<dyn ConvexSet> = Arc::new(Ball::new(2, 1e-4).unwrap());
        // AS17's loss sets, each with the noise that it is for.
        let losses = match (recipe, noise, adjacency) {
            (RecipeName::Ftrl, Noise::Laplace, Adjacency::ReplaceOne) => LossSet::L1Ball(1.0),
            (RecipeName::Ftrl, Noise::L2Laplace, Adjacency::ReplaceOne) => LossSet::Ball(1.0),
            _ => LossSet::Box(0.0, 1.0),
        };
        let linear = || Objective::Linear(LinearLoss::within(2, losses).unwrap());
        let (objective, set) = match recipe {
            RecipeName::Pftal | RecipeName::CocoP => {
                let distance = Distance::new(2, 1.0, 1e-4).unwrap();
                (Objective::Convex(Arc::new(distance)), ball)
            }
            RecipeName::Pqftl => (Objective::LeastSquares(Moments::new(2, bounds)), ball),
            RecipeName::Ftrl => (linear(), Arc::new(Simplex::new(2).unwrap()) as _),
            RecipeName::Ftpl => (linear(), Arc::new(BoxSet::cube(2, 1.0).unwrap()) as _),
            RecipeName::CocoL => (linear(), Arc::new(Simplex::new(2).unwrap()) as _),
            // Every other recipe on sums learns from gradients; one on none is refused by its plan.
            _ => {
                let model = LinearModel::new(2, Link::Hinge, bounds).unwrap();
                (Objective::Convex(Arc::new(model)), ball)
            }
        };
        let recipe = RecipeRequest {
            recipe,
            objective,
            set,
            rounds: (releases + 1) * batch,
            batch,
            budget: budget(noise.is_pure()),
            adjacency,
            participation: participation(persons),
            sum: Some(sum),
            noise: Some(noise),
            window: None,
            curvature: (recipe == RecipeName::CocoL).then_some(1.0),
            learning_rate: None,
            tuned: recipe == RecipeName::CocoL,
        }
        .plan()?;
        let rows = Rows::of(recipe.plan());
        Ok(Self {
            recipe,
            rows,
            number: 1,
        })
    }

    fn record(&self, pull: Pull) -> Record {
        let half = std::f64::consts::FRAC_1_SQRT_2;
        let (features, target) = match (self.recipe.ask(), &self.recipe.request().objective) {
            // Two vectors of scalar product κ²/2 = ¼ with opposite targets are the farthest
            // moments.
            (Ask::Moments(_), _) => match pull {
                Pull::Low => (vec![1.0, 0.0], -1.0),
                Pull::High => (vec![0.25, 0.9375_f64.sqrt()], 1.0),
                Pull::Huge => (vec![3e9, -2e9], 1e12),
                Pull::Other(k) => (vec![0.1 * (k % 5) as f64, -0.4], 0.3),
                Pull::Null => (vec![f64::NAN, 0.0], 0.0),
            },
            (_, Objective::Linear(loss)) if !matches!(loss.set(), LossSet::Box(..)) => match pull {
                Pull::Low => (vec![-1.0, 0.0], 0.0),
                Pull::High => (vec![1.0, 0.0], 0.0),
                Pull::Huge => (vec![1e12, -1e12], 0.0),
                Pull::Other(k) => (vec![0.1 * (k % 6) as f64, 0.3], 0.0),
                Pull::Null => (vec![0.0, f64::INFINITY], 0.0),
            },
            (_, Objective::Linear(_)) => match pull {
                Pull::Low => (vec![0.0, 0.0], 0.0),
                Pull::High => (vec![1.0, 1.0], 0.0),
                Pull::Huge => (vec![1e12, -1e12], 0.0),
                Pull::Other(k) => (vec![0.2 * (k % 6) as f64, 0.3], 0.0),
                Pull::Null => (vec![0.0, f64::INFINITY], 0.0),
            },
            _ => match pull {
                // Of a hinge at ±1, or a point: as far away as it can be.
                Pull::Low => (vec![-half, -half], 1.0),
                Pull::High => (vec![half, half], 1.0),
                Pull::Huge => (vec![1e9, -3e12], 1e300),
                Pull::Other(k) => (vec![0.15 * (k % 7) as f64, -0.2], -1.0),
                Pull::Null => (vec![f64::NAN, 1.0], 1.0),
            },
        };
        Record {
            features: Features::Dense(features),
            target,
        }
    }

    /// As a user plays it.
    fn own<G: GuaranteeKind>(&self, stream: &[Entry], key: &Key, stop: Stop) -> Seen {
        let (mut ledger, grant, _) = self.paid();
        let shelf = Shelf::default();
        let recipe = || self.recipe.clone();
        let run = SumRun::<G>::open(recipe(), grant, key, &mut ledger, shelf.clone()).unwrap();
        let own = Own {
            ask: &|run: &SumRun<G>| run.question().for_the_operator().to_vec(),
            learn: &|run, entry| {
                let record = Raw::seal(self.record(entry.pull));
                run.learn(entry.person, record).unwrap();
            },
            sync: &|run, ledger| values(run.sync(ledger).unwrap()),
            resume: &|ledger| {
                let back = SumRun::resume(recipe(), shelf.clone(), key, ledger, None);
                back.unwrap().0
            },
        };
        own.play(run, &mut ledger, stream, stop)
    }

    /// The sum alone, asked the path's questions; the learner is applied to what it releases.
    fn replay<G: GuaranteeKind>(
        &self,
        stream: &[Entry],
        path: &Seen,
        key: &Key,
        stop: Stop,
    ) -> Seen {
        let (mut ledger, grant, ledger_shelf) = self.paid();
        let shelf = Shelf::default();
        let plan = self.recipe.plan().clone();
        let mut sum = PrivateSum::<G>::open(plan, grant, key, &mut ledger, shelf.clone()).unwrap();
        sum.sync(&mut ledger).unwrap();
        let mut learner = self.recipe.learner().unwrap();
        if matches!(
            self.recipe.request().recipe,
            RecipeName::Ftrl | RecipeName::Ftpl
        ) {
            let noise = sum.before_the_first().unwrap();
            learner.observe_initial(noise.value()).unwrap();
        }
        let offset = self.recipe.loss().map_or(0.0, Loss::offset);
        let offset = offset * self.recipe.request().batch as f64;
        let mut replay = Replay {
            shelf: &shelf,
            add: &mut |sum: &mut PrivateSum<G>, number, entry, ledger, seen| {
                let pending = self.ask(sum, entry, &path.questions[number - 1]);
                sum.sync(ledger).unwrap();
                let Some(pending) = pending.unwrap() else {
                    return;
                };
                let value = sum.publish(pending).unwrap().into_value();
                let place = seen.values.len() as f64 + 1.0;
                let shown: Vec<f64> = value.iter().map(|v| v + place * offset).collect();
                learner.observe(&shown).unwrap();
                seen.published.push(learner.iterate().to_vec());
                seen.values.push(value);
            },
            checkpoint: &|sum| sum.checkpoint(Vec::new()).unwrap(),
            resume: &|ledger, seen| {
                let back =
                    PrivateSum::<G>::resume(shelf.clone(), key, ledger, None, |_| true).unwrap();
                let recent: Vec<_> = back.recent.into_iter().collect();
                for (pending, known) in recent.into_iter().zip(&seen.values) {
                    let again = back.run.publish(pending).unwrap();
                    assert_eq!(again.value(), known, "what comes again is the same");
                }
                back.run
            },
        };
        let (mut sum, mut seen) = replay.play(sum, &mut ledger, stream, path, stop);
        if self.recipe.plan().most_releases() == seen.values.len() as u64 {
            let last = *stream.last().unwrap();
            let question = path.questions.last().unwrap();
            seen.refusal = match self.ask(&mut sum, last, question) {
                Err(error) => error.to_string(),
                Ok(_) => panic!("{}: a release too many", self.name()),
            };
        }
        drop(sum);
        seen.bytes = [shelf.bytes().len(), ledger_shelf.bytes().len()];
        seen
    }

    fn ask<G: GuaranteeKind>(
        &self,
        sum: &mut PrivateSum<G>,
        entry: Entry,
        question: &[f64],
    ) -> Result<Option<Pending<Vec<f64>, G>>, hushstream_mechanism::sums::SumError> {
        let record = Raw::seal(self.record(entry.pull));
        match self.recipe.ask() {
            Ask::Gradient(loss) => sum.add_gradient(entry.person, loss.as_ref(), question, record),
            Ask::Moments(moments) => sum.add_moments(entry.person, moments, record),
        }
    }

    fn paid(&self) -> (Ledger, Grant, Shelf) {
        let plan = self.recipe.plan();
        let noise = filter(plan.request().noise);
        paid(self.number, noise, plan.charge().unwrap(), plan.scope())
    }

    pub(crate) fn is_windowed(&self) -> bool {
        self.recipe.plan().request().kind.is_windowed()
    }
}

impl Play for OnSum {
    fn name(&self) -> String {
        let request = self.recipe.plan().request();
        format!(
            "{} on {}, {}, {:?}, {:?}, batch {}",
            self.recipe.request().recipe,
            request.kind,
            request.noise,
            request.adjacency,
            request.participation,
            request.batch
        )
    }

    fn price(&self) -> f64 {
        amount(self.recipe.plan().charge().unwrap())
    }

    fn streams(&self) -> Vec<[Vec<Entry>; 2]> {
        // Where an octave or a window's node begins.
        neighbours_in(self.recipe.plan(), &self.rows, &[3, 8])
    }

    fn play(&self, stream: &[Entry], path: Option<&Seen>, key: &Key, stop: Stop) -> Seen {
        match (path, self.is_windowed()) {
            (None, false) => self.own::<Transcript>(stream, key, stop),
            (None, true) => self.own::<Windowed>(stream, key, stop),
            (Some(path), false) => self.replay::<Transcript>(stream, path, key, stop),
            (Some(path), true) => self.replay::<Windowed>(stream, path, key, stop),
        }
    }

    fn moved(&self, left: &Seen, right: &Seen) -> f64 {
        self.rows.moved(&right.minus(left))
    }
}

/// `pftal-bandit`: one-point gradients in a sum. The mechanism's questions are the plays; their
/// directions are the run's coins.
pub(crate) struct OnValues {
    recipe: ValuesRecipe,
    pub(crate) rows: Rows,
    /// Which grant of its ledger the run has.
    pub(crate) number: u64,
}

/// Apart from every mechanism's own generators.
const COINS: u64 = 1 << 62;

impl OnValues {
    pub(crate) fn plan(
        sum: SumKind,
        noise: Noise,
        adjacency: Adjacency,
        persons: u64,
    ) -> Result<Self, RecipeError> {
        let bounds = Bounds::new(1.0, (-2.0, 2.0), 1.0).unwrap();
        let recipe = ValuesRequest {
            loss: Arc::new(LinearModel::new(2, Link::Squared, bounds).unwrap()),
            set: Arc::new(Ball::new(2, 1.0).unwrap()),
            range: Range::ZeroTo(1.0),
            rounds: RELEASES + 1,
            adaptive: false,
            curvature: None,
            radius: None,
            sum: Some(sum),
            noise: Some(noise),
            budget: budget(noise.is_pure()),
            adjacency,
            participation: participation(persons),
        }
        .plan()?;
        let rows = Rows::of(recipe.plan());
        let number = 1;
        Ok(Self {
            recipe,
            rows,
            number,
        })
    }

    /// The value of a record without features is half its squared target, whatever is played;
    /// others react to the play.
    fn record(pull: Pull) -> Record {
        let (features, target) = match pull {
            Pull::Low => (vec![0.0, 0.0], 0.0),
            Pull::High => (vec![0.0, 0.0], 2.0),
            Pull::Huge => (vec![1e9, 1e9], 1e9),
            Pull::Other(k) => (vec![0.5, 0.1 * (k % 4) as f64], 0.7),
            Pull::Null => (vec![f64::NAN, 0.0], 0.0),
        };
        Record {
            features: Features::Dense(features),
            target,
        }
    }

    fn paid(&self) -> (Ledger, Grant, Shelf) {
        let plan = self.recipe.plan();
        let noise = filter(plan.request().noise);
        paid(self.number, noise, plan.charge().unwrap(), plan.scope())
    }
}

pub(crate) fn filter(noise: Noise) -> FilterKind {
    if noise.is_pure() {
        FilterKind::Pure
    } else {
        FilterKind::Gaussian
    }
}

impl Play for OnValues {
    fn name(&self) -> String {
        let request = self.recipe.plan().request();
        format!(
            "pftal-bandit on {}, {}, {:?}, {:?}",
            request.kind, request.noise, request.adjacency, request.participation
        )
    }

    fn price(&self) -> f64 {
        amount(self.recipe.plan().charge().unwrap())
    }

    fn streams(&self) -> Vec<[Vec<Entry>; 2]> {
        neighbours_in(self.recipe.plan(), &self.rows, &[5, 8])
    }

    fn play(&self, stream: &[Entry], path: Option<&Seen>, key: &Key, stop: Stop) -> Seen {
        let (mut ledger, grant, ledger_shelf) = self.paid();
        let shelf = Shelf::default();
        let Some(path) = path else {
            let recipe = || self.recipe.clone();
            let run = ValuesRun::open(recipe(), grant, key, &mut ledger, shelf.clone()).unwrap();
            let own = Own {
                ask: &|run: &ValuesRun| run.question().for_the_operator().to_vec(),
                learn: &|run, entry| {
                    let record = Raw::seal(Self::record(entry.pull));
                    run.learn(entry.person, record).unwrap();
                },
                sync: &|run, ledger| values(run.sync(ledger).unwrap()),
                resume: &|ledger| {
                    let back = ValuesRun::resume(recipe(), shelf.clone(), key, ledger, None);
                    back.unwrap().0
                },
            };
            return own.play(run, &mut ledger, stream, stop);
        };
        let instance = Instance::fresh(key, COINS + grant.number(), 0).unwrap();
        let coins = Source::open(key, instance, COINS);
        let plan = self.recipe.plan().clone();
        let sum =
            PrivateSum::<Transcript>::open(plan, grant, key, &mut ledger, shelf.clone()).unwrap();
        let mut learner = self.recipe.learner().unwrap();
        let request = self.recipe.request();
        let geometry = OnePoint::new(&request.set, self.recipe.radius()).unwrap();
        let direction = |round: u64| {
            let mut cursor = coins.cursor(round, 0);
            let mut next = || cursor.next_word();
            sphere(request.set.dimension(), &mut Coins::new(&mut next))
        };
        let mut replay = Replay {
            shelf: &shelf,
            add: &mut |sum: &mut PrivateSum<Transcript>, number, entry, ledger, seen| {
                let question = &path.questions[number - 1];
                let record = Self::record(entry.pull);
                let u = direction(number as u64 - 1);
                let value = request.loss.value(&record, question);
                let contribution = match request.loss.gradient(record, question) {
                    Contribution::Null => Contribution::Null,
                    _ => {
                        let scale = geometry.factor() * (request.range.clip(value) - 0.5);
                        Contribution::Dense(u.iter().map(|u| scale * u).collect())
                    }
                };
                let contribution = Raw::seal(contribution);
                let pending = match entry.person {
                    Some(person) => sum.add_for(person, contribution),
                    None => sum.add(contribution),
                };
                let pending = pending.unwrap().unwrap();
                sum.sync(ledger).unwrap();
                let value = sum.publish(pending).unwrap().into_value();
                learner.observe(&value).unwrap();
                let play = geometry.play(learner.iterate(), &direction(number as u64));
                seen.published.push(play);
                seen.values.push(value);
            },
            checkpoint: &|sum| sum.checkpoint(Vec::new()).unwrap(),
            resume: &|ledger, _| {
                let back = PrivateSum::resume(shelf.clone(), key, ledger, None, |_| true);
                back.unwrap().run
            },
        };
        let (sum, mut seen) = replay.play(sum, &mut ledger, stream, path, stop);
        drop(sum);
        seen.bytes = [shelf.bytes().len(), ledger_shelf.bytes().len()];
        seen
    }

    fn moved(&self, left: &Seen, right: &Seen) -> f64 {
        self.rows.moved(&right.minus(left))
    }
}

/// Recipes that release iterates. The learner is secret and asks nothing: two runs need no common
/// questions.
pub(crate) struct OnIterates {
    recipe: IterateRecipe,
    /// Which grant of its ledger the run has.
    pub(crate) number: u64,
}

/// Records of every stream that is not a sum's.
pub(crate) const RECORDS: u64 = 12;

impl OnIterates {
    pub(crate) fn plan(
        recipe: RecipeName,
        noise: Noise,
        adjacency: Adjacency,
        persons: u64,
        dimension: usize,
    ) -> Result<Self, RecipeError> {
        // So wide that no noise reaches the boundary, where a projection would hide it.
        let wide = 1e6;
        let set = Arc::new(Ball::new(dimension, wide).unwrap());
        let distance = Distance::new(dimension, 1.0, wide).unwrap();
        let (insider, curvature) = match recipe {
            RecipeName::PigdConvex => {
                let linear = LinearLoss::new(dimension, -1.0, 1.0).unwrap();
                (Insider::Loss(Arc::new(linear)), Some(1.0))
            }
            RecipeName::Pocp => {
                let leader = Leader::new(distance, set.clone(), 0.0).unwrap();
                (Insider::Learner(Arc::new(leader)), None)
            }
            _ => (Insider::Loss(Arc::new(distance)) as Insider, None),
        };
        let recipe = IterateRequest {
            recipe,
            insider,
            set,
            rounds: RECORDS + 1,
            budget: budget(noise.is_pure()),
            adjacency,
            participation: participation(persons),
            noise: Some(noise),
            curvature,
            steps: None,
            weighting: None,
            average: Averaged::All,
        }
        .plan()?;
        Ok(Self { recipe, number: 1 })
    }

    fn record(&self, pull: Pull) -> Record {
        let dimension = self.recipe.request().set.dimension();
        let far = if self.recipe.request().recipe == RecipeName::PigdConvex {
            1.0
        } else {
            (dimension as f64).sqrt().recip()
        };
        let each = match pull {
            Pull::Low => -far,
            Pull::High => far,
            Pull::Huge => 1e12,
            Pull::Other(k) => 0.1 * far * (k % 4) as f64,
            Pull::Null => f64::NAN,
        };
        Record {
            features: Features::Dense(vec![each; dimension]),
            target: 0.0,
        }
    }

    /// Whether one release at the end needs every record: then none may be lost.
    pub(crate) fn needs_all(&self) -> bool {
        matches!(self.recipe.plan().request().timing, Timing::Last(_))
    }

    /// The scale of the noise on release t; 0 without noise.
    pub(crate) fn scale(&self, t: u64) -> f64 {
        let request = self.recipe.plan().request();
        let dimension = request.learner.dimension() as u32;
        self.recipe.plan().sigma(t) / request.noise.variance(dimension).sqrt()
    }
}

impl Play for OnIterates {
    fn name(&self) -> String {
        let request = self.recipe.plan().request();
        format!(
            "{}, {}, {:?}, {:?}, {} dimensions",
            self.recipe.request().recipe,
            request.noise,
            request.adjacency,
            request.participation,
            request.learner.dimension()
        )
    }

    fn price(&self) -> f64 {
        amount(self.recipe.plan().charge().unwrap())
    }

    fn streams(&self) -> Vec<[Vec<Entry>; 2]> {
        let request = self.recipe.plan().request();
        let (adjacency, participation) = (request.adjacency, request.participation);
        neighbours(RECORDS, 1, adjacency, participation, &[1, 4, RECORDS])
    }

    fn play(&self, stream: &[Entry], path: Option<&Seen>, key: &Key, stop: Stop) -> Seen {
        let plan = self.recipe.plan().clone();
        let noise = filter(plan.request().noise);
        let charge = plan.charge().unwrap();
        let (mut ledger, grant, ledger_shelf) = paid(self.number, noise, charge, plan.scope());
        let shelf = Shelf::default();
        let Some(path) = path else {
            let recipe = || self.recipe.clone();
            let run = IterateRun::open(recipe(), grant, key, &mut ledger, shelf.clone()).unwrap();
            let own = Own {
                ask: &|_: &IterateRun| Vec::new(),
                learn: &|run, entry| {
                    let record = Raw::seal(self.record(entry.pull));
                    run.learn(entry.person, record).unwrap();
                },
                sync: &|run, ledger| values(run.sync(ledger).unwrap()),
                resume: &|ledger| {
                    let back = IterateRun::resume(recipe(), shelf.clone(), key, ledger, None);
                    back.unwrap().0
                },
            };
            return own.play(run, &mut ledger, stream, stop);
        };
        type Iterates = PerturbedIterates<Transcript>;
        let iterates =
            Iterates::open(plan.clone(), grant, key, &mut ledger, shelf.clone()).unwrap();
        let mut replay = Replay {
            shelf: &shelf,
            add: &mut |iterates: &mut Iterates, _, entry, ledger, seen| {
                let record = Raw::seal(self.record(entry.pull));
                let pending = iterates.add(entry.person, record).unwrap();
                iterates.sync(ledger).unwrap();
                if let Some(pending) = pending {
                    let value = iterates.publish(pending).unwrap().into_value();
                    let mut shown = value.clone();
                    self.recipe.request().set.project(&mut shown).unwrap();
                    seen.published.push(shown);
                    seen.values.push(value);
                }
            },
            // Made when the journal is long: a test of its own has many dimensions.
            checkpoint: &|_| (),
            resume: &|ledger, _| {
                let back =
                    Iterates::resume_with(plan.clone(), shelf.clone(), key, ledger, None, |_| true);
                back.unwrap().run
            },
        };
        let (mut iterates, mut seen) = replay.play(iterates, &mut ledger, stream, path, stop);
        if plan.most_steps() == RECORDS {
            let last = *stream.last().unwrap();
            let refused = iterates.add(last.person, Raw::seal(self.record(last.pull)));
            seen.refusal = refused.err().unwrap().to_string();
        }
        drop(iterates);
        seen.bytes = [shelf.bytes().len(), ledger_shelf.bytes().len()];
        seen
    }

    fn moved(&self, left: &Seen, right: &Seen) -> f64 {
        let plan = self.recipe.plan();
        let request = plan.request();
        let spread = request
            .noise
            .variance(request.learner.dimension() as u32)
            .sqrt();
        let first = match request.timing {
            Timing::Last(steps) => steps,
            _ => 1,
        };
        let shares = (first..).zip(right.minus(left)).map(|(t, difference)| {
            let length = difference.iter().map(|d| d * d).sum::<f64>().sqrt();
            match plan.sigma(t) {
                0.0 => {
                    assert!(length <= 0.0, "a release without noise moved");
                    0.0
                }
                sigma => length / (sigma / spread),
            }
        });
        if request.noise.is_pure() {
            shares.sum()
        } else {
            shares.map(|share| share * share).sum::<f64>().sqrt()
        }
    }
}

/// Bandits: one noisy answer, or mean of answers, a play.
pub(crate) struct OnAnswers {
    recipe: BanditRecipe,
    /// Which grant of its ledger the run has.
    pub(crate) number: u64,
}

impl OnAnswers {
    pub(crate) fn plan(
        recipe: RecipeName,
        noise: FeedbackNoise,
        adjacency: Adjacency,
        (batch, persons): (u64, u64),
        known: bool,
    ) -> Result<Self, RecipeError> {
        let (actions, range) = match recipe {
            RecipeName::Scrible => {
                let disc = Arc::new(Ball::new(2, 1.0).unwrap());
                (Actions::Set(disc), Range::Symmetric(1.0))
            }
            RecipeName::Exp2 => (Actions::Arms(3), Range::ZeroTo(1.0)),
            _ => (Actions::Arms(3), Range::Symmetric(1.0)),
        };
        let request = BanditRequest {
            recipe,
            actions,
            reading: None,
            range,
            rounds: known.then_some(RECORDS * batch),
            restart: None,
            batch: Some(batch),
            noise: Some(noise),
            budget: budget(noise == FeedbackNoise::Laplace),
            adjacency,
            participation: participation(persons),
        };
        Ok(Self {
            recipe: request.plan()?,
            number: 1,
        })
    }

    /// A loss vector whose part at the play has this value.
    fn losses(&self, pull: Pull, play: &[f64]) -> Vec<f64> {
        let low = match self.recipe.request().range {
            Range::Symmetric(_) => -1.0,
            _ => 0.0,
        };
        let value = match pull {
            Pull::Low => low,
            Pull::High => 1.0,
            Pull::Huge => 1e9,
            Pull::Other(k) => 0.2 * (k % 5) as f64,
            Pull::Null => return Vec::new(),
        };
        match &self.recipe.request().actions {
            Actions::Arms(arms) => vec![value; *arms],
            _ => {
                let squares: f64 = play.iter().map(|x| x * x).sum();
                play.iter().map(|x| value * x / squares.max(1e-9)).collect()
            }
        }
    }

    /// What a null counts as, and the scale of the noise on a mean.
    pub(crate) fn null_and_scale(&self) -> (f64, f64) {
        let plan = self.recipe.plan();
        (plan.request().range.null(), plan.scale())
    }
}

impl Play for OnAnswers {
    fn name(&self) -> String {
        let request = self.recipe.plan().request();
        format!("{}, {request:?}", self.recipe.request().recipe)
    }

    fn price(&self) -> f64 {
        amount(self.recipe.plan().charge().unwrap())
    }

    fn streams(&self) -> Vec<[Vec<Entry>; 2]> {
        let request = self.recipe.plan().request();
        let (adjacency, participation) = (request.adjacency, request.participation);
        let places = [1, 6, RECORDS];
        neighbours(RECORDS, request.batch, adjacency, participation, &places)
    }

    fn play(&self, stream: &[Entry], path: Option<&Seen>, key: &Key, stop: Stop) -> Seen {
        let plan = self.recipe.plan().clone();
        let charge = plan.charge().unwrap();
        let (mut ledger, grant, ledger_shelf) =
            paid(self.number, plan.filter(), charge, plan.scope());
        let shelf = Shelf::default();
        let Some(path) = path else {
            let recipe = || self.recipe.clone();
            let run = BanditRun::open(recipe(), grant, key, &mut ledger, shelf.clone()).unwrap();
            let own = Own {
                ask: &|run: &BanditRun| {
                    let play = run.play();
                    let play = play.for_the_operator();
                    let arm = play.action.map_or(-1.0, |arm| arm as f64);
                    [arm].iter().chain(&play.point).copied().collect()
                },
                learn: &|run, entry| {
                    let losses = self.losses(entry.pull, &run.play().for_the_operator().point);
                    run.learn_losses(entry.person, Raw::seal(losses)).unwrap();
                },
                sync: &|run, ledger| {
                    let turns = run.sync(ledger).unwrap().into_iter();
                    turns.map(|turn| vec![turn.into_value().answer]).collect()
                },
                resume: &|ledger| {
                    let back = BanditRun::resume(recipe(), shelf.clone(), key, ledger, None);
                    back.unwrap().0
                },
            };
            return own.play(run, &mut ledger, stream, stop);
        };
        let answers = Answers::open(plan.clone(), grant, key, &mut ledger, shelf.clone()).unwrap();
        let ask = |answers: &mut Answers, entry: Entry, question: &[f64]| {
            let losses = Raw::seal(self.losses(entry.pull, &question[1..]));
            match self.recipe.request().actions {
                Actions::Arms(_) => answers.answer_arm(entry.person, question[0] as usize, losses),
                _ => answers.answer_linear(entry.person, &question[1..], losses),
            }
        };
        let mut replay = Replay {
            shelf: &shelf,
            add: &mut |answers: &mut Answers, number, entry, ledger, seen| {
                let pending = ask(answers, entry, &path.questions[number - 1]).unwrap();
                answers.sync(ledger).unwrap();
                if let Some(pending) = pending {
                    let value = answers.publish(pending).unwrap().into_value();
                    seen.published.push(vec![value]);
                    seen.values.push(vec![value]);
                }
            },
            checkpoint: &|answers| answers.checkpoint(Vec::new()).unwrap(),
            resume: &|ledger, _| {
                let back = Answers::resume(shelf.clone(), key, ledger, None, |_| true);
                back.unwrap().run
            },
        };
        let (mut answers, mut seen) = replay.play(answers, &mut ledger, stream, path, stop);
        if plan.most_items() == RECORDS {
            let (entry, question) = (stream.last().unwrap(), path.questions.last().unwrap());
            let refused = ask(&mut answers, *entry, question);
            seen.refusal = refused.err().unwrap().to_string();
        }
        drop(answers);
        seen.bytes = [shelf.bytes().len(), ledger_shelf.bytes().len()];
        seen
    }

    fn moved(&self, left: &Seen, right: &Seen) -> f64 {
        let plan = self.recipe.plan();
        let shares = right
            .minus(left)
            .into_iter()
            .map(|d| d[0].abs() / plan.scale());
        match plan.noise() {
            FeedbackNoise::Laplace => shares.sum(),
            FeedbackNoise::Gaussian => shares.map(|share| share * share).sum::<f64>().sqrt(),
        }
    }
}

/// `limited-updates` on convex losses. Its steps follow a secret iterate; the records besides the
/// canary have no slope, so that nothing but the canary moves it.
pub(crate) struct OnSolver {
    recipe: LimitedUpdates,
    loss: Arc<dyn Loss>,
    set: Arc<dyn ConvexSet>,
    adjacency: Adjacency,
    /// The record that differs, from 1; or the first of its person.
    place: u64,
    participation: Participation,
    /// Which grant of its ledger the run has.
    pub(crate) number: u64,
}

impl OnSolver {
    /// With a loss that is smooth, or with one that has a corner.
    pub(crate) fn plan(
        link: Link,
        noise: Noise,
        adjacency: Adjacency,
        (place, persons): (u64, u64),
    ) -> Result<Self, RecipeError> {
        let bounds = Bounds::new(1.0, (-1.0, 1.0), 1.0).unwrap();
        let loss: Arc<dyn Loss> = Arc::new(LinearModel::new(1, link, bounds).unwrap());
        let set: Arc<dyn ConvexSet> = Arc::new(Ball::new(1, 1.0).unwrap());
        let recipe = LimitedUpdatesRequest {
            loss: loss.clone(),
            set: set.clone(),
            budget: Self::budget(noise),
            adjacency,
            participation: participation(persons),
        }
        .plan()?;
        assert_eq!(recipe.plan().noise(), noise);
        Ok(Self {
            recipe,
            loss,
            set,
            adjacency,
            place,
            participation: participation(persons),
            number: 1,
        })
    }

    /// So large that noise does not reach the boundary, where a projection would hide it.
    fn budget(noise: Noise) -> Budget {
        if noise.is_pure() {
            Budget::pure(20.0).unwrap()
        } else {
            Budget::approx(30.0, 1e-6).unwrap()
        }
    }

    fn record(pull: Pull) -> Record {
        let (feature, target) = match pull {
            Pull::Low => (1.0, -1.0),
            Pull::High => (1.0, 1.0),
            Pull::Huge => (1e9, 1e12),
            Pull::Other(_) => (0.0, 0.0),
            Pull::Null => (f64::NAN, 0.0),
        };
        Record {
            features: Features::Dense(vec![feature]),
            target,
        }
    }

    /// Standard deviations of the noises in the phases of an epoch of so many records.
    pub(crate) fn sigmas(&self, size: u64) -> Vec<f64> {
        let phases = 1..=size.ilog2();
        phases.map(|i| self.recipe.plan().sigma(size, i)).collect()
    }

    /// Their scales: on one number, pure noise of scale c has the variance 2c².
    fn scales(&self, size: u64) -> Vec<f64> {
        let variance = self.recipe.plan().noise().variance(1);
        let sigmas = self.sigmas(size).into_iter();
        sigmas.map(|sigma| sigma / variance.sqrt()).collect()
    }

    /// The noise that an epoch of so many records adds, drawn once more from the addresses of its
    /// phases.
    pub(crate) fn noise(&self, size: u64, key: &Key) -> f64 {
        let instance = Instance::fresh(key, self.number, 0).unwrap();
        let source = Source::open(key, instance, self.number * 128);
        let noises = (1..).zip(self.scales(size)).map(|(phase, scale)| {
            let mut noise = [0];
            let node = u64::from(size.ilog2()) << 8 | phase;
            match self.recipe.plan().noise() {
                Noise::Gaussian => RoundedGaussian::STANDARD.fill(&source, node, 0, &mut noise),
                _ => L2Laplace::new(1, 1 << 30)
                    .unwrap()
                    .fill(&source, node, 0, &mut noise),
            }
            scale * noise[0] as f64 / (1_u64 << 30) as f64
        });
        noises.sum()
    }

    /// The epoch and the phase that a record is in; nothing for the last of an epoch, which is not
    /// used.
    pub(crate) fn phase(place: u64) -> Option<(u64, u32)> {
        let size = 1 << place.ilog2();
        let mut left = place - size;
        (1..=size.ilog2()).find_map(|phase| {
            let length = size >> phase;
            if left < length {
                return Some((size, phase));
            }
            left -= length;
            None
        })
    }
}

impl Play for OnSolver {
    fn name(&self) -> String {
        format!(
            "limited-updates, {}, {:?}, {:?}, record {}",
            self.recipe.plan().noise(),
            self.adjacency,
            self.participation,
            self.place
        )
    }

    fn price(&self) -> f64 {
        amount(self.recipe.plan().charge().unwrap())
    }

    fn streams(&self) -> Vec<[Vec<Entry>; 2]> {
        let (adjacency, participation) = (self.adjacency, self.participation);
        neighbours(RELEASES, 1, adjacency, participation, &[self.place])
    }

    fn play(&self, stream: &[Entry], path: Option<&Seen>, key: &Key, stop: Stop) -> Seen {
        let plan = self.recipe.plan().clone();
        let charge = plan.charge().unwrap();
        let (mut ledger, grant, ledger_shelf) =
            paid(self.number, plan.filter(), charge, plan.scope());
        let shelf = Shelf::default();
        let Some(path) = path else {
            let recipe = || self.recipe.clone();
            let run =
                LimitedUpdatesRun::open(recipe(), grant, key, &mut ledger, shelf.clone()).unwrap();
            let own = Own {
                ask: &|_: &LimitedUpdatesRun| Vec::new(),
                learn: &|run, entry| {
                    let record = Raw::seal(Self::record(entry.pull));
                    run.learn(entry.person, record).unwrap();
                },
                sync: &|run, ledger| values(run.sync(ledger).unwrap()),
                resume: &|ledger| {
                    let shelf = shelf.clone();
                    let back = LimitedUpdatesRun::resume(recipe(), shelf, key, ledger, None);
                    back.unwrap().0
                },
            };
            return own.play(run, &mut ledger, stream, stop);
        };
        let (loss, set) = (|| self.loss.clone(), || self.set.clone());
        let task = SolverTask::new(plan.clone(), loss(), set()).unwrap();
        let solver = Solver::open(task, grant, key, &mut ledger, shelf.clone()).unwrap();
        let mut replay = Replay {
            shelf: &shelf,
            add: &mut |solver: &mut Solver, _, entry, ledger, seen| {
                let record = Raw::seal(Self::record(entry.pull));
                let pending = solver.add(entry.person, record).unwrap();
                solver.sync(ledger).unwrap();
                if let Some(pending) = pending {
                    let value = solver.publish(pending).unwrap().into_value();
                    seen.published.push(value.clone());
                    seen.values.push(value);
                }
            },
            checkpoint: &|solver| solver.checkpoint(Vec::new()).unwrap(),
            resume: &|ledger, _| {
                let shelf = shelf.clone();
                let back = Solver::resume_with((loss(), set()), shelf, key, ledger, None, |_| true);
                back.unwrap().run
            },
        };
        let (solver, mut seen) = replay.play(solver, &mut ledger, stream, path, stop);
        drop(solver);
        seen.bytes = [shelf.bytes().len(), ledger_shelf.bytes().len()];
        seen
    }

    /// Only the canary's phase meets noise that hides it: what follows starts from there, and adds
    /// nothing. A person's records may be in several phases; noise of the same epoch is behind all
    /// of them, and the difference at the end of an epoch is what its phases moved together. Where
    /// they are in one phase it is that phase's share of the price, and otherwise a part of it at
    /// most: each phase's noise is smaller than the one before.
    fn moved(&self, left: &Seen, right: &Seen) -> f64 {
        let differences = right.minus(left);
        let (most, _) = self.participation.limits();
        let places = self.place..(self.place + most).min(RELEASES + 1);
        let mut phases: Vec<_> = places.map(Self::phase).collect();
        phases.dedup();
        let is_pure = self.recipe.plan().noise().is_pure();
        let mut shares = 0.0;
        let mut octaves: Vec<Vec<u32>> = vec![Vec::new(); differences.len()];
        for (size, phase) in phases.into_iter().flatten() {
            octaves[size.ilog2() as usize].push(phase);
        }
        let (mut moved, mut before) = (false, 0.0);
        for (octave, phases) in octaves.into_iter().enumerate() {
            let difference = differences[octave][0];
            assert!(
                moved || !phases.is_empty() || difference == 0.0,
                "an unused record moved"
            );
            if let Some(first) = phases.first() {
                let scale = self.scales(1 << octave)[*first as usize - 1];
                let share = (difference - before).abs() / scale;
                shares += if is_pure { share } else { share * share };
                moved = true;
            }
            before = difference;
        }
        if is_pure { shares } else { shares.sqrt() }
    }
}

/// `sparse-ftrl`: models in all coordinates. Slopes of the hinge do not depend on the weights here,
/// so that reads need no replay.
pub(crate) struct OnSparse {
    recipe: SparseRecipe,
    pub(crate) rows: Rows,
    /// Which grant of its ledger the run has.
    pub(crate) number: u64,
    /// Features of the others: many make the journal long enough for a checkpoint.
    pub(crate) width: u32,
}

impl OnSparse {
    pub(crate) fn plan(adjacency: Adjacency, width: u32) -> Result<Self, RecipeError> {
        let recipe = SparseRequest {
            features: width.max(4),
            bounds: Bounds::new(1.0, (-1.0, 1.0), 1.0).unwrap(),
            link: Link::Hinge,
            rounds: RELEASES + 1,
            budget: budget(false),
            adjacency,
            rate: Some(1e-6),
        }
        .plan()?;
        let rows = Rows::of(recipe.plan());
        Ok(Self {
            recipe,
            rows,
            number: 1,
            width,
        })
    }

    fn record(&self, pull: Pull) -> Record {
        let half = std::f64::consts::FRAC_1_SQRT_2;
        let (entries, target) = match pull {
            Pull::Low => (vec![(0, half), (2, half)], -1.0),
            Pull::High => (vec![(0, half), (2, half)], 1.0),
            Pull::Huge => (vec![(1, 1e12), (3, -1e9)], 1e300),
            Pull::Other(k) if self.width > 4 => {
                let size = 0.5 / f64::from(self.width).sqrt();
                (
                    (0..self.width).map(|j| (j, size)).collect(),
                    (k % 2) as f64 * 2.0 - 1.0,
                )
            }
            Pull::Other(k) => (vec![((k % 4) as u32, 0.3)], -1.0),
            Pull::Null => (vec![(0, f64::NAN)], 0.0),
        };
        Record {
            features: Features::Sparse(entries),
            target,
        }
    }
}

impl Play for OnSparse {
    fn name(&self) -> String {
        let adjacency = self.recipe.request().adjacency;
        format!(
            "sparse-ftrl, {adjacency:?}, others of {} features",
            self.width
        )
    }

    fn price(&self) -> f64 {
        amount(self.recipe.plan().charge().unwrap())
    }

    fn streams(&self) -> Vec<[Vec<Entry>; 2]> {
        let adjacency = self.recipe.request().adjacency;
        let places: &[u64] = if self.width > 4 {
            &[1]
        } else {
            &[1, 5, RELEASES]
        };
        neighbours(RELEASES, 1, adjacency, Participation::OncePerRecord, places)
    }

    fn play(&self, stream: &[Entry], path: Option<&Seen>, key: &Key, stop: Stop) -> Seen {
        let plan = self.recipe.plan();
        let charge = plan.charge().unwrap();
        let (mut ledger, grant, ledger_shelf) =
            paid(self.number, FilterKind::Gaussian, charge, plan.scope());
        let shelf = Shelf::default();
        let recipe = || self.recipe.clone();
        let run = SparseRun::open(recipe(), grant, key, &mut ledger, shelf.clone()).unwrap();
        let rate = self.recipe.rule().rate();
        // There are no questions: its own run and the replay are one.
        let mut replay = Replay {
            shelf: &shelf,
            add: &mut |run: &mut SparseRun, _, entry, ledger, seen| {
                run.learn(None, Raw::seal(self.record(entry.pull))).unwrap();
                let model = run.model(ledger).unwrap().into_value();
                seen.values.push(model.iter().map(|w| -w / rate).collect());
                seen.published.push(model);
            },
            // Made when the journal is long: a cell of its own has many features.
            checkpoint: &|_| (),
            resume: &|ledger, seen| {
                let back = SparseRun::resume(recipe(), shelf.clone(), key, ledger, None);
                let (mut run, outcome) = back.unwrap();
                let again = run.model(ledger).unwrap().into_value();
                let same = Some(&again) == seen.published.last();
                assert_eq!(
                    same,
                    outcome == CameBack::Continued,
                    "the model that comes again"
                );
                run
            },
        };
        let path = path.cloned().unwrap_or_default();
        let (run, mut seen) = replay.play(run, &mut ledger, stream, &path, stop);
        drop(run);
        seen.reads_are_private = true;
        seen.bytes = [shelf.bytes().len(), ledger_shelf.bytes().len()];
        seen
    }

    fn moved(&self, left: &Seen, right: &Seen) -> f64 {
        self.rows.moved(&right.minus(left))
    }
}

/// Selections. What leaves is drawn, not noised: a replay computes log-weights and the probability
/// of a switch along the path, and draws the plays from them once more with the run's own bits;
/// they must be the run's plays.
pub(crate) struct OnSelection {
    recipe: ExpertsRecipe,
}

/// Bits after the point: of κ, of p, of a loss.
const RATE_BITS: u32 = 39;
const FORCED_BITS: u32 = 40;
const LOSS_BITS: u32 = 24;

/// What a replay knows of one item: whether a switch is possible, its probability, whether the path
/// switched, and −κ·(total loss) of every expert.
struct Odds<'a> {
    active: bool,
    switch: f64,
    drawn: bool,
    logs: &'a [f64],
}

impl<'a> Odds<'a> {
    fn read(value: &'a [f64]) -> Self {
        Self {
            active: value[0] > 0.0,
            switch: value[1],
            drawn: value[2] > 0.0,
            logs: &value[3..],
        }
    }

    fn ln_chosen(&self, expert: usize) -> f64 {
        let most = self.logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = self.logs.iter().map(|log| (log - most).exp()).sum();
        self.logs[expert] - most - total.ln()
    }
}

/// How long a selection plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// For a known number of rounds.
    Known,
    /// Without end, in octaves.
    Unknown,
    /// For a known number of rounds, begun anew after [`SEASON`] items.
    Seasons,
}

/// Items of a season.
const SEASON: u64 = 5;

/// What happens after one item, for every expert that may be the one that is played.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Law {
    /// With which probability it is kept.
    pub(crate) keep: Vec<f64>,
    /// With which probability each is drawn otherwise.
    pub(crate) draw: Vec<f64>,
    /// Draws from the octave's first item on, after which everything is kept.
    pub(crate) most: u64,
    /// Whether an octave ends here.
    pub(crate) ends: bool,
}

impl OnSelection {
    pub(crate) fn plan(
        recipe: RecipeName,
        pure: bool,
        adjacency: Adjacency,
        size: (u64, u64),
        until: Until,
    ) -> Result<Self, RecipeError> {
        let budget = if pure {
            Budget::pure(6.0).unwrap()
        } else {
            Budget::approx(6.0, 1e-6).unwrap()
        };
        // Parameters for which plays change often.
        let board = Board::new(0.25, 0.3, 4).unwrap();
        Self::plan_at(recipe, (budget, board), adjacency, size, until)
    }

    /// With a budget, and a board for a dartboard of known horizon.
    pub(crate) fn plan_at(
        recipe: RecipeName,
        (budget, board): (Budget, Board),
        adjacency: Adjacency,
        (batch, persons): (u64, u64),
        until: Until,
    ) -> Result<Self, RecipeError> {
        let known = until != Until::Unknown;
        let restart = (until == Until::Seasons).then_some(SEASON * batch);
        let dartboard = matches!(
            recipe,
            RecipeName::Dartboard | RecipeName::DartboardBatched | RecipeName::Cover
        );
        let advice = if recipe == RecipeName::Cover {
            Advice::Net {
                loss: Arc::new(LinearLoss::new(1, -1.0, 1.0).unwrap()),
                set: Arc::new(Ball::new(1, 1.0).unwrap()),
                radius: Some(0.251),
            }
        } else {
            Advice::Experts(3)
        };
        // Recipes that would choose a batch of their own.
        let held = matches!(
            recipe,
            RecipeName::DartboardBatched | RecipeName::HedgeBatched
        );
        let request = ExpertsRequest {
            recipe,
            advice,
            rounds: known.then_some((RECORDS + 1) * batch),
            restart,
            batch: (batch > 1 || held).then_some(batch),
            board: (dartboard && known).then_some(board),
            budget,
            adjacency,
            participation: participation(persons),
        };
        Ok(Self {
            recipe: request.plan()?,
        })
    }

    /// What the ledger is charged, and the same without a δ.
    pub(crate) fn paid_and_pure(&self) -> (Budget, f64) {
        let paid = match self.recipe.plan().charge().unwrap().charge {
            Charge::Approximate(paid) => paid,
            Charge::Pure(epsilon) => Budget::pure(epsilon.get()).unwrap(),
            other => panic!("{other:?} is no price of a selection"),
        };
        (paid, self.price())
    }

    /// The law of every item of a stream: the same numbers that a replay draws from.
    pub(crate) fn laws(&self, stream: &[Entry]) -> Vec<Law> {
        let plan = self.recipe.plan();
        let unit = 2_f64.powi(-((RATE_BITS + LOSS_BITS) as i32));
        let nothing = vec![0; self.experts()];
        let mut totals = nothing.clone();
        let mut laws = Vec::new();
        for (item, batch) in (1..).zip(self.counted(stream).chunks(plan.batch() as usize)) {
            let mut lost = nothing.clone();
            for &pull in batch {
                let losses = self.lattice(pull);
                lost.iter_mut().zip(losses).for_each(|(sum, l)| *sum += l);
            }
            totals.iter_mut().zip(&lost).for_each(|(sum, l)| *sum += l);
            let ends = self.ends(item);
            let rate = self.rate(item) as f64 * unit;
            let all = |share: f64| vec![share; self.experts()];
            let weighted = || {
                let weights = totals.iter().map(|&total| (-rate * total as f64).exp());
                let weights: Vec<f64> = weights.collect();
                let sum: f64 = weights.iter().sum();
                weights.into_iter().map(|weight| weight / sum).collect()
            };
            let (keep, draw, most) = match plan.board_of(item) {
                None if ends => (all(0.0), weighted(), u64::MAX),
                None => (all(1.0), weighted(), 0),
                Some(_) if ends => (all(0.0), all(1.0 / self.experts() as f64), u64::MAX),
                Some(board) => {
                    let stay = |&l: &u64| (1.0 - board.forced()) * (-rate * l as f64).exp();
                    let keep = lost.iter().map(stay).collect();
                    (keep, weighted(), board.resamples())
                }
            };
            laws.push(Law {
                keep,
                draw,
                most,
                ends,
            });
            if ends {
                totals.clone_from(&nothing);
            }
        }
        laws
    }

    fn counted(&self, stream: &[Entry]) -> Vec<Pull> {
        let plan = self.recipe.plan();
        counted(stream, plan.batch(), plan.request().participation)
    }

    /// Whether what was learned is forgotten after an item.
    fn ends(&self, item: u64) -> bool {
        match self.recipe.request() {
            request if request.restart.is_some() => item.is_multiple_of(SEASON),
            request if request.rounds.is_some() => {
                request.recipe == RecipeName::LimitedUpdates && (item + 1).is_power_of_two()
            }
            _ => (item + 1).is_power_of_two(),
        }
    }

    fn most(&self) -> u64 {
        self.recipe.request().participation.limits().0
    }

    fn experts(&self) -> usize {
        self.recipe.plan().request().experts as usize
    }

    /// κ of the board, or of the one draw of an octave, in units of 2⁻³⁹.
    fn rate(&self, item: u64) -> u64 {
        let kappa = self.recipe.request().adjacency.kappa();
        let rate = match self.recipe.plan().board_of(item) {
            Some(board) => board.rate(),
            None => {
                let paid = amount(self.recipe.plan().charge().unwrap());
                paid / (kappa * self.most() as f64)
            }
        };
        (rate * (1_u64 << RATE_BITS) as f64) as u64
    }

    /// A slope on the line, for a net. The net's ends are within the set's, so that a slope within
    /// the loss's bound does not reach the whole range; a steeper one does, and is clipped to it.
    fn record(pull: Pull) -> Record {
        let feature = match pull {
            Pull::Low => -4.0,
            Pull::High => 4.0,
            Pull::Huge => 1e9,
            Pull::Other(k) => 0.3 * (k % 4) as f64 - 0.5,
            Pull::Null => f64::NAN,
        };
        Record {
            features: Features::Dense(vec![feature]),
            target: 0.0,
        }
    }

    /// The losses of all experts.
    fn losses(pull: Pull) -> Vec<f64> {
        match pull {
            Pull::Low => vec![1.0, 0.0, 0.0],
            Pull::High => vec![0.0, 1.0, 1.0],
            Pull::Huge => vec![1e9, -1e9, 0.5],
            Pull::Other(k) => (0..3).map(|i| 0.2 * ((k + i) % 4) as f64).collect(),
            Pull::Null => vec![f64::NAN; 3],
        }
    }

    /// The same on their lattice; a malformed record has none.
    fn lattice(&self, pull: Pull) -> Vec<u64> {
        let losses = match &self.recipe.request().advice {
            Advice::Experts(_) => Self::losses(pull),
            Advice::Net { .. } if pull == Pull::Null => vec![f64::NAN; self.experts()],
            Advice::Net { loss, set, .. } => {
                let record = Self::record(pull);
                let points = self.recipe.points().iter();
                let values: Vec<f64> = points.map(|at| loss.value(&record, at)).collect();
                let least = values.iter().copied().fold(f64::INFINITY, f64::min);
                let range = loss.lipschitz() * set.diameter();
                values.iter().map(|value| (value - least) / range).collect()
            }
        };
        if losses.iter().any(|loss| !loss.is_finite()) {
            return vec![0; self.experts()];
        }
        let unit = (1_u64 << LOSS_BITS) as f64;
        let cells = losses.iter().map(|loss| loss.clamp(0.0, 1.0) * unit);
        cells.map(|cell| cell as u64).collect()
    }

    /// The plays of the mechanism alone, its journal replaced by a checkpoint after some records.
    pub(crate) fn checkpointed(&self, stream: &[Entry], key: &Key, at: usize) -> Vec<Vec<f64>> {
        let plan = self.recipe.plan();
        let charge = plan.charge().unwrap();
        let (mut ledger, grant, _) = paid(1, plan.filter(), charge, plan.scope());
        let shelf = Shelf::default();
        let open = Selection::open(plan.clone(), grant, key, &mut ledger, shelf.clone());
        let mut selection = open.unwrap();
        let mut plays = Vec::new();
        for (number, entry) in (1..).zip(stream) {
            let pending = match &self.recipe.request().advice {
                Advice::Experts(_) => {
                    let losses = Raw::seal(Self::losses(entry.pull));
                    selection.add(entry.person, losses)
                }
                Advice::Net { loss, set, .. } => {
                    let range = loss.lipschitz() * set.diameter();
                    let record = Raw::seal(Self::record(entry.pull));
                    let (loss, points) = (loss.as_ref(), self.recipe.points());
                    selection.add_record(entry.person, loss, points, range, record)
                }
            };
            selection.sync(&mut ledger).unwrap();
            if let Some(pending) = pending.unwrap() {
                let play = selection.publish(pending).unwrap().into_value();
                plays.push(vec![f64::from(play)]);
            }
            if number == at {
                selection.checkpoint(Vec::new()).unwrap();
                drop(selection);
                let back = Selection::resume(shelf.clone(), key, &mut ledger, None, |_| true);
                selection = back.unwrap().run;
            }
        }
        plays
    }

    /// The largest range of the difference of log-weights at an item, as a share of R.
    pub(crate) fn range(&self, left: &Seen, right: &Seen) -> f64 {
        let mut worst = 0.0_f64;
        for (item, (left, right)) in (1..).zip(left.values.iter().zip(&right.values)) {
            let (left, right) = (Odds::read(left), Odds::read(right));
            let logs = left.logs.iter().zip(right.logs);
            let shifts: Vec<f64> = logs.map(|(left, right)| left - right).collect();
            let most = shifts.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let least = shifts.iter().copied().fold(f64::INFINITY, f64::min);
            let rate = self.rate(item) as f64 / (1_u64 << RATE_BITS) as f64;
            let range = self.most() as f64 * self.recipe.request().adjacency.kappa() * rate;
            worst = worst.max((most - least) / range);
        }
        worst
    }
}

impl Play for OnSelection {
    fn name(&self) -> String {
        let request = self.recipe.plan().request();
        format!("{}, {request:?}", self.recipe.request().recipe)
    }

    /// ε without a δ, to which coins and draws add up, of the costliest octave that is played; the
    /// ledger is charged that, or less where a δ is paid too.
    fn price(&self) -> f64 {
        let plan = self.recipe.plan();
        let (adjacency, participation) = (
            self.recipe.request().adjacency,
            self.recipe.request().participation,
        );
        let exposure = Exposure::of(adjacency, participation);
        match plan.charge().unwrap().charge {
            Charge::Pure(epsilon) => epsilon.get(),
            _ => {
                let boards = (1..=RECORDS).filter_map(|item| plan.board_of(item));
                let pure = boards.map(|board| board.pure_epsilon(exposure));
                pure.fold(0.0, f64::max)
            }
        }
    }

    fn streams(&self) -> Vec<[Vec<Entry>; 2]> {
        let (batch, adjacency) = (self.recipe.plan().batch(), self.recipe.request().adjacency);
        let participation = self.recipe.request().participation;
        // Each pair of streams has a key of its own.
        let places: Vec<u64> = (1..=RECORDS).collect();
        neighbours(RECORDS, batch, adjacency, participation, &places)
    }

    fn play(&self, stream: &[Entry], path: Option<&Seen>, key: &Key, stop: Stop) -> Seen {
        let plan = self.recipe.plan();
        let charge = plan.charge().unwrap();
        let (mut ledger, grant, ledger_shelf) = paid(1, plan.filter(), charge, plan.scope());
        let number = grant.number();
        let shelf = Shelf::default();
        let Some(path) = path else {
            let recipe = || self.recipe.clone();
            let run = ExpertsRun::open(recipe(), grant, key, &mut ledger, shelf.clone()).unwrap();
            let own = Own {
                ask: &|run: &ExpertsRun| vec![*run.expert().for_the_operator() as f64],
                learn: &|run, entry| {
                    let learned = if self.recipe.points().is_empty() {
                        run.learn_losses(entry.person, Raw::seal(Self::losses(entry.pull)))
                    } else {
                        run.learn(entry.person, Raw::seal(Self::record(entry.pull)))
                    };
                    learned.unwrap();
                },
                sync: &|run, ledger| {
                    let plays = run.sync(ledger).unwrap().into_iter();
                    plays.map(|p| vec![f64::from(p.into_value())]).collect()
                },
                resume: &|ledger| {
                    let back = ExpertsRun::resume(recipe(), shelf.clone(), key, ledger, None);
                    back.unwrap().0
                },
            };
            let mut seen = own.play(run, &mut ledger, stream, stop);
            seen.reads_are_private = true;
            seen.bytes = [shelf.bytes().len(), ledger_shelf.bytes().len()];
            return seen;
        };
        // Whether a switch is drawn is private: so are the bits that it reads.
        let mut seen = Seen {
            reads_are_private: true,
            ..Seen::default()
        };
        let instance = Instance::fresh(key, number, 0).unwrap();
        let source = Source::open(key, instance, number * 128);
        let nothing = vec![0; self.experts()];
        let draw = |item: u64, rate: u64, totals: &[u64]| {
            let choice = ExponentialChoice::new(Dyadic::new(rate, RATE_BITS + LOSS_BITS).unwrap());
            choice.draw(totals, &mut source.cursor(item, 1)).unwrap()
        };
        seen.questions.clone_from(&path.questions);
        let first = draw(0, 1, &nothing);
        assert_eq!(path.questions[0], [first as f64], "{}", self.name());
        let (mut totals, mut used) = (nothing.clone(), 0);
        for (item, batch) in (1..).zip(self.counted(stream).chunks(plan.batch() as usize)) {
            let place = (item as usize - 1) * plan.batch() as usize;
            let current = path.questions[place][0] as usize;
            let mut lost = nothing.clone();
            for &pull in batch {
                let losses = self.lattice(pull);
                lost.iter_mut().zip(losses).for_each(|(sum, l)| *sum += l);
            }
            totals.iter_mut().zip(&lost).for_each(|(sum, l)| *sum += l);
            let ends = self.ends(item);
            let rate = self.rate(item);
            let unit = 2_f64.powi(-((RATE_BITS + LOSS_BITS) as i32));
            let logs: Vec<f64> = (totals.iter())
                .map(|&total| -(rate as f64 * total as f64 * unit))
                .collect();
            // Whether the path switched; a run's own path does not say, and the draw tells.
            let told = path.values.get(item as usize - 1);
            let told = told.map(|value| value[2] > 0.0);
            let (active, switch, drawn, next) = match plan.board_of(item) {
                None if ends => (true, 1.0, true, draw(item, rate, &totals)),
                None => (false, 0.0, false, current),
                Some(_) if ends => (false, 0.0, false, draw(item, 1, &nothing)),
                Some(board) if used >= board.resamples() => (false, 0.0, false, current),
                Some(board) => {
                    let forced = (board.forced() * (1_u64 << FORCED_BITS) as f64) as u64;
                    let mut coins = source.cursor(item, 0);
                    let forced = Coin::ratio(forced, 1 << FORCED_BITS).unwrap();
                    let forced = forced.toss(&mut coins);
                    let exponent = rate * lost[current];
                    let coin = Coin::exp_minus(exponent, 1 << (RATE_BITS + LOSS_BITS)).unwrap();
                    let stays = !forced && coin.toss(&mut coins);
                    let next = if stays {
                        current
                    } else {
                        draw(item, rate, &totals)
                    };
                    let stay = (1.0 - board.forced()) * (-(exponent as f64) * unit).exp();
                    let drawn = told.unwrap_or(!stays);
                    used += u64::from(drawn);
                    (true, 1.0 - stay, drawn, next)
                }
            };
            let flag = |is: bool| f64::from(u8::from(is));
            let known = [flag(active), switch, flag(drawn)];
            seen.values.push(known.into_iter().chain(logs).collect());
            seen.published.push(vec![next as f64]);
            if ends {
                (totals, used) = (nothing.clone(), 0);
            }
        }
        seen
    }

    /// The coin of the canary's item and the draws of the path, each at the outcome that tells
    /// most.
    fn moved(&self, left: &Seen, right: &Seen) -> f64 {
        let mut total = 0.0;
        for (left, right) in left.values.iter().zip(&right.values) {
            let (left, right) = (Odds::read(left), Odds::read(right));
            if left.active && left.switch < 1.0 {
                let switch = (left.switch / right.switch).ln().abs();
                let stay = ((1.0 - left.switch) / (1.0 - right.switch)).ln().abs();
                total += switch.max(stay);
            }
            if left.drawn {
                let loss = |expert| (left.ln_chosen(expert) - right.ln_chosen(expert)).abs();
                total += (0..left.logs.len()).map(loss).fold(0.0, f64::max);
            }
        }
        total
    }
}
