//! Figures of the papers, played again.

pub mod afkt1;
pub mod jkt2a;
pub mod jkt2b;
pub mod jkt2c;

use crate::play::ArenaError;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The jobs' results in order, on as many threads as the machine has.
fn in_parallel<J: Sync, R: Send>(
    jobs: &[J],
    work: impl Fn(&J) -> Result<R, ArenaError> + Sync,
) -> Result<Vec<R>, ArenaError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let mut done = std::thread::scope(|scope| {
        let worker = || {
            let mut mine = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(job) = jobs.get(index) else {
                    return Ok::<_, ArenaError>(mine);
                };
                mine.push((index, work(job)?));
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        let mut all = Vec::new();
        for worker in workers {
            all.extend(worker.join().expect("a game does not panic")?);
        }
        Ok::<_, ArenaError>(all)
    })?;
    done.sort_by_key(|(index, _)| *index);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}
