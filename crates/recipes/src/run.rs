//! A recipe in progress: the round loop, syncing and resuming, for every kind of recipe.
//!
//! Each round puts the player's question to one record. When a batch is complete the mechanism
//! answers, the player moves, and what it publishes waits for a sync. A player may run ahead of the
//! disk, because its next iterate is only the next question; nothing leaves the run before the sync
//! that covers the release it was computed from. Resuming equals never having stopped, bit for bit:
//! the mechanism replays its journal, and the player, whose state is a note in the journal's
//! checkpoint, replays the releases.

use crate::catalogue::RecipeName;
use crate::error::RunError;
use crate::note::{Note, NoteError};
use hushstream_account::Guarantee;
use hushstream_mechanism::losses::{Record, Records};
use hushstream_mechanism::sums::{Delivery, PartialSum, Question, SumError};
use hushstream_mechanism::{
    CameBack, GivenOf, Grant, Ledger, Mechanism, OperatorOnly, Pending, PendingOf, PlanOf, Private,
    PromiseOf, Raw, ReleaseOf, Released, Scoreboard, Storage,
};
use hushstream_noise::Key;
use std::ops::Range;

/// To how many records a question was put, and the release of the item that they completed.
pub type Asked<M> = (usize, Option<PendingOf<M>>);

/// The public half of a recipe: it asks records, and moves on what the mechanism releases. Given
/// its coins it is deterministic, so replayed releases bring it back to where it was.
///
/// ```
/// use hushstream_account::{Adjacency, Budget};
/// use hushstream_mechanism::Participation;
/// use hushstream_recipes::{Advice, ExpertsPlayer, ExpertsRequest, Player, RecipeName};
///
/// fn sizes<P: Player>(recipe: &P::Recipe) -> String {
///     let (rounds, batch) = (P::rounds(recipe), P::batch(recipe));
///     format!("{}: {rounds} records, {batch} in an item", P::name(recipe))
/// }
///
/// let recipe = ExpertsRequest {
///     recipe: RecipeName::Dartboard,
///     advice: Advice::Experts(5),
///     rounds: Some(1000),
///     restart: None,
///     batch: None,
///     board: None,
///     budget: Budget::approx(1.0, 1e-6)?,
///     adjacency: Adjacency::ReplaceOne,
///     participation: Participation::OncePerRecord,
/// }
/// .plan()?;
/// assert!(sizes::<ExpertsPlayer>(&recipe).starts_with("dartboard: 1000 records"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Player: Send + Sized {
    /// The recipe, with everything fixed but the data.
    type Recipe: Send;
    /// The question.
    type Mechanism: Mechanism<Error: Into<RunError>> + Send;
    /// What leaves after a release.
    type Output: Send;

    /// The recipe's name.
    fn name(recipe: &Self::Recipe) -> RecipeName;

    /// Everything that makes two runs the same, in one line: stored with a run and compared when it
    /// is resumed.
    fn description(recipe: &Self::Recipe) -> String;

    /// The mechanism's plan.
    ///
    /// # Errors
    /// A loss or a set that the plan was not made for.
    fn plan(recipe: &Self::Recipe) -> Result<PlanOf<Self::Mechanism>, RunError>;

    /// What a resume needs and a journal cannot hold.
    ///
    /// # Errors
    /// As [`Player::plan`].
    fn given(recipe: &Self::Recipe) -> Result<GivenOf<Self::Mechanism>, RunError>;

    /// Whether checkpoints carry a note of the player. Without one the mechanism makes its
    /// checkpoints itself, and its plan alone tells a run from another.
    const NOTED: bool = true;

    /// The most records that a run takes in.
    fn rounds(recipe: &Self::Recipe) -> u64;

    /// The number of records that the guarantee speaks of, where it is stated.
    fn stated(recipe: &Self::Recipe) -> Option<u64> {
        let _ = recipe;
        None
    }

    /// Records that share one item.
    fn batch(recipe: &Self::Recipe) -> u64 {
        let _ = recipe;
        1
    }

    /// Items after which nothing is asked: nothing is released after the last round.
    fn most_items(recipe: &Self::Recipe) -> u64 {
        let _ = recipe;
        u64::MAX
    }

    /// A player before the releases that follow.
    ///
    /// # Errors
    /// A note that does not fit; those of the learner.
    fn begin(
        recipe: &Self::Recipe,
        mechanism: &mut Private<Self::Mechanism>,
        key: &Key,
        from: Beginning<'_>,
    ) -> Result<Self, RunError>;

    /// Its state, for a note: rounds, numbers, and the name of its coins.
    fn state(&self) -> (u64, Vec<f64>, [u8; 16]) {
        (0, Vec::new(), [0; 16])
    }

    /// The weights that records are scored with.
    fn weights(&self) -> &[f64];

    /// Memory of the last record, emptied, for the next one; none if it is not kept.
    fn spare(mechanism: &mut Private<Self::Mechanism>) -> Vec<f64> {
        let _ = mechanism;
        Vec::new()
    }

    /// Scores a record that is not asked.
    fn score(
        &self,
        mechanism: &mut Private<Self::Mechanism>,
        record: &Raw<Record>,
        board: &mut Scoreboard,
    ) {
        let _ = mechanism;
        board.score(record, self.weights());
    }

    /// Puts the present question to a record. The board, if there is one, scores the record first.
    ///
    /// # Errors
    /// Those of the mechanism.
    fn ask(
        &mut self,
        recipe: &Self::Recipe,
        mechanism: &mut Private<Self::Mechanism>,
        person: Option<u64>,
        record: Raw<Record>,
        board: Option<&mut Scoreboard>,
    ) -> Result<Option<PendingOf<Self::Mechanism>>, RunError>;

    /// Puts the present question to some of these records, from the first on, and returns to how
    /// many: to one, or to all up to the end of an item. The board, if there is one, scores them
    /// first.
    ///
    /// # Errors
    /// As [`Player::ask`].
    fn ask_some(
        &mut self,
        recipe: &Self::Recipe,
        mechanism: &mut Private<Self::Mechanism>,
        (records, range): (&Raw<Records>, Range<usize>),
        board: Option<&mut Scoreboard>,
    ) -> Result<Asked<Self::Mechanism>, RunError> {
        let record = records.record(range.start, Self::spare(mechanism));
        Ok((1, self.ask(recipe, mechanism, None, record, board)?))
    }

    /// By how many records the items up to the next release fall short of full ones. Only sums have
    /// such items, and only if they close by a clock.
    fn falls_short(&mut self, records: u64) {
        let _ = records;
    }

    /// The present question, for workers on other machines. Recipes on sums have one.
    ///
    /// # Errors
    /// [`RunError::OneProcess`] for all others; those of the mechanism.
    fn question(
        &self,
        recipe: &Self::Recipe,
        mechanism: &Private<Self::Mechanism>,
        note: Vec<u8>,
    ) -> Result<Question, RunError> {
        let _ = (mechanism, note);
        Err(RunError::OneProcess(Self::name(recipe)))
    }

    /// The source and the number of the last batch, if there was one.
    fn delivered(mechanism: &Private<Self::Mechanism>) -> Option<(String, u64)> {
        let _ = mechanism;
        None
    }

    /// Whether a batch of a source would be taken.
    ///
    /// # Errors
    /// As [`Player::question`]; a batch that would be refused.
    fn would_take(
        recipe: &Self::Recipe,
        mechanism: &Private<Self::Mechanism>,
        delivery: &Delivery,
    ) -> Result<bool, RunError> {
        let _ = (mechanism, delivery);
        Err(RunError::OneProcess(Self::name(recipe)))
    }

    /// Takes what a batch answered to the present question; nothing if it was taken before.
    ///
    /// # Errors
    /// As [`Player::question`].
    fn commit(
        recipe: &Self::Recipe,
        mechanism: &mut Private<Self::Mechanism>,
        question: &Question,
        delivery: &Delivery,
        partial: PartialSum,
    ) -> Result<Option<PendingOf<Self::Mechanism>>, RunError> {
        let _ = (mechanism, question, delivery, partial);
        Err(RunError::OneProcess(Self::name(recipe)))
    }

    /// Moves on a release.
    ///
    /// # Errors
    /// Those of the learner: the player cannot go on then.
    fn observe(
        &mut self,
        recipe: &Self::Recipe,
        release: ReleaseOf<Self::Mechanism>,
    ) -> Result<(), RunError>;

    /// What leaves after the last release.
    fn output(&self) -> Self::Output;

    /// The model after all releases so far.
    fn model(&self) -> Vec<f64> {
        self.weights().to_vec()
    }

    /// The standard deviation that noise gives every coordinate of the model, where it is known: a
    /// function of releases, as the model.
    fn deviations(&self, recipe: &Self::Recipe) -> Vec<f64> {
        let _ = recipe;
        Vec::new()
    }

    /// The number of the last release.
    fn last_release(mechanism: &Private<Self::Mechanism>) -> u64 {
        mechanism.steps()
    }

    /// Makes everything durable and releases the model.
    ///
    /// # Errors
    /// Those of the mechanism.
    fn settle(
        &mut self,
        mechanism: &mut Private<Self::Mechanism>,
        ledger: &mut Ledger,
    ) -> Result<Released<Vec<f64>, PromiseOf<Self::Mechanism>>, RunError> {
        mechanism.sync(ledger).map_err(Into::into)?;
        let model = mechanism.here().map(|()| self.model());
        mechanism.publish(model).map_err(|_| RunError::Behind)
    }
}

/// Where a player begins.
#[derive(Clone, Copy)]
pub struct Beginning<'a> {
    /// The state of the last checkpoint, if there was one.
    pub note: Option<&'a Note>,
    /// Items before the releases that follow.
    pub step: u64,
    /// Whether the mechanism begins a new instance.
    pub is_new: bool,
}

type Promise<P> = PromiseOf<<P as Player>::Mechanism>;
/// The output of a run.
pub type Out<P> = Released<<P as Player>::Output, PromiseOf<<P as Player>::Mechanism>>;

/// A recipe in progress.
pub struct Run<P: Player> {
    pub(crate) recipe: P::Recipe,
    pub(crate) mechanism: Private<P::Mechanism>,
    pub(crate) player: P,
    /// Outputs that no sync has covered yet.
    waiting: Vec<Pending<P::Output, Promise<P>>>,
    /// If only the last output is kept: its place among the releases.
    last: Option<Pending<(), Promise<P>>>,
    keeps_last: bool,
    /// Items after which nothing is asked.
    most_items: u64,
    rounds: u64,
    /// Whether the player has failed on a release: it must not go on without it.
    pub(crate) is_behind: bool,
}

impl<P: Player> Run<P> {
    /// Opens a run that has been paid for; `storage` must be new and will hold private data.
    ///
    /// # Errors
    /// Those of the mechanism; a recipe of the other guarantee.
    pub fn open(
        recipe: P::Recipe,
        grant: Grant,
        key: &Key,
        ledger: &mut Ledger,
        storage: impl Storage + 'static,
    ) -> Result<Self, RunError> {
        let plan = P::plan(&recipe)?;
        let mut mechanism = Private::open(plan, grant, key, ledger, storage).map_err(Into::into)?;
        let from = Beginning {
            note: None,
            step: 0,
            is_new: false,
        };
        let player = P::begin(&recipe, &mut mechanism, key, from)?;
        let mut run = Self::assemble(recipe, mechanism, player);
        run.mechanism.sync(ledger).map_err(Into::into)?;
        run.checkpoint()?;
        Ok(run)
    }

    fn assemble(recipe: P::Recipe, mut mechanism: Private<P::Mechanism>, player: P) -> Self {
        if P::NOTED {
            mechanism.keep_note();
        }
        Self {
            most_items: P::most_items(&recipe),
            rounds: mechanism.steps().saturating_mul(P::batch(&recipe)) - mechanism.shortfall(),
            recipe,
            mechanism,
            player,
            waiting: Vec::new(),
            last: None,
            keeps_last: false,
            is_behind: false,
        }
    }

    /// Continues a run from its journal.
    ///
    /// # Errors
    /// Those of the mechanism; a journal of another recipe.
    pub fn resume(
        recipe: P::Recipe,
        storage: impl Storage + 'static,
        key: &Key,
        ledger: &mut Ledger,
        last_published: Option<u64>,
    ) -> Result<(Self, CameBack), RunError> {
        let (given, description) = (P::given(&recipe)?, P::description(&recipe));
        let mut kept = Ok(None);
        let back = Private::resume_with(given, storage, key, ledger, last_published, |note| {
            kept = Note::of(note, &description);
            kept.is_ok()
        });
        // Why the note was not accepted says more than that it was not.
        let note = kept?;
        let back = back.map_err(Into::into)?;
        let mut mechanism = back.run;
        // Without a note nothing was asked: a crash while the run was being opened.
        if P::NOTED && note.is_none() && mechanism.steps() > 0 {
            return Err(NoteError::Unreadable.into());
        }
        let from = Beginning {
            note: note.as_ref(),
            step: mechanism.steps() - back.recent.len() as u64,
            is_new: back.outcome != CameBack::Continued,
        };
        let is_new = from.is_new || note.is_none();
        let player = P::begin(&recipe, &mut mechanism, key, from)?;
        let mut run = Self::assemble(recipe, mechanism, player);
        for (release, shortfall) in back.recent.into_iter().zip(back.shortfalls) {
            run.observe(release, shortfall)?;
        }
        if is_new {
            run.checkpoint()?;
        }
        Ok((run, back.outcome))
    }

    /// From now on only the last output before a sync is given out, for callers that do not need
    /// every one.
    pub fn keep_only_the_last(&mut self) {
        self.keeps_last = true;
    }

    /// The weights that the next record will be asked about. They may be ahead of what is durable:
    /// for the operator's own measurements.
    pub fn question(&self) -> OperatorOnly<&[f64]> {
        OperatorOnly::new(self.player.weights())
    }

    /// Plays one round: asks the record, and moves when a batch is complete. `person` must be given
    /// if and only if the recipe limits persons.
    ///
    /// # Errors
    /// [`RunError::Finished`] after the last round; those of the mechanism.
    pub fn learn(&mut self, person: Option<u64>, record: Raw<Record>) -> Result<(), RunError> {
        self.take(person, record, None)
    }

    /// The same, for an operator who keeps the score: the board scores the record first, with the
    /// weights that it is asked about.
    ///
    /// # Errors
    /// As [`Run::learn`].
    pub fn take(
        &mut self,
        person: Option<u64>,
        record: Raw<Record>,
        board: Option<&mut Scoreboard>,
    ) -> Result<(), RunError> {
        if !self.asks() {
            if let Some(board) = board {
                self.player.score(&mut self.mechanism, &record, board);
            }
            return self.round(|_, _, _| Ok(None));
        }
        self.round(|player, recipe, mechanism| player.ask(recipe, mechanism, person, record, board))
    }

    /// Takes some of these records, from `first` on, as [`Run::take`] would one after the other,
    /// and returns how many: one at least, and none beyond the end of an item. There must be one.
    ///
    /// # Errors
    /// As [`Run::take`].
    pub fn take_some(
        &mut self,
        records: &Raw<Records>,
        first: usize,
        board: Option<&mut Scoreboard>,
    ) -> Result<usize, RunError> {
        if !self.asks() {
            let record = records.record(first, self.spare());
            self.take(None, record, board)?;
            return Ok(1);
        }
        let left = P::rounds(&self.recipe).saturating_sub(self.rounds);
        let last =
            usize::try_from(left).map_or(records.count(), |left| records.count().min(first + left));
        self.some_rounds(|player, recipe, mechanism| {
            player.ask_some(recipe, mechanism, (records, first..last), board)
        })
    }

    /// Memory of the last record, emptied, for the next one; none if it is not kept.
    pub fn spare(&mut self) -> Vec<f64> {
        P::spare(&mut self.mechanism)
    }

    /// Scores a record that is not learned from.
    pub fn score(&mut self, record: &Raw<Record>, board: &mut Scoreboard) {
        self.player.score(&mut self.mechanism, record, board);
    }

    /// Whether the next record is asked: nothing is released after the last round.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.mechanism.steps() < self.most_items
    }

    /// One round, whatever the player asks.
    pub(crate) fn round(
        &mut self,
        ask: impl FnOnce(
            &mut P,
            &P::Recipe,
            &mut Private<P::Mechanism>,
        ) -> Result<Option<PendingOf<P::Mechanism>>, RunError>,
    ) -> Result<(), RunError> {
        self.some_rounds(|player, recipe, mechanism| Ok((1, ask(player, recipe, mechanism)?)))?;
        Ok(())
    }

    /// Rounds of one item, whatever the player asks in them: returns how many.
    fn some_rounds(
        &mut self,
        ask: impl FnOnce(
            &mut P,
            &P::Recipe,
            &mut Private<P::Mechanism>,
        ) -> Result<Asked<P::Mechanism>, RunError>,
    ) -> Result<usize, RunError> {
        if self.is_behind {
            return Err(RunError::Behind);
        }
        let planned = P::rounds(&self.recipe);
        if self.rounds >= planned {
            return Err(RunError::Finished {
                planned,
                refused: self.rounds + 1,
            });
        }
        if P::NOTED && self.mechanism.checkpoint_is_due() {
            self.checkpoint()?;
        }
        let (rounds, release) = if self.asks() {
            ask(&mut self.player, &self.recipe, &mut self.mechanism)?
        } else {
            (1, None)
        };
        self.rounds += rounds as u64;
        release.map_or(Ok(()), |release| self.observe_now(release))?;
        Ok(rounds)
    }

    /// Moves on the release of the item that has just closed.
    pub(crate) fn observe_now(&mut self, release: PendingOf<P::Mechanism>) -> Result<(), RunError> {
        let shortfall = self.mechanism.shortfall();
        self.observe(release, shortfall)
    }

    fn observe(
        &mut self,
        release: PendingOf<P::Mechanism>,
        shortfall: u64,
    ) -> Result<(), RunError> {
        let (player, recipe) = (&mut self.player, &self.recipe);
        player.falls_short(shortfall);
        let mut outcome = Ok(());
        let place = release.map(|release| outcome = player.observe(recipe, release));
        if outcome.is_err() {
            // What the player holds now belongs to no release.
            (self.is_behind, self.last) = (true, None);
            return outcome;
        }
        if self.keeps_last {
            self.waiting.clear();
            self.last = Some(place);
        } else {
            self.waiting.push(place.map(|()| player.output()));
        }
        Ok(())
    }

    pub(crate) fn checkpoint(&mut self) -> Result<(), RunError> {
        // A state may have millions of numbers: it is not even formed where nothing is stored.
        if !P::NOTED || !self.mechanism.is_kept() {
            return Ok(());
        }
        let (rounds, state, coins) = self.player.state();
        let note = Note {
            recipe: P::description(&self.recipe),
            rounds,
            state,
            coins,
        };
        self.mechanism.checkpoint(note.write()?).map_err(Into::into)
    }

    /// Makes everything durable, and releases the present question for workers on other machines,
    /// with a public note of the caller's.
    ///
    /// # Errors
    /// A recipe whose records one process must learn; those of the mechanism.
    pub fn question_elsewhere(
        &mut self,
        ledger: &mut Ledger,
        note: Vec<u8>,
    ) -> Result<Released<Question, Promise<P>>, RunError> {
        if self.is_behind {
            return Err(RunError::Behind);
        }
        self.mechanism.sync(ledger).map_err(Into::into)?;
        let question = self.player.question(&self.recipe, &self.mechanism, note)?;
        let question = self.mechanism.here().map(|()| question);
        self.mechanism
            .publish(question)
            .map_err(|_| RunError::Behind)
    }

    /// The source and the number of the last batch that was taken.
    #[must_use]
    pub fn delivered(&self) -> Option<(String, u64)> {
        P::delivered(&self.mechanism)
    }

    /// Takes a batch of a source as the next item, exactly once: `parts` are the bytes of its
    /// partial sums, which answer the present question with this note. Returns whether it was
    /// taken; a batch that was taken before changes nothing, whatever its parts are. Then
    /// [`Run::sync`], and publish.
    ///
    /// # Errors
    /// A batch whose people would be counted twice or left out; partial sums of another question or
    /// of other positions; a recipe whose records one process must learn; those of the mechanism.
    pub fn commit(
        &mut self,
        delivery: &Delivery,
        note: Vec<u8>,
        parts: &[impl AsRef<[u8]>],
    ) -> Result<bool, RunError> {
        if self.is_behind {
            return Err(RunError::Behind);
        }
        if !P::would_take(&self.recipe, &self.mechanism, delivery)? {
            return Ok(false);
        }
        let question = self.player.question(&self.recipe, &self.mechanism, note)?;
        let all = PartialSum::of_parts(&question, parts).map_err(SumError::from)?;
        if P::NOTED && self.mechanism.checkpoint_is_due() {
            self.checkpoint()?;
        }
        let records = all.records();
        let (recipe, mechanism) = (&self.recipe, &mut self.mechanism);
        let Some(release) = P::commit(recipe, mechanism, &question, delivery, all)? else {
            return Ok(false);
        };
        self.rounds += records;
        self.observe_now(release)?;
        Ok(true)
    }

    /// Makes everything so far durable and gives the outputs that may now leave, in order.
    ///
    /// # Errors
    /// Those of the mechanism.
    pub fn sync(&mut self, ledger: &mut Ledger) -> Result<Vec<Out<P>>, RunError> {
        self.mechanism.sync(ledger).map_err(Into::into)?;
        let last = self
            .last
            .take()
            .map(|last| last.map(|()| self.player.output()));
        // A sync has covered every step of this object, so nothing is given back.
        let outputs = self.waiting.drain(..).chain(last);
        Ok(outputs
            .filter_map(|pending| self.mechanism.publish(pending).ok())
            .collect())
    }

    /// Makes everything durable and gives the model after all releases so far, of which it is a
    /// function. Outputs that were waiting are the caller's by [`Run::sync`], before.
    ///
    /// # Errors
    /// Those of the mechanism.
    pub fn model(
        &mut self,
        ledger: &mut Ledger,
    ) -> Result<Released<Vec<f64>, Promise<P>>, RunError> {
        if self.is_behind {
            return Err(RunError::Behind);
        }
        self.player.settle(&mut self.mechanism, ledger)
    }

    /// Makes everything durable and releases what `make` reads off the player.
    pub(crate) fn released<T>(
        &mut self,
        ledger: &mut Ledger,
        make: impl FnOnce(&P) -> T,
    ) -> Result<Released<T, Promise<P>>, RunError> {
        if self.is_behind {
            return Err(RunError::Behind);
        }
        self.mechanism.sync(ledger).map_err(Into::into)?;
        let value = self.mechanism.here().map(|()| make(&self.player));
        self.mechanism.publish(value).map_err(|_| RunError::Behind)
    }

    /// The standard deviation that noise gives every coordinate of the model, where it is known; as
    /// public as the model, after [`Run::model`].
    #[must_use]
    pub fn deviations(&self) -> Vec<f64> {
        self.player.deviations(&self.recipe)
    }

    /// Whether the next record writes the journal anew, without the releases so far: sync and store
    /// them first.
    #[must_use]
    pub fn checkpoint_is_due(&self) -> bool {
        self.mechanism.checkpoint_is_due()
    }

    /// The number of the last release; 0 before the first.
    #[must_use]
    pub fn last_release(&self) -> u64 {
        P::last_release(&self.mechanism)
    }

    /// Records so far.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// The recipe.
    #[must_use]
    pub fn recipe(&self) -> &P::Recipe {
        &self.recipe
    }

    /// Records that were malformed or over a person's limit, and records that were clipped.
    #[must_use]
    pub fn counts(&self) -> (OperatorOnly<u64>, OperatorOnly<u64>) {
        self.mechanism.counts()
    }

    /// The guarantee for all releases of this run.
    ///
    /// # Errors
    /// Numbers that no guarantee can have, which checks before a run exclude.
    pub fn guarantee(&self) -> Result<Guarantee, RunError> {
        let entry = P::name(&self.recipe).entry();
        let guarantee = self.mechanism.guarantee().map_err(Into::into)?;
        let guarantee = guarantee.of_algorithm(entry.name, entry.source, entry.errata);
        Ok(match P::stated(&self.recipe) {
            Some(rounds) => guarantee.over_records(rounds),
            None => guarantee,
        })
    }
}
