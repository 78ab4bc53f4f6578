//! `hushstream learn`: from a file of records to a model that may be published.

pub(crate) mod arguments;
mod data;
pub(crate) mod files;
mod memory;
pub(crate) mod model;
mod outcome;
mod progress;
mod releases;
mod report;
mod session;

use crate::numbers::{delta, grouped, short};
use anyhow::Result;
use arguments::Arguments;
use hushstream_engine::{Choice, Shadow};
use hushstream_mechanism::{Scoreboard, Yardstick};
use hushstream_read::Layout;
use model::Model;
use outcome::{Kind, Outcome, Parameters, Together, losses};
use progress::Progress;
use releases::Releases;
use report::Curves;
use session::{Opened, Session};
use std::time::{Duration, Instant};

/// Releases leave in groups: one sync of the disk covers them all.
const GROUP: Duration = Duration::from_millis(500);

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let outcome = learn(arguments)?;
    if arguments.output.json {
        println!("{}", serde_json::to_string_pretty(&outcome)?);
    } else {
        conclude(&outcome);
    }
    Ok(())
}

/// Learns, and tells.
pub(crate) fn learn(arguments: &Arguments) -> Result<Outcome> {
    let output = &arguments.output;
    for path in [&output.model, &output.report].into_iter().flatten() {
        files::check_writable(path)?;
    }
    let schema = data::schema(&arguments.data, arguments.privacy.person.as_ref())?;
    let mut reader = data::open(&arguments.data, &schema)?;
    let layout = reader.layout().clone();
    let rounds = data::rounds(arguments, &schema, session::stored_rounds(arguments)?)?;
    let choice = data::situation(arguments, &layout, rounds)?.choose(&data::wishes(arguments))?;
    announce(arguments, &layout, &choice);
    let opened = session::open(arguments, &choice.recipe)?;
    if let Some(told) = &opened.resumed {
        say(arguments, told);
    }
    let mut learning = Learning::new(arguments, &layout, &choice, opened)?;
    let start = Instant::now();
    let planned = choice.recipe.rounds();
    let mut seen = 0;
    let learned = learning.session.rounds();
    while seen < planned
        && let Some(sealed) = reader.next_record()?
    {
        seen += 1;
        if seen > learned {
            learning.take(sealed)?;
        }
    }
    if reader.next_record()?.is_some() {
        say(
            arguments,
            &format!(
                "the run was planned for {} records: the rest of the file was not read",
                grouped(planned)
            ),
        );
    }
    learning.finish(
        arguments,
        &layout,
        &choice,
        seen - learned.min(seen),
        start.elapsed(),
    )
}

fn say(arguments: &Arguments, text: &str) {
    if !arguments.output.json {
        eprintln!("{text}");
    }
}

/// What was chosen and why, and what privacy will cost, before a record is read.
fn announce(arguments: &Arguments, layout: &Layout, choice: &Choice) {
    let request = choice.recipe.plan().request();
    say(
        arguments,
        &format!(
            "{} on {} sums with {} noise: {} features, {} records, batches of {}, (ε, δ) = ({}, {}), {}",
            choice.recipe.request().recipe,
            request.kind,
            request.noise,
            layout.dimension(),
            grouped(choice.recipe.request().rounds),
            grouped(request.batch),
            request.budget.epsilon(),
            delta(request.budget.delta()),
            request.adjacency,
        ),
    );
    for reason in &choice.reasons {
        say(arguments, &format!("  chosen: {reason}"));
    }
    let share = 100.0 * choice.rows_until_signal / choice.recipe.request().rounds as f64;
    say(
        arguments,
        &format!(
            "  cost of privacy, predicted: noise exceeds what is learned for about the first {} records ({}%)",
            grouped(choice.rows_until_signal.ceil() as u64),
            short(share)
        ),
    );
}

/// A run in progress, with everything that watches it.
struct Learning {
    session: Box<dyn Session>,
    ledger: hushstream_mechanism::Ledger,
    earlier: usize,
    kind: Kind,
    board: Option<Scoreboard>,
    shadow: Option<(Shadow, Scoreboard)>,
    curves: Curves,
    progress: Progress,
    releases: Option<Releases>,
    last_sync: Instant,
}

impl Learning {
    fn new(
        arguments: &Arguments,
        layout: &Layout,
        choice: &Choice,
        opened: Opened,
    ) -> Result<Self> {
        let output = &arguments.output;
        let yardstick = data::yardstick(layout);
        let length = data::situation(arguments, layout, choice.recipe.request().rounds)?.length;
        let compares = output.without_privacy || output.report.is_some();
        Ok(Self {
            session: opened.session,
            ledger: opened.ledger,
            earlier: opened.earlier,
            kind: match yardstick {
                Yardstick::Sign | Yardstick::Classes(_) => Kind::Classes,
                Yardstick::Number => Kind::Number,
                Yardstick::Experts(_) => Kind::Experts,
            },
            board: (!output.quiet).then(|| Scoreboard::new(yardstick, length)),
            shadow: match compares {
                true => Some((
                    Shadow::new(&choice.recipe)?,
                    Scoreboard::new(yardstick, length),
                )),
                false => None,
            },
            curves: Curves::default(),
            progress: Progress::new(output.quiet || output.json),
            releases: match &output.releases {
                Some(path) => Some(Releases::open(path, output.resume)?),
                None => None,
            },
            last_sync: Instant::now(),
        })
    }

    /// One record: predicted, then learned from.
    fn take(&mut self, sealed: hushstream_read::Sealed) -> Result<()> {
        let record = sealed.record;
        if let Some(board) = &mut self.board {
            board.score(&record, self.session.question());
        }
        if let Some((shadow, board)) = &mut self.shadow {
            board.score(&record, shadow.weights());
            shadow.learn(&record)?;
        }
        // What the journal forgets at a checkpoint must have been written out.
        if self.session.checkpoint_is_due() || self.last_sync.elapsed() > GROUP {
            self.sync()?;
        }
        self.session.learn(sealed.person, record)?;
        let rounds = self.session.rounds();
        self.watch(rounds);
        Ok(())
    }

    fn watch(&mut self, rounds: u64) {
        let Some(board) = &mut self.board else { return };
        if self.shadow.is_some() && self.curves.is_due(rounds) {
            let shadow = self.shadow.as_ref().map(|(_, board)| board.summary());
            self.curves.add(rounds, &board.summary(), shadow.as_ref());
        }
        if self.progress.is_due(rounds) {
            self.progress.show(&board.summary());
            board.mark();
        }
    }

    fn sync(&mut self) -> Result<()> {
        let released = self.session.sync(&mut self.ledger)?;
        if let Some(file) = &mut self.releases {
            for release in &released {
                file.write(release)?;
            }
            file.sync()?;
        }
        self.last_sync = Instant::now();
        Ok(())
    }

    fn finish(
        mut self,
        arguments: &Arguments,
        layout: &Layout,
        choice: &Choice,
        rows: u64,
        time: Duration,
    ) -> Result<Outcome> {
        self.sync()?;
        let guarantee = self.session.guarantee()?;
        let name = choice.recipe.request().recipe.to_string();
        let length = data::situation(arguments, layout, choice.recipe.request().rounds)?.length;
        if let Some(path) = &arguments.output.model {
            // After a sync the iterate is a function of releases that may leave.
            let last = self.session.settled(&mut self.ledger)?;
            let model = Model::new(name, layout.clone(), length, last, guarantee.clone());
            files::write_whole(path, &model.to_bytes()?)?;
        }
        let mut outcome = self.outcome(layout, choice, guarantee, length, rows, time)?;
        if let Some(board) = &self.board {
            let summary = board.summary();
            let summary = *summary.for_the_operator();
            let shadow = self
                .shadow
                .as_ref()
                .map(|(_, board)| *board.summary().for_the_operator());
            let (nulls, clipped) = self.session.counts();
            outcome.tell(
                self.kind,
                &summary,
                shadow.as_ref(),
                *nulls.for_the_operator(),
                *clipped.for_the_operator(),
            );
            if let Some(path) = &arguments.output.report {
                let average = |summary| losses(self.kind, &summary).0;
                let page = report::page(&outcome, &self.curves, average, choice);
                files::write_whole(path, page.as_bytes())?;
            }
        }
        Ok(outcome)
    }

    fn outcome(
        &self,
        layout: &Layout,
        choice: &Choice,
        guarantee: hushstream_account::Guarantee,
        length: f64,
        rows: u64,
        time: Duration,
    ) -> Result<Outcome> {
        let recipe = &choice.recipe;
        let request = recipe.plan().request();
        let positive = |value: f64| (value > 0.0).then_some(value);
        let (epsilon, delta) = session::together(&self.ledger)?;
        let seconds = time.as_secs_f64();
        Ok(Outcome {
            recipe: recipe.request().recipe.to_string(),
            rounds: self.session.rounds(),
            dim: layout.dimension(),
            guarantee,
            ledger: Together {
                runs: self.earlier + 1,
                epsilon,
                delta,
                total_epsilon: self.ledger.budget().epsilon(),
                total_delta: self.ledger.budget().delta(),
            },
            parameters: Parameters {
                sum: request.kind.to_string(),
                noise: request.noise.to_string(),
                batch: request.batch,
                releases: request.releases,
                curvature: recipe.curvature(),
                learning_rate: positive(recipe.learning_rate()),
                ridge: positive(recipe.ridge()),
                length,
                noise_sd: recipe.plan().prefix_sd_max(),
                rows_until_signal: choice.rows_until_signal,
                reasons: choice.reasons.clone(),
            },
            loss: outcome::Loss::default(),
            accuracy: None,
            ranking: None,
            baselines: outcome::Baselines::default(),
            without_privacy: None,
            regret: outcome::Regret::default(),
            nulls: None,
            clipped: None,
            seconds,
            rows_per_second: rows as f64 / seconds.max(1e-9),
            peak_memory_bytes: memory::peak(),
            operator_only: Vec::new(),
        })
    }
}

/// The end of a run, in words.
fn conclude(outcome: &Outcome) {
    let figures = [
        ("average loss", outcome.loss.average),
        ("loss of the best constant", outcome.loss.baseline),
        ("loss of the best expert", outcome.loss.hindsight),
        ("accuracy", outcome.accuracy),
        (
            "accuracy of the commonest class",
            outcome.baselines.constant,
        ),
        ("accuracy of no change", outcome.baselines.no_change),
        ("positive scored above negative", outcome.ranking),
        (
            "loss without privacy",
            outcome.without_privacy.as_ref().map(|other| other.loss),
        ),
        (
            "accuracy without privacy",
            outcome
                .without_privacy
                .as_ref()
                .and_then(|other| other.accuracy),
        ),
    ];
    if outcome.loss.average.is_some() {
        eprintln!("\noperator only: computed from private data");
        for (name, value) in figures {
            if let Some(value) = value {
                eprintln!("  {name:<34} {value:.6}");
            }
        }
        let count = |value: Option<u64>| grouped(value.unwrap_or(0));
        eprintln!(
            "  records clipped {}, empty {}",
            count(outcome.clipped),
            count(outcome.nulls)
        );
    }
    eprintln!(
        "{} records in {} s, {} a second\n",
        grouped(outcome.rounds),
        short(outcome.seconds),
        grouped(outcome.rows_per_second as u64)
    );
    println!("{}", outcome.guarantee);
    if outcome.ledger.runs > 1 {
        println!(
            "Together with {} earlier run{} on this ledger: (ε, δ) = ({:.4}, {}), of a total of ({}, {}).",
            outcome.ledger.runs - 1,
            if outcome.ledger.runs == 2 { "" } else { "s" },
            outcome.ledger.epsilon,
            delta(outcome.ledger.delta),
            outcome.ledger.total_epsilon,
            delta(outcome.ledger.total_delta),
        );
    }
}
