//! Handles events of background work and dialogs, and routes each to its tab or dialog.

use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::app::event::{LoadedTrace, TabEvent, TaskError, TaskEvent, TaskId};
use crate::app::notes::NoteKind;
use crate::app::open_trace::{OpenTrace, SavedState};
use crate::app::opened_files::OpenedFiles;
use crate::app::received::{OnlyCopy, ReceivedData};
use crate::app::state::App;
use crate::app::state::followed::AnswerRenewal;
use crate::app::tab::Tab;
use crate::base::time::{counted, grouped_digits};
use crate::live::spool_files::unread_paths;
use crate::model::Sources;
use crate::query::Snapshot;
use crate::symbols::report::ModuleReport;
use crate::ui::command::TimelineCommand;
use crate::ui::questions::{Answer, NamedTrace, QuestionKind};
use crate::ui::recent::RecentFacts;
use crate::ui::timeline::saved::SavedTimeline;
use crate::ui::timeline::state::Timeline;

/// Why a part of a trace is veiled right after it was opened. Shown until the scope is cleared.
const RESTORED_SCOPE_NOTE: &str = "Restored the last scope; clear it with the crosses in the scope bar";

/// Shows resolved names, with the same view and selection.
fn show_names(tab: &mut Tab, named: &NamedTrace) {
    let Some(mut trace) = tab.trace.take() else { return };
    let snapshot = trace.timeline.snapshot().with_overlay(named.overlay.clone());
    if named.overlay.is_some() || trace.timeline.snapshot().overlay().is_some() {
        trace.timeline = trace.timeline.with_names(snapshot.clone());
        // Looked up again with the names.
        trace.details = None;
        tab.panels.forget(&trace.timeline);
    }
    tab.panels.set_modules(named, &snapshot);
    match naming_note(&named.modules) {
        Some(note) => tab.notes.replace(NoteKind::Passing, note),
        None => tab.notes.remove(NoteKind::Passing),
    }
    trace.has_other_stacks = named.has_other_stacks;
    tab.trace = Some(trace);
}

/// Returns the note on addresses without names. Only samples count: panels of samples show no other stacks, such as the
/// stacks of waits.
fn naming_note(modules: &[ModuleReport]) -> Option<String> {
    let sampled = modules.iter().filter(|module| module.samples > 0);
    let (named, all) = sampled.fold((0, 0), |sum, module| (sum.0 + module.named, sum.1 + module.frames));
    (named < all).then(|| {
        format!(
            "{} of {} addresses have names: Analyze > Symbols lists the files without symbols",
            grouped_digits(named),
            grouped_digits(all)
        )
    })
}

impl App {
    /// Handles an event of background work or of a dialog. Returns whether the window has to be drawn again.
    pub fn handle(&mut self, event: TaskEvent) -> bool {
        match event {
            TaskEvent::OfTab(id, event) => {
                // Answers for a closed tab are dropped.
                let Some(at) = self.position_of(id) else { return false };
                // Only the tab bar shows a hidden tab, and it renews the progress by a timer.
                let before = (at != self.shown_tab).then(|| self.tab_titles_without_progress());
                self.handle_in_tab(at, *event);
                // The tab may be closed.
                self.tabs.get_mut(at).into_iter().for_each(Tab::start_due_layout);
                return before.is_none_or(|before| before != self.tab_titles_without_progress());
            }
            TaskEvent::Listed(folder, listing) => {
                if let Some(open) = &mut self.dialogs.picker {
                    open.picker.set_listing(&folder, listing);
                }
            }
            TaskEvent::Picked(id, picked) => self.handle_picked(id, picked),
            TaskEvent::Chosen(choice) => self.handle_choice(choice),
            TaskEvent::HandedOver(handed) => {
                if let Some(sources) = handed.take_sources() {
                    self.open(sources);
                    self.wants_attention = true;
                }
            }
            TaskEvent::Pasted(Ok(pasted)) => self.open_pasted(pasted),
            TaskEvent::Pasted(Err(error)) => self.reply(error.into_message()),
            TaskEvent::FoundInterrupted(left) => self.offer_interrupted(left),
            // The next frame applies the fonts to egui.
            TaskEvent::FoundFonts => self.is_theme_applied = false,
            TaskEvent::DesktopChanged(settings) => self.set_desktop(settings),
        }
        true
    }

    fn handle_in_tab(&mut self, at: usize, event: TabEvent) {
        let tab = &mut self.tabs[at];
        match event {
            TabEvent::Previewed(id, snapshot, files) if tab.runs(id) => {
                if let Some(running) = &tab.running {
                    let sources = running.sources.clone();
                    self.show_trace_in(at, (snapshot, sources, files), true);
                }
            }
            TabEvent::Loaded(id, result) if tab.runs(id) => self.handle_loaded(at, result),
            TabEvent::Followed(id, followed) if tab.is_following(id) => self.handle_followed(at, *followed),
            TabEvent::FollowEnded(id, end) if tab.is_following(id) => self.sort_followed(at, end),
            TabEvent::Exported(id, path, result) => self.handle_exported(at, id, &path, result),
            TabEvent::Summarised(of, summary) => {
                if let Some(trace) = &mut tab.trace {
                    trace.set_summary(of, summary);
                }
            }
            TabEvent::FlowsFound(of, row, flows) => {
                if let Some(trace) = &mut tab.trace {
                    trace.set_flows(of, row, flows);
                }
            }
            TabEvent::Derived(made) => {
                if let Some(trace) = &mut tab.trace {
                    trace.derived.show(*made, &mut trace.timeline);
                }
            }
            TabEvent::Ranked(source, ranks) => {
                if let Some(trace) = &mut tab.trace {
                    trace.set_ranks(&source, ranks);
                }
            }
            TabEvent::Arranged(arranged) => {
                if let Some(timeline) = tab.timeline_mut() {
                    timeline.set_arranged(*arranged);
                }
            }
            TabEvent::NotArranged(number) => {
                if let Some(timeline) = tab.timeline_mut() {
                    timeline.keep_rows(number);
                }
            }
            TabEvent::Answered(id, kind, answer) => self.handle_answer(at, (id, kind), answer.map(|answer| *answer)),
            TabEvent::TableWritten(id, path, result) => self.handle_written_table(at, id, &path, result),
            TabEvent::Wrote(path, Ok(lacks)) => {
                let sentences = std::iter::once(format!("Written to {}", path.display())).chain(lacks);
                tab.notes.set(sentences.collect::<Vec<_>>().join("; "));
            }
            TabEvent::Wrote(_, Err(error)) => {
                tab.notes.clear();
                self.fail(at, "The file could not be written", error, true);
            }
            // The task was cancelled.
            TabEvent::Previewed(..) | TabEvent::Loaded(..) | TabEvent::Followed(..) | TabEvent::FollowEnded(..) => {}
        }
    }

    /// Shows the answer to a query of a panel.
    fn handle_answer(&mut self, at: usize, query: (TaskId, QuestionKind), answer: Result<Option<Answer>, TaskError>) {
        let tab = &mut self.tabs[at];
        let Some(trace) = &mut tab.trace else { return };
        let row = tab.panels.handle_answer(query, answer, &mut trace.timeline);
        if let Some(named) = tab.panels.take_named() {
            show_names(tab, &named);
        } else if let Some(row) = row {
            self.act_on_timeline(at, TimelineCommand::Reveal(row));
        }
    }

    /// Shows the number of rows of a written table, or an error.
    fn handle_written_table(&mut self, at: usize, id: TaskId, path: &Path, result: Result<u64, TaskError>) {
        let tab = &mut self.tabs[at];
        let is_short = tab.short_tables.iter().any(|table| table.id == id);
        let is_long = tab.writing.take_if(|writing| writing.task.id == id).is_some();
        if !is_short && !is_long {
            return;
        }
        tab.short_tables.retain(|table| table.id != id);
        match result {
            Ok(1) => tab.notes.set(format!("1 row written to {}", path.display())),
            Ok(rows) => tab.notes.set(format!("{} written to {}", counted(rows, "row"), path.display())),
            Err(error) => self.fail(at, "The table could not be written", error, true),
        }
    }

    /// Shows a completely imported trace, or an error.
    fn handle_loaded(&mut self, at: usize, result: Result<LoadedTrace, TaskError>) {
        let sources = self.tabs[at].running.take().map(|running| running.sources.clone()).unwrap_or_default();
        match result {
            Ok(loaded) => self.show_loaded(at, loaded, sources),
            Err(error) if self.tabs[at].follow.is_some() => self.handle_failed_sort(at, &error),
            Err(error) => self.handle_failed_load(at, &sources, error),
        }
    }

    fn show_loaded(&mut self, at: usize, loaded: LoadedTrace, mut sources: Sources) {
        let tab = &mut self.tabs[at];
        if let Some(note) = loaded.note {
            tab.notes.add(note);
        }
        let follow = tab.follow.take();
        let unread = unread_paths(&sources, &loaded.snapshot.store().meta().losses);
        let spool = follow.and_then(|mut follow| follow.spool.take());
        if let Some(spool) = spool {
            if !unread.is_empty() {
                tab.notes.add(format!("Unreadable data is kept in {}", spool.path().display()));
            }
            let received = ReceivedData::new(spool, unread);
            if tab.has_only_copy() {
                tab.only_copy = OnlyCopy::Stored(received);
            } else {
                // A followed file has all other data itself, so the copy is removed.
                drop(received);
                sources = sources.without_copies();
            }
        }
        let opened_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let bytes = loaded.snapshot.store().meta().summary.source_bytes;
        // The input of a pipe cannot be opened again, and a followed file that was replaced lacks rows.
        if loaded.files.can_be_read_again && !self.tabs[at].files_lack_rows() {
            self.preferences.recent.note(&sources);
            self.preferences.recent.note_facts(&sources, RecentFacts { bytes, opened_s });
        }
        self.show_trace_in(at, (loaded.snapshot, sources, loaded.files), false);
        self.start_waiting_export(at);
    }

    /// Shows why a trace cannot be loaded. The part that was sorted before the failure stays open.
    fn handle_failed_load(&mut self, at: usize, sources: &Sources, error: TaskError) {
        let tab = &mut self.tabs[at];
        tab.end_growth(&self.options);
        // The earlier trace stays open, so the next import must not restore its earlier state.
        if tab.trace.as_ref().is_some_and(OpenTrace::is_whole) {
            tab.reimport = None;
        }
        // Files with new offsets return to their previous offsets.
        if let Some(timeline) = tab.timeline_mut() {
            timeline.move_file(None);
        }
        let concerns_tab = tab.trace.as_ref().is_none_or(|open| open.sources == *sources);
        if concerns_tab && let Some(timeline) = tab.timeline_mut() {
            timeline.interrupt(&match &error {
                TaskError::Cancelled => "The load was stopped.".to_owned(),
                TaskError::Damaged(text) | TaskError::Failed(text) => format!("The load failed: {text}"),
            });
        }
        self.drop_waiting_export(at);
        self.fail(at, "The trace cannot be opened", error, concerns_tab);
    }

    pub(super) fn show_trace_in(
        &mut self,
        at: usize,
        (snapshot, sources, files): (Snapshot, Sources, Arc<OpenedFiles>),
        grows: bool,
    ) {
        let id = self.next_task();
        let renewal = self.answer_renewal(at, &snapshot);
        let before = self.tabs[at].trace.take().filter(OpenTrace::grows);
        let (is_repaired, saved_state) = before.as_ref().map(|open| (open.is_repaired, open.saved)).unwrap_or_default();
        let (before, known) = before.map(|open| (open.timeline, (open.flows, open.ranks, open.derived))).unzip();
        let was_live = before.as_ref().is_some_and(Timeline::is_live);
        let (timeline, is_continued) = self.timeline_after(before, snapshot, grows);
        let tab = &mut self.tabs[at];
        if !is_continued {
            tab.panels.unpin_all();
        }
        match renewal {
            AnswerRenewal::Forget => tab.panels.forget(&timeline),
            AnswerRenewal::Renew(moves) => {
                tab.panels.move_rows(&moves);
                tab.panels.renew(timeline.snapshot());
            }
            AnswerRenewal::Wait(moves) => tab.panels.move_rows(&moves),
        }
        let mut trace = OpenTrace::new(id, sources, timeline, grows, &tab.wake);
        trace.is_repaired = is_repaired && is_continued;
        trace.files = files;
        if grows && trace.timeline.is_live() {
            // Known answers stay in view until new ones arrive.
            (trace.flows, trace.ranks, trace.derived) = known.unwrap_or_default();
        }
        // Restored before the next save: a save from a part of the trace would overwrite the saved timeline.
        let is_due = saved_state == SavedState::Pending && !was_live && trace.is_whole();
        trace.saved = if is_due { SavedState::Restored } else { saved_state };
        let saved = if is_due { self.take_saved(at, &trace.files) } else { None };
        self.restore(at, &mut trace, saved);
        let tab = &mut self.tabs[at];
        let query = self.options.symbols.query(&trace.sources, &self.options.load);
        if grows {
            tab.panels.set_name_query(query);
        } else {
            tab.panels.find_names_again(query, trace.timeline.snapshot());
        }
        tab.trace = Some(trace);
    }

    /// Returns the timeline of a snapshot, and whether it continues the earlier timeline with its view.
    fn timeline_after(&self, before: Option<Timeline>, snapshot: Snapshot, grows: bool) -> (Timeline, bool) {
        let was_live = before.as_ref().is_some_and(Timeline::is_live);
        // A followed trace is sorted again at its end, which may change the order of its tracks.
        let is_same = |earlier: &Timeline| grows || !was_live || snapshot.has_tracks_of(earlier.snapshot());
        let (mut timeline, is_continued) = match before {
            Some(timeline) if is_same(&timeline) => {
                let mut timeline = timeline.with_snapshot(snapshot);
                // The sort numbers names differently, so the spans of old tiles would have wrong names.
                if was_live && !grows {
                    timeline.release_tiles();
                }
                (timeline, true)
            }
            before => {
                let mut timeline = Timeline::new(snapshot, self.budget, &self.theme, self.navigation());
                timeline.set_density(self.preferences.density);
                timeline.set_gutter_points(self.preferences.gutter_points);
                timeline.set_colors(self.preferences.colors);
                if let Some(earlier) = &before {
                    timeline.copy_arrangement_from(earlier);
                }
                (timeline, false)
            }
        };
        if !grows {
            timeline.end_live();
        }
        (timeline, is_continued)
    }

    /// Returns the saved timeline of a trace. From then on, it is saved when it changes.
    fn take_saved(&mut self, at: usize, files: &OpenedFiles) -> Option<SavedTimeline> {
        let (read, note) = files.saved();
        let tab = &mut self.tabs[at];
        tab.keeper.note_read(read.clone().unwrap_or_default());
        tab.notes.add(note.unwrap_or_default());
        read
    }

    /// Restores the saved state of a timeline. Files that are imported again keep their present state, even if it is
    /// not saved.
    fn restore(&mut self, at: usize, trace: &mut OpenTrace, saved: Option<SavedTimeline>) {
        let tab = &mut self.tabs[at];
        let panels = saved.as_ref().and_then(SavedTimeline::saved_panels);
        let selects_saved = trace.timeline.scope().is_whole() && saved.as_ref().is_some_and(|it| !it.scope.is_whole());
        let states = match tab.reimport.take() {
            Some(mut reimport) if !trace.is_whole() => {
                let view = reimport.view();
                tab.reimport = Some(reimport);
                [view, None]
            }
            Some(reimport) => reimport.into_states(trace.timeline.snapshot(), saved),
            None => [saved, None],
        };
        for state in states.into_iter().flatten() {
            trace.timeline.restore(state);
        }
        if let Some(panels) = panels {
            tab.panels.restore(panels, &trace.timeline);
        }
        if selects_saved && !trace.timeline.scope().is_whole() {
            tab.notes.replace(NoteKind::RestoredScope, RESTORED_SCOPE_NOTE.to_owned());
        }
    }

    /// Shows a trace imported from `sources`, complete or, if it `grows`, partial.
    pub(crate) fn show_trace(&mut self, snapshot: Snapshot, sources: Sources, grows: bool) {
        let files = Arc::new(OpenedFiles::from_sources(&sources));
        files.read_saved(&self.timeline_reader());
        self.show_trace_in(self.shown_tab, (snapshot, sources, files), grows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::state::NameState;

    #[test]
    fn addresses_without_samples_are_not_said_to_lack_names() {
        let module = |samples, frames, named| ModuleReport {
            replaced: 0,
            module: 0,
            samples,
            frames,
            named,
            state: NameState::NoFile,
            is_verified: None,
            file: None,
            command: None,
        };
        assert_eq!(naming_note(&[module(0, 3, 0), module(7, 2, 2)]), None);
        let note = naming_note(&[module(0, 3, 0), module(7, 2, 1)]).unwrap();
        assert!(note.starts_with("1 of 2 addresses have names: "), "{note}");
    }
}
