//! Perturbed iterates in progress: sealed records go in, noisy iterates come out, paid for and
//! durable.
//!
//! The learner's state is secret. It is journalled after every step, together with the integers and
//! the unit of its release. A replay recomputes only the noise, which is addressed by the step, so
//! a repeated release has the same bits even if learner and program have changed in between. (The
//! same noise in another unit would reveal it.) A new instance begins from the learner's public
//! start.

use super::plan::{PerturbPlan, Stored};
use super::schedule::noise_scale;
use super::{Fate, PerturbError, Timing};
use crate::boundary::{GuaranteeKind, Pending, Raw};
use crate::durable::{DiaryError, append, decode, encode, packed};
use crate::losses::Record;
use crate::mechanism::{Generators, Machine, Terms};
use crate::persons::{Participation, Persons};
use crate::private::Private;
use crate::sums::Noise;
use hushstream_account::Guarantee;
use hushstream_noise::{L2Laplace, RoundedGaussian, Source};
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

/// The largest integer of an iterate before noise: clamping does not expand.
const LARGEST: f64 = (1_u64 << 61) as f64;

/// The secret state after some number of steps.
#[derive(Serialize, Deserialize)]
struct State {
    learner: Vec<f64>,
    persons: Persons,
    #[serde(with = "postcard::fixint::le")]
    nulls: u64,
    #[serde(with = "postcard::fixint::le")]
    clipped: u64,
    plain: Plain,
}

/// A release before its noise.
#[derive(Serialize, Deserialize)]
enum Plain {
    /// Nothing is released.
    Nothing,
    /// An iterate that depends on no data.
    Public(Vec<f64>),
    /// Integers that noise is added to, and the value of one unit.
    Lattice {
        #[serde(with = "packed")]
        cells: Vec<i64>,
        unit: f64,
    },
}

/// The journal's record of one step.
#[derive(Serialize, Deserialize)]
struct Item {
    learner: Vec<f64>,
    /// Empty or one person.
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
pub type PerturbedIterates<G> = Private<Perturbed<G>>;

/// The mechanism of [`PerturbedIterates`].
pub struct Perturbed<G> {
    plan: PerturbPlan,
    source: Source,
    law: Law,
    /// After the last step.
    state: State,
    /// The next step, to be journalled.
    next: Option<Item>,
    kind: PhantomData<fn() -> G>,
}

impl<G: GuaranteeKind> Machine for Perturbed<G> {
    const KIND: &'static str = "perturbed iterates";

    type Plan = PerturbPlan;
    /// A learner is code: the caller must provide the plan, and it must be the stored one.
    type Given = PerturbPlan;
    type Release = Vec<f64>;
    type Promise = G;
    type Error = PerturbError;

    fn store(plan: &PerturbPlan) -> Result<Vec<u8>, DiaryError> {
        encode(&plan.stored())
    }

    fn load(stored: &[u8], given: PerturbPlan) -> Result<PerturbPlan, PerturbError> {
        if decode::<Stored>(stored)? != given.stored() {
            return Err(DiaryError::NotAccepted.into());
        }
        Ok(given)
    }

    fn terms(plan: &PerturbPlan) -> Result<Terms, PerturbError> {
        if G::WINDOWED {
            return Err(PerturbError::Windowed);
        }
        let request = plan.request();
        let needs_all = if request.participation != Participation::OncePerRecord {
            Some(Persons::NEEDED)
        } else if matches!(request.timing, Timing::Last(_)) {
            Some("and the one release at the end needs them all")
        } else {
            None
        };
        Ok(Terms {
            price: plan.charge()?,
            scope: plan.scope(),
            planned: plan.most_steps(),
            needs_all,
        })
    }

    fn begin(plan: PerturbPlan, generators: Generators<'_>) -> Result<Self, PerturbError> {
        let request = plan.request();
        let dimension = u32::try_from(request.learner.dimension()).unwrap_or(u32::MAX);
        let law = match request.noise {
            Noise::Gaussian => Law::Gaussian(RoundedGaussian::STANDARD),
            _ => Law::L2Laplace(L2Laplace::new(dimension, noise_scale(request.noise))?),
        };
        let state = State {
            learner: request.learner.start(),
            persons: Persons::default(),
            nulls: 0,
            clipped: 0,
            plain: Plain::Nothing,
        };
        Ok(Self {
            source: generators.source(0),
            law,
            state,
            next: None,
            plan,
            kind: PhantomData,
        })
    }

    fn plan(&self) -> &PerturbPlan {
        &self.plan
    }

    fn item(&self, out: Vec<u8>) -> Result<Vec<u8>, DiaryError> {
        append(&self.next, out)
    }

    fn read_item(&mut self, t: u64, bytes: &[u8]) -> Result<(), PerturbError> {
        let item: Item = decode::<Option<Item>>(bytes)?.ok_or(PerturbError::State)?;
        self.check_state(&item.learner, &item.plain)?;
        let limits = self.plan.request().participation.limits();
        for &person in &item.person {
            self.state.persons.admit(limits, person, t);
        }
        self.next = Some(item);
        Ok(())
    }

    fn step(&mut self, t: u64) -> Result<Option<Vec<f64>>, PerturbError> {
        if let Some(item) = self.next.take() {
            self.state.learner = item.learner;
            self.state.nulls += item.nulls;
            self.state.clipped += item.clipped;
            self.state.plain = item.plain;
        }
        Ok(self.last(t))
    }

    /// Computed from the journalled step and its noise: always the same.
    fn last(&self, t: u64) -> Option<Vec<f64>> {
        match &self.state.plain {
            Plain::Nothing => None,
            Plain::Public(value) => Some(value.clone()),
            Plain::Lattice { cells, unit } => {
                let mut noise = vec![0; cells.len()];
                match self.law {
                    Law::Gaussian(law) => law.fill(&self.source, t, 0, &mut noise),
                    Law::L2Laplace(law) => law.fill(&self.source, t, 0, &mut noise),
                }
                // The integer is released; the float is computed from it.
                let noisy = cells.iter().zip(noise).map(|(cell, noise)| cell + noise);
                Some(noisy.map(|integer| integer as f64 * unit).collect())
            }
        }
    }

    fn state(&self) -> Result<Vec<u8>, DiaryError> {
        encode(&self.state)
    }

    fn restore(&mut self, _t: u64, state: &[u8]) -> Result<(), PerturbError> {
        let state: State = decode(state)?;
        self.check_state(&state.learner, &state.plain)?;
        self.state = state;
        Ok(())
    }

    fn counts(&self) -> (u64, u64) {
        (self.state.nulls, self.state.clipped)
    }

    fn guarantee(&self, _steps: u64, simulated: bool) -> Result<Guarantee, PerturbError> {
        Ok(self.plan.guarantee(simulated)?)
    }
}

impl<G: GuaranteeKind> Perturbed<G> {
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

    /// Release t before its noise, to be journalled before the noise is drawn.
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
        // NaN becomes 0.
        let cell = |value: f64| {
            let cells = (value.clamp(-reach, reach) / unit).round();
            cells.clamp(-LARGEST, LARGEST) as i64
        };
        Plain::Lattice {
            cells: value.into_iter().map(cell).collect(),
            unit,
        }
    }
}

impl<G: GuaranteeKind> PerturbedIterates<G> {
    /// Takes in one record: a step of the learner and, if the plan releases it, its noisy iterate.
    /// `person` must be given if and only if the plan limits persons; a record beyond a person's
    /// limit is null.
    ///
    /// # Errors
    /// [`DiaryError::Exhausted`] after the last planned step; a sensitivity that is not a bound,
    /// which changes nothing; a person where none is expected, or none where one is; storage.
    pub fn add(
        &mut self,
        person: Option<u64>,
        record: Raw<Record>,
    ) -> Result<Option<Pending<Vec<f64>, G>>, PerturbError> {
        let participation = self.plan().request().participation;
        let person = participation.name_of(person)?;
        self.begin_record()?;
        let t = self.diary.items() + 1;
        let Perturbed { plan, state, .. } = &mut self.mechanism;
        // Before anything changes: without a scale nothing could be released.
        let scale = if plan.schedule.is_released(t) {
            plan.schedule.scale(t, plan.sensitivity(t))?
        } else {
            None
        };
        let persons = &mut state.persons;
        let admitted = person.is_none_or(|person| persons.admit(participation.limits(), person, t));
        let record = Some(record.open()).filter(|_| admitted);
        let mut learner = state.learner.clone();
        let fate = plan
            .request()
            .learner
            .step(t, &mut learner, record.as_ref());
        self.mechanism.next = Some(Item {
            plain: self.mechanism.plain(t, &learner, scale),
            learner,
            person: person.into_iter().collect(),
            nulls: u64::from(fate == Fate::Null),
            clipped: u64::from(fate == Fate::Clipped),
        });
        self.end_record()
    }
}
