//! A still copy of a timeline for pictures: the same time range, rows, selection, bookmarks and filter, without
//! controls and effects of the pointer.

use std::sync::Arc;

use egui::{Ui, Vec2};

use super::state::Timeline;
use super::view::ViewState;
use crate::base::cancel::Cancel;
use crate::frame::filtered::Filtered;
use crate::ui::settings::Navigation;
use crate::ui::theme::Theme;

impl Timeline {
    /// Returns a still copy with `times` as many pixels across and down. Its frames wait for all their tiles.
    #[must_use]
    pub(crate) fn still(&self, times: f64) -> Self {
        let mut still =
            Self::with_pool(self.snapshot.clone(), self.budget, self.span_colors.shade(), Navigation::STILL, None);
        still.view = ViewState::new(self.view.now().magnified(times), Navigation::STILL);
        still.first_start_ns = self.first_start_ns;
        still.pinned_scroll_px = self.pinned_scroll_px * times;
        still.tracks = self.tracks.arranged_alike();
        still.selection.select(self.selection.span());
        still.selection.set_scope(self.selection.scope().clone(), &self.snapshot);
        still.overlays = self.overlays.clone();
        still.overlays.set_lit(None);
        still.derived = self.derived.still();
        still.derived_pane.wait_for_all();
        still.derived_scroll_points = self.derived_scroll_points;
        still.is_export_copy = true;
        (still.live, still.interruption) = (self.live, self.interruption.clone());
        still.gutter_points = self.gutter_points;
        still.set_colors(self.colors());
        if let Some(summary) = self.overlays.summary() {
            still.set_trace_summary(Arc::clone(summary));
        }
        still
    }

    /// Returns the size of the last frame in points, and the pixels per point.
    #[must_use]
    pub(crate) fn shown_size(&self) -> (Vec2, f32) {
        (self.size_points, self.scale())
    }

    /// Shows the timeline, and waits for the missing matches of the filter.
    pub(crate) fn show_still(&mut self, ui: &mut Ui, theme: &Theme) {
        self.show(ui, theme);
        if let Some((matcher, in_view)) = self.unfiltered()
            && let Ok(filtered) = Filtered::find(matcher, &self.snapshot, in_view, &Cancel::default())
        {
            self.set_matching(&Arc::new(filtered));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::RectBudget;
    use crate::query::filter::Filter;
    use crate::query::matcher::Matcher;
    use crate::scene::color::Shade;
    use crate::scene::rows::GroupKind;
    use crate::scene::tests::threads;
    use crate::store::lane::{LaneIdx, LaneKind};
    use crate::ui::command::RowCommand;

    #[test]
    fn matches_on_a_pinned_track_are_found_while_its_own_row_is_out_of_view() {
        let theme = Theme::new(Shade::Dark);
        let names: Vec<String> = (0..20).map(|number| format!("worker {number}")).collect();
        let spans: Vec<_> = names.iter().map(|name| ("a", name.as_str(), 1)).collect();
        let mut timeline = Timeline::new(threads(&spans), RectBudget::SOFTWARE, &theme, Navigation::default());
        let last = *timeline.snapshot.display_order().last().expect("tracks");
        timeline.change_rows(RowCommand::TogglePin(last));
        let filter = Filter::parse("dur>0").expect("a filter");
        timeline.set_matcher(&Arc::new(Matcher::new(&timeline.snapshot, &filter)));
        let nodes = shown_nodes(&mut timeline, &theme);
        assert!(nodes.iter().any(|node| node.contains("worker 19")), "{nodes:?}");
        let spans_of = |track| {
            let mut lanes = timeline.snapshot.lanes_of(track).map(LaneIdx);
            lanes.find(|&lane| timeline.snapshot.lane(lane).kind == LaneKind::Spans).expect("a lane of spans")
        };
        let lane = spans_of(last);
        assert!(timeline.rows.layout.lanes_in_view(timeline.view.now()).iter().all(|row| row.lane != lane));
        let filtered = timeline.overlays.filtered().expect("a filter");
        assert_eq!(filtered.runs(timeline.view.now(), lane, 1, timeline.palette()).len(), 1);
        assert!(timeline.unfiltered().is_none(), "nothing is searched again");
    }

    /// Returns the roles and labels of everything that a timeline shows in a low window.
    fn shown_nodes(timeline: &mut Timeline, theme: &Theme) -> Vec<String> {
        let context = egui::Context::default();
        context.enable_accesskit();
        let size = egui::vec2(700.0, 160.0);
        let mut nodes = Vec::new();
        for _ in 0..3 {
            let screen_rect = Some(egui::Rect::from_min_size(egui::Pos2::ZERO, size));
            let input = egui::RawInput { screen_rect, ..egui::RawInput::default() };
            let mut output = context.run_ui(input, |ui| {
                egui::CentralPanel::no_frame().show(ui, |ui| timeline.show_still(ui, theme));
            });
            output.textures_delta.clear();
            let update = output.platform_output.accesskit_update.expect("a tree");
            let text = |node: &egui::accesskit::Node| format!("{:?} {}", node.role(), node.label().unwrap_or_default());
            nodes = update.nodes.iter().map(|(_, node)| text(node)).collect();
        }
        nodes
    }

    #[test]
    fn a_picture_of_a_live_trace_shows_it_as_live_and_not_as_unsorted() {
        let theme = Theme::new(Shade::Dark);
        let mut timeline =
            Timeline::new(threads(&[("a", "worker", 1)]), RectBudget::SOFTWARE, &theme, Navigation::default());
        assert!(!timeline.still(1.0).is_live());
        timeline.set_live();
        assert!(timeline.still(1.0).is_live());
    }

    #[test]
    fn a_picture_has_no_filter_field_scroll_bar_and_link() {
        let theme = Theme::new(Shade::Dark);
        let names: Vec<String> = (0..20).map(|number| format!("worker {number}")).collect();
        let spans: Vec<_> = names.iter().map(|name| ("a", name.as_str(), 1)).collect();
        let mut timeline = Timeline::new(threads(&spans), RectBudget::SOFTWARE, &theme, Navigation::default());
        let first = timeline.snapshot.display_order()[0];
        timeline.change_rows(RowCommand::Hide(GroupKind::Track(first)));
        let controls = ["Filter tracks", "Arrange tracks", "Scroll tracks", "1 hidden track: show"];
        let has = |nodes: &[String]| controls.map(|label| nodes.iter().any(|node| node.contains(label)));
        let nodes = shown_nodes(&mut timeline, &theme);
        assert_eq!(has(&nodes), [true; 4], "{nodes:?}");
        let nodes = shown_nodes(&mut timeline.still(1.0), &theme);
        assert_eq!(has(&nodes), [false; 4], "{nodes:?}");
        assert!(nodes.iter().any(|node| node.contains("worker 3")), "{nodes:?}");
    }
}
