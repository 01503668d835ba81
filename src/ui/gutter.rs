//! The names of processes and tracks beside the canvas. A click folds; nothing else happens here.

use egui::{Align2, FontId, Rect, Sense, Shape, Stroke, Ui, pos2, vec2};

use super::places::Places;
use super::theme::{LABEL_POINTS, Theme};
use super::timeline::Timeline;
use crate::scene::frame::{pixels_in_view, y_on_canvas};
use crate::scene::labels::shorten_middle;
use crate::scene::rows::{Group, GroupKind};

/// Shows the names in view, and returns what was clicked to be folded or unfolded.
pub(super) fn show(timeline: &Timeline, ui: &Ui, places: &Places, theme: &Theme) -> Option<GroupKind> {
    let (top_px, bottom_px) = pixels_in_view(&timeline.view);
    let mut clicked = None;
    for group in timeline.layout.groups_within(top_px, bottom_px) {
        let band = places.row(y_on_canvas(&timeline.view, group.top_px), group.height_px);
        let rect = Rect::from_x_y_ranges(places.gutter.x_range(), band.y_range());
        let visible = rect.intersect(places.gutter);
        let response = ui.interact(visible, ui.scope_id().with((group.top_px, "name")), Sense::click());
        let (title, beside) = match group.kind {
            GroupKind::Process(process) => (timeline.process_text(process), String::new()),
            GroupKind::Track(track) => timeline.track_text(track),
        };
        let folded = timeline.is_folded(group.kind);
        paint(
            ui,
            places,
            theme,
            &Name { group, rect, title: &title, beside: &beside, folded, hovered: response.hovered() },
        );
        let state = if folded { "folded" } else { "unfolded" };
        response
            .widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, format!("{title} {beside}, {state}")));
        if response.clicked() {
            clicked = Some(group.kind);
        }
        response.on_hover_text(if beside.is_empty() { title } else { format!("{title}\n{beside}") });
    }
    clicked
}

struct Name<'a> {
    group: &'a Group,
    rect: Rect,
    title: &'a str,
    beside: &'a str,
    folded: bool,
    hovered: bool,
}

fn paint(ui: &Ui, places: &Places, theme: &Theme, name: &Name<'_>) {
    const INDENT: f32 = 22.0;
    let painter = ui.painter_at(places.gutter);
    let is_process = matches!(name.group.kind, GroupKind::Process(_));
    if is_process {
        painter.rect_filled(name.rect, 0.0, theme.header);
    } else if name.hovered {
        painter.rect_filled(name.rect, 0.0, theme.raised);
    }
    let line = Stroke::new(1.0, if is_process { theme.line } else { theme.grid });
    painter.hline(name.rect.x_range(), name.rect.bottom() - 0.5, line);
    // The name stays in view while a part of its rows is.
    let line_height = if is_process { name.rect.height() } else { 22.0 };
    let top = name.rect.top().max(places.gutter.top()).min(name.rect.bottom() - line_height);
    let middle = top + line_height / 2.0 + if is_process { 0.0 } else { 1.0 };
    let left = name.rect.left() + if is_process { 0.0 } else { 10.0 };
    let color = if name.hovered { theme.text } else { theme.weak_text };
    painter.add(triangle(pos2(left + 12.0, middle), name.folded, color));
    let font = if is_process { FontId::proportional(13.0) } else { FontId::proportional(LABEL_POINTS) };
    let note = match name.group.folded_lanes {
        0 => name.beside.to_owned(),
        folded => format!("+{folded}"),
    };
    let note_galley = painter.layout_no_wrap(note, FontId::proportional(11.0), theme.weak_text);
    let room = name.rect.right() - left - INDENT - 10.0;
    let note_width = note_galley.size().x;
    let text_room = room - note_width - 8.0;
    let (text, note_fits) = ui.fonts_mut(|fonts| {
        let mut advance = |letter| fonts.glyph_width(&font, letter);
        let beside = shorten_middle(name.title, text_room, &mut advance);
        // A name is worth more than the number beside it.
        let whole = beside.as_ref().is_some_and(|cut| *cut == name.title);
        if whole || name.group.folded_lanes > 0 {
            (beside.map(std::borrow::Cow::into_owned), true)
        } else {
            (shorten_middle(name.title, room, &mut advance).map(std::borrow::Cow::into_owned), false)
        }
    });
    let text_at = pos2(left + INDENT, middle);
    painter.text(text_at, Align2::LEFT_CENTER, text.unwrap_or_default(), font, theme.text);
    if note_fits {
        let at = pos2(name.rect.right() - 10.0 - note_width, middle - note_galley.size().y / 2.0);
        painter.galley(at, note_galley, theme.weak_text);
    }
}

/// Points down when unfolded, to the right when folded.
fn triangle(middle: egui::Pos2, folded: bool, color: egui::Color32) -> Shape {
    let points = if folded {
        vec![middle + vec2(-2.5, -4.0), middle + vec2(3.0, 0.0), middle + vec2(-2.5, 4.0)]
    } else {
        vec![middle + vec2(-4.0, -2.5), middle + vec2(4.0, -2.5), middle + vec2(0.0, 3.0)]
    };
    Shape::convex_polygon(points, color, Stroke::NONE)
}
