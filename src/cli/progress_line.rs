//! How far a load has come, on stderr. Looks at the counters from a thread of its own; never slows what it watches.

use std::fmt::Write as _;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use super::args::ShowProgress;
use crate::base::progress::{Progress, ProgressView, Stage};

/// Often enough to look alive, seldom enough to cost nothing.
const LINE_EVERY: Duration = Duration::from_millis(100);

/// A log is read later.
const LOG_EVERY: Duration = Duration::from_secs(1);

/// Return to the first column and erase to the end of the line.
const ERASE: &str = "\r\x1b[K";

/// Shows progress until it is dropped.
pub struct ProgressLine {
    stop: Option<Sender<()>>,
    watcher: Option<JoinHandle<()>>,
}

impl ProgressLine {
    /// Starts to show `progress` in the way asked for.
    pub fn start(progress: &Progress, show: ShowProgress) -> Self {
        let every = match show {
            ShowProgress::Not => return Self { stop: None, watcher: None },
            ShowProgress::Line => LINE_EVERY,
            ShowProgress::Log => LOG_EVERY,
        };
        let (stop, stopped) = mpsc::channel();
        let progress = progress.clone();
        let watch = move || {
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                let text = text_of(&progress.view());
                match show {
                    ShowProgress::Line => eprint!("{ERASE}{text}"),
                    _ => eprintln!("{text}"),
                }
            }
            match show {
                ShowProgress::Line => eprint!("{ERASE}"),
                _ => eprintln!("{}", text_of(&progress.view())),
            }
        };
        Self { stop: Some(stop), watcher: Some(std::thread::spawn(watch)) }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(watcher) = self.watcher.take() {
            watcher.join().ok(); // a watcher that panicked has nothing more to show
        }
    }
}

/// One line, such as `Parsing  43 %, 1.21 GB read, 3.1 M events/s, 8 s left`.
fn text_of(view: &ProgressView) -> String {
    let mut text = view.stage.label().to_owned();
    if view.stage == Stage::Done {
        let _ = write!(text, " in {:.1} s", view.elapsed.as_secs_f64());
        return text;
    }
    if let Some(fraction) = view.fraction() {
        let _ = write!(text, " {:3.0} %", fraction * 100.0);
    }
    if view.stage == Stage::Receiving && view.done > 0 {
        let _ = write!(text, ", {}B so far", with_prefix(as_f64(view.done)));
    }
    if view.bytes > 0 {
        let _ = write!(text, ", {}B read", with_prefix(as_f64(view.bytes)));
    }
    if view.events > 0 {
        let _ = write!(text, ", {}events/s", with_prefix(view.events_per_second()));
    }
    if let Some(left) = view.time_left() {
        let _ = write!(text, ", {} s left", left.as_secs());
    }
    text
}

/// Three digits and a decimal prefix, such as `1.21 G`.
fn with_prefix(count: f64) -> String {
    let prefixes = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    match prefixes.into_iter().find(|(scale, _)| count >= *scale) {
        Some((scale, prefix)) => format!("{:.2} {prefix}", count / scale),
        None => format!("{count:.0} "),
    }
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn as_f64(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_is_known_and_nothing_else() {
        let progress = Progress::default();
        progress.begin(Stage::Parsing, 0);
        assert_eq!(text_of(&progress.view()), "Parsing");
        progress.begin(Stage::Receiving, 0);
        progress.advance(1_500_000);
        assert_eq!(text_of(&progress.view()), "Receiving, 1.50 MB so far");
        progress.begin(Stage::Parsing, 2_000_000_000);
        progress.advance(860_000_000);
        progress.add_bytes(860_000_000);
        let text = text_of(&progress.view());
        assert!(text.starts_with("Parsing  43 %, 860.00 MB read, "), "{text}");
    }

    #[test]
    fn a_dropped_line_stops_its_thread_at_once() {
        let began = std::time::Instant::now();
        drop(ProgressLine::start(&Progress::default(), ShowProgress::Log));
        assert!(began.elapsed() < LOG_EVERY);
    }
}
