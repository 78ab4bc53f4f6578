//! Work on as many threads as the machine has.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The jobs' results, in order.
///
/// # Errors
/// One of the jobs' own.
pub fn in_parallel<J: Sync, R: Send, E: Send>(
    jobs: &[J],
    work: impl Fn(&J) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let mut done = std::thread::scope(|scope| {
        let worker = || {
            let mut mine = Vec::new();
            while let index = next.fetch_add(1, Ordering::Relaxed)
                && let Some(job) = jobs.get(index)
            {
                mine.push((index, work(job)?));
            }
            Ok(mine)
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        let mut all = Vec::new();
        for worker in workers {
            all.extend(worker.join().expect("a job does not panic")?);
        }
        Ok(all)
    })?;
    done.sort_by_key(|(index, _)| *index);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}
