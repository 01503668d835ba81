//! The width of letters before layout, including letters that no font has.

use egui::epaint::text::FontsView;
use egui::{FontId, Ui};

/// Width of the replacement box for a missing letter, relative to the font size: the widest there is.
const BOX_PART: f32 = 0.65;

/// Returns the width of a letter in points. Fonts report none for a missing letter, and a name of such letters would
/// overlap its neighbours.
pub(crate) fn letter_width(fonts: &mut FontsView<'_>, font: &FontId, letter: char) -> f32 {
    let width = fonts.glyph_width(font, letter);
    if width > 0.0 || is_joined(letter) || fonts.has_glyph(font, letter) { width } else { font.size * BOX_PART }
}

/// Returns the width of a text in one line, in points.
pub(crate) fn text_width(ui: &Ui, text: &str, font: &FontId) -> f32 {
    ui.fonts_mut(|fonts| text.chars().map(|letter| letter_width(fonts, font, letter)).sum())
}

/// Returns whether a letter combines with the previous one.
fn is_joined(letter: char) -> bool {
    matches!(letter, '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{fe00}'..='\u{fe0f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_without_a_glyph_are_as_wide_as_their_boxes() {
        let ctx = egui::Context::default();
        ctx.begin_pass(egui::RawInput::default());
        for size in [9.0, 11.0, 13.0] {
            let font = FontId::proportional(size);
            for (text, slack) in [("漢字の名前テスト関数", 3.0), ("request", 0.2)] {
                let laid_out =
                    ctx.fonts_mut(|fonts| fonts.layout_no_wrap(text.to_owned(), font.clone(), egui::Color32::WHITE));
                let sum: f32 =
                    ctx.fonts_mut(|fonts| text.chars().map(|letter| letter_width(fonts, &font, letter)).sum());
                let width = laid_out.size().x;
                assert!(sum >= width - 1.0 && sum <= width * (1.0 + slack) + 1.0, "{text} at {size}: {sum} of {width}");
            }
        }
        // Nothing takes the glyph textures.
        ctx.end_pass().textures_delta.clear();
    }
}
