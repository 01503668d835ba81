//! The names on spans, shortened to fit. They are laid out once per frame and painted as often as it is shown.

use std::sync::Arc;

use egui::{Color32, FontId, Galley, Ui};

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

/// The names of a frame as glyphs, which are painted as often as the frame.
#[derive(Default)]
pub(super) struct NameGalleys {
    galleys: Vec<Arc<Galley>>,
    /// The galley of [`PROBE`] when the names were laid out.
    probe: Option<Arc<Galley>>,
}

/// A text that each frame looks up.
const PROBE: &str = "names";

impl NameGalleys {
    /// Lays out the names of a frame, unless their glyphs are still in the texture of the fonts.
    pub(super) fn lay_out(&mut self, ui: &Ui, names: &[SpanName]) {
        let font = FontId::proportional(LABEL_POINTS);
        ui.fonts_mut(|fonts| {
            let mut lay_out = |text: &str| fonts.layout_no_wrap(text.to_owned(), font.clone(), Color32::PLACEHOLDER);
            // The fonts drop all galleys with their texture, so the probe then has another galley.
            let probe = lay_out(PROBE);
            if self.probe.as_ref().is_none_or(|before| !Arc::ptr_eq(before, &probe)) {
                self.galleys = names.iter().map(|name| lay_out(&name.text)).collect();
                self.probe = Some(probe);
            }
        });
    }

    /// Returns the galley of each name, in their order.
    pub(super) fn all(&self) -> &[Arc<Galley>] {
        &self.galleys
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_an_unchanged_frame_are_laid_out_once_until_the_scale_changes() {
        let context = egui::Context::default();
        let name = |text: &str| SpanName {
            x: 0.0,
            y: 0.0,
            text: text.to_owned(),
            track: TrackIdx(0),
            color: Rgba::default(),
            fill: Rgba::default(),
        };
        let (names, mut galleys) = ([name("alpha"), name("omega")], NameGalleys::default());
        let mut frame = || {
            let output = context.run_ui(egui::RawInput::default(), |ui| galleys.lay_out(ui, &names));
            output.drop_without_applying_deltas();
            assert_eq!(galleys.all().iter().map(|galley| galley.text()).collect::<Vec<_>>(), ["alpha", "omega"]);
            // The probe is no name.
            (Arc::clone(&galleys.all()[0]), context.fonts(|fonts| fonts.num_galleys_in_cache() - 1))
        };
        let (first, laid_out) = frame();
        frame();
        let (third, looked_up) = frame();
        assert_eq!((laid_out, looked_up), (2, 0));
        assert!(Arc::ptr_eq(&first, &third));
        context.set_pixels_per_point(2.0);
        frame();
        let (larger, _) = frame();
        assert_eq!(larger.pixels_per_point, 2.0);
    }
}
