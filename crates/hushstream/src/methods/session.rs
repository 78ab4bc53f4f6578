//! One interface for every kind of run.

use crate::decisions::Evaluation;
use crate::error::Result;
use crate::outcome::Arm;
use hushstream_account::Guarantee;
use hushstream_mechanism::decisions::{Drawn, Policy, Rule};
use hushstream_mechanism::losses::{Record, Records};
use hushstream_mechanism::sums::{Delivery, Question};
use hushstream_mechanism::{AskerOnly, Ledger, OperatorOnly, Raw, Released, Scoreboard};
pub(crate) use hushstream_recipes::Baseline;
use hushstream_recipes::{Player, Run};
use serde::Serialize;

/// One release of a run, with its number.
pub(crate) struct Release {
    pub(crate) step: u64,
    pub(crate) content: Content,
}

/// A release in the form of the file of releases.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Content {
    /// A model.
    Weights { weights: Vec<f64> },
    /// A played arm, its probability, and the noisy answer: a mean over the batch, in the units of
    /// the data.
    Play {
        arm: String,
        propensity: f64,
        answer: f64,
    },
    /// A policy of contexts, and what was evaluated.
    Policy {
        weights: Vec<f64>,
        rule: Rule,
        #[serde(skip_serializing_if = "Option::is_none")]
        evaluation: Option<Vec<Evaluation>>,
    },
    /// The same for a mixture of arms.
    Mixture {
        weights: Vec<f64>,
        propensity: f64,
        answer: f64,
    },
}

/// A run of any recipe, behind one interface.
pub(crate) trait Session: Send {
    /// Numbers in a release.
    fn size(&self) -> usize;
    /// Scores a record for the board, if there is one, then learns from it.
    fn take(
        &mut self,
        person: Option<u64>,
        record: Raw<Record>,
        board: Option<&mut Scoreboard>,
    ) -> Result<()>;
    /// The same for some of these records, from `first` on, one after the other: returns how many,
    /// one at least, and none beyond the end of a batch.
    fn take_some(
        &mut self,
        records: &Raw<Records>,
        first: usize,
        board: Option<&mut Scoreboard>,
    ) -> Result<usize>;
    /// Memory of the last record, emptied, for the next one; none if it is not kept.
    fn spare(&mut self) -> Vec<f64>;
    /// Scores a record that is not learned from.
    fn score(&mut self, record: &Raw<Record>, board: &mut Scoreboard);
    /// Syncs, and returns the releases since the last sync.
    fn sync(&mut self, ledger: &mut Ledger) -> Result<Vec<Release>>;
    /// Syncs, and returns the last model with its number.
    fn settled(&mut self, ledger: &mut Ledger) -> Result<(u64, Vec<f64>)>;
    /// The deviation that noise gives every coordinate of that model; empty where it is not known.
    fn deviations(&self) -> Vec<f64>;
    /// Whether the journal drops releases at the next record.
    fn checkpoint_is_due(&self) -> bool;
    fn rounds(&self) -> u64;
    fn guarantee(&self) -> Result<Guarantee>;
    fn counts(&self) -> (OperatorOnly<u64>, OperatorOnly<u64>);
    /// Estimates for each arm from releases alone, if there are arms; publishable after a sync.
    fn arms(&self) -> Vec<Arm>;
    /// Syncs, and returns the question for workers on other machines, with a public note.
    fn question(&mut self, ledger: &mut Ledger, note: Vec<u8>) -> Result<Question>;
    /// Takes a batch of a source; returns whether it was not taken before.
    fn commit(&mut self, delivery: &Delivery, note: Vec<u8>, parts: &[&[u8]]) -> Result<bool>;
    /// Whether another record or batch is asked: nothing is released after the last.
    fn asks(&self) -> bool;
    /// The source and number of the last batch.
    fn delivered(&self) -> Option<(String, u64)>;
    /// Syncs, and returns the play that the next record answers, if there are plays.
    fn play(&mut self, ledger: &mut Ledger) -> Result<Option<Play>>;
    /// Decides for a context in a slot, with a policy that a sync covers, if there is one.
    fn decide(
        &mut self,
        ledger: &mut Ledger,
        context: &Raw<Record>,
        slot: u64,
    ) -> Result<Option<AskerOnly<Drawn>>>;
    /// Syncs, and returns the policy and what was evaluated, if there is one.
    fn policy(&mut self, ledger: &mut Ledger) -> Result<Option<Published>>;
}

/// The play of a bandit that the next record answers.
///
/// ```
/// use hushstream::prelude::*;
///
/// let mut run = Learner::bandit(3)
///     .records(100)
///     .budget(Budget::pure(4.0)?)
///     .adjacency(ReplaceOne)
///     .simulated(7)
///     .start()?;
/// for _ in 0..100 {
///     let play = run.play()?.into_value(); // show this arm to the next person
///     let arm = play.arms.iter().position(|arm| arm.1 > 0.5).unwrap_or(0);
///     let mut row = [0.0; 3]; // only the played arm's loss is looked at
///     row[arm] = if arm == 1 { 0.1 } else { 0.9 };
///     run.learn(&row)?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Play {
    /// Every arm and its share in the play: 1 for a single arm.
    pub arms: Vec<(String, f64)>,
    /// The probability, or the density, with which it was drawn.
    pub propensity: f64,
}

/// Reads the next play off a run.
type NextPlay<P> = Box<dyn Fn(&mut Run<P>, &mut Ledger) -> Result<Option<Play>> + Send>;

/// A policy, and what was evaluated.
pub(crate) type Published = (Policy, Option<Vec<Evaluation>>);

/// Reads the policy off a run.
type NextPolicy<P> = Box<dyn Fn(&mut Run<P>, &mut Ledger) -> Result<Option<Published>> + Send>;

/// Decides for a context.
type Decide<P> = Box<
    dyn Fn(&mut Run<P>, &mut Ledger, &Raw<Record>, u64) -> Result<Option<AskerOnly<Drawn>>> + Send,
>;

/// What the releases of a run tell about each arm.
type Arms<P> = Box<dyn Fn(&Run<P>) -> Vec<Arm> + Send>;

/// A run behind the common interface.
pub(crate) struct Running<P: Player> {
    pub(crate) run: Run<P>,
    /// Formats an output for the file of releases.
    pub(crate) show: Box<dyn Fn(P::Output) -> Content + Send>,
    /// Estimates for each arm from releases alone.
    pub(crate) arms: Arms<P>,
    /// The play that the next record answers.
    pub(crate) play: NextPlay<P>,
    /// Decides for a context.
    pub(crate) decide: Decide<P>,
    /// The policy of contexts.
    pub(crate) policy: NextPolicy<P>,
}

impl<P: Player> Running<P> {
    pub(crate) fn new(run: Run<P>, show: impl Fn(P::Output) -> Content + Send + 'static) -> Self {
        Self {
            run,
            show: Box::new(show),
            arms: Box::new(|_| Vec::new()),
            play: Box::new(|_, _| Ok(None)),
            decide: Box::new(|_, _, _, _| Ok(None)),
            policy: Box::new(|_, _| Ok(None)),
        }
    }
}

impl<P: Player<Output = Vec<f64>>> Running<P> {
    /// A run that publishes models.
    pub(crate) fn of_models(run: Run<P>) -> Self {
        Self::new(run, |weights| Content::Weights { weights })
    }
}

impl<P: Player> Session for Running<P> {
    fn size(&self) -> usize {
        self.run.question().for_the_operator().len()
    }

    fn take(
        &mut self,
        person: Option<u64>,
        record: Raw<Record>,
        board: Option<&mut Scoreboard>,
    ) -> Result<()> {
        Ok(self.run.take(person, record, board)?)
    }

    fn take_some(
        &mut self,
        records: &Raw<Records>,
        first: usize,
        board: Option<&mut Scoreboard>,
    ) -> Result<usize> {
        Ok(self.run.take_some(records, first, board)?)
    }

    fn spare(&mut self) -> Vec<f64> {
        self.run.spare()
    }

    fn score(&mut self, record: &Raw<Record>, board: &mut Scoreboard) {
        self.run.score(record, board);
    }

    fn sync(&mut self, ledger: &mut Ledger) -> Result<Vec<Release>> {
        let released = self.run.sync(ledger)?.into_iter();
        let release = |released: Released<P::Output, _>| Release {
            step: released.receipt().step,
            content: (self.show)(released.into_value()),
        };
        Ok(released.map(release).collect())
    }

    fn settled(&mut self, ledger: &mut Ledger) -> Result<(u64, Vec<f64>)> {
        let model = self.run.model(ledger)?;
        Ok((self.run.last_release(), model.into_value()))
    }

    fn deviations(&self) -> Vec<f64> {
        self.run.deviations()
    }

    fn checkpoint_is_due(&self) -> bool {
        self.run.checkpoint_is_due()
    }

    fn rounds(&self) -> u64 {
        self.run.rounds()
    }

    fn guarantee(&self) -> Result<Guarantee> {
        Ok(self.run.guarantee()?)
    }

    fn counts(&self) -> (OperatorOnly<u64>, OperatorOnly<u64>) {
        self.run.counts()
    }

    fn arms(&self) -> Vec<Arm> {
        (self.arms)(&self.run)
    }

    fn question(&mut self, ledger: &mut Ledger, note: Vec<u8>) -> Result<Question> {
        Ok(self.run.question_elsewhere(ledger, note)?.into_value())
    }

    fn commit(&mut self, delivery: &Delivery, note: Vec<u8>, parts: &[&[u8]]) -> Result<bool> {
        Ok(self.run.commit(delivery, note, parts)?)
    }

    fn asks(&self) -> bool {
        self.run.asks()
    }

    fn delivered(&self) -> Option<(String, u64)> {
        self.run.delivered()
    }

    fn play(&mut self, ledger: &mut Ledger) -> Result<Option<Play>> {
        (self.play)(&mut self.run, ledger)
    }

    fn decide(
        &mut self,
        ledger: &mut Ledger,
        context: &Raw<Record>,
        slot: u64,
    ) -> Result<Option<AskerOnly<Drawn>>> {
        (self.decide)(&mut self.run, ledger, context, slot)
    }

    fn policy(&mut self, ledger: &mut Ledger) -> Result<Option<Published>> {
        (self.policy)(&mut self.run, ledger)
    }
}
