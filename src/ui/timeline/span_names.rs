//! The names on spans, shortened to fit. They are laid out once per frame and painted as often as it is shown.

use egui::{FontId, Ui};

use crate::frame::TimelineFrame;
use crate::model::TrackIdx;
use crate::query::Snapshot;
use crate::scene::color::Rgba;
use crate::scene::labels::{shorten_label, shown_name};
use crate::ui::theme::LABEL_POINTS;
use crate::ui::widgets::letters::letter_width;
use crate::ui::widgets::reading_order::on_screen;

/// A name with its position.
#[derive(Clone)]
pub(super) struct SpanName {
    /// Left end, in pixels of the canvas.
    pub(crate) x: f32,
    /// Vertical centre, in pixels of the canvas.
    pub(crate) y: f32,
    pub(crate) text: String,
    pub(crate) track: TrackIdx,
    pub(crate) color: Rgba,
    /// The colour of the span.
    pub(crate) fill: Rgba,
}

/// Lays out the names on spans, each with its duration if there is space, shortened if there is not.
pub(super) fn span_names(ui: &Ui, frame: &TimelineFrame, snapshot: &Snapshot, scale: f32) -> Vec<SpanName> {
    /// Maximum number of names in a frame: text layout costs more than anything else in a frame.
    const LABELS_MAX: usize = 3000;
    let font = FontId::proportional(LABEL_POINTS);
    ui.fonts_mut(|fonts| {
        let mut ascii = [0.0; 128];
        for (letter, width) in (0_u8..128).zip(&mut ascii) {
            *width = fonts.glyph_width(&font, char::from(letter));
        }
        let mut advance = |letter: char| match ascii.get(letter as usize) {
            Some(&width) => width,
            None => letter_width(fonts, &font, letter),
        };
        let mut texts = Vec::new();
        for label in frame.labels.iter().take(LABELS_MAX) {
            let room = (label.x1 - label.x0) / scale;
            let name = shown_name(snapshot.names().get(label.name).text);
            let Some(cut) = shorten_label(&name, room, &mut advance) else { continue };
            let used: f32 = cut.chars().map(&mut advance).sum();
            let at_least = if label.is_unfinished { "\u{2265} " } else { "" };
            let dur = label.dur_ns.map(|dur_ns| snapshot.drawn_unit(label.track).text(dur_ns));
            let dur = dur.map_or("  unfinished".to_owned(), |dur| format!("  {at_least}{dur}"));
            let fits = cut == name && used + dur.chars().map(&mut advance).sum::<f32>() <= room;
            let cut = on_screen(&cut);
            let text = if fits { format!("{cut}{dur}") } else { cut.into_owned() };
            let (color, fill) = (label.color, label.fill);
            texts.push(SpanName { x: label.x0, y: label.y, text, track: label.track, color, fill });
        }
        texts
    })
}
