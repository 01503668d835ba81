//! How the rows of a timeline change: folding, pinning, hiding at once; another order, filter or height by laying out anew,
//! in the background where tracks are many.

use super::state::Timeline;
use crate::model::{ProcessIdx, TrackIdx};
use crate::query::Snapshot;
use crate::scene::arrange::{self, Arrangement};
use crate::scene::rows::{Density, GroupKind, RowHeights, RowLayout};
use crate::ui::command::RowCommand;

/// So many tracks are arranged within a frame; more in the background. A thousand take about half a millisecond.
const TRACKS_AT_ONCE: usize = 2000;

/// Rows that are to be laid out anew.
#[derive(Debug)]
pub struct Arranging {
    number: u64,
    snapshot: Snapshot,
    arrangement: Arrangement,
    heights: RowHeights,
}

/// Rows that were laid out anew.
#[derive(Debug)]
pub struct Arranged {
    number: u64,
    layout: RowLayout,
}

impl Arranging {
    /// Lays out; takes as long as there are tracks.
    #[must_use]
    pub fn run(self) -> Arranged {
        let layout = arrange::layout(&self.snapshot, &self.arrangement, &self.heights);
        Arranged { number: self.number, layout }
    }
}

impl Timeline {
    /// Arranges rows otherwise; returns what is to be done in the background, and brought back to [`Timeline::take`].
    #[must_use]
    pub(crate) fn change_rows(&mut self, command: RowCommand) -> Option<Arranging> {
        match command {
            RowCommand::ToggleFold(kind) => self.toggle_fold(kind),
            RowCommand::ToggleFoldOfSelected => {
                if let Some(track) = self.selected_track() {
                    self.toggle_fold(GroupKind::Track(track));
                }
            }
            RowCommand::FoldAll(folded) => return self.fold_all(folded),
            RowCommand::TogglePin(track) => self.toggle_pin(track),
            RowCommand::TogglePinOfSelected => {
                if let Some(track) = self.selected_track() {
                    self.toggle_pin(track);
                }
            }
            RowCommand::Hide(GroupKind::Track(track)) => self.hide(&[track]),
            RowCommand::Hide(GroupKind::Process(process)) => {
                let tracks: Vec<_> = self.rows.layout.tracks_of(process).collect();
                self.hide(&tracks);
                self.set_folded(GroupKind::Process(process), true);
            }
            RowCommand::ShowHidden => {
                let mut hidden: Vec<_> = std::mem::take(&mut self.arrangement.folded.hidden).into_iter().collect();
                hidden.sort_unstable();
                for track in hidden {
                    self.apply(GroupKind::Track(track));
                }
                self.rows_changed();
            }
            RowCommand::Order(order) => {
                self.arrangement.order = order;
                return self.arrange();
            }
            RowCommand::Filter(words) => {
                self.arrangement.filter = words;
                return self.arrange();
            }
            RowCommand::FocusFilter => self.focuses_filter = true,
        }
        None
    }

    /// Lays out the rows in another height.
    #[must_use]
    pub(crate) fn change_density(&mut self, density: Density) -> Option<Arranging> {
        self.density = density;
        self.arrange()
    }

    /// Takes rows that were laid out in the background, unless others were asked for since.
    pub(crate) fn take(&mut self, arranged: Arranged) {
        if arranged.number != self.arranging {
            return;
        }
        self.rows.set_layout(arranged.layout);
        self.awaits_rows = false;
        // What was folded or hidden meanwhile.
        for kind in std::mem::take(&mut self.folded_meanwhile) {
            self.apply(kind);
        }
        self.rows_changed();
        #[expect(clippy::cast_precision_loss, reason = "a part of some million pixels")]
        if let Some(part) = self.to_scroll.take() {
            self.scroll_to(part * self.rows.layout.height_px() as f64);
        }
        if let Some(row) = self.to_reveal.take() {
            self.scroll_to_row(row);
        }
    }

    /// Lays out all rows anew: at once where they are few.
    pub(super) fn arrange(&mut self) -> Option<Arranging> {
        self.arranging += 1;
        self.folded_meanwhile.clear();
        let heights = RowHeights::new(self.density, self.scale());
        self.pinned.set_layout(arrange::pinned_layout(&self.snapshot, &self.arrangement, &heights));
        let job = Arranging {
            number: self.arranging,
            snapshot: self.snapshot.clone(),
            arrangement: self.arrangement.clone(),
            heights,
        };
        self.awaits_rows = self.snapshot.display_order().len() > TRACKS_AT_ONCE;
        if self.awaits_rows {
            return Some(job);
        }
        self.take(job.run());
        None
    }

    /// Unfolds what hides a track; returns whether it is laid out at all.
    pub(super) fn uncover(&mut self, track: TrackIdx) -> bool {
        let process = self.snapshot.track(track).process;
        for kind in [GroupKind::Process(process), GroupKind::Track(track)] {
            if self.is_folded(kind) {
                self.set_folded(kind, false);
            }
        }
        if self.arrangement.folded.hidden.remove(&track) {
            self.apply(GroupKind::Track(track));
            self.rows_changed();
        }
        self.rows.layout.group_of(GroupKind::Track(track)).is_some()
    }

    pub(super) fn is_folded(&self, kind: GroupKind) -> bool {
        match kind {
            GroupKind::Process(process) => self.arrangement.folded.processes.contains(&process),
            GroupKind::Track(track) => self.arrangement.folded.tracks.contains(&track),
        }
    }

    pub(super) fn is_pinned(&self, track: TrackIdx) -> bool {
        self.arrangement.pinned.contains(&track)
    }

    fn toggle_fold(&mut self, kind: GroupKind) {
        self.set_folded(kind, !self.is_folded(kind));
    }

    fn set_folded(&mut self, kind: GroupKind, folded: bool) {
        let known = &mut self.arrangement.folded;
        match (kind, folded) {
            (GroupKind::Process(process), true) => known.processes.insert(process),
            (GroupKind::Process(process), false) => known.processes.remove(&process),
            (GroupKind::Track(track), true) => known.tracks.insert(track),
            (GroupKind::Track(track), false) => known.tracks.remove(&track),
        };
        self.apply(kind);
        self.rows_changed();
    }

    fn hide(&mut self, tracks: &[TrackIdx]) {
        for &track in tracks {
            self.arrangement.folded.hidden.insert(track);
            self.apply(GroupKind::Track(track));
        }
        self.rows_changed();
    }

    fn fold_all(&mut self, folded: bool) -> Option<Arranging> {
        self.arrangement.folded.processes.clear();
        self.arrangement.folded.tracks.clear();
        if folded {
            let processes = 0..u32::try_from(self.snapshot.tracks().processes.len()).unwrap_or(u32::MAX);
            self.arrangement.folded.processes = processes.map(ProcessIdx).collect();
        }
        self.arrange()
    }

    fn toggle_pin(&mut self, track: TrackIdx) {
        let before = self.arrangement.pinned.len();
        self.arrangement.pinned.retain(|&pinned| pinned != track);
        if self.arrangement.pinned.len() == before {
            self.arrangement.pinned.push(track);
        }
        self.lay_out_pinned();
    }

    /// Tells the rows what is folded or hidden of a process or a track.
    fn apply(&mut self, kind: GroupKind) {
        if self.awaits_rows {
            self.folded_meanwhile.push(kind);
        }
        self.rows.layout.set_folded(kind, self.is_folded(kind));
        if let GroupKind::Track(track) = kind {
            self.rows.layout.set_hidden(track, self.arrangement.folded.hidden.contains(&track));
            if self.is_pinned(track) {
                self.lay_out_pinned();
            }
        }
    }

    fn lay_out_pinned(&mut self) {
        let heights = RowHeights::new(self.density, self.scale());
        self.pinned.set_layout(arrange::pinned_layout(&self.snapshot, &self.arrangement, &heights));
    }

    fn rows_changed(&mut self) {
        self.rows.redraw();
        self.scroll(0.0);
    }

    fn selected_track(&self) -> Option<TrackIdx> {
        self.selected.map(|row| self.snapshot.lane(row.lane).track)
    }
}
