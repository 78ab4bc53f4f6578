//! A run, from its description to its outcome: on rows of the program, or on a whole file.

use crate::ahead::Next;
use crate::deciding::Asked;
use crate::elsewhere::{Committed, Delivery, Reading, SealingKey};
use crate::error::{Error, Result, refuse};
use crate::learner::{Data, Learner, Listener};
use crate::learning::{Frame, Learning};
use crate::methods::Method;
use crate::methods::session::{Content, Play};
use crate::model::Model;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::released::Released;
use crate::rows::Rows;
use crate::{budget, checked, data, files, methods, opening, state};
use hushstream_account::Guarantee;
use hushstream_mechanism::sums::Opener;
use hushstream_mechanism::{OperatorOnly, Summary};
use hushstream_pictures::numbers::grouped;
use hushstream_read::{Encoder, Fields as Row, Layout, ReadError, Reader, Sealed};
use hushstream_recipes::Situation;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// A run of any recipe, for rows of the program.
///
/// Rows are sealed inside. Outputs are [`Released`], and may be published, or [`OperatorOnly`], and
/// may not.
///
/// ```
/// use hushstream::prelude::*;
///
/// let mut run = Learner::classify()
///     .features(2)
///     .records(1000)
///     .budget(Budget::approx(1.0, 1e-6)?)
///     .adjacency(ReplaceOne)
///     .simulated(7) // real noise needs a ledger: .ledger("people.ledger")
///     .start()?;
/// for i in 0..1000 {
///     let x = f64::from(i % 10) / 10.0;
///     run.learn(&[x, 1.0 - x, f64::from(u8::from(x > 0.4))])?;
/// }
/// assert_eq!(run.records(), 1000);
/// for model in run.publish()? {
///     println!("release {}: {:?}", model.release(), model.value().weights);
/// }
/// println!("{}", run.guarantee());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Run {
    pub(crate) learning: Learning<'static>,
    /// None for layouts without names of columns, whose rows come from other machines.
    pub(crate) encoder: Option<Encoder>,
    /// How other machines read rows, as the note of a question.
    reading: Vec<u8>,
    opener: Arc<Opener>,
    plan: Plan,
    resumed: Option<String>,
    guarantee: Guarantee,
    start: Instant,
    learned_before: u64,
    published: u64,
    pub(crate) most: u64,
    pub(crate) asked: Asked,
    /// How often rows at rest are to be given, and how many each time.
    passes: (u64, u64),
}

/// The plan for rows of the program.
struct Chosen {
    layout: Layout,
    encoder: Option<Encoder>,
    situation: Situation,
    method: Box<dyn Method>,
}

impl Chosen {
    fn new(learner: &Learner) -> Result<Self> {
        data::check_persons(learner)?;
        let schema = &learner.data.schema;
        let (layout, encoder) = match &learner.data.layout {
            Some(layout) => {
                let missing = schema.missing_target.unwrap_or_default();
                let person = schema.person.as_deref();
                let encoder = Encoder::of_layout(layout, &schema.names, person, missing);
                (layout.clone(), encoder.ok())
            }
            None => {
                let encoder = match schema.dimension {
                    Some(_) => Encoder::indexed(schema)?,
                    None => Encoder::new(schema)?,
                };
                (encoder.layout().clone(), Some(encoder))
            }
        };
        let stored = opening::stored_rounds(learner)?;
        let rounds = data::rounds(learner, None, stored)?;
        let situation = data::situation(learner, schema, &layout, rounds)?;
        let method = methods::choose(learner, &layout, &situation)?;
        let (layout, encoder) = match (method.tables(), encoder) {
            (Some(_), Some(encoder)) => {
                let encoder = encoder.coded()?;
                (encoder.layout().clone(), Some(encoder))
            }
            (Some(_), None) => match layout.coded() {
                Some(coded) => (coded, None),
                None => refuse!("these rows have no columns for curves and tables"),
            },
            (None, encoder) => (layout, encoder),
        };
        Ok(Self {
            layout,
            encoder,
            situation,
            method,
        })
    }
}

/// The plan for a file, of which only the header is read, or for rows of the program.
pub(crate) fn plan(learner: &Learner) -> Result<Plan> {
    if !learner.data.file.is_empty() {
        let schema = &learner.data.schema;
        let reader = data::Origin::new(&learner.data)?.open(schema)?;
        let layout = reader.layout();
        let rounds = data::rounds(learner, None, None)?;
        let situation = data::situation(learner, schema, layout, rounds)?;
        let method = methods::choose(learner, layout, &situation)?;
        return Ok(Plan::new(learner, layout, method.as_ref()));
    }
    let chosen = Chosen::new(learner)?;
    Ok(Plan::new(learner, &chosen.layout, chosen.method.as_ref()))
}

/// Whether the shared ledger has room for a run on rows of the program.
pub(crate) fn check_room(learner: &Learner) -> Result<()> {
    let Some(shared) = &learner.privacy.shared else {
        refuse!("name the ledger that the program holds: `on`");
    };
    let method = Chosen::new(learner)?.method;
    let ((charge, scope), ledger) = (method.price()?, shared.look());
    let allowed = ledger.allows(charge, scope);
    allowed.map_err(|error| budget::refusal(&ledger, charge, error))
}

impl Run {
    pub(crate) fn open(learner: Learner) -> Result<Self> {
        check_outputs(&learner)?;
        let Chosen {
            layout,
            encoder,
            situation,
            method,
        } = Chosen::new(&learner)?;
        let plan = Plan::new(&learner, &layout, method.as_ref());
        let reading = data::reading(&learner, &learner.data.schema, &layout)?;
        let opened = opening::open(&learner, method.as_ref(), &reading, None, &mut ())?;
        let columns = encoder.iter().flat_map(Encoder::columns);
        let columns = columns.map(|name| name.to_string()).collect();
        let note = Reading::new(&learner.data, &layout, columns).to_note()?;
        let resumed = opened.resumed.clone();
        let (most, passes) = (method.records().1, method.passes());
        let is_checked = checked::began_checked(&learner)?;
        let frame = Frame {
            yardstick: data::yardstick(&learner, &layout, method.recipe())?,
            learner,
            layout,
            method,
            listener: Box::new(()),
            length: situation.length,
            is_checked,
        };
        let asked = Asked::new(&frame)?;
        let opener = Arc::clone(&opened.opener);
        let mut learning = Learning::new(frame, opened, None, false)?;
        learning.keep_releases();
        Ok(Self {
            guarantee: learning.guarantee()?,
            learned_before: learning.rounds(),
            learning,
            encoder,
            reading: note,
            opener,
            plan,
            resumed,
            start: Instant::now(),
            published: 0,
            most,
            asked,
            passes,
        })
    }

    /// Learns from one row, and predicts it first for the operator's figures. A value that cannot
    /// be read makes the record empty: what one person states does not stop a run.
    ///
    /// # Errors
    /// More rows than were planned; a row without one of the columns; a disk that fails.
    pub fn learn(&mut self, row: &(impl Row + ?Sized)) -> Result<(), Error> {
        self.check_room()?;
        let sealed = self.encoder()?.record(row)?;
        self.take(sealed)
    }

    /// Learns from rows one after the other, as [`Run::learn`] does: the same bits, in less time.
    ///
    /// ```
    /// use hushstream::prelude::*;
    ///
    /// let mut run = Learner::classify()
    ///     .features(2)
    ///     .records(100)
    ///     .budget(Budget::approx(1.0, 1e-6)?)
    ///     .adjacency(ReplaceOne)
    ///     .simulated(7)
    ///     .start()?;
    /// run.learn_all([[0.1, 0.9, 1.0], [0.8, -0.2, 0.0]].iter())?;
    /// assert_eq!(run.records(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Run::learn`], after the rows before.
    pub fn learn_all(&mut self, rows: impl IntoIterator<Item: Row>) -> Result<(), Error> {
        let mut rows = rows.into_iter().peekable();
        while rows.peek().is_some() {
            self.check_room()?;
            let left = self.most.saturating_sub(self.learning.rounds());
            let most = left.min(self.learning.together());
            let encoder = self.encoder()?;
            if let Some(sealed) = encoder.records(&mut rows, most) {
                self.learning.take_all(&sealed)?;
                self.encoder()?.reuse_all(sealed);
            } else if let Some(row) = rows.next() {
                let sealed = encoder.record(&row)?;
                self.take(sealed)?;
            }
        }
        Ok(())
    }

    fn take(&mut self, sealed: Sealed) -> Result<(), Error> {
        self.learning.take(sealed, false)?;
        let spare = self.learning.spare();
        self.encoder()?.reuse(spare);
        Ok(())
    }

    fn encoder(&mut self) -> Result<&mut Encoder, Error> {
        match &mut self.encoder {
            Some(encoder) => Ok(encoder),
            None => refuse!(
                "this layout has no names of columns: its rows come from workers, in batches"
            ),
        }
    }

    /// Refuses rows where there is no place for another.
    fn check_room(&self) -> Result<(), Error> {
        self.asked.refuse_rows()?;
        if self.learning.rounds() >= self.most {
            refuse!(
                "the run was planned for {} records, and has learned them all",
                grouped(self.most)
            );
        }
        Ok(())
    }

    /// The question for workers on other machines, as public bytes: see
    /// [`elsewhere`](crate::elsewhere).
    ///
    /// # Errors
    /// A recipe whose records one process must learn; all batches that were planned; a disk that
    /// fails.
    pub fn question(&mut self) -> Result<Vec<u8>, Error> {
        let question = self.learning.question(self.reading.clone())?;
        question.to_bytes().map_err(Error::other)
    }

    /// Takes a batch of a source, exactly once: `parts` are the partial sums with which workers
    /// answered the present question, sealed or not. Everything is durable when it returns.
    ///
    /// # Errors
    /// A batch whose people would be counted twice or left out; partial sums of another question or
    /// of other positions, or sealed to another key; a disk that fails.
    pub fn commit(
        &mut self,
        delivery: &Delivery,
        parts: &[impl AsRef<[u8]>],
    ) -> Result<Committed, Error> {
        let parts: Vec<_> = parts
            .iter()
            .map(|part| self.opener.open(part.as_ref()))
            .collect();
        let parts: Vec<&[u8]> = parts.iter().map(AsRef::as_ref).collect();
        let is_new = self
            .learning
            .commit(delivery, self.reading.clone(), &parts)?;
        let last = self.delivered();
        let is_last = last == Some((delivery.source().to_owned(), delivery.batch()));
        let model = if is_last { Some(self.model()?) } else { None };
        Ok(Committed { is_new, model })
    }

    /// The key to which workers can seal partial sums, so that only this run reads them. Public.
    #[must_use]
    pub fn sealing_key(&self) -> SealingKey {
        self.opener.public()
    }

    /// Whether there is another question: all batches that were planned have not been taken.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.learning.asks()
    }

    /// The source and the number of the last batch that was taken.
    #[must_use]
    pub fn delivered(&self) -> Option<(String, u64)> {
        self.learning.delivered()
    }

    /// Makes everything durable, and gives the models that may now leave: all since the last call
    /// with [`Learner::every_release`], the last one otherwise, and none if there is no new one.
    ///
    /// # Errors
    /// A disk that fails.
    pub fn publish(&mut self) -> Result<Vec<Released<Model>>, Error> {
        self.learning.sync()?;
        let mut models = Vec::new();
        for release in self.learning.take_releases() {
            if let Content::Weights { weights } = release.content {
                let model = self.learning.model((release.step, weights))?;
                models.push(Released::new(release.step, model));
            }
        }
        // Plays are no models, and a sparse learner makes its last model alone; the last one tells
        // its noise too.
        let last = self.learning.last_model()?;
        let is_listed = models.pop_if(|model| model.release() == last.release);
        if is_listed.is_some() || models.is_empty() && last.release > self.published {
            models.push(Released::new(last.release, last));
        }
        if let Some(last) = models.last() {
            self.published = last.release();
        }
        Ok(models)
    }

    /// The last model, new or not.
    ///
    /// # Errors
    /// A disk that fails.
    pub fn model(&mut self) -> Result<Released<Model>, Error> {
        self.learning.sync()?;
        let last = self.learning.last_model()?;
        Ok(Released::new(last.release, last))
    }

    /// The play of a bandit that the next row answers: for a live stream, where the play must be
    /// known before its loss can be.
    ///
    /// # Errors
    /// A run that is not of a bandit; a disk that fails.
    pub fn play(&mut self) -> Result<Released<Play>, Error> {
        self.learning.sync()?;
        match self.learning.play()? {
            Some(play) => Ok(Released::new(self.records(), play)),
            None => refuse!("only a bandit plays, and this is {}", self.plan.recipe),
        }
    }

    /// Records that the run has learned, including those before a resume.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.learning.rounds()
    }

    /// How often the rows are to be given, all of them in one order: 1 unless they are at rest
    /// ([`Learner::at_rest`]).
    #[must_use]
    pub fn passes(&self) -> u64 {
        self.passes.0
    }

    /// The columns of a row of numbers, in order.
    #[must_use]
    pub fn columns(&self) -> Vec<&str> {
        let columns = self.encoder.iter().flat_map(Encoder::columns);
        columns.map(|name| &**name).collect()
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The message about the resume, if the run was resumed.
    #[must_use]
    pub fn resumed(&self) -> Option<&str> {
        self.resumed.as_deref()
    }

    /// The guarantee for all releases of the run.
    #[must_use]
    pub fn guarantee(&self) -> Guarantee {
        let now = self.learning.guarantee();
        now.unwrap_or_else(|_| self.guarantee.clone())
    }

    /// Figures over the records so far, each predicted before it was learned; nothing with
    /// [`Learner::quiet`].
    #[must_use]
    pub fn figures(&self) -> Option<OperatorOnly<Summary>> {
        self.learning.summary()
    }

    /// Ends the run: writes the model and the report, if they were asked for, and tells all there
    /// is to tell. [`Outcome::operator_only`] names what must not be published.
    ///
    /// # Errors
    /// A disk that fails.
    pub fn finish(mut self) -> Result<Outcome, Error> {
        self.close_all()?;
        let rows = self.learning.rounds() - self.learned_before;
        let mut outcome = self.learning.finish(rows, self.start.elapsed(), None)?;
        outcome.public_warnings = self.plan.warnings;
        Ok(outcome)
    }
}

/// Learns from the whole file. Checks everything that can be checked before anything is spent.
pub(crate) fn learn(learner: &Learner, listener: &mut dyn Listener) -> Result<Outcome> {
    check_outputs(learner)?;
    let schema = &learner.data.schema;
    data::check_persons(learner)?;
    let stored = opening::stored_rounds(learner)?;
    let origin = data::Origin::new(&learner.data)?;
    let checked = checked::before(learner, &origin, schema, listener)?;
    let mut reader = origin.open_in_order(schema)?;
    if reader.has_nameless_index() {
        listener.say(
            "note: the first column has no name, as an index that was written with the table: it \
             is not read",
        );
    }
    let layout = reader.layout().clone();
    let counted = checked.as_ref().map(|checked| checked.rows);
    let rounds = data::rounds(learner, counted.or(reader.remaining()), stored)?;
    let situation = data::situation(learner, schema, &layout, rounds)?;
    let method = methods::choose(learner, &layout, &situation)?;
    if method.tables().is_some() {
        reader = reader.coded()?;
    }
    if let (passes @ 2.., rows) = method.passes() {
        if let (Some(counted), None) = (counted, stored)
            && counted < rows
        {
            refuse!(
                "the file has {} rows, and several passes need every planned one: state ‹rounds \
                 {counted}›, or ‹passes 1›",
                grouped(counted)
            );
        }
        let (origin, schema) = (origin.clone(), schema.clone());
        reader = reader.repeated(rows, passes, move || origin.open_in_order(&schema).ok());
    }
    let layout = reader.layout().clone();
    let plan = Plan::new(learner, &layout, method.as_ref());
    listener.say(&plan.to_string());
    for warning in &plan.warnings {
        listener.say(warning);
    }
    let test = test(learner, &layout)?;
    let reading = data::reading(learner, schema, &layout)?;
    let opened = opening::open(
        learner,
        method.as_ref(),
        &reading,
        Some(&mut reader),
        listener,
    )?;
    if let Some(told) = &opened.resumed {
        listener.say(told);
    }
    let most_records = method.records().1;
    let frame = Frame {
        learner: learner.clone(),
        yardstick: data::yardstick(learner, &layout, method.recipe())?,
        layout,
        method,
        listener: Box::new(listener),
        length: situation.length,
        is_checked: checked::began_checked(learner)?,
    };
    let is_live = data::is_stream(&learner.data.file);
    if checked.is_none() && !learner.output.quiet {
        reader.watched();
    }
    let mut learning = Learning::new(frame, opened, checked, is_live)?;
    let start = Instant::now();
    let (planned, learned) = (most_records, learning.rounds());
    let mut seen = learned;
    // Read one more row of a file, to detect rows beyond the plan.
    let most = planned
        .saturating_sub(learned)
        .saturating_add(u64::from(!is_live));
    let mut rows = Rows::new(reader, is_live, most);
    while seen < planned {
        // Check the clock only when we would block anyway.
        let patience = if rows.is_waiting() {
            learning.patience()
        } else {
            None
        };
        let next = rows.next_record(patience);
        match next.map_err(|error| mid_stream(learner, &error))? {
            Next::Row(sealed) => {
                seen += 1;
                learning.take(sealed, rows.is_waiting())?;
            }
            // Release before waiting for a stream that pauses.
            Next::Late => learning.sync()?,
            Next::End => break,
        }
    }
    if let Some(told) = rest(learner, &mut rows, seen, planned) {
        learning.say(&told);
    }
    let time = start.elapsed();
    let findings = rows.close().and_then(|reader| reader.findings());
    if let Some(reader) = test {
        learning.test(reader)?;
    }
    let mut outcome = learning.finish(seen.saturating_sub(learned), time, findings)?;
    outcome.public_warnings = plan.warnings;
    Ok(outcome)
}

/// The rows that the model is to be tested on, read as those it learns from.
fn test(learner: &Learner, layout: &Layout) -> Result<Option<Reader>> {
    let Some(file) = &learner.output.test else {
        return Ok(None);
    };
    if data::is_stream(file) {
        refuse!("a stream cannot be tested on: write it to a file first");
    }
    let data = Data {
        file: file.clone(),
        shuffle: None,
        ..learner.data.clone()
    };
    let mut reader = data::Origin::new(&data)?.open(&data.schema)?;
    if layout.is_coded() {
        reader = reader.coded()?;
    }
    if reader.layout() != layout {
        refuse!("{file} has other columns than the training data");
    }
    Ok(Some(reader))
}

fn check_outputs(learner: &Learner) -> Result<()> {
    let output = &learner.output;
    let data = Path::new(&learner.data.file);
    let ledger = budget::path(learner).ok();
    let files: Vec<(&str, &Path)> = [
        (
            "the data",
            Some(data).filter(|_| !learner.data.file.is_empty()),
        ),
        ("the ledger", ledger.as_deref()),
        ("the model", output.model.as_deref()),
        ("the releases", output.releases.as_deref()),
        ("the report", output.report.as_deref()),
        ("the test", output.test.as_deref().map(Path::new)),
    ]
    .into_iter()
    .filter_map(|(what, path)| Some((what, path?)))
    .collect();
    files::check_distinct(&files)?;
    for (what, path) in &files {
        if !["the data", "the ledger", "the test"].contains(what) {
            files::check_writable(path, what)?;
        }
    }
    match &output.state {
        Some(folder) if !output.resume => state::StateFolder::check_new(folder, output.keeper()),
        _ => Ok(()),
    }
}

/// Input that cannot be read any more, after the charge: what is lost, and how to go on. The
/// content of a row never leads here.
pub(crate) fn mid_stream(learner: &Learner, error: &ReadError) -> Error {
    if learner.output.state.is_some() {
        Error::refused(format!(
            "{error}; the run is kept: mend the input, leave all rows so far as they are, and add \
             ‹resume›"
        ))
    } else if learner.privacy.seed_insecure.is_some() && learner.privacy.ledger.is_none() {
        Error::refused(format!(
            "{error}; the run ends here: with ‹state FOLDER› it could go on"
        ))
    } else {
        Error::refused(format!(
            "{error}; the run ends here and its charge is spent: with ‹state FOLDER› it could go on"
        ))
    }
}

/// The note if the data and the plan differ in the number of records.
fn rest(learner: &Learner, rows: &mut Rows, seen: u64, planned: u64) -> Option<String> {
    if seen < planned {
        // An unknown horizon has no planned end.
        return (!learner.privacy.horizon_unknown).then(|| {
            format!(
                "the data ended after {} of {} planned records",
                grouped(seen),
                grouped(planned)
            )
        });
    }
    let is_file = !data::is_stream(&learner.data.file);
    (is_file && !matches!(rows.next_record(None), Ok(Next::End))).then(|| {
        format!(
            "the run was planned for {} records: the rest of the file was not read",
            grouped(planned)
        )
    })
}

/// A run may move between threads.
const _: fn() = || {
    fn is_send<T: Send>() {}
    is_send::<Run>();
};
