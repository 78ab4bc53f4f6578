//! Perturbed iterates at work: records go in sealed, noisy iterates come out, paid for and durable.
//!
//! The learner's state is secret, and written to the journal after every step, together with the integers and the unit of its release: replaying computes nothing again but the noise, which is
//! addressed by the step, so a release that comes twice is the same bits whatever has become of learner and program in between. (The same noise in another unit would give it away.) If more was published than the journal knows, the run goes on as a new instance from the learner's public start: each record is in one instance only, whose releases alone it can move, and they are at most as many
//! as were paid for.

use super::plan::{PerturbPlan, Stored};
use super::schedule::noise_scale;
use super::{Fate, PerturbError, Timing};
use crate::boundary::{Grant, GuaranteeKind, OperatorOnly, Pending, Raw, Released};
use crate::durable::{
    CameBack, Diary, DiaryError, FoundDiary, Ledger, Storage, decode, encode, packed,
};
use crate::losses::Record;
use crate::persons::{Participation, Persons};
use crate::sums::Noise;
use hushstream_account::{Guarantee, GuaranteeError};
use hushstream_noise::{Key, L2Laplace, RoundedGaussian, Source};
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

const KIND: &str = "perturbed iterates";

/// The largest integer an iterate may become before noise: a cut-off does not expand.
const LARGEST: f64 = (1_u64 << 61) as f64;

/// Everything secret, after some number of steps.
#[derive(Clone, Serialize, Deserialize)]
struct State {
    learner: Vec<f64>,
    persons: Persons,
    #[serde(with = "postcard::fixint::le")]
    nulls: u64,
    #[serde(with = "postcard::fixint::le")]
    clipped: u64,
    plain: Plain,
}

/// What a release is made of before its noise.
#[derive(Clone, Serialize, Deserialize)]
enum Plain {
    /// Nothing is released.
    Nothing,
    /// An iterate that depends on no data.
    Public(Vec<f64>),
    /// Integers that noise is added to, and what one of them is worth.
    Lattice {
        #[serde(with = "packed")]
        cells: Vec<i64>,
        unit: f64,
    },
}

/// What the journal keeps of one step.
#[derive(Serialize, Deserialize)]
struct Item {
    learner: Vec<f64>,
    /// None or one.
    #[serde(with = "packed")]
    person: Vec<u64>,
    #[serde(with = "postcard::fixint::le")]
    nulls: u64,
    #[serde(with = "postcard::fixint::le")]
    clipped: u64,
    plain: Plain,
}

enum Law {
    Gaussian(RoundedGaussian),
    L2Laplace(L2Laplace),
}

/// Perturbed iterates in progress.
pub struct PerturbedIterates<G> {
    plan: PerturbPlan,
    diary: Diary,
    source: Source,
    law: Law,
    state: State,
    /// What the next checkpoint will carry for the caller.
    note: Vec<u8>,
    kind: PhantomData<fn() -> G>,
}

/// A run that came back.
pub struct PerturbResumption<G> {
    /// The run, ready for its next record.
    pub iterates: PerturbedIterates<G>,
    /// How it came back.
    pub outcome: CameBack,
    /// The last release before [`recent`](Self::recent), if there was one in this instance.
    pub before: Option<Pending<Vec<f64>, G>>,
    /// All releases since the journal's last checkpoint. Sync, publish, and nothing is missing; what was published before may come again, never with another value.
    pub recent: Vec<Pending<Vec<f64>, G>>,
    /// The note of the last checkpoint in this instance.
    pub note: Vec<u8>,
}

impl<G: GuaranteeKind> PerturbedIterates<G> {
    /// Opens a run that has been paid for. `storage` must be new; it will hold private data.
    ///
    /// # Errors
    /// A grant below the price, or used before; a journal that is not empty; storage; a window where a transcript is promised.
    pub fn open(
        plan: PerturbPlan,
        grant: Grant,
        key: &Key,
        ledger: &mut Ledger,
        storage: impl Storage + 'static,
    ) -> Result<Self, PerturbError> {
        let stored = encode(&plan.stored())?;
        let terms = terms_of::<G>(&plan)?;
        let diary = Diary::open(KIND, stored, &terms, grant, key, ledger, Box::new(storage))?;
        Self::assemble(plan, diary, key)
    }

    fn assemble(plan: PerturbPlan, diary: Diary, key: &Key) -> Result<Self, PerturbError> {
        let request = plan.request();
        let dimension = u32::try_from(request.learner.dimension()).unwrap_or(u32::MAX);
        let law = match request.noise {
            Noise::Gaussian => Law::Gaussian(RoundedGaussian::STANDARD),
            _ => Law::L2Laplace(L2Laplace::new(dimension, noise_scale(request.noise))?),
        };
        Ok(Self {
            source: diary.source(key, 0),
            law,
            state: State::fresh(&plan),
            plan,
            diary,
            note: Vec::new(),
            kind: PhantomData,
        })
    }

    /// Continues a run from its journal, which must be one of this plan. `last_published` is the number of the last step known from outside to have been published, if it is known.
    ///
    /// # Errors
    /// A journal of another plan; another key or ledger; a journal that has been superseded; lost persons, or lost records where one release needs all; storage.
    pub fn resume(
        plan: PerturbPlan,
        storage: impl Storage + 'static,
        key: &Key,
        ledger: &mut Ledger,
        last_published: Option<u64>,
    ) -> Result<PerturbResumption<G>, PerturbError> {
        let found = FoundDiary::read(KIND, Box::new(storage))?;
        if found.plan::<Stored>()? != plan.stored() {
            return Err(DiaryError::NotAccepted.into());
        }
        let note = found.note().map(<[u8]>::to_vec);
        let terms = terms_of::<G>(&plan)?;
        let forgotten = |lost| match plan.request() {
            request if request.participation != Participation::OncePerRecord => {
                Some(PerturbError::PersonsLost)
            }
            request if matches!(request.timing, Timing::Last(_)) => {
                Some(PerturbError::RecordsLost { lost })
            }
            _ => None,
        };
        let may_lose = forgotten(0).is_none();
        let empty = State::fresh(&plan);
        let back = found
            .resume(&terms, key, ledger, last_published, &empty, may_lose)
            .map_err(|error| match error {
                DiaryError::Lost { lost } => forgotten(lost).unwrap_or(error.into()),
                other => other.into(),
            })?;
        let mut iterates = Self::assemble(plan, back.diary, key)?;
        let (mut before, mut recent) = (None, Vec::new());
        if back.outcome == CameBack::Continued {
            if let Some(checkpoint) = back.checkpoint {
                // A new instance begins with the note of the one before it, whose releases are not its own.
                if checkpoint.items > 0 {
                    iterates.note = note.unwrap_or_default();
                }
                iterates.state = decode(&checkpoint.state)?;
                iterates.check_state(&iterates.state.learner, &iterates.state.plain)?;
                before = iterates.release();
            }
            for item in back.items {
                iterates.replay(decode(&item)?)?;
                recent.extend(iterates.release());
            }
        }
        Ok(PerturbResumption {
            note: iterates.note.clone(),
            iterates,
            outcome: back.outcome,
            before,
            recent,
        })
    }

    fn check_state(&self, learner: &[f64], plain: &Plain) -> Result<(), PerturbError> {
        let ours = &self.plan.request().learner;
        let fits = match plain {
            Plain::Nothing => true,
            Plain::Public(values) => values.len() == ours.dimension(),
            Plain::Lattice { cells, unit } => {
                let small = |cell: &i64| cell.unsigned_abs() <= 1 << 61;
                let lattice = *unit > 0.0 && unit.is_normal() && cells.iter().all(small);
                lattice && cells.len() == ours.dimension()
            }
        };
        if fits && learner.len() == ours.start().len() {
            Ok(())
        } else {
            Err(PerturbError::State)
        }
    }

    fn replay(&mut self, item: Item) -> Result<(), PerturbError> {
        self.check_state(&item.learner, &item.plain)?;
        self.diary.replayed();
        for person in item.person {
            let limits = self.plan.request().participation.limits();
            self.state.persons.admit(limits, person, self.diary.items());
        }
        self.state.learner = item.learner;
        self.state.nulls += item.nulls;
        self.state.clipped += item.clipped;
        self.state.plain = item.plain;
        Ok(())
    }

    /// Takes one record in: a step of the learner and, if the plan releases it, its noisy iterate. `person` must be given if and only if the plan limits persons; a record beyond a person's limit is null.
    ///
    /// # Errors
    /// [`DiaryError::Exhausted`](crate::DiaryError::Exhausted) after the last planned step; a sensitivity that is no bound, which changes nothing; a person where none is expected, or none where one is; storage.
    pub fn add(
        &mut self,
        person: Option<u64>,
        record: Raw<Record>,
    ) -> Result<Option<Pending<Vec<f64>, G>>, PerturbError> {
        let participation = self.plan.request().participation;
        match (person, participation) {
            (Some(_), Participation::OncePerRecord) => {
                return Err(PerturbError::Participation("single records", "without"));
            }
            (None, Participation::PerPerson { .. }) => {
                return Err(PerturbError::Participation("persons", "with"));
            }
            _ => {}
        }
        self.diary.check_open()?;
        if self.diary.must_checkpoint() {
            self.checkpoint()?;
        }
        let t = self.diary.items() + 1;
        // Before anything changes: without a scale nothing could be released.
        let scale = if self.plan.schedule.is_released(t) {
            self.plan.schedule.scale(t, self.plan.sensitivity(t))?
        } else {
            None
        };
        let persons = &mut self.state.persons;
        let admitted = person.is_none_or(|person| persons.admit(participation.limits(), person, t));
        let record = Some(record.open()).filter(|_| admitted);
        let mut learner = self.state.learner.clone();
        let fate = self
            .plan
            .request()
            .learner
            .step(t, &mut learner, record.as_ref());
        let item = Item {
            plain: self.plain(t, &learner, scale),
            learner,
            person: person.into_iter().collect(),
            nulls: u64::from(fate == Fate::Null),
            clipped: u64::from(fate == Fate::Clipped),
        };
        self.diary.item(encode(&item)?)?;
        self.state.learner = item.learner;
        self.state.nulls += item.nulls;
        self.state.clipped += item.clipped;
        self.state.plain = item.plain;
        Ok(self.release())
    }

    /// What release t is made of, to be written down before it is drawn.
    fn plain(&self, t: u64, state: &[f64], scale: Option<f64>) -> Plain {
        if !self.plan.schedule.is_released(t) {
            return Plain::Nothing;
        }
        let request = self.plan.request();
        let mut value = vec![0.0; request.learner.dimension()];
        request.learner.iterate(t, state, &mut value);
        let Some(scale) = scale else {
            return Plain::Public(value);
        };
        let unit = scale / noise_scale(request.noise) as f64;
        let reach = request.learner.reach();
        // A number that is none becomes 0.
        let cell = |value: f64| {
            let cells = (value.clamp(-reach, reach) / unit).round();
            cells.clamp(-LARGEST, LARGEST) as i64
        };
        Plain::Lattice {
            cells: value.into_iter().map(cell).collect(),
            unit,
        }
    }

    /// The last release, from what was written down and the noise of its step: always the same.
    fn release(&self) -> Option<Pending<Vec<f64>, G>> {
        let value = match &self.state.plain {
            Plain::Nothing => return None,
            Plain::Public(value) => value.clone(),
            Plain::Lattice { cells, unit } => {
                let (t, mut noise) = (self.diary.items(), vec![0; cells.len()]);
                match self.law {
                    Law::Gaussian(law) => law.fill(&self.source, t, 0, &mut noise),
                    Law::L2Laplace(law) => law.fill(&self.source, t, 0, &mut noise),
                }
                // The integer is what is released; the float is made from it.
                let noisy = cells.iter().zip(noise).map(|(cell, noise)| cell + noise);
                noisy.map(|integer| integer as f64 * unit).collect()
            }
        };
        Some(self.diary.pending(value))
    }

    /// Whether the next record writes the journal anew, without the releases so far.
    #[must_use]
    pub fn checkpoint_is_due(&self) -> bool {
        self.diary.must_checkpoint()
    }

    /// Gives the next checkpoint something to carry: what the caller made of the releases that it forgets.
    pub fn note(&mut self, note: Vec<u8>) {
        self.note = note;
    }

    fn checkpoint(&mut self) -> Result<(), PerturbError> {
        Ok(self.diary.checkpoint(&self.state, self.note.clone())?)
    }

    /// Steps taken so far, over all instances.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.diary.steps()
    }

    /// Makes everything taken in so far durable, in the journal and then in the ledger: releases up to here may leave.
    ///
    /// # Errors
    /// Another ledger; storage. After a storage error the run must be resumed from its journal.
    pub fn sync(&mut self, ledger: &mut Ledger) -> Result<(), PerturbError> {
        Ok(self.diary.sync(ledger)?)
    }

    /// Lets a pending value of this run leave, if a sync has covered it; otherwise gives it back.
    ///
    /// # Errors
    /// The pending value itself: not yet durable, or of another run.
    pub fn publish<T>(&self, pending: Pending<T, G>) -> Result<Released<T, G>, Pending<T, G>> {
        self.diary.publish(pending)
    }

    /// The plan it follows.
    #[must_use]
    pub fn plan(&self) -> &PerturbPlan {
        &self.plan
    }

    /// How many records were null (malformed, or beyond a person's limit).
    #[must_use]
    pub fn nulls(&self) -> OperatorOnly<u64> {
        OperatorOnly::new(self.state.nulls)
    }

    /// How many records were clipped.
    #[must_use]
    pub fn clipped(&self) -> OperatorOnly<u64> {
        OperatorOnly::new(self.state.clipped)
    }

    /// What is promised about everything this run releases.
    ///
    /// # Errors
    /// Never for a run that exists; the numbers were checked.
    pub fn guarantee(&self) -> Result<Guarantee, GuaranteeError> {
        self.plan.guarantee(self.diary.is_simulated())
    }
}

impl State {
    fn fresh(plan: &PerturbPlan) -> Self {
        Self {
            learner: plan.request().learner.start(),
            persons: Persons::default(),
            nulls: 0,
            clipped: 0,
            plain: Plain::Nothing,
        }
    }
}

fn terms_of<G: GuaranteeKind>(plan: &PerturbPlan) -> Result<crate::durable::Terms, PerturbError> {
    if G::WINDOWED {
        return Err(PerturbError::Windowed);
    }
    plan.terms()
}
