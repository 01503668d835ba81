//! Threads that the system may refuse, such as at a process limit. The work then continues on fewer threads, at least
//! on the calling one.

use std::io;
use std::sync::Mutex;
use std::thread::{self, Builder, JoinHandle, Scope, ScopedJoinHandle};
use std::time::Duration;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// Starts a named thread that may outlive the caller.
///
/// # Errors
/// Returns the error of the system if it refuses the thread.
pub(crate) fn start<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    #[cfg(test)]
    tests::ask()?;
    Builder::new().name(name.to_owned()).spawn(work)
}

/// Starts a thread of a scope.
///
/// # Errors
/// Returns the error of the system if it refuses the thread.
pub(crate) fn start_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    #[cfg(test)]
    tests::ask()?;
    Builder::new().name(name.to_owned()).spawn_scoped(scope, work)
}

/// Starts the threads of all queries: one per core up to `limit`, or fewer if the system refuses as many. Without this,
/// the first query starts them, and panics if it cannot.
///
/// # Errors
/// Returns the error of the system if it refuses every thread.
pub(crate) fn start_query_threads(limit: usize) -> io::Result<()> {
    /// Time in which threads that have ended leave the count of the system.
    const LEAVING: Duration = Duration::from_millis(10);
    let wanted = thread::available_parallelism().map_or(1, usize::from).min(limit);
    let started = count_startable(wanted + 1)?;
    let mut count = wanted;
    if started <= wanted {
        thread::sleep(LEAVING);
        // The rest is left to loads.
        count = (started / 2).max(1);
    }
    let pool = ThreadPoolBuilder::new().num_threads(count).thread_name(|number| format!("query {number}"));
    match pool.build_global() {
        // Without a source, the threads run already.
        Err(error) if std::error::Error::source(&error).is_some() => Err(io::Error::other(error)),
        _ => Ok(()),
    }
}

/// Moves the parallel work of the calling thread to a pool of its own, until the thread ends. A frame would otherwise
/// wait for long queries, because their threads finish these before they take work of others.
///
/// The calling thread is one of the pool, which has as many as the pool of queries. The others sleep between frames.
/// Returns `None` if the system refuses them; the calling thread then works alone. Dropping the pool ends them.
pub(crate) fn start_frame_threads() -> Option<ThreadPool> {
    let count = rayon::current_num_threads();
    let pool = ThreadPoolBuilder::new().num_threads(count).use_current_thread();
    let pool = pool.spawn_handler(|thread| start(&format!("frame {}", thread.index()), move || thread.run()).map(drop));
    pool.build().ok()
}

/// Returns how many threads can run at once, up to `wanted`.
///
/// # Errors
/// Returns the error of the system if it refuses every thread.
fn count_startable(wanted: usize) -> io::Result<usize> {
    let gate = Mutex::new(());
    thread::scope(|scope| {
        let held = gate.lock();
        let mut threads = Vec::new();
        while threads.len() < wanted {
            match start_scoped(scope, "probe", || drop(gate.lock())) {
                Ok(thread) => threads.push(thread),
                Err(error) if threads.is_empty() => return Err(error),
                Err(_) => break,
            }
        }
        drop(held);
        let count = threads.len();
        // The scope alone would not wait for their end in the system.
        threads.into_iter().for_each(|thread| drop(thread.join()));
        Ok(count)
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;

    use rayon::prelude::*;

    use super::*;

    thread_local! {
        /// Number of threads that may still be started from this one.
        static LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
    }

    /// Refuses a thread beyond the count of [`with_only`].
    pub(super) fn ask() -> io::Result<()> {
        let left = LEFT.get().checked_sub(1).ok_or(io::ErrorKind::WouldBlock)?;
        LEFT.set(left);
        Ok(())
    }

    /// Runs `work`, during which this thread can start `count` threads.
    pub(crate) fn with_only<R>(count: usize, work: impl FnOnce() -> R) -> R {
        LEFT.set(count);
        let result = work();
        LEFT.set(usize::MAX);
        result
    }

    #[test]
    fn threads_are_counted_up_to_the_refusal_and_none_is_an_error() {
        assert_eq!(count_startable(3).unwrap(), 3);
        assert_eq!(with_only(2, || count_startable(3)).unwrap(), 2);
        assert!(with_only(0, || count_startable(3)).is_err());
        assert!(with_only(0, || start_query_threads(usize::MAX)).is_err());
        assert!(start_query_threads(2).is_ok() && start_query_threads(1).is_ok(), "they may run already");
    }
    #[test]
    fn frames_are_built_on_one_thread_if_the_system_refuses_more() {
        // The pool would keep the thread of the test, so another thread joins it.
        let sum = thread::spawn(|| {
            let pool = with_only(0, start_frame_threads);
            assert_eq!(pool.is_none(), rayon::current_num_threads() > 1);
            (0..1000_u64).into_par_iter().sum::<u64>()
        });
        assert_eq!(sum.join().unwrap(), 499_500);
    }
}
