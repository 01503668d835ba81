//! Runs independent jobs on several threads, a few ahead, and delivers their results in order. Results do not depend on
//! the number of threads.

use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use crate::base::threads::start_scoped;

/// Jobs per thread that are queued, or done and waiting for their turn, so that no thread waits for a slow job of
/// another.
const AHEAD_OF_THREAD: usize = 2;

#[cfg(test)]
thread_local! {
    /// Number of threads that readers have started from this one.
    pub(crate) static STARTED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Reports to tests that a reader starts `count` threads from this one.
#[inline]
pub(crate) fn count_threads(count: usize) {
    #[cfg(test)]
    STARTED.set(STARTED.get() + count);
    _ = count;
}

/// Returns the number of jobs that may be in flight with `threads` threads.
#[must_use]
pub(crate) fn jobs_ahead(threads: usize) -> usize {
    AHEAD_OF_THREAD * threads + 1
}

/// Runs `work` on the jobs that `next` returns, at most `ahead` at a time, and passes the results to `take` in order.
/// Fails with the first error of `take`, and then starts no more jobs.
///
/// `next` runs on its own thread, and `work` on `threads` threads, or on fewer if the system refuses some. With fewer
/// than two threads, everything runs on the calling thread.
pub(crate) fn in_order<J: Send, D: Send, E>(
    (threads, ahead): (usize, usize),
    mut next: impl FnMut() -> Option<J> + Send,
    work: impl Fn(J) -> D + Sync,
    mut take: impl FnMut(D) -> Result<(), E>,
) -> Result<(), E> {
    if threads > 1
        && let Some(all) = on_threads((threads, ahead), &mut next, &work, &mut take)
    {
        return all;
    }
    while let Some(job) = next() {
        take(work(job))?;
    }
    Ok(())
}

/// Does the work of [`in_order`] on other threads. Returns `None`, and begins no job, if they cannot be started.
fn on_threads<J: Send, D: Send, E>(
    (threads, ahead): (usize, usize),
    next: &mut (impl FnMut() -> Option<J> + Send),
    work: &(impl Fn(J) -> D + Sync),
    take: &mut impl FnMut(D) -> Result<(), E>,
) -> Option<Result<(), E>> {
    count_threads(threads + 1);
    thread::scope(|scope| {
        let (tickets, in_order) = bounded(ahead);
        let (jobs, waiting) = unbounded::<(J, Sender<D>)>();
        let start_worker = || {
            let waiting = waiting.clone();
            // The receiver is gone once `take` has failed.
            let run = move || waiting.iter().for_each(|(job, reply)| drop(reply.send(work(job))));
            start_scoped(scope, "parse", run).ok()
        };
        start_worker()?;
        let read = move || {
            while let Some(job) = next() {
                let (reply, done) = bounded(1);
                // The ticket is sent first, since its queue bounds the jobs in flight.
                if tickets.send(done).is_err() || jobs.send((job, reply)).is_err() {
                    return;
                }
            }
        };
        start_scoped(scope, "read", read).ok()?;
        // Fewer workers take longer.
        let _refused = (1..threads).any(|_| start_worker().is_none());
        Some(take_each(&in_order, take))
    })
}

fn take_each<D, E>(in_order: &Receiver<Receiver<D>>, take: &mut impl FnMut(D) -> Result<(), E>) -> Result<(), E> {
    for ticket in in_order {
        // A worker replies unless it panicked, and the scope propagates panics.
        if let Ok(done) = ticket.recv() {
            take(done)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::base::threads::tests::with_only;

    #[test]
    fn results_arrive_in_order_and_jobs_in_flight_are_bounded() {
        for threads in [1, 2, 5] {
            let (begun, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let next = || {
                let job = begun.fetch_add(1, Ordering::SeqCst);
                // One more is started before it finds no room, and one result is being passed on.
                assert!(job <= taken.load(Ordering::SeqCst) + jobs_ahead(threads) + 1);
                (job < 1000).then_some(job)
            };
            let work = |job: usize| {
                if job.is_multiple_of(7) {
                    thread::yield_now();
                }
                job * 3
            };
            let all = in_order((threads, jobs_ahead(threads)), next, work, |done| {
                assert_eq!(done, 3 * taken.fetch_add(1, Ordering::SeqCst));
                Ok::<_, ()>(())
            });
            assert_eq!((all, taken.into_inner()), (Ok(()), 1000));
        }
    }

    #[test]
    fn the_work_is_done_by_the_threads_that_the_system_starts() {
        for startable in 0..5 {
            let (mut jobs, mut taken) = (0..100, Vec::new());
            let all = with_only(startable, || {
                in_order(
                    (3, 2),
                    || jobs.next(),
                    |job| job * 3,
                    |done| {
                        taken.push(done);
                        Ok::<_, ()>(())
                    },
                )
            });
            assert_eq!((all, taken), (Ok(()), (0..100).map(|job| job * 3).collect()), "{startable}");
        }
    }

    #[test]
    fn a_failure_to_take_ends_an_endless_capture() {
        for threads in [1, 3] {
            let failed = in_order((threads, 2), || Some(()), |()| (), |()| Err("full"));
            assert_eq!(failed, Err("full"));
        }
    }
}
