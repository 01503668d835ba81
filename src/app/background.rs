//! Threads for background work, in which a panic is an ordinary error.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::app::event::TaskError;

/// Starts a thread that runs to its end unobserved. The error contains its name.
pub(super) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), TaskError> {
    let spawned = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    spawned.map(drop).map_err(|error| TaskError::Failed(format!("cannot start the thread \"{name}\": {error}")))
}

/// Runs work, and converts a panic to an error, so that it does not end the window.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, TaskError>) -> Result<T, TaskError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        Err(TaskError::Failed(format!("internal error, please report it: {}", panic_text(&*panic))))
    })
}

/// Runs work on a thread. Sends its result, or why it has none: a panic, or a thread that cannot start.
pub(super) fn spawn_task<T, E: 'static>(
    name: &str,
    send: &Arc<dyn Fn(E) + Send + Sync>,
    to_event: impl FnOnce(Result<T, TaskError>) -> E + Clone + Send + 'static,
    work: impl FnOnce() -> Result<T, TaskError> + Send + 'static,
) {
    let (send_result, result_to_event) = (Arc::clone(send), to_event.clone());
    if let Err(error) = spawn(name, move || send_result(result_to_event(guarded(work)))) {
        send(to_event(Err(error)));
    }
}

/// Returns the message of a panic; empty if it has none.
pub(super) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_background_work_is_an_error() {
        let fixed: Result<(), _> = guarded(|| panic!("index out of bounds"));
        let formatted: Result<(), _> = guarded(|| panic!("index {} out of bounds", std::hint::black_box(1)));
        let failed = |text: &str| Err(TaskError::Failed(format!("internal error, please report it: {text}")));
        assert_eq!([fixed, formatted], ["index out of bounds", "index 1 out of bounds"].map(failed));
    }

    #[test]
    fn a_task_sends_one_event_even_if_it_panics() {
        for panics in [false, true] {
            let (sender, events) = std::sync::mpsc::channel();
            let send: Arc<dyn Fn(Result<u8, TaskError>) + Send + Sync> =
                Arc::new(move |event| sender.send(event).unwrap());
            spawn_task("test", &send, |result| result, move || if panics { panic!("of the test") } else { Ok(3) });
            drop(send);
            let sent: Vec<_> = events.into_iter().collect();
            assert_eq!((sent.len(), sent[0].is_err()), (1, panics), "{sent:?}");
        }
    }
}
