//! Sticky headers: the process at the top, and the innermost group below it. They cover the rows that have scrolled
//! under them, in the gutter and on the canvas.

use egui::{Rect, Stroke, Ui};

use super::pane::ShownPane;
use super::state::Timeline;
use crate::model::TrackIdx;
use crate::scene::rows::{Group, GroupKind};
use crate::ui::theme::Theme;

impl Timeline {
    /// Returns the sticky header at a height in the window.
    pub(super) fn header_over(&self, shown: &ShownPane<'_>, y: f32) -> Option<Group> {
        let sticky = sticky_headers(self, shown, &shown.groups());
        sticky.into_iter().find(|(_, rect)| rect.y_range().contains(y)).map(|(header, _)| header)
    }

    /// Returns the height of the headers that stick above a track while they are out of view, in pixels.
    pub(super) fn sticky_height_px(&self, track: TrackIdx) -> u64 {
        let kind = GroupKind::Track(track);
        let headers = self.groups_around(kind).take(1).chain([self.header_of(kind)]);
        let heights = headers.filter_map(|header| self.rows.layout.group_of(header));
        heights.map(|header| u64::from(header.height_px)).sum()
    }
}

/// Returns the sticky headers with their positions, the outer header first: the process at the top, and the innermost
/// group below it.
pub(super) fn sticky_headers(timeline: &Timeline, shown: &ShownPane<'_>, groups: &[Group]) -> Vec<(Group, Rect)> {
    let mut sticky = Vec::new();
    let outer = groups.first().map(|group| timeline.header_of(group.kind));
    let is_outside = |group: &Group| is_header(group.kind) && Some(group.kind) != outer;
    let top = shown.gutter.top();
    sticky.extend(
        outer.and_then(|kind| sticky_header(timeline, shown, kind, top, groups.iter().find(|group| is_outside(group)))),
    );
    let free_top = sticky.last().map_or(top, |(_, rect): &(Group, Rect)| rect.bottom());
    let is_below = |group: &&Group| shown.band(group.top_px, group.height_px).bottom() > free_top;
    let mut rest = groups.iter().skip_while(|group| !is_below(group)).peekable();
    let inner = rest.peek().and_then(|group| unfolded_group(timeline, group.kind));
    let is_within = |group: &Group| {
        Some(group.kind) == inner || timeline.groups_around(group.kind).any(|outer| Some(outer) == inner)
    };
    let next = rest.find(|group| !is_within(group));
    sticky.extend(inner.and_then(|kind| sticky_header(timeline, shown, kind, free_top, next)));
    sticky
}

/// Returns the innermost unfolded group that a row is in, or the row itself if it is the header of such a group.
fn unfolded_group(timeline: &Timeline, kind: GroupKind) -> Option<GroupKind> {
    let is_unfolded_group = matches!(kind, GroupKind::Tracks(_)) && !timeline.is_folded(kind);
    if is_unfolded_group { Some(kind) } else { timeline.groups_around(kind).next() }
}

/// Returns a header at `free_top` if it would be out of view, with its position. The next header pushes it out.
fn sticky_header(
    timeline: &Timeline,
    shown: &ShownPane<'_>,
    kind: GroupKind,
    free_top: f32,
    next: Option<&Group>,
) -> Option<(Group, Rect)> {
    let header = shown.pane.layout.group_of(kind)?;
    let band = shown.band(header.top_px, header.height_px);
    // A folded group is only its header.
    if band.top() >= free_top || timeline.is_folded(kind) {
        return None;
    }
    let next_top = next.map(|next| shown.band(next.top_px, next.height_px).top());
    let top = next_top.map_or(free_top, |next_top| free_top.min(next_top - band.height()));
    Some((header, Rect::from_x_y_ranges(shown.gutter.x_range(), top..=top + band.height())))
}

/// Continues the sticky headers over the canvas, so that no rows of other tracks are beside their names.
pub(super) fn paint_bands(timeline: &Timeline, ui: &Ui, shown: &ShownPane<'_>, theme: &Theme) {
    let mut top = shown.canvas.top();
    for (header, rect) in sticky_headers(timeline, shown, &shown.groups()) {
        // A header that the next header pushes out goes under the header above it.
        let below = shown.canvas.with_min_y(top);
        let band = Rect::from_x_y_ranges(shown.canvas.x_range(), rect.y_range()).intersect(below);
        if !band.is_positive() {
            continue;
        }
        top = band.bottom();
        let (fill, line) = if is_header(header.kind) { (theme.header, theme.line) } else { (theme.canvas, theme.grid) };
        let painter = ui.painter_at(shown.canvas);
        painter.rect_filled(band, 0.0, fill);
        painter.hline(band.x_range(), band.bottom() - 0.5, Stroke::new(1.0, line));
    }
}

/// Returns whether the name of a group is a header, which has a background.
pub(super) fn is_header(kind: GroupKind) -> bool {
    matches!(kind, GroupKind::Custom(_) | GroupKind::Process(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::RectBudget;
    use crate::scene::color::Shade;
    use crate::scene::tests::threads;
    use crate::ui::settings::Navigation;

    #[test]
    fn a_sticky_header_covers_the_rows_under_it_on_the_canvas_too() {
        let theme = Theme::new(Shade::Dark);
        let names: Vec<String> = (0..40).map(|number| format!("worker {number}")).collect();
        let spans: Vec<_> = names.iter().map(|name| ("a", name.as_str(), 1)).collect();
        let mut timeline = Timeline::new(threads(&spans), RectBudget::SOFTWARE, &theme, Navigation::STILL);
        timeline.wait_for_all();
        let context = egui::Context::default();
        let mut covers = |scroll_px: f64| {
            let mut found = Vec::new();
            for _ in 0..3 {
                let screen_rect = Some(Rect::from_min_size(egui::Pos2::ZERO, egui::vec2(700.0, 300.0)));
                let input = egui::RawInput { screen_rect, ..egui::RawInput::default() };
                timeline.scroll_to(scroll_px);
                let mut output = context.run_ui(input, |ui| {
                    egui::CentralPanel::no_frame().show(ui, |ui| timeline.show_still(ui, &theme));
                });
                output.textures_delta.clear();
                let (mut last_name, mut bands) = (None, Vec::new());
                for (index, clipped) in output.shapes.iter().enumerate() {
                    match &clipped.shape {
                        egui::Shape::Text(text) if text.galley.job.text.starts_with('x') => last_name = Some(index),
                        egui::Shape::Rect(rect) if rect.fill == theme.header && clipped.clip_rect.left() > 50.0 => {
                            bands.push((index, rect.rect.intersect(clipped.clip_rect), clipped.clip_rect));
                        }
                        _ => {}
                    }
                }
                let last_name = last_name.expect("a name of a span");
                found = bands.into_iter().filter(|(index, ..)| *index > last_name).collect();
            }
            found
        };
        assert!(covers(0.0).is_empty(), "the header itself is in view");
        let bands = covers(100.0);
        assert_eq!(bands.len(), 1, "{bands:?}");
        let (_, band, canvas) = bands[0];
        assert_eq!((band.x_range(), band.top()), (canvas.x_range(), canvas.top()));
        assert!(band.height() > 10.0, "{band}");
    }
}
