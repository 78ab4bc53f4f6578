//! Threads that data sets are spread over: everything about one data set happens on one of them, in
//! order.

use super::actor::{Actor, Context};
use crate::problem::Problem;
use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use tokio::sync::oneshot;

type Job = (u64, Box<dyn FnOnce(&mut Actor) + Send>);

/// The threads.
pub struct Workers {
    senders: Mutex<Vec<Sender<Job>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Workers {
    /// Starts so many threads.
    ///
    /// # Errors
    /// No threads.
    pub fn start(count: usize, context: &Arc<Context>) -> std::io::Result<Self> {
        let (mut senders, mut threads) = (Vec::new(), Vec::new());
        for number in 0..count.max(1) {
            let (sender, jobs) = channel::<Job>();
            let context = Arc::clone(context);
            let thread = std::thread::Builder::new().name(format!("learner-{number}"));
            threads.push(thread.spawn(move || work(&jobs, &context))?);
            senders.push(sender);
        }
        Ok(Self {
            senders: Mutex::new(senders),
            threads: Mutex::new(threads),
        })
    }

    /// Has the actor of a data set do something.
    pub fn send(&self, dataset: u64, job: impl FnOnce(&mut Actor) + Send + 'static) {
        let senders = self.senders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = senders.get((dataset % senders.len().max(1) as u64) as usize) {
            // A thread that is gone drops the job, and its caller gets an error.
            let _ = sender.send((dataset, Box::new(job)));
        }
    }

    /// The same, and gives the job's result. After a failure, which no refusal is, the data set
    /// begins anew from what is durable.
    ///
    /// # Errors
    /// The job's own; 503 if its thread is gone.
    pub async fn ask<R: Send + 'static>(
        &self,
        dataset: u64,
        job: impl FnOnce(&mut Actor) -> Result<R, Problem> + Send + 'static,
    ) -> Result<R, Problem> {
        let (reply, waiting) = oneshot::channel();
        self.send(dataset, move |actor| {
            let done = job(actor);
            if done.as_ref().is_err_and(|problem| problem.status() >= 500) {
                actor.let_go();
            }
            let _ = reply.send(done);
        });
        let gone = || Problem::unavailable("the server stops, or the data set has failed");
        waiting.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Finishes what is queued, and ends the threads.
    pub fn stop(&self) {
        let take = |senders: &Mutex<Vec<Sender<Job>>>| {
            std::mem::take(&mut *senders.lock().unwrap_or_else(PoisonError::into_inner))
        };
        drop(take(&self.senders));
        let threads =
            std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            let _ = thread.join();
        }
    }
}

fn work(jobs: &Receiver<Job>, context: &Arc<Context>) {
    let mut actors: HashMap<u64, Actor> = HashMap::new();
    for number in 1.. {
        let Ok((dataset, job)) = jobs.recv() else {
            return;
        };
        let actor = actors
            .entry(dataset)
            .or_insert_with(|| Actor::new(dataset, Arc::clone(context)));
        // A panic ends one data set, not the node: its journals say where it was.
        let run = std::panic::AssertUnwindSafe(|| job(actor.at(number)));
        if std::panic::catch_unwind(run).is_err() {
            tracing::error!(
                dataset,
                "a data set panicked: it begins anew from its journals"
            );
            actors.remove(&dataset);
        }
        close_some(&mut actors, context.open);
    }
}

/// Closes what was used longest ago, until no more is open than may be: memory and open files do
/// not grow with the number of models.
fn close_some(actors: &mut HashMap<u64, Actor>, most: usize) {
    let mut open: usize = actors.values().map(Actor::open_count).sum();
    while open > most {
        let oldest = actors
            .iter_mut()
            .filter(|(_, actor)| actor.open_count() > 0);
        let Some((_, actor)) = oldest.min_by_key(|(_, actor)| actor.oldest()) else {
            return;
        };
        actor.close_oldest();
        open -= 1;
    }
    actors.retain(|_, actor| actor.open_count() > 0);
}
