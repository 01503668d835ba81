//! Handles signals that end the program: removes its temporary files, then ends it as without a handler. A write beyond
//! the file size limit becomes an error. Signals ignored by the parent process stay ignored.

#[cfg(unix)]
use std::sync::Arc;
use std::sync::OnceLock;
#[cfg(unix)]
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(unix)]
use std::time::{Duration, Instant};

use super::cancel::Cancel;
use super::hex::hex_number;

/// The work that the first signal cancels, instead of ending the program.
static TO_STOP: OnceLock<ToStop> = OnceLock::new();

/// Time in which further signals belong to the first request. `timeout` signals the program and its process group, and
/// both signals arrive within milliseconds.
#[cfg(unix)]
const ONE_REQUEST: Duration = Duration::from_millis(500);

/// Time limit for printing which files remain.
#[cfg(unix)]
const SAY_TIME: Duration = Duration::from_secs(1);

#[cfg_attr(not(unix), expect(dead_code, reason = "other systems have no such signals"))]
struct ToStop {
    work: Cancel,
    /// Returns a sentence about the files that remain when a second signal ends the program.
    describe_rest: Box<dyn Fn() -> Option<String> + Send + Sync>,
}

/// Whether the signal that cancelled the work was SIGINT, as sent by Ctrl+C.
#[cfg(unix)]
static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Returns whether SIGINT cancelled the work. A terminal also sends it to every program that was started from here.
#[cfg(unix)]
pub(crate) fn is_interrupted() -> bool {
    IS_INTERRUPTED.load(Ordering::SeqCst)
}

/// Makes the first ending signal cancel `work`. A second signal, unless it arrives together with the first, ends the
/// program. `describe_rest` then returns a sentence for the user about the files that remain.
pub(crate) fn stop_first(work: Cancel, describe_rest: impl Fn() -> Option<String> + Send + Sync + 'static) {
    let describe_rest = Box::new(describe_rest);
    TO_STOP.set(ToStop { work, describe_rest }).ok(); // a process runs one command
}

/// Starts a thread that handles signals. `say` shows a sentence to the user.
#[cfg(unix)]
pub(crate) fn watch(say: fn(String)) {
    use std::thread;

    #[cfg(target_os = "linux")]
    use signal_hook::consts::SIGBUS;
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::flag;
    use signal_hook::iterator::Signals;

    #[cfg(target_os = "linux")]
    use super::mapped;

    // With any handler, the write returns an error.
    flag::register(SIGXFSZ, Arc::<AtomicBool>::default()).ok();
    let is_ignored = ignored_signals();
    let ending = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !is_ignored(signal));
    // If the removal hangs, the second signal ends the program at once. Registered first: after the watcher, it might
    // see the watcher's change for the same signal.
    let is_ending = Arc::<AtomicBool>::default();
    ending.clone().for_each(|signal| drop(flag::register_conditional_default(signal, Arc::clone(&is_ending))));
    let watched = ending;
    #[cfg(target_os = "linux")]
    let watched = {
        mapped::forget_runtime_handler();
        watched.chain([SIGBUS])
    };
    let Ok(mut signals) = Signals::new(watched) else {
        is_ending.store(true, Ordering::SeqCst); // restores the default action of every signal
        return;
    };
    let mut watcher = SignalWatcher { say, is_ending: Arc::clone(&is_ending), stopped: None };
    let work = move || signals.forever().for_each(|signal| watcher.handle(signal));
    if thread::Builder::new().name("signals".to_owned()).spawn(work).is_err() {
        is_ending.store(true, Ordering::SeqCst);
        return;
    }
    #[cfg(target_os = "linux")]
    mapped::hold_faulting_threads();
}

/// Handles the signals that reach the thread of [`watch`].
#[cfg(unix)]
struct SignalWatcher {
    say: fn(String),
    /// Set once the next signal ends the program at once.
    is_ending: Arc<AtomicBool>,
    /// The time of the signal that cancelled the work.
    stopped: Option<Instant>,
}

#[cfg(unix)]
impl SignalWatcher {
    /// Cancels the work, or else removes temporary files and ends the program.
    fn handle(&mut self, signal: i32) {
        #[cfg(target_os = "linux")]
        use signal_hook::consts::SIGBUS;
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        use signal_hook::low_level;

        #[cfg(target_os = "linux")]
        use super::mapped;
        use super::temporary;

        let to_stop = TO_STOP.get().filter(|_| [SIGINT, SIGTERM, SIGHUP].contains(&signal));
        if let Some(ToStop { work, .. }) = to_stop.filter(|to_stop| !to_stop.work.is_cancelled()) {
            self.stopped = Some(Instant::now());
            IS_INTERRUPTED.store(signal == SIGINT, Ordering::SeqCst);
            work.cancel();
            return;
        }
        if to_stop.is_some() && self.stopped.is_some_and(|stopped| stopped.elapsed() < ONE_REQUEST) {
            return;
        }
        if let Some(text) = to_stop.and_then(|to_stop| (to_stop.describe_rest)()) {
            say_within(self.say, text, SAY_TIME);
        }
        self.is_ending.store(true, Ordering::SeqCst);
        temporary::remove_all();
        #[cfg(target_os = "linux")]
        if signal == SIGBUS {
            (self.say)(mapped::describe_lost_page());
            low_level::exit(1);
        }
        low_level::emulate_default_handler(signal).ok(); // it does not return
    }
}

/// Shows a sentence, but waits no longer than `most`: stderr may be a pipe that no one reads.
#[cfg(unix)]
fn say_within(say: fn(String), text: String, most: Duration) {
    let (done, said) = std::sync::mpsc::channel();
    let thread = std::thread::Builder::new().name("last words".to_owned()).spawn(move || {
        say(text);
        done.send(()).ok(); // the receiver may have given up
    });
    // A thread that cannot be started drops its sender.
    drop(thread);
    said.recv_timeout(most).ok();
}

/// Does nothing: other systems have no such signals that would leave temporary files.
#[cfg(not(unix))]
pub(crate) fn watch(_: fn(String)) {}

/// Returns which signals were ignored at the start, as with `nohup`; none if the system does not report it.
#[cfg(unix)]
fn ignored_signals() -> impl Fn(i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| hex_number(mask.trim())).unwrap_or(0);
    move |signal| mask >> (signal - 1) & 1 == 1
}
