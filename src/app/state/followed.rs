//! Running traces in their tabs: snapshots as they arrive, commands of the user, and the final sort, which replaces the
//! last snapshot.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::app::event::TaskError;
use crate::app::follow::{self, FollowTask};
use crate::app::follow_request::FollowRequest;
use crate::app::open_trace::Growth;
use crate::app::opened_files::OpenedFiles;
use crate::app::received::OnlyCopy;
use crate::app::state::App;
use crate::app::tab::TabMessage;
use crate::app::tasks;
use crate::ingest::spool::is_unseekable;
use crate::live::arrivals::LiveInput;
use crate::live::density::LiveDensity;
use crate::live::follow::{FollowEnd, FollowUpdate};
use crate::live::spool_folder::SpoolFolder;
use crate::query::Snapshot;
use crate::store::live_lanes::LaneMoves;
use crate::tiles::trace_summary::TraceSummary;
use crate::ui::command::LiveCommand;

/// How the answers of the panels follow to a new snapshot of the trace.
#[derive(Debug)]
pub(super) enum AnswerRenewal {
    /// The answers are of another trace.
    Forget,
    /// The answers are outdated, and stay until new ones arrive.
    Renew(LaneMoves),
    /// The answers are recent enough: only the indices of their lanes change.
    Wait(LaneMoves),
}

impl App {
    /// Follows sources in a new tab, or in the active tab if it is empty.
    pub(crate) fn follow(&mut self, request: FollowRequest) {
        self.dialogs.picker = None;
        self.show_tab_for_more();
        self.clear_earlier_notes();
        let (id, at) = (self.next_task(), self.shown_tab);
        self.tabs[at].save(self.options.folders.as_ref(), &self.writes);
        let tab = &mut self.tabs[at];
        tab.keep_unread_messages();
        tab.awaits_trace = false;
        let is_unseekable = request.sources().files().iter().any(|file| is_unseekable(&file.input));
        tab.only_copy = if is_unseekable { OnlyCopy::Receiving } else { OnlyCopy::No };
        tab.follow = Some(follow::start(id, request, &self.options.load, &tab.wake));
    }

    /// Follows files that the user chose.
    pub fn follow_files(&mut self, files: &[PathBuf]) {
        if !files.is_empty() {
            self.follow(FollowRequest::new(files.iter().map(|path| LiveInput::Input(path.clone().into())).collect()));
        }
    }

    /// Asks all sources to end, and waits for that, before the program ends.
    pub(crate) fn end_follows(&mut self) {
        let follows = self.tabs.iter_mut().filter_map(|tab| tab.follow.take()).collect::<Vec<_>>();
        follows.iter().for_each(FollowTask::stop);
        follows.iter().for_each(FollowTask::wait_until_ended);
    }

    pub(super) fn act_on_live(&mut self, command: LiveCommand) {
        let at = self.shown_tab;
        let tab = &mut self.tabs[at];
        let Some(follow) = tab.follow.as_mut().filter(|follow| follow.is_running()) else { return };
        let follows = tab.trace.as_ref().is_some_and(|trace| trace.timeline.follows());
        let unshown = match command {
            LiveCommand::Stop => {
                follow.stop();
                None
            }
            LiveCommand::TogglePause => follow.pause(!follow.is_paused()),
            LiveCommand::Follow | LiveCommand::FollowOrPause if follow.is_paused() || !follows => {
                let unshown = follow.pause(false);
                if let Some(trace) = &mut tab.trace {
                    trace.timeline.follow();
                }
                unshown
            }
            LiveCommand::Follow => None,
            LiveCommand::FollowOrPause => follow.pause(true),
        };
        if let Some(snapshot) = unshown {
            self.show_live(at, snapshot);
        }
    }

    pub(super) fn handle_followed(&mut self, at: usize, followed: FollowUpdate) {
        let tab = &mut self.tabs[at];
        let Some(follow) = &mut tab.follow else { return };
        match followed {
            FollowUpdate::Snapshot(snapshot, density, counts) => {
                if let Some(snapshot) = follow.receive_snapshot((snapshot, density), counts) {
                    self.show_live(at, snapshot);
                }
            }
            FollowUpdate::Counts(counts) => follow.counts = counts,
            FollowUpdate::Said(note) => {
                tab.notes.set(note.to_string());
                follow.keep_note(note);
            }
        }
    }

    /// Shows more of a live trace.
    fn show_live(&mut self, at: usize, (snapshot, density): (Snapshot, LiveDensity)) {
        let tab = &mut self.tabs[at];
        let Some(sources) = tab.follow.as_ref().map(|follow| follow.sources.clone()) else { return };
        // Something else was open here before.
        let is_first = !tab.trace.as_ref().is_some_and(|trace| trace.timeline.is_live());
        if is_first {
            tab.stop_growing();
        }
        let shown = tab.trace.as_ref().filter(|trace| trace.sources == sources);
        let files = shown.map_or_else(|| OpenedFiles::from_followed(&sources).into(), |trace| trace.files.clone());
        self.show_trace_in(at, (snapshot, sources, files), true);
        let Some(trace) = &mut self.tabs[at].trace else { return };
        if is_first {
            trace.timeline.set_live();
        }
        let (buckets, filled) = density.filled();
        trace.timeline.set_live_summary(TraceSummary::from_filled(buckets, filled));
    }

    /// Returns how the panels of a tab follow to a new snapshot. Queries run at most once a second, and never while
    /// others run. Otherwise a program that starts threads all the time would cancel each query.
    pub(super) fn answer_renewal(&mut self, at: usize, later: &Snapshot) -> AnswerRenewal {
        let tab = &mut self.tabs[at];
        let is_busy = tab.panels.is_busy();
        let Some(follow) = tab.follow.as_mut().filter(|follow| follow.is_running()) else {
            return AnswerRenewal::Forget;
        };
        let earlier = tab.trace.as_ref().map(|open| open.timeline.snapshot());
        let is_due = !is_busy && follow.answers.wait().is_zero();
        let moves = earlier.and_then(|earlier| later.lane_moves_since(earlier));
        if moves.is_none() || is_due {
            follow.answers.note_query();
        } else {
            follow.answers.note_later_snapshot();
        }
        match moves {
            None => AnswerRenewal::Forget,
            Some(moves) if is_due => AnswerRenewal::Renew(moves),
            Some(moves) => AnswerRenewal::Wait(moves),
        }
    }

    /// Queries the panels again once that is due, for the last snapshot of a trace that is silent.
    pub(in crate::app) fn renew_late_answers(&mut self, ctx: &egui::Context) {
        let tab = self.tab_mut();
        let Some(follow) = tab.follow.as_mut().filter(|follow| follow.answers.is_behind()) else { return };
        let Some(trace) = &tab.trace else { return };
        let left = follow.answers.wait();
        if !left.is_zero() || tab.panels.is_busy() {
            ctx.request_repaint_after(left.max(Duration::from_millis(100)));
            return;
        }
        follow.answers.note_query();
        tab.panels.renew(trace.timeline.snapshot());
    }

    /// Keeps the last snapshot and the received data of a trace whose final sort was cancelled or has failed.
    pub(super) fn handle_failed_sort(&mut self, at: usize, error: &TaskError) {
        let spool = self.tabs[at].follow.as_mut().and_then(|follow| follow.spool.take());
        let why = match error {
            TaskError::Cancelled => "The sort was stopped",
            TaskError::Damaged(text) | TaskError::Failed(text) => text,
        };
        self.keep_unsorted(at, why, spool.and_then(SpoolFolder::keep).as_deref(), None);
        self.drop_waiting_export(at);
    }

    /// Keeps the last snapshot of an ended trace, and shows why it is not sorted. The other rows are only in `folder`.
    fn keep_unsorted(&mut self, at: usize, why: &str, folder: Option<&Path>, unshown: Option<(Snapshot, LiveDensity)>) {
        let tab = &mut self.tabs[at];
        let text = match folder {
            Some(folder) => {
                tab.only_copy.note_saved();
                format!("{why}. All received data is in {}", folder.display())
            }
            None => format!("{why}. Export the last snapshot to save it"),
        };
        tab.show_message(TabMessage::for_tab("The received data is not sorted", text));
        self.keep_last_snapshot(at, unshown);
    }

    /// Keeps the last snapshot of an ended trace that is not sorted.
    fn keep_last_snapshot(&mut self, at: usize, unshown: Option<(Snapshot, LiveDensity)>) {
        if let Some(snapshot) = unshown {
            self.show_live(at, snapshot);
        }
        let tab = &mut self.tabs[at];
        tab.follow = None;
        tab.end_growth(&self.options);
        if let Some(trace) = &mut tab.trace {
            trace.growth = Growth::LastSnapshot;
            trace.timeline.end_live();
        }
    }

    /// Sorts an ended trace in the background. The last snapshot stays until then.
    pub(super) fn sort_followed(&mut self, at: usize, end: Result<Box<FollowEnd>, TaskError>) {
        let tab = &mut self.tabs[at];
        let Some(follow) = &mut tab.follow else { return };
        if follow.is_paused()
            && let Some(trace) = &mut tab.trace
        {
            trace.timeline.hold_view();
        }
        let unshown = follow.pause(false);
        // Sentences that are true only of running sources are cleared.
        tab.notes.set(follow.lasting_text());
        match end {
            Ok(end) => self.sort_received(at, *end, unshown),
            Err(error) => {
                self.keep_last_snapshot(at, unshown);
                self.fail(at, "The trace cannot be followed", error, true);
            }
        }
    }

    /// Sorts the data of an ended trace, unless nothing was received or it cannot be sorted. Shows its last snapshot.
    fn sort_received(&mut self, at: usize, end: FollowEnd, unshown: Option<(Snapshot, LiveDensity)>) {
        let FollowEnd { sources, spool, errors, unsorted, has_snapshot_only, has_replaced, .. } = end;
        let (id, load, reader) = (self.next_task(), self.options.load.clone(), self.timeline_reader());
        let tab = &mut self.tabs[at];
        let Some(followed) = tab.follow.as_ref().map(|follow| follow.sources.clone()) else { return };
        if !errors.is_empty() {
            let text = format!("{}. The data received before is shown.", errors.join(". "));
            tab.show_message(TabMessage::for_tab("Some sources could not be followed", text));
        }
        if has_replaced {
            tab.only_copy.note_replaced();
        }
        if let Some(why) = unsorted {
            let folder = if sources.files().is_empty() { None } else { spool.keep() };
            return self.keep_unsorted(at, &why, folder.as_deref(), unshown);
        }
        if has_snapshot_only {
            tab.notes.add("Only the last snapshot was kept: export it to save it".to_owned());
            self.keep_last_snapshot(at, unshown);
            return;
        }
        if sources.files().is_empty() {
            self.keep_last_snapshot(at, unshown);
            if errors.is_empty() {
                let error = TaskError::Failed(format!("{}: no data was received", followed.title()));
                self.fail(at, "No data was received", error, true);
            }
            return;
        }
        let sources = sources.with_weight_unit(followed.weight_unit());
        if let Some(follow) = &mut tab.follow {
            follow.end(spool);
        }
        tab.running = Some(tasks::load_spooled(id, sources, load, reader, &tab.wake));
        if let Some(snapshot) = unshown {
            self.show_live(at, snapshot);
        }
    }
}
