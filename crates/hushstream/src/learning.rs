//! A run in progress, with its scoreboard, files and figures.

use crate::curves::{self, Curves};
use crate::error::Result;
use crate::learner::{Learner, Listener};
use crate::methods::Method;
use crate::methods::session::{Baseline, Play, Release, Session};
use crate::opening::Opened;
use crate::outcome::{self, Kind, Outcome, ScoredOn};
use crate::progress::Progress;
use crate::releases::Releases;
use crate::shared::SharedLedger;
use crate::target::Target;
use crate::{checked, data, files, memory, model::Model, warnings};
use hushstream_account::{Guarantee, Published};
use hushstream_mechanism::decisions::Drawn;
use hushstream_mechanism::losses::Record;
use hushstream_mechanism::sums::{Delivery, Question};
use hushstream_mechanism::{AskerOnly, Raw, Yardstick};
use hushstream_mechanism::{Metrics, OperatorOnly, RowChain, Scoreboard, Summary};
use hushstream_pictures::{page::Origin, report};
use hushstream_read::{Checked, Findings, Layout, Reader, Sealed, SealedRecords};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Largest count of numbers in releases that wait for a sync, so that memory does not depend on the
/// rate of records.
const NUMBERS_IN_MEMORY: usize = 1 << 16;
/// Approximate overhead of a release beside its weights, in numbers.
const OWN_NUMBERS: usize = 8;

/// Rounds between two readings of the clock, while records come without a pause.
const ROUNDS_WITHOUT_A_LOOK: u64 = 16;
/// Number of weights from which a round with a release takes longer than reading the clock.
const LONG_ROUND: usize = 1 << 10;

/// The constants of a run.
pub(crate) struct Frame<'a> {
    pub(crate) learner: Learner,
    pub(crate) layout: Layout,
    pub(crate) method: Box<dyn Method>,
    pub(crate) listener: Box<dyn Listener + 'a>,
    /// Features longer than this are scaled down to it.
    pub(crate) length: f64,
    pub(crate) yardstick: Yardstick,
    /// Whether the run depends on a check that found no malformed row.
    pub(crate) is_checked: bool,
}

impl Frame<'_> {
    fn target(&self) -> Target {
        let probability = match self.yardstick {
            Yardstick::Sign(map) | Yardstick::Classes(_, map) => map,
            _ => None,
        };
        Target::new(&self.layout, probability)
    }
}

/// The run.
pub(crate) struct Learning<'a> {
    frame: Frame<'a>,
    session: Box<dyn Session>,
    ledger: SharedLedger,
    kind: Kind,
    board: Option<Scoreboard>,
    shadow: Option<(Box<dyn Baseline>, Scoreboard)>,
    curves: Curves,
    progress: Progress,
    releases: Option<Releases>,
    /// The model file, which others may read during a stream.
    live_model: Option<PathBuf>,
    last_sync: Instant,
    /// Records that were longer than the stated norm: for the operator.
    longer: u64,
    /// Malformed rows and other findings about the data: for the operator.
    malformed: u64,
    targets_clipped: u64,
    checked: Option<Checked>,
    /// Releases that wait for a sync.
    waiting: usize,
    /// Records per release.
    batch: u64,
    /// The round from which records are scored: the last pass.
    scored_from: u64,
    /// Whether the boards are those of rows that were not learned from.
    is_tested: bool,
    /// The chain of learned rows, if there is one.
    rows: Option<RowChain>,
    /// Releases that have not been taken, if the caller keeps them.
    kept: Option<Vec<Release>>,
}

impl<'a> Learning<'a> {
    /// For a live stream, the model is written at every sync.
    pub(crate) fn new(
        mut frame: Frame<'a>,
        opened: Opened,
        checked: Option<Checked>,
        is_live: bool,
    ) -> Result<Self> {
        let output = frame.learner.output.clone();
        let yardstick = frame.yardstick;
        let compares = output.without_privacy || output.report.is_some();
        let length = frame.length;
        let board = || Scoreboard::new(yardstick, length);
        let twin = if compares {
            frame.method.shadow()?
        } else {
            None
        };
        if output.without_privacy && twin.is_none() {
            let recipe = frame.method.recipe();
            frame.listener.say(&format!(
                "{recipe} has no twin without privacy: there is nothing to compare with"
            ));
        }
        Ok(Self {
            session: opened.session,
            ledger: opened.ledger,
            kind: Kind::of(yardstick, frame.method.recipe()),
            board: (!output.quiet).then(board),
            shadow: twin.map(|twin| (twin, board())),
            curves: Curves::default(),
            progress: Progress::new(
                output.quiet || !frame.listener.shows_progress(),
                yardstick,
                frame.target(),
            ),
            releases: match &output.releases {
                Some(path) => Some(Releases::open(path, output.resume)?),
                None => None,
            },
            live_model: match output.model {
                Some(path) if is_live && !files::is_special(&path) => Some(path),
                _ => None,
            },
            last_sync: Instant::now(),
            longer: 0,
            malformed: 0,
            targets_clipped: 0,
            checked,
            waiting: 0,
            batch: frame.method.parameters().batch.max(1),
            scored_from: match frame.method.passes() {
                (1, _) => 0,
                (passes, rows) => (passes - 1).saturating_mul(rows),
            },
            is_tested: false,
            rows: opened.rows,
            kept: None,
            frame,
        })
    }

    /// Records so far.
    pub(crate) fn rounds(&self) -> u64 {
        self.session.rounds()
    }

    /// Sends a message from public numbers.
    pub(crate) fn say(&mut self, text: &str) {
        self.frame.listener.say(text);
    }

    /// Predicts one record, then learns from it. Reads the clock if no further record waits.
    pub(crate) fn take(&mut self, sealed: Sealed, is_last_for_now: bool) -> Result<()> {
        let record = sealed.record;
        let is_scored = self.session.rounds() >= self.scored_from;
        // Rows are counted once, in the last pass.
        if is_scored {
            self.longer += u64::from(*sealed.was_longer.for_the_operator());
            self.malformed += u64::from(*sealed.is_malformed.for_the_operator());
            self.targets_clipped += u64::from(*sealed.target_was_clipped.for_the_operator());
        }
        if let Some((shadow, board)) = &mut self.shadow {
            if is_scored {
                shadow.score(&record, board);
            }
            shadow.learn(&record)?;
        }
        // Releases that the journal drops at a checkpoint must have been written.
        if self.session.checkpoint_is_due() {
            self.sync()?;
        }
        if let (Some(rows), Some(digest)) = (&self.rows, &sealed.digest) {
            rows.add(digest);
        }
        let board = self.board.as_mut().filter(|_| is_scored);
        self.session.take(sealed.person, record, board)?;
        self.sync_in_time(1, is_last_for_now)?;
        self.watch();
        Ok(())
    }

    /// How many records [`Learning::take_all`] may take now: none if something is to be seen
    /// between two of them.
    pub(crate) fn together(&self) -> u64 {
        let output = &self.frame.learner.output;
        let shows_progress = !output.quiet && self.frame.listener.shows_progress();
        if shows_progress || output.report.is_some() || self.shadow.is_some() {
            return 0;
        }
        // All of them are scored, or none is.
        match self.scored_from.saturating_sub(self.rounds()) {
            0 => u64::MAX,
            unscored => unscored,
        }
    }

    /// Predicts records and learns from them, one after the other, as [`Learning::take`] does.
    pub(crate) fn take_all(&mut self, sealed: &SealedRecords) -> Result<()> {
        let is_scored = self.session.rounds() >= self.scored_from;
        if is_scored {
            self.longer += *sealed.were_longer.for_the_operator();
            self.targets_clipped += *sealed.targets_were_clipped.for_the_operator();
        }
        let mut first = 0;
        while first < sealed.records.count() {
            // Releases that the journal drops at a checkpoint must have been written.
            if self.session.checkpoint_is_due() {
                self.sync()?;
            }
            let board = self.board.as_mut().filter(|_| is_scored);
            let taken = self.session.take_some(&sealed.records, first, board)?;
            self.sync_in_time(taken as u64, false)?;
            first += taken;
        }
        Ok(())
    }

    /// Memory of the last record, emptied, for the next one; none if it is not kept.
    pub(crate) fn spare(&mut self) -> Vec<f64> {
        self.session.spare()
    }

    /// Syncs and releases in groups. A sync comes at the end of a batch, because only there the
    /// journal can be shortened, or earlier if that end is far. The last `taken` rounds were not
    /// looked at.
    fn sync_in_time(&mut self, taken: u64, is_last_for_now: bool) -> Result<()> {
        let rounds = self.session.rounds();
        let at_the_end = rounds.is_multiple_of(self.batch);
        self.waiting += usize::from(at_the_end);
        if self.waiting == 0 {
            return Ok(());
        }
        let size = self.session.size();
        let is_full =
            self.releases.is_some() && self.waiting * (size + OWN_NUMBERS) > NUMBERS_IN_MEMORY;
        // `Instant::now` costs about 10% of a short round.
        let is_short = (size < LONG_ROUND || self.batch > 1) && !self.group().is_zero();
        let looks = is_last_for_now
            || !is_short
            || rounds % ROUNDS_WITHOUT_A_LOOK < taken
            || at_the_end && self.batch > 1;
        if is_full || looks && self.patience() == Some(Duration::ZERO) {
            self.sync()?;
        }
        Ok(())
    }

    /// The time until releases need a sync; `None` if none wait.
    pub(crate) fn patience(&self) -> Option<Duration> {
        if self.waiting == 0 {
            return None;
        }
        let at_the_end = self.session.rounds().is_multiple_of(self.batch);
        let patience = self.group().saturating_mul(if at_the_end { 1 } else { 2 });
        Some(patience.saturating_sub(self.last_sync.elapsed()))
    }

    fn group(&self) -> Duration {
        self.frame.learner.output.sync
    }

    fn watch(&mut self) {
        let rounds = self.session.rounds();
        let Some(board) = &mut self.board else { return };
        if rounds <= self.scored_from && self.scored_from > 0 {
            return;
        }
        let rounds = rounds - self.scored_from;
        let draws = self.frame.learner.output.report.is_some();
        if draws && self.curves.is_due(rounds) {
            let shadow = self.shadow.as_ref().map(|(_, board)| board.summary());
            self.curves.add(rounds, &board.summary(), shadow.as_ref());
        }
        if self.progress.is_due(rounds) {
            let line = self.progress.line(&board.summary());
            self.frame.listener.progress(&line);
            board.mark();
        }
    }

    /// Syncs, and publishes the releases that the sync covers.
    pub(crate) fn sync(&mut self) -> Result<()> {
        let released = self.session.sync(&mut *self.ledger.lock()?)?;
        if let Some(file) = &mut self.releases {
            for release in &released {
                file.write(release.step, &release.content)?;
            }
            file.sync()?;
        }
        if let Some(path) = self.live_model.clone() {
            self.write_model(&path)?;
        }
        if let Some(kept) = &mut self.kept {
            kept.extend(released);
            if !self.frame.learner.output.every {
                kept.drain(..kept.len().saturating_sub(1));
            }
        }
        self.last_sync = Instant::now();
        self.waiting = 0;
        Ok(())
    }

    /// Writes the last model, after a sync: the iterate is then a function of releases that may
    /// leave.
    fn write_model(&mut self, path: &Path) -> Result<()> {
        let model = self.last_model()?;
        files::write_whole(path, &model.to_bytes()?)
    }

    /// The last model, after a sync.
    pub(crate) fn last_model(&mut self) -> Result<Model> {
        let last = self.session.settled(&mut *self.ledger.lock()?)?;
        let deviations = self.session.deviations();
        let arms = Some(self.session.arms()).filter(|arms| !arms.is_empty());
        let model = self.model(last)?.with_noise(&deviations);
        let policy = self.session.policy(&mut *self.ledger.lock()?)?;
        Ok(model.with_arms(arms).with_policy(policy))
    }

    /// Decides for a context in a slot, with a policy that a sync covers.
    pub(crate) fn decide(
        &mut self,
        context: &Raw<Record>,
        slot: u64,
    ) -> Result<Option<AskerOnly<Drawn>>> {
        self.session
            .decide(&mut *self.ledger.lock()?, context, slot)
    }

    /// The question for workers on other machines, after a sync.
    pub(crate) fn question(&mut self, note: Vec<u8>) -> Result<Question> {
        self.sync()?;
        self.session.question(&mut *self.ledger.lock()?, note)
    }

    /// Takes a batch of a source, unless it was taken before, and syncs.
    pub(crate) fn commit(
        &mut self,
        delivery: &Delivery,
        note: Vec<u8>,
        parts: &[&[u8]],
    ) -> Result<bool> {
        // Releases that the journal drops at a checkpoint must have been written.
        if self.session.checkpoint_is_due() {
            self.sync()?;
        }
        let is_new = self.session.commit(delivery, note, parts)?;
        self.sync()?;
        Ok(is_new)
    }

    /// Whether another record or batch is asked.
    pub(crate) fn asks(&self) -> bool {
        self.session.asks()
    }

    /// The source and number of the last batch.
    pub(crate) fn delivered(&self) -> Option<(String, u64)> {
        self.session.delivered()
    }

    /// The play that the next record answers, after a sync.
    pub(crate) fn play(&mut self) -> Result<Option<Play>> {
        self.session.play(&mut *self.ledger.lock()?)
    }

    /// The model with these weights, which are the release with this number.
    pub(crate) fn model(&self, release: (u64, Vec<f64>)) -> Result<Model> {
        let model = Model::new(
            self.frame.method.recipe().to_string(),
            self.frame.layout.clone(),
            self.frame.length,
            release,
            self.guarantee()?,
        );
        let target = self.frame.target();
        Ok(model
            .with_target(&target)
            .of_table(&self.frame.learner.data.schema)
            .with_tables(self.frame.method.tables()))
    }

    /// Keeps releases from now on until they are taken.
    pub(crate) fn keep_releases(&mut self) {
        self.kept = Some(Vec::new());
    }

    /// The releases since they were last taken.
    pub(crate) fn take_releases(&mut self) -> Vec<Release> {
        self.kept.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Figures so far.
    pub(crate) fn summary(&self) -> Option<OperatorOnly<Summary>> {
        self.board.as_ref().map(Scoreboard::summary)
    }

    /// Scores the last model on rows that are not learned from: from now on, figures are of these.
    pub(crate) fn test(&mut self, mut reader: Reader) -> Result<()> {
        let board = || Scoreboard::new(self.frame.yardstick, self.frame.length);
        let (mut own, mut twin) = (board(), board());
        while let Some(sealed) = reader.next_record()? {
            self.session.score(&sealed.record, &mut own);
            if let Some((shadow, _)) = &self.shadow {
                shadow.score(&sealed.record, &mut twin);
            }
        }
        (self.board, self.is_tested) = (Some(own), true);
        if let Some((_, board)) = &mut self.shadow {
            *board = twin;
        }
        Ok(())
    }

    /// Ends the run: writes the model and the report, and returns the outcome. `rows` were read in
    /// `time`; `findings` are the reader's, if no check came before.
    pub(crate) fn finish(
        mut self,
        rows: u64,
        time: Duration,
        findings: Option<OperatorOnly<Findings>>,
    ) -> Result<Outcome> {
        self.sync()?;
        let output = self.frame.learner.output.clone();
        let mut outcome = self.outcome(rows, time)?;
        let policy = self.session.policy(&mut *self.ledger.lock()?)?;
        outcome.evaluation = policy.and_then(|(_, evaluation)| evaluation);
        if let (Some(path), None) = (&output.model, &self.live_model) {
            self.write_model(path)?;
        }
        let Some(board) = &self.board else {
            return Ok(outcome);
        };
        let own = board.summary();
        let shadow = self.shadow.as_ref().map(|(_, board)| board.summary());
        let (nulls, clipped) = self.session.counts();
        let nulls = *nulls.for_the_operator();
        outcome.tell(
            self.kind,
            own.for_the_operator(),
            shadow.as_ref().map(OperatorOnly::for_the_operator),
            nulls,
            self.longer.max(*clipped.for_the_operator()),
        );
        outcome.malformed = Some(self.malformed);
        outcome.targets_clipped = (self.kind == Kind::Number).then_some(self.targets_clipped);
        outcome.warnings = Some(self.warnings(nulls, own.for_the_operator(), findings));
        if let Some(decides) = self.frame.layout.decides() {
            outcome.unscale(decides.rewards);
            outcome.tell_rewards(decides.rewards);
        }
        if data::is_rewards(&self.frame.layout) {
            outcome.tell_rewards(data::loss_bounds(&self.frame.layout)?);
        }
        if let Some(path) = &output.report {
            // The last point of each line is the final figure.
            let rounds = self.session.rounds().saturating_sub(self.scored_from);
            if !self.is_tested {
                self.curves.add(rounds, &own, shadow.as_ref());
            }
            let page = self.page(&outcome)?;
            files::write_whole_secret(path, page.as_bytes())?;
        }
        Ok(outcome)
    }

    /// Findings about the data: from the check, or for a stream from learning.
    fn warnings(
        &mut self,
        nulls: u64,
        summary: &Summary,
        findings: Option<OperatorOnly<Findings>>,
    ) -> Vec<String> {
        let mut told = match &self.checked {
            // The check has reported its findings already.
            Some(checked) => checked::warnings(checked),
            None => {
                let found = self.found(nulls, findings);
                for warning in &found {
                    self.frame.listener.warn(warning);
                }
                found
            }
        };
        if let Some(Metrics::Classes(metrics)) = &summary.metrics
            && metrics.is_one_sided
        {
            self.frame.listener.warn(warnings::ONE_SIDED);
            told.push(warnings::ONE_SIDED.to_owned());
        }
        told
    }

    /// Findings about a stream, which cannot be checked before.
    fn found(&self, nulls: u64, findings: Option<OperatorOnly<Findings>>) -> Vec<String> {
        let mut warnings = Vec::new();
        // No release follows the last round, so a mechanism may skip it.
        let empty = nulls.max(self.malformed);
        warnings.extend(checked::many_empty(empty, self.session.rounds()));
        // The rows before a resume are not read again.
        let since = if self.frame.learner.output.resume {
            "in the rows since the resume: "
        } else {
            ""
        };
        if let Some(findings) = findings {
            let columns = &findings.for_the_operator().columns;
            warnings.extend(columns.iter().map(|finding| format!("{since}{finding}")));
        }
        warnings
    }

    /// The guarantee, with its assumption about the rows.
    pub(crate) fn guarantee(&self) -> Result<Guarantee> {
        let mut guarantee = self.session.guarantee()?;
        if self.frame.learner.privacy.horizon_unknown {
            guarantee = guarantee.open_ended(self.session.rounds());
        }
        if self.frame.learner.data.schema.task == Some(hushstream_read::Task::Bandit) {
            guarantee = guarantee.publishing(Published::Plays);
        }
        Ok(if self.frame.is_checked {
            guarantee.assuming(checked::ASSUMPTION)
        } else {
            guarantee
        })
    }

    /// The public part of the outcome; the rest is filled in later.
    fn outcome(&self, rows: u64, time: Duration) -> Result<Outcome> {
        let seconds = time.as_secs_f64();
        let shown = !self.frame.learner.output.quiet;
        let layout = &self.frame.layout;
        Ok(Outcome {
            recipe: self.frame.method.recipe().to_string(),
            rounds: self.session.rounds(),
            dim: layout.arms().unwrap_or(layout.dimension()),
            guarantee: self.guarantee()?,
            ledger: outcome::Together::of(&self.ledger.look()),
            parameters: outcome::Parameters {
                length: self.frame.length,
                ..self.frame.method.parameters()
            },
            scored: None,
            scored_on: match (self.is_tested, self.scored_from) {
                (true, _) => ScoredOn::Test,
                (false, 0) => ScoredOn::New,
                (false, _) => ScoredOn::Learned,
            },
            metrics: None,
            loss: outcome::Loss::default(),
            without_privacy: None,
            regret: outcome::Regret::default(),
            rewards: None,
            off_policy: None,
            arms: Some(self.session.arms()).filter(|arms| !arms.is_empty()),
            evaluation: None,
            nulls: None,
            clipped: None,
            malformed: None,
            targets_clipped: None,
            warnings: None,
            // Time and memory depend on private data: the longest line, the number of features.
            seconds: shown.then_some(seconds),
            rows_per_second: shown.then(|| rows as f64 / seconds.max(1e-9)),
            peak_memory_bytes: memory::peak().filter(|_| shown),
            public_warnings: Vec::new(),
            operator_only: Vec::new(),
        })
    }

    /// The report.
    fn page(&mut self, outcome: &Outcome) -> Result<String> {
        let shapes = self.last_model()?.explain().ok();
        let method = self.frame.method.as_ref();
        let entry = method.recipe().entry();
        let own = self.board.as_ref().and_then(Scoreboard::ranking);
        let twin = self.shadow.as_ref().and_then(|(_, board)| board.ranking());
        let output = &self.frame.learner.output;
        let file = Path::new(&self.frame.learner.data.file).file_name();
        Ok(report::page(&report::Page {
            run: &serde_json::to_value(outcome)?,
            guarantee: &outcome.guarantee.to_string(),
            recipe: report::Recipe {
                name: entry.name,
                source: entry.source,
                errata: entry.errata,
                when: entry.when,
                printed: entry.printed,
                holds: entry.holds,
            },
            shapes: shapes.as_ref(),
            scored_on: outcome.scored_on.words(),
            ranking: own.as_ref().map(|own| report::Ranking {
                roc: &own.for_the_operator().roc,
                without: twin.as_ref().map(|twin| &twin.for_the_operator().roc[..]),
                calibration: &own.for_the_operator().calibration,
            }),
            // In several passes one model predicts the whole of the last.
            figures: &if self.scored_from > 0 {
                Vec::new()
            } else {
                curves::all(&self.curves, self.kind)
            },
            noise: method.picture().as_deref(),
            origin: Origin {
                command: output.command.as_deref(),
                file: file.and_then(|file| file.to_str()),
                version: env!("CARGO_PKG_VERSION"),
            },
        }))
    }
}
