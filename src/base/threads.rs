//! Threads that the system may refuse, such as at a process limit. The work then continues on fewer threads, at least
//! on the calling one.

use std::io;
use std::sync::Mutex;
use std::thread::{self, Builder, JoinHandle, Scope, ScopedJoinHandle};
use std::time::Duration;

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
    let pool = rayon::ThreadPoolBuilder::new().num_threads(count).thread_name(|number| format!("query {number}"));
    match pool.build_global() {
        // Without a source, the threads run already.
        Err(error) if std::error::Error::source(&error).is_some() => Err(io::Error::other(error)),
        _ => Ok(()),
    }
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

    use super::*;

    thread_local! {
        /// Number of threads that may still be started from this one.
        static LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
    }

    /// Refuses a thread beyond those of [`with_only`].
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
}
