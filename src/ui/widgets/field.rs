//! Text fields of bounded length. Longer text is cut, and the window shows a notice. A field lays out all of its text
//! on one line, and a million letters would take seconds and gigabytes.

use std::any::TypeId;
use std::ops::Range;

use egui::text::{CCursor, CCursorRange, CharIndex};
use egui::text_edit::TextEditState;
use egui::{
    AsIdSalt, Color32, EventFilter, Id, Key, Modifiers, Response, Role, TextBuffer, TextEdit, Ui, Vec2, WidgetInfo,
};

use super::letters::text_width;

/// Longer than any name, path or query; a line of this length is laid out within milliseconds.
pub(crate) const FIELD_BYTES_MAX: usize = 64 * 1024;

/// Shows a single-line field. `style` sets everything except the text.
pub(crate) fn add(
    ui: &mut Ui,
    text: &mut String,
    style: impl for<'a> FnOnce(TextEdit<'a>) -> TextEdit<'a>,
) -> Response {
    show(ui, text, |ui, field| ui.add(style(field)))
}

/// Shows a single-line field of a given size.
pub(crate) fn add_sized(
    ui: &mut Ui,
    size: Vec2,
    text: &mut String,
    style: impl for<'a> FnOnce(TextEdit<'a>) -> TextEdit<'a>,
) -> Response {
    show(ui, text, |ui, field| ui.add_sized(size, style(field)))
}

/// Shows the filter field of a table. Returns true if the words changed. Escape first clears them and leaves the field.
pub(crate) fn add_table_filter(ui: &mut Ui, words: &mut String, label: &str, width: f32, background: Color32) -> bool {
    /// Space for the button at the end of the line.
    const BUTTON_POINTS: f32 = 76.0;
    let width = width.min(ui.available_width() - BUTTON_POINTS).max(30.0);
    let keys = EventFilter { escape: true, horizontal_arrows: true, ..EventFilter::default() };
    let response = add(ui, words, |field| {
        field.hint_text(label).desired_width(width).background_color(background).event_filter(keys)
    });
    response.widget_info(|| WidgetInfo::labeled(Role::TextInput, true, label));
    let leaves = response.has_focus() && ui.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Escape));
    if leaves {
        words.clear();
        response.surrender_focus();
    }
    response.changed() || leaves
}

/// Shows the field of a name, which is selected as a whole at first. Returns the name if it was changed.
pub(crate) fn add_name(
    ui: &mut Ui,
    (id, size): (impl AsIdSalt, Vec2),
    (name, hint, label): (&str, &str, &str),
    background: Color32,
) -> (Response, Option<String>) {
    let mut name = name.to_owned();
    let response =
        add_sized(ui, size, &mut name, |field| field.id_salt(id).hint_text(hint).background_color(background));
    response.widget_info(|| WidgetInfo::labeled(Role::TextInput, true, label));
    if response.gained_focus() {
        select_all(ui, &response, &name);
    }
    let changed = response.changed().then_some(name);
    (response, changed)
}

/// Returns the width of a field that grows with its text from `least` points as far as there is room, and whether the
/// text is cut nevertheless.
pub(crate) fn grown_width(ui: &Ui, text: &str, least: f32, room: f32) -> (f32, bool) {
    const CURSOR_POINTS: f32 = 3.0;
    const POINTS_MIN: f32 = 60.0;
    /// No field has room for more letters; a text may be far longer.
    const LETTERS_MAX: usize = 1000;
    let end = text.char_indices().nth(LETTERS_MAX).map_or(text.len(), |(end, _)| end);
    // A field has the margins of a button.
    let around = 2.0 * ui.spacing().button_padding.x + CURSOR_POINTS;
    let needed = text_width(ui, &text[..end], &egui::TextStyle::Body.resolve(ui.style())) + around;
    let room = room.max(POINTS_MIN);
    (needed.max(least).min(room), needed > room)
}

/// Selects all of a field's text, so that typing replaces it.
pub(crate) fn select_all(ui: &Ui, field: &Response, text: &str) {
    select_first(ui, field, text.chars().count());
}

/// Selects the first letters of a field's text.
pub(crate) fn select_first(ui: &Ui, field: &Response, letters: usize) {
    set_cursor(ui, field, CCursorRange::two(CCursor::new(0), CCursor::new(letters)));
}

/// Moves the cursor to the end of a field's text, so that typing extends it.
pub(crate) fn move_to_end(ui: &Ui, field: &Response, text: &str) {
    set_cursor(ui, field, CCursorRange::one(CCursor::new(text.chars().count())));
}

fn set_cursor(ui: &Ui, field: &Response, range: CCursorRange) {
    let mut state = TextEditState::load(ui.ctx(), field.id).unwrap_or_default();
    state.cursor.set_char_range(Some(range));
    state.store(ui.ctx(), field.id);
}

/// Returns whether a field has cut text since the last call.
#[must_use]
pub(crate) fn take_overflow(ctx: &egui::Context) -> bool {
    ctx.data_mut(|data| data.remove_temp(overflow_id())).unwrap_or(false)
}

fn show(ui: &mut Ui, text: &mut String, show: impl for<'a> FnOnce(&mut Ui, TextEdit<'a>) -> Response) -> Response {
    let mut bounded = LimitedBuffer { text, overflows: false };
    let response = show(ui, TextEdit::singleline(&mut bounded));
    let pass = ui.ctx().cumulative_pass_nr();
    ui.ctx().data_mut(|data| data.get_temp_mut_or_default::<ShownFields>(shown_id()).add(pass, response.id));
    if bounded.overflows {
        ui.ctx().data_mut(|data| data.insert_temp(overflow_id(), true));
        // The notice is drawn before most fields.
        ui.ctx().request_repaint();
    }
    response
}

/// The fields of the last pass that had any.
#[derive(Debug, Clone, Default)]
struct ShownFields {
    pass: u64,
    ids: Vec<Id>,
}

impl ShownFields {
    fn add(&mut self, pass: u64, id: Id) {
        if self.pass != pass {
            (self.pass, self.ids) = (pass, Vec::new());
        }
        self.ids.push(id);
    }
}

/// Returns the field at a position, as it was in the last pass.
#[must_use]
pub(crate) fn field_at(ctx: &egui::Context, at: egui::Pos2) -> Option<Id> {
    let fields = ctx.data(|data| data.get_temp::<ShownFields>(shown_id()))?;
    let layer = ctx.layer_id_at(at)?;
    let is_at = |id: &Id| {
        let field = ctx.read_response(*id);
        field.is_some_and(|field| field.layer_id == layer && field.interact_rect.contains(at))
    };
    fields.ids.into_iter().find(is_at)
}

fn shown_id() -> Id {
    Id::unique("fields of the last pass")
}

fn overflow_id() -> Id {
    Id::unique("text left out by a field")
}

/// A text of at most [`FIELD_BYTES_MAX`].
struct LimitedBuffer<'t> {
    text: &'t mut String,
    overflows: bool,
}

impl TextBuffer for LimitedBuffer<'_> {
    fn is_mutable(&self) -> bool {
        true
    }

    fn as_str(&self) -> &str {
        self.text
    }

    fn insert_text(&mut self, text: &str, char_index: CharIndex) -> usize {
        let room = FIELD_BYTES_MAX.saturating_sub(self.text.len());
        let fitting = &text[..text.floor_char_boundary(room)];
        self.overflows |= fitting.len() < text.len();
        self.text.insert_text(fitting, char_index)
    }

    fn delete_char_range(&mut self, char_range: Range<CharIndex>) {
        self.text.delete_char_range(char_range);
    }

    fn type_id(&self) -> TypeId {
        TypeId::of::<LimitedBuffer<'static>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::color::Shade;
    use crate::ui::theme::Theme;

    #[test]
    fn a_text_a_letter_longer_than_a_field_is_whole_once_the_field_grows() {
        let ctx = egui::Context::default();
        Theme::new(Shade::Dark).apply(&ctx);
        for letters in [10, 40, 41, 42, 43, 44, 45, 46] {
            let mut text = "n".repeat(letters);
            let mut widths = None;
            let output = ctx.run_ui(egui::RawInput::default(), |ui| {
                let (width, is_cut) = grown_width(ui, &text, 300.0, 2000.0);
                assert!(!is_cut);
                let shown = TextEdit::singleline(&mut text).desired_width(width).show(ui);
                widths = Some((shown.galley.size().x, shown.text_clip_rect.width()));
            });
            output.drop_without_applying_deltas();
            let (text_points, room) = widths.expect("a field");
            assert!(text_points <= room, "{letters} letters: {text_points} in {room}");
        }
    }

    #[test]
    fn a_long_insertion_is_cut_after_the_last_whole_letter_that_fits() {
        let mut text = "a".repeat(FIELD_BYTES_MAX - 3);
        let mut bounded = LimitedBuffer { text: &mut text, overflows: false };
        assert_eq!(bounded.insert_text("b", CharIndex::from(0)), 1);
        assert!(!bounded.overflows);
        assert_eq!(bounded.insert_text("\u{e9}\u{e9}", CharIndex::from(1)), 1);
        assert!(bounded.overflows);
        assert_eq!(text.len(), FIELD_BYTES_MAX);
        assert!(text.starts_with("b\u{e9}a"));
    }
}
