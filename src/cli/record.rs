//! `longspan record`: records running sources, and sorts them into a native trace when they end. Every byte is first
//! written to a file beside the output, so that a killed recording can be recovered. The output is replaced only when
//! it is complete. After a failed write or read, the files are kept. Refuses an output that is a source.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::args::{ImportArgs, Record, ShowProgress};
use super::error::CliError;
use super::export::written_things;
use super::live_rows::duration;
use super::load::load_spooled;
use super::messages::{say, show};
use super::progress_line::{ProgressLine, as_f64, replaced_line, with_prefix};
use super::tail::{report, say_live};
use crate::base::cancel::Cancel;
use crate::base::files::{self, FileKind};
use crate::base::progress::Progress;
use crate::base::signals;
use crate::export::output::OutputFile;
use crate::export::{self, ExportFormat, ExportOptions, ExportReport};
use crate::live::arrivals::LiveInput;
use crate::live::feed::FeedError;
use crate::live::follow::sources_of;
use crate::live::reading_thread::Pace;
use crate::live::row_filter::UNTIL_MET;
use crate::live::session::{LiveSession, LiveStep, SessionCounts, SessionOptions};
use crate::live::spool_files::{SpoolFiles, unread_paths};
use crate::model::{SourceFile, Sources};
use crate::query::Snapshot;

/// Interval of updates of the terminal line.
const LINE_EVERY: Duration = Duration::from_millis(200);

const LOG_EVERY: Duration = Duration::from_secs(1);

/// Records until all sources have ended, a signal arrives or a row matches, and then sorts.
pub(super) fn write(record: &Record, import: &ImportArgs) -> Result<(), CliError> {
    check_output(record)?;
    let stop = Cancel::default();
    let folder = files::folder_of(&record.output);
    let spool = SpoolFiles::beside(&record.output, record.disk_cap);
    let left = spool.clone();
    signals::stop_first(stop.clone(), move || describe_spool(&left));
    let options = SessionOptions {
        memory: import.memory.clone(),
        delay: record.delay,
        places_late: true,
        pace: Pace::Waits,
        stop: stop.clone(),
        spool: Some(spool.clone()),
        keeps_tables: false,
    };
    let started = LiveSession::start(&record.inputs, &options, &say_live()).map_err(FeedError::from);
    let mut session = started.inspect_err(|_| describe_spool(&spool).into_iter().for_each(say))?;
    receive(&mut session, record, &stop, import.progress)?;
    // Traces that could not be parsed are recorded anyway, and read again from the files.
    let mut errors = session.take_errors();
    let is_cut = errors.iter().any(FeedError::is_failure);
    // Programs that connect may send anything.
    let left_out = session.left_out();
    let sources = spool.sources(&sources_of(&record.inputs, &session), &left_out);
    let last = if sources.files().is_empty() { errors.pop() } else { None };
    errors.iter().for_each(say);
    let (losses, SessionCounts { rows, late, .. }) = (session.named_losses(), session.counts());
    drop(session);
    let left_paths = spool.paths_of(&left_out);
    left_paths.iter().for_each(|path| say(format_args!("{}: is not a trace; the file is kept", path.display())));
    if sources.files().is_empty() {
        report(&losses, late);
        return Err(nothing_recorded(last));
    }
    if is_cut && has_content(&record.output) {
        report(&losses, late);
        describe_spool(&spool).into_iter().for_each(say);
        return Err(CliError::OutputUnchanged { path: record.output.clone() });
    }
    // The sort writes the store in the folder for temporary files, and then the output in the output's folder.
    let checked = spool.check_sort(rows, &[&std::env::temp_dir(), folder]).map_err(CliError::NoRoomToSort);
    // The sort reports the losses of whole traces, and no event is late for it.
    let sorted = checked.and_then(|()| sort(&sources, import)).inspect_err(|_| report(&losses, late));
    let published = sorted.and_then(|snapshot| Ok((publish(record, &record.output, &snapshot, import)?, snapshot)));
    let (written, snapshot) = published.inspect_err(|_| describe_spool(&spool).into_iter().for_each(say))?;
    let unread = unread_paths(&sources, &snapshot.store().meta().losses);
    unread.iter().for_each(|path| say(format_args!("{}: cannot be read; the file is kept", path.display())));
    spool.remove(&[left_paths, unread].concat());
    say_written(&record.output, &written);
    if is_cut { Err(CliError::CutRecording) } else { Ok(()) }
}

/// Receives until all sources have ended, a signal arrives or a row matches.
fn receive(session: &mut LiveSession, record: &Record, stop: &Cancel, progress: ShowProgress) -> Result<(), CliError> {
    let mut line = RecordLine::new(progress);
    loop {
        let mut is_met = false;
        let step = session.step::<CliError>(&mut |row| {
            is_met |= record.until.as_ref().is_some_and(|until| until.takes(&row));
            Ok(())
        })?;
        if is_met && !stop.is_cancelled() {
            say(UNTIL_MET);
            stop.cancel();
        }
        session.take_refused().into_iter().for_each(say);
        line.update(&session.counts());
        if step == LiveStep::Done {
            break;
        }
    }
    line.end(&session.counts());
    Ok(())
}

/// Returns whether an output has content that an incomplete recording must not replace.
pub(super) fn has_content(output: &Path) -> bool {
    fs::metadata(output).is_ok_and(|output| output.len() > 0)
}

/// Returns a sentence about the received data that is on disk, if any.
fn describe_spool(spool: &SpoolFiles) -> Option<String> {
    let paths: Vec<PathBuf> = spool.paths().into_iter().filter(|path| path.exists()).collect();
    (!paths.is_empty()).then(|| format!("all received data is kept: {}", Sources::unmoved(paths)))
}

pub(super) fn say_written(output: &Path, written: &ExportReport) {
    let (path, things) = (output.display(), written_things(written, NATIVE));
    say(format_args!("{path}: {things} written, {} bytes, as {}", written.bytes, NATIVE.label()));
}

pub(super) const NATIVE: ExportFormat = ExportFormat::Native { compact: false };

/// Refuses an output that cannot be written, before the recording starts. A pipe would wait for its reader at the end,
/// and the files beside a device would be in a folder of the system.
pub(super) fn check_output(record: &Record) -> Result<(), CliError> {
    let path = &record.output;
    OutputFile::check(path, &files_of(&record.inputs))?;
    match fs::metadata(path).map(|there| FileKind::from_metadata(&there)) {
        Ok(kind) if kind != FileKind::File => Err(CliError::NoFile { path: path.clone(), kind }),
        _ => Ok(()),
    }
}

/// Returns the sources with a path, which the output must not replace.
pub(super) fn files_of(inputs: &[LiveInput]) -> Sources {
    let file = |input: &LiveInput| match input {
        LiveInput::Input(input) => Some(SourceFile { input: input.clone(), offset_ns: 0 }),
        LiveInput::Socket(path) => Some(SourceFile::new(path.clone(), 0)),
        LiveInput::Command(_) | LiveInput::Otlp { .. } => None,
    };
    Sources::new(inputs.iter().filter_map(file).collect())
}

/// Returns the error of a recording without a byte: the last error of its sources, if any.
pub(super) fn nothing_recorded(last: Option<impl ToString>) -> CliError {
    last.map_or(CliError::NothingCame, |error| CliError::NothingRecorded(error.to_string()))
}

/// Sorts the recording into a store that is not cached.
fn sort(sources: &Sources, import: &ImportArgs) -> Result<Snapshot, CliError> {
    // The files are removed after sorting, so a cached store of them would be useless.
    let import = ImportArgs { cache: None, ..import.clone() };
    Ok(Snapshot::new(load_spooled(sources, &import)?.store))
}

/// Writes a recording to `output`.
pub(super) fn publish(
    record: &Record,
    output: &Path,
    snapshot: &Snapshot,
    import: &ImportArgs,
) -> Result<ExportReport, CliError> {
    let options = ExportOptions::whole(NATIVE);
    let progress = Progress::default();
    let line = ProgressLine::start(&progress, import.progress);
    // A source may have appeared, or become a link to the output, since the start.
    let files = files_of(&record.inputs);
    let written = export::export(snapshot, &files, output, &options, &Cancel::default(), &progress);
    drop(line);
    Ok(written?)
}

/// The status line of a recording on stderr.
pub(super) struct RecordLine {
    show: ShowProgress,
    shown: Instant,
    rows: u64,
}

impl RecordLine {
    pub(super) fn new(show: ShowProgress) -> Self {
        Self { show, shown: Instant::now(), rows: 0 }
    }

    pub(super) fn update(&mut self, counts: &SessionCounts) {
        let every = match self.show {
            ShowProgress::Not => return,
            ShowProgress::Line => LINE_EVERY,
            ShowProgress::Log => LOG_EVERY,
        };
        let elapsed = self.shown.elapsed();
        if elapsed < every {
            return;
        }
        let rate = as_f64(counts.rows - self.rows) / elapsed.as_secs_f64();
        (self.shown, self.rows) = (Instant::now(), counts.rows);
        let text = text_of(counts, Some(rate));
        match self.show {
            ShowProgress::Line => show(&replaced_line(&text)),
            ShowProgress::Log | ShowProgress::Not => show(&format!("{text}\n")),
        }
    }

    pub(super) fn end(&self, counts: &SessionCounts) {
        match self.show {
            ShowProgress::Line => show(&format!("{}\n", replaced_line(&text_of(counts, None)))),
            ShowProgress::Log => show(&format!("{}\n", text_of(counts, None))),
            ShowProgress::Not => {}
        }
    }
}

/// Formats a line such as `Recording 1.23 M rows, 210.00 k rows/s, 45.60 MB, 3 late by at most 1.200 ms`.
fn text_of(counts: &SessionCounts, rate: Option<f64>) -> String {
    let rate = rate.map_or_else(String::new, |rate| format!(", {}rows/s", with_prefix(rate)));
    let late = match counts.late.count {
        0 => String::new(),
        count => format!(", {count} late by at most {}", duration(counts.late.most_ns)),
    };
    let (rows, bytes) = (with_prefix(as_f64(counts.rows)), with_prefix(as_f64(counts.bytes)));
    format!("Recording {rows}rows{rate}, {bytes}B{late}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_cannot_replace_a_program_or_a_port() {
        let input = |path: &str| LiveInput::Input(std::path::PathBuf::from(path).into());
        let inputs = [
            LiveInput::Command(vec!["out".into(), "in".into()]),
            input("a"),
            LiveInput::Otlp { port: 0 },
            LiveInput::Socket("socket".into()),
            input("/dev/stdin"),
        ];
        assert_eq!(files_of(&inputs).to_string(), "a, socket, /dev/stdin");
    }

    #[test]
    fn a_recording_without_a_byte_says_why_or_that_nothing_came() {
        assert_eq!(nothing_recorded(None::<&str>).to_string(), CliError::NothingCame.to_string());
        assert_eq!(nothing_recorded(Some("a: full")).to_string(), "a: full; nothing is recorded");
    }
}
