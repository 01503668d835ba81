//! Writes of saved state in the background: one at a time, in the order of their start. Readers of the state and the
//! end of the program wait for them.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::base::threads;

type Write = Box<dyn FnOnce() + Send>;

/// The writes that have started. Clones share them.
#[derive(Clone, Default)]
pub(super) struct BackgroundWrites(Arc<WriteQueue>);

#[derive(Default)]
struct WriteQueue {
    state: Mutex<QueueState>,
    /// Notified when no write is left.
    idle: Condvar,
}

#[derive(Default)]
struct QueueState {
    waiting: VecDeque<Write>,
    is_running: bool,
}

impl BackgroundWrites {
    /// Runs a write after all earlier ones. If the system refuses a thread, it runs at once.
    pub(super) fn start(&self, write: impl FnOnce() + Send + 'static) {
        let mut state = self.0.lock();
        state.waiting.push_back(Box::new(write));
        let is_running = std::mem::replace(&mut state.is_running, true);
        drop(state);
        if is_running {
            return;
        }
        let queue = Arc::clone(&self.0);
        if threads::start("keep", move || queue.run()).is_err() {
            self.0.run();
        }
    }

    /// Waits until all writes have ended.
    pub(super) fn wait(&self) {
        let state = self.0.lock();
        drop(self.0.idle.wait_while(state, |state| state.is_running));
    }
}

impl WriteQueue {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        // No code panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs writes until none is left.
    fn run(&self) {
        loop {
            let mut state = self.lock();
            let Some(write) = state.waiting.pop_front() else {
                state.is_running = false;
                self.idle.notify_all();
                return;
            };
            drop(state);
            // A panic costs one write, not the following ones.
            catch_unwind(AssertUnwindSafe(write)).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_run_in_the_order_of_their_start_also_after_one_that_panics() {
        let (writes, done) = (BackgroundWrites::default(), Arc::new(Mutex::new(Vec::new())));
        writes.wait();
        for number in 0..100 {
            let done = Arc::clone(&done);
            writes.start(move || {
                assert!(number % 10 != 3, "as a test wants");
                done.lock().unwrap().push(number);
            });
        }
        writes.wait();
        let expected: Vec<_> = (0..100).filter(|number| number % 10 != 3).collect();
        assert_eq!(*done.lock().unwrap(), expected);
    }
}
