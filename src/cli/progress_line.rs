//! Shows the progress of an import as a line on stderr. A separate thread reads the counters, so the import is not
//! slowed.

use std::fmt::Write as _;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use super::args::ShowProgress;
use super::messages::show as show_text;
use crate::base::progress::{Progress, ProgressView, Stage};

/// Interval of line updates: often enough to look alive, rarely enough to cost nothing.
const LINE_EVERY: Duration = Duration::from_millis(100);

const LOG_EVERY: Duration = Duration::from_secs(1);

/// Silence of a pipe after which a message explains the wait.
const PATIENCE: Duration = Duration::from_millis(500);

/// Returns to the first column and erases to the end of the line.
const ERASE: &str = "\r\x1b[K";

/// Returns the text that replaces the line. The terminal cuts the line at its width, because a wrapped line is not
/// erased whole.
pub(super) fn replaced_line(text: &str) -> String {
    format!("{ERASE}\x1b[?7l{text}\x1b[?7h")
}

/// Shows progress until it is dropped.
pub(super) struct ProgressLine {
    stop: Option<Sender<()>>,
    watcher: Option<JoinHandle<()>>,
}

impl ProgressLine {
    /// Starts a thread that shows `progress`.
    pub(super) fn start(progress: &Progress, show: ShowProgress) -> Self {
        Self::with_pipes(progress, show, String::new())
    }

    /// Like [`ProgressLine::start`], for an import that reads `pipes` (empty for none). If nothing arrives for
    /// [`PATIENCE`], a message explains the wait, even if `show` is off.
    pub(super) fn with_pipes(progress: &Progress, show: ShowProgress, pipes: String) -> Self {
        let every = match show {
            ShowProgress::Not if pipes.is_empty() => return Self { stop: None, watcher: None },
            ShowProgress::Line => LINE_EVERY,
            ShowProgress::Log | ShowProgress::Not => LOG_EVERY,
        };
        let (stop, stopped) = mpsc::channel();
        let progress = progress.clone();
        let mut pipes = Some(pipes).filter(|pipes| !pipes.is_empty());
        let watch = move || {
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                let view = progress.view();
                if view.stage == Stage::Receiving
                    && view.done == 0
                    && view.stage_elapsed >= PATIENCE
                    && let Some(pipes) = pipes.take()
                {
                    let erase = if show == ShowProgress::Line { ERASE } else { "" };
                    show_text(&format!("{erase}longspan: waiting for {pipes}: no data received yet\n"));
                }
                match show {
                    ShowProgress::Not => {}
                    ShowProgress::Line => show_text(&replaced_line(&text_of(&view))),
                    ShowProgress::Log => show_text(&format!("{}\n", text_of(&view))),
                }
            }
            match show {
                ShowProgress::Not => {}
                ShowProgress::Line => show_text(ERASE),
                ShowProgress::Log => show_text(&format!("{}\n", text_of(&progress.view()))),
            }
        };
        // Without a thread, nothing is shown.
        let watcher = std::thread::Builder::new().name("progress".to_owned()).spawn(watch).ok();
        Self { stop: Some(stop), watcher }
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

/// Formats one line, such as `Parsing  43 %, 1.21 GB read, 3.1 M events/s, 8 s left`.
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

/// Formats a count with at most three digits before the point and a decimal prefix, such as `1.21 G`.
pub(super) fn with_prefix(count: f64) -> String {
    // Counts from here on are rounded up to the next prefix.
    const ROUNDED_UP: f64 = 0.999_995;
    let prefixes = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    match prefixes.into_iter().find(|(scale, _)| count >= scale * ROUNDED_UP || count.round() >= *scale) {
        Some((scale, prefix)) => format!("{:.2} {prefix}", count / scale),
        None => format!("{count:.0} "),
    }
}

pub(super) fn as_f64(count: u64) -> f64 {
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
    fn a_count_has_at_most_three_digits_before_its_prefix() {
        let texts = [999.0, 999.5, 1000.0, 999_994.0, 999_995.0, 1e6, 999_999_999.0].map(with_prefix);
        assert_eq!(texts, ["999 ", "1.00 k", "1.00 k", "999.99 k", "1.00 M", "1.00 M", "1.00 G"]);
    }

    #[test]
    fn a_line_is_never_wrapped_and_leaves_wrapping_on() {
        assert_eq!(replaced_line("Parsing"), "\r\x1b[K\x1b[?7lParsing\x1b[?7h");
    }

    #[test]
    fn a_dropped_line_stops_its_thread_at_once() {
        let began = std::time::Instant::now();
        drop(ProgressLine::start(&Progress::default(), ShowProgress::Log));
        assert!(began.elapsed() < LOG_EVERY);
    }
}
