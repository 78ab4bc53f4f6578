//! What a node does about a store that others write too: it hears what they commit, does what is
//! due, takes over what nobody learns, and keeps its own leases.

use crate::app::{App, feed};
use crate::problem::Problem;
use crate::store::Touches;
use hushstream_postgres::{Error, Told};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How often it looks for what is due.
const DUE: Duration = Duration::from_millis(50);
/// How often it looks for what it was not told of.
const ALL: Duration = Duration::from_secs(1);

/// The threads: one follows, one keeps leases.
pub(crate) struct Follower {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Follower {
    /// Starts them.
    ///
    /// # Errors
    /// No threads.
    pub(crate) fn start(app: &Arc<App>) -> std::io::Result<Self> {
        let stop = Arc::<AtomicBool>::default();
        let Some(shared) = app.shared.clone() else {
            let threads = Vec::new();
            return Ok(Self { stop, threads });
        };
        let lease = shared.store.lease() / 3;
        let told = shared.store.watch();
        let (own, is_over) = (Arc::downgrade(app), Arc::clone(&stop));
        let named = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let follow = named("follower").spawn(move || follow(&own, &told, &is_over))?;
        let is_over = Arc::clone(&stop);
        let keep = named("leases").spawn(move || {
            let mut last = Instant::now();
            while !is_over.load(Ordering::SeqCst) {
                std::thread::sleep(DUE.min(lease));
                if last.elapsed() >= lease {
                    last = Instant::now();
                    shared.renew();
                }
            }
        })?;
        let threads = vec![follow, keep];
        Ok(Self { stop, threads })
    }

    /// Ends them.
    pub(crate) fn stop(self) {
        self.stop.store(true, Ordering::SeqCst);
        for thread in self.threads {
            // The last owner of the server may be one of them.
            if thread.thread().id() != std::thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

fn follow(app: &Weak<App>, told: &Receiver<Told>, stop: &AtomicBool) {
    let mut due: Option<oneshot::Receiver<Result<(), Problem>>> = None;
    let (mut looked, mut asked) = (Instant::now(), Instant::now());
    while !stop.load(Ordering::SeqCst) {
        let heard = match told.recv_timeout(DUE) {
            Ok(heard) => Some(heard),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(DUE);
                None
            }
        };
        let Some(app) = app.upgrade() else {
            return;
        };
        if let Some(heard) = heard
            && !hear(&app, heard)
        {
            return;
        }
        if looked.elapsed() < DUE {
            continue;
        }
        looked = Instant::now();
        let is_full = asked.elapsed() >= ALL;
        if is_full {
            asked = looked;
        }
        let is_done = match &mut due {
            Some(waiting) => {
                !matches!(waiting.try_recv(), Err(oneshot::error::TryRecvError::Empty))
            }
            None => true,
        };
        if let Err(error) = look(&app, &mut due, is_done, is_full) {
            tracing::warn!(%error, "the database cannot be read");
        }
    }
}

/// Does what is due, in a tick that touches it; and every second looks at everything.
fn look(
    app: &Arc<App>,
    due: &mut Option<oneshot::Receiver<Result<(), Problem>>>,
    is_done: bool,
    is_full: bool,
) -> Result<(), crate::store::StoreError> {
    let Some(shared) = &app.shared else {
        return Ok(());
    };
    if is_full {
        app.clock.set(shared.time()?);
        shared.follow()?;
    }
    let waiting = shared.waiting(app.clock.now())?;
    if is_done && !waiting.due.is_empty() {
        let mut touches = Touches::default();
        touches.models.extend(waiting.due.iter().take(64));
        *due = Some(app.committer.send(touches));
    }
    if is_full {
        for model in waiting.behind {
            if let Some(row) = shared.numbered(model) {
                feed(&app.workers, app.db.as_ref(), &row);
            }
        }
    }
    Ok(())
}

/// Hears of a commit; false if this database is not the one that was known.
fn hear(app: &Arc<App>, heard: Told) -> bool {
    let Some(shared) = &app.shared else {
        return false;
    };
    let (from, what) = match heard {
        Told::Watching => {
            // A connection was lost: the database may have been replaced.
            if let Err(Error::Refused(told)) = shared.witness.check() {
                tracing::error!(told, "this node takes nothing more");
                app.committer.fail();
                return false;
            }
            app.policies.forget();
            return true;
        }
        Told::Said { from, what } => (from, what),
        Told::Released { .. } => return true,
    };
    let is_own = from == shared.store.holder();
    let mut words = what.split(' ');
    let word = words.next().unwrap_or_default();
    let numbers: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
    let done = match (word, numbers.as_slice()) {
        ("settings", []) if !is_own => shared.follow().map_err(Problem::from),
        ("wanted", [dataset]) if !is_own => {
            app.workers.send(*dataset, |actor| actor.let_go());
            Ok(())
        }
        ("closed", [model, batch, at]) if !is_own => {
            if let Some(row) = shared.numbered(*model) {
                app.hub.closed(&row, *batch, *at);
                feed(&app.workers, app.db.as_ref(), &row);
            }
            Ok(())
        }
        ("released", [model, _]) if !is_own => released(app, *model),
        _ => Ok(()),
    };
    if let Err(problem) = done {
        tracing::warn!(
            problem.detail,
            word,
            "what another node said was not followed"
        );
    }
    true
}

/// Answers with another node's release.
fn released(app: &Arc<App>, model: u64) -> Result<(), Problem> {
    let Some(shared) = &app.shared else {
        return Ok(());
    };
    let Some(row) = shared.numbered(model) else {
        return Ok(());
    };
    let serving = app.policies.renew(&row)?;
    app.hub.released(&row, &serving);
    if serving.published.version >= row.rounds.batches {
        app.hub.finished(&row, app.clock.now());
    }
    Ok(())
}
