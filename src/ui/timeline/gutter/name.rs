//! Paints the name of a process, a group or a track, with the text beside it.

use egui::{Align2, FontId, Rect, Shape, Stroke, Ui, pos2, vec2};

use super::super::sticky_headers::is_header;
use crate::base::time::counted;
use crate::scene::labels::shorten_middle;
use crate::scene::rows::{Group, GroupKind};
use crate::ui::theme::{LABEL_POINTS, Theme};
use crate::ui::widgets::letters::letter_width;
use crate::ui::widgets::reading_order::on_screen;

/// Height of the line of a name.
pub(super) const NAME_POINTS: f32 = 22.0;

/// Width of the arrow before a name.
pub(super) const INDENT: f32 = 22.0;

/// Width of a shortened title that still says something.
const TITLE_POINTS_MIN: f32 = 48.0;

/// Whether a row is of the same group or thread as the rows around it.
#[derive(Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is about another neighbour")]
pub(super) struct Joint {
    /// The header of the row's group is above it.
    pub(super) in_group: bool,
    /// The row above has the same name, so the name is not repeated.
    pub(super) with_above: bool,
    /// No line separates the row from the row below.
    pub(super) with_below: bool,
    /// The row stays at the top while the headers above it are out of view.
    pub(super) is_sticky: bool,
}

/// Returns the indent of a name below `level` headers. Deep levels are narrower, so that room is left for names.
pub(super) fn indent(level: u8) -> f32 {
    const WIDE_LEVELS: u8 = 4;
    10.0 * f32::from(level.min(WIDE_LEVELS)) + 4.0 * f32::from(level.saturating_sub(WIDE_LEVELS))
}

/// The name of a group, and its place in the gutter.
pub(super) struct Name<'a> {
    pub(super) group: &'a Group,
    pub(super) rect: Rect,
    /// The name is not drawn outside of this.
    pub(super) clip: Rect,
    pub(super) title: &'a str,
    pub(super) secondary: &'a str,
    /// Whether another track has the title, so that only the text beside it tells them apart.
    pub(super) is_shared: bool,
    /// Number of headers above it: none for a process or a group of the user, two or more for a track of a group.
    pub(super) level: u8,
    pub(super) folded: bool,
    pub(super) hovered: bool,
    pub(super) joint: Joint,
}

impl Name<'_> {
    /// Paints the name, with space to its right for buttons. Returns the height of its middle, and the top of the free
    /// space below.
    pub(super) fn paint(&self, ui: &Ui, theme: &Theme, buttons_width: f32) -> (f32, f32) {
        let painter = ui.painter_at(self.clip);
        let is_header = is_header(self.group.kind);
        if is_header {
            painter.rect_filled(self.rect, 0.0, theme.header);
        } else if self.hovered {
            painter.rect_filled(self.rect, 0.0, theme.raised);
        }
        let line = Stroke::new(1.0, if is_header { theme.line } else { theme.grid });
        if !self.joint.with_below {
            painter.hline(self.rect.x_range(), self.rect.bottom() - 0.5, line);
        }
        // The name stays in view while a part of its rows is.
        let line_height = if is_header { self.rect.height() } else { NAME_POINTS.min(self.rect.height()) };
        let top = self.rect.top().max(self.clip.top()).min(self.rect.bottom() - line_height);
        let middle = top + line_height / 2.0 + if is_header { 0.0 } else { 1.0 };
        let left = self.rect.left() + indent(self.level);
        let color = if self.hovered { theme.text } else { theme.weak_text };
        painter.add(triangle(pos2(left + 12.0, middle), self.folded, color));
        let font = if is_header { FontId::proportional(13.0) } else { FontId::proportional(LABEL_POINTS) };
        let note = self.note();
        let note_galley = painter.layout_no_wrap(note.clone(), note_font(), theme.weak_text);
        let room = self.rect.right() - left - INDENT - 10.0 - buttons_width;
        let note_width = note_galley.size().x;
        let (text, note_fits) = self.fit_title(ui, &font, (room, note_width));
        let text_at = pos2(left + INDENT, middle);
        let text_color = if self.joint.with_above { theme.weak_text } else { theme.text };
        painter.text(text_at, Align2::LEFT_CENTER, on_screen(&text), font, text_color);
        let note_height = note_galley.size().y;
        let has_second_line = top + line_height + note_height <= self.rect.bottom();
        let mut free_top = top + line_height;
        if note_fits {
            let at = pos2(self.rect.right() - 10.0 - buttons_width - note_width, middle - note_height / 2.0);
            painter.galley(at, note_galley, theme.weak_text);
        } else if has_second_line {
            let line_room = self.rect.width() - 20.0;
            let note_galley = if note_width > line_room {
                let font = note_font();
                let cut =
                    ui.fonts_mut(|fonts| shortened_note(&note, line_room, |letter| letter_width(fonts, &font, letter)));
                painter.layout_no_wrap(cut, font, theme.weak_text)
            } else {
                note_galley
            };
            let at = pos2(self.rect.right() - 10.0 - note_galley.size().x, top + line_height);
            painter.galley(at, note_galley, theme.weak_text);
            free_top += note_height;
        }
        (middle, free_top)
    }

    /// Returns the text beside the name: the track's own, or the number of folded lanes.
    fn note(&self) -> String {
        let kind = self.group.kind;
        match self.group.folded_lanes {
            0 => self.secondary.to_owned(),
            _ if matches!(kind, GroupKind::Custom(_) | GroupKind::Tracks(_)) => self.secondary.to_owned(),
            folded if is_header(kind) => counted(folded.into(), "track"),
            folded => format!("+{folded}"),
        }
    }

    /// Shortens the title to the room that it shares with a note. Returns whether there is room for the note.
    fn fit_title(&self, ui: &Ui, font: &FontId, (room, note_width): (f32, f32)) -> (String, bool) {
        ui.fonts_mut(|fonts| {
            let mut advance = |letter| letter_width(fonts, font, letter);
            let beside = shorten_middle(self.title, room - note_width - 8.0, &mut advance);
            // The name takes precedence over the number beside it, unless it says less.
            let whole = beside.as_ref().is_some_and(|cut| *cut == self.title);
            let tells_apart = self.is_shared && room - note_width > TITLE_POINTS_MIN;
            let note_fits = whole || self.group.folded_lanes > 0 || tells_apart;
            let fitted = if note_fits { beside } else { shorten_middle(self.title, room, &mut advance) };
            (fitted.unwrap_or_default().into_owned(), note_fits)
        })
    }
}

fn note_font() -> FontId {
    FontId::proportional(11.0)
}

/// Shortens the text beside a name. Of a range, both ends are shortened, so that each can be read.
fn shortened_note(note: &str, room: f32, mut advance: impl FnMut(char) -> f32) -> String {
    const TO: &str = " to ";
    let Some((least, most)) = note.split_once(TO) else {
        return shorten_middle(note, room, advance).unwrap_or_default().into_owned();
    };
    let room_of_end = (room - TO.chars().map(&mut advance).sum::<f32>()) / 2.0;
    let ends = [least, most].map(|end| shorten_middle(end, room_of_end, &mut advance).unwrap_or_default().into_owned());
    ends.join(TO)
}

/// Returns a triangle that points down if unfolded, to the right if folded.
fn triangle(middle: egui::Pos2, folded: bool, color: egui::Color32) -> Shape {
    let points = if folded {
        vec![middle + vec2(-2.5, -4.0), middle + vec2(3.0, 0.0), middle + vec2(-2.5, 4.0)]
    } else {
        vec![middle + vec2(-4.0, -2.5), middle + vec2(4.0, -2.5), middle + vec2(0.0, 3.0)]
    };
    Shape::convex_polygon(points, color, Stroke::NONE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TrackIdx;

    /// Returns whether a long title leaves the text beside it in a head of this width.
    fn keeps_note(is_shared: bool, room: f32) -> bool {
        let kind = GroupKind::Track(TrackIdx(0));
        let group = Group { kind, top_px: 0, height_px: 20, folded_lanes: 0 };
        let name = Name {
            group: &group,
            rect: Rect::ZERO,
            clip: Rect::ZERO,
            title: "ThreadPoolForegroundWorker",
            secondary: "8915",
            is_shared,
            level: 0,
            folded: false,
            hovered: false,
            joint: Joint::default(),
        };
        let mut keeps = None;
        let output = egui::Context::default().run_ui(egui::RawInput::default(), |ui| {
            keeps = Some(name.fit_title(ui, &FontId::proportional(LABEL_POINTS), (room, 30.0)));
        });
        output.drop_without_applying_deltas();
        let (title, keeps_note) = keeps.expect("a frame");
        assert!(title.starts_with("Th"), "{title}");
        keeps_note
    }

    #[test]
    fn a_long_name_of_several_threads_leaves_room_for_the_id() {
        assert!(keeps_note(true, 120.0));
        assert!(!keeps_note(false, 120.0), "the name says more than the id");
        assert!(!keeps_note(true, 60.0), "nothing would be left of the name");
    }

    #[test]
    fn both_ends_of_a_range_that_is_cut_can_be_read() {
        let note = |text, room| shortened_note(text, room, |_| 1.0);
        assert_eq!(note("1000 to 1019", 12.0), "1000 to 1019");
        assert_eq!(note("1000000000000000 to 1000000000000019", 20.0), "1000\u{2026}000 to 1000\u{2026}019");
        assert_eq!(note("a long name", 7.0), "a l\u{2026}ame");
    }
}
