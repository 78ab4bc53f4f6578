//! The one thread that writes: it gathers operations, commits them together, and answers each.

use super::StoreError;
use super::backend::Touches;
use super::core::{After, Core, Op, Tx};
use crate::clock::Clock;
use crate::problem::Problem;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

/// Which queue an operation waits in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// Decisions and records: as many as there is room for, see [`Room`](crate::auth::Room).
    Decisions,
    /// Rewards, targets, activations, and everything else: never turned away. Their number is
    /// bounded by the connections, and decisions do not count them.
    Others,
}

/// Limits of the queues.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Decisions that may be in progress.
    pub waiting: usize,
    /// The longest time to gather decisions while there are many.
    pub window: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            waiting: 512,
            window: Duration::from_millis(4),
        }
    }
}

#[derive(Default)]
struct Queues {
    decisions: Vec<(Touches, Op)>,
    others: Vec<(Touches, Op)>,
    is_stopping: bool,
    /// How many operations the sleeping thread waits for; none while it writes.
    awaited: Option<usize>,
}

impl Queues {
    fn len(&self) -> usize {
        self.decisions.len() + self.others.len()
    }
}

struct Shared {
    queues: Mutex<Queues>,
    came: Condvar,
    limits: Limits,
    has_failed: AtomicBool,
    is_away: AtomicBool,
    commits: AtomicU64,
    committed: AtomicU64,
}

/// Calls what has to be done with closed batches.
pub type OnAfter = Box<dyn FnMut(After) + Send>;

/// The committer's handle.
pub struct Committer {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Committer {
    /// Starts the thread.
    ///
    /// # Errors
    /// No thread.
    pub fn start(
        core: Core,
        clock: Arc<dyn Clock>,
        limits: Limits,
        on_after: OnAfter,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            queues: Mutex::default(),
            came: Condvar::new(),
            limits,
            has_failed: AtomicBool::new(false),
            is_away: AtomicBool::new(false),
            commits: AtomicU64::new(0),
            committed: AtomicU64::new(0),
        });
        let own = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("committer".to_owned());
        let thread = thread.spawn(move || {
            // A panic is a failure of the store too: waiting callers get an error.
            let run = std::panic::AssertUnwindSafe(|| work(core, &own, clock.as_ref(), on_after));
            let failed = match std::panic::catch_unwind(run) {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(error.to_string()),
                Err(_) => Some("a panic".to_owned()),
            };
            if let Some(failed) = failed {
                tracing::error!(%failed, "the store failed: nothing more is taken");
                own.has_failed.store(true, Ordering::SeqCst);
            }
            let mut queues = own.lock();
            queues.is_stopping = true;
            queues.decisions.clear();
            queues.others.clear();
        })?;
        Ok(Self {
            shared,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Runs an operation in the next commit, and gives what it returns once that is durable.
    ///
    /// # Errors
    /// The operation's own; 503 if the store has failed or is being closed.
    pub async fn write<R: Send + 'static>(
        &self,
        lane: Lane,
        touches: Touches,
        f: impl FnOnce(&mut Tx<'_>) -> Result<Result<R, Problem>, StoreError> + Send + 'static,
    ) -> Result<R, Problem> {
        let waiting = self.submit(lane, touches, f);
        waiting.await.unwrap_or_else(|_| Err(self.gone()))
    }

    /// The same for a thread that may wait.
    ///
    /// # Errors
    /// As [`Committer::write`].
    pub fn write_blocking<R: Send + 'static>(
        &self,
        touches: Touches,
        f: impl FnOnce(&mut Tx<'_>) -> Result<Result<R, Problem>, StoreError> + Send + 'static,
    ) -> Result<R, Problem> {
        let waiting = self.submit(Lane::Others, touches, f);
        waiting.blocking_recv().unwrap_or_else(|_| Err(self.gone()))
    }

    /// Does what is due of these models, and tells when it is done.
    pub(crate) fn send(&self, touches: Touches) -> oneshot::Receiver<Result<(), Problem>> {
        self.submit(Lane::Others, touches, |_| Ok(Ok(())))
    }

    fn submit<R: Send + 'static>(
        &self,
        lane: Lane,
        touches: Touches,
        f: impl FnOnce(&mut Tx<'_>) -> Result<Result<R, Problem>, StoreError> + Send + 'static,
    ) -> oneshot::Receiver<Result<R, Problem>> {
        let (reply, waiting) = oneshot::channel();
        let op: Op = Box::new(move |tx| {
            let result = f(tx)?;
            Ok(After::Call(Box::new(move || {
                // Nobody waits any more: the connection is gone.
                let _ = reply.send(result);
            })))
        });
        let mut queues = self.shared.lock();
        if queues.is_stopping {
            return waiting;
        }
        match lane {
            Lane::Others => queues.others.push((touches, op)),
            Lane::Decisions => queues.decisions.push((touches, op)),
        }
        let wakes = queues
            .awaited
            .is_some_and(|awaited| queues.len() >= awaited);
        drop(queues);
        if wakes {
            self.shared.came.notify_one();
        }
        waiting
    }

    fn gone(&self) -> Problem {
        Problem::unavailable(if self.shared.is_away.load(Ordering::SeqCst) {
            "the database did not answer: ask again, with the same id"
        } else {
            "the store does not take anything: see the server's log"
        })
    }

    /// Whether the store has failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.shared.has_failed.load(Ordering::SeqCst)
    }

    /// Whether requests can be answered: the store has not failed, and the last commit did not.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        !self.has_failed() && !self.shared.is_away.load(Ordering::SeqCst)
    }

    /// Takes nothing more: the database is not the one that this node has seen.
    pub(crate) fn fail(&self) {
        self.shared.has_failed.store(true, Ordering::SeqCst);
        let mut queues = self.shared.lock();
        queues.is_stopping = true;
        queues.decisions.clear();
        queues.others.clear();
        drop(queues);
        self.shared.came.notify_one();
    }

    /// Commits, and operations in them, since the start.
    #[must_use]
    pub fn commits(&self) -> (u64, u64) {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (read(&self.shared.commits), read(&self.shared.committed))
    }

    /// Lets the thread look at its clock.
    pub fn wake(&self) {
        self.shared.came.notify_one();
    }

    /// Commits what waits, and ends the thread.
    pub fn stop(&self) {
        self.shared.lock().is_stopping = true;
        self.shared.came.notify_one();
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Drop for Committer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// So few operations are written at once, without patience.
const FEW: usize = 8;

fn work(
    mut core: Core,
    shared: &Shared,
    clock: &dyn Clock,
    mut on_after: OnAfter,
) -> Result<(), StoreError> {
    // The longest sleep: a manual clock and a machine's clock may be moved.
    let longest = Duration::from_millis(200);
    let mut last = 0;
    loop {
        let ops = {
            let mut queues = shared.lock();
            // While there are many, a little patience makes commits larger. Those of the last
            // commit are being answered, or ask again: when half of all wait, they are written
            // while the others are read and answered, so that neither the disk nor the processors
            // have nothing to do.
            let goal = (last + queues.len()) / 2;
            if last > FEW && queues.len() < goal {
                queues.awaited = Some(goal);
                let few = |queues: &mut Queues| !queues.is_stopping && queues.len() < goal;
                let window = shared.limits.window;
                let waited = shared.came.wait_timeout_while(queues, window, few);
                queues = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            queues.awaited = Some(1);
            while queues.decisions.is_empty() && queues.others.is_empty() && !queues.is_stopping {
                let due = core.next_due();
                let now = clock.now();
                if due.is_some_and(|due| due <= now) {
                    break;
                }
                let until = due.map_or(longest, |due| Duration::from_millis(due - now));
                let waited = shared.came.wait_timeout(queues, until.min(longest));
                queues = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            let is_over =
                queues.is_stopping && queues.decisions.is_empty() && queues.others.is_empty();
            if is_over {
                return Ok(());
            }
            queues.awaited = None;
            let mut ops = std::mem::take(&mut queues.others);
            ops.append(&mut queues.decisions);
            ops
        };
        let count = ops.len();
        last = count;
        let (mut touches, mut all) = (Touches::default(), Vec::with_capacity(count));
        for (own, op) in ops {
            touches.merge(own);
            all.push(op);
        }
        let after = match core.tick_on(clock.now(), &touches, all) {
            Ok(after) => after,
            // Its callers are told that it failed; whether it is durable, they find out by asking
            // again. The next commit looks at the database anew.
            Err(error) if core.is_shared() => {
                tracing::warn!(%error, "a commit failed");
                shared.is_away.store(true, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(20));
                continue;
            }
            Err(error) => return Err(error),
        };
        shared.is_away.store(false, Ordering::SeqCst);
        shared.commits.fetch_add(1, Ordering::Relaxed);
        shared.committed.fetch_add(count as u64, Ordering::Relaxed);
        for done in after {
            match done {
                After::Call(call) => call(),
                closed @ After::Closed { .. } => on_after(closed),
            }
        }
    }
}
