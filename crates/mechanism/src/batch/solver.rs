//! A batch solver in progress: sealed records go in, a point comes out at the end of every octave.

use super::plan::{BatchError, SolverPlan, about};
use super::steps::{self, Direction};
use super::walk::Walk;
use crate::boundary::{Pending, Raw, Transcript};
use crate::durable::{DiaryError, append, decode, decode_first, encode};
use crate::lattice::Contribution;
use crate::losses::{Loss, Record};
use crate::mechanism::{Generators, Machine, Terms};
use crate::persons::Admission;
use crate::private::Private;
use crate::sums::Draws;
use hushstream_account::Guarantee;
use hushstream_sets::ConvexSet;
use std::sync::Arc;

/// A solver in progress.
pub type Solver = Private<Descent>;

/// A plan with its loss and its set.
#[derive(Clone)]
pub struct SolverTask {
    plan: SolverPlan,
    set: Arc<dyn ConvexSet>,
    direction: Direction,
}

impl SolverTask {
    /// Combines plan, loss and set.
    ///
    /// # Errors
    /// A loss or a set that the plan was not made for.
    pub fn new(
        plan: SolverPlan,
        loss: Arc<dyn Loss>,
        set: Arc<dyn ConvexSet>,
    ) -> Result<Self, BatchError> {
        let solver = steps::Solver::of(loss.as_ref(), &set)?;
        let is_other = plan.about != about(loss.as_ref(), set.as_ref())
            || plan.dimension as usize != set.dimension();
        if is_other || plan.solver != solver {
            return Err(BatchError::Mismatch);
        }
        let direction = solver.steps().direction(loss, &set)?;
        Ok(Self {
            plan,
            set,
            direction,
        })
    }
}

/// The mechanism of a [`Solver`].
pub struct Descent {
    task: SolverTask,
    draws: Draws,
    walk: Walk,
    /// The next item: a gradient, or null.
    gradient: Option<Vec<f64>>,
    admission: Admission,
    nulls: u64,
}

impl Machine for Descent {
    const KIND: &'static str = "batch solver v4";

    type Plan = SolverTask;
    type Given = (Arc<dyn Loss>, Arc<dyn ConvexSet>);
    type Release = Vec<f64>;
    type Promise = Transcript;
    type Error = BatchError;

    fn store(task: &SolverTask) -> Result<Vec<u8>, DiaryError> {
        encode(&task.plan)
    }

    fn load(stored: &[u8], (loss, set): Self::Given) -> Result<SolverTask, BatchError> {
        let plan: SolverPlan = decode(stored)?;
        plan.check()?;
        SolverTask::new(plan, loss, set)
    }

    fn terms(task: &SolverTask) -> Result<Terms, BatchError> {
        task.plan.terms()
    }

    fn begin(task: SolverTask, generators: Generators<'_>) -> Result<Self, BatchError> {
        Ok(Self {
            walk: Walk::begin(task.set.as_ref())?,
            draws: Draws::new(task.plan.noise(), task.plan.dimension, generators.source(0))?,
            admission: Admission::new(task.plan.participation),
            task,
            gradient: None,
            nulls: 0,
        })
    }

    fn plan(&self) -> &SolverTask {
        &self.task
    }

    /// A null takes as many bytes as a gradient.
    fn item(&self, out: Vec<u8>) -> Result<Vec<u8>, DiaryError> {
        let zeros = || vec![0.0; self.task.set.dimension()];
        let gradient = self.gradient.clone().unwrap_or_else(zeros);
        let mut out = append(&(self.gradient.is_some(), gradient), out)?;
        self.admission.write(&mut out);
        Ok(out)
    }

    fn read_item(&mut self, t: u64, bytes: &[u8]) -> Result<(), BatchError> {
        let ((sound, gradient), names): ((bool, Vec<f64>), _) = decode_first(bytes)?;
        if !self.admission.read(t, names, 1) {
            return Err(BatchError::Mismatch);
        }
        self.gradient = None;
        if sound {
            let gradient = self.sound(Contribution::Dense(gradient));
            self.gradient = Some(gradient.ok_or(BatchError::Mismatch)?);
        }
        Ok(())
    }

    fn step(&mut self, _t: u64) -> Result<Option<Vec<f64>>, BatchError> {
        let gradient = self.gradient.take();
        self.admission.end_item();
        self.nulls += u64::from(gradient.is_none());
        let (plan, set) = (&self.task.plan, self.task.set.as_ref());
        let complete = self
            .walk
            .step(gradient.as_deref(), plan, set, &mut self.draws)?;
        Ok(complete.then(|| self.walk.current.clone()))
    }

    fn state(&self) -> Result<Vec<u8>, DiaryError> {
        let state = encode(&(&self.walk, self.nulls.to_le_bytes()))?;
        self.admission.after(state)
    }

    fn restore(&mut self, t: u64, state: &[u8]) -> Result<(), BatchError> {
        let ((walk, nulls), persons): ((Walk, [u8; 8]), _) = decode_first(state)?;
        if !walk.fits(self.task.set.dimension()) || walk.records != t {
            return Err(BatchError::Mismatch);
        }
        (self.walk, self.nulls) = (walk, u64::from_le_bytes(nulls));
        Ok(self.admission.restore(persons)?)
    }

    fn counts(&self) -> (u64, u64) {
        (self.nulls, 0)
    }

    fn guarantee(&self, steps: u64, simulated: bool) -> Result<Guarantee, BatchError> {
        self.task.plan.promise(steps.max(1), simulated)
    }
}

impl Descent {
    /// A finite gradient of the promised length; anything else is null, which leaves the iterate
    /// unchanged.
    fn sound(&self, gradient: Contribution) -> Option<Vec<f64>> {
        let dimension = self.task.set.dimension();
        let dense = match gradient {
            Contribution::Dense(values) => values,
            Contribution::Sparse(entries) => {
                let mut dense = vec![0.0; dimension];
                for (index, value) in entries {
                    *dense.get_mut(index as usize)? = value;
                }
                dense
            }
            Contribution::Null => return None,
        };
        let squares: f64 = dense.iter().map(|value| value * value).sum();
        let within = squares.sqrt() <= self.task.plan.lipschitz * (1.0 + 1e-9);
        (dense.len() == dimension && within).then_some(dense)
    }
}

impl Solver {
    /// The point that the next record will be charged to. **Not a release** until a sync has
    /// covered it.
    #[must_use]
    pub fn question(&self) -> &[f64] {
        &self.mechanism.walk.current
    }

    /// Takes in one record. At the end of an octave there is a new point. `person` must be given if
    /// and only if the plan limits persons; a record beyond a person's limit is null.
    ///
    /// # Errors
    /// A person where none is expected, or none where one is; storage.
    pub fn add(
        &mut self,
        person: Option<u64>,
        record: Raw<Record>,
    ) -> Result<Option<Pending<Vec<f64>, Transcript>>, BatchError> {
        let person = self.mechanism.task.plan.participation.name_of(person)?;
        self.begin_record()?;
        let item = self.diary.items() + 1;
        let descent = &mut self.mechanism;
        let is_admitted = descent.admission.admit(person, item);
        let (task, walk) = (&descent.task, &descent.walk);
        let size = walk.next_step(&task.plan);
        let gradient = (task.direction)(size, &walk.at, record.open());
        descent.gradient = descent.sound(gradient).filter(|_| is_admitted);
        self.end_record()
    }

    /// The number of the last release: they come after 1, 3, 7, … records of an instance. 0 before
    /// the first.
    #[must_use]
    pub fn last_release(&self) -> u64 {
        let items = self.diary.items();
        self.steps() - items + (1 << (items + 1).ilog2()) - 1
    }
}
