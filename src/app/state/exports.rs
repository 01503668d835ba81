//! Exports of traces. Each reads the snapshot that was shown when it started, so it is unaffected if the trace grows or
//! is imported again.

use std::path::Path;

use super::App;
use super::written::{IS_WRITING, check_free, is_special};
use crate::app::event::{TaskError, TaskId};
use crate::app::tab::{RunningWrite, Tab, TabMessage, TraceExport};
use crate::app::tasks::{self, file_name};
use crate::base::time::{counted, grouped_digits};
use crate::export::derived::DerivedCounter;
use crate::export::{ExportFormat, ExportReport};
use crate::query::Snapshot;
use crate::query::derived::DerivedTrack;
use crate::ui::chrome::progress::bytes_text;
use crate::ui::chrome::status_bar::events_text;
use crate::ui::selected_scope::SelectedScope;
use crate::ui::timeline::derived::DerivedRow;

const NOT_EXPORTED: &str = "The trace could not be written";

impl App {
    /// Exports the trace of a tab, or a part of it, to a chosen file.
    pub(super) fn export(
        &mut self,
        at: usize,
        (chosen, scope): (ExportFormat, SelectedScope),
        path: &Path,
    ) -> Result<(), String> {
        let (mut named, format) = chosen.for_name(path.to_owned()).map_err(|error| error.to_string())?;
        if is_special(path) {
            path.clone_into(&mut named);
        }
        check_free(path, &named)?;
        let format = format.with_cells(self.cells());
        let tab = &mut self.tabs[at];
        if tab.writing.is_some() || tab.waiting_export.is_some() {
            return Err(IS_WRITING.to_owned());
        }
        let derived = tab.derived_to_export(format);
        let Some(trace) = &tab.trace else { return Ok(()) };
        let snapshot = trace.timeline.snapshot().clone();
        let export = TraceExport { snapshot, format, scope, derived, path: named };
        if tab.running.is_some() {
            // An import was started while the file was chosen.
            tab.notes.reply(format!("{} is written once the trace is sorted.", file_name(&export.path)));
            tab.waiting_export = Some(export);
        } else {
            self.start_export(at, export);
        }
        Ok(())
    }

    /// Starts to write an export of the trace as it is shown now.
    fn start_export(&mut self, at: usize, export: TraceExport) {
        let id = self.next_task();
        let tab = &mut self.tabs[at];
        let Some(trace) = &tab.trace else { return };
        let path = export.path.clone();
        let Some(export) = export.of_snapshot(trace.timeline.snapshot()) else {
            let text = format!("{}: the trace no longer has the chosen tracks.", path.display());
            return tab.show_message(TabMessage::for_tab(NOT_EXPORTED, text));
        };
        let TraceExport { snapshot, mut format, scope, derived, .. } = export.clone();
        if tab.follow.is_some() && matches!(format, ExportFormat::Native { .. }) {
            // A live trace has no index.
            format = ExportFormat::Native { compact: true };
        }
        let of_trace = (snapshot, trace.sources.clone());
        let task = tasks::export(id, of_trace, (format, scope, derived), path, &tab.wake);
        tab.writing = Some(RunningWrite { task, export: Some(export) });
    }

    /// Starts the export that has waited for an import, if there is one.
    pub(super) fn start_waiting_export(&mut self, at: usize) {
        if let Some(export) = self.tabs[at].waiting_export.take() {
            self.start_export(at, export);
        }
    }

    /// Repeats an export that met damage, once the trace is imported again.
    fn repeat_export(&mut self, at: usize, export: TraceExport, error: TaskError) {
        self.repair(at);
        let tab = &mut self.tabs[at];
        if tab.running.is_some() {
            tab.waiting_export = Some(export);
        } else if tab.shows_store_of(&export.snapshot) {
            self.fail(at, NOT_EXPORTED, error, true);
        } else {
            // The trace was opened again while the earlier store was written.
            self.start_export(at, export);
        }
    }

    /// Shows the counts of an export, or an error.
    pub(super) fn handle_exported(
        &mut self,
        at: usize,
        id: TaskId,
        path: &Path,
        result: Result<ExportReport, TaskError>,
    ) {
        let tab = &mut self.tabs[at];
        let Some(export) = tab.writing.take_if(|writing| writing.task.id == id).and_then(|writing| writing.export)
        else {
            return;
        };
        match result {
            Ok(report) => {
                // Rows that were received later are in no file yet.
                if export.scope.is_whole() && tab.follow.is_none() && tab.shows_store_of(&export.snapshot) {
                    tab.only_copy.note_saved();
                }
                let unsorted = if export.is_partial() { "; the rest was not sorted" } else { "" };
                tab.notes.set(exported_text(&report, path) + unsorted);
            }
            Err(error @ TaskError::Damaged(_)) => self.repeat_export(at, export, error),
            Err(error) => self.fail(at, NOT_EXPORTED, error, true),
        }
    }

    /// Shows that the export that has waited for an import is not written, because the import has failed.
    pub(super) fn drop_waiting_export(&mut self, at: usize) {
        let tab = &mut self.tabs[at];
        if let Some(export) = tab.waiting_export.take() {
            let text = format!("{}: not written, because the trace was not sorted.", export.path.display());
            tab.show_message(TabMessage::for_tab(NOT_EXPORTED, text));
        }
    }
}

impl Tab {
    /// Returns the derived tracks that an export writes; shows a note if some are not computed yet.
    fn derived_to_export(&mut self, format: ExportFormat) -> Vec<DerivedCounter> {
        let Some(trace) = self.trace.as_ref().filter(|_| format.has_counters()) else { return Vec::new() };
        let (rows, missing) = trace.timeline.derived_to_export();
        let counter = |row: &DerivedRow| {
            let (name, track) = (row.exported_name(), DerivedTrack::new(row.kind.clone(), &row.scope.filter));
            Some(DerivedCounter { name, track, series: row.series()?.clone() })
        };
        let derived = rows.into_iter().filter_map(counter).collect();
        match missing {
            0 => {}
            1 => self.notes.set("1 derived track is not computed yet, and is left out of the export.".to_owned()),
            count => {
                self.notes.set(format!("{count} derived tracks are not computed yet, and are left out of the export."));
            }
        }
        derived
    }

    /// Returns whether the tab's trace has the same rows as a snapshot.
    fn shows_store_of(&self, snapshot: &Snapshot) -> bool {
        self.trace.as_ref().is_some_and(|trace| trace.timeline.snapshot().has_store_of(snapshot))
    }
}

fn exported_text(report: &ExportReport, path: &Path) -> String {
    let spans = report.spans.saturating_sub(report.connected_spans);
    let events = events_text(spans, report.samples, (report.instants, report.counters));
    let connected = match report.connected_spans {
        0 => String::new(),
        count => format!(" and {} connected by flows,", counted(count, "span")),
    };
    let bytes = bytes_text(report.bytes);
    let left_out = match report.samples_left_out {
        0 => String::new(),
        1 => "; 1 sample of another event is left out".to_owned(),
        count => format!("; {} samples of other events are left out", grouped_digits(count)),
    };
    let notes = report.notes().fold(String::new(), |notes, note| notes + "; " + &note);
    format!("{events}{connected} in {bytes} written to {}{left_out}{notes}", path.display())
}

#[cfg(test)]
mod tests;
