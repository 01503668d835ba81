//! Handles signals that end the program: removes its temporary files, then ends it as without a handler. A write beyond
//! the file size limit becomes an error. Signals ignored by the parent process stay ignored.

use std::sync::OnceLock;
#[cfg(unix)]
use std::sync::atomic::{AtomicBool, Ordering};

use super::cancel::Cancel;

/// The work that the first signal cancels, instead of ending the program.
static TO_STOP: OnceLock<Cancel> = OnceLock::new();

/// Whether that signal was SIGINT, as sent by Ctrl+C.
#[cfg(unix)]
static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Returns whether SIGINT cancelled the work. A terminal also sends it to every program that was started from here.
#[cfg(unix)]
pub(crate) fn is_interrupted() -> bool {
    IS_INTERRUPTED.load(Ordering::SeqCst)
}

/// Makes the first ending signal cancel `work`; the second one ends the program.
pub(crate) fn stop_first(work: Cancel) {
    TO_STOP.set(work).ok(); // a process runs one command
}

/// Starts a thread that handles signals. `say` shows a sentence to the user.
#[cfg(unix)]
pub(crate) fn watch(say: fn(String)) {
    use std::sync::Arc;
    use std::thread;

    #[cfg(target_os = "linux")]
    use signal_hook::consts::SIGBUS;
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::iterator::Signals;
    use signal_hook::{flag, low_level};

    #[cfg(target_os = "linux")]
    use super::mapped;
    use super::temporary;

    // Only a lost page of a mapped file has a message.
    #[cfg(not(target_os = "linux"))]
    let _ = say;
    // With any handler, the write returns an error.
    flag::register(SIGXFSZ, Arc::<AtomicBool>::default()).ok();
    let is_ignored = ignored();
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
    let in_watcher = Arc::clone(&is_ending);
    let work = move || {
        for signal in &mut signals.forever() {
            let is_ending_signal = [SIGINT, SIGTERM, SIGHUP].contains(&signal);
            if let Some(work) = TO_STOP.get().filter(|work| is_ending_signal && !work.is_cancelled()) {
                IS_INTERRUPTED.store(signal == SIGINT, Ordering::SeqCst);
                work.cancel();
                continue;
            }
            in_watcher.store(true, Ordering::SeqCst);
            temporary::remove_all();
            #[cfg(target_os = "linux")]
            if signal == SIGBUS {
                say(mapped::describe_lost_page());
                low_level::exit(1);
            }
            low_level::emulate_default_handler(signal).ok(); // it does not return
        }
    };
    if thread::Builder::new().name("signals".to_owned()).spawn(work).is_err() {
        is_ending.store(true, Ordering::SeqCst);
        return;
    }
    #[cfg(target_os = "linux")]
    mapped::hold_faulting_threads();
}

/// Does nothing: other systems have no such signals that would leave temporary files.
#[cfg(not(unix))]
pub(crate) fn watch(_: fn(String)) {}

/// Returns which signals were ignored at the start, as with `nohup`; none if the system does not report it.
#[cfg(unix)]
fn ignored() -> impl Fn(i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    move |signal| mask >> (signal - 1) & 1 == 1
}
