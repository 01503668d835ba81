//! A growing timeline: its view stays at the right edge until the user moves it, and returns on request.

use egui::{Align2, FontId, Stroke, Ui, pos2, vec2};

use super::layout::TimelineLayout;
use super::live_view::LiveView;
use super::state::Timeline;
use crate::query::track_map::TrackMap;
use crate::scene::viewport::Viewport;
use crate::ui::command::TimelineCommand;
use crate::ui::theme::{TEXT_POINTS, Theme};

/// Width of the view while following a longer trace, unless the user has zoomed.
const WIDTH_NS: u64 = 10_000_000_000;

impl Timeline {
    /// Marks the timeline as growing, and makes the view follow.
    pub(crate) fn set_live(&mut self) {
        self.live = Some(LiveView::Following(None));
        self.keep_following(true);
    }

    /// Marks the timeline as finished; the view stays.
    pub(crate) fn end_live(&mut self) {
        self.live = None;
    }

    pub(crate) fn is_live(&self) -> bool {
        self.live.is_some()
    }

    /// Returns whether the view stays at the right edge.
    pub(crate) fn follows(&self) -> bool {
        match self.live {
            Some(LiveView::Following(followed)) => followed.is_none_or(|followed| !self.has_moved(&followed)),
            Some(LiveView::Free | LiveView::Held) | None => false,
        }
    }

    /// Moves the view to the right edge, with its current zoom.
    pub(crate) fn follow(&mut self) {
        if self.live.is_some() {
            self.live = Some(LiveView::Following(None));
            self.view.finish_flight();
            self.show_edge();
        }
    }

    /// Keeps the view exactly where it is while the trace grows, even a view of the whole trace.
    pub(crate) fn hold_view(&mut self) {
        self.live = self.live.map(|_| LiveView::Held);
    }

    /// Keeps the view at the edge. `follows` is the state before the trace grew.
    pub(super) fn keep_following(&mut self, follows: bool) {
        let Some(live) = &mut self.live else { return };
        if !follows {
            live.release();
        }
        let LiveView::Following(followed) = *live else { return };
        let (start_ns, end_ns) = (self.snapshot.start_ns(), self.snapshot.end_ns());
        let is_short = end_ns.abs_diff(start_ns) <= WIDTH_NS;
        match followed {
            None if is_short => self.view.show_all(),
            None => self.view.show_exactly(end_ns.saturating_sub_unsigned(WIDTH_NS), end_ns),
            // While the trace was short, all of it was shown.
            Some(followed) if followed.shows_all() && !is_short => {
                self.view.show_exactly(end_ns.saturating_sub_unsigned(WIDTH_NS), end_ns);
            }
            Some(_) => {}
        }
        self.show_edge();
    }

    /// Stops following for commands that move the view, such as going from span to span.
    pub(super) fn note_live(&mut self, command: &TimelineCommand) {
        let Some(live) = &mut self.live else { return };
        match command {
            TimelineCommand::Step(_)
            | TimelineCommand::Reveal(_)
            | TimelineCommand::ZoomToSpan
            | TimelineCommand::ShowTime(_)
            | TimelineCommand::Center(_)
            | TimelineCommand::ShowTrack(_, Some(_))
            | TimelineCommand::ShowSlice(..) => live.release(),
            TimelineCommand::ShowFileMoved(_)
            | TimelineCommand::Select(_)
            | TimelineCommand::ShowTrack(_, None)
            | TimelineCommand::Rows(_)
            | TimelineCommand::Scope(_)
            | TimelineCommand::Derived(_)
            | TimelineCommand::Bookmark(_)
            | TimelineCommand::UndoEdit
            | TimelineCommand::RedoEdit => {}
        }
    }

    /// Restores the state of another timeline of the same trace, whose tracks and names may have other indices.
    pub(crate) fn copy_arrangement_from(&mut self, other: &Self) {
        self.first_start_ns = other.first_start_ns;
        let saved = other.to_saved().mapped(&TrackMap::new(&other.snapshot, &self.snapshot));
        // The first frame lays out again, at its own scale.
        self.restore(saved);
        self.derived.export(other.derived.is_exported());
    }

    fn show_edge(&mut self) {
        self.view.end_at_edge(self.snapshot.end_ns());
        self.live = Some(LiveView::Following(Some(*self.view.now())));
    }

    /// Returns whether the user has moved the view. A change of its size does not count.
    fn has_moved(&self, followed: &Viewport) -> bool {
        let view = self.view.target();
        let is_resized = view.width_px().to_bits() != followed.width_px().to_bits();
        let is_same =
            view.start_ns() == followed.start_ns() && view.ns_per_px().to_bits() == followed.ns_per_px().to_bits();
        !is_same && !is_resized
    }
}

/// Marks the end of the received time.
pub(super) fn paint(timeline: &Timeline, ui: &Ui, layout: &TimelineLayout, theme: &Theme) {
    let x_px = timeline.view.now().x_from_time(timeline.snapshot.end_ns());
    if !(0.0..timeline.view.now().width_px()).contains(&x_px) {
        return;
    }
    let x = layout.canvas.left() + x_px as f32 / timeline.scale();
    let painter = ui.painter_at(layout.canvas);
    painter.vline(x, layout.canvas.y_range(), Stroke::new(1.0, theme.accent));
    let galley = painter.layout_no_wrap("now".to_owned(), FontId::proportional(TEXT_POINTS), theme.accent);
    let text = Align2::LEFT_BOTTOM.anchor_size(pos2(x + 3.0, layout.canvas.bottom() - 2.0), galley.size());
    painter.rect_filled(text.expand2(vec2(2.0, 1.0)), 2.0, theme.canvas);
    painter.galley(text.min, galley, theme.accent);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::RectBudget;
    use crate::model::TrackIdx;
    use crate::query::Snapshot;
    use crate::scene::bookmarks::Bookmarks;
    use crate::scene::color::Shade;
    use crate::scene::rows::GroupKind;
    use crate::scene::tests::{snapshot, threads};
    use crate::store::lane::{LaneIdx, RowIdx};
    use crate::ui::command::{BookmarkCommand, RowCommand, ScopeCommand};
    use crate::ui::settings::Navigation;
    use crate::ui::timeline::interaction::ClickTarget;

    /// Returns a trace whose first span starts at this time, in microseconds.
    fn from_us(first_us: u32) -> Snapshot {
        let span = |ts_us: u32| format!(r#"{{"ph":"X","name":"a","pid":1,"tid":1,"ts":{ts_us},"dur":1}}"#);
        snapshot(&format!("[{},{}]", span(first_us), span(30)))
    }

    #[test]
    fn the_zero_of_the_ruler_stays_when_a_live_trace_drops_its_oldest_rows() {
        let theme = Theme::new(Shade::Dark);
        let new = |first_us| Timeline::new(from_us(first_us), RectBudget::SOFTWARE, &theme, Navigation::default());
        let mut timeline = new(10);
        timeline.set_live();
        for first_us in [15, 20, 30] {
            timeline = timeline.with_snapshot(from_us(first_us));
            assert_eq!(timeline.time_text(30_000), "0.000020000 s", "from {first_us} us");
        }
        timeline.end_live();
        let mut sorted = new(25);
        sorted.copy_arrangement_from(&timeline);
        assert_eq!(sorted.time_text(30_000), "0.000020000 s", "when all is sorted");
        assert_eq!(new(25).time_text(30_000), "0.000005000 s", "when it is opened again");
    }

    #[test]
    fn the_zero_of_the_ruler_is_the_first_event_of_a_live_trace_that_starts_empty() {
        let theme = Theme::new(Shade::Dark);
        let empty = snapshot(r#"[{"ph":"M","name":"process_name","pid":1,"args":{"name":"p"}}]"#);
        let mut timeline = Timeline::new(empty, RectBudget::SOFTWARE, &theme, Navigation::default());
        timeline.set_live();
        for first_us in [20, 20, 25] {
            timeline = timeline.with_snapshot(from_us(first_us));
            assert_eq!(timeline.time_text(30_000), "0.000010000 s", "from {first_us} us");
        }
    }

    #[test]
    fn an_open_menu_stays_while_a_trace_grows() {
        let theme = Theme::new(Shade::Dark);
        let snapshot = || threads(&[("a", "one", 1)]);
        let mut timeline = Timeline::new(snapshot(), RectBudget::SOFTWARE, &theme, Navigation::default());
        timeline.set_live();
        let row = Some(RowIdx { lane: LaneIdx(0), row: 0 });
        timeline.interaction.clicked = Some(ClickTarget { row, group: None, ts_ns: 7 });
        let grown = timeline.with_snapshot(snapshot());
        let clicked = grown.interaction.clicked.expect("the target of the menu");
        assert_eq!((clicked.row, clicked.ts_ns), (row, 7));
    }

    #[test]
    fn markers_scopes_and_rows_of_a_live_trace_stay_when_the_sort_at_its_end_reorders_its_tracks() {
        let theme = Theme::new(Shade::Dark);
        let new = |spans: &[(&str, &str, u32)]| {
            Timeline::new(threads(spans), RectBudget::SOFTWARE, &theme, Navigation::default())
        };
        let track = |timeline: &Timeline, name: &str| {
            let mut tracks = (0..).map(TrackIdx).zip(&timeline.snapshot.tracks().tracks);
            tracks.find(|(_, track)| &*track.name == name).expect("a track").0
        };
        let mut live = new(&[("a", "one", 1), ("b", "two", 2)]);
        live.set_live();
        let [one, two] = ["one", "two"].map(|name| track(&live, name));
        for command in [
            TimelineCommand::Bookmark(BookmarkCommand::AddAt(1500)),
            TimelineCommand::Scope(ScopeCommand::Save("mine".to_owned())),
            TimelineCommand::Rows(RowCommand::TogglePin(two)),
            TimelineCommand::Rows(RowCommand::Hide(GroupKind::Track(one))),
        ] {
            live.act(command);
        }
        let mut sorted = new(&[("b", "two", 1), ("a", "one", 2)]);
        sorted.copy_arrangement_from(&live);
        assert_ne!(live.to_saved().marks, Bookmarks::default());
        assert_eq!(sorted.to_saved().marks, live.to_saved().marks);
        assert_eq!(sorted.selection.saved(), live.selection.saved());
        let [one_now, two_now] = ["one", "two"].map(|name| track(&sorted, name));
        assert_ne!(one_now, one, "the tracks have other indices");
        assert_eq!(sorted.arrangement().pinned, [two_now]);
        let hidden = &sorted.tracks.arrangement().folded.hidden;
        assert!(hidden.contains(&one_now) && !hidden.contains(&two_now));
    }
}
