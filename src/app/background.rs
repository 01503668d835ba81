//! Threads for background work, in which a panic is an ordinary error.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::app::event::TaskError;

/// Starts a thread that runs to its end unobserved. The error contains its name.
pub(super) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), TaskError> {
    let spawned = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    spawned.map(drop).map_err(|error| TaskError::Failed(format!("cannot start the thread \"{name}\": {error}")))
}

/// Runs work, and converts a panic to an error, so that it does not end the window.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, TaskError>) -> Result<T, TaskError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let reason = panic.downcast_ref::<&str>().map(ToString::to_string);
        let reason = reason.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(TaskError::Failed(format!("internal error, please report it: {reason}")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_background_work_is_an_error() {
        let result: Result<(), _> = guarded(|| panic!("index out of bounds"));
        assert!(matches!(result, Err(TaskError::Failed(message)) if message.contains("index out of bounds")));
    }
}
