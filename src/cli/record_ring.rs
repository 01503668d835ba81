//! `longspan record --keep`: records the last part of running sources. Rows are stored as in a live window, so that the
//! oldest can be dropped, and are written as one trace at the end. A killed recording leaves nothing.

use std::iter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::args::{ImportArgs, Record};
use super::error::CliError;
use super::messages::say;
use super::record::{RecordLine, check_output, has_content, nothing_recorded, publish, say_written};
use super::tail::{report, say_live};
use crate::base::cancel::Cancel;
use crate::base::temporary::Temporary;
use crate::base::{files, signals};
use crate::live::follow::{FollowCounts, FollowOptions, FollowUpdate, Viewer, follow};
use crate::live::live_store::Retention;
use crate::live::orderer::LateEvents;
use crate::live::session::SessionCounts;
use crate::query::Snapshot;

/// Interval at which the oldest rows are dropped.
const PICTURE_EVERY: Duration = Duration::from_secs(1);

/// Keeps the last snapshot, and shows the counts.
struct LastSnapshot {
    snapshot: Option<Snapshot>,
    counts: FollowCounts,
    taken: Instant,
    line: RecordLine,
}

impl LastSnapshot {
    fn session_counts(&self) -> SessionCounts {
        let FollowCounts { rows, late, most_late_ns, received_bytes, .. } = self.counts;
        SessionCounts { bytes: received_bytes, rows, late: LateEvents { count: late, most_ns: most_late_ns } }
    }
}

impl Viewer for LastSnapshot {
    fn is_ready(&self) -> bool {
        self.taken.elapsed() >= PICTURE_EVERY
    }

    fn show(&mut self, followed: FollowUpdate) {
        match followed {
            FollowUpdate::Snapshot(snapshot, _, counts) => {
                (self.snapshot, self.counts, self.taken) = (Some(snapshot), counts, Instant::now());
            }
            FollowUpdate::Counts(counts) => self.counts = counts,
            FollowUpdate::Said(text) => say(text),
        }
        let counts = self.session_counts();
        self.line.update(&counts);
    }
}

/// Records until all sources have ended, a signal arrives or a row matches, and then writes the retained part.
pub(super) fn write(record: &Record, part: Retention, import: &ImportArgs) -> Result<(), CliError> {
    check_output(record)?;
    let stop = Cancel::default();
    let output = record.output.clone();
    signals::stop_first(stop.clone(), move || Some(format!("{}: not written; no data was kept", output.display())));
    // A signal removes the folder. The next export into the parent folder removes the folder of a killed recording.
    let failed = |source| CliError::File { path: record.output.clone(), source };
    let rows = Temporary::folder(files::folder_of(&record.output)).map_err(failed)?;
    let options = FollowOptions {
        inputs: record.inputs.clone(),
        memory: import.memory.clone(),
        delay: record.delay,
        until: record.until.clone(),
        stop,
        folder: rows.path().to_owned(),
        disk_cap: record.disk_cap,
        kept: Some(part),
        recorded_bytes: Arc::default(),
    };
    let line = RecordLine::new(import.progress);
    let mut last = LastSnapshot { snapshot: None, counts: FollowCounts::default(), taken: Instant::now(), line };
    let mut end = follow(&options, &say_live(), &mut last).map_err(CliError::Follow)?;
    last.line.end(&last.session_counts());
    report(&end.losses, end.late);
    let is_whole = end.errors.is_empty() && end.lost.is_empty();
    let reason = if last.snapshot.is_none() { end.errors.pop().or_else(|| end.lost.pop()) } else { None };
    end.errors.iter().for_each(say);
    let dropped = last.counts.dropped;
    match dropped {
        0 => {}
        1 => say("the oldest row was dropped (--keep)"),
        _ => say(format_args!("{dropped} oldest rows were dropped (--keep)")),
    }
    let snapshot = last.snapshot.ok_or_else(|| nothing_recorded(reason))?;
    let output = if is_whole || !has_content(&record.output) { record.output.clone() } else { beside(&record.output) };
    let written = publish(record, &output, &snapshot, import)?;
    say_written(&output, &written);
    if is_whole { Ok(()) } else { Err(CliError::CutRecording) }
}

/// Returns `OUT.partial`, for an incomplete recording that must not replace `OUT`. If this file exists, returns
/// `OUT.partial-2` and so on.
fn beside(output: &Path) -> PathBuf {
    let mut partial = output.to_owned().into_os_string();
    partial.push(".partial");
    let numbered = |number: u32| {
        let mut numbered = partial.clone();
        numbered.push(format!("-{number}"));
        PathBuf::from(numbered)
    };
    let mut paths = iter::once(partial.clone().into()).chain((2..).map(numbered));
    paths.find(|path| !has_content(path)).unwrap_or_else(|| partial.clone().into())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_earlier_partial_recording_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out.longspan");
        for name in ["out.longspan.partial", "out.longspan.partial-2", "out.longspan.partial-3"] {
            let partial = beside(&output);
            assert_eq!(partial, folder.path().join(name));
            fs::write(&partial, "").unwrap();
            assert_eq!(beside(&output), partial, "an empty file is replaced");
            fs::write(&partial, "recorded").unwrap();
        }
    }
}
